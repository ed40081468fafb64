// SPDX-License-Identifier: Apache-2.0
// Who wrote a path: found by asking each patch, the newest first, so that nothing has to be kept.
import { isObject, type Json } from "../session/record.ts";
import type { StatePatch } from "./merge.ts";
import { valueAt } from "./pointer.ts";

// How a patch concerns a path: it gives it a value, removes it, changes something inside of it, or gives one of its
// ancestors another value (and with it this path).
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
  // Of the patch, from 0.
  index: number;
  effect: Effect;
}

// The last `limit` of the first `count` patches that concern the path, the newest first; those before `from` are not
// looked at.
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
