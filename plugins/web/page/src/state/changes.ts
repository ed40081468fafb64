// SPDX-License-Identifier: Apache-2.0
// What one patch does to the state before it, in words that a list can show.
import { isObject, type Json, type JsonObject } from "../session/record.ts";
import { valueAt } from "./pointer.ts";

export interface Change {
  segments: string[];
  what: "added" | "changed" | "removed" | "same";
  value: Json | undefined;
  before: Json | undefined;
}

export function changesOf(before: JsonObject, patch: JsonObject, limit: number): { changes: Change[]; more: boolean } {
  const changes: Change[] = [];
  const walk = (one: JsonObject, above: string[]): boolean => {
    for (const key of Object.keys(one)) {
      const value = one[key]!;
      const segments = [...above, key];
      if (isObject(value) && Object.keys(value).length > 0) {
        if (!walk(value, segments)) return false;
        continue;
      }
      if (changes.length === limit) return false;
      const old = valueAt(before, segments);
      changes.push({ segments, what: whatHappened(old, value), value: value === null ? undefined : value, before: old });
    }
    return true;
  };
  const complete = walk(patch, []);
  return { changes, more: !complete };
}

function whatHappened(old: Json | undefined, value: Json): Change["what"] {
  if (value === null) return old === undefined ? "same" : "removed";
  if (old === undefined) return "added";
  if (isObject(value) && isObject(old)) return "same";
  return old === value ? "same" : "changed";
}
