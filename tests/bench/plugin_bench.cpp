// SPDX-License-Identifier: Apache-2.0
// The cost of plugins: delivering an event to their sinks compared with virtual calls that do the
// same work, finding plugins, and a complete lifecycle.

#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <string>

#include "base/loop.hpp"
#include "event/stream.hpp"
#include "plugin/dispatcher.hpp"
#include "script/limits.hpp"

using namespace narratoria;

namespace {

uint64_t allocations = 0;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
    ++allocations;
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

const std::string kFolder = NARRATORIA_BENCH_LIBRARIES;

class Session : public plugin::SessionAccess {
public:
    Loop& loop() override { return loop_; }
    const std::shared_ptr<EngineThread>& engine_thread() const override { return thread_; }
    uint32_t& callback_depth() override { return depth_; }
    const std::string& session_id() const override { return folder_; }
    void log(uint32_t, std::string_view message, std::string_view = {}) override {
        std::fprintf(stderr, "%.*s\n", static_cast<int>(message.size()), message.data());
    }
    void excuse(int64_t) override {}
    void warn(std::string_view, std::string_view) override {}
    nar_status read_state(std::string_view, std::string&) override { return NAR_NOT_FOUND; }
    nar_status patch_state(std::string_view, std::string_view) override { return NAR_OK; }
    nar_status set_state(std::string_view, std::string_view, std::optional<state::Description>,
                         const plugin::ApplyPatch&, std::string_view, std::string&) override {
        return NAR_OK;
    }
    nar_status clear_state(const plugin::ApplyPatch&, std::string_view, std::string&) override {
        return NAR_OK;
    }
    nar_status register_state_metadata(std::string_view, std::optional<state::Description>,
                                       std::string&) override {
        return NAR_OK;
    }
    const state::Metadata& state_metadata() const override { return metadata_; }
    void format_state_for_prompt(std::string&) override {}
    bool is_publishing() const override { return false; }
    void list_assets(std::string&) override {}
    bool on_rendered(plugin::Instance&, uint64_t, nar_status) override { return false; }
    void drop_renderings(plugin::Instance&) override {}
    nar_status submit_prompt(std::string_view, std::string_view, uint64_t&) override {
        return NAR_OK;
    }
    nar_status submit_go_to(uint64_t, std::string_view, uint64_t&) override {
        return NAR_UNSUPPORTED;
    }
    nar_status read_turns(uint64_t, uint32_t, std::string_view, std::string&) override {
        return NAR_UNSUPPORTED;
    }
    nar_status submit_again(uint64_t, std::string_view, uint64_t&) override {
        return NAR_UNSUPPORTED;
    }
    nar_status submit_resume(uint64_t, bool, std::string_view, uint64_t&) override {
        return NAR_UNSUPPORTED;
    }
    uint64_t running_submission() const override { return 0; }
    bool cancel(uint64_t) override { return false; }
    void cancel_all() override {}
    bool has_cancel() const override { return false; }
    nar_status delta(uint64_t, std::string_view) override { return NAR_GONE; }
    nar_status usage(uint64_t, std::string_view) override { return NAR_GONE; }
    void withhold_variable(std::string_view) override {}
    nar_status answer(uint64_t, bool, std::string) override { return NAR_GONE; }
    nar_status invoke(uint64_t, std::string_view, std::function<void(uint64_t, std::string_view)>,
                      uint64_t&, std::string&) override {
        return NAR_GONE;
    }
    nar_status cancel_invocation(uint64_t, uint64_t) override { return NAR_GONE; }
    Inbox& inbox() override { return inbox_; }
    void give_up(uint64_t, std::string) override {}
    const tool::Registry& registry() const override { return registry_; }
    script::Limits script_limits() const override { return limits_of_scripts_; }
    http::Client& http() override { std::abort(); }
    plugin::ProcessDefaults process_defaults() override {
        return {pool_, folder_, environment_, limits_};
    }

