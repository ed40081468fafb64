// SPDX-License-Identifier: Apache-2.0
// The part of the variant "throws" that C cannot say.

#include <stdexcept>

extern "C" void throw_something();

void throw_something() { throw std::runtime_error("thrown across the contract"); }
