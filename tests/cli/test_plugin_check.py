# SPDX-License-Identifier: Apache-2.0
"""narratoria plugin check: each plugin of tests/plugin/libraries/family breaks one rule."""

import json
import os
import random
import re
import select
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

from harness import BUILD, DEADLINE, SOURCE, environment

# The thread sanitizer starts its own thread in each process, which rule P20 finds every time. The
# other sanitizers cover the memory of the validator.
pytestmark = pytest.mark.skipif(BUILD.name == "tsan", reason="rule P20 finds the sanitizer's own thread")

FAMILY = BUILD / "tests" / "plugins"
SHIPPED = BUILD / "lib" / "narratoria" / "plugins"
RULES = [f"P{number}" for number in range(1, 49)]

# The variant, the rule that finds it, the verdict, and a part of the message.
CAUGHT = [
    ("undefined_symbol", "P1", "failed", "function_that_nobody_defines"),
    ("second_export", "P2", "failed", "surplus_function"),
    ("links_runtime", "P3", "failed", "libnarratoria.so"),
    ("executable_stack", "P4", "failed", "executable stack"),
    ("slow_constructor", "P5", "failed", "loading took"),
    ("throws_in_constructor", "P5", "failed", "a constructor of the library, such as"),
    ("constructor_ignores_pipe", "P5", "failed", "handler of signal 13"),
    ("no_note", "P6", "failed", "NAR_PLUGIN_NOTE"),
    ("bad_note", "P6", "failed", "line 1, column"),
    ("bad_settings", "P6", "failed", "line 1, column 315: /settings/properties/mood/type: "),
    ("note_lies", "P7", "failed", '"1.0.1"'),
    ("note_lists_more", "P7", "failed", "list of extensions"),
    ("null_plugin", "P8", "failed", "left *plugin NULL"),
    ("refuses_silently", "P9", "failed", "the entry refused without a reason"),
    ("init_fails_silently", "P9", "failed", "init refused without a reason"),
    ("accepts_any_major", "P10", "failed", "accepts a host of ABI 2.0"),
    ("refuses_later_minor", "P10", "failed", "1.65535"),
    ("wrong_major", "P10", "failed", "its abi_version is 2.0"),
    ("wrong_size", "P11", "failed", "size is 8"),
    ("bad_id", "P12", "failed", "Not an id!"),
    ("forgets_extension", "P13", "failed", "narratoria.event_sink/1"),
    ("knows_every_id", "P14", "failed", "returns a struct"),
    ("short_extension", "P16", "failed", "narratoria.ui_handler/1: size is 8"),
    ("init_fails", "P17", "failed", "init failed with the settings {}: there is no device"),
    ("reads_state_in_init", "P18", "failed", "state.read was called in init"),
    ("hangs_in_deinit", "P19", "hung", "did not return in deinit"),
    ("leaks_thread", "P20", "failed", "a thread still runs"),
    ("shares_global", "P21", "failed", "a global variable points to the host"),
    ("reads_state_on_thread", "P22", "failed", "state.read"),
    ("hangs_in_handler", "P23", "hung", "ui_handler handle"),
    ("blocks", "P23", "failed", "ui_handler handle took"),
    ("throws", "P24", "failed", "thrown across the contract"),
    ("aborts", "P25", "crashed", "signal 6"),
    ("exits", "P25", "failed", "ended the process in ui_handler handle"),
    ("crashes", "P26", "crashed", "signal 11"),
    ("installs_handler", "P27", "failed", "handler of signal 13"),
    ("changes_folder", "P27", "failed", "working folder"),
    ("leaks_descriptor", "P28", "failed", "/dev/null"),
    ("leaves_child", "P28", "failed", "child process"),
    ("reads_beyond_size", "P30", "crashed", "beyond the end of the nar_event"),
    ("writes_beyond_size", "P30", "crashed", "beyond the end of the nar_failure"),
    ("reads_unterminated_id", "P30", "crashed", "beyond the end of the id"),
    ("needs_log", "P31", "crashed", "in init"),
    ("crashes_on_unknown_kind", "P32", "crashed", "event_sink event"),
    ("crashes_on_odd_data", "P33", "crashed", "ui_handler handle"),
    ("bad_level", "P34", "failed", "the level is 9"),
    ("never_answers", "P35", "failed", "no reply after 1 s"),
    ("never_renders", "P48", "failed", "no outcome after 1 s"),
    ("answers_twice", "P36", "failed", "already has a reply"),
    ("answers_after_cancel", "P37", "failed", "was cancelled"),
    ("ends_twice", "P39", "failed", "a second time"),
    ("never_ends", "P39", "failed", "within 2 s after cancel"),
    ("output_garbage", "P40", "failed", "line 1 of its output"),
    ("missing_done", "P40", "failed", "0 done events"),
    ("keeps_view", "P41", "crashed", "an event's body, which was no longer valid"),
    ("throws_in_get_extension", "P24", "failed", "get_extension for narratoria.event_sink/1 threw"),
    # A sanitizer words its message differently from the C library.
    ("double_free", "P26", "crashed", "free"),
    ("huge_size", "P11", "failed", "size is 4294967295"),
    ("huge_extension", "P16", "failed", "size is 4294967295"),
    ("huge_end", "P34", "failed", "size is 4294967295"),
    ("huge_output", "P34", "failed", "the size of bytes is 1152921504606846976"),
    ("odd_code", "P34", "failed", 'error_code is "no door"'),
    ("end_without_data", "P34", "failed", "error is NULL with 5 bytes"),
    ("done_without_end", "P39", "failed", "its output has done, which is not the end"),
    ("sets_alarm", "P27", "failed", "raises SIGALRM"),
    ("lets_timer_end_it", "P27", "crashed", "signal 14"),
    ("changes_flags", "P27", "failed", "the flags of descriptor 1"),
    ("changes_priority", "P27", "failed", "the priority"),
    ("renames_thread", "P27", "failed", "the name of the engine's thread"),
    ("sets_terminate", "P27", "failed", "the terminate handler"),
    ("writes_record", "P30", "crashed", "wrote to the nar_event, which belongs to the host"),
    ("writes_body", "P30", "crashed", "wrote to an event's body"),
    ("writes_table", "P30", "crashed", "wrote to narratoria.log/1"),
    ("forks_without_end", "P42", "failed", "started more than 16 processes in ui_handler handle"),
    ("starts_many_threads", "P42", "failed", "started more than 56 threads"),
    ("timer_without_end", "P43", "failed", "a timer's on_time starts itself again"),
    ("post_without_end", "P43", "failed", "a posted function starts itself again"),
    ("prompts_without_end", "P43", "failed", "the session is never idle"),
    ("closes_polled", "P44", "failed", "call poll.stop before close"),
    ("closes_standard", "P45", "failed", "0 (/dev/null)"),
    ("signals_group", "P46", "crashed", "signal 15"),
    ("crashes_at_exit", "P47", "crashed", "in the end of the process"),
    ("crashes_after_deinit", "P20", "crashed", "a thread that still ran after deinit had returned"),
    ("logs_after_deinit", "P20", "failed", "log.write was called after deinit had returned"),
    ("metadata_without_size", "P34", "failed", "nar_state_metadata.size is 0"),
]
# The address sanitizer ends the check before it can report this.
if BUILD.name != "asan":
    CAUGHT.append(("overwrites_check", "P30", "failed", "overwrote memory of the check"))
