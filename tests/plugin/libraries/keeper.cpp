// SPDX-License-Identifier: Apache-2.0
// A plugin that keeps a program running while its instance lives: it writes the payload of each UI
// event to `cat` and logs the output.

#include <narratoria/plugin.hpp>

#include <string>
#include <string_view>

namespace plugin = narratoria::plugin;

namespace {

class Keeper final : public plugin::UiHandler {
public:
    static constexpr std::string_view kUiEvents[] = {"keep"};

    explicit Keeper(const plugin::Host& host) : host_(host) {
        host_.post([this] { start(); });
    }

    plugin::HandlerResult handle(const plugin::UiEvent& event) override {
        if (!process_.is_running()) start();
        process_.write(std::string(event.payload()) + "\n");
        return plugin::HandlerResult::Handled;
    }

private:
    void start() {
        plugin::ProcessEvents events;
        events.on_output = [this](std::string_view bytes) {
            host_.log(plugin::Level::Info, "it says " + std::to_string(bytes.size()) + " bytes");
        };
        process_ = plugin::Process(host_, {{"cat"}, {}, {}, nullptr}, std::move(events));
    }

    plugin::Host host_;
    plugin::Process process_;
};

}  // namespace

NARRATORIA_PLUGIN(Keeper, "test.keeper", "Keeper", "1.0.0", "narratoria.ui_handler/1");
