// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["*.test.ts"],
    environment: "node",
    pool: "forks",
    // Each file has its own browser; more in parallel would only slow each other down.
    maxWorkers: 2,
    testTimeout: 600_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 200_000, interval: 20 } },
  },
});
