// SPDX-License-Identifier: Apache-2.0
#include "tool_check/rules.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "display.hpp"
#include "io/children.hpp"
#include "io/file.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "narratoria/validate.hpp"
#include "tool_check/file_signature.hpp"
#include "tool_check/manifest_check.hpp"

namespace narratoria::command::tool_check {
namespace {

constexpr Rule kRules[] = {
    {"T1", "starts", "spec 000 §2.1",
     "make it executable (chmod +x), and name an existing interpreter in its first line"},
    {"T2", "ends by itself, with exit status 0", "spec 000 §5.3",
     "report a failure with an error event and done with ok: false, and exit with 0; any other "
     "status means a broken tool"},
    {"T3", "writes only complete lines of JSON objects in UTF-8 to standard output",
     "spec 000 §2.2, §2.3",
     "write one object per line, ended by \\n; write everything else to standard error"},
    {"T4", "writes only valid events", "spec 000 §3, §4; spec 004",
     "correct the named field; narratoria validate event shows the same"},
    {"T5", "logs with the levels debug, info, warn, error, and progress from 0 to 1",
     "spec 000 §4.1",
     "use one of the four levels; fields.progress is a fraction, not a percentage"},
    {"T6", "writes exactly one done", "spec 000 §4.6",
     "write one done as the last line, on every exit path of the program"},
    {"T7", "writes nothing after done", "spec 000 §4.6", "write it before done, or not at all"},
    {"T8", "exits soon after done", "spec 000 §5.3",
     "exit after done; after the grace period, remaining processes are ended"},
    {"T9", "follows an error event by done with ok: false", "spec 000 §4.5",
     "write done with ok: false after an error, or log a warning instead of an error"},
    {"T10", "writes timestamps in ISO-8601", "spec 000 §3",
     "for example 2026-01-24T18:30:00Z, or leave the timestamp out"},
    {"T11", "returns the requestId that it was given", "spec 000 §3",
     "copy requestId from the invocation, or leave it out"},
    {"T12", "announces assets that exist: readable files", "spec 000 §4.3, §7",
     "write and close the file first, then announce its absolute path; a relative path is resolved "
     "in the tool's working folder"},
    {"T13", "announces assets with a valid media type that matches the file", "spec 000 §4.3",
     "use the media type of the file, for example image/png"},
    {"T14", "gives each asset its own id", "spec 000 §4.3",
     "derive the id from a counter or from the content"},
    {"T15", "sends narrative_choice with a list of strings", "spec 000 §4.4",
     "use the payload {\"choices\": [\"Open\", \"Leave\"]}"},
    {"T16", "follows the protocol even without input", "spec 000 §6",
     "an empty standard input is allowed: report missing input with an error event and done with "
     "ok: false"},
    {"T17", "accepts unknown fields", "spec 000 §6, §8",
     "ignore unknown fields, even large ones; newer runtimes send more fields"},
    {"T18", "ends on SIGTERM within the grace period", "docs/writing-a-tool.md",
     "do not ignore SIGTERM; exit, or forward it to child processes and then exit"},
    {"T19", "leaves no process behind", "docs/writing-a-tool.md",
     "wait for all child processes before done"},
    {"T20", "returns results that match its manifest", "docs/tool-schemas.md",
     "correct the result or the manifest; narratoria validate tool shows the manifest's faults"},
};

struct Line {
    std::size_t number;  // from 1
    std::size_t begin;   // in the output, from 0
    std::string_view text;
    bool ended;  // by a newline
};

std::vector<Line> lines_of(std::string_view output) {
    std::vector<Line> lines;
    std::size_t begin = 0;
    while (begin < output.size()) {
        const std::size_t end = output.find('\n', begin);
        const bool ended = end != std::string_view::npos;
        const std::size_t stop = ended ? end : output.size();
        lines.push_back({lines.size() + 1, begin, output.substr(begin, stop - begin), ended});
        begin = stop + 1;
    }
    return lines;
}

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\r") == std::string_view::npos;
}

struct ParsedEvent {
    Line line;
    json::Value event;
};

// All events share one pool: a document for each would take 10 KB per event.
struct Events {
    std::unique_ptr<json::Document::AllocatorType> pool =
        std::make_unique<json::Document::AllocatorType>();
    std::vector<ParsedEvent> parsed;
};

Events events_of(const ObservedRun& run) {
    Events events;
    for (const Line& line : lines_of(run.output)) {
        if (is_blank(line.text)) continue;
        json::Value event = json::read(line.text, *events.pool);
        if (event.IsObject()) events.parsed.push_back({line, std::move(event)});
    }
    return events;
}

bool ended_well(const ObservedRun& run) {
    return run.start_error == 0 && !run.ended_by_us && WIFEXITED(run.wait_status) &&
           WEXITSTATUS(run.wait_status) == 0;
}

class Judge {
public:
    explicit Judge(const Evidence& evidence)
        : evidence_(evidence),
          lines_(lines_of(evidence.plain.output)),
          events_(events_of(evidence.plain)) {}

