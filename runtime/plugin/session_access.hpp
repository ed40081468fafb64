// SPDX-License-Identifier: Apache-2.0
#pragma once
// What plugins may ask of the session they are in, as the session answers it. All on the engine
// thread but for what says otherwise.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/inbox.hpp"
#include "base/loop.hpp"
#include "narratoria/status.h"
#include "process/process.hpp"

namespace narratoria::plugin {

// The story of a session; both empty without one.
struct StoryInfo {
    std::string folder;  // absolute
    std::string title;
};

// What a plugin's process gets where the plugin says nothing: the same as the session's tools.
struct ProcessDefaults {
    process::Pool& pool;
    const std::string& folder;
    const std::vector<std::string>& environment;
    const process::Limits& limits;
};

class SessionAccess {
public:
    virtual ~SessionAccess() = default;

    virtual Loop& loop() = 0;
    virtual bool on_engine_thread() const = 0;  // from any thread
    // Counts the callbacks that the engine is inside of.
    virtual uint32_t& callback_depth() = 0;
    virtual void log(uint32_t level, std::string_view message) = 0;
    // A plugin held the engine thread for so long, and was told of by itself.
    virtual void excuse(int64_t milliseconds) = 0;
    // Something that a player's interface should know, too; the stream may be in the middle of an
    // event.
    virtual void warn(std::string_view code, std::string_view message) = 0;

    virtual nar_status read_state(std::string_view pointer, std::string& json) = 0;
    virtual nar_status patch_state(std::string_view patch, std::string_view who) = 0;
    virtual void list_assets(std::string& json) = 0;
    virtual nar_status submit_prompt(std::string_view text) = 0;
    virtual void cancel() = 0;

    virtual ProcessDefaults process_defaults() = 0;

    // From any thread: an answer to a narrator's request.
    virtual nar_status answer(uint64_t token, bool is_plan, std::string text) = 0;
    // From any thread. The engine's; it outlives the session.
    virtual Inbox& inbox() = 0;
};

}  // namespace narratoria::plugin
