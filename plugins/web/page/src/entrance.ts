// SPDX-License-Identifier: Apache-2.0
// The script of enter.html, the page for a browser without the cookie. It posts the token; the server then serves the
// player's page at the same address.
import { enter, keepToken, keptToken, takeToken } from "./connection_token.ts";
import { applyStoredSettings } from "./shell/stored_settings.ts";

const kTried = "narratoria-tried";

async function arrive(): Promise<void> {
  const taken = takeToken();
  const token = taken ?? keptToken();
  if (token === undefined) return show("ask");
  if (tries() > 0) {
    forgetTries();
    return show("cookies");
  }
  const { status, reading } = await enter(token, taken === undefined);
  if (status === 403) return show("wrong");
  if (status !== 200) return show("away");
  keepToken(token);
  applyStoredSettings(reading);
  try {
    sessionStorage.setItem(kTried, "1");
  } catch {
    return show("cookies");
  }
  // Load the page with a new request: after a link from a different site, the browser withholds the cookie.
  if (location.hash === "") location.replace("/");
  else location.reload();
}

function tries(): number {
  try {
    return Number(sessionStorage.getItem(kTried) ?? 0);
  } catch {
    return 0;
  }
}

function forgetTries(): void {
  sessionStorage.removeItem(kTried);
}

function show(id: "ask" | "wrong" | "away" | "cookies"): void {
  for (const part of document.querySelectorAll<HTMLElement>("main > div")) part.hidden = part.id !== id;
}

for (const button of document.querySelectorAll("button")) button.addEventListener("click", () => void arrive());
addEventListener("hashchange", () => void arrive());
void arrive();
