// SPDX-License-Identifier: Apache-2.0
// Search by path. A match must include the last part of the path, so ancestors of a hit are not hits themselves. The
// search runs in slices, so that a large state does not freeze the page.
import type { Json } from "../session/record.ts";
import { pointerPart, segmentsOf, valueAt } from "./pointer.ts";
import { isContainer } from "./tree.ts";

export const mostHits = 10_000;

export class PathSearch {
  // In the order of the tree.
  readonly hits: string[][] = [];
  done = false;
  capped = false;
  readonly #walk: Generator<void, void>;

  constructor(value: Json, words: string) {
    this.#walk = this.#search(value, words);
  }

  // Continues for about `budget` milliseconds. Returns true when done.
  advance(budget: number): boolean {
    const until = performance.now() + budget;
    while (!this.done && performance.now() < until) {
      for (let step = 0; step < 256 && !this.done; ++step) this.done = this.#walk.next().done === true;
    }
    return this.done;
  }

  *#search(value: Json, words: string): Generator<void, void> {
    const exact = segmentsOf(words);
    if (exact !== undefined && exact.length > 0 && valueAt(value, exact) !== undefined) this.hits.push(exact);
    const wanted = words.toLowerCase();
    yield* this.#inside(value, [], "", wanted, this.hits.length > 0 ? words : undefined);
  }

  *#inside(value: Json, above: string[], path: string, wanted: string, except?: string): Generator<void, void> {
    if (!isContainer(value)) return;
    const members = value as { [key: string]: Json };
    for (const key of Object.keys(members)) {
      yield;
      const whole = path + pointerPart(key).toLowerCase();
      const found = whole.lastIndexOf(wanted);
      if (found >= 0 && found + wanted.length > path.length + 1 && whole !== except?.toLowerCase()) {
        if (this.hits.length >= mostHits) {
          this.capped = true;
          return;
        }
        this.hits.push([...above, key]);
      }
      const inside = members[key]!;
      if (!isContainer(inside)) continue;
      above.push(key);
      yield* this.#inside(inside, above, whole, wanted, except);
      above.pop();
      if (this.capped) return;
    }
  }
}
