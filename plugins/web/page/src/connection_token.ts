// SPDX-License-Identifier: Apache-2.0
// The token of the printed address. It is in the fragment, which browsers do not send, and is removed from the address
// bar at once. The window keeps it, because a different local server may overwrite the cookie (cookies ignore ports);
// the page then authenticates again by itself.

const kFragment = "#token=";
const kKept = "narratoria-token";

let memory: string | undefined;

// Returns the token of the address, and removes it from there.
export function takeToken(): string | undefined {
  if (!location.hash.startsWith(kFragment)) return undefined;
  const token = location.hash.slice(kFragment.length);
  history.replaceState(history.state, "", location.pathname);
  return token === "" ? undefined : token;
}

// Also keeps it in memory: when a new window enters, the server has the browser clear its storage.
export function keepToken(token: string | undefined): void {
  memory = token ?? memory;
  if (memory === undefined) return;
  try {
    sessionStorage.setItem(kKept, memory);
  } catch {
    // The browser stores nothing. The page works as long as its cookie is valid.
  }
}

export function keptToken(): string | undefined {
  try {
    return memory ?? sessionStorage.getItem(kKept) ?? undefined;
  } catch {
    return memory;
  }
}

export interface Entry {
  // The HTTP status; 0 without a response.
  status: number;
  // The player's settings for reading, as stored by the server.
  reading?: unknown;
}

// `again`: the page was authenticated before, so the browser must not clear its storage.
export async function enter(token: string, again: boolean): Promise<Entry> {
  try {
    const answer = await fetch("/api/enter", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token, again }),
    });
    if (!answer.ok) return { status: answer.status };
    const { reading } = (await answer.json()) as { reading?: unknown };
    return { status: answer.status, reading };
  } catch {
    return { status: 0 };
  }
}

export async function enterAgain(): Promise<boolean> {
  const token = keptToken();
  if (token === undefined || (await enter(token, true)).status !== 200) return false;
  keepToken(token);
  return true;
}
