// SPDX-License-Identifier: Apache-2.0
// Compares screenshots of the page with those in baseline/. Stores them and the differences in build/browser.
// UPDATE_BASELINE=1 accepts the current screenshots as the baseline.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";
import type { Player } from "./player.ts";
import { tree } from "./serve.ts";

const kBaseline = fileURLToPath(new URL("../baseline", import.meta.url));
const kOutput = join(tree, "build/browser");
// The allowed share of different pixels. Glyphs differ slightly between versions of the font renderer; a part of the
// page that has moved differs more.
const kPart = 0.015;
const kColour = 0.2;

export async function looksAs(player: Player, name: string): Promise<void> {
  const seen = await player.page.screenshot({ animations: "disabled", caret: "hide", scale: "css" });
  mkdirSync(kOutput, { recursive: true });
  mkdirSync(kBaseline, { recursive: true });
  writeFileSync(join(kOutput, `${name}.png`), seen);
  const baseline = join(kBaseline, `${name}.png`);
  if (process.env["UPDATE_BASELINE"] === "1") {
    writeFileSync(baseline, seen);
    return;
  }
  if (!existsSync(baseline)) throw new Error(`${name}: the baseline screenshot is missing; create it with UPDATE_BASELINE=1`);
  const [now, before] = [PNG.sync.read(seen), PNG.sync.read(readFileSync(baseline))];
  if (now.width !== before.width || now.height !== before.height) {
    throw new Error(`${name}: the screenshot has ${now.width} × ${now.height} pixels, its baseline ${before.width} × ${before.height}`);
  }
  const diff = new PNG({ width: now.width, height: now.height });
  const count = pixelmatch(before.data, now.data, diff.data, now.width, now.height, { threshold: kColour });
  const part = count / (now.width * now.height);
  if (part <= kPart) return;
  writeFileSync(join(kOutput, `${name}.before.png`), PNG.sync.write(before));
  writeFileSync(join(kOutput, `${name}.diff.png`), PNG.sync.write(diff));
  throw new Error(
    `${name}: ${(part * 100).toFixed(2)} % of the pixels differ from the baseline; see ${name}.png, .before.png and .diff.png in build/browser`,
  );
}
