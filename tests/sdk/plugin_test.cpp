// SPDX-License-Identifier: Apache-2.0
// narratoria/plugin.hpp adds to the C contract: a class per extension, exceptions that never reach
// the host, and handles that are safe to use too late.
#include "narratoria/plugin.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/cases.hpp"
#include "sdk/error_of.hpp"
#include "sdk/fake_host.hpp"
#include "support/sized.hpp"

namespace {

namespace plugin = narratoria::plugin;
using namespace std::chrono_literals;
using narratoria::test::error_of;
using narratoria::test::sized;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- the plugin that this program exports by the macro

class Rain final : public plugin::UiHandler, public plugin::EventSink {
public:
    static constexpr std::string_view kUiEvents[] = {"rain", "snow"};
    static constexpr std::int32_t kUiPriority = 7;
    static constexpr std::uint32_t kKinds = narratoria::kinds(narratoria::Kind::Prompt);

    plugin::HandlerResult handle(const plugin::UiEvent&) override {
        return plugin::HandlerResult::Handled;
    }
    void event(const plugin::Event&) noexcept override {}
};

}  // namespace

NARRATORIA_PLUGIN(Rain, "org.example.rain", "Rain, or snow", "1.2.3", NAR_EXTENSION_UI_HANDLER,
                  "narratoria.event_sink/1");

namespace {

std::string_view view(nar_str text) { return narratoria::detail::to_view(text); }
nar_str c(std::string_view text) { return narratoria::detail::to_c(text); }

// ---- further plugins, without the macro, because a program has only one entry

template <class Class>
struct Described {
    static constexpr std::string_view kId = "org.example.test";
    static constexpr std::string_view kName = "Test";
    static constexpr std::string_view kVersion = "1.0.0";
    static constexpr auto& kExtensions = Class::kExtensions;
};

// One instance of a class, loaded into a fake host.
template <class Class>
class Loaded {
public:
    explicit Loaded(FakeHost& host) : host_(host) {
        failure.size = sizeof failure;
        const nar_host_description description = {sizeof description, NAR_ABI_VERSION,
                                                  NAR_STR("test"), NAR_STR("0.1.0")};
        EXPECT_EQ(NAR_OK, Library::enter(&description, &plugin_, &failure));
        status = plugin_->init(host_.raw(), &instance_, &failure);
        host_.is_active = status == NAR_OK;
        has_begun_ = host_.is_active;
    }
    ~Loaded() { end(); }
    Loaded(const Loaded&) = delete;
    Loaded& operator=(const Loaded&) = delete;

    // Ends the instance as a session does: remaining timers, polls and posts are dropped before
    // deinit.
    void end() {
        if (!std::exchange(has_begun_, false)) return;
        host_.drop_posted();
        host_.timers.clear();
        host_.polls.clear();
        host_.is_active = false;
        plugin_->deinit(instance_);
    }

    template <class Extension>
    const Extension& extension(std::string_view id) const {
        const void* found = plugin_->get_extension(c(id));
        EXPECT_NE(nullptr, found) << id;
        return *static_cast<const Extension*>(found);
    }
    void* instance() const { return instance_; }

    nar_status status;
    nar_failure failure{};

private:
    using Library = plugin::detail::Library<Class, Described<Class>>;

    FakeHost& host_;
    const nar_plugin* plugin_ = nullptr;
    void* instance_ = nullptr;
    bool has_begun_ = false;
};

// Saves something when it ends, which is too late.
class Saving final : public plugin::EventSink {
public:
    static constexpr std::string_view kExtensions[] = {NAR_EXTENSION_EVENT_SINK};

    explicit Saving(const plugin::Host& host) : host_(host) {}
    ~Saving() {
        host_.patch_state("{}");
        EXPECT_EQ(host_.read_state("/torch"), std::nullopt);
    }
    void event(const plugin::Event&) override {}

private:
    plugin::Host host_;
};

TEST(PluginHost, CallInADestructorIsLogged) {
    FakeHost fake;
    { const Loaded<Saving> loaded(fake); }
    EXPECT_TRUE(fake.has_logged("a call (narratoria.state/1) failed: the instance has ended"));
    EXPECT_THAT(fake.patches, IsEmpty());
}

// A sink that runs the test's function, so that it acts while the plugin is active.
class Acting final : public plugin::EventSink {
public:
    static constexpr std::string_view kExtensions[] = {NAR_EXTENSION_EVENT_SINK};
    static inline std::function<void(const plugin::Event&)> act;

    explicit Acting(const plugin::Host& host) : host_(host) { last_host = host; }
    ~Acting() { host_.log(plugin::Level::Info, "goodbye"); }
    void event(const plugin::Event& event) override { act(event); }

    static inline std::optional<plugin::Host> last_host;

private:
    plugin::Host host_;
};

void send_event(const Loaded<Acting>& loaded, std::string_view body = "{}") {
    auto event = sized<nar_event>();
    event.kind = NAR_KIND_PROMPT;
    event.seq = 3;
    event.body = c(body);
    loaded.extension<nar_event_sink_extension>(NAR_EXTENSION_EVENT_SINK)
        .event(loaded.instance(), &event);
}

// Runs a function on the engine thread while the plugin is active, with the plugin's host.
template <class Function>
void in_plugin(FakeHost& fake, Function&& function) {
    Loaded<Acting> loaded(fake);
    Acting::act = [&](const plugin::Event&) { function(*Acting::last_host); };
    send_event(loaded);
    Acting::act = nullptr;
    loaded.end();
    Acting::last_host.reset();
}

// ---------------------------------------------------------------- the entry

nar_host_description host_of(std::uint32_t abi_version) {
    return {sizeof(nar_host_description), abi_version, NAR_STR("test"), NAR_STR("9.9.9")};
}

TEST(PluginEntry, MatchesTheMacro) {
    const auto host = host_of(NAR_ABI_VERSION);
    const nar_plugin* described = nullptr;
    ASSERT_EQ(NAR_OK, nar_plugin_entry(&host, &described, nullptr));
    EXPECT_EQ("org.example.rain", view(described->id));
    EXPECT_EQ("Rain, or snow", view(described->name));
    EXPECT_EQ("1.2.3", view(described->version));
    EXPECT_EQ(NAR_ABI_VERSION, described->abi_version);
    ASSERT_EQ(2u, described->extension_count);
    EXPECT_EQ("narratoria.ui_handler/1", view(described->extensions[0]));
    EXPECT_EQ("narratoria.event_sink/1", view(described->extensions[1]));
}

TEST(PluginEntry, NoteMatchesTheEntry) {
    EXPECT_STREQ("Narratoria", nar_plugin_note.owner);
    EXPECT_STREQ(
        R"({"schema":"plugin/1","id":"org.example.rain","name":"Rain, or snow","version":"1.2.3",)"
        R"("abi":"1.0","extensions":["narratoria.ui_handler/1","narratoria.event_sink/1"]})",
        nar_plugin_note.text);
}

struct Configured : plugin::EventSink {
    static constexpr std::string_view kSettings = R"({"type":"object"})";
};

TEST(PluginEntry, NoteHasTheSchemaOfTheSettings) {
    static constexpr auto note =
        narratoria::plugin::detail::note<Configured, NarratoriaPluginDescription>();
    EXPECT_THAT(note.text, testing::EndsWith(R"("],"settings":{"type":"object"}})"));
    EXPECT_EQ(sizeof note.text, note.text_size);
}

TEST(PluginEntry, RefusesAnotherMajorVersionAndNamesBoth) {
    const auto host = host_of(7u << 16 | 4u);
    const nar_plugin* described = nullptr;
    auto failure = sized<nar_failure>();
    EXPECT_EQ(NAR_UNSUPPORTED, nar_plugin_entry(&host, &described, &failure));
    EXPECT_EQ(nullptr, described);
    EXPECT_THAT(failure.message, HasSubstr("Rain, or snow 1.2.3"));
    EXPECT_THAT(failure.message, HasSubstr("1.0"));
    EXPECT_THAT(failure.message, HasSubstr("7.4"));
}

