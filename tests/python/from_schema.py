# SPDX-License-Identifier: Apache-2.0
"""Generates JSON from the project's schemas: every member, known and unknown, in every type.

The conditions of a schema (`if`, `not`, `allOf`) are ignored: the result has members of the right
types but may break such a rule.
"""

import json
from pathlib import Path

import jsonschema
from hypothesis import strategies as st

SCHEMAS = {
    path.name.removesuffix(".schema.json"): json.loads(path.read_text(encoding="utf-8"))
    for path in (Path(__file__).resolve().parents[2] / "abi" / "schemas").glob("*.schema.json")
}

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
json_objects = st.dictionaries(st.text(max_size=8), json_values, max_size=3)
# No known member begins with this prefix.
unknown_members = st.dictionaries(
    st.text(max_size=6).map(lambda name: "x-" + name), json_values, max_size=2
)


def validator(name):
    schema, by_id = SCHEMAS[name], {each["$id"]: each for each in SCHEMAS.values()}
    try:
        from referencing import Registry, Resource
    except ImportError:
        # For jsonschema before 4.18, which distributions ship: urllib does not join "#/..." to a
        # URN.
        def join(base, reference):
            return base.partition("#")[0] + reference if reference.startswith("#") else reference

        resolver = jsonschema.RefResolver(schema["$id"], schema, store=by_id, urljoin_cache=join)
        return jsonschema.Draft202012Validator(schema, resolver=resolver)
    resources = [(identifier, Resource.from_contents(each)) for identifier, each in by_id.items()]
    return jsonschema.Draft202012Validator(schema, registry=Registry().with_resources(resources))


def resolve(schema, name):
    """Returns the schema that `schema` refers to, and the document that contains it."""
    where, _, pointer = schema["$ref"].partition("#")
    if where:
        [name] = [key for key, value in SCHEMAS.items() if value["$id"] == where]
    target = SCHEMAS[name]
    for token in pointer.split("/")[1:]:
        target = target[token]
    return target, name


def values(schema, name):
    """A strategy for values of a part of the schema `name`."""
    if "$ref" in schema and "properties" not in schema:
        return st.deferred(lambda: values(*resolve(schema, name)))
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    types = schema.get("type", "any")
    if isinstance(types, list):
        return st.one_of([values({**schema, "type": one}, name) for one in types])
    if types == "string":
        if "pattern" in schema:
            if "additionalProperties" in schema or schema["pattern"].startswith("^[0-9]{4}"):
                return st.datetimes().map(lambda time: time.strftime("2026-%m-%dT%H:%M:%SZ"))
            return st.from_regex(schema["pattern"], fullmatch=True)
        return st.text(min_size=schema.get("minLength", 0), max_size=10)
    if types == "integer":
        return st.integers(schema.get("minimum", -(2**53)), schema.get("maximum", 2**53))
    if types == "array":
        return st.lists(
            values(schema.get("items", {}), name),
            min_size=schema.get("minItems", 0),
            max_size=min(schema.get("maxItems", 3), 3),
            unique_by=repr if schema.get("uniqueItems") else None,
        )
    if types == "object" or "properties" in schema:
        return objects(schema, name)
    simple = {
        "boolean": st.booleans(),
        "null": st.none(),
        "number": st.floats(schema.get("minimum", -9), 9),
    }
    return simple.get(types, json_values)


def objects(schema, name, **given):
    """A strategy for objects with all required, some optional and some unknown members."""
    properties = {
        key: given[key] if key in given else values(inner, name)
        for key, inner in {**schema.get("properties", {}), **given}.items()
    }
    required = set(schema.get("required", ())) | set(given)
    known = st.fixed_dictionaries(
        {key: value for key, value in properties.items() if key in required},
        optional={key: value for key, value in properties.items() if key not in required},
    )
    if not properties:
        return json_objects if "additionalProperties" not in schema else st.just({})
    return st.builds(lambda one, other: {**other, **one}, known, unknown_members)
