// SPDX-License-Identifier: Apache-2.0
// @vitest-environment happy-dom
import { html, render } from "lit";
import { expect, test } from "vitest";
import type { Asset } from "../session/session.ts";
import type { AssetFigure } from "./asset-figure.ts";
import "./asset-figure.ts";

test("an asset that is refused behind its event says why", async () => {
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
