// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "state/history.hpp"
#include "state/tree.hpp"

namespace narratoria::state {

// The state of a session and how it came to be.
struct Store {
    explicit Store(uint32_t history_limit) : history(history_limit) {}

    Tree tree;
    History history;
    Writer last_writer = 0;  // grows with every tool that starts; 0 stays the host's
};

}  // namespace narratoria::state
