// SPDX-License-Identifier: Apache-2.0
// YAML files of projects. Input: a letter that selects the file, then the text. The tree respects
// its depth limit and has valid positions; each fault has a position; accepted files obey the rules
// of their fields.

#include "project_files.hpp"
#include "tool/project/bindings_file.hpp"
#include "tool/project/pack_files.hpp"

using namespace narratoria;
using namespace narratoria::tool::project;

namespace {

void check_drafts(const std::vector<Draft>& drafts, Faults& faults) {
    for (const Draft& draft : drafts) {
        REQUIRE(!draft.binding.name.empty());
        REQUIRE(draft.place.line > 0 && draft.place.rule.empty());
        if (draft.timeout_ms) REQUIRE(*draft.timeout_ms > 0);
        for (const RunnerKind runner :
             {RunnerKind::Local, RunnerKind::Service, RunnerKind::Container}) {
            warn_of_unused(draft, runner, faults);
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    if (text.size() > kMaxFileBytes) return 0;
    fuzz::check_tree(text, parse_yaml);
    Faults faults;
    File file("tools.yaml", text, faults);
    switch (data[0]) {
        case 'p':
            if (const auto manifest = read_manifest(file)) {
                for (const auto& [name, place] : manifest->tools) REQUIRE(place.line > 0);
                if (manifest->entrypoints) check_drafts(*manifest->entrypoints, faults);
            }
            break;
        case 'c':
            for (const auto& [name, declared] : read_capabilities(file)) {
                REQUIRE(declared.place.line > 0);
            }
            break;
        default: check_drafts(read_bindings(file), faults);
    }
    fuzz::check_faults(faults, text);
    return 0;
}
