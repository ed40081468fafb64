// SPDX-License-Identifier: Apache-2.0
#pragma once
// The runtime's functions for its plugins, which the tools and the narrator of Python use.

#include <cstdint>
#include <string_view>

#include "narratoria/context.h"
#include "narratoria/engine.hpp"
#include "narratoria/invocation.h"
#include "narratoria/narrator.h"

namespace narratoria::python {

template <class Functions>
const Functions& host_functions(const nar_host* host, std::string_view id) {
    return *static_cast<const Functions*>(host->get_extension(host, detail::to_c(id)));
}

inline const nar_host_invocation& invocations(const nar_host* host) {
    return host_functions<nar_host_invocation>(host, NAR_HOST_INVOCATION);
}

inline const nar_host_narrator& narrator_functions(const nar_host* host) {
    return host_functions<nar_host_narrator>(host, NAR_EXTENSION_NARRATOR);
}

// Ends an invocation after its last lines, which always have room. `code` is empty without a
// failure.
void end_invocation(const nar_host* host, std::uint64_t token, std::string_view lines,
                    std::string_view code, std::string_view message);

}  // namespace narratoria::python
