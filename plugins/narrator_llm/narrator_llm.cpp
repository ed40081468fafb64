// SPDX-License-Identifier: Apache-2.0
// A narrator that asks a language model on an OpenAI-compatible server (README.md).

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "narrator_llm/answer.hpp"
#include "narrator_llm/answer_grammar.hpp"
#include "narrator_llm/answer_schema.hpp"
#include "narrator_llm/chat.hpp"
#include "narrator_llm/chat_call.hpp"
#include "narrator_llm/conversation.hpp"
#include "narrator_llm/exchanges.hpp"
#include "narrator_llm/instructions.hpp"
#include "narrator_llm/json.hpp"
#include "narrator_llm/model_server.hpp"
#include "narrator_llm/narrative_reader.hpp"
#include "narrator_llm/question.hpp"
#include "narrator_llm/settings.hpp"
#include "narratoria/plugin.hpp"

namespace plugin = narratoria::plugin;

namespace narratoria::llm {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kFirstPause{500};
constexpr int kMaxRetries = 3;
constexpr milliseconds kLongestPause{3'600'000};
// What takes as long to fail is not tried again.
constexpr milliseconds kLongFault{5'000};
constexpr int kMaxTimeouts = 2;
// A model rarely replies within less. The default of narrator_ms is 5 s.
constexpr milliseconds kLeastTime{20'000};
constexpr std::size_t kMaxFaulty = 4000;  // bytes of an answer that could not be used
// After a turn, before its story is summed up: the player may go on at once.
constexpr milliseconds kIdleTime{1'000};
// The time for finding the server's format: a part of the time for the reply.
constexpr int kFormatShare = 4;
constexpr milliseconds kMostFormatTime{15'000};
constexpr milliseconds kLongestSummary{300'000};
constexpr std::uint64_t kMostSummaryTokens = 400;
constexpr std::size_t kLeastSummary = 80;  // bytes; a few words sum nothing up

class LanguageModel final : public plugin::Narrator {
public:
    static constexpr bool kDetailed = true;
    static constexpr std::string_view kSettings = R"({
        "properties": {
            "base_url": {"type": "string", "pattern": "^https?://"},
            "server": {"enum": ["llama.cpp", "ollama", "vllm", "lm-studio"]},
            "model": {"type": "string", "minLength": 1},
            "key_variable": {"type": "string", "minLength": 1},
            "format": {"enum": ["auto", "json_schema", "grammar", "tools", "json_object", "none"]},
            "temperature": {"type": "number", "minimum": 0},
            "seed": {"type": "integer", "minimum": 0, "maximum": 4294967295},
            "max_tokens": {"type": "integer", "minimum": 1, "maximum": 10000000},
            "budget": {"type": "integer", "minimum": 2, "maximum": 10000000},
            "instructions": {"type": "string", "minLength": 1},
            "facts": {"type": "array", "items": {"type": "string", "pattern": "^/"}},
            "price_input": {"type": "number", "minimum": 0},
            "price_output": {"type": "number", "minimum": 0},
            "price_cached": {"type": "number", "minimum": 0},
            "currency": {"type": "string", "minLength": 1},
            "record": {"type": "string", "minLength": 1},
            "replay": {"type": "string", "minLength": 1},
            "replay_times": {"type": "boolean"}
        },
        "additionalProperties": false,
        "if": {"required": ["replay"]},
        "else": {"required": ["model"]}
    })";

    // With invalid settings, each request fails with the reason. If the constructor threw instead,
    // the session would only report that there is no such narrator.
    explicit LanguageModel(const plugin::Host& host) : host_(host) {
        try {
            settings_ = read_settings(host);
            conversation_.emplace(settings_.budget);
            instructions_ = read_instructions(host, settings_);
            if (!settings_.replay.empty()) {
                replay_ = Exchanges::read(settings_.replay);
                return;
            }
            server_.emplace(host_, settings_, [this] { ask_if_ready(); });
        } catch (const std::runtime_error& error) {
            fault_ = error.what();
            host.log(plugin::Level::Warning, fault_);
        }
    }

    void generate(std::string_view json, plugin::Reply reply) override {
        if (!fault_.empty()) throw std::runtime_error(fault_);
        end_idle_time();
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
        is_reconnected_ = false;
        busy_.clear();
        generated_at_ = steady_clock::now();
        is_asked_ = false;
        ask_if_ready();
    }

    void cancel_reply(std::uint64_t token) override {
        if (!question_ || question_->reply().token() != token) return;
        drop_question();
        // A model that was too slow twice would be so again, and the player has waited long enough.
        if (!busy_.empty()) {
            refusal_ = busy_ + "; there was no time left to ask again";
        } else if (is_asked_ && ++timeouts_ == kMaxTimeouts) {
            refusal_ = "the model has not answered in time";
        }
    }

private:
    // ---- what the model is shown

    void begin_turn(const Question& question) {
        stamp_ = question.stamp();
        refusal_.clear();
        timeouts_ = 0;
        retries_ = 0;
        last_in_turn_.clear();
        const auto time = question.reply().timeout();
        if (time && *time < kLeastTime && !std::exchange(has_warned_of_time_, true)) {
            host_.log(plugin::Level::Warning,
                      "the model has " + std::to_string(time->count()) +
                          " ms for a reply; most need more: write [times] narrator_ms = 120000 in "
                          "story.toml");
        }
        const std::vector<SeenTurn> before = question.turns();
        const bool was_bad = !std::exchange(fault_of_answer_, {}).empty();
        if ((was_bad || conversation_->size() != good_size_ + 1) && !before.empty()) {
            // The last turn ended without a usable answer, so with the fallback text, which the model
            // is shown instead of its answers.
            Answer fallback;
            fallback.narrative = before.back().narrative;
            conversation_->keep(good_size_);
            conversation_->answer(to_json(fallback));
        }
        key_.prompts.clear();
        for (const SeenTurn& turn : before) key_.prompts.push_back(turn.prompt);
        if (key_.prompts.size() == ExchangeKey::kMaxPrompts) {
            key_.prompts.erase(key_.prompts.begin());
        }
        key_.prompts.push_back(question.prompt());
        conversation_->begin_turn(before, question.notes(), question.prompt());
        good_size_ = conversation_->size();
        if (server_) {
            server_->find_format(
                std::min(kMostFormatTime, time ? *time / kFormatShare : kMostFormatTime));
        }
    }

    // The turn goes on: the tools have run, or the last answer could not be used.
    void go_on(const Question& question) {
        std::string faults = question.faults();
        // The session's message has it among words that are not for the model.
        if (!fault_of_answer_.empty()) faults = "\n- " + std::exchange(fault_of_answer_, {});
        const std::string results = question.results();
        if (!faults.empty()) {
            // If the server failed, the model has no fault to correct, and two messages of the same
            // role in a row are refused by some models.
            if (!conversation_->has_answer()) return;
            conversation_->ask("That answer cannot be used:" + faults +
                               "\nAnswer again, with one JSON object only.");
        } else if (!results.empty()) {
            conversation_->ask(results);
            good_size_ = conversation_->size();
        }
    }

    // ---- asking

    // Unless the server is still asked about itself, after which this follows.
    void ask_if_ready() {
        if (!question_) return;
        if (server_ && (server_->is_finding_format() || server_->is_counting_tokens())) return;
        try {
            ask();
        } catch (const NoRoom& error) {
            refusal_ = error.what();
            fail(refusal_);
        } catch (const narratoria::Error& error) {
            fail(error.what());
        }
    }

    void ask() {
        const Question& question = *question_;
        const std::vector<ToolDescription> tools = question.tools();
        rules_ = rules_of(instructions_, tools);
        ChatRequest request;
        request.messages =
            conversation_->messages(rules_, question.state(settings_.facts), settings_.max_tokens);
        request.max_tokens = settings_.max_tokens;
        std::string shown;
        for (const Message& message : request.messages) shown += message.content;
        request_bytes_ = shown.size();
        if (server_ && server_->count_tokens(shown, [this](std::uint64_t tokens) {
                conversation_->calibrate(request_bytes_, tokens);
                ask_if_ready();
            })) {
            return;
        }
        if (!conversation_->left_out().empty() && !std::exchange(has_warned_of_budget_, true)) {
            host_.log(
                plugin::Level::Warning,
                "the budget of " + std::to_string(settings_.budget) +
                    " tokens has no room for all that the model should see; left out is " +
                    conversation_->left_out() +
                    ". Raise \"budget\" up to the server's context, shorten the instructions, "
                    "or name in \"facts\" what the model must not miss");
        }
        reader_ = NarrativeReader();
        key_.continuation = question.continuation();
        const ChatEvents events{[this](const std::string& text) { tell(text); },
                                [this] { take_end(); }};
        if (replay_) {
            const Exchange* const exchange = replay_->next(key_);
            if (exchange != nullptr) {
                call_ = ChatCall::play(host_, settings_, *exchange, events);
                return;
            }
            refusal_ = "the recording " + settings_.replay + " has no answer to \"" +
                       key_.prompts.back() + "\" at this place of the story; record it again";
            return fail(refusal_);
        }
        request.format = server_->format();
        if (request.format == Format::Grammar) request.grammar = answer_grammar(tools);
        else request.schema = answer_schema(tools);
        is_asked_ = true;
        call_ = server_->send(std::move(request), std::nullopt, events);
    }

    void tell(const std::string& text) {
        const std::string told = reader_.feed(text);
        if (!told.empty()) question_->reply().delta(told);
    }

    void take_end() {
        if (!call_->fault().empty()) return take_fault();
        if (server_) server_->accept();
        if (!settings_.record.empty()) record();
        report_usage();
        take_answer();
    }

    // The response is in the recording as it came, but for the key.
    void record() {
        Exchange exchange = call_->exchange();
        std::string body;
        for (const auto& piece : exchange.pieces) body += piece.second;
        if (std::string safe = settings_.without_key(body); safe != body) {
            exchange.pieces = {{exchange.pieces.back().first, std::move(safe)}};
        }
        try {
            append_exchange(settings_.record, key_, exchange);
        } catch (const std::runtime_error& error) {
            host_.log(plugin::Level::Error, error.what());
        }
    }

    void take_fault() {
        if (server_ && server_->adapts_to(*call_)) return ask_if_ready();
        std::string why = call_->fault();
        const std::uint32_t status = call_->status();
        // A kept connection may just have been closed.
        const bool is_lost = status == 0 && !is_reconnected_;
        const milliseconds pause =
            is_lost ? milliseconds(0) : call_->pause().value_or(kFirstPause * (1 << retries_));
        const auto time = question_->reply().timeout();
        const auto spent = steady_clock::now() - generated_at_;
        const bool was_quick = status != 0 || call_->time() < kLongFault;
        const bool has_time =
            was_quick && pause <= kLongestPause && (!time || spent + pause < *time);
        if (call_->may_retry() && (is_lost || retries_ < kMaxRetries) && has_time) {
            if (is_lost) {
                is_reconnected_ = true;
            } else {
                ++retries_;
                busy_ = why;
            }
            host_.log(is_lost ? plugin::Level::Debug : plugin::Level::Info,
                      why.substr(0, why.find(". ")) + "; asking again in " +
                          std::to_string(pause.count()) + " ms");
            retry_ = plugin::Timer(host_, pause, [this] {
                busy_.clear();
                ask_if_ready();
            });
            return;
        }
        if (status == 401 || status == 403) {
            why += settings_.key_variable.empty()
                       ? "; if the server needs a key, name its variable: key_variable = \"…\""
                       : "; check the key in the variable " + settings_.key_variable;
        }
        if (status == 400 && why.find("context") != std::string::npos) {
            why += "; write a lower budget than " + std::to_string(settings_.budget);
        }
        // Further answers to this prompt would fail in the same way.
        if (call_->may_retry() || (status >= 400 && status < 500)) refusal_ = why;
        fail(why);
    }

    void report_usage() {
        if (!call_->response().tokens()) return;
        TokenCounts tokens = *call_->response().tokens();
        conversation_->calibrate(request_bytes_, tokens.input);
        if (server_) tokens += server_->take_tokens();
        tokens += std::exchange(summary_tokens_, {});
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
        count("inputTokens", tokens.input);
        count("outputTokens", tokens.output);
        count("cachedTokens", tokens.cached);
        const auto first = call_->first_time();
        if (first) count("firstMs", static_cast<std::uint64_t>(first->count()));
        count("totalMs", static_cast<std::uint64_t>(call_->time().count()));
        if (settings_.prices) {
            writer.Key("cost");
            writer.Double(settings_.prices->of(tokens));
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
        const ChatResponse& response = call_->response();
        Answer answer;
        std::string fault = read_answer(response.answer(), names, answer);
        if (!fault.empty()) {
            if (response.is_cut() && fault.find("cut off") == std::string::npos) {
                fault += "; it was cut off by the limit of tokens";
            }
            // Its beginning is enough to see the fault, and fits into the budget.
            const std::string_view given =
                narratoria::detail::prefix_of(response.answer(), kMaxFaulty);
            // A model repeats the faults that it is shown, so it is shown only the last one.
            conversation_->keep(good_size_);
            fault_of_answer_ = fault;
            conversation_->answer(given.empty() ? "(nothing)" : std::string(given));
            return fail("the model's answer cannot be used: " + fault);
        }
        conversation_->keep(good_size_);
        fault_of_answer_.clear();
        // A small model may use the same tool again and again; the turn ends then.
        Answer same = answer;
        same.choices.clear();
        if (std::string text = to_json(same); std::exchange(last_in_turn_, text) == text) {
            answer.tools.clear();
        }
        conversation_->answer(to_json(answer));
        const plugin::Reply reply = question_->reply();
        const bool continues = !answer.tools.empty();
        question_.reset();
        if (!continues) begin_idle_time();
        reply.plan(to_plan(answer, make_uuid(), continues, to_metadata(conversation_->notes())));
    }

    // ---- idle time

    void begin_idle_time() {
        if (!server_ || !conversation_->needs_summary()) return;
        idle_ = plugin::Timer(host_, kIdleTime, [this] { ask_for_summary(); });
    }

    void end_idle_time() {
        idle_.stop();
        if (summary_) std::exchange(summary_, nullptr)->cancel();
    }

    void ask_for_summary() {
        ChatRequest request;
        request.max_tokens = std::min(settings_.max_tokens, kMostSummaryTokens);
        try {
            request.messages = conversation_->summary_request(rules_, request.max_tokens);
        } catch (const NoRoom& error) {
            return no_summary(error.what());
        }
        request.format = Format::None;
        summary_ =
            server_->send(std::move(request), kLongestSummary, {{}, [this] { take_summary(); }});
    }

    void take_summary() {
        const auto call = std::exchange(summary_, nullptr);
        const ChatResponse& response = call->response();
        if (response.tokens()) summary_tokens_ += *response.tokens();
        // A model may keep to the form of its other answers. It is asked again after the next turn if
        // it gave nothing.
        Answer answer;
        std::string fault = call->fault();
        if (fault.empty()) fault = read_answer(response.answer(), {}, answer);
        if (fault.empty() && answer.narrative.size() < kLeastSummary) {
            fault = "the model wrote \"" + answer.narrative + "\"";
        }
        if (!fault.empty()) return no_summary(fault);
        conversation_->sum_up(answer.narrative);
    }

    void no_summary(const std::string& why) {
        host_.log(plugin::Level::Info, "the story was not summed up: " + why);
    }

    // ---- ending

    void fail(const std::string& why) {
        const plugin::Reply reply = question_->reply();
        question_.reset();
        reply.fail(why);
    }

    void drop_question() {
        if (call_) call_->cancel();
        retry_.stop();
        question_.reset();
    }

    std::string make_uuid() {
        // A call of random_device can take 15 us in a virtual machine.
        const unsigned bits[] = {random_(), random_(), random_(), random_()};
        char text[37];
        std::snprintf(text, sizeof text, "%08x-%04x-4%03x-%04x-%04x%08x", bits[0], bits[1] >> 16,
                      bits[1] & 0xfff, 0x8000 | (bits[2] & 0x3fff), bits[2] >> 16, bits[3]);
        return text;
    }

    plugin::Host host_;
    std::string fault_;  // of the settings
    ModelSettings settings_;
    std::string instructions_;
    std::optional<Conversation> conversation_;
    std::string stamp_;          // of the current prompt
    std::size_t good_size_ = 0;  // messages of the turn before answers that cannot be used
    std::string last_in_turn_;   // the last answer of the turn, without its choices
    bool has_warned_of_time_ = false;
    bool has_warned_of_budget_ = false;
    std::random_device random_;

    std::optional<Exchanges> replay_;
    std::optional<ModelServer> server_;  // unless a recording answers
    ExchangeKey key_;                    // of the request in a recording

    std::optional<Question> question_;  // the open request
    std::string refusal_;               // the server has refused this prompt for good
    std::string fault_of_answer_;       // of the last answer, for the model; empty: it was used
    std::string rules_;                 // of the last request
    std::size_t request_bytes_ = 0;
    std::shared_ptr<ChatCall> call_;
    NarrativeReader reader_;
    bool is_asked_ = false;  // the question was sent to the server
    plugin::Timer retry_;
    bool is_reconnected_ = false;            // for the request
    std::string busy_;                       // why the server is asked again after a pause
    int retries_ = 0;                        // of the prompt
    int timeouts_ = 0;                       // of the prompt
    steady_clock::time_point generated_at_;  // the call of generate

    plugin::Timer idle_;
    std::shared_ptr<ChatCall> summary_;
    TokenCounts summary_tokens_;  // not reported yet
};

}  // namespace
}  // namespace narratoria::llm

using LanguageModel = narratoria::llm::LanguageModel;
NARRATORIA_PLUGIN(LanguageModel, "narratoria.narrator_llm", "Language model", "1.0.0",
                  "narratoria.narrator/1");
