// SPDX-License-Identifier: Apache-2.0
// A plugin that offers every extension and behaves as its settings say, written against the C
// headers only: {"file": "/path/of/its/notes", "do": "words that select misbehaviour"}.

#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "narratoria/asset_renderer.h"
#include "narratoria/engine.h"
#include "narratoria/event_sink.h"
#include "narratoria/host_loop.h"
#include "narratoria/host_session.h"
#include "narratoria/narrator.h"
#include "narratoria/tool.h"
#include "narratoria/tool_runner.h"
#include "narratoria/ui_handler.h"

#ifndef PROBE_ID
#define PROBE_ID "test.probe"
#endif
#ifndef PROBE_OWN_ID  // a nar_str, as in nar_plugin
#define PROBE_OWN_ID NAR_STR_INIT(PROBE_ID)
#endif
#ifndef PROBE_SCHEME
#define PROBE_SCHEME "probe"
#endif
#ifdef PROBE_BAD_SCHEMA
#define PROBE_SCHEMA R"({"properties":{"a":{"type":"objekt"}}})"
#else
#define PROBE_SCHEMA R"({"type":"object","required":["a"],"properties":{"a":{"type":"number"}}})"
#endif
#ifndef PROBE_PRIORITY
#define PROBE_PRIORITY 0
#endif

NAR_PLUGIN_NOTE("{\"schema\":\"plugin/1\",\"id\":\"" PROBE_ID
                "\",\"name\":\"Probe\",\"version\":\"1.2.3\",\"abi\":\"1.0\",\"extensions\":["
                "\"narratoria.event_sink/1\",\"narratoria.ui_handler/1\","
                "\"narratoria.asset_renderer/1\",\"narratoria.narrator/1\","
                "\"narratoria.tool_runner/1\",\"narratoria.tool/1\"]}");

namespace {

std::string_view view(nar_str text) { return {text.data, static_cast<size_t>(text.size)}; }
nar_str view(std::string_view text) { return {text.data(), text.size()}; }

struct Probe {
    const nar_host* host;
    std::string settings;
    std::string file;
    std::thread thread;
    uint64_t token = 0;
    uint64_t poll = 0;

