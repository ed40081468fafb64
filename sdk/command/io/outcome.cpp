// SPDX-License-Identifier: Apache-2.0
#include "io/outcome.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "display.hpp"
#include "io/file.hpp"
#include "io/message.hpp"
#include "json.hpp"

namespace narratoria::command {
namespace {

constexpr std::size_t kDiagnosticsLines = 20;

bool reader_is_gone(int descriptor) {
    pollfd asked{descriptor, POLLOUT, 0};
    return poll(&asked, 1, 0) == 1 && (asked.revents & POLLERR) != 0;
}

}  // namespace

bool write_result_to_standard_output(const Result& result) {
    // write_to() would fail with EAGAIN on a non-blocking pipe; write_all() waits.
    if ((fcntl(STDOUT_FILENO, F_GETFL) & O_NONBLOCK) != 0) {
        struct Stopped {
            int error;
        };
        try {
            result.write([](std::string_view piece) {
                if (!write_all(STDOUT_FILENO, piece)) throw Stopped{errno};
            });
            if (!write_all(STDOUT_FILENO, "\n")) throw Stopped{errno};
            return true;
        } catch (const Stopped& stopped) {
            if (stopped.error == EPIPE) return false;
            throw Failed(fmt::format("cannot write the result to standard output: {}",
                                     reason(stopped.error)));
        }
    }
    try {
        result.write_to(STDOUT_FILENO);
    } catch (const Error& error) {
        if (error.status() != NAR_IO) throw;
        if (reader_is_gone(STDOUT_FILENO)) return false;
        throw Failed(fmt::format("cannot write the result to standard output: {}",
                                 printable(error.message())));
    }
    if (write_all(STDOUT_FILENO, "\n")) return true;
    if (errno == EPIPE) return false;
    throw Failed(fmt::format("cannot write the result to standard output: {}", reason(errno)));
}

std::vector<std::string> diagnostics_lines(std::string_view diagnostics, std::size_t at_most) {
    while (!diagnostics.empty() && diagnostics.back() == '\n') diagnostics.remove_suffix(1);
    std::vector<std::string> lines;
    if (diagnostics.empty()) return lines;
    std::size_t begin = diagnostics.size();
    std::size_t count = 0;
    while (begin > 0) {
        const std::size_t before = diagnostics.rfind('\n', begin - 1);
        begin = before == std::string_view::npos ? 0 : before;
        if (++count == at_most || begin == 0) break;
    }
    if (begin > 0) {
        lines.emplace_back("  | …");
        ++begin;
    }
    while (begin <= diagnostics.size()) {
        const std::size_t end = std::min(diagnostics.find('\n', begin), diagnostics.size());
        lines.push_back("  | " + printable(diagnostics.substr(begin, end - begin)));
        begin = end + 1;
    }
    return lines;
}

std::vector<std::string> lines_about_failure(const Result& result, bool progress_shown) {
    const json::Document document = json::read(result.json(Result::Events::LeftOut));
    std::vector<std::string> lines;
    const json::Value* tools = json::member(document, "toolResults");
    if (tools == nullptr || !tools->IsArray()) return lines;
    for (const json::Value& tool : tools->GetArray()) {
        const std::string_view state = json::text(tool, "state");
        if (state != "failed" && state != "timeout") continue;
        const std::string name = printable(json::text(tool, "toolId"));
        std::vector<std::string> said =
            diagnostics_lines(json::text(tool, "stderr"), kDiagnosticsLines);
        if (!progress_shown) {
            std::string line =
                fmt::format("tool {} {}", name, state == "timeout" ? "timed out" : "failed");
            if (const std::uint64_t retries = json::count(tool, "retryCount"); retries > 0) {
                line += fmt::format(" after {}", counted(retries + 1, "attempt"));
            }
            const std::string_view code = json::text(tool, "errorCode");
            if (!code.empty()) line += fmt::format(": {}", printable(code));
            lines.push_back(fmt::format("{}: {}", line, printable(json::text(tool, "error"))));
        } else if (!said.empty()) {
            lines.push_back(fmt::format("{} wrote to its standard error:", name));
        }
        lines.insert(lines.end(), said.begin(), said.end());
    }
    return lines;
}

}  // namespace narratoria::command
