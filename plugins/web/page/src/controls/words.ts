// SPDX-License-Identifier: Apache-2.0
// Numbers in human-readable form.
import { counted } from "../text/shorten.ts";

// "812 bytes", "64 kB", "1.2 MB".
export function bytes(count: number): string {
  if (count < 1000) return counted(count, "byte");
  if (count < 1_000_000) return `${(count / 1000).toFixed(count < 10_000 ? 1 : 0)} kB`;
  if (count < 1_000_000_000) return `${(count / 1_000_000).toFixed(1)} MB`;
  return `${(count / 1_000_000_000).toFixed(1)} GB`;
}

export function percent(part: number): string {
  return `${Math.round(part * 100)} %`;
}
