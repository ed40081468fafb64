// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files that the command reads and writes. A path is bytes, not text: messages escape it, system
// calls get it unchanged.

#include <optional>
#include <string>
#include <string_view>

namespace narratoria::command {

// Owns a file descriptor.
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

// Opens /dev/null for each closed descriptor from 0 to 2, in the mode in which its normal use fails
// (read-only for outputs). Otherwise a file of the command could get the number.
void reserve_standard_streams();

// Throws Refused if standard output is closed or not writable. Call it before running anything.
// `what` is to be written to it.
void require_standard_output(std::string_view what,
                             std::string_view advice = "redirect it to a file or a terminal");

// Writes all of `text` to standard output. Throws ReaderGone if the reader has closed the pipe, and
// Failed, with `what` in the message, for other errors.
void print_output(std::string_view text, std::string_view what);

// The same, but returns false and drops the rest if a signal has arrived and the reader does not
// read: a stuck reader must not delay the first Ctrl-C.
bool print_unless_interrupted(std::string_view text, std::string_view what);

// Throws Refused unless `path` is a regular file or does not exist: opening a FIFO would block, and a
// device cannot be replaced.
void require_regular_file(const std::string& path, std::string_view what);

// Follows a chain of symbolic links. The result need not exist. Throws Refused for a loop.
std::string final_target(const std::string& path, std::string_view what);

// A text that is equal for two paths to the same file, even through links. For "-", the identity
// of standard input. Empty if it is not a regular file.
std::string identity_of_input(const std::string& path);

// The absolute path of the file, without symbolic links. The file need not exist.
std::string real_path_of_output(const std::string& path, std::string_view what);

// Reads a whole file, or standard input for "-". Throws Refused; `what` names the document.
std::string read_document(const std::string& path, std::string_view what);

// The same, but returns nothing if the file does not exist.
std::optional<std::string> read_document_if_there(const std::string& path, std::string_view what);

// The absolute folder against which relative tool paths of the plan in `path` are resolved: the
// plan's folder, or the working folder for standard input and pipes.
std::string folder_of_document(const std::string& path);

// Makes a path absolute without following links. Throws Refused if the working folder does not
// exist.
std::string absolute_path(const std::string& path);

// The folder in an environment variable, such as HOME. Ignores a relative path, as the XDG
// specification requires.
std::optional<std::string> folder_of_variable(const char* name);

// Replaces a file atomically: writes go to a nameless file in the same folder, which commit() gives
// the name. Until then, and if the process dies, the old file is unchanged. Follows symbolic links
// and keeps the mode. A file that is not regular (a pipe, a device), and an inherited descriptor
// (/dev/stdout, /dev/fd/3), is written directly, without truncation or renaming.
class Replacement {
public:
    enum class Durability {
        Atomic,   // readers see either the old or the new file
        Durable,  // the same, even after a power failure
    };

    // Throws Refused if the file cannot be replaced, so that this is detected before anything runs.
    Replacement(const std::string& path, std::string_view what, Durability durability);
    Replacement(Replacement&&) = delete;
    ~Replacement();

    int descriptor() const noexcept { return file_.get(); }
    const std::string& shown() const noexcept { return shown_; }

    // Equal for two paths to the same file, as identity_of_input(). The file need not exist. Empty
    // for a device and for a standard stream under /dev.
    const std::string& identity() const noexcept { return identity_; }

    // Throws Failed and then leaves the old file unchanged.
    void commit();

private:
    void open_nameless();
    std::string fresh_name() const;

    std::string shown_;
    std::string what_;
    Durability durability_;
    std::string identity_;
    std::string base_;
    std::string visible_name_;  // of the new file, if the file system lacks O_TMPFILE
    Descriptor folder_;
    Descriptor file_;
    bool direct_ = false;
};

// Removes the new files that Replacement could not make nameless. Async-signal-safe.
void forget_replacements_in_signal() noexcept;

// A file to which lines are appended during a run. Only start() drops the old content, so that a
// refused plan leaves it unchanged. Treats devices, pipes and inherited descriptors as Replacement.
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
    // Writes the buffered lines. The first failure is reported on standard error and stops the
    // writing.
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