if len(os.sched_getaffinity(0)) > 1:
    CAUGHT.append(("changes_affinity", "P27", "failed", "the set of processors"))
WARNED = [
    ("unknown_extension", "P15", "org.example.unknown/1"),
    ("bad_plan", "P38", "requestId"),
]


def library(variant):
    path = FAMILY / f"{variant}.so"
    assert path.is_file(), f"{path} is missing; build the target narratoria_plugin_family"
    return path


def check(command, file, *arguments):
    ran = command("plugin", "check", file, "--json", *arguments)
    document = json.loads(ran.out)
    assert ran.status in (0, 1), ran
    assert document["ok"] == (ran.status == 0), ran
    assert [rule["rule"] for rule in document["rules"]] == RULES
    return {rule["rule"]: rule for rule in document["rules"]}


def broken(rules):
    return {
        name: rule["verdict"]
        for name, rule in rules.items()
        if rule["verdict"] not in ("passed", "skipped", "warning")
    }


def warnings(rules):
    return {name for name, rule in rules.items() if rule["verdict"] == "warning"}


def messages(rule):
    return "\n".join(finding["message"] for finding in rule["findings"])


# ---------------------------------------------------------------- the family


def test_good_plugin_passes_every_rule(command):
    ran = command("plugin", "check", library("well_behaved")).exits(0)
    assert ran.err == ""
    assert "\x1b" not in ran.out
    for rule in RULES:
        # Leaks are left to the address sanitizer.
        verdict = "skipped" if rule == "P29" else "passed "
        assert re.search(rf"^{rule:<4} {verdict}  ", ran.out, re.MULTILINE), (rule, ran)
    assert "47 passed, 0 broken, 0 warnings, 1 skipped" in ran.out
    page = (SOURCE / "docs" / "plugin-rules.md").read_text(encoding="utf-8")
    section = re.search(r'plugin-rules.md, "([^"]*)"\)\.\n$', ran.out)[1]
    assert f"\n## {section}\n" in page


