// SPDX-License-Identifier: Apache-2.0
#include "slurm/step.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace narratoria::slurm {
namespace {

constexpr std::string_view kStarted = "narratoria-step ";
constexpr std::string_view kTimesFollow = "narratoria-times\n";
constexpr std::string_view kMemory = "narratoria-memory=";
// After the times come only the messages of srun about the step's end.
constexpr std::size_t kHeldDiagnostics = 4096;

// A step usually begins within a few hundredths of a second. The controller holds the request of
// one that has to wait, and srun writes the reason only after up to a minute.
constexpr std::chrono::seconds kLate(2);

// The script on the node; kOwnFolder, kNeedsFolder and kFiles only if the node does not share the
// output folder, else kSharedFolder.
//
// TMPDIR is that of the host, which the node may not have. A tool may resolve links in the path
// that it gets, so it gets one without. The shell runs the trap of EXIT after a signal only if it
// handles the signal.
constexpr const char* kOwnFolder =
    "made=$(mktemp -d 2>/dev/null) || { unset TMPDIR; made=$(mktemp -d); } &&\n"
    "trap 'rm -rf \"$made\"' EXIT && files=$(cd \"$made\" && pwd -P)\n"
    "trap 'exit 143' TERM\n"
    "export NARRATORIA_OUTPUT_DIR=\"$files\"\n";
constexpr const char* kSharedFolder = "[ ! -w \"$NARRATORIA_OUTPUT_DIR\" ] || files=shared\n";
constexpr const char* kPlace =
    "printf 'narratoria-step %s.%s %s %s\\n' \"$SLURM_JOB_ID\" \"$SLURM_STEP_ID\" "
    "\"$SLURMD_NODENAME\" \"$files\"\n";
constexpr const char* kNeedsFolder = "[ \"$files\" ] || exit 1\n";
// A shell cannot measure the memory of a child process; GNU time can. If the file is a link, it is
// the time of busybox, which has other options.
constexpr const char* kMeasure =
    "measure=\n"
    "[ ! -x /usr/bin/time ] || [ -L /usr/bin/time ] ||\n"
    "  measure='/usr/bin/time -q -f narratoria-memory=%M'\n";
// The limits are those of the tool, not of tar.
constexpr const char* kTool = "exec $measure \"$@\" )\n";
constexpr const char* kTimes =
    "status=$?\n"
    "{ echo narratoria-times; times; } >&2\n";
// After the tar follow its status and its messages.
constexpr const char* kFiles =
    "printf '\\nnarratoria-files\\n'\n"
    "{\n"
    "  said=$(tar -c -f - --format=gnu -C \"$files\" . 2>&1 >&3)\n"
    "  printf 'narratoria-tar %s\\n%s\\n' $? \"$said\"\n"
    "} 3>&1\n";
constexpr const char* kEnd = "exit $status\n";

std::string script_of(const Step::Request& request) {
    const bool has_own_folder = !request.output_folder.empty();
    std::string out = "files=\n";
    out += has_own_folder ? kOwnFolder : kSharedFolder;
    out += kPlace;
    if (has_own_folder) out += kNeedsFolder;
    out += kMeasure;
    out.append("( ").append(request.limits).append(kTool).append(kTimes);
    if (has_own_folder) out += kFiles;
    return out + kEnd;
}

// Removes the first line, without its end, from `text`; nothing if no line is complete.
std::optional<std::string_view> take_line(std::string_view& text) {
    const std::size_t end = text.find('\n');
    if (end == text.npos) return std::nullopt;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    return line;
}

// "1m2.345s"
std::chrono::microseconds time_of(std::string_view text) {
    unsigned minutes = 0;
    double seconds = 0;
    const char* const end = text.data() + text.size();
    const auto [after, error] = std::from_chars(text.data(), end, minutes);
    if (error != std::errc() || after == end || *after != 'm') return {};
    std::from_chars(after + 1, end, seconds);
    return std::chrono::microseconds(static_cast<std::int64_t>((minutes * 60 + seconds) * 1e6));
}

}  // namespace

Step::Step(const plugin::Host& host, const Request& request, Events events)
    : events_(std::move(events)),
      output_folder_(request.output_folder),
      most_file_bytes_(request.most_file_bytes) {
    plugin::Program program;
    // Not --unbuffered: the tool would write to a terminal, and when a step ends Slurm drops what its
    // daemon has not read of it (5 of 1200 tools lost lines; none with a pipe, as tools have here).
    program.arguments = {"srun", "--jobid=" + std::to_string(request.job)};
    program.arguments.insert(program.arguments.end(), request.options.begin(),
                             request.options.end());
    for (const std::string& each :
         {std::string("--nodes=1"), std::string("--ntasks=1"), std::string("--"), std::string("sh"),
          std::string("-c"), script_of(request), std::string("sh"), request.path}) {
        program.arguments.push_back(each);
    }
    program.environment = request.environment;
    program.folder = request.folder;
    plugin::ProcessEvents of_srun;
    of_srun.on_output = [this](std::string_view bytes) { take_output(bytes); };
    of_srun.on_diagnostics = [this](std::string_view bytes) { take_diagnostics(bytes); };
    of_srun.on_exit = [this](const plugin::ProcessExit& exit) {
        take_times();
        plugin::ProcessExit last = exit;
        bring_files(last);
        const auto on_exit = events_.on_exit;
        on_exit(last);
    };
    srun_ = plugin::Process(host, program, std::move(of_srun));
    srun_.write(request.input);
    srun_.close_input();
    late_ = plugin::Timer(host, kLate, [this] {
        say_pending("it has not begun after " + std::to_string(kLate.count()) +
                    " s; its resources may be in use");
    });
}

