// SPDX-License-Identifier: Apache-2.0
#include "narratoria/tools.h"

#include <memory>
#include <string>
#include <utility>

#include "api/barrier.hpp"
#include "api/text.hpp"
#include "narratoria/limits.h"
#include "process/given_limits.hpp"

using namespace narratoria;
using namespace narratoria::api;

namespace {

using session::SessionTools;

nar_status refuse(nar_error* error, const plugin::ToolRefusal& refusal) {
    std::string details;
    if (!refusal.faults.empty()) append_faults(details, refusal.faults, refusal.schema);
    return fail(error, refusal.faults.empty() ? NAR_INVALID_ARGUMENT : NAR_INVALID_DOCUMENT,
                refusal.code, "the tool " + refusal.message, details);
}

// Returns the fault of the limits; empty if they are valid.
std::string read_limits(const nar_limits* given, tool::LimitOverrides& out) {
    nar_limits read;
    std::string fault = read_struct(given, read);
    if (!fault.empty()) return "nar_limits " + fault;
#define NARRATORIA_LIMIT(name, type, least, text)              \
    if (read.name != 0) {                                      \
        fault = process::limit_fault(#name, read.name, least); \
        if (!fault.empty()) return fault;                      \
        uint64_t value = 0;                                    \
        process::apply_limit(read.name, value);                \
        out.name = value;                                      \
    }
    NAR_PROCESS_LIMIT_LIST(NARRATORIA_LIMIT)
    NARRATORIA_LIMIT(line_bytes, uint64_t, 1, "")
#undef NARRATORIA_LIMIT
#define NARRATORIA_LIMIT(name, type, least, text) \
    if (read.name != 0)                           \
        return "the limit " #name " cannot be set for one tool; set it for the session";
    NAR_GROUP_LIMIT_LIST(NARRATORIA_LIMIT)
    NAR_SESSION_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
    return fault;
}

// Returns the fault of a registration; empty if it is valid.
std::string fault_of(const nar_tool_registration& given) {
    if ((given.flags & ~NAR_TOOL_REGISTRATION_REPLACES) != 0)
        return "the registration's flags have an unknown bit";
    if (!view(given.owner).empty() && !plugin::is_id(copy(given.owner))) {
        return "the owner must begin with a-z or 0-9 and have at most 128 of a-z 0-9 . _ -; leave "
               "it empty for \"host\"";
    }
    if (view(given.path).empty()) return given.invoke == nullptr ? "set invoke or path" : "";
    if (has_nul(given.path)) return "the path contains a NUL character";
    if (given.invoke != nullptr || given.cancel != nullptr || given.released != nullptr) {
        return "invoke, cancel and released must be NULL if path is set";
    }
    return {};
}

}  // namespace

extern "C" {

nar_status nar_session_tools_add(nar_session* session, const nar_tool_registration* given,
                                 const nar_host** host, nar_error* error) {
    return on_session(session, error, [&](session::Session& its) -> nar_status {
        if (its.ending()) return refuse_ending(error);
        nar_tool_registration read;
        if (given == nullptr) return refuse_argument(error, "the registration must not be NULL");
        std::string fault = read_struct(given, read);
        if (!fault.empty()) return refuse_argument(error, "nar_tool_registration " + fault);
        fault = fault_of(read);
        if (!fault.empty()) return refuse_argument(error, fault);
        plugin::ToolRefusal refusal;
        auto definition = plugin::read_tool(read.tool, refusal);
        if (definition == nullptr) return refuse(error, refusal);
        const std::string limit_fault = read_limits(read.limits, definition->limits);
        if (!limit_fault.empty()) return refuse_argument(error, limit_fault);
        const nar_host* const made = its.tools().add(read, std::move(definition), refusal);
        if (made == nullptr) return refuse(error, refusal);
        if (host != nullptr) *host = made;
        return NAR_OK;
    });
}

nar_status nar_session_tools_remove(nar_session* session, nar_str name, nar_error* error) {
    return on_session(session, error, [&](session::Session& its) -> nar_status {
        std::string why;
        if (its.tools().remove(view(name), why) == SessionTools::Found::Yes) return NAR_OK;
        return fail(error, NAR_NOT_FOUND, "TOOL_NOT_FOUND", why);
    });
}

nar_status nar_session_tools_find(nar_session* session, nar_str name, nar_text** json,
                                  nar_error* error) {
    return on_session(session, error, [&](session::Session& its) -> nar_status {
        return give_text(json, error, [&](std::string& text) -> nar_status {
            std::string why;
            switch (its.tools().find(view(name), text, why)) {
                case SessionTools::Found::Yes: break;
                case SessionTools::Found::No:
                    return fail(error, NAR_NOT_FOUND, "TOOL_NOT_FOUND", why);
                case SessionTools::Found::Ambiguous:
                    return fail(error, NAR_INVALID_ARGUMENT, "TOOL_AMBIGUOUS", why);
            }
            return NAR_OK;
        });
    });
}

nar_status nar_session_tools_for_models(nar_session* session, uint32_t form, nar_text** json,
                                        nar_error* error) {
    return on_session(session, error, [&](session::Session& its) -> nar_status {
        if (form != NAR_TOOLS_OPENAI && form != NAR_TOOLS_MCP) {
            return refuse_argument(error, "the form must be NAR_TOOLS_OPENAI or NAR_TOOLS_MCP");
        }
        return give_text(json, error, [&](std::string& text) -> nar_status {
            its.tools().list_for_models(
                form == NAR_TOOLS_MCP ? tool::ModelForm::Mcp : tool::ModelForm::Openai, text);
            return NAR_OK;
        });
    });
}

nar_status nar_session_tools_list(nar_session* session, nar_text** json, nar_error* error) {
    return on_session(session, error, [&](session::Session& its) -> nar_status {
        return give_text(json, error, [&](std::string& text) -> nar_status {
            its.tools().list(text);
            return NAR_OK;
        });
    });
}

}  // extern "C"
