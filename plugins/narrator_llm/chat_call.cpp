// SPDX-License-Identifier: Apache-2.0
#include "narrator_llm/chat_call.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <utility>

namespace narratoria::llm {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kConnectTime{10'000};
constexpr std::size_t kMaxErrorBody = 64 * 1024;

bool is_worth_a_retry(std::uint32_t status) {
    return status == 429 || status == 500 || (status >= 502 && status <= 504);
}

std::string in_lower_case(std::string_view text) {
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char letter) { return std::tolower(letter); });
    return lower;
}

// The seconds of a Retry-After header; the form with a date is not read.
std::optional<milliseconds> retry_after(const plugin::HttpResponse& response) {
    constexpr std::string_view kName = "retry-after:";
    for (const std::string_view header : response.headers()) {
        if (!in_lower_case(header).starts_with(kName)) continue;
        std::string_view value = header.substr(kName.size());
        value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
        std::uint32_t seconds = 0;
        const std::errc fault =
            std::from_chars(value.data(), value.data() + value.size(), seconds).ec;
        if (fault == std::errc()) return std::chrono::seconds(seconds);
        if (fault == std::errc::result_out_of_range) return std::chrono::seconds(UINT32_MAX);
    }
    return std::nullopt;
}

bool is_event_stream(const plugin::HttpResponse& response) {
    for (const std::string_view header : response.headers()) {
        const std::string line = in_lower_case(header);
        if (line.starts_with("content-type:")) {
            return line.find("event-stream") != std::string::npos;
        }
    }
    return true;
}

}  // namespace

ChatCall::ChatCall(const plugin::Host& host, const ModelSettings& settings, ChatEvents events)
    : host_(host), settings_(settings), events_(std::move(events)) {}

std::shared_ptr<ChatCall> ChatCall::start(const plugin::Host& host, const ModelSettings& settings,
                                          const ChatRequest& request,
                                          std::optional<milliseconds> total_time,
                                          ChatEvents events) {
    const std::shared_ptr<ChatCall> call(new ChatCall(host, settings, std::move(events)));
    plugin::HttpRequest http;
    http.url = settings.base_url + "/chat/completions";
    http.headers = {"Content-Type: application/json", "Accept: text/event-stream"};
    if (!settings.key.empty()) http.headers.push_back("Authorization: Bearer " + settings.key);
    http.body = to_json(request);
    http.connect_time = kConnectTime;
    http.total_time = total_time;
    // Each callback keeps the call alive while it runs.
    const std::weak_ptr<ChatCall> weak = call;
    call->http_ =
        plugin::Http(host, http,
                     {[weak](const auto& response) { weak.lock()->respond(response); },
                      [weak](std::string_view bytes) { weak.lock()->take_body(bytes); },
                      [weak](const plugin::HttpEnd& end) { weak.lock()->take_end(end); }});
    return call;
}

std::shared_ptr<ChatCall> ChatCall::play(const plugin::Host& host, const ModelSettings& settings,
                                         Exchange recorded, ChatEvents events) {
    const std::shared_ptr<ChatCall> call(new ChatCall(host, settings, std::move(events)));
    call->exchange_ = std::move(recorded);
    call->status_ = 200;
    call->response_.begin(call->exchange_.is_stream);
    call->play_from(0);
    return call;
}

void ChatCall::play_from(std::size_t piece) {
    const auto& pieces = exchange_.pieces;
    milliseconds pause{0};
    if (settings_.replays_times && piece < pieces.size()) {
        pause = std::max(pause, milliseconds(pieces[piece].first) - time());
    }
    timer_ = plugin::Timer(host_, pause, [weak = weak_from_this(), piece] {
        const std::shared_ptr<ChatCall> call = weak.lock();
        if (piece == call->exchange_.pieces.size()) return call->take_end(plugin::HttpEnd());
        call->tell(call->response_.feed(call->exchange_.pieces[piece].second));
        if (!call->is_over_) call->play_from(piece + 1);
    });
}

void ChatCall::cancel() {
    is_over_ = true;
    http_.cancel();
    timer_.stop();
}

milliseconds ChatCall::time() const {
    return std::chrono::duration_cast<milliseconds>(steady_clock::now() - started_);
}

void ChatCall::respond(const plugin::HttpResponse& response) {
    status_ = response.status();
    pause_ = retry_after(response);
    exchange_.is_stream = is_event_stream(response);
    response_.begin(exchange_.is_stream);
}

void ChatCall::take_body(std::string_view bytes) {
    if (status_ != 200) {
        if (error_body_.size() < kMaxErrorBody) error_body_ += bytes;
        return;
    }
    if (!settings_.record.empty()) {
        exchange_.pieces.emplace_back(static_cast<std::uint64_t>(time().count()), bytes);
    }
    tell(response_.feed(bytes));
}

void ChatCall::tell(const std::string& text) {
    if (!text.empty()) {
        if (!first_at_) first_at_ = time();
        if (events_.on_text) events_.on_text(text);
    }
    if (is_over_ || !response_.is_endless()) return;
    // The server is not waited for, and what it writes is not paid for.
    http_.cancel();
    end("the model does not end its answer", false);
}

void ChatCall::take_end(const plugin::HttpEnd& http) {
    if (status_ != 200 && status_ != 0) {
        return end("the server replied with status " + std::to_string(status_) + ": " +
                       message_of(settings_.without_key(error_body_)) + " (" + settings_.base_url +
                       ")",
                   is_worth_a_retry(status_));
    }
    if (!http.error_code.empty()) {
        const bool is_lasting =
            http.error_code == "HTTP_SETUP" || http.error_code == "HTTP_REDIRECT" ||
            http.error_code == "HTTP_TOO_LARGE" || http.error_code == "HTTP_PROTOCOL";
        return end(http.error, response_.answer().empty() && !is_lasting);
    }
    tell(response_.end());
    if (is_over_) return;
    if (response_.fault().empty()) return end("", false);
    end("the server reported " + message_of(settings_.without_key(response_.fault())) + " (" +
            settings_.base_url + ")",
        false);
}

void ChatCall::end(std::string fault, bool may_retry) {
    is_over_ = true;
    timer_.stop();
    fault_ = settings_.without_key(std::move(fault));
    may_retry_ = may_retry;
    events_.on_end();
}

}  // namespace narratoria::llm
