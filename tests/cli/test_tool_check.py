# SPDX-License-Identifier: Apache-2.0
"""narratoria tool check: each rule, kept and broken."""

import json
import os
import re
import resource
import signal
import time

import pytest

from harness import BUILD, SOURCE, TORCH, done, event, log

RULES = [f"T{number}" for number in range(1, 21)]


def check(command, tool, *arguments):
    ran = command("tool", "check", tool, "--json", *arguments)
    document = json.loads(ran.out)
    assert document["ok"] == (ran.status == 0), ran
    assert [rule["rule"] for rule in document["rules"]] == RULES
    return {rule["rule"]: rule for rule in document["rules"]}


def failed(rules):
    return {name for name, rule in rules.items() if rule["verdict"] == "failed"}


def good(*lines):
    return "".join(f"echo '{line}'\n" for line in [*lines, done()])


def shell(command, body, name="tool"):
    return command.script(name, "#!/bin/sh\n" + body)


def findings(rules, rule):
    return [finding["message"] for finding in rules[rule]["findings"]]


def cases(name):
    return json.loads((SOURCE / "tests" / "conformance" / "cases" / f"{name}.json").read_text(encoding="utf-8"))


def checked(found, table):
    """The cases that `tool check` has findings for; case N is in line N."""
    inputs = table["valid"] + table["invalid"]
    return [inputs[finding["line"] - 1] for finding in found]


@pytest.mark.skipif(BUILD.name == "asan", reason="the sanitizer needs terabytes of address space")
def test_endless_output_is_stopped_within_bounded_memory(command):
    shell(command, f"yes '{log('again')}'\n")
    ran = command("tool", "check", "./tool", limit=(resource.RLIMIT_AS, 1 << 30)).exits(1)
    ran.shows("it wrote more than 16 MiB or 100,000 lines and was terminated")


def test_last_of_duplicate_members_wins_as_in_a_run(command):
    event = '{"version":"0","type":"log","type":"done","ok":false,"ok":true}'
    assert failed(check(command, shell(command, f"echo '{event}'\n"))) == set()
    assert command("tool", "run", "./tool").status == 0


def run_each(command, lines):
    """The event records of a plan in which tool N writes line N."""
    tool = command.script("say", f"#!/bin/sh\nprintf '%s\\n' \"$LINE\" '{done()}'\n")
    plan = command.file("plan.json", {"requestId": "cases", "tools": [
        {"toolId": str(number), "toolPath": str(tool), "environment": {"LINE": line}, "required": False,
         "retryPolicy": {"maxRetries": 0, "backoffMs": 0}} for number, line in enumerate(lines)]})
    command("run", plan, "--quiet", "--events", "records.ndjson").exits(0)
    return [json.loads(line) for line in (command.folder / "records.ndjson").read_bytes().split(b"\n") if line]


# ---------------------------------------------------------------- tools that keep the rules


@pytest.mark.parametrize(
    "tool, given",
    [("torch-lighter", '{"action": "light_torch"}'), ("door-examiner", '{"target": "mysterious_door"}'),
     ("rusty-lever", "{}")])
def test_example_tools_pass_every_rule(command, tool, given):
    assert failed(check(command, TORCH / "tools" / tool, "--input", given)) == set()


def test_good_tool_exits_with_0_and_every_rule_is_printed(command):
    ran = command("tool", "check", command.tool("light", log("hot"), done())).exits(0)
    for rule in RULES:
        assert f"  {rule:<4} " in ran.out
    assert "failed" not in ran.out.replace(", 0 failed,", "")
    assert "\x1b" not in ran.out
    assert ran.err == ""


def test_finding_gives_line_byte_pointer_and_advice(command):
    ran = command("tool", "check", command.tool("loud", log("a"), log("b", level="shout"), done())).exits(1)
    byte = log("b", level="shout").index('"shout"') + 1
    ran.shows("failed          T5 ", f"line 2, byte {byte}, /level: ", "→ use one of the four levels")


@pytest.mark.parametrize("line", [
    log("ä", level="ä"), event("telepathy"), log("ä")[:-1] + ",}", log("ä")[:-1] + "}}", "5",
    event("done", ok="yes")])
def test_check_and_run_report_a_fault_at_the_same_byte(command, line):
    tool = command.tool("odd", log("ä"), log("b"), line, done())
    ran = command("tool", "run", tool)
    number, byte = re.search(r"line (\d+), byte (\d+)", ran.err).groups()
    rules = check(command, tool)
    found = [finding for rule in rules.values() for finding in rule["findings"]
             if "byte" in finding and "run" not in finding and finding["line"] == 3]
    assert (int(number), int(byte)) in {(each["line"], each["byte"]) for each in found}, (ran, found)
    assert number == "3"


