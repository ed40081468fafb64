// SPDX-License-Identifier: Apache-2.0
#pragma once
// The thread of an engine that writes to stores: the only one that the library starts, with the first
// session that has a store. It calls SQLite and waits for the disk, so that the engine thread need not.

#include <pthread.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "base/inbox.hpp"
#include "journal/store_file.hpp"

namespace narratoria::journal {

// Why a session is no longer kept.
struct StoreFailure {
    std::string code;  // that of a StoreError
    std::string message;
};

// Engine thread only. Writes what was submitted before it is destroyed.
class Writer : private Inbox::Poster {
public:
    explicit Writer(Inbox& inbox);
    ~Writer() override;
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    // The file of one session, which belongs to the thread until wait_for() has returned.
    class Target;
    std::shared_ptr<Target> add(StoreFile file);

    struct Task {
        std::shared_ptr<Target> target;
        std::function<void(StoreFile& file)> write;
        // Called after the commit, outside of a transaction, for work that can be done without.
        // Returns what went wrong, for people; then `warn` is called with it on the engine thread.
        std::function<std::string(StoreFile& file)> then;
        std::function<void(const std::string& warning)> warn;
        // Called on the engine thread: after a failure, when nothing more is written to the target; and
        // after a success if it waits. May be empty. Not called once the writer is destroyed.
        std::function<void(const StoreFailure* failure)> done;
        // The commit waits for the disk.
        bool waits = false;
        size_t bytes = 0;  // of memory that it holds
    };
    // Tasks of one target run in their order, those that wait together in one transaction. Waits while
    // tasks hold more than kMaxWaiting bytes: a disk that cannot keep up would use up the memory.
    void submit(Task task);
    // Waits until all tasks of the target have run. Their `done` may still follow.
    void wait_for(const std::shared_ptr<Target>& target);
    // Why the target is no longer written to; NULL if it is. After wait_for() only.
    static const StoreFailure* failure_of(const Target& target);
    // For the engine thread, between wait_for() and the next submit().
    static StoreFile& file_of(Target& target);

    static constexpr size_t kMaxWaiting = 256u * 1024 * 1024;

private:
    struct Post;

    bool is_in_fork() const;
    void run_post(const Inbox::Post& post) override;
    void drop_post(const Inbox::Post& post) override;

    void start();
    void run();
    void write(std::list<Task>& tasks);
    void tell(Task& task, const StoreFailure* failure);
    void post(std::function<void()> call);

    Inbox& inbox_;
    const uint64_t made_under_;  // fork_count()
    bool has_thread_ = false;
    pthread_t thread_{};
    std::mutex mutex_;
    std::condition_variable changed_;
    std::list<Task> waiting_;
    uint64_t submitted_ = 0;
    uint64_t finished_ = 0;  // of those submitted, in their order
    size_t waiting_bytes_ = 0;
    bool is_ending_ = false;
};

}  // namespace narratoria::journal
