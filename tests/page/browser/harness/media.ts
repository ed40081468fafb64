// SPDX-License-Identifier: Apache-2.0
// Small media files, generated where a few lines are enough.
import { readFileSync } from "node:fs";
import { PNG } from "pngjs";

// A flame of 16 × 16 pixels.
export function flame(): Uint8Array {
  const picture = new PNG({ width: 16, height: 16 });
  for (let y = 0; y < 16; ++y) {
    for (let x = 0; x < 16; ++x) {
      const heat = Math.max(0, 1 - Math.hypot(x - 7.5, (y - 9) * 0.7) / 7);
      picture.data.set([255, Math.round(120 + 130 * heat), Math.round(200 * heat ** 3), Math.round(255 * Math.min(1, heat * 2))], (y * 16 + x) * 4);
    }
  }
  return PNG.sync.write(picture);
}

// A WAV file with the sound of drops, 16 bits at 8 kHz.
export function wave(seconds: number): Uint8Array {
  const rate = 8000;
  const samples = Buffer.alloc(rate * seconds * 2);
  for (let at = 0; at < rate * seconds; ++at) {
    const since = (at % rate) / rate;
    samples.writeInt16LE(Math.round(9000 * Math.exp(-since * 18) * Math.sin(since * 2 * Math.PI * (900 + 500 * since))), at * 2);
  }
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + samples.length, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36);
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]);
}

// One second of sparks, recorded from a canvas in a browser, because generating a video takes more than a few lines.
export function film(): Uint8Array {
  return readFileSync(new URL("sparks.webm", import.meta.url));
}