# ---------------------------------------------------------------- rule by rule


def test_t1_tool_that_does_not_start(command):
    rules = check(command, command.script("broken", "#!/no/such/interpreter\n"))
    assert failed(rules) == {"T1"}
    assert {rule["verdict"] for name, rule in rules.items() if name != "T1"} == {"not_applicable"}


@pytest.mark.parametrize("interpreter", ["/bin/sh", "/usr/bin/env python3"])
def test_t1_carriage_return_in_the_interpreter_line(command, interpreter):
    tool = command.script("broken", f"#!{interpreter}\r\nexit\r\n")
    rules = check(command, tool)
    assert "T1" in failed(rules)
    assert "carriage return" in findings(rules, "T1")[0] and r"sed -i 's/\r$//'" in findings(rules, "T1")[0]
    command("tool", "run", tool).exits(1, "carriage return", "sed -i")


def test_tool_gets_an_output_folder_that_is_removed(command):
    announce = event("asset", assetId="a", kind="text", mediaType="text/plain", path="PATH").replace("PATH", "'\"$file\"'")
    tool = shell(command, f"""file=$NARRATORIA_OUTPUT_DIR/a.txt
echo text >"$file" || exit 1
echo "$NARRATORIA_OUTPUT_DIR" >>"$0.folders"
echo '{announce}'
echo '{done()}'
""")
    rules = check(command, tool)
    assert failed(rules) == set(), rules
    folders = (command.folder / "tool.folders").read_text().split()
    assert folders and not any(os.path.exists(folder) for folder in folders)


def test_t2_nonzero_exit_status(command):
    rules = check(command, shell(command, good() + "exit 3\n"))
    assert "T2" in failed(rules)
    assert findings(rules, "T2") == ["it ended with exit status 3"]


def test_t2_death_by_signal(command):
    assert "signal 11" in findings(check(command, shell(command, good() + "kill -SEGV $$\n")), "T2")[0]


def test_t2_tool_that_never_ends(command):
    rules = check(command, shell(command, "exec sleep 60\n"), "--time-limit", "0.2")
    assert {"T2", "T6"} <= failed(rules)
    assert rules["T18"]["verdict"] == "passed"


# covers: 000-2.2-ndjson, 000-2.3-whole-object
def test_t3_text_among_the_events(command):
    rules = check(command, shell(command, "echo 'Hello!'\n" + good()))
    assert "T3" in failed(rules)
    assert rules["T3"]["findings"][0]["line"] == 1


# covers: 000-2.3-utf8, 000-2.3-newline
@pytest.mark.parametrize(
    "output",
    ["printf '\\377\\n'", "printf '[]\\n'", "printf '\\n'", f"printf '%s\\r\\n' '{log('x')}'",
     "printf '\\357\\273\\277'"],
    ids=["invalid UTF-8", "array", "empty line", "carriage return", "byte order mark"])
def test_t3_invalid_lines(command, output):
    assert "T3" in failed(check(command, shell(command, output + "\n" + good())))


def test_t3_last_line_without_a_newline(command):
    assert failed(check(command, shell(command, f"printf '%s' '{done()}'\n"))) == {"T3"}


# covers: 000-8-tool-version, 000-8-tool-types, 004-log-message
@pytest.mark.parametrize(
    "line, pointer",
    [(event("log", level="info"), "/message"), (event("log", level="info", message=""), "/message"),
     ('{"version":"1","type":"log","level":"info","message":"x"}', "/version"),
     ('{"type":"log","level":"info","message":"x"}', "/version"),
     (event("telepathy"), "/type"), (event("state_patch", patch=[1]), "/patch")])
def test_t4_invalid_events(command, line, pointer):
    rules = check(command, shell(command, good(line)))
    assert "T4" in failed(rules)
    assert rules["T4"]["findings"][0]["pointer"] == pointer


# covers: 004-log-level
def test_t5_levels_and_progress(command):
    rules = check(command, shell(command, good(log("x", level="shout"))))
    assert {"T5"} <= failed(rules) and "T4" not in failed(rules)
    for progress in (1.5, -1, "half"):
        rules = check(command, shell(command, good(log("x", progress=progress))))
        assert failed(rules) == {"T5"}
        assert rules["T5"]["findings"][0]["pointer"] == "/fields/progress"
    assert failed(check(command, shell(command, good(log("x", progress=1))))) == set()


