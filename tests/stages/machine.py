# SPDX-License-Identifier: Apache-2.0
"""Stages that need their own system."""

from .commands import run


def control_groups(report):
    """Runs in a virtual machine; skipped without a kernel to boot."""
    name = "machine: control groups"
    status, text = run(["tests/machine/control_groups.sh", "build/release"])
    if status == 77:
        report.add_skipped(name, text.strip())
        return
    lines = text.splitlines()
    report.add_passed(sum(line.startswith(" ok ") for line in lines))
    failed = [number for number, line in enumerate(lines) if line.startswith(" FAILED ")]
    for number in failed:
        report.add_failure(f"{name}: {lines[number].split(maxsplit=1)[1]}",
                           "\n".join(lines[number + 1:number + 31]))
    if status != 0 and not failed:
        report.add_failure(name, text)


def fresh_debian(report):
    """Runs the two commands of the README on a Debian with nothing but git."""
    for who in ("root", "sudo"):
        name = f"machine: ./play and ./test in a bare Debian, {who}"
        status, text = run(["tests/machine/fresh_debian.sh", who])
        if status == 77:
            report.add_skipped(name, text.strip())
        else:
            report.add_result(name, status, text[-4000:])
