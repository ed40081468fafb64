// SPDX-License-Identifier: Apache-2.0
// The parts of misbehaving.c that need C++.

#include <cstdlib>
#include <exception>
#include <stdexcept>

extern "C" {
void throw_something();
void replace_terminate_handler();
}

void throw_something() { throw std::runtime_error("thrown across the contract"); }

#if THROWS_IN_CONSTRUCTOR
static const int thrown = (throw_something(), 0);
#endif

void replace_terminate_handler() {
    std::set_terminate([] { std::_Exit(3); });
}
