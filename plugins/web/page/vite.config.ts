// SPDX-License-Identifier: Apache-2.0
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { entrance, integrity } from "./build/entrance.ts";
import { notices } from "./build/notices.ts";
import { schemeCss } from "./build/scheme.ts";

const root = fileURLToPath(new URL(".", import.meta.url));

function scheme(): Plugin {
  return {
    name: "narratoria-scheme",
    resolveId: (id) => (id === "virtual:scheme.css" ? "\0scheme.css" : null),
    load: (id) => (id === "\0scheme.css" ? schemeCss() : null),
  };
}

// The address printed by `narratoria serve`, without the token: http://127.x.y.z:PORT
const server = process.env["NARRATORIA_SERVER"];

export default defineConfig({
  root,
  base: "/",
  plugins: [scheme(), notices(root), entrance(root), integrity()],
  resolve: {
    alias: {
      "lit/directives/style-map.js": fileURLToPath(new URL("src/csp/style_map.ts", import.meta.url)),
    },
  },
  build: {
    outDir: "dist",
    assetsDir: "app",
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: false,
    sourcemap: false,
  },
  server: {
    // The server refuses requests with a foreign Host or Origin.
    ...(server === undefined
      ? {}
      : {
          proxy: {
            "/api": { target: server, changeOrigin: true, headers: { origin: server } },
          },
        }),
  },
  // The timeout ends a test that hangs.
  test: { environment: "node", include: ["src/**/*.test.ts"], testTimeout: 120_000 },
});
