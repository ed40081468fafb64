// SPDX-License-Identifier: Apache-2.0
// What a player sees when things go wrong.
import { expect } from "vitest";
import { choices, done, error, failed, log, patch } from "./harness/story.ts";
import { torch } from "./harness/serve.ts";
import { test } from "./harness/test.ts";

test("a replan: both plans side by side, with what failed and what is left out", async ({ stage }) => {
  const player = await stage.play(torch, { viewport: { width: 1600, height: 900 } });
  await player.say("I pull the lever");
  await player.sees("You close both hands around the lever and pull.");
  await player.sees("You examine the mysterious door instead.");
  await player.isDone();
  await player.sees("The story went on without it.");

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

test("a failing tool: said in the story with Retry, Continue and Details, which lead on", async ({ stage }) => {
  const story = stage.story({
    prompts: [
      {
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
      },
    ],
  });
  const player = await stage.play(story);
  const notice = player.story.getByRole("region", { name: "Not everything worked." });
  await player.say("pull");
  await player.sees("You let go.");
  await player.isDone();
  await notice.getByText("The lever does not move: lever failed after 2 tries.").waitFor();
  await notice.getByText("What the tools said").click();
  await notice.getByText(/assertion failed: is_oiled/).waitFor();

  await notice.getByRole("button", { name: "Retry" }).click();
  await expect.poll(() => player.story.getByRole("article", { name: "You: pull" }).count()).toBe(2);
  await player.isDone();
  await notice.last().getByRole("button", { name: "Details" }).click();
  await player.tool.getByRole("heading", { name: "lever" }).waitFor();
  await player.tool.getByText("LEVER_STUCK").first().waitFor();
  await player.tool.getByText("The lever is rusted fast.").first().waitFor();
  await player.tool.getByText(/"rust": 0.97/).first().waitFor();
  await player.tool.getByRole("group", { name: "Standard error" }).getByText(/assertion failed: is_oiled/).waitFor();
  expect(await player.tool.getByText(/^Attempt [12]: failed/).count()).toBe(2);

  // Continue leaves no more than the remark.
  await player.go("Narrative");
  await notice.last().getByRole("button", { name: "Continue" }).click();
  await expect.poll(() => notice.getByRole("button", { name: "Continue" }).count()).toBe(0);
});

test("after five plans that failed the fallback is told in a dialog, which leads on", async ({ stage }) => {
  const answers = Array.from({ length: 6 }, (_, at) => ({
    narrative: `Way ${at + 1}.`,
    tools: [{ toolId: `way${at + 1}`, steps: [failed("A dead end.")] }],
  }));
  const player = await stage.play(
    stage.story({ prompts: [{ says: "out", answers }], fallback: ["You sit down, and think of {prompt}."] }),
  );
  await player.say("out");
  const dialog = player.page.getByRole("dialog", { name: "It does not work out" });
  await dialog.getByText("You sit down, and think of out.").waitFor();
  await dialog.getByText("None of the narrator's 5 plans worked.").waitFor();
  expect(await player.page.getByText("Way 6.").count()).toBe(0);
  // It is told once, and what may be done is offered once.
  expect(await player.page.locator("narratoria-turn").getByText("You sit down, and think of out.").count()).toBe(0);
  expect(await player.page.getByRole("button", { name: "Retry", includeHidden: true }).count()).toBe(0);
  await player.hasFocus(dialog.getByRole("button", { name: "Say something else" }));

  // Escape means the same as the button that has the focus.
  await player.page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  await player.hasFocus(player.input);

  await player.say("out");
  await dialog.getByRole("button", { name: "What happened" }).click();
  await player.page.getByRole("main", { name: "Tools" }).waitFor();
  await player.main.getByRole("region", { name: "Plan 5 of 5, failed" }).waitFor();
});

test("two tools that write the same place at once are named beside the state", async ({ stage }) => {
  const story = stage.story({
    prompts: [
      {
        says: "paint",
        answers: [
          {
            parallel: true,
            tools: [
              { toolId: "red", async: true, steps: [{ wait: "both" }, patch({ wall: "red" }), { wait: "end" }, done("Painted.")] },
              { toolId: "blue", async: true, steps: [{ wait: "both" }, patch({ wall: "blue" }), { wait: "end" }, done("Painted.")] },
            ],
          },
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

test("an end of the server is said in words, and what was told can still be read", async ({ stage }) => {
  const story = stage.story({
    prompts: [{ says: "look", answers: [{ narrative: "A well.", tools: [{ toolId: "look", steps: [choices("Jump"), done("Seen.")] }] }] }],
  });
  const server = await stage.serve(story);
  const player = await stage.open(server);
  await player.say("look");
  await player.isDone();
  player.allow(/ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED_ENCODING/);
  await server.stop();
  await player.page.getByRole("status").getByText(/is not running any more, or cannot be reached/).waitFor();
  await player.sees("A well.");

  // What the player says meanwhile is not lost.
  await player.say("jump");
  await player.page.getByRole("alert").getByText(/could not be reached/).waitFor();
  await expect.poll(() => player.input.inputValue()).toBe("jump");
});

const kGone = /ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED_ENCODING/;

test("another session at the same address: this one has ended, in words", async ({ stage }) => {
  const story = stage.story({ prompts: [{ says: "look", answers: [{ narrative: "A well." }] }] });
  const before = await stage.serve(story);
  const player = await stage.open(before);
  await player.say("look");
  await player.sees("A well.");
  player.allow(kGone, /403/);
  await before.stop();
  const after = await stage.serve(story, "--address", before.host, "--port", String(before.port));
  expect(after.origin).toBe(before.origin);
  await player.page.getByRole("status").getByText(/This game has ended/).waitFor();
  await player.sees("A well.");
  expect(await player.input.isDisabled()).toBe(true);
});

test("a window of a game that another has replaced keeps its story, and leads to the new one", async ({ stage }) => {
  const story = stage.story({ prompts: [{ says: "look", answers: [{ narrative: "A well." }] }] });
  const before = await stage.serve(story);
  const player = await stage.open(before);
  await player.say("look");
  await player.sees("A well.");
  player.allow(kGone, /40[39]/, /another page was opened/, /ERR_FAILED/);
  // The old window does not find the new server before the browser is let in to it.
  await player.page.route("**/api/events*", (route) => route.abort());
  await before.stop();
  const after = await stage.serve(story, "--address", before.host, "--port", String(before.port));
  // The same browser is let in to the new game by another window.
  const other = await player.context.newPage();
  await other.goto(after.address);
  await other.locator("narratoria-app").waitFor();
  await player.page.unroute("**/api/events*");
  await player.page.getByRole("status").getByText(/has ended here, and a new game runs/).waitFor();
  await player.sees("A well.");
  await player.button("Load the new game").click();
  await player.input.waitFor();
  await expect.poll(() => player.story.getByText("A well.").count()).toBe(0);
});
