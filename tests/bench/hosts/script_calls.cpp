// SPDX-License-Identifier: Apache-2.0
// script_calls [sink] [ordinary] [memory]: CALLs of a host's tool per second of processor time.
//
// nar_session_run_script makes 100,000 CALLs of an in-process identity tool with a schema,
// including records and the result. With "sink", a sink receives every record. With "ordinary", the
// tool does not promise to end before it returns. With "memory", prints the resident memory that was
// added for each CALL instead, in bytes.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "memory.hpp"
#include "narratoria/engine.hpp"
#include "narratoria/tool.h"
#include "processor_clock.hpp"

namespace {

using namespace narratoria;

// {"input":{"value":N},…} → N
struct Identity {
    const nar_host* host = nullptr;
    const nar_host_invocation* answers = nullptr;

    static void invoke(void* instance, uint64_t token, const nar_tool*,
                       const nar_invocation* invocation) {
        const Identity& self = *static_cast<const Identity*>(instance);
        constexpr std::string_view key = R"({"value":)";
        const std::string_view request(invocation->request.data, invocation->request.size);
        const size_t begin = request.find(key) + key.size();
        const size_t end = request.find('}', begin);
        // Not snprintf, which would take a tenth of the time.
        static std::string line;
        line = R"({"version":"0","type":"done","ok":true,"result":)";
        line.append(request, begin, end - begin).append("}\n");
        self.answers->output(self.host, token, {line.data(), line.size()});
        self.answers->ended(self.host, token, nullptr);
    }
};

std::string list(unsigned count) {
    std::string out = "[";
    for (unsigned i = 0; i < count; ++i) out += std::to_string(i + 1) + ",";
    return out + "]";
}

}  // namespace

int main(int argc, char** argv) {
    const auto is_given = [&](const char* name) {
        return std::any_of(argv + 1, argv + argc,
                           [&](const char* each) { return std::strcmp(each, name) == 0; });
    };
    EngineOptions options;
    options.times = Times{};
    Engine engine(options);
    Session session(engine);
    if (is_given("sink")) session.attach([](Event) {});

    nar_tool tool{};
    tool.size = sizeof tool;
    tool.name = detail::to_c("identity");
    tool.input_schema = detail::to_c(
        R"({"type":"object","required":["value"],"properties":{"value":{"type":"number"}}})");
    if (!is_given("ordinary")) tool.flags = NAR_TOOL_SYNCHRONOUS;
    const nar_tool* const tools[] = {&tool};
    nar_tool_extension functions{};
    functions.size = sizeof functions;
    functions.tools = tools;
    functions.tool_count = 1;
    functions.invoke = Identity::invoke;
    Identity identity;
    identity.host = session.extend("bench", NAR_EXTENSION_TOOL, &functions, &identity);
    identity.answers = static_cast<const nar_host_invocation*>(
        identity.host->get_extension(identity.host, detail::to_c(NAR_HOST_INVOCATION)));

    bool is_ok = false;
    session.run_script(
        "LET outer = " + list(100) + " LET inner = " + list(1000) +
            " FOR i IN outer DO FOR j IN inner DO LET x = CALL identity {value: j} END END",
        "", "", [](std::string_view) {},
        [&](const ScriptEnd& end) {
            is_ok = end.ok;
            if (!end.ok)
                std::fprintf(stderr, "%.*s\n", static_cast<int>(end.error.size()),
                             end.error.data());
        });
    const double begin = bench::processor_seconds();
    const uint64_t before = bench::resident_bytes();
    engine.run_until_idle();
    const double seconds = bench::processor_seconds() - begin;
    if (!is_ok) return 1;
    const double bytes = static_cast<double>(bench::resident_bytes() - before) / 100000;
    std::printf("%.1f\n", is_given("memory") ? bytes : 100000 / seconds);
    return 0;
}
