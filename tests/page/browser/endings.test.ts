// SPDX-License-Identifier: Apache-2.0
// The sample story "The Light on Skerrow", played to its endings: the prompts are those of the story's own transcripts.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { tree } from "./harness/serve.ts";
import { test } from "./harness/test.ts";

const story = join(tree, "examples/stories/lighthouse");

interface Game {
  name: string;
  prompts: string[];
  ending: string;
}

// The transcripts that end with an ending ("! NAME" after the last prompt).
const games = readdirSync(join(story, "tests")).toSorted().flatMap((name): Game[] => {
  const lines = readFileSync(join(story, "tests", name), "utf8").split("\n");
  const after = (sign: string): string[] => lines.filter((line) => line.startsWith(`${sign} `)).map((line) => line.slice(2).trim());
  const ending = after("!").at(-1);
  return ending === undefined ? [] : [{ name, prompts: after(">"), ending }];
});

test("there is a game for each of the ten endings", () => {
  expect(new Set(games.map((game) => game.ending)).size).toBe(10);
});

for (const { name, prompts, ending } of games) {
  test(`the page shows the ending “${ending}” and every picture on the way (${name})`, async ({ stage }) => {
    const player = await stage.play(story);
    const turns = player.story.getByRole("article", { name: /^You: / });
    for (const [at, prompt] of prompts.entries()) {
      await player.say(prompt);
      await turns.nth(at).waitFor({ state: "attached" });
      await player.story.getByText("The narrator ponders…").waitFor({ state: "detached" });
      await player.isDone();
      if (at + 1 < prompts.length) expect(await player.story.getByText(/^The end: /).count(), prompt).toBe(0);
    }
    await turns.last().getByText(ending, { exact: true }).waitFor();
    expect(await turns.last().textContent()).toContain(`The end: ${ending}`);
    // No picture is missing because its tool failed.
    expect(await player.story.getByText(/\d failed/).count()).toBe(0);
    // The browser loads a picture when it comes near the window.
    const pictures = await player.story.locator("narratoria-asset").getByRole("img").all();
    for (const picture of pictures) {
      await picture.scrollIntoViewIfNeeded();
      await expect.poll(() => picture.evaluate((one) => (one as HTMLImageElement).naturalWidth)).toBeGreaterThan(0);
    }
    await player.go("Assets");
    await expect.poll(() => player.main.getByRole("article").getByRole("img").count()).toBe(pictures.length);
  });
}
