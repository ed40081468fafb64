// SPDX-License-Identifier: Apache-2.0
#include "plugin_check/exercise.hpp"

#include <fmt/core.h>

#include <utility>

#include "plugin_check/exercise_session.hpp"

namespace narratoria::command::plugin_check {
namespace {

// Seconds to wait for a second reply.
constexpr double kSettling = 0.08;

class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed * 0x9E37'79B9'7F4A'7C15u + 1) {}
    std::uint64_t next() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_;
    }

private:
    std::uint64_t state_;
};

}  // namespace

std::vector<std::string> texts_of(const nar_str* list, std::uint64_t count) {
    std::vector<std::string> texts;
    for (std::uint64_t index = 0; list != nullptr && index < count && index < kMaxOfAList;
         ++index) {
        texts.emplace_back(to_view(list[index]));
    }
    return texts;
}

void ExerciseSession::play() {
    // Run the posts of init.
    run_loop(0.001);
    sink();
    ui_handler();
    turns_of_prompts();
    asset_renderer();
    narrator();
    tool_runner();
    tool();
    run_loop(is_judged() && answers_later_ ? kSettling : kSettlingBriefly);
}

double ExerciseSession::patience() const {
    if (is_judged()) return options_.limit;
    return host_.options().lacks_extensions ? kSettlingBriefly : kBriefly;
}

nar_str ExerciseSession::lend_text(Loan& loan, std::string_view text, const char* what) {
    // A host may pass an empty text as NULL.
    if (text.empty()) return {nullptr, 0};
    return {static_cast<const char*>(loan.bytes(text.data(), text.size(), what)), text.size()};
}

std::vector<std::string> ExerciseSession::variants(std::string_view ordinary) {
    if (!is_odd()) return {std::string(ordinary)};
    std::vector<std::string> odd;
    for (unsigned number = 0; number < kOddTexts; ++number) {
        odd.push_back(odd_text(options_.seed, number));
    }
    // The ordinary text, truncated and with one byte changed.
    Random random(options_.seed);
    for (unsigned number = 0; number < 8 && !ordinary.empty(); ++number) {
        odd.emplace_back(ordinary.substr(0, random.next() % ordinary.size()));
        std::string changed(ordinary);
        changed[random.next() % changed.size()] = static_cast<char>(random.next());
        odd.push_back(std::move(changed));
    }
    return odd;
}

std::vector<std::string> ExerciseSession::repeated(std::vector<std::string> texts) const {
    if (options_.kind == Exercise::Brief) texts.push_back(texts.front());
    return texts;
}

void ExerciseSession::require_status(nar_status status, const char* function) {
    if (status <= 0 && status >= NAR_STATUS_LAST_ && status != NAR_PENDING) return;
    host_.report().add_finding(
        "P34", fmt::format("{} returned {}, which is not a nar_status that it may return", function,
                           status));
}

void ExerciseSession::run_loop(double seconds) {
    host_.run_loop(seconds, [] { return false; });
}

std::string odd_text(std::uint64_t seed, unsigned number) {
    switch (number) {
        case 0: return "";
        case 1: return "null";
        case 2: return "[]";
        case 3: return "42";
        case 4: return "\"text\"";
        case 5: return "{";
        case 6: return std::string(512, '[') + std::string(512, ']');
        case 7: return R"({"choices":5,"kind":{"a":[]},"text":null,"message":[1]})";
        case 8: return R"({"choices":[null,5,{},""],"path":7,"prompt":"no object"})";
        case 9: return R"({"a":1,"a":2,"a":{"a":3}})";
        case 10: return R"({"number":1e400,"more":-1e-400,"large":123456789012345678901234567890})";
        case 11: return R"({"text":"\ud800 alone","zero":"a\u0000b"})";
        case 12: return fmt::format("{{\"text\":\"{}\"}}", std::string(1 << 20, 'x'));
        case 13: return std::string(4096, '\0');
        case 14: return "%s%n%s%n%d";
        case 15: return std::string("{\"a\":\"\xC3\"}\xFF", 10);
        default: break;
    }
    Random random(seed * 1000 + number);
    std::string bytes(random.next() % 2000, '\0');
    for (char& one : bytes) one = static_cast<char>(random.next());
    return bytes;
}

bool PluginInstance::start() { return host_.init(plugin_, &instance_, &refusal_) == NAR_OK; }

void PluginInstance::exercise(const ExerciseOptions& options) {
    ExerciseSession(host_, plugin_, instance_, options).play();
}

void PluginInstance::end() { host_.deinit(plugin_, instance_); }

}  // namespace narratoria::command::plugin_check
