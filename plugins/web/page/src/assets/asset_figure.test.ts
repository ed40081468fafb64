// SPDX-License-Identifier: Apache-2.0
// @vitest-environment happy-dom
import { expect, test, vi } from "vitest";
import type { Asset } from "../session/session.ts";
import { assetOf } from "../session/testing.ts";
import type { AssetFigure, AssetSize } from "./asset_figure.ts";
import "./asset_figure.ts";

async function drawn(asset: Asset, size: AssetSize): Promise<AssetFigure> {
  const figure = document.createElement("narratoria-asset") as AssetFigure;
  Object.assign(figure, { asset, size });
  document.body.replaceChildren(figure);
  await figure.updateComplete;
  return figure;
}

test("an asset refused after its event shows the reason", async () => {
  const asset = assetOf();
  const figure = await drawn(asset, "card");
  expect(figure.renderRoot.querySelector("img")).not.toBeNull();
  asset.refused = { code: "ASSET_MISSING", message: "There is no such file." };
  figure.refusal = asset.refused;
  await figure.updateComplete;
  expect(figure.renderRoot.querySelector("img")).toBeNull();
  expect(figure.renderRoot.textContent).toContain("There is no such file.");
});

test("a picture in the story links to its large view", async () => {
  const figure = await drawn(assetOf({ metadata: { alt: "A lit torch" } }), "inline");
  const link = figure.renderRoot.querySelector("a")!;
  expect(link.getAttribute("href")).toBe("#/assets/7/story");
  expect(link.querySelector("img")!.alt).toBe("A lit torch");
  expect(link.textContent).toContain("enlarge");
});

test("a broken file is loaded again once", async () => {
  vi.useFakeTimers();
  const figure = await drawn(assetOf({ mediaType: "video/webm" }), "large");
  const video = figure.renderRoot.querySelector("video")!;
  const load = vi.spyOn(video, "load");
  video.dispatchEvent(new Event("error"));
  await figure.updateComplete;
  expect(load).not.toHaveBeenCalled();
  vi.runAllTimers();
  expect(load).toHaveBeenCalledOnce();
  expect(figure.renderRoot.querySelector("video")).toBe(video);
  video.dispatchEvent(new Event("error"));
  await figure.updateComplete;
  expect(figure.renderRoot.querySelector("video")).toBeNull();
  expect(figure.renderRoot.textContent).toContain("cannot be shown");
  vi.useRealTimers();
});