TEST(PluginEntry, AcceptsALaterMinorVersion) {
    const auto host = host_of(NAR_ABI_VERSION + 3);
    const nar_plugin* described = nullptr;
    EXPECT_EQ(NAR_OK, nar_plugin_entry(&host, &described, nullptr));
}

TEST(PluginEntry, HasOnlyTheExtensionsOfItsClass) {
    const auto host = host_of(NAR_ABI_VERSION);
    const nar_plugin* described = nullptr;
    ASSERT_EQ(NAR_OK, nar_plugin_entry(&host, &described, nullptr));
    const auto* handler = static_cast<const nar_ui_handler_extension*>(
        described->get_extension(NAR_STR(NAR_EXTENSION_UI_HANDLER)));
    ASSERT_NE(nullptr, handler);
    EXPECT_EQ(handler, described->get_extension(NAR_STR(NAR_EXTENSION_UI_HANDLER)));
    EXPECT_EQ(sizeof(nar_ui_handler_extension), handler->size);
    EXPECT_EQ(7, handler->priority);
    ASSERT_EQ(2u, handler->event_count);
    EXPECT_EQ("rain", view(handler->events[0]));
    EXPECT_EQ("snow", view(handler->events[1]));
    const auto* sink = static_cast<const nar_event_sink_extension*>(
        described->get_extension(NAR_STR(NAR_EXTENSION_EVENT_SINK)));
    ASSERT_NE(nullptr, sink);
    EXPECT_EQ(1u << NAR_KIND_PROMPT, sink->kinds);
    for (const char* id : {"", "narratoria.ui_handler/2", "narratoria.ui_handler", "narrator/1",
                           NAR_EXTENSION_NARRATOR}) {
        EXPECT_EQ(nullptr, described->get_extension(c(id))) << id;
    }
}

// ---------------------------------------------------------------- the constructor

class Picky final : public plugin::EventSink {
public:
    static constexpr std::string_view kExtensions[] = {NAR_EXTENSION_EVENT_SINK};
    explicit Picky(const plugin::Host& host) {
        kept = host;
        if (host.settings() != "{}") throw std::runtime_error(std::string(host.settings()));
        if (host.story() == "state") host.read_state();
    }
    void event(const plugin::Event&) override {}
    static inline std::optional<plugin::Host> kept;
};

TEST(PluginConstructor, ExceptionRefusesTheInstance) {
    FakeHost host;
    host.settings = R"({"colour": 3})";
    const Loaded<Picky> loaded(host);
    EXPECT_EQ(NAR_FAILED, loaded.status);
    EXPECT_STREQ(R"({"colour": 3})", loaded.failure.message);
}

TEST(PluginConstructor, ExceptionLeavesInertHandles) {
    FakeHost host;
    host.settings = "[]";
    const Loaded<Picky> loaded(host);
    Picky::kept->log(plugin::Level::Error, "too late");
    EXPECT_EQ(nullptr, Picky::kept->raw());
    EXPECT_THAT(host.log, IsEmpty());
}

TEST(PluginConstructor, CallsThatNeedAnActiveInstanceSaySo) {
    FakeHost host;
    host.story = "state";
    const Loaded<Picky> loaded(host);
    EXPECT_EQ(NAR_FAILED, loaded.status);
    EXPECT_THAT(loaded.failure.message, HasSubstr("constructor"));
    EXPECT_THAT(loaded.failure.message, HasSubstr("narratoria.state/1"));
}

TEST(PluginFailure, IsTruncatedBetweenCharactersAndTerminated) {
    auto failure = sized<nar_failure>();
    std::string text(sizeof failure.message - 2, 'a');
    plugin::detail::tell(&failure, text + "é", "CODE");
    EXPECT_EQ(text, failure.message) << "half of the last letter would not be UTF-8";
    EXPECT_STREQ("CODE", failure.code);
    text.resize(text.size() - 1);
    plugin::detail::tell(&failure, text + "é");
    EXPECT_EQ(text + "é", failure.message);
    EXPECT_STREQ("", failure.code);
    plugin::detail::tell(nullptr, "nobody asks");
}

// ---------------------------------------------------------------- ui handlers, asset renderers, sinks

class Showing final : public plugin::UiHandler, public plugin::AssetRenderer {
public:
    static constexpr std::string_view kExtensions[] = {NAR_EXTENSION_UI_HANDLER,
                                                       NAR_EXTENSION_ASSET_RENDERER};
    static constexpr std::string_view kMediaTypes[] = {"image/*"};

    plugin::HandlerResult handle(const plugin::UiEvent& event) override {
        if (event.name() == "broken") throw std::runtime_error("no ink");
        if (event.name() == "odd") throw 3;
        return event.payload() == "{}" ? plugin::HandlerResult::Declined
                                       : plugin::HandlerResult::Handled;
    }
    plugin::HandlerResult render(const plugin::Asset& asset) override {
        if (asset.path() == "/gone.png") throw std::runtime_error("it is gone");
        if (asset.path() == "/late.png") return plugin::HandlerResult::Pending;
        return asset.media_type() == "image/png" ? plugin::HandlerResult::Handled
                                                 : plugin::HandlerResult::Declined;
    }
};

nar_status show(const Loaded<Showing>& loaded, std::string_view name, std::string_view payload) {
    auto event = sized<nar_ui_event>();
    event.name = c(name);
    event.payload = c(payload);
    return loaded.extension<nar_ui_handler_extension>(NAR_EXTENSION_UI_HANDLER)
        .handle(loaded.instance(), &event);
}

TEST(PluginUiHandler, HandlesOrDeclines) {
    FakeHost host;
    const Loaded<Showing> loaded(host);
    EXPECT_EQ(NAR_OK, show(loaded, "rain", R"({"drops":2})"));
    EXPECT_EQ(NAR_DECLINED, show(loaded, "rain", "{}"));
}

TEST(PluginUiHandler, LogsItsExceptionAndFails) {
    FakeHost host;
    const Loaded<Showing> loaded(host);
    EXPECT_EQ(NAR_FAILED, show(loaded, "broken", "{}"));
    EXPECT_EQ(NAR_FAILED, show(loaded, "odd", "{}"));
    EXPECT_THAT(host.log,
                ElementsAre("error: handle threw: no ink",
                            "error: handle threw: an exception that is not a std::exception"));
}

TEST(PluginUiHandler, WithoutNamesGetsEveryEvent) {
    FakeHost host;
    const Loaded<Showing> loaded(host);
    const auto& handler = loaded.extension<nar_ui_handler_extension>(NAR_EXTENSION_UI_HANDLER);
    EXPECT_EQ(nullptr, handler.events);
    EXPECT_EQ(0u, handler.event_count);
    EXPECT_EQ(0, handler.priority);
}

TEST(PluginAssetRenderer, HandlesDeclinesOrFails) {
    FakeHost host;
    const Loaded<Showing> loaded(host);
    const auto& renderer =
        loaded.extension<nar_asset_renderer_extension>(NAR_EXTENSION_ASSET_RENDERER);
    ASSERT_EQ(1u, renderer.media_type_count);
    EXPECT_EQ("image/*", view(renderer.media_types[0]));
    auto asset = sized<nar_asset>();
    asset.media_type = NAR_STR("image/png");
    EXPECT_EQ(NAR_OK, renderer.render(loaded.instance(), &asset));
    asset.media_type = NAR_STR("image/gif");
    EXPECT_EQ(NAR_DECLINED, renderer.render(loaded.instance(), &asset));
    asset.path = NAR_STR("/late.png");
    EXPECT_EQ(NAR_PENDING, renderer.render(loaded.instance(), &asset));
    asset.path = NAR_STR("/gone.png");
    EXPECT_EQ(NAR_FAILED, renderer.render(loaded.instance(), &asset));
    EXPECT_TRUE(host.has_logged("render threw: it is gone"));
}

TEST(PluginDescription, IdFollowsTheRuntimesRule) {
    const narratoria::test::Json ids = narratoria::test::cases("plugin-ids");
    for (const std::string& id : ids["valid"].strings()) {
        EXPECT_TRUE(plugin::detail::is_plugin_id(id)) << id;
    }
    for (const std::string& id : ids["invalid"].strings()) {
        EXPECT_FALSE(plugin::detail::is_plugin_id(id)) << id;
    }
}

