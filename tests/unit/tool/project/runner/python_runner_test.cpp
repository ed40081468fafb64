// SPDX-License-Identifier: Apache-2.0
#include "tool/project/runner/python_runner.hpp"
#include "base/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>

#include "conformance/folder.hpp"
#include "tool/project/binding.hpp"
#include "tool/project/runner/process_call.hpp"
#include "unit/tool/runner/heard.hpp"

namespace {

using namespace narratoria;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using tool::Heard;

using Clock = std::chrono::steady_clock;

struct Running {
    Heard heard;
    std::unique_ptr<tool::Attempt> attempt;
};

class PythonRunnerTest : public testing::Test {
protected:
    PythonRunnerTest() {
        settings.folder = folder;
        binding.name = "t";
        binding.entry = "tool:run";
        binding.root = folder;
        binding.python.interpreter = interpreter();
        binding.python.kind = "system";
        binding.python.dependencies = "none";
        binding.python.path = {folder};
        make_runner();
    }
    ~PythonRunnerTest() override { runner.reset(); }

    static std::string interpreter() {
        const char* const path = ::getenv("PATH");
        // The system's Python first: the one in PATH may be a script that starts the interpreter.
        for (const std::string& each : split(std::string("/usr/bin:") + (path ? path : ""))) {
            const std::string file = each + "/python3";
            if (::access(file.c_str(), X_OK) == 0) return file;
        }
        ADD_FAILURE() << "python3 is not in PATH";
        return {};
    }
    static std::vector<std::string> split(std::string_view list) {
        std::vector<std::string> out;
        for (size_t at = 0; at <= list.size();) {
            const size_t end = std::min(list.find(':', at), list.size());
            out.emplace_back(list.substr(at, end - at));
            at = end + 1;
        }
        return out;
    }

    void make_runner() {
        runner = std::make_unique<tool::PythonRunner>(
            std::make_shared<tool::ProcessRunner>(pool, settings));
    }

    void write(const std::string& text, const std::string& name = "tool.py") const {
        files.write(name, text);
    }
    std::string read(const std::string& name) const { return files.read(name); }

    std::unique_ptr<Running> start(std::string input = "{}") {
        auto running = std::make_unique<Running>();
        auto definition = std::make_shared<tool::Definition>();
        definition->name = binding.name;
        definition->binding = std::make_shared<tool::project::Binding>(binding);
        definitions.push_back(definition);
        const std::string request = R"({"input":)" + std::move(input) + "}";
        tool::Invocation invocation;
        invocation.definition = definition.get();
        invocation.limits = limits;
        invocation.try_ms = try_ms;
        invocation.request = request;
        invocation.environment = &environment;
        tool::StartFailure failure;
        running->attempt = runner->start(invocation, running->heard, failure);
        EXPECT_NE(running->attempt, nullptr) << failure.message;
        return running;
    }
    Heard call(std::string input = "{}") {
        const auto running = start(std::move(input));
        EXPECT_TRUE(until([&] { return running->heard.ends > 0; }));
        EXPECT_EQ(running->heard.ends, 1);
        return running->heard;
    }
    // Returns the result of a call, or its error.
    std::string result(std::string input = "{}") {
        const Heard heard = call(std::move(input));
        return heard.outcome.ok ? heard.outcome.result : heard.outcome.error;
    }

    bool until(const std::function<bool()>& condition) {
        const Clock::time_point deadline = Clock::now() + std::chrono::seconds(300);
        for (;;) {
            loop.run_for(0);
            if (condition()) return true;
            if (Clock::now() >= deadline) return false;
            pollfd ready{loop.descriptor(), POLLIN, 0};
            const int next = loop.timeout();
            ::poll(&ready, 1, next < 0 || next > 50 ? 50 : next);
        }
    }
    bool ends(pid_t process) {
        return until([&] { return ::kill(process, 0) != 0; });
    }

