// SPDX-License-Identifier: Apache-2.0
#include "session/script_narrator.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/bytes/utf8.hpp"
#include "base/json/tape.hpp"
#include "base/json/writer.hpp"
#include "base/uuid.hpp"
#include "base/view.hpp"
#include "narratoria/host.h"
#include "narratoria/narrator.h"
#include "plan/result.hpp"
#include "plugin/host_functions.hpp"
#include "plugin/session_access.hpp"
#include "session/script_run.hpp"
#include "session/session.hpp"

namespace narratoria::session {
namespace {

// One per session. Engine thread only.
class ScriptNarrator {
public:
    ScriptNarrator(plugin::SessionAccess& session, std::string file,
                   std::shared_ptr<const script::Program> program)
        : session_(session), file_(std::move(file)), program_(std::move(program)) {}

    void generate(uint64_t token, std::string_view text) {
        json::Document request;
        json::ParseError error;
        if (!request.parse(text, error, json::kDepthOfOwn)) {
            return session_.give_up(token, error.message);
        }
        const json::Value root = request.root();
        const std::string_view disabled = root.find("disabledSkills").raw();
        // Without a newly disabled skill, the script would do the same again.
        if (root.find("generationAttempt").integer() != 1 && disabled == disabled_) {
            return session_.give_up(token, std::move(error_));
        }
        disabled_ = disabled;
        std::string scope, state;
        session_.read_state("", state);
        json::ObjectWriter(scope)  // script_narrator_scope()
            .raw("prompt", root.find("prompt").find("text").raw())
            .raw("state", state)
            .raw("disabledSkills", disabled)
            .number("random", root.find("random").integer().value_or(0))
            .end();

        token_ = token;
        narrative_.clear();
        has_called_ = false;
        error_ = file_ + ": the script did not end in time and is not run again";
        run_ = std::make_unique<ScriptRun>(
            ScriptRun::Context{
                session_.loop(), ScriptTools(session_.registry(), ""),
                [this](plan::ToolInvocation&& invocation, const OnOutcome& on_outcome,
                       uint64_t& number, std::string& why) {
                    has_called_ = true;
                    return Session::of(session_).invoke(token_, std::move(invocation),
                                                        Invocations::Start::Now, on_outcome, number,
                                                        why);
                },
                [this] { return session_.has_cancel(); },
                [this](std::string_view line) { (narrative_ += line) += '\n'; },
                [this](const ScriptEnd& end) { on_ended(end); }},
            program_, session_.script_limits());
        script::Error fault;
        if (!run_->set_scope(scope, fault)) {
            run_.reset();
            return session_.give_up(token, file_ + ": " + fault.name + ": " + fault.message);
        }
        run_->start();
    }

    void cancel() { run_.reset(); }

private:
    void on_ended(const ScriptEnd& end) {
        if (!end.error) return reply();
        error_ = file_;
        if (end.error.line > 0) {
            error_ += ":" + std::to_string(end.error.line) + ":" + std::to_string(end.error.column);
        }
        error_ += ": " + end.error_text;
        while (error_.ends_with('\n')) error_.pop_back();
        if (end.error.name == "ToolExecutionError") session_.answer(token_, false, error_);
        else session_.give_up(token_, error_);
    }

    void reply() {
        if (narrative_.empty() && !has_called_ && !std::exchange(has_warned_, true)) {
            session_.warn("NARRATOR_SILENT",
                          file_ +
                              ": the script ended without a PRINT or a CALL, so the player "
                              "sees nothing");
        }
        // Used if the plan is refused and the turn asks again.
        error_ = file_ + ": the script's plan was refused and it is not run again";
        if (narrative_.ends_with('\n')) narrative_.pop_back();
        std::string plan;
        json::ObjectWriter writer(plan);
        writer.string("requestId", make_uuid());
        if (!narrative_.empty()) writer.string("narrative", narrative_);
        writer.raw("tools", "[]");
        const script::Value ending = run_->variable("ending");
        if (ending.is_defined() && !ending.is_string()) {
            session_.warn("NARRATIVE_ENDING",
                          file_ + ": the variable ending is not a string, so it is not used");
        }
        if (ending.is_string()) {
            writer.key("metadata");
            json::ObjectWriter(plan).string("ending", ending.text()).end();
        }
        const std::vector<std::string> choices = offered();
        if (!choices.empty()) {
            writer.key("choices");
            plan::append_strings(plan, choices);
        }
        writer.end();
        session_.answer(token_, true, std::move(plan));
    }

