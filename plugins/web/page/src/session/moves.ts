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
    const isUndone = one.isMarker !== true && !path.has(one);
    if (isUndone === (one.isUndone ?? false)) continue;
    one.isUndone = isUndone;
    one.revision = seq;
  }
  return last;
}

// The turns on the way to `current`; and the branches of undone turns, of each turn and of the beginning. `seq`: the
// number of the record that moved the session.
export function arranged(turns: readonly Turn[], current: Turn | undefined, seq: number): { story: Turn[]; branches: Turn[][] } {
  const next = new Map<Turn | undefined, Turn[]>();
  for (const turn of turns) {
    const others = next.get(turn.previous);
    if (others === undefined) next.set(turn.previous, [turn]);
    else others.push(turn);
  }
  const undoneAfter = (turn: Turn | undefined): Turn[] =>
    // An earlier move is left out, unless the story went on from there.
    (next.get(turn) ?? []).filter((one) => one.isUndone === true && (one.movedTo === undefined || next.has(one)));
  const branch = (first: Turn): Turn[] => {
    const line: Turn[] = [];
    for (let one: Turn | undefined = first; one !== undefined; ) {
      const after = undoneAfter(one);
      line.push(one);
      setBranches(one, after.slice(0, -1).map(branch), seq);
      one = after.at(-1);
    }
    return line;
  };
  const story: Turn[] = [];
  for (let one = current; one !== undefined; one = one.previous) {
    story.push(one);
    setBranches(one, undoneAfter(one).map(branch), seq);
  }
  return { story: story.reverse(), branches: undoneAfter(undefined).map(branch) };
}

function setBranches(turn: Turn, branches: Turn[][], seq: number): void {
  if (turn.branches.length > 0 || branches.length > 0) turn.revision = seq;
  turn.branches = branches;
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
