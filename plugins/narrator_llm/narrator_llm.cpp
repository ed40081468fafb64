// SPDX-License-Identifier: Apache-2.0
// A narrator that asks a language model on an OpenAI-compatible server (README.md).

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "narrator_llm/answer.hpp"
#include "narrator_llm/answer_schema.hpp"
#include "narrator_llm/chat.hpp"
#include "narrator_llm/conversation.hpp"
#include "narrator_llm/exchanges.hpp"
#include "narrator_llm/instructions.hpp"
#include "narrator_llm/json.hpp"
#include "narrator_llm/narrative_reader.hpp"
#include "narrator_llm/question.hpp"
#include "narrator_llm/settings.hpp"
#include "narratoria/plugin.hpp"

namespace plugin = narratoria::plugin;

namespace narratoria::llm {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kConnectTime{10'000};
constexpr milliseconds kFirstPause{500};
constexpr int kMaxRetries = 3;
// A model rarely replies within less. The default of narrator_ms is 5 s.
constexpr milliseconds kLeastTime{20'000};
constexpr std::size_t kMaxErrorBody = 64 * 1024;
constexpr std::size_t kMaxFaulty = 4000;  // bytes of an answer that could not be used

bool is_worth_a_retry(std::uint32_t status) {
    return status == 429 || status == 500 || (status >= 502 && status <= 504);
}

milliseconds since(steady_clock::time_point time) {
    return std::chrono::duration_cast<milliseconds>(steady_clock::now() - time);
}

// The seconds of a Retry-After header; the form with a date is not read.
std::optional<milliseconds> retry_after(const plugin::HttpResponse& response) {
    constexpr std::string_view kName = "retry-after:";
    for (const std::string_view header : response.headers()) {
        if (header.size() <= kName.size()) continue;
        std::string name(header.substr(0, kName.size()));
        std::transform(name.begin(), name.end(), name.begin(),
                       [](unsigned char letter) { return std::tolower(letter); });
        if (name != kName) continue;
        std::string_view value = header.substr(kName.size());
        value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
        unsigned seconds = 0;
        if (std::from_chars(value.data(), value.data() + value.size(), seconds).ec == std::errc() &&
            seconds <= 3600) {
            return std::chrono::seconds(seconds);
        }
    }
    return std::nullopt;
}

bool is_event_stream(const plugin::HttpResponse& response) {
    for (const std::string_view header : response.headers()) {
        std::string line(header);
        std::transform(line.begin(), line.end(), line.begin(),
                       [](unsigned char letter) { return std::tolower(letter); });
        if (line.starts_with("content-type:"))
            return line.find("event-stream") != std::string::npos;
    }
    return true;
}

class LanguageModel final : public plugin::Narrator {
public:
    static constexpr bool kDetailed = true;

    // With invalid settings, each request fails with the reason. If the constructor threw instead,
    // the session would only report that there is no such narrator.
    explicit LanguageModel(const plugin::Host& host) : host_(host) {
        try {
            settings_ = read_settings(host);
            conversation_.emplace(settings_.budget);
            instructions_ = read_instructions(host, settings_);
            if (!settings_.replay.empty()) replay_ = Exchanges::read(settings_.replay);
        } catch (const std::runtime_error& error) {
            fault_ = error.what();
            host.log(plugin::Level::Warning, fault_);
        }
    }

    void generate(std::string_view json, plugin::Reply reply) override {
        if (!fault_.empty()) throw std::runtime_error(fault_);
        Question question(json, std::move(reply));
        // A resumed turn may begin with a later question.
        const bool is_new = question.is_first() || question.stamp() != stamp_;
        if (is_new) begin_turn(question);
        if (!question.is_first() && !refusal_.empty()) {
            // The server has refused this prompt, and asking again would not help.
            question.reply().fail(refusal_);
            return;
        }
        if (!question.is_first()) go_on(question);
        question_.emplace(std::move(question));
        retries_ = 0;
        generated_at_ = steady_clock::now();
        ask();
    }

    void cancel_reply(std::uint64_t token) override {
        if (question_ && question_->reply().token() == token) drop_question();
    }

private:
    // ---- what the model is shown

    void begin_turn(const Question& question) {
        stamp_ = question.stamp();
        refusal_.clear();
        last_in_turn_.clear();
        const auto time = question.reply().timeout();
        if (time && *time < kLeastTime && !std::exchange(has_warned_, true)) {
            host_.log(plugin::Level::Warning,
                      "the model has " + std::to_string(time->count()) +
                          " ms for a reply; most need more: write [times] narrator_ms = 120000 in "
                          "story.toml");
        }
        const std::vector<SeenTurn> before = question.turns();
        if (conversation_->size() != good_size_ + 1 && !before.empty()) {
            // The last turn ended without a usable answer, so with the fallback text, which the model
            // is shown instead of its answers.
            Answer fallback;
            fallback.narrative = before.back().narrative;
            conversation_->keep(good_size_);
            conversation_->add("assistant", to_json(fallback));
        }
        key_.prompts.clear();
        for (const SeenTurn& turn : before) key_.prompts.push_back(turn.prompt);
        if (key_.prompts.size() == ExchangeKey::kMaxPrompts) {
            key_.prompts.erase(key_.prompts.begin());
        }
        key_.prompts.push_back(question.prompt());
        conversation_->begin_turn(before, question.prompt());
        good_size_ = conversation_->size();
    }

    // The turn goes on: the tools have run, or the last answer could not be used.
    void go_on(const Question& question) {
        const std::string faults = question.faults();
        const std::string results = question.results();
        if (!faults.empty()) {
            // If the server failed, the model has no fault to correct, and two messages of the same
            // role in a row are refused by some models.
            if (!conversation_->has_answer()) return;
            conversation_->add("user", "That answer cannot be used:" + faults +
                                           "\nAnswer again, with one JSON object only.");
        } else if (!results.empty()) {
            conversation_->add("user", results);
            good_size_ = conversation_->size();
        }
    }

    // ---- asking

    void ask() {
        const Question& question = *question_;
        const std::vector<ToolDescription> tools = question.tools();
        ChatRequest request;
        request.model = settings_.model;
        request.messages = conversation_->messages(rules_of(instructions_, tools), question.state(),
                                                   settings_.max_tokens);
        request.format = settings_.format;
        if (request.format == Format::JsonSchema) request.schema = answer_schema(tools);
        request.temperature = settings_.temperature;
        request.seed = settings_.seed;
        request.max_tokens = settings_.max_tokens;
        request_bytes_ = 0;
        for (const Message& message : request.messages) request_bytes_ += message.content.size();

        response_ = ChatResponse();
        reader_ = NarrativeReader();
        status_ = 0;
        error_body_.clear();
        pause_.reset();
        asked_at_ = steady_clock::now();
        first_at_.reset();
        recorded_ = Exchange();
        key_.continuation = question.continuation();
        if (replay_) return replay();
        plugin::HttpRequest http;
        http.url = settings_.base_url + "/chat/completions";
        http.headers = {"Content-Type: application/json", "Accept: text/event-stream"};
        if (!settings_.key.empty())
            http.headers.push_back("Authorization: Bearer " + settings_.key);
        http.body = to_json(request);
        http.connect_time = kConnectTime;
        plugin::HttpEvents events;
        events.on_response = [this](const plugin::HttpResponse& response) {
            status_ = response.status();
            pause_ = retry_after(response);
            recorded_.is_stream = is_event_stream(response);
            response_.begin(recorded_.is_stream);
        };
        events.on_body = [this](std::string_view bytes) { take_body(bytes); };
        events.on_end = [this](const plugin::HttpEnd& end) { take_end(end); };
        http_ = plugin::Http(host_, http, std::move(events));
    }

    // ---- recordings

    void record() {
        std::string body;
        for (const auto& piece : recorded_.pieces) body += piece.second;
        if (std::string safe = redacted(body); safe != body) {
            recorded_.pieces = {{recorded_.pieces.back().first, std::move(safe)}};
        }
        try {
            append_exchange(settings_.record, key_, recorded_);
        } catch (const std::runtime_error& error) {
            host_.log(plugin::Level::Error, error.what());
        }
    }

    // Delivers a recorded response instead of the server's, from the loop.
    void replay() {
        const Exchange* const exchange = replay_->next(key_);
        if (exchange == nullptr) {
            refusal_ = "the recording " + settings_.replay + " has no answer to \"" +
                       key_.prompts.back() + "\" at this place of the story; record it again";
            return fail(refusal_);
        }
        recorded_ = *exchange;
        status_ = 200;
        response_.begin(recorded_.is_stream);
        replay_from(0);
    }

    void replay_from(std::size_t piece) {
        milliseconds pause{0};
        if (settings_.replays_times && piece < recorded_.pieces.size()) {
            const milliseconds at{recorded_.pieces[piece].first};
            pause = std::max(pause, at - since(asked_at_));
        }
        retry_ = plugin::Timer(host_, pause, [this, piece] {
            if (piece == recorded_.pieces.size()) return take_end(plugin::HttpEnd());
            take_body(recorded_.pieces[piece].second);
            if (question_) replay_from(piece + 1);
        });
    }

    void take_body(std::string_view bytes) {
        if (status_ != 200) {
            if (error_body_.size() < kMaxErrorBody) error_body_ += bytes;
            return;
        }
        if (!settings_.record.empty()) {
            const auto time = static_cast<std::uint64_t>(since(asked_at_).count());
            recorded_.pieces.emplace_back(time, bytes);
        }
        tell(response_.feed(bytes));
        if (!response_.is_endless()) return;
        // The server is not waited for, and what it writes is not paid for.
        http_.cancel();
        fail("the model does not end its answer");
    }

    void tell(const std::string& piece) {
        if (piece.empty()) return;
        if (!first_at_) first_at_ = since(asked_at_);
        const std::string told = reader_.feed(piece);
        if (!told.empty()) question_->reply().delta(told);
    }

    void take_end(const plugin::HttpEnd& end) {
        if (!end.error_code.empty() || status_ != 200) return take_error(end);
        tell(response_.end());
        if (!response_.fault().empty()) {
            return fail("the server reported " + message_of(redacted(response_.fault())));
        }
        if (!settings_.record.empty()) record();
        report_usage();
        take_answer();
    }

    void take_error(const plugin::HttpEnd& end) {
        std::string why;
        bool may_retry = false;
        if (status_ == 0 || status_ == 200) {
            why = end.error;
            may_retry = response_.answer().empty() && end.error_code != "HTTP_SETUP" &&
                        end.error_code != "HTTP_REDIRECT" && end.error_code != "HTTP_TOO_LARGE" &&
                        end.error_code != "HTTP_PROTOCOL";
        } else {
            why = "the server replied with status " + std::to_string(status_) + ": " +
                  message_of(redacted(error_body_)) + " (" + settings_.base_url + ")";
            may_retry = is_worth_a_retry(status_);
        }
        const milliseconds pause = pause_.value_or(kFirstPause * (1 << retries_));
        const auto time = question_->reply().timeout();
        const bool has_time = !time || since(generated_at_) + pause < *time;
        if (may_retry && retries_ < kMaxRetries && has_time) {
            ++retries_;
            host_.log(plugin::Level::Info,
                      redacted(why) + "; asking again in " + std::to_string(pause.count()) + " ms");
            retry_ = plugin::Timer(host_, pause, [this] { ask(); });
            return;
        }
        if (status_ >= 400 && status_ < 500 && !may_retry) {
            if (status_ == 401 || status_ == 403) {
                why += settings_.key_variable.empty()
                           ? "; if the server needs a key, name its variable: key_variable = \"…\""
                           : "; check the key in the variable " + settings_.key_variable;
            }
            refusal_ = redacted(why);
        }
        // Asking again before the server wants to be asked would not help.
        if (pause_ && !has_time) refusal_ = redacted(why);
        fail(why);
    }

    void report_usage() {
        const auto& tokens = response_.tokens();
        if (!tokens) return;
        conversation_->calibrate(request_bytes_, tokens->input);
        rapidjson::StringBuffer out;
        JsonWriter writer(out);
        writer.StartObject();
        if (!settings_.model.empty()) {
            writer.Key("model");
            write(writer, settings_.model);
        }
        const auto count = [&](const char* name, std::uint64_t value) {
            writer.Key(name);
            writer.Uint64(value);
        };
        count("inputTokens", tokens->input);
        count("outputTokens", tokens->output);
        count("cachedTokens", tokens->cached);
        if (first_at_) count("firstMs", static_cast<std::uint64_t>(first_at_->count()));
        count("totalMs", static_cast<std::uint64_t>(since(asked_at_).count()));
        if (settings_.prices) {
            writer.Key("cost");
            writer.Double(settings_.prices->of(*tokens));
            writer.Key("currency");
            write(writer, settings_.prices->currency);
        }
        writer.EndObject();
        try {
            question_->reply().usage({out.GetString(), out.GetSize()});
        } catch (const narratoria::Error&) {
            // The server's numbers cannot be true; the host has logged why.
        }
    }

    void take_answer() {
        std::vector<std::string> names;
        for (const ToolDescription& tool : question_->tools()) names.push_back(tool.name);
        Answer answer;
        std::string fault = read_answer(response_.answer(), names, answer);
        if (!fault.empty()) {
            if (response_.is_cut() && fault.find("cut off") == std::string::npos) {
                fault += "; it was cut off by the limit of tokens";
            }
            // Its beginning is enough to see the fault, and fits into the budget.
            const std::string_view given =
                narratoria::detail::prefix_of(response_.answer(), kMaxFaulty);
            conversation_->add("assistant", given.empty() ? "(nothing)" : std::string(given));
            return fail("the model's answer cannot be used: " + fault);
        }
        // A model repeats the faults that it is shown, so they leave once there is a correct answer.
        conversation_->keep(good_size_);
        // A small model may use the same tool again and again; the turn ends then.
        Answer same = answer;
        same.choices.clear();
        if (std::string text = to_json(same); std::exchange(last_in_turn_, text) == text) {
            answer.tools.clear();
        }
        conversation_->add("assistant", to_json(answer));
        const plugin::Reply reply = question_->reply();
        const bool continues = !answer.tools.empty();
        question_.reset();
        reply.plan(to_plan(answer, make_uuid(), continues));
    }

    // ---- ending

    void fail(const std::string& why) {
        const plugin::Reply reply = question_->reply();
        question_.reset();
        reply.fail(redacted(why));
    }

    void drop_question() {
        http_.cancel();
        retry_.stop();
        question_.reset();
    }

    // Servers quote the key in their messages.
    std::string redacted(std::string text) const {
        if (settings_.key.empty()) return text;
        for (std::size_t at = 0; (at = text.find(settings_.key, at)) != std::string::npos;) {
            text.replace(at, settings_.key.size(), "[key]");
        }
        return text;
    }

    std::string make_uuid() {
        static constexpr char kDigits[] = "0123456789abcdef";
        std::string id;
        for (const int length : {8, 4, 4, 4, 12}) {
            if (!id.empty()) id += '-';
            for (int i = 0; i < length; ++i) id += kDigits[random_() % 16];
        }
        id[14] = '4';
        id[19] = kDigits[8 + random_() % 4];
        return id;
    }

    plugin::Host host_;
    std::string fault_;  // of the settings
    ModelSettings settings_;
    std::string instructions_;
    std::optional<Conversation> conversation_;
    std::string stamp_;          // of the current prompt
    std::size_t good_size_ = 0;  // messages of the turn before answers that cannot be used
    std::string last_in_turn_;   // the last answer of the turn, without its choices
    bool has_warned_ = false;
    std::random_device random_;

    std::optional<Exchanges> replay_;
    ExchangeKey key_;    // of the request
    Exchange recorded_;  // of its response

    std::optional<Question> question_;  // the open request
    std::string refusal_;               // the server has refused this prompt for good
    plugin::Http http_;
    plugin::Timer retry_;  // for the next attempt, or the next piece of a recording
    int retries_ = 0;
    steady_clock::time_point generated_at_;  // the call of generate
    std::uint32_t status_ = 0;
    std::string error_body_;
    std::optional<milliseconds> pause_;  // that the server asks for
    ChatResponse response_;
    NarrativeReader reader_;
    std::size_t request_bytes_ = 0;
    steady_clock::time_point asked_at_;
    std::optional<milliseconds> first_at_;
};

}  // namespace
}  // namespace narratoria::llm

using LanguageModel = narratoria::llm::LanguageModel;
NARRATORIA_PLUGIN(LanguageModel, "narratoria.narrator_llm", "Language model", "1.0.0",
                  "narratoria.narrator/1");
