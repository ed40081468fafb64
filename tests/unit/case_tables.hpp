// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables of tests/conformance/schemas and tests/conformance/script. Their READMEs describe the
// format. A table that is not as described throws.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace narratoria::test {

struct SampleDocument {
    std::string verdict;  // "valid", "invalid" or "rules"
    std::string reason;
    std::string text;
};

// tests/conformance/schemas/KIND.toml
std::vector<SampleDocument> sample_documents(const std::string& kind);

struct ScriptCase {
    std::string name;
    std::string script;
    std::string given;  // the first scope, JSON; empty if the case has none
    std::map<std::string, uint64_t> limits;
    bool has_called = false;
    std::vector<std::string> called;  // names of tools, in order
    std::vector<std::string> output;
    std::string scope = "{}";  // JSON
    std::string error;         // "NAME at LINE:COLUMN: MESSAGE"; empty if the script finishes
};

// A table of tests/conformance/script, by its path.
std::vector<ScriptCase> script_cases(const std::string& path);

}  // namespace narratoria::test
