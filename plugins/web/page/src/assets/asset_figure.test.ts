// SPDX-License-Identifier: Apache-2.0
// @vitest-environment happy-dom
import { html, render } from "lit";
import { expect, test, vi } from "vitest";
import type { Asset } from "../session/session.ts";
import type { AssetFigure } from "./asset_figure.ts";
import "./asset_figure.ts";

test("an asset refused after its event shows the reason", async () => {
  const asset: Asset = {
    seq: 7, time: 0, planKey: undefined, planId: "p", toolId: "t", attempt: 1, assetId: "torch", kind: "image",
    mediaType: "image/png", path: "/tmp/x/torch.png", metadata: {},
  };
  const draw = async (): Promise<AssetFigure> => {
    render(
      html`<narratoria-asset .asset=${asset} .refusal=${asset.refused} size="card"></narratoria-asset>`,
      document.body,
    );
    const figure = document.querySelector("narratoria-asset")!;
    await figure.updateComplete;
    return figure;
  };
  expect((await draw()).renderRoot.querySelector("img")).not.toBeNull();
  asset.refused = { code: "ASSET_MISSING", message: "There is no such file." };
  const figure = await draw();
  expect(figure.renderRoot.querySelector("img")).toBeNull();
  expect(figure.renderRoot.textContent).toContain("There is no such file.");
});

test("a picture in the story links to its large view", async () => {
  document.body.textContent = "";
  const asset: Asset = {
    seq: 9, time: 0, planKey: undefined, planId: "p", toolId: "t", attempt: 1, assetId: "torch", kind: "image",
    mediaType: "image/png", path: "/tmp/x/torch.png", metadata: { alt: "A lit torch" },
  };
  const figure = document.createElement("narratoria-asset");
  Object.assign(figure, { asset, size: "inline" });
  document.body.append(figure);
  await figure.updateComplete;
  const link = figure.renderRoot.querySelector("a")!;
  expect(link.getAttribute("href")).toBe("#/assets/9/story");
  expect(link.querySelector("img")!.alt).toBe("A lit torch");
  expect(link.textContent).toContain("enlarge");
});

test("a broken file is loaded again once", async () => {
  vi.useFakeTimers();
  document.body.textContent = "";
  const asset: Asset = {
    seq: 11, time: 0, planKey: undefined, planId: "p", toolId: "t", attempt: 1, assetId: "sparks", kind: "video",
    mediaType: "video/webm", path: "/tmp/x/sparks.webm", metadata: {},
  };
  const figure = document.createElement("narratoria-asset");
  Object.assign(figure, { asset, size: "large" });
  document.body.append(figure);
  await figure.updateComplete;
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
