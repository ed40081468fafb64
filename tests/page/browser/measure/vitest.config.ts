// SPDX-License-Identifier: Apache-2.0
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  cacheDir: fileURLToPath(new URL("../node_modules/.vite", import.meta.url)),
  test: {
    include: ["*.measure.ts"],
    environment: "node",
    pool: "forks",
    // One file after the other, so that nothing else runs during a measurement.
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 180_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 60_000, interval: 50 } },
  },
});
