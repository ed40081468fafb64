// SPDX-License-Identifier: Apache-2.0
// Storage of the player's settings for reading. The browser stores them per address, which changes with each start. So
// the server stores them, too, and sends them to the entrance.

export const kReading = "narratoria-reading";
export const kTheme = "narratoria-theme";
// Set while the server could not store the latest settings; the browser's copy applies until it can.
const kAlone = "narratoria-reading-alone";

// Stores settings from the server, before the page loads. The page validates each value where it uses it.
export function takeKept(kept: unknown): void {
  if (typeof kept !== "object" || kept === null || Object.keys(kept).length === 0) return;
  const { theme, ...reading } = kept as { theme?: unknown };
  try {
    if (localStorage.getItem(kAlone) !== null) return;
    // A missing member means the default, such as the system's colours.
    if (typeof theme === "string") localStorage.setItem(kTheme, theme);
    else localStorage.removeItem(kTheme);
    localStorage.setItem(kReading, JSON.stringify(reading));
  } catch {
    // The browser stores nothing.
  }
}

let told: Promise<unknown> = Promise.resolve();

// Sends the settings to the server. Requests are sent one after the other, so that the latest settings win.
export function tellKept(): void {
  let body: string;
  try {
    const theme = localStorage.getItem(kTheme);
    const reading = JSON.parse(localStorage.getItem(kReading) ?? "{}") as object;
    body = JSON.stringify({ ...reading, ...(theme === null ? {} : { theme }) });
  } catch {
    return;
  }
  told = told.then(async () => {
    let isKept = false;
    try {
      const answer = await fetch("/api/reading", { method: "POST", headers: { "Content-Type": "application/json" }, body, keepalive: true });
      isKept = answer.ok && ((await answer.json()) as { kept?: unknown }).kept === true;
    } catch {
      // The server is not reachable.
    }
    try {
      if (isKept) localStorage.removeItem(kAlone);
      else localStorage.setItem(kAlone, "1");
    } catch {
      // The browser stores nothing.
    }
  });
}
