# SPDX-License-Identifier: Apache-2.0
"""narratoria plugin check: each misbehaviour of the corpus (tests/plugin/corpus) is found by its rule.

NARRATORIA_CORPUS=N checks one variant in N (default 32) and the first of each rule; 1 checks all.
"""

import json
import os
import sys

import pytest

from harness import BUILD, SOURCE

sys.path.insert(0, str(SOURCE / "tests" / "plugin" / "corpus"))
import corpus  # noqa: E402

pytestmark = pytest.mark.skipif(
    BUILD.name in ("asan", "tsan"), reason="the libraries are the same in every preset")
EVERY = int(os.environ.get("NARRATORIA_CORPUS", "32"))


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")

    def of(language):
        built = corpus.build(folder, language)
        if built is None:
            pytest.skip("there is no rustc")
        return built

    return of


def broken(command, path):
    ran = command("plugin", "check", path, "--json", "--time", "1")
    return {rule["rule"]: rule["findings"] for rule in json.loads(ran.out)["rules"]
            if rule["verdict"] not in ("passed", "skipped", "warning")}


@pytest.mark.parametrize("language", corpus.SOURCES)
def test_library_itself_breaks_no_rule(command, library, language):
    nothing = corpus.Variant(language, "nothing", "nowhere", ())
    assert broken(command, corpus.write(nothing, library(language), command.folder)) == {}


@pytest.mark.parametrize("variant", list(corpus.chosen(EVERY)), ids=lambda variant: variant.name)
def test_each_misbehaviour_is_found_by_its_rules_alone(command, library, variant):
    path = corpus.write(variant, library(variant.language), command.folder)
    found = broken(command, path)
    assert set(found) == set(variant.rules), found


def test_corpus_is_large_and_has_no_duplicates():
    names = [variant.name for variant in corpus.variants()]
    assert len(names) >= 200 and len(names) == len(set(names))


def test_matrix_of_the_page_is_up_to_date():
    page = (SOURCE / "docs" / "plugin-rules.md").read_text(encoding="utf-8")
    assert corpus.matrix() in page, "copy the output of tests/plugin/corpus/corpus.py into the page"