TEST(PluginEventSink, GetsEachRecord) {
    FakeHost host;
    const Loaded<Acting> loaded(host);
    std::string seen;
    Acting::act = [&](const plugin::Event& event) {
        EXPECT_EQ(narratoria::Kind::Prompt, event.kind());
        EXPECT_EQ(3u, event.seq());
        seen = event.body();
    };
    send_event(loaded, R"({"text":"Go"})");
    EXPECT_EQ(R"({"text":"Go"})", seen);
    EXPECT_EQ(0u, loaded.extension<nar_event_sink_extension>(NAR_EXTENSION_EVENT_SINK).kinds);
}

TEST(PluginEventSink, WritesRecordsLikeTheLibraryWithoutLinkingIt) {
    auto raw = sized<nar_event>();
    raw.seq = 18446744073709551;
    raw.session_id = NAR_STR("s");
    raw.body = NAR_STR(R"({"text":"Go"})");
    const auto of_library = [&] { return std::string(narratoria::Event(raw).json().view()); };
    for (const std::int64_t time : {0L, 1795253400123456L, 951782399999999L, -1L}) {
        raw.time_us = time;
        for (std::uint32_t kind = NAR_KIND_TOOL_EVENT; kind <= NAR_KIND_WARNING; ++kind) {
            raw.kind = kind;
            EXPECT_EQ(of_library(), plugin::Event(raw).json());
        }
    }
    raw.plan_id = NAR_STR("a \"plan\" \\ é");
    raw.tool_id = NAR_STR("door");
    raw.attempt = 2;
    EXPECT_EQ(of_library(), plugin::Event(raw).json());
    raw.kind = NAR_KIND_ASSET_PLACEHOLDER;
    EXPECT_EQ("asset_placeholder", plugin::Event(raw).kind_name());
    raw.kind = 999;
    EXPECT_EQ("unknown", plugin::Event(raw).kind_name());
    EXPECT_EQ(of_library(), plugin::Event(raw).json());
}

TEST(PluginEventSink, LogsItsException) {
    FakeHost host;
    const Loaded<Acting> loaded(host);
    Acting::act = [](const plugin::Event&) { throw std::runtime_error("disk full"); };
    send_event(loaded);
    EXPECT_THAT(host.log, ElementsAre("error: event threw: disk full"));
}

// ---------------------------------------------------------------- narrators

class Telling final : public plugin::Narrator {
public:
    static constexpr std::string_view kExtensions[] = {NAR_EXTENSION_NARRATOR};
    static inline std::function<void(std::string_view, plugin::Reply)> act;
    static inline std::vector<std::uint64_t> cancelled;

    Telling() { cancelled.clear(); }
    void generate(std::string_view request, plugin::Reply reply) override {
        act(request, std::move(reply));
    }
    void cancel_reply(std::uint64_t token) override { cancelled.push_back(token); }
};

void ask(const Loaded<Telling>& loaded, std::uint64_t token,
         std::function<void(std::string_view, plugin::Reply)> act) {
    Telling::act = std::move(act);
    const nar_narrator_request request{sizeof request, 1500, token, NAR_STR(R"({"prompt":{}})")};
    loaded.extension<nar_narrator_extension>(NAR_EXTENSION_NARRATOR)
        .generate(loaded.instance(), &request);
    Telling::act = nullptr;
}
// Asks, and returns the reply that is left open.
plugin::Reply kept_ask(const Loaded<Telling>& loaded, std::uint64_t token) {
    std::optional<plugin::Reply> kept;
    ask(loaded, token, [&](auto, plugin::Reply reply) { kept = std::move(reply); });
    return *std::move(kept);
}
void cancel(const Loaded<Telling>& loaded, std::uint64_t token) {
    loaded.extension<nar_narrator_extension>(NAR_EXTENSION_NARRATOR)
        .cancel(loaded.instance(), token);
}

TEST(PluginNarrator, AnswersAtOnce) {
    FakeHost host;
    const Loaded<Telling> loaded(host);
    ask(loaded, 5, [](std::string_view request, const plugin::Reply& reply) {
        EXPECT_EQ(R"({"prompt":{}})", request);
        EXPECT_EQ(5u, reply.token());
        EXPECT_TRUE(reply.is_wanted());
        EXPECT_TRUE(reply.plan("{}"));
    });
    EXPECT_EQ("{}", host.plans[5]);
    EXPECT_EQ(0, host.refused_calls);
}

TEST(PluginNarrator, TellsItsNarrativeInPiecesUntilItAnswers) {
    FakeHost host;
    const Loaded<Telling> loaded(host);
    ask(loaded, 5, [](auto, const plugin::Reply& reply) {
        EXPECT_TRUE(reply.delta("It "));
        EXPECT_TRUE(reply.delta("opens."));
        EXPECT_TRUE(reply.plan("{}"));
        EXPECT_FALSE(reply.delta("Late."));
    });
    EXPECT_EQ("It opens.", host.deltas[5]);
    EXPECT_EQ(0, host.refused_calls);
}

TEST(PluginNarrator, AnswersLaterFromAnotherThread) {
    FakeHost host;
    const Loaded<Telling> loaded(host);
    plugin::Reply kept = kept_ask(loaded, 1);
    EXPECT_THAT(host.plans, IsEmpty());
    std::thread([reply = std::move(kept)] { reply.plan("[1]"); }).join();
    EXPECT_EQ("[1]", host.plans[1]);
}

// ---- tools that run while it thinks

TEST(PluginNarrator, InvokesToolsAndRepliesWithTheirOutcomes) {
    FakeHost host;
    const Loaded<Telling> loaded(host);
    std::string told;
    ask(loaded, 5, [&](auto, const plugin::Reply& reply) {
        const std::uint64_t first = reply.invoke(
            R"({"tool":"a"})", [&told, reply](std::uint64_t number, std::string_view outcome) {
                told = std::to_string(number) + " " + std::string(outcome);
                EXPECT_NE(0u, reply.invoke(R"({"tool":"b"})",
                                           [reply](auto, auto) { EXPECT_TRUE(reply.plan("{}")); }));
            });
        EXPECT_EQ(1u, first);
    });
    ASSERT_EQ(1u, host.invoked.size());
    EXPECT_EQ(5u, host.invoked[1].token);
    EXPECT_EQ(R"({"tool":"a"})", host.invoked[1].invocation);
    host.tell_outcome(1, R"({"ok":true})");
    EXPECT_EQ(R"(1 {"ok":true})", told);
    host.tell_outcome(2, "{}");
    EXPECT_EQ("{}", host.plans[5]);
    EXPECT_THAT(host.failures, IsEmpty());
    EXPECT_THAT(host.log, IsEmpty());
}

TEST(PluginNarrator, RefusedInvocationSaysWhy) {
    FakeHost host;
    const Loaded<Telling> loaded(host);
    auto expect = [&](std::uint64_t token, nar_status status, const char* why) {
        host.invoke_status = status;
        host.invoke_failure = why;
        ask(loaded, token, [&](auto, const plugin::Reply& reply) {
            auto held = std::make_shared<int>(1);
            try {
                EXPECT_EQ(0u, reply.invoke("{}", [held](auto, auto) { FAIL(); }));
                EXPECT_EQ(NAR_GONE, status);
            } catch (const narratoria::Error& error) {
                EXPECT_EQ(status, error.status());
                EXPECT_STREQ(why, error.what());
            }
            EXPECT_EQ(1, held.use_count()) << "the function is destroyed";
            reply.fail("no");
        });
    };
    expect(1, NAR_INVALID_DOCUMENT, "/tool: it is missing");
    expect(2, NAR_GONE, "the request has ended");
}

TEST(PluginNarrator, MissingInvocationsExtensionIsAnError) {
    FakeHost host;
    host.missing = {NAR_HOST_INVOKE};
    const Loaded<Telling> loaded(host);
    ask(loaded, 1, [&](auto, const plugin::Reply& reply) {
        EXPECT_THROW(reply.invoke("{}", [](auto, auto) {}), narratoria::Error);
        EXPECT_TRUE(reply.plan("{}"));
    });
}

