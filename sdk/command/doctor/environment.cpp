// SPDX-License-Identifier: Apache-2.0
#include "doctor/environment.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "doctor/program_output.hpp"
#include "io/message.hpp"

namespace narratoria::command::doctor {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string last_line(const std::string& text) { return text.substr(text.rfind('\n') + 1); }

MachineCheck temporary_folder() {
    MachineCheck check{"temporary_folder", false, "", "", false};
    const char* const given = std::getenv("TMPDIR");
    const std::string folder = given != nullptr && *given != '\0' ? given : "/tmp";
    std::string path = folder + "/narratoria-doctor-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
        check.text = fmt::format(
            "cannot create a folder in {} ({}); set TMPDIR to a folder that is writable",
            display_path(folder), reason(errno));
        return check;
    }
    rmdir(path.c_str());
    struct statvfs space {};
    statvfs(folder.c_str(), &space);
    const std::uint64_t free_mib = std::uint64_t{space.f_bavail} * space.f_frsize / (1024 * 1024);
    check.is_fine = true;
    check.text = fmt::format("{}, {} MiB free", display_path(folder), free_mib);
    return check;
}

MachineCheck control_groups() {
    MachineCheck check{"cgroups", false, "", "", true};
    const std::string advice =
        "; only --cgroup and its limits need it; run systemd-run --user --scope -p Delegate=yes …";
    struct statfs status {};
    if (statfs("/sys/fs/cgroup", &status) != 0 || status.f_type != CGROUP2_SUPER_MAGIC) {
        check.text = "cgroup2 is not mounted at /sys/fs/cgroup" + advice;
        return check;
    }
    std::ifstream groups("/proc/self/cgroup");
    std::string line;
    std::string folder = "/sys/fs/cgroup";
    while (std::getline(groups, line)) {
        if (line.starts_with("0::") && line != "0::/") folder += line.substr(3);
    }
    std::string controllers;
    std::getline(std::ifstream(folder + "/cgroup.controllers"), controllers);
    if (access((folder + "/cgroup.procs").c_str(), W_OK) != 0 ||
        access(folder.c_str(), W_OK) != 0) {
        check.text = fmt::format("the group of this process, {}, is not writable ({}){}",
                                 display_path(folder), reason(errno), advice);
        return check;
    }
    for (const std::string_view wanted : {"memory", "pids"}) {
        if ((" " + controllers + " ").find(fmt::format(" {} ", wanted)) != std::string::npos) {
            continue;
        }
        check.text =
            fmt::format("{} lacks the controller {}{}", display_path(folder), wanted, advice);
        return check;
    }
    check.is_fine = true;
    check.text = display_path(folder) + ", with " + controllers;
    return check;
}

// Looks for libcurl as the runtime does, which loads it at the first call of a service.
MachineCheck http_library() {
    MachineCheck check{"curl", false, "", "", true};
    void* found = dlsym(RTLD_DEFAULT, "curl_version");
    for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
        if (found != nullptr) break;
        void* const library = dlopen(name, RTLD_LAZY);
        if (library != nullptr) found = dlsym(library, "curl_version");
    }
    if (found == nullptr) {
        check.text = "libcurl was not found; install libcurl4 to run service tools";
        return check;
    }
    check.is_fine = true;
    check.text = "HTTP for service tools";
    check.version = reinterpret_cast<char* (*)()>(found)();
    return check;
}

MachineCheck name_lookup() {
    MachineCheck check{"getent", false, "", "", true};
    const std::string file = find_program("getent");
    check.is_fine = !file.empty();
    check.text = check.is_fine ? display_path(file) + ", to look up the hosts of services"
                               : "it is not in PATH; install it (Debian: libc-bin), or give "
                                 "services by IP address";
    return check;
}

MachineCheck python() {
    MachineCheck check{"python3", false, "", "", true};
    const std::string file = find_program("python3");
    if (file.empty()) {
        check.text =
            "it is not in PATH; install it for the Python tools of projects without a .venv";
        return check;
    }
    const ProgramOutput output = output_of({file, "-c",
                                            "import sys; print('%d.%d.%d' % sys.version_info[:3]); "
                                            "print(sys.version_info >= (3, 8))"});
    if (!output.ok || last_line(output.text) != "True") {
        check.text = fmt::format(
            "{} does not work: {}", display_path(file),
            output.ok ? first_line(output.text) + " is older than 3.8" : last_line(output.text));
        return check;
    }
    char begin[2] = {};
    std::ifstream(file, std::ios::binary).read(begin, sizeof begin);
    check.is_fine = true;
    check.text = display_path(file);
    if (std::string_view(begin, sizeof begin) == "#!") {
        check.text +=
            ", a script: tools with no_subprocess or no_filesystem_read need "
            "[python_tools] python, or a .venv";
    }
    check.version = first_line(output.text);
    return check;
}

// `program` is the client to run. The text says whether it works without root.
MachineCheck container_runtime(const std::string& name, const std::string& program) {
    MachineCheck check{name, false, "", "", true};
    const std::string file = find_program(program);
    if (file.empty()) {
        check.text = program == name ? "it is not in PATH; only container tools need it"
                                     : display_path(program) + " is not a program";
        return check;
    }
    const std::string kind = file.substr(file.rfind('/') + 1);
    const bool is_podman = kind.find("podman") != std::string::npos;
    const ProgramOutput version = output_of(
        {file, "version", "--format", is_podman ? "{{.Client.Version}}" : "{{.Server.Version}}"});
    if (!version.ok) {
        check.text =
            fmt::format("{} does not work: {}", display_path(file), last_line(version.text));
        return check;
    }
    const ProgramOutput info =
        output_of({file, "info", "--format",
                   is_podman ? "rootless={{.Host.Security.Rootless}} {{.Host.OCIRuntime.Name}}"
                             : "{{.SecurityOptions}} {{.DefaultRuntime}}"});
    const bool is_rootless = is_podman ? info.text.find("rootless=true") != std::string::npos
                                       : info.text.find("rootless") != std::string::npos;
    check.is_fine = true;
    check.text = display_path(file);
    if (info.ok) {
        check.text += is_rootless ? ", rootless" : ", as root";
        check.text += ", " + info.text.substr(info.text.rfind(' ') + 1);
    }
    check.version = last_line(version.text);
    return check;
}

}  // namespace

std::vector<MachineCheck> check_environment() {
    std::vector<MachineCheck> checks{temporary_folder(), control_groups(), http_library(),
                                     name_lookup(), python()};
    const char* const variable = "NARRATORIA_CONTAINER_RUNTIME";
    if (const char* const given = std::getenv(variable); given != nullptr && *given != '\0') {
        checks.push_back(container_runtime(variable, given));
    }
    for (const char* name : {"docker", "podman"}) checks.push_back(container_runtime(name, name));
    return checks;
}

}  // namespace narratoria::command::doctor