# covers: 000-4.6-exactly-one-done, 004-done-exactly-one
def test_t6_missing_and_duplicate_done(command):
    assert "T6" in failed(check(command, shell(command, f"echo '{log('x')}'\n")))
    assert {"T6", "T7"} <= failed(check(command, shell(command, good() + good())))


# covers: 000-4.6-nothing-after-done
def test_t7_events_after_done(command):
    rules = check(command, shell(command, good() + f"echo '{log('late')}'\n"))
    assert "T7" in failed(rules)
    assert rules["T7"]["findings"][0]["line"] == 2


def test_t8_lingering_after_done(command):
    assert failed(check(command, shell(command, good() + "exec sleep 60\n"))) == {"T8"}


# covers: 000-4.5-done-follows
def test_t9_success_after_an_error(command):
    error = event("error", errorCode="E", errorMessage="m")
    assert failed(check(command, shell(command, good(error)))) == {"T9"}
    body = f"echo '{error}'\necho '{done(ok=False)}'\n"
    assert check(command, shell(command, body))["T9"]["verdict"] == "passed"


# covers: 000-3-timestamp
def test_t10_and_the_runtime_agree_on_every_timestamp(command):
    table = cases("timestamps")
    lines = [event("log", level="info", message="x", timestamp=each) for each in table["valid"] + table["invalid"]]
    found = check(command, command.tool("stamps", *lines, done()))["T10"]["findings"]
    assert checked(found, table) == table["invalid"]
    assert {finding["pointer"] for finding in found} == {"/timestamp"}
    warned = {record["toolId"] for record in run_each(command, lines)
              if record["kind"] == "warning" and record["event"]["code"] == "TIMESTAMP"}
    assert [each for number, each in enumerate(table["valid"] + table["invalid"]) if str(number) in warned] == table["invalid"]


# covers: 000-3-request-id
def test_t11_foreign_request_id(command):
    line = event("log", level="info", message="x", requestId="mine")
    assert failed(check(command, shell(command, good(line)))) == {"T11"}


def test_t11_the_request_id_of_the_invocation(command):
    body = """read -r line || line='"requestId":""'
id=${line#*'"requestId":"'}
id=${id%%'"'*}
printf '{"version":"0","type":"log","level":"info","message":"x","requestId":"%s"}\\n' "$id"
"""
    assert check(command, shell(command, body + good()))["T11"]["verdict"] == "passed"


# covers: 000-7-asset-paths, 000-4.3-path-readable, 000-4.3-file-first
def test_t12_missing_assets(command):
    picture = command.file("p.png", b"\x89PNG\r\n\x1a\n")

    def asset(path):
        return event("asset", assetId="a", kind="image", mediaType="image/png", path=str(path))

    for path in (picture, "p.png"):
        assert failed(check(command, shell(command, good(asset(path))))) == set()
    for path in ("/no/such/file", "q.png", command.folder):
        rules = check(command, shell(command, good(asset(path))))
        assert failed(rules) == {"T12"}
        assert rules["T12"]["findings"][0]["pointer"] == "/path"


# covers: 000-4.3-media-type, 004-asset-media-type
@pytest.mark.parametrize(
    "media_type, content, verdict",
    [("image/png", b"\x89PNG\r\n\x1a\n....", "passed"), ("image/png", b"\xff\xd8\xff", "failed"),
     ("image/png", b"", "failed"), ("IMAGE/PNG", b"\x89PNG\r\n\x1a\n", "passed"),
     ("image/svg+xml", b"<svg/>", "passed"), ("audio/ogg; codecs=\"opus\"", b"OggS", "passed"),
     ("picture", b"x", "failed"), ("image/png; charset", b"\x89PNG\r\n\x1a\n", "failed"),
     ("application/x-anything", b"x", "passed")])
def test_t13_media_types(command, media_type, content, verdict):
    file = command.file("asset", content)
    line = event("asset", assetId="a", kind="image", mediaType=media_type, path=str(file))
    assert check(command, shell(command, good(line)))["T13"]["verdict"] == verdict


