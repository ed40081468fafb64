// SPDX-License-Identifier: Apache-2.0
#include "web/streams.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace narratoria::web {
namespace {

constexpr std::size_t kLargestBatch = 64 * 1024;
// The windows of one browser share a stream.
constexpr std::size_t kMaxStreams = 64;

// At most one update per frame of a 60 Hz screen.
constexpr std::chrono::milliseconds kMinInterval{16};
constexpr std::chrono::seconds kAliveEvery{15};

}  // namespace

class Streams::Stream final : public BodySource {
public:
    Stream(Streams& streams, MHD_Connection* connection, std::uint64_t after, FirstMessage first)
        : streams_(streams), connection_(connection), first_(std::move(first)) {
        text_ = std::move(first_.head);
        batch_.last = after;
        ++streams_.open_;
    }
    ~Stream() override {
        --streams_.open_;
        std::erase(streams_.waiting_, this);
    }

    ssize_t read(char* buffer, std::size_t room) noexcept override {
        // Not END_WITH_ERROR: libmicrohttpd would keep the connection until its timeout.
        if (is_disconnected_) return MHD_CONTENT_READER_END_OF_STREAM;
        try {
            std::size_t done = 0;
            while (done < room) {
                if (!text_.empty()) {
                    done += take_text(buffer + done, room - done);
                } else if (first_.state) {
                    done += take_state(buffer + done, room - done);
                } else if (batch_.begin < batch_.end) {
                    const ssize_t got = take_records(buffer + done, room - done);
                    if (got < 0) return MHD_CONTENT_READER_END_WITH_ERROR;
                    done += static_cast<std::size_t>(got);
                } else if (const auto next =
                               streams_.log_.batch_after(batch_.last, kLargestBatch)) {
                    batch_ = *next;
                } else {
                    break;
                }
            }
            if (done > 0) return static_cast<ssize_t>(done);
            if (streams_.has_ended_) return MHD_CONTENT_READER_END_OF_STREAM;
            streams_.waiting_.push_back(this);
            MHD_suspend_connection(connection_);
            return 0;
        } catch (...) {
            return MHD_CONTENT_READER_END_WITH_ERROR;
        }
    }

    MHD_Connection* connection() const { return connection_; }
    void on_disconnect() { is_disconnected_ = true; }

    bool is_behind() const { return batch_.last < streams_.log_.last(); }

    void resume(bool is_alive_due) {
        // Only between messages. Not a comment, which EventSource would not pass to the page.
        if (is_alive_due && text_.empty() && batch_.begin == batch_.end)
            text_ = "event: alive\ndata: {}\n\n";
        MHD_resume_connection(connection_);
    }

private:
    std::size_t take_text(char* buffer, std::size_t room) {
        const std::size_t count = std::min(room, text_.size() - text_taken_);
        std::memcpy(buffer, text_.data() + text_taken_, count);
        text_taken_ += count;
        if (text_taken_ == text_.size()) {
            text_ = std::string();
            text_taken_ = 0;
        }
        return count;
    }
    std::size_t take_state(char* buffer, std::size_t room) {
        const std::size_t count = std::min(room, first_.state->size() - text_taken_);
        std::memcpy(buffer, first_.state->data() + text_taken_, count);
        text_taken_ += count;
        if (text_taken_ == first_.state->size()) {
            first_.state.reset();
            text_ = std::move(first_.tail);
            text_taken_ = 0;
        }
        return count;
    }
    ssize_t take_records(char* buffer, std::size_t room) {
        const std::uint64_t left = batch_.end - batch_.begin;
        const ssize_t got = streams_.log_.read(
            batch_.begin, buffer, static_cast<std::size_t>(std::min<std::uint64_t>(room, left)));
        if (got > 0) batch_.begin += static_cast<std::uint64_t>(got);
        if (batch_.begin == batch_.end) text_ = "id: " + std::to_string(batch_.last) + "\n\n";
        return got;
    }

    Streams& streams_;
    MHD_Connection* const connection_;
    // Sent in this order: first the rest of text_ …
    std::string text_;
    std::size_t text_taken_ = 0;
    // … then, once, the state and the tail of the first message …
    FirstMessage first_;
    // … then the rest of this batch. The next batch begins after `last`.
    Batch batch_;
    bool is_disconnected_ = false;
};

Streams::Streams(const plugin::Host& host, const RecordLog& log, std::function<void()> resumed)
    : host_(host), log_(log), resumed_(std::move(resumed)) {}

Streams::~Streams() { end(); }

Response Streams::open(const Request& request, std::uint64_t after, FirstMessage first) {
    if (open_ >= kMaxStreams) {
        Response response = Response::problem(503, "TOO_MANY_STREAMS",
                                              "too many event streams are open; try again later");
        response.set("Retry-After", "5");
        return response;
    }
    Response response(
        200, MHD_SIZE_UNKNOWN,
        std::make_unique<Stream>(*this, request.connection(), after, std::move(first)));
    response.set("Content-Type", "text/event-stream").set("Cache-Control", "no-store");
    if (!alive_.is_running()) {
        alive_ = plugin::Timer(host_, kAliveEvery, [this] { say_alive(); });
    }
    return response;
}

void Streams::wake() {
    if (is_throttled_ || waiting_.empty()) return;
    std::vector<Stream*> woken;
    woken.reserve(waiting_.size());
    std::erase_if(waiting_, [&](Stream* stream) {
        if (!stream->is_behind()) return false;
        woken.push_back(stream);
        return true;
    });
    if (woken.empty()) return;
    for (Stream* stream : woken) stream->resume(false);
    resumed_();
    is_throttled_ = true;
    throttle_timer_ = plugin::Timer(host_, kMinInterval, [this] {
        is_throttled_ = false;
        wake();
    });
}

void Streams::on_disconnect(MHD_Connection* connection) {
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const Stream* stream) {
        return stream->connection() == connection;
    });
    if (found == waiting_.end()) return;
    Stream* stream = *found;
    waiting_.erase(found);
    stream->on_disconnect();
    stream->resume(false);
    resumed_();
}

void Streams::say_alive() {
    resume_all(true);
    resumed_();
    if (open_ > 0) alive_.restart(kAliveEvery);
}

void Streams::resume_all(bool is_alive_due) {
    const std::vector<Stream*> woken = std::exchange(waiting_, {});
    for (Stream* stream : woken) stream->resume(is_alive_due);
}

void Streams::end() {
    has_ended_ = true;
    resume_all(false);
}

}  // namespace narratoria::web
