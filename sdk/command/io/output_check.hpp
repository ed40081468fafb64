// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a command may write, decided before anything runs: no two outputs are one file, none is a file
// that the command reads, and none replaces a file of the project or the story that it works with.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::command {

// What files of earlier runs begin with. They may be replaced, also inside a project.
using Beginnings = std::initializer_list<std::string_view>;

class OutputCheck {
public:
    // `name`: what the message calls it. "-" is standard input.
    void reads(const std::string& path, std::string_view name);
    // A project or a story; empty: none. An output in this folder must be new or of an earlier run.
    void belongs_to(const std::string& folder);

    // Both throw Refused. An output without an identity is a device, which takes any number of them.
    void writes(std::string_view option, const std::string& path, const std::string& identity,
                Beginnings earlier);
    void writes_standard_output();

private:
    struct Taken {
        std::string identity;
        std::string name;
    };
    struct Folder {
        std::string path;
        std::string shown;
        bool takes_nothing;
    };

    void take(const std::string& identity, std::string_view name, std::string_view shown);

    std::vector<Taken> taken_;
    std::vector<Folder> folders_;
};

}  // namespace narratoria::command
