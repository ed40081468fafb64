// SPDX-License-Identifier: Apache-2.0
// Selects the lines of a log to show; an update examines only new lines.
import type { Level, LogLines } from "../session/session.ts";

export class LogFilter {
  readonly counts: Record<Level, number> = { debug: 0, info: 0, warn: 0, error: 0 };
  #logs: LogLines | undefined;
  #wanted: ReadonlySet<Level>;
  #seen = 0;
  #places = new Uint32Array(64);
  #length = 0;

  constructor(wanted: ReadonlySet<Level>) {
    this.#wanted = wanted;
  }

  get length(): number {
    return this.#length;
  }

  // Sets the log and the levels. With the same arguments again, only new lines are examined.
  update(logs: LogLines, wanted: ReadonlySet<Level>): void {
    if (logs !== this.#logs || wanted !== this.#wanted) {
      if (logs !== this.#logs) this.counts.debug = this.counts.info = this.counts.warn = this.counts.error = 0;
      const isAnother = logs !== this.#logs;
      this.#logs = logs;
      this.#wanted = wanted;
      const until = this.#seen;
      this.#length = 0;
      this.#seen = isAnother ? 0 : until;
      if (!isAnother) for (let index = 0; index < until; ++index) this.#take(logs, index);
    }
    for (; this.#seen < logs.length; ++this.#seen) {
      ++this.counts[logs.levelAt(this.#seen)];
      this.#take(logs, this.#seen);
    }
  }

  // The index in the log of the shown line `index`; -1 if there is none.
  at(index: number): number {
    return index < this.#length ? this.#places[index]! : -1;
  }

  // The index at which line `line` of the log is shown, or would be.
  placeOf(line: number): number {
    let low = 0;
    let high = this.#length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#places[middle]! < line) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #take(logs: LogLines, index: number): void {
    if (!this.#wanted.has(logs.levelAt(index))) return;
    if (this.#length === this.#places.length) {
      const larger = new Uint32Array(this.#length * 2);
      larger.set(this.#places);
      this.#places = larger;
    }
    this.#places[this.#length++] = index;
  }
}
