// SPDX-License-Identifier: Apache-2.0
#include "plugin_check/trials.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "io/message.hpp"
#include "json.hpp"
#include "plugin_check/fake_host.hpp"
#include "plugin_check/process_state.hpp"

namespace narratoria::command {
namespace {

constexpr double kLoadBudget = 0.25;
constexpr unsigned kRounds = 100;
constexpr unsigned kWarmUpRounds = 10;
constexpr unsigned kFewestRounds = 20;
constexpr double kMaxRoundSeconds = 4;
// Of rounds in which the extensions are used as well.
constexpr unsigned kUsedRounds = 4;
constexpr unsigned kUsedWarmUpRounds = 2;
constexpr std::size_t kUsedHeapTolerance = 64 * 1024;
constexpr std::size_t kHeapTolerance = 8 * 1024;
constexpr std::size_t kMappingTolerance = 4;
// An allocator maps some at a time, above all a sanitizer's.
constexpr std::uint64_t kAddressTolerance = std::uint64_t{16} << 20;
// An allocator may still grow, above all a sanitizer's; what is lost at each round is far more.
constexpr unsigned kRoundsForAMapping = 4;
constexpr std::uint64_t kMaxExtensions = 256;

// What must be as it was when an instance has ended.
struct Before {
    ProcessState state = ProcessState::now();
    std::map<int, std::string> descriptors = open_descriptors();
    std::map<int, std::string> threads = running_threads();

    void judge_state(TrialReport& report, std::string_view rule, std::string_view when) const {
        const auto gone = lost(descriptors, open_descriptors());
        if (!gone.empty()) {
            report.finding("P45", fmt::format("a descriptor that is not its own is closed or "
                                              "replaced {}: {}",
                                              when, joined(gone)));
        }
        for (const std::string& name : ProcessState::now().changed_since(state)) {
            report.finding(rule, fmt::format("{} changed {}", name, when));
        }
    }