void Step::say_pending(const std::string& reason) {
    if (has_started_ || reason.empty() || reason == shown_pending_) return;
    shown_pending_ = reason;
    events_.on_pending(reason);
}

void Step::take_output(std::string_view bytes) {
    if (has_started_) return pass_on(bytes);
    first_line_ += bytes;
    std::string_view rest = first_line_;
    const auto line = take_line(rest);
    if (!line) return;
    has_started_ = true;
    if (line->starts_with(kStarted)) {
        const std::string_view place = line->substr(kStarted.size());
        const std::size_t space = place.find(' ');
        id_ = place.substr(0, space);
        if (space != place.npos) {
            const std::string_view rest_of_place = place.substr(space + 1);
            node_ = rest_of_place.substr(0, rest_of_place.find(' '));
            const std::string_view folder =
                rest_of_place.substr(std::min(node_.size() + 1, rest_of_place.size()));
            has_output_folder_ = !folder.empty();
            if (!output_folder_.empty() && has_output_folder_)
                files_.emplace(std::string(folder), output_folder_, id_, most_file_bytes_);
        }
    } else {
        rest = first_line_;
    }
    events_.on_started();
    if (!rest.empty()) pass_on(rest);
    first_line_.clear();
}

void Step::pass_on(std::string_view bytes) {
    if (!files_) return events_.on_output(bytes);
    const bool was_too_much = files_->is_too_much();
    const std::string ready = files_->take(bytes);
    if (!ready.empty()) events_.on_output(ready);
    if (files_->is_too_much() && !was_too_much) terminate();
}

void Step::bring_files(plugin::ProcessExit& exit) {
    if (!files_) {
        if (output_folder_.empty() || id_.empty() || exit.status != 1) return;
        exit.error_code = "SPAWN_FAILED";
        exit.error = "the node " + node_ +
                     " cannot make a folder for the tool's files, neither in TMPDIR nor in /tmp";
        return;
    }
    if (files_->is_too_much()) {
        exit.error_code = "FILES_TOO_LARGE";
        exit.error = "the tool's files and the events after them exceed the setting file_bytes (" +
                     std::to_string(most_file_bytes_) + ")";
        return;
    }
    const std::string problem = files_->unpack();
    if (!problem.empty() && exit.status == 0) {
        exit.error_code = "FILES_LOST";
        exit.error = "the tool's files cannot be brought back: " + problem;
    }
    const std::string held = files_->held();
    if (!held.empty()) events_.on_output(held);
}

void Step::take_diagnostics(std::string_view bytes) {
    messages_.take(bytes);
    say_pending(messages_.pending());
    diagnostics_ += bytes;
    if (diagnostics_.size() <= kHeldDiagnostics) return;
    const std::size_t ready = diagnostics_.size() - kHeldDiagnostics;
    events_.on_diagnostics(std::string_view(diagnostics_).substr(0, ready));
    diagnostics_.erase(0, ready);
}

void Step::take_times() {
    const std::size_t begin = diagnostics_.rfind(kTimesFollow);
    if (begin != std::string::npos) {
        std::string_view rest = std::string_view(diagnostics_).substr(begin + kTimesFollow.size());
        // The first line is the shell's own time.
        if (take_line(rest)) {
            if (const auto line = take_line(rest)) {
                const std::size_t space = line->find(' ');
                user_time_ = time_of(line->substr(0, space));
                if (space != line->npos) system_time_ = time_of(line->substr(space + 1));
                diagnostics_.erase(begin, diagnostics_.size() - rest.size() - begin);
            }
        }
        take_memory(begin);
    }
    if (!diagnostics_.empty()) events_.on_diagnostics(diagnostics_);
}

// The line before `end`. Output of the tool without a line end may precede it in the line.
void Step::take_memory(std::size_t end) {
    const std::size_t begin = diagnostics_.rfind(kMemory, end);
    if (begin == std::string::npos) return;
    const std::size_t value = begin + kMemory.size();
    std::uint64_t kilobytes = 0;
    const char* const text = diagnostics_.data();
    const auto [after, error] = std::from_chars(text + value, text + end, kilobytes);
    // Anything else is output of the tool.
    if (error != std::errc() || after + 1 != text + end || *after != '\n') return;
    resident_bytes_ = kilobytes * 1024;
    diagnostics_.erase(begin, end - begin);
}

std::string Step::details() const {
    if (id_.empty()) return {};
    return R"({"step":)" + plugin::quoted(id_) + R"(,"node":)" + plugin::quoted(node_) + "}";
}

}  // namespace narratoria::slurm
