// SPDX-License-Identifier: Apache-2.0
// Pictures of the page, compared with those in baseline/. What was seen and where it differs is kept in
// build/browser; UPDATE_BASELINE=1 takes what is seen as what is to be seen.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";
import type { Player } from "./player.ts";
import { tree } from "./serve.ts";

const kBaseline = fileURLToPath(new URL("../baseline", import.meta.url));
const kOutput = join(tree, "build/browser");
// Glyphs differ a little from one version of the fonts' renderer to the next; a part of the page that is not where it
// was is more than that.
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
  if (!existsSync(baseline)) throw new Error(`${name}: there is no picture to compare with; UPDATE_BASELINE=1 takes it`);
  const [now, before] = [PNG.sync.read(seen), PNG.sync.read(readFileSync(baseline))];
  if (now.width !== before.width || now.height !== before.height) {
    throw new Error(`${name}: ${now.width} × ${now.height} pixels, ${before.width} × ${before.height} before`);
  }
  const diff = new PNG({ width: now.width, height: now.height });
  const count = pixelmatch(before.data, now.data, diff.data, now.width, now.height, { threshold: kColour });
  const part = count / (now.width * now.height);
  if (part <= kPart) return;
  writeFileSync(join(kOutput, `${name}.before.png`), PNG.sync.write(before));
  writeFileSync(join(kOutput, `${name}.diff.png`), PNG.sync.write(diff));
  throw new Error(
    `${name}: ${(part * 100).toFixed(2)} % of its pixels are not as they were; see ${name}.png, .before.png and .diff.png in build/browser`,
  );
}
