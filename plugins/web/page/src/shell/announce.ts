// SPDX-License-Identifier: Apache-2.0
// The announcements of a session for screen readers: narration, assets, the ending, remarks and choices.
import { altOf, categoryOf } from "../assets/asset_words.ts";
import { endingOf, failureWords, movedWords, remarkOf } from "../narrative/words.ts";
import type { Session, Turn } from "../session/session.ts";
import { shortened } from "../text/shorten.ts";

const kinds = { image: "Picture", audio: "Sound", video: "Film", text: "Text", model: "Model", other: "File" } as const;
const kLongest = 1000;
const kChoices = 9;

export interface Announcement {
  text: string;
  // The story's own words, in its language.
  isStory: boolean;
}

// The announcements for records after number `after`, in order. `stopped`: true if this window cancelled the turn.
export function announcements(session: Session, after: number, stopped: (turn: Turn) => boolean = () => false): Announcement[] {
  const messages: Announcement[] = [];
  for (let index = session.turns.length - 1; index >= 0; --index) {
    const turn = session.turns[index]!;
    if (turn.revision <= after) break;
    const here: Announcement[] = [];
    const story = (text: string): void => void here.push({ text, isStory: true });
    const page = (text: string): void => void here.push({ text, isStory: false });
    const moved = movedWords(turn);
    if (moved !== undefined && (turn.endSeq ?? 0) > after) page(moved);
    for (const entry of turn.entries) {
      if (entry.what === "narrative") {
        for (const one of entry.narrative.spoken) {
          if (one.seq <= after) continue;
          if (one.text === "") page("The narrator takes that back.");
          else story(one.text.trim());
        }
      }
      if (entry.what === "failure" && entry.seq > after) failureWords(turn, entry.plan).forEach(story);
      if (entry.what === "asset" && entry.asset.seq > after && entry.asset.refused === undefined) {
        page(`${kinds[categoryOf(entry.asset)]}: ${altOf(entry.asset)}`);
      }
    }
    if ((turn.endSeq ?? 0) > after) {
      const ending = endingOf(turn);
      if (ending !== undefined) page(`The end: ${ending}`);
      const words = remarkOf(turn, stopped(turn))?.words ?? [];
      if (words.length > 0) page(words.join(" "));
      if (turn.choices !== undefined) {
        page(`You can choose: ${turn.choices.choices.slice(0, kChoices).map((one) => shortened(one, 80)).join(", ")}`);
      }
    }
    messages.unshift(...here);
  }
  return messages.map((one) => ({ ...one, text: shortened(one.text, kLongest) }));
}
