// SPDX-License-Identifier: Apache-2.0
// The changes that a patch makes to the state before it, as a list.
import { isObject, type Json, type JsonObject } from "../session/record.ts";
import type { StatePatch } from "../session/merge.ts";
import { valueAt } from "./pointer.ts";

export interface Change {
  segments: string[];
  what: "added" | "changed" | "removed" | "same";
  value: Json | undefined;
}

export function changesOf(before: JsonObject, { patch, nulls = {} }: StatePatch, limit: number): { changes: Change[]; more: boolean } {
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
      const isRemoval = value === null && valueAt(nulls, segments) !== null;
      changes.push({ segments, what: isRemoval ? removal(old) : whatHappened(old, value), value: isRemoval ? undefined : value });
    }
    return true;
  };
  const complete = walk(patch, []);
  return { changes, more: !complete };
}

function removal(old: Json | undefined): Change["what"] {
  return old === undefined ? "same" : "removed";
}

function whatHappened(old: Json | undefined, value: Json): Change["what"] {
  if (old === undefined) return "added";
  if (isObject(value) && isObject(old)) return "same";
  return old === value ? "same" : "changed";
}
