// SPDX-License-Identifier: Apache-2.0
#include "narratoria/record.h"

#include <iterator>
#include <memory>
#include <string>

#include "api/barrier.hpp"
#include "base/bytes/utf8.hpp"

using namespace narratoria;
using namespace narratoria::api;

extern "C" {

nar_status nar_session_attach_sink(nar_session* session, const nar_event_sink* sink,
                                   uint64_t* sink_id, nar_error* error) {
    return on_session(session, error, [&](session::Session& its) -> nar_status {
        nar_event_sink read;
        if (sink == nullptr) return refuse_argument(error, "the sink must not be NULL");
        if (const std::string fault = read_struct(sink, read); !fault.empty()) {
            return refuse_argument(error, "nar_event_sink " + fault);
        }
        if (read.event == nullptr) {
            return refuse_argument(error, "the sink's event function must be set");
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
        if (event == nullptr || json == nullptr) {
            return refuse_argument(error, "event and json must not be NULL");
        }
        if (const std::string fault = read_struct(event, read); !fault.empty()) {
            return refuse_argument(error, "nar_event " + fault);
        }
        // The caller may have built the event itself, so its ids may not be valid UTF-8.
        std::string repaired[3];
        nar_str* const ids[] = {&read.session_id, &read.plan_id, &read.tool_id};
        for (size_t i = 0; i < std::size(ids); ++i) {
            if (utf8::is_valid(view(*ids[i]))) continue;
            repaired[i] = utf8::repaired(view(*ids[i]));
            *ids[i] = view(repaired[i]);
        }
        auto text = std::make_unique<nar_text>();
        std::string& out = text->text;
        out.resize(nar_record_room(&read));
        out.resize(static_cast<size_t>(nar_record_write(&read, out.data()) - out.data()));
        *json = text.release();
        return NAR_OK;
    });
}

const char* nar_kind_name(uint32_t kind) { return nar_record_kind(kind); }

}  // extern "C"
