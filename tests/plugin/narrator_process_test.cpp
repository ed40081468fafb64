// SPDX-License-Identifier: Apache-2.0
// The plugin narratoria.narrator_process: programs as narrators, well-behaved and misbehaving.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "plugin/story_host.hpp"
#include "support/leftovers.hpp"

namespace narratoria::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class NarratorProcessTest : public ::testing::Test, protected StoryHost {
protected:
    NarratorProcessTest() : StoryHost("narrator_process") {}

    // `settings` go into the plugin's table, `more` goes before it.
    void narrator(const std::string& settings, const std::string& more = "") {
        story("[narrator]\nname = \"narratoria.narrator_process\"\n" + more +
              "\n[fallback]\ntemplates = [\"Nothing.\"]\n"
              "[plugins.\"narratoria.narrator_process\"]\n" +
              settings);
        open();
    }
    // Runs `body` for each request; $line is the request and $id its id.
    void shell(const std::string& body, const std::string& settings = "",
               const std::string& more = "") {
        folder.write(
            "narrator",
            "#!/bin/sh\necho $$ >>'" + folder / "numbers" +
                "'\n"
                "plan() { printf "
                "'{\"id\":%s,\"plan\":{\"requestId\":\"p\",\"narrative\":\"%s\",\"tools\":[]}}"
                "\\n' \"$1\" \"$2\"; }\n"
                "while read -r line; do\n"
                "printf '%s\\n' \"$line\" >>'" +
                folder / "heard" +
                "'\n"
                "id=${line#*:}; id=${id%%,*}\n" +
                body + "\ndone\n",
            0755);
        narrator("command = [\"./narrator\"]\n" + settings, more);
    }
    void python(const std::string& body, const std::string& more = "") {
        folder.write("narrator.py",
                     "import json, os, sys, time\n"
                     "def say(answer):\n"
                     "    sys.stdout.write(json.dumps(answer, ensure_ascii=False) + '\\n')\n"
                     "    sys.stdout.flush()\n" +
                         body);
        narrator(
            "command = [\"python3\", \"narrator.py\"]\n"
            "environment = { PYTHONIOENCODING = \"utf-8\" }\n",
            more);
    }
    std::vector<std::string> heard() const { return lines_of(folder.read("heard")); }
    // The process id of each start of the narrator.
    std::vector<std::string> numbers() const { return lines_of(folder.read("numbers")); }
    static bool is_gone(const std::string& number) {
        return ::kill(std::stoi(number), 0) != 0 && errno == ESRCH;
    }
    // The fault of the previous answer, from the last request.
    std::string last_fault() const {
        const std::vector<std::string> lines = heard();
        for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
            const Json request(*line);
            if (request.has("request")) {
                return request["request"]["planFaults"][0]["message"].string();
            }
        }
        return "no request";
    }
    void expect_nothing_left() {
        close();
        hostile::expect_no_children();
        for (const std::string& number : numbers()) EXPECT_TRUE(is_gone(number)) << number;
    }
};

// ---------------------------------------------------------------- tools that run while it thinks

TEST_F(NarratorProcessTest, InvokesToolsBeforeItAnswers) {
    folder.tool("tools/lamp", "printf '%s\\n' \"$invocation\" >>'" + folder / "lamp-heard" +
                                  "'\nprintf '%s\\n' '" + kDone + "'");
    python(R"(
for line in sys.stdin:
    heard = json.loads(line)
    if 'request' in heard:
        states = []
        for call in (5, 6):
            say({'id': heard['id'], 'call': call, 'invoke': {'tool': 'lamp', 'input': {'n': call}}})
    elif 'outcome' in heard:
        states.append(f"{heard['call']} {heard['outcome']['state']}")
        if len(states) == 2:
            say({'id': heard['id'], 'plan': {'requestId': 'p', 'tools': [],
                 'narrative': ', '.join(sorted(states))}})
)");
    EXPECT_EQ(prompt("look").narrative, "5 completed, 6 completed") << log;
    EXPECT_THAT(folder.read("lamp-heard"), HasSubstr(R"("input":{"n":6})"));
    EXPECT_EQ(prompt("look again").narrative, "5 completed, 6 completed") << log;
    expect_nothing_left();
}

