// SPDX-License-Identifier: Apache-2.0
#pragma once
// Refuses a document of the host that has faults.

#include <string>
#include <string_view>

#include "api/barrier.hpp"
#include "base/fault.hpp"

namespace narratoria::api {

// `what` says what is not valid; `text` is the document.
inline nar_status invalid_document(nar_error* error, std::string_view code, const Faults& faults,
                                   std::string_view text, const char* what) {
    std::string details;
    append_faults(details, faults, text);
    return fail(error, NAR_INVALID_DOCUMENT, code,
                std::string(what) + ":\n" + describe_faults(faults, text), details);
}

}  // namespace narratoria::api