    plugin::ToolPlaces tools() { return {registry_, runners_, processes_}; }

private:
    const std::shared_ptr<EngineThread> thread_ = std::make_shared<EngineThread>();
    Loop loop_;
    Inbox inbox_{loop_, [](uint32_t, std::string_view, std::string_view) {}};
    process::Pool pool_{loop_, ""};
    std::string folder_ = "/";
    std::vector<std::string> environment_;
    process::Limits limits_;
    state::Metadata metadata_;
    tool::Registry registry_;
    const script::Limits limits_of_scripts_;
    tool::Runners runners_;
    const tool::RunnerSettings settings_{"/"};
    tool::ProcessRunner processes_{pool_, settings_};
    uint32_t depth_ = 0;
};

const event::Event& log_event() {
    static event::Event event;
    event.type = event::Type::Log;
    event.line = R"({"version":"0","type":"log","level":"info","message":"The torch burns."})";
    return event;
}

// ---- the equivalent of a host without plugins

class Listener {
public:
    virtual ~Listener() = default;
    virtual void on_event(uint64_t number, const event::Subject& subject,
                          const event::Event& event) = 0;
};

class Counting : public Listener {
public:
    void on_event(uint64_t number, const event::Subject&, const event::Event& event) override {
        count_ += number ^ event.line.size();
    }

private:
    uint64_t count_ = 0;
};

void virtual_calls(benchmark::State& state) {
    std::vector<std::unique_ptr<Listener>> listeners;
    for (int64_t i = 0; i < state.range(0); ++i) listeners.push_back(std::make_unique<Counting>());
    benchmark::DoNotOptimize(listeners.data());
    const event::Subject subject{"plan", "tool", 1};
    uint64_t number = 0;
    for (auto _ : state) {
        ++number;
        for (const auto& listener : listeners) listener->on_event(number, subject, log_event());
        benchmark::ClobberMemory();
    }
}
BENCHMARK(virtual_calls)->Arg(1)->Arg(16);

void plugin_sinks(benchmark::State& state, const char* name) {
    Session session;
    event::Stream stream("session", session.callback_depth());
    plugin::Dispatcher dispatcher(session, {}, session.tools());
    std::string reason;
    const std::string path = kFolder + "/" + name;
    const auto metadata = plugin::read_metadata(path, reason);
    const plugin::Library* library =
        metadata ? plugin::load_library(path, *metadata, reason) : nullptr;
    if (library == nullptr) return state.SkipWithError(reason.c_str());
    for (int64_t i = 0; i < state.range(0); ++i) dispatcher.add(*library, path, "{}");
    dispatcher.attach_sinks(stream);
    const event::Subject subject{"plan", "tool", 1};
    stream.begin_batch(0);
    // The first record allocates the buffer for the texts of all records.
    stream.publish_tool_event(stream.take_number(), subject, log_event());
    const uint64_t before = allocations;
    uint32_t in_batch = 0;
    for (auto _ : state) {
        // The typical number of events in a read.
        if (in_batch++ % 256 == 0) {
            stream.end_batch();
            stream.begin_batch(0);
        }
        stream.publish_tool_event(stream.take_number(), subject, log_event());
        benchmark::ClobberMemory();
    }
    state.counters["allocations"] = static_cast<double>(allocations - before);
    stream.detach_all();
}
BENCHMARK_CAPTURE(plugin_sinks, c, "counting_sink.so")->Arg(1)->Arg(16);
BENCHMARK_CAPTURE(plugin_sinks, cpp, "counting_sink_cpp.so")->Arg(1);

// ---- discovery

void scan_200_files(benchmark::State& state) {
    std::string folder = std::filesystem::temp_directory_path() / "narratoria-bench-XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) return state.SkipWithError("no folder");
    for (int i = 0; i < 200; ++i) {
        std::filesystem::copy_file(kFolder + "/counting_sink.so",
                                   folder + "/" + std::to_string(i) + ".so");
    }
    for (auto _ : state) {
        const plugin::Search found =
            plugin::search({{}, "", {}}, {{folder, "the bench", true, false}}, false);
        if (found.places[1].candidates.size() != 200 || !found.places[1].candidates[7].metadata) {
            state.SkipWithError("not all were found");
        }
    }
    std::filesystem::remove_all(folder);
}
BENCHMARK(scan_200_files)->Unit(benchmark::kMillisecond);

// ---- a complete lifecycle, including the unload that a session never does

void load_init_deinit_unload(benchmark::State& state) {
    Session session;
    const std::string path = kFolder + "/counting_sink.so";
    for (auto _ : state) {
        void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        nar_plugin_entry_fn entry = nullptr;
        void* const symbol = ::dlsym(handle, NAR_PLUGIN_ENTRY);
        std::memcpy(&entry, &symbol, sizeof entry);
        const nar_host_description host{sizeof host, NAR_ABI_VERSION, NAR_STR("bench"),
                                        NAR_STR("1")};
        const nar_plugin* description = nullptr;
        nar_failure failure = plugin::empty_failure();
        entry(&host, &description, &failure);
        {
            plugin::Library library;
            std::string reason;
            plugin::accept_plugin(description, nullptr, library, reason);
            plugin::Dispatcher dispatcher(session, {}, session.tools());
            if (dispatcher.add(library, path, "{}") == nullptr) state.SkipWithError("not added");
        }
        ::dlclose(handle);
    }
}
BENCHMARK(load_init_deinit_unload)->Unit(benchmark::kMillisecond);

}  // namespace
