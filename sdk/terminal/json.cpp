// SPDX-License-Identifier: Apache-2.0
#include "json.hpp"

#include <rapidjson/encodedstream.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>

#include "narratoria/tool.hpp"

namespace narratoria::terminal::json {
namespace {

// Iterative, because deeply nested brackets must not overflow the stack.
constexpr unsigned kReading = rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag;

void parse(std::string_view text, Document& document) {
    document.Parse<kReading>(text.data() != nullptr ? text.data() : "", text.size());
    if (document.HasParseError()) document.SetNull();
}

}  // namespace

std::optional<std::size_t> ill_formed_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const auto step = tool::json::utf8_step(text, at);
        if (!step.well_formed) return at;
        at += step.length;
    }
    return std::nullopt;
}

Document read(std::string_view text) {
    Document document;
    parse(text, document);
    return document;
}

Value read(std::string_view text, Document::AllocatorType& pool) {
    Document document(&pool);
    parse(text, document);
    return std::move(static_cast<Value&>(document));
}

const Value* member(const Value& object, std::string_view name) {
    if (!object.IsObject()) return nullptr;
    const Value* found = nullptr;
    for (const auto& each : object.GetObject()) {
        if (name == std::string_view(each.name.GetString(), each.name.GetStringLength())) {
            found = &each.value;
        }
    }
    return found;
}

std::string_view text(const Value& object, std::string_view name) {
    const Value* value = member(object, name);
    if (value == nullptr || !value->IsString()) return {};
    return {value->GetString(), value->GetStringLength()};
}

std::vector<std::string> texts(const Value* list) {
    std::vector<std::string> out;
    if (list == nullptr || !list->IsArray()) return out;
    for (const Value& text : list->GetArray()) {
        if (text.IsString()) out.emplace_back(text.GetString(), text.GetStringLength());
    }
    return out;
}

std::optional<double> number(const Value& object, std::string_view name) {
    const Value* value = member(object, name);
    if (value == nullptr || !value->IsNumber()) return std::nullopt;
    return value->GetDouble();
}

std::uint64_t count(const Value& object, std::string_view name) {
    const Value* value = member(object, name);
    return value != nullptr && value->IsUint64() ? value->GetUint64() : 0;
}

std::string quoted(std::string_view text) {
    std::string out;
    tool::json::append_quoted(out, text);
    return out;
}

std::string line(const Value& value) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    value.Accept(writer);
    return {buffer.GetString(), buffer.GetSize()};
}

std::optional<ObjectError> object_error(std::string_view text) {
    const auto at = [&](std::size_t offset, std::string message) {
        offset = std::min(offset, text.size());
        const std::string_view before = text.substr(0, offset);
        const std::size_t last_break = before.rfind('\n');
        return ObjectError{
            static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1,
            last_break == std::string_view::npos ? offset + 1 : offset - last_break,
            std::move(message)};
    };
    if (const auto fault = ill_formed_utf8(text)) return at(*fault, "this byte is not valid UTF-8");
    rapidjson::MemoryStream stream(text.data() != nullptr ? text.data() : "", text.size());
    Document document;
    document.ParseStream<kReading>(stream);
    if (document.HasParseError()) {
        if (text.find_first_not_of(" \t\r\n", document.GetErrorOffset()) == std::string::npos) {
            return at(text.size(), "the text ends before the JSON is complete");
        }
        std::string message = rapidjson::GetParseError_En(document.GetParseError());
        while (!message.empty() && message.back() == '.') message.pop_back();
        return at(document.GetErrorOffset(), std::move(message));
    }
    // RapidJSON would treat a NUL as the end of the text.
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
        return at(nul, "a NUL byte");
    }
    if (!document.IsObject()) return at(0, "this is not a JSON object: { … }");
    return std::nullopt;
}

namespace {

class ObjectLines : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, ObjectLines> {
public:
    ObjectLines(std::string_view text, const rapidjson::MemoryStream& stream)
        : text_(text), stream_(stream) {}

    std::map<std::string, std::size_t> take() { return std::move(lines_); }

    bool Default() { return next(); }
    bool StartObject() {
        for (; counted_ < stream_.Tell(); ++counted_) line_ += text_[counted_] == '\n' ? 1 : 0;
        std::string pointer;
        for (const Place& each : places_) {
            pointer += '/' + (each.is_array ? std::to_string(each.index) : each.name);
        }
        lines_.emplace(std::move(pointer), line_);
        places_.push_back({false, 0, {}});
        return true;
    }
    bool Key(const char* name, rapidjson::SizeType length, bool) {
        places_.back().name.assign(name, length);
        return true;
    }
    bool EndObject(rapidjson::SizeType) { return end(); }
    bool StartArray() {
        places_.push_back({true, 0, {}});
        return true;
    }
    bool EndArray(rapidjson::SizeType) { return end(); }

private:
    struct Place {
        bool is_array;
        std::size_t index;
        std::string name;
    };

    bool end() {
        places_.pop_back();
        return next();
    }
    bool next() {
        if (!places_.empty()) ++places_.back().index;
        return true;
    }

    std::string_view text_;
    const rapidjson::MemoryStream& stream_;
    std::size_t counted_ = 0;  // bytes
    std::size_t line_ = 1;
    std::vector<Place> places_;  // from the root to the current value
    std::map<std::string, std::size_t> lines_;
};

}  // namespace

std::map<std::string, std::size_t> object_lines(std::string_view text) {
    rapidjson::MemoryStream stream(text.data() != nullptr ? text.data() : "", text.size());
    ObjectLines lines(text, stream);
    rapidjson::Reader().Parse<rapidjson::kParseIterativeFlag>(stream, lines);
    return lines.take();
}

}  // namespace narratoria::terminal::json