# covers: 000-4.3-media-type, 004-asset-media-type
def test_t13_and_the_runtime_agree_on_every_media_type(command):
    table = cases("media-types")
    file = command.file("asset", b"x")
    all_types = table["valid"] + table["invalid"]
    lines = [event("asset", assetId=str(number), kind="thing", mediaType=each, path=str(file))
             for number, each in enumerate(all_types)]
    rules = check(command, command.tool("assets", *lines, done()))
    # T13 also has findings about the content, left out here. An empty media type breaks T4.
    found = [each for each in rules["T13"]["findings"] if "MIME" in each["message"]] + rules["T4"]["findings"]
    assert sorted(checked(found, table)) == sorted(table["invalid"])
    assert [finding["pointer"] for finding in rules["T4"]["findings"]] == ["/mediaType"]
    refused = {record["toolId"] for record in run_each(command, lines)
               if record["kind"] == "asset_refused" and record["event"]["code"] == "ASSET_INVALID"
               or record["kind"] == "tool_ended" and record["event"]["state"] == "failed"}
    assert [each for number, each in enumerate(all_types) if str(number) in refused] == table["invalid"]


# covers: 000-4.3-asset-id-unique, 004-asset-id-unique
def test_t14_duplicate_asset_id(command):
    file = command.file("a.txt", "x")
    line = event("asset", assetId="a", kind="text", mediaType="text/plain", path=str(file))
    assert failed(check(command, shell(command, good(line, line)))) == {"T14"}


@pytest.mark.parametrize(
    "payload, verdict",
    [({"choices": ["Open", "Leave"]}, "passed"), ({"choices": []}, "failed"), ({}, "failed"),
     ({"choices": ["Open", 2]}, "failed"), ({"choices": "Open"}, "failed")])
def test_t15_choices(command, payload, verdict):
    line = event("ui_event", event="narrative_choice", payload=payload)
    assert check(command, shell(command, good(line)))["T15"]["verdict"] == verdict


def test_t15_shows_choices_that_are_not_a_list(command):
    line = event("ui_event", event="narrative_choice", payload={"choices": "Open"})
    assert '"Open" is not a list of choices' in str(check(command, shell(command, good(line)))["T15"])


def test_t16_tool_that_fails_without_input(command):
    body = "input=$(cat)\n[ -n \"$input\" ] || exit 1\n" + good()
    rules = check(command, shell(command, body))
    assert failed(rules) == {"T16"}
    assert rules["T16"]["findings"][0]["run"] == "without input"


# covers: 000-8-tool-tolerates, 000-6-input-ignored
def test_t17_tool_that_does_not_tolerate_new_fields(command):
    body = f"case $(cat) in *LaterVersion*) echo '{done(ok=False)}';; *) echo '{done()}';; esac\n"
    assert failed(check(command, shell(command, body))) == {"T17"}


def test_tool_that_never_reads_its_input_passes(command):
    assert failed(check(command, shell(command, "exec <&-\n" + good()))) == set()


def test_t18_long_running_tool_that_ignores_sigterm(command):
    body = "trap '' TERM\nread line <&3\n" + good()
    os.mkfifo(command.folder / "never")
    tool = command.script("stubborn", "#!/bin/sh\nexec 3<>never\n" + body)
    assert {"T2", "T18"} <= failed(check(command, tool, "--time-limit", "0.2"))


def test_t18_applies_to_a_slow_tool(command):
    assert check(command, shell(command, "sleep 0.7\n" + good()))["T18"]["verdict"] == "passed"


def test_t19_leftover_process(command):
    rules = check(command, shell(command, "sleep 60 >/dev/null 2>&1 &\n" + good()))
    assert failed(rules) == {"T19"}
    assert findings(rules, "T19")[0].startswith("sleep (process ")
    process = int(findings(rules, "T19")[0].split("process ")[1].split(")")[0])
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_t19_daemon_that_holds_standard_output(command):
    body = good() + "setsid sh -c 'setsid sleep 60 &' &\nwait\n"
    assert "T19" in failed(check(command, shell(command, body)))


# ---------------------------------------------------------------- the command itself


def test_tool_that_reports_failure_passes_with_a_hint(command):
    command("tool", "check", command.tool("sorry", done(ok=False))).exits(0).shows("--input")


def test_diagnostics_are_shown_with_findings(command):
    ran = command("tool", "check", command.tool("break", done(), before="echo 'because' >&2", exit_status=3))
    assert "  | because" in ran.out


@pytest.mark.parametrize(
    "arguments, said",
    [([], "TOOL is required"), (["missing"], "cannot find the tool"), (["plain"], "chmod +x"),
     (["light", "--input", "["], "--input:1:"), (["light", "--time-limit", "0"], "--time-limit")])
