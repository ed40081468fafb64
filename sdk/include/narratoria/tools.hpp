// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tools of a session: register functions of the program, look tools up, list and remove them.
// narratoria/tools.h has the details of each call.
//
//   session.tools().add({.name = "dice", .description = "Rolls a die"},
//                       [](const plugin::InvocationRequest&, plugin::Invocation invocation) {
//                           invocation.result("4");
//                       });

#include "narratoria/plugin_extension.hpp"
#include "narratoria/plugin_reply.hpp"
#include "narratoria/session.h"
#include "narratoria/session.hpp"
#include "narratoria/text.hpp"
#include "narratoria/tools.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace narratoria {

// The description of a tool. Everything is copied. Empty selects the default, which each comment
// names after the semicolon.
struct ToolOptions {
    std::string_view name;                // letters, digits, _ and -, at most 128
    std::string_view description = {};    // what it does, for narrators
    std::string_view input_schema = {};   // JSON Schema, or the form of spec 002; any object
    std::string_view result_schema = {};  // JSON Schema of done.result; any value
    std::string_view owner = {};          // the registering component, for messages; "host"
    // Timeout of an attempt, 0 for none. A longer one becomes 4294967294 ms; the session's.
    std::optional<std::chrono::milliseconds> time_limit = {};
    bool waits = false;     // it mostly waits and takes no job slot (NAR_TOOL_WAITS)
    bool replaces = false;  // replaces a registered tool of the same name
    // The function reports its end before it returns, so that a script's CALL takes no job slot
    // (NAR_TOOL_SYNCHRONOUS has the rules).
    bool synchronous = false;
    bool repeatable = true;  // false: to run it twice may do harm (NAR_TOOL_NOT_REPEATABLE)
};

// The formats in which model APIs accept tools.
enum class ModelForm : std::uint32_t { Openai = NAR_TOOLS_OPENAI, Mcp = NAR_TOOLS_MCP };

namespace detail {

// Outlives a BoundTool, which may be released inside the call that registers it. Created before
// that call, because nothing may fail after it.
struct ToolLifetime {
    std::optional<plugin::detail::Core> core;  // once the tool is registered
    bool is_released = false;
};

// Carries a function through C's `void* user`. The library deletes it after the last call.
template <class Function>
class BoundTool {
public:
    template <class Given>
    explicit BoundTool(Given&& function) : function_(std::forward<Given>(function)) {}

    const std::shared_ptr<ToolLifetime>& life() const noexcept { return life_; }

    static void invoke(void* user, std::uint64_t token, const nar_tool*,
                       const nar_invocation* raw) noexcept {
        // Holds the core, because the function may remove its tool.
        const std::shared_ptr<plugin::detail::Core> core = of(user).core();
        plugin::detail::guard(*core, "a tool", [&] {
            const plugin::Invocation invocation(core, token, true);
            NARRATORIA_TRY { of(user).function_(plugin::InvocationRequest(*raw), invocation); }
            NARRATORIA_CATCH_ALL {
                const std::string why = plugin::detail::current_exception_message();
                plugin::End end;
                end.error_code = "TOOL_EXCEPTION";
                end.error = why;
                if (!invocation.ended(end)) NARRATORIA_RETHROW;
                core->log(plugin::Level::Error, "a tool threw: " + why);
            }
        });
    }
    static void cancel(void* user, std::uint64_t token) noexcept {
        plugin::detail::cancel(*of(user).core(),
                               plugin::detail::ServiceTraits<nar_host_invocation>::id, token);
    }
    static void released(void* user) noexcept {
        const std::unique_ptr<BoundTool> self(&of(user));
        self->life_->is_released = true;
        if (!self->life_->core) return;
        self->life_->core->close();
        self->life_->core->end();
    }

private:
    static BoundTool& of(void* user) noexcept { return *static_cast<BoundTool*>(user); }

    std::shared_ptr<plugin::detail::Core> core() const noexcept { return {life_, &*life_->core}; }

    const std::shared_ptr<ToolLifetime> life_ = std::make_shared<ToolLifetime>();
    Function function_;
};

}  // namespace detail

// A view of a session, as Session::tools() returns it. All calls belong on the engine thread and are
// allowed inside callbacks.
class SessionTools {
public:
    explicit SessionTools(nar_session* session) noexcept : session_(session) {}