    void judge_rest(TrialReport& report) const {
        const auto threads_left = added_threads(threads);
        if (!threads_left.empty()) {
            report.finding("P20", fmt::format("a thread still runs when deinit has returned: {}",
                                              joined(threads_left)));
        }
        const auto open = added(descriptors, open_descriptors());
        if (!open.empty()) {
            report.finding("P28", fmt::format("a descriptor is still open when deinit has "
                                              "returned: {}",
                                              joined(open)));
        }
        if (has_children()) {
            report.finding("P28", "a child process is left when deinit has returned");
        }
    }
};

void cover(TrialReport& report, std::initializer_list<std::string_view> rules) {
    for (const std::string_view rule : rules) report.covers(rule);
}

}  // namespace

void try_loading(TrialReport& report, const std::string& path) {
    const Before before;
    const Clock::time_point began = Clock::now();
    const Library library = load_library(report, path);
    const double seconds = seconds_since(began);
    if (library.handle == nullptr) return;
    cover(report, {"P1", "P2", "P5"});
    if (seconds > kLoadBudget) {
        report.finding("P5", fmt::format("loading took {:.0f} ms; the limit is {:.0f} ms",
                                         seconds * 1000, kLoadBudget * 1000));
    }
    before.judge_state(report, "P5", "once it is loaded");
    const auto threads = added_threads(before.threads);
    if (!threads.empty()) {
        report.finding("P5", fmt::format("loading started a thread: {}", joined(threads)));
    }
    const auto open = added(before.descriptors, open_descriptors());
    if (!open.empty()) {
        report.finding("P5", fmt::format("loading opened a descriptor: {}", joined(open)));
    }
    if (has_children()) report.finding("P5", "loading started a process");
}

namespace {

struct EntryResult {
    bool came_back = false;
    nar_status status = NAR_FAILED;
    const nar_plugin* plugin = nullptr;
};

EntryResult ask_entry(TrialReport& report, const Library& library, const nar_host_description* host,
                      const std::string& doing, CallTimes& times) {
    EntryResult answer;
    Loan loan(LentMemory::Roomy);
    constexpr std::size_t kRoom = 256;
    nar_failure* const failure = loan.failure(kRoom);
    report.begins({}, doing);
    const Clock::time_point began = Clock::now();
    try {
        answer.status = library.entry(host, &answer.plugin, failure);
        answer.came_back = true;
    } catch (...) {
        report.finding("P24", "the entry threw an exception");
    }
    times.took("entry", seconds_since(began));
    report.ends();
    if (answer.came_back && answer.status != NAR_OK) {
        PluginCheckHost::reason_in(report, *failure, kRoom, "the entry");
        if (report.has_finding("P9")) return answer;
    }
    return answer;
}

}  // namespace

void try_entry(TrialReport& report, const std::string& path) {
    const Library library = load_library(report, path);
    if (library.entry == nullptr) return;
    CallTimes times;
    nar_host_description host{};
    host.size = sizeof host;
    host.abi_version = NAR_ABI_VERSION;
    host.name = NAR_STR("narratoria plugin check");
    host.version = to_c(nar_library_version());
    const EntryResult answer = ask_entry(report, library, &host, "entry", times);
    times.judge(report);
    cover(report, {"P8", "P9"});
    if (!answer.came_back) return;
    if (answer.status != NAR_OK) {
        // Without a reason it is that rule's finding.
        if (!report.has_finding("P9")) {
            report.finding(
                "P8", fmt::format("it refuses a host of ABI {}.{}", NAR_ABI_MAJOR, NAR_ABI_MINOR));
        }
        return;
    }
    if (answer.plugin == nullptr) {
        report.finding("P8", "it returned NAR_OK and left *plugin NULL");
        return;
    }
    report.begins({"P11", "P11", "P11"}, "reading its nar_plugin");
    const std::uint32_t built_with = answer.plugin->abi_version;
    if (built_with >> 16 != NAR_ABI_MAJOR) {
        report.finding("P10", fmt::format("its abi_version is {}.{}; that of the host is {}.{}",
                                          built_with >> 16, built_with & 0xFFFF, NAR_ABI_MAJOR,
                                          NAR_ABI_MINOR));
    }
    report.ends();
}

// A host of another major has another struct: nothing is there but size and abi_version.
void try_other_major(TrialReport& report, const std::string& path) {
    const Library library = load_library(report, path);
    if (library.entry == nullptr) return;
    CallTimes times;
    for (const std::uint32_t major : {NAR_ABI_MAJOR + 1, 0u}) {
        Loan loan(LentMemory::Guarded);
        const std::uint32_t head[2] = {sizeof head, major << 16};
        const auto* host = static_cast<const nar_host_description*>(
            loan.bytes(head, sizeof head, "the nar_host_description"));
        const EntryResult answer =
            ask_entry(report, library, host, "entry with another major", times);
        if (!answer.came_back) continue;
        if (answer.status == NAR_OK) {
            report.finding("P10", fmt::format("it accepts a host of ABI {}.0", major));
        } else if (answer.status != NAR_UNSUPPORTED) {
            report.finding(
                "P10", fmt::format("it refuses a host of ABI {}.0 with {}; return NAR_UNSUPPORTED",
                                   major, nar_status_name(answer.status)));
        }
    }
    cover(report, {"P10"});
}

void try_other_minor(TrialReport& report, const std::string& path, std::uint32_t minor) {
    const Library library = load_library(report, path);
    if (library.entry == nullptr) return;
    CallTimes times;
    nar_host_description host{};
    host.size = sizeof host + 64;  // a Loan is roomy
    host.abi_version = (NAR_ABI_MAJOR << 16) | minor;
    Loan loan(LentMemory::Roomy);
    const EntryResult answer =
        ask_entry(report, library, loan.object(host, "the nar_host_description"),
                  fmt::format("entry with minor {}", minor), times);
    if (answer.came_back && answer.status != NAR_OK) {
        report.finding(
            "P10",
            fmt::format(
                "it refuses a host of ABI {}.{}; accept every minor version of the same major",
                NAR_ABI_MAJOR, minor));
    }
    cover(report, {"P10"});
}

namespace {

bool list_is_whole(const nar_plugin& plugin) {
    return plugin.extension_count <= kMaxExtensions &&
           (plugin.extensions != nullptr || plugin.extension_count == 0);
}

void judge_name(TrialReport& report, nar_str text, const char* what) {
    if (text.data == nullptr || text.size == 0) {
        report.finding("P12", fmt::format("its {} is empty", what));
    } else if (!is_plain_utf8(view(text))) {
        report.finding("P12", fmt::format("its {} is not UTF-8", what));
    }
}

void judge_metadata(TrialReport& report, const nar_plugin& plugin, const PluginMetadata& metadata) {
    const auto differs = [&](std::string_view what, std::string_view there,
                             std::string_view loaded) {
        report.finding("P7", fmt::format("the {} is \"{}\" in {}, but \"{}\" when loaded", what,
                                         there, metadata.source, loaded));
    };
    // An id that is none is another rule's finding.
    if (metadata.id != view(plugin.id) && is_plugin_id(view(plugin.id))) {
        differs("id", metadata.id, view(plugin.id));
    }
    if (metadata.name != view(plugin.name)) differs("name", metadata.name, view(plugin.name));
    if (metadata.version != view(plugin.version)) {
        differs("version", metadata.version, view(plugin.version));
    }
    const std::string abi =
        fmt::format("{}.{}", plugin.abi_version >> 16, plugin.abi_version & 0xFFFF);
    if (metadata.abi != abi && plugin.abi_version >> 16 == NAR_ABI_MAJOR) {
        differs("ABI", metadata.abi, abi);
    }
    std::vector<std::string> loaded;
    for (std::uint64_t index = 0; index < plugin.extension_count; ++index) {
        loaded.emplace_back(view(plugin.extensions[index]));
    }
    std::vector<std::string> there = metadata.extensions;
    std::sort(there.begin(), there.end());
    std::sort(loaded.begin(), loaded.end());
    if (loaded != there) {
        differs("list of extensions", joined(there), joined(loaded));
    }
    report.covers("P7");
}

// The struct itself: everything after it is only looked at when this is whole.
bool judge_plugin(TrialReport& report, const nar_plugin& plugin) {
    report.begins({"P11", "P11", "P11"}, "reading its nar_plugin");
    cover(report, {"P11"});
    if (plugin.size < sizeof(nar_plugin) || plugin.size > kMaxStructSize) {
        report.finding("P11", fmt::format("size is {}, and nar_plugin has {} bytes in ABI 1.0",
                                          plugin.size, sizeof(nar_plugin)));
        return false;
    }
    if (plugin.init == nullptr || plugin.deinit == nullptr || plugin.get_extension == nullptr) {
        report.finding("P11", "init, deinit or get_extension is NULL");
        return false;
    }
    if (!list_is_whole(plugin)) {
        report.finding("P11", fmt::format("the list of extensions is NULL, or longer than {}: {}",
                                          kMaxExtensions, plugin.extension_count));
        return false;
    }
    for (std::uint64_t index = 0; index < plugin.extension_count; ++index) {
        if (!is_extension_id(view(plugin.extensions[index]))) {
            report.finding("P11", fmt::format("number {} of its extensions is not an id of the "
                                              "form \"narratoria.ui_handler/1\"",
                                              index + 1));
            return false;
        }
    }
    report.covers("P12");
    if (!is_plugin_id(view(plugin.id))) {
        report.finding("P12", fmt::format("its id is \"{}\": a-z 0-9 . _ -, at most 128, first a "
                                          "letter or digit",
                                          view(plugin.id)));
    }
    judge_name(report, plugin.name, "name");
    judge_name(report, plugin.version, "version");
    report.ends();
    return true;
}

template <typename Extension>
bool judge_size(TrialReport& report, std::string_view id, const Extension& extension) {
    if (extension.size >= sizeof(Extension) && extension.size <= kMaxStructSize) return true;
    report.finding("P16", fmt::format("{}: size is {}, and the struct has {} bytes", id,
                                      extension.size, sizeof(Extension)));
    return false;
}

void judge_list(TrialReport& report, std::string_view id, std::string_view what,
                const nar_str* list, std::uint64_t count,
                const std::function<bool(std::string_view)>& is_good) {
    if (count > 0 && list == nullptr) {
        report.finding("P16", fmt::format("{}: the list of {} is NULL", id, what));
        return;
    }
    std::set<std::string_view> seen;
    for (std::uint64_t index = 0; index < count; ++index) {
        const std::string_view text = view(list[index]);
        if (text.empty() || !is_plain_utf8(text) || !is_good(text)) {
            report.finding(
                "P16", fmt::format("{}: \"{}\" is not allowed in the list of {}", id, text, what));
        } else if (!seen.insert(text).second) {
            report.finding("P16",
                           fmt::format("{}: \"{}\" is repeated in the list of {}", id, text, what));
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
        if (!holds) report.finding("P16", fmt::format("{}: {} is NULL", id, what));
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
            if (tool == nullptr || !judge_size(report, "a tool", *tool)) {
                require(tool != nullptr, "a tool");
                continue;
            }
            names.push_back(tool->name);
            if (!is_plain_utf8(view(tool->description)) ||
                (tool->input_schema.size > 0 &&
                 json::mistake_in_object(view(tool->input_schema)))) {
                report.finding("P16", fmt::format("{}: the input_schema of {} is not a JSON "
                                                  "object, or its description is not UTF-8",
                                                  id, view(tool->name)));
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

    // Each listed id gives the same struct, here and on another thread.
    CallTimes times;
    std::vector<std::string> known;
    for (std::uint64_t index = 0; index < plugin->extension_count; ++index) {
        const std::string id(view(plugin->extensions[index]));
        known.push_back(id);
        const std::string doing = "get_extension for " + id;
        const Blame blame;
        const void* first = ask_extension(report, *plugin, to_c(id), blame, doing);
        const void* second = ask_extension(report, *plugin, to_c(id), blame, doing);
        const void* elsewhere = nullptr;
        std::thread([&] {
            elsewhere = ask_extension(report, *plugin, to_c(id), blame, doing);
        }).join();
        if (report.has_finding("P24")) return;
        if (first == nullptr) {
            report.finding("P13",
                           fmt::format("get_extension returns NULL for {}, which it lists", id));
            continue;
        }
        if (first != second || first != elsewhere) {
            report.finding(
                "P13",
                fmt::format("get_extension returns a different struct each time for {}", id));
            continue;
        }
        if (std::find(std::begin(kKnownExtensions), std::end(kKnownExtensions), id) ==
            std::end(kKnownExtensions)) {
            report.warning("P15", fmt::format("{} is not an extension of ABI {}.{}", id,
                                              NAR_ABI_MAJOR, NAR_ABI_MINOR));
            continue;
        }
        report.begins({"P16", "P16", "P16"}, "reading the struct of " + id);
        judge_extension(report, id, first);
        report.ends();
    }
    cover(report, {"P13", "P15", "P16"});

    const auto must_be_unknown = [&](const std::string& id) {
        if (std::find(known.begin(), known.end(), id) != known.end()) return;
        const void* found = ask_extension(report, *plugin, to_c(id), {"P14", "P23", "P25"},
                                          fmt::format("get_extension for \"{}\"", id));
        if (found == nullptr) return;
        report.finding("P14", fmt::format("get_extension returns a struct for \"{}\"",
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
    if (ask_extension(report, *plugin, nar_str{nullptr, 0}, {"P14", "P23", "P25"},
                      "get_extension for the empty id") != nullptr) {
        report.finding("P14", "get_extension returns a struct for the empty id (NULL, 0)");
    }
    report.covers("P14");
}

// Init and deinit alone, one instance after the other.
void try_life(TrialReport& report, const std::string& path, const std::string& settings) {
    const Library library = load_library(report, path);
    const nar_plugin* plugin = enter(report, library);
    if (plugin == nullptr) return;
    CallTimes times;
    for (unsigned round = 0; round < 3; ++round) {
        PluginCheckHostOptions options;
        options.settings = settings;
        PluginCheckHost host(report, times, options);
        PluginInstance instance(host, *plugin);
        const Before before;
        if (!instance.start()) {
            // Without a reason it is that rule's finding.
            if (!report.has_finding("P9") && !report.has_finding("P24")) {
                report.finding("P17", fmt::format("init refused: {}", instance.why_not()));
            }
            report.covers("P9");
            before.judge_rest(report);
            return;
        }
        host.run_loop(0.02, [] { return false; });
        before.judge_state(report, "P27", "after init");
        instance.end();
        before.judge_state(report, "P27", "after deinit");
        before.judge_rest(report);
        times.judge(report);
        if (report.has_finding("P19")) break;  // twice more says nothing new
    }
    cover(report, {"P9", "P17", "P18", "P19", "P20", "P27", "P28", "P42", "P43", "P45", "P46"});
}

void try_extension(TrialReport& report, const std::string& path, const std::string& settings,
                   const ExerciseOptions& exercise) {
    const Library library = load_library(report, path);
    const nar_plugin* plugin = enter(report, library);
    // Not listed, or not given: its rules are skipped, not passed.
    if (plugin == nullptr) return;
    report.begins({}, "get_extension for " + exercise.only);
    const bool is_offered = extension_of<void>(*plugin, exercise.only) != nullptr;
    report.ends();
    if (!is_offered) return;
    CallTimes times;
    PluginCheckHostOptions options;
    options.settings = settings;
    PluginCheckHost host(report, times, options);
    PluginInstance instance(host, *plugin);
    const Before before;
    if (!instance.start()) return;
    instance.exercise(exercise);
    host.judge_use();
    before.judge_state(report, "P27", fmt::format("after {} was used", exercise.only));
    instance.end();
    before.judge_state(report, "P27", "after deinit");
    before.judge_rest(report);
    times.judge(report);
    cover(report, {"P19", "P20", "P22", "P23", "P24", "P25", "P26", "P27", "P28", "P34", "P42",
                   "P43", "P44", "P45", "P46"});
    if (exercise.only == NAR_EXTENSION_NARRATOR) {
        cover(report, {"P35", "P36", "P38"});
        const auto* narrator =
            extension_of<nar_narrator_extension>(*plugin, NAR_EXTENSION_NARRATOR);
        if (narrator != nullptr && narrator->cancel != nullptr) {
            cover(report, {"P37"});
        } else {
            report.skips("P37", "its cancel is NULL");
        }
    }
    if (exercise.only == NAR_EXTENSION_TOOL_RUNNER || exercise.only == NAR_EXTENSION_TOOL) {
        cover(report, {"P39", "P40"});
    }
}

// The same with another host or other data; only that it comes back is judged.
void try_again(TrialReport& report, const std::string& path, const PluginCheckHostOptions& options,
               const ExerciseOptions& exercise, std::initializer_list<std::string_view> rules) {
    const Library library = load_library(report, path);
    const nar_plugin* plugin = enter(report, library);
    if (plugin == nullptr) return;
    CallTimes times;
    PluginCheckHost host(report, times, options);
    PluginInstance instance(host, *plugin);
    if (instance.start()) {
        instance.exercise(exercise);
        instance.end();
    }
    cover(report, rules);
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
            static_cast<void>(ask_extension(report, *plugin, nar_str{id, size},
                                            {"P30", "P23", "P25"}, "get_extension"));
        }
    }
    cover(report, {"P30"});
}

void try_odd_settings(TrialReport& report, const std::string& path, std::uint64_t seed) {
    const Library library = load_library(report, path);
    const nar_plugin* plugin = enter(report, library);
    if (plugin == nullptr) return;
    CallTimes times;
    for (unsigned number = 0; number < kOddTexts; ++number) {
        PluginCheckHostOptions options;
        options.settings = odd_text(seed, number);
        options.blame = {"P33", "P33", "P33"};
        options.gives_odd_data = true;
        PluginCheckHost host(report, times, options);
        PluginInstance instance(host, *plugin);
        if (instance.start()) instance.end();
    }
    cover(report, {"P33"});
}

namespace {

// Three instances, of which two are there at a time.
class Interleaving {
public:
    Interleaving(TrialReport& report, const std::string& path, ExerciseOptions exercise)
        : report_(report), exercise_(std::move(exercise)) {
        exercise_.kind = Exercise::Brief;
        library_ = load_library(report, path);
        plugin_ = enter(report, library_);
    }

    void run(const std::string& settings) {
        if (plugin_ == nullptr) return;
        const WritableData data(reinterpret_cast<const void*>(library_.entry));
        One first(report_, times_, *plugin_, "the first instance", settings);
        One second(report_, times_, *plugin_, "the second instance", settings);
        One third(report_, times_, *plugin_, "the third instance", settings);
        if (!begin(first, data) || !begin(second, data)) return;
        if (first.instance.address() != nullptr &&
            first.instance.address() == second.instance.address()) {
            report_.finding("P21",
                            "two instances that exist at the same time have the same address");
        }
        use(first, data);
        use(second, data);
        use(first, data);
        first.instance.end();
        use(second, data);
        if (!begin(third, data)) return;
        second.instance.end();
        const std::string content = data.content();
        use(third, data);
        third.instance.end();
        if (data.content() != content) {
            report_.warning("P21",
                            "variables of the library still change when the third instance is "
                            "used; check that they do not belong to one session");
        }
        cover(report_, {"P21"});
    }

private:
    struct One {
        One(TrialReport& report, CallTimes& times, const nar_plugin& plugin,
            const std::string& name, const std::string& settings)
            : host(report, times, options_for(name, settings)), instance(host, plugin) {}

        static PluginCheckHostOptions options_for(const std::string& name,
                                                  const std::string& settings) {
            PluginCheckHostOptions options;
            options.name = name;
            options.settings = settings;
            options.blame.crash = "P21";
            return options;
        }
        PluginCheckHost host;
        PluginInstance instance;
    };

    bool begin(One& one, const WritableData& data) {
        if (!one.instance.start()) {
            report_.finding("P21",
                            fmt::format("init of {} refused while another instance exists: {}",
                                        one.host.options().name, one.instance.why_not()));
            return false;
        }
        living_.push_back(&one.host);
        look_for_hosts(data);
        return true;
    }

    void use(One& one, const WritableData& data) {
        one.instance.exercise(exercise_);
        look_for_hosts(data);
    }

    // What belongs to one session in a variable that belongs to all.
    void look_for_hosts(const WritableData& data) {
        for (const WritableData::Part& part : data.parts()) {
            for (std::size_t at = 0; at + sizeof(void*) <= part.size; at += sizeof(void*)) {
                const auto* const word =
                    reinterpret_cast<const void*>(WritableData::word_at(part, at));
                const bool is_hosts = word != nullptr &&
                                      std::any_of(living_.begin(), living_.end(),
                                                  [&](const auto* one) { return one->owns(word); });
                if (is_hosts) {
                    report_.finding("P21",
                                    "a global variable points to the host of one instance, or to "
                                    "an extension of it");
                    return;
                }
            }
        }
    }

    TrialReport& report_;
    ExerciseOptions exercise_;
    Library library_;
    const nar_plugin* plugin_ = nullptr;
    CallTimes times_;
    std::vector<PluginCheckHost*> living_;
};

}  // namespace

void try_rounds(TrialReport& report, const std::string& path, const std::string& settings) {
    struct Counts {
        std::map<int, std::string> descriptors;
        std::size_t threads = 0;
        std::size_t mappings = 0;
        std::size_t heap = 0;
        std::uint64_t addresses = 0;
    };
    const auto count = [] {
        Counts now;
        // First the heap, which the rest makes larger.
        now.heap = heap_bytes();
        now.mappings = mapping_count();
        now.addresses = address_space();
        now.threads = running_threads().size();
        now.descriptors = open_descriptors();
        return now;
    };
    // A host loads a library once and never unloads it: what the entry allocates once may stay.
    const Library library = load_library(report, path);
    const nar_plugin* plugin = enter(report, library);
    if (plugin == nullptr) return;
    CallTimes times;
    Counts before;
    const Clock::time_point began = Clock::now();
    unsigned rounds = 0;
    for (unsigned round = 0; round < kRounds; ++round) {
        // Whose init is slow gets fewer of them.
        if (round >= kFewestRounds && seconds_since(began) > kMaxRoundSeconds) break;
        if (round >= kWarmUpRounds) ++rounds;
        if (round == kWarmUpRounds) {
            before = count();
            // What the first counting itself needed is not the plugin's.
            before = count();
        }
        PluginCheckHostOptions options;
        options.settings = settings;
        PluginCheckHost host(report, times, options);
        PluginInstance instance(host, *plugin);
        if (!instance.start()) return;
        instance.end();
    }
    const Counts after = count();
    const auto open = added(before.descriptors, after.descriptors);
    if (!open.empty()) {
        report.finding(
            "P28", fmt::format("descriptors stay open after {} rounds: {}", rounds, joined(open)));
    }
    if (after.threads > before.threads) {
        report.finding("P20", fmt::format("{} more threads after {} rounds",
                                          after.threads - before.threads, rounds));
        return;  // their stacks are mappings
    }
    if (after.mappings >
        before.mappings + std::max<std::size_t>(kMappingTolerance, rounds / kRoundsForAMapping)) {
        report.finding("P29", fmt::format("{} more mappings after {} rounds of init and deinit",
                                          after.mappings - before.mappings, rounds));
    }
    if (after.addresses > before.addresses + kAddressTolerance) {
        report.finding("P29",
                       fmt::format("{} more bytes are mapped after {} rounds of init and deinit",
                                   after.addresses - before.addresses, rounds));
    }
    if (after.heap > before.heap + kHeapTolerance) {
        report.finding("P29",
                       fmt::format("{} more bytes are allocated after {} rounds of init and deinit",
                                   after.heap - before.heap, rounds));
    }
    cover(report, {"P29"});
}

void try_used_rounds(TrialReport& report, const std::string& path, const std::string& settings,
                     const ExerciseOptions& exercise) {
    const Library library = load_library(report, path);
    const nar_plugin* plugin = enter(report, library);
    if (plugin == nullptr) return;
    CallTimes times;
    std::size_t before = 0;
    for (unsigned round = 0; round < kUsedWarmUpRounds + kUsedRounds; ++round) {
        if (round == kUsedWarmUpRounds) before = heap_bytes();
        PluginCheckHostOptions options;
        options.settings = settings;
        PluginCheckHost host(report, times, options);
        PluginInstance instance(host, *plugin);
        if (!instance.start()) return;
        instance.exercise(exercise);
        instance.end();
    }
    const std::size_t after = heap_bytes();
    if (after > before + kUsedHeapTolerance) {
        report.finding("P29", fmt::format("{} more bytes are allocated after {} instances were "
                                          "used and ended",
                                          after - before, kUsedRounds));
    }
    cover(report, {"P29"});
}

void try_exit(TrialReport& report, const std::string& path, const std::string& settings) {
    const Library library = load_library(report, path);
    const nar_plugin* plugin = enter(report, library);
    if (plugin == nullptr) return;
    CallTimes times;
    {
        PluginCheckHostOptions options;
        options.settings = settings;
        PluginCheckHost host(report, times, options);
        PluginInstance instance(host, *plugin);
        if (!instance.start()) return;
        host.run_loop(0.001, [] { return false; });
        instance.end();
    }
    cover(report, {"P47"});
    report.begins({"P47", "P47", "P47"}, "the end of the process");
    report.finish_as_a_host();
}

void try_interleaving(TrialReport& report, const std::string& path, const std::string& settings,
                      const ExerciseOptions& exercise) {
    Interleaving(report, path, exercise).run(settings);
}

std::string joined(const std::vector<std::string>& names) {
    constexpr std::size_t kMax = 8;
    std::string all;
    for (std::size_t index = 0; index < names.size() && index < kMax; ++index) {
        all += (index > 0 ? ", " : "") + names[index];
    }
    if (names.size() > kMax) all += fmt::format(", and {} more", names.size() - kMax);
    return all;
}

}  // namespace narratoria::command