TEST(PluginNarrator, CancelsOneInvocation) {
    FakeHost host;
    const Loaded<Telling> loaded(host);
    ask(loaded, 1, [&](auto, const plugin::Reply& reply) {
        const std::uint64_t number = reply.invoke("{}", [reply](auto, auto) { reply.fail("no"); });
        EXPECT_TRUE(reply.cancel_invocation(number));
        EXPECT_FALSE(reply.cancel_invocation(number + 1));
    });
    EXPECT_THAT(host.cancelled_invocations, ElementsAre(1u));
    host.tell_outcome(1, "{}");
    EXPECT_EQ("no", host.failures[1]);
}

TEST(PluginNarrator, LogsExceptionsOfOutcomeFunctions) {
    FakeHost host;
    const Loaded<Telling> loaded(host);
    ask(loaded, 1, [&](auto, const plugin::Reply& reply) {
        reply.invoke("{}", [reply](auto, auto) {
            reply.plan("{}");
            throw std::runtime_error("confused");
        });
    });
    host.tell_outcome(1, "{}");
    EXPECT_TRUE(host.has_logged("confused"));
}

TEST(PluginNarrator, PendingOutcomeFunctionsAreFreedWithTheInstance) {
    FakeHost host;
    auto held = std::make_shared<int>(1);
    {
        const Loaded<Telling> loaded(host);
        ask(loaded, 1, [&](auto, const plugin::Reply& reply) {
            reply.invoke("{}", [reply, held](auto, auto) { FAIL(); });
        });
        EXPECT_EQ(2, held.use_count());
    }
    EXPECT_EQ(1, held.use_count());
}

TEST(PluginNarrator, SecondAnswerDoesNotReachTheHost) {
    FakeHost host;
    const Loaded<Telling> loaded(host);
    ask(loaded, 1, [](auto, const plugin::Reply& reply) {
        EXPECT_TRUE(reply.fail("no idea"));
        EXPECT_FALSE(reply.plan("{}"));
        const plugin::Reply copy = reply;
        EXPECT_FALSE(copy.fail("still none"));
    });
    EXPECT_EQ("no idea", host.failures[1]);
    EXPECT_EQ(0, host.refused_calls);
}

TEST(PluginNarrator, ExceptionFailsTheRequest) {
    FakeHost host;
    const Loaded<Telling> loaded(host);
    ask(loaded, 1, [](auto, auto) { throw std::runtime_error("the model is not there"); });
    EXPECT_EQ("the model is not there", host.failures[1]);
}

TEST(PluginNarrator, AnswerBeforeAnExceptionIsKept) {
    FakeHost host;
    const Loaded<Telling> loaded(host);
    ask(loaded, 1, [](auto, const plugin::Reply& reply) {
        reply.plan("{}");
        throw std::runtime_error("and then");
    });
    EXPECT_EQ("{}", host.plans[1]);
    EXPECT_THAT(host.failures, IsEmpty());
    EXPECT_TRUE(host.has_logged("generate threw: and then"));
}

TEST(PluginNarrator, DestroyedReplyFailsTheRequest) {
    FakeHost host;
    const Loaded<Telling> loaded(host);
    ask(loaded, 1, [](auto, auto) {});
    EXPECT_THAT(host.failures[1], HasSubstr("without a reply"));
}

TEST(PluginNarrator, CancelledReplyIsInert) {
    FakeHost host;
    const Loaded<Telling> loaded(host);
    std::optional<plugin::Reply> kept = kept_ask(loaded, 8);
    cancel(loaded, 8);
    host.dead.insert(8);
    EXPECT_THAT(Telling::cancelled, ElementsAre(8u));
    EXPECT_FALSE(kept->is_wanted());
    EXPECT_FALSE(kept->plan("{}"));
    kept.reset();
    EXPECT_EQ(0, host.refused_calls);
}

TEST(PluginNarrator, CancelAfterAnAnswerIsHarmless) {
    FakeHost host;
    const Loaded<Telling> loaded(host);
    ask(loaded, 8, [&](auto, const plugin::Reply& reply) { reply.plan("{}"); });
    cancel(loaded, 8);
    EXPECT_THAT(Telling::cancelled, ElementsAre(8u));
}

TEST(PluginNarrator, LateReplyAfterTheInstanceHasEndedDoesNothing) {
    std::optional<plugin::Reply> kept;
    {
        FakeHost host;
        Loaded<Telling> loaded(host);
        kept = kept_ask(loaded, 1);
        loaded.end();
        EXPECT_FALSE(kept->is_wanted());
        EXPECT_FALSE(kept->plan("{}"));
        EXPECT_EQ(0, host.refused_calls);
    }
    EXPECT_FALSE(kept->fail("the host itself is gone"));
    kept.reset();
}

TEST(PluginNarrator, RepliesFromThreadsMayRaceWithTheEnd) {
    for (int round = 0; round < 50; ++round) {
        FakeHost host;
        Loaded<Telling> loaded(host);
        std::vector<std::thread> threads;
        std::atomic<int> ready{0};
        for (std::uint64_t token = 1; token <= 2; ++token) {
            ask(loaded, token, [&](auto, plugin::Reply reply) {
                threads.emplace_back([&ready, kept = std::move(reply)] {
                    ++ready;
                    while (kept.is_wanted()) std::this_thread::yield();
                    kept.plan("{}");
                });
            });
        }
        while (ready < 2) std::this_thread::yield();
        if (round % 2 == 0) cancel(loaded, 1);
        loaded.end();
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(0, host.refused_calls);
    }
}

// ---------------------------------------------------------------- tool runners and tools

class Running final : public plugin::ToolRunner, public plugin::Tools {
public:
    static constexpr std::string_view kExtensions[] = {NAR_EXTENSION_TOOL_RUNNER,
                                                       NAR_EXTENSION_TOOL};
    static constexpr std::string_view kSchemes[] = {"launcher", "far"};
    static constexpr bool kWaits = true;
    static constexpr plugin::ToolDescription kTools[] = {
        {.name = "dice", .description = "Rolls a die", .synchronous = true},
        {.name = "weather",
         .description = "Tells the weather",
         .input_schema = R"({"type":"object"})",
         .waits = true,
         .repeatable = false}};
    using Act = std::function<void(const plugin::InvocationRequest&, plugin::Invocation)>;
    static inline Act act;
    static inline std::string tool;

    void start(const plugin::InvocationRequest& request, plugin::Invocation invocation) override {
        act(request, std::move(invocation));
    }
    void invoke(std::string_view name, const plugin::InvocationRequest& request,
                plugin::Invocation invocation) override {
        tool = name;
        act(request, std::move(invocation));
    }
};

class InvocationTest : public testing::Test {
protected:
    nar_status start(std::uint64_t token, Running::Act act) {
        Running::act = std::move(act);
        const nar_status status = runner().start(loaded.instance(), token, &invocation, &failure);
        Running::act = nullptr;
        return status;
    }
    // Starts a tool, and returns its handle.
    plugin::Invocation kept_start(std::uint64_t token) {
        std::optional<plugin::Invocation> kept;
        start(token, [&](const auto&, plugin::Invocation one) { kept = std::move(one); });
        return *std::move(kept);
    }
    void invoke(std::uint64_t token, Running::Act act) {
        Running::act = std::move(act);
        tools().invoke(loaded.instance(), token, tools().tools[1], &invocation);
        Running::act = nullptr;
    }
    const nar_tool_runner_extension& runner() {
        return loaded.extension<nar_tool_runner_extension>(NAR_EXTENSION_TOOL_RUNNER);
    }
    const nar_tool_extension& tools() {
        return loaded.extension<nar_tool_extension>(NAR_EXTENSION_TOOL);
    }

