// SPDX-License-Identifier: Apache-2.0
// Takes the screenshots in docs/page: `npm run docs`.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Player } from "../harness/player.ts";
import { rich, tellRich } from "../harness/rich.ts";
import { torch, tree } from "../harness/serve.ts";
import { stillBegin } from "../harness/still.ts";
import { type Stage, test } from "../harness/test.ts";

const kFolder = join(tree, "docs/page");

async function take(player: Player, name: string): Promise<void> {
  mkdirSync(kFolder, { recursive: true });
  await player.page.mouse.move(0, 0);
  await player.page.evaluate(async () => {
    await document.fonts.ready;
    await new Promise((resolve) => setTimeout(resolve, 600));
  });
  await player.page.screenshot({ path: join(kFolder, `${name}.png`), animations: "disabled", caret: "hide" });
}

async function told(stage: Stage, viewport: { width: number; height: number }, colours: "dark" | "light"): Promise<Player> {
  const player = await stage.play(torch, { viewport });
  if (colours === "light") await player.reads("Light colours");
  await player.plays("I light the torch and examine the door");
  await player.choice("Leave").waitFor();
  return player;
}

test("the story", async ({ stage }) => {
  await take(await told(stage, { width: 1280, height: 800 }, "dark"), "narrative");
  await take(await told(stage, { width: 1280, height: 800 }, "light"), "narrative-light");
  await take(await told(stage, { width: 390, height: 844 }, "dark"), "narrative-phone");
});

test("the first screen", async ({ stage }) => {
  for (const [name, width, height] of [["first", 1200, 750], ["first-phone", 390, 844], ["first-small", 320, 568]] as const) {
    const player = await stage.play(torch, { viewport: { width, height } });
    await player.choice("I pull the lever").waitFor();
    await take(player, name);
  }
});

test("its running tools, its assets and its state", async ({ stage }) => {
  const story = stage.story(rich);
  const server = await stage.serve(story);
  const still = await stage.still(server, story.folder);
  const player = await stage.open(server, { viewport: { width: 1440, height: 900 }, address: still.address });
  await player.page.clock.setFixedTime(stillBegin + 8_000);
  await player.page.reload();
  await tellRich(player);
  await player.go("Assets");
  await player.main.getByRole("article").first().waitFor();
  await take(player, "assets");
  await player.go("State");
  await player.main.getByRole("treeitem", { name: /^letter/ }).click();
  await take(player, "state");
  await player.go("Narrative");
  await player.say("work");
  await player.go("Tools");
  await player.graph.getByRole("link", { name: /^measure completed/ }).waitFor();
  await player.graph.getByRole("link", { name: /^saw running/ }).click();
  await player.tool.getByRole("option", { name: /Two boards/ }).waitFor();
  await player.page.clock.setFixedTime(still.newest + 2_400);
  await take(player, "tools");
  story.open("work");
});
