// SPDX-License-Identifier: Apache-2.0
// namel3ss.toml and policy.toml of projects. Input: a letter that selects the file, then the text.
// Checks the same properties as project_yaml_fuzzer.cpp.

#include "project_files.hpp"
#include "tool/project/settings_file.hpp"

using namespace narratoria;
using namespace narratoria::tool::project;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    if (text.size() > kMaxFileBytes) return 0;
    fuzz::check_tree(text, parse_toml);
    Faults faults;
    File file("namel3ss.toml", text, faults);
    if (data[0] == 'o') {
        const Policy policy = read_policy(file);
        // A policy only takes rights away, and records its position.
        REQUIRE(policy.guarantees.any() == policy.place.has_value());
    } else {
        const Settings settings = read_settings(file);
        if (settings.timeout_ms) REQUIRE(*settings.timeout_ms >= 1000);
        for (const auto& [name, its] : settings.overrides) REQUIRE(its.place.line > 0);
        for (const auto& each : settings.mentions) REQUIRE(each.place.line > 0);
    }
    fuzz::check_faults(faults, text);
    return 0;
}
