# SPDX-License-Identifier: Apache-2.0
"""The JSON Schemas, the sample documents and `narratoria validate` agree.

The tables in tests/conformance/schemas hold the expected verdicts; see the README there. The
comparison with the command needs NARRATORIA_BUILD_DIR (for example build/release); without it,
those tests are skipped.
"""

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

import jsonschema
import pytest

SOURCE = Path(__file__).resolve().parents[2]
SCHEMAS = SOURCE / "abi" / "schemas"
CORPUS = SOURCE / "tests" / "conformance" / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"

# By document name, which is the file name without its version, and the name of its table.
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
        # jsonschema before 4.18, which distributions ship. urllib does not join "#/..." to a URN.
        def join(base, reference):
            return base.partition("#")[0] + reference if reference.startswith("#") else reference

        resolver = jsonschema.RefResolver(schema["$id"], schema, store=BY_ID, urljoin_cache=join)
        return jsonschema.Draft202012Validator(schema, resolver=resolver)
    resources = [(identifier, Resource.from_contents(known)) for identifier, known in BY_ID.items()]
    return jsonschema.Draft202012Validator(schema, registry=Registry().with_resources(resources))


VALIDATORS = {name: make_validator(DOCUMENTS[path]) for name, path in SCHEMA_FILES.items()}


def bytes_of(entry, valid):
    """The document of an entry: a text with a final newline, an edited valid document, or parts."""
    if isinstance(entry, str):
        return f"{entry}\n".encode()
    if isinstance(entry, dict):
        base = valid[entry["base"]]
        assert base.count(entry["old"]) == 1, f'"old" must occur once in its base: {entry}'
        return f"{base.replace(entry['old'], entry['new'])}\n".encode()
    parts = []
    for part in entry:
        if isinstance(part, str):
            parts.append(part.encode())
        elif "hex" in part:
            parts.append(bytes.fromhex(part["hex"]))
        else:
            parts.append(part["repeat"].encode() * part["times"])
    return b"".join(parts)


def read_table(path):
    """{verdict: {reason: document}}"""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        verdict: {reason: bytes_of(entry, table["valid"]) for reason, entry in entries.items()}
        for verdict, entries in table.items()
    }


TABLES = {path.stem: read_table(path) for path in sorted(CORPUS.glob("*.toml"))}
VERDICTS = ("valid", "invalid", "rules")


def documents(verdict, *names):
    """Parametrizes with the tables that have the verdict, for all schemas or the named ones."""
    chosen = [
        name for name, table in TABLES.items() if verdict in table and name in (names or TABLES)
    ]
    return pytest.mark.parametrize("name", chosen)


def values_of(name, document):
    """The JSON values in a document; ValueError if it is not valid UTF-8 or not valid JSON."""
    text = document.decode("utf-8")
    if name != "event":
        return [json.loads(text)]
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.split("\n") if line.strip()]


def faults_of(name, document):
    return [
        f"{'/'.join(map(str, fault.absolute_path))}: {fault.message}"
        for value in values_of(name, document)
        for fault in VALIDATORS[name].iter_errors(value)
    ]


def schema_faults(name, verdict):
    return {reason: faults_of(name, document) for reason, document in TABLES[name][verdict].items()}


def listed(wrong):
    """Formats all faults, because pytest shortens the values that it compares."""
    return "".join(
        f"\n{reason}: {'; '.join(faults) or 'no fault'}" for reason, faults in wrong.items()
    )


def objects_in(schema):
    """Yields (place, properties) of every object that a schema describes."""
    stack = [("", schema)]
    while stack:
        place, node = stack.pop()
        if isinstance(node, dict):
            if isinstance(node.get("properties"), dict):
                yield place, node["properties"]
            # Conditions only repeat properties in order to test them.
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
    ), "the description must cite the paragraph of the specification"


@pytest.mark.parametrize("path", SCHEMA_FILES.values(), ids=lambda path: path.name)
def test_every_property_is_described(path):
    bare = [
        f"{place}/properties/{name}"
        for place, properties in objects_in(DOCUMENTS[path])
        for name, property_schema in properties.items()
        if isinstance(property_schema, dict)
        and not {"description", "$ref", "const", "enum", "not"} & set(property_schema)
    ]
    assert not bare, "these properties need a description"


def test_every_schema_has_a_table_of_documents():
    assert set(TABLES) == set(SCHEMA_FILES)
    for name, table in TABLES.items():
        assert set(table) <= set(VERDICTS), name
        assert table["valid"] and table["invalid"], name


