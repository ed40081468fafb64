// SPDX-License-Identifier: Apache-2.0
#include "tool/project/loader.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/json/writer.hpp"
#include "base/regular_file.hpp"
#include "http/url.hpp"
#include "narratoria/engine.h"
#include "tool/project/default_bindings.hpp"
#include "tool/project/faults.hpp"
#include "tool/project/python_environment.hpp"

namespace narratoria::tool::project {
namespace {

constexpr const char* kBindings = ".namel3ss/tools.yaml";
constexpr const char* kSettings = "namel3ss.toml";

}  // namespace

bool Loader::read(const std::string& folder) {
    if (!enter(folder)) return false;
    read_file(kSettings, [&](File& file) { settings_ = read_settings(file); });
    const std::vector<std::string> variables = read_dotenv();
    read_variables(variables);
    python_ = find_python(root_, settings_.python, surroundings_.environment);
    python_.variables = variables;
    check_path(python_, "project", root_);
    if (settings_.python_place && python_.kind == "venv") {
        faults_.push_back(placed(*settings_.python_place, kNoEffect,
                                 "\"python\" has no effect: the Python of the project's .venv "
                                 "takes precedence",
                                 true));
    }
    read_file(kPolicyFile, [&](File& file) { policy_ = read_policy(file); });
    const bool has_packs = read_all_packs();
    std::vector<Draft> drafts;
    const bool has_bindings =
        read_file(kBindings, [&](File& file) { drafts = read_bindings(file); });
    if (!has_bindings) drafts = find_default_bindings(root_);
    for (Draft& draft : drafts) add_of_project(std::move(draft));
    resolve_collisions();
    check_overrides();
    check_mentions();
    if (policy_.place && known_packs_.empty()) {
        faults_.push_back(placed(*policy_.place, kNoEffect,
                                 "\"allowed_capabilities\" has no effect: it applies to packs, "
                                 "and the project has none; restrict a tool of tools.yaml "
                                 "under [capability_overrides] in namel3ss.toml",
                                 true));
    }
    if (has_bindings || has_packs || !tools_.empty() || is_project(root_)) return true;
    faults_.push_back(file_fault("", kFolderRule,
                                 json::quoted(root_) + " is not a project: it has no " + kBindings +
                                     ", no packs and no tools/NAME.py"));
    return false;
}

void Loader::check_path(PythonEnvironment& python, const char* what, const std::string& folder) {
    if (folder.find(':') == std::string::npos || !python.problem.empty()) return;
    python.problem = std::string("the path of the ") + what + ", " + folder +
                     ", contains a colon and so cannot be in PYTHONPATH; rename the folder";
}

std::string Loader::path_of(const std::string& name) const {
    return name.starts_with('/') ? name : root_ + "/" + name;
}

bool Loader::enter(const std::string& folder) {
    struct stat status {};
    const bool has_nul = folder.find('\0') != std::string::npos;
    const auto refuse = [&](const std::string& why) {
        faults_.push_back(file_fault("", kFolderRule,
                                     "the project's folder " + json::quoted(folder) + " " + why));
        return false;
    };
    if (folder.empty()) return refuse("cannot be found: its name is empty");
    if (has_nul) return refuse("cannot be found: its name contains a NUL character");
    if (::stat(folder.c_str(), &status) != 0) {
        return refuse(std::string("cannot be found: ") + std::strerror(errno));
    }
    if (!S_ISDIR(status.st_mode)) return refuse("is not a folder");
    const std::unique_ptr<char, void (*)(void*)> real(::realpath(folder.c_str(), nullptr),
                                                      std::free);
    if (!real) return refuse(std::string("cannot be entered: ") + std::strerror(errno));
    root_ = real.get();
    return true;
}

bool Loader::read_file(const std::string& name, const std::function<void(File&)>& read) {
    std::string text;
    std::string why;
    switch (read_regular_file(path_of(name), name, kMaxFileBytes, text, why)) {
        case FileReading::Missing: return false;
        case FileReading::Failed:
            faults_.push_back(file_fault(name, "project-file", std::move(why)));
            return true;
        case FileReading::Read: break;
    }
    File file(name, text, faults_);
    read(file);
    return true;
}

std::vector<std::string> Loader::read_dotenv() {
    std::vector<std::string> variables;
    std::error_code none;
    // A folder with this name is usually a virtual environment.
    if (std::filesystem::is_directory(root_ + "/.env", none)) return variables;
    read_file(".env", [&](File& file) { variables = project::read_variables(file); });
    return variables;
}

// `dotenv`: the variables of the project's .env. Those of this process take precedence.
void Loader::read_variables(const std::vector<std::string>& dotenv) {
    const auto find = [&](const std::string& own, std::string_view name_and_sign) {
        if (!own.empty()) return own;
        for (const std::string& each : dotenv) {
            if (each.starts_with(name_and_sign)) return each.substr(name_and_sign.size());
        }
        return own;
    };
    if (const std::string url = find(surroundings_.service_url, "N3_TOOL_SERVICE_URL=");
        !url.empty()) {
        std::string reason;
        if (!http::Url::parse(url, reason)) {
            faults_.push_back(file_fault("", "project-variable",
                                         "the environment variable N3_TOOL_SERVICE_URL cannot "
                                         "be used: " +
                                             reason));
        }
        settings_.service_url = url;
    }
    const std::string given =
        find(surroundings_.timeout_seconds, "N3_PYTHON_TOOL_TIMEOUT_SECONDS=");
    if (given.empty()) return;
    constexpr uint32_t kMost = (NAR_NONE - 1) / 1000;
    uint32_t seconds = 0;
    const auto read = std::from_chars(given.data(), given.data() + given.size(), seconds);
    if (read.ec != std::errc() || read.ptr != given.data() + given.size() || seconds == 0 ||
        seconds > kMost) {
        faults_.push_back(file_fault(
            "", "project-variable",
            "the environment variable N3_PYTHON_TOOL_TIMEOUT_SECONDS must be a whole number "
            "from 1 to " +
                std::to_string(kMost) + ", not " + json::quoted(given)));
        return;
    }
    settings_.timeout_ms = seconds * 1000;
}

std::string Loader::contain(size_t first, size_t end) {
    std::string problem;
    for (size_t i = first; i < end; ++i) {
        if (faults_[i].is_warning) continue;
        contained_.push_back(i);
        if (problem.empty()) problem = describe_faults({faults_[i]}, "");
    }
    return problem;
}

void Loader::add_of_project(Draft draft) {
    std::string problem = contain(draft.first_fault, draft.end_fault);
    if (draft.is_faulty && problem.empty()) problem = "its file has more than a hundred faults";
    const size_t first_fault = faults_.size();
    const bool has_unknown_runner = draft.has_unknown_runner;
    add(std::move(draft), nullptr, {}, {});
    const std::string missing = contain(first_fault, faults_.size());
    Binding& binding = *tools_.back().binding;
    binding.problem = problem.empty() ? missing : problem;
    if (has_unknown_runner) binding.problem_reason = "unknown_runner";
}

}  // namespace narratoria::tool::project
