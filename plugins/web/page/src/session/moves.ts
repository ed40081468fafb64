// SPDX-License-Identifier: Apache-2.0
// The turns of a saved game as a tree: which are undone when the session goes to another one.
import type { Turn } from "./model.ts";

// Marks the turns that are not on the path to the stored turn `to`. Returns the last shown one that is. `current`: the
// shown turn at whose end the session was; `seq`: the number of the record.
export function goBack(turns: readonly Turn[], current: Turn | undefined, to: number, seq: number): Turn | undefined {
  let last = turns.findLast((one) => one.id === to);
  // Otherwise it is a turn of the host, which has no number here: one on the way to the current turn.
  for (let one = current; last === undefined && one !== undefined; one = one.previous) {
    if (firstId(one) <= to) last = one;
  }
  const path = new Set<Turn>();
  for (let one = last; one !== undefined; one = one.previous) path.add(one);
  for (const one of turns) {
    const isUndone = !path.has(one);
    if (isUndone === (one.isUndone ?? false)) continue;
    one.isUndone = isUndone;
    one.revision = seq;
  }
  return last;
}

// The lowest number that the stored turn can have.
function firstId(turn: Turn): number {
  let later = 0;
  let one: Turn | undefined = turn;
  for (; one !== undefined && one.id === undefined; one = one.previous) later += 1;
  return (one?.id ?? 0) + later;
}

// True if a prompt comes before the end of this turn.
export function canUndo(turn: Turn): boolean {
  for (let one: Turn | undefined = turn; one !== undefined; one = one.previous) {
    if (one.prompt !== undefined || one.isLater === true) return true;
  }
  return false;
}
