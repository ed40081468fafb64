// SPDX-License-Identifier: Apache-2.0
#include "io/faults.hpp"

#include <fmt/core.h>

#include "display.hpp"
#include "io/message.hpp"

namespace narratoria::command {

std::vector<std::string> fault_lines(const json::Value& faults, const std::string& display_name) {
    std::vector<std::string> lines;
    if (!faults.IsArray()) return lines;
    // The prefix for the files of a story.
    std::string folder = display_name == "." || display_name == "./" ? std::string() : display_name;
    if (!folder.empty() && folder.back() != '/') folder += '/';
    for (const json::Value& fault : faults.GetArray()) {
        const std::string_view own_file = json::text(fault, "file");
        const std::string_view pointer = json::text(fault, "pointer");
        const bool is_elsewhere = own_file.starts_with('/');  // a built-in pack
        std::string line = own_file.empty() ? display_name
                           : is_elsewhere   ? printable(own_file)
                                            : folder + printable(own_file);
        const std::uint64_t number = json::count(fault, "line");
        if (number > 0) {
            line += fmt::format(":{}", number);
            if (const std::uint64_t column = json::count(fault, "column"); column > 0) {
                line += fmt::format(":{}", column);
            }
        }
        if (!line.empty()) line += ": ";
        if (json::text(fault, "level") == "warning") line += "warning: ";
        // No pointer for a fault of the whole file, or of a script.
        if (number > 0 && !own_file.ends_with(".nuwa")) {
            line += (pointer.empty() ? "(root)" : printable(pointer)) + ": ";
        }
        line += fmt::format("{} [{}]", printable(json::text(fault, "message")),
                            printable(json::text(fault, "rule")));
        lines.push_back(std::move(line));
    }
    return lines;
}

void refuse_document(const Error& error, const std::string& display_name, std::string_view what,
                     std::string_view unchanged) {
    if (error.status() != NAR_INVALID_DOCUMENT) throw Refused(printable(error.message()));
    const json::Document faults = json::read(error.details());
    std::vector<std::string> lines = fault_lines(faults, display_name);
    if (lines.empty()) {
        throw Refused(
            fmt::format("{}: {}; {}", display_name, printable(error.message()), unchanged));
    }
    const std::size_t count = lines.size();
    throw Refused(fmt::format("the {} in {} has {}; {}; correct the faults above and try again",
                              what, display_name, counted(count, "fault"), unchanged),
                  std::move(lines));
}

void refuse_session(const Error& error, const std::string& story, const std::string& project,
                    std::string_view unchanged) {
    if (error.code().starts_with("STORE_")) throw Refused(printable(error.message()));
    if (error.code() == "PROJECT") {
        refuse_document(error, display_path(project.empty() ? story : project), "project",
                        unchanged);
    }
    refuse_document(error, display_path(story), "story", unchanged);
}

}  // namespace narratoria::command
