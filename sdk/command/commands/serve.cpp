// SPDX-License-Identifier: Apache-2.0
// narratoria serve: plays a story in the browser. The plugin narratoria.web serves the page; this
// command is its host.

#include <arpa/inet.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments/group_options.hpp"
#include "arguments/log_option.hpp"
#include "commands/command.hpp"
#include "display.hpp"
#include "io/faults.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "narratoria/engine.hpp"
#include "output.hpp"
#include "story/browser.hpp"
#include "story/folder.hpp"
#include "story/saved_games.hpp"
#include "story/session_plugins.hpp"
#include "story/unstored_turns.hpp"
#include "story_text.hpp"

namespace narratoria::command {
namespace {

struct ServeOptions {
    std::string story;
    std::string narrator;
    std::vector<std::string> plugins;
    story::SavedGame saved;
    bool no_store = false;
    std::string address;
    std::optional<std::uint16_t> port;
    bool opens = false;
    bool as_json = false;
    LogOption log;
    GroupOptions groups;
};

constexpr std::string_view kWeb = "narratoria.web";
// The plugin publishes the page's address under this name.
constexpr std::string_view kUrl = "url";

class StoryServer {
public:
    explicit StoryServer(const ServeOptions& options)
        : as_json_(options.as_json), opens_(options.opens), log_level_(options.log.level()) {
        EngineOptions engine_options;
        // A game that continues within a day still has the pictures that its tools made.
        if (!options.saved.store.empty()) engine_options.output_mode = NAR_OUTPUT_KEEP;
        engine_options.log = [this](const LogLine& line) {
            unstored_turns_.on_log(line.code);
            on_log(line.level, line.message);
        };
        options.groups.apply_to(engine_options);
        engine_.emplace(engine_options);
        std::vector<std::string_view> plugins{kWeb};
        plugins.insert(plugins.end(), options.plugins.begin(), options.plugins.end());
        const std::string settings = settings_of(options);
        try {
            session_.emplace(*engine_, SessionOptions{.id = options.saved.session,
                                                      .story = options.story,
                                                      .plugins = plugins,
                                                      .narrator_id = options.narrator,
                                                      .plugin_settings = settings,
                                                      .store = options.saved.store,
                                                      .must_be_new = options.saved.must_be_new,
                                                      .watches_story = true});
            continue_game(options);
        } catch (const Error& error) {
            if (error.code().starts_with("STORE_") || error.code() == "SESSION_EXISTS") throw;
            refuse_document(error, display_path(options.story), "story",
                            "the story was not served");
        }
        for (const std::string& plugin : options.plugins) {
            const auto state = story::state_of_plugin(*session_, plugin);
            if (state && !state->is_active && !state->reason.empty()) {
                throw Refused(fmt::format("--plugin {}: {}", printable(plugin), state->reason));
            }
        }
        require_page();
        is_open_ = true;
        for (const std::string& line : early_log_) complain(line);
    }

    // Runs until a signal arrives. Returns the exit status.
    int run() {
        const int status = drive();
        return unstored_turns_.report(*session_, status);
    }

private:
    int drive() {
        interruption::record_first();
        for (;;) {
            engine_->run_for(std::chrono::microseconds(0));
            if (const int signal = interruption::received(); signal != 0) {
                return kExitSignal + signal;
            }
            if (!address_reported_) {
                const auto address = session_->published(kWeb, kUrl);
                if (address && !report_address(address->view())) return kExitFailure;
            }
            browser_.reap();
            // poll(2) ignores a negative descriptor.
            pollfd ready[] = {{engine_->descriptor(), POLLIN, 0},
                              {interruption::descriptor(), POLLIN, 0},
                              {browser_.descriptor(), POLLIN, 0}};
            const auto due = engine_->timeout();
            int wait = due ? static_cast<int>(due->count()) : -1;
            if (!address_reported_) {
                // The plugin publishes its address before the engine first has to wait. Without an
                // address no browser can connect, so refuse to wait.
                if (poll(ready, 1, 0) == 0 && wait != 0) fail_without_address();
                wait = 0;
            }
            // A signal ends the poll too; the loop handles it above.
            static_cast<void>(poll(ready, 3, wait));
        }
    }

    void continue_game(const ServeOptions& options) {
        if (options.saved.store.empty()) return;
        const story::TurnTree turns(session_->turns());
        saved_ = story::describe_game(options.saved, turns);
        session_->attach(
            [this](Event event) {
                const json::Document body = json::read(event.body());
                const json::Value* const is_durable = json::member(body, "durable");
                unstored_turns_.on_turn(is_durable != nullptr && is_durable->IsTrue());
            },
            kinds(Kind::TurnEnded));
        if (const json::Value* const turn = turns.interrupted()) {
            saved_ += fmt::format("; \"{}\" was interrupted; the page can resume it",
                                  cut(story::heading(*turn), kStoryWidth));
        }
    }

