// SPDX-License-Identifier: Apache-2.0
// The page when something fails.
import { expect } from "vitest";
import { answered, choices, done, error, failed, log, patch, runs } from "./harness/story.ts";
import type { Player } from "./harness/player.ts";
import { type Server, torch } from "./harness/serve.ts";
import { type Stage, test } from "./harness/test.ts";

// A server that has ended.
const kGone = /ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED_ENCODING/;

test("a replan shows both plans, the failure and disabled tools", async ({ stage }) => {
  const player = await stage.play(torch, { viewport: { width: 1600, height: 900 } });
  await player.say("I pull the lever");
  await player.sees("You close both hands around the lever and pull.");
  await player.sees("You examine the mysterious door instead.");
  await player.isDone();
  // Only in the story's words: tools and attempts are in the details.
  await player.sees("The lever does not move.");
  expect(await player.story.getByText(/rusty-lever|pull1|tries|plan/).count()).toBe(0);

  await player.go("Tools");
  const first = player.main.getByRole("region", { name: "Plan 1 of 2, failed" });
  const second = player.main.getByRole("region", { name: "Plan 2 of 2, completed" });
  await first.getByRole("group", { name: /^Graph/ }).getByRole("link", { name: /^pull1 failed.*2×/ }).waitFor();
  await first.getByRole("group", { name: /^Graph/ }).getByRole("link", { name: /^examine1 skipped/ }).waitFor();
  await second.getByRole("group", { name: /^Graph/ }).getByRole("link", { name: /^examine2 completed/ }).waitFor();
  await second.getByText("without rusty-lever").waitFor();
  const [left, right] = [await first.boundingBox(), await second.boundingBox()];
  expect(left!.x + left!.width).toBeLessThanOrEqual(right!.x);
  expect(left!.y).toBe(right!.y);
});

test("a failing tool is reported in the story's words, with details", async ({ stage }) => {
  const player = await stage.play(stage.tell({
    says: "pull",
    answers: [
      {
        narrative: "You pull.",
        tools: [
          {
            toolId: "lever",
            retries: 1,
            steps: [
              log("Pulling"),
              { stderr: "lever.c:17: assertion failed: is_oiled\n" },
              error("LEVER_STUCK", "The lever is rusted fast.", { rust: 0.97 }),
              failed("The lever does not move."),
            ],
          },
        ],
      },
      { narrative: "You let go." },
    ],
  }));
  await player.say("pull");
  await player.sees("You let go.");
  await player.isDone();
  // Once, and before the answer of the narrator to it.
  const told = (await player.story.getByRole("article", { name: "You: pull" }).getByRole("paragraph").allInnerTexts()).filter((one) => one !== "");
  expect(told).toEqual(["You pull.", "The lever does not move.", "You let go."]);
  expect(await player.story.getByText(/LEVER_STUCK|is_oiled|2 tries/).count()).toBe(0);
  await player.story.getByText("1 tool ran, 1 failed · details").click();
  await player.sees(/failed after 2 tries/);
  await player.sees(/assertion failed: is_oiled/);

  await player.story.getByRole("button", { name: "Try again" }).click();
  await expect.poll(() => player.story.getByRole("article", { name: "You: pull" }).count()).toBe(2);
  await player.isDone();
  // Only in the last turn, where the player can retry.
  expect(await player.story.getByRole("button", { name: "Try again" }).count()).toBe(1);
  // The key unfolds and folds all details, unless the focus is in a text field.
  await player.story.getByRole("region", { name: "The story" }).focus();
  for (const unfolded of [2, 0, 2]) {
    await player.page.keyboard.press("d");
    await expect.poll(() => player.story.getByRole("link", { name: "lever" }).count()).toBe(unfolded);
  }
  await player.story.getByRole("link", { name: "lever" }).last().click();
  await player.tool.getByRole("heading", { name: "lever" }).waitFor();
  await player.tool.getByText("LEVER_STUCK").first().waitFor();
  await player.tool.getByText("The lever is rusted fast.").first().waitFor();
  await player.tool.getByText(/"rust": 0.97/).first().waitFor();
  await player.tool.getByRole("group", { name: "Standard error" }).getByText(/assertion failed: is_oiled/).waitFor();
  expect(await player.tool.getByText(/^Attempt [12]: failed/).count()).toBe(2);
});

// covers: 003-12.2-tool-error
test("an error event is shown at its tool, even if the tool goes on", async ({ stage }) => {
  const story = stage.tell(answered(
    "draw",
    "You draw water.",
    runs(
      "bucket",
      error("ROPE_FRAYED", "The rope is about to break.", { strands: 2 }),
      { wait: "more" },
      error("WATER_MUDDY", "There is mud in the water."),
      { wait: "end" },
      done("Half a bucket."),
    ),
    runs("cup", done("A cup.")),
  ));
  const player = await stage.play(story);
  await player.say("draw");
  await player.go("Tools");
  await player.graph.getByRole("link", { name: /^bucket running/ }).click();
  const errors = player.tool.getByRole("region", { name: "Errors" });
  await errors.getByText("ROPE_FRAYED", { exact: true }).waitFor();
  await errors.getByText("The rope is about to break.").waitFor();
  await errors.getByText('"strands": 2').waitFor();
  expect(await errors.getByText("WATER_MUDDY").count()).toBe(0);
  story.open("more");
  await errors.getByText("WATER_MUDDY", { exact: true }).waitFor();
  await errors.getByText("There is mud in the water.").waitFor();
  story.open("end");
  // The tool has succeeded nevertheless, and its error stays visible.
  await player.tool.getByText("Half a bucket.").waitFor();
  await player.graph.getByRole("link", { name: /^bucket completed/ }).waitFor();
  expect(await errors.getByText(/^(ROPE_FRAYED|WATER_MUDDY)$/).count()).toBe(2);
  await player.graph.getByRole("link", { name: /^cup completed/ }).click();
  await player.tool.getByRole("heading", { name: "cup" }).waitFor();
  expect(await errors.count()).toBe(0);
});

