// SPDX-License-Identifier: Apache-2.0
// Dark, unless the player has chosen light; the choice is kept in the browser.

export type Theme = "dark" | "light";

const kKey = "narratoria-theme";

export function chosenTheme(): Theme {
  try {
    return localStorage.getItem(kKey) === "light" ? "light" : "dark";
  } catch {
    return "dark";
  }
}

export function applyTheme(theme: Theme): void {
  const classes = document.documentElement.classList;
  classes.toggle("mdui-theme-dark", theme === "dark");
  classes.toggle("mdui-theme-light", theme === "light");
}

export function chooseTheme(theme: Theme): void {
  applyTheme(theme);
  try {
    localStorage.setItem(kKey, theme);
  } catch {
    // A browser that keeps nothing: the choice holds until the page is closed.
  }
}