@pytest.mark.parametrize("variant, rule, verdict, said", CAUGHT, ids=[one[0] for one in CAUGHT])
def test_violation_is_found_by_its_rule_alone(command, variant, rule, verdict, said):
    rules = check(command, library(variant), "--time", "1")
    assert broken(rules) == {rule: verdict}
    assert said in messages(rules[rule])
    assert rules[rule]["advice"]
    assert warnings(rules) == set()


def test_misspelled_extension_is_named_with_the_nearest_one(command):
    rules = check(command, library("misspelled_extension"), "--time", "1")
    assert broken(rules) == {"P13": "failed"}
    assert rules["P15"]["verdict"] == "warning"
    assert messages(rules["P15"]).endswith("; did you mean narratoria.ui_handler/1?")


def test_settings_are_checked_against_the_schema_in_the_metadata(command):
    rules = check(command, library("well_behaved"), "--settings", '{"mood":1}')
    assert broken(rules) == {} and warnings(rules) == {"P17"}
    assert messages(rules["P17"]) == ('its schema of the settings refuses {"mood":1}: '
                                      '"mood" is an integer but must be a string')


@pytest.mark.parametrize("variant, rule, said", WARNED, ids=[one[0] for one in WARNED])
def test_warning_does_not_fail_the_check(command, variant, rule, said):
    rules = check(command, library(variant), "--time", "1")
    assert broken(rules) == {}
    assert warnings(rules) == {rule}
    assert said in messages(rules[rule])


def test_every_variant_of_the_family_has_its_row():
    listing = (SOURCE / "tests" / "plugin" / "libraries" / "family" / "CMakeLists.txt").read_text()
    family = set(re.search(r"set\(family\s([^)]*)\)", listing)[1].split())
    rows = {one[0] for one in CAUGHT} | {one[0] for one in WARNED}
    # changes_affinity has no row on a machine with one processor, and overwrites_check none under
    # the address sanitizer.
    assert family == rows | {"well_behaved", "without_cancel", "no_entry", "changes_affinity",
                             "overwrites_check", "misspelled_extension"}


def test_page_says_for_every_rule_whether_it_is_checked():
    page = (SOURCE / "docs" / "plugin-rules.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (P\d+) \|.*\| ([^|]*) \|$", page, re.MULTILINE)
    assert sorted(name for name, _ in rows) == sorted(RULES)
    assert all(checked.strip("* ") in ("yes", "in part", "warns", "no") for _, checked in rows)


