// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { layOut, type Task } from "./layout.ts";

const plans = fc.array(fc.array(fc.nat(40), { maxLength: 4 }), { minLength: 1, maxLength: 40 }).map((lists) =>
  lists.map((list, index): Task => ({
    id: `t${index}`,
    dependencies: list.filter((one) => one < index).map((one) => `t${one}`),
  })),
);

describe("layout", () => {
  test("edges go forward, and no two tools overlap", () => {
    fc.assert(
      fc.property(plans, (tasks) => {
        const { nodes, edges, breadth, layers } = layOut(tasks);
        const byId = new Map(nodes.map((one) => [one.id, one]));
        expect(nodes.length).toBe(tasks.length);
        for (const edge of edges) expect(byId.get(edge.from)!.layer).toBeLessThan(byId.get(edge.to)!.layer);
        const places = new Map<number, number[]>();
        for (const one of nodes) {
          expect(one.across).toBeGreaterThanOrEqual(0.49);
          expect(one.across).toBeLessThanOrEqual(breadth);
          expect(one.layer).toBeLessThan(layers);
          places.set(one.layer, [...(places.get(one.layer) ?? []), one.across]);
        }
        for (const list of places.values()) {
          list.sort((a, b) => a - b);
          for (let index = 1; index < list.length; ++index) expect(list[index]! - list[index - 1]!).toBeGreaterThan(0.99);
        }
      }),
    );
  });

  test("a chain is straight", () => {
    const { nodes } = layOut([
      { id: "a", dependencies: [] },
      { id: "b", dependencies: ["a"] },
      { id: "c", dependencies: ["b"] },
    ]);
    expect(nodes.map((one) => [one.layer, one.across])).toEqual([[0, 0.5], [1, 0.5], [2, 0.5]]);
  });

  test("invalid dependencies are tolerated", () => {
    const { nodes, edges } = layOut([
      { id: "a", dependencies: ["a", "missing"] },
      { id: "b", dependencies: ["c"] },
      { id: "c", dependencies: ["b"] },
      { id: "a", dependencies: ["b"] },
    ]);
    expect(nodes.length).toBe(3);
    expect(edges.length).toBeGreaterThan(0);
    expect(layOut([]).nodes).toEqual([]);
  });

  test("2,000 tools", () => {
    const tasks = Array.from({ length: 2000 }, (_, index): Task => ({
      id: `t${index}`,
      dependencies: index < 100 ? [] : [`t${index - 100}`, `t${(index * 31) % (index - 50)}`],
    }));
    const started = performance.now();
    layOut(tasks);
    const took = performance.now() - started;
    console.info(`2,000 tools laid out in ${took.toFixed(0)} ms`);
  });
});
