// SPDX-License-Identifier: Apache-2.0
#include "plugin_check/loading.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/core.h>

#include <exception>

namespace narratoria::command::plugin_check {

Library load_library(TrialReport& report, const std::string& path) {
    Library library;
    report.begin_call({"P5", "P5", "P5"}, "loading");
    // Volatile: the declaration of dlopen promises that it does not throw, but a constructor of the
    // library may.
    void* (*volatile const open_library)(const char*, int) = dlopen;
    std::string thrown;
    try {
        library.handle = open_library(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    } catch (const std::exception& error) {
        thrown = error.what();
    }
    report.end_call();
    if (!thrown.empty()) {
        report.add_finding("P5", fmt::format("a constructor of the library, such as the "
                                             "initializer of a static object, threw an exception, "
                                             "which ends every host: {}",
                                             thrown));
        return library;
    }
    if (library.handle == nullptr) {
        const char* why = dlerror();
        report.add_finding("P1",
                           fmt::format("it cannot be loaded: {}", why != nullptr ? why : "?"));
        return library;
    }
    library.entry = reinterpret_cast<nar_plugin_entry_fn>(dlsym(library.handle, NAR_PLUGIN_ENTRY));
    if (library.entry == nullptr) {
        report.add_finding("P2", "it does not export " NAR_PLUGIN_ENTRY);
    }
    return library;
}

bool call_caught(TrialReport& report, std::string_view doing, const std::function<void()>& ask) {
    try {
        ask();
        return true;
    } catch (const abi::__forced_unwind&) {
        report.add_finding("P25", fmt::format("{} ended the thread (pthread_exit)", doing));
        throw;
    } catch (...) {
        report.add_finding("P24", fmt::format("{} threw an exception", doing));
        return false;
    }
}

const void* query_extension(TrialReport& report, const nar_plugin& plugin, nar_str id,
                            const Blame& blame, std::string_view doing) {
    const void* found = nullptr;
    report.begin_call(blame, doing);
    call_caught(report, doing, [&] { found = plugin.get_extension(id); });
    report.end_call();
    return found;
}

const nar_plugin* enter(TrialReport& report, const Library& library) {
    if (library.entry == nullptr) return nullptr;
    nar_host_description description{};
    description.size = sizeof description;
    description.abi_version = NAR_ABI_VERSION;
    description.name = NAR_STR("narratoria plugin check");
    description.version = detail::to_c(nar_library_version());
    nar_failure failure{};
    failure.size = sizeof failure;
    const nar_plugin* plugin = nullptr;
    report.begin_call({}, "entry");
    nar_status status = NAR_FAILED;
    call_caught(report, "the entry",
                [&] { status = library.entry(&description, &plugin, &failure); });
    report.end_call();
    return status == NAR_OK ? plugin : nullptr;
}

}  // namespace narratoria::command::plugin_check
