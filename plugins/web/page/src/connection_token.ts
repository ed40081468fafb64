// SPDX-License-Identifier: Apache-2.0
// The token of the printed address. It stands in the fragment, which no browser sends, and is taken out of the address
// bar at once. The window keeps it: another local server may overwrite the cookie, which does not know of ports, and the
// page then gets in again by itself.

const kFragment = "#token=";
const kKept = "narratoria-token";

let memory: string | undefined;

// The token of the address, which has it no more then.
export function takeToken(): string | undefined {
  if (!location.hash.startsWith(kFragment)) return undefined;
  const token = location.hash.slice(kFragment.length);
  history.replaceState(history.state, "", location.pathname);
  return token === "" ? undefined : token;
}

// In memory too: when another window enters, the server has the browser clear what windows have stored.
export function keepToken(token: string | undefined): void {
  memory = token ?? memory;
  if (memory === undefined) return;
  try {
    sessionStorage.setItem(kKept, memory);
  } catch {
    // A browser that stores nothing: the page gets in as long as its cookie stands.
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
  // The server's answer as an HTTP status; 0: there was none.
  status: number;
  // What the server keeps of the player's wishes.
  reading?: unknown;
}

// `again`: for a page that was in before, which does not lose what it has stored.
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
