// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../session/record.ts";
import { cut, preview, print } from "./inspect.ts";
import { Marks } from "./marks.ts";
import { merge } from "../session/merge.ts";
import { pointerOf, segmentsOf, valueAt } from "./pointer.ts";
import { mostHits, PathSearch } from "./search.ts";
import { effectOn, writingsOf } from "./writers.ts";

describe("pointer", () => {
  test("round trip", () => {
    fc.assert(fc.property(fc.array(fc.string()), (segments) => {
      expect(segmentsOf(pointerOf(segments))).toEqual(segments);
    }));
    expect(segmentsOf("no pointer")).toBeUndefined();
  });

  test("finds own members only", () => {
    expect(valueAt({ a: [{ b: 1 }] }, ["a", "0", "b"])).toBe(1);
    expect(valueAt({}, ["constructor"])).toBeUndefined();
    expect(valueAt({ a: [1] }, ["a", "length"])).toBeUndefined();
    expect(valueAt("text", ["0"])).toBeUndefined();
  });
});

describe("writers", () => {
  const patches = [
    { patch: { a: { b: 1, c: 2 } } },
    { patch: { other: true } },
    { patch: { a: { b: 2 } } },
    { patch: { a: null } },
    { patch: { a: "flat" } },
  ] as { patch: JsonObject }[];

  test("newest first, with the effect", () => {
    expect(writingsOf(patches, 5, ["a", "b"], 10).writings).toEqual([
      { index: 4, effect: "above" },
      { index: 3, effect: "removed" },
      { index: 2, effect: "set" },
      { index: 0, effect: "set" },
    ]);
    expect(writingsOf(patches, 3, ["a"], 1)).toEqual({ writings: [{ index: 2, effect: "inside" }], more: true });
  });

  test("every effect of a patch on a path is found", () => {
    const value = fc.oneof(fc.constant(null), fc.integer(), fc.dictionary(fc.constantFrom("a", "b"), fc.option(fc.integer())));
    const object = fc.dictionary(fc.constantFrom("a", "b"), value);
    fc.assert(
      fc.property(object, object, fc.array(fc.constantFrom("a", "b"), { minLength: 1, maxLength: 2 }), (state, patch, path) => {
        const before = valueAt(state as Json, path);
        const after = valueAt(merge(state as JsonObject, patch as JsonObject), path);
        if (JSON.stringify(before) !== JSON.stringify(after)) expect(effectOn({ patch: patch as JsonObject }, path)).toBeDefined();
      }),
    );
  });
});

describe("marks", () => {
  test("leaves, inner paths and replaced values", () => {
    const marks = new Marks();
    marks.add({ a: { b: 1 }, gone: null, list: [1, 2] }, 3);
    marks.add({ a: { c: 1 } }, 4);
    expect(marks.at(["a", "b"])?.own).toBe(3);
    expect(marks.at(["a"])).toMatchObject({ own: undefined, inside: 4 });
    expect(marks.at(["list", "1"])?.own).toBe(3);
    expect(marks.at(["gone"])?.own).toBe(3);
    expect(marks.at(["else"])).toBeUndefined();
  });

  test("a patch with a million paths is marked in part", () => {
    const marks = new Marks();
    marks.add(Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`k${index}`, 1])), 0);
    expect(marks.root.children.size).toBe(20_000);
  });
});

describe("search", () => {
  const state = { inventory: { torch: { lit: true }, Torches: 3 }, discovered: { "door/inscription": "torch" } } as Json;
  const hitsOf = (words: string): string[] => {
    const search = new PathSearch(state, words);
    while (!search.advance(5));
    return search.hits.map(pointerOf);
  };

  test("matches must reach the last part of the path", () => {
    expect(hitsOf("torch")).toEqual(["/inventory/torch", "/inventory/Torches"]);
    expect(hitsOf("inventory/t")).toEqual(["/inventory/torch", "/inventory/Torches"]);
    expect(hitsOf("nothing")).toEqual([]);
  });

  test("an exact pointer comes first", () => {
    expect(hitsOf("/inventory/torch")).toEqual(["/inventory/torch", "/inventory/Torches"]);
    expect(hitsOf("/discovered/door~1inscription")).toEqual(["/discovered/door~1inscription"]);
  });

  test("hits are limited; 100,000 nodes are searched fast", () => {
    const large: JsonObject = {};
    for (let index = 0; index < 100_000; ++index) large[`key${index}`] = index;
    const search = new PathSearch(large, "key");
    const started = performance.now();
    while (!search.advance(8));
    console.info(`searched in ${(performance.now() - started).toFixed(0)} ms`);
    expect(search.hits.length).toBe(mostHits);
    expect(search.capped).toBe(true);
    const all = new PathSearch(large, "99999");
    while (!all.advance(8));
    expect(all.hits).toEqual([["key99999"]]);
  });
});

describe("inspect", () => {
  test("prints like JSON.stringify within the limit", () => {
    fc.assert(fc.property(fc.json(), (text) => {
      const value = JSON.parse(text) as Json;
      const printed = print(value, 1_000_000);
      expect(printed.complete).toBe(true);
      expect(printed.text).toBe(JSON.stringify(value, null, 2));
    }));
  });

  test("stops at the limit", () => {
    const printed = print({ long: "x".repeat(1_000_000) }, 100);
    expect(printed.complete).toBe(false);
    expect(printed.text.length).toBeLessThanOrEqual(101);
    expect(preview({ a: [1, 2] }, 40)).toBe('{ "a": [ 1, 2 ] }');
  });

  test("never cuts a surrogate pair", () => {
    expect(cut("a😀b", 2)).toBe("a");
    expect(cut("a😀b", 3)).toBe("a😀");
  });
});
