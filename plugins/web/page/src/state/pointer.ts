// SPDX-License-Identifier: Apache-2.0
// JSON Pointer (RFC 6901).
import type { Json } from "../session/record.ts";

export function pointerOf(segments: readonly string[]): string {
  let text = "";
  for (const one of segments) text += pointerPart(one);
  return text;
}

export function pointerPart(segment: string): string {
  return "/" + segment.replaceAll("~", "~0").replaceAll("/", "~1");
}

// Returns undefined if the text is not a JSON Pointer.
export function segmentsOf(pointer: string): string[] | undefined {
  if (pointer === "") return [];
  if (!pointer.startsWith("/")) return undefined;
  return pointer
    .slice(1)
    .split("/")
    .map((one) => one.replaceAll("~1", "/").replaceAll("~0", "~"));
}

export function childOf(value: Json | undefined, segment: string): Json | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (!Array.isArray(value)) return Object.hasOwn(value, segment) ? value[segment] : undefined;
  return /^(0|[1-9][0-9]*)$/.test(segment) ? value[Number(segment)] : undefined;
}

export function valueAt(value: Json | undefined, segments: readonly string[]): Json | undefined {
  let found = value;
  for (const one of segments) {
    found = childOf(found, one);
    if (found === undefined) return undefined;
  }
  return found;
}
