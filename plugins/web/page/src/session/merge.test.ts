// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isObject, type Json, type JsonObject } from "./record.ts";
import { Merger, difference, merge } from "./merge.ts";

// The algorithm of RFC 7396 §2, verbatim, on copies.
function naive(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return structuredClone(patch);
  const out = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) out.delete(key);
    else out.set(key, naive(out.get(key), value));
  }
  return Object.fromEntries(out);
}

const keys = fc.constantFrom("a", "b", "c", "1", "", "__proto__", "constructor", "a/b~");
const json = fc.letrec<{ value: Json; object: JsonObject }>((tie) => ({
  value: fc.oneof({ depthSize: "small" }, fc.constant(null), fc.integer(), fc.string(), fc.array(fc.integer()), tie("object")),
  object: fc.array(fc.tuple(keys, tie("value"))).map((members) => Object.fromEntries(members) as JsonObject),
}));

function plain(value: Json): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}

describe("merge", () => {
  test("passes the runtime's merge cases", () => {
    const file = new URL("../../../../../tests/conformance/cases/merge-patch.json", import.meta.url);
    const { cases } = JSON.parse(readFileSync(file, "utf8")) as { cases: { state: JsonObject; patch: JsonObject; result: JsonObject }[] };
    expect(cases.length).toBeGreaterThan(20);
    for (const { state, patch, result } of cases) expect(JSON.stringify(merge(state, patch))).toBe(JSON.stringify(result));
  });

  test("follows RFC 7396 and does not modify its arguments", () => {
    fc.assert(
      fc.property(json.object, json.object, (state, patch) => {
        const before = JSON.stringify([state, patch]);
        const merged = merge(state, patch);
        expect(plain(merged)).toEqual(plain(naive(state, patch)));
        expect(JSON.stringify([state, patch])).toBe(before);
      }),
      { numRuns: 500 },
    );
  });

  test("one merger gives the same result as separate merges", () => {
    fc.assert(
      fc.property(json.object, fc.array(json.object, { maxLength: 6 }), (state, patches) => {
        const before = JSON.stringify([state, patches]);
        const merger = new Merger();
        let together = state;
        for (const one of patches) together = merger.apply(together, { patch: one });
        expect(plain(together)).toEqual(plain(patches.reduce<Json>((sum, one) => naive(sum, one), state)));
        expect(JSON.stringify([state, patches])).toBe(before);
      }),
      { numRuns: 500 },
    );
  });

  test("unchanged parts are the same object", () => {
    const state = JSON.parse('{"far":{"x":1},"near":{"y":1}}') as JsonObject;
    const merged = merge(state, { near: { y: 2 } });
    expect(merged["far"]).toBe(state["far"]);
    expect(merge(state, { near: { y: 1 } })).toBe(state);
    expect(merge(state, { gone: null })).toBe(state);
  });

  test("a key may be called __proto__", () => {
    const patch = JSON.parse('{"__proto__":{"polluted":true}}') as JsonObject;
    const merged = merge({}, patch);
    expect(JSON.stringify(merged)).toBe('{"__proto__":{"polluted":true}}');
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect(JSON.stringify(merge(merged, JSON.parse('{"__proto__":null}') as JsonObject))).toBe("{}");
  });

  test("nulls are dropped from new objects and kept in arrays", () => {
    expect(plain(merge({}, { a: { b: null, c: [null, { d: null }] } }))).toEqual({ a: { c: [null, { d: null }] } });
    expect(plain(merge({ a: [1] }, { a: { b: 1 } }))).toEqual({ a: { b: 1 } });
  });
});

test("the difference of two states is the patch between them, nulls included", () => {
  fc.assert(
    fc.property(json.object, json.object, (before, after) => {
      const patch = difference(before, after);
      expect(plain(new Merger().apply(before, patch))).toEqual(plain(after));
      expect(difference(after, after).patch).toEqual({});
    }),
  );
});
