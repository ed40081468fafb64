// SPDX-License-Identifier: Apache-2.0
#include "tool/runner/container_runner.hpp"

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
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "base/environment.hpp"
#include "base/hash.hpp"
#include "tool/project/container_program.hpp"
#include "tool/runner/process_call.hpp"

namespace narratoria::tool {
namespace {

constexpr std::string_view kPrefix = "narratoria-";
// The client's own failures: an unknown image, no daemon, a command that cannot start.
constexpr int kClientFailed = 125;
// How long a call, and the end of an engine, wait for the removal of a container.
constexpr uint32_t kRemovalMs = 5000;
// Before podman removes a container by force, it asks its process to end, for ten seconds.
constexpr const char* kRemove = R"("$0" kill "$@"; exec "$0" rm -f "$@")";
// Nobody notes when the client is gone, so this waits.
constexpr const char* kRemoveTwice =
    R"("$0" kill "$@" || { "$0" rm -f "$@"; sleep 1; "$0" kill "$@"; }; exec "$0" rm -f "$@")";

std::string line_of(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// The 22nd field of /proc/PID/stat; 0: there is no such process, or /proc hides those of others.
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

// True for variables that the client, the libraries in it and the Go runtime read themselves.
bool is_of_client(std::string_view name) {
    static constexpr std::string_view kNames[] = {"PATH",
                                                  "HOME",
                                                  "USER",
                                                  "LOGNAME",
                                                  "SHELL",
                                                  "TERM",
                                                  "LANG",
                                                  "TZ",
                                                  "PWD",
                                                  "TMPDIR",
                                                  "GODEBUG",
                                                  "GOGC",
                                                  "GOMAXPROCS",
                                                  "GOMEMLIMIT",
                                                  "GOTRACEBACK",
                                                  "NOTIFY_SOCKET",
                                                  "GLIBC_TUNABLES",
                                                  "REGISTRY_AUTH_FILE",
                                                  "REGISTRIES_CONFIG_PATH",
                                                  "RES_OPTIONS",
                                                  "LOCALDOMAIN",
                                                  "HOSTALIASES",
                                                  "IFS",
                                                  "ENV"};
    static constexpr std::string_view kBeginnings[] = {
        "LC_",    "LD_",       "XDG_",       "DOCKER_",  "BUILDKIT_", "BUILDX_",   "COMPOSE_",
        "PODMAN", "CONTAINER", "_CONTAINER", "BUILDAH_", "STORAGE_",  "NETAVARK_", "SSL_CERT_",
        "SSH_",   "DBUS_",     "LISTEN_",    "MALLOC_",  "GPG",       "GNUPG"};
    const auto begins = [&](std::string_view beginning) { return name.starts_with(beginning); };
    std::string lower(name);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
           std::any_of(std::begin(kBeginnings), std::end(kBeginnings), begins) ||
           lower.ends_with("_proxy");
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

// A run of the client beside the calls.
class ContainerRunner::Task : public process::Listener {
public:
    Task(ContainerRunner& runner, bool removes, std::function<void(std::string_view)> on_end)
        : is_removal(removes), runner_(runner), on_end_(std::move(on_end)) {}

    const bool is_removal;

    bool start(std::vector<std::string> arguments) {
        process_ =
            runner_.processes_->start_helper(std::move(arguments), runner_.environment_, *this);
        return process_ != nullptr;
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
        if (!check_coverage(uncovered.empty(), uncovered)) return true;
        runner_.remove_left_behind(runtime_);
        std::vector<std::string> arguments = {runtime_, "run", "--rm", "-i", "--name", name_};
        // Every process of this machine can read arguments. The client takes the value of a mere name
        // from its own environment.
        std::vector<std::string> environment = runner_.environment_;
        for (const auto& [name, value] : its.environment) {
            const bool is_argument = is_of_client(name);
            arguments.insert(arguments.end(), {"-e", is_argument ? name + "=" + value : name});
            if (!is_argument) set_variable(environment, name + "=" + value);
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
        is_running_ = start_process(arguments, request(false), environment, its.root, failure);
        return is_running_;
    }

private:
    // The end of the client does not end a container.
    void on_terminate() override { runner_.remove(runtime_, {name_}); }

    void on_exit(const process::Exit& exit) override {
        if (!was_cut_off(exit)) return ProcessCall::on_exit(exit);
        // Also after on_terminate(), which finds nothing as long as the client makes the container.
        exit_ = exit;
        timer_.start(kRemovalMs, [this] { end(); });
        runner_.remove(runtime_, {name_}, [this, here = std::weak_ptr<bool>(here_)] {
            // A task must not be destroyed by what it calls.
            if (here.expired()) return;
            processes().loop().defer([this, here] {
                if (!here.expired()) end();
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
               " says: " + said;
    }

    void complete(ToolCall& call) const override {
        call.container_runtime = runtime_.substr(runtime_.rfind('/') + 1);
    }

    ContainerRunner& runner_;
    const std::string name_;
    std::string runtime_;
    bool is_running_ = false;
    std::optional<process::Exit> exit_;  // of a call that ends after its container
    Timer timer_;
    const std::shared_ptr<bool> here_ = std::make_shared<bool>();
};

ContainerRunner::ContainerRunner(std::shared_ptr<ProcessRunner> processes)
    : processes_(std::move(processes)),
      name_(ContainerName::of_this_process()),
      environment_(project::environment_of_host()) {}

ContainerRunner::~ContainerRunner() {
    for (const auto& task : tasks_) {
        if (task->is_removal) processes_->pool().finish(task->release(), kRemovalMs);
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
