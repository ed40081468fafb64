// SPDX-License-Identifier: Apache-2.0
// Storage of the player's settings for reading. The browser stores them per address, which changes with each start. So
// the server stores them, too, and sends them to the entrance.

export const kReading = "narratoria-reading";
export const kTheme = "narratoria-theme";
// Set while the server could not store the latest settings; the browser's copy applies until it can.
const kUnsent = "narratoria-reading-alone";

// Stores settings from the server, before the page loads. The page validates each value where it uses it.
export function applyStoredSettings(settings: unknown): void {
  if (typeof settings !== "object" || settings === null || Object.keys(settings).length === 0) return;
  const { theme, ...reading } = settings as { theme?: unknown };
  try {
    if (localStorage.getItem(kUnsent) !== null) return;
    // A missing member means the default, such as the system's colours.
    if (typeof theme === "string") localStorage.setItem(kTheme, theme);
    else localStorage.removeItem(kTheme);
    localStorage.setItem(kReading, JSON.stringify(reading));
  } catch {
    // The browser stores nothing.
  }
}

let lastRequest: Promise<unknown> = Promise.resolve();

// Sends the settings to the server. Requests are sent one after the other, so that the latest settings win.
export function sendSettings(): void {
  let body: string;
  try {
    const theme = localStorage.getItem(kTheme);
    const reading = JSON.parse(localStorage.getItem(kReading) ?? "{}") as object;
    body = JSON.stringify({ ...reading, ...(theme === null ? {} : { theme }) });
  } catch {
    return;
  }
  lastRequest = lastRequest.then(async () => {
    let isStored = false;
    try {
      const answer = await fetch("/api/reading", { method: "POST", headers: { "Content-Type": "application/json" }, body, keepalive: true });
      isStored = answer.ok && ((await answer.json()) as { stored?: unknown }).stored === true;
    } catch {
      // The server is not reachable.
    }
    try {
      if (isStored) localStorage.removeItem(kUnsent);
      else localStorage.setItem(kUnsent, "1");
    } catch {
      // The browser stores nothing.
    }
  });
}
