#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""schema_suite.py FOLDER: puts the official JSON-Schema-Test-Suite into FOLDER.

The package jsonschema of PyPI ships it in its source distribution. Its version and hash are fixed,
so the tests are the same on every machine. Does nothing if the folder has it.
"""

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "4.26.0"
SHA256 = "0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326"


def main(folder):
    stamp = folder / "version"
    if stamp.is_file() and stamp.read_text() == VERSION:
        return
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        wanted = place / "requirements.txt"
        wanted.write_text(f"jsonschema=={VERSION} --hash=sha256:{SHA256}\n")
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
             "--require-hashes", "--dest", place, "-r", wanted], check=True)
        inside = f"jsonschema-{VERSION}/json/"
        with tarfile.open(place / f"jsonschema-{VERSION}.tar.gz") as archive:
            members = [each for each in archive
                       if each.isfile() and each.name.startswith(inside)
                       and ".." not in Path(each.name).parts]
            archive.extractall(place, members)
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(place / inside, folder)
    stamp.write_text(VERSION)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