def test_crash_shows_the_plugin_log_and_the_check_continues(command):
    ran = command("plugin", "check", library("crashes"), "--time", "1").exits(1)
    ran.shows("P26  crashed   does not crash\n", "P1   passed", "P35  passed", "log 1: ready")


def test_metadata_may_be_in_a_file_next_to_the_library(command):
    copy = command.folder / "no_note.so"
    copy.write_bytes(library("no_note").read_bytes())
    names = ("event_sink", "ui_handler", "asset_renderer", "narrator", "tool_runner", "tool")
    metadata = {
        "schema": "plugin/1", "id": "org.narratoria.test.no_note", "name": "Test",
        "version": "1.0.0", "abi": "1.0", "extensions": [f"narratoria.{name}/1" for name in names],
    }
    command.file("no_note.so.json", metadata)
    assert broken(check(command, copy, "--time", "1")) == {}


def test_settings_reach_the_plugin(command):
    command("plugin", "check", library("crashes"), "--settings", '{"colour": "blue"}').shows("log 1: has settings")
    command("plugin", "check", library("crashes"), "--settings", "[1]").exits(2, "--settings:1:1")


# ---------------------------------------------------------------- files that are not plugins


def well_behaved():
    return library("well_behaved").read_bytes()


WRONG_FILES = {
    "text": (b"#!/bin/sh\necho hello\n", "is not a shared library"),
    "empty": (b"", "is empty"),
    "magic": (b"\x7fELF", "damaged"),
    "random": (random.Random(1).randbytes(10_000), "is not a shared library"),
    "random-elf": (b"\x7fELF\x02\x01\x01" + random.Random(2).randbytes(10_000), "is"),
    "32-bit": (b"\x7fELF\x01\x01\x01" + bytes(45), "is a 32-bit library"),
    "big-endian": (b"\x7fELF\x02\x02\x01" + bytes(57), "a different byte order"),
}


@pytest.mark.parametrize("name", WRONG_FILES)
def test_file_that_is_not_a_library_is_refused(command, name):
    content, said = WRONG_FILES[name]
    command("plugin", "check", command.file(name, content)).exits(2, said, name, out="")


def test_library_without_the_entry_is_refused_in_one_line(command):
    ran = command("plugin", "check", library("no_entry")).exits(2, out="")
    assert "no_entry.so is not a plugin: it does not export nar_plugin_entry" in ran.err, ran
    assert ran.err.count("\n") == 1, ran


@pytest.mark.parametrize("part", [0.01, 0.1, 0.5, 0.9, 0.999])
def test_truncated_library_is_refused(command, part):
    whole = well_behaved()
    command("plugin", "check", command.file("cut.so", whole[: int(len(whole) * part)])).exits(2, "damaged")


def test_path_that_is_not_a_library_is_refused(command):
    for path, said in (("missing.so", "No such file"), (command.folder, "is a folder"),
                       ("/dev/null", "not a regular file"), ("/bin/sh", "is a program")):
        command("plugin", "check", path).exits(2, said, out="")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_unreadable_file_is_refused(command):
    path = command.file("closed.so", well_behaved())
    path.chmod(0)
    command("plugin", "check", path).exits(2, "Permission denied")


def test_library_with_damaged_headers_does_not_crash_the_check(command):
    """Replaces the numbers of the header and the segments by a very large one, one at a time."""
    whole = well_behaved()
    segments = struct.unpack_from("<Q", whole, 32)[0]
    for offset in [*range(16, 64, 8), *range(segments, segments + 56 * 3, 8)]:
        damaged = bytearray(whole)
        damaged[offset : offset + 8] = b"\xF0\xFF\xFF\xFF\xFF\xFF\xFF\x7F"
        ran = command("plugin", "check", command.file("damaged.so", bytes(damaged)), "--time", "1")
        assert ran.status in (0, 1, 2), (offset, ran)
        assert ran.out or ran.err, offset


# ---------------------------------------------------------------- other plugins


