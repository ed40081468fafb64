// SPDX-License-Identifier: Apache-2.0
#pragma once
// The meaning of a setState call (spec 002): a patch, and a change of the key's metadata.

#include <optional>
#include <string>
#include <string_view>

#include "narratoria/status.h"
#include "state/replacement.hpp"
#include "state/tree.hpp"

namespace narratoria::session {

struct StateChange {
    state::Replacement patch;
    std::optional<std::string> description;  // of the key's new metadata
    bool forgets = false;                    // the key's metadata is removed
};

// Reads the JSON `value`, which may be {"value": …, "metadata": …}. On failure `why` holds the
// reason.
nar_status read_state_change(const state::Tree& tree, std::string_view key, std::string_view value,
                             StateChange& change, std::string& why);

}  // namespace narratoria::session
