// SPDX-License-Identifier: Apache-2.0
// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, it } from "vitest";
import { isForTheTurn } from "./escape.ts";

let answers: boolean[];
const listen = (event: KeyboardEvent): void => void answers.push(isForTheTurn(event));

beforeEach(() => {
  document.body.textContent = "";
  answers = [];
  addEventListener("keydown", listen);
});

afterEach(() => removeEventListener("keydown", listen));

function press(on: EventTarget, key = "Escape", more: KeyboardEventInit = {}): boolean {
  on.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, composed: true, cancelable: true, ...more }));
  return answers.at(-1)!;
}

it("stops the turn wherever the focus is", () => {
  expect(press(document.body)).toBe(true);
  const shadow = document.body.appendChild(document.createElement("div")).attachShadow({ mode: "open" });
  expect(press(shadow.appendChild(document.createElement("button")))).toBe(true);
  expect(press(document.body.appendChild(document.createElement("textarea")))).toBe(true);
  expect(press(document.body, "Enter")).toBe(false);
});

it("ignores composition and key repeat", () => {
  expect(press(document.body, "Escape", { isComposing: true })).toBe(false);
  expect(press(document.body, "Escape", { repeat: true })).toBe(false);
});

it("clears a search field first", () => {
  const field = document.body.appendChild(document.createElement("input"));
  field.value = "door";
  expect(press(field)).toBe(false);
  field.value = "";
  expect(press(field)).toBe(true);
});

it("closes a dialog first, wherever the focus is", () => {
  const shadow = document.body.appendChild(document.createElement("div")).attachShadow({ mode: "open" });
  const dialog = shadow.appendChild(document.createElement("dialog"));
  dialog.setAttribute("open", "");
  expect(press(document.body)).toBe(false);
  dialog.removeAttribute("open");
  expect(press(document.body)).toBe(true);
});

it("does not stop the turn if a different handler took it", () => {
  const button = document.body.appendChild(document.createElement("button"));
  button.addEventListener("keydown", (event) => event.preventDefault());
  expect(press(button)).toBe(false);
});