TEST_F(NarratorProcessTest, RefusedInvocationIsReportedWithTheReason) {
    python(R"(
for line in sys.stdin:
    heard = json.loads(line)
    if 'request' in heard:
        say({'id': heard['id'], 'call': 1, 'invoke': {'input': {}}})
    elif 'error' in heard:
        say({'id': heard['id'], 'plan': {'requestId': 'p', 'narrative': heard['error'], 'tools': []}})
)");
    EXPECT_THAT(prompt("look").narrative, HasSubstr("\"tool\"")) << log;
    expect_nothing_left();
}

TEST_F(NarratorProcessTest, InvocationNumbersMustBeUnique) {
    folder.tool("tools/slow", "while :; do sleep 0.1; done");
    python(R"(
for line in sys.stdin:
    heard = json.loads(line)
    for call in ({}, {'call': 1}, {'call': 1}):
        say({'id': heard['id'], 'invoke': {'tool': 'slow'}, **call})
    say({'id': heard['id'], 'plan': {'requestId': 'p', 'narrative': 'Dark.', 'tools': []}})
)");
    EXPECT_EQ(prompt("look").narrative, "Dark.") << log;
    const std::string fault = "without a unique \"call\"";
    EXPECT_THAT(log, HasSubstr(fault));
    EXPECT_NE(log.find(fault), log.rfind(fault)) << "the fault is reported twice";
    expect_nothing_left();
}

TEST_F(NarratorProcessTest, EndedProcessCancelsItsTools) {
    folder.tool("tools/slow",
                "#!/bin/sh\n: >'" + folder / "started" + "'\nwhile :; do sleep 0.1; done\n");
    python(R"(
line = sys.stdin.readline()
with open('heard', 'a') as file:
    file.write(line)
say({'id': json.loads(line)['id'], 'call': 1, 'invoke': {'tool': 'slow'}})
while not os.path.exists('started'):
    time.sleep(0.01)
sys.exit(3)
)");
    EXPECT_EQ(prompt("look").outcome, Outcome::Fallback);
    EXPECT_THAT(last_fault(), HasSubstr("exit status 3"));
    EXPECT_EQ(lines_of(log).size(), 1U) << "only the fallback is logged: " << log;
    expect_nothing_left();
}

// ---------------------------------------------------------------- answers

TEST_F(NarratorProcessTest, PlanIsExecuted) {
    shell("plan $id 'You wake up.'");
    const Told told = prompt("look");
    EXPECT_EQ(told.outcome, Outcome::Completed) << log;
    EXPECT_EQ(told.narrative, "You wake up.");
    const Json request(heard().at(0));
    EXPECT_EQ(request["request"]["schema"].string(), "narrator-request/1");
    EXPECT_EQ(request["request"]["prompt"]["text"].string(), "look");
    EXPECT_EQ(numbers().size(), 1U);
    expect_nothing_left();
}

TEST_F(NarratorProcessTest, PiecesOfTheNarrativeAreToldBeforeThePlan) {
    shell(R"(printf '{"id":%s,"delta":"It "}\n{"id":%s,"delta":"opens."}\n' $id $id
printf '{"id":7777,"delta":"lost"}\n'
printf '{"id":%s,"usage":{"outputTokens":3}}\n{"id":%s,"usage":{"outputToken":3}}\n' $id $id
printf '{"id":%s,"usage":{"outputTokens":4},"plan":{"requestId":"p","tools":[]}}\n' $id)");
    EXPECT_EQ(prompt("push").narrative, "It opens.") << log;
    std::string told;
    for (const Record& each : recorder.of(Kind::NarrativeDelta)) told += each.body["text"].string();
    EXPECT_EQ(told, "It opens.");
    ASSERT_EQ(recorder.of(Kind::NarratorUsage).size(), 2u);
    EXPECT_EQ(recorder.of(Kind::NarratorUsage)[0].body["outputTokens"].integer(), 3);
    EXPECT_EQ(recorder.of(Kind::NarratorUsage)[1].body["outputTokens"].integer(), 4);
    EXPECT_THAT(log,
                HasSubstr("its report of usage is not valid: \"outputToken\" is not a member of "
                          "it; did you mean \"outputTokens\"?"));
}

