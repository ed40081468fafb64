// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace narratoria::test {

// A struct of the C interface with its size, and zeros otherwise.
template <class Struct>
Struct sized() {
    Struct made{};
    made.size = sizeof made;
    return made;
}

}  // namespace narratoria::test
