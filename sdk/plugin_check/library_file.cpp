// SPDX-License-Identifier: Apache-2.0
#include "plugin_check/library_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <type_traits>

#include "io/file.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "narratoria/plugin.h"
#include "narratoria/plugins.h"
#include "narratoria/validate.hpp"

namespace narratoria::command::plugin_check {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;
constexpr std::size_t kMaxSymbols = 1u << 20;

#if defined(__x86_64__)
constexpr std::uint16_t kThisMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t kThisMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr std::uint16_t kThisMachine = EM_RISCV;
#else
constexpr std::uint16_t kThisMachine = EM_NONE;  // accept any: the loader refuses a wrong one
#endif

// The bytes of an ELF file. Reads are bounds-checked; a read outside the file returns nothing.
class ElfImage {
public:
    explicit ElfImage(std::string bytes) : bytes_(std::move(bytes)) {}

    std::uint64_t size() const { return bytes_.size(); }

    template <typename Part>
    std::optional<Part> at(std::uint64_t offset) const {
        static_assert(std::is_trivially_copyable_v<Part>);
        if (offset > bytes_.size() || bytes_.size() - offset < sizeof(Part)) return std::nullopt;
        Part part;
        std::memcpy(&part, bytes_.data() + offset, sizeof part);
        return part;
    }

    std::optional<std::string_view> piece(std::uint64_t offset, std::uint64_t length) const {
        if (offset > bytes_.size() || bytes_.size() - offset < length) return std::nullopt;
        return std::string_view(bytes_).substr(offset, length);
    }

    // A NUL-terminated text within the table.
    std::optional<std::string_view> text(std::uint64_t table, std::uint64_t table_size,
                                         std::uint64_t offset) const {
        const auto whole = piece(table, table_size);
        if (!whole || offset >= whole->size()) return std::nullopt;
        const std::size_t end = whole->find('\0', offset);
        if (end == std::string_view::npos) return std::nullopt;
        return whole->substr(offset, end - offset);
    }

private:
    std::string bytes_;
};

class LibraryReader {
public:
    LibraryReader(const ElfImage& image, const std::string& shown) : image_(image), shown_(shown) {}

    void read(PluginFile& into) {
        read_header();
        read_segments(into);
        read_sections();
        read_dynamic(into);
        read_symbols(into);
    }

private:
    [[noreturn]] void refuse(const std::string& why) const {
        throw Refused(fmt::format("{} {}", shown_, why));
    }

    [[noreturn]] void refuse_damaged(std::string_view where) const {
        refuse(
            fmt::format("is a damaged library: {} is outside the file ({} bytes). The copy or the "
                        "build may be incomplete; build it again",
                        where, image_.size()));
    }

    void read_header() {
        const auto identity = image_.piece(0, EI_NIDENT);
        if (image_.size() == 0) refuse("is empty; give the library that the build created");
        if (image_.piece(0, SELFMAG).value_or("") != std::string_view(ELFMAG, SELFMAG)) {
            refuse("is not a shared library (it has no ELF header); give the .so file");
        }
        if (!identity) refuse_damaged("its header");
        if ((*identity)[EI_CLASS] != ELFCLASS64) {
            refuse("is a 32-bit library; build it for this machine (64-bit)");
        }
        if ((*identity)[EI_DATA] != ELFDATA2LSB) {
            refuse("is built for a different byte order; build it for this machine");
        }
        const auto header = image_.at<Elf64_Ehdr>(0);
        if (!header) refuse_damaged("its header");
        header_ = *header;
        if (kThisMachine != EM_NONE && header_.e_machine != kThisMachine) {
            refuse(fmt::format(
                "is built for a different processor (ELF machine {}, this is {}); build it "
                "for this machine",
                header_.e_machine, kThisMachine));
        }
        if (header_.e_type != ET_DYN) {
            refuse(
                "is an ELF file, but not a shared library (a program, or an object file); link it "
                "with -shared");
        }
    }

    void read_segments(PluginFile& into) {
        if (header_.e_phentsize != sizeof(Elf64_Phdr)) refuse_damaged("its segment table");
        bool names_stack = false;
        for (std::uint64_t index = 0; index < header_.e_phnum; ++index) {
            const auto segment =
                image_.at<Elf64_Phdr>(header_.e_phoff + index * sizeof(Elf64_Phdr));
            if (!segment) refuse_damaged("its segment table");
            if (segment->p_type == PT_LOAD || segment->p_type == PT_DYNAMIC) {
                if (!image_.piece(segment->p_offset, segment->p_filesz)) {
                    refuse_damaged("a segment");
                }
            }
            if (segment->p_type == PT_LOAD) loaded_.push_back(*segment);
            if (segment->p_type == PT_DYNAMIC) dynamic_ = *segment;
            if (segment->p_type == PT_GNU_STACK) {
                names_stack = true;
                into.has_executable_stack = (segment->p_flags & PF_X) != 0;
            }
            if (segment->p_type == PT_INTERP) {
                refuse("is a program, not a shared library; link it with -shared");
            }
        }
        // Without PT_GNU_STACK, the loader makes the stack executable on x86-64.
        if (!names_stack && kThisMachine == EM_X86_64) into.has_executable_stack = true;
        if (!dynamic_) refuse("is not a shared library: it has no dynamic segment");
    }

