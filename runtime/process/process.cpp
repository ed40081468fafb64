// SPDX-License-Identifier: Apache-2.0
#include "process/process.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/json/tape.hpp"
#include "base/lifetime.hpp"
#include "process/pool.hpp"
#include "process/supervisor/protocol.h"
#include "process/supervisor_connection.hpp"

namespace narratoria::process {
namespace {

// F_SETPIPE_SZ up to this size needs no privilege by default (/proc/sys/fs/pipe-max-size).
constexpr int kLargePipe = 1024 * 1024;

// Returns the number of bytes that the pipe holds now.
size_t bytes_in(const Descriptor& pipe) {
    int count = 0;
    return pipe && ::ioctl(pipe.get(), FIONREAD, &count) == 0 ? static_cast<size_t>(count) : 0;
}

}  // namespace

Process::Process(Pool& pool, Listener& listener)
    : pool_(pool),
      listener_(&listener),
      output_watch_(pool.loop()),
      diagnostics_watch_(pool.loop()),
      drain_(pool.loop()) {}

Process::~Process() {
    lifetime_.end();
    if (supervisor_ != nullptr && !ended_) {
        supervisor_->process = nullptr;
        pool_.count_as_busy(*supervisor_);
        if (!terminating_) supervisor_->request(SUPERVISOR_KILL, 0);
    }
}

void Process::terminate(uint32_t grace_ms) {
    if (ended_) return;
    terminating_ = true;
    pool_.count_as_busy(*supervisor_);
    supervisor_->request(grace_ms == 0 ? SUPERVISOR_KILL : SUPERVISOR_TERMINATE, grace_ms);
}

void Process::outlive(uint32_t patience_ms) {
    if (ended_) return;
    terminating_ = true;
    pool_.count_as_busy(*supervisor_);
    supervisor_->is_awaited = true;
    supervisor_->awaited_until_ms = clock::steady_ms() + patience_ms;
}

void Process::on_input_drained() { listener_->on_input_drained(); }

void Process::on_input_closed() { listener_->on_closed(Stream::Input); }

void Process::stop_reading() {
    output_watch_.stop();
    output_.close();
}

void Process::read_output() {
    do {
        if (!output_) break;
        char* buffer = pool_.loop().buffer();
        size_t wanted = pool_.loop().buffer_size();
        if (ended_) wanted = std::min(wanted, output_left_);
        if (wanted == 0) break;
        const ssize_t got = ::read(output_.get(), buffer, wanted);
        if (got < 0) {
            if (errno == EINTR) continue;
            if (errno == EAGAIN && !ended_) return;
            break;
        }
        if (ended_) output_left_ -= static_cast<size_t>(got);
        if (got == 0) {
            stop_reading();
            if (is_service_ && !ended_) return listener_->on_closed(Stream::Output);
            break;
        }
        if (!large_pipe_ && got >= 32 * 1024) {
            // A tool that fills the default pipe gets a larger one: fewer wake-ups on both sides.
            large_pipe_ = true;
            ::fcntl(output_.get(), F_SETPIPE_SZ, kLargePipe);
        }
        {
            const Lifetime::Watch life = lifetime_.watch();
            give_output(buffer, static_cast<size_t>(got));
            if (life.ended()) return;
        }
        if (!ended_) return;
        if (pool_.loop().time_is_up()) {
            drain_.start(0, [this] { finish_when_drained(); });
            return;
        }
    } while (true);
    if (ended_) {
        stop_reading();
        finish();
    }
}

void Process::read_diagnostics() {
    if (!diagnostics_) return;
    char* buffer = pool_.loop().buffer();
    const ssize_t got = ::read(diagnostics_.get(), buffer, pool_.loop().buffer_size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
        diagnostics_watch_.stop();
        diagnostics_.close();
        if (is_service_ && !ended_) listener_->on_closed(Stream::Diagnostics);
        return;
    }
    (void)give_diagnostics({buffer, static_cast<size_t>(got)});
}

// Secrets are redacted only here, where output enters the library.
void Process::give_output(char* data, size_t size) {
    if (!secrets_) {
        listener_->on_output(data, size);
        return;
    }
    give_output(secrets_->output.pass({data, size}));
}

void Process::give_output(std::string& text) {
    const size_t size = text.size();
    if (size == 0) return;
    text.append(json::kPadding, '\0');  // the parser reads beyond the end
    listener_->on_output(text.data(), size);
}

// Returns false if the listener destroyed this object.
bool Process::give_diagnostics(std::string_view data) {
    if (secrets_) data = secrets_->diagnostics.pass(data);
    if (data.empty()) return true;
    const Lifetime::Watch life = lifetime_.watch();
    listener_->on_diagnostics(data);
    return !life.ended();
}

// Passes on the bytes that were held as a possible start of a secret. Returns false if the listener
// destroyed this object.
bool Process::give_rest() {
    const Lifetime::Watch life = lifetime_.watch();
    const std::string rest = secrets_->diagnostics.finish();
    give_output(secrets_->output.finish());
    if (!life.ended() && !rest.empty()) listener_->on_diagnostics(rest);
    return !life.ended();
}

void Process::on_ended(Exit exit) {
    ended_ = true;
    supervisor_ = nullptr;
    exit_ = std::move(exit);
    exit_.receipts = std::move(receipts_);
    input_.reset();
    // All descendants have ended, so no more of their bytes will arrive: drain only what the pipes
    // hold now.
    output_left_ = bytes_in(output_);
    diagnostics_left_ = bytes_in(diagnostics_);
    finish_when_drained();
}

void Process::finish_when_drained() {
    if (output_) {
        read_output();
        return;
    }
    finish();
}

void Process::finish() {
    while (diagnostics_ && diagnostics_left_ > 0) {
        char* buffer = pool_.loop().buffer();
        const ssize_t got = ::read(diagnostics_.get(), buffer,
                                   std::min(pool_.loop().buffer_size(), diagnostics_left_));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        diagnostics_left_ -= static_cast<size_t>(got);
        if (!give_diagnostics({buffer, static_cast<size_t>(got)})) return;
    }
    diagnostics_watch_.stop();
    diagnostics_.close();
    if (secrets_ && !give_rest()) return;
    listener_->on_exit(exit_);
    // `this` may be destroyed.
}

}  // namespace narratoria::process
