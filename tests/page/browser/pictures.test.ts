// SPDX-License-Identifier: Apache-2.0
// Each view at three widths, compared with its baseline screenshot.
import { looksAs } from "./harness/picture.ts";
import type { Player } from "./harness/player.ts";
import { rich, tellRich } from "./harness/rich.ts";
import { stillBegin } from "./harness/still.ts";
import { type Stage, test } from "./harness/test.ts";

const sizes = [
  { width: 320, height: 640 },
  { width: 768, height: 900 },
  { width: 1440, height: 900 },
] as const;

async function opened(stage: Stage, viewport: { width: number; height: number }): Promise<Player> {
  const story = stage.story(rich);
  const server = await stage.serve(story);
  const still = await stage.still(server, story.folder);
  const player = await stage.open(server, { viewport, address: still.address });
  await player.page.clock.setFixedTime(stillBegin + 60_000);
  await player.page.reload();
  return player;
}

// Waits until pictures and fonts are loaded, and moves the mouse away.
async function settled(player: Player): Promise<void> {
  await player.page.mouse.move(0, 0);
  await player.page.evaluate(async () => {
    await document.fonts.ready;
    const pictures = window.__elements().filter((one) => one instanceof HTMLImageElement);
    await Promise.all(pictures.filter((one) => one.getBoundingClientRect().top < innerHeight).map((one) => one.decode().catch(() => undefined)));
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  });
}

for (const size of sizes) {
  test(`a story and its views, ${size.width} pixels wide`, async ({ stage }) => {
    const player = await opened(stage, size);
    const look = async (name: string): Promise<void> => {
      await settled(player);
      await looksAs(player, `${name}-${size.width}`);
    };
    await player.page.getByRole("heading", { name: "The Well at the World's End" }).waitFor();
    await look("beginning");
    await tellRich(player);
    await look("narrative");
    await player.go("Tools");
    await look("tools");
    await player.graph.getByRole("link", { name: /^sketch-the-well/ }).click();
    await player.tool.getByRole("option", { name: /Ink runs low/ }).waitFor();
    await look("tool");
    await player.go("Assets");
    await player.main.getByRole("article").first().waitFor();
    await look("assets");
    await player.go("State");
    await player.main.getByRole("treeitem").first().waitFor();
    await look("state");
    await player.go("Narrative");
    await player.plays("replan");
    await player.button("Try again").waitFor();
    await look("trouble");
    await player.go("Tools");
    await player.main.getByRole("region", { name: /^Plan 2 of 2/ }).waitFor();
    await look("replan");
  });
}

test("a story and its views in light colours", async ({ stage }) => {
  const player = await opened(stage, { width: 1440, height: 900 });
  await player.reads("Light colours");
  await tellRich(player);
  await settled(player);
  await looksAs(player, "narrative-light-1440");
  await player.go("State");
  await player.main.getByRole("treeitem").first().waitFor();
  await settled(player);
  await looksAs(player, "state-light-1440");
});
