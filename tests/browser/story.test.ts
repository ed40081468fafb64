// SPDX-License-Identifier: Apache-2.0
// The sample story, as a player goes through it.
import { expect } from "vitest";
import { torch } from "./harness/serve.ts";
import { test } from "./harness/test.ts";

test("the sample story by mouse", async ({ stage }) => {
  const player = await stage.play(torch);
  await player.page.getByRole("heading", { name: "The Torch and the Door" }).waitFor();
  await player.say("I light the torch and examine the door");
  await player.sees("You reach for the torch on the wall.");
  const picture = player.story.getByRole("img", { name: "A lit torch on a stone wall" });
  await picture.waitFor();
  await expect.poll(() => picture.evaluate((one) => (one as HTMLImageElement).naturalWidth)).toBe(256);
  await player.isDone();
  await player.page.screenshot({ path: "/tmp/wb-1.png" });
  await player.go("Tools");
  await player.page.screenshot({ path: "/tmp/wb-2.png" });
  await player.go("Assets");
  await player.page.screenshot({ path: "/tmp/wb-3.png" });
  await player.go("State");
  await player.page.screenshot({ path: "/tmp/wb-4.png" });
  console.log(await player.page.locator("body").ariaSnapshot());
});