    FakeHost host;
    Loaded<Running> loaded{host};
    const nar_str environment[2] = {NAR_STR_INIT("PATH=/bin"), NAR_STR_INIT("LANG=C")};
    const nar_limits limits = sized<nar_limits>();
    nar_invocation invocation = [this] {
        auto one = sized<nar_invocation>();
        one.attempt = 2;
        one.tool_path = NAR_STR("launcher:tools/door:2");
        one.request = NAR_STR(R"({"input":{}})");
        one.environment = environment;
        one.environment_count = 2;
        one.try_ms = 1500;
        one.resources = NAR_STR(R"({"cpus":2})");
        one.limits = &limits;
        return one;
    }();
    nar_failure failure = sized<nar_failure>();
};

TEST_F(InvocationTest, MatchesTheClass) {
    ASSERT_EQ(2u, runner().scheme_count);
    EXPECT_EQ("launcher", view(runner().schemes[0]));
    ASSERT_EQ(2u, tools().tool_count);
    EXPECT_EQ(sizeof(nar_tool), tools().tools[1]->size);
    EXPECT_EQ("weather", view(tools().tools[1]->name));
    EXPECT_EQ("Tells the weather", view(tools().tools[1]->description));
    EXPECT_EQ(R"({"type":"object"})", view(tools().tools[1]->input_schema));
    EXPECT_EQ("", view(tools().tools[0]->input_schema));
    EXPECT_EQ(NAR_TOOL_SYNCHRONOUS, tools().tools[0]->flags);
    EXPECT_EQ(NAR_TOOL_WAITS | NAR_TOOL_NOT_REPEATABLE, tools().tools[1]->flags);
}

TEST_F(InvocationTest, ShowsTheRequestedTool) {
    start(1, [](const plugin::InvocationRequest& request, const plugin::Invocation& one) {
        EXPECT_EQ("launcher:tools/door:2", request.tool_path());
        EXPECT_EQ("tools/door:2", request.path_after_scheme());
        EXPECT_EQ(R"({"input":{}})", request.request());
        EXPECT_THAT(request.environment(), ElementsAre("PATH=/bin", "LANG=C"));
        EXPECT_EQ(1500ms, request.time_limit());
        EXPECT_EQ(2u, request.attempt());
        EXPECT_EQ(R"({"cpus":2})", request.resources());
        EXPECT_EQ(sizeof(nar_limits), request.limits()->size);
        one.ended();
    });
}

TEST_F(InvocationTest, ReportsEventsDiagnosticsAndTheEnd) {
    EXPECT_EQ(NAR_OK, start(1, [](const auto&, const plugin::Invocation& one) {
                  EXPECT_TRUE(one.output("{\"version\":"));
                  EXPECT_TRUE(one.event("\"0\"}"));
                  EXPECT_TRUE(one.diagnostics("hm\n"));
                  plugin::End end;
                  end.exit_status = 3;
                  end.resident_bytes = 77;
                  end.is_permanent = true;
                  end.last_output = "{}\n";
                  EXPECT_TRUE(one.ended(end));
              }));
    EXPECT_EQ("{\"version\":\"0\"}\n{}\n", host.output[1]);
    EXPECT_EQ("hm\n", host.diagnostics[1]);
    EXPECT_EQ(3, host.ended[1].exit_status);
    EXPECT_EQ(77u, host.ended[1].resident_bytes);
    EXPECT_TRUE(host.ended[1].is_permanent);
}

TEST_F(InvocationTest, AcceptsNothingAfterItsEnd) {
    start(1, [](const auto&, const plugin::Invocation& one) {
        EXPECT_TRUE(one.ended());
        EXPECT_FALSE(one.ended());
        EXPECT_FALSE(one.event("{}"));
        EXPECT_FALSE(one.diagnostics("?"));
    });
    EXPECT_EQ(0, host.refused_calls);
}

TEST_F(InvocationTest, DoneEndsTheInvocation) {
    invoke(4, [](const auto&, const plugin::Invocation& one) { one.done(true, "A \"6\".\n"); });
    EXPECT_EQ("weather", Running::tool);
    EXPECT_EQ(R"({"version":"0","type":"done","ok":true,"summary":"A \"6\".\n"})"
              "\n",
              host.output[4]);
    EXPECT_EQ(1u, host.ended.count(4));
    EXPECT_EQ("", host.ended[4].code);
}

TEST_F(InvocationTest, ResultOfSeveralLinesIsOneLine) {
    invoke(4, [](const auto&, const plugin::Invocation& one) { one.result("{\n  \"a\": 1\r\n}"); });
    EXPECT_EQ("{\"version\":\"0\",\"type\":\"done\",\"ok\":true,\"result\":{   \"a\": 1\r }}\n",
              host.output[4]);
}

TEST_F(InvocationTest, ThrowingRunnerHasNotStarted) {
    EXPECT_EQ(NAR_FAILED, start(1, [](const auto&, const auto&) {
                  throw std::runtime_error("the cluster is full");
              }));
    EXPECT_STREQ("the cluster is full", failure.message);
    EXPECT_THAT(host.ended, IsEmpty());
    EXPECT_EQ(0, host.refused_calls);
}

TEST_F(InvocationTest, HandleOfAThrowingRunnerIsInert) {
    std::optional<plugin::Invocation> kept;
    start(1, [&](const auto&, plugin::Invocation one) {
        kept = std::move(one);
        throw std::runtime_error("no");
    });
    EXPECT_FALSE(kept->event("{}"));
    EXPECT_FALSE(kept->ended());
    EXPECT_EQ(0, host.refused_calls);
}

TEST_F(InvocationTest, HandsOverAProcess) {
    EXPECT_EQ(NAR_OK, start(1, [](const auto&, const plugin::Invocation& one) {
                  EXPECT_TRUE(one.run({"nice", "tools/door"}));
              }));
    EXPECT_THAT(host.commands[1], ElementsAre("nice", "tools/door"));
    EXPECT_THAT(host.ended, IsEmpty());
}

TEST_F(InvocationTest, SaysThatItWaits) {
    start(1, [](const plugin::InvocationRequest&, const plugin::Invocation& run) {
        EXPECT_TRUE(run.set_waiting(true));
        EXPECT_TRUE(run.done(true));
    });
    EXPECT_TRUE(host.waiting_tools[1]);
}

TEST_F(InvocationTest, RunnerSaysThatItsToolsWait) {
    EXPECT_EQ(runner().flags, NAR_TOOL_RUNNER_WAITS);
}

TEST_F(InvocationTest, ToolExceptionFailsTheInvocation) {
    invoke(1, [](const auto&, const auto&) { throw std::runtime_error("no such town"); });
    EXPECT_EQ("PLUGIN_EXCEPTION", host.ended[1].code);
    EXPECT_EQ("no such town", host.ended[1].error);
}

TEST_F(InvocationTest, ToolExceptionAfterItsEndIsLogged) {
    invoke(1, [](const auto&, const plugin::Invocation& one) {
        one.done(true);
        throw std::runtime_error("oh");
    });
    EXPECT_EQ("", host.ended[1].code);
    EXPECT_TRUE(host.has_logged("invoke threw: oh"));
    EXPECT_EQ(0, host.refused_calls);
}

TEST_F(InvocationTest, DestroyedInvocationFails) {
    invoke(1, [](const auto&, const auto&) {});
    EXPECT_EQ("PLUGIN_DROPPED", host.ended[1].code);
}

TEST_F(InvocationTest, CancelledInvocationMayStillReportItsEnd) {
    std::optional<plugin::Invocation> kept = kept_start(6);
    EXPECT_FALSE(kept->is_cancelled());
    runner().cancel(loaded.instance(), 6);
    EXPECT_TRUE(kept->is_cancelled());
    EXPECT_TRUE(kept->event("{}"));
    std::thread([one = *std::exchange(kept, std::nullopt)] { one.ended(); }).join();
    EXPECT_EQ(1u, host.ended.count(6));
}

TEST_F(InvocationTest, AbandonedInvocationReturnsFalse) {
    std::optional<plugin::Invocation> kept = kept_start(6);
    host.dead.insert(6);
    EXPECT_FALSE(kept->event("{}"));
    EXPECT_FALSE(kept->ended());
    kept.reset();
    EXPECT_EQ(1, host.refused_calls) << "the handle asks the host only once";
}

