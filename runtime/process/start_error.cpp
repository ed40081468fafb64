// SPDX-License-Identifier: Apache-2.0
#include "process/start_error.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "process/control_groups.hpp"
#include "process/error_text.hpp"
#include "process/packet_socket.hpp"
#include "process/sandbox.hpp"
#include "process/script.hpp"
#include "process/supervisor/protocol.h"

namespace narratoria::process {
namespace {

bool is_folder(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

std::string describe_start_failure(uint32_t stage, int error, const std::string& path,
                                   const std::string& folder, const std::string& groups) {
    const std::string reason = error_text(error);
    switch (stage) {
        case SUPERVISOR_STAGE_GROUP:
        case SUPERVISOR_STAGE_GROUP_PROCESSES:
        case SUPERVISOR_STAGE_GROUP_MEMORY:
        case SUPERVISOR_STAGE_GROUP_ENTER: return describe_group_failure(stage, error, groups);
        case SUPERVISOR_STAGE_FOLDER:
            return "its working folder \"" + folder + "\" cannot be entered: " + reason;
        case SUPERVISOR_STAGE_SCRATCH:
        case SUPERVISOR_STAGE_LANDLOCK:
        case SUPERVISOR_STAGE_LANDLOCK_TRUNCATE:
        case SUPERVISOR_STAGE_SECCOMP:
        case SUPERVISOR_STAGE_SANDBOX: return describe_sandbox_failure(stage, error);
        case SUPERVISOR_STAGE_LIMITS: return "its limits cannot be set: " + reason;
        case SUPERVISOR_STAGE_EXECUTE: break;
        case SUPERVISOR_STAGE_REQUEST:
            if (error == EMFILE || error == ENFILE) {
                return "its supervisor has no file descriptors left for the tool's pipes: " +
                       reason + "; raise the limit on open files (ulimit -n)";
            }
            [[fallthrough]];
        default: return "no process can be created: " + reason;
    }
    std::string text = "\"" + path + "\" ";
    if (is_folder(path)) return text + "is a folder, not a program";
    switch (error) {
        case ENOENT:
            if (::access(path.c_str(), F_OK) != 0) return text + "does not exist";
            if (const std::string trouble = script_fault(path); !trouble.empty()) {
                return text + trouble;
            }
            return text + "needs a program loader that does not exist";
        case EACCES: return text + "may not be executed; is its executable bit set (chmod +x)?";
        case ENOEXEC:
            if (const std::string trouble = script_fault(path); !trouble.empty()) {
                return text + trouble;
            }
            return text + "is not a program that this machine can run";
        default: return text + "cannot be started: " + reason;
    }
}

bool may_start_later(uint32_t stage, int error) {
    if (is_sandbox_stage(stage)) {
        return stage == SUPERVISOR_STAGE_SCRATCH || is_shortage(error) || error == ENOMEM;
    }
    if (stage != SUPERVISOR_STAGE_EXECUTE) return true;
    switch (error) {
        case EACCES:
        case EISDIR:
        case ELOOP:
        case ENAMETOOLONG:
        case ENOENT:
        case ENOEXEC:
        case ENOTDIR: return false;
        default: return true;
    }
}

}  // namespace narratoria::process
