#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""schema_suite.py FOLDER: puts the official JSON-Schema-Test-Suite into FOLDER.

The package jsonschema of PyPI ships it in its source distribution. Its version and hash are fixed,
so the tests are the same on every machine. Does nothing if FOLDER already has this version.
"""

import hashlib
import io
import json
import os
import shutil
import sys
import tarfile
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

VERSION = "4.26.0"
SHA256 = "0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326"
ARCHIVE = f"jsonschema-{VERSION}.tar.gz"
# Not with pip, which would also fetch the build requirements and prepare the package.
INDEX = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/") + "/jsonschema/"
SECONDS = 60


def archive_of(index):
    """The bytes of the source distribution, from a package index with the JSON interface."""
    asked = urllib.request.Request(index, headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    with urllib.request.urlopen(asked, timeout=SECONDS) as answer:
        files = json.load(answer)["files"]
    place = next(each["url"] for each in files if each["filename"] == ARCHIVE)
    with urllib.request.urlopen(urllib.parse.urljoin(index, place), timeout=SECONDS) as answer:
        content = answer.read()
    if hashlib.sha256(content).hexdigest() != SHA256:
        sys.exit(f"{place}: the archive does not have the expected SHA-256")
    return content


def main(folder):
    stamp = folder / "version"
    if stamp.is_file() and stamp.read_text() == VERSION:
        return
    inside = f"jsonschema-{VERSION}/json/"
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        with tarfile.open(fileobj=io.BytesIO(archive_of(INDEX))) as archive:
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
