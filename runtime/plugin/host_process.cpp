// SPDX-License-Identifier: Apache-2.0
// Services of narratoria/host_process.h.
#include <string>

#include "base/given_struct.hpp"
#include "base/view.hpp"
#include "plugin/host_call.hpp"
#include "plugin/host_services.hpp"

namespace narratoria::plugin {
namespace {

nar_status process_start(const nar_host* host, const nar_program* program,
                         const nar_process_events* events, void* user, uint64_t* process,
                         nar_failure* failure) {
    if (program == nullptr || process == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "process.start", [&](Instance& instance) -> nar_status {
        // Disabling the plugin killed its processes; a new one would never be ended.
        if (instance.disabled()) return NAR_GONE;
        nar_program what;
        nar_process_events callbacks;
        std::string why = read_struct(program, what);
        nar_status status = NAR_INVALID_ARGUMENT;
        if (!why.empty()) why.insert(0, "nar_program ");
        else if (why = read_struct(events, callbacks); !why.empty())
            why.insert(0, "nar_process_events ");
        else status = instance.processes.start(what, callbacks, user, process, why);
        if (status != NAR_OK) write_failure(failure, why);
        return status;
    });
}

nar_status process_write(const nar_host* host, uint64_t process, nar_str bytes) {
    return on_engine_thread(host, "process.write", [&](Instance& instance) {
        return instance.processes.write(process, given_text(bytes));
    });
}

nar_status process_close_input(const nar_host* host, uint64_t process) {
    return on_engine_thread(host, "process.close_input", [&](Instance& instance) {
        return instance.processes.close_input(process);
    });
}

nar_status process_terminate(const nar_host* host, uint64_t process, uint32_t grace_ms) {
    return on_engine_thread(host, "process.terminate", [&](Instance& instance) {
        return instance.processes.terminate(process, grace_ms);
    });
}

nar_status process_release(const nar_host* host, uint64_t process, uint32_t grace_ms) {
    return on_engine_thread(host, "process.release", [&](Instance& instance) {
        return instance.processes.release(process, grace_ms);
    });
}

}  // namespace

const nar_host_process process_service{sizeof(nar_host_process),
                                       0,
                                       process_start,
                                       process_write,
                                       process_close_input,
                                       process_terminate,
                                       process_release};

}  // namespace narratoria::plugin
