# SPDX-License-Identifier: Apache-2.0
"""Each guarantee blocks the acts that it forbids. Without it they succeed, which proves the tests.

acts.c defines the acts. Each runs under the guarantee that forbids it, under all, and without any.
"""

import functools
import os
import pwd
import re
import subprocess
from pathlib import Path

import pytest

from escape import MASKED, NARRATORIA, listed, names_of_acts, run

FORBIDDEN = {
    "no_network": """connect_tcp send_udp listen_tcp ipv6_socket raw_socket packet_socket netlink_socket
        vsock_socket bluetooth_socket alg_socket mptcp_socket socket_with_high_bits connect_in_thread
        connect_in_child enter_namespace_of_host""",
    "no_filesystem_write": """create_file append_to_file read_and_write empty_by_open empty_by_truncate
        open_by_openat2 make_folder remove_folder remove_file rename_file exchange_files make_hard_link
        make_symbolic_link make_fifo make_device bind_in_folder unnamed_file change_mode
        change_mode_of_open change_mode_newly change_owner change_times change_times_of_open
        change_times_oldly set_attribute set_attribute_newly remove_attribute set_flags
        set_flags_with_high_bits set_version make_subvolume reopen_for_writing write_through_link link_into_scratch_and_write
        move_into_scratch move_out_of_scratch own_memory_file own_name_file
        memory_score_of_sibling core_filter_of_sibling shared_memory_file
        accounting write_in_child write_by_shell""",
    "no_filesystem_read": """read_file read_passwords list_folder list_root read_by_openat2
        read_through_path link_into_scratch_and_read read_attribute list_attributes watch_file
        read_command_lines read_own_maps read_in_child""",
    "no_subprocess": """fork_child vfork_and_exec plain_clone clone_of_parent clone_with_high_bits
        clone3_child spawn_program run_shell open_pipe_to_shell replace_itself replace_with_a_key replace_by_loader
        replace_by_descriptor replace_from_memory replace_in_thread listen_to_own_calls
        outlive_supervisor""",
    "no_env_read": "own_home",
    "no_env_write": "",
}
# Every guarantee forbids these, because they are ways around all guarantees.
BY_ALL = """io_uring old_socket x32_socket x32_fork old_fork environment_of_host environment_of_parent
    environment_of_sibling memory_of_host memory_of_sibling read_memory write_memory trace_sibling
    take_descriptor signal_host signal_parent signal_sibling signal_thread_of_host queue_signal
    signal_by_descriptor limit_host nice_sibling nice_group io_priority_of_sibling schedule_sibling
    parameters_of_sibling attributes_of_sibling pin_sibling push_into_terminal use_keys add_a_key use_bpf use_userfaultfd
    use_perf new_user_namespace new_network_namespace new_mount_namespace new_name_namespace
    clone_into_namespace change_root mount_somewhere open_file_system clone_tree load_module load_kernel
    read_kernel_log set_clock set_host_name input_output_ports have_capability change_user dump_core
    write_by_handle read_by_handle message_queue old_shared_memory old_message_queue old_semaphore
    connect_unix receive_descriptor connect_abstract datagram_from_pair raw_from_pair
    inherited_descriptor""".split()
WORKING = "threads_work pair_works null_works scratch_works".split()
FORBIDDEN = {guarantee: [*acts.split(), *BY_ALL] for guarantee, acts in FORBIDDEN.items()}
ALL = sorted({act for acts in FORBIDDEN.values() for act in acts})

# None is the user who runs the tests. Root also runs them as an unprivileged user.
USERS = [None, "nobody"] if os.getuid() == 0 else [None]


@functools.lru_cache(maxsize=None)
def can_reach_the_build(user):
    return subprocess.run(["setpriv", f"--reuid={user}", "--clear-groups", NARRATORIA, "--version"],
                          capture_output=True).returncode == 0


