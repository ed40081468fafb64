// SPDX-License-Identifier: Apache-2.0
// The colours that the system asks for, unless the player has chosen the others; that choice is kept (kept.ts).
import { kTheme, tellKept } from "./kept.ts";

export type Theme = "dark" | "light";

const dark = matchMedia("(prefers-color-scheme: dark)");

function systemTheme(): Theme {
  return dark.matches ? "dark" : "light";
}

export function chosenTheme(): Theme {
  try {
    const kept = localStorage.getItem(kTheme);
    return kept === "light" || kept === "dark" ? kept : systemTheme();
  } catch {
    return systemTheme();
  }
}

export function applyTheme(theme: Theme): void {
  const classes = document.documentElement.classList;
  classes.remove("mdui-theme-auto");
  classes.toggle("mdui-theme-dark", theme === "dark");
  classes.toggle("mdui-theme-light", theme === "light");
}

// Who chooses what the system asks for follows the system again.
export function chooseTheme(theme: Theme): void {
  applyTheme(theme);
  try {
    if (theme === systemTheme()) localStorage.removeItem(kTheme);
    else localStorage.setItem(kTheme, theme);
    tellKept();
  } catch {
    // A browser that keeps nothing: the choice holds until the page is closed.
  }
}

// Called when the system changes its mind, and the player has not chosen. Returns what ends it.
export function onTheme(listener: (theme: Theme) => void): () => void {
  const changed = (): void => listener(chosenTheme());
  dark.addEventListener("change", changed);
  return () => dark.removeEventListener("change", changed);
}
