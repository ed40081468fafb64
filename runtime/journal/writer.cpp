// SPDX-License-Identifier: Apache-2.0
#include "journal/writer.hpp"

#include <csignal>
#include <new>
#include <system_error>
#include <utility>

#include "base/fork_count.hpp"

namespace narratoria::journal {

class Writer::Target {
public:
    explicit Target(StoreFile opened) : file(std::move(opened)) {}

    StoreFile file;
    std::unique_ptr<StoreFailure> failure;  // the writer's thread only
};

struct Writer::Done {
    std::function<void(const StoreFailure* failure)> call;
    std::unique_ptr<StoreFailure> failure;
};

Writer::Writer(Inbox& inbox) : Poster(SIZE_MAX), inbox_(inbox), made_under_(fork_count()) {}

// There, the thread is missing, and closing the files would harm the parent's: they are leaked.
bool Writer::is_in_fork() const { return made_under_ != fork_count(); }

Writer::~Writer() {
    if (is_in_fork()) {
        new std::deque<Task>(std::move(waiting_));
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
    // The host's signals are handled in its own threads.
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
        std::deque<Task> tasks;
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

// The tasks of the first target, as one transaction.
void Writer::write(std::deque<Task>& tasks) {
    const std::shared_ptr<Target> target = tasks.front().target;
    std::deque<Task> own;
    std::deque<Task> others;
    bool waits = false;
    for (Task& task : tasks) {
        const bool is_own = task.target == target;
        waits = waits || (is_own && task.waits);
        (is_own ? own : others).push_back(std::move(task));
    }
    tasks = std::move(others);
    if (target->failure == nullptr) {
        auto fail = [&](std::string code, std::string message) {
            target->file.roll_back();
            target->failure =
                std::make_unique<StoreFailure>(StoreFailure{std::move(code), std::move(message)});
        };
        try {
            target->file.begin(waits);
            for (const Task& task : own) task.write(target->file);
            target->file.commit();
        } catch (const StoreError& error) {
            fail(error.code(), error.what());
        } catch (const std::exception& error) {
            fail("STORE_IO", "the store cannot be written: " + std::string(error.what()));
        }
    }
    for (Task& task : own) tell(task, target->failure.get());
}

void Writer::tell(Task& task, const StoreFailure* failure) {
    if (!task.done || (failure == nullptr && !task.waits)) return;
    auto done = std::make_unique<Done>();
    done->call = std::move(task.done);
    if (failure != nullptr) done->failure = std::make_unique<StoreFailure>(*failure);
    const Inbox::Post post{nullptr, nullptr, done.get()};
    if (inbox_.post(*this, post) == NAR_OK) done.release();
}

void Writer::run_post(const Inbox::Post& post) {
    const std::unique_ptr<Done> done(static_cast<Done*>(post.user));
    done->call(done->failure.get());
}

void Writer::drop_post(const Inbox::Post& post) { delete static_cast<Done*>(post.user); }

}  // namespace narratoria::journal