// covers: 002-registry-format-state
TEST_F(NarratorProcessTest, RequestHasTheDetailsForAModel) {
    shell("plan $id 'You wake up.'");
    session->set_state("gold", "5", {"coins of the \"player\""});
    session->set_state("hp", "7");
    EXPECT_EQ(prompt("look").outcome, Outcome::Completed) << log;
    EXPECT_EQ(Json(heard().back())["request"]["stateForPrompt"].string(),
              "gold: 5 (coins of the \"player\")\nhp: 7");
    prompt("on");
    const Json turn = Json(heard().back())["request"]["turns"][0];
    EXPECT_EQ(turn["prompt"].string(), "look");
    EXPECT_EQ(turn["narrative"].string(), "You wake up.");
}

TEST_F(NarratorProcessTest, PythonNarratorReadsAndWritesUtf8) {
    python(
        "for line in sys.stdin:\n"
        "    request = json.loads(line)\n"
        "    text = request['request']['prompt']['text']\n"
        "    say({'id': request['id'], 'plan': {'requestId': 'p', 'narrative': text + ' – ja', "
        "'tools': []}})\n");
    EXPECT_EQ(prompt("Öffne\ndie Tür").narrative, "Öffne\ndie Tür – ja") << log;
    expect_nothing_left();
}

TEST_F(NarratorProcessTest, PlanIsPassedOnVerbatim) {
    folder.says("done", {kDone});
    shell(R"(printf '{"plan":{"requestId":"mine","tools":[{"toolId":"t","toolPath":"done",)"
          R"("input":{"large":123456789012345678901234567890,"deep":[[{"a":1.0e-3}]]}}]},)"
          R"("id":%s,"more":[1]}\n' $id)");
    EXPECT_EQ(prompt("go").outcome, Outcome::Completed) << log;
    const Record started = recorder.one(Kind::PlanStarted);
    EXPECT_THAT(started.text, HasSubstr("123456789012345678901234567890"));
    EXPECT_THAT(started.text, HasSubstr("1.0e-3"));
}

TEST_F(NarratorProcessTest, FailedPlanIsReportedToTheSameProcess) {
    folder.says("fails", {kFailed});
    shell(R"(case $line in *'"previousResult":null'*)
        printf '{"id":%s,"plan":{"requestId":"p","tools":[{"toolId":"t","toolPath":"fails",)"
          R"("retryPolicy":{"maxRetries":0}}]}}\n' $id ;;
        *) plan $id 'Another way.' ;; esac)");
    const Told told = prompt("go");
    EXPECT_EQ(told.narrative, "Another way.") << log;
    EXPECT_EQ(told.generations, 2U);
    EXPECT_EQ(numbers().size(), 1U) << "the same process answers both";
}

TEST_F(NarratorProcessTest, TenRequestsGoToOneProcess) {
    shell("plan $id \"answer $id\"");
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(prompt("again").outcome, Outcome::Completed) << log;
    }
    EXPECT_EQ(heard().size(), 10U);
    EXPECT_EQ(numbers().size(), 1U);
    expect_nothing_left();
}

TEST_F(NarratorProcessTest, ErrorIsTheReasonForTheMissingPlan) {
    shell(R"(printf '{"id":%s,"error":"the muse is asleep"}\n' $id)");
    const Told told = prompt("go");
    EXPECT_EQ(told.outcome, Outcome::Fallback);
    EXPECT_EQ(told.generations, 5U);
    EXPECT_THAT(last_fault(), HasSubstr("the muse is asleep"));
}

