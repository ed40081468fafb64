// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include "base/json/tape.hpp"

namespace narratoria::test {

// A text that must be JSON; the empty object if it is not.
inline std::unique_ptr<json::Document> parse_json(std::string_view text) {
    auto document = std::make_unique<json::Document>();
    json::ParseError error;
    if (!document->parse(text, error)) {
        ADD_FAILURE() << text.substr(0, 200) << ": " << error.message;
        document->parse("{}", error);
    }
    return document;
}

}  // namespace narratoria::test
