// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { preview, print, withEscapedControls } from "./inspect.ts";

test("controls that change the direction of a text are shown as escapes", () => {
  const value = { "k\u202ey": "a\u2066b", last: "\u2069" };
  expect(preview(value, 100)).toBe('{ "k\\u202Ey": "a\\u2066b", "last": "\\u2069" }');
  // Still the same JSON.
  expect(JSON.parse(print(value, 1000).text)).toEqual(value);
  expect(withEscapedControls("/\u202dpath")).toBe("/\\u202Dpath");
  expect(withEscapedControls("\u0645\u200f!")).toBe("\u0645\u200f!");
});