    void read_sections() {
        // A stripped library may have no sections. The hash table then gives the symbol count.
        if (header_.e_shoff == 0 || header_.e_shentsize != sizeof(Elf64_Shdr)) return;
        for (std::uint64_t index = 0; index < header_.e_shnum; ++index) {
            const auto section =
                image_.at<Elf64_Shdr>(header_.e_shoff + index * sizeof(Elf64_Shdr));
            if (!section) refuse_damaged("its section table");
            if (section->sh_type == SHT_DYNSYM) {
                symbol_count_ = section->sh_size / sizeof(Elf64_Sym);
            }
        }
    }

    // The file offset of an address of the loaded library.
    std::optional<std::uint64_t> offset_of(std::uint64_t address) const {
        for (const Elf64_Phdr& segment : loaded_) {
            if (address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz) {
                return segment.p_offset + (address - segment.p_vaddr);
            }
        }
        return std::nullopt;
    }

    void read_dynamic(PluginFile& into) {
        std::vector<std::uint64_t> needed;
        for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic_->p_filesz;
             at += sizeof(Elf64_Dyn)) {
            const auto entry = image_.at<Elf64_Dyn>(dynamic_->p_offset + at);
            if (!entry || entry->d_tag == DT_NULL) break;
            const std::uint64_t value = entry->d_un.d_val;
            switch (entry->d_tag) {
                case DT_NEEDED: needed.push_back(value); break;
                case DT_STRTAB: texts_ = offset_of(value); break;
                case DT_STRSZ: texts_size_ = value; break;
                case DT_SYMTAB: symbols_ = offset_of(value); break;
                case DT_HASH: hash_ = offset_of(value); break;
                case DT_GNU_HASH: gnu_hash_ = offset_of(value); break;
                case DT_TEXTREL: into.has_text_relocations = true; break;
                case DT_FLAGS: into.has_text_relocations |= (value & DF_TEXTREL) != 0; break;
                case DT_FLAGS_1: into.stays_loaded = (value & DF_1_NODELETE) != 0; break;
                default: break;
            }
        }
        if (!texts_ || !symbols_) refuse_damaged("its symbol table");
        for (const std::uint64_t name : needed) {
            const auto text = image_.text(*texts_, texts_size_, name);
            if (!text) refuse_damaged("the name of a library that it needs");
            into.libraries.emplace_back(*text);
        }
    }

    std::uint64_t count_symbols() const {
        if (symbol_count_ > 0) return symbol_count_;
        if (hash_) {
            if (const auto count = image_.at<std::uint32_t>(*hash_ + 4)) return *count;
        }
        if (!gnu_hash_) return 0;
        struct Head {
            std::uint32_t buckets, first, bloom_words, shift;
        };
        const auto head = image_.at<Head>(*gnu_hash_);
        if (!head) return 0;
        const std::uint64_t buckets =
            *gnu_hash_ + sizeof(Head) + std::uint64_t{head->bloom_words} * 8;
        const std::uint64_t chains = buckets + std::uint64_t{head->buckets} * 4;
        std::uint64_t last = 0;
        for (std::uint64_t index = 0; index < head->buckets; ++index) {
            const auto bucket = image_.at<std::uint32_t>(buckets + index * 4);
            if (!bucket) return 0;
            last = std::max<std::uint64_t>(last, *bucket);
        }
        if (last < head->first) return head->first;
        // The lowest bit is set in the last entry of a chain.
        for (;; ++last) {
            const auto link = image_.at<std::uint32_t>(chains + (last - head->first) * 4);
            if (!link) return 0;
            if ((*link & 1u) != 0) return last + 1;
        }
    }

    void read_symbols(PluginFile& into) const {
        const std::uint64_t count = count_symbols();
        if (count > kMaxSymbols) refuse_damaged("its symbol table");
        for (std::uint64_t index = 1; index < count; ++index) {
            const auto symbol = image_.at<Elf64_Sym>(*symbols_ + index * sizeof(Elf64_Sym));
            if (!symbol) refuse_damaged("its symbol table");
            const unsigned binding = ELF64_ST_BIND(symbol->st_info);
            const unsigned visibility = ELF64_ST_VISIBILITY(symbol->st_other);
            if (symbol->st_shndx == SHN_UNDEF || binding == STB_LOCAL) continue;
            if (visibility == STV_HIDDEN || visibility == STV_INTERNAL) continue;
            // The name of a symbol version is an absolute symbol, not a function.
            if (symbol->st_shndx == SHN_ABS) continue;
            const auto name = image_.text(*texts_, texts_size_, symbol->st_name);
            if (!name) refuse_damaged("the name of a symbol");
            into.exported.emplace_back(*name);
        }
        std::sort(into.exported.begin(), into.exported.end());
        into.exported.erase(std::unique(into.exported.begin(), into.exported.end()),
                            into.exported.end());
    }

