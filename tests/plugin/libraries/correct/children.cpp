// SPDX-License-Identifier: Apache-2.0
// Child processes of its own: started with fork and exec, posix_spawn and popen, each waited for by
// its id, and one that runs as long as the instance.

#include <narratoria/plugin.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace plugin = narratoria::plugin;

namespace {

void wait_for(pid_t child) {
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
}

class Children final : public plugin::AssetRenderer {
public:
    static constexpr std::string_view kMediaTypes[] = {"image/*", "text/plain"};

    Children() {
        const pid_t parent = getpid();
        kept_ = fork();
        if (kept_ != 0) return;
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) execl("/bin/sleep", "sleep", "60", nullptr);
        _exit(127);
    }
    ~Children() {
        if (kept_ <= 0) return;
        kill(kept_, SIGKILL);
        wait_for(kept_);
    }

    plugin::HandlerResult render(const plugin::Asset& asset) override {
        const std::string path(asset.path());
        if (const pid_t child = fork(); child == 0) {
            execl("/bin/cat", "cat", "/dev/null", nullptr);
            _exit(127);
        } else if (child > 0) {
            wait_for(child);
        }
        const char* arguments[] = {"true", path.c_str(), nullptr};
        pid_t child = 0;
        if (posix_spawnp(&child, "true", nullptr, nullptr, const_cast<char**>(arguments),
                         environ) == 0) {
            wait_for(child);
        }
        if (FILE* const pipe = popen("echo rendered", "re")) {
            char line[64];
            while (fgets(line, sizeof line, pipe) != nullptr) {
            }
            pclose(pipe);
        }
        return plugin::HandlerResult::Handled;
    }

private:
    pid_t kept_ = -1;
};

}  // namespace

NARRATORIA_PLUGIN(Children, "test.children", "Children", "1.0.0", "narratoria.asset_renderer/1");
