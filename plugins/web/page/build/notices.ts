// SPDX-License-Identifier: Apache-2.0
// Collects the licences of all bundled packages in app/licenses.txt. The packages are those of the bundled modules.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

// Packages that only style sheets use; they are not in the list of modules.
const fonts = ["@fontsource/literata"];

export function notices(root: string): Plugin {
  return {
    name: "narratoria-notices",
    apply: "build",
    generateBundle(_options, bundle) {
      const names = new Set(fonts);
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== "chunk") continue;
        for (const id of chunk.moduleIds) {
          const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1];
          if (name !== undefined) names.add(name);
        }
      }
      const parts = [...names].sort().map((name) => notice(join(root, "node_modules", name), name));
      this.emitFile({ type: "asset", fileName: "app/licenses.txt", source: `${parts.join("\n\n\n")}\n` });
    },
  };
}

function notice(folder: string, name: string): string {
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string; license: string };
  const file = existsSync(folder) ? readdirSync(folder).find((one) => /^licen[cs]e/i.test(one)) : undefined;
  const text = file === undefined ? "" : `\n\n${readFileSync(join(folder, file), "utf8").trim()}`;
  return `${name} ${about.version} (${about.license})${text}`;
}