TEST_F(NarratorProcessTest, AnswerWithoutAPlanIsAFailure) {
    shell(R"(printf '{"id":%s}\n' $id)");
    EXPECT_EQ(prompt("go").outcome, Outcome::Fallback);
    EXPECT_THAT(last_fault(), HasSubstr("neither \"plan\" nor \"error\""));
}

TEST_F(NarratorProcessTest, InvalidPlanIsReturnedWithItsFaults) {
    shell(R"(printf '{"id":%s,"plan":[]}\n' $id)");
    EXPECT_EQ(prompt("go").outcome, Outcome::Fallback);
    EXPECT_EQ(heard().size(), 5U);
    EXPECT_THAT(last_fault(), Not(HasSubstr("returned no plan")));
}

// ---------------------------------------------------------------- invalid lines

TEST_F(NarratorProcessTest, InvalidLinesAreLoggedAndSkipped) {
    shell(R"(echo 'Loading model …'; echo; echo '[1,2]'; echo '{"id":99,"plan":{}}'
        echo '{"plan":{}}'; printf 'a\000b\n'; plan $id 'Still there.')");
    EXPECT_EQ(prompt("go").narrative, "Still there.") << log;
    EXPECT_THAT(log, HasSubstr("wrote a line that is not a reply"));
    EXPECT_THAT(log, HasSubstr("Loading model …"));
    EXPECT_THAT(log, HasSubstr("not a JSON object"));
    EXPECT_THAT(log, HasSubstr("replied to request 99, which is not open"));
    EXPECT_THAT(log, HasSubstr("without the \"id\" of a request"));
}

TEST_F(NarratorProcessTest, FloodOfInvalidLinesIsLoggedInPart) {
    shell(R"(i=0; while [ $i -lt 5000 ]; do echo "babble $i"; echo "mutter $i" >&2; i=$((i+1)); done
        plan $id 'At last.')");
    EXPECT_EQ(prompt("go").narrative, "At last.");
    EXPECT_LT(lines_of(log).size(), 120U);
    EXPECT_THAT(log, HasSubstr("further lines are not logged until the next request"));
}

TEST_F(NarratorProcessTest, StandardErrorIsLogged) {
    shell("echo 'thinking …' >&2; plan $id 'Done.'");
    prompt("go");
    EXPECT_TRUE(until([&] { return log.find("thinking …") != std::string::npos; }));
}

TEST_F(NarratorProcessTest, AnswerMayArriveInPieces) {
    python(
        "for line in sys.stdin:\n"
        "    answer = json.dumps({'id': json.loads(line)['id'],\n"
        "                         'plan': {'requestId': 'p', 'narrative': 'Stück für Stück', "
        "'tools': []}},\n"
        "                        ensure_ascii=False).encode() + b'\\r\\n'\n"
        "    for byte in answer:\n"
        "        os.write(1, bytes([byte]))\n");
    EXPECT_EQ(prompt("go").narrative, "Stück für Stück") << log;
}

TEST_F(NarratorProcessTest, LargeAnswerIsAccepted) {
    python(
        "for line in sys.stdin:\n"
        "    say({'id': json.loads(line)['id'],\n"
        "         'plan': {'requestId': 'p', 'narrative': 'x' * 5000000, 'tools': []}})\n");
    EXPECT_EQ(prompt("go").narrative.size(), 5000000U) << log;
}

TEST_F(NarratorProcessTest, TooLongLineFailsOnlyTheRequest) {
    python(
        "for line in sys.stdin:\n"
        "    request = json.loads(line)\n"
        "    if request['request']['generationAttempt'] == 1:\n"
        "        say({'id': request['id'], 'plan': {'requestId': 'p', 'narrative': 'x' * 20000000, "
        "'tools': []}})\n"
        "    else:\n"
        "        why = request['request']['planFaults'][0]['message']\n"
        "        say({'id': request['id'], 'plan': {'requestId': 'p', 'narrative': why, 'tools': "
        "[]}})\n");
    const Told told = prompt("go");
    EXPECT_THAT(told.narrative, HasSubstr("a line of more than 8 MiB")) << log;
    EXPECT_EQ(told.generations, 2U);
}

