# SPDX-License-Identifier: Apache-2.0
"""Faults of a project are reported with file and line, and disable only the tool or pack that they concern."""

import sys

import pytest

from harness import environment
from project_folders import CAPABILITIES, ENTRYPOINTS, GREETER, bound, events, pack


def test_binding_faults_are_all_reported_with_line_and_field(project):
    project.bind('tools:\n  a:\n    entry: nothing\n    rnner: local\n    timeout_ms: "5"\n'
                 '  b:\n    kind: ruby\n    sandbox: 1\n    env: {"PORT": 80}\n')
    said = project.faults()
    for line, tool, field in ((3, "a", "entry"), (4, "a", "rnner"), (5, "a", "timeout_ms"),
                              (7, "b", "kind"), (8, "b", "sandbox"), (9, "b", "PORT")):
        place = next(each for each in said.splitlines() if f".namel3ss/tools.yaml:{line}:" in each)
        assert f'"{tool}"' in place and field in place, said
    assert 'did you mean "runner"' in said and '"entry" is missing' in said


def test_wrong_url_is_one_fault(project):
    project.bind("tools:\n  a:\n    entry: a:b\n    runner: service\n    url: ftp://x\n")
    said = project.faults()
    assert '"url" cannot be used' in said and len(said.splitlines()) == 1, said


@pytest.mark.parametrize("text, told", [
    ("a: &a [x]\nb: *a\n", "anchor"),
    ("tools:\n  a: !!python/object:os.system {entry: x}\n", "tag"),
    ("tools:\n  a: {entry: a:b}\n  a: {entry: a:b}\n", "twice"),
    ("tools: " + "{a: " * 5000, "deeper"),
    ("tools:\n" + "  " * 100 + "- x\n\t- y\n", "YAML"),
    ("tools:\n  a:\n    entry: a:b\n---\ntools: {}\n", "second document"),
    ("", '"tools" is missing'),
    ("tools: 7\n", "a table of tools"),
    ("tools:\n  a: a:b\n", '"kind" and "entry"'),
    ("tools: {}\n" + "#" * 300_000, "256 KiB"),
    ("tools:\n  a\0: {}\n", "NUL"),
], ids=lambda value: repr(value[:20]))
def test_unsupported_yaml_is_refused_with_its_place(project, text, told):
    project.bind(text)
    said = project.faults()
    assert told in said and "tools.yaml" in said, said


@pytest.mark.parametrize("text, place", [
    ("\ufefftools:\n  t:\n    entry: x\n", "3:12"), ("tools:\r\n  t:\r\n    entry: x\r\n", "3:12"),
    ('\ufeff{"tools": {"é😀": {entry: x}}}', "1:26"), ("tools:\n  t:\n    entry:\n  u: {}\n", "3:5"),
    ("tools:\n  t:\n", "2:3"),
], ids=["byte order mark", "carriage return", "letters", "no value", "no table"])
def test_fault_position_is_exact_in_every_encoding(project, text, place):
    project.bind(text)
    (project.folder / ".namel3ss/tools.yaml").write_bytes(text.encode())
    assert f"tools.yaml:{place}: " in project.faults()


def test_settings_fault_position_is_exact_after_a_bom(project):
    project.write("namel3ss.toml", "\ufeffpython_tools = 1\n")
    assert "namel3ss.toml:1:16: " in project.faults()


def test_file_of_100_mb_is_refused_unread(project):
    for name in (".namel3ss/tools.yaml", "namel3ss.toml"):
        with open(project.folder / name, "wb") as file:
            file.truncate(100_000_000)
        said = project.faults()
        assert name in said and "256 KiB" in said, said
        (project.folder / name).unlink()


@pytest.mark.parametrize("files, level, told", [
    ({"namel3ss.toml": "[python_tools]\npython = '/bin/ls'\n"}, "", "/bin/ls is a program, but not Python"),
    ({".namel3ss/tools.yaml": "tools:\n  t: {entry: m:f, runner: service, url: 'http://h:99999/'}\n"}, "",
     "port is not a number from 1 to 65535"),
    ({"namel3ss.toml": "[python_tools]\nservice_url = 'ftp://h/'\n"}, "", "does not begin with http"),
    ({".namel3ss/tools.yaml": "tools:\n  t: {entry: m:f, runner: container, image: i}\n"}, "warning",
     "neither docker nor podman was found"),
    ({".namel3ss/tools.yaml": "tools:\n  t: {entry: tools.sample_tool:nothing}\n"}, "warning", 'does not define "nothing"'),
    ({".namel3ss/tools.yaml": "tools:\n  t: {entry: tools:nothing}\n"}, "", "without __init__.py"),
    ({"namel3ss.toml": "[tool_packs]\ndisabled_pack = ['a']\n"}, "", 'did you mean "disabled_packs"'),
])
def test_validate_reports_what_cannot_work_with_file_and_line(project, files, level, told):
    for name, text in files.items():
        project.write(name, text)
    ran = project.command("validate", "project", project.folder,
                          env=environment(PATH="/nowhere", NARRATORIA_CONTAINER_RUNTIME=""))
    line = next((line for line in ran.lines if told in line), None)
    assert line is not None, ran
    assert (": warning: " in line) == bool(level), line
    assert any(f"{name}:2:" in line for name in [*files, "tools.yaml"]), line