def test_misuse_exits_with_2(command, arguments, said):
    command.tool("light", done())
    command.file("plain", "#!/bin/sh\n")
    command("tool", "check", *arguments).exits(2, said, out="")


def test_ctrl_c_ends_the_check_and_the_tool(command):
    os.mkfifo(command.folder / "there")
    tool = command.script("wait", "#!/bin/sh\necho $$ > there\nexec sleep 60\n")
    process = command.popen("tool", "check", tool)
    with open(command.folder / "there") as there:
        number = int(there.read())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    assert process.returncode == 130
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def status_of(process):
    """The fields of /proc/PID/stat after the name: state, parent, ..."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ["Z", "0"]


def has_ended(process):
    return status_of(process)[0] == "Z"


def children_of(process):
    numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [number for number in numbers if status_of(number)[1] == str(process)]


@pytest.mark.parametrize("victim", ["the command", "its child"])
def test_killed_check_leaves_no_process_running(command, victim):
    os.mkfifo(command.folder / "there")
    tool = command.script("wait", "#!/bin/sh\nsetsid sleep 61 &\necho $$ $! > there\nexec sleep 60\n")
    with command.popen("tool", "check", tool) as process:
        with open(command.folder / "there", encoding="utf-8") as there:
            numbers = [int(word) for word in there.read().split()]
        child, = children_of(process.pid)
        os.kill(process.pid if victim == "the command" else child, signal.SIGKILL)
        process.communicate(timeout=300)
    assert process.returncode == (-9 if victim == "the command" else 128 + 9)
    deadline = time.monotonic() + 300
    while not all(map(has_ended, [child, *numbers])) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert all(map(has_ended, [child, *numbers]))


def test_check_killed_by_its_tool_is_reported(command):
    ran = command("tool", "check", shell(command, "kill -9 $PPID\nsleep 1\n" + good()))
    assert ran.status == 128 + signal.SIGKILL
    assert ran.out == ""
    assert "the check was killed by signal 9" in ran.err
    assert "the tool may have sent the signal" in ran.err


# ---------------------------------------------------------------- T20


@pytest.mark.parametrize("manifest, result, said", [
    ({"result": {"type": "object", "required": ["degrees"]}}, {"degrees": 3}, None),
    ({"result": {"type": "object", "required": ["degrees"]}}, {"warm": True}, '"/result/degrees" is missing'),
    ({"result": {"type": "integer"}}, "three", '"/result"'),
    ({"parameters": [], "returns": "string"}, 3, '"/result"'),
])
def test_t20_result_must_match_the_manifest(command, manifest, result, said):
    tool = command.tool("weather", log("looks up"), done(result=result))
    command.file("weather.tool.json", manifest)
    rules = check(command, tool)
    assert failed(rules) == (set() if said is None else {"T20"}), rules["T20"]
    if said is None:
        assert rules["T20"]["verdict"] == "passed"
        return
    (finding,) = rules["T20"]["findings"]
    assert said in finding["message"], finding
    assert (finding["line"], finding["pointer"]) == (2, "/result")


@pytest.mark.parametrize("manifest, output, why", [
    (None, done(result=3), "no manifest"),
    ({"description": "Tells the weather."}, done(result=3), "no manifest"),
    ({"result": {"type": "integer"}}, done(), "no result"),
    ({"result": {"type": "integer"}}, done(False, result="?"), "no result"),
])
def test_t20_needs_a_schema_and_a_result(command, manifest, output, why):
    tool = command.tool("weather", output)
    if manifest is not None:
        command.file("weather.tool.json", manifest)
    rule = check(command, tool)["T20"]
    assert rule["verdict"] == "not_applicable" and why in rule["why"], rule


def test_t20_unusable_manifest_is_a_finding(command):
    tool = command.tool("weather", done(result=3))
    command.file("weather.tool.json", {"name": "climate", "result": {"type": "objekt"}})
    rules = check(command, tool)
    assert failed(rules) == {"T20"}
    (message,) = findings(rules, "T20")
    assert "/result/type" in message and '"climate"' in message, message


def test_failure_without_input_names_the_option(command):
    command.script("need", "#!/usr/bin/env python3\nimport json, sys\njson.load(sys.stdin)['input']['target']\n")
    advice = "If it needs input, pass it with --input"
    assert advice in command("tool", "check", "./need").out
    assert advice not in command("tool", "check", "./need", "--input", "{}").out
