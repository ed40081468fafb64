# SPDX-License-Identifier: Apache-2.0
"""The JSON Schemas, the corpus of documents and `narratoria validate` agree.

The folder that a file of tests/conformance/schemas lies in says what is expected; see the README
there. The comparison with the command needs NARRATORIA_BUILD_DIR (for example build/release);
without it those tests are reported as skipped.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest

SOURCE = Path(__file__).resolve().parents[2]
SCHEMAS = SOURCE / "abi" / "schemas"
CORPUS = SOURCE / "tests" / "conformance" / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"

# By the document's name: the file's name before its version, and the name of its corpus.
SCHEMA_FILES = {
    re.match(r"[a-z]+(-[a-z]+)*", path.name)[0]: path
    for path in sorted(SCHEMAS.glob("*.schema.json"))
}


def load(path):
    return json.loads(path.read_bytes().decode("utf-8"))


DOCUMENTS = {path: load(path) for path in SCHEMA_FILES.values()}
BY_ID = {schema["$id"]: schema for schema in DOCUMENTS.values()}


def make_validator(schema):
    try:
        from referencing import Registry, Resource
    except ImportError:
        # jsonschema before 4.18, as distributions ship it: urllib does not join "#/..." to a URN.
        def join(base, reference):
            return base.partition("#")[0] + reference if reference.startswith("#") else reference

        resolver = jsonschema.RefResolver(schema["$id"], schema, store=BY_ID, urljoin_cache=join)
        return jsonschema.Draft202012Validator(schema, resolver=resolver)
    resources = [(identifier, Resource.from_contents(known)) for identifier, known in BY_ID.items()]
    return jsonschema.Draft202012Validator(schema, registry=Registry().with_resources(resources))


VALIDATORS = {name: make_validator(DOCUMENTS[path]) for name, path in SCHEMA_FILES.items()}


def corpus(verdict, *names):
    """The corpus files of a verdict, for all schemas or those that are named."""
    files = (
        path for pattern in ("*.json", "*.ndjson") for path in CORPUS.glob(f"*/{verdict}/{pattern}")
    )
    chosen = sorted(path for path in files if not names or path.parts[-3] in names)
    return pytest.mark.parametrize("path", chosen, ids=lambda path: "/".join(path.parts[-3:]))


def values_of(path):
    """The JSON values in a file; ValueError, of UTF-8 or of JSON, when it holds anything else."""
    text = path.read_bytes().decode("utf-8")
    if path.parts[-3] != "event":
        return [json.loads(text)]
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.split("\n") if line.strip()]


def faults_of(path):
    validator = VALIDATORS[path.parts[-3]]
    return [
        f"{'/'.join(map(str, fault.absolute_path))}: {fault.message}"
        for value in values_of(path)
        for fault in validator.iter_errors(value)
    ]


def objects_in(schema):
    """The properties of every object that a schema describes, each with their place."""
    stack = [("", schema)]
    while stack:
        place, node = stack.pop()
        if isinstance(node, dict):
            if isinstance(node.get("properties"), dict):
                yield place, node["properties"]
            # What stands in a condition restates properties in order to test them.
            stack += [
                (f"{place}/{key}", child)
                for key, child in node.items()
                if key not in ("if", "then")
            ]
        elif isinstance(node, list):
            stack += [(f"{place}/{index}", child) for index, child in enumerate(node)]


@pytest.mark.parametrize("path", SCHEMA_FILES.values(), ids=lambda path: path.name)
def test_schema_is_well_formed(path):
    schema = DOCUMENTS[path]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == DIALECT
    name, version = re.fullmatch(r"([a-z-]+?)(?:-(\d+))?\.schema\.json", path.name).groups()
    assert schema["$id"] == f"urn:narratoria:schema:{name}:{version or 0}"
    assert schema["title"]
    assert re.search(
        r"spec 00[0234] (§\d|\w+|\")", schema["description"]
    ), "cite the paragraph it comes from"


@pytest.mark.parametrize("path", SCHEMA_FILES.values(), ids=lambda path: path.name)
def test_every_property_is_described(path):
    bare = [
        f"{place}/properties/{name}"
        for place, properties in objects_in(DOCUMENTS[path])
        for name, property_schema in properties.items()
        if isinstance(property_schema, dict)
        and not {"description", "$ref", "const", "enum", "not"} & set(property_schema)
    ]
    assert not bare, "these need a description"


def test_every_schema_has_a_corpus():
    assert {path.name for path in CORPUS.iterdir() if path.is_dir()} == set(SCHEMA_FILES)
    for name in SCHEMA_FILES:
        for verdict in ("valid", "invalid"):
            assert any((CORPUS / name / verdict).iterdir()), f"{name}/{verdict} is empty"


def test_every_file_of_the_corpus_is_looked_at():
    looked_at = {
        path
        for verdict in ("valid", "invalid", "rules")
        for pattern in ("*.json", "*.ndjson")
        for path in CORPUS.glob(f"*/{verdict}/{pattern}")
    }
    there = {path for path in CORPUS.rglob("*") if path.is_file() and path.parent != CORPUS}
    assert there == looked_at


@corpus("valid")
def test_schema_accepts(path):
    assert faults_of(path) == []


@corpus("invalid")
def test_schema_refuses_for_one_reason(path):
    faults = faults_of(path)
    assert len(faults) == 1, faults


# covers: 000-4.3-media-type, 004-asset-media-type
@pytest.mark.parametrize("table, schema, pattern_of", [
    ("media-types", "event", lambda properties: properties["mediaType"]),
    ("plugin-ids", "plugin", lambda properties: properties["id"]),
    ("extension-ids", "plugin", lambda properties: properties["extensions"]["items"])],
    ids=["media-types", "plugin-ids", "extension-ids"])
def test_a_pattern_is_the_runtimes_rule(table, schema, pattern_of):
    found = []
    for _, properties in objects_in(DOCUMENTS[SCHEMA_FILES[schema]]):
        try:
            found.append(pattern_of(properties)["pattern"])
        except KeyError:
            continue
    (pattern,) = found
    # Python's $ also matches before a last newline, that of JSON Schema does not.
    pattern = pattern.removeprefix("^").removesuffix("$")
    cases = load(SOURCE / "tests" / "conformance" / "cases" / f"{table}.json")
    assert [text for text in cases["valid"] if not re.fullmatch(pattern, text)] == []
    assert [text for text in cases["invalid"] if re.fullmatch(pattern, text)] == []


@corpus("rules")
def test_schema_cannot_say(path):
    try:
        faults = faults_of(path)
    except (ValueError, RecursionError):
        return
    assert faults == [], "the schema refuses this: it belongs to invalid/"


@pytest.fixture(scope="session")
def command():
    folder = os.environ.get("NARRATORIA_BUILD_DIR")
    if not folder:
        pytest.skip("NARRATORIA_BUILD_DIR is not set: the command is not compared with the schemas")
    program = (SOURCE / folder / "bin" / "narratoria").resolve()
    assert program.is_file(), f"{program} is not there: build it, or correct NARRATORIA_BUILD_DIR"
    return program


def validate(command, path):
    return subprocess.run(
        [command, "validate", path.parts[-3], path],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=300,
        check=False,
    )


# covers: 003-13.7-plan-schema, 003-13.7-result-schema, 003-13.7-event-schema
@corpus("valid", "event", "plan", "result", "tool")
def test_command_accepts(command, path):
    run = validate(command, path)
    assert run.returncode == 0, (run.stdout + run.stderr).decode("utf-8", "replace")


# covers: 003-13.7-plan-schema, 003-13.7-result-schema, 003-13.7-event-schema
@corpus("invalid", "event", "plan", "result", "tool")
def test_command_refuses_what_the_schema_refuses(command, path):
    run = validate(command, path)
    assert run.returncode == 1, (run.stdout + run.stderr).decode("utf-8", "replace")
    assert (run.stdout + run.stderr).decode("utf-8").strip(), "a refusal says what is wrong"


# covers: 003-13.7-plan-schema, 003-13.7-result-schema, 003-13.7-event-schema
@corpus("rules", "event", "plan", "result", "tool")
def test_command_refuses_what_no_schema_can_say(command, path):
    run = validate(command, path)
    assert run.returncode == 1, (run.stdout + run.stderr).decode("utf-8", "replace")
    assert (run.stdout + run.stderr).decode("utf-8").strip(), "a refusal says what is wrong"
