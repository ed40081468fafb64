// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plugins of one session, and the routing of events, assets and questions to them.

#include <cstdint>
#include <deque>
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
#include "plugin/tool_description.hpp"
#include "plugin/tool_runner.hpp"
#include "tool/registry.hpp"
#include "tool/runners.hpp"

namespace narratoria::plugin {

// The registries for the tools and runners of plugins. All must outlive the dispatcher.
struct ToolPlaces {
    tool::Registry& registry;
    tool::Runners& runners;
    tool::ProcessRunner& processes;  // for invocations that a plugin delegates to a program
};

// True for the extensions that a plugin or a host can provide to a session.
bool is_offered(std::string_view extension);

// Owned by its session. Owns the plugin instances. Engine thread only. A plugin may be disabled
// during any call into it; it then receives no more calls.
class Dispatcher {
public:
    Dispatcher(SessionAccess& session, StoryInfo story, ToolPlaces tools)
        : session_(session),
          stories_{std::move(story)},
          tools_(tools),
          functions_(std::make_shared<FunctionRunner>(tools.processes)) {}
    ~Dispatcher();  // destroys the instances in reverse order
    Dispatcher(const Dispatcher&) = delete;
    Dispatcher& operator=(const Dispatcher&) = delete;

    // Creates an instance. Returns NULL on failure, and records the reason. `path`: the library's
    // file, empty for a built-in plugin. `settings`: a JSON object.
    Instance* add(const Library& library, std::string path, std::string settings);
    // Replaces the instance of the built-in plugin `before` by one of `library`. Returns NULL on
    // failure; nothing has changed then. No question to the narrator may be open.
    Instance* replace(const Library& before, const Library& library, std::string settings);
    // Changes the story that plugins read.
    void set_story(const std::string& title, const std::string& opening);
    // Registers a tool of the host (nar_session_tools_add) and returns the host for its calls. May
    // be called at any time. `given` is a complete struct with a valid owner. `definition` holds
    // the description, and `path` and `runner` if the tool is not a function. Returns NULL and a
    // refusal if the name is in use.
    const nar_host* add_tool(const nar_tool_registration& given,
                             std::shared_ptr<tool::Definition> definition, ToolRefusal& refusal);
    // Removes a registered tool of any owner. Running attempts are not affected.
    void remove_tool(const std::shared_ptr<const tool::Definition>& definition);

    // Adds an extension of the host. May be called at any time. Returns NULL and a reason if its
    // struct is not valid; `released` is then not called. It precedes plugins and earlier
    // extensions of the same priority. Its tools replace tools of the same name.
    const Instance* extend(OwnExtension own, std::string& reason);
    // Loads the plugins that a search selected, in its order.
    void load(const Search& search, const std::map<std::string, std::string>& settings);

    // Attaches all sinks, in the order of loading. Sinks of later extensions are attached
    // immediately.
    // `stream` must stay valid as long as the dispatcher is used.
    void attach_sinks(event::Stream& stream);

    // True if a plugin accepted it. have_…() is false until a plugin has registered.
    bool handle(const nar_ui_event& event);
    struct Rendering {
        bool is_accepted;
        Instance* pending;  // the renderer that reports the outcome later, or NULL
    };
    // Calls the renderers, except those in `tried`.
    Rendering render(const nar_asset& asset, const std::vector<Instance*>& tried);
    // Logs a failure.
    static void note_not_rendered(Instance& renderer, nar_status status);
    bool have_handlers() const { return had_handlers_; }
    bool have_renderers() const { return had_renderers_; }

    // The narrator of a plugin, in the form that a host supplies. Empty if the plugin is not active
    // or is not a narrator. It stays valid as long as the dispatcher.
    std::optional<nar_narrator> narrator(std::string_view id);
    std::optional<nar_narrator> narrator(const Instance& its) const;

    // The runner of the functions of all plugins. The session registers it among its runners.
    std::shared_ptr<tool::Runner> functions() const { return functions_; }

    // The reason why no plugin with this id is active; empty if one is.
    std::string why_not(std::string_view id) const;
    // The ids of the plugins that were loaded, or refused with a logged reason.
    std::vector<std::string_view> known_ids() const;

    // The value that the active plugin `id` published under a name, or NULL.
    const std::string* published(std::string_view id, std::string_view name) const;

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
        std::vector<std::pair<std::string, std::string>> media_types;  // "*" matches any
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
        std::string code = {};  // that its init gave
    };

    Instance& own_functions();
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
    // The last one is current. The others are kept, because plugins may hold views of them in any
    // thread. Declared before the instances.
    std::deque<StoryInfo> stories_;
    ToolPlaces tools_;
    std::shared_ptr<FunctionRunner> functions_;
    std::unique_ptr<Instance> own_;  // for all functions of the host; NULL until there is one
    std::vector<std::unique_ptr<Instance>> instances_;
    std::vector<std::pair<Instance*, nar_event_sink_extension>> sinks_;
    event::Stream* stream_ = nullptr;  // NULL before attach_sinks()
    std::vector<Attached> attached_;
    std::vector<Handler> handlers_;    // highest priority first
    std::vector<Renderer> renderers_;  // highest priority first
    std::vector<std::unique_ptr<Narrator>> narrators_;
    std::vector<std::pair<Instance*, std::string>> schemes_;
    std::vector<Refused> refused_;
    bool had_handlers_ = false;
    bool had_renderers_ = false;
};

}  // namespace narratoria::plugin
