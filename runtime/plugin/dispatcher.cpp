// SPDX-License-Identifier: Apache-2.0
#include "plugin/dispatcher.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "base/bytes/utf8.hpp"
#include "base/given_struct.hpp"
#include "base/json/tape.hpp"
#include "base/json/writer.hpp"
#include "base/view.hpp"
#include "plugin/own_tool.hpp"

namespace narratoria::plugin {
namespace {

constexpr uint64_t kMaxNames = 4096;
constexpr const char* kOwnId = "host";  // the owner of host functions that do not name one
constexpr size_t kMaxScheme = 64;
constexpr uint64_t kMaxName = 4096;

// Copies an extension's struct. Returns false and a reason if it cannot be used.
template <typename Extension>
bool read_extension(const Instance& instance, const char* id, Extension& out, std::string& reason) {
    const auto* const given = static_cast<const Extension*>(instance.extension(id));
    if (given == nullptr) {
        reason = std::string("it lists ") + id + ", but its get_extension returns NULL for it";
        return false;
    }
    const std::string fault = read_struct(given, out);
    if (fault.empty()) return true;
    reason = std::string("its ") + id + " " + fault;
    return false;
}

bool read_names(const nar_str* names, uint64_t count, const char* what,
                std::vector<std::string>& out, std::string& reason) {
    if (count > kMaxNames || (count > 0 && names == nullptr)) {
        reason = std::string("its list of ") + what + " is not valid";
        return false;
    }
    for (uint64_t i = 0; i < count; ++i) {
        // The plugin's size is untrusted.
        const std::string_view name = names[i].size <= kMaxName ? view(names[i]) : "";
        if (name.empty() || !utf8::is_valid(name)) {
            reason = std::string("its list of ") + what +
                     " has an entry that is empty, too long or not UTF-8";
            return false;
        }
        out.emplace_back(name);
    }
    return true;
}

std::string status_text(nar_status status) {
    switch (status) {
#define STATUS_CASE(name, value, text) \
    case name: return text;
        NAR_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
        default: return "status " + std::to_string(status);
    }
}

std::string handler_fault(nar_status status) {
    if (status != NAR_PENDING) return status_text(status);
    return "it returned NAR_PENDING, which only an asset renderer may return";
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Splits "Image/PNG; q=1" into "image" and "png".
std::pair<std::string, std::string> split_media_type(std::string_view text) {
    text = text.substr(0, text.find(';'));
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    std::string plain(text);
    std::transform(plain.begin(), plain.end(), plain.begin(), lower);
    const size_t slash = plain.find('/');
    if (slash == std::string::npos) return {plain, ""};
    return {plain.substr(0, slash), plain.substr(slash + 1)};
}

// Inserts a plugin's entry after all entries of the same priority, and a host's entry before them.
template <typename Each>
void insert_by_priority(std::vector<Each>& list, Each each) {
    const bool is_first = each.instance->is_own();
    const auto place = std::find_if(list.begin(), list.end(), [&](const Each& other) {
        return other.extension.priority < each.extension.priority ||
               (is_first && other.extension.priority == each.extension.priority);
    });
    list.insert(place, std::move(each));
}

// Grows the capacity like push_back(), so that repeated calls have amortized constant cost.
template <typename Each>
void reserve_one(std::vector<Each>& list) {
    if (list.size() == list.capacity()) list.reserve(std::max<size_t>(4, 2 * list.size()));
}

template <typename List>
void forget_instance(List& list, const Instance* instance) {
    std::erase_if(list, [&](const auto& each) {
        if constexpr (requires { each->instance; }) return each->instance == instance;
        else return each.instance == instance;
    });
}

}  // namespace

bool is_offered(std::string_view extension) {
    return extension == NAR_EXTENSION_EVENT_SINK || extension == NAR_EXTENSION_UI_HANDLER ||
           extension == NAR_EXTENSION_ASSET_RENDERER || extension == NAR_EXTENSION_NARRATOR ||
           extension == NAR_EXTENSION_TOOL_RUNNER || extension == NAR_EXTENSION_TOOL;
}

Dispatcher::~Dispatcher() {
    // The runner may outlive the instances.
    functions_->remove_own();
    own_.reset();
    while (!instances_.empty()) instances_.pop_back();
    // Deliver log lines that the plugins' threads sent during deinit.
    session_.inbox().deliver_lines();
}

void Dispatcher::note_refused(std::string id, std::string path, std::string reason) {
    const std::string message = "plugin " + (id.empty() ? path : id) + " is left out" +
                                (path.empty() || id.empty() ? "" : " (" + path + ")") + ": " +
                                reason;
    session_.log(NAR_LOG_WARN, message, "PLUGIN_LEFT_OUT");
    session_.warn("PLUGIN_LEFT_OUT", message);
    refused_.push_back({std::move(id), std::move(path), std::move(reason)});
}

void Dispatcher::load(const Search& search, const std::map<std::string, std::string>& settings) {
    for (const Candidate* candidate : search.loads) {
        std::string reason;
        const Library* library = load_library(candidate->path, *candidate->metadata, reason);
        if (library == nullptr) {
            note_refused(candidate->metadata->id, candidate->path, reason);
            refused_.back().version = candidate->metadata->version;
            continue;
        }
        const auto own = settings.find(library->id);
        const std::string given = own == settings.end() ? "{}" : own->second;
        std::string faults;
        for (const tool::SchemaFault& fault : check_settings(*candidate->metadata, given)) {
            faults += (faults.empty() ? "" : "; ") + describe_setting(fault);
        }
        if (!faults.empty()) {
            session_.log(NAR_LOG_WARN, "[plugins.\"" + library->id + "\"]: " + faults);
        }
        add(*library, candidate->path, given);
    }
    for (const Search::Missing& missing : search.missing) {
        note_refused(missing.requested, "", missing.why);
    }
}

Instance* Dispatcher::add(const Library& library, std::string path, std::string settings) {
    auto instance = std::make_unique<Instance>(library, std::move(path), session_,
                                               std::move(settings), stories_.back());
    std::string reason, code;
    if (!instance->init(reason, code)) {
        note_refused(library.id, instance->path(), reason);
        refused_.back().version = library.version;
        refused_.back().code = code;
        return nullptr;
    }
    if (!take_extensions(*instance, reason)) {
        forget_extensions(instance.get());
        note_refused(library.id, instance->path(), reason);
        refused_.back().version = library.version;
        return nullptr;
    }
    return keep(std::move(instance));
}

Instance* Dispatcher::replace(const Library& before, const Library& library, std::string settings) {
    Instance* const made = add(library, "", std::move(settings));
    if (made == nullptr) return nullptr;
    const auto old = std::find_if(instances_.begin(), instances_.end(), [&](const auto& each) {
        return &each->library() == &before && each.get() != made;
    });
    if (old != instances_.end()) {
        forget_extensions(old->get());
        instances_.erase(old);
    }
    return made;
}

void Dispatcher::set_story(const std::string& title, const std::string& opening) {
    const StoryInfo& current = stories_.back();
    if (current.title == title && current.opening == opening) return;
    StoryInfo next = current;
    next.title = title;
    next.opening = opening;
    stories_.push_back(std::move(next));
    for (const auto& instance : instances_) instance->set_story(stories_.back());
    if (own_ != nullptr) own_->set_story(stories_.back());
}

const Instance* Dispatcher::extend(OwnExtension own, std::string& reason) {
    auto instance = std::make_unique<Instance>(std::move(own), session_, stories_.back());
    const Library& library = instance->library();
    // Strong guarantee: after a refusal or bad_alloc nothing has changed, and the host still owns
    // its data. The code after take_extensions() uses only memory that is reserved here.
    struct Undo {
        ~Undo() {
            if (instance == nullptr) return;
            its.forget_extensions(instance);
            instance->keep_from_release();
        }
        Dispatcher& its;
        Instance* instance;
    } undo{*this, instance.get()};
    reserve_one(instances_);
    reserve_one(attached_);
    if (!take_extensions(*instance, reason)) return nullptr;
    if (stream_ != nullptr && library.offers(NAR_EXTENSION_EVENT_SINK)) {
        // take_extensions() has appended this sink.
        attach_sink(*instance, sinks_.back().second);
    }
    undo.instance = nullptr;
    return keep(std::move(instance));
}

Instance* Dispatcher::keep(std::unique_ptr<Instance> instance) {
    had_handlers_ = had_handlers_ || !handlers_.empty();
    had_renderers_ = had_renderers_ || !renderers_.empty();
    Instance* const made = instance.get();
    made->set_on_disabled([this, made] { give_up(*made); });
    instances_.push_back(std::move(instance));
    // get_extension() may have thrown and disabled the instance before the callback was set.
    if (made->disabled()) give_up(*made);
    return made;
}

void Dispatcher::forget_extensions(const Instance* instance) {
    std::erase_if(sinks_, [&](const auto& each) { return each.first == instance; });
    forget_instance(handlers_, instance);
    forget_instance(renderers_, instance);
    forget_instance(narrators_, instance);
    for (const auto& [its, scheme] : schemes_) {
        if (its == instance) tools_.runners.remove_scheme(scheme);
    }
    std::erase_if(schemes_, [&](const auto& each) { return each.first == instance; });
    // One by one, because this function must not allocate.
    while (const auto definition = functions_->definition_of(instance)) {
        tools_.registry.remove(*definition);
        functions_->remove(*definition);
    }
}

// Called when an instance is disabled. Ends its pending invocations and questions, so that none
// waits for its timeout.
void Dispatcher::give_up(Instance& instance) {
    const std::string message =
        "the plugin " + instance.library().id + " is disabled: " + instance.disabled_reason();
    for (const auto& definition : functions_->definitions_of(&instance)) {
        tools_.registry.hide(*definition, message);
    }
    for (const Attached& each : attached_) {
        if (each.instance == &instance) stream_->detach(each.sink);
    }
    InvocationEnd end;
    end.error_code = "PLUGIN_DISABLED";
    end.error = message;
    session_.inbox().end_all(&instance, end);
    session_.drop_renderings(instance);
    for (const auto& narrator : narrators_) {
        if (narrator->instance == &instance) session_.answer(narrator->token, false, message);
    }
}

bool Dispatcher::take_extensions(Instance& instance, std::string& reason) {
    const Library& library = instance.library();
    if (library.offers(NAR_EXTENSION_EVENT_SINK)) {
        nar_event_sink_extension sink;
        if (!read_extension(instance, NAR_EXTENSION_EVENT_SINK, sink, reason)) {
            return false;
        }
        if (sink.event == nullptr) {
            reason = "its event sink has no function";
            return false;
        }
        sinks_.emplace_back(&instance, sink);
    }
    return (!library.offers(NAR_EXTENSION_UI_HANDLER) || take_handler(instance, reason)) &&
           (!library.offers(NAR_EXTENSION_ASSET_RENDERER) || take_renderer(instance, reason)) &&
           (!library.offers(NAR_EXTENSION_NARRATOR) || take_narrator(instance, reason)) &&
           (!library.offers(NAR_EXTENSION_TOOL_RUNNER) || take_runner(instance, reason)) &&
           (!library.offers(NAR_EXTENSION_TOOL) || take_tools(instance, reason));
}

bool Dispatcher::take_handler(Instance& instance, std::string& reason) {
    Handler handler{&instance, {}, {}};
    std::vector<std::string> events;
    if (!read_extension(instance, NAR_EXTENSION_UI_HANDLER, handler.extension, reason) ||
        !read_names(handler.extension.events, handler.extension.event_count, "ui events", events,
                    reason)) {
        return false;
    }
    if (handler.extension.handle == nullptr) {
        reason = "its ui handler has no function";
        return false;
    }
    handler.events.insert(events.begin(), events.end());
    insert_by_priority(handlers_, std::move(handler));
    return true;
}

bool Dispatcher::take_renderer(Instance& instance, std::string& reason) {
    Renderer renderer{&instance, {}, {}};
    std::vector<std::string> patterns;
    if (!read_extension(instance, NAR_EXTENSION_ASSET_RENDERER, renderer.extension, reason) ||
        !read_names(renderer.extension.media_types, renderer.extension.media_type_count,
                    "media types", patterns, reason)) {
        return false;
    }
    if (renderer.extension.render == nullptr) {
        reason = "its asset renderer has no function";
        return false;
    }
    for (const std::string& pattern : patterns) {
        renderer.media_types.push_back(split_media_type(pattern));
    }
    insert_by_priority(renderers_, std::move(renderer));
    return true;
}

bool Dispatcher::take_narrator(Instance& instance, std::string& reason) {
    auto narrator = std::make_unique<Narrator>(Narrator{this, &instance, {}, 0});
    if (!read_extension(instance, NAR_EXTENSION_NARRATOR, narrator->extension, reason)) {
        return false;
    }
    if (narrator->extension.generate == nullptr) {
        reason = "its narrator has no function";
        return false;
    }
    if ((narrator->extension.flags & ~uint32_t{NAR_NARRATOR_DETAILED}) != 0) {
        reason = "its narrator has unknown flags; the known one is NAR_NARRATOR_DETAILED";
        return false;
    }
    narrators_.push_back(std::move(narrator));
    return true;
}

bool Dispatcher::take_runner(Instance& instance, std::string& reason) {
    nar_tool_runner_extension extension;
    std::vector<std::string> schemes;
    if (!read_extension(instance, NAR_EXTENSION_TOOL_RUNNER, extension, reason) ||
        !read_names(extension.schemes, extension.scheme_count, "schemes", schemes, reason)) {
        return false;
    }
    if (extension.start == nullptr || extension.cancel == nullptr) {
        reason = "its tool runner has no start or no cancel";
        return false;
    }
    if ((extension.flags & ~NAR_TOOL_RUNNER_WAITS) != 0) {
        reason = "its tool runner has unknown flags; the known one is NAR_TOOL_RUNNER_WAITS";
        return false;
    }
    const bool waits = (extension.flags & NAR_TOOL_RUNNER_WAITS) != 0;
    const auto scheme_runner =
        std::make_shared<SchemeRunner>(tools_.processes, instance, extension);
    // Reserve first, so that each scheme added to the runners is also recorded here.
    schemes_.reserve(schemes_.size() + schemes.size());
    for (std::string& scheme : schemes) {
        if (scheme.size() > kMaxScheme || !tool::is_scheme(scheme)) {
            reason =
                "its scheme \"" + scheme + "\" is not valid; use only letters, digits and + - . _";
            return false;
        }
        const std::string& id = instance.library().id;
        if (!tools_.runners.add_scheme(scheme, scheme_runner, id, waits)) {
            const std::string& owner = tools_.runners.find_scheme(scheme)->origin;
            instance.report("the scheme \"" + scheme + "\" " +
                            (owner.empty() ? "is built in"
                                           : "belongs to " + owner + ", which was loaded first"));
            continue;
        }
        schemes_.emplace_back(&instance, std::move(scheme));
    }
    return true;
}

bool Dispatcher::take_tools(Instance& instance, std::string& reason) {
    nar_tool_extension extension;
    if (!read_extension(instance, NAR_EXTENSION_TOOL, extension, reason)) {
        return false;
    }
    if (extension.invoke == nullptr || extension.tool_count > kMaxNames ||
        (extension.tool_count > 0 && extension.tools == nullptr)) {
        reason = "its tool extension has no invoke function or no valid list of tools";
        return false;
    }
    std::vector<std::pair<std::shared_ptr<const tool::Definition>, const nar_tool*>> offers;
    for (uint64_t i = 0; i < extension.tool_count; ++i) {
        if (extension.tools[i] == nullptr) {
            reason = "number " + std::to_string(i + 1) + " in its list of tools is NULL";
            return false;
        }
        ToolRefusal refusal;
        auto definition = read_tool(extension.tools[i], refusal);
        if (definition == nullptr) {
            reason = "its tool " + refusal.message;
            return false;
        }
        const std::string& name = definition->name;
        if (std::any_of(offers.begin(), offers.end(),
                        [&](const auto& offer) { return offer.first->name == name; })) {
            instance.report("it lists the tool \"" + name + "\" twice; the first one is used");
            continue;
        }
        const auto other = tools_.registry.find(name);
        if (other != nullptr && !instance.is_own()) {
            instance.report("the tool \"" + name + "\" belongs to " +
                            tool::describe(other->origin) + ", which registered it first");
            continue;
        }
        definition->runner = FunctionRunner::kName;
        definition->origin = {
            instance.is_own() ? tool::Origin::Kind::Host : tool::Origin::Kind::Plugin,
            instance.library().id};
        offers.emplace_back(std::move(definition), extension.tools[i]);
    }
    // Register only after all are valid and nothing can fail: a refused extension must not replace
    // a tool.
    std::vector<std::shared_ptr<const tool::Definition>> displaced;
    displaced.reserve(offers.size());
    tools_.registry.reserve(offers.size());
    for (const auto& [definition, handle] : offers) {
        functions_->add(definition, instance, extension, handle);
    }
    for (const auto& [definition, handle] : offers) {
        if (const auto& other = tools_.registry.find(definition->name)) displaced.push_back(other);
        tools_.registry.replace(definition);
    }
    // Last: the `released` of a function of the host may change the registry.
    for (const auto& each : displaced) functions_->remove(*each);
    return true;
}

// ---------------------------------------------------------------- tools of the host

Instance& Dispatcher::own_functions() {
    if (own_ == nullptr) {
        own_ = std::make_unique<Instance>(
            OwnExtension{kOwnId, NAR_EXTENSION_TOOL, nullptr, nullptr, nullptr, true}, session_,
            stories_.back());
    }
    return *own_;
}

const nar_host* Dispatcher::add_tool(const nar_tool_registration& given,
                                     std::shared_ptr<tool::Definition> definition,
                                     ToolRefusal& refusal) {
    const std::string_view owner = view(given.owner);
    definition->origin = {tool::Origin::Kind::Host, std::string(owner.empty() ? kOwnId : owner)};
    const auto other = tools_.registry.find(definition->name);
    if (other != nullptr && (given.flags & NAR_TOOL_REGISTRATION_REPLACES) == 0) {
        refusal.code = "TOOL_NAME_IN_USE";
        refusal.message =
            json::quoted(definition->name) + " of " + tool::describe(definition->origin) +
            " cannot be registered: the name belongs to a tool of " +
            tool::describe(other->origin) + "; choose a different name, or remove that tool first";
        return nullptr;
    }
    Instance& instance = own_functions();
    const bool is_function = definition->path.empty();
    if (is_function) definition->runner = FunctionRunner::kName;
    const std::shared_ptr<const tool::Definition> shared = std::move(definition);
    std::shared_ptr<OwnTool> own;
    if (is_function) {
        own = std::make_shared<OwnTool>(instance, shared, given);
        functions_->add(shared, instance, own);
    }
    try {
        tools_.registry.replace(shared);
    } catch (...) {
        functions_->remove(*shared);
        throw;
    }
    // Nothing throws from here on.
    if (own != nullptr) own->accept();
    // Last, as in take_tools().
    if (other != nullptr) functions_->remove(*other);
    return instance.host();
}

void Dispatcher::remove_tool(const std::shared_ptr<const tool::Definition>& definition) {
    tools_.registry.remove(*definition);
    // Last, as in take_tools().
    functions_->remove(*definition);
}

void Dispatcher::attach_sinks(event::Stream& stream) {
    stream_ = &stream;
    for (const auto& [instance, extension] : sinks_) attach_sink(*instance, extension);
}

void Dispatcher::attach_sink(Instance& instance, const nar_event_sink_extension& extension) {
    nar_event_sink sink{};
    sink.size = sizeof sink;
    sink.kinds = extension.kinds;
    // The stream calls the plugin's function directly, without a wrapper, to keep each event cheap.
    sink.user = instance.data();
    sink.event = extension.event;
    attached_.push_back({&instance, stream_->attach(sink, &instance)});
}

bool Dispatcher::handle(const nar_ui_event& event) {
    for (const Handler& handler : handlers_) {
        if (!handler.events.empty() && !handler.events.contains(std::string(view(event.name)))) {
            continue;
        }
        nar_status status = NAR_DECLINED;
        handler.instance->call("its ui handler", [&] {
            status = handler.extension.handle(handler.instance->data(), &event);
        });
        if (status == NAR_OK) return true;
        if (status != NAR_DECLINED) {
            handler.instance->report("its ui handler failed (" + handler_fault(status) + ")");
        }
    }
    return false;
}

Dispatcher::Rendering Dispatcher::render(const nar_asset& asset,
                                         const std::vector<Instance*>& tried) {
    const auto wanted = split_media_type(view(asset.media_type));
    for (const Renderer& renderer : renderers_) {
        const bool fits = std::any_of(
            renderer.media_types.begin(), renderer.media_types.end(), [&](const auto& pattern) {
                return (pattern.first == "*" || pattern.first == wanted.first) &&
                       (pattern.second == "*" || pattern.second == wanted.second);
            });
        if (!fits || std::find(tried.begin(), tried.end(), renderer.instance) != tried.end()) {
            continue;
        }
        nar_status status = NAR_DECLINED;
        renderer.instance->call("its asset renderer", [&] {
            status = renderer.extension.render(renderer.instance->data(), &asset);
        });
        if (status == NAR_OK) return {true, nullptr};
        // A disabled plugin will not report the outcome.
        if (status == NAR_PENDING && renderer.instance->disabled()) status = NAR_DECLINED;
        if (status == NAR_PENDING) return {true, renderer.instance};
        note_not_rendered(*renderer.instance, status);
    }
    return {false, nullptr};
}

void Dispatcher::note_not_rendered(Instance& renderer, nar_status status) {
    if (status == NAR_OK || status == NAR_DECLINED) return;
    renderer.report("its asset renderer failed (" + status_text(status) + ")");
}

std::optional<nar_narrator> Dispatcher::narrator(std::string_view id) {
    const auto found = std::find_if(narrators_.begin(), narrators_.end(), [&](const auto& each) {
        return each->instance->library().id == id;
    });
    return found == narrators_.end() ? std::nullopt : narrator(*(*found)->instance);
}

std::optional<nar_narrator> Dispatcher::narrator(const Instance& its) const {
    const auto found = std::find_if(narrators_.begin(), narrators_.end(),
                                    [&](const auto& each) { return each->instance == &its; });
    if (found == narrators_.end()) return std::nullopt;
    (*found)->instance->set_narrator();
    nar_narrator out{};
    out.size = sizeof out;
    out.id = {(*found)->instance->library().id.data(), (*found)->instance->library().id.size()};
    out.user = found->get();
    out.flags = (*found)->extension.flags;
    out.generate = [](void* user, const nar_narrator_request* request) {
        auto& narrator = *static_cast<Narrator*>(user);
        Instance& instance = *narrator.instance;
        narrator.token = request->token;
        const bool called = instance.call(
            "its narrator", [&] { narrator.extension.generate(instance.data(), request); });
        if (called) return;
        // An exception ends this generation. If the plugin answered before it threw, its answer
        // counts, and this one is ignored (NAR_STALE).
        narrator.dispatcher->session_.answer(narrator.token, false,
                                             "the narrator " + instance.library().id +
                                                 " is disabled: " + instance.disabled_reason());
    };
    out.cancel = [](void* user, uint64_t token) {
        const auto& narrator = *static_cast<const Narrator*>(user);
        if (narrator.extension.cancel == nullptr) return;
        narrator.instance->call("its narrator's cancel", [&] {
            narrator.extension.cancel(narrator.instance->data(), token);
        });
    };
    return out;
}

std::vector<std::string_view> Dispatcher::known_ids() const {
    std::vector<std::string_view> ids;
    for (const auto& instance : instances_) ids.push_back(instance->library().id);
    for (const Refused& refused : refused_) ids.push_back(refused.id);
    return ids;
}

std::string Dispatcher::why_not(std::string_view id) const {
    for (const auto& instance : instances_) {
        if (instance->library().id == id) return instance->disabled_reason();
    }
    for (const Refused& refused : refused_) {
        if (refused.id == id) return refused.reason;
    }
    return "no plugin with this id was requested";
}

const std::string* Dispatcher::published(std::string_view id, std::string_view name) const {
    for (const auto& instance : instances_) {
        if (instance->library().id != id || instance->disabled()) continue;
        if (const std::string* value = instance->published.find(name)) return value;
    }
    return nullptr;
}

void Dispatcher::append_json(std::string& out) const {
    out += '[';
    bool first = true;
    auto entry = [&](const std::string& id, const std::string& path, const char* state,
                     const std::string& reason, const std::string& code, const std::string& version,
                     const Library* library) {
        if (!first) out += ',';
        first = false;
        json::ObjectWriter writer(out);
        writer.string("id", id).string("path", path);
        writer.string("version", version);
        writer.key("extensions");
        out += '[';
        for (size_t i = 0; library && i < library->extensions.size(); ++i) {
            if (i > 0) out += ',';
            json::append_string(out, library->extensions[i]);
        }
        out += ']';
        writer.string("state", state).string("reason", reason);
        if (!code.empty()) writer.string("code", code);
        writer.end();
    };
    for (const auto& instance : instances_) {
        const Library& library = instance->library();
        entry(library.id, instance->path(), instance->disabled() ? "disabled" : "active",
              instance->disabled_reason(), "", library.version, &library);
    }
    for (const Refused& refused : refused_) {
        entry(refused.id, refused.path, "refused", refused.reason, refused.code, refused.version,
              nullptr);
    }
    out += ']';
}

}  // namespace narratoria::plugin
