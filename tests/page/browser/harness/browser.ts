// SPDX-License-Identifier: Apache-2.0
// The system's Chromium.
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
  // Glyphs on whole pixels, so that they are the same on all machines with the same fonts.
  "--font-render-hinting=none",
  "--disable-lcd-text",
  "--force-color-profile=srgb",
];

export function launch(...more: string[]): Promise<Browser> {
  const executablePath = process.env["NARRATORIA_CHROMIUM"] ?? "/usr/bin/chromium";
  if (!existsSync(executablePath)) {
    throw new Error(`${executablePath} is missing; install chromium, or set NARRATORIA_CHROMIUM to its path`);
  }
  return chromium.launch({ executablePath, headless: true, args: [...kArguments, ...more] });
}