@pytest.mark.parametrize("kind", ["ui-handler", "asset-renderer", "narrator", "tool-runner", "tool",
                                  "event-sink"])
def test_output_of_plugin_new_passes(command, kind):
    assert command("plugin", "new", "paper-rain", "--kind", kind, "--lang", "c").status == 0
    built = command.folder / "paper-rain.so"
    sources = sorted((command.folder / "paper-rain").glob("*.c"))
    assert sources
    subprocess.run(
        ["cc", "-std=c11", "-fPIC", "-shared", "-fvisibility=hidden",
         f"-I{SOURCE / 'abi' / 'include'}", *sources, "-o", built], check=True)
    rules = check(command, built)
    assert broken(rules) == {} and warnings(rules) == set()


def test_console_plugin_passes_every_rule(command):
    rules = check(command, BUILD / "lib" / "narratoria" / "plugins" / "console.so")
    assert broken(rules) == {} and warnings(rules) == set()


def test_rule_that_does_not_apply_is_skipped_with_a_reason(command):
    rules = check(command, library("without_cancel"))
    assert rules["P37"]["verdict"] == "skipped" and "cancel is NULL" in rules["P37"]["why"]
    rules = check(command, SHIPPED / "event_log.so")
    assert rules["P39"]["verdict"] == "skipped" and "runs no tools" in rules["P39"]["why"]


@pytest.mark.parametrize("kind", ["event_log", "narrator_process"])
def test_extensions_missing_without_metadata_are_not_used(command, kind):
    whole = (SHIPPED / f"{kind}.so").read_bytes()
    assert b'"plugin/1"' in whole
    path = command.file("unknown.so", whole.replace(b'"plugin/1"', b'"plugin/9"'))
    rules = check(command, path, "--time", "1")
    assert broken(rules) == {"P6": "failed"}
    skipped = {name for name, rule in rules.items() if rule["verdict"] == "skipped"}
    narrators = {"P35", "P36", "P37", "P38"} if kind == "event_log" else set()
    assert skipped == {"P7", "P29", "P39", "P40", "P48"} | narrators


def test_rules_of_extensions_only_in_metadata_are_skipped(command):
    rules = check(command, library("note_lists_more"), "--time", "1")
    skipped = {name: rule["why"] for name, rule in rules.items() if rule["verdict"] == "skipped"}
    assert set(skipped) == {"P29", "P35", "P36", "P37", "P38", "P39", "P40", "P48"}
    assert skipped["P35"] == "it is not a narrator" and skipped["P39"] == "it runs no tools"


def children_of(process):
    found = []
    for task in (process / "task").glob("*/children"):
        found += task.read_text().split()
    return found


def test_ctrl_c_ends_the_check_and_the_trial(command):
    running = command.popen("plugin", "check", library("hangs_in_deinit"), "--time", "60")
    process = Path("/proc") / str(running.pid)
    deadline = time.monotonic() + DEADLINE
    # Trials that return exit at once; the one that stays is the one that hangs.
    before = None
    while True:
        now = children_of(process)
        if now and now == before:
            break
        before = now
        assert time.monotonic() < deadline, "no trial hung before the deadline"
        select.select([running.stderr], [], [], 0.2)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=DEADLINE)
    assert running.returncode == 130, (out, err)
    assert not any(Path("/proc", child).exists() for child in now)


# ---------------------------------------------------------------- containment and selected rules


