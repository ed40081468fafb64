// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tool/project/binding.hpp"
#include "tool/project/bindings_file.hpp"
#include "tool/project/pack_files.hpp"
#include "tool/project/project.hpp"
#include "tool/project/settings_file.hpp"

namespace narratoria::tool::project {

// A tool with complete fields, and the place that defines it.
struct Bound {
    std::shared_ptr<Binding> binding;
    Fault place;
};

// Reads all files of a project, and completes each tool from its pack and the settings. Used once.
class Loader {
public:
    Loader(const Surroundings& surroundings, Faults& faults)
        : surroundings_(surroundings), faults_(faults) {}

    // Returns false if the folder is not a project.
    bool read(const std::string& folder);

    const std::string& root() const { return root_; }
    const std::vector<Bound>& tools() const { return tools_; }
    // The indexes of faults that concern only one tool or pack. Other tools stay callable.
    const std::vector<size_t>& contained() const { return contained_; }
    // Files of built-in packs are outside of the project and have absolute names.
    std::string path_of(const std::string& name) const;

private:
    // Why the tools of a pack are blocked.
    struct Refusal {
        std::string why;          // the policy's; empty if it accepts the pack
        std::string_view reason;  // Binding::problem_reason
    };

    static void check_path(PythonEnvironment& python, const char* what, const std::string& folder);

    // ------------------------------------------------------------ loader.cpp

    bool enter(const std::string& folder);
    // Returns false if the file does not exist.
    bool read_file(const std::string& name, const std::function<void(File&)>& read);
    std::vector<std::string> read_dotenv();
    // `dotenv`: the variables of the project's .env. Those of this process take precedence.
    void read_variables(const std::vector<std::string>& dotenv);
    // Marks the errors among the faults [first, end) as contained: they do not affect the rest of
    // the project. Returns the first one as text with its position, or empty.
    std::string contain(size_t first, size_t end);
    // An error about a tool of the project makes only that tool fail.
    void add_of_project(Draft draft);

    // ------------------------------------------------------------ loader_packs.cpp

    // Returns true if the project has a folder of packs.
    bool read_all_packs();
    void read_pack_path();
    // Returns false if the folder does not exist.
    bool read_packs(const std::string& folder, const std::string& source);
    // An error in a pack makes all of its tools fail.
    void read_pack(const std::string& folder, const std::string& source);
    Refusal read_tools_of_pack(const std::string& folder, const std::string& source);

    // ------------------------------------------------------------ loader_tools.cpp

    // Completes a tool. `pack`: NULL for a tool of the project itself.
    void add(Draft draft, const Manifest* pack, const std::string& pack_folder,
             Guarantees guarantees, const std::string& source = "binding");
    // Applies the user's statement about a container, or about the service of a pack.
    void vouch(const Override& given, bool is_of_pack, Binding& binding);

    // ------------------------------------------------------------ loader_names.cpp

    // Leaves one tool of each name: the one of the pinned pack, or else a tool that cannot be
    // called because of the collision.
    void resolve_collisions();
    void report_missing_pin(const std::string& tool, const std::string& pack);
    void check_overrides();
    // Warns of unknown packs and tools in [tool_packs].
    void check_mentions();

    const Surroundings& surroundings_;
    Faults& faults_;
    std::string root_;
    Settings settings_;
    Policy policy_;
    PythonEnvironment python_;
    std::map<std::string, std::string> packs_;  // id → pack.yaml, of the enabled packs
    std::vector<std::string> known_packs_;      // ids of all packs, enabled or not
    std::vector<std::string> missing_pins_;     // tools that are pinned to a missing pack
    std::vector<Bound> tools_;
    std::vector<size_t> contained_;
};

}  // namespace narratoria::tool::project
