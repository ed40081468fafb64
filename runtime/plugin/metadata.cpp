// SPDX-License-Identifier: Apache-2.0
#include "plugin/metadata.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <iterator>

#include "base/descriptor.hpp"
#include "base/json/pointer.hpp"
#include "base/json/tape.hpp"
#include "base/json/writer.hpp"
#include "narratoria/plugin.h"

namespace narratoria::plugin {
namespace {

// Sizes in an ELF file are untrusted input. Larger values than these are refused.
constexpr uint64_t kMaxSections = 4096;
constexpr uint64_t kMaxSectionNames = 1024 * 1024;
constexpr uint64_t kMaxNote = 64 * 1024;

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
#error "Unknown machine: add its ELF machine number here."
#endif

bool read_at(int file, uint64_t offset, void* out, size_t size) {
    auto* to = static_cast<char*>(out);
    while (size > 0) {
        const ssize_t got = ::pread(file, to, size, static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        offset += static_cast<uint64_t>(got);
        size -= static_cast<size_t>(got);
    }
    return true;
}

std::string too_long(const std::string& subject, uint64_t size) {
    return subject + " has " + std::to_string(size) + " bytes; at most " +
           std::to_string(kMaxNote) + " are allowed; shorten the schema of the settings";
}

// Reads the section of Narratoria notes; empty if there is none. Returns false and a reason if the
// file is not a library for this machine.
bool read_section(int file, uint64_t file_size, std::string& out, std::string& reason) {
    auto refuse = [&](std::string why) {
        reason = std::move(why);
        return false;
    };
    Elf64_Ehdr header;
    if (file_size < sizeof header || !read_at(file, 0, &header, sizeof header) ||
        std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
        return refuse("it is not a shared library");
    }
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_machine != kMachine) {
        return refuse("it is a library for a different processor architecture");
    }
    if (header.e_type != ET_DYN) return refuse("it is not a shared library");
    if (header.e_shoff == 0 || header.e_shnum == 0) return true;
    const uint64_t table_size = uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum > kMaxSections ||
        header.e_shstrndx >= header.e_shnum || header.e_shoff > file_size ||
        file_size - header.e_shoff < table_size) {
        return refuse("it is damaged: its section table is incomplete");
    }
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    if (!read_at(file, header.e_shoff, sections.data(), table_size)) {
        return refuse("it is damaged: its section table is incomplete");
    }
    auto read_whole = [&](const Elf64_Shdr& section, uint64_t most, std::string& text) {
        if (section.sh_type == SHT_NOBITS || section.sh_size > most ||
            section.sh_offset > file_size || file_size - section.sh_offset < section.sh_size) {
            return false;
        }
        text.resize(section.sh_size);
        return read_at(file, section.sh_offset, text.data(), text.size());
    };
    std::string names;
    if (!read_whole(sections[header.e_shstrndx], kMaxSectionNames, names)) {
        return refuse("it is damaged: its section names are incomplete");
    }
    constexpr std::string_view wanted = NAR_PLUGIN_NOTE_SECTION;
    for (const Elf64_Shdr& section : sections) {
        if (section.sh_name >= names.size()) continue;
        const std::string_view rest = std::string_view(names).substr(section.sh_name);
        if (rest.substr(0, rest.find('\0')) != wanted) continue;
        if (section.sh_size > kMaxNote && section.sh_size <= file_size) {
            return refuse(too_long("its metadata", section.sh_size));
        }
        if (!read_whole(section, kMaxNote, out)) {
            return refuse("it is damaged: its section .note.narratoria is incomplete");
        }
        return true;
    }
    return true;
}

bool is_extension_id(std::string_view text) {
    const size_t slash = text.find('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == text.size()) return false;
    auto is_name = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    };
    char before = '.';
    for (const char c : text.substr(0, slash)) {
        if (!is_name(c) && (c != '.' || before == '.')) return false;
        before = c;
    }
    const std::string_view number = text.substr(slash + 1);
    return before != '.' &&
           std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "1.0"
bool parse_abi(std::string_view text, Metadata& out) {
    const char* const end = text.data() + text.size();
    const auto major = std::from_chars(text.data(), end, out.abi_major);
    if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return false;
    const auto minor = std::from_chars(major.ptr + 1, end, out.abi_minor);
    return minor.ec == std::errc() && minor.ptr == end && out.abi_major <= 0xFFFF &&
           out.abi_minor <= 0xFFFF;
}

}  // namespace

bool is_built_in(std::string_view id) {
    return std::find(std::begin(kBuiltInIds), std::end(kBuiltInIds), id) != std::end(kBuiltInIds);
}

bool is_id(std::string_view text) {
    auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    return !text.empty() && text.size() <= 128 && is_plain(text.front()) &&
           std::all_of(text.begin(), text.end(),
                       [&](char c) { return is_plain(c) || c == '.' || c == '_' || c == '-'; });
}

std::vector<std::string_view> find_notes(std::string_view section) {
    constexpr std::string_view owner = NAR_PLUGIN_NOTE_OWNER;
    auto padded = [](uint64_t size) { return (size + 3) & ~uint64_t{3}; };
    std::vector<std::string_view> notes;
    while (section.size() >= 12) {
        uint32_t head[3];
        std::memcpy(head, section.data(), sizeof head);
        section.remove_prefix(sizeof head);
        const uint64_t owner_room = padded(head[0]);
        const uint64_t text_room = padded(head[1]);
        if (owner_room > section.size() || head[1] > section.size() - owner_room) break;
        const std::string_view text = section.substr(owner_room, head[1]);
        if (head[0] == owner.size() + 1 && section.substr(0, owner.size()) == owner &&
            head[2] == 1) {
            notes.push_back(text.substr(0, text.find('\0')));
        }
        section.remove_prefix(std::min<uint64_t>(owner_room + text_room, section.size()));
    }
    return notes;
}

std::optional<Metadata> parse_metadata(std::string_view text, Faults& faults) {
    const size_t before = faults.size();
    json::Document document;
    json::ParseError error;
    if (!document.parse(text, error)) {
        faults.push_back({json::rule_of(error.kind), "", error.byte, error.message, ""});
        return std::nullopt;
    }
    const json::Value root = document.root();
    auto fault = [&](const char* rule, const std::string& pointer, json::Value value,
                     std::string message) {
        const json::Value place = value ? value : root;
        const auto byte =
            static_cast<size_t>(place.raw().data() - document.root().tape().source().data());
        faults.push_back({rule, pointer, byte, std::move(message), ""});
    };
    if (!root.is_object()) {
        fault("plugin-object", "", root, "it must be a JSON object");
        return std::nullopt;
    }
    Metadata out;
    std::string abi;
    std::string schema;
    const std::pair<std::string, std::string*> texts[] = {{"schema", &schema},
                                                          {"id", &out.id},
                                                          {"name", &out.name},
                                                          {"version", &out.version},
                                                          {"abi", &abi}};
    for (const auto& [key, place] : texts) {
        const json::Value value = root.find(key);
        if (value && value.is_string()) *place = value.text();
        if (place->empty()) fault("plugin-text", "/" + key, value, "a string is missing");
    }
    if (!schema.empty() && schema != "plugin/1") {
        fault("plugin-schema", "/schema", root.find("schema"),
              "the schema must be \"plugin/1\", not \"" + schema + "\"");
    }
    if (!out.id.empty() && !is_id(out.id)) {
        fault("plugin-id", "/id", root.find("id"),
              "\"" + out.id +
                  "\" is not an id; begin with a letter or digit, and use at most 128 of "
                  "a-z 0-9 . _ -");
    }
    if (!abi.empty() && !parse_abi(abi, out)) {
        fault("plugin-abi", "/abi", root.find("abi"),
              "\"" + abi + "\" does not have the form \"1.0\"");
    }
    const json::Value extensions = root.find("extensions");
    if (!extensions || !extensions.is_array()) {
        fault("plugin-extensions", "/extensions", extensions, "an array is missing");
    } else {
        size_t position = 0;
        for (const json::Value extension : extensions.elements()) {
            std::string pointer = "/extensions";
            json::append_pointer(pointer, position++);
            if (!extension.is_string() || !is_extension_id(extension.text())) {
                fault("plugin-extensions", pointer, extension,
                      "it is not an id of the form \"narratoria.ui_handler/1\"");
                continue;
            }
            const std::string id(extension.text());
            if (std::find(out.extensions.begin(), out.extensions.end(), id) !=
                out.extensions.end()) {
                fault("plugin-extension-repeated", pointer, extension,
                      "\"" + id + "\" is listed twice");
                faults.back().is_warning = true;
            }
            out.extensions.push_back(id);
        }
    }
    if (const json::Value settings = root.find("settings")) {
        Faults own;
        if (settings.is_object()) out.settings = tool::Schema::compile(settings.raw(), own);
        else own.push_back({"", "", 0, "it must be a JSON Schema, an object", ""});
        for (const Fault& each : own) {
            const json::Value place = json::find_pointer(settings, each.pointer);
            fault("plugin-settings", "/settings" + each.pointer, place ? place : settings,
                  each.message);
        }
    }
    const bool is_valid =
        std::all_of(faults.begin() + static_cast<std::ptrdiff_t>(before), faults.end(),
                    [](const Fault& one) { return one.is_warning; });
    return is_valid ? std::optional(std::move(out)) : std::nullopt;
}

tool::SchemaFaults check_settings(const Metadata& metadata, std::string_view settings) {
    json::Document document;
    json::ParseError error;
    if (!metadata.settings || !document.parse(settings, error)) return {};
    return metadata.settings->check(document.root());
}

std::string describe_setting(const tool::SchemaFault& fault) {
    const std::string& pointer = fault.pointer;
    return (pointer.empty() ? "the settings object" : json::quoted(pointer.substr(1))) + " " +
           fault.message;
}

std::optional<MetadataText> find_metadata(const std::string& path, std::string& reason) {
    auto open_file = [](const std::string& name, struct stat& status) {
        // O_NONBLOCK: opening a named pipe must not block the search.
        Descriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (file && ::fstat(file.get(), &status) != 0) file.close();
        return file;
    };
    struct stat status {};
    const Descriptor library = open_file(path, status);
    if (!library) {
        reason = std::string("it cannot be read: ") + std::strerror(errno);
        return std::nullopt;
    }
    if (!S_ISREG(status.st_mode)) {
        reason = "it is not a regular file";
        return std::nullopt;
    }
    std::string section;
    if (!read_section(library.get(), static_cast<uint64_t>(status.st_size), section, reason)) {
        return std::nullopt;
    }
    if (const auto notes = find_notes(section); !notes.empty()) {
        return MetadataText{std::string(notes.front()), "", notes.size()};
    }
    const std::string beside = path + ".json";
    const Descriptor file = open_file(beside, status);
    if (!file || !S_ISREG(status.st_mode)) {
        reason =
            "it is not a plugin of Narratoria: it has no metadata (NARRATORIA_PLUGIN in C++, "
            "NAR_PLUGIN_NOTE in C), and " +
            beside + (file ? " is not a regular file" : " does not exist");
        return std::nullopt;
    }
    if (static_cast<uint64_t>(status.st_size) > kMaxNote) {
        reason = too_long(beside, static_cast<uint64_t>(status.st_size));
        return std::nullopt;
    }
    std::string text(static_cast<size_t>(status.st_size), '\0');
    if (!read_at(file.get(), 0, text.data(), text.size())) {
        reason = beside + " cannot be read";
        return std::nullopt;
    }
    return MetadataText{std::move(text), beside, 0};
}

std::optional<Metadata> read_metadata(const std::string& path, std::string& reason,
                                      std::string* id) {
    const auto found = find_metadata(path, reason);
    if (!found) return std::nullopt;
    Faults faults;
    auto out = parse_metadata(found->text, faults);
    if (id != nullptr) {
        json::Document document;
        json::ParseError error;
        const json::Value named =
            document.parse(found->text, error) ? document.root().find("id") : json::Value();
        if (named && named.is_string()) *id = named.text();
    }
    if (out) return out;
    const Fault& first = *std::find_if(faults.begin(), faults.end(),
                                       [](const Fault& one) { return !one.is_warning; });
    reason = found->file.empty() ? "" : found->file + ": ";
    reason += "its metadata is not valid: ";
    reason += first.pointer.empty() ? first.message + " (byte " + std::to_string(first.byte) + ")"
                                    : first.pointer + ": " + first.message;
    return std::nullopt;
}

}  // namespace narratoria::plugin