    const ElfImage& image_;
    const std::string& shown_;
    Elf64_Ehdr header_{};
    std::vector<Elf64_Phdr> loaded_;
    std::optional<Elf64_Phdr> dynamic_;
    std::optional<std::uint64_t> texts_;
    std::optional<std::uint64_t> symbols_;
    std::optional<std::uint64_t> hash_;
    std::optional<std::uint64_t> gnu_hash_;
    std::uint64_t texts_size_ = 0;
    std::uint64_t symbol_count_ = 0;
};

std::string read_library(const std::string& path, const std::string& shown) {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file) {
        throw Refused(
            fmt::format("cannot read {}: {}; give the plugin's library", shown, reason(errno)));
    }
    struct stat status {};
    if (fstat(file.get(), &status) != 0) {
        throw Refused(fmt::format("cannot read {}: {}", shown, reason(errno)));
    }
    if (S_ISDIR(status.st_mode)) {
        throw Refused(fmt::format("{} is a folder; give the library in it", shown));
    }
    if (!S_ISREG(status.st_mode)) {
        throw Refused(fmt::format("{} is not a regular file; give the plugin's library", shown));
    }
    if (static_cast<std::uint64_t>(status.st_size) > kMaxBytes) {
        throw Refused(fmt::format("{} is larger than 1 GiB, too large for a plugin", shown));
    }
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t have = 0;
    while (have < bytes.size()) {
        const ssize_t got = read(file.get(), bytes.data() + have, bytes.size() - have);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw Refused(fmt::format("cannot read {}: {}", shown, reason(errno)));
        if (got == 0) break;  // the file was truncated while it was read
        have += static_cast<std::size_t>(got);
    }
    bytes.resize(have);
    return bytes;
}

void find_metadata(PluginFile& file) {
    PluginMetadata& metadata = file.metadata;
    try {
        detail::Check check;
        nar_text* found = nullptr;
        check(nar_plugins_read_metadata(detail::to_c(file.path), &found, check.details()));
        const json::Document place = json::read(Text(found).view());
        const std::string_view beside = json::text(place, "file");
        metadata.source = beside.empty() ? "the section " NAR_PLUGIN_NOTE_SECTION
                                         : display_path(std::string(beside));
        if (json::count(place, "notes") > 1) {
            metadata.faults.push_back(
                "the section has more than one note; use NARRATORIA_PLUGIN (C++) or "
                "NAR_PLUGIN_NOTE (C) once per library");
        }
        const std::string_view text = json::text(place, "text");
        const json::Document faults =
            json::read(validate(Document::Plugin, text, Warnings::Listed).view());
        for (const json::Value& fault : faults.GetArray()) {
            const std::string_view pointer = json::text(fault, "pointer");
            metadata.faults.push_back(
                fmt::format("line {}, column {}: {}{}{}", json::count(fault, "line"),
                            json::count(fault, "column"), pointer, pointer.empty() ? "" : ": ",
                            json::text(fault, "message")));
        }
        const json::Document document = json::read(text);
        metadata.id = json::text(document, "id");
        metadata.name = json::text(document, "name");
        metadata.version = json::text(document, "version");
        metadata.abi = json::text(document, "abi");
        const json::Value* extensions = json::member(document, "extensions");
        if (extensions == nullptr || !extensions->IsArray()) return;
        for (const json::Value& one : extensions->GetArray()) {
            if (one.IsString()) metadata.extensions.emplace_back(one.GetString());
        }
    } catch (const Error& error) {
        metadata.faults.emplace_back(error.message());
    }
}

// True if plugin/1 metadata with this id and this extension is valid.
bool is_metadata_with(std::string_view id, std::string_view extension) {
    return validate(Document::Plugin,
                    fmt::format(R"({{"schema":"plugin/1","id":{},"name":"x","version":"x",)"
                                R"("abi":"1.0","extensions":[{}]}})",
                                json::quoted(id), json::quoted(extension)))
               .view() == "[]";
}

}  // namespace

PluginFile read_plugin_file(const std::string& given) {
    const auto began = std::chrono::steady_clock::now();
    const std::string shown = display_path(given);
    PluginFile file;
    file.path = absolute_path(given);
    const ElfImage image(read_library(file.path, shown));
    LibraryReader(image, shown).read(file);
    if (std::find(file.exported.begin(), file.exported.end(), NAR_PLUGIN_ENTRY) ==
        file.exported.end()) {
        throw Refused(
            fmt::format("{} is not a plugin: it does not export " NAR_PLUGIN_ENTRY
                        " (in C++ write NARRATORIA_PLUGIN(…) at file scope, in C mark the function "
                        "NAR_PLUGIN_EXPORT)",
                        shown));
    }
    find_metadata(file);
    file.metadata.milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
    return file;
}

bool is_plugin_id(std::string_view id) { return is_metadata_with(id, "x/1"); }

bool is_extension_id(std::string_view id) { return is_metadata_with("x", id); }

bool is_plain_utf8(std::string_view text) {
    return text.find('\0') == std::string_view::npos && !json::ill_formed_utf8(text);
}

}  // namespace narratoria::command::plugin_check
