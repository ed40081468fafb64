// SPDX-License-Identifier: Apache-2.0
import type { Turn } from "./model.ts";

// An empty turn.
export function blankTurn(index: number, seq: number, started: number): Turn {
  return {
    index,
    started,
    narratives: [],
    untold: [],
    plans: [],
    assets: [],
    warnings: [],
    entries: [],
    branches: [],
    revision: seq,
  };
}
