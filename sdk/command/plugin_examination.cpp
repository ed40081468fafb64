// SPDX-License-Identifier: Apache-2.0
#include "plugin_examination.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "json.hpp"
#include "message.hpp"
#include "plugin_exercise.hpp"
#include "process_state.hpp"

namespace narratoria::command {
namespace {

constexpr double kLoadBudget = 0.25;
constexpr double kMetadataBudget = 250;  // milliseconds
constexpr unsigned kRounds = 100;
constexpr unsigned kWarmUpRounds = 10;
constexpr unsigned kFewestRounds = 20;
constexpr double kMostRoundSeconds = 4;
constexpr std::size_t kHeapTolerance = 8 * 1024;
constexpr std::size_t kMappingTolerance = 4;
constexpr std::uint64_t kMostExtensions = 256;

constexpr PluginRule kRules[] = {
    {"P1", "loads alone, every symbol found",
     "link what it uses (-Wl,-z,defs says what is missing)"},
    {"P2", "exports nar_plugin_entry and nothing else",
     "compile with -fvisibility=hidden, link with -Wl,--exclude-libs,ALL, mark the entry "
     "NAR_PLUGIN_EXPORT"},
    {"P3", "links nothing of Narratoria", "ask the host by get_extension instead of linking it"},
    {"P4", "no text relocations, no executable stack",
     "compile with -fPIC, link with -Wl,-z,noexecstack"},
    {"P5", "is loaded in a moment, and loading does nothing",
     "move it from the constructor to init"},
    {"P6", "can be known without loading it",
     "write NAR_PLUGIN_NOTE(…) once at file scope, as narratoria/plugin.h shows"},
    {"P7", "says there what it says when it is loaded", "make note and nar_plugin say the same"},
    {"P8", "answers the entry with a plugin, or refuses", "set *plugin and answer NAR_OK"},
    {"P9", "refuses nothing without a reason", "write a sentence to failure->message"},
    {"P10", "negotiates the version",
     "compare abi_version >> 16 with NAR_ABI_MAJOR before anything else"},
    {"P11", "describes itself in a whole nar_plugin",
     "begin it with sizeof(nar_plugin) and fill all of it"},
    {"P12", "has an id, a name and a version", "for example org.example.rain"},
    {"P13", "gives a struct for each id it lists", "answer the same static struct at each call"},
    {"P14", "answers NULL for every other id", "compare the whole id, with its size"},
    {"P15", "lists ids that this contract knows", "look the id up in the header; mind the version"},
    {"P16", "fills each extension's struct",
     "begin it with its sizeof; narratoria/*.h says what may be NULL"},
    {"P17", "makes an instance, also without settings", "have a default for each setting"},
    {"P18", "calls in init and deinit only what works there",
     "post it in init (narratoria.post/1): it runs when the instance is active"},
    {"P19", "comes back from deinit in time",
     "interrupt what its threads wait for, then join them"},
    {"P20", "joins its threads in deinit", "keep each thread in the instance, and join it"},
    {"P21", "keeps what a session needs in its instance", "move globals into what init makes"},
    {"P22", "calls engine-thread functions there only", "use narratoria.post/1 from other threads"},
    {"P23", "returns soon from every call",
     "do it on a thread of its own, or in pieces from a timer"},
    {"P24", "lets no exception out", "catch (...) in each function that the host calls"},
    {"P25", "does not end the process", "answer NAR_FAILED, or log an error"},
    {"P26", "does not crash", "run the check in a debugger, or the plugin with a sanitizer"},
    {"P27", "leaves the process as it finds it",
     "use what works without it (MSG_NOSIGNAL, openat, uselocale)"},
    {"P28", "leaves nothing behind", "close and wait for it in deinit"},
    {"P29", "loses no memory", "free in deinit what init made; in a destructor what loading made"},
    {"P30", "touches nothing beyond size", "compare size first; a nar_str has no terminator"},
    {"P31", "goes on without an extension of the host",
     "compare what get_extension answers with NULL"},
    {"P32", "takes what is from the future", "skip what it does not know"},
    {"P33", "survives odd data", "check each value's type before it is used"},
    {"P34", "calls the host with valid arguments", "the function's comment says what it takes"},
    {"P35", "answers every request", "call reply or fail on every way out"},
    {"P36", "answers once", "forget the token with the answer"},
    {"P37", "gives no answer after cancel", "forget the token in cancel"},
    {"P38", "answers with Plan JSON without faults", "narratoria validate plan says the same"},
    {"P39", "says ended exactly once, last, also after cancel",
     "call ended on every way out, and forget the token"},
    {"P40", "writes events that end with done", "narratoria validate event says the same"},
    {"P41", "keeps no view longer than the call", "copy what is needed later"},
};

const PluginRule* rule_named(std::string_view id) {
    const auto found = std::find_if(std::begin(kRules), std::end(kRules),
                                    [&](const PluginRule& rule) { return rule.id == id; });
    return found != std::end(kRules) ? found : nullptr;
}

constexpr std::string_view kExtensions[] = {NAR_EXTENSION_EVENT_SINK,     NAR_EXTENSION_UI_HANDLER,
                                            NAR_EXTENSION_ASSET_RENDERER, NAR_EXTENSION_NARRATOR,
                                            NAR_EXTENSION_TOOL_RUNNER,    NAR_EXTENSION_TOOL};

// A folder for the files of the trials, gone with it.
class TestFolder {
public:
    TestFolder() {
        std::error_code none;
        const auto base = std::filesystem::temp_directory_path(none);
        path_ = (none ? std::string("/tmp") : base.string()) + "/narratoria-check-XXXXXX";
        if (mkdtemp(path_.data()) == nullptr) {
            throw Failed(fmt::format("no folder for the test's files at {}: {}; set TMPDIR", path_,
                                     reason(errno)));
        }
    }
    TestFolder(TestFolder&&) = delete;
    ~TestFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

std::string joined(const std::vector<std::string>& names) {
    constexpr std::size_t kMost = 8;
    std::string all;
    for (std::size_t index = 0; index < names.size() && index < kMost; ++index) {
        all += (index > 0 ? ", " : "") + names[index];
    }
    if (names.size() > kMost) all += fmt::format(", and {} more", names.size() - kMost);
    return all;
}

// ---------------------------------------------------------------- trials, in their own process

// What must be as it was when an instance has ended.
struct Before {
    ProcessState state = ProcessState::now();
    std::map<int, std::string> descriptors = open_descriptors();
    std::map<int, std::string> threads = running_threads();

