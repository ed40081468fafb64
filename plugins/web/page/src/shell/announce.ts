// SPDX-License-Identifier: Apache-2.0
// What a screen reader says of a session as it goes on: the narration, what came with it, what may be chosen.
import { noticeOf } from "../narrative/words.ts";
import { type Asset, type Session } from "../session/session.ts";
import { textOf } from "../session/record.ts";
import { shortened } from "../text/shorten.ts";

const kLongest = 1000;
const kChoices = 9;

export function altOf(asset: Asset): string {
  const said = ["alt", "description", "title", "caption"].map((name) => textOf(asset.metadata, name)?.trim());
  return said.find((one) => one !== undefined && one !== "") ?? asset.assetId;
}

// Of what came behind the record `after`, in its order.
export function announcements(session: Session, after: number): string[] {
  const said: string[] = [];
  for (let index = session.turns.length - 1; index >= 0; --index) {
    const turn = session.turns[index]!;
    if (turn.revision <= after) break;
    const here: string[] = [];
    for (const entry of turn.entries) {
      if (entry.what === "narrative" && entry.narrative.seq > after) here.push(entry.narrative.text);
      if (entry.what === "asset" && entry.asset.seq > after && entry.asset.refused === undefined) {
        here.push(`${entry.asset.kind}: ${altOf(entry.asset)}`);
      }
    }
    if ((turn.endSeq ?? 0) > after) {
      const notice = noticeOf(turn);
      if (notice !== undefined) here.push([notice.headline, ...notice.words].join(" "));
      if (turn.choices !== undefined) {
        here.push(`You can choose: ${turn.choices.choices.slice(0, kChoices).map((one) => shortened(one, 80)).join(", ")}`);
      }
    }
    said.unshift(...here);
  }
  return said.map((one) => shortened(one, kLongest));
}