TEST_F(NarratorProcessTest, EndlessLineUsesBoundedMemory) {
    python(
        "for line in sys.stdin:\n"
        "    while True: os.write(1, b'x' * 65536)\n",
        "[times]\nnarrator_ms = 300");
    EXPECT_EQ(prompt("go").outcome, Outcome::Fallback);
    close();
    hostile::expect_no_children();
}

TEST_F(NarratorProcessTest, LargeRequestReachesASlowReader) {
    python(
        "for line in sys.stdin:\n"
        "    request = json.loads(line)\n"
        "    size = len(request['request']['state']['large'])\n"
        "    say({'id': request['id'], 'plan': {'requestId': 'p', 'narrative': str(size), 'tools': "
        "[]}})\n");
    session->patch_state("{\"large\":\"" + std::string(6000000, 'y') + "\"}");
    EXPECT_EQ(prompt("go").narrative, "6000000") << log;
}

// ---------------------------------------------------------------- death

TEST_F(NarratorProcessTest, DeathIsReportedWithExitStatusAndLastLines) {
    shell("printf '{\"id\":%s,\"pl' $id; echo 'no more ink' >&2; exit 3");
    const Told told = prompt("go");
    EXPECT_EQ(told.outcome, Outcome::Fallback);
    EXPECT_EQ(numbers().size(), 5U) << "the narrator is restarted for each request";
    EXPECT_THAT(last_fault(), HasSubstr("ended with exit status 3"));
    EXPECT_THAT(last_fault(), HasSubstr("no more ink"));
    expect_nothing_left();
}

TEST_F(NarratorProcessTest, DeathBySignalNamesTheSignal) {
    shell("kill -SEGV $$");
    EXPECT_EQ(prompt("go").outcome, Outcome::Fallback);
    EXPECT_THAT(last_fault(), HasSubstr("signal 11 (Segmentation fault)"));
}

TEST_F(NarratorProcessTest, InvalidUtf8InLastLinesIsHandled) {
    shell("printf 'caf\\351 \\377\\376' >&2; exit 1");
    EXPECT_EQ(prompt("go").outcome, Outcome::Fallback);
    EXPECT_THAT(last_fault(), HasSubstr("caf"));
}

TEST_F(NarratorProcessTest, NextRequestRestartsIt) {
    shell("if [ $(wc -l <'" + (folder / "numbers") +
          "') = 1 ]; then exit 1; fi\nplan $id 'Here again.'");
    const Told told = prompt("go");
    EXPECT_EQ(told.narrative, "Here again.") << log;
    EXPECT_EQ(told.generations, 2U);
    EXPECT_EQ(numbers().size(), 2U);
}

TEST_F(NarratorProcessTest, RestartCanBeDisabled) {
    shell("exit 4", "restart = false");
    EXPECT_EQ(prompt("go").outcome, Outcome::Fallback);
    EXPECT_EQ(numbers().size(), 1U);
}

TEST_F(NarratorProcessTest, ProcessMayEndAfterEachAnswer) {
    shell("plan $id \"answer $id\"; exit 0");
    for (int i = 0; i < 10; ++i) {
        const Told told = prompt("again");
        EXPECT_EQ(told.outcome, Outcome::Completed) << log;
        EXPECT_EQ(told.generations, 1U) << log;
    }
    EXPECT_EQ(numbers().size(), 10U);
    expect_nothing_left();
}

TEST_F(NarratorProcessTest, SilentExitsEndInTheFallback) {
    shell("exit 0");
    EXPECT_EQ(prompt("go").outcome, Outcome::Fallback);
    EXPECT_EQ(numbers().size(), 5U);
}

