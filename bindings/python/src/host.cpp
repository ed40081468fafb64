// SPDX-License-Identifier: Apache-2.0
#include "host.hpp"

namespace narratoria::python {

void end_invocation(const nar_host* host, std::uint64_t token, std::string_view lines,
                    std::string_view code, std::string_view message) {
    nar_invocation_end end{};
    end.size = sizeof end;
    end.error_code = detail::to_c(code);
    end.error = detail::to_c(message);
    end.last_output = detail::to_c(lines);
    invocations(host).ended(host, token, &end);
}

}  // namespace narratoria::python
