// SPDX-License-Identifier: Apache-2.0
#include "narratoria/script.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/barrier.hpp"
#include "api/store_error.hpp"
#include "base/json/tape.hpp"
#include "base/json/writer.hpp"
#include "script/machine.hpp"
#include "script/syntax.hpp"

using namespace narratoria;
using namespace narratoria::api;

namespace {

std::string json_of(const script::Error& error, std::string_view text) {
    std::string out;
    json::ObjectWriter writer(out);
    writer.string("name", error.name)
        .string("message", error.message)
        .number("line", error.line)
        .number("column", error.column)
        .string("text", text);
    if (error.is_incomplete) writer.boolean("incomplete", true);
    writer.end();
    return out;
}

nar_status refuse(nar_error* error, const script::Error& fault, std::string_view source) {
    const std::string text = script::describe(fault, source);
    return fail(error, NAR_INVALID_DOCUMENT, "SCRIPT", text,
                R"({"error":)" + json_of(fault, text) + "}");
}

session::ScriptHandler handler_of(const nar_script_handler& read, uint32_t flags) {
    session::ScriptHandler handler;
    handler.wants_scope = (flags & NAR_SCRIPT_WITHOUT_SCOPE) == 0;
    if (read.printed) {
        handler.printed = [read](std::string_view line) { read.printed(read.user, view(line)); };
    }
    if (!read.ended) return handler;
    handler.ended = [read](const session::ScriptEnd& its) {
        const std::string error = its.error ? json_of(its.error, its.error_text) : std::string();
        nar_script_end end{};
        end.size = sizeof end;
        end.ok = its.error ? 0 : 1;
        end.scope = view(its.scope);
        end.error = view(error);
        end.result = its.result ? new nar_result(its.result) : nullptr;
        read.ended(read.user, &end);
        nar_result_release(end.result);
    };
    return handler;
}

constexpr const char* kNulInTools = "the path of tools contains a NUL character";

// Resolves a relative folder against the engine's root.
std::string tools_folder(session::Session& its, nar_str given) {
    const std::string folder = copy(given);
    if (folder.empty() || folder.front() == '/') return folder;
    return its.engine().settings().root + "/" + folder;
}

nar_status read_script(const nar_script* script, nar_script& read, nar_error* error) {
    if (script == nullptr) return refuse_argument(error, "the script must not be NULL");
    if (const std::string fault = read_struct(script, read); !fault.empty()) {
        return refuse_argument(error, "nar_script " + fault);
    }
    if ((read.flags & ~static_cast<uint32_t>(NAR_SCRIPT_WITHOUT_SCOPE)) != 0) {
        return refuse_argument(error, "the script's flags have an unknown bit");
    }
    if (has_nul(read.tools)) return refuse_argument(error, kNulInTools);
    return NAR_OK;
}

}  // namespace

extern "C" {

nar_status nar_session_run_script(nar_session* session, const nar_script* script,
                                  const nar_script_handler* handler, uint64_t* submission,
                                  nar_error* error) {
    return on_session(session, error, [&](session::Session& its) -> nar_status {
        if (its.ending()) return refuse_ending(error);
        if (its.replays()) return refuse_replay(error);
        nar_script given;
        nar_script_handler read;
        if (const nar_status status = read_script(script, given, error)) return status;
        if (const std::string fault = read_struct(handler, read); !fault.empty()) {
            return refuse_argument(error, "nar_script_handler " + fault);
        }
        const std::string tools = tools_folder(its, given.tools);
        script::Error fault;
        const auto program =
            script::Program::compile(view(given.source), its.script_limits(), fault);
        if (program && its.run_script(program, view(given.scope), tools,
                                      handler_of(read, given.flags), fault)) {
            return submitted(its, submission);
        }
        return refuse(error, fault, view(given.source));
    });
}

nar_status nar_session_check_script(nar_session* session, const nar_script* script,
                                    nar_text** errors, nar_error* error) {
    return on_session(session, error, [&](session::Session& its) -> nar_status {
        nar_script given;
        if (const nar_status status = read_script(script, given, error)) return status;
        std::optional<std::vector<std::string_view>> names;
        json::Document scope;
        if (!view(given.scope).empty()) {
            json::ParseError fault;
            if (!scope.parse(view(given.scope), fault) || !scope.root().is_object()) {
                return fail(error, NAR_INVALID_DOCUMENT, "SCOPE", "the scope is not a JSON object");
            }
            names.emplace();
            for (const json::Member variable : scope.root().members()) {
                names->push_back(variable.key);
            }
        }
        return give_text(errors, error, [&](std::string& text) {
            text += '[';
            for (const script::Error& each :
                 its.tools().check_script(view(given.source), its.script_limits(), names,
                                          tools_folder(its, given.tools))) {
                if (text.size() > 1) text += ',';
                text += json_of(each, script::describe(each, view(given.source)));
            }
            text += ']';
            return NAR_OK;
        });
    });
}

nar_status nar_session_script_names(nar_session* session, nar_str tools, nar_text** names,
                                    nar_error* error) {
    return on_session(session, error, [&](session::Session& its) -> nar_status {
        if (names == nullptr) return refuse_argument(error, "names must not be NULL");
        *names = nullptr;
        if (has_nul(tools)) return refuse_argument(error, kNulInTools);
        auto text = std::make_unique<nar_text>();
        its.tools().list_script_names(tools_folder(its, tools), text->text);
        *names = text.release();
        return NAR_OK;
    });
}

nar_status nar_script_parse(nar_str source, nar_text** tree, nar_error* error) {
    return guarded(error, [&]() -> nar_status {
        if (tree != nullptr) *tree = nullptr;
        script::Error fault;
        script::Syntax syntax;
        if (!script::parse(view(source), script::Limits(), syntax, fault)) {
            return refuse(error, fault, view(source));
        }
        if (tree == nullptr) return NAR_OK;
        auto text = std::make_unique<nar_text>();
        script::append_tree(text->text, syntax);
        *tree = text.release();
        return NAR_OK;
    });
}

}  // extern "C"
