// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include "narratoria/status.hpp"

namespace narratoria::test {

// The Error that `call` throws; a test failure if it throws none.
template <class Call>
Error error_of(Call&& call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    ADD_FAILURE() << "no Error was thrown";
    return Error(NAR_OK, {}, {}, {});
}

}  // namespace narratoria::test
