// SPDX-License-Identifier: Apache-2.0
// What the player chose for reading. The browser keeps it for the page's address, which is another each time the game is
// started; the server keeps it over that, and hands it to the entrance.

export const kReading = "narratoria-reading";
export const kTheme = "narratoria-theme";

// From the server, before the page comes. The page checks each value where it uses it.
export function takeKept(kept: unknown): void {
  if (typeof kept !== "object" || kept === null) return;
  const { theme, ...reading } = kept as { theme?: unknown };
  try {
    if (typeof theme === "string") localStorage.setItem(kTheme, theme);
    if (Object.keys(reading).length > 0) localStorage.setItem(kReading, JSON.stringify(reading));
  } catch {
    // A browser that keeps nothing.
  }
}

let told: Promise<unknown> = Promise.resolve();

// To the server, one after the other. Without an answer the browser's own copy stands.
export function tellKept(): void {
  let body: string;
  try {
    const theme = localStorage.getItem(kTheme);
    const reading = JSON.parse(localStorage.getItem(kReading) ?? "{}") as object;
    body = JSON.stringify({ ...reading, ...(theme === null ? {} : { theme }) });
  } catch {
    return;
  }
  told = told.then(() =>
    fetch("/api/reading", { method: "POST", headers: { "Content-Type": "application/json" }, body, keepalive: true }).catch(() => undefined),
  );
}