test("the fallback is narrated after five failed plans", async ({ stage }) => {
  const answers = Array.from({ length: 6 }, (_, at) => ({
    narrative: `Way ${at + 1}.`,
    tools: [{ toolId: `way${at + 1}`, steps: [failed("A dead end.")] }],
  }));
  const player = await stage.play(
    stage.story({ prompts: [{ says: "out", answers }], fallback: ["You sit down, and think of {prompt}."] }),
  );
  await player.say("out");
  await player.sees("You sit down, and think of out.");
  await player.isDone();
  expect(await player.page.getByText("Way 6.").count()).toBe(0);
  // The same failure is reported once, and counted in the details.
  expect(await player.story.getByText("A dead end.").count()).toBe(1);
  expect(await player.story.getByText(/narrator/).count()).toBe(0);
  await player.story.getByRole("button", { name: "Try again" }).waitFor();
  await player.story.getByText("5 tools ran, 5 failed · details").click();
  await player.sees("None of the narrator's 5 plans worked.");
  await player.go("Tools");
  await player.main.getByRole("region", { name: "Plan 5 of 5, failed" }).waitFor();
  // Parts of plans side by side are aligned, even if one plan disables more tools.
  const heights = new Set<number>();
  for (const plan of [1, 2, 3, 4, 5]) {
    const heading = player.main.getByRole("heading", { name: `Plan ${plan} of 5` });
    heights.add(Math.round((await heading.boundingBox())!.y));
  }
  expect([...heights].length, [...heights].join(", ")).toBe(1);
});

test("concurrent writers of a path are named next to the state", async ({ stage }) => {
  const story = stage.tell({
    says: "paint",
    answers: [
      {
        parallel: true,
        tools: [
          { ...runs("red", { wait: "both" }, patch({ wall: "red" }), { wait: "end" }, done("Painted.")), async: true },
          { ...runs("blue", { wait: "both" }, patch({ wall: "blue" }), { wait: "end" }, done("Painted.")), async: true },
        ],
      },
    ],
  });
  const player = await stage.play(story);
  await player.say("paint");
  story.open("both");
  await player.go("State");
  await player.main.getByText(/\/wall/).first().waitFor();
  await player.main.getByRole("heading", { name: "Written by two tools at once" }).waitFor();
  story.open("end");
});

test("the end of the server is reported; the story stays readable", async ({ stage }) => {
  const story = stage.tell(answered("look", "A well.", runs("look", choices("Jump"), done("Seen."))));
  const server = await stage.serve(story);
  const player = await stage.open(server);
  await player.plays("look");
  player.allow(kGone);
  await server.stop();
  await player.page.getByRole("status").getByText(/has stopped or cannot be reached/).waitFor();
  await player.sees("A well.");

  // A prompt sent meanwhile is not lost.
  await player.say("jump");
  await player.page.getByRole("alert").getByText(/could not be reached/).waitFor();
  await expect.poll(() => player.input.inputValue()).toBe("jump");
});


// A player in a game, and a function that ends it and starts a new one at its address.
async function replaceable(stage: Stage): Promise<{ player: Player; replace: () => Promise<Server> }> {
  const story = stage.tell(answered("look", "A well."));
  const before = await stage.serve(story);
  const player = await stage.open(before);
  await player.say("look");
  await player.sees("A well.");
  player.allow(kGone);
  const replace = async (): Promise<Server> => {
    await before.stop();
    const after = await stage.serve(story, "--address", before.host, "--port", String(before.port));
    expect(after.origin).toBe(before.origin);
    return after;
  };
  return { player, replace };
}

// A different window of the browser enters a game.
async function enters(player: Player, server: Server): Promise<void> {
  player.allow(/a new page was opened/);
  const other = await player.context.newPage();
  await other.goto(server.address);
  await other.locator("narratoria-app").waitFor();
}

async function loadsTheNewGame(player: Player): Promise<void> {
  await player.sees("A well.");
  await player.button("Load the new game").click();
  await player.input.waitFor();
  await expect.poll(() => player.story.getByText("A well.").count()).toBe(0);
}

test("a new session at the same address ends this one", async ({ stage }) => {
  const { player, replace } = await replaceable(stage);
  player.allow(/403/);
  const after = await replace();
  await player.page.getByRole("status").getByText(/This game has ended/).waitFor();
  await player.sees("A well.");
  expect(await player.input.isDisabled()).toBe(true);

  // When a different window has entered the new game, this window offers it too.
  player.allow(/409/);
  await enters(player, after);
  await loadsTheNewGame(player);
});

test("a window of a replaced game keeps its story", async ({ stage }) => {
  const { player, replace } = await replaceable(stage);
  player.allow(/40[39]/, /ERR_FAILED/);
  // The old window cannot connect to the new server until the browser is authenticated there.
  await player.page.route("**/api/events*", (route) => route.abort());
  await enters(player, await replace());
  await player.page.unroute("**/api/events*");
  await player.page.getByRole("status").getByText(/has ended, and a new one is running/).waitFor();
  await loadsTheNewGame(player);
});
