// SPDX-License-Identifier: Apache-2.0
// The story view of the terminal, used by `narratoria play`. The host reads the player's input. If
// the view cannot be written, its errno is published as "write_error".

#include <cstring>
#include <string>

#include "narratoria/plugin.hpp"
#include "shared/settings.hpp"
#include "view.hpp"

namespace narratoria::console {
namespace {

constexpr std::string_view kId = "narratoria.console";

class Console final : public plugin::EventSink,
                      public plugin::UiHandler,
                      public plugin::AssetRenderer {
public:
    static constexpr std::string_view kSettings = R"({
        "properties": {"verbose": {"type": "boolean"}}, "additionalProperties": false
    })";
    static constexpr std::uint32_t kKinds = View::kWanted;
    static constexpr std::string_view kUiEvents[] = {"narrative_choice"};
    static constexpr std::string_view kMediaTypes[] = {"image/*"};
    // A story's own handlers are called first.
    static constexpr std::int32_t kUiPriority = -100;
    static constexpr std::int32_t kAssetPriority = -100;

    explicit Console(const plugin::Host& host)
        : host_(host), view_(is_verbose(host), [this](int error) {
              // Published first: `play` reads it when it gets the log line.
              host_.publish("write_error", std::to_string(error));
              const char* reason = ::strerrordesc_np(error);
              host_.log(plugin::Level::Error,
                        std::string("cannot write the story to standard output: ") +
                            (reason != nullptr ? reason : "unknown error"));
          }) {}

    void event(const plugin::Event& event) override {
        view_.take(event);
        look_again(std::chrono::milliseconds(1));
    }

    plugin::HandlerResult handle(const plugin::UiEvent& event) override {
        return view_.take_choices(event.payload()) ? plugin::HandlerResult::Handled
                                                   : plugin::HandlerResult::Declined;
    }

    plugin::HandlerResult render(const plugin::Asset& asset) override {
        view_.show(asset);
        look_again(std::chrono::milliseconds(1));
        return plugin::HandlerResult::Handled;
    }

private:
    // A host that does not set it gets all that the console can show.
    static bool is_verbose(const plugin::Host& host) {
        return plugins::Settings(host.settings(), kId)
            .flag("verbose", "verbose = true")
            .value_or(true);
    }

    // Schedules a refresh; a burst of events causes only one.
    void look_again(std::chrono::milliseconds after) {
        if (looks_) return;
        looks_ = true;
        timer_ = plugin::Timer(host_, after, [this] {
            looks_ = false;
            if (const auto next = view_.refresh()) look_again(*next);
        });
    }

    plugin::Host host_;
    View view_;
    plugin::Timer timer_;
    bool looks_ = false;
};

}  // namespace
}  // namespace narratoria::console

using Console = narratoria::console::Console;
NARRATORIA_PLUGIN(Console, "narratoria.console", "Console", "1.0.0", "narratoria.event_sink/1",
                  "narratoria.ui_handler/1", "narratoria.asset_renderer/1");
