# SPDX-License-Identifier: Apache-2.0
"""The tools of a project's packs run unless the policy, a signature or a collision prevents it."""

import hashlib

import pytest

from harness import environment
from project_folders import ENTRYPOINTS, bound, events, pack, surroundings


# covers: 001-trace-pack, 001-trace-resolved-source, 001-pack-entrypoints
def test_tool_of_an_installed_pack_runs_with_the_pack_path(project):
    pack(project)
    project.write("namel3ss.toml", "[capability_overrides]\npick = { allow_unsafe_execution = true }\n")
    project.write(".namel3ss/packs/one/tools.yaml",
                  'tools:\n  pick:\n    entry: "one_tools:run"\n    sandbox: false\n')
    ran, trace = project.run("pick")
    assert ran.status == 0 and events(ran)[-1]["result"] == {"pack": "one_tools"}, ran
    call = trace[-1]
    assert call["resolved_source"] == "installed_pack" and call["unsafe_override"] is True
    assert "entry" not in call
    assert (call["pack_id"], call["pack_name"], call["pack_version"]) == (
        "pack.one", "A pack", "0.2.0")


# covers: 001-pack-bindings
def test_tools_yaml_of_a_pack_overrides_its_entrypoints(project):
    place = pack(project)
    assert bound(project, "pick")["binding"]["entry"] == "one_tools:run"
    project.write(f"{place}/tools.yaml", "tools:\n  pick:\n    entry: other:run\n")
    assert bound(project, "pick")["binding"]["entry"] == "other:run"


# covers: 001-pack-runner
def test_pack_runner_url_and_image_apply_to_its_tools(project):
    pack(project, more=ENTRYPOINTS + 'runners:\n  default: "service"\nservice_url: "http://h/x"\n')
    tool = bound(project, "pick")
    assert tool["runner"] == "service" and tool["binding"]["url"] == "http://h/x"
    pack(project, more=ENTRYPOINTS + 'runners:\n  default: "container"\ncontainer:\n  image: "i:1"\n')
    tool = bound(project, "pick")
    assert tool["runner"] == "container" and tool["binding"]["image"] == "i:1"
    pack(project, more=ENTRYPOINTS + 'runners:\n  default: "container"\n')
    assert 'has no "image"' in project.faults()
    # The container client would take this image for an option.
    pack(project, more=ENTRYPOINTS + 'runners:\n  default: "container"\ncontainer:\n  image: "-v/:/host"\n')
    assert 'must not begin with "-"' in project.faults()


def test_pack_code_folder_outside_the_pack_is_refused(project):
    place = pack(project)
    # Every guarantee lets a tool read the code folder of its pack.
    (project.folder / place / "tools").symlink_to("/")
    assert "leads out of the pack" in project.faults()


def test_pack_in_the_packs_folder_of_the_project_is_used(project):
    pack(project, folder="packs/capability")
    tool = bound(project, "pick")
    assert tool["binding"]["source"] == "installed_pack"
    assert tool["binding"]["pack"] == {"id": "pack.one", "name": "A pack", "version": "0.2.0"}
    assert tool["binding"]["sandbox"] is True


def test_name_in_two_packs_is_a_collision_unless_one_is_chosen(project):
    pack(project)
    pack(project, name="two")
    said = project.faults()
    assert "packs/two/pack.yaml" in said and "packs/one/pack.yaml" in said, said
    assert "pinned_tools" in said
    project.write("namel3ss.toml", '[tool_packs]\npinned_tools = { pick = "pack.two" }\n')
    assert bound(project, "pick")["binding"]["pack"]["id"] == "pack.two"
    project.write("namel3ss.toml", '[tool_packs]\ndisabled_packs = ["pack.two"]\n')
    assert bound(project, "pick")["binding"]["pack"]["id"] == "pack.one"


def test_pack_does_not_replace_the_pinned_one(project):
    pack(project)
    pack(project, name="two", tool="other")
    for pin in ("pack.two", "pack.gone"):
        project.write("namel3ss.toml", f'[tool_packs]\npinned_tools = {{ pick = "{pin}" }}\n')
        ran, (call,) = project.run("pick").exits(1, f'"pick" is pinned to the pack "{pin}"')
        assert (call["decision"], call["reason"], call["result"]) == ("error", "pack_pin_missing", "error")
        said = project.faults()
        assert "namel3ss.toml:2:" in said and said.count(pin) == 1, said


def test_pack_that_binds_other_tools_than_it_lists_is_a_warning(project):
    place = pack(project, more="")
    assert "binds no tools" in project.faults()
    project.write(f"{place}/tools.yaml", 'tools:\n  other:\n    entry: "one_tools:run"\n')
    ran = project.command("validate", "project", project.folder, env=surroundings()).exits(0)
    ran.shows('lists the tool "pick" but does not bind it', 'binds the tool "other" but does not list it')
    assert project.run("other").exits(0).result == {"pack": "one_tools"}
    manifest = project.folder / place / "pack.yaml"
    manifest.write_text(manifest.read_text().replace('  - "pick"\n', ""))
    project.run("other").exits(0)


def test_missing_fields_of_a_pack_are_errors(project):
    place = pack(project)
    project.write(f"{place}/pack.yaml", "id: x\nversion: 1.0\n")
    said = project.faults()
    for field in ("name", "description", "author", "license", "tools"):
        assert f'"{field}" is missing' in said, said


