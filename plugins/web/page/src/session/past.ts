// SPDX-License-Identifier: Apache-2.0
// The turns of a saved game that were played before this page's stream begins.
import { blankTurn } from "./blank_turn.ts";
import type { Asset, Narrative, Turn } from "./model.ts";
import { isOutcome } from "./outcome.ts";
import { type JsonObject, numberOf, objectOf, objectsOf, textOf, textsOf } from "./record.ts";

// The server sends one more if there is one.
const kShown = 50;

// The turn before the first shown one, if it is known.
export function turnBefore(stored: readonly JsonObject[]): JsonObject | undefined {
  return stored.at(-kShown - 1);
}

// `stored`: what nar_host_turns.read writes.
export function pastTurns(stored: readonly JsonObject[]): Turn[] {
  const turns: Turn[] = [];
  for (const one of stored.slice(-kShown)) turns.push(pastTurn(one, turns.length, turns.at(-1)));
  const first = turns[0];
  if (first !== undefined) first.isLater = stored.length > kShown;
  return turns;
}

// `stored`: an element of what nar_host_turns.read writes.
function pastTurn(stored: JsonObject, index: number, previous: Turn | undefined): Turn {
  const time = milliseconds(textOf(stored, "ended"));
  const turn = blankTurn(index, 0, milliseconds(textOf(stored, "began")));
  turn.id = numberOf(stored, "id");
  turn.previous = previous;
  turn.isPast = true;
  if (textOf(stored, "kind") === "prompt") turn.prompt = { text: textOf(stored, "prompt") ?? "" };
  const text = textOf(stored, "narrative") ?? "";
  if (text !== "") {
    const narrative: Narrative = { seq: 0, text, spoken: [{ seq: 0, text }] };
    turn.narratives.push(narrative);
    turn.entries.push({ what: "narrative", seq: 0, narrative });
  }
  for (const one of objectsOf(stored, "assets")) {
    const asset = pastAsset(one, time);
    turn.assets.push(asset);
    turn.entries.push({ what: "asset", seq: asset.seq, asset });
  }
  turn.ending = textOf(stored, "ending");
  const choices = textsOf(stored, "choices");
  if (choices.length > 0) turn.choices = { choices };
  const outcome = textOf(stored, "status");
  turn.outcome = isOutcome(outcome) ? outcome : "completed";
  turn.ended = time;
  turn.endSeq = 0;
  return turn;
}

function pastAsset(stored: JsonObject, time: number): Asset {
  return {
    seq: numberOf(stored, "seq") ?? 0,
    time,
    planKey: undefined,
    toolId: textOf(stored, "toolId") ?? "",
    attempt: numberOf(stored, "attempt") ?? 1,
    assetId: textOf(stored, "assetId") ?? "",
    kind: textOf(stored, "kind") ?? "",
    mediaType: textOf(stored, "mediaType") ?? "",
    path: textOf(stored, "path") ?? "",
    metadata: objectOf(stored, "metadata") ?? {},
  };
}

function milliseconds(time: string | undefined): number {
  const parsed = Date.parse(time ?? "");
  return Number.isNaN(parsed) ? 0 : parsed;
}
