// SPDX-License-Identifier: Apache-2.0
// What the player chose for reading. The browser keeps it for the page's address, which is another each time the game is
// started; the server keeps it over that, and hands it to the entrance.

export const kReading = "narratoria-reading";
export const kTheme = "narratoria-theme";
// The server could not keep the last choice: until it keeps one, the browser's copy stands.
const kAlone = "narratoria-reading-alone";

// From the server, before the page comes. The page checks each value where it uses it.
export function takeKept(kept: unknown): void {
  if (typeof kept !== "object" || kept === null || Object.keys(kept).length === 0) return;
  const { theme, ...reading } = kept as { theme?: unknown };
  try {
    if (localStorage.getItem(kAlone) !== null) return;
    // What is missing was chosen too: the system's colours, the normal text.
    if (typeof theme === "string") localStorage.setItem(kTheme, theme);
    else localStorage.removeItem(kTheme);
    localStorage.setItem(kReading, JSON.stringify(reading));
  } catch {
    // A browser that keeps nothing.
  }
}

let told: Promise<unknown> = Promise.resolve();

// To the server, one after the other.
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
      // The server is away.
    }
    try {
      if (isKept) localStorage.removeItem(kAlone);
      else localStorage.setItem(kAlone, "1");
    } catch {
      // A browser that keeps nothing.
    }
  });
}
