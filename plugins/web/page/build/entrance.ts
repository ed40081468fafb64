// SPDX-License-Identifier: Apache-2.0
// Builds enter.html as one file that contains its script and style, with a policy that has their hashes. So cached
// files of an earlier server on the same address cannot replace them.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Plugin, build } from "vite";

export function entrance(root: string): Plugin {
  return {
    name: "narratoria-entrance",
    apply: "build",
    async generateBundle() {
      const script = await scriptOf(join(root, "src/entrance.ts"));
      const style = `\n${readFileSync(join(root, "src/theme/entrance.css"), "utf8")}`;
      const policy =
        `default-src 'none'; script-src '${hash("sha256", script)}'; style-src '${hash("sha256", style)}'; ` +
        "img-src data:; connect-src 'self'";
      const source = readFileSync(join(root, "enter.html"), "utf8")
        .replace("POLICY", () => policy)
        .replace("STYLE", () => style)
        .replace("SCRIPT", () => script);
      this.emitFile({ type: "asset", fileName: "enter.html", source });
    },
  };
}

// Adds integrity hashes to the page's scripts and style sheets: a browser refuses a cached file with different content.
export function integrity(): Plugin {
  return {
    name: "narratoria-integrity",
    apply: "build",
    enforce: "post",
    generateBundle: {
      order: "post",
      handler(_options, bundle) {
        const page = bundle["index.html"];
        if (page?.type !== "asset") throw new Error("index.html is missing; its hashes cannot be added");
        page.source = String(page.source).replaceAll(
          /<(?:script type="module"|link rel="stylesheet") crossorigin (?:src|href)="\/([^"]+)"/g,
          (tag, name: string) => {
            const file = bundle[name];
            if (file === undefined) throw new Error(`${name} is not part of the page`);
            return `${tag} integrity="${hash("sha384", file.type === "chunk" ? file.code : file.source)}"`;
          },
        );
        const tags = page.source.match(/<script|rel="stylesheet"/g)?.length;
        if (tags !== page.source.match(/integrity="sha384-/g)?.length) throw new Error("a script or style has no hash");
      },
    },
  };
}

function hash(algorithm: "sha256" | "sha384", content: string | Uint8Array): string {
  return `${algorithm}-${createHash(algorithm).update(content).digest("base64")}`;
}

async function scriptOf(entry: string): Promise<string> {
  const made = await build({
    configFile: false,
    logLevel: "silent",
    build: {
      write: false,
      target: "es2022",
      modulePreload: false,
      lib: { entry, formats: ["iife"], name: "entrance", fileName: "entrance" },
    },
  });
  const [output] = Array.isArray(made) ? made : [made];
  if (output === undefined || !("output" in output)) throw new Error("the entrance's script was not built");
  const [chunk] = output.output;
  if (chunk.code.includes("</script")) throw new Error('the entrance\'s script contains "</script" and cannot be inlined');
  return chunk.code;
}
