// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plugins of one session, and who is called for what.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "event/stream.hpp"
#include "narratoria/asset_renderer.h"
#include "narratoria/event_sink.h"
#include "narratoria/narrator.h"
#include "narratoria/ui_handler.h"
#include "plugin/instance.hpp"
#include "plugin/invocation.hpp"
#include "plugin/search.hpp"
#include "plugin/tool_runner.hpp"
#include "tool/registry.hpp"
#include "tool/runner/runners.hpp"

namespace narratoria::plugin {

// Where plugins put the tools and the runners that they bring; outlives the dispatcher.
struct ToolPlaces {
    tool::Registry& registry;
    tool::Runners& runners;
    tool::ProcessRunner& processes;  // for what a plugin hands over
};

// An extension that a session takes from a plugin, or from its host.
bool is_offered(std::string_view extension);

class Dispatcher {
public:
    Dispatcher(SessionAccess& session, StoryInfo story, ToolPlaces tools)
        : session_(session),
          story_(std::move(story)),
          tools_(tools),
          functions_(std::make_shared<FunctionRunner>(tools.processes)) {}
    ~Dispatcher();  // ends the instances, the last one first
    Dispatcher(const Dispatcher&) = delete;
    Dispatcher& operator=(const Dispatcher&) = delete;

    // Makes an instance, or notes why there is none. `path` is where this session has it from, empty
    // for what is built in; `settings` is a JSON object.
    Instance* add(const Library& library, std::string path, std::string settings);
    // What the host brings itself, at any time. Nothing, and why, when its struct is not valid; then
    // nothing is released. It comes before plugins of the same priority, the latest first, and a
    // tool takes the place of one with the same name.
    const Instance* extend(OwnExtension own, std::string& reason);
    // Loads what a search found, in its order.
    void load(const Search& search, const std::map<std::string, std::string>& settings);

    // The sinks are called in the order of loading.
    void attach_sinks(event::Stream& stream);

    // Whether somebody took it. Sessions in which nobody ever handled any have_…() not.
    bool handle(const nar_ui_event& event);
    bool render(const nar_asset& asset);
    bool have_handlers() const { return had_handlers_; }
    bool have_renderers() const { return had_renderers_; }

    // As a host would give it; nothing when no such plugin is active, or it is no narrator.
    std::optional<nar_narrator> narrator(std::string_view id);
    std::optional<nar_narrator> narrator(const Instance& its) const;

    // Runs the functions that plugins bring; to be listed among the session's runners.
    std::shared_ptr<tool::Runner> functions() const { return functions_; }

    // Why there is no active plugin of this id, or nothing when there is one.
    std::string why_not(std::string_view id) const;
    // Whether one of this id was loaded, or refused with a word about it.
    bool knows(std::string_view id) const;

    void append_json(std::string& out) const;

private:
    struct Handler {
        Instance* instance;
        nar_ui_handler_extension extension;
        std::unordered_set<std::string> events;  // empty: all
    };
    struct Renderer {
        Instance* instance;
        nar_asset_renderer_extension extension;
        std::vector<std::pair<std::string, std::string>> media_types;  // "*" stands for any
    };
    struct Narrator {
        Dispatcher* dispatcher;
        Instance* instance;
        nar_narrator_extension extension;
        uint64_t token;  // of the last question
    };
    struct Attached {
        Instance* instance;
        uint64_t sink;
    };
    struct Refused {
        std::string id;
        std::string path;
        std::string reason;
        std::string version = {};
    };

    void note_refused(std::string id, std::string path, std::string reason);
    Instance* keep(std::unique_ptr<Instance> instance);
    void give_up(Instance& instance);
    bool take_extensions(Instance& instance, std::string& reason);
    void forget_extensions(const Instance* instance);
    void attach_sink(Instance& instance, const nar_event_sink_extension& extension);
    bool take_handler(Instance& instance, std::string& reason);
    bool take_renderer(Instance& instance, std::string& reason);
    bool take_narrator(Instance& instance, std::string& reason);
    bool take_runner(Instance& instance, std::string& reason);
    bool take_tools(Instance& instance, std::string& reason);

    SessionAccess& session_;
    StoryInfo story_;
    ToolPlaces tools_;
    std::shared_ptr<FunctionRunner> functions_;
    std::vector<std::unique_ptr<Instance>> instances_;
    std::vector<std::pair<Instance*, nar_event_sink_extension>> sinks_;
    event::Stream* stream_ = nullptr;  // since attach_sinks
    std::vector<Attached> attached_;
    std::vector<Handler> handlers_;    // highest priority first
    std::vector<Renderer> renderers_;  // likewise
    std::vector<std::unique_ptr<Narrator>> narrators_;
    std::vector<std::pair<Instance*, std::string>> schemes_;
    std::vector<Refused> refused_;
    bool had_handlers_ = false;
    bool had_renderers_ = false;
};

}  // namespace narratoria::plugin
