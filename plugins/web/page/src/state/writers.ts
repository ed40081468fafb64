// SPDX-License-Identifier: Apache-2.0
// Finds the patches that wrote a path, by examining patches from the newest; no index is needed.
import { isObject, type Json } from "../session/record.ts";
import type { StatePatch } from "../session/merge.ts";
import { valueAt } from "./pointer.ts";

// The effect of a patch on a path: sets it, removes it, changes something inside it, or replaces one of its ancestors.
export type Effect = "set" | "removed" | "inside" | "above";

export function effectOn({ patch, nulls = {} }: StatePatch, segments: readonly string[]): Effect | undefined {
  let value: Json = patch;
  for (let depth = 0; depth < segments.length; ++depth) {
    if (!isObject(value)) return value === null ? "removed" : "above";
    const segment = segments[depth]!;
    if (!Object.hasOwn(value, segment)) return undefined;
    value = value[segment]!;
  }
  if (isObject(value)) return "inside";
  return value === null && valueAt(nulls, segments) !== null ? "removed" : "set";
}

export interface Writing {
  // The index of the patch, from 0.
  index: number;
  effect: Effect;
}

// The last `limit` patches of [from, count) that affect the path, newest first.
export function writingsOf(
  patches: readonly StatePatch[],
  count: number,
  segments: readonly string[],
  limit: number,
  from = 0,
): { writings: Writing[]; more: boolean } {
  const writings: Writing[] = [];
  for (let index = count - 1; index >= from; --index) {
    const effect = effectOn(patches[index]!, segments);
    if (effect === undefined) continue;
    if (writings.length === limit) return { writings, more: true };
    writings.push({ index, effect });
  }
  return { writings, more: false };
}
