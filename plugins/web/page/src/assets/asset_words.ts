// SPDX-License-Identifier: Apache-2.0
// What an asset is, and what to call it.
import type { IconName } from "../controls/icons.ts";
import type { Asset } from "../session/session.ts";
import { textOf } from "../session/record.ts";
import { shortened } from "../text/shorten.ts";

export const categories = ["image", "audio", "video", "text", "model", "other"] as const;
export type Category = (typeof categories)[number];

// By its media type: the kind is the tool's own word, and what a browser can do with a file hangs on the type.
export function categoryOf(asset: Pick<Asset, "mediaType">): Category {
  const type = (asset.mediaType.slice(0, 200).split(";")[0] ?? "").trim().toLowerCase();
  // A page of somebody else's is never shown as one.
  if (type === "text/html" || type === "text/xml") return "other";
  const main = type.split("/")[0];
  return main === "image" || main === "audio" || main === "video" || main === "text" || main === "model" ? main : "other";
}

const icons: Record<Category, IconName> = {
  image: "image",
  audio: "music",
  video: "movie",
  text: "text",
  model: "model",
  other: "file",
};

export function categoryIcon(category: Category): IconName {
  return icons[category];
}

const describing = ["alt", "description", "title", "caption"];
const naming = ["title", "caption", "name"];

// For who does not see it.
export function altOf(asset: Asset): string {
  return shortened(said(asset, describing) ?? asset.assetId, 1000);
}

// What it is called: by its title, else by what it shows.
export function titleOf(asset: Asset): string {
  return captionOf(asset) ?? said(asset, describing) ?? asset.assetId;
}

// What stands under it in the story; its description is for who does not see it.
export function captionOf(asset: Asset): string | undefined {
  return said(asset, naming);
}

// The one that stands where a later attempt replaced this one.
export function standing(asset: Asset): Asset {
  let one = asset;
  while (one.replaced !== undefined) one = one.replaced;
  return one;
}

function said(asset: Asset, names: readonly string[]): string | undefined {
  for (const name of names) {
    const text = textOf(asset.metadata, name)?.trim();
    if (text !== undefined && text !== "") return text;
  }
  return undefined;
}

export function addressOf(asset: Asset): string {
  return `/api/assets/${asset.seq}`;
}

// For the file that a reader keeps.
export function fileNameOf(asset: Asset): string {
  const last = asset.path.split(/[\\/]/).at(-1) ?? "";
  return last === "" ? asset.assetId : last;
}

// "glTF", "PNG", "plain": the type without what is known already.
export function formatOf(asset: Asset): string {
  const type = asset.mediaType.slice(0, 200);
  const sub = (type.split(";")[0] ?? "").split("/")[1] ?? type;
  return sub.replace(/^(x-|vnd\.)/, "").replace(/\+.*$/, "").toUpperCase().slice(0, 40);
}
