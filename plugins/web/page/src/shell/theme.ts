// SPDX-License-Identifier: Apache-2.0
// The colour scheme: the system's preference, unless the player has chosen the other one. The choice is stored
// (stored_settings.ts).
import { kTheme, sendSettings } from "./stored_settings.ts";

export type Theme = "dark" | "light";

const dark = matchMedia("(prefers-color-scheme: dark)");

function systemTheme(): Theme {
  return dark.matches ? "dark" : "light";
}

export function chosenTheme(): Theme {
  try {
    const stored = localStorage.getItem(kTheme);
    return stored === "light" || stored === "dark" ? stored : systemTheme();
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

// Choosing the system's current preference removes the stored choice, so the page follows the system again.
export function chooseTheme(theme: Theme): void {
  applyTheme(theme);
  try {
    if (theme === systemTheme()) localStorage.removeItem(kTheme);
    else localStorage.setItem(kTheme, theme);
    sendSettings();
  } catch {
    // The browser stores nothing: the choice lasts until the page is closed.
  }
}

// Calls `listener` when the system's preference changes and the player has not chosen. Returns a function that ends it.
export function onTheme(listener: (theme: Theme) => void): () => void {
  const changed = (): void => listener(chosenTheme());
  dark.addEventListener("change", changed);
  return () => dark.removeEventListener("change", changed);
}
