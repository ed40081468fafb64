// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { JsonObject } from "../session/record.ts";
import { changesOf } from "./changes.ts";
import { Merger } from "../session/merge.ts";
import { pointerOf } from "./pointer.ts";
import { effectOn } from "./writers.ts";

test("lists what a patch adds, changes and removes", () => {
  const before: JsonObject = { torch: { lit: false, fuel: 3 }, key: "iron", door: { open: true } };
  const patch: JsonObject = { torch: { lit: true, fuel: 3 }, key: null, gone: null, lamp: {}, list: [1], door: {} };
  const { changes, more } = changesOf(before, { patch }, 100);
  expect(changes.map((one) => `${one.what} ${pointerOf(one.segments)}`)).toEqual([
    "changed /torch/lit",
    "same /torch/fuel",
    "removed /key",
    "same /gone",
    "added /lamp",
    "added /list",
    "same /door",
  ]);
  expect(more).toBe(false);
});

test("a null value is set, not removed", () => {
  const written = { patch: { a: { b: null, c: null } }, nulls: { a: { b: null } } };
  const before: JsonObject = { a: { b: 1, c: 2 } };
  expect(new Merger().apply(before, written)).toEqual({ a: { b: null } });
  expect(changesOf(before, written, 9).changes.map((one) => `${one.what} ${pointerOf(one.segments)}`)).toEqual([
    "changed /a/b",
    "removed /a/c",
  ]);
  expect([effectOn(written, ["a", "b"]), effectOn(written, ["a", "c"])]).toEqual(["set", "removed"]);
});

test("a large patch is truncated", () => {
  const patch = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, index]));
  const { changes, more } = changesOf({}, { patch }, 30);
  expect(changes.length).toBe(30);
  expect(more).toBe(true);
});
