// SPDX-License-Identifier: Apache-2.0
#include "plugin/own_tool.hpp"

#include <exception>
#include <string>
#include <utility>

#include "base/json/writer.hpp"
#include "base/view.hpp"
#include "plugin/invocation.hpp"

namespace narratoria::plugin {
namespace {

OwnTool& of(void* instance) { return *static_cast<OwnTool*>(instance); }

}  // namespace

OwnTool::OwnTool(Instance& instance, std::shared_ptr<const tool::Definition> definition,
                 const nar_tool_registration& given)
    : instance_(instance),
      definition_(std::move(definition)),
      user_(given.user),
      invoke_(given.invoke),
      cancel_(given.cancel),
      released_(given.released) {
    handle_.size = sizeof handle_;
    handle_.name = view(definition_->name);
    handle_.description = view(definition_->description);
    if (definition_->input) handle_.input_schema = view(definition_->input->text());
    if (definition_->result) handle_.result_schema = view(definition_->result->text());
    handle_.flags = (definition_->waits ? NAR_TOOL_WAITS : 0) |
                    (definition_->repeatable ? 0 : NAR_TOOL_NOT_REPEATABLE);
    if (definition_->try_ms) {
        handle_.try_ms = *definition_->try_ms == 0 ? NAR_NONE : *definition_->try_ms;
    }
}

OwnTool::~OwnTool() {
    if (!is_accepted_ || released_ == nullptr) return;
    instance_.call_always(
        "released", [&] { call(0, "the function that releases it", [&] { released_(user_); }); });
}

// `token`: the invocation that an exception ends; 0: none.
template <typename Call>
void OwnTool::call(uint64_t token, std::string_view what, Call&& function) {
    std::string thrown;
    try {
        function();
        return;
    } catch (const std::exception& exception) {
        thrown = exception.what();
    } catch (...) {
        thrown = "an exception that is not a std::exception";
    }
    std::string message = "the tool " + json::quoted(definition_->name) + ": ";
    message += what;
    message += " threw an exception: " + thrown;
    instance_.session().log(NAR_LOG_ERROR, message);
    if (token == 0) return;
    InvocationEnd end;
    end.error_code = "TOOL_EXCEPTION";
    end.error = std::move(message);
    // Ignore NAR_STALE: the function reported the end before it threw.
    instance_.inbox().send_end(&instance_, token, std::move(end), {});
}

nar_tool_extension OwnTool::functions() {
    nar_tool_extension out{};
    out.size = sizeof out;
    out.invoke = [](void* instance, uint64_t token, const nar_tool* tool,
                    const nar_invocation* invocation) {
        OwnTool& self = of(instance);
        self.call(token, "its function",
                  [&] { self.invoke_(self.user_, token, tool, invocation); });
    };
    out.cancel = [](void* instance, uint64_t token) {
        OwnTool& self = of(instance);
        if (self.cancel_ == nullptr) return;
        self.call(token, "its cancel", [&] { self.cancel_(self.user_, token); });
    };
    return out;
}

}  // namespace narratoria::plugin
