// SPDX-License-Identifier: Apache-2.0
#include "doctor/slurm_check.hpp"

#include <fmt/core.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "doctor/program_output.hpp"
#include "io/message.hpp"

namespace narratoria::command::doctor {
namespace {

constexpr std::string_view kContent = "narratoria";

MachineCheck programs() {
    MachineCheck check{"slurm_programs", false, "", "", false};
    for (const char* each : {"srun", "sbatch", "squeue", "scancel", "sinfo", "scontrol"}) {
        if (!find_program(each).empty()) continue;
        check.text =
            fmt::format("{} is not in PATH; install Slurm's commands (Debian: slurm-client)", each);
        return check;
    }
    const char* const configuration = std::getenv("SLURM_CONF");
    if (configuration != nullptr && ::access(configuration, R_OK) != 0) {
        check.text = fmt::format("SLURM_CONF names {}, which cannot be read ({})",
                                 display_path(configuration), reason(errno));
        return check;
    }
    const ProgramOutput version = output_of({find_program("sinfo"), "--version"});
    check.is_fine = version.ok;
    check.text = version.ok ? find_program("srun") : version.text;
    if (version.ok) check.version = version.text;
    return check;
}

MachineCheck controller() {
    MachineCheck check{"slurm_controller", false, "", "", false};
    const ProgramOutput answer = output_of({find_program("scontrol"), "ping"});
    check.is_fine = answer.ok && answer.text.find(" is UP") != std::string::npos;
    check.text = answer.text.substr(0, answer.text.find('\n'));
    if (!check.is_fine) check.text += "; check SLURM_CONF and that slurmctld runs";
    return check;
}

// Lines "2 idle", "1 down*".
MachineCheck nodes() {
    MachineCheck check{"slurm_nodes", false, "", "", false};
    const ProgramOutput answer = output_of({find_program("sinfo"), "--noheader", "--format=%D %T"});
    for (std::string_view rest = answer.text; answer.ok && !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        for (const std::string_view usable : {" idle", " mixed", " allocated", " completing"}) {
            check.is_fine = check.is_fine || line.ends_with(usable);
        }
        check.text += (check.text.empty() ? "" : ", ") + std::string(line);
    }
    if (!answer.ok) check.text = answer.text;
    else if (!check.is_fine) check.text += "; no node is usable, see sinfo --list-reasons";
    return check;
}

// Runs a job that reads a file of the working folder.
void run_job(std::vector<MachineCheck>& checks) {
    MachineCheck job{"slurm_job", false, "", "", false};
    MachineCheck folder{"shared_folder", false, "", "", false};
    std::error_code failure;
    const std::string here = std::filesystem::current_path(failure).string();
    std::string file = here + "/.narratoria-doctor-XXXXXX";
    const int descriptor = ::mkstemp(file.data());
    if (descriptor < 0 || ::write(descriptor, kContent.data(), kContent.size()) < 0) {
        folder.text =
            fmt::format("cannot write a file in {} ({}); run doctor in the folder of your story",
                        display_path(here), reason(errno));
    }
    const ProgramOutput ran = output_of(
        {find_program("srun"), "--quiet", "--immediate=8", "--nodes=1", "--ntasks=1", "--chdir=/",
         "sh", "-c", "printf '%s\\n' \"$SLURMD_NODENAME\"; cat \"$1\" 2>/dev/null; exit 0", "sh",
         file});
    if (descriptor >= 0) {
        ::unlink(file.c_str());
        ::close(descriptor);
    }
    const std::string node = ran.text.substr(0, ran.text.find('\n'));
    job.is_fine = ran.ok;
    job.text = ran.ok ? "a job ran on the node " + node
                      : ran.text + "; the cluster may be busy, see squeue";
    checks.push_back(job);
    if (!ran.ok || !folder.text.empty()) {
        if (folder.text.empty()) folder.text = "not checked, because no job ran";
    } else if (ran.text.ends_with(fmt::format("\n{}", kContent))) {
        folder.is_fine = true;
        folder.text = fmt::format("the node {} reads files in {}", node, display_path(here));
    } else {
        folder.text = fmt::format(
            "the node {} cannot read a file in {}; put the story and TMPDIR in a folder that all "
            "nodes share",
            node, display_path(here));
    }
    checks.push_back(folder);
}

}  // namespace

std::vector<MachineCheck> check_slurm() {
    std::vector<MachineCheck> checks{programs()};
    if (!checks.back().is_fine) return checks;
    checks.push_back(controller());
    if (!checks.back().is_fine) return checks;
    checks.push_back(nodes());
    run_job(checks);
    return checks;
}

}  // namespace narratoria::command::doctor