    template <typename Extension>
    const Extension* ask(std::string_view id) const {
        return static_cast<const Extension*>(host->get_extension(host, view(id)));
    }
    bool does(const char* word) const { return settings.find(word) != std::string::npos; }
    void note(const std::string& line) const {
        if (file.empty()) return;
        std::FILE* const out = std::fopen(file.c_str(), "a");
        std::fputs((line + "\n").c_str(), out);
        std::fclose(out);
    }
};

Probe& self(void* instance) { return *static_cast<Probe*>(instance); }

void hold(int milliseconds) {
    const timespec time{0, milliseconds * 1000000L};
    nanosleep(&time, nullptr);
}

nar_status append(void* user, nar_str piece) {
    static_cast<std::string*>(user)->append(view(piece));
    return NAR_OK;
}

nar_status init(const nar_host* host, void** instance, nar_failure* failure) {
    auto* probe = new Probe{host, {}, {}, {}};
    const auto* config = probe->ask<nar_host_config>(NAR_HOST_CONFIG);
    probe->settings = view(config->settings(host));
    const size_t key = probe->settings.find("\"file\":\"");
    if (key != std::string::npos) {
        const size_t start = key + 8;
        probe->file = probe->settings.substr(start, probe->settings.find('"', start) - start);
    }
    if (probe->does("fail_init")) {
        std::snprintf(failure->message, sizeof failure->message, "the moon is in the wrong house");
        std::snprintf(failure->code, sizeof failure->code, "WRONG_MOON");
        delete probe;
        return NAR_FAILED;
    }
    if (probe->does("throw_init")) {
        delete probe;
        throw std::runtime_error("no init today");
    }
    if (probe->does("state_in_init")) {
        std::string text;
        const nar_status status =
            probe->ask<nar_host_state>(NAR_HOST_STATE)->read(host, view(""), append, &text);
        probe->note("state in init: " + std::to_string(status));
    }
    if (probe->does("chat")) {
        probe->ask<nar_host_log>(NAR_HOST_LOG)->write(host, NAR_LOG_INFO, view("good day"));
    }
    if (probe->does("chat_later")) {
        // A function posted in init runs once the instance is active.
        probe->ask<nar_host_post>(NAR_HOST_POST)
            ->post(
                host,
                [](void* user) {
                    uint64_t timer = 0;
                    self(user)
                        .ask<nar_host_timer>(NAR_HOST_TIMER)
                        ->start(
                            self(user).host, 100,
                            [](void* again) {
                                self(again)
                                    .ask<nar_host_log>(NAR_HOST_LOG)
                                    ->write(self(again).host, NAR_LOG_WARN,
                                            view("a while has passed"));
                            },
                            user, &timer);
                },
                nullptr, probe);
    }
    probe->note(PROBE_ID " init " + std::string(view(config->story(host))));
    *instance = probe;
    return NAR_OK;
}

void deinit(void* instance) {
    Probe* const probe = &self(instance);
    if (probe->thread.joinable()) probe->thread.join();
    probe->note(PROBE_ID " deinit");
    const bool throws = probe->does("throw_deinit");
    delete probe;
    if (throws) throw std::runtime_error("no end today");
}

// ---- sink

void on_event(void* instance, const nar_event* event) {
    Probe& probe = self(instance);
    if (probe.does("throw_sink")) throw std::runtime_error("no more events");
    if (probe.does("write_sink")) const_cast<nar_event*>(event)->seq = 0;
    if (probe.does("write_body_sink")) const_cast<char*>(event->body.data)[0] = '#';
    if (probe.does("slow_sink") && event->kind == NAR_KIND_TOOL_EVENT) hold(120);
    if (probe.does("count_sink")) probe.note("sink " + std::to_string(event->kind));
}

// ---- ui

constexpr nar_str kEvents[] = {NAR_STR_INIT("probe.show"), NAR_STR_INIT("probe.other"),
                               NAR_STR_INIT("narrative_choice")};

void post_again(void* instance) {
    const Probe& probe = self(instance);
    probe.ask<nar_host_post>(NAR_HOST_POST)->post(probe.host, post_again, nullptr, instance);
}

nar_status handle(void* instance, const nar_ui_event* event) {
    Probe& probe = self(instance);
    if (probe.does("throw_handler")) throw 42;
    if (probe.does("slow_handler")) hold(120);
    if (probe.does("fail_handler")) return NAR_FAILED;
    if (probe.does("decline")) return NAR_DECLINED;
    probe.note(PROBE_ID " ui " + std::string(view(event->name)) + " " +
               std::string(view(event->payload)) + " by " + std::string(view(event->tool_id)));
    if (probe.does("read_state")) {
        std::string text;
        const auto* state = probe.ask<nar_host_state>(NAR_HOST_STATE);
        state->patch(probe.host, view(R"({"patched":{"by":"probe"}})"));
        state->read(probe.host, view("/patched/by"), append, &text);
        probe.note("state " + text + " missing " +
                   std::to_string(state->read(probe.host, view("/nothing"), append, &text)));
    }
    if (probe.does("prompt_again")) {
        probe.note("prompt " + std::to_string(probe.ask<nar_host_prompt>(NAR_HOST_PROMPT)
                                                  ->submit(probe.host, view("again"), nullptr)));
    }
    if (probe.does("cancel")) {
        probe.note(
            "cancel " +
            std::to_string(probe.ask<nar_host_prompt>(NAR_HOST_PROMPT)->cancel_all(probe.host)));
    }
    if (probe.does("wrong_thread")) {
        std::thread([&] {
            std::string text;
            const nar_status status = probe.ask<nar_host_state>(NAR_HOST_STATE)
                                          ->read(probe.host, view(""), append, &text);
            probe.note("wrong thread " + std::to_string(status));
        }).join();
    }
    if (probe.does("throw_posted")) {
        const auto* post = probe.ask<nar_host_post>(NAR_HOST_POST);
        post->post(
            probe.host, [](void*) { throw std::runtime_error("not posted"); }, nullptr, instance);
        post->post(
            probe.host, [](void* user) { self(user).note("posted all the same"); },
            [](void* user) {
                self(user).note("dropped");
                throw std::runtime_error("not dropped either");
            },
            instance);
    }
    if (probe.does("for_ever")) post_again(instance);
    if (probe.does("answer_for_others")) {
        const auto* answers = probe.ask<nar_host_narrator>(NAR_EXTENSION_NARRATOR);
        int taken = 0;
        for (uint64_t token = 0; token < 1000; ++token) {
            if (answers->reply(probe.host, token, view("{}")) != NAR_GONE) ++taken;
        }
        probe.note("taken " + std::to_string(taken));
    }
    if (probe.does("timer")) {
        uint64_t timer = 0;
        probe.ask<nar_host_timer>(NAR_HOST_TIMER)
            ->start(
                probe.host, 1, [](void* user) { self(user).note("timer"); }, instance, &timer);
    }
    if (probe.does("post")) {
        probe.thread = std::thread([instance, &probe] {
            probe.ask<nar_host_post>(NAR_HOST_POST)
                ->post(
                    probe.host,
                    [](void* user) {
                        Probe& mine = self(user);
                        mine.note("posted " + std::to_string(mine.ask<nar_host_thread_check>(
                                                                     NAR_HOST_THREAD_CHECK)
                                                                 ->is_engine_thread(mine.host)));
                    },
                    nullptr, instance);
        });
    }
    return NAR_OK;
}

constexpr nar_str kMediaTypes[] = {NAR_STR_INIT("image/*"), NAR_STR_INIT("text/plain")};

nar_status render(void* instance, const nar_asset* asset) {
    Probe& probe = self(instance);
    if (probe.does("throw_renderer")) throw std::runtime_error("no picture");
    probe.note(PROBE_ID " asset " + std::string(view(asset->asset_id)) + " " +
               std::string(view(asset->media_type)));
    return NAR_OK;
}

// ---- narrator

constexpr const char* kPlan =
    R"({"requestId":"from-probe","narrative":"The probe speaks.","tools":[]})";

void generate(void* instance, const nar_narrator_request* request) {
    const uint64_t token = request->token;
    Probe& probe = self(instance);
    const auto* host = probe.ask<nar_host_narrator>(NAR_EXTENSION_NARRATOR);
    if (probe.does("throw_narrator")) throw std::runtime_error("no plan comes to mind");
    if (probe.does("silent")) {
        probe.token = token;
        return;
    }
    if (probe.does("at_once")) {
        host->reply(probe.host, token, view(kPlan));
        probe.token = token;
        return;
    }
    if (probe.does("twice")) {
        host->reply(probe.host, token, view(kPlan));
        probe.note("second " + std::to_string(host->reply(probe.host, token, view(kPlan))));
        return;
    }
    if (probe.thread.joinable()) probe.thread.join();
    probe.thread =
        std::thread([host, &probe, token] { host->reply(probe.host, token, view(kPlan)); });
}

void cancel_request(void* instance, uint64_t token) {
    Probe& probe = self(instance);
    const auto* host = probe.ask<nar_host_narrator>(NAR_EXTENSION_NARRATOR);
    probe.note("cancelled " + std::to_string(token == probe.token) + " late " +
               std::to_string(host->reply(probe.host, token, view(kPlan))));
}

// ---- tools

constexpr const char* kLog =
    R"({"version":"0","type":"log","level":"info","message":"from the probe"})";
constexpr const char* kDone = R"({"version":"0","type":"done","ok":true,"result":{"sum":3}})";

void end_ok(Probe& probe, uint64_t token) {
    const auto* host = probe.ask<nar_host_invocation>(NAR_HOST_INVOCATION);
    const std::string text = std::string(kLog) + "\n" + kDone + "\n";
    // Split in the middle of a line, as a pipe would.
    host->output(probe.host, token, view(std::string_view(text).substr(0, 20)));
    host->output(probe.host, token, view(std::string_view(text).substr(20)));
    host->diagnostics(probe.host, token, view("a word on the side"));
    nar_invocation_end end{};
    end.size = sizeof end;
    end.user_us = 2000;
    end.resident_bytes = 512 * 1024;
    host->ended(probe.host, token, &end);
}

// More output than the host buffers, so the plugin is asked to wait.
void flood(Probe& probe, uint64_t token, int count) {
    const auto* host = probe.ask<nar_host_invocation>(NAR_HOST_INVOCATION);
    auto say = [&](const std::string& line) {
        while (host->output(probe.host, token, view(line)) == NAR_BUSY) hold(1);
    };
    const std::string padding(100, '.');
    for (int i = 0; i < count; ++i) {
        say(R"({"version":"0","type":"log","level":"info","message":"number )" + std::to_string(i) +
            R"(","fields":{"padding":")" + padding + "\"}}\n");
    }
    say(std::string(kDone) + "\n");
    host->ended(probe.host, token, nullptr);
}

nar_status start(void* instance, uint64_t token, const nar_invocation* invocation,
                 nar_failure* failure) {
    Probe& probe = self(instance);
    const auto* host = probe.ask<nar_host_invocation>(NAR_HOST_INVOCATION);
    const std::string_view path = view(invocation->tool_path);
    probe.note("start " + std::string(path) + " attempt " + std::to_string(invocation->attempt));
    probe.token = token;
    if (path == "probe:thread") {
        if (probe.thread.joinable()) probe.thread.join();
        probe.thread = std::thread([&probe, token] { end_ok(probe, token); });
    } else if (path == "probe:flood" || path == "probe:small_flood") {
        const int count = path == "probe:flood" ? 200000 : 5000;
        probe.thread = std::thread([&probe, token, count] { flood(probe, token, count); });
    } else if (path == "probe:refuse") {
        std::snprintf(failure->message, sizeof failure->message, "the queue is full");
        std::snprintf(failure->code, sizeof failure->code, "QUEUE_FULL");
        return NAR_FAILED;
    } else if (path == "probe:throw") {
        throw std::bad_alloc();
    } else if (path == "probe:garbage") {
        host->output(probe.host, token, view("this is no event\n"));
    } else if (path == "probe:garbage_and_end") {
        host->output(probe.host, token, view("this is no event\n"));
        host->ended(probe.host, token, nullptr);
    } else if (path == "probe:code") {
        nar_invocation_end end{};
        end.size = sizeof end;
        end.error_code = view("QUEUE_LOST");
        end.error = view("the cluster forgot the job");
        host->ended(probe.host, token, &end);
    } else if (path == "probe:exit") {
        nar_invocation_end end{};
        end.size = sizeof end;
        end.exit_status = 3;
        host->ended(probe.host, token, &end);
    } else if (path == "probe:twice") {
        end_ok(probe, token);
        probe.note("ended again " + std::to_string(host->ended(probe.host, token, nullptr)));
    } else if (path == "probe:run" || path == "probe:run_missing") {
        const nar_str arguments[] = {
            path == "probe:run" ? view("sh") : view("no-such-program-anywhere"), view("-c"),
            view(
                R"(read line; printf '{"version":"0","type":"done","ok":true,"result":%s}\n' "$line")")};
        nar_command command{};
        command.size = sizeof command;
        command.arguments = arguments;
        command.argument_count = 3;
        probe.note("run " + std::to_string(host->run(probe.host, token, &command)));
    } else if (path == "probe:wait" || path == "probe:never") {
        // Ends when it is cancelled, or never.
    } else {
        end_ok(probe, token);
    }
    return NAR_OK;
}

void cancel(void* instance, uint64_t token) {
    Probe& probe = self(instance);
    probe.note("cancel " + std::to_string(token == probe.token));
    if (probe.does("run_in_cancel")) {
        const nar_str arguments[] = {view("true")};
        const nar_command command{sizeof command, 0, arguments, 1};
        probe.note("run " + std::to_string(probe.ask<nar_host_invocation>(NAR_HOST_INVOCATION)
                                               ->run(probe.host, token, &command)));
    }
    if (probe.does("never_ends")) return;
    probe.ask<nar_host_invocation>(NAR_HOST_INVOCATION)->ended(probe.host, token, nullptr);
}

constexpr nar_tool kAdd{sizeof(nar_tool),
                        0,
                        NAR_STR_INIT("probe_add"),
                        NAR_STR_INIT("Adds two numbers."),
                        NAR_STR_INIT(PROBE_SCHEMA),
                        0,
                        0,
                        {},
                        0,
                        0};
constexpr const nar_tool* kTools[] = {&kAdd};

void invoke(void* instance, uint64_t token, const nar_tool* tool,
            const nar_invocation* invocation) {
    Probe& probe = self(instance);
    probe.note("invoke " + std::string(view(tool->name)) + " " +
               std::string(view(invocation->request)));
    end_ok(probe, token);
}

const void* get_extension(nar_str id) {
    static constexpr nar_str schemes[] = {NAR_STR_INIT(PROBE_SCHEME)};
    static constexpr nar_event_sink_extension sink{sizeof sink, 0, 0, on_event};
    static constexpr nar_ui_handler_extension handler{sizeof handler, PROBE_PRIORITY, kEvents, 3,
                                                      handle};
    static constexpr nar_asset_renderer_extension renderer{sizeof renderer, PROBE_PRIORITY,
                                                           kMediaTypes, 2, render};
    static constexpr nar_narrator_extension narrator{sizeof narrator, 0, generate, cancel_request};
    static constexpr nar_tool_runner_extension runner{sizeof runner, 0, schemes, 1, start, cancel};
    static constexpr nar_tool_extension tools{sizeof tools, 0, kTools, 1, invoke, nullptr};
    const std::string_view wanted = view(id);
    if (wanted == NAR_EXTENSION_EVENT_SINK) return &sink;
    if (wanted == NAR_EXTENSION_UI_HANDLER) return &handler;
    if (wanted == NAR_EXTENSION_ASSET_RENDERER) return &renderer;
    if (wanted == NAR_EXTENSION_NARRATOR) return &narrator;
    if (wanted == NAR_EXTENSION_TOOL_RUNNER) return &runner;
    if (wanted == NAR_EXTENSION_TOOL) return &tools;
    return nullptr;
}

}  // namespace

