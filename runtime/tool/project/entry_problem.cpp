// SPDX-License-Identifier: Apache-2.0
#include "tool/project/entry_problem.hpp"

#include <algorithm>
#include <filesystem>

#include "base/json/writer.hpp"
#include "base/regular_file.hpp"
#include "tool/project/default_bindings.hpp"

namespace narratoria::tool::project {

namespace {

namespace fs = std::filesystem;

}  // namespace

std::optional<EntryProblem> entry_problem(const Binding& binding) {
    const size_t colon = binding.entry.find(':');
    if (colon == std::string::npos) return std::nullopt;
    std::string path = binding.entry.substr(0, colon);
    const std::string function = binding.entry.substr(colon + 1);
    const std::string package = path.substr(0, path.find('.'));
    std::replace(path.begin(), path.end(), '.', '/');
    std::error_code none;
    bool has_package = false;
    bool is_folder = false;
    for (const std::string& each : binding.python.path) {
        const std::string module = each + "/" + path;
        has_package = has_package || fs::is_directory(each + "/" + package, none);
        is_folder = is_folder || fs::is_directory(module, none);
        for (const char* end : {"/__init__.py", ".py"}) {
            std::string text;
            std::string why;
            constexpr size_t kMost = size_t{4} << 20U;
            switch (read_regular_file(module + end, path + end, kMost, text, why)) {
                case FileReading::Missing: continue;
                case FileReading::Failed: return EntryProblem{why, false};
                case FileReading::Read: break;
            }
            if (has_word(text, function)) return std::nullopt;
            return EntryProblem{path + end + " does not define " + json::quoted(function) +
                                    "; calls fail unless the import of the module creates it",
                                true};
        }
        // A native module, or a module without its source, cannot be checked.
        fs::directory_iterator file(fs::path(module).parent_path(), none), last;
        const std::string start = fs::path(module).filename().string() + ".";
        for (; !none && file != last; file.increment(none)) {
            const std::string name = file->path().filename().string();
            if (name.starts_with(start) && (name.ends_with(".so") || name.ends_with(".pyc")))
                return std::nullopt;
        }
    }
    const std::string missing = "the project has no module " + path + ".py";
    if (is_folder) {
        return EntryProblem{path + " is a folder without __init__.py, so it has no functions",
                            false};
    }
    if (has_package) return EntryProblem{missing, false};
    return EntryProblem{
        missing + "; calls fail unless it is installed in " + binding.python.interpreter, true};
}

}  // namespace narratoria::tool::project
