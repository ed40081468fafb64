// SPDX-License-Identifier: Apache-2.0
// The log lines of one invocation, stored in columns: one object per line would be too much for 100,000 lines.
import type { JsonObject } from "./record.ts";

export const levels = ["debug", "info", "warn", "error"] as const;
export type Level = (typeof levels)[number];

export interface LogLine {
  seq: number;
  time: number;
  level: Level;
  message: string;
  fields: JsonObject | undefined;
  attempt: number;
}

export class LogLines {
  #length = 0;
  #seqs = new Float64Array(0);
  #times = new Float64Array(0);
  #attempts = new Uint16Array(0);
  #levels = new Uint8Array(0);
  #messages: string[] = [];
  #fields = new Map<number, JsonObject>();

  get length(): number {
    return this.#length;
  }

  add(line: LogLine): void {
    const index = this.#length;
    if (index === this.#seqs.length) this.#grow();
    this.#seqs[index] = line.seq;
    this.#times[index] = line.time;
    this.#attempts[index] = line.attempt;
    this.#levels[index] = levels.indexOf(line.level);
    this.#messages.push(line.message);
    if (line.fields !== undefined && Object.keys(line.fields).length > 0) this.#fields.set(index, line.fields);
    this.#length = index + 1;
  }

  at(index: number): LogLine | undefined {
    if (index < 0 || index >= this.#length) return undefined;
    return {
      seq: this.#seqs[index]!,
      time: this.#times[index]!,
      level: this.levelAt(index),
      message: this.#messages[index]!,
      fields: this.#fields.get(index),
      attempt: this.#attempts[index]!,
    };
  }

  levelAt(index: number): Level {
    return levels[this.#levels[index] ?? 1] ?? "info";
  }

  *[Symbol.iterator](): IterableIterator<LogLine> {
    for (let index = 0; index < this.#length; ++index) yield this.at(index)!;
  }

  #grow(): void {
    const capacity = Math.max(16, this.#seqs.length * 2);
    this.#seqs = widened(new Float64Array(capacity), this.#seqs);
    this.#times = widened(new Float64Array(capacity), this.#times);
    this.#attempts = widened(new Uint16Array(capacity), this.#attempts);
    this.#levels = widened(new Uint8Array(capacity), this.#levels);
  }
}

function widened<Column extends { set(from: Column): void }>(to: Column, from: Column): Column {
  to.set(from);
  return to;
}