TEST_F(InvocationTest, LateHandleAfterTheInstanceHasEndedDoesNothing) {
    std::optional<plugin::Invocation> kept = kept_start(6);
    loaded.end();
    EXPECT_TRUE(kept->is_cancelled());
    EXPECT_FALSE(kept->done(true));
    kept.reset();
    EXPECT_EQ(0, host.refused_calls);
}

// An exception on a plugin's own thread would end the host's process.
TEST_F(InvocationTest, FailsWithoutAnExceptionOnAnotherThread) {
    host.output_status = NAR_INVALID_ARGUMENT;
    start(6, [](const auto&, const plugin::Invocation& one) {
        std::thread([&] { EXPECT_FALSE(one.event("{}")); }).join();
        EXPECT_EQ(NAR_INVALID_ARGUMENT, error_of([&] { one.event("{}"); }).status());
        one.ended();
    });
    EXPECT_TRUE(host.has_logged("output (narratoria.invocation/1) failed"));
}

TEST(PluginHandles, MissingExtensionsCauseNoExceptionOnAnotherThread) {
    FakeHost host;
    host.missing = {NAR_HOST_INVOCATION, NAR_EXTENSION_NARRATOR, NAR_HOST_POST, NAR_HOST_CONFIG};
    const Loaded<Running> loaded(host);
    Running::act = [](const auto&, plugin::Invocation one) {
        std::thread([kept = std::move(one)] {
            EXPECT_FALSE(kept.event("{}"));
            EXPECT_FALSE(kept.diagnostics("?"));
            EXPECT_FALSE(kept.done(true));
        }).join();
    };
    auto invocation = sized<nar_invocation>();
    const auto& tools = loaded.extension<nar_tool_extension>(NAR_EXTENSION_TOOL);
    tools.invoke(loaded.instance(), 1, tools.tools[0], &invocation);
    Running::act = nullptr;
    EXPECT_TRUE(host.has_logged("the host does not offer narratoria.invocation/1"));

    const Loaded<Telling> narrator(host);
    ask(narrator, 2, [](auto, plugin::Reply reply) {
        std::thread([kept = std::move(reply)] { EXPECT_FALSE(kept.plan("{}")); }).join();
    });
    EXPECT_TRUE(host.has_logged("the host does not offer narratoria.narrator/1"));
    in_plugin(host, [](const plugin::Host& its) {
        std::thread([&] {
            EXPECT_FALSE(its.post([] {}));
            EXPECT_EQ("{}", its.settings());
            EXPECT_EQ("", its.title());
        }).join();
        EXPECT_EQ(NAR_UNSUPPORTED, error_of([&] { its.post([] {}); }).status());
    });
    EXPECT_TRUE(host.has_logged("the host does not offer narratoria.post/1"));
}

// ---------------------------------------------------------------- the host

TEST(PluginHost, OffersLogSettingsAndStory) {
    FakeHost fake;
    fake.settings = R"({"wet":true})";
    fake.story = "/stories/torch";
    fake.title = "The Torch";
    fake.opening = R"({"text":"Dark.","choices":[]})";
    fake.language = "de";
    in_plugin(fake, [](const plugin::Host& host) {
        EXPECT_EQ(R"({"wet":true})", host.settings());
        EXPECT_EQ("/stories/torch", host.story());
        EXPECT_EQ("The Torch", host.title());
        EXPECT_EQ(R"({"text":"Dark.","choices":[]})", host.opening());
        EXPECT_EQ("de", host.language());
        EXPECT_TRUE(host.is_engine_thread());
        std::thread([&] { EXPECT_FALSE(host.is_engine_thread()); }).join();
        host.log(plugin::Level::Debug, "a");
        host.log(plugin::Level::Warning, "b");
    });
    EXPECT_THAT(fake.log, ElementsAre("debug: a", "warning: b", "info: goodbye"));
}

TEST(PluginHost, Publishes) {
    FakeHost fake;
    in_plugin(fake, [](const plugin::Host& host) {
        host.publish("url", "http://127.0.0.1/");
        EXPECT_EQ(NAR_INVALID_ARGUMENT, error_of([&] { host.publish("", "v"); }).status());
    });
    EXPECT_THAT(fake.published, ElementsAre("url=http://127.0.0.1/"));
}

TEST(PluginHost, ReadsAndPatchesTheState) {
    FakeHost fake;
    fake.state["/torch"] = R"({"lit":true})";
    in_plugin(fake, [](const plugin::Host& host) {
        EXPECT_EQ(R"({"lit":true})", host.read_state("/torch"));
        EXPECT_EQ(std::nullopt, host.read_state("/door"));
        host.patch_state(R"({"door":null})");
        const auto error = error_of([&] { host.patch_state("[]"); });
        EXPECT_EQ(NAR_INVALID_DOCUMENT, error.status());
        EXPECT_THAT(std::string(error.what()), HasSubstr("patching the state"));
        EXPECT_EQ("[]", host.assets());
    });
    EXPECT_THAT(fake.patches, ElementsAre(R"({"door":null})"));
}

TEST(PluginHost, SubmitsAPromptUnlessOneIsWaiting) {
    FakeHost fake;
    in_plugin(fake, [&](const plugin::Host& host) {
        EXPECT_EQ(1U, host.submit_prompt("I wait"));
        EXPECT_EQ(1U, host.submission());
        fake.is_prompt_waiting = true;
        EXPECT_EQ(0U, host.submit_prompt("and wait"));
    });
    EXPECT_THAT(fake.prompts, ElementsAre("I wait"));
}

TEST(PluginHost, GoesToStoredTurns) {
    FakeHost fake;
    in_plugin(fake, [&](const plugin::Host& host) {
        std::uint64_t submission = 0;
        EXPECT_EQ(NAR_OK, host.go_to(NAR_TURN_PREVIOUS, &submission));
        EXPECT_EQ(1U, submission);
        EXPECT_EQ(NAR_BUSY, host.again());
        std::string json;
        EXPECT_EQ(NAR_OK, host.read_turns(json, 3));
        EXPECT_EQ("[3]", json);
        EXPECT_EQ(NAR_NOT_FOUND, host.read_turns(json, 3, 9));
        EXPECT_EQ(NAR_DECLINED, host.resume());
        EXPECT_EQ(NAR_OK, host.resume(NAR_TURN_INTERRUPTED, NAR_RESUME_REPEATS));
        fake.missing = {NAR_HOST_TURNS};
    });
    EXPECT_THAT(fake.moves, ElementsAre(NAR_TURN_PREVIOUS, NAR_TURN_INTERRUPTED));
    in_plugin(fake, [&](const plugin::Host& host) {
        EXPECT_EQ(NAR_UNSUPPORTED, host.go_to(NAR_TURN_BEGINNING));
        EXPECT_EQ(NAR_UNSUPPORTED, host.again());
        EXPECT_EQ(NAR_UNSUPPORTED, host.resume());
        std::string json;
        EXPECT_EQ(NAR_UNSUPPORTED, host.read_turns(json, 3));
    });
}

TEST(PluginHost, CancelsOneSubmissionOrAll) {
    FakeHost fake;
    in_plugin(fake, [&](const plugin::Host& host) {
        EXPECT_TRUE(host.cancel(host.submit_prompt("I wait")));
        EXPECT_FALSE(host.cancel(7));
        host.cancel_all();
    });
    EXPECT_THAT(fake.cancelled, ElementsAre(1, 0));
}

TEST(PluginHost, ReportsALateRendering) {
    FakeHost fake;
    in_plugin(fake, [](const plugin::Host& host) {
        EXPECT_TRUE(host.rendered(7, plugin::HandlerResult::Handled));
        EXPECT_TRUE(host.rendered(8, plugin::HandlerResult::Declined));
        EXPECT_FALSE(host.rendered(0, plugin::HandlerResult::Handled));
    });
    EXPECT_EQ(NAR_OK, fake.renderings[7]);
    EXPECT_EQ(NAR_DECLINED, fake.renderings[8]);
}

