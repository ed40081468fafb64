// SPDX-License-Identifier: Apache-2.0
import type { Turn } from "./model.ts";

// An empty turn.
export function blankTurn(index: number, seq: number, started: number): Turn {
  return {
    index,
    prompt: undefined,
    movedTo: undefined,
    started,
    ended: undefined,
    narratives: [],
    untold: [],
    plans: [],
    assets: [],
    warnings: [],
    entries: [],
    choices: undefined,
    generations: undefined,
    outcome: undefined,
    endSeq: undefined,
    revision: seq,
  };
}
