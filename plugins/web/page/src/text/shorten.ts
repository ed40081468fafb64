// SPDX-License-Identifier: Apache-2.0
// Cuts text that may have a megabyte at places where a reader would pause.

const kLookBack = 200;

// The end of the part of `text` after `from`, at most `length` characters long. It is after a line end or a space if
// there is one near, and never within a surrogate pair.
export function cutAt(text: string, from: number, length: number): number {
  const end = from + length;
  if (end >= text.length) return text.length;
  const near = text.slice(Math.max(from, end - kLookBack), end);
  const pause = Math.max(near.lastIndexOf("\n"), near.lastIndexOf(" "));
  if (pause > 0) return end - near.length + pause + 1;
  return isHighSurrogate(text.charCodeAt(end - 1)) ? Math.max(from + 1, end - 1) : end;
}

export function shortened(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, cutAt(text, 0, length)).trimEnd()}…`;
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
