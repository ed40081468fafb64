// SPDX-License-Identifier: Apache-2.0
// counting_sink.c with the C++ wrapper.
#include "narratoria/plugin.hpp"

namespace {

class CountingSink final : public narratoria::plugin::EventSink {
public:
    void event(const narratoria::plugin::Event& event) override {
        count_ += event.seq() ^ event.body().size();
    }
    ~CountingSink() { asm volatile("" : : "r"(count_)); }

private:
    uint64_t count_ = 0;
};

}  // namespace

NARRATORIA_PLUGIN(CountingSink, "bench.sink_cpp", "Counting sink", "1", "narratoria.event_sink/1");
