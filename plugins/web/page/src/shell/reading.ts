// SPDX-License-Identifier: Apache-2.0
// The reader's settings: text size, line length, and details of tools. Stored by the browser and the server (stored_settings.ts).
import { kReading, sendSettings } from "./stored_settings.ts";

// Factors of the browser's font size.
export const textSizes = [0.85, 1, 1.15, 1.35, 1.6, 2] as const;
// In em; one em is about two characters.
export const lineWidths = { short: "28em", normal: "36em", long: "52em" } as const;
export type LineWidth = keyof typeof lineWidths;

export class Reading {
  textSize = 1;
  lineWidth: LineWidth = "normal";
  details = false;
  #listeners = new Set<() => void>();

  constructor() {
    try {
      const stored = JSON.parse(localStorage.getItem(kReading) ?? "{}") as Partial<Record<string, unknown>>;
      this.textSize = textSizes.find((one) => one === stored["textSize"]) ?? this.textSize;
      if (typeof stored["lineWidth"] === "string" && Object.hasOwn(lineWidths, stored["lineWidth"])) {
        this.lineWidth = stored["lineWidth"] as LineWidth;
      }
      this.details = stored["details"] === true;
    } catch {
      // No valid settings are stored.
    }
    this.#apply();
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  set(wishes: { textSize?: number; lineWidth?: LineWidth; details?: boolean }): void {
    Object.assign(this, wishes);
    this.#apply();
    const { textSize, lineWidth, details } = this;
    try {
      localStorage.setItem(kReading, JSON.stringify({ textSize, lineWidth, details }));
      sendSettings();
    } catch {
      // The browser stores nothing: the settings last until the page is closed.
    }
    for (const listener of [...this.#listeners]) listener();
  }

  // Selects the next size up or down, if there is one.
  stepTextSize(by: 1 | -1): void {
    const at = textSizes.findIndex((one) => one === this.textSize);
    const next = textSizes[at + by];
    if (next !== undefined) this.set({ textSize: next });
  }

  #apply(): void {
    const style = document.documentElement.style;
    style.setProperty("--text-size", String(this.textSize));
    style.setProperty("--line-width", lineWidths[this.lineWidth]);
  }
}
