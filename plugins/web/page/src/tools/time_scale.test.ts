// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check";
import { expect, test } from "vitest";
import { barOf, duration, ticksFor } from "./time_scale.ts";

test("ticks keep a minimum distance and fill the axis", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100_000_000 }), fc.integer({ min: 200, max: 4000 }), (span, width) => {
      const ticks = ticksFor(span, width, 80);
      expect(ticks[0]).toEqual({ at: 0, label: "0" });
      for (let index = 1; index < ticks.length; ++index) {
        expect(((ticks[index]!.at - ticks[index - 1]!.at) / span) * width).toBeGreaterThanOrEqual(79.99);
        expect(ticks[index]!.at).toBeLessThanOrEqual(span);
      }
      expect(new Set(ticks.map((one) => one.label)).size).toBe(ticks.length);
    }),
  );
  expect(ticksFor(0, 500, 80)).toHaveLength(1);
});

test("durations", () => {
  expect([0, 87, 999, 1000, 4240, 9960, 12_400, 59_600, 65_000, 3_700_000].map(duration)).toEqual([
    "0 ms", "87 ms", "999 ms", "1.0 s", "4.2 s", "10 s", "12 s", "1:00", "1:05", "1:01:40",
  ]);
});

test("a bar stays on its axis", () => {
  expect(barOf(150, 200, 100, 200)).toEqual({ from: 0.25, to: 0.5 });
  expect(barOf(50, 900, 100, 200)).toEqual({ from: 0, to: 1 });
  expect(barOf(150, 100, 100, 0)).toEqual({ from: 0, to: 0 });
});