TEST_F(NarratorProcessTest, ProcessThatClosesItsOutputIsKilled) {
    shell("exec >&-; while :; do sleep 1000; done");
    EXPECT_EQ(prompt("go").outcome, Outcome::Fallback);
    EXPECT_THAT(last_fault(), HasSubstr("signal 9"));
    expect_nothing_left();
}

TEST_F(NarratorProcessTest, DescendantsDoNotOutliveIt) {
    shell("sleep 1000 & echo $! >>'" + (folder / "numbers") + "'; exit 1");
    EXPECT_EQ(prompt("go").outcome, Outcome::Fallback);
    EXPECT_EQ(numbers().size(), 10U);
    ASSERT_TRUE(until([&] {
        const std::vector<std::string> all = numbers();
        return std::all_of(all.begin(), all.end(), hostile::is_dead);
    }));
}

// ---------------------------------------------------------------- failed starts

TEST_F(NarratorProcessTest, MissingProgramIsNamed) {
    narrator(R"(command = ["no-such-narrator"])");
    EXPECT_EQ(prompt("go").outcome, Outcome::Fallback);
    const std::vector<Record> warnings = recorder.of(Kind::Warning);
    std::string all = log;
    for (const Record& warning : warnings) all += warning.text;
    EXPECT_THAT(all, HasSubstr("no-such-narrator")) << "the reason is not reported";
}

TEST_F(NarratorProcessTest, NonExecutableProgramIsNamed) {
    folder.write("narrator", "#!/no/such/interpreter\n", 0755);
    narrator(R"(command = ["./narrator"])");
    EXPECT_EQ(prompt("go").outcome, Outcome::Fallback);
    EXPECT_THAT(log, HasSubstr("#!/no/such/interpreter"));
    // The supervisor is kept for the next start.
    const size_t before = hostile::open_descriptors().size();
    EXPECT_EQ(prompt("go").outcome, Outcome::Fallback);
    EXPECT_EQ(hostile::open_descriptors().size(), before);
    hostile::expect_only_supervisors();
}

TEST_F(NarratorProcessTest, MissingCommandIsReportedWithAnExample) {
    narrator("");
    EXPECT_EQ(prompt("go").outcome, Outcome::Fallback);
    EXPECT_THAT(log, HasSubstr("the setting \"command\" is missing"));
    EXPECT_THAT(log, HasSubstr(R"(command = ["python3", "narrator.py"])"));
    hostile::expect_no_children();
}

TEST_F(NarratorProcessTest, WrongSettingIsNamed) {
    narrator("command = [\"./narrator\"]\nrestart = 3");
    EXPECT_EQ(prompt("go").outcome, Outcome::Fallback);
    EXPECT_THAT(log, HasSubstr("the setting \"restart\" must be true or false"));
}

// ---------------------------------------------------------------- timeouts and cancellation

constexpr const char* kCancel = R"(\{"id":[0-9]+,"cancel":true\})";

TEST_F(NarratorProcessTest, TimeoutIsReportedToTheNarrator) {
    shell(":", "", "[times]\nnarrator_ms = 50");
    EXPECT_EQ(prompt("go").outcome, Outcome::Fallback);
    EXPECT_TRUE(until([&] { return heard().size() == 10; }));
    EXPECT_THAT(heard(), Contains(MatchesRegex(kCancel)));
    EXPECT_EQ(numbers().size(), 1U);
    expect_nothing_left();
}

TEST_F(NarratorProcessTest, UnreadRequestsAreNotSent) {
    python("time.sleep(1000)\n", "[times]\nnarrator_ms = 20");
    for (const char* key : {"first", "second", "third"}) {  // each within patch_bytes
        session->patch_state("{\"" + std::string(key) + "\":\"" + std::string(7000000, 'y') +
                             "\"}");
    }
    EXPECT_EQ(prompt("go").outcome, Outcome::Fallback);
    EXPECT_THAT(log, HasSubstr("does not read its standard input"));
    expect_nothing_left();
}

