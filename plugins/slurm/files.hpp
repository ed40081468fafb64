// SPDX-License-Identifier: Apache-2.0
#pragma once
// Brings the files of a tool back from a node that does not share the output folder.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace narratoria::slurm {

// The line of the script on the node that ends the tool's output; a line end precedes it. A tar of
// the tool's folder follows.
inline constexpr std::string_view kFilesFollow = "narratoria-files";
// After the tar: this, the status of tar, and on further lines its messages.
inline constexpr std::string_view kTarStatus = "narratoria-tar ";

// Takes what the script prints after its first line. The runtime reads an asset's file when it gets
// the event, so lines are held back from the first one on that names the node's folder, or is
// `done`: after `done` a tool has little time left. Engine thread only.
class Files {
public:
    // `on_node`: the tool's folder there. `here`: the output folder. `name`: of the folder in it
    // that the files come to, so that attempts do not replace files of each other. `most_bytes`: of
    // what is held.
    Files(std::string on_node, std::string here, std::string name, std::uint64_t most_bytes);

    // Returns the output that goes on to the host at once.
    std::string take(std::string_view bytes);
    // True if the tool has sent more than the limit. It must be ended.
    bool is_too_much() const { return held_.size() + archive_.size() > most_bytes_; }

    // The tool has ended: unpacks the files. Returns the error; empty: all are here.
    std::string unpack() const;
    // Returns the lines that were held, with the paths of this machine.
    std::string held() const;

private:
    const std::string on_node_;
    const std::string escaped_on_node_;  // with \/, as some writers of JSON write /
    const std::string here_;
    const std::string name_;
    const std::uint64_t most_bytes_;
    bool is_holding_ = false;
    bool is_archive_ = false;
    std::string held_;  // lines, of which the last one may be incomplete
    std::string archive_;
};

}  // namespace narratoria::slurm
