// SPDX-License-Identifier: Apache-2.0
// A session, derived from its records alone.
import type { Asset, Conflict, Patch, PlanRun, Turn, Warning } from "./model.ts";
import type { EventRecord, JsonObject } from "./record.ts";

export type * from "./model.ts";
export type { Level, LogLine, LogLines } from "./log_lines.ts";

// The `session` message that opens each stream.
export interface Opening {
  sessionId: string;
  title: string;
  last: number;
  state?: JsonObject;
}

export class Session {
  id = "";
  title = "";
  initialState: JsonObject = {};
  lastSeq = 0;
  // Whether everything that was there when the stream opened has come.
  caughtUp = false;
  // Another after each change.
  version = 0;

  readonly turns: Turn[] = [];
  // By PlanRun.key, in the order of their start.
  readonly plans = new Map<string, PlanRun>();
  readonly assets: Asset[] = [];
  readonly patches: Patch[] = [];
  readonly conflicts: Conflict[] = [];
  readonly warnings: Warning[] = [];

  // The turn that runs now.
  get running(): Turn | undefined {
    const last = this.turns.at(-1);
    return last !== undefined && last.outcome === undefined ? last : undefined;
  }

  get busy(): boolean {
    return this.running !== undefined;
  }

  open(_opening: Opening): void {}

  take(_records: readonly EventRecord[]): void {}

  // Called after a change, at most once for each frame. Returns what ends it.
  subscribe(_listener: () => void): () => void {
    return () => {};
  }
}
