// SPDX-License-Identifier: Apache-2.0
#include "session/script_run.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "base/json/writer.hpp"
#include "base/near_name.hpp"
#include "process/find_program.hpp"
#include "process/script.hpp"
#include "session/script_name.hpp"

namespace narratoria::session {
namespace {

// About ten microseconds of arithmetic, or half a millisecond of FORMAT. The engine can exceed a
// frame's budget by one slice.
constexpr uint64_t kSliceSteps = 4'000;
// The time limit of a slice with CALLs that end at once. The script then yields to the loop.
constexpr int64_t kSliceMs = 1;
// The clock is read after this many CALLs of less than a millisecond.
constexpr uint32_t kCallsInARow = 16;

}  // namespace

// ---------------------------------------------------------------- names

ScriptTools::ScriptTools(const tool::Registry& registry, const std::string& folder)
    : registry_(registry), folder_(folder) {
    add(registry);
    if (!folder.empty()) add(tool::Registry(folder));
}

void ScriptTools::add(const tool::Registry& registry) {
    for (const auto& definition : registry.list()) {
        const bool is_file = definition->origin.kind == tool::Origin::Kind::File;
        std::string name = script_name(*definition);
        if (!is_file && name == definition->name) continue;
        others_.emplace(std::move(name), is_file ? definition->origin.place : definition->name);
    }
}

bool ScriptTools::has(std::string_view name) const {
    return registry_.find(name) != nullptr || others_.contains(name);
}

std::string ScriptTools::hint(std::string_view name) const {
    std::error_code error;
    std::filesystem::directory_iterator entry(folder_, error), end;
    for (; !folder_.empty() && !error && entry != end; entry.increment(error)) {
        const std::filesystem::path& file = entry->path();
        if (file.stem() != name || !entry->is_regular_file(error) || process::is_program(file)) {
            continue;
        }
        return "the file " + file.filename().string() +
               " is not executable, so it is not a tool; run: chmod +x " +
               process::shell_word(file);
    }
    return ask_for_near_name(name, names());
}

std::optional<std::string> ScriptTools::unknown_argument(std::string_view name,
                                                         std::string_view argument) const {
    const tool::Registry::Shared definition = definition_of(name);
    if (definition == nullptr || definition->input == nullptr) return std::nullopt;
    const tool::Schema::Part root = definition->input->root();
    if (!root.lists_its_members() || root.names(argument)) return std::nullopt;
    std::vector<std::string_view> known;
    const json::Value properties = definition->input->document().find("properties");
    if (properties && properties.is_object()) {
        for (const json::Member each : properties.members()) known.push_back(each.key);
    }
    return ask_for_near_name(argument, known);
}

std::vector<std::string_view> ScriptTools::names() const {
    std::vector<std::string_view> names = registry_.names();
    std::erase_if(
        names, [&](std::string_view name) { return script_name(*registry_.find(name)) != name; });
    for (const auto& [name, path] : others_) names.emplace_back(name);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::string why;
    std::erase_if(names, [&](std::string_view name) { return path_of(name, why).empty(); });
    return names;
}

tool::Registry::Shared ScriptTools::definition_of(std::string_view name) const {
    auto registered = registry_.find(name);
    if (registered != nullptr) return others_.contains(name) ? nullptr : registered;
    std::string ignored;
    const std::string path = path_of(name, ignored);
    if (path.empty()) return nullptr;
    registered = registry_.find(path);
    return registered != nullptr ? registered : registry_.file(path, ignored);
}

std::string ScriptTools::path_of(std::string_view name, std::string& why) const {
    const bool is_registered = registry_.find(name) != nullptr;
    const auto [first, last] = others_.equal_range(name);
    if (std::distance(first, last) + is_registered > 1) {
        std::string places;
        const auto add = [&](std::string_view path) {
            const auto& registered = registry_.find(path);
            places += places.empty() ? "" : " and ";
            if (registered == nullptr) places += path;
            else places += json::quoted(path) + " of " + tool::describe(registered->origin);
        };
        if (is_registered) add(name);
        for (auto each = first; each != last; ++each) add(each->second);
        why = "the name means " + places + "; rename one of them";
        return {};
    }
    if (is_registered) return std::string(name);
    return first == last ? std::string() : first->second;
}

// ---------------------------------------------------------------- running

ScriptRun::ScriptRun(Context context, std::shared_ptr<const script::Program> program,
                     const script::Limits& limits)
    : with_(std::move(context)),
      machine_(std::move(program), *this,
               {.limits = limits,
                .clock = nullptr,
                .on_output = [this](std::string_view line) { with_.on_printed(line); }}),
      timer_(with_.loop),
      on_outcome_(std::make_shared<OutcomeFunction>(
          [this, life = lifetime_.watch()](uint64_t, const plan::ToolResult& outcome) {
              // A narrator's question may outlive its script.
              if (!life.ended()) on_outcome(outcome);
          })) {}

ScriptRun::~ScriptRun() { lifetime_.end(); }

void ScriptRun::start() { step_soon(); }

void ScriptRun::step_soon() {
    with_.loop.defer([this, life = lifetime_.watch()] {
        if (!life.ended() && !ended_) step();
    });
}

void ScriptRun::step() {
    if (with_.is_cancelled()) return;  // the loop calls stop()
    timer_.stop();
    slice_ms_ = clock::steady_ms();
    switch (machine_.run(kSliceSteps)) {
        case script::Machine::State::Ready: return step_soon();
        case script::Machine::State::Waiting:
            if (const int64_t deadline = machine_.deadline_ms()) {
                const int64_t left = deadline - with_.loop.steady_ms();
                timer_.start(static_cast<uint64_t>(std::max<int64_t>(left, 0)), [this] { step(); });
            }
            return;
        case script::Machine::State::Finished:
        case script::Machine::State::Failed: return finish(plan::Stop::Abandoned);
    }
}

// Caches the definition of a registered tool only: a file may change at any time.
const ScriptRun::Known& ScriptRun::known(std::string_view name) {
    Known* const found = known_.find(name.data());
    const uint64_t version = with_.tools.version();
    if (found != nullptr && found->version == version) return *found;
    Known& known = found != nullptr ? *found : known_.add(name.data(), {});
    known.is_there = with_.tools.has(name);
    known.tool = with_.tools.definition_of(name);
    known.is_file = known.tool != nullptr && known.tool->origin.kind == tool::Origin::Kind::File;
    if (known.is_file) known.tool = nullptr;
    std::string ignored;
    if (known.tool != nullptr) known.path = with_.tools.path_of(name, ignored);
    known.version = version;
    return known;
}

bool ScriptRun::check(std::string_view name, script::Value& arguments, script::Memory& memory,
                      std::string& faults) {
    const Known& known = this->known(name);
    if (known.is_file) tool_ = with_.tools.definition_of(name);
    else if (tool_ != known.tool) tool_ = known.tool;
    const tool::Schema* const schema = tool_ != nullptr ? tool_->input.get() : nullptr;
    return arguments_.check(schema, arguments, memory, faults);
}

script::Tools::Outcome ScriptRun::start(const script::ToolCall& call, script::Memory&,
                                        script::Value&, std::string& message) {
    plan::ToolInvocation invocation;
    const Known& known = this->known(call.tool);
    invocation.tool_path =
        known.tool != nullptr ? known.path : with_.tools.path_of(call.tool, message);
    if (invocation.tool_path.empty()) return Outcome::Failed;
    invocation.input = arguments_.json();
    if (const script::Value* const operation = call.arguments.find("operation")) {
        if (operation->is_string()) invocation.operation = operation->text();
    }
    invocation.checked_by = tool_;
    invocation.line = call.line;
    uint64_t number = 0;
    is_calling_ = true;
    const nar_status status = with_.invoke(std::move(invocation), on_outcome_, number, message);
    is_calling_ = false;
    return status == NAR_OK ? Outcome::Waiting : Outcome::Failed;
}

void ScriptRun::on_outcome(const plan::ToolResult& outcome) {
    if (ended_) return;
    if (!outcome.ok()) machine_.fail(outcome.error);
    else if (outcome.parsed_result) machine_.resume_json(outcome.parsed_result);
    else machine_.resume_json(outcome.result.empty() ? std::string_view("null") : outcome.result);
    if (is_calling_) {
        // The statement after a CALL that cancels must not run.
        if (with_.is_cancelled()) return machine_.pause();
        if (with_.loop.has_budget()) {
            if (with_.loop.time_is_up()) machine_.pause();
            return;
        }
        if (outcome.execution_ms == 0 && ++calls_in_a_row_ < kCallsInARow) return;
        calls_in_a_row_ = 0;
        if (clock::steady_ms() - slice_ms_ >= kSliceMs) machine_.pause();
        return;
    }
    // Deferred, because the execution that calls this is not reentrant.
    step_soon();
}

void ScriptRun::stop(plan::Stop reason) {
    if (ended_) return;
    machine_.cancel();
    machine_.run();
    finish(reason);
}

void ScriptRun::finish(plan::Stop reason) {
    ended_ = true;
    timer_.stop();
    ScriptEnd end;
    end.error = machine_.error();
    if (with_.wants_scope && !machine_.append_scope(end.scope) && !end.error) {
        end.error = {"SizeLimitError",
                     "The variables of the script exceed the limit of " +
                         std::to_string(machine_.limits().value_bytes) + " bytes in total",
                     0, 0};
    }
    if (end.error) end.error_text = script::describe(end.error, machine_.program().source());
    end.reason = reason;
    // May destroy this object.
    const auto on_ended = with_.on_ended;
    on_ended(std::move(end));
}

}  // namespace narratoria::session
