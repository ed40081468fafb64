// SPDX-License-Identifier: Apache-2.0
#pragma once
// One request to the chat completions of an OpenAI-compatible server, and its response.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "narrator_llm/server_events.hpp"

namespace narratoria::llm {

struct Message {
    const char* role;  // "system", "user" or "assistant"
    std::string content;
};

// How a server is asked to keep an answer to a form: by a JSON Schema, by a grammar of llama.cpp (GBNF),
// as the arguments of a function, as any JSON object, not at all. The better ones come first.
enum class Format : std::uint8_t { JsonSchema, Grammar, Tools, JsonObject, None };
inline constexpr Format kFormats[] = {Format::JsonSchema, Format::Grammar, Format::Tools,
                                      Format::JsonObject, Format::None};
const char* name_of(Format format);  // in story.toml

struct ChatRequest {
    std::string model;
    std::vector<Message> messages;
    Format format = Format::JsonSchema;
    std::string schema;   // of the answer, a JSON object; for JsonSchema and Tools
    std::string grammar;  // likewise, for Grammar
    std::optional<double> temperature;
    std::optional<std::uint64_t> seed;
    std::uint64_t max_tokens = 0;           // 0: the server's
    bool limits_completion_tokens = false;  // their newer name, which some servers want
};

std::string to_json(const ChatRequest& request);

struct TokenCounts {
    std::uint64_t input = 0;
    std::uint64_t cached = 0;
    std::uint64_t output = 0;

    TokenCounts& operator+=(const TokenCounts& more) {
        input += more.input;
        cached += more.cached;
        output += more.output;
        return *this;
    }
};

// Reads the response: a stream of events, or one JSON object of a server that does not stream.
class ChatResponse {
public:
    // The longest answer. A model that writes more does not end.
    static constexpr std::size_t kMaxAnswer = std::size_t{1} << 20;
    static constexpr std::size_t kMaxBlank = 4096;

    void begin(bool is_stream) { is_stream_ = is_stream; }
    // Returns the new part of the answer. Sets fault() if the server reports an error.
    std::string feed(std::string_view bytes);
    // The body is complete. Returns the last part of the answer.
    std::string end();

    // What the server reported instead of an answer; empty: nothing.
    const std::string& fault() const { return fault_; }
    // The whole answer so far; at the end of a response without content, the model's reasoning.
    const std::string& answer() const { return answer_; }
    bool is_cut() const { return is_cut_; }  // by the limit of tokens
    bool is_endless() const { return is_endless_; }
    const std::optional<TokenCounts>& tokens() const { return tokens_; }

private:
    void take(std::string_view json, std::string& out);
    void add(std::string_view text, std::string& out);

    bool is_stream_ = true;
    ServerEvents events_;
    std::string body_;
    std::string answer_;
    std::string reasoning_;
    std::string fault_;
    std::size_t blank_ = 0;  // bytes of white space at the end of the answer
    bool is_cut_ = false;
    bool is_endless_ = false;
    std::optional<TokenCounts> tokens_;
};

// The message of a response with an error status: the server's words, or the beginning of the body.
std::string message_of(std::string_view body);

}  // namespace narratoria::llm
