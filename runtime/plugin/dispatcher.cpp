// SPDX-License-Identifier: Apache-2.0
#include "plugin/dispatcher.hpp"

#include <algorithm>
#include <utility>

#include "base/json/writer.hpp"
#include "plugin/given_extension.hpp"

namespace narratoria::plugin {
namespace {

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