    // Registers a function. `function(const plugin::InvocationRequest&, plugin::Invocation)`
    // reports through the Invocation, immediately or later from any thread.
    // Invocation::is_cancelled() is true when the outcome is no longer needed. An exception fails
    // the attempt with
    // TOOL_EXCEPTION. When the tool has been removed or replaced, or the session has ended, the
    // function is destroyed after its last attempt has ended. Throws NAR_INVALID_ARGUMENT (the name
    // is in use or not valid; the time limit is negative) or NAR_INVALID_DOCUMENT (a schema is not
    // valid; the details list all faults).
    template <class Function>
    void add(const ToolOptions& options, Function&& function) {
        using Bound = detail::BoundTool<std::decay_t<Function>>;
        auto bound = std::make_unique<Bound>(std::forward<Function>(function));
        const std::shared_ptr<detail::ToolLifetime> life = bound->life();
        nar_tool_registration registration{};
        registration.user = bound.get();
        registration.invoke = Bound::invoke;
        registration.cancel = Bound::cancel;
        registration.released = Bound::released;
        const nar_host* const host = enter(options, registration);
        // The library owns it now and may have released it already: the destructor of a function
        // that this one replaces may remove it.
        static_cast<void>(bound.release());
        if (life->is_released) return;
        life->core.emplace(host);
        life->core->activate();
    }

    // Registers a name for a toolPath: a file or "scheme:rest". `limits` apply to each attempt; may
    // be NULL.
    void add_path(const ToolOptions& options, std::string_view path,
                  const nar_limits* limits = nullptr) {
        nar_tool_registration registration{};
        registration.limits = limits;
        registration.path = detail::to_c(path);
        enter(options, registration);
    }

    // Removes a registered tool. Throws NAR_NOT_FOUND.
    void remove(std::string_view name) {
        detail::Check check;
        check(nar_session_tools_remove(session_, detail::to_c(name), check.details()));
    }

    // The tool with this name as a JSON object, or nothing. Throws NAR_INVALID_ARGUMENT if both a
    // registered tool and a file have the name.
    std::optional<Text> find(std::string_view name) const {
        detail::Check check;
        nar_text* text = nullptr;
        const nar_status status =
            nar_session_tools_find(session_, detail::to_c(name), &text, check.details());
        if (status == NAR_NOT_FOUND) return std::nullopt;
        check(status);
        return Text(text);
    }

    // All tools as a JSON array of such objects.
    Text list() const {
        detail::Check check;
        nar_text* text = nullptr;
        check(nar_session_tools_list(session_, &text, check.details()));
        return Text(text);
    }

    // The tools that a model can call, in a form, and the reasons for omitted tools, as JSON
    // (tools.h).
    Text for_models(ModelForm form) const {
        detail::Check check;
        nar_text* text = nullptr;
        check(nar_session_tools_for_models(session_, static_cast<std::uint32_t>(form), &text,
                                           check.details()));
        return Text(text);
    }

private:
    const nar_host* enter(const ToolOptions& options, nar_tool_registration& registration) {
        nar_tool tool{};
        tool.size = sizeof tool;
        tool.name = detail::to_c(options.name);
        tool.description = detail::to_c(options.description);
        tool.input_schema = detail::to_c(options.input_schema);
        tool.result_schema = detail::to_c(options.result_schema);
        tool.flags = (options.waits ? NAR_TOOL_WAITS : 0) |
                     (options.synchronous ? NAR_TOOL_SYNCHRONOUS : 0) |
                     (options.repeatable ? 0 : NAR_TOOL_NOT_REPEATABLE);
        if (options.time_limit) {
            const auto limit = options.time_limit->count();
            if (limit < 0) {
                NARRATORIA_THROW(Error(NAR_INVALID_ARGUMENT, {},
                                       "the time limit of the tool \"" + std::string(options.name) +
                                           "\" is negative: " + std::to_string(limit) +
                                           " ms; 0 means no limit",
                                       {}));
            }
            constexpr std::int64_t kLongest = NAR_NONE - 1;
            tool.try_ms = static_cast<std::uint32_t>(limit < kLongest ? limit : kLongest);
            if (limit == 0) tool.try_ms = NAR_NONE;
        }
        registration.size = sizeof registration;
        registration.flags = options.replaces ? NAR_TOOL_REGISTRATION_REPLACES : 0;
        registration.tool = &tool;
        registration.owner = detail::to_c(options.owner);
        const nar_host* host = nullptr;
        detail::Check check;
        check(nar_session_tools_add(session_, &registration, &host, check.details()));
        return host;
    }

    nar_session* session_;
};

inline SessionTools Session::tools() { return SessionTools(handle()); }

}  // namespace narratoria