TEST_F(NarratorProcessTest, CancelIsReportedToTheNarrator) {
    shell(":");
    std::optional<Outcome> outcome;
    session->prompt("go", [&](Turn turn) { outcome = turn.outcome(); });
    ASSERT_TRUE(until([&] { return heard().size() == 1; }));
    session->cancel();
    ASSERT_TRUE(until([&] { return outcome.has_value() && heard().size() == 2; }));
    EXPECT_EQ(*outcome, Outcome::Cancelled);
    EXPECT_THAT(heard().at(1), MatchesRegex(kCancel));
}

TEST_F(NarratorProcessTest, LateAnswerIsNotMistakenForALaterRequests) {
    // The narrator answers the first request only after it has been cancelled as too late.
    shell(R"(case $line in
        *'"cancel":true}') plan $first 'Too late.' ;;
        *) if [ -z "$first" ]; then first=$id; else plan $id 'In time.'; fi ;; esac)",
          "", "[times]\nnarrator_ms = 1000");
    const Told told = prompt("go");
    EXPECT_EQ(told.narrative, "In time.") << log;
    EXPECT_EQ(told.generations, 2U);
    EXPECT_THAT(log, Not(HasSubstr("a request that had ended")))
        << "an answer after a cancel is not a fault";
}

// ---------------------------------------------------------------- environment and end

TEST_F(NarratorProcessTest, SettingsOverrideTheHostsEnvironment) {
    ::setenv("NARRATORIA_TEST_KEPT", "kept", 1);
    ::setenv("NARRATORIA_TEST_CHANGED", "before", 1);
    shell("plan $id \"$NARRATORIA_TEST_KEPT $NARRATORIA_TEST_CHANGED $NEW $(pwd)\"",
          "environment = { NARRATORIA_TEST_CHANGED = \"after\", NEW = \"new\" }");
    EXPECT_EQ(prompt("go").narrative, "kept after new " + folder.path());
}

TEST_F(NarratorProcessTest, NothingLeaksFromTheHost) {
    const std::string file = folder.write("open", "a file of the host's");
    const int leaking = ::open(file.c_str(), O_RDONLY);
    ASSERT_GE(leaking, 0);
    sigset_t blocked;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    python(
        "for line in sys.stdin:\n"
        "    status = open('/proc/self/status').read().split('\\n')\n"
        "    signals = [l for l in status if l.startswith(('SigBlk', 'SigIgn'))]\n"
        "    files = [os.readlink('/proc/self/fd/' + n) for n in os.listdir('/proc/self/fd')\n"
        "             if os.path.exists('/proc/self/fd/' + n)]\n"
        "    say({'id': json.loads(line)['id'], 'plan': {'requestId': 'p', 'tools': [],\n"
        "         'narrative': ' '.join(signals + files) + ' group %d' %\n"
        "                      (os.getpgrp() == os.getpid())}})\n");
    const std::string narrative = prompt("go").narrative;
    ::close(leaking);
    ::signal(SIGPIPE, SIG_DFL);
    EXPECT_THAT(narrative, HasSubstr("SigBlk:\t0000000000000000")) << log;
    // Python itself ignores SIGPIPE and SIGXFSZ.
    EXPECT_THAT(narrative, HasSubstr("SigIgn:\t0000000001001000"));
    EXPECT_THAT(narrative, Not(HasSubstr(file)));
    EXPECT_THAT(narrative, HasSubstr("group 1"));
    sigset_t now;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &now);
    EXPECT_EQ(::sigismember(&now, SIGTERM), 1) << "the host's own mask is unchanged";
    EXPECT_EQ(::sigismember(&now, SIGINT), 0);
}

TEST_F(NarratorProcessTest, HostMayHaveNoStandardStreams) {
    shell("plan $id 'Here.'");
    const int kept = ::fcntl(0, F_DUPFD_CLOEXEC, 10);
    ::close(0);
    const Told told = prompt("go");
    close();
    ::dup2(kept, 0);
    EXPECT_EQ(told.narrative, "Here.") << log;
}

