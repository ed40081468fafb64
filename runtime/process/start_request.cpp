// SPDX-License-Identifier: Apache-2.0
#include "process/start_request.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "process/packet_socket.hpp"

namespace narratoria::process {

supervisor_limits protocol_of(const Limits& limits) {
    supervisor_limits out{};
#define NARRATORIA_LIMIT(name, type, least, text) out.name = limits.name;
    NAR_PROCESS_LIMIT_LIST(NARRATORIA_LIMIT)
    NAR_GROUP_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
    return out;
}

bool fill_pipe(Pipe& pipe, std::string_view input) {
    if (input.empty()) return true;
    // An empty pipe accepts PIPE_BUF bytes without blocking.
    if (input.size() > PIPE_BUF) ::fcntl(pipe.write.get(), F_SETFL, O_NONBLOCK);
    // We still hold the read end, so this never raises SIGPIPE.
    return ::write(pipe.write.get(), input.data(), input.size()) ==
           static_cast<ssize_t>(input.size());
}

Descriptor input_file(std::string_view input) {
    Descriptor file(::memfd_create("narratoria-input", MFD_CLOEXEC));
    if (!file && !is_shortage(errno)) file = unlinked_file();
    while (file && !input.empty()) {
        const ssize_t written = ::write(file.get(), input.data(), input.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return {};
        input.remove_prefix(static_cast<size_t>(written));
    }
    if (file) ::lseek(file.get(), 0, SEEK_SET);
    return file;
}

}  // namespace narratoria::process
