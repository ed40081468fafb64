// SPDX-License-Identifier: Apache-2.0
#pragma once
// Metadata of a state key (narratoria/context.h has the rules). Not for direct use:
// include narratoria/engine.hpp or narratoria/plugin.hpp.

#include "narratoria/context.h"
#include "narratoria/status.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace narratoria {

// Spec 002 StateMetadata.
struct StateMetadata {
    std::string description = {};  // for people and models
    // Formats the value (JSON) as text for a prompt. If it is empty or throws, the default format
    // is used.
    std::function<std::string(std::string_view value)> formatter = {};
};

namespace detail {

// Carries a formatter through C's `void *user`. `Guard` runs a function and catches its exceptions,
// because they must not reach the C code that called it.
template <class Guard>
struct BoundFormatter {
    std::function<std::string(std::string_view value)> formatter;
    Guard guard;

    static nar_status format(void* user, nar_str value, nar_write_fn write, void* to) noexcept {
        auto& self = *static_cast<BoundFormatter*>(user);
        nar_status status = NAR_FAILED;
        self.guard([&] {
            const std::string text = self.formatter(to_view(value));
            status = write(to, to_c(text));
        });
        return status;
    }
    static void released(void* user) noexcept { delete static_cast<BoundFormatter*>(user); }
};

// Calls `give` with the metadata as a C struct. If it returns NAR_OK, the host owns the formatter.
template <class Guard, class Give>
nar_status give_metadata(const StateMetadata& metadata, Guard guard, Give&& give) {
    using Bound = BoundFormatter<Guard>;
    nar_state_metadata given{};
    given.size = sizeof given;
    given.description = to_c(metadata.description);
    std::unique_ptr<Bound> bound;
    if (metadata.formatter) {
        bound.reset(new Bound{metadata.formatter, std::move(guard)});
        given.user = bound.get();
        given.format = Bound::format;
        given.released = Bound::released;
    }
    const nar_status status = give(&given);
    if (status == NAR_OK) static_cast<void>(bound.release());
    return status;
}

}  // namespace detail
}  // namespace narratoria
