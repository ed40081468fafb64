// SPDX-License-Identifier: Apache-2.0
#include "api/barrier.hpp"

using namespace narratoria;
using namespace narratoria::api;

extern "C" {

nar_status nar_session_attach_sink(nar_session* session, const nar_event_sink* sink,
                                   uint64_t* sink_id, nar_error* error) {
    return on_session(session, error, [&](session::Session& its) -> nar_status {
        nar_event_sink read;
        if (sink == nullptr || !read_struct(sink, read) || read.event == nullptr) {
            return refuse_argument(error, "the sink needs its size and its event function");
        }
        if (its.ending()) return refuse_ending(error);
        const uint64_t id = its.stream().attach(read);
        if (sink_id != nullptr) *sink_id = id;
        return NAR_OK;
    });
}

nar_status nar_session_detach_sink(nar_session* session, uint64_t sink_id, nar_error* error) {
    return on_session(session, error, [&](session::Session& its) -> nar_status {
        if (its.stream().detach(sink_id)) return NAR_OK;
        return fail(error, NAR_NOT_FOUND, "SINK", "no such sink is attached to this session");
    });
}

nar_status nar_event_to_json(const nar_event* event, nar_text** json, nar_error* error) {
    return guarded(error, [&]() -> nar_status {
        nar_event read;
        if (event == nullptr || json == nullptr || !read_struct(event, read)) {
            return refuse_argument(error, "the event and the place for the text must not be NULL");
        }
        auto text = std::make_unique<nar_text>();
        event::append_record(text->text, read);
        *json = text.release();
        return NAR_OK;
    });
}

const char* nar_kind_name(uint32_t kind) { return event::kind_name(kind); }

}  // extern "C"
