// SPDX-License-Identifier: Apache-2.0
#include "narrator_llm/chat.hpp"

#include "narrator_llm/json.hpp"
#include "narratoria/utf8.hpp"

namespace narratoria::llm {
namespace {

constexpr std::size_t kMaxMessage = 400;

// The message of an "error" member: {"error": {"message": "…"}} or {"error": "…"}.
std::string error_in(const Json& object) {
    const Json* error = member(&object, "error");
    // {"object": "error", "message": "…"}
    if (error == nullptr && text_member(&object, "object") == "error") error = &object;
    if (error == nullptr) return {};
    if (error->IsString()) return std::string(view(*error));
    const std::string_view message = text_member(error, "message");
    return message.empty() ? "an error without a message" : std::string(message);
}

void write_member(JsonWriter& writer, const char* name, const char* value) {
    writer.Key(name);
    writer.String(value);
}

// {"name": "answer", NAME: SCHEMA}
void write_schema(JsonWriter& writer, const char* name, const std::string& schema) {
    writer.StartObject();
    write_member(writer, "name", "answer");
    writer.Key(name);
    writer.RawValue(schema.data(), schema.size(), rapidjson::kObjectType);
    writer.EndObject();
}

void write_format(JsonWriter& writer, const ChatRequest& request) {
    switch (request.format) {
        case Format::JsonSchema:
            writer.Key("response_format");
            writer.StartObject();
            write_member(writer, "type", "json_schema");
            writer.Key("json_schema");
            write_schema(writer, "schema", request.schema);
            writer.EndObject();
            break;
        case Format::Grammar:
            writer.Key("grammar");
            write(writer, request.grammar);
            break;
        case Format::Tools:
            writer.Key("tools");
            writer.StartArray();
            writer.StartObject();
            write_member(writer, "type", "function");
            writer.Key("function");
            write_schema(writer, "parameters", request.schema);
            writer.EndObject();
            writer.EndArray();
            // Some servers know no other way to ask for a certain function.
            write_member(writer, "tool_choice", "required");
            break;
        case Format::JsonObject:
            writer.Key("response_format");
            writer.StartObject();
            write_member(writer, "type", "json_object");
            writer.EndObject();
            break;
        case Format::None: break;
    }
}

}  // namespace

const char* name_of(Format format) {
    switch (format) {
        case Format::JsonSchema: return "json_schema";
        case Format::Grammar: return "grammar";
        case Format::Tools: return "tools";
        case Format::JsonObject: return "json_object";
        case Format::None: break;
    }
    return "none";
}

std::string to_json(const ChatRequest& request) {
    rapidjson::StringBuffer out;
    JsonWriter writer(out);
    writer.StartObject();
    writer.Key("model");
    write(writer, request.model);
    writer.Key("messages");
    writer.StartArray();
    for (const Message& message : request.messages) {
        writer.StartObject();
        writer.Key("role");
        writer.String(message.role);
        writer.Key("content");
        write(writer, message.content);
        writer.EndObject();
    }
    writer.EndArray();
    writer.Key("stream");
    writer.Bool(true);
    writer.Key("stream_options");
    writer.StartObject();
    writer.Key("include_usage");
    writer.Bool(true);
    writer.EndObject();
    write_format(writer, request);
    if (request.temperature) {
        writer.Key("temperature");
        writer.Double(*request.temperature);
    }
    if (request.seed) {
        writer.Key("seed");
        writer.Uint64(*request.seed);
    }
    if (request.max_tokens > 0) {
        writer.Key(request.limits_completion_tokens ? "max_completion_tokens" : "max_tokens");
        writer.Uint64(request.max_tokens);
    }
    writer.EndObject();
    return {out.GetString(), out.GetSize()};
}

std::string ChatResponse::feed(std::string_view bytes) {
    std::string out;
    if (is_stream_) {
        events_.feed(bytes, [&](std::string_view data) { take(data, out); });
    } else if (body_.size() + bytes.size() > 2 * kMaxAnswer) {
        is_endless_ = true;
    } else {
        body_ += bytes;
    }
    return out;
}

std::string ChatResponse::end() {
    std::string out;
    const auto on_data = [&](std::string_view data) { take(data, out); };
    // Some servers declare their stream as plain text.
    if (body_.starts_with("data:")) events_.feed(body_, on_data);
    else if (!is_stream_) take(body_, out);
    events_.end(on_data);
    // Some servers put the answer of a model that reasons into the wrong member.
    if (answer_.find_first_not_of(" \t\r\n") == std::string::npos) {
        answer_.clear();
        if (reasoning_.find('{') != std::string::npos) add(reasoning_, out);
    }
    if (!is_utf8(answer_)) fault_ = "an answer that is not valid UTF-8";
    return out;
}

void ChatResponse::take(std::string_view json, std::string& out) {
    if (json == "[DONE]") return;
    rapidjson::Document document;
    if (!parse_object(json, document)) {
        fault_ = is_stream_ ? "an event that is not a JSON object: "
                            : "a body that is not a JSON object: ";
        fault_ += detail::prefix_of(json, kMaxMessage);
        return;
    }
    if (std::string error = error_in(document); !error.empty()) {
        fault_ = std::move(error);
        return;
    }
    if (const Json* const usage = member(&document, "usage")) {
        const Json* const details = member(usage, "prompt_tokens_details");
        // A number that cannot be true is left out: the runtime's are at most 2^63 - 1.
        const auto count = [](const Json* object, const char* name) {
            const std::uint64_t tokens = number_member(object, name);
            return tokens < std::uint64_t{1} << 40 ? tokens : 0;
        };
        tokens_ = {count(usage, "prompt_tokens"), count(details, "cached_tokens"),
                   count(usage, "completion_tokens")};
    }
    const Json* const choices = member(&document, "choices");
    if (choices == nullptr || !choices->IsArray() || choices->Empty()) return;
    const Json* const choice = &(*choices)[0];
    const Json* message = member(choice, "delta");
    if (message == nullptr) message = member(choice, "message");
    add(text_member(message, "content"), out);
    // Of several calls, the first object is the answer, as everywhere (read_answer).
    each_element(message, "tool_calls", [&](const Json& call) {
        add(text_member(member(&call, "function"), "arguments"), out);
    });
    for (const char* name : {"reasoning_content", "reasoning"}) {
        if (reasoning_.size() < kMaxAnswer) reasoning_ += text_member(message, name);
    }
    if (text_member(choice, "finish_reason") == "length") is_cut_ = true;
}

void ChatResponse::add(std::string_view text, std::string& out) {
    if (text.empty()) return;
    answer_ += text;
    out += text;
    const std::size_t last = text.find_last_not_of(" \t\r\n");
    blank_ = last == std::string_view::npos ? blank_ + text.size() : text.size() - last - 1;
    if (answer_.size() > kMaxAnswer || blank_ > kMaxBlank) is_endless_ = true;
}

std::string message_of(std::string_view body) {
    rapidjson::Document document;
    std::string message;
    if (parse_object(body, document)) {
        message = error_in(document);
        if (message.empty()) message = text_member(&document, "message");
        if (message.empty()) message = text_member(&document, "detail");
    }
    if (message.empty()) message = body;
    return std::string(detail::prefix_of(message, kMaxMessage));
}

}  // namespace narratoria::llm
