// SPDX-License-Identifier: Apache-2.0
// @vitest-environment happy-dom
import { beforeEach, expect, test, vi } from "vitest";
import { kReading, kTheme, takeKept, tellKept } from "./kept.ts";

const larger = { textSize: 1.35, lineWidth: "long", details: true };

// The server's responses to the choices; undefined means that it is not reachable.
function answers(...kept: (boolean | undefined)[]): void {
  const server = vi.fn<typeof fetch>();
  for (const one of kept) {
    if (one === undefined) server.mockRejectedValueOnce(new TypeError());
    else server.mockResolvedValueOnce(Response.json({ kept: one }));
  }
  vi.stubGlobal("fetch", server);
}

async function choose(theme: string, mark: string | null): Promise<void> {
  localStorage.setItem(kTheme, theme);
  tellKept();
  await vi.waitFor(() => expect(localStorage.getItem("narratoria-reading-alone")).toBe(mark));
}

beforeEach(() => localStorage.clear());

test("the server's settings replace the browser's", () => {
  takeKept({ theme: "dark", ...larger });
  expect(localStorage.getItem(kTheme)).toBe("dark");
  expect(JSON.parse(localStorage.getItem(kReading)!)).toEqual(larger);
  takeKept(larger);
  expect(localStorage.getItem(kTheme)).toBeNull();
  takeKept({ theme: "light" });
  expect(localStorage.getItem(kTheme)).toBe("light");
  expect(localStorage.getItem(kReading)).toBe("{}");
});

test("empty settings of the server change nothing", () => {
  takeKept({ theme: "dark", ...larger });
  for (const nothing of [{}, null, undefined, "dark"]) takeKept(nothing);
  expect(localStorage.getItem(kTheme)).toBe("dark");
  expect(JSON.parse(localStorage.getItem(kReading)!)).toEqual(larger);
});

test("an unsaved choice remains until the server saves one", async () => {
  answers(false, undefined, true);
  for (const theme of ["light", "dark"]) {
    await choose(theme, "1");
    takeKept({ theme: theme === "dark" ? "light" : "dark" });
    expect(localStorage.getItem(kTheme)).toBe(theme);
  }
  await choose("light", null);
  takeKept({ theme: "dark" });
  expect(localStorage.getItem(kTheme)).toBe("dark");
});
