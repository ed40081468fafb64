// SPDX-License-Identifier: Apache-2.0
#include "journal/writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <new>
#include <system_error>
#include <utility>

#include "base/fork_count.hpp"

namespace narratoria::journal {

class Writer::Target {
public:
    explicit Target(StoreFile opened) : file(std::move(opened)) {}

    StoreFile file;
    // The writer's thread only:
    std::unique_ptr<StoreFailure> failure;
    std::list<Task> kept;  // the tasks of failed transactions
};

struct Writer::Post {
    std::function<void()> call;
};

namespace {

// How long to wait for another process that has locked the file, after a failure.
constexpr int kRetryMs = 500;
// The memory of smaller parts costs little to allocate.
constexpr size_t kMinSpare = 64 * 1024;
constexpr size_t kMaxSpares = 4;

// Retries until there is memory: an exception in the thread would end the process, and no task may
// be lost.
template <typename Try>
void until_memory(Try&& attempt) {
    for (;; ::usleep(1000)) {
        try {
            return attempt();
        } catch (const std::bad_alloc&) {
        }
    }
}

}  // namespace

Writer::Writer(Inbox& inbox)
    : Poster(SIZE_MAX), inbox_(inbox), fork_count_at_creation_(fork_count()) {
    spares_.reserve(kMaxSpares);  // the thread must not run out of memory there
}

// The child of a fork does not have the thread, and closing the files there would break the
// parent's locks, so it leaks them.
bool Writer::is_in_fork() const { return fork_count_at_creation_ != fork_count(); }

Writer::~Writer() {
    if (is_in_fork()) {
        new std::list<Task>(std::move(waiting_));
        return;
    }
    if (has_thread_) {
        {
            const std::lock_guard lock(mutex_);
            is_ending_ = true;
        }
        changed_.notify_all();
        ::pthread_join(thread_, nullptr);
    }
    inbox_.forget_posts(*this);
}

std::shared_ptr<Writer::Target> Writer::add(StoreFile file) {
    if (!has_thread_) start();
    return std::make_shared<Target>(std::move(file));
}

void Writer::start() {
    // Block all signals, so that they are delivered to the host's own threads.
    sigset_t all, before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failure = ::pthread_create(
        &thread_, nullptr,
        [](void* self) -> void* {
            static_cast<Writer*>(self)->run();
            return nullptr;
        },
        this);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (failure != 0) {
        throw StoreError("STORE_UNAVAILABLE",
                         "the thread that writes to stores cannot be started: " +
                             std::generic_category().message(failure));
    }
    has_thread_ = true;
#if defined(__linux__)
    ::pthread_setname_np(thread_, "narratoria-disk");
#endif
}

void Writer::submit(Task task) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_bytes_ < kMaxWaiting || is_in_fork(); });
    waiting_bytes_ += task.bytes;
    waiting_.push_back(std::move(task));
    ++submitted_;
    lock.unlock();
    changed_.notify_all();
}

Part Writer::take_spare() {
    const std::lock_guard lock(mutex_);
    if (spares_.empty()) return {};
    Part spare = std::move(spares_.back());
    spares_.pop_back();
    return spare;
}

void Writer::wait_for(const std::shared_ptr<Target>& target) {
    if (is_in_fork()) {
        new std::shared_ptr<Target>(target);
        return;
    }
    std::unique_lock lock(mutex_);
    const uint64_t up_to = submitted_;
    changed_.wait(lock, [&] { return finished_ >= up_to; });
}

StoreFile& Writer::file_of(Target& target) { return target.file; }

const StoreFailure* Writer::failure_of(const Target& target) { return target.failure.get(); }

void Writer::run() {
    for (;;) {
        std::list<Task> tasks;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return is_ending_ || !waiting_.empty(); });
            if (waiting_.empty()) return;
            tasks.swap(waiting_);
        }
        const uint64_t count = tasks.size();
        size_t bytes = 0;
        for (const Task& task : tasks) bytes += task.bytes;
        while (!tasks.empty()) write(tasks);
        {
            const std::lock_guard lock(mutex_);
            waiting_bytes_ -= bytes;
            finished_ += count;
        }
        changed_.notify_all();
    }
}