def processes_of(name):
    """The processes that have mapped the library."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if name in (process / "maps").read_text():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def test_fork_bomb_leaves_no_process(command):
    copy = command.folder / "bomb-of-this-test.so"
    copy.write_bytes(library("forks_without_end").read_bytes())
    assert broken(check(command, copy, "--time", "1")) == {"P42": "failed"}
    assert processes_of(copy.name) == []


def test_only_the_given_rules_are_checked(command):
    ran = command("plugin", "check", library("well_behaved"), "--only", "P27,P30", "--json")
    assert [rule["rule"] for rule in json.loads(ran.out)["rules"]] == ["P27", "P30"]
    assert all(rule["verdict"] == "passed" for rule in json.loads(ran.out)["rules"]), ran
    # A violation of a rule that was not selected is reported anyway.
    ran = command("plugin", "check", library("null_plugin"), "--only", "P30", "--json")
    verdicts = {rule["rule"]: rule["verdict"] for rule in json.loads(ran.out)["rules"]}
    assert verdicts == {"P8": "failed", "P30": "skipped"} and ran.status == 1, ran
    ran = command("plugin", "check", library("well_behaved"), "--only", "P27,P99")
    assert ran.status == 2 and 'unknown rule "P99"' in ran.err and "--list" in ran.err, ran


def test_rule_names_are_case_insensitive(command):
    ran = command("plugin", "check", library("well_behaved"), "--only", "p30, P27", "--json")
    assert [rule["rule"] for rule in json.loads(ran.out)["rules"]] == ["P27", "P30"]


@pytest.mark.parametrize("given", ["", ",", "P27,", "P27,,P30", " "])
def test_empty_rule_name_is_refused(command, given):
    ran = command("plugin", "check", library("well_behaved"), "--only", given).exits(2, out="")
    assert f'a rule is missing in "{given}"' in ran.err and "--only P27,P30" in ran.err, ran


@pytest.mark.parametrize("given, near", [
    ("30", ["P30"]), ("p027", ["P27"]), ("P99", ["P9", "P19", "P29", "P39"]),
    ("Memory", ["P29"]), ("bananas", [])])
def test_unknown_rule_is_refused_with_suggestions(command, given, near):
    ran = command("plugin", "check", library("well_behaved"), "--only", given).exits(2, f'unknown rule "{given}"')
    assert re.findall(r"(P\d+) \(", ran.err) == near, ran


def test_list_names_every_rule_and_its_checks(command):
    listed = json.loads(command("plugin", "check", "--list", "--json").out)
    assert [one["rule"] for one in listed] == RULES
    assert [one["rule"] for one in listed if not one["checks"]] == ["P29"]
    lines = command("plugin", "check", "--list").out.splitlines()
    assert len(lines) == len(RULES) and lines[29].startswith("P30  "), lines
    command("plugin", "check").exits(2, "give the plugin's library")


def test_total_time_limit_ends_the_check_and_is_reported(command):
    ran = command("plugin", "check", library("hangs_in_handler"), "--time", "60", "--total", "1", "--json")
    rules = {rule["rule"]: rule for rule in json.loads(ran.out)["rules"]}
    assert ran.status == 1 and rules["P42"]["verdict"] == "failed", ran
    assert "did not end within" in messages(rules["P42"]), ran
    assert rules["P33"]["verdict"] == "skipped" and "--total" in messages(rules["P42"]), ran


# A process in uninterruptible sleep cannot be killed, and a test cannot create one. This shim makes
# SIGKILL do nothing instead.
KILL_WITHOUT_EFFECT = """
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
int kill(pid_t process, int number) {
    return number == SIGKILL ? 0 : (int)syscall(SYS_kill, process, number);
}
"""


@pytest.mark.skipif(BUILD.name == "asan", reason="the sanitizer's library must be loaded first")
def test_unkillable_process_is_reported_and_ends_the_check(command):
    source, shim = command.file("kill.c", KILL_WITHOUT_EFFECT), command.folder / "kill.so"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", source, "-o", shim], check=True)
    ran = command("plugin", "check", library("hangs_in_handler"), "--time", "1", "--json",
                  env=environment(LD_PRELOAD=str(shim)))
    rules = {rule["rule"]: rule for rule in json.loads(ran.out)["rules"]}
    assert broken(rules) == {"P23": "hung"}, ran
    assert re.search(r"process \d+ could not be killed within 5 s and still exists \(state ",
                     messages(rules["P23"])), ran
    assert "could not be ended" in rules["P33"]["why"], ran
