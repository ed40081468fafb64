// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { JsonObject } from "../session/record.ts";
import { changesOf } from "./changes.ts";
import { pointerOf } from "./pointer.ts";

test("what a patch adds, changes and removes", () => {
  const before: JsonObject = { torch: { lit: false, fuel: 3 }, key: "iron", door: { open: true } };
  const patch: JsonObject = { torch: { lit: true, fuel: 3 }, key: null, gone: null, lamp: {}, list: [1], door: {} };
  const { changes, more } = changesOf(before, patch, 100);
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

test("a large patch is cut short", () => {
  const patch = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, index]));
  const { changes, more } = changesOf({}, patch, 30);
  expect(changes.length).toBe(30);
  expect(more).toBe(true);
});
