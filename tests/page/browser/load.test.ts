// SPDX-License-Identifier: Apache-2.0
// Load: the page stays responsive.
import { expect } from "vitest";
import type { Player } from "./harness/player.ts";
import { answered, done, runs, type Story } from "./harness/story.ts";
import { type Stage, test } from "./harness/test.ts";

const kLines = 10_000;
// The limit of the longest task in milliseconds. On an idle machine it is under 100.
const kLongestTask = 5_000;

declare global {
  interface Window {
    __longest: number;
  }
}

function storm(stage: Stage, lines: number): Story {
  return stage.tell(
    answered(
      "storm",
      "It pours.",
      runs(
        "storm",
        { wait: "watched" },
        { repeat: { times: lines, event: { type: "log", level: "info", message: "drop {n}", fields: { of: lines } } } },
        done("It stops."),
      ),
    ),
    answered("ping", "pong"),
  );
}

async function watchTasks(player: Player): Promise<void> {
  await player.page.evaluate(() => {
    window.__longest = 0;
    new PerformanceObserver((list) => {
      for (const one of list.getEntries()) window.__longest = Math.max(window.__longest, one.duration);
    }).observe({ type: "longtask" });
  });
}

test("10,000 log lines at once do not freeze the page", async ({ stage }) => {
  const story = storm(stage, kLines);
  const player = await stage.play(story);
  await player.say("storm");
  await player.go("Tools");
  await player.graph.getByRole("link", { name: /^storm running/ }).click();
  await player.tool.getByRole("heading", { name: "storm" }).waitFor();
  await watchTasks(player);
  story.open("watched");
  await player.tool.getByText("It stops.").waitFor();
  const log = player.tool.getByRole("listbox", { name: /^Log, 10,?000 lines/ });
  await log.waitFor();
  await log.getByRole("option", { name: /drop 9999$/ }).waitFor();
  expect(await player.page.evaluate(() => window.__longest)).toBeLessThan(kLongestTask);

  // The log does not scroll for a reader who has scrolled back; a button leads to the end.
  await log.hover();
  await player.page.mouse.wheel(0, -900);
  await player.tool.getByRole("button", { name: "Newest" }).click();
  await log.getByRole("option", { name: /drop 9999$/ }).waitFor();

  // Only visible lines are rendered; each line is reachable.
  expect(await log.getByRole("option").count()).toBeLessThan(100);
  await log.press("Home");
  await log.getByRole("option", { name: /drop 0$/ }).waitFor();
  await log.press("PageDown");
  await log.press("End");
  await log.getByRole("option", { name: /drop 9999$/ }).waitFor();
  expect(await player.page.evaluate(() => window.__longest)).toBeLessThan(kLongestTask);
});

test("each key is handled during 10,000 log lines", async ({ stage }) => {
  const story = storm(stage, kLines);
  const player = await stage.play(story);
  await player.say("storm");
  await player.sees("It pours.");
  await watchTasks(player);
  await player.input.focus();
  story.open("watched");
  await player.page.keyboard.type("ping", { delay: 20 });
  expect(await player.input.inputValue()).toBe("ping");
  await player.page.keyboard.press("Enter");
  await player.sees("pong");
  expect(await player.page.evaluate(() => window.__longest)).toBeLessThan(kLongestTask);
});

test("a page opened after 10,000 log lines has them soon", async ({ stage }) => {
  const story = storm(stage, kLines);
  const server = await stage.serve(story);
  const player = await stage.open(server);
  await player.say("storm");
  story.open("watched");
  await player.isDone();
  const late = await stage.open(server);
  await late.sees("It pours.");
  await late.say("ping");
  await late.sees("pong");
  await late.go("Tools");
  await late.main.getByRole("link", { name: /^storm/ }).first().click();
  await late.graph.getByRole("link", { name: /^storm completed/ }).click();
  await late.tool.getByRole("listbox", { name: /^Log, 10,?000 lines/ }).waitFor();
});
