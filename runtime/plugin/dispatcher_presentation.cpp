// SPDX-License-Identifier: Apache-2.0
// The plugins that present a session: the handlers of UI events and the renderers of assets.
#include <algorithm>
#include <utility>

#include "base/view.hpp"
#include "plugin/dispatcher.hpp"
#include "plugin/given_extension.hpp"

namespace narratoria::plugin {
namespace {

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

}  // namespace

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

}  // namespace narratoria::plugin
