// SPDX-License-Identifier: Apache-2.0
#include "narrator_process/message.hpp"

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <charconv>

namespace narratoria::plugins {
namespace {

using rapidjson::SizeType;

// Copies the plan, the invocation or the usage while parsing. Numbers keep their spelling, whatever their
// size, and no DOM is built.
class Handler : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Handler> {
public:
    explicit Handler(Message& answer) : message_(answer) {}

    bool Null() {
        return scalar([](auto& out) { return out.Null(); });
    }
    bool Bool(bool value) {
        return scalar([=](auto& out) { return out.Bool(value); });
    }
    bool RawNumber(const char* text, SizeType length, bool) {
        if (depth_ == 1 && (name_ == "id" || name_ == "call")) {
            std::uint64_t number = 0;
            const auto [end, error] = std::from_chars(text, text + length, number);
            if (error == std::errc() && end == text + length) {
                (name_ == "id" ? message_.id : message_.call) = number;
            }
        }
        return scalar(
            [=](auto& out) { return out.RawValue(text, length, rapidjson::kNumberType); });
    }
    bool String(const char* text, SizeType length, bool) {
        if (depth_ == 1 && name_ == "error") message_.error.emplace(text, length);
        if (depth_ == 1 && name_ == "delta") message_.delta.emplace(text, length);
        return scalar([=](auto& out) { return out.String(text, length); });
    }
    bool StartObject() {
        return begin([](auto& out) { return out.StartObject(); });
    }
    bool StartArray() {
        // The line itself must be an object.
        return depth_ > 0 && begin([](auto& out) { return out.StartArray(); });
    }
    bool EndObject(SizeType) {
        return end([](auto& out) { return out.EndObject(); });
    }
    bool EndArray(SizeType) {
        return end([](auto& out) { return out.EndArray(); });
    }
    bool Key(const char* text, SizeType length, bool) {
        if (depth_ > 1) return !is_copied_ || writer_.Key(text, length);
        name_.assign(text, length);
        // The last of duplicate keys wins.
        if (name_ == "id") message_.id.reset();
        if (name_ == "error") message_.error.reset();
        if (name_ == "delta") message_.delta.reset();
        if (name_ == "call") message_.call.reset();
        is_copied_ = copy_of(name_) != nullptr;
        if (is_copied_) {
            copy_.Clear();
            writer_.Reset(copy_);
        }
        return true;
    }

private:
    // The member of the message that is copied as JSON, or NULL.
    std::optional<std::string>* copy_of(std::string_view name) {
        if (name == "plan") return &message_.plan;
        if (name == "invoke") return &message_.invoke;
        return name == "usage" ? &message_.usage : nullptr;
    }
    template <class Write>
    bool scalar(Write&& write) {
        if (depth_ == 0) return false;
        if (is_copied_ && !write(writer_)) return false;
        value_has_ended();
        return true;
    }
    template <class Write>
    bool begin(Write&& write) {
        ++depth_;
        return !is_copied_ || write(writer_);
    }
    template <class Write>
    bool end(Write&& write) {
        if (--depth_ == 0) return true;
        if (is_copied_ && !write(writer_)) return false;
        value_has_ended();
        return true;
    }
    void value_has_ended() {
        if (depth_ != 1) return;
        if (is_copied_) {
            copy_of(name_)->emplace(copy_.GetString(), copy_.GetSize());
        }
        if (name_ == "error" && !message_.error) message_.error = "its \"error\" is not a string";
        is_copied_ = false;
    }

    Message& message_;
    std::size_t depth_ = 0;
    std::string name_;
    bool is_copied_ = false;
    rapidjson::StringBuffer copy_;
    rapidjson::Writer<rapidjson::StringBuffer> writer_{copy_};
};

}  // namespace

bool read_message(std::string_view line, Message& answer, std::string& fault) {
    rapidjson::MemoryStream stream(line.data(), line.size());
    rapidjson::Reader reader;
    Handler handler(answer);
    // Iterative, because the process controls the nesting depth and our stack is limited.
    const rapidjson::ParseResult result =
        reader.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag |
                     rapidjson::kParseNumbersAsStringsFlag>(stream, handler);
    if (result.IsError()) {
        fault = result.Code() == rapidjson::kParseErrorTermination
                    ? std::string("not a JSON object")
                    : "byte " + std::to_string(result.Offset() + 1) + ": " +
                          rapidjson::GetParseError_En(result.Code());
        return false;
    }
    // The reader stops at a NUL.
    if (stream.Tell() != line.size()) {
        fault = "it contains a NUL character";
        return false;
    }
    return true;
}

}  // namespace narratoria::plugins
