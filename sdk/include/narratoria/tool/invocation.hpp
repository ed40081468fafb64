// SPDX-License-Identifier: Apache-2.0
#pragma once
// The request of a tool.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

#include "failure.hpp"
#include "json_reader.hpp"
#include "json_value.hpp"

namespace narratoria::tool {

/// The request of the runtime (spec 000 §6). Accessors take JSON Pointers into `input`, such as
/// `"/door/name"`. Accessors that end in `_or` return the fallback if the member is missing or null.
/// All throw `InvalidInput` with the pointer if the member has a different kind.
class Invocation {
public:
    /// Parses the text from standard input. Blank text is a request with an empty `input`, so
    /// that a tool can be started by hand. Throws `InvalidInput`.
    static Invocation parse(std::string text) {
        Invocation invocation;
        if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
            return invocation;
        }
        try {
            json::Reader reader(text, "input");
            const json::Value document = reader.document();
            if (document.kind() != json::Kind::Object) {
                throw InvalidInput(std::string("the invocation on standard input is ") +
                                   json::name_of(document.kind()) + ", not an object");
            }
            invocation.request_id_ = text_member(document, "requestId");
            invocation.tool_ = text_member(document, "tool");
            invocation.operation_ = text_member(document, "operation");
            invocation.dependencies_ = object_member(document, "dependencies");
            invocation.results_ = object_member(document, "results");
            invocation.state_ = object_member(document, "state");
            invocation.seed_ = seed_member(document);
            if (document.member("input") != nullptr) {
                invocation.input_ = object_member(document, "input");
                invocation.input_text_ = std::string(reader.captured());
            }
        } catch (const json::ParseError& fault) {
            throw InvalidInput(std::string("the invocation on standard input is not JSON: ") +
                               fault.what());
        }
        return invocation;
    }

    /// Reads the descriptor to its end and parses the text. A terminal is not read and counts as blank.
    static Invocation read(int descriptor = STDIN_FILENO) {
        std::string text;
        if (::isatty(descriptor) != 0) {
            return {};
        }
        char buffer[65536];
        for (;;) {
            const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
            if (got > 0) {
                text.append(buffer, static_cast<std::size_t>(got));
            } else if (got < 0 && errno == EAGAIN) {
                pollfd readable{descriptor, POLLIN, 0};
                ::poll(&readable, 1, -1);
            } else if (got < 0 && errno != EINTR) {
                throw InvalidInput("standard input cannot be read: " +
                                   std::generic_category().message(errno));
            } else if (got == 0) {
                break;
            }
        }
        return parse(std::move(text));
    }

    /// The requestId of the plan; empty if the runtime sent none.
    const std::string& request_id() const noexcept { return request_id_; }
    /// The name of the tool in the plan; empty if the runtime sent none.
    const std::string& tool() const noexcept { return tool_; }
    /// The requested operation; empty if the runtime sent none.
    const std::string& operation() const noexcept { return operation_; }
    /// The input, always an object.
    const json::Value& input() const noexcept { return input_; }
    /// The input as the received bytes, for a different JSON library.
    const std::string& input_text() const noexcept { return input_text_; }
    /// By toolId, the merged patches of each dependency; null for an optional one that failed.
    const json::Value& dependencies() const noexcept { return dependencies_; }
    /// By toolId, the `done.result` of each dependency that returned one.
    const json::Value& results() const noexcept { return results_; }
    /// The parts of the session's state that the tool's manifest names; an empty object if it names
    /// none.
    const json::Value& state() const noexcept { return state_; }
    /// What to seed the tool's dice with, so that `narratoria test` repeats what they show. Another
    /// number for each attempt; 0 if the tool was started by hand.
    std::uint32_t seed() const noexcept { return seed_; }

    bool has(std::string_view pointer) const {
        const json::Value* value = input_.find(pointer);
        return value != nullptr && !value->is_null();
    }

    std::string string(std::string_view pointer) const {
        const std::string* text = required(pointer, json::Kind::String).if_string();
        return *text;
    }
    std::string string_or(std::string_view pointer, std::string fallback) const {
        return has(pointer) ? string(pointer) : std::move(fallback);
    }

    double number(std::string_view pointer) const {
        double number = 0;
        required(pointer, json::Kind::Number).get_number(number);
        return number;
    }
    double number_or(std::string_view pointer, double fallback) const {
        return has(pointer) ? number(pointer) : fallback;
    }

    /// A whole number (`2` and `2.0` are whole). Throws for other numbers.
    std::int64_t integer(std::string_view pointer) const {
        std::int64_t number = 0;
        const json::Value& value = required(pointer, json::Kind::Number);
        if (!value.get_integer(number)) {
            throw InvalidInput(pointer, "must be a whole number of 64 bits, is " + value.text());
        }
        return number;
    }
    std::int64_t integer_or(std::string_view pointer, std::int64_t fallback) const {
        return has(pointer) ? integer(pointer) : fallback;
    }

    bool boolean(std::string_view pointer) const {
        return *required(pointer, json::Kind::Boolean).if_boolean();
    }
    bool boolean_or(std::string_view pointer, bool fallback) const {
        return has(pointer) ? boolean(pointer) : fallback;
    }

private:
    const json::Value& required(std::string_view pointer, json::Kind kind) const {
        const json::Value* value = input_.find(pointer);
        if (value == nullptr) {
            throw InvalidInput(pointer, std::string("is missing, must be ") + json::name_of(kind));
        }
        if (value->kind() != kind) {
            throw InvalidInput(pointer, std::string("must be ") + json::name_of(kind) + ", is " +
                                            json::name_of(value->kind()));
        }
        return *value;
    }

    static std::string text_member(const json::Value& document, const char* name) {
        const json::Value* value = document.member(name);
        if (value == nullptr || value->is_null()) {
            return {};
        }
        if (value->if_string() == nullptr) {
            throw InvalidInput(std::string("the invocation's ") + name + " must be a string, is " +
                               json::name_of(value->kind()));
        }
        return *value->if_string();
    }

    static json::Value object_member(const json::Value& document, const char* name) {
        const json::Value* value = document.member(name);
        if (value == nullptr || value->is_null()) {
            return json::object();
        }
        if (value->kind() != json::Kind::Object) {
            throw InvalidInput(std::string("the invocation's ") + name + " must be an object, is " +
                               json::name_of(value->kind()));
        }
        return *value;
    }

    static std::uint32_t seed_member(const json::Value& document) {
        const json::Value* value = document.member("seed");
        std::int64_t number = 0;
        if (value == nullptr || value->is_null()) {
            return 0;
        }
        if (!value->get_integer(number) || number < 0 || number > UINT32_MAX) {
            throw InvalidInput(
                std::string("the invocation's seed must be a whole number of 32 bits, is ") +
                value->text());
        }
        return static_cast<std::uint32_t>(number);
    }

    std::string request_id_;
    std::string tool_;
    std::string operation_;
    std::string input_text_ = "{}";
    json::Value input_ = json::object();
    json::Value dependencies_ = json::object();
    json::Value results_ = json::object();
    json::Value state_ = json::object();
    std::uint32_t seed_ = 0;
};

}  // namespace narratoria::tool
