// SPDX-License-Identifier: Apache-2.0
#pragma once
// A host function that is a tool (nar_session_tools_add).

#include <cstdint>
#include <memory>
#include <string_view>

#include "narratoria/tools.h"
#include "plugin/instance.hpp"
#include "tool/definition.hpp"

namespace narratoria::plugin {

// Shared by the registry's entry and the running attempts. The destructor calls `released` if the
// registration was accepted. An exception of a function fails its attempt; the tool stays
// registered. Engine thread only.
class OwnTool {
public:
    // `instance` is shared by all functions of the host, and must outlive this object.
    OwnTool(Instance& instance, std::shared_ptr<const tool::Definition> definition,
            const nar_tool_registration& given);
    ~OwnTool();
    OwnTool(const OwnTool&) = delete;
    OwnTool& operator=(const OwnTool&) = delete;

    // Takes ownership of the caller's `user`.
    void accept() noexcept { is_accepted_ = true; }
    // The description that the host's functions receive.
    const nar_tool* handle() const { return &handle_; }
    // The functions of a plugin's extension, with an OwnTool as their instance.
    static nar_tool_extension functions();

private:
    template <typename Call>
    void call(uint64_t token, std::string_view what, Call&& function);

    Instance& instance_;
    const std::shared_ptr<const tool::Definition> definition_;
    nar_tool handle_{};
    void* const user_;
    decltype(nar_tool_registration::invoke) const invoke_;
    decltype(nar_tool_registration::cancel) const cancel_;
    decltype(nar_tool_registration::released) const released_;
    bool is_accepted_ = false;
};

}  // namespace narratoria::plugin
