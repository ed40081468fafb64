// SPDX-License-Identifier: Apache-2.0
// @vitest-environment happy-dom
import { beforeEach, expect, test, vi } from "vitest";
import { applyStoredSettings, kReading, kTheme, sendSettings } from "./stored_settings.ts";

const larger = { textSize: 1.35, lineWidth: "long", details: true };

// The server's responses to the choices; undefined means that it is not reachable.
function answers(...stored: (boolean | undefined)[]): void {
  const server = vi.fn<typeof fetch>();
  for (const one of stored) {
    if (one === undefined) server.mockRejectedValueOnce(new TypeError());
    else server.mockResolvedValueOnce(Response.json({ stored: one }));
  }
  vi.stubGlobal("fetch", server);
}

async function choose(theme: string, mark: string | null): Promise<void> {
  localStorage.setItem(kTheme, theme);
  sendSettings();
  await vi.waitFor(() => expect(localStorage.getItem("narratoria-reading-alone")).toBe(mark));
}

beforeEach(() => localStorage.clear());

test("the server's settings replace the browser's", () => {
  applyStoredSettings({ theme: "dark", ...larger });
  expect(localStorage.getItem(kTheme)).toBe("dark");
  expect(JSON.parse(localStorage.getItem(kReading)!)).toEqual(larger);
  applyStoredSettings(larger);
  expect(localStorage.getItem(kTheme)).toBeNull();
  applyStoredSettings({ theme: "light" });
  expect(localStorage.getItem(kTheme)).toBe("light");
  expect(localStorage.getItem(kReading)).toBe("{}");
});

test("empty settings of the server change nothing", () => {
  applyStoredSettings({ theme: "dark", ...larger });
  for (const nothing of [{}, null, undefined, "dark"]) applyStoredSettings(nothing);
  expect(localStorage.getItem(kTheme)).toBe("dark");
  expect(JSON.parse(localStorage.getItem(kReading)!)).toEqual(larger);
});

test("an unsaved choice remains until the server saves one", async () => {
  answers(false, undefined, true);
  for (const theme of ["light", "dark"]) {
    await choose(theme, "1");
    applyStoredSettings({ theme: theme === "dark" ? "light" : "dark" });
    expect(localStorage.getItem(kTheme)).toBe(theme);
  }
  await choose("light", null);
  applyStoredSettings({ theme: "dark" });
  expect(localStorage.getItem(kTheme)).toBe("dark");
});
