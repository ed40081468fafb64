// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check";
import { expect, test } from "vitest";
import { margin, rowsIn, scrollFor, tallest } from "./window.ts";

const list = fc.record({
  count: fc.integer({ min: 1, max: 2_000_000 }),
  rowHeight: fc.integer({ min: 16, max: 80 }),
  height: fc.integer({ min: 50, max: 2000 }),
  part: fc.double({ min: 0, max: 1, noNaN: true }),
});

test("visible rows are rendered at any scroll position", () => {
  fc.assert(
    fc.property(list, ({ count, rowHeight, height, part }) => {
      const range = Math.max(0, Math.min(count * rowHeight, tallest) - height);
      const rows = rowsIn(count, rowHeight, { scrollTop: part * range, height });
      expect(rows.first).toBeGreaterThanOrEqual(0);
      expect(rows.last).toBeLessThanOrEqual(count);
      expect(rows.last - rows.first).toBeLessThanOrEqual((height + 2 * margin) / rowHeight + 4);
      const seen = part * range;
      if (rows.first > 0) expect(rows.top).toBeLessThanOrEqual(seen + 0.01);
      if (rows.last < count) expect(rows.top + (rows.last - rows.first) * rowHeight).toBeGreaterThanOrEqual(seen + height - 0.01);
    }),
  );
});

test("scrolling to a row makes it visible", () => {
  fc.assert(
    fc.property(list, fc.nat(), ({ count, rowHeight, height, part }, wanted) => {
      const index = wanted % count;
      const range = Math.max(0, Math.min(count * rowHeight, tallest) - height);
      const port = { scrollTop: part * range, height };
      const to = scrollFor(index, count, rowHeight, port);
      const rows = rowsIn(count, rowHeight, { scrollTop: to ?? port.scrollTop, height });
      expect(index).toBeGreaterThanOrEqual(rows.first);
      expect(index).toBeLessThan(rows.last);
    }),
  );
});

test("both ends of a list above the height limit are reachable", () => {
  const port = { scrollTop: tallest - 500, height: 500 };
  expect(rowsIn(1_000_000, 32, port).last).toBe(1_000_000);
  expect(rowsIn(1_000_000, 32, { scrollTop: 0, height: 500 }).first).toBe(0);
  expect(rowsIn(0, 32, { scrollTop: 0, height: 500 })).toMatchObject({ first: 0, last: 0, height: 0 });
});
