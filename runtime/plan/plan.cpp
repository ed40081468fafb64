// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "base/name_index.hpp"
#include "base/near_name.hpp"
#include "base/strict_keys.hpp"
#include "tool/resolver.hpp"

namespace narratoria::plan {
namespace {

// A plan with more tools gets no suggestion for an unknown toolId.
constexpr size_t kMaxCompared = 200;

constexpr int64_t kMaximumRetries = 10;
// Limits for reporting cycles that share tools with reported cycles.
constexpr size_t kSharedCycles = 100;
constexpr size_t kSharedBytes = 256 * 1024;
constexpr size_t kSpelledTools = 50;
// Every integer up to here is exact in a double.
constexpr int64_t kMaximumInteger = int64_t{1} << 53;

// The defined members of each object.
constexpr std::string_view kPlanMembers[] = {"requestId",      "narrative", "tools",    "parallel",
                                             "disabledSkills", "metadata",  "continue", "choices"};
constexpr std::string_view kMetadataMembers[] = {"generationAttempt", "parentPlanId"};
constexpr std::string_view kToolMembers[] = {"toolId",       "toolPath",    "input",
                                             "dependencies", "required",    "async",
                                             "retryPolicy",  "environment", "timeoutMs"};
constexpr std::string_view kRetryMembers[] = {"maxRetries", "backoffMs"};

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

}  // namespace

std::string_view skill_of(std::string_view tool_path) {
    if (const std::string_view scheme = tool::scheme_of(tool_path); !scheme.empty()) {
        tool_path.remove_prefix(scheme.size() + 1);
    }
    const size_t slash = tool_path.rfind('/');
    std::string_view name =
        slash == std::string_view::npos ? tool_path : tool_path.substr(slash + 1);
    const size_t dot = name.rfind('.');
    if (dot != std::string_view::npos && dot > 0) name = name.substr(0, dot);
    return name;
}

std::string Plan::pointer_of(json::Value value) const {
    // Find the tool by binary search: a plan may have many faults, and a linear search for each
    // would take quadratic time.
    const auto behind = std::upper_bound(
        entries_.begin(), entries_.end(), value.index(),
        [](uint32_t index, const json::Value& entry) { return index < entry.index(); });
    if (behind != entries_.begin()) {
        const json::Value entry = *(behind - 1);
        if (value.index() < entry.tape().next(entry.index())) {
            std::string pointer = "/tools";
            json::append_pointer(pointer, static_cast<size_t>(behind - 1 - entries_.begin()));
            return pointer + json::pointer_to(entry, value.index());
        }
    }
    return json::pointer_to(document_.root(), value.index());
}

void Plan::fault(Faults& faults, json::Value at, const char* rule, std::string message) const {
    const auto byte = static_cast<size_t>(at.raw().data() - document_.text().data());
    faults.push_back({rule, pointer_of(at), byte, std::move(message), ""});
}

void Plan::fault_below(Faults& faults, std::string pointer, std::string_view segment,
                       json::Value at, const char* rule, std::string message) const {
    json::append_pointer(pointer, segment);
    const auto byte = static_cast<size_t>(at.raw().data() - document_.text().data());
    faults.push_back({rule, std::move(pointer), byte, std::move(message), ""});
}

void Plan::fault_missing(Faults& faults, json::Value object, const char* key) const {
    const auto byte = static_cast<size_t>(object.raw().data() - document_.text().data());
    std::string pointer = pointer_of(object);
    json::append_pointer(pointer, std::string_view(key));
    faults.push_back({"plan-field-missing", std::move(pointer), byte,
                      std::string("\"") + key + "\" is missing", ""});
}

void Plan::look_for_typo(json::Value object, json::Member member, KnownKeys known) {
    if (warnings_.size() == kMaxWarnings) return;
    const std::string meant = known.suggestion(member.key);
    if (meant.empty()) return;
    const json::Value key(&object.tape(), member.value.index() - 1);
    Faults one;
    fault_below(one, pointer_of(object), member.key, key, "plan-member-unknown",
                json::quoted(member.key) + " is not defined and is ignored" + meant);
    one.front().is_warning = true;
    warnings_.push_back(std::move(one.front()));
}

void Plan::look_for_typos(json::Value object, KnownKeys known) {
    for (const json::Member member : object.members()) {
        if (!known.has(member.key)) look_for_typo(object, member, known);
    }
}

bool Plan::parse(std::string_view text, Faults& faults) {
    const size_t before = faults.size();
    json::ParseError error;
    if (!document_.parse(text, error)) {
        faults.push_back({json::rule_of(error.kind), "", error.byte, error.message, ""});
        return false;
    }
    read_root(document_.root(), faults);
    entries_ = {};
    dependency_lists_ = {};
    return faults.size() == before;
}

void Plan::append(ToolInvocation invocation) {
    const ToolInvocation& its = appended_.emplace_back(std::move(invocation));
    Tool& tool = tools.emplace_back();
    tool.tool_id = its.tool_id;
    tool.tool_path = its.tool_path;
    tool.input = its.input;
    tool.operation = its.operation;
    if (its.environment) tool.environment = its.environment->root();
    tool.checked_by = its.checked_by.get();
    tool.try_ms = its.try_ms;
    tool.max_retries = its.max_retries;
    tool.backoff_ms = its.backoff_ms;
    // The invoker receives a failure and decides what it means.
    tool.required = false;
    tool.async = true;
    tool.line = its.line;
    dependencies.add_tool();
    dependents.add_tool();
}

void Plan::clear() {
    tools.clear();
    appended_.clear();
    dependencies.clear();
    dependents.clear();
}

void Plan::read_root(json::Value root, Faults& faults) {
    if (!root.is_object()) {
        fault(faults, root, "plan-object",
              std::string("a plan must be a JSON object, not ") + json::type_name(root.type()));
        return;
    }
    bool has_request_id = false;
    // The last of duplicate keys wins.
    auto last = [&](std::string_view key) { return root.find(key); };
    if (const json::Value value = last("requestId")) {
        has_request_id = true;
        if (!value.is_string()) {
            fault(faults, value, "plan-field-type", "\"requestId\" must be a string");
        } else if (value.text().empty()) {
            fault(faults, value, "plan-field-empty", "\"requestId\" must not be empty");
        } else {
            request_id = value.text();
        }
    }
    if (!has_request_id) fault_missing(faults, root, "requestId");
    if (const json::Value value = last("narrative")) {
        if (value.is_string()) narrative = value.text();
        else fault(faults, value, "plan-field-type", "\"narrative\" must be a string");
    }
    const auto flag = [&](const char* key, bool& out) {
        const json::Value value = last(key);
        if (!value) return;
        if (value.is_boolean()) out = value.boolean();
        else fault(faults, value, "plan-field-type", json::quoted(key) + " must be true or false");
    };
    flag("parallel", parallel);
    flag("continue", continues);
    const auto texts = [&](const char* key, const char* element,
                           std::vector<std::string_view>& out) {
        const json::Value value = last(key);
        if (!value) return;
        if (!value.is_array()) {
            fault(faults, value, "plan-field-type",
                  json::quoted(key) + " must be an array of strings");
            return;
        }
        size_t position = 0;
        for (const json::Value text : value.elements()) {
            if (text.is_string()) {
                out.push_back(text.text());
            } else {
                fault_below(faults, std::string("/") + key, std::to_string(position), text,
                            "plan-field-type", std::string(element) + " must be a string");
            }
            ++position;
        }
    };
    texts("disabledSkills", "a disabled skill", disabled_skills);
    texts("choices", "a choice", choices);
    if (const json::Value value = last("metadata")) read_metadata(value, faults);
    look_for_typos(root, kPlanMembers);

    const json::Value tool_list = last("tools");
    if (!tool_list) {
        fault_missing(faults, root, "tools");
        return;
    }
    if (!tool_list.is_array()) {
        fault(faults, tool_list, "plan-field-type",
              "\"tools\" must be an array; write [] for a plan with only a narrative");
        return;
    }
    size_t count = 0;
    for ([[maybe_unused]] const json::Value entry : tool_list.elements()) ++count;
    tools.reserve(count);
    entries_.reserve(count);
    dependency_lists_.reserve(count);
    for (const json::Value entry : tool_list.elements()) {
        tools.emplace_back();
        entries_.push_back(entry);
        dependency_lists_.emplace_back();
        read_tool(entry, tools.back(), faults);
    }
    link(faults);
    check_disabled(faults);
}

void Plan::read_metadata(json::Value value, Faults& faults) {
    if (!value.is_object()) {
        fault(faults, value, "plan-field-type", "\"metadata\" must be an object");
        return;
    }
    metadata = value.raw();
    look_for_typos(value, kMetadataMembers);
    if (const json::Value attempt = value.find("generationAttempt")) {
        const std::optional<int64_t> number = attempt.integer();
        if (!number) {
            fault(faults, attempt, "plan-field-type",
                  "\"generationAttempt\" must be a whole number");
        } else if (*number < 1 || *number >= kMaximumInteger) {
            fault(faults, attempt, "plan-range", "\"generationAttempt\" must be 1 or more");
        } else {
            generation_attempt = *number;
            has_generation_attempt = true;
        }
    }
    if (const json::Value parent = value.find("parentPlanId")) {
        if (parent.is_string()) parent_plan_id = parent.text();
        else if (!parent.is_null()) {
            fault(faults, parent, "plan-field-type", "\"parentPlanId\" must be a string or null");
        }
    }
}

void Plan::read_tool(json::Value value, Tool& tool, Faults& faults) {
    if (!value.is_object()) {
        fault(faults, value, "plan-field-type",
              std::string("a tool must be an object, not ") + json::type_name(value.type()));
        return;
    }
    json::Value id, path, dependencies_list, required, async;
    Members members;
    for (const json::Member member : value.members()) {
        if (member.key == "toolId") id = member.value;
        else if (member.key == "toolPath") path = member.value;
        else if (member.key == "input") members.input = member.value;
        else if (member.key == "dependencies") dependencies_list = member.value;
        else if (member.key == "required") required = member.value;
        else if (member.key == "async") async = member.value;
        else if (member.key == "retryPolicy") members.retry_policy = member.value;
        else if (member.key == "environment") members.environment = member.value;
        else if (member.key == "timeoutMs") members.timeout = member.value;
        else look_for_typo(value, member, kToolMembers);
    }
    auto text = [&](json::Value field, const char* key, std::string_view& out) {
        if (!field) {
            fault_missing(faults, value, key);
        } else if (!field.is_string()) {
            fault(faults, field, "plan-field-type",
                  std::string("\"") + key + "\" must be a string, not " +
                      json::type_name(field.type()));
        } else if (field.text().empty()) {
            fault(faults, field, "plan-field-empty",
                  std::string("\"") + key + "\" must not be empty");
        } else {
            out = field.text();
        }
    };
    text(id, "toolId", tool.tool_id);
    text(path, "toolPath", tool.tool_path);
    if (has_nul(tool.tool_path)) {
        fault(faults, path, "plan-tool-path", "\"toolPath\" contains a NUL character");
    }
    auto boolean = [&](json::Value field, const char* key, bool& out) {
        if (!field) return;
        if (field.is_boolean()) out = field.boolean();
        else
            fault(faults, field, "plan-field-type",
                  std::string("\"") + key + "\" must be true or false");
    };
    boolean(required, "required", tool.required);
    boolean(async, "async", tool.async);
    read_members(members, tool, faults);
    if (dependencies_list) {
        if (!dependencies_list.is_array()) {
            fault(faults, dependencies_list, "plan-field-type",
                  "\"dependencies\" must be an array of toolIds");
        } else {
            dependency_lists_.back() = dependencies_list;
            const uint32_t begin = dependencies_list.index() + 1;
            named_dependencies_ += dependencies_list.tape().next(begin - 1) - 1 - begin;
        }
    }
}

void Plan::read_members(const Members& members, Tool& tool, Faults& faults) {
    if (const json::Value input = members.input) {
        if (input.is_object()) {
            tool.input = input.raw();
            const json::Value operation = input.find("operation");
            if (operation && operation.is_string()) tool.operation = operation.text();
        } else {
            fault(faults, input, "plan-field-type", "\"input\" must be an object");
        }
    }
    if (members.retry_policy) read_retry_policy(members.retry_policy, tool, faults);
    if (const json::Value timeout = members.timeout) {
        const std::optional<int64_t> number = timeout.integer();
        if (!number) {
            fault(faults, timeout, "plan-field-type", "\"timeoutMs\" must be a whole number");
        } else if (*number < 0 || *number >= kMaximumInteger) {
            fault(faults, timeout, "plan-range",
                  "\"timeoutMs\" must be from 0 (no limit) to 9007199254740991");
        } else {
            tool.try_ms = static_cast<uint64_t>(*number);
        }
    }
    if (const json::Value environment = members.environment) {
        if (!environment.is_object()) {
            fault(faults, environment, "plan-field-type",
                  "\"environment\" must be an object of strings");
        } else {
            tool.environment = environment;
            const std::string pointer = pointer_of(environment);
            for (const json::Member variable : environment.members()) {
                if (!variable.value.is_string()) {
                    fault_below(faults, pointer, variable.key, variable.value, "plan-field-type",
                                "an environment variable must be a string");
                } else if (has_nul(variable.value.text())) {
                    fault_below(faults, pointer, variable.key, variable.value, "plan-environment",
                                "an environment variable contains a NUL character");
                }
                if (variable.key.empty() || variable.key.find('=') != std::string_view::npos ||
                    has_nul(variable.key)) {
                    fault_below(faults, pointer, variable.key, variable.value, "plan-environment",
                                "the name of an environment variable must not be empty or contain "
                                "\"=\" or NUL");
                }
            }
        }
    }
}

void Plan::read_retry_policy(json::Value value, Tool& tool, Faults& faults) {
    if (!value.is_object()) {
        fault(faults, value, "plan-field-type", "\"retryPolicy\" must be an object");
        return;
    }
    json::Value most, backoff;
    for (const json::Member member : value.members()) {
        if (member.key == "maxRetries") most = member.value;
        else if (member.key == "backoffMs") backoff = member.value;
        else look_for_typo(value, member, kRetryMembers);
    }
    auto integer = [&](json::Value field, const char* key, int64_t highest, const char* range,
                       auto& out) {
        if (!field) return;
        const std::optional<int64_t> number = field.integer();
        if (!number) {
            fault(faults, field, "plan-field-type",
                  std::string("\"") + key + "\" must be a whole number");
        } else if (*number < 0 || *number > highest) {
            fault(faults, field, "plan-range", std::string("\"") + key + "\" must be " + range);
        } else {
            out = static_cast<std::decay_t<decltype(out)>>(*number);
        }
    };
    integer(most, "maxRetries", kMaximumRetries, "from 0 to 10", tool.max_retries);
    integer(backoff, "backoffMs", kMaximumInteger - 1, "from 0 to 9007199254740991",
            tool.backoff_ms);
}

// Resolves the names of dependencies to positions, in both directions.
void Plan::link(Faults& faults) {
    const auto count = static_cast<uint32_t>(tools.size());
    NameIndex positions(count);
    // Lookups are random: side by side, the ids fit into the processor's caches.
    std::string ids;
    std::vector<uint32_t> starts(count + 1);
    for (uint32_t i = 0; i < count; ++i) {
        ids += tools[i].tool_id;
        starts[i + 1] = static_cast<uint32_t>(ids.size());
    }
    const auto id_of = [&](uint32_t tool) {
        return std::string_view(ids.data() + starts[tool], starts[tool + 1] - starts[tool]);
    };
    for (uint32_t i = 0; i < count; ++i) {
        if (id_of(i).empty()) continue;
        const uint32_t first = positions.find_or_add(id_of(i), i, id_of);
        if (first != i) {
            fault(faults, entries_[i].find("toolId"), "plan-tool-id-unique",
                  "the toolId " + json::quoted(id_of(i)) + " is already used by /tools/" +
                      std::to_string(first));
        }
    }

    dependencies.starts_.assign(count + 1, 0);
    dependents.starts_.assign(count + 1, 0);
    std::vector<uint32_t> seen(count, UINT32_MAX);
    dependencies.edges_.reserve(named_dependencies_);
    for (uint32_t i = 0; i < count; ++i) {
        dependencies.starts_[i] = static_cast<uint32_t>(dependencies.edges_.size());
        if (!dependency_lists_[i]) continue;
        size_t position = 0;
        for (const json::Value name : dependency_lists_[i].elements()) {
            auto name_fault = [&](const char* rule, std::string message) {
                std::string pointer = "/tools";
                json::append_pointer(pointer, size_t{i});
                json::append_pointer(pointer, std::string_view("dependencies"));
                json::append_pointer(pointer, position - 1);
                const auto byte = static_cast<size_t>(name.raw().data() - document_.text().data());
                faults.push_back({rule, std::move(pointer), byte, std::move(message), ""});
            };
            ++position;
            if (!name.is_string()) {
                name_fault("plan-field-type", "a dependency must be a toolId (a string)");
                continue;
            }
            const uint32_t dependency = positions.find(name.text(), id_of);
            if (dependency == NameIndex::kNone) {
                std::string message =
                    "no tool of this plan has the toolId " + json::quoted(name.text());
                // Comparing takes time for each tool, and a plan may have many such faults.
                if (count <= kMaxCompared) {
                    std::vector<std::string_view> known;
                    for (uint32_t other = 0; other < count; ++other) {
                        // The tool itself would be a cycle.
                        if (other != i && !id_of(other).empty()) known.push_back(id_of(other));
                    }
                    std::sort(known.begin(), known.end());
                    message += did_you_mean(near_name(name.text(), known));
                }
                name_fault("plan-dependency-known", std::move(message));
                continue;
            }
            if (seen[dependency] == i) continue;
            seen[dependency] = i;
            dependencies.edges_.push_back(dependency);
            ++dependents.starts_[dependency + 1];
        }
    }
    dependencies.starts_[count] = static_cast<uint32_t>(dependencies.edges_.size());
    for (uint32_t i = 0; i < count; ++i) dependents.starts_[i + 1] += dependents.starts_[i];
    dependents.edges_.resize(dependencies.edges_.size());
    std::vector<uint32_t> fill(dependents.starts_.begin(), dependents.starts_.end() - 1);
    for (uint32_t i = 0; i < count; ++i) {
        for (const uint32_t dependency : dependencies.of(i))
            dependents.edges_[fill[dependency]++] = i;
    }
    find_cycles(faults);
}

// Kahn's algorithm: a tool that cannot be ordered is in a cycle or depends on one.
void Plan::find_cycles(Faults& faults) {
    const auto count = static_cast<uint32_t>(tools.size());
    std::vector<uint32_t> waiting(count);
    std::vector<uint32_t> ready;
    ready.reserve(count);
    for (uint32_t i = 0; i < count; ++i) {
        waiting[i] = static_cast<uint32_t>(dependencies.of(i).size());
        if (waiting[i] == 0) ready.push_back(i);
    }
    for (size_t next = 0; next < ready.size(); ++next) {
        for (const uint32_t dependent : dependents.of(ready[next])) {
            if (--waiting[dependent] == 0) ready.push_back(dependent);
        }
    }
    if (ready.size() == count) return;

    // Depth-first search over those tools. A dependency on a tool of the current path closes a
    // cycle. Every cycle contains such a back edge, so fixing the reported ones removes all cycles.
    constexpr uint32_t kDone = UINT32_MAX;
    std::vector<uint32_t> place(count, 0);  // position in the path, from 1
    std::vector<uint32_t> next(count, 0);
    std::vector<uint32_t> path;
    std::vector<bool> is_told(count, false);
    size_t shared = 0;
    size_t shared_bytes = 0;
    const auto tell = [&](uint32_t first) {
        // Report all cycles that share no tool. In total this takes linear time, like this check.
        size_t begin = path.size();
        while (begin >= place[first] && !is_told[path[begin - 1]]) is_told[path[--begin]] = true;
        std::string message = "the tools depend on each other in a cycle: ";
        if (begin >= place[first]) {
            if (shared > kSharedCycles) return;
            if (shared == kSharedCycles || shared_bytes > kSharedBytes) {
                shared = kSharedCycles + 1;
                fault(faults, dependency_lists_[first], "plan-cycle",
                      "there are more cycles, which share tools with the reported ones");
                return;
            }
            ++shared;
        }
        for (size_t i = place[first] - 1, length = 0; i < path.size(); ++i, ++length) {
            if (length > kSpelledTools) {
                message += "… → ";
                break;
            }
            message += tools[path[i]].tool_id;
            message += " → ";
        }
        message += tools[first].tool_id;
        if (begin >= place[first]) shared_bytes += message.size();
        fault(faults, dependency_lists_[first], "plan-cycle", std::move(message));
    };
    for (uint32_t start = 0; start < count; ++start) {
        if (waiting[start] == 0 || place[start] != 0) continue;
        path.assign(1, start);
        place[start] = 1;
        while (!path.empty()) {
            const uint32_t at = path.back();
            const auto its = dependencies.of(at);
            if (next[at] == its.size()) {
                place[at] = kDone;
                path.pop_back();
                continue;
            }
            const uint32_t dependency = its.first[next[at]++];
            if (waiting[dependency] == 0 || place[dependency] == kDone) continue;
            if (place[dependency] != 0) {
                tell(dependency);
            } else {
                path.push_back(dependency);
                place[dependency] = static_cast<uint32_t>(path.size());
            }
        }
    }
}

void Plan::check_disabled(Faults& faults) {
    if (disabled_skills.empty()) return;
    const std::unordered_set<std::string_view> disabled(disabled_skills.begin(),
                                                        disabled_skills.end());
    for (size_t i = 0; i < tools.size(); ++i) {
        const std::string_view skill = skill_of(tools[i].tool_path);
        if (skill.empty() || !disabled.contains(skill)) continue;
        fault(faults, entries_[i].find("toolPath"), "plan-skill-disabled",
              "the skill " + json::quoted(skill) + " is disabled; choose a different tool");
    }
}

}  // namespace narratoria::plan