def test_short_names_of_the_tables_are_read(project):
    pack(project)
    project.write("namel3ss.toml", '[packs]\ndisabled_packs = ["pack.one"]\nother = 1\n'
                  "[python]\ntimeout_seconds = 7\nother = 1\n")
    assert "pick" not in project.command("tool", "list", "--project", project.folder).out
    assert bound(project, "greeter")["times"]["try_ms"] == 7000
    # The long names take precedence.
    project.write("namel3ss.toml", '[packs]\ndisabled_packs = ["pack.one"]\n'
                  '[tool_packs]\nenabled_packs = ["pack.one"]\n'
                  "[python]\ntimeout_seconds = 7\n[python_tools]\ntimeout_seconds = 8\n")
    assert bound(project, "pick")["times"]["try_ms"] == 8000


def test_pack_folder_with_a_colon_is_reported(project):
    pack(project)
    (project.folder / ".namel3ss/packs/one").rename(project.folder / ".namel3ss/packs/o:ne")
    project.run("pick").exits(1, "the path of the pack, ", "contains a colon")
    project.run("greeter", {"name": "Ada"}).exits(0)


@pytest.mark.parametrize("policy, told", [
    ('allowed_packs = ["pack.two"]\n', '"allowed_packs" does not list it'),
    ('allowed_signers = ["bob"]\n', 'it has no "signer_id"'),
    ('max_risk = "medium"\n', 'its risk is high, and "max_risk" is medium'),
])
def test_policy_refuses_a_pack(project, policy, told):
    pack(project)  # its tool may start subprocesses, which is a high risk
    project.write(".namel3ss/trust/policy.toml", policy)
    ran, (check, call) = project.run("pick").exits(1, "refused by .namel3ss/trust/policy.toml", told)
    assert (check["capability"], check["allowed"], check["guarantee_source"], check["reason"]) == (
        "pack_permission", False, "policy", "policy_denied")
    assert (call["decision"], call["reason"], call["result"]) == (
        "blocked", "pack_permission_denied", "blocked")
    project.command("validate", "project", project.folder).exits(0).shows(told, "warning")
    project.run("greeter", {"name": "Ada"}).exits(0)


def test_policy_accepts_a_pack_that_it_lists(project):
    place = pack(project, capabilities=None)
    sign(project, place)
    project.write(".namel3ss/trust/policy.toml", 'allowed_packs = ["pack.one"]\n'
                  'allowed_signers = ["maintainer"]\nmax_risk = "low"\n')
    project.run("pick").exits(0)
    project.write(".namel3ss/trust/policy.toml", 'max_risk = "none"\n')
    assert '"max_risk" must be' in project.faults()


# covers: 001-trace-resolved-source
def test_built_in_packs_are_found_and_checked_for_collisions(project):
    pack(project)
    project.folder.joinpath(".namel3ss/packs").rename(project.command.folder / "builtin")
    env = surroundings(NARRATORIA_PACK_PATH=f"relative:{project.command.folder / 'builtin'}")
    binding = bound(project, "pick", env=env)["binding"]
    assert binding["source"] == "builtin_pack" and binding["pack"]["id"] == "pack.one"
    project.write("namel3ss.toml", "[capability_overrides]\npick = { no_network = true }\n")
    ran, trace = project.run("pick", env=env)
    assert ran.status == 0 and events(ran)[-1]["result"] == {"pack": "one_tools"}, ran
    assert trace[-1]["resolved_source"] == "builtin_pack" and trace[-1]["pack_id"] == "pack.one"
    pack(project, name="two")
    ran, (call,) = project.run("pick", env=env).exits(1, "packs/two/pack.yaml")
    assert f"also in {project.command.folder}/builtin/one/pack.yaml" in ran.err, ran
    assert (call["decision"], call["reason"], call["result"]) == ("error", "pack_collision", "error")


def test_folder_of_the_pack_path_that_is_not_used_is_a_warning(project):
    env = environment(NARRATORIA_PACK_PATH=f"here:{project.folder}/nowhere::{project.folder}")
    ran = project.command("validate", "project", project.folder, env=env)
    said = "warning: the environment variable NARRATORIA_PACK_PATH lists "
    assert f'{said}"here", which is ignored: it is not absolute' in ran.out, ran
    assert f'{said}"{project.folder}/nowhere", which does not exist' in ran.out and ran.out.count(said) == 2, ran


def sign(project, place):
    """Signs a pack as `packs sign` of the original Namel3ss does."""
    file = project.folder / place / "pack.yaml"
    text = "\n".join(line.rstrip() for line in file.read_text().split("\n")).strip()
    tools = project.folder / place / "tools.yaml"
    if tools.exists():
        text += "\n" + "\n".join(line.rstrip() for line in tools.read_text().split("\n")).strip()
    digest = hashlib.sha256(text.encode()).hexdigest()
    file.write_text(file.read_text() + f'signer_id: "maintainer"\nsigned_at: "not_recorded"\ndigest: "sha256:{digest}"\n')


@pytest.mark.parametrize("has_tools", [False, True])
def test_signed_pack_runs_until_it_is_changed(project, has_tools):
    place = pack(project)
    if has_tools:
        project.write(f"{place}/tools.yaml", "tools: \n  pick:\n    entry: one_tools:run\n\n")
    sign(project, place)
    assert project.run("pick").exits(0).result == {"pack": "one_tools"}
    changed = project.folder / place / ("tools.yaml" if has_tools else "pack.yaml")
    changed.write_text("# changed\n" + changed.read_text())
    ran, (call,) = project.run("pick").exits(1, "was changed after it was signed")
    assert (call["decision"], call["reason"], call["result"]) == (
        "blocked", "pack_unavailable_or_unverified", "blocked")
