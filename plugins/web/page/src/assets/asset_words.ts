// SPDX-License-Identifier: Apache-2.0
// The category of an asset, and its names.
import type { IconName } from "../controls/icons.ts";
import type { Asset } from "../session/session.ts";
import { textOf } from "../session/record.ts";
import { shortened } from "../text/shorten.ts";

export const categories = ["image", "audio", "video", "text", "model", "other"] as const;
export type Category = (typeof categories)[number];

// Uses the media type, not the kind: the kind is free text from the tool, but the type decides how a browser can show
// it.
export function categoryOf(asset: Pick<Asset, "mediaType">): Category {
  const type = (asset.mediaType.slice(0, 200).split(";")[0] ?? "").trim().toLowerCase();
  // Foreign HTML is never rendered.
  if (type === "text/html" || type === "text/xml") return "other";
  const main = type.split("/")[0];
  return main === "image" || main === "audio" || main === "video" || main === "text" || main === "model" ? main : "other";
}

export const categoryIcons: Record<Category, IconName> = {
  image: "image",
  audio: "music",
  video: "movie",
  text: "text",
  model: "model",
  other: "file",
};

const describing = ["alt", "description", "title", "caption"];
const naming = ["title", "caption", "name"];

// The alternative text.
export function altOf(asset: Asset): string {
  return shortened(textOfFirst(asset, describing) ?? asset.assetId, 1000);
}

// The title: its caption, else its description, else its id.
export function titleOf(asset: Asset): string {
  return captionOf(asset) ?? textOfFirst(asset, describing) ?? asset.assetId;
}

// The caption below it in the story. The description is only used as alternative text.
export function captionOf(asset: Asset): string | undefined {
  return textOfFirst(asset, naming);
}

// The current version of an asset that later attempts may have replaced.
export function standing(asset: Asset): Asset {
  let one = asset;
  while (one.replaced !== undefined) one = one.replaced;
  return one;
}

function textOfFirst(asset: Asset, names: readonly string[]): string | undefined {
  for (const name of names) {
    const text = textOf(asset.metadata, name)?.trim();
    if (text !== undefined && text !== "") return text;
  }
  return undefined;
}

export function addressOf(asset: Asset): string {
  return `/api/assets/${asset.seq}`;
}

// The file name for a download.
export function fileNameOf(asset: Asset): string {
  const last = asset.path.split(/[\\/]/).at(-1) ?? "";
  return last === "" ? asset.assetId : last;
}

// The subtype in capitals, such as "GLTF" or "PNG".
export function formatOf(asset: Asset): string {
  const type = asset.mediaType.slice(0, 200);
  const sub = (type.split(";")[0] ?? "").split("/")[1] ?? type;
  return sub.replace(/^(x-|vnd\.)/, "").replace(/\+.*$/, "").toUpperCase().slice(0, 40);
}