    std::vector<Judgement> all();

private:
    using Findings = std::vector<Finding>;

    void add_judgement(Findings findings) {
        const Verdict verdict = findings.empty() ? Verdict::Passed : Verdict::Failed;
        judgements_.push_back({next_rule(), verdict, {}, std::move(findings)});
    }
    void not_applicable(std::string why) {
        judgements_.push_back({next_rule(), Verdict::NotApplicable, std::move(why), {}});
    }
    // Judges the rule if `any` event is of its kind, otherwise sets it to NotApplicable.
    void add_judgement_if(bool any, std::string_view otherwise, Findings findings) {
        if (any) {
            add_judgement(std::move(findings));
        } else {
            not_applicable(std::string(otherwise));
        }
    }
    const Rule* next_rule() const { return &kRules[judgements_.size()]; }

    static Finding at(const ParsedEvent& parsed, std::string pointer, std::string message) {
        return {{}, parsed.line.number, 1, std::move(pointer), std::move(message)};
    }
    static Finding about(std::string message) { return {{}, 0, 0, {}, std::move(message)}; }

    void judge_start();
    void judge_end();
    void judge_lines_and_events();
    void judge_done();
    void judge_grace();
    void judge_error();
    void judge_timestamps();
    void judge_request_id();
    void judge_assets();
    void judge_choices();
    void judge_other_run(const std::optional<ObservedRun>& run, const std::string& name,
                         bool same_outcome);
    void judge_sigterm();
    void judge_left_behind();
    void judge_result();

