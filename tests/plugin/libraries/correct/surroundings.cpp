// SPDX-License-Identifier: Apache-2.0
// Uses what a process has only once and restores it: the thread's locale, floating-point state,
// signal mask and errno; thread-local objects with destructors; large blocks of memory.

#include <narratoria/plugin.hpp>

#include <sys/mman.h>

#include <cerrno>
#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

namespace plugin = narratoria::plugin;

namespace {

thread_local std::vector<std::string> recent;

class Surroundings final : public plugin::EventSink {
public:
    Surroundings() : locale_(newlocale(LC_ALL_MASK, "C", nullptr)), block_(192 << 20) {
        pages_ = mmap(nullptr, kPages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    ~Surroundings() {
        if (pages_ != MAP_FAILED) munmap(pages_, kPages);
        freelocale(locale_);
    }

    void event(const plugin::Event& event) override {
        const locale_t before = uselocale(locale_);
        fenv_t floats;
        feholdexcept(&floats);
        fesetround(FE_TOWARDZERO);
        sigset_t all, mask;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &mask);
        recent.push_back(event.json());
        if (recent.size() > 8) recent.clear();
        std::thread([] { recent.emplace_back("on a thread"); }).join();
        block_[static_cast<std::size_t>(event.seq()) % block_.size()] = 'x';
        errno = ENOENT;
        pthread_sigmask(SIG_SETMASK, &mask, nullptr);
        fesetenv(&floats);
        uselocale(before);
    }

private:
    static constexpr std::size_t kPages = 64 << 20;
    const locale_t locale_;
    std::vector<char> block_;
    void* pages_;
};

}  // namespace

NARRATORIA_PLUGIN(Surroundings, "test.surroundings", "Surroundings", "1.0.0",
                  "narratoria.event_sink/1");