@documents("valid")
def test_schema_accepts(name):
    found = schema_faults(name, "valid")
    wrong = {reason: faults for reason, faults in found.items() if faults}
    assert not wrong, listed(wrong)


@documents("invalid")
def test_schema_refuses_for_one_reason(name):
    found = schema_faults(name, "invalid")
    wrong = {reason: faults for reason, faults in found.items() if len(faults) != 1}
    assert not wrong, listed(wrong)


# covers: 000-4.3-media-type, 004-asset-media-type
@pytest.mark.parametrize("table, schema, pattern_of", [
    ("media-types", "event", lambda properties: properties["mediaType"]),
    ("plugin-ids", "plugin", lambda properties: properties["id"]),
    ("extension-ids", "plugin", lambda properties: properties["extensions"]["items"])],
    ids=["media-types", "plugin-ids", "extension-ids"])
def test_schema_pattern_matches_the_runtime_rule(table, schema, pattern_of):
    found = []
    for _, properties in objects_in(DOCUMENTS[SCHEMA_FILES[schema]]):
        try:
            found.append(pattern_of(properties)["pattern"])
        except KeyError:
            continue
    (pattern,) = found
    # Python's $ also matches before a final newline; that of JSON Schema does not.
    pattern = pattern.removeprefix("^").removesuffix("$")
    cases = load(SOURCE / "tests" / "conformance" / "cases" / f"{table}.json")
    assert [text for text in cases["valid"] if not re.fullmatch(pattern, text)] == []
    assert [text for text in cases["invalid"] if re.fullmatch(pattern, text)] == []


@documents("rules")
def test_schema_accepts_what_only_the_rules_refuse(name):
    wrong = {}
    for reason, document in TABLES[name]["rules"].items():
        try:
            faults = faults_of(name, document)
        except (ValueError, RecursionError):
            continue
        if faults:
            wrong[reason] = faults
    assert not wrong, f"the schema refuses these; move them to [invalid]:{listed(wrong)}"


@pytest.fixture(scope="session")
def command():
    folder = os.environ.get("NARRATORIA_BUILD_DIR")
    if not folder:
        pytest.skip("NARRATORIA_BUILD_DIR is not set: the command is not compared with the schemas")
    program = (SOURCE / folder / "bin" / "narratoria").resolve()
    assert program.is_file(), f"{program} is missing; build it or correct NARRATORIA_BUILD_DIR"
    return program


def judged(command, folder, name, verdict):
    """Runs the command on the documents of a table; returns its exit status and {reason: faults}."""
    paths = {}
    for reason, document in TABLES[name][verdict].items():
        path = folder / f"{reason}.json"
        path.write_bytes(document)
        paths[str(path)] = reason
    run = subprocess.run(
        [command, "validate", name, "--json", *paths],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert run.stderr == b"", run.stderr.decode("utf-8", "replace")
    files = json.loads(run.stdout)["files"]
    assert [each["file"] for each in files] == list(paths)
    return run.returncode, {
        paths[each["file"]]: [
            fault["message"] for fault in each["faults"] if fault.get("level") != "warning"
        ]
        for each in files
    }


# covers: 003-13.7-plan-schema, 003-13.7-result-schema, 003-13.7-event-schema
@documents("valid", "event", "plan", "result", "tool")
def test_command_accepts(command, tmp_path, name):
    status, found = judged(command, tmp_path, name, "valid")
    wrong = {reason: faults for reason, faults in found.items() if faults}
    assert not wrong, listed(wrong)
    assert status == 0


# covers: 003-13.7-plan-schema, 003-13.7-result-schema, 003-13.7-event-schema
@documents("invalid", "event", "plan", "result", "tool")
def test_command_refuses_what_the_schema_refuses(command, tmp_path, name):
    status, found = judged(command, tmp_path, name, "invalid")
    accepted = {reason: faults for reason, faults in found.items() if not any(faults)}
    assert not accepted, listed(accepted)
    assert status == 1


# covers: 003-13.7-plan-schema, 003-13.7-result-schema, 003-13.7-event-schema
@documents("rules", "event", "plan", "result", "tool")
def test_command_refuses_what_the_schema_cannot_express(command, tmp_path, name):
    status, found = judged(command, tmp_path, name, "rules")
    accepted = {reason: faults for reason, faults in found.items() if not any(faults)}
    assert not accepted, listed(accepted)
    assert status == 1