    // The texts of the script's variable `choices`.
    std::vector<std::string> offered() {
        std::vector<std::string> out;
        const script::Value choices = run_->variable("choices");
        if (!choices.is_defined()) return out;
        bool are_texts = choices.is_list();
        if (are_texts) {
            for (const script::Value& each : choices.elements()) {
                are_texts = are_texts && each.is_string();
                if (each.is_string()) out.emplace_back(each.text());
            }
        }
        if (!are_texts) {
            session_.warn("NARRATIVE_CHOICE",
                          file_ +
                              ": the variable choices is not a list of strings, so not all of "
                              "it is offered to the player");
        }
        return out;
    }

    plugin::SessionAccess& session_;
    const std::string file_;
    const std::shared_ptr<const script::Program> program_;
    std::unique_ptr<ScriptRun> run_;  // for the last question
    uint64_t token_ = 0;
    std::string narrative_;
    bool has_called_ = false;  // the script called a tool
    bool has_warned_ = false;  // the warning NARRATOR_SILENT was sent
    std::string disabled_;     // disabledSkills of the last question, JSON
    std::string error_;        // why the last run did not produce a plan
};

// ---------------------------------------------------------------- as a plugin

nar_status refuse(nar_failure* failure, std::string_view why) {
    why = utf8::prefix_of(why, sizeof failure->message - 1);
    std::memcpy(failure->message, why.data(), why.size());
    failure->message[why.size()] = '\0';
    return NAR_INVALID_DOCUMENT;
}

nar_status plugin_init(const nar_host* host, void** instance, nar_failure* failure) {
    const auto* config =
        static_cast<const nar_host_config*>(host->get_extension(host, NAR_STR(NAR_HOST_CONFIG)));
    plugin::SessionAccess& session = plugin::session_of(host);
    json::Document settings;
    json::ParseError error;
    if (!settings.parse(view(config->settings(host)), error)) return refuse(failure, error.message);
    const json::Value root = settings.root();
    if (const json::Value fault = root.find("fault")) return refuse(failure, fault.text());
    script::Error fault;
    auto program =
        script::Program::compile(root.find("source").text(), session.script_limits(), fault);
    if (program == nullptr) return refuse(failure, fault.name + ": " + fault.message);
    *instance =
        new ScriptNarrator(session, std::string(root.find("file").text()), std::move(program));
    return NAR_OK;
}

void plugin_deinit(void* instance) { delete static_cast<ScriptNarrator*>(instance); }

void plugin_generate(void* instance, const nar_narrator_request* request) {
    static_cast<ScriptNarrator*>(instance)->generate(request->token, view(request->json));
}

void plugin_cancel(void* instance, uint64_t) { static_cast<ScriptNarrator*>(instance)->cancel(); }

const void* plugin_extension(nar_str id) {
    static constexpr nar_narrator_extension narrator{sizeof(nar_narrator_extension), 0,
                                                     plugin_generate, plugin_cancel};
    return view(id) == NAR_EXTENSION_NARRATOR ? &narrator : nullptr;
}

}  // namespace

std::vector<std::string_view> script_narrator_scope() {
    return {"prompt", "state", "disabledSkills", "random"};
}

const plugin::Library& script_narrator_library() {
    static const plugin::Library library = [] {
        static constexpr nar_str extensions[] = {NAR_STR_INIT(NAR_EXTENSION_NARRATOR)};
        static constexpr nar_plugin description{sizeof(nar_plugin),
                                                NAR_ABI_VERSION,
                                                NAR_STR_INIT("script"),
                                                NAR_STR_INIT("The script narrator"),
                                                NAR_STR_INIT(NARRATORIA_VERSION),
                                                extensions,
                                                1,
                                                plugin_init,
                                                plugin_deinit,
                                                plugin_extension};
        plugin::Library made;
        std::string reason;
        plugin::accept_plugin(&description, nullptr, made, reason);
        return made;
    }();
    return library;
}

std::string script_narrator_settings(const Story& story, std::string_view name) {
    std::string text = story.script_text.value_or("");
    std::string out;
    json::ObjectWriter settings(out);
    settings.string("file", name);
    Faults faults;
    // The host may name a different script than the story.
    if (name != story.narrator && read_script(story, std::string(name), text, faults) == nullptr) {
        settings.string("fault", faults.front().message);  // it names the place
    }
    settings.string("source", text).end();
    return out;
}

}  // namespace narratoria::session
