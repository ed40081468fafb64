// SPDX-License-Identifier: Apache-2.0
#include "tool/manifest.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <vector>

#include "base/descriptor.hpp"
#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "base/strict_keys.hpp"
#include "tool/tool_schema.hpp"

namespace narratoria::tool {
namespace {

using json::Value;

constexpr size_t kMaxEntries = 1000;
// Each costs a copy of its part of the state for each attempt.
constexpr size_t kMaxPointers = 100;

class ManifestReader {
public:
    // `stem`: the NAME of the file NAME.tool.json, or empty.
    ManifestReader(const json::Document& document, std::string_view stem, Manifest& out,
                   Faults& faults)
        : document_(document), stem_(stem), out_(out), faults_(faults) {}

    void read() {
        const Value root = document_.root();
        if (!root.is_object()) {
            fault(root, "manifest-type", "a manifest must be a JSON object");
            return;
        }
        allow(root, {"$schema", "name", "description", "input", "result", "parameters", "returns",
                     "times", "limits", "resources", "repeatable", "state"});
        read_name(root);
        read_text(root, "$schema", nullptr);
        read_text(root, "description", &out_.description);
        out_.input = read_schema(root.find("input"));
        out_.result = read_schema(root.find("result"));
        read_tool_schema(root);
        if (const Value repeatable = root.find("repeatable")) {
            if (!repeatable.is_boolean()) {
                fault(repeatable, "manifest-type", "\"repeatable\" must be true or false");
            } else {
                out_.repeatable = repeatable.boolean();
            }
        }
        if (const Value times = object(root, "times")) {
            allow(times, {"try_ms"});
            if (const auto value = number(times.find("try_ms"), 0, UINT32_MAX)) {
                out_.try_ms = static_cast<uint32_t>(*value);
            }
        }
        if (const Value limits = object(root, "limits")) {
#define NARRATORIA_LIMIT(name, type, least, text) #name,
            allow(limits, {NAR_PROCESS_LIMIT_LIST(NARRATORIA_LIMIT) "line_bytes"});
#undef NARRATORIA_LIMIT
#define NARRATORIA_LIMIT(name, type, least, text) \
    out_.limits.name =                            \
        number(limits.find(#name), least, uint64_t{std::numeric_limits<type>::max()});
            NAR_PROCESS_LIMIT_LIST(NARRATORIA_LIMIT)
            NARRATORIA_LIMIT(line_bytes, uint64_t, 1, "")
#undef NARRATORIA_LIMIT
        }
        read_resources(object(root, "resources"));
        if (const Value state = root.find("state")) read_state(state);
    }

private:
    size_t byte_of(Value value) const {
        return static_cast<size_t>(value.raw().data() - document_.text().data());
    }
    void fault(Value at, const char* rule, std::string message) {
        faults_.push_back({rule, json::pointer_to(document_.root(), at.index()), byte_of(at),
                           std::move(message), ""});
    }

    void allow(Value object, KnownKeys known) {
        for (const json::Member member : object.members()) {
            if (known.has(member.key)) continue;
            fault(member.value, "manifest-key-unknown",
                  json::quoted(member.key) + " is not a key of a manifest" +
                      known.suggestion(member.key));
        }
    }

    void read_name(Value root) {
        const Value name = root.find("name");
        if (!name) return;
        const auto fits = [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   c == '_' || c == '-';
        };
        if (!name.is_string() || name.text().empty() ||
            !std::all_of(name.text().begin(), name.text().end(), fits)) {
            fault(name, "manifest-name", "\"name\" must consist of letters, digits, _ and -");
            return;
        }
        if (!stem_.empty() && name.text() != stem_) {
            fault(name, "manifest-name",
                  "\"name\" is " + json::quoted(name.text()) + " but must be " +
                      json::quoted(stem_) + ", as in the name of the file");
        }
    }

    void read_text(Value object, const char* name, std::string* out) {
        const Value value = object.find(name);
        if (!value) return;
        if (!value.is_string()) {
            fault(value, "manifest-type", json::quoted(name) + " must be a string");
        } else if (out != nullptr) {
            *out = value.text();
        }
    }

    // What a runner of other machines asks them for; processes on this machine ignore it.
    void read_resources(Value resources) {
        if (!resources) return;
        allow(resources, {"cpus", "memory_bytes", "gpus", "partition", "time_seconds"});
        for (const char* const each : {"cpus", "memory_bytes", "time_seconds"}) {
            number(resources.find(each), 1, uint64_t{INT64_MAX});
        }
        number(resources.find("gpus"), 0, uint64_t{INT64_MAX});
        std::string name;
        read_text(resources, "partition", &name);
        const Value partition = resources.find("partition");
        if (partition && partition.is_string() &&
            (name.empty() || name.find('\0') != std::string::npos)) {
            fault(partition, "manifest-range",
                  "\"partition\" must be a name, without NUL characters");
        }
        // The reader of a runner may take only plain digits for an integer, not 8e9 or 4.0.
        json::ObjectWriter out(out_.resources);
        for (const json::Member member : resources.members()) {
            if (const auto integer = member.value.integer()) out.number(member.key, *integer);
            else out.raw(member.key, member.value.raw());
        }
        out.end();
    }

    void read_state(Value state) {
        if (!state.is_array()) {
            fault(state, "manifest-type", "\"state\" must be an array of JSON Pointers");
            return;
        }
        for (const Value each : state.elements()) {
            if (out_.state.size() == kMaxPointers) {
                return fault(state, "manifest-range", "\"state\" has more than 100 JSON Pointers");
            }
            if (each.is_string() && json::is_pointer(each.text())) {
                out_.state.emplace_back(each.text());
                continue;
            }
            fault(each, "manifest-pointer",
                  "must be a JSON Pointer such as \"/torch/lit\", or \"\" for the whole state");
        }
    }

    Value object(Value root, const char* name) {
        const Value value = root.find(name);
        if (!value || value.is_object()) return value;
        fault(value, "manifest-type", json::quoted(name) + " must be an object");
        return {};
    }

    std::optional<uint64_t> number(Value value, uint64_t least, uint64_t most) {
        if (!value) return std::nullopt;
        const auto integer = value.integer();
        if (!integer || *integer < 0 || static_cast<uint64_t>(*integer) < least ||
            static_cast<uint64_t>(*integer) > most) {
            fault(value, "manifest-range",
                  "must be a whole number from " + std::to_string(least) +
                      (most >= uint64_t{INT64_MAX} ? "" : " to " + std::to_string(most)));
            return std::nullopt;
        }
        return static_cast<uint64_t>(*integer);
    }

    std::shared_ptr<const Schema> read_schema(Value value) {
        if (!value) return nullptr;
        const size_t before = faults_.size();
        auto schema = Schema::compile(value.raw(), faults_);
        // The faults are relative to the schema.
        const std::string pointer = json::pointer_to(document_.root(), value.index());
        const auto place = [&](Fault& fault) {
            fault.pointer = pointer + fault.pointer;
            fault.byte += byte_of(value);
        };
        for (size_t i = before; i < faults_.size(); ++i) place(faults_[i]);
        if (schema == nullptr) return schema;
        for (Fault warning : schema->misspelled()) {
            place(warning);
            out_.warnings.push_back(std::move(warning));
        }
        return schema;
    }

    // Reads "parameters" and "returns", the form of spec 002 for "input" and "result".
    void read_tool_schema(Value root) {
        const Value parameters = root.find("parameters");
        const Value returns = root.find("returns");
        if (!parameters && !returns) return;
        for (const char* name : {"input", "result"}) {
            if (!root.find(name)) continue;
            fault(root.find(name), "manifest-schema-twice",
                  json::quoted(name) +
                      " is JSON Schema, but \"parameters\" and \"returns\" are the form of spec "
                      "002; use only one of the forms");
            return;
        }
        if (!parameters) {
            fault(returns, "manifest-schema-twice", "\"returns\" also needs \"parameters\"");
            return;
        }
        ToolSchema schema;
        if (!schema.read(root, "", faults_)) return;
        ToolSchema::Compiled compiled = schema.compile(faults_);
        out_.input = std::move(compiled.input);
        out_.result = std::move(compiled.result);
        out_.result_is_advice = true;
    }

    const json::Document& document_;
    const std::string_view stem_;
    Manifest& out_;
    Faults& faults_;
};

// Reads a regular file. Refuses other files because they could block.
bool read_file(const std::string& path, std::string& text, struct stat& status,
               std::string& problem) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file || ::fstat(file.get(), &status) != 0) {
        problem = std::string("it cannot be opened: ") + std::strerror(errno);
        return false;
    }
    if (!S_ISREG(status.st_mode)) {
        problem = "it is not a regular file";
        return false;
    }
    char buffer[4 * 1024];  // small: the stack of a host's thread may be
    for (;;) {
        const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
        if (got == 0) return true;
        if (got < 0) {
            if (errno == EINTR) continue;
            problem = std::string("it cannot be read: ") + std::strerror(errno);
            return false;
        }
        text.append(buffer, static_cast<size_t>(got));
        if (text.size() > Manifest::kMaxBytes) {
            problem = "it is larger than " + std::to_string(Manifest::kMaxBytes >> 20) + " MiB";
            return false;
        }
    }
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::string_view stem_of(std::string_view path) {
    const std::string_view name = base_name(path);
    const size_t dot = name.rfind('.');
    return dot == std::string_view::npos || dot == 0 ? name : name.substr(0, dot);
}

bool Manifest::parse(std::string_view text, Faults& faults, std::string_view stem) {
    const size_t before = faults.size();
    json::Document document;
    json::ParseError error;
    if (!document.parse(text, error)) {
        faults.push_back({json::rule_of(error.kind), "", error.byte, error.message, ""});
        return false;
    }
    ManifestReader(document, stem, *this, faults).read();
    return faults.size() == before;
}

std::string manifest_path(std::string_view tool) {
    std::string path(tool.substr(0, tool.size() - base_name(tool).size()));
    path += stem_of(tool);
    path += kManifestEnding;
    return path;
}

bool read_manifest(const std::string& path, std::string& text, std::string& problem) {
    struct stat status {};
    if (read_file(path, text, status, problem)) return true;
    problem = "the manifest " + json::quoted(path) + " cannot be read: " + problem;
    return false;
}

std::shared_ptr<const Definition> ManifestFiles::definition_of(const std::string& tool,
                                                               std::string& problem) {
    const std::string path = manifest_path(tool);
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
        entries_.erase(tool);
        // A name that is too long for a manifest may also be too long for the tool; its start
        // reports that.
        if (errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG) {
            problem = "the tool's manifest " + json::quoted(path) +
                      " cannot be used: " + std::strerror(errno);
        }
        return file_definition(tool);
    }
    const auto changed = [](const struct stat& of) {
        return int64_t{of.st_mtim.tv_sec} * 1'000'000'000 + of.st_mtim.tv_nsec;
    };
    if (const auto known = entries_.find(tool); known != entries_.end()) {
        const Entry& entry = known->second;
        if (entry.device == status.st_dev && entry.number == status.st_ino &&
            entry.size == status.st_size && entry.changed_ns == changed(status)) {
            problem = entry.problem;
            return entry.definition;
        }
    }
    std::string text;
    Manifest manifest;
    Faults faults;
    if (read_file(path, text, status, problem) && !manifest.parse(text, faults, stem_of(tool))) {
        problem = describe_faults(faults, text);
        std::replace(problem.begin(), problem.end(), '\n', ' ');
    }
    std::shared_ptr<const Definition> definition;
    if (problem.empty()) {
        auto made = std::make_shared<Definition>(*file_definition(tool));
        made->description = std::move(manifest.description);
        made->input = std::move(manifest.input);
        made->result = std::move(manifest.result);
        made->result_is_advice = manifest.result_is_advice;
        made->try_ms = manifest.try_ms;
        made->repeatable = manifest.repeatable;
        made->limits = manifest.limits;
        made->resources = std::move(manifest.resources);
        made->state = std::move(manifest.state);
        definition = std::move(made);
    } else {
        problem = "the tool's manifest " + json::quoted(path) + " cannot be used: " + problem;
        definition = file_definition(tool);
    }
    if (entries_.size() >= kMaxEntries) entries_.clear();
    entries_[tool] = {status.st_dev,   status.st_ino, status.st_size,
                      changed(status), definition,    problem};
    return definition;
}

}  // namespace narratoria::tool
