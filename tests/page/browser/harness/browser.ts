// SPDX-License-Identifier: Apache-2.0
// The machine's own Chromium.
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const kArguments = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // Glyphs on whole pixels, the same on each machine that has the fonts.
  "--font-render-hinting=none",
  "--disable-lcd-text",
  "--force-color-profile=srgb",
];

export function launch(...more: string[]): Promise<Browser> {
  const executablePath = process.env["NARRATORIA_CHROMIUM"] ?? "/usr/bin/chromium";
  if (!existsSync(executablePath)) {
    throw new Error(`${executablePath} is not there: install chromium, or say in NARRATORIA_CHROMIUM where one is`);
  }
  return chromium.launch({ executablePath, headless: true, args: [...kArguments, ...more] });
}