TEST(PluginHost, KnowsTheSession) {
    FakeHost fake;
    in_plugin(fake, [](const plugin::Host& host) { EXPECT_EQ("game", host.session_id()); });
}

TEST(PluginHost, NamesExtensionsThatTheHostLacks) {
    for (const bool is_short : {false, true}) {
        FakeHost fake;
        (is_short ? fake.too_short : fake.missing) = {NAR_HOST_STATE, NAR_HOST_TIMER, NAR_HOST_LOG};
        in_plugin(fake, [](const plugin::Host& host) {
            host.log(plugin::Level::Error, "into nothing");
            const auto error = error_of([&] { host.read_state(); });
            EXPECT_EQ(NAR_UNSUPPORTED, error.status());
            EXPECT_THAT(std::string(error.what()), HasSubstr("narratoria.state/1"));
            EXPECT_EQ(NAR_UNSUPPORTED, error_of([&] { plugin::Timer(host, 1ms, [] {}); }).status());
        });
    }
}

TEST(PluginHost, IsRefusedOnAnotherThreadWithoutAnException) {
    FakeHost fake;
    fake.state[""] = "{}";
    in_plugin(fake, [](const plugin::Host& host) {
        EXPECT_EQ("{}", host.read_state());
        std::thread([&] { EXPECT_EQ(std::nullopt, host.read_state()); }).join();
    });
    EXPECT_TRUE(fake.has_logged("reading the state at \"\" (narratoria.state/1) failed"));
}

TEST(PluginHost, MissingExtensionsCauseNoExceptionOnAnotherThread) {
    FakeHost fake;
    fake.missing = {NAR_HOST_CONFIG, NAR_HOST_STATE, NAR_HOST_ASSETS, NAR_HOST_PROMPT};
    in_plugin(fake, [](const plugin::Host& host) {
        std::thread([&] {
            EXPECT_EQ(std::nullopt, host.read_state());
            host.patch_state("{}");
            EXPECT_EQ("[]", host.assets());
            EXPECT_EQ(0u, host.submit_prompt("I wait"));
            EXPECT_EQ(0u, host.submission());
            host.publish("url", "v");
            EXPECT_FALSE(host.cancel(1));
        }).join();
        EXPECT_EQ(NAR_UNSUPPORTED, error_of([&] { host.patch_state("{}"); }).status());
    });
    EXPECT_TRUE(fake.has_logged("the host does not offer narratoria.assets/1"));
}

TEST(PluginHost, DoesNothingAfterTheInstanceHasEnded) {
    std::optional<plugin::Host> kept;
    {
        FakeHost fake;
        in_plugin(fake, [&](const plugin::Host& host) { kept = host; });
    }
    kept->log(plugin::Level::Info, "too late");
    EXPECT_FALSE(kept->post([] {}));
    EXPECT_FALSE(kept->is_engine_thread());
    EXPECT_EQ(nullptr, kept->raw());
    EXPECT_EQ(std::nullopt, kept->read_state());
    EXPECT_EQ("{}", kept->settings());
    EXPECT_EQ("", kept->story());
    EXPECT_EQ("", kept->session_id());
}

TEST(PluginPost, RunsInOrderAndLogsExceptions) {
    FakeHost fake;
    std::string order;
    in_plugin(fake, [&](const plugin::Host& host) {
        std::thread([&] { EXPECT_TRUE(host.post([&] { order += 'a'; })); }).join();
        EXPECT_TRUE(host.post([] { throw std::runtime_error("slipped"); }));
        EXPECT_TRUE(host.post([&, alone = std::make_unique<char>('b')] { order += *alone; }));
        EXPECT_EQ("", order);
        fake.run_posted();
    });
    EXPECT_EQ("ab", order);
    EXPECT_TRUE(fake.has_logged("a posted function threw: slipped"));
}

TEST(PluginPost, DropsPostsThatNeverRun) {
    FakeHost fake;
    int ran = 0;
    int dropped = 0;
    const auto witness = std::make_shared<int>(0);
    in_plugin(fake, [&](const plugin::Host& host) {
        host.post([&] { ++ran; }, [&] { ++dropped; });
        host.post([witness, &ran] { ++ran; });
    });
    EXPECT_EQ(0, ran);
    EXPECT_EQ(1, dropped);
    EXPECT_EQ(1, witness.use_count());
}

TEST(PluginPost, DropIsNotCalledAfterARun) {
    FakeHost fake;
    int ran = 0;
    int dropped = 0;
    in_plugin(fake, [&](const plugin::Host& host) {
        host.post([&] { ++ran; }, [&] { ++dropped; });
        fake.run_posted();
        fake.is_active = false;
        EXPECT_FALSE(host.post([&] { ++ran; }, [&] { ++dropped; }));
        fake.is_active = true;
    });
    EXPECT_EQ(1, ran);
    EXPECT_EQ(0, dropped);
}

// ---------------------------------------------------------------- the loop

TEST(PluginTimer, RunsOnceAndMayBeRestarted) {
    FakeHost fake;
    int ran = 0;
    in_plugin(fake, [&](const plugin::Host& host) {
        plugin::Timer timer(host, 250ms, [&] { ++ran; });
        EXPECT_TRUE(timer.is_running());
        EXPECT_EQ(250, fake.timers.begin()->second.what);
        plugin::Timer moved = std::move(timer);
        fake.fire_timer();
        EXPECT_FALSE(moved.is_running());
        moved.restart(24h * 365);
        EXPECT_EQ(4294967295, fake.timers.begin()->second.what);
        moved.restart(-1ms);
        ASSERT_EQ(1u, fake.timers.size());
        EXPECT_EQ(0, fake.timers.begin()->second.what);
        fake.fire_timer();
    });
    EXPECT_EQ(2, ran);
    EXPECT_EQ(0, fake.refused_calls);
}

TEST(PluginTimer, StopsWhenDestroyed) {
    FakeHost fake;
    in_plugin(fake, [&](const plugin::Host& host) {
        {
            const plugin::Timer timer(host, 1ms, [] {});
        }
        EXPECT_THAT(fake.timers, IsEmpty());
        plugin::Timer timer(host, 1ms, [] {});
        timer = plugin::Timer(host, 2ms, [] {});
        ASSERT_EQ(1u, fake.timers.size());
        EXPECT_EQ(2, fake.timers.begin()->second.what);
        timer.stop();
        EXPECT_THAT(fake.timers, IsEmpty());
        plugin::Timer().restart(1ms);
    });
    EXPECT_EQ(0, fake.refused_calls);
}

TEST(PluginTimer, MayDestroyOrRestartItself) {
    FakeHost fake;
    int ran = 0;
    in_plugin(fake, [&](const plugin::Host& host) {
        std::optional<plugin::Timer> timer;
        const auto witness = std::make_shared<int>(0);
        timer.emplace(host, 1ms, [&, witness] {
            if (++ran < 3) return timer->restart(1ms);
            timer.reset();
            *witness = ran;
        });
        while (!fake.timers.empty()) fake.fire_timer();
        EXPECT_EQ(3, *witness);
    });
    EXPECT_EQ(3, ran);
}

TEST(PluginTimer, LogsExceptionsOfItsFunction) {
    FakeHost fake;
    in_plugin(fake, [&](const plugin::Host& host) {
        const plugin::Timer timer(host, 1ms, [] { throw std::runtime_error("tick"); });
        fake.fire_timer();
    });
    EXPECT_TRUE(fake.has_logged("a timer's function threw: tick"));
}

TEST(PluginTimer, IsLeftToTheHostAfterTheInstanceEnds) {
    FakeHost fake;
    plugin::Timer timer;
    plugin::Poll poll;
    in_plugin(fake, [&](const plugin::Host& host) {
        timer = plugin::Timer(host, 1ms, [] {});
        poll = plugin::Poll(host, 0, [] {});
    });
    EXPECT_EQ(NAR_GONE, error_of([&] { timer.restart(1ms); }).status());
    timer = {};
    poll = {};
    EXPECT_EQ(0, fake.refused_calls);
}