    void judge_state(TrialReport& report, std::string_view rule, std::string_view when) const {
        for (const std::string& name : ProcessState::now().changed_since(state)) {
            report.finding(rule, fmt::format("{} is another {}", name, when));
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

void try_loading(TrialReport& report, const std::string& path) {
    const Before before;
    const Clock::time_point began = Clock::now();
    const Library library = load_library(report, path);
    const double seconds = seconds_since(began);
    if (library.handle == nullptr) return;
    cover(report, {"P1", "P2", "P5"});
    if (seconds > kLoadBudget) {
        report.finding("P5", fmt::format("loading took {:.0f} ms; {:.0f} ms is the most",
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

struct Answer {
    bool came_back = false;
    nar_status status = NAR_FAILED;
    const nar_plugin* plugin = nullptr;
};

Answer ask_entry(TrialReport& report, const Library& library, const nar_host_description* host,
                 const std::string& doing, CallTimes& times) {
    Answer answer;
    Loan loan(LentMemory::kRoomy);
    constexpr std::size_t kRoom = 256;
    nar_failure empty{};
    empty.size = offsetof(nar_failure, message) + kRoom;
    auto* failure = static_cast<nar_failure*>(loan.bytes(&empty, empty.size, "the nar_failure"));
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

void try_entry(TrialReport& report, const std::string& path) {
    const Library library = load_library(report, path);
    if (library.entry == nullptr) return;
    CallTimes times;
    nar_host_description host{};
    host.size = sizeof host;
    host.abi_version = NAR_ABI_VERSION;
    host.name = NAR_STR("narratoria plugin check");
    host.version = to_c(nar_library_version());
    const Answer answer = ask_entry(report, library, &host, "entry", times);
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
        report.finding("P8", "it answered NAR_OK and left *plugin NULL");
        return;
    }
    report.begins({"P11", "P11", "P11"}, "reading its nar_plugin");
    const std::uint32_t built_with = answer.plugin->abi_version;
    if (built_with >> 16 != NAR_ABI_MAJOR) {
        report.finding("P10", fmt::format("its abi_version is {}.{}, and this contract's is {}.{}",
                                          built_with >> 16, built_with & 0xFFFF, NAR_ABI_MAJOR,
                                          NAR_ABI_MINOR));
    }
    report.ends();
}

// A host of another major has another struct: nothing is there but size and abi_version.
void try_other_major(TrialReport& report, const std::string& path) {
    const Library library = load_library(report, path);
    if (library.entry == nullptr) return;
    watch_lent_memory();
    CallTimes times;
    for (const std::uint32_t major : {NAR_ABI_MAJOR + 1, 0u}) {
        Loan loan(LentMemory::kGuarded);
        const std::uint32_t head[2] = {sizeof head, major << 16};
        const auto* host = static_cast<const nar_host_description*>(
            loan.bytes(head, sizeof head, "the nar_host_description"));
        const Answer answer = ask_entry(report, library, host, "entry with another major", times);
        if (!answer.came_back) continue;
        if (answer.status == NAR_OK) {
            report.finding("P10", fmt::format("it takes a host of ABI {}.0", major));
        } else if (answer.status != NAR_UNSUPPORTED) {
            report.finding("P10", fmt::format("it refuses a host of ABI {}.0 with {}; "
                                              "NAR_UNSUPPORTED is the answer",
                                              major, nar_status_name(answer.status)));
        }
    }
    cover(report, {"P10"});
}

void try_later_minor(TrialReport& report, const std::string& path, std::uint32_t minor) {
    const Library library = load_library(report, path);
    if (library.entry == nullptr) return;
    CallTimes times;
    nar_host_description host{};
    host.size = sizeof host + 64;  // a Loan is roomy
    host.abi_version = (NAR_ABI_MAJOR << 16) | minor;
    Loan loan(LentMemory::kRoomy);
    const Answer answer = ask_entry(report, library, loan.object(host, "the nar_host_description"),
                                    fmt::format("entry with minor {}", minor), times);
    if (answer.came_back && answer.status != NAR_OK) {
        report.finding("P10",
                       fmt::format("it refuses a host of ABI {}.{}; every minor of the same major "
                                   "is taken",
                                   NAR_ABI_MAJOR, minor));
    }
    cover(report, {"P10"});
}

bool list_is_whole(const nar_plugin& plugin) {
    return plugin.extension_count <= kMostExtensions &&
           (plugin.extensions != nullptr || plugin.extension_count == 0);
}

void judge_name(TrialReport& report, nar_str text, const char* what) {
    if (text.data == nullptr || text.size == 0) {
        report.finding("P12", fmt::format("its {} is empty", what));
    } else if (!is_plain_utf8(view(text))) {
        report.finding("P12", fmt::format("its {} is no UTF-8", what));
    }
}

void judge_metadata(TrialReport& report, const nar_plugin& plugin, const PluginMetadata& metadata) {
    const auto differs = [&](std::string_view what, std::string_view there,
                             std::string_view loaded) {
        report.finding("P7", fmt::format("the {} is \"{}\" in {}, and \"{}\" when it is loaded",
                                         what, there, metadata.source, loaded));
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
    if (loaded != metadata.extensions) {
        differs("list of extensions", joined(metadata.extensions), joined(loaded));
    }
    report.covers("P7");
}

// The struct itself: everything after it is only looked at when this is whole.
bool judge_plugin(TrialReport& report, const nar_plugin& plugin) {
    report.begins({"P11", "P11", "P11"}, "reading its nar_plugin");
    cover(report, {"P11"});
    if (plugin.size < sizeof(nar_plugin)) {
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
                                          kMostExtensions, plugin.extension_count));
        return false;
    }
    for (std::uint64_t index = 0; index < plugin.extension_count; ++index) {
        if (!is_extension_id(view(plugin.extensions[index]))) {
            report.finding("P11", fmt::format("number {} of its extensions is no id of the form "
                                              "\"narratoria.ui_handler/1\"",
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
    if (extension.size >= sizeof(Extension)) return true;
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
                           fmt::format("{}: \"{}\" is twice in the list of {}", id, text, what));
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
                report.finding("P16",
                               fmt::format("{}: the input_schema of {} is no JSON object, or "
                                           "its description no UTF-8",
                                           id, view(tool->name)));
            }
        }
        judge_list(report, id, "tools", names.data(), names.size(),
                   [](std::string_view text) { return consists_of(text, "_-"); });
    }
}

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
        report.begins({"P13", "P23", "P25"}, "get_extension for " + id);
        const void* first = plugin->get_extension(to_c(id));
        const void* second = plugin->get_extension(to_c(id));
        const void* elsewhere = nullptr;
        std::thread([&] { elsewhere = plugin->get_extension(to_c(id)); }).join();
        report.ends();
        if (first == nullptr) {
            report.finding("P13",
                           fmt::format("get_extension answers NULL for {}, which it lists", id));
            continue;
        }
        if (first != second || first != elsewhere) {
            report.finding("P13", fmt::format("get_extension answers something else each time for "
                                              "{}",
                                              id));
            continue;
        }
        if (std::find(std::begin(kExtensions), std::end(kExtensions), id) ==
            std::end(kExtensions)) {
            report.warning("P15", fmt::format("{} is no extension of ABI {}.{}", id, NAR_ABI_MAJOR,
                                              NAR_ABI_MINOR));
            continue;
        }
        report.begins({"P16", "P16", "P16"}, "reading the struct of " + id);
        judge_extension(report, id, first);
        report.ends();
    }
    cover(report, {"P13", "P15", "P16"});

    const auto must_be_unknown = [&](const std::string& id) {
        if (std::find(known.begin(), known.end(), id) != known.end()) return;
        report.begins({"P14", "P23", "P25"}, fmt::format("get_extension for \"{}\"", id));
        const void* found = plugin->get_extension(to_c(id));
        report.ends();
        if (found == nullptr) return;
        report.finding("P14", fmt::format("get_extension answers something for \"{}\"",
                                          id.size() > 100 ? "a very long id" : id));
    };
    for (const std::string_view id : kExtensions) {
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
    report.begins({"P14", "P23", "P25"}, "get_extension for the empty id");
    if (plugin->get_extension(nar_str{nullptr, 0}) != nullptr) {
        report.finding("P14", "get_extension answers something for the empty id (NULL, 0)");
    }
    report.ends();
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
    }
    times.judge(report);
    cover(report, {"P9", "P17", "P18", "P19", "P20", "P27", "P28"});
}

void try_extension(TrialReport& report, const std::string& path, const std::string& settings,
                   const ExerciseOptions& exercise) {
    const Library library = load_library(report, path);
    const nar_plugin* plugin = enter(report, library);
    if (plugin == nullptr) return;
    CallTimes times;
    PluginCheckHostOptions options;
    options.settings = settings;
    PluginCheckHost host(report, times, options);
    PluginInstance instance(host, *plugin);
    const Before before;
    if (!instance.start()) return;
    instance.exercise(exercise);
    before.judge_state(report, "P27", fmt::format("after {} was used", exercise.only));
    instance.end();
    before.judge_state(report, "P27", "after deinit");
    before.judge_rest(report);
    times.judge(report);
    cover(report, {"P19", "P20", "P22", "P23", "P24", "P25", "P26", "P27", "P28", "P34"});
    if (exercise.only == NAR_EXTENSION_NARRATOR) {
        cover(report, {"P35", "P36", "P38"});
        if (extension_of<nar_narrator_extension>(*plugin, NAR_EXTENSION_NARRATOR)->cancel !=
            nullptr) {
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
void try_again(TrialReport& report, const std::string& path, PluginCheckHostOptions options,
               const ExerciseOptions& exercise, std::initializer_list<std::string_view> rules) {
    if (options.memory == LentMemory::kGuarded) watch_lent_memory();
    const Library library = load_library(report, path);
    const nar_plugin* plugin = enter(report, library);
    if (plugin == nullptr) return;
    CallTimes times;
    PluginCheckHost host(report, times, std::move(options));
    PluginInstance instance(host, *plugin);
    if (instance.start()) {
        instance.exercise(exercise);
        instance.end();
    }
    cover(report, rules);
}

void try_unterminated_ids(TrialReport& report, const std::string& path) {
    watch_lent_memory();
    const Library library = load_library(report, path);
    const nar_plugin* plugin = enter(report, library);
    if (plugin == nullptr) return;
    for (const std::string_view known : kExtensions) {
        for (const std::size_t size : {known.size(), known.size() - 1}) {
            Loan loan(LentMemory::kGuarded);
            const auto* id = static_cast<const char*>(
                loan.bytes(known.data(), size, "the id that get_extension was asked for"));
            report.begins({"P30", "P23", "P25"}, "get_extension");
            static_cast<void>(plugin->get_extension(nar_str{id, size}));
            report.ends();
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
        PluginCheckHost host(report, times, options);
        PluginInstance instance(host, *plugin);
        if (instance.start()) instance.end();
    }
    cover(report, {"P33"});
}

// Three instances, of which two are there at a time.
class Interleaving {
public:
    Interleaving(TrialReport& report, const std::string& path, ExerciseOptions exercise)
        : report_(report), exercise_(std::move(exercise)) {
        exercise_.kind = Exercise::kBrief;
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
            report_.finding("P21", "two instances that live at the same time have one address");
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
                            "used; what are they for, and who else uses them?");
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
            report_.finding("P21", fmt::format("init of {} refused while another one lives: {}",
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
                const void* word = nullptr;
                std::memcpy(&word, part.begin + at, sizeof word);
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

void try_rounds(TrialReport& report, const std::string& path, const std::string& settings) {
    struct Counts {
        std::map<int, std::string> descriptors;
        std::size_t threads = 0;
        std::size_t mappings = 0;
        std::size_t heap = 0;
    };
    const auto count = [] {
        Counts now;
        // First the heap, which the rest makes larger.
        now.heap = heap_bytes();
        now.mappings = mapping_count();
        now.threads = running_threads().size();
        now.descriptors = open_descriptors();
        return now;
    };
    CallTimes times;
    Counts before;
    const nar_plugin* plugin = nullptr;
    bool stays = false;
    const Clock::time_point began = Clock::now();
    unsigned rounds = 0;
    for (unsigned round = 0; round < kRounds; ++round) {
        // Who takes long to load (P5) gets fewer of them.
        if (round >= kFewestRounds && seconds_since(began) > kMostRoundSeconds) break;
        if (round >= kWarmUpRounds) ++rounds;
        if (round == kWarmUpRounds) {
            before = count();
            // What the first counting itself needed is not the plugin's.
            before = count();
        }
        Library library = load_library(report, path);
        // A library that stays is the same each time, and its entry is called once.
        if (!stays || plugin == nullptr) plugin = enter(report, library);
        if (plugin == nullptr) return;
        {
            PluginCheckHostOptions options;
            options.settings = settings;
            PluginCheckHost host(report, times, options);
            PluginInstance instance(host, *plugin);
            if (!instance.start()) return;
            instance.end();
        }
        report.begins({"P29", "P29", "P29"}, "unloading");
        dlclose(library.handle);
        void* still = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
        stays = still != nullptr;
        if (stays) dlclose(still);
        report.ends();
    }
    const Counts after = count();
    const auto open = added(before.descriptors, after.descriptors);
    if (!open.empty()) {
        report.finding(
            "P28", fmt::format("descriptors stay open after {} rounds: {}", rounds, joined(open)));
    }
    if (after.threads > before.threads) {
        report.finding("P20", fmt::format("{} threads more after {} rounds",
                                          after.threads - before.threads, rounds));
        return;  // their stacks are mappings
    }
    if (after.mappings > before.mappings + kMappingTolerance) {
        report.finding("P29", fmt::format("{} mappings more after {} rounds of loading, init, "
                                          "deinit and unloading",
                                          after.mappings - before.mappings, rounds));
    }
    if (after.heap > before.heap + kHeapTolerance) {
        report.finding("P29", fmt::format("{} bytes more are allocated after {} rounds of loading, "
                                          "init, deinit and unloading",
                                          after.heap - before.heap, rounds));
    }
    cover(report, {"P29"});
}

// ---------------------------------------------------------------- the examination

class Examination {
public:
    Examination(const PluginFile& file, const PluginExaminationOptions& options)
        : file_(file), options_(options) {
        exercise_.limit = options.time_limit;
        exercise_.folder = folder_.path();
        exercise_.seed = options.seed;
        for (const PluginRule& rule : kRules) result_.judgements.push_back({&rule, {}, {}, {}});
    }

    PluginExamination run() {
        look_at_file();
        look_at_entry();
        look_at_life();
        look_at_extensions();
        look_at_the_rest();
        for (PluginJudgement& one : result_.judgements) settle(one);
        return std::move(result_);
    }

private:
    using Trial = std::function<void(TrialReport&)>;

    PluginJudgement& judgement(std::string_view rule) {
        const PluginRule* known = rule_named(rule);
        return result_.judgements[static_cast<std::size_t>(known - kRules)];
    }

    void found(std::string_view rule, const std::string& message,
               PluginVerdict verdict = PluginVerdict::kFailed) {
        if (rule_named(rule) == nullptr) return;  // a plugin wrote into our pipe
        PluginJudgement& one = judgement(rule);
        one.verdict = one.findings.empty() ? verdict : std::max(one.verdict, verdict);
        if (std::find(one.findings.begin(), one.findings.end(), message) == one.findings.end()) {
            one.findings.push_back(message);
        }
    }

    void covers(std::string_view rule) {
        if (rule_named(rule) != nullptr) covered_.insert(std::string(rule));
    }

    // False: the plugin did not come back.
    bool trial(const Trial& what) {
        const TrialOutcome outcome = run_trial(options_.time_limit, what);
        return take(outcome);
    }

    bool take(const TrialOutcome& outcome) {
        for (const TrialFinding& one : outcome.findings) {
            found(one.rule, one.message,
                  one.is_warning ? PluginVerdict::kWarning : PluginVerdict::kFailed);
        }
        for (const std::string& rule : outcome.covered) covers(rule);
        for (const auto& [rule, why] : outcome.skipped) {
            if (rule_named(rule) != nullptr) judgement(rule).why = why;
        }
        if (outcome.end == TrialOutcome::End::kFinished) return true;
        PluginVerdict verdict = PluginVerdict::kFailed;
        if (outcome.end == TrialOutcome::End::kCrashed) verdict = PluginVerdict::kCrashed;
        if (outcome.end == TrialOutcome::End::kHung) verdict = PluginVerdict::kHung;
        found(outcome.blamed, outcome.story, verdict);
        if (result_.output.empty()) result_.output = outcome.output;
        return false;
    }

    // Nothing after this can be looked at.
    void stop(const std::string& why) {
        if (stopped_.empty()) stopped_ = why;
    }

    bool is_broken(std::string_view rule) {
        return judgement(rule).verdict >= PluginVerdict::kFailed;
    }

    void look_at_file();
    void look_at_entry();
    void look_at_life();
    void look_at_extensions();
    void look_at_the_rest();
    void settle(PluginJudgement& one);

    const PluginFile& file_;
    const PluginExaminationOptions& options_;
    const TestFolder folder_;
    ExerciseOptions exercise_;
    PluginExamination result_;
    std::set<std::string> covered_;
    std::string stopped_;
    bool may_use_all_ = true;
};

void Examination::look_at_file() {
    std::vector<std::string> surplus = file_.exported;
    const auto entry = std::find(surplus.begin(), surplus.end(), NAR_PLUGIN_ENTRY);
    const bool has_entry = entry != surplus.end();
    if (has_entry) surplus.erase(entry);
    if (!surplus.empty()) found("P2", fmt::format("it exports more: {}", joined(surplus)));
    for (const std::string& library : file_.libraries) {
        if (library.starts_with("libnarratoria")) found("P3", fmt::format("it links {}", library));
    }
    covers("P3");
    if (file_.has_text_relocations) found("P4", "it has text relocations");
    if (file_.has_executable_stack) found("P4", "it asks for an executable stack");
    covers("P4");
    for (const std::string& fault : file_.metadata.faults) found("P6", fault);
    if (file_.metadata.milliseconds > kMetadataBudget) {
        found("P6", fmt::format("finding it took {:.0f} ms; strip the library",
                                file_.metadata.milliseconds));
    }
    covers("P6");
    judgement("P6").why =
        fmt::format("in {}, read in {:.1f} ms", file_.metadata.source, file_.metadata.milliseconds);
    if (!file_.metadata.faults.empty()) judgement("P7").why = "there is nothing to compare with";
    if (!has_entry) {
        found("P2", "it does not export " NAR_PLUGIN_ENTRY
                    "; mark the function NAR_PLUGIN_EXPORT, in C++ also extern \"C\"");
        stop("there is no entry to call");
    }
}

void Examination::look_at_entry() {
    if (!stopped_.empty()) return;
    // The machine has others to serve: the quickest of three counts.
    TrialOutcome loading;
    for (unsigned turn = 0; turn < 3; ++turn) {
        loading = run_trial(options_.time_limit,
                            [&](TrialReport& report) { try_loading(report, file_.path); });
        const bool was_slow = std::any_of(loading.findings.begin(), loading.findings.end(),
                                          [](const TrialFinding& one) { return one.rule == "P5"; });
        if (!was_slow) break;
    }
    if (!take(loading) || is_broken("P1")) return stop("it cannot be loaded");
    if (!trial([&](TrialReport& report) { try_entry(report, file_.path); }) || is_broken("P8") ||
        is_broken("P9") || is_broken("P10")) {
        return stop("its entry answers with no plugin for this host");
    }
    trial([&](TrialReport& report) { try_other_major(report, file_.path); });
    trial([&](TrialReport& report) { try_later_minor(report, file_.path, 0xFFFF); });
    trial([&](TrialReport& report) { try_later_minor(report, file_.path, 0); });
    if (!trial([&](TrialReport& report) { try_description(report, file_.path, file_.metadata); }) ||
        is_broken("P11") || is_broken("P16") || is_broken("P13")) {
        stop("its description cannot be used");
    }
}

void Examination::look_at_life() {
    if (!stopped_.empty()) return;
    const bool came_back =
        trial([&](TrialReport& report) { try_life(report, file_.path, options_.settings); });
    if (!came_back) return stop("init and deinit do not come back");
    if (is_broken("P17") || is_broken("P9")) stop("there is no instance: init refused");
    if (is_broken("P24")) stop("init threw an exception");
}

void Examination::look_at_extensions() {
    if (!stopped_.empty()) return;
    bool has_any = false;
    for (const std::string_view id : kExtensions) {
        const bool is_listed =
            file_.metadata.faults.empty() && !is_broken("P7")
                ? std::find(file_.metadata.extensions.begin(), file_.metadata.extensions.end(),
                            id) != file_.metadata.extensions.end()
                : true;
        if (!is_listed) continue;
        ExerciseOptions one = exercise_;
        one.only = id;
        has_any = true;
        may_use_all_ &= trial([&](TrialReport& report) {
            try_extension(report, file_.path, options_.settings, one);
        });
    }
    if (!has_any) {
        for (const std::string_view rule : {"P22", "P23", "P24", "P25", "P26", "P34"}) {
            judgement(rule).why = "it has no extension that could be used";
        }
    }
}

void Examination::look_at_the_rest() {
    if (!stopped_.empty()) return;
    if (!may_use_all_) return stop("its extensions do not come back from ordinary use");
    if (is_broken("P23")) return stop("its calls take so long (P23) that this would not end");
    const auto run_again = [&](const Blame& blame, Exercise kind,
                               std::initializer_list<std::string_view> rules,
                               const std::function<void(PluginCheckHostOptions&)>& change = {}) {
        PluginCheckHostOptions host;
        host.settings = options_.settings;
        host.blame = blame;
        if (change) change(host);
        ExerciseOptions exercise = exercise_;
        exercise.kind = kind;
        return trial(
            [&](TrialReport& report) { try_again(report, file_.path, host, exercise, rules); });
    };
    run_again({"P32", "P32", "P32"}, Exercise::kFuture, {"P32"});
    run_again({"P33", "P33", "P33"}, Exercise::kOdd, {"P33"});
    trial([&](TrialReport& report) { try_odd_settings(report, file_.path, options_.seed); });
    trial([&](TrialReport& report) { try_unterminated_ids(report, file_.path); });
    run_again({"P30", "P23", "P25"}, Exercise::kBrief, {"P30", "P41"},
              [](PluginCheckHostOptions& host) { host.memory = LentMemory::kGuarded; });
    if (run_again({"P31", "P31", "P31"}, Exercise::kBrief, {"P31"},
                  [](PluginCheckHostOptions& host) { host.lacks_extensions = true; }) &&
        !is_broken("P30") && !is_broken("P41")) {
        // No host of this major gives less than 1.0 has; who survives it looks at size as it should.
        PluginCheckHostOptions host;
        host.settings = options_.settings;
        host.is_cut_short = true;
        host.memory = LentMemory::kGuarded;
        ExerciseOptions exercise = exercise_;
        exercise.kind = Exercise::kBrief;
        const TrialOutcome outcome = run_trial(options_.time_limit, [&](TrialReport& report) {
            try_again(report, file_.path, host, exercise, {});
        });
        if (outcome.end != TrialOutcome::End::kFinished) {
            found("P30",
                  fmt::format("with a host whose extensions are shorter than those of 1.0: {}",
                              outcome.story),
                  PluginVerdict::kWarning);
        }
    }
    trial([&](TrialReport& report) {
        Interleaving(report, file_.path, exercise_).run(options_.settings);
    });
    if (is_broken("P20")) {
        // Its code would be gone under a thread that still runs.
        judgement("P29").why = "it leaves threads (P20), so it cannot be unloaded";
        return;
    }
    trial([&](TrialReport& report) { try_rounds(report, file_.path, options_.settings); });
}

void Examination::settle(PluginJudgement& one) {
    if (!one.findings.empty()) {
        one.why.clear();
        return;
    }
    if (covered_.contains(std::string(one.rule->id))) {
        one.verdict = PluginVerdict::kPassed;
        if (one.rule->id != "P6") one.why.clear();
        return;
    }
    one.verdict = PluginVerdict::kSkipped;
    if (!one.why.empty()) return;
    const auto number = std::atoi(one.rule->id.data() + 1);
    const bool is_narrators = number >= 35 && number <= 38;
    const bool is_tools = number == 39 || number == 40;
    if (!stopped_.empty()) {
        one.why = stopped_;
    } else if (is_narrators) {
        one.why = "it is no narrator";
    } else if (is_tools) {
        one.why = "it runs no tools";
    } else {
        one.why = "the plugin did not come back from what was to show it";
    }
}

}  // namespace

std::string_view shown(PluginVerdict verdict) {
    switch (verdict) {
        case PluginVerdict::kPassed: return "passed";
        case PluginVerdict::kWarning: return "warning";
        case PluginVerdict::kSkipped: return "skipped";
        case PluginVerdict::kFailed: return "failed";
        case PluginVerdict::kCrashed: return "crashed";
        case PluginVerdict::kHung: return "hung";
    }
    return {};
}

PluginExamination examine_plugin(const PluginFile& file, const PluginExaminationOptions& options) {
    return Examination(file, options).run();
}

}  // namespace narratoria::command
