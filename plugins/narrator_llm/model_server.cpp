// SPDX-License-Identifier: Apache-2.0
#include "narrator_llm/model_server.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "narrator_llm/answer.hpp"
#include "narrator_llm/json.hpp"

namespace narratoria::llm {
namespace {

// OpenAI's servers require the word JSON in a request for JSON.
constexpr const char* kQuestion =
    "Say hello to a traveller in one short sentence. Do not write JSON.";
constexpr const char* kSchema =
    R"({"type":"object","properties":{"sign":{"enum":["heron"]}},"required":["sign"],"additionalProperties":false})";
constexpr const char* kGrammar = R"(root ::= "{\"sign\": \"heron\"}")";
// Enough for a few thoughts before the answer.
constexpr std::uint64_t kMostTokens = 200;
constexpr std::chrono::milliseconds kLongest{60'000};
constexpr std::chrono::milliseconds kLongestCount{2'000};

// The server understood the request, and did not like it.
bool is_refusal(std::uint32_t status) {
    return status == 400 || status == 422 || status == 500 || status == 501;
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r\n";
    text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
    return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

bool keeps_to(Format format, std::string_view answer) {
    if (format == Format::None) return true;
    answer = trimmed(without_thoughts(answer));
    if (format == Format::JsonObject) return answer.starts_with('{');
    rapidjson::Document document;
    return parse_object(answer, document) && text_member(&document, "sign") == "heron";
}

}  // namespace

ModelServer::ModelServer(const plugin::Host& host, const ModelSettings& settings,
                         std::function<void()> on_found)
    : host_(host), settings_(settings), on_found_(std::move(on_found)) {
    if (!settings.format) return;
    is_found_ = true;
    format_ = static_cast<std::size_t>(
        std::find(std::begin(kFormats), std::end(kFormats), *settings.format) -
        std::begin(kFormats));
}

void ModelServer::find_format() {
    if (is_found_ || probe_ != nullptr) return;
    format_ = 0;
    ask();
}

void ModelServer::ask() {
    ChatRequest request;
    request.messages = {{"user", kQuestion}};
    request.format = format();
    request.schema = kSchema;
    request.grammar = kGrammar;
    request.max_tokens = kMostTokens;
    probe_ = send(std::move(request), kLongest, {{}, [this] { judge(); }});
}

void ModelServer::judge() {
    const ChatCall& call = *probe_;
    if (const auto& tokens = call.response().tokens()) tokens_ += *tokens;
    bool goes_on = false;
    if (call.fault().empty()) {
        const std::string& answer = call.response().answer();
        // A model that only thought so far shows nothing; most servers keep to a schema.
        if (answer.empty()) format_ = 0;
        if (answer.empty() || keeps_to(format(), answer)) return end(true);
        goes_on = true;
    } else {
        if (adapts_to(call)) return ask();
        // With status 200, the server reported a fault instead of an answer.
        goes_on = is_refusal(call.status()) || (call.status() == 200 && !call.may_retry());
    }
    if (!goes_on || ++format_ == std::size(kFormats)) {
        format_ = 0;
        return end(false);
    }
    ask();
}

void ModelServer::end(bool is_found) {
    is_found_ = is_found;
    found_ = format_;
    probe_.reset();
    if (is_found) {
        host_.log(plugin::Level::Info,
                  format() == Format::None
                      ? std::string("the server keeps its answers to no form, so they are only "
                                    "asked for in words")
                      : "the server keeps its answers to format = \"" +
                            std::string(name_of(format())) + "\"");
    }
    on_found_();
}

std::shared_ptr<ChatCall> ModelServer::send(ChatRequest request,
                                            std::optional<std::chrono::milliseconds> total_time,
                                            ChatEvents events) {
    request.model = settings_.model;
    request.temperature = settings_.temperature;
    request.seed = settings_.seed;
    request.limits_completion_tokens = limits_completion_tokens_;
    return ChatCall::start(host_, settings_, request, total_time, std::move(events));
}

bool ModelServer::count_tokens(const std::string& text,
                               std::function<void(std::uint64_t tokens)> then) {
    constexpr std::string_view kVersion = "/v1";
    if (has_counted_ || !settings_.base_url.ends_with(kVersion)) return false;
    has_counted_ = true;
    plugin::HttpRequest http;
    http.url =
        settings_.base_url.substr(0, settings_.base_url.size() - kVersion.size()) + "/tokenize";
    http.headers = {"Content-Type: application/json"};
    if (!settings_.key.empty()) http.headers.push_back("Authorization: Bearer " + settings_.key);
    http.total_time = kLongestCount;
    rapidjson::StringBuffer body;
    JsonWriter writer(body);
    writer.StartObject();
    writer.Key("model");
    write(writer, settings_.model);
    writer.Key("content");  // for llama.cpp
    write(writer, text);
    writer.Key("prompt");  // for vLLM
    write(writer, text);
    writer.EndObject();
    http.body.assign(body.GetString(), body.GetSize());
    const auto response = std::make_shared<std::string>();
    count_ = plugin::Http(host_, http,
                          {{},
                           [response](std::string_view bytes) { *response += bytes; },
                           [response, then = std::move(then)](const plugin::HttpEnd&) {
                               rapidjson::Document counted;
                               parse_object(*response, counted);
                               const Json* const tokens = member(&counted, "tokens");
                               const bool is_list = tokens != nullptr && tokens->IsArray();
                               then(is_list ? tokens->Size() : number_member(&counted, "count"));
                           }});
    return true;
}

bool ModelServer::adapts_to(const ChatCall& call) {
    // A fault that may not happen again, as with status 500, says nothing about the form.
    if (!is_refusal(call.status()) || call.may_retry()) return false;
    if (!limits_completion_tokens_ &&
        call.fault().find("max_completion_tokens") != std::string::npos) {
        limits_completion_tokens_ = true;
        return true;
    }
    if (probe_ != nullptr || is_accepted_ || settings_.format) return false;
    if (++format_ < std::size(kFormats)) return true;
    // So the format was not what it refused.
    format_ = found_;
    return false;
}

}  // namespace narratoria::llm
