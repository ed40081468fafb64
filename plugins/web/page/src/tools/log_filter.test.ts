// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check";
import { expect, test } from "vitest";
import { LogLines, levels, type Level } from "../session/log_lines.ts";
import { LogFilter } from "./log_filter.ts";

function line(level: Level, seq: number): Parameters<LogLines["add"]>[0] {
  return { seq, time: seq, level, message: `line ${seq}`, fields: undefined, attempt: 1 };
}

test("shows the selected levels in any order of updates", () => {
  const level = fc.constantFrom(...levels);
  const step = fc.oneof(fc.array(level, { maxLength: 90 }), fc.uniqueArray(level).map((list) => new Set(list)));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const logs = new LogLines();
      const all: Level[] = [];
      let wanted: ReadonlySet<Level> = new Set(levels);
      const filter = new LogFilter(wanted);
      for (const one of steps) {
        if (Array.isArray(one)) {
          for (const added of one) {
            logs.add(line(added, all.length));
            all.push(added);
          }
        } else {
          wanted = one;
        }
        filter.update(logs, wanted);
        const expected = all.flatMap((name, index) => (wanted.has(name) ? [index] : []));
        expect(Array.from({ length: filter.length }, (_, index) => filter.at(index))).toEqual(expected);
        for (const name of levels) expect(filter.counts[name]).toBe(all.filter((other) => other === name).length);
        expected.forEach((place, index) => expect(filter.placeOf(place)).toBe(index));
      }
      const other = new LogLines();
      other.add(line("warn", 1));
      filter.update(other, new Set(levels));
      expect(filter.length).toBe(1);
      expect(filter.counts).toEqual({ debug: 0, info: 0, warn: 1, error: 0 });
    }),
    { numRuns: 60 },
  );
});
