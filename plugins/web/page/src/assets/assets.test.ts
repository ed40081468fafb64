// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import type { Asset } from "../session/session.ts";
import type { JsonObject } from "../session/record.ts";
import { assetOf } from "../session/testing.ts";
import { altOf, categoryOf, fileNameOf, formatOf, captionOf, titleOf } from "./asset_words.ts";
import { TextFile } from "./text_file.ts";

const asset = (mediaType: string): Asset => assetOf({ mediaType });
const picture = (metadata: JsonObject): Asset => assetOf({ metadata });

describe("words", () => {
  test("the media type determines the category", () => {
    const types = ["image/png", "IMAGE/SVG+XML", "audio/ogg; codecs=opus", "video/mp4", "text/plain", "model/gltf+json"];
    expect(types.map((one) => categoryOf(asset(one)))).toEqual(["image", "image", "audio", "video", "text", "model"]);
    for (const one of ["text/html", "Text/HTML; charset=utf-8", "application/pdf", "font/woff", "nonsense", ""]) {
      expect(categoryOf(asset(one))).toBe("other");
    }
  });

  test("alternative text comes from the metadata, in order", () => {
    expect(altOf(picture({ caption: "c", title: "t", description: "d", alt: "a" }))).toBe("a");
    expect(altOf(picture({ alt: " ", title: "t" }))).toBe("t");
    expect(altOf(picture({ alt: 3 }))).toBe("torch");
    expect(titleOf(picture({ description: "long" }))).toBe("long");
    expect(titleOf(picture({}))).toBe("torch");
    expect(captionOf(picture({ description: "long" }))).toBeUndefined();
  });

  test("names", () => {
    expect(fileNameOf(assetOf())).toBe("torch.png");
    expect(fileNameOf(assetOf({ path: "/" }))).toBe("torch");
    expect(formatOf(asset("model/gltf-binary"))).toBe("GLTF-BINARY");
    expect(formatOf(asset("image/svg+xml"))).toBe("SVG");
  });
});

describe("text file", () => {
  const torches = new TextEncoder().encode("Licht 🔥 ".repeat(100));

  function server(ranges: boolean, content = torches): typeof fetch {
    return async (_input, init) => {
      const asked = /bytes=(\d+)-(\d+)/.exec(new Headers(init?.headers).get("Range") ?? "")!;
      const [from, to] = [Number(asked[1]), Number(asked[2])];
      if (!ranges) return new Response(content);
      if (from >= content.length) return new Response(null, { status: 416 });
      return new Response(content.slice(from, to + 1), {
        status: 206,
        headers: { "Content-Range": `bytes ${from}-${Math.min(to, content.length - 1)}/${content.length}` },
      });
    };
  }

  test("pieces may end inside a multi-byte character", async () => {
    const file = new TextFile("/api/assets/7", server(true));
    await file.more(9);
    expect(file.pieces).toEqual(["Licht "]);
    while (!file.done) await file.more(7);
    expect(file.pieces.join("")).toBe("Licht 🔥 ".repeat(100));
    expect(file.size).toBe(torches.length);
  });

  test("pieces end at a line end", async () => {
    const lines = new TextEncoder().encode(Array.from({ length: 50 }, (_, index) => `line ${index}\n`).join(""));
    const file = new TextFile("/api/assets/7", server(true, lines));
    while (!file.done) await file.more(40);
    expect(file.pieces.length).toBeGreaterThan(5);
    for (const one of file.pieces) expect(one === "" || one.endsWith("\n")).toBe(true);
    expect(file.pieces.join("")).toBe(new TextDecoder().decode(lines));
  });

  test("a server without ranges returns the first piece", async () => {
    const file = new TextFile("/api/assets/7", server(false));
    await file.more(64);
    expect(file.read).toBe(64);
    await expect(file.more(64)).rejects.toThrow();
  });

  test("a missing file", async () => {
    const file = new TextFile("/api/assets/7", async () => new Response(null, { status: 404 }));
    await expect(file.more(64)).rejects.toThrow("404");
  });
});