def test_refused_url_is_not_quoted_with_its_password(project):
    project.tool("greet", "runner: service", 'url: "http://ada:secret@h:99999/"')
    said = project.faults()
    assert "65535" in said and "secret" not in said, said


def test_unrelated_settings_are_ignored_and_faults_are_located(project):
    project.write("namel3ss.toml", '[ollama]\nhost = "x"\n\n[capability_overrides]\n'
                  'greeter = { no_netwrk = true, no_network = 1 }\nnobody = { no_network = true }\n')
    said = project.faults()
    assert "namel3ss.toml:5:" in said and 'did you mean "no_network"' in said, said
    assert '"no_network" must be true or false' in said and '"greeter"' in said, said
    project.write("namel3ss.toml", "[python_tools\n")
    assert "not valid TOML" in project.faults()


def test_misspelled_table_is_refused_rather_than_ignored(project):
    project.write("namel3ss.toml", "[python]\nx = 1\n\n[capability_override]\n"
                  "greeter = { no_network = true }\n")
    said = project.faults()
    assert "namel3ss.toml:4:" in said and 'did you mean "capability_overrides"?' in said, said
    assert '"python"' not in said, said
    project.write("namel3ss.toml", "[python]\nx = 1\n")
    project.write(".namel3ss/trust/policy.toml", 'other = 1\n[allowed_capabilites]\nnetwork = "none"\n')
    said = project.faults()
    assert "policy.toml:2:" in said and 'did you mean "allowed_capabilities"?' in said, said
    project.write(".namel3ss/trust/policy.toml", '[alowd_capabilites]\nnetwork = "none"\n')
    assert 'did you mean "allowed_capabilities"?' in project.faults()


USED = {"local": ["env", "sandbox", "warm"], "service": ["url"],
        "container": ["image", "command", "env", "enforcement"]}
VALUES = {"url": "http://h/x", "image": "i", "command": "[a]", "env": "{A: b}", "sandbox": "true",
          "enforcement": "declared", "warm": "true"}


@pytest.mark.parametrize("runner", USED)
def test_field_that_the_runner_does_not_use_is_a_warning(project, runner):
    project.tool("greet", f"runner: {runner}", *(f"{name}: {value}" for name, value in VALUES.items()))
    ran = project.command("validate", "project", project.folder)
    told = [line for line in ran.lines if "[project-no-effect]" in line]
    for number, name in enumerate(VALUES, start=5):
        mine = [line for line in told if f"tools.yaml:{number}:" in line]
        assert len(mine) == (name not in USED[runner]), (name, told)
        for line in mine:
            assert "warning" in line and '"greet"' in line and f'"{name}"' in line, line
    # A call reports the warning, too.
    assert f'"{next(each for each in VALUES if each not in USED[runner])}"' in project.run("greet")[0].err