// Writes the tasks of the first task's target.
void Writer::write(std::list<Task>& tasks) {
    const std::shared_ptr<Target> target = tasks.front().target;
    std::list<Task> own = std::move(target->kept);
    bool waits = false, is_last = false;
    for (auto task = tasks.begin(); task != tasks.end();) {
        const auto next = std::next(task);
        if (task->target == target) {
            waits = waits || task->waits;
            is_last = is_last || task->is_last;
            own.splice(own.end(), tasks, task);
        }
        task = next;
    }
    const std::unique_ptr<StoreFailure>& failure = target->failure;
    if (failure == nullptr || (waits && !failure->is_final)) {
        // A failed transaction is tried again at the end of each turn, which must not wait long.
        const bool is_patient = failure == nullptr || is_last;
        target->file.wait_for_others(is_patient ? Connection::kBusyMs : kRetryMs);
        run_all(*target, own, waits);
    }
    if (failure != nullptr) {
        size_t bytes = 0;
        for (const Task& task : own) bytes += sizeof(Task) + task.bytes;
        failure->is_final = failure->is_final || is_last || bytes > kMaxKept;
    }
    for (Task& task : own) post_done(task, failure.get());
    if (failure != nullptr) {
        if (failure->is_final) return;
        own.remove_if([](const Task& task) { return !task.write; });
        for (Task& task : own) {
            task.done = {};
            task.target = {};  // which would otherwise own itself
        }
        target->kept = std::move(own);
        return;
    }
    keep_spares(own, waits);
    target->file.wait_for_others(Connection::kBusyMs);
    const auto last =
        std::find_if(own.rbegin(), own.rend(), [](const Task& task) { return bool(task.then); });
    if (last == own.rend()) return;
    std::string warning;
    try {
        warning = last->then(target->file);
    } catch (const std::exception&) {
        // Ignore it: only a snapshot is missing.
        target->file.roll_back();
    }
    if (warning.empty()) return;
    until_memory([&] { post([warn = last->warn, warning] { warn(warning); }); });
}

// Frees all at the end of a turn, whose task waits.
void Writer::keep_spares(const std::list<Task>& tasks, bool waits) {
    const std::lock_guard lock(mutex_);
    if (waits) return spares_.clear();
    for (const Task& task : tasks) {
        if (task.part && task.part->capacity >= kMinSpare && spares_.size() < kMaxSpares) {
            spares_.push_back(std::move(*task.part));
        }
    }
}

// Runs the tasks in one transaction; sets or clears the target's failure.
void Writer::run_all(Target& target, const std::list<Task>& tasks, bool waits) {
    auto fail = [&](const char* code, std::string_view before, const char* what, bool is_final) {
        target.file.roll_back();
        until_memory([&] {
            target.failure = std::make_unique<StoreFailure>(
                StoreFailure{code, std::string(before).append(what), is_final});
        });
    };
    try {
        target.file.begin(waits);
        for (const Task& task : tasks) {
            if (task.write) task.write(target.file);
        }
        target.file.commit();
        target.failure.reset();
    } catch (const StoreError& error) {
        fail(error.code(), "", error.what(), !error.is_temporary());
    } catch (const std::exception& error) {
        fail("STORE_IO", "the store cannot be written: ", error.what(), true);
    }
}

void Writer::post_done(Task& task, const StoreFailure* failure) {
    if (!task.done || (failure == nullptr && !task.waits)) return;
    until_memory([&] {
        if (failure == nullptr) return post([done = task.done] { done(nullptr); });
        post([done = task.done, failure = *failure] { done(&failure); });
    });
}

void Writer::post(std::function<void()> call) {
    auto post = std::make_unique<Post>(Post{std::move(call)});
    if (inbox_.post(*this, {nullptr, nullptr, post.get()}) == NAR_OK) post.release();
}

void Writer::run_post(const Inbox::Post& post) {
    const std::unique_ptr<Post> own(static_cast<Post*>(post.user));
    own->call();
}

void Writer::drop_post(const Inbox::Post& post) { delete static_cast<Post*>(post.user); }

}  // namespace narratoria::journal
