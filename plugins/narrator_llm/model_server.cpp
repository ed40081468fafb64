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
constexpr int kMostMissed = 2;
constexpr std::chrono::milliseconds kLongestCount{2'000};
constexpr std::uint64_t kMostCountBytes = std::uint64_t{4} << 20;

// The server understood the request, and did not like it.
bool is_refusal(std::uint32_t status) {
    return status == 400 || status == 422 || status == 500 || status == 501;
}

bool honours(Format format, std::string_view answer) {
    if (format == Format::None) return true;
    if (format == Format::JsonObject) return answer.starts_with('{');
    rapidjson::Document document;
    return parse_object(answer, document) && text_member(&document, "sign") == "heron";
}

}  // namespace

ModelServer::ModelServer(const plugin::Host& host, const ModelSettings& settings,
                         std::function<void()> on_found)
    : host_(host), settings_(settings), on_found_(std::move(on_found)) {
    if (!settings.format) return;
    is_known_ = true;
    format_ = static_cast<std::size_t>(
        std::find(std::begin(kFormats), std::end(kFormats), *settings.format) -
        std::begin(kFormats));
}

void ModelServer::find_format(std::chrono::milliseconds most) {
    if (is_known_ || probe_ != nullptr) return;
    format_ = 0;
    is_accepted_ = false;
    deadline_ = std::chrono::steady_clock::now() + most;
    ask();
}

void ModelServer::ask() {
    ChatRequest request;
    request.messages = {{"user", kQuestion}};
    request.format = format();
    request.schema = kSchema;
    request.grammar = kGrammar;
    request.max_tokens = kMostTokens;
    const auto left = deadline_ - std::chrono::steady_clock::now();
    const auto most = std::chrono::duration_cast<std::chrono::milliseconds>(left);
    probe_ = send(std::move(request), std::max(most, std::chrono::milliseconds(1)),
                  {{}, [this] { judge(); }});
}

void ModelServer::judge() {
    const ChatCall& call = *probe_;
    const ChatResponse& response = call.response();
    if (response.tokens()) tokens_ += *response.tokens();
    if (call.fault().empty()) {
        const std::string_view answer = trimmed(without_thoughts(response.answer()));
        if (answer.empty() && format_ == 0) {
            is_known_ = true;
            host_.log(
                plugin::Level::Info,
                "the server did not show which format it honours; format = \"json_schema\" is "
                "assumed");
            return end();
        }
        if (honours(format(), answer)) {
            is_known_ = true;
            host_.log(
                plugin::Level::Info,
                format() == Format::None
                    ? std::string("the server honours no format, so the form of an answer is "
                                  "only asked for in words")
                    : "the server honours format = \"" + std::string(name_of(format())) + "\"");
            return end();
        }
    } else if (adapts_to(call)) {
        return ask();
    } else if (!is_refusal(call.status()) && response.fault().empty() && !response.is_endless()) {
        // The server did not answer, which says nothing about the format. It is asked again with the
        // next prompt, unless it is only slow or refuses again.
        const bool is_there = call.status() != 0;
        is_known_ = !has_time() || (is_there && ++missed_ == kMostMissed);
        format_ = 0;
        host_.log(plugin::Level::Info,
                  "the server did not show which format it honours: " + call.fault());
        return end();
    }
    if (++format_ < std::size(kFormats)) return ask();
    // It refused even a request without a format.
    format_ = 0;
    end();
}

void ModelServer::end() {
    probe_.reset();
    on_found_();
}

void ModelServer::accept() {
    is_accepted_ = true;
    if (format() == Format::None) is_known_ = true;
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
    // Servers of others have no such address, and it is not for the key.
    if (has_counted_ || !settings_.base_url.starts_with("http://") ||
        !settings_.base_url.ends_with(kVersion)) {
        return false;
    }
    has_counted_ = true;
    plugin::HttpRequest http;
    http.url =
        settings_.base_url.substr(0, settings_.base_url.size() - kVersion.size()) + "/tokenize";
    http.headers = {"Content-Type: application/json"};
    http.total_time = kLongestCount;
    http.max_body_bytes = kMostCountBytes;
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
    if (format() == Format::None) {
        // So the format was not what it refused.
        format_ = std::exchange(refused_, 0);
        return false;
    }
    refused_ = format_;
    format_ = std::size(kFormats) - 1;
    return true;
}

}  // namespace narratoria::llm
