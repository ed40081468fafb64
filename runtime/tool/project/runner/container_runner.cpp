// SPDX-License-Identifier: Apache-2.0
#include "tool/project/runner/container_runner.hpp"
#include "base/lifetime.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/descriptor.hpp"
#include "base/hash.hpp"
#include "base/uuid.hpp"
#include "tool/project/container_program.hpp"
#include "tool/project/runner/process_call.hpp"

namespace narratoria::tool {
namespace {

constexpr std::string_view kPrefix = "narratoria-";
// Exit statuses from 125 to 127 are failures of the client itself: an unknown image, no daemon, a
// command that cannot start.
constexpr int kClientFailed = 125;
// How long a call waits for the removal of its container.
constexpr uint32_t kRemovalMs = 5000;
// Time limit of the clients that list and remove containers. It also applies when the engine ends,
// because no process removes the containers later.
constexpr uint32_t kTaskMs = 15000;
// The extension of variable files.
constexpr std::string_view kVariables = ".env";
constexpr size_t kLongestLine = 32 * 1024;
// Kills first, because `podman rm -f` sends SIGTERM and waits ten seconds.
constexpr const char* kRemove = R"("$0" kill "$@"; exec "$0" rm -f "$@")";
// The end of the client is not observed here, so this waits a second and removes again.
constexpr const char* kRemoveTwice =
    R"("$0" kill "$@" || { "$0" rm -f "$@"; sleep 1; "$0" kill "$@"; }; exec "$0" rm -f "$@")";

std::string line_of(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// Returns the start time of a process, the 22nd field of /proc/PID/stat. Returns 0 if the process
// does not exist, or if /proc hides the processes of other users.
uint64_t start_of(uint64_t process) {
    const std::string text = line_of("/proc/" + std::to_string(process) + "/stat");
    // The second field is a name in parentheses, which may have spaces and parentheses.
    const size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) return 0;
    std::istringstream fields(text.substr(name_end + 1));
    std::string field;
    for (int i = 0; i < 20; ++i) fields >> field;
    uint64_t started = 0;
    std::from_chars(field.data(), field.data() + field.size(), started);
    return started;
}

std::string this_machine() {
    struct stat space {};
    stat("/proc/self/ns/pid", &space);
    const std::string text =
        line_of("/proc/sys/kernel/random/boot_id") + "/" + std::to_string(space.st_ino);
    char out[17];
    std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(hash_text(text, 0)));
    return out;
}

bool take_number(std::string_view& text, uint64_t& number) {
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc()) return false;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return true;
}

// True if a line of an --env-file of docker and podman can hold the variable. The format cannot
// escape line breaks, docker refuses lines of 64 KiB, and a name must not look like a comment or a
// pattern.
bool fits_file(std::string_view name, std::string_view value) {
    const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0 || c == '_'; };
    const auto is_of_name = [&](unsigned char c) { return is_letter(c) || std::isdigit(c) != 0; };
    return is_letter(static_cast<unsigned char>(name.front())) &&
           std::all_of(name.begin(), name.end(), is_of_name) &&
           value.find_first_of("\r\n") == std::string_view::npos &&
           name.size() + value.size() <= kLongestLine;
}

// Returns an absolute path, because the client has a different working directory.
std::filesystem::path temporary_folder() {
    std::error_code failure;
    auto folder = std::filesystem::temp_directory_path(failure);
    if (!failure) folder = std::filesystem::absolute(folder, failure);
    return failure ? "/tmp" : folder;
}

// Unique among the engines and sessions of this process.
uint64_t next_number() {
    static std::atomic<uint64_t> last = 0;
    return ++last;
}

}  // namespace

ContainerName ContainerName::of_this_process() {
    const auto process = static_cast<uint64_t>(getpid());
    return {this_machine(), process, start_of(process)};
}

std::string ContainerName::text(uint64_t number) const {
    return std::string(kPrefix) + machine + "-" + std::to_string(process) + "-" +
           std::to_string(started) + "-" + std::to_string(number);
}

bool ContainerName::is_left_behind(std::string_view name) const {
    const std::string start = std::string(kPrefix) + machine + "-";
    uint64_t its_process = 0;
    uint64_t its_start = 0;
    if (!name.starts_with(start)) return false;
    name.remove_prefix(start.size());
    if (!take_number(name, its_process) || !name.starts_with('-')) return false;
    name.remove_prefix(1);
    if (!take_number(name, its_start) || !name.starts_with('-')) return false;
    if (its_process == 0 || its_process > INT_MAX) return false;
    if (const uint64_t now = start_of(its_process); now != 0) return now != its_start;
    return kill(static_cast<pid_t>(its_process), 0) != 0 && errno == ESRCH;
}

