// SPDX-License-Identifier: Apache-2.0
// Tool manifests (NAME.tool.json). The faults of a refused manifest form a valid document; the
// schemas of an accepted one are valid schemas.

#include <string>

#include "base/bytes/utf8.hpp"
#include "require.hpp"
#include "tool/manifest.hpp"

using namespace narratoria;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    tool::Manifest manifest;
    Faults faults;
    const bool accepted = manifest.parse(text, faults);
    REQUIRE(accepted == faults.empty());
    for (const Fault& fault : faults) {
        REQUIRE(!fault.rule.empty() && !fault.message.empty());
        REQUIRE(fault.byte <= size);
        REQUIRE(utf8::is_valid(fault.message) && utf8::is_valid(fault.pointer));
    }
    if (!accepted) {
        std::string told;
        append_faults(told, faults, text);
        json::Document document;
        json::ParseError error;
        REQUIRE(document.parse(told, error));
        return 0;
    }
    for (const auto& schema : {manifest.input, manifest.result}) {
        if (schema == nullptr) continue;
        Faults none;
        REQUIRE(tool::Schema::compile(schema->text(), none) != nullptr);
    }
    return 0;
}