    const test::Folder files;
    const std::string& folder = files.path();
    std::vector<std::string> environment{"PATH=/usr/bin:/bin"};
    Loop loop;
    process::Pool pool{loop, ""};
    tool::RunnerSettings settings;
    tool::Limits limits;
    uint64_t try_ms = 0;
    tool::project::Binding binding;
    std::unique_ptr<tool::PythonRunner> runner;
    std::vector<std::shared_ptr<const tool::Definition>> definitions;
};

// Runs each test in a forked process and in a fresh one.
class EveryPython : public PythonRunnerTest, public testing::WithParamInterface<bool> {
protected:
    EveryPython() { binding.warm = GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(, EveryPython, testing::Bool(), [](const auto& each) {
    return std::string(each.param ? "Warm" : "Fresh");
});

TEST_P(EveryPython, AnswersExampleOfSpecification) {
    write("def run(payload):\n    return {'message': 'Hello ' + payload['name'], 'ok': True}\n");
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(result(R"({"name":"Ada"})"), R"({"message": "Hello Ada", "ok": true})");
    }
}

TEST_P(EveryPython, LogsOutputOfFunction) {
    write(
        "import os, subprocess, sys\n"
        "def run(payload):\n"
        "    print('one')\n"
        "    os.write(1, b'tw\\xff\\n')\n"
        "    subprocess.run(['echo', 'three'])\n"
        "    print('x' * 70000, file=sys.stderr)\n"
        "    print('four', end='')\n");
    for (int i = 0; i < 2; ++i) {
        const Heard heard = call();
        EXPECT_TRUE(heard.outcome.ok) << heard.outcome.error;
        std::vector<std::string> logs;
        for (const std::string& each : heard.logs) {
            const bool is_long = each.find_first_not_of('x') == std::string::npos;
            logs.push_back(is_long ? std::to_string(each.size()) : each);
        }
        EXPECT_THAT(logs, ElementsAre("one", "tw\xEF\xBF\xBD", "three", "65536", "4464", "four"));
    }
}

TEST_P(EveryPython, ProjectModulesMayShadowPythonModules) {
    for (const char* name : {"ctypes.py", "gc.py", "json.py", "random.py", "resource.py"}) {
        write("VALUE = 'mine'\n", name);
    }
    write(
        "import json, random, resource\n"
        "def run(payload):\n"
        "    return [json.VALUE, random.VALUE, resource.VALUE]\n");
    for (int i = 0; i < 2; ++i) EXPECT_EQ(result(), R"(["mine", "mine", "mine"])");
}

TEST_P(EveryPython, ReportsExceptionAndCallsAgain) {
    write("def run(payload):\n    raise ValueError('Missing input')\n");
    for (int i = 0; i < 2; ++i) {
        const Heard heard = call();
        EXPECT_EQ(heard.outcome.code, "TOOL_FAILED");
        EXPECT_EQ(heard.outcome.error, "Missing input");
    }
}

TEST_P(EveryPython, ReportsModuleThatExitsDuringImport) {
    write("import os\nos._exit(3)\n");
    for (int i = 0; i < 2; ++i) {
        const Heard heard = call();
        EXPECT_EQ(heard.outcome.code, "EXIT_STATUS");
        EXPECT_THAT(heard.outcome.error, HasSubstr("exited with status 3 and did not reply"));
    }
    write("import sys\nsys.exit(3)  \n");
    for (int i = 0; i < 2; ++i) EXPECT_THAT(result(), HasSubstr("(sys.exit) with 3"));
}

TEST_P(EveryPython, ReportsFunctionThatEndsItsProcess) {
    write(
        "import os\n"
        "def run(payload):\n"
        "    print('so far')\n"
        "    if 'signal' in payload: os.kill(os.getpid(), 9)\n"
        "    if 'status' in payload: os._exit(5)\n"
        "    os.closerange(3, 1000)\n");
    EXPECT_THAT(result(R"({"signal":1})"),
                HasSubstr("was terminated by signal 9 (SIGKILL) and did not reply"));
    EXPECT_THAT(result(R"({"status":1})"), HasSubstr("exited with status 5 and did not reply"));
    EXPECT_THAT(result(), HasSubstr("the tool closed the descriptor of its reply"));
}

TEST_P(EveryPython, KillsProcessesThatCallLeavesBehind) {
    settings.grace_ms = 100;
    write(
        "import os, signal, time\n"
        "def run(payload):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        if os.fork() == 0:\n"
        "            with open('left', 'w') as file: file.write(str(os.getpid()))\n"
        "            while True: time.sleep(100)\n"
        "        os._exit(0)\n"
        "    while not (os.path.exists('left') and os.path.getsize('left')): pass\n"
        "    return 1\n");
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(result(), "1");
        EXPECT_NE(::kill(std::stoi(read("left")), 0), 0) << "it must end before its call";
        std::filesystem::remove(folder + "/left");
    }
}

TEST_P(EveryPython, CancellationKillsAllDescendants) {
    settings.grace_ms = 100;
    write(
        "import os, signal, time\n"
        "def run(payload):\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        with open('child', 'w') as file: file.write(str(os.getpid()))\n"
        "        os.rename('child', 'left')\n"
        "    while True: time.sleep(100)\n");
    const auto running = start();
    ASSERT_TRUE(until([&] { return std::filesystem::exists(folder + "/left"); }));
    running->attempt->terminate();
    EXPECT_TRUE(until([&] { return running->heard.ends > 0; }));
    EXPECT_FALSE(running->heard.outcome.ok);
    EXPECT_NE(::kill(std::stoi(read("left")), 0), 0);
    write("def run(payload):\n    return 'again'\n");
    EXPECT_EQ(result(), R"("again")");
}

TEST_P(EveryPython, DestroyedAttemptEndsProcess) {
    settings.grace_ms = 0;
    write(
        "import os, time\n"
        "def run(payload):\n"
        "    with open('child', 'w') as file: file.write(str(os.getpid()))\n"
        "    os.rename('child', 'left')\n"
        "    while True: time.sleep(100)\n");
    auto running = start();
    ASSERT_TRUE(until([&] { return std::filesystem::exists(folder + "/left"); }));
    running.reset();
    EXPECT_TRUE(ends(std::stoi(read("left"))));
}

TEST_P(EveryPython, RefusesEndlessReply) {
    write(
        "import os\n"
        "def run(payload):\n"
        "    for each in range(3, 100):\n"
        "        try:\n"
        "            while True: os.write(each, b'x' * 1000000)\n"
        "        except OSError: pass\n");
    EXPECT_THAT(result(), HasSubstr("replied with more than"));
}

TEST_P(EveryPython, AnswersDespiteRunningThreadsAndNamesThem) {
    // The process must handle SIGTERM within this time, and log within the same time again.
    settings.grace_ms = 5000;
    write(
        "import threading\n"
        "def run(payload):\n"
        "    if payload: threading.Thread(target=threading.Event().wait, name='upload').start()\n"
        "    return 1\n");
    EXPECT_EQ(result(), "1");
    const Heard heard = call(R"({"a":1})");
    EXPECT_EQ(heard.outcome.result, "1") << heard.outcome.error;
    EXPECT_EQ(heard.outcome.warning_code, "LINGERED");
    EXPECT_THAT(heard.logs, ElementsAre(HasSubstr("while the thread 'upload' ran")));
}

// The server must run the call itself, because it has no descriptors for the pipes of a child. It
// watches the first child before it loses them.
TEST_F(PythonRunnerTest, UnforkedCallNamesTerminatedThreads) {
    settings.grace_ms = 5000;
    write(
        "import os, resource, signal, threading, time\n"
        "SERVER = os.getpid()\n"
        "def upload():\n"
        "    while signal.getsignal(signal.SIGTERM) is signal.SIG_DFL: time.sleep(0.001)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    threading.Event().wait()\n"
        "def is_watched():\n"
        "    folder = f'/proc/{SERVER}/fd/'\n"
        "    try:\n"
        "        return any('pidfd' in os.readlink(folder + each) for each in os.listdir(folder))\n"
        "    except PermissionError:\n"
        "        return True\n"
        "    except OSError:\n"
        "        return False\n"
        "def run(payload):\n"
        "    if os.getpid() != SERVER:\n"
        "        while not is_watched(): time.sleep(0.001)\n"
        "        resource.prlimit(SERVER, resource.RLIMIT_NOFILE, (6, 6))\n"
        "        return 'forked'\n"
        "    threading.Thread(target=upload, name='upload').start()\n"
        "    return 'alone'\n");
    EXPECT_EQ(result(), R"("forked")");
    const Heard heard = call();
    EXPECT_EQ(heard.outcome.result, R"("alone")") << heard.outcome.error;
    EXPECT_THAT(heard.logs, ElementsAre(HasSubstr("while the thread 'upload' ran")));
}

TEST_P(EveryPython, TerminatesLingeringCallBeforeItsTimeout) {
    settings.grace_ms = 1000000;
    try_ms = 1000;
    write(
        "import threading\n"
        "def run(payload):\n"
        "    threading.Thread(target=threading.Event().wait).start()\n"
        "    return 1\n");
    const Heard heard = call();
    EXPECT_EQ(heard.outcome.result, "1") << heard.outcome.error;
    EXPECT_EQ(heard.outcome.warning_code, "LINGERED");
}

TEST_P(EveryPython, WaitsForThreadsAndExitHandlers) {
    write(
        "import atexit, threading, time\n"
        "def run(payload):\n"
        "    atexit.register(print, 'handler')\n"
        "    threading.Timer(0.05, print, ['thread']).start()\n"
        "    return 1\n");
    for (int i = 0; i < 2; ++i) {
        const Heard heard = call();
        EXPECT_EQ(heard.outcome.result, "1") << heard.outcome.error;
        EXPECT_EQ(heard.outcome.warning, "");
        EXPECT_THAT(heard.logs, ElementsAre("thread", "handler"));
    }
}

TEST_P(EveryPython, AnswersDespiteHangingExitHandler) {
    settings.grace_ms = 1000000;
    // The handler itself sends the signal that the library sends to such a process.
    write(
        "import atexit, os, signal, time\n"
        "def hang():\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    time.sleep(1000000)\n"
        "def run(payload):\n"
        "    atexit.register(hang)\n"
        "    return 1\n");
    for (int i = 0; i < 2; ++i) {
        const Heard heard = call();
        EXPECT_EQ(heard.outcome.result, "1") << heard.outcome.error;
        EXPECT_THAT(heard.logs, ElementsAre(HasSubstr("while an exit handler ran")));
    }
}

TEST_P(EveryPython, AnswersDespiteHangInNativeExitHandler) {
    settings.grace_ms = 100;
    // PyDLL holds the interpreter's lock, so no Python signal handler runs.
    write(
        "import atexit, ctypes\n"
        "def run(payload):\n"
        "    atexit.register(ctypes.PyDLL(None).pause)\n"
        "    return 1\n");
    for (int i = 0; i < 2; ++i) EXPECT_EQ(result(), "1");
}

TEST_P(EveryPython, NamesProcessesThatCallLeavesBehind) {
    settings.grace_ms = 0;
    write(
        "import subprocess\n"
        "def run(payload):\n"
        "    subprocess.Popen(['sleep', '1000'])\n"
        "    subprocess.Popen(['true'])\n"
        "    return 1\n");
    for (int i = 0; i < 2; ++i) {
        const Heard heard = call();
        EXPECT_EQ(heard.outcome.result, "1") << heard.outcome.error;
        EXPECT_THAT(heard.logs, ElementsAre(HasSubstr("left processes behind")));
        EXPECT_THAT(heard.logs, ElementsAre(HasSubstr("sleep 1000")));
    }
}

// Hostile modules, with a part of the expected result or error.
struct Hostile {
    const char* name;
    const char* text;
    const char* told;
};
constexpr const char* kGood = "\ndef run(payload):\n    return 'good'\n";
constexpr const char* kWrite =
    "\ndef run(payload):\n"
    "    import os\n"
    "    for each in range(3, 100):\n"
    "        try: os.write(each, REPLY)\n"
    "        except OSError: pass\n"
    "    if LAST: os._exit(0)\n"
    "    return 'good'\n";
const Hostile kHostile[] = {
    {"is killed", "import os\nos.kill(os.getpid(), 9)", "was terminated by signal 9 (SIGKILL)"},
    {"kills its group", "import os\nos.killpg(0, 9)", "was terminated by signal 9 (SIGKILL)"},
    {"crashes", "import ctypes\nctypes.string_at(0)", "was terminated by signal 11 (SIGSEGV)"},
    {"exits in a handler", "import atexit, os\natexit.register(os._exit, 7)", "\"good\""},
    {"forks", "import os\nos.fork()", "\"good\""},
    {"becomes a daemon", "import os\nif os.fork(): os._exit(0)\nos.setsid()",
     "exited with status 0 and did not reply"},
    {"would lead a session", "import os\nos.setsid()", "Operation not permitted"},
    {"closes all descriptors", "import os\nos.closerange(0, 1000)", "did not reply"},
    {"takes the place of the reply",
     "import os\nfor i in range(3, 100):\n"
     "    try: os.dup2(os.open(os.devnull, os.O_RDWR), i)\n"
     "    except OSError: pass",
     "the tool closed the descriptor of its reply"},
    {"has no more descriptors",
     "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (5, 5))", "\"good\""},
    {"ignores its children", "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)",
     "\"good\""},
    {"takes away its output", "import sys\nsys.stdin = sys.stdout = sys.stderr = None", "\"good\""},
    {"takes away its modules", "import sys\nsys.modules.clear()", "'"},
    {"breaks Python", "import builtins\nbuiltins.len = None", ""},
    {"breaks os", "import os\nos.fork = os.pipe = os.read = os.write = None", ""},
    {"breaks traces", "import sys\nsys.settrace(lambda *_: 1 / 0)", ""},
    {"interrupts", "raise KeyboardInterrupt", "KeyboardInterrupt"},
    {"raises an exception without text",
     "class E(BaseException):\n    def __str__(self): raise self\nraise E",
     "the error has no message"},
    {"recurses", "def f(): f()\nf()", "maximum recursion depth"},
    {"is ended by a watchdog",
     "import faulthandler, time\nfaulthandler.dump_traceback_later(0.001, exit=True)\n"
     "time.sleep(100)",
     "exited with status 1 and did not reply"},
    {"imports in a thread for ever",
     "import threading\ndef again():\n    import importlib, sys\n    while True:\n"
     "        sys.modules.pop('json', None)\n        importlib.import_module('json')\n"
     "threading.Thread(target=again, daemon=True).start()",
     "\"good\""},
    {"holds a lock over a fork",
     "import threading\nLOCK = threading.Lock()\ndef hold():\n    LOCK.acquire()\n"
     "THREAD = threading.Thread(target=hold)\nTHREAD.start()\nTHREAD.join()",
     "\"good\""},
    {"cuts its reply", "LAST = True\nREPLY = b'{\"ok\": tr'",
     "replied, but its reply is not valid JSON"},
    {"answers twice", "LAST = False\nREPLY = b'{\"ok\": true}\\n'",
     "replied, but its reply is not valid JSON"},
    {"answers before", "LAST = True\nREPLY = b'{\"ok\": true, \"result\": \"good\"}\\n'",
     "\"good\""},
    {"answers with plain text", "LAST = True\nREPLY = b'hello\\n'",
     "replied, but its reply is not valid JSON"},
    {"answers with a list", "LAST = True\nREPLY = b'[1]\\n'",
     "replied, but its reply must be an object"},
    {"answers in another version",
     "LAST = True\nREPLY = b'{\"ok\": true, \"protocol_version\": 2}\\n'",
     "replied, but its reply has protocol version 2"},
    {"answers with frames", "LAST = True\nREPLY = b'T0\\nE9\\n0 0 0 0 0'",
     "replied, but its reply is not valid JSON"},
};

TEST_P(EveryPython, ReportsHostileModuleAndServesNextCall) {
    settings.grace_ms = 100;
    for (const Hostile& hostile : kHostile) {
        SCOPED_TRACE(hostile.name);
        const bool writes = std::string_view(hostile.text).find("REPLY =") != std::string::npos;
        write(std::string(hostile.text) + (writes ? kWrite : kGood));
        for (int i = 0; i < 2; ++i) {
            const std::string told = result();
            EXPECT_THAT(told, HasSubstr(hostile.told));
            EXPECT_NE(told, "");
        }
        write(kGood);
        EXPECT_EQ(result(), "\"good\"");
    }
}

TEST_P(EveryPython, KillsHangingImportThatIgnoresSignals) {
    settings.grace_ms = 100;
    write(
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "with open('import', 'w') as file: file.write(str(os.getpid()))\n"
        "os.rename('import', 'begun')\n"
        "while True: time.sleep(100)\n");
    const auto running = start();
    ASSERT_TRUE(until([&] { return std::filesystem::exists(folder + "/begun"); }));
    running->attempt->terminate();
    EXPECT_TRUE(until([&] { return running->heard.ends > 0; }));
    EXPECT_FALSE(running->heard.outcome.ok);
    EXPECT_NE(::kill(std::stoi(read("begun")), 0), 0);
    write(kGood);
    EXPECT_EQ(result(), "\"good\"");
}

TEST_P(EveryPython, CallsDoNotSeeEachOthersState) {
    write(
        "import decimal, locale, os, random, resource, secrets, signal, sys, tempfile, threading\n"
        "import time, uuid, warnings\n"
        "KEPT = []\n"
        "def run(payload):\n"
        "    umask = os.umask(0)\n"
        "    same = [os.getcwd(), umask, sorted(os.environ), os.environ.get('X'), "
        "sorted(sys.path),\n"
        "            len(KEPT), threading.active_count(), sorted(os.listdir('/proc/self/fd')),\n"
        "            str(signal.getsignal(signal.SIGUSR1)), signal.getitimer(signal.ITIMER_REAL),\n"
        "            decimal.getcontext().prec, sys.getrecursionlimit(), 'helper' in sys.modules,\n"
        "            resource.getrlimit(resource.RLIMIT_NOFILE), time.tzname, "
        "len(warnings.filters),\n"
        "            locale.setlocale(locale.LC_ALL), os.getpgid(0) == os.getpid(),\n"
        "            sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), os.nice(0),\n"
        "            tempfile.gettempdir(), os.read(0, 10).decode()]\n"
        "    other = [random.random(), random.SystemRandom().random(), secrets.token_hex(8),\n"
        "             str(uuid.uuid4()), str(uuid.uuid1()), tempfile.mktemp(), os.getpid(),\n"
        "             os.urandom(8).hex()]\n"
        "    random.seed(1)\n"
        "    os.umask(0o77)\n"
        "    os.chdir('/')\n"
        "    os.environ['X'] = os.environ['TZ'] = 'UTC+3'\n"
        "    os.environ.pop('PATH')\n"
        "    time.tzset()\n"
        "    sys.path.insert(0, '/nowhere')\n"
        "    KEPT.append(open(__file__))\n"
        "    signal.signal(signal.SIGUSR1, signal.SIG_IGN)\n"
        "    signal.setitimer(signal.ITIMER_REAL, 1000)\n"
        "    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])\n"
        "    decimal.getcontext().prec = 3\n"
        "    sys.setrecursionlimit(500)\n"
        "    sys.modules['helper'] = sys\n"
        "    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))\n"
        "    warnings.simplefilter('error')\n"
        "    os.nice(3)\n"
        "    tempfile.tempdir = '/nowhere'\n"
        "    threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "    return {'same': same} if payload else other\n");
    const std::string first = result(R"({"same":1})");
    ASSERT_THAT(first, StartsWith(R"({"same": [)"));
    EXPECT_EQ(result(R"({"same":1})"), first);
    const auto parts = [](const std::string& list) {
        std::vector<std::string> out;
        for (size_t at = 1; at < list.size();) {
            const size_t end = std::min(list.find(", ", at), list.size());
            out.push_back(list.substr(at, end - at));
            at = end + 2;
        }
        return out;
    };
    const auto one = parts(result());
    const auto two = parts(result());
    ASSERT_EQ(one.size(), 8U);
    ASSERT_EQ(two.size(), 8U);
    for (size_t i = 0; i < one.size(); ++i) EXPECT_NE(one[i], two[i]) << i;
}

TEST_P(EveryPython, FindsModuleInPackFirst) {
    std::filesystem::create_directory(folder + "/pack");
    write("WHERE = 'pack'\ndef run(payload):\n    return WHERE\n", "pack/tool.py");
    write("WHERE = 'project'\ndef run(payload):\n    return WHERE\n");
    binding.python.path = {folder + "/pack", folder};
    for (int i = 0; i < 2; ++i) EXPECT_EQ(result(), R"("pack")");
}

TEST_P(EveryPython, DetectsFastEdits) {
    write("import other\ndef run(payload):\n    return other.VALUE\n");
    for (int i = 100; i < 150; ++i) {
        write("VALUE = " + std::to_string(i) + "\n", "other.py");
        ASSERT_EQ(result(), std::to_string(i));
    }
}

TEST_P(EveryPython, DetectsEditsThatKeepTimeAndSize) {
    write("def run(payload):\n    return 1\n");
    const auto time = std::filesystem::last_write_time(folder + "/tool.py");
    for (int i = 1; i < 6; ++i) {
        write("def run(payload):\n    return " + std::to_string(i) + "\n");
        std::filesystem::last_write_time(folder + "/tool.py", time);
        ASSERT_EQ(result(), std::to_string(i));
        // Writes bytecode with the source's time and size, as a different Python would.
        const std::string command = binding.python.interpreter + " -m compileall -q -f " + folder;
        ASSERT_EQ(std::system(command.c_str()), 0);
    }
}

constexpr const char* kFamily =
    "import os\n"
    "CALLS = []\n"
    "def run(payload):\n"
    "    CALLS.append(1)\n"
    "    return [os.getppid(), len(CALLS), os.getpid()]\n";

// Returns the process that forked a call, from the result of the function above.
pid_t parent(const std::string& result) { return std::stoi(result.substr(1)); }

TEST_F(PythonRunnerTest, CallsForkFromOneServerAndAreIsolated) {
    write(kFamily);
    const std::string first = result();
    const std::string second = result();
    EXPECT_EQ(parent(first), parent(second));
    EXPECT_THAT(first, HasSubstr(", 1, "));
    EXPECT_THAT(second, HasSubstr(", 1, "));
    EXPECT_NE(first, second);
}

TEST_F(PythonRunnerTest, ConcurrentCallsUseSeparateServers) {
    write(
        "import os, time\n"
        "def run(payload):\n"
        "    open('begun' + payload['name'], 'w').close()\n"
        "    while not (os.path.exists('beguna') and os.path.exists('begunb')): time.sleep(0.01)\n"
        "    return payload['name']\n");
    const auto a = start(R"({"name":"a"})");
    const auto b = start(R"({"name":"b"})");
    EXPECT_TRUE(until([&] { return a->heard.ends > 0 && b->heard.ends > 0; }));
    EXPECT_EQ(a->heard.outcome.result, R"("a")");
    EXPECT_EQ(b->heard.outcome.result, R"("b")");
}

// The runner reads the host's environment when it is created.
struct HostWithAKey {
    HostWithAKey() { ::setenv("NARRATORIA_TEST_KEY", "secret", 1); }
};

class PythonRunnerWithAKey : private HostWithAKey, public PythonRunnerTest {};

TEST_F(PythonRunnerWithAKey, WithheldVariableIsNotInherited) {
    write("import os\ndef run(payload):\n    return os.environ.get('NARRATORIA_TEST_KEY')\n");
    EXPECT_EQ(result(), "\"secret\"");
    withhold_variable("NARRATORIA_TEST_KEY");
    EXPECT_EQ(result(), "null");
}

TEST_F(PythonRunnerTest, EnvironmentAndLimitsSelectServer) {
    write(kFamily);
    const pid_t first = parent(result());
    environment.emplace_back("NEW=1");
    const pid_t second = parent(result());
    limits.open_files = 100;
    const pid_t third = parent(result());
    EXPECT_NE(first, second);
    EXPECT_NE(second, third);
}

TEST_F(PythonRunnerTest, ReloadsModuleAfterChangeOfReadFile) {
    write("VALUE = 1\n", "other.py");
    write("first", "data.txt");
    write(
        "import other\n"
        "TEXT = open('data.txt').read()\n"
        "def run(payload):\n    return [other.VALUE, TEXT]\n");
    EXPECT_EQ(result(), R"([1, "first"])");
    EXPECT_EQ(result(), R"([1, "first"])");
    write("VALUE = 22\n", "other.py");
    EXPECT_EQ(result(), R"([22, "first"])");
    write("second", "data.txt");
    EXPECT_EQ(result(), R"([22, "second"])");
}

TEST_F(PythonRunnerTest, ChecksFilesDespiteFailedStat) {
    write("first", "data.txt");
    write(
        "import os\n"
        "stat = os.stat\n"
        "def fail(*_, **__): raise RecursionError\n"
        "os.stat = fail\n"
        "try: open('other.txt')\n"
        "except (OSError, RecursionError): pass\n"
        "os.stat = stat\n"
        "TEXT = open('data.txt').read()\n"
        "def run(payload):\n    return TEXT\n");
    EXPECT_EQ(result(), R"("first")");
    write("second", "data.txt");
    EXPECT_EQ(result(), R"("second")");
}

TEST_F(PythonRunnerTest, ReloadsModuleBelowPythonPrefix) {
    const std::filesystem::path python(interpreter());
    write("home = " + python.parent_path().string() + "\n", "pyvenv.cfg");
    std::filesystem::create_directory(folder + "/bin");
    binding.python.interpreter = folder + "/bin/python3";
    std::filesystem::create_symlink(python, binding.python.interpreter);
    write("VALUE = 1\n", "other.py");
    write(
        "import other, sys\n"
        "def run(payload):\n    return [other.VALUE, sys.prefix in other.__file__]\n");
    EXPECT_EQ(result(), "[1, true]");
    write("VALUE = 22\n", "other.py");
    EXPECT_EQ(result(), "[22, true]");
}

TEST_F(PythonRunnerTest, ReloadsModuleAfterSearchedFileAppears) {
    const auto create = [&](const std::string& name, const std::string& text) {
        std::filesystem::create_directories(
            std::filesystem::path(folder + "/" + name).parent_path());
        write(text, name);
    };
    environment.push_back("PYTHONPATH=" + folder + "/last");
    create("last/shadowed.py", "VALUE = 0\n");
    create("inner.py", "VALUE = 0\n");
    create("inner/data.txt", "");
    create("package/__init__.py", "");
    create("plugins/a.txt", "");
    write(
        "import importlib, os, shadowed, inner, package\n"
        "def value(name):\n"
        "    try: return importlib.import_module(name).VALUE\n"
        "    except ImportError: return None\n"
        "FOUND = [value('extra'), shadowed.VALUE, inner.VALUE, value('package.sub'),\n"
        "         value('newpack'), sorted(os.listdir('plugins'))[1:], "
        "os.path.exists('plugins/b')]\n"
        "try: FOUND.append(open('config').read())\n"
        "except OSError: FOUND.append('')\n"
        "def run(payload):\n    return FOUND\n");
    EXPECT_EQ(result(), R"([null, 0, 0, null, null, [], false, ""])");
    create("extra.py", "VALUE = 1\n");
    EXPECT_EQ(result(), R"([1, 0, 0, null, null, [], false, ""])");
    create("shadowed.py", "VALUE = 2\n");
    EXPECT_EQ(result(), R"([1, 2, 0, null, null, [], false, ""])");
    create("inner/__init__.py", "VALUE = 3\n");
    EXPECT_EQ(result(), R"([1, 2, 3, null, null, [], false, ""])");
    create("package/sub.py", "VALUE = 4\n");
    EXPECT_EQ(result(), R"([1, 2, 3, 4, null, [], false, ""])");
    create("newpack/__init__.py", "VALUE = 5\n");
    EXPECT_EQ(result(), R"([1, 2, 3, 4, 5, [], false, ""])");
    create("plugins/b", "");
    EXPECT_EQ(result(), R"([1, 2, 3, 4, 5, ["b"], true, ""])");
    create("config", "6");
    EXPECT_EQ(result(), R"([1, 2, 3, 4, 5, ["b"], true, "6"])");
    std::filesystem::remove(folder + "/extra.py");
    EXPECT_EQ(result(), R"([null, 2, 3, 4, 5, ["b"], true, "6"])");
}

TEST_F(PythonRunnerTest, DoesNotReloadForUnreadFiles) {
    write(kFamily);
    const pid_t server = parent(result());
    for (int i = 0; i < 3; ++i) {
        write("x", "out.txt");
        write("x", "out" + std::to_string(i) + ".json");
        EXPECT_EQ(parent(result()), server);
    }
}

TEST_F(PythonRunnerTest, RandomNumbersDifferUnlessModuleSeedsThem) {
    write(
        "import random, uuid\n"
        "OWN, FIXED = random.Random(), random.Random(5)\n"
        "def run(payload):\n"
        "    return [random.random(), OWN.random(), str(uuid.uuid4())]"
        " if payload else FIXED.random()\n");
    const std::string first = result(R"({"a":1})");
    EXPECT_NE(first, result(R"({"a":1})"));
    EXPECT_EQ(result(), result());
    write("import random\nrandom.seed(4)\ndef run(payload):\n    return random.random()\n");
    EXPECT_EQ(result(), result());
}

TEST_F(PythonRunnerTest, ReplacesKilledServer) {
    write(kFamily);
    const pid_t first = parent(result());
    ::kill(first, SIGKILL);
    // The first time the library may not have noticed the end yet; the second time it has.
    const pid_t second = parent(result());
    EXPECT_NE(first, second);
    ::kill(second, SIGKILL);
    ASSERT_TRUE(ends(second));
    EXPECT_NE(parent(result()), second);
}

TEST_F(PythonRunnerTest, CallThatKillsServerFailsAndNextSucceeds) {
    write(
        "import os\n"
        "def run(payload):\n"
        "    if payload: os.kill(os.getppid(), 9)\n"
        "    return 1\n");
    EXPECT_EQ(result(), "1");
    EXPECT_THAT(result(R"({"kill":1})"),
                HasSubstr("was terminated by signal 9 (SIGKILL) and did not reply"));
    EXPECT_EQ(result(), "1");
}

TEST_F(PythonRunnerTest, UnforkableModuleRunsFreshAndLogsReason) {
    const std::pair<const char*, const char*> modules[] = {
        {"import threading, time\n"
         "threading.Thread(target=time.sleep, args=(100,), daemon=True).start()\n",
         "starts a thread"},
        {"FILE = open(__file__)\n", "opens a file"},
        {"import mmap\nSHARED = mmap.mmap(-1, 4096)\n", "shared memory"},
        {"import os\nif os.fork() == 0:\n    import time; time.sleep(100)\n", "starts a process"},
        {"import signal\nsignal.setitimer(signal.ITIMER_REAL, 1000)\n", "sets a timer"},
    };
    for (const auto& [text, reason] : modules) {
        write(std::string(text) + kFamily);
        const Heard first = call();
        const Heard second = call();
        EXPECT_THAT(first.outcome.result, HasSubstr(", 1, ")) << first.outcome.error;
        EXPECT_THAT(second.outcome.result, HasSubstr(", 1, ")) << second.outcome.error;
        EXPECT_THAT(first.debug, ElementsAre(HasSubstr(reason)));
    }
}

TEST_F(PythonRunnerTest, RunnerDestructorEndsServer) {
    write(kFamily);
    const pid_t server = parent(result());
    runner.reset();
    EXPECT_TRUE(ends(server));
}

TEST_F(PythonRunnerTest, LimitsNumberOfIdleServers) {
    std::vector<pid_t> servers;
    for (int i = 0; i < 10; ++i) {
        const std::string module = "tool" + std::to_string(i);
        write(kFamily, module + ".py");
        binding.entry = module + ":run";
        servers.push_back(parent(result()));
    }
    EXPECT_TRUE(ends(servers[0]));
    EXPECT_TRUE(ends(servers[1]));
    EXPECT_EQ(parent(result()), servers[9]);
    EXPECT_EQ(::kill(servers[2], 0), 0);
}

TEST_F(PythonRunnerTest, CallCannotReadServerMemory) {
    if (::geteuid() == 0) GTEST_SKIP() << "root may read the memory of every process";
    write(
        "import os\n"
        "def run(payload):\n"
        "    try: open('/proc/%d/mem' % os.getppid(), 'r+b')\n"
        "    except OSError as error: return type(error).__name__\n");
    EXPECT_EQ(result(), R"("PermissionError")");
}

TEST_F(PythonRunnerTest, ForksSandboxedCalls) {
    binding.sandbox = true;
    binding.guarantees.require(Guarantee::NoNetwork, GuaranteeSource::User);
    binding.guarantees.require(Guarantee::NoFilesystemWrite, GuaranteeSource::User);
    write(
        "import ctypes, os\n"
        "LIBC = ctypes.CDLL(None)\n"
        "def run(payload):\n"
        "    scratch = os.environ['TMPDIR']\n"
        "    had = os.listdir(scratch)\n"
        "    os.makedirs(scratch + '/a/b')\n"
        "    open(scratch + '/a/b/c', 'w').close()\n"
        "    return [os.getppid(), had, LIBC.socket(2, 1, 0), LIBC.open(b'new', 0o102, 0o600)]\n");
    const Heard first = call();
    ASSERT_TRUE(first.outcome.ok) << first.outcome.error;
    EXPECT_THAT(first.outcome.result, testing::EndsWith(", [], -1, -1]"));
    EXPECT_EQ(result(), first.outcome.result);
    EXPECT_THAT(first.outcome.guarantees, HasSubstr("no_network"));
    EXPECT_THAT(first.debug, testing::IsEmpty());
    EXPECT_FALSE(std::filesystem::exists(folder + "/new"));
}

TEST_F(PythonRunnerTest, NoSubprocessNeedsFreshProcess) {
    binding.sandbox = true;
    binding.guarantees.require(Guarantee::NoSubprocess, GuaranteeSource::User);
    write(
        "import os\nSTART = os.getpid()\n"
        "def run(payload):\n"
        "    return START == os.getpid()\n");
    EXPECT_EQ(result(), "true");
}

TEST_F(PythonRunnerTest, ReportsScriptAsPythonUnderNoSubprocess) {
    write(kFamily);
    write("#!/bin/sh\nexec '" + interpreter() + "' \"$@\"\n", "python");
    std::filesystem::permissions(folder + "/python", std::filesystem::perms::owner_all);
    binding.python.interpreter = folder + "/python";
    EXPECT_THAT(result(), StartsWith("["));
    binding.sandbox = true;
    binding.guarantees.require(Guarantee::NoSubprocess, GuaranteeSource::User);
    const Heard heard = call();
    EXPECT_EQ(heard.outcome.code, "SPAWN_FAILED");
    EXPECT_THAT(heard.outcome.error, HasSubstr("is a script, and no_subprocess prevents it from"));
}

// A call with a fake process.
class PlayedCall : public tool::ProcessCall {
public:
    using ProcessCall::ProcessCall;
    using ProcessCall::take_process;
    process::Listener& listener() { return *this; }

private:
    bool is_whole(std::string_view reply) const override { return reply.ends_with('\n'); }
};
class PlayedProcess : public tool::Source {
public:
    explicit PlayedProcess(int& terminations) : terminations_(terminations) {}
    void terminate(uint32_t) override { ++terminations_; }
    void stop_reading() override {}

private:
    int& terminations_;
};

TEST_F(PythonRunnerTest, OutputAfterLingerStartsNoSecondTimer) {
    settings.grace_ms = 1;
    tool::ProcessRunner processes(pool, settings);
    tool::Definition definition;
    definition.binding = std::make_shared<tool::project::Binding>(binding);
    tool::Invocation invocation;
    invocation.definition = &definition;
    invocation.request = R"({"input":{}})";
    Heard heard;
    int terminations = 0;
    PlayedCall call(processes, invocation, heard);
    call.take_process(std::make_unique<PlayedProcess>(terminations));
    process::Listener& listener = call.listener();
    std::string reply = "{\"ok\": true}\n";
    reply.reserve(1000);
    listener.on_output(reply.data(), reply.size());
    ASSERT_TRUE(until([&] { return terminations == 1; }));
    listener.on_output(reply.data() + reply.size() - 1, 1);
    EXPECT_EQ(loop.timeout(), -1) << "a timer runs";
}

TEST_F(PythonRunnerTest, BindingCanRequestFreshProcessPerCall) {
    binding.warm = false;
    write("import os\nSTART = os.getpid()\ndef run(payload):\n    return START == os.getpid()\n");
    EXPECT_EQ(result(), "true");
    EXPECT_EQ(result(), "true");
}

}  // namespace
