// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../session/record.ts";
import { StateHistory } from "./history.ts";
import { merge } from "../session/merge.ts";

const patch = fc.dictionary(
  fc.constantFrom("a", "b", "c"),
  fc.oneof(fc.constant(null), fc.integer(), fc.dictionary(fc.constantFrom("x", "y"), fc.option(fc.integer()))),
);

test("states after any number of patches, in any order", () => {
  fc.assert(
    fc.property(
      fc.array(patch, { minLength: 300, maxLength: 700 }),
      fc.array(fc.nat(700), { minLength: 1, maxLength: 12 }),
      (list, asked) => {
        const patches = list.map((one) => ({ patch: one as JsonObject }));
        const initial = { a: { x: 0 }, z: 1 } as JsonObject;
        const states = [initial];
        for (const one of patches) states.push(merge(states.at(-1)!, one.patch));
        const history = new StateHistory(initial, patches);
        history.advance();
        for (const one of asked) {
          const count = Math.min(one, patches.length);
          expect(JSON.stringify(history.at(count))).toBe(JSON.stringify(states[count]));
        }
        expect(JSON.stringify(history.at(patches.length))).toBe(JSON.stringify(states.at(-1)));
      },
    ),
    { numRuns: 40 },
  );
});

test("a returned state never changes", () => {
  const patches = Array.from({ length: 400 }, (_, index) => ({ patch: { count: index, deep: { [`k${index % 7}`]: index } } }));
  const history = new StateHistory({}, patches);
  history.advance();
  const shown = [130, 131, 200, 399, 400].map((count) => history.at(count));
  const before = JSON.stringify(shown);
  patches.push({ patch: { count: -1, deep: { k0: -1 } } });
  history.advance();
  history.at(132);
  history.at(201);
  expect(JSON.stringify(shown)).toBe(before);
});

test("any of 10,000 patches on 5,000 keys is available fast", () => {
  const initial: JsonObject = {};
  for (let index = 0; index < 5000; ++index) initial[`key${index}`] = index;
  const patches = Array.from({ length: 10_000 }, (_, index) => ({
    patch: { [`key${(index * 7919) % 5000}`]: -index, group: { [`g${index % 1000}`]: index } } as JsonObject,
  }));
  const history = new StateHistory(initial, patches);
  const started = performance.now();
  history.advance();
  const built = performance.now() - started;
  let worst = 0;
  for (let step = 0; step < 200; ++step) {
    const from = performance.now();
    history.at((step * 4973) % 10_000);
    worst = Math.max(worst, performance.now() - from);
  }
  console.info(`merged in ${built.toFixed(0)} ms, slowest place ${worst.toFixed(1)} ms, ${history.snapshotCount} snapshots`);
  expect(history.snapshotCount).toBeLessThan(200);
});
