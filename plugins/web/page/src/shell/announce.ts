// SPDX-License-Identifier: Apache-2.0
// The announcements of a session for screen readers: narration, assets, remarks and choices.
import { altOf, categoryOf } from "../assets/asset_words.ts";
import { remarkOf } from "../narrative/words.ts";
import type { Session, Turn } from "../session/session.ts";
import { shortened } from "../text/shorten.ts";

const kinds = { image: "Picture", audio: "Sound", video: "Film", text: "Text", model: "Model", other: "File" } as const;
const kLongest = 1000;
const kChoices = 9;

// The announcements for records after number `after`, in order. `stopped`: true if this window cancelled the turn.
export function announcements(session: Session, after: number, stopped: (turn: Turn) => boolean = () => false): string[] {
  const messages: string[] = [];
  for (let index = session.turns.length - 1; index >= 0; --index) {
    const turn = session.turns[index]!;
    if (turn.revision <= after) break;
    const here: string[] = [];
    for (const entry of turn.entries) {
      if (entry.what === "narrative" && entry.narrative.seq > after) here.push(entry.narrative.text);
      if (entry.what === "asset" && entry.asset.seq > after && entry.asset.refused === undefined) {
        here.push(`${kinds[categoryOf(entry.asset)]}: ${altOf(entry.asset)}`);
      }
    }
    if ((turn.endSeq ?? 0) > after) {
      const words = remarkOf(turn, stopped(turn))?.words ?? [];
      if (words.length > 0) here.push(words.join(" "));
      if (turn.choices !== undefined) {
        here.push(`You can choose: ${turn.choices.choices.slice(0, kChoices).map((one) => shortened(one, 80)).join(", ")}`);
      }
    }
    messages.unshift(...here);
  }
  return messages.map((one) => shortened(one, kLongest));
}