    const Evidence& evidence_;
    std::vector<Line> lines_;
    Events events_;
    // The library's findings that belong to rules other than T3 and T4.
    Findings levels_;       // T5
    Findings timestamps_;   // T10
    Findings media_types_;  // T13
    std::vector<Judgement> judgements_;
};

// `lines` are the lines of the output with the fault.
Finding finding_of(const json::Value& fault, const std::vector<Line>& lines, std::string run = {}) {
    const auto number = static_cast<std::size_t>(json::count(fault, "line"));
    auto byte = static_cast<std::size_t>(json::count(fault, "byte")) + 1;
    // The library reports the fault of an empty output in line 1, which does not exist.
    if (number > 0 && number <= lines.size()) byte -= lines[number - 1].begin;
    return {std::move(run), number, byte, std::string(json::text(fault, "pointer")),
            std::string(json::text(fault, "message"))};
}

std::string_view type_of(const ParsedEvent& parsed) { return json::text(parsed.event, "type"); }

void Judge::judge_start() {
    Findings findings;
    const ObservedRun& run = evidence_.plain;
    // env exits with 127 if it does not find the interpreter.
    const bool has_no_interpreter =
        run.start_error == ENOENT ||
        (run.start_error == 0 && !run.ended_by_us && WIFEXITED(run.wait_status) &&
         WEXITSTATUS(run.wait_status) == 127);
    if (evidence_.has_return && has_no_interpreter) {
        findings.push_back(
            about("its interpreter line ends in a carriage return, as in a file from Windows; "
                  "remove them with: sed -i 's/\\r$//' FILE"));
    } else if (run.start_error != 0) {
        findings.push_back(
            about(fmt::format("it could not be started: {}", reason(run.start_error))));
    }
    add_judgement(std::move(findings));
}

void Judge::judge_end() {
    const ObservedRun& run = evidence_.plain;
    Findings findings;
    if (run.out_of_time) {
        findings.push_back(
            about(fmt::format("it did not end within {}; if it needs more time, use --time-limit",
                              duration(evidence_.time_limit))));
    } else if (!run.ended_by_us && !ended_well(run)) {
        findings.push_back(
            about(fmt::format("it ended with {}", describe_wait_status(run.wait_status))));
    }
    add_judgement(std::move(findings));
}

// The library validates each line with the same code as when a tool runs. This function only
// assigns its findings to rules.
void Judge::judge_lines_and_events() {
    Findings lines;
    Findings events;
    const json::Document faults =
        json::read(validate(Document::Events, evidence_.plain.output, Warnings::Listed).view());
    for (const json::Value& fault : faults.GetArray()) {
        const std::string_view rule = json::text(fault, "rule");
        // T6 and T7 report these.
        if (rule == "event-done-missing" || rule == "event-after-done") continue;
        Finding finding = finding_of(fault, lines_);
        if (rule == "event-level") {
            levels_.push_back(std::move(finding));
        } else if (rule == "event-timestamp") {
            timestamps_.push_back(std::move(finding));
        } else if (rule == "event-media-type") {
            media_types_.push_back(std::move(finding));
        } else if (rule.starts_with("event-") && rule != "event-object") {
            events.push_back(std::move(finding));
        } else {
            lines.push_back(std::move(finding));
        }
    }
    for (const Line& line : lines_) {
        const auto add_finding = [&](std::size_t offset, std::string message) {
            lines.push_back({{}, line.number, offset + 1, {}, std::move(message)});
        };
        if (is_blank(line.text)) {
            add_finding(0, "an empty line");
        } else if (line.text.ends_with('\r')) {
            add_finding(line.text.size() - 1, "the line ends in \\r\\n instead of \\n");
        }
        if (!line.ended) add_finding(line.text.size(), "the last line does not end with a newline");
    }
    if (evidence_.plain.output_cut) {
        lines.push_back(
            about("it wrote more than 16 MiB or 100,000 lines and was terminated; the rest was not "
                  "checked"));
    }
    std::stable_sort(lines.begin(), lines.end(), [](const Finding& left, const Finding& right) {
        return left.line < right.line;
    });
    bool any_log = false;
    for (const ParsedEvent& parsed : events_.parsed) {
        if (type_of(parsed) != "log") continue;
        any_log = true;
        const json::Value* fields = json::member(parsed.event, "fields");
        const json::Value* progress =
            fields != nullptr ? json::member(*fields, "progress") : nullptr;
        if (progress == nullptr) continue;
        const bool fits =
            progress->IsNumber() && progress->GetDouble() >= 0 && progress->GetDouble() <= 1;
        if (!fits) {
            levels_.push_back(at(parsed, "/fields/progress",
                                 fmt::format("progress is {}, not a number from 0 to 1",
                                             printable(json::line(*progress)))));
        }
    }
    add_judgement(std::move(lines));
    add_judgement(std::move(events));
    add_judgement_if(any_log, "it logs nothing", std::move(levels_));
}

void Judge::judge_done() {
    Findings count;
    Findings after;
    const ParsedEvent* first = nullptr;
    for (const ParsedEvent& parsed : events_.parsed) {
        if (type_of(parsed) != "done") continue;
        if (first != nullptr) count.push_back(at(parsed, {}, "a second done"));
        if (first == nullptr) first = &parsed;
    }
    if (first == nullptr) {
        count.push_back(
            about(fmt::format("its {} contain no done", counted(lines_.size(), "line"))));
    } else {
        for (const Line& line : lines_) {
            if (line.number <= first->line.number || is_blank(line.text)) continue;
            after.push_back(
                {{},
                 line.number,
                 1,
                 {},
                 fmt::format("this comes after the done in line {}", first->line.number)});
        }
    }
    add_judgement(std::move(count));
    add_judgement_if(first != nullptr, "it writes no done", std::move(after));
}

void Judge::judge_grace() {
    const ObservedRun& run = evidence_.plain;
    Findings findings;
    const bool any = reported_success(run).has_value();
    if (any && run.ended_by_us && !run.out_of_time && !run.output_cut) {
        findings.push_back(about(fmt::format("it still ran {} after done, and was terminated",
                                             duration(evidence_.grace))));
    }
    add_judgement_if(any, "it writes no done", std::move(findings));
}

void Judge::judge_error() {
    Findings findings;
    const ParsedEvent* error = nullptr;
    bool resolved = false;
    for (const ParsedEvent& parsed : events_.parsed) {
        if (type_of(parsed) == "error" && error == nullptr) error = &parsed;
        if (type_of(parsed) != "done" || error == nullptr) continue;
        const json::Value* ok = json::member(parsed.event, "ok");
        if (ok != nullptr && ok->IsBool() && ok->GetBool()) {
            findings.push_back(at(
                parsed, "/ok",
                fmt::format("done says ok: true after the error in line {}", error->line.number)));
        }
        resolved = true;
        break;
    }
    if (error != nullptr && !resolved) {
        findings.push_back(at(*error, {}, "no done follows this error"));
    }
    add_judgement_if(error != nullptr, "it reports no error", std::move(findings));
}

void Judge::judge_timestamps() {
    const bool any =
        std::any_of(events_.parsed.begin(), events_.parsed.end(), [](const ParsedEvent& parsed) {
            const json::Value* value = json::member(parsed.event, "timestamp");
            return value != nullptr && value->IsString();
        });
    add_judgement_if(any, "it writes no timestamps", std::move(timestamps_));
}

void Judge::judge_request_id() {
    Findings findings;
    bool any = false;
    for (const ParsedEvent& parsed : events_.parsed) {
        const json::Value* value = json::member(parsed.event, "requestId");
        if (value == nullptr || !value->IsString()) continue;
        any = true;
        const std::string_view text = json::text(parsed.event, "requestId");
        if (text == evidence_.request_id) continue;
        findings.push_back(at(parsed, "/requestId",
                              fmt::format("\"{}\" is not the requestId of the invocation, \"{}\"",
                                          printable(text), evidence_.request_id)));
    }
    add_judgement_if(any, "it writes no requestId", std::move(findings));
}

void Judge::judge_assets() {
    Findings files;
    Findings& types = media_types_;
    Findings ids;
    std::set<std::string, std::less<>> seen;
    bool any = false;
    for (const ParsedEvent& parsed : events_.parsed) {
        if (type_of(parsed) != "asset") continue;
        any = true;
        const std::string path(json::text(parsed.event, "path"));
        const std::string_view type = json::text(parsed.event, "mediaType");
        const std::string_view id = json::text(parsed.event, "assetId");
        if (!id.empty() && !seen.emplace(id).second) {
            ids.push_back(at(parsed, "/assetId", fmt::format("\"{}\" is repeated", printable(id))));
        }
        if (path.empty()) continue;  // T4 reports it
        struct stat status {};
        if (stat(path.c_str(), &status) != 0) {
            files.push_back(
                at(parsed, "/path", fmt::format("{}: {}", printable(path), reason(errno))));
            continue;
        }
        if (!S_ISREG(status.st_mode)) {
            files.push_back(
                at(parsed, "/path", fmt::format("{} is not a regular file", printable(path))));
            continue;
        }
        const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
        if (!file) {
            files.push_back(
                at(parsed, "/path",
                   fmt::format("{} cannot be read: {}", printable(path), reason(errno))));
            continue;
        }
        char first[kSignatureBytes];
        const ssize_t got = read(file.get(), first, sizeof first);
        const std::string_view bytes(first, got > 0 ? static_cast<std::size_t>(got) : 0);
        if (const std::string wrong = contradiction(type, bytes); !wrong.empty()) {
            types.push_back(
                at(parsed, "/mediaType",
                   fmt::format("it is announced as {}, but {}", printable(type), wrong)));
        }
    }
    std::stable_sort(types.begin(), types.end(), [](const Finding& left, const Finding& right) {
        return left.line < right.line;
    });
    constexpr std::string_view kNone = "it announces no assets";
    add_judgement_if(any, kNone, std::move(files));
    add_judgement_if(any, kNone, std::move(types));
    add_judgement_if(any, kNone, std::move(ids));
}

void Judge::judge_choices() {
    Findings findings;
    bool any = false;
    for (const ParsedEvent& parsed : events_.parsed) {
        if (type_of(parsed) != "ui_event" ||
            json::text(parsed.event, "event") != "narrative_choice") {
            continue;
        }
        any = true;
        const json::Value* payload = json::member(parsed.event, "payload");
        const json::Value* choices =
            payload != nullptr ? json::member(*payload, "choices") : nullptr;
        if (choices == nullptr || !choices->IsArray()) {
            findings.push_back(at(
                parsed, "/payload/choices",
                choices == nullptr
                    ? "the list of choices is missing"
                    : fmt::format("{} is not a list of choices", printable(json::line(*choices)))));
            continue;
        }
        if (choices->Empty()) {
            findings.push_back(at(parsed, "/payload/choices", "the list of choices is empty"));
        }
        for (unsigned index = 0; index < choices->Size(); ++index) {
            const json::Value& choice = (*choices)[index];
            if (choice.IsString() && choice.GetStringLength() > 0) continue;
            findings.push_back(at(parsed, fmt::format("/payload/choices/{}", index),
                                  fmt::format("{} is not a string that a player could choose",
                                              printable(json::line(choice)))));
        }
    }
    add_judgement_if(any, "it sends no narrative_choice", std::move(findings));
}

void Judge::judge_other_run(const std::optional<ObservedRun>& run, const std::string& name,
                            bool same_outcome) {
    if (!run) {
        not_applicable("the normal run already violated the protocol");
        return;
    }
    Findings findings;
    const auto add_finding = [&](std::string message) {
        findings.push_back({name, 0, 0, {}, std::move(message)});
    };
    if (run->out_of_time) {
        add_finding(fmt::format("it did not end within {}", duration(evidence_.time_limit)));
    } else if (run->ended_by_us) {
        add_finding(fmt::format("it still ran {} after done", duration(evidence_.grace)));
    } else if (!ended_well(*run)) {
        add_finding(fmt::format("it ended with {}", describe_wait_status(run->wait_status)));
    }
    const json::Document faults = json::read(validate(Document::Events, run->output).view());
    const std::vector<Line> lines = lines_of(run->output);
    for (const json::Value& fault : faults.GetArray()) {
        findings.push_back(finding_of(fault, lines, name));
    }
    const std::optional<bool> outcome = reported_success(*run);
    if (!outcome) {
        add_finding("it wrote no done");
    } else if (same_outcome && outcome != reported_success(evidence_.plain)) {
        add_finding(fmt::format("done says ok: {}, but without the unknown fields ok: {}", *outcome,
                                !*outcome));
    }
    add_judgement(std::move(findings));
}

void Judge::judge_sigterm() {
    const ObservedRun* run = nullptr;
    if (evidence_.plain.ended_by_us) run = &evidence_.plain;
    if (evidence_.terminated && evidence_.terminated->ended_by_us) run = &*evidence_.terminated;
    if (run == nullptr) {
        not_applicable(fmt::format("it is not long-running: it ended in {}",
                                   duration(evidence_.plain.seconds)));
        return;
    }
    Findings findings;
    if (run->ignored_sigterm) {
        findings.push_back(about(fmt::format("it still ran {} after SIGTERM, and was killed",
                                             duration(evidence_.grace))));
    }
    add_judgement(std::move(findings));
}

void Judge::judge_left_behind() {
    Findings findings;
    bool any = false;
    const auto look = [&](const ObservedRun& run, const std::string& name) {
        if (run.ended_by_us) return;  // it may have been waiting for its children
        any = true;
        for (const std::string& process : run.left_behind) {
            findings.push_back(
                {name,
                 0,
                 0,
                 {},
                 fmt::format("{} still ran after the tool ended, and was killed", process)});
        }
    };
    look(evidence_.plain, {});
    if (findings.empty() && evidence_.without_input)
        look(*evidence_.without_input, "without input");
    if (findings.empty() && evidence_.unknown_fields) {
        look(*evidence_.unknown_fields, "with unknown fields");
    }
    add_judgement_if(any, "it did not end by itself", std::move(findings));
}

void Judge::judge_result() {
    const ManifestCheck manifest(evidence_.path);
    if (!manifest.problem().empty()) return add_judgement({about(printable(manifest.problem()))});
    if (!manifest.describes_results()) {
        return not_applicable("it has no manifest that describes its result");
    }
    for (const ParsedEvent& parsed : events_.parsed) {
        const json::Value* const ok = json::member(parsed.event, "ok");
        const json::Value* const result = json::member(parsed.event, "result");
        if (type_of(parsed) != "done" || result == nullptr || ok == nullptr || !ok->IsTrue())
            continue;
        Findings findings;
        const std::string fault = manifest.fault_of(json::line(*result));
        if (!fault.empty()) findings.push_back(at(parsed, "/result", printable(fault)));
        return add_judgement(std::move(findings));
    }
    not_applicable("it returns no result");
}

std::vector<Judgement> Judge::all() {
    judge_start();
    if (evidence_.plain.start_error != 0) {
        while (judgements_.size() < std::size(kRules)) not_applicable("it does not start");
        return std::move(judgements_);
    }
    judge_end();
    judge_lines_and_events();
    judge_done();
    judge_grace();
    judge_error();
    judge_timestamps();
    judge_request_id();
    judge_assets();
    judge_choices();
    judge_other_run(evidence_.without_input, "without input", false);
    judge_other_run(evidence_.unknown_fields, "with unknown fields", true);
    judge_sigterm();
    judge_left_behind();
    judge_result();
    return std::move(judgements_);
}

}  // namespace

bool speaks_protocol(const ObservedRun& run) {
    if (!ended_well(run) || !reported_success(run)) return false;
    const json::Document faults = json::read(validate(Document::Events, run.output).view());
    return faults.IsArray() && faults.Empty();
}

std::optional<bool> reported_success(const ObservedRun& run) {
    const Events events = events_of(run);
    for (const ParsedEvent& parsed : events.parsed) {
        if (type_of(parsed) != "done") continue;
        const json::Value* ok = json::member(parsed.event, "ok");
        if (ok != nullptr && ok->IsBool()) return ok->GetBool();
    }
    return std::nullopt;
}

std::vector<Judgement> judge(const Evidence& evidence) { return Judge(evidence).all(); }

}  // namespace narratoria::command::tool_check
