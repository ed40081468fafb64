// SPDX-License-Identifier: Apache-2.0
#include "limits.hpp"

#include <cstdint>
#include <type_traits>
#include <utility>

namespace narratoria::python {

Times times_of(const py::dict& given) {
    Times times;
    const std::pair<const char*, std::uint32_t*> fields[] = {
        {"try_ms", &times.try_ms},
        {"plan_ms", &times.plan_ms},
        {"narrator_ms", &times.narrator_ms},
        {"prompt_ms", &times.prompt_ms},
        {"grace_ms", &times.grace_ms},
        {"narrator_first_ms", &times.narrator_first_ms},
        {"narrator_between_ms", &times.narrator_between_ms}};
    for (const auto& [name, field] : fields) {
        if (!given.contains(name)) continue;
        const auto value = py::cast<std::uint32_t>(given[name]);
        *field = value == 0 ? NAR_NONE : value;
    }
    return times;
}

Limits limits_of(const py::dict& given) {
    Limits limits;
    auto read = [&](const char* name, auto& field) {
        if (!given.contains(name)) return;
        using Number = std::remove_reference_t<decltype(field)>;
        const auto value = py::cast<Number>(given[name]);
        field = value == 0 ? static_cast<Number>(~Number{0}) : value;
    };
#define NARRATORIA_LIMIT(name, type, least, text) read(#name, limits.name);
    NAR_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
    return limits;
}

}  // namespace narratoria::python
