// SPDX-License-Identifier: Apache-2.0
// The colour scheme: the system's preference, unless the player has chosen one. The choice is stored
// (stored_settings.ts).
import { kTheme, sendSettings } from "./stored_settings.ts";

export type Theme = "system" | "dark" | "light";

const dark = matchMedia("(prefers-color-scheme: dark)");

export function chosenTheme(): Theme {
  try {
    const stored = localStorage.getItem(kTheme);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return "system";
  }
}

export function applyTheme(theme: Theme): void {
  const isDark = theme === "system" ? dark.matches : theme === "dark";
  const classes = document.documentElement.classList;
  classes.remove("mdui-theme-auto");
  classes.toggle("mdui-theme-dark", isDark);
  classes.toggle("mdui-theme-light", !isDark);
}

export function chooseTheme(theme: Theme): void {
  applyTheme(theme);
  try {
    if (theme === "system") localStorage.removeItem(kTheme);
    else localStorage.setItem(kTheme, theme);
    sendSettings();
  } catch {
    // The browser stores nothing: the choice lasts until the page is closed.
  }
}

// Calls `listener` when the system's preference changes. Returns a function that ends it.
export function onSystemTheme(listener: () => void): () => void {
  dark.addEventListener("change", listener);
  return () => dark.removeEventListener("change", listener);
}