extern "C" nar_status nar_plugin_entry(const nar_host_description* host, const nar_plugin** plugin,
                                       nar_failure* failure) {
    static constexpr nar_str extensions[] = {
        NAR_STR_INIT(NAR_EXTENSION_EVENT_SINK),     NAR_STR_INIT(NAR_EXTENSION_UI_HANDLER),
        NAR_STR_INIT(NAR_EXTENSION_ASSET_RENDERER), NAR_STR_INIT(NAR_EXTENSION_NARRATOR),
        NAR_STR_INIT(NAR_EXTENSION_TOOL_RUNNER),    NAR_STR_INIT(NAR_EXTENSION_TOOL)};
    static constexpr nar_plugin description{sizeof(nar_plugin),
                                            NAR_ABI_VERSION,
                                            PROBE_OWN_ID,
                                            NAR_STR_INIT("Probe"),
                                            NAR_STR_INIT("1.2.3"),
                                            extensions,
                                            6,
                                            init,
                                            deinit,
                                            get_extension};
#ifdef PROBE_REFUSES
    std::snprintf(failure->message, 256, "it wants a host of ABI 9, and this is %u",
                  static_cast<unsigned>(host->abi_version >> 16));
    return NAR_UNSUPPORTED;
#endif
    if (host->abi_version >> 16 != NAR_ABI_MAJOR) {
        std::snprintf(failure->message, 256, "another ABI");
        return NAR_UNSUPPORTED;
    }
    *plugin = &description;
    return NAR_OK;
}
