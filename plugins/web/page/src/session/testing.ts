// SPDX-License-Identifier: Apache-2.0
// Records for tests.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { EventRecord } from "./record.ts";
import { type Asset, Session } from "./session.ts";

export type Draft = Pick<EventRecord, "kind" | "event"> & Partial<EventRecord>;

// The records of a plan, as a runtime sent them.
export function stream(name: string): EventRecord[] {
  const folder = join(dirname(fileURLToPath(import.meta.url)), "streams");
  const lines = readFileSync(join(folder, `${name}.ndjson`), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as EventRecord);
}

// Numbers records from `after` + 1 on.
export function numbered(drafts: readonly Draft[], after = 0): EventRecord[] {
  return drafts.map((draft, index) => ({
    time: "2026-01-24T18:30:00.250Z",
    sessionId: "s",
    ...draft,
    seq: after + index + 1,
  }));
}

// A session that has taken these records, and is told of them as a stream that has no more.
export function played(...parts: (Draft | readonly Draft[])[]): Session {
  const records = numbered(parts.flat());
  const session = new Session(() => {});
  session.open({ sessionId: "s", title: "T", last: records.length, state: {} });
  session.take(records);
  return session;
}

// Waits until the elements of a view are drawn.
export async function settled(): Promise<void> {
  for (let round = 0; round < 4; ++round) await new Promise((resolve) => setTimeout(resolve));
}

export function assetOf(more: Partial<Asset> = {}): Asset {
  return {
    seq: 7, time: 0, planKey: undefined, toolId: "t", attempt: 1, assetId: "torch", kind: "image",
    mediaType: "image/png", path: "/tmp/x/torch.png", metadata: {}, ...more,
  };
}