TEST_F(NarratorProcessTest, OtherChildrenOfTheHostAreNotReaped) {
    shell("plan $id 'Here.'; exit 0");
    const pid_t child = ::fork();
    if (child == 0) ::_exit(5);
    for (int i = 0; i < 3; ++i) prompt("go");
    close();
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 5);
}

TEST_F(NarratorProcessTest, HostMayIgnoreSigchld) {
    ::signal(SIGCHLD, SIG_IGN);
    shell("plan $id 'Here.'; exit 0");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(prompt("go").outcome, Outcome::Completed) << log;
    close();
    ::signal(SIGCHLD, SIG_DFL);
    for (const std::string& number : numbers()) EXPECT_TRUE(is_gone(number));
}

// The 40 ms for a clean end may pass on a loaded machine, so one success in several ends is enough.
TEST_F(NarratorProcessTest, EndOfTheSessionClosesItsInput) {
    for (int turn = 0; turn < 20 && folder.read("end").empty(); ++turn) {
        shell("trap '' TERM; plan $id 'Here.'");
        folder.write("narrator", folder.read("narrator") + "echo end >'" + (folder / "end") + "'\n",
                     0755);
        prompt("go");
        close();
    }
    EXPECT_EQ(folder.read("end"), "end\n");
    hostile::expect_no_children();
}

TEST_F(NarratorProcessTest, EndOfTheSessionTerminatesIt) {
    for (int turn = 0; turn < 20 && folder.read("end").empty(); ++turn) {
        shell("trap 'echo terminated >\"" + (folder / "end") +
              "\"; exit' TERM; plan $id 'Here.'; while :; do sleep 0.01; done");
        prompt("go");
        expect_nothing_left();
    }
    EXPECT_EQ(folder.read("end"), "terminated\n");
}

TEST_F(NarratorProcessTest, StubbornProcessIsKilledQuicklyAtTheEnd) {
    bool was_in_time = false;
    for (int turn = 0; turn < 20 && !was_in_time; ++turn) {
        log.clear();
        shell("trap '' TERM; plan $id 'Here.'; while :; do sleep 1000; done");
        prompt("go");
        expect_nothing_left();
        was_in_time = log.find("held the engine thread") == std::string::npos;
    }
    EXPECT_TRUE(was_in_time) << log;
}

TEST_F(NarratorProcessTest, SessionThatEndsDuringARequestLeavesNoProcess) {
    shell("sleep 1000 & wait");
    session->prompt("go");
    ASSERT_TRUE(until([&] { return heard().size() == 1; }));
    expect_nothing_left();
}

TEST_F(NarratorProcessTest, DiesWithItsHost) {
    const pid_t host = ::fork();
    if (host == 0) {
        shell("trap '' TERM; plan $id 'Here.'; while :; do sleep 1000; done");
        prompt("go");
        ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(host, &status, 0), host);
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    const std::string number = numbers().at(0);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(300);
    while (!hostile::is_dead(number) && std::chrono::steady_clock::now() < deadline)
        ::poll(nullptr, 0, 5);
    EXPECT_TRUE(hostile::is_dead(number));
}

TEST_F(NarratorProcessTest, EachSessionHasItsOwnProcess) {
    shell("plan $id \"I am $$.\"");
    const std::string one = prompt("go").narrative;
    std::optional<Session> other(std::in_place, *engine, SessionOptions{.story = folder.path()});
    std::optional<std::string> another;
    other->prompt("go", [&](Turn turn) { another = std::string(turn.narrative()); });
    ASSERT_TRUE(until([&] { return another.has_value(); }));
    EXPECT_NE(one, *another);
    other.reset();
    EXPECT_EQ(prompt("go").narrative, one);
}

}  // namespace
}  // namespace narratoria::test
