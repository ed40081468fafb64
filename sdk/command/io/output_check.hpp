// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks the outputs of a command before anything runs: no two outputs may be the same file, and no
// output may be a file that the command reads, or replace a file of its project or story.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::command {

// The first bytes of files from earlier runs, which may be replaced even inside a project.
using Beginnings = std::initializer_list<std::string_view>;

class OutputCheck {
public:
    // `name` is used in messages. "-" is standard input.
    void add_input(const std::string& path, std::string_view name);
    // The folder of a project or a story, or empty. An output in it must be new or from an earlier
    // run.
    void add_folder(const std::string& folder);

    // Both throw Refused. An output without an identity is a device, which several outputs may
    // share.
    void add_output(std::string_view option, const std::string& path, const std::string& identity,
                    Beginnings earlier);
    void add_standard_output();

private:
    struct UsedFile {
        std::string identity;
        std::string name;
    };
    struct Folder {
        std::string path;
        std::string shown;
        bool is_read_only;
    };

    void claim(const std::string& identity, std::string_view name, std::string_view shown);

    std::vector<UsedFile> used_files_;
    std::vector<Folder> folders_;
};

}  // namespace narratoria::command