@pytest.fixture(scope="session")
def told(places):
    @functools.lru_cache(maxsize=None)
    def ask(guarantees, user):
        if user and not can_reach_the_build(user):
            pytest.skip(f"the user {user} cannot enter the folder of {NARRATORIA}")
        place = places(guarantees.replace(",", "-") or "free")
        if user:
            entry = pwd.getpwnam(user)
            for path in (place.folder, *place.folder.rglob("*")):
                os.chown(path, entry.pw_uid, entry.pw_gid)
        acts = FORBIDDEN.get(guarantees, ALL)
        result = run(place, guarantees, [*acts, *WORKING], user=user,
                     environment={"TMPDIR": str(place.folder)})
        left = [path.name for path in place.folder.iterdir() if path.name.startswith("narratoria-")]
        assert left == []
        return result[0]

    return ask


def test_every_act_is_forbidden_by_some_guarantee():
    assert sorted({*ALL, *WORKING}) == sorted(names_of_acts())
    assert len(ALL) >= 60


def not_refused(told, acts):
    return {act: told[act] for act in acts if not told[act].startswith(("refused: ", "absent"))}


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("guarantee", FORBIDDEN)
def test_guarantee_refuses(told, guarantee, user):
    wrong = not_refused(told(guarantee, user), FORBIDDEN[guarantee])
    assert not wrong, listed(wrong)


@pytest.mark.parametrize("user", USERS)
def test_all_guarantees_together_refuse(told, user):
    wrong = not_refused(told("all", user), ALL)
    assert not wrong, listed(wrong)


# Acts that no tool can carry out, with or without guarantees.
NEVER = {"inherited_descriptor"}


def has_capability(number):
    (held,) = re.findall(r"^CapEff:\s*(\w+)$", Path("/proc/self/status").read_text(), re.M)
    return int(held, 16) >> number & 1


@functools.lru_cache(maxsize=None)
def has_user_namespaces():
    return subprocess.run(["unshare", "--user", "true"], capture_output=True).returncode == 0


# (is it available to this process, reason if not): what some acts need to succeed without
# guarantees.
NET_RAW = (lambda: has_capability(13), "this user has no CAP_NET_RAW")
SYS_ADMIN = (lambda: has_capability(21), "this user has no CAP_SYS_ADMIN")
PERFMON = (lambda: has_capability(38) or has_capability(21), "this user has no CAP_PERFMON")
USER_NAMESPACES = (has_user_namespaces, "unshare --user fails here, as in a chroot")
NEEDS = {
    "raw_socket": NET_RAW, "packet_socket": NET_RAW, "use_perf": PERFMON,
    "enter_namespace_of_host": SYS_ADMIN, "new_user_namespace": USER_NAMESPACES,
    "new_network_namespace": USER_NAMESPACES, "new_mount_namespace": USER_NAMESPACES,
    "new_name_namespace": USER_NAMESPACES, "clone_into_namespace": USER_NAMESPACES,
}


def why_left_out(act, how):
    """The reason why the act cannot succeed here even without guarantees, or None."""
    if how.startswith("absent"):
        number = how.partition(": ")[2]
        return f"the kernel answers {number}" if number else "not on this machine, or not as this user"
    if act in NEEDS and how in ("refused: EPERM", "refused: EACCES"):
        is_there, reason = NEEDS[act]
        return None if is_there() else reason
    return None


def controls(told):
    return {act: how for act, how in told("", None).items() if act in {*ALL} - NEVER}


def test_acts_succeed_without_guarantees(told):
    wrong = {act: how for act, how in controls(told).items()
             if how != "succeeded" and why_left_out(act, how) is None}
    assert not wrong, listed(wrong)


def test_no_act_is_skipped_without_guarantees(told):
    left_out = {}
    for act, how in controls(told).items():
        reason = why_left_out(act, how)
        if reason is not None:
            left_out.setdefault(reason, []).append(act)
    if left_out:
        pytest.skip("; ".join(f"{reason}: {' '.join(acts)}" for reason, acts in left_out.items()))


