// SPDX-License-Identifier: Apache-2.0
// The state after any number of patches. Some states are kept as snapshots; others are merged again from the nearest
// earlier snapshot. Snapshots share unchanged parts, and are thinned out when they would use too much memory.
import type { JsonObject } from "../session/record.ts";
import { Merger, type StatePatch } from "../session/merge.ts";

const closest = 128;
// The limit of copied members in all snapshots after the first, about 40 bytes each.
const affordable = 400_000;
// The number of patches merged between two checks of the clock.
const stride = 32;

interface Snapshot {
  count: number;
  state: JsonObject;
  cost: number;
}

export class StateHistory {
  readonly initial: JsonObject;
  readonly #patches: readonly StatePatch[];
  #interval = closest;
  #snapshots: Snapshot[];
  // The newest state, and its cost as the next snapshot.
  #head: Snapshot;
  // The last requested state, because a slider moves in small steps.
  #visited: Snapshot;

  // `patches` may only be appended to.
  constructor(initial: JsonObject, patches: readonly StatePatch[]) {
    this.initial = initial;
    this.#patches = patches;
    const first = { count: 0, state: initial, cost: 0 };
    this.#snapshots = [first];
    this.#head = { ...first };
    this.#visited = first;
  }

  // The number of merged patches.
  get length(): number {
    return this.#head.count;
  }

  get snapshotCount(): number {
    return this.#snapshots.length;
  }

  // Merges new patches for about `budget` milliseconds. Returns true when all are merged.
  advance(budget = Infinity): boolean {
    const until = budget === Infinity ? Infinity : performance.now() + budget;
    let merger = new Merger();
    while (this.#head.count < this.#patches.length) {
      const head = this.#head;
      const next = head.count + 1;
      head.state = merger.apply(head.state, this.#patches[head.count]!);
      head.count = next;
      if (next % this.#interval === 0) {
        this.#keep({ count: next, state: head.state, cost: head.cost + merger.copied });
        head.cost = 0;
        merger = new Merger();
      }
      if (next % stride === 0 && performance.now() >= until) break;
    }
    this.#head.cost += merger.copied;
    return this.#head.count === this.#patches.length;
  }

  // The state after the first `count` patches, which must have been merged by advance().
  at(count: number): JsonObject {
    const wanted = Math.max(0, Math.min(count, this.length));
    if (wanted === this.length) return this.#head.state;
    let from = this.#snapshots.findLast((one) => one.count <= wanted)!;
    if (this.#visited.count <= wanted && this.#visited.count > from.count) from = this.#visited;
    const merger = new Merger();
    let state = from.state;
    for (let index = from.count; index < wanted; ++index) state = merger.apply(state, this.#patches[index]!);
    this.#visited = { count: wanted, state, cost: 0 };
    return state;
  }

  #keep(snapshot: Snapshot): void {
    this.#snapshots.push(snapshot);
    let cost = 0;
    for (const one of this.#snapshots) cost += one.cost;
    if (cost <= affordable || this.#snapshots.length < 4) return;
    this.#interval *= 2;
    this.#snapshots = this.#snapshots.filter((one) => one.count % this.#interval === 0);
  }
}