def test_settings_without_effect_are_warnings(project):
    pack(project, more=ENTRYPOINTS + 'service_url: "http://h/x"\ncontainer:\n  image: "i"\n')
    project.write(".namel3ss/packs/one/tools.yaml", 'tools:\n  pick:\n    entry: "one_tools:run"\n')
    project.write(".namel3ss/packs/one/capabilities.yaml",
                  CAPABILITIES.format(tool="pick") + CAPABILITIES.format(tool="pikc")[14:])
    project.tool("greet", "timeout_ms: 5", "timeout_seconds: 5")
    project.write("namel3ss.toml", '[python_tools]\npython = "/usr/bin/python3"\n[capability_overrides]\n'
                  'greet = { no_network = false, enforcement = "declared", allow_unsafe_execution = true }\n'
                  'gret = { no_network = true }\n'
                  '[tool_packs]\ndisabled_packs = ["pack.oen"]\npinned_tools = { greet = "pack.one" }\n')
    project.write(".namel3ss/trust/policy.toml", 'allow_unverified_installs = true\nother = 1\n')
    (project.folder / ".venv/bin").mkdir(parents=True)
    (project.folder / ".venv/bin/python").symlink_to(sys.executable)
    ran = project.command("validate", "project", project.folder)
    for place, told in (("pack.yaml:12:", '"service_url" has no effect'), ("pack.yaml:14:", '"image" has no effect'),
                        ("pack.yaml:10:", '"entrypoints" has no effect'),
                        ("capabilities.yaml:8:", 'did you mean "pick"'),
                        ("tools.yaml:5:", '"timeout_seconds" has no effect'),
                        ("namel3ss.toml:2:", "the Python of the project's .venv "),
                        ("namel3ss.toml:4:", '"no_network" has no effect'),
                        ("namel3ss.toml:4:", '"enforcement" has no effect'),
                        ("namel3ss.toml:4:", '"allow_unsafe_execution" has no effect'),
                        ("namel3ss.toml:5:", 'did you mean "greet"'),
                        ("namel3ss.toml:7:", 'did you mean "pack.one"'),
                        ("namel3ss.toml:8:", 'has no tool "greet"'),
                        ("policy.toml:1:", "installation of packs"), ("policy.toml:2:", '"other" has no effect')):
        assert any(place in line and told in line and "warning" in line for line in ran.lines), (
            place, told, ran.lines)


def test_warnings_of_unknown_tools_are_limited_to_100(project):
    project.bind("tools:\n" + "".join(f"  a_tool_with_a_name_{i:04}: {{entry: 'tools.sample_tool:greet'}}\n"
                                      for i in range(3000)))
    project.write("namel3ss.toml", "[capability_overrides]\n" + "".join(
        f"a_tool_with_b_name_{i:04} = {{}}\n" for i in range(7000)))
    ran = project.command("validate", "project", project.folder)
    assert len([line for line in ran.lines if "no tool of the project" in line]) == 100, ran.lines[:3]
    assert any("more faults follow" in line for line in ran.lines)


def test_policy_without_packs_is_a_warning(project):
    project.write(".namel3ss/trust/policy.toml", '[allowed_capabilities]\nnetwork = "none"\n')
    project.command("validate", "project", project.folder).exits(0).shows("it applies to packs")


def test_secrets_without_variables_are_a_warning(project):
    pack(project, capabilities=CAPABILITIES.replace('env: "read"', 'env: "none"'))
    ran = project.command("validate", "project", project.folder).exits(0)
    assert '"secrets" has no effect: a secret is a variable, and the tool may read none' in ran.lines[0], ran


def test_fault_disables_only_its_tool(project):
    project.bind("tools:\n  greeter:\n    entry: tools.sample_tool:greet\n"
                 "  odd:\n    entry: tools.sample_tool:greet\n    runner: node\n")
    ran, _ = project.run("greeter", {"name": "Ada"})
    assert ran.status == 0 and events(ran)[-1]["result"]["message"] == "Hello Ada", ran
    ran, (call,) = project.run("odd").exits(1, "cannot be called: .namel3ss/tools.yaml: line 6, column 13")
    assert (call["decision"], call["reason"], call["result"]) == ("error", "unknown_runner", "error")
    assert "tools.yaml" in bound(project, "odd")["problem"]


def test_run_reports_only_the_faults_of_its_tool_and_each_once(project):
    project.bind(GREETER + "  odd:\n    entry: 7\n    sandbox: false\n  killed:\n    entry: tools.killed:run\n")
    project.write("tools/killed.py", "import os\ndef run(payload):\n    os.kill(os.getpid(), 9)\n")
    assert project.run("greeter", {"name": "Ada"})[0].err == ""
    for name, said in (("odd", "tools.yaml: line 6, column 12"), ("killed", "SIGNALED")):
        ran, _ = project.run(name).exits(1)
        assert ran.err.count(said) == 1 and len(ran.err.splitlines()) == 2 and "session" not in ran.err, ran


def test_call_without_a_usable_binding_is_traced_as_an_error(project):
    project.bind("tools:\n  slow:\n    entry: tools.sample_tool:greet\n    timeout_ms: fast\n")
    ran, (call,) = project.run("slow").exits(1)
    assert (call["decision"], call["reason"], call["result"]) == ("error", "binding_error", "error")


def test_fault_in_a_pack_disables_only_its_tools(project):
    pack(project, more=ENTRYPOINTS + "colour: red\n")
    project.run("greeter", {"name": "Ada"}).exits(0)
    ran, (call,) = project.run("pick").exits(1, "cannot be called: .namel3ss/packs/one/pack.yaml: line ")
    assert (call["decision"], call["reason"], call["result"]) == ("error", "binding_error", "error")
    assert "colour" in project.faults()