// A run of the client that is not a call: lists or removes containers.
class ContainerRunner::Task : public process::Listener {
public:
    Task(ContainerRunner& runner, bool removes, std::function<void(std::string_view)> on_end)
        : is_removal(removes),
          runner_(runner),
          on_end_(std::move(on_end)),
          time_(runner.processes_->loop()) {}

    const bool is_removal;

    bool start(std::vector<std::string> arguments) {
        process_ =
            runner_.processes_->start_helper(std::move(arguments), runner_.environment_, *this);
        if (process_ == nullptr) return false;
        // A hanging client must not keep the loop, and so the host, busy.
        time_.start(kTaskMs, [this] { process_->terminate(0); });
        return true;
    }
    std::unique_ptr<process::Process> release() { return std::move(process_); }
    void end() const {
        if (on_end_) on_end_(output_);
    }

private:
    void on_output(char* data, size_t size) override {
        if (output_.size() + size <= 1024 * 1024) output_.append(data, size);
    }
    void on_diagnostics(std::string_view) override {}
    void on_exit(const process::Exit&) override {
        end();
        // Last: it destroys this object.
        runner_.tasks_.remove_if([this](const auto& each) { return each.get() == this; });
    }

    ContainerRunner& runner_;
    const std::function<void(std::string_view)> on_end_;
    std::unique_ptr<process::Process> process_;
    std::string output_;
    Timer time_;
};

class ContainerRunner::Call : public ProcessCall {
public:
    Call(ContainerRunner& runner, const Invocation& invocation, AttemptListener& listener)
        : ProcessCall(*runner.processes_, invocation, listener),
          runner_(runner),
          name_(runner.name_.text(next_number())),
          timer_(processes().loop()) {}
    ~Call() override {
        if (is_running_ && !has_ended()) runner_.remove_twice(runtime_, name_);
        remove_variables();
    }

