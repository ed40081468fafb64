// SPDX-License-Identifier: Apache-2.0
// Trials of nar_plugin, of the structs of its extensions, and of get_extension.
#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>
#include <thread>

#include "arguments/command_line.hpp"
#include "io/message.hpp"
#include "plugin_check/fake_host.hpp"
#include "plugin_check/trials.hpp"

namespace narratoria::command::plugin_check {
namespace {

constexpr std::uint64_t kMaxExtensions = 256;

bool list_is_whole(const nar_plugin& plugin) {
    return plugin.extension_count <= kMaxExtensions &&
           (plugin.extensions != nullptr || plugin.extension_count == 0);
}

void judge_name(TrialReport& report, nar_str text, const char* what) {
    if (text.data == nullptr || text.size == 0) {
        report.add_finding("P12", fmt::format("its {} is empty", what));
    } else if (!is_plain_utf8(to_view(text))) {
        report.add_finding("P12", fmt::format("its {} is not UTF-8", what));
    }
}

void judge_metadata(TrialReport& report, const nar_plugin& plugin, const PluginMetadata& metadata) {
    const auto differs = [&](std::string_view what, std::string_view there,
                             std::string_view loaded) {
        report.add_finding("P7", fmt::format("the {} is \"{}\" in {}, but \"{}\" when loaded", what,
                                             there, metadata.source, loaded));
    };
    // P12 reports an invalid id.
    if (metadata.id != to_view(plugin.id) && is_plugin_id(to_view(plugin.id))) {
        differs("id", metadata.id, to_view(plugin.id));
    }
    if (metadata.name != to_view(plugin.name)) differs("name", metadata.name, to_view(plugin.name));
    if (metadata.version != to_view(plugin.version)) {
        differs("version", metadata.version, to_view(plugin.version));
    }
    const std::string abi =
        fmt::format("{}.{}", plugin.abi_version >> 16, plugin.abi_version & 0xFFFF);
    if (metadata.abi != abi && plugin.abi_version >> 16 == NAR_ABI_MAJOR) {
        differs("ABI", metadata.abi, abi);
    }
    std::vector<std::string> loaded;
    for (std::uint64_t index = 0; index < plugin.extension_count; ++index) {
        loaded.emplace_back(to_view(plugin.extensions[index]));
    }
    std::vector<std::string> there = metadata.extensions;
    std::sort(there.begin(), there.end());
    std::sort(loaded.begin(), loaded.end());
    if (loaded != there) {
        differs("list of extensions", joined(there), joined(loaded));
    }
    report.add_covered("P7");
}

// Checks the struct itself. The later checks run only if it is complete.
bool judge_plugin(TrialReport& report, const nar_plugin& plugin) {
    report.begin_call({"P11", "P11", "P11"}, "reading its nar_plugin");
    cover(report, {"P11"});
    if (plugin.size < sizeof(nar_plugin) || plugin.size > kMaxStructSize) {
        report.add_finding("P11", fmt::format("size is {}, and nar_plugin has {} bytes in ABI 1.0",
                                              plugin.size, sizeof(nar_plugin)));
        return false;
    }
    if (plugin.init == nullptr || plugin.deinit == nullptr || plugin.get_extension == nullptr) {
        report.add_finding("P11", "init, deinit or get_extension is NULL");
        return false;
    }
    if (!list_is_whole(plugin)) {
        report.add_finding("P11",
                           fmt::format("its list of extensions is NULL, or longer than {}: {}",
                                       kMaxExtensions, plugin.extension_count));
        return false;
    }
    for (std::uint64_t index = 0; index < plugin.extension_count; ++index) {
        if (!is_extension_id(to_view(plugin.extensions[index]))) {
            report.add_finding("P11", fmt::format("number {} of its extensions is not an id of the "
                                                  "form \"narratoria.ui_handler/1\"",
                                                  index + 1));
            return false;
        }
    }
    report.add_covered("P12");
    if (!is_plugin_id(to_view(plugin.id))) {
        report.add_finding("P12",
                           fmt::format("its id is \"{}\"; use at most 128 characters a-z 0-9 . _ "
                                       "-, the first a letter or digit",
                                       to_view(plugin.id)));
    }
    judge_name(report, plugin.name, "name");
    judge_name(report, plugin.version, "version");
    report.end_call();
    return true;
}

// `least`: the size of the struct when its id was introduced.
template <typename Extension>
bool judge_size(TrialReport& report, std::string_view id, const Extension& extension,
                std::size_t least = sizeof(Extension)) {
    if (reinterpret_cast<std::uintptr_t>(&extension) % alignof(Extension) != 0) {
        report.add_finding("P16",
                           fmt::format("{}: the address of its struct is not a multiple of {}", id,
                                       alignof(Extension)));
        return false;
    }
    if (extension.size >= least && extension.size <= kMaxStructSize) return true;
    report.add_finding("P16", fmt::format("{}: size is {}, and the struct has {} bytes", id,
                                          extension.size, least));
    return false;
}

void judge_list(TrialReport& report, std::string_view id, std::string_view what,
                const nar_str* list, std::uint64_t count,
                const std::function<bool(std::string_view)>& is_good) {
    if (count > 0 && list == nullptr) {
        report.add_finding("P16", fmt::format("{}: the list of {} is NULL", id, what));
        return;
    }
    std::set<std::string_view> seen;
    for (std::uint64_t index = 0; index < count; ++index) {
        const std::string_view text = to_view(list[index]);
        if (text.empty() || !is_plain_utf8(text) || !is_good(text)) {
            report.add_finding(
                "P16", fmt::format("{}: \"{}\" is not allowed in the list of {}", id, text, what));
        } else if (!seen.insert(text).second) {
            report.add_finding(
                "P16", fmt::format("{}: \"{}\" is repeated in the list of {}", id, text, what));
        }
    }
}

bool consists_of(std::string_view text, std::string_view more) {
    return std::all_of(text.begin(), text.end(), [&](char one) {
        return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') ||
               (one >= '0' && one <= '9') || more.find(one) != std::string_view::npos;
    });
}

bool is_media_pattern(std::string_view text) {
    const std::size_t slash = text.find('/');
    return text == "*" || (slash != std::string_view::npos && slash > 0 &&
                           slash + 1 < text.size() && consists_of(text, "/*!#$&-^_.+"));
}

void judge_extension(TrialReport& report, std::string_view id, const void* found) {
    const auto require = [&](bool holds, std::string_view what) {
        if (!holds) report.add_finding("P16", fmt::format("{}: {} is NULL", id, what));
    };
    const auto any = [](std::string_view) { return true; };
    if (id == NAR_EXTENSION_EVENT_SINK) {
        const auto& one = *static_cast<const nar_event_sink_extension*>(found);
        if (judge_size(report, id, one)) require(one.event != nullptr, "event");
    } else if (id == NAR_EXTENSION_UI_HANDLER) {
        const auto& one = *static_cast<const nar_ui_handler_extension*>(found);
        if (!judge_size(report, id, one)) return;
        require(one.handle != nullptr, "handle");
        judge_list(report, id, "events", one.events, one.event_count, any);
    } else if (id == NAR_EXTENSION_ASSET_RENDERER) {
        const auto& one = *static_cast<const nar_asset_renderer_extension*>(found);
        if (!judge_size(report, id, one)) return;
        require(one.render != nullptr, "render");
        judge_list(report, id, "media types", one.media_types, one.media_type_count,
                   is_media_pattern);
    } else if (id == NAR_EXTENSION_NARRATOR) {
        const auto& one = *static_cast<const nar_narrator_extension*>(found);
        if (judge_size(report, id, one)) require(one.generate != nullptr, "generate");
    } else if (id == NAR_EXTENSION_TOOL_RUNNER) {
        const auto& one = *static_cast<const nar_tool_runner_extension*>(found);
        if (!judge_size(report, id, one)) return;
        require(one.start != nullptr, "start");
        require(one.cancel != nullptr, "cancel");
        judge_list(report, id, "schemes", one.schemes, one.scheme_count,
                   [](std::string_view text) { return consists_of(text, "+-._"); });
    } else if (id == NAR_EXTENSION_TOOL) {
        const auto& one = *static_cast<const nar_tool_extension*>(found);
        if (!judge_size(report, id, one)) return;
        require(one.invoke != nullptr, "invoke");
        require(one.tools != nullptr || one.tool_count == 0, "tools");
        std::vector<nar_str> names;
        for (std::uint64_t index = 0; one.tools != nullptr && index < one.tool_count; ++index) {
            const nar_tool* tool = one.tools[index];
            if (tool == nullptr ||
                !judge_size(report, "a tool", *tool, offsetof(nar_tool, result_schema))) {
                require(tool != nullptr, "a tool");
                continue;
            }
            names.push_back(tool->name);
            if (!is_plain_utf8(to_view(tool->description))) {
                report.add_finding("P16", fmt::format("{}: the description of {} is not UTF-8", id,
                                                      to_view(tool->name)));
            }
        }
        judge_list(report, id, "tools", names.data(), names.size(),
                   [](std::string_view text) { return consists_of(text, "_-"); });
    }
}

}  // namespace

void try_description(TrialReport& report, const std::string& path, const PluginMetadata& metadata) {
    const Library library = load_library(report, path);
    const nar_plugin* plugin = enter(report, library);
    if (plugin == nullptr || !judge_plugin(report, *plugin)) return;
    if (metadata.faults.empty()) judge_metadata(report, *plugin, metadata);

    // Each listed id must return the same struct, on this thread and on a second one.
    CallTimes times;
    std::vector<std::string> known;
    for (std::uint64_t index = 0; index < plugin->extension_count; ++index) {
        const std::string id(to_view(plugin->extensions[index]));
        known.push_back(id);
        const bool is_of_abi = std::find(std::begin(kKnownExtensions), std::end(kKnownExtensions),
                                         id) != std::end(kKnownExtensions);
        if (!is_of_abi) {
            const std::string near =
                similar_name(id, {std::begin(kKnownExtensions), std::end(kKnownExtensions)});
            report.add_warning(
                "P15", fmt::format("{} is not an extension of ABI {}.{}{}", id, NAR_ABI_MAJOR,
                                   NAR_ABI_MINOR,
                                   near.empty() ? "" : fmt::format("; did you mean {}?", near)));
        }
        const std::string doing = "get_extension for " + id;
        const Blame blame;
        const void* first = query_extension(report, *plugin, to_c(id), blame, doing);
        const void* second = query_extension(report, *plugin, to_c(id), blame, doing);
        const void* elsewhere = nullptr;
        std::thread([&] {
            elsewhere = query_extension(report, *plugin, to_c(id), blame, doing);
        }).join();
        if (report.has_finding("P24")) return;
        if (first == nullptr) {
            report.add_finding(
                "P13", fmt::format("get_extension returns NULL for {}, which it lists", id));
            continue;
        }
        if (first != second || first != elsewhere) {
            report.add_finding(
                "P13",
                fmt::format("get_extension returns a different struct each time for {}", id));
            continue;
        }
        if (!is_of_abi) continue;
        report.begin_call({"P16", "P16", "P16"}, "reading the struct of " + id);
        judge_extension(report, id, first);
        report.end_call();
    }
    cover(report, {"P13", "P15", "P16"});

    const auto must_be_unknown = [&](const std::string& id) {
        if (std::find(known.begin(), known.end(), id) != known.end()) return;
        const void* found = query_extension(report, *plugin, to_c(id), {"P14", "P23", "P25"},
                                            fmt::format("get_extension for \"{}\"", id));
        if (found == nullptr) return;
        report.add_finding("P14", fmt::format("get_extension returns a struct for \"{}\"",
                                              id.size() > 100 ? "a very long id" : id));
    };
    for (const std::string_view id : kKnownExtensions) {
        const std::string whole(id);
        must_be_unknown(whole);
        must_be_unknown(whole.substr(0, whole.size() - 1));
        must_be_unknown(whole.substr(0, whole.size() - 1) + "2");
        must_be_unknown(whole + "0");
        must_be_unknown(whole + ".later");
    }
    for (const char* id :
         {"", "narratoria", "narratoria.later/1", "org.example.unknown/1", "/", "/1"}) {
        must_be_unknown(id);
    }
    must_be_unknown(std::string(100'000, 'x'));
    must_be_unknown("narratoria.event_sink/1\xFF");
    if (query_extension(report, *plugin, nar_str{nullptr, 0}, {"P14", "P23", "P25"},
                        "get_extension for the empty id") != nullptr) {
        report.add_finding("P14", "get_extension returns a struct for the empty id (NULL, 0)");
    }
    report.add_covered("P14");
}

void try_unterminated_ids(TrialReport& report, const std::string& path) {
    const Library library = load_library(report, path);
    const nar_plugin* plugin = enter(report, library);
    if (plugin == nullptr) return;
    for (const std::string_view known : kKnownExtensions) {
        for (const std::size_t size : {known.size(), known.size() - 1}) {
            Loan loan(LentMemory::Guarded);
            const auto* id = static_cast<const char*>(
                loan.bytes(known.data(), size, "the id that get_extension was asked for"));
            static_cast<void>(query_extension(report, *plugin, nar_str{id, size},
                                              {"P30", "P23", "P25"}, "get_extension"));
        }
    }
    cover(report, {"P30"});
}

}  // namespace narratoria::command::plugin_check
