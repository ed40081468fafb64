// SPDX-License-Identifier: Apache-2.0
#include "process/sandbox.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string_view>

#include "base/environment.hpp"
#include "base/json/writer.hpp"
#include "process/error_text.hpp"
#include "process/find_program.hpp"
#include "process/script.hpp"
#include "process/supervisor/protocol.h"

namespace narratoria::process {
namespace {

// The kernel follows at most this number of interpreter lines (BINPRM_MAX_RECURSION is 5).
constexpr int kMaxInterpreters = 5;

std::string real_path(const std::string& path) {
    char* const real = ::realpath(path.c_str(), nullptr);
    std::string out = real != nullptr ? real : path;
    std::free(real);
    return out;
}

std::string folder_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

// True for a folder in which all users create files: it is not the folder of a program.
bool is_shared(const std::string& folder) {
    struct stat status {};
    return folder == "/" || ::stat(folder.c_str(), &status) != 0 || (status.st_mode & S_ISVTX) != 0;
}

// Returns libraries and devices that every tool may read. On most machines some are links to
// others.
const std::vector<std::string>& system_files() {
    static const std::vector<std::string> files = [] {
        std::vector<std::string> out;
        for (const char* path : {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"}) {
            out.push_back(real_path(path));
        }
        std::sort(out.begin(), out.end());
        out.erase(std::unique(out.begin(), out.end()), out.end());
        out.insert(out.end(), {"/etc/ld.so.cache", "/dev/null", "/dev/zero", "/dev/full",
                               "/dev/random", "/dev/urandom"});
        return out;
    }();
    return files;
}

void add_program(const std::string& program, const std::string& real,
                 std::vector<std::string>& readable) {
    for (const std::string& path : {program, real}) {
        readable.push_back(path);
        const std::string folder = folder_of(path);
        if (!folder.ends_with("/bin")) continue;
        // An interpreter's libraries may be next to its bin folder, like those of a Python
        // in /opt or in a virtual environment.
        const std::string prefix = folder_of(folder);
        if (prefix == "/") continue;
        // Excludes links to other folders: the owner of the folder could otherwise choose which
        // files are readable.
        const std::string real_prefix = real_path(prefix) + "/";
        for (const char* name : {"/lib", "/lib64", "/pyvenv.cfg"}) {
            const std::string real_file = real_path(prefix + name);
            if (real_file.starts_with(real_prefix)) readable.push_back(real_file);
        }
    }
}

void add_program(const std::string& program, std::vector<std::string>& readable) {
    add_program(program, real_path(program), readable);
}

std::string variable_in(const std::vector<std::string>& environment, const std::string& name) {
    for (const std::string& each : environment) {
        if (each.size() > name.size() && each[name.size()] == '=' && each.starts_with(name)) {
            return each.substr(name.size() + 1);
        }
    }
    return {};
}

// True for variables that the runtime sets: an interpreter needs them to find its modules, or they
// name the tool's folder. They reveal nothing about the host's environment.
bool is_of_runtime(std::string_view variable) {
    return variable.starts_with(std::string(kOutputVariable) + "=") ||
           variable.starts_with("PYTHONPATH=") || variable.starts_with("PYTHONUNBUFFERED=") ||
           variable.starts_with("PYTHONDONTWRITEBYTECODE=");
}

void remove_variable(std::vector<std::string>& environment, std::string_view name_and_sign) {
    std::erase_if(environment,
                  [&](const std::string& each) { return each.starts_with(name_and_sign); });
}

void choose_environment(const Guarantees& guarantees, const std::vector<std::string>& given,
                        Sandboxed& out) {
    if (guarantees.requires_one(Guarantee::NoEnvRead)) {
        out.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"};
        std::copy_if(given.begin(), given.end(), std::back_inserter(out.environment),
                     is_of_runtime);
    } else if (!guarantees.secrets()) {
        out.environment = given;
    } else {
        std::copy_if(given.begin(), given.end(), std::back_inserter(out.environment),
                     [](const std::string& variable) {
                         return is_inherited(variable) || is_of_runtime(variable);
                     });
        for (const std::string& secret : *guarantees.secrets()) {
            for (const std::string& name : variables_of_secret(secret)) {
                std::string value = variable_in(given, name);
                const char* const own = value.empty() ? ::getenv(name.c_str()) : nullptr;
                if (own != nullptr) value = own;
                if (value.empty()) continue;
                set_variable(out.environment, name + "=" + value);
                out.secrets.emplace_back(name, std::move(value));
            }
        }
    }
    if ((out.bits & SANDBOX_WRITE) != 0) {
        // The tool could not write there.
        remove_variable(out.environment, std::string(kOutputVariable) + "=");
    }
    if ((out.bits & (SANDBOX_WRITE | SANDBOX_READ)) == 0) return;
    out.scratch_variables = guarantees.requires_one(Guarantee::NoEnvRead) ? 2 : 1;
    remove_variable(out.environment, "TMPDIR=");
    if (out.scratch_variables == 2) remove_variable(out.environment, "HOME=");
}

// Replaces "#!/usr/bin/env python3" by the interpreter: env would have to start a second program,
// which SANDBOX_SUBPROCESS refuses.
void find_interpreter(Sandboxed& out) {
    const std::vector<std::string> line = interpreter_line(out.path);
    if (line.size() != 2 || !line.front().ends_with("/env")) return;
    std::vector<std::string> words;
    std::string_view rest = line[1];
    const bool splits = rest.starts_with("-S");
    if (splits) rest.remove_prefix(2);
    for (;;) {
        rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
        if (rest.empty()) break;
        const size_t end = splits ? std::min(rest.find_first_of(" \t"), rest.size()) : rest.size();
        words.emplace_back(rest.substr(0, end));
        rest.remove_prefix(end);
    }
    // Leaves other options of env, and variables, to env; its exec is then refused.
    if (words.empty() || words.front().front() == '-' ||
        words.front().find('=') != std::string::npos) {
        return;
    }
    std::string reason;
    std::string program = find_program(words.front(), out.environment, reason);
    if (program.empty()) return;
    words.front() = program;
    words.push_back(std::move(out.path));
    if (!out.arguments.empty()) {
        words.insert(words.end(), out.arguments.begin() + 1, out.arguments.end());
    }
    out.path = std::move(program);
    out.arguments = std::move(words);
}

}  // namespace

uint32_t sandbox_bits() { return SANDBOX_ON; }

uint32_t sandbox_bits(Guarantee guarantee) {
    switch (guarantee) {
        case Guarantee::NoFilesystemWrite: return SANDBOX_ON | SANDBOX_WRITE;
        case Guarantee::NoFilesystemRead: return SANDBOX_ON | SANDBOX_READ;
        case Guarantee::NoNetwork: return SANDBOX_ON | SANDBOX_NETWORK;
        case Guarantee::NoSubprocess: return SANDBOX_ON | SANDBOX_SUBPROCESS;
        case Guarantee::NoEnvRead:
        case Guarantee::NoEnvWrite: break;
    }
    return SANDBOX_ON;
}

uint32_t sandbox_bits(const Guarantees& guarantees) {
    uint32_t bits = guarantees.any() ? SANDBOX_ON : 0;
    for (size_t i = 0; i < kGuarantees; ++i) {
        const auto guarantee = static_cast<Guarantee>(i);
        if (guarantees.requires_one(guarantee)) bits |= sandbox_bits(guarantee);
    }
    return bits;
}

bool is_sandbox_stage(uint32_t stage) {
    return stage >= SUPERVISOR_STAGE_SCRATCH && stage <= SUPERVISOR_STAGE_SANDBOX;
}

std::string describe_sandbox_failure(uint32_t stage, int error) {
    const std::string reason = error_text(error);
    switch (stage) {
        case SUPERVISOR_STAGE_SCRATCH:
            return "its scratch folder cannot be created in the folder for temporary files "
                   "(TMPDIR, or /tmp): " +
                   reason;
        case SUPERVISOR_STAGE_LANDLOCK_TRUNCATE:
            return "the kernel's Landlock is too old to prevent the truncation of files; it needs "
                   "Linux 6.2 or newer";
        case SUPERVISOR_STAGE_LANDLOCK:
            if (error == ENOSYS || error == EOPNOTSUPP) {
                return "the kernel has no Landlock; it needs Linux 5.13 or newer (6.2 to prevent "
                       "writing), built with CONFIG_SECURITY_LANDLOCK, with \"landlock\" among the "
                       "security modules (boot option lsm=)";
            }
            if (error == EPERM) {
                return "the system calls of Landlock are refused; a container's seccomp profile "
                       "must allow landlock_create_ruleset, landlock_add_rule and "
                       "landlock_restrict_self";
            }
            return "Landlock refuses the rules: " + reason;
        case SUPERVISOR_STAGE_SECCOMP:
            if (error == ENOSYS || error == EINVAL) {
                return "the kernel has no seccomp filters; it needs Linux 5.5 or newer, built with "
                       "CONFIG_SECCOMP_FILTER";
            }
            return "a seccomp filter cannot be installed: " + reason;
        default: return "the sandbox cannot be set up: " + reason;
    }
}

std::string unavailable_message(std::string_view guarantee, const std::string& why) {
    return std::string(guarantee) + " cannot be enforced on this machine: " + why;
}

Enforcement enforcement_by(uint32_t bits, uint32_t landlock, uint32_t network) {
    Enforcement out;
    out.is_enforced = true;
    if ((bits & SANDBOX_NETWORK) != 0) {
        out.mechanism = network == SUPERVISOR_NETWORK ? "seccomp, network namespace, Landlock"
                        : network == SUPERVISOR_NETWORK_OF_USER
                            ? "seccomp, network namespace in a user namespace, Landlock"
                            : "seccomp, Landlock";
    } else if ((bits & SANDBOX_SUBPROCESS) != 0) {
        out.mechanism = "seccomp, Landlock";
    } else if ((bits & (SANDBOX_WRITE | SANDBOX_READ)) != 0) {
        out.mechanism = "Landlock, seccomp";
    } else {
        out.mechanism = "own environment, Landlock, seccomp";
    }
    struct utsname kernel {};
    ::uname(&kernel);
    out.version = "Landlock ABI " + std::to_string(landlock) + ", Linux " + kernel.release;
    return out;
}

void append_receipt(std::string& out, std::string_view guarantee, const Enforcement& how) {
    json::ObjectWriter(out)
        .string("guarantee", guarantee)
        .string("mechanism", how.mechanism)
        .string("version", how.version)
        .boolean("proven", how.is_enforced)
        .end();
}

Sandboxed in_sandbox(const Guarantees& guarantees, std::string path,
                     std::vector<std::string> arguments,
                     const std::vector<std::string>& environment,
                     const std::vector<std::string>& readable) {
    Sandboxed out;
    out.bits = sandbox_bits(guarantees);
    out.path = std::move(path);
    out.arguments = std::move(arguments);
    const std::string program = out.path;
    choose_environment(guarantees, environment, out);
    if ((out.bits & SANDBOX_SUBPROCESS) != 0) find_interpreter(out);
    if ((out.bits & SANDBOX_READ) == 0) return out;

    out.readable = readable;
    // The output folder is readable. Because of that, the kernel refuses to link or rename
    // unreadable files into it.
    if (std::string folder = variable_in(out.environment, kOutputVariable); !folder.empty()) {
        out.readable.push_back(std::move(folder));
    }
    const std::string real = real_path(program);
    add_program(program, real, out.readable);
    for (const std::string& folder : {folder_of(program), folder_of(real)}) {
        if (!is_shared(folder)) out.readable.push_back(folder);
    }
    if (out.path != program) add_program(out.path, out.readable);
    std::string at = program;
    for (int i = 0; i < kMaxInterpreters; ++i) {
        const auto line = interpreter_line(at);
        if (line.empty()) break;
        at = line.front();
        add_program(at, out.readable);
        if (line.size() != 2 || !at.ends_with("/env")) continue;
        // Without SANDBOX_SUBPROCESS "env" starts the interpreter, so that must be readable.
        std::string reason;
        const std::string found = find_program(line[1], out.environment, reason);
        if (!found.empty()) add_program(found, out.readable);
    }
    for (std::string& each : out.readable) each = real_path(each);
    std::sort(out.readable.begin(), out.readable.end());
    out.readable.erase(std::unique(out.readable.begin(), out.readable.end()), out.readable.end());
    out.readable.insert(out.readable.end(), system_files().begin(), system_files().end());
    return out;
}

Sandboxed for_probe(uint32_t bits, const std::string& supervisor_path) {
    Sandboxed out;
    out.bits = bits;
    out.scratch_variables = (bits & (SANDBOX_WRITE | SANDBOX_READ)) != 0 ? 1 : 0;
    // The exec opens the file for reading. Landlock does not apply to an image in memory.
    if (!supervisor_path.empty()) out.readable = {supervisor_path};
    return out;
}

}  // namespace narratoria::process
