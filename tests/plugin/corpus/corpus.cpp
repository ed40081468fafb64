// SPDX-License-Identifier: Apache-2.0
// The corpus of plugins in C++.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "plugin.h"

#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

namespace {

struct Base {
    virtual ~Base() = default;
};
struct Other : Base {};
struct Last : Base {};

void throw_in_noexcept() noexcept {
    if (zero == 0) throw std::runtime_error("thrown out of a noexcept function");
}

// Its destructor runs when the process exits.
struct AtExit {
    ~AtExit() {
        if (armed) *reinterpret_cast<volatile int*>(static_cast<std::uintptr_t>(zero)) = 1;
    }
    bool armed = false;
} at_exit;

}  // namespace

static void do_own(struct instance*) {
    if (way("throw-error")) throw std::runtime_error("thrown across the contract");
    if (way("throw-int")) throw 5;
    if (way("throw-text")) throw "thrown";
    if (way("throw-alloc")) throw std::bad_alloc();
    if (way("throw-vector")) static_cast<void>(std::vector<int>().at(static_cast<unsigned>(zero)));
    if (way("throw-stoi")) static_cast<void>(std::stoi("rain"));
    if (way("throw-map")) static_cast<void>(std::map<int, int>().at(int{zero}));
    if (way("throw-cast")) {
        const std::unique_ptr<Base> base = std::make_unique<Last>();
        static_cast<void>(dynamic_cast<Other&>(*base));
    }
    if (way("throw-noexcept")) throw_in_noexcept();
    if (way("throw-thread")) std::thread([] { throw std::runtime_error("on a thread"); }).join();
    if (way("terminate")) std::terminate();
    if (way("joinable")) std::thread([] {}).swap(*std::make_unique<std::thread>([] {}));
    if (way("set-terminate")) std::set_terminate([] { std::_Exit(3); });
    if (way("static-destructor")) at_exit.armed = true;
    if (way("delete-twice")) {
        auto* const piece = new std::string(100, 'x');
        std::string* volatile again = piece;
        delete piece;
        delete again;
    }
}
