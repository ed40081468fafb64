// SPDX-License-Identifier: Apache-2.0
// Metadata read from a plugin's file without loading it: an ELF file, its notes, the notes' text.
// Input: a letter that selects one of these, then the bytes. Accepted metadata obeys its schema.

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "plugin/metadata.hpp"
#include "require.hpp"

using namespace narratoria;

namespace {

void check(const std::optional<plugin::Metadata>& metadata, const std::string& reason) {
    REQUIRE(metadata.has_value() == reason.empty());
    if (!metadata) return;
    REQUIRE(plugin::is_id(metadata->id));
    REQUIRE(!metadata->name.empty() && !metadata->version.empty());
    REQUIRE(metadata->abi_major <= 0xFFFF && metadata->abi_minor <= 0xFFFF);
    for (const std::string& extension : metadata->extensions) {
        const size_t slash = extension.find('/');
        REQUIRE(slash != std::string::npos && slash > 0 && slash + 1 < extension.size());
    }
}

void read_file(std::string_view bytes) {
    const int file = ::memfd_create("plugin", MFD_CLOEXEC);
    REQUIRE(file >= 0);
    REQUIRE(::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    std::string reason;
    const auto metadata = plugin::read_metadata("/proc/self/fd/" + std::to_string(file), reason);
    ::close(file);
    check(metadata, reason);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    std::string reason;
    switch (data[0]) {
        case 'f': read_file(bytes); break;
        case 'n':
            if (const auto notes = plugin::find_notes(bytes); !notes.empty()) {
                // Notes lie inside the bytes, and a foreign note before them changes nothing.
                for (const std::string_view note : notes) {
                    REQUIRE(note.data() >= bytes.data() &&
                            note.data() + note.size() <= bytes.data() + bytes.size());
                }
                const std::string other("\4\0\0\0\4\0\0\0\3\0\0\0GNU\0abcd", 20);
                const std::string both = other + bytes;
                REQUIRE(plugin::find_notes(both) == notes);
            }
            break;
        default: {
            Faults faults;
            const auto metadata = plugin::parse_metadata(bytes, faults);
            for (const Fault& fault : faults) {
                if (!fault.is_warning) reason = fault.message;
            }
            check(metadata, reason);
        }
    }
    return 0;
}
