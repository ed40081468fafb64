// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../session/record.ts";
import { merge } from "../session/merge.ts";
import { Tree } from "./tree.ts";

function rowsOf(tree: Tree): string[] {
  return tree.slice(0, tree.rowCount).map((node) => `${node.pointer}=${JSON.stringify(node.value)}`);
}

const patch = fc.dictionary(
  fc.constantFrom("a", "b", "c/d", "e~"),
  fc.oneof(
    fc.constant(null),
    fc.integer(),
    fc.array(fc.integer(), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("x", "y"), fc.oneof(fc.constant(null), fc.integer(), fc.constant({ deep: 1 }))),
  ),
);

describe("tree", () => {
  test("an updated tree equals a new one", () => {
    fc.assert(
      fc.property(fc.array(patch, { maxLength: 8 }), fc.array(fc.nat(20), { maxLength: 8 }), (patches, clicks) => {
        let state: JsonObject = { a: { x: 1, y: { deep: 2 } }, b: [1, 2] };
        const tree = new Tree(state);
        for (const [index, one] of patches.entries()) {
          const node = tree.row((clicks[index] ?? 0) % Math.max(1, tree.rowCount));
          if (node !== undefined) {
            if (node.expanded) tree.collapse(node);
            else tree.expand(node);
          }
          state = merge(state, one as JsonObject);
          const open = tree.slice(0, tree.rowCount).filter((row) => row.expanded).map((row) => row.segments);
          tree.update(state);
          const fresh = new Tree(state);
          for (const segments of open) {
            const again = fresh.reveal(segments);
            if (again !== undefined) fresh.expand(again);
          }
          // A node collapsed inside a removed one may be expanded again, but never the reverse.
          for (const row of fresh.slice(0, fresh.rowCount)) expect(tree.find(row.segments)?.value).toEqual(row.value);
          const rows = tree.slice(0, tree.rowCount);
          expect(rows.length).toBe(tree.rowCount);
          rows.forEach((row, place) => {
            expect(tree.row(place)).toBe(row);
            expect(tree.indexOf(row)).toBe(place);
          });
        }
      }),
      { numRuns: 200 },
    );
  });

  test("nodes stay expanded while values change or return", () => {
    const tree = new Tree({ a: { b: { c: 1 } }, z: 1 });
    tree.expand(tree.reveal(["a", "b"])!);
    expect(rowsOf(tree)).toEqual(['/a={"b":{"c":1}}', '/a/b={"c":1}', "/a/b/c=1", "/z=1"]);
    tree.update({ z: 1 });
    expect(rowsOf(tree)).toEqual(["/z=1"]);
    tree.update({ a: { b: { c: 2 } }, z: 1 });
    expect(rowsOf(tree)).toEqual(['/a={"b":{"c":2}}', '/a/b={"c":2}', "/a/b/c=2", "/z=1"]);
  });

  test("100,000 nodes", () => {
    const state: JsonObject = {};
    for (let outer = 0; outer < 100; ++outer) {
      state[`group${outer}`] = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`item${index}`, index as Json]));
    }
    const tree = new Tree(state);
    const started = performance.now();
    expect(tree.expandAll(200_000)).toBe(true);
    const expanded = performance.now() - started;
    expect(tree.rowCount).toBe(100_100);
    const from = performance.now();
    for (let step = 0; step < 1000; ++step) tree.slice((step * 97) % 100_000, ((step * 97) % 100_000) + 60);
    const sliced = (performance.now() - from) / 1000;
    const changed = performance.now();
    tree.update(merge(state, { group50: { item500: -1 } }));
    const updated = performance.now() - changed;
    console.info(`expanded in ${expanded.toFixed(0)} ms, 60 rows in ${sliced.toFixed(3)} ms, a change in ${updated.toFixed(2)} ms`);
    expect(tree.find(["group50", "item500"])?.value).toBe(-1);
    expect(tree.expandAll(50)).toBe(true);
    expect(new Tree(state).expandAll(50)).toBe(false);
  });
});