    // The options override the story's own settings.
    static std::string settings_of(const ServeOptions& options) {
        std::string own;
        if (!options.address.empty()) {
            in_addr address{};
            if (inet_pton(AF_INET, options.address.c_str(), &address) != 1 ||
                !options.address.starts_with("127.")) {
                throw Refused(fmt::format(
                    "--address {}: not a loopback address; give one of this machine alone, "
                    "127.x.y.z, such as 127.0.0.1",
                    printable(options.address)));
            }
            own = fmt::format("\"address\":\"{}\"", options.address);
        }
        if (options.port) {
            own += fmt::format("{}\"port\":{}", own.empty() ? "" : ",", *options.port);
        }
        return own.empty() ? own : fmt::format("{{\"{}\":{{{}}}}}", kWeb, own);
    }

    void require_page() const {
        const auto state = story::state_of_plugin(*session_, kWeb);
        if (state && state->is_active) return;
        throw Refused(fmt::format("cannot serve the page with the plugin {}: {}", kWeb,
                                  state && !state->reason.empty()
                                      ? state->reason
                                      : std::string("the plugin was not loaded")));
    }

    [[noreturn]] static void fail_without_address() {
        throw Refused(fmt::format(
            "cannot serve the page: the plugin {} started but reported no address; see its log "
            "with --log info",
            kWeb));
    }

    void on_log(std::uint32_t level, std::string_view message) {
        if (level < log_level_) return;
        // Until the page is open, collect the log: a refusal already has the plugin's reason.
        if (is_open_) complain(printable(message));
        else early_log_.push_back(printable(message));
    }

    // False if writing to standard output fails.
    bool report_address(std::string_view address) {
        std::string text;
        if (as_json_) {
            const std::size_t colon = address.rfind(':');
            const std::string_view port = address.substr(colon + 1, address.rfind('/') - colon - 1);
            text = fmt::format("{{\"url\":\"{}\",\"port\":{}}}\n", address, port);
        } else {
            text = fmt::format("The story is at {}\n{}Ctrl-C ends it.\n", address,
                               saved_.empty() ? "" : saved_ + "\n");
        }
        address_reported_ = true;
        if (!write_all(STDOUT_FILENO, text)) {
            complain(fmt::format("cannot write the page's address to standard output: {}",
                                 reason(errno)));
            return false;
        }
        if (opens_) browser_.open(address);
        return true;
    }

    const bool as_json_;
    const bool opens_;
    const std::uint32_t log_level_;
    bool is_open_ = false;
    bool address_reported_ = false;
    std::string saved_;  // where the game is saved
    story::UnstoredTurns unstored_turns_;
    story::Browser browser_;
    std::vector<std::string> early_log_;
    // Declared last, so that they are destroyed first: their callbacks use the members above.
    std::optional<Engine> engine_;
    std::optional<Session> session_;
};

int serve(ServeOptions options) {
    options.story = story::find_story(options.story, "serve");
    require_standard_output("the page's address");
    std::optional<StoryServer> served;
    // A program that reads the address gets a new game each time.
    const bool is_kept = isatty(STDOUT_FILENO) != 0 && !options.as_json;
    const auto saved = story::open_game(options.saved, options.no_store, is_kept, options.story, {},
                                        [&](const story::SavedGame& chosen) {
                                            options.saved = chosen;
                                            served.emplace(options);
                                        });
    const int status = served->run();
    served.reset();
    if (saved && saved->is_created) story::remove_unplayed_game(saved->store, saved->session);
    return status;
}

}  // namespace

void add_serve(Command application) {
    Command command = application.subcommand("serve", "Play a story in the browser");
    auto options = std::make_shared<ServeOptions>();
    command
        .option("--story", options->story,
                "The story's folder (default: the working folder, if it has a story.toml)")
        .type_name("FOLDER")
        .not_empty();
    story::add_saving(command, options->saved, options->no_store, "Do not save the game");
    command
        .option("--address", options->address,
                "The address of the page, 127.x.y.z (default: a random one, where the system has "
                "more than 127.0.0.1)")
        .type_name("ADDRESS");
    command
        .option("--port", options->port,
                "The port of the page, on this machine only (default: any free port)")
        .within(0, 65535)
        .type_name("N:INT in [0 - 65535]");
    command
        .option("--narrator", options->narrator,
                "The narrator: template, or a plugin's id (default: the story's)")
        .type_name("NAME");
    command
        .option("--plugin", options->plugins,
                "Load an additional plugin: a file (with a slash) or an id; may be repeated")
        .type_name("PLUGIN")
        .one_value();
    command.flag("--json", options->as_json,
                 "Print the address as one line of JSON, {\"url\", \"port\"}");
    command.flag("--open", options->opens, "Open the page in the desktop's browser");
    options->log.add_to(command);
    options->groups.add_to(command);
    command.footer(
        "Prints the page's address, with the token that a browser needs, and runs until "
        "Ctrl-C.\nOnly browsers on this machine can connect.\nExit status: 130 after Ctrl-C, 2 the "
        "story, an option or the page was refused.\nExample:\n  narratoria serve --story "
        "examples/stories/torch");
    command.action([options] { return serve(*options); });
}

}  // namespace narratoria::command
