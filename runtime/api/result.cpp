// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "api/barrier.hpp"

using namespace narratoria;
using namespace narratoria::api;

namespace {

class CallbackOutput : public plan::Output {
public:
    CallbackOutput(nar_write_fn take, void* user) : write_(take), user_(user) {}

    bool write(std::string_view piece) override {
        if (piece.empty()) return true;
        try {
            status = write_(user_, view(piece));
        } catch (const std::exception& exception) {
            note_thrown(exception.what());
        } catch (...) {
            note_thrown("an exception that is not a std::exception");
        }
        return status == NAR_OK;
    }

    bool write_file(int file, uint64_t offset, uint64_t size) override {
        std::unique_ptr<char[]> buffer(new char[kPiece]);
        while (size > 0) {
            const ssize_t got = ::pread(file, buffer.get(), std::min<uint64_t>(size, kPiece),
                                        static_cast<off_t>(offset));
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) {
                status = NAR_IO;
                return false;
            }
            if (!write({buffer.get(), static_cast<size_t>(got)})) return false;
            offset += static_cast<uint64_t>(got);
            size -= static_cast<uint64_t>(got);
        }
        return true;
    }

    nar_status status = NAR_OK;
    std::string thrown;  // what write_ threw

private:
    void note_thrown(const char* what) {
        status = NAR_FAILED;
        thrown = what;
    }

    static constexpr size_t kPiece = 256 * 1024;
    nar_write_fn write_;
    void* user_;
};

// Blocks SIGPIPE in this thread while it writes to the caller's descriptor, and consumes a SIGPIPE
// that the write raised.
class PipeSignal {
public:
    PipeSignal() {
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        sigset_t pending;
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGPIPE) == 1;
        pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    ~PipeSignal() {
        // A SIGPIPE that was pending before belongs to the host and stays pending.
        if (!was_pending_) {
            const timespec now{};
            while (sigtimedwait(&pipe_, nullptr, &now) < 0 && errno == EINTR) {
            }
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

private:
    sigset_t pipe_;
    sigset_t before_;
    bool was_pending_;
};

class DescriptorOutput : public plan::Output {
public:
    explicit DescriptorOutput(int descriptor) : descriptor_(descriptor) {}

    bool write(std::string_view piece) override {
        while (!piece.empty()) {
            const ssize_t written = ::write(descriptor_, piece.data(), piece.size());
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) {
                failure = errno;
                return false;
            }
            piece.remove_prefix(static_cast<size_t>(written));
        }
        return true;
    }

    bool write_file(int file, uint64_t offset, uint64_t size) override {
        if (reserve(size)) return copy(file, offset, size);
        auto at = static_cast<off_t>(offset);
        while (size > 0) {
            const ssize_t sent =
                ::sendfile(descriptor_, file, &at, std::min<uint64_t>(size, 1u << 30));
            if (sent < 0 && errno == EINTR) continue;
            // The kernel does not support sendfile to this target; copy the rest.
            if (sent < 0 && (errno == EINVAL || errno == ENOSYS)) {
                return copy(file, static_cast<uint64_t>(at), size);
            }
            if (sent <= 0) {
                failure = sent < 0 ? errno : EIO;
                return false;
            }
            size -= static_cast<uint64_t>(sent);
        }
        return true;
    }

    int failure = 0;

private:
    // For a regular file, allocates all blocks at once. Between two files, sendfile copies in small
    // pieces, which is slower than large reads and writes. To other targets it moves pages.
    bool reserve(uint64_t size) {
        struct stat status {};
        if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return false;
        const off_t at = ::lseek(descriptor_, 0, SEEK_CUR);
        if (at >= 0) {
            ::fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, at, static_cast<off_t>(size));
        }
        return true;
    }

    // Copies with read and write. Also the fallback if sendfile is not supported.
    bool copy(int file, uint64_t offset, uint64_t size) {
        std::unique_ptr<char[]> buffer(new char[256 * 1024]);
        while (size > 0) {
            const ssize_t got = ::pread(file, buffer.get(), std::min<uint64_t>(size, 256 * 1024),
                                        static_cast<off_t>(offset));
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) {
                failure = got < 0 ? errno : EIO;
                return false;
            }
            if (!write({buffer.get(), static_cast<size_t>(got)})) return false;
            offset += static_cast<uint64_t>(got);
            size -= static_cast<uint64_t>(got);
        }
        return true;
    }

    int descriptor_;
};

nar_status append_piece(void* user, nar_str piece) {
    static_cast<std::string*>(user)->append(view(piece));
    return NAR_OK;
}

bool with_events(uint32_t flags) { return (flags & NAR_RESULT_WITHOUT_EVENTS) == 0; }

nar_status refuse_flags(uint32_t flags, nar_error* error) {
    if ((flags & ~static_cast<uint32_t>(NAR_RESULT_WITHOUT_EVENTS)) == 0) return NAR_OK;
    return refuse_argument(error, "flags has an unknown bit");
}

}  // namespace

extern "C" {

nar_result* nar_result_retain(nar_result* result) {
    if (result != nullptr) result->references.fetch_add(1, std::memory_order_relaxed);
    return result;
}

void nar_result_release(nar_result* result) {
    if (result != nullptr && result->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        delete result;
    }
}

uint32_t nar_result_success(const nar_result* result) {
    return result != nullptr && result->result->success ? 1 : 0;
}

uint32_t nar_result_cancelled(const nar_result* result) {
    return result != nullptr && result->result->cancelled ? 1 : 0;
}

nar_status nar_result_write(const nar_result* result, uint32_t flags, nar_write_fn write,
                            void* user, nar_error* error) {
    return guarded(error, [&]() -> nar_status {
        if (result == nullptr || write == nullptr) {
            return refuse_argument(error, "the result and the write function must not be NULL");
        }
        if (const nar_status status = refuse_flags(flags, error)) return status;
        CallbackOutput output(write, user);
        if (result->result->write(output, with_events(flags))) return NAR_OK;
        if (!output.thrown.empty()) {
            return fail(error, NAR_FAILED, "CALLBACK_THREW",
                        "the write function threw an exception: " + output.thrown);
        }
        return fail(error, output.status, "WRITE", "the result was written only in part");
    });
}

nar_status nar_result_write_to(const nar_result* result, uint32_t flags, int32_t descriptor,
                               nar_error* error) {
    return guarded(error, [&]() -> nar_status {
        if (result == nullptr) return refuse_argument(error, "result must not be NULL");
        if (const nar_status status = refuse_flags(flags, error)) return status;
        const PipeSignal no_signal;
        DescriptorOutput output(descriptor);
        if (result->result->write(output, with_events(flags))) return NAR_OK;
        return fail(error, NAR_IO, "WRITE",
                    std::string("the result cannot be written: ") + strerror(output.failure));
    });
}

nar_status nar_result_json(const nar_result* result, uint32_t flags, nar_text** json,
                           nar_error* error) {
    return guarded(error, [&]() -> nar_status {
        if (result == nullptr || json == nullptr) {
            return refuse_argument(error, "result and json must not be NULL");
        }
        if (const nar_status status = refuse_flags(flags, error)) return status;
        auto text = std::make_unique<nar_text>();
        CallbackOutput output(append_piece, &text->text);
        if (!result->result->write(output, with_events(flags))) {
            return fail(error, NAR_IO, "READ", "the result's events cannot be read back");
        }
        *json = text.release();
        return NAR_OK;
    });
}

}  // extern "C"