TEST(PluginPoll, MayBeDestroyedInItsOwnFunction) {
    FakeHost fake;
    int calls = 0;
    in_plugin(fake, [&](const plugin::Host& host) {
        plugin::Poll poll;
        poll = plugin::Poll(host, 9, [&] {
            if (++calls == 2) poll = {};
        });
        EXPECT_EQ(9, fake.polls.begin()->second.what);
        fake.make_readable();
        EXPECT_TRUE(poll.is_running());
        fake.make_readable();
        EXPECT_FALSE(poll.is_running());
        EXPECT_THAT(fake.polls, IsEmpty());
        EXPECT_EQ(NAR_IO, error_of([&] { plugin::Poll(host, -1, [] {}); }).status());
    });
    EXPECT_EQ(2, calls);
    EXPECT_EQ(0, fake.refused_calls);
}

TEST(PluginPoll, WaitsForTheRequestedEvents) {
    FakeHost fake;
    std::vector<plugin::Ready> seen;
    in_plugin(fake, [&](const plugin::Host& host) {
        plugin::Poll poll(host, 9, plugin::Ready::Writable,
                          [&](plugin::Ready ready) { seen.push_back(ready); });
        EXPECT_EQ(NAR_POLL_WRITABLE, fake.polls.begin()->second.events);
        fake.make_ready(NAR_POLL_WRITABLE);
        poll.change(plugin::Ready::Either);
        EXPECT_EQ(NAR_POLL_READABLE | NAR_POLL_WRITABLE, fake.polls.begin()->second.events);
        fake.make_ready(NAR_POLL_READABLE);
        poll.stop();
        poll.change(plugin::Ready::Readable);
    });
    ASSERT_EQ(2U, seen.size());
    EXPECT_TRUE(is_writable(seen[0]) && !is_readable(seen[0]));
    EXPECT_TRUE(is_readable(seen[1]) && !is_writable(seen[1]));
    EXPECT_EQ(0, fake.refused_calls);
}

// ---------------------------------------------------------------- Http

TEST(PluginHttp, DeliversTheResponseAndEnds) {
    FakeHost fake;
    std::string heard;
    std::vector<std::string> ends;
    in_plugin(fake, [&](const plugin::Host& host) {
        plugin::HttpEvents events;
        events.on_response = [&](const plugin::HttpResponse& response) {
            heard += std::to_string(response.status()) + " " +
                     std::string(response.headers().at(0)) + " ";
        };
        events.on_body = [&](std::string_view bytes) { heard += bytes; };
        events.on_end = [&](const plugin::HttpEnd& end) { ends.push_back(end.error_code); };
        plugin::HttpRequest request;
        request.url = "http://model.example/";
        request.headers = {"Accept: text/event-stream"};
        request.total_time = 0ms;
        plugin::Http http(host, request, std::move(events));
        const auto& asked = fake.requests.begin()->second;
        EXPECT_EQ("http://model.example/", asked.url);
        EXPECT_EQ(1U, asked.given.header_count);
        EXPECT_EQ(10'000U, asked.given.connect_ms);
        EXPECT_EQ(NAR_NONE, asked.given.between_ms);
        EXPECT_EQ(1U, asked.given.total_ms) << "0 would mean the default";
        const nar_str headers[] = {NAR_STR("A: b")};
        const nar_http_response response{sizeof response, 200, headers, 1};
        asked.events.on_response(asked.user, 1, &response);
        asked.events.on_body(asked.user, 1, NAR_STR("yes"));
        const nar_http_end end{sizeof end, 1, NAR_STR("HTTP_LOST"), NAR_STR("it broke")};
        asked.events.on_end(asked.user, 1, &end);
        EXPECT_FALSE(http.is_running());
        fake.requests.clear();
    });
    EXPECT_EQ("200 A: b yes", heard);
    EXPECT_THAT(ends, ElementsAre("HTTP_LOST"));
    EXPECT_EQ(0, fake.refused_calls);
}

TEST(PluginHttp, IsCancelledByItsDestructorButNotByItsInstance) {
    FakeHost fake;
    std::optional<plugin::Http> left;
    in_plugin(fake, [&](const plugin::Host& host) {
        plugin::HttpRequest request;
        request.url = "http://model.example/";
        { const plugin::Http gone(host, request, {}); }
        EXPECT_THAT(fake.requests, IsEmpty());
        left.emplace(host, request, plugin::HttpEvents());
        fake.start_failure = "the header 1 has no colon";
        const auto error = error_of([&] { plugin::Http(host, request, {}); });
        EXPECT_STREQ("the header 1 has no colon", error.what());
    });
    left.reset();
    EXPECT_EQ(1U, fake.requests.size());
    EXPECT_EQ(0, fake.refused_calls);
}

// ---------------------------------------------------------------- Process

TEST(PluginProcess, StartsTakesInputAndEnds) {
    FakeHost fake;
    std::string heard;
    std::vector<int> exits;
    in_plugin(fake, [&](const plugin::Host& host) {
        plugin::ProcessEvents events;
        events.on_output = [&](std::string_view bytes) { heard += bytes; };
        events.on_exit = [&](const plugin::ProcessExit& exit) { exits.push_back(exit.status); };
        plugin::Process process(host, {.arguments = {"sage", "-v"}}, std::move(events));
        auto& running = fake.processes.begin()->second;
        EXPECT_THAT(running.arguments, ElementsAre("sage", "-v"));
        EXPECT_FALSE(running.has_environment);
        EXPECT_EQ(plugin::Written::Taken, process.write("what?"));
        fake.write_status = NAR_BUSY;
        EXPECT_EQ(plugin::Written::Busy, process.write("and?"));
        fake.write_status = NAR_GONE;
        EXPECT_EQ(plugin::Written::Closed, process.write("and?"));
        EXPECT_EQ("what?", running.input);
        process.close_input();
        EXPECT_TRUE(running.is_input_closed);
        running.events.on_output(running.user, 1, NAR_STR("yes"));
        process.terminate(70);
        EXPECT_EQ(70, running.grace_ms);
        nar_process_exit exit{};
        exit.exit_status = 3;
        fake.end_process(exit);
        EXPECT_FALSE(process.is_running());
        EXPECT_EQ(plugin::Written::Closed, process.write("too late"));
        process.terminate(0);
    });
    EXPECT_EQ("yes", heard);
    EXPECT_THAT(exits, ElementsAre(3));
    EXPECT_EQ(0, fake.refused_calls);
}

TEST(PluginProcess, IsKilledByItsDestructorButNotByItsInstance) {
    FakeHost fake;
    std::optional<plugin::Process> left;
    in_plugin(fake, [&](const plugin::Host& host) {
        const plugin::Program program{.arguments = {"sage"},
                                      .environment = std::vector<std::string>()};
        {
            const plugin::Process gone(host, program, {});
            EXPECT_TRUE(fake.processes.begin()->second.has_environment);
        }
        EXPECT_THAT(fake.processes, IsEmpty());
        left.emplace(host, program, plugin::ProcessEvents());
    });
    left.reset();
    EXPECT_THAT(fake.released, ElementsAre(0));
    EXPECT_EQ(1U, fake.processes.size());
    EXPECT_EQ(0, fake.refused_calls);
}

TEST(PluginProcess, ReportsStartFailureAndLogsExceptions) {
    FakeHost fake;
    in_plugin(fake, [&](const plugin::Host& host) {
        plugin::ProcessEvents events;
        events.on_output = [](std::string_view) { throw std::runtime_error("too loud"); };
        const plugin::Process process(host, {.arguments = {"sage"}}, std::move(events));
        auto& running = fake.processes.begin()->second;
        running.events.on_output(running.user, 1, NAR_STR("YES"));
        running.events.on_drained(running.user, 1);
        fake.start_failure = "there is no program \"sage\"";
        const auto error = error_of([&] { plugin::Process(host, {.arguments = {"sage"}}, {}); });
        EXPECT_EQ(NAR_NOT_FOUND, error.status());
        EXPECT_EQ(fake.start_failure, error.what());
    });
    EXPECT_TRUE(fake.has_logged("a process's on_output threw: too loud"));
}

}  // namespace
