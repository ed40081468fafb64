// SPDX-License-Identifier: Apache-2.0
// plugin_samples RAIN ORACLE: loads the plugins of docs/writing-a-plugin.md and calls them as a host
// does. Prints what fails, and exits with 1 if anything does.
#include <dlfcn.h>

#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "narratoria/tool.h"
#include "narratoria/ui_handler.h"
#include "sdk/fake_host.hpp"

namespace {

int failures = 0;

void expect(bool holds, std::string_view what) {
    if (holds) return;
    std::cerr << "this does not hold: " << what << '\n';
    ++failures;
}

// An instance of a plugin with its own host.
struct Loaded {
    explicit Loaded(const char* path) {
        void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        void* entry = library != nullptr ? dlsym(library, NAR_PLUGIN_ENTRY) : nullptr;
        if (entry == nullptr) throw std::runtime_error(dlerror());
        nar_plugin_entry_fn enter = nullptr;
        std::memcpy(&enter, &entry, sizeof enter);
        nar_failure failure{};
        failure.size = sizeof failure;
        nar_host_description description = {sizeof description, NAR_ABI_VERSION + (1u << 16),
                                            NAR_STR("test"), NAR_STR("2.0.0")};
        expect(enter(&description, &plugin, &failure) == NAR_UNSUPPORTED,
               "a host of another major version is refused");
        expect(failure.message[0] != '\0', "and the message says why");
        description.abi_version = NAR_ABI_VERSION;
        if (enter(&description, &plugin, &failure) != NAR_OK ||
            plugin->init(host.raw(), &instance, &failure) != NAR_OK) {
            throw std::runtime_error(failure.message);
        }
        host.is_active = true;
    }
    ~Loaded() {
        host.is_active = false;
        plugin->deinit(instance);
    }
    Loaded(const Loaded&) = delete;
    Loaded& operator=(const Loaded&) = delete;

    template <class Extension>
    const Extension& extension(std::string_view id) const {
        const void* found = plugin->get_extension({id.data(), id.size()});
        if (found == nullptr) throw std::runtime_error("there is no " + std::string(id));
        return *static_cast<const Extension*>(found);
    }

    FakeHost host;
    const nar_plugin* plugin = nullptr;
    void* instance = nullptr;
};

void exercise_rain(const char* path) {
    Loaded rain(path);
    const auto& handler = rain.extension<nar_ui_handler_extension>(NAR_EXTENSION_UI_HANDLER);
    nar_ui_event event{};
    event.size = sizeof event;
    event.attempt = 1;
    event.name = NAR_STR("rain");
    event.payload = NAR_STR(R"({"drops":3})");
    expect(handler.handle(rain.instance, &event) == NAR_OK, "rain is taken");
    expect(rain.host.has_logged(R"({"drops":3})"), "and logged");
    expect(rain.host.patches.size() == 1, "and the state is patched");
    event.attempt = 2;
    expect(handler.handle(rain.instance, &event) == NAR_DECLINED, "a second try is declined");
}

void exercise_oracle(const char* path) {
    Loaded oracle(path);
    const auto& tools = oracle.extension<nar_tool_extension>(NAR_EXTENSION_TOOL);
    nar_invocation invocation{};
    invocation.size = sizeof invocation;
    const auto ask = [&](std::uint64_t token, nar_str request) {
        invocation.request = request;
        tools.invoke(oracle.instance, token, tools.tools[0], &invocation);
        return oracle.host.wait_for_end(token);
    };
    const auto answered = ask(
        1,
        NAR_STR(
            R"({"requestId":"r","tool":"oracle","operation":"run","input":{"question":"Rain?"}})"));
    expect(answered.code.empty(), "a question is answered");
    expect(oracle.host.output[1].find(R"("oracle":"no")") != std::string::npos, "with no");
    expect(oracle.host.output[1].find(R"("done","ok":true)") != std::string::npos, "and done");
    const auto empty = ask(
        2,
        NAR_STR(R"({"requestId":"r","tool":"oracle","operation":"run","input":{"question":""}})"));
    expect(empty.error == "The question is empty.", "no question is a failure that says so");
}

}  // namespace

int main(int argument_count, char** arguments) {
    if (argument_count != 3) return 2;
    try {
        exercise_rain(arguments[1]);
        exercise_oracle(arguments[2]);
    } catch (const std::exception& error) {
        expect(false, error.what());
    }
    return failures == 0 ? 0 : 1;
}