def test_sixty_acts_can_succeed_here(told):
    worked = [act for act, how in told("", None).items() if how == "succeeded"]
    assert len(worked) >= 60 or os.getuid() != 0


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("guarantees", [*FORBIDDEN, "all"])
def test_ordinary_operations_still_work(told, guarantees, user):
    how = told(guarantees, user)
    assert {act: how[act] for act in ("threads_work", "pair_works", "null_works")} == {
        "threads_work": "succeeded", "pair_works": "succeeded",
        "null_works": "succeeded" if guarantees != "none" else ""}
    has_scratch = guarantees in ("no_filesystem_write", "no_filesystem_read", "all")
    assert how["scratch_works"] == ("succeeded" if has_scratch else "absent")


@pytest.mark.parametrize("guarantee", [*FORBIDDEN, "all", "secrets_allowed=A"])
def test_without_landlock_no_tool_starts(places, guarantee):
    told, result = run(places("masked"), guarantee, ["read_file", "create_file"], before=[MASKED])
    for how in told.values():
        assert how.startswith("GUARANTEE_UNAVAILABLE: ")
        assert "cannot be enforced on this machine: the kernel has no Landlock" in how
    assert result["success"] is False or all(not each["ok"] for each in result["toolResults"])
    assert all("resources" not in attempt or attempt["resources"]["userMicroseconds"] == 0
               for each in result["toolResults"] for attempt in each["attempts"])


@pytest.mark.skipif(os.getuid() != 0, reason="only root has capabilities to give up")
@pytest.mark.parametrize("missing", ["setpcap", "all"])
def test_root_needs_no_capability_to_drop_the_others(places, missing):
    told, _ = run(places("bounded"), "no_network", ["have_capability"],
                  before=["setpriv", f"--bounding-set=-{missing}"])
    assert told["have_capability"] == "refused: EPERM"


def test_sandbox_works_without_a_seccomp_listener(places):
    acts = ["connect_tcp", "fork_child", "replace_itself", "listen_to_own_calls"]
    told, _ = run(places("listening"), "all", [*acts, *WORKING], before=[MASKED, "--listening"])
    assert all(told[act].startswith("refused: ") for act in acts), told
    assert all(told[act] == "succeeded" for act in WORKING), told


def test_seccomp_blocks_the_network_without_a_namespace(places):
    told, result = run(places("confined"), "no_network", ["connect_tcp", "threads_work"],
                       before=[MASKED, "--confined"])
    assert told["connect_tcp"].startswith("refused: ") and told["threads_work"] == "succeeded", told
    receipts = result["toolResults"][1]["attempts"][0]["guarantees"]
    assert "namespace" not in receipts[0]["mechanism"], receipts


def test_receipts_name_each_guarantee(places):
    _, result = run(places("receipts"), "all", ["threads_work"])
    receipts = result["toolResults"][0]["attempts"][0]["guarantees"]
    assert [each["guarantee"] for each in receipts] == [
        "no_filesystem_write", "no_filesystem_read", "no_network", "no_subprocess", "no_env_read",
        "no_env_write", "secrets_allowed"]
    assert all(each["proven"] and "Landlock" in each["mechanism"] + each["version"] for each in receipts)


def test_unprivileged_network_namespace_is_in_a_user_namespace(places):
    if os.getuid() == 0 and not can_reach_the_build("nobody"):
        pytest.skip(f"the user nobody cannot enter the folder of {NARRATORIA}")
    before = ["setpriv", "--reuid=nobody", "--clear-groups"] if os.getuid() == 0 else []
    if subprocess.run([*before, "unshare", "--user", "--net", "true"]).returncode != 0:
        pytest.skip("this kernel gives unprivileged users no namespaces")
    _, result = run(places("user"), "no_network", ["threads_work"],
                    user="nobody" if os.getuid() == 0 else None)
    receipts = result["toolResults"][0]["attempts"][0]["guarantees"]
    assert receipts[0]["mechanism"] == "seccomp, network namespace in a user namespace, Landlock"


def test_tool_without_guarantees_has_no_receipts(places):
    _, result = run(places("plain"), "", ["threads_work"])
    assert "guarantees" not in result["toolResults"][0]["attempts"][0]
