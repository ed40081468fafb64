// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files that the command reads and writes. A path is bytes, not text: it is shown printable, and
// used as it was given.

#include <optional>
#include <string>
#include <string_view>

namespace narratoria::command {

// Owns a descriptor.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int descriptor) noexcept : descriptor_(descriptor) {}
    Descriptor(Descriptor&& other) noexcept : descriptor_(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept;
    ~Descriptor() { reset(); }

    int get() const noexcept { return descriptor_; }
    explicit operator bool() const noexcept { return descriptor_ >= 0; }
    int release() noexcept;
    void reset() noexcept;

private:
    int descriptor_ = -1;
};

// Descriptors 0 to 2 that are closed get an opened end that refuses (reading for an output, writing
// for the input), so that no file of ours takes their number and a use of them fails as it should.
void hold_standard_streams();

// Throws Refused when standard output is closed or cannot be written, before anything was run for it.
void require_standard_output(std::string_view instead);

// Writes all of `text` to standard output. Throws Failed, with `what` in the message, when that
// fails; ReaderGone when the reader of a pipe has closed it.
void print_output(std::string_view text, std::string_view what);

// The same, but when a signal has come and nobody reads on, the rest is dropped: false. A reader that
// is stuck must not keep the first Ctrl-C from taking effect.
bool print_unless_interrupted(std::string_view text, std::string_view what);

// Throws Refused unless `path` is a regular file or does not exist: opening a FIFO would block, and a
// device cannot be replaced.
void require_regular_file(const std::string& path, std::string_view what);

// The path that a chain of symbolic links ends in, which need not exist. Throws Refused for a loop.
std::string final_target(const std::string& path, std::string_view what);

// The same text for two paths that lead to the same file, also through links; for "-", that of the
// file that is standard input. Empty for what is no regular file.
std::string identity_of_input(const std::string& path);

// The absolute path of the file that `path` leads to, which need not exist, without links.
std::string real_path_of_output(const std::string& path, std::string_view what);

// The whole of a file, or of standard input for "-". Throws Refused; `what` names the document.
std::string read_document(const std::string& path, std::string_view what);

// As above; nothing when there is no such file.
std::optional<std::string> read_document_if_there(const std::string& path, std::string_view what);

// The folder that relative tool paths of a plan in `path` belong to, absolute. Standard input and
// pipes have none: the working folder.
std::string folder_of_document(const std::string& path);

// Absolute, without following anything. Throws Refused when the working folder is gone.
std::string absolute_path(const std::string& path);

// The folder that an environment variable names, such as HOME. By the XDG specification a relative path
// counts as none.
std::optional<std::string> folder_of_variable(const char* name);

// A file that is replaced as a whole or not at all: what is written goes to a nameless file in the
// same folder, which takes the name in commit(). Until then, and when the process dies, the old
// file stands as it was. A symbolic link is followed, and the mode kept. What is no regular file (a
// pipe, a device), and a descriptor that was given to the command (/dev/stdout, /dev/fd/3), is written
// to directly: nothing is truncated or renamed.
class Replacement {
public:
    enum class Durability {
        ForReaders,  // whoever opens the file sees the old or the new one
        ForPower,    // also after a power cut
    };

    // Throws Refused when the file cannot be replaced: this is found out before anything runs.
    Replacement(const std::string& path, std::string_view what, Durability durability);
    Replacement(Replacement&&) = delete;
    ~Replacement();

    int descriptor() const noexcept { return file_.get(); }
    const std::string& shown() const noexcept { return shown_; }

    // The same for two paths that lead to the same file, as identity_of_input(); it need not exist.
    // Empty for a device and a standard stream under /dev.
    const std::string& identity() const noexcept { return identity_; }

    // Throws Failed; the old file then stands as it was.
    void commit();

private:
    void open_nameless();
    std::string fresh_name() const;

    std::string shown_;
    std::string what_;
    Durability durability_;
    std::string identity_;
    std::string base_;
    std::string visible_name_;  // of the new file, where the file system has no nameless ones
    Descriptor folder_;
    Descriptor file_;
    bool direct_ = false;
};

// Removes, from a signal handler, the files that Replacement could not make nameless.
void forget_replacements_in_signal() noexcept;

// A file of lines that grows while something runs. What it held before is dropped by start(), not
// before: a refused plan leaves it as it was. Devices, pipes and given descriptors: as Replacement.
class LineFile {
public:
    // Throws Refused.
    LineFile(const std::string& path, std::string_view what);
    LineFile(LineFile&&) = delete;
    ~LineFile();

    const std::string& identity() const noexcept { return identity_; }
    void start();
    void append(std::string_view line) {
        buffer_.append(line);
        buffer_ += '\n';
        if (started_ && buffer_.size() >= kBatch) flush();
    }
    // Writes what is collected. The first failure is told on standard error and ends the writing.
    void flush();
    bool failed() const noexcept { return failed_; }

private:
    static constexpr std::size_t kBatch = 256 * 1024;

    std::string path_;
    std::string what_;
    std::string identity_;
    Descriptor file_;
    std::string buffer_;
    bool is_given_ = false;
    bool created_ = false;
    bool started_ = false;
    bool failed_ = false;
};

}  // namespace narratoria::command
