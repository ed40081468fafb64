// SPDX-License-Identifier: Apache-2.0
#pragma once
// The thread that writes an engine's sessions to stores, so that the engine thread does not wait
// for the disk. It is the only thread that the library starts, with the first session that has a
// store.

#include <pthread.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/inbox.hpp"
#include "journal/records.hpp"
#include "journal/store_file.hpp"

namespace narratoria::journal {

// Why a session is not stored.
struct StoreFailure {
    const char* code;  // the code of a StoreError
    std::string message;
    // False: the tasks are kept and tried again. True: they are lost, and nothing more is written.
    bool is_final = true;
};

// Engine thread only. The destructor waits until all submitted tasks have been written.
class Writer : private Inbox::Poster {
public:
    explicit Writer(Inbox& inbox);
    ~Writer() override;
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    // The file of one session. Only the thread may use it, except after wait_for().
    class Target;
    std::shared_ptr<Target> add(StoreFile file);

    struct Task {
        std::shared_ptr<Target> target = {};
        std::function<void(StoreFile& file)> write = {};  // may be empty
        // Called after the commit, outside a transaction, for optional work; of the tasks of one
        // transaction, only the last `then` is called. Returns an empty text, or a human-readable
        // warning, with which `warn` is then called on the engine thread.
        std::function<std::string(StoreFile& file)> then = {};
        std::function<void(const std::string& warning)> warn = {};
        // Called once on the engine thread: after a failure, even if the task is tried again, and
        // after a success if the task waits. May be empty. Not called once the writer is destroyed.
        std::function<void(const StoreFailure* failure)> done = {};
        // The commit waits for the disk.
        bool waits = false;
        size_t bytes = 0;                 // the memory that `write` uses
        std::shared_ptr<Part> part = {};  // what `write` writes; may be NULL
        // No task of the target follows.
        bool is_last = false;
    };
    // Queues a task. Tasks of one target run in order; all queued ones run in one transaction. If a
    // transaction fails temporarily, its tasks are kept, as long as they use at most kMaxKept
    // bytes, and run in one transaction with the next task that waits.
    // Blocks while tasks use more than kMaxWaiting bytes, because a disk that cannot keep up would
    // use up the memory.
    void submit(Task task);
    // The memory of a part that has been written, or an empty part. So the parts of a long turn use
    // memory that is still in the processor's cache.
    Part take_spare();
    // Waits until all tasks of the target have run. Their `done` may still follow.
    void wait_for(const std::shared_ptr<Target>& target);
    // Why the last transaction of the target failed, or NULL. Call it only after wait_for().
    static const StoreFailure* failure_of(const Target& target);
    // The file, for the engine thread between wait_for() and the next submit().
    static StoreFile& file_of(Target& target);

    static constexpr size_t kMaxWaiting = 256u * 1024 * 1024;
    static constexpr size_t kMaxKept = 64u * 1024 * 1024;

private:
    struct Post;

    bool is_in_fork() const;
    void run_post(const Inbox::Post& post) override;
    void drop_post(const Inbox::Post& post) override;

    void start();
    void run();
    void write(std::list<Task>& tasks);
    static void run_all(Target& target, const std::list<Task>& tasks, bool waits);
    void keep_spares(const std::list<Task>& tasks, bool waits);
    void post_done(Task& task, const StoreFailure* failure);
    void post(std::function<void()> call);

    Inbox& inbox_;
    const uint64_t fork_count_at_creation_;
    bool has_thread_ = false;
    pthread_t thread_{};
    std::mutex mutex_;
    std::condition_variable changed_;
    std::list<Task> waiting_;
    uint64_t submitted_ = 0;
    uint64_t finished_ = 0;  // the number of finished tasks; they finish in order of submission
    size_t waiting_bytes_ = 0;
    std::vector<Part> spares_;
    bool is_ending_ = false;
};

}  // namespace narratoria::journal
