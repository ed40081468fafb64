// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin_check/exercise.hpp"
#include "plugin_check/loading.hpp"

namespace narratoria::command::plugin_check {

// Seconds to wait for replies that are not judged, or that cannot arrive.
inline constexpr double kBriefly = 0.25;
inline constexpr double kSettlingBriefly = 0.02;
inline constexpr std::size_t kMaxOfAList = 16;
// Bytes appended to a struct to simulate a later version.
inline constexpr std::size_t kLaterFields = 64;

// Returns the texts of a list, at most kMaxOfAList of them.
std::vector<std::string> texts_of(const nar_str* list, std::uint64_t count);

// One use of an instance: calls each wanted extension in turn.
class ExerciseSession {
public:
    ExerciseSession(PluginCheckHost& host, const nar_plugin& plugin, void* instance,
                    const ExerciseOptions& options)
        : host_(host), plugin_(plugin), instance_(instance), options_(options) {}

    void play();

private:
    template <typename Extension>
    const Extension* wanted(std::string_view id) {
        if (!options_.only.empty() && options_.only != id) return nullptr;
        const Extension* found = nullptr;
        host_.call(fmt::format("get_extension for {}", id), "get_extension",
                   [&] { found = extension_of<Extension>(plugin_, id); });
        return found;
    }

    bool is_judged() const { return options_.kind == Exercise::Ordinary; }
    bool is_future() const { return options_.kind == Exercise::Future; }
    bool is_odd() const { return options_.kind == Exercise::Odd; }
    // Seconds to wait for a reply. A host without extensions cannot receive one, but the plugin's
    // threads need time to try.
    double patience() const;

    nar_str lend_text(Loan& loan, std::string_view text, const char* what);
    template <typename Struct>
    const Struct* lend(Loan& loan, Struct content, const char* what) {
        content.size = static_cast<std::uint32_t>(sizeof content);
        if (!is_future()) return loan.object(content, what);
        content.size += kLaterFields;
        return static_cast<const Struct*>(loan.bytes(&content, sizeof content, what, kLaterFields));
    }

    // The texts to pass as a JSON argument: `ordinary`, or odd ones.
    std::vector<std::string> variants(std::string_view ordinary);
    bool has_thrown() { return host_.report().has_finding("P24"); }

    // Brief repeats the first text, so that the plugin uses a view that it kept from the first
    // call.
    std::vector<std::string> repeated(std::vector<std::string> texts) const;
    void require_status(nar_status status, const char* function);
    void run_loop(double seconds);

    // ------------------------------------------------------------ exercise_events.cpp

    void tell(const nar_event_sink_extension& sink, std::uint32_t kind, std::uint32_t type,
              std::string_view body);
    void sink();
    void handle(const nar_ui_handler_extension& handler, std::string_view name,
                std::string_view payload);
    void ui_handler();
    // Runs the turns of prompts that the plugin submitted. A plugin that submits a prompt in each
    // of these turns keeps the session busy forever (P43).
    void turns_of_prompts();

    // ------------------------------------------------------------ exercise_assets.cpp

    void render(const nar_asset_renderer_extension& renderer, std::string_view type,
                std::string_view path, std::string_view metadata);
    std::string sample_file(std::string_view type);
    void asset_renderer();

    // ------------------------------------------------------------ exercise_narrator.cpp

    std::uint64_t generate(const nar_narrator_extension& narrator, std::string_view request);
    void cancel(const nar_narrator_extension& narrator, std::uint64_t token);
    void judge_plan(const NarratorRequest& request);
    void narrator();

    // ------------------------------------------------------------ exercise_tools.cpp

    const nar_invocation* invocation(Loan& loan, std::string_view path, std::string_view request);
    void judge_output(const ObservedInvocation& seen, const std::string& who);
    // Runs one attempt; begin() returns false if the plugin refused it. `is_synchronous`: it must
    // have ended when begin() returns. Returns false if the attempt did not end, so that later
    // attempts would not end either.
    bool attempt(const std::string& who, bool cancels, bool is_synchronous, std::uint64_t token,
                 const std::function<bool()>& begin, const std::function<void()>& cancel);
    void tool_runner();
    bool start(const nar_tool_runner_extension& runner, std::uint64_t token, std::string_view path,
               std::string_view request, const std::string& who);
    void tool();

    PluginCheckHost& host_;
    const nar_plugin& plugin_;
    void* instance_;
    const ExerciseOptions& options_;
    std::uint64_t sequence_ = 0;
    std::uint64_t files_ = 0;
    bool answers_later_ = false;
    double brief_left_ = kBriefly;  // seconds left for all ends that are not judged
};

}  // namespace narratoria::command::plugin_check
