// SPDX-License-Identifier: Apache-2.0
// Prints a value as readable JSON up to a limit, so that a value of 10 MB is not printed to show its first page.
import { isObject, type Json } from "../session/record.ts";

export function print(value: Json, room: number): { text: string; complete: boolean } {
  const parts: string[] = [];
  let left = room;
  const put = (text: string): boolean => {
    parts.push(text.length > left ? cut(text, left) : text);
    left -= text.length;
    return left >= 0;
  };
  const walk = (one: Json, indent: string): boolean => {
    if (typeof one === "string") return put(quoted(one, left));
    if (!Array.isArray(one) && !isObject(one)) return put(String(one));
    const [open, close] = Array.isArray(one) ? ["[", "]"] : ["{", "}"];
    const members = one as { [key: string]: Json };
    const keys = Object.keys(members);
    if (keys.length === 0) return put(open + close);
    if (!put(open)) return false;
    const inner = indent + "  ";
    for (const [index, key] of keys.entries()) {
      const name = Array.isArray(one) ? "" : `${quoted(key, left)}: `;
      if (!put(`${index > 0 ? "," : ""}\n${inner}${name}`) || !walk(members[key]!, inner)) return false;
    }
    return put(`\n${indent}${close}`);
  };
  const complete = walk(value, "");
  return { text: parts.join(""), complete };
}

function quoted(text: string, left: number): string {
  return withEscapedControls(JSON.stringify(text.length > left ? cut(text, left + 1) : text));
}

// Writes the controls that change the direction of a text as JSON escapes: \u202E. The reader sees them, and they reorder
// neither the quotes and keys of JSON nor, by an unpaired end of isolation, the text around it.
export function withEscapedControls(text: string): string {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0").toUpperCase()}`);
}

// Never cuts within a surrogate pair.
export function cut(text: string, length: number): string {
  const end = Math.max(0, length);
  const code = text.charCodeAt(end - 1);
  return text.slice(0, code >= 0xd800 && code <= 0xdbff && end < text.length ? end - 1 : end);
}

// One line, for a row of the tree.
export function preview(value: Json, length: number): string {
  const { text, complete } = print(value, length);
  return text.replace(/\s*\n\s*/g, " ") + (complete ? "" : "…");
}
