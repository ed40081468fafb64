// SPDX-License-Identifier: Apache-2.0
#pragma once
// One record of the event stream, as a plugin receives it. Not for direct use: include
// narratoria/plugin.hpp.

#include "narratoria/event.hpp"
#include "narratoria/exceptions.hpp"
#include "narratoria/record.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace narratoria::plugin {

// Returns text as a JSON string with quotes. It must be valid UTF-8, which is not checked.
inline std::string quoted(std::string_view text) {
    std::string out(6 * text.size() + 2, '\0');
    out.resize(static_cast<std::size_t>(
        nar_record_write_text(narratoria::detail::to_c(text), out.data()) - out.data()));
    return out;
}

// A view, valid until the function that received it returns. It implements the functions for which
// narratoria::Event calls the library, because a plugin links against nothing.
class Event : public narratoria::Event {
public:
    using narratoria::Event::Event;

    // The name of the kind in JSON, for example "tool_event"; "unknown" for kinds from later
    // versions.
    std::string_view kind_name() const noexcept {
        const char* const name = nar_record_kind(raw().kind);
        return name != nullptr ? name : "unknown";
    }

    // Appends the whole record (abi/schemas/event-record-1.schema.json) to `out`: one line of JSON
    // without a newline. `out` has capacity for the newline, so that appending it does not throw.
    void append_json(std::string& out) const {
        const std::size_t begin = out.size();
        out.resize(begin + nar_record_room(&raw()));
        out.resize(
            static_cast<std::size_t>(nar_record_write(&raw(), out.data() + begin) - out.data()));
    }
    std::string json() const {
        std::string out;
        append_json(out);
        return out;
    }
};

}  // namespace narratoria::plugin