    bool start(StartFailure& failure) {
        const project::Binding& its = binding();
        std::string reason;
        runtime_ = project::find_container_program(runner_.environment_, reason);
        if (runtime_.empty()) {
            fail_soon("SPAWN_FAILED", "EnvironmentError", std::move(reason));
            return true;
        }
        const std::string uncovered = coverage_problem();
        Guarantees never;  // no container covers it, whatever its binding says
        if (guarantees().requires_one(Guarantee::NoSubprocess)) {
            never.require(Guarantee::NoSubprocess, guarantees().source_of(Guarantee::NoSubprocess));
        }
        if (!check_coverage(uncovered.empty(), uncovered, never.any() ? &never : nullptr)) {
            return true;
        }
        runner_.remove_left_behind(runtime_);
        std::vector<std::string> arguments = {runtime_, "run", "--rm", "-i", "--name", name_};
        // Every process of this machine can read arguments, so the variables are in a file. They
        // must not be in the client's own environment: BASH_ENV and others would run code there.
        std::string variables;
        for (const auto& [name, value] : its.environment) {
            const std::string variable = name + "=" + value;
            if (fits_file(name, value)) variables += variable + "\n";
            else arguments.insert(arguments.end(), {"-e", variable});
        }
        if (!variables.empty()) {
            if (!write_variables(variables)) return true;
            arguments.insert(arguments.end(), {"--env-file", variables_});
        }
        if (guarantees().requires_one(Guarantee::NoNetwork)) {
            arguments.emplace_back("--network=none");
        }
        if (guarantees().requires_one(Guarantee::NoFilesystemWrite)) {
            arguments.emplace_back("--read-only");
        }
        arguments.push_back(its.image);
        const std::vector<std::string> command = its.container_command();
        arguments.insert(arguments.end(), command.begin(), command.end());
        is_running_ =
            start_process(arguments, request(false), runner_.environment_, its.root, failure);
        return is_running_;
    }

private:
    // Returns false if the call has failed.
    bool write_variables(std::string_view text) {
        variables_ = temporary_folder() / (name_ + "-" + make_uuid() + std::string(kVariables));
        const Descriptor file(
            open(variables_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
        int error = file ? 0 : errno;
        while (error == 0 && !text.empty()) {
            const ssize_t written = write(file.get(), text.data(), text.size());
            if (written >= 0) text.remove_prefix(static_cast<size_t>(written));
            else if (errno != EINTR) error = errno;
        }
        if (error == 0) return true;
        fail_soon("SPAWN_FAILED", "EnvironmentError",
                  "the file for the variables of the tool \"" + binding().name +
                      "\" cannot be written: " + variables_ + ": " + std::strerror(error));
        return false;
    }
    void remove_variables() {
        if (!variables_.empty()) unlink(std::exchange(variables_, {}).c_str());
    }

    // The container does not end with its client.
    void on_terminate() override { runner_.remove(runtime_, {name_}); }

    void on_exit(const process::Exit& exit) override {
        remove_variables();
        if (!was_cut_off(exit)) return ProcessCall::on_exit(exit);
        // Needed even after on_terminate(), which finds nothing while the client is still creating
        // the container.
        exit_ = exit;
        timer_.start(kRemovalMs, [this] { end(); });
        runner_.remove(runtime_, {name_}, [this, life = lifetime_.watch()] {
            // A task must not be destroyed from its own callback, so end() is deferred.
            if (life.ended()) return;
            processes().loop().defer([this, life] {
                if (!life.ended()) end();
            });
        });
    }
    void end() {
        if (!exit_) return;
        timer_.stop();
        const process::Exit exit = *std::exchange(exit_, std::nullopt);
        ProcessCall::on_exit(exit);
    }

    std::string explain(int exit_status) const override {
        const std::string said = diagnostics();
        if (exit_status < kClientFailed || exit_status > kClientFailed + 2) return {};
        if (said.empty()) return {};
        return "the container of the tool \"" + binding().name + "\" could not start: " + runtime_ +
               " reports: " + said +
               (exit_status == kClientFailed
                    ? project::instead_of_docker(runtime_, runner_.environment_)
                    : std::string());
    }

    void complete(ToolCall& call) const override {
        call.container_runtime = runtime_.substr(runtime_.rfind('/') + 1);
    }

    ContainerRunner& runner_;
    const std::string name_;
    std::string runtime_;
    std::string variables_;  // the path of the variable file; empty if there is none
    bool is_running_ = false;
    std::optional<process::Exit> exit_;  // of a call that ends after its container
    Timer timer_;
    Lifetime lifetime_;
};

ContainerRunner::ContainerRunner(std::shared_ptr<ProcessRunner> processes)
    : processes_(std::move(processes)),
      name_(ContainerName::of_this_process()),
      environment_(project::environment_of_host()) {}

ContainerRunner::~ContainerRunner() {
    for (const auto& task : tasks_) {
        if (task->is_removal) processes_->pool().finish(task->release(), kTaskMs);
    }
}

std::unique_ptr<Attempt> ContainerRunner::begin(const Invocation& invocation,
                                                AttemptListener& listener, StartFailure& failure) {
    auto call = std::make_unique<Call>(*this, invocation, listener);
    if (!call->start(failure)) return nullptr;
    return call;
}

void ContainerRunner::start_task(std::vector<std::string> arguments, bool is_removal,
                                 std::function<void(std::string_view)> on_end) {
    auto& task = tasks_.emplace_back(std::make_unique<Task>(*this, is_removal, std::move(on_end)));
    if (task->start(std::move(arguments))) return;
    const std::unique_ptr<Task> ended = std::move(task);
    tasks_.pop_back();
    ended->end();
}

void ContainerRunner::remove(const std::string& runtime, const std::vector<std::string>& names,
                             std::function<void()> on_end) {
    std::vector<std::string> arguments = {"/bin/sh", "-c", kRemove, runtime};
    arguments.insert(arguments.end(), names.begin(), names.end());
    start_task(std::move(arguments), true, [end = std::move(on_end)](auto) {
        if (end) end();
    });
}

void ContainerRunner::remove_twice(const std::string& runtime, const std::string& name) {
    start_task({"/bin/sh", "-c", kRemoveTwice, runtime, name}, true, nullptr);
}

void ContainerRunner::remove_left_behind(const std::string& runtime) {
    if (std::exchange(has_looked_, true)) return;
    std::error_code failure;
    std::filesystem::directory_iterator entries(temporary_folder(), failure);
    for (; !failure && entries != std::filesystem::directory_iterator();
         entries.increment(failure)) {
        const std::string name = entries->path().filename();
        if (!name.ends_with(kVariables) || !name_.is_left_behind(name)) continue;
        unlink(entries->path().c_str());
    }
    start_task({runtime, "ps", "-a", "--filter", "name=^" + std::string(kPrefix), "--format",
                "{{.Names}}"},
               false, [this, runtime](std::string_view output) {
                   std::vector<std::string> names;
                   while (!output.empty()) {
                       const std::string_view line = output.substr(0, output.find('\n'));
                       output.remove_prefix(std::min(output.size(), line.size() + 1));
                       if (name_.is_left_behind(line)) names.emplace_back(line);
                   }
                   if (!names.empty()) remove(runtime, names);
               });
}

}  // namespace narratoria::tool
