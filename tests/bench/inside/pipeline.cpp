// SPDX-License-Identifier: Apache-2.0
// pipeline FILE ROUNDS [one-tree] [with-log]: processes the lines of a file, in memory, like a
// tool's output: framing, decoding, validation, merging into the session's state and into the
// tool's own output, history, the stream with one C sink. The same calls in the same order as in
// plan/execution.cpp. Prints the processor seconds of each round; each round starts with an empty
// state.
//
//   one-tree  without the tool's own output
//   with-log  also kept for the execution's result (plan/event_log.cpp), which spools to a file

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "event/line_framer.hpp"
#include "event/stream.hpp"
#include "plan/event_log.hpp"
#include "processor_clock.hpp"
#include "state/store.hpp"

using namespace narratoria;

namespace {

// The size of one read by the loop.
constexpr size_t kRead = 64 * 1024;

constexpr std::string_view kRequestId = "6f0c7a52-1d7e-4a0e-9c55-2b9f4a1d8e77";

struct Counted {
    uint64_t events = 0;
    uint64_t bytes = 0;
};

extern "C" void count_event(void* user, const nar_event* event) {
    auto* counted = static_cast<Counted*>(user);
    ++counted->events;
    counted->bytes += event->body.size;
}

class Round {
public:
    Round(bool one_tree, bool with_log)
        : one_tree_(one_tree),
          with_log_(with_log),
          stream_("session", callback_depth_),
          state_(10000),
          log_(std::make_shared<plan::EventSpool>()),
          framer_(8u * 1024 * 1024) {
        nar_event_sink sink{};
        sink.size = sizeof sink;
        sink.user = &counted;
        sink.event = count_event;
        stream_.attach(sink);
    }

    void run(char* data, size_t size) {
        const auto take = [this](const event::Line& line) { return take_line(line); };
        while (size > 0) {
            const size_t part = std::min(size, kRead);
            stream_.begin_batch(clock::wall_us());
            if (!framer_.feed(data, part, take)) fail();
            data += part;
            size -= part;
        }
        if (!framer_.finish(take)) fail();
    }

    Counted counted;

private:
    [[noreturn]] void fail() {
        std::fprintf(stderr, "line %llu: %s\n",
                     static_cast<unsigned long long>(framer_.line_number()),
                     decoder_.fault().message.c_str());
        std::exit(1);
    }

    bool take_line(const event::Line& line) {
        if (event::is_blank(line.text)) return true;
        event::Event event;
        if (!decoder_.decode(line.text, event)) return false;
        const uint64_t number = stream_.take_number();
        if (with_log_) log_.add(event.line);
        if (event.type == event::Type::StatePatch) {
            const json::Value patch = event.field(event::Field::Patch);
            const state::Patch& applied =
                state_.apply(patch, writer_, {number, stream_.time_us(), 1, origin_}, nullptr);
            if (!one_tree_) output_.merge(applied);
        }
        const event::Subject subject{kRequestId, "tool", 1};
        stream_.publish_tool_event(number, subject, event);
        if (const json::Value id = event.field(event::Field::RequestId)) {
            if (id.text() != kRequestId) return false;
        }
        if (const json::Value time = event.field(event::Field::Timestamp)) {
            if (!clock::is_iso8601(time.text())) return false;
        }
        return true;
    }

    bool one_tree_;
    bool with_log_;
    uint32_t callback_depth_ = 0;
    event::Stream stream_;
    state::Store state_;
    const state::Writer writer_ = state_.open_writer(true);
    state::Tree output_;
    const std::shared_ptr<const state::HistoryOrigin> origin_ =
        std::make_shared<state::HistoryOrigin>(
            state::HistoryOrigin{std::string(kRequestId), "tool"});
    plan::EventLog log_;
    event::LineFramer framer_;
    event::Decoder decoder_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fprintf(stderr, "usage: %s FILE ROUNDS [one-tree] [with-log]\n", argv[0]);
        return 2;
    }
    bool one_tree = false, with_log = false;
    for (int i = 3; i < argc; ++i) {
        one_tree |= std::strcmp(argv[i], "one-tree") == 0;
        with_log |= std::strcmp(argv[i], "with-log") == 0;
    }
    std::ifstream file(argv[1], std::ios::binary);
    const std::string lines{std::istreambuf_iterator<char>(file), {}};
    const auto count = static_cast<uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
    std::string work;
    for (int round = std::atoi(argv[2]); round > 0; --round) {
        work = lines;  // framing overwrites newlines with zeros
        work.append(json::kPadding, '\0');
        auto pipeline = std::make_unique<Round>(one_tree, with_log);
        const double begin = narratoria::bench::processor_seconds();
        pipeline->run(work.data(), lines.size());
        const double seconds = narratoria::bench::processor_seconds() - begin;
        if (pipeline->counted.events != count) {
            std::fprintf(stderr, "%llu of %llu events came through\n",
                         static_cast<unsigned long long>(pipeline->counted.events),
                         static_cast<unsigned long long>(count));
            return 1;
        }
        std::printf("%.6f\n", seconds);
    }
    return 0;
}
