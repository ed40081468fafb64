// SPDX-License-Identifier: Apache-2.0
// The page and the session when connections are lost and opened.
import { expect } from "vitest";
import type { Player } from "./harness/player.ts";
import { answered, done, log, patch, runs, type Story } from "./harness/story.ts";
import { type Stage, test } from "./harness/test.ts";

const kLines = 600;

// A tool that prints a line every few milliseconds, and waits at gates for the test.
function talkative(stage: Stage): Story {
  return stage.tell(answered(
    "talk",
    "A voice begins.",
    runs(
      "voice",
      { repeat: { times: kLines / 2, everyMs: 10, event: { type: "log", level: "info", message: "line {n} of the first half" } } },
      { wait: "half" },
      { repeat: { times: kLines / 2, everyMs: 10, event: { type: "log", level: "info", message: "line {n} of the second half" } } },
      patch({ said: true }),
      done("All said."),
    ),
  ));
}

// Reads every line of the log in order, by keyboard as a player does.
async function readLog(player: Player): Promise<string[]> {
  const list = player.tool.getByRole("listbox", { name: `Log, ${kLines} lines` });
  await list.waitFor();
  const lines = new Map<number, string>();
  const rows = list.getByRole("option");
  await list.press("Home");
  // The number of lines by which PageDown moves.
  const kPage = 12;
  for (let at = 1; lines.size < kLines; at = Math.min(at + kPage, kLines)) {
    await expect
      .poll(() => rows.and(player.page.getByRole("option", { selected: true })).evaluateAll((all) => all.map((row) => row.ariaPosInSet)))
      .toEqual([String(at)]);
    const seen = await rows.evaluateAll((all) => all.map((row) => [Number(row.ariaPosInSet), row.textContent ?? ""] as const));
    for (const [place, text] of seen) lines.set(place, /line \d+ of .*/.exec(text)?.[0].trim() ?? text);
    await list.press("PageDown");
  }
  return [...lines.entries()].sort(([a], [b]) => a - b).map(([, text]) => text);
}

const kExpected = ["first", "second"].flatMap((half) =>
  Array.from({ length: kLines / 2 }, (_, at) => `line ${at} of the ${half} half`),
);

test("five lost connections lose and repeat no log line", async ({ stage }) => {
  const story = talkative(stage);
  const server = await stage.serve(story);
  const cable = await stage.cable(server);
  const browser = await stage.browser(`--host-resolver-rules=MAP ${server.host}:${server.port} 127.0.0.1:${cable.port}`);
  const player = await stage.open(server, { browser });
  player.allow(/ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_CLOSED/);
  await player.say("talk");
  await player.go("Tools");
  await player.graph.getByRole("link", { name: /^voice running/ }).click();
  for (let cut = 1; cut <= 5; ++cut) {
    const seen = (): Promise<number> => linesSeen(player);
    const before = await seen();
    if (cut === 4) story.open("half");
    cable.cut();
    await expect.poll(() => cable.streams).toBeGreaterThan(cut);
    if (cut !== 3) await expect.poll(seen).toBeGreaterThan(before);
  }
  await player.tool.getByText("All said.").waitFor();
  expect(cable.streams).toBeGreaterThanOrEqual(6);
  expect(await readLog(player)).toEqual(kExpected);
});

async function linesSeen(player: Player): Promise<number> {
  const name = (await player.tool.getByRole("listbox", { name: /^Log, / }).getAttribute("aria-label")) ?? "";
  return Number(/\d[\d,]*/.exec(name)?.[0].replaceAll(",", "") ?? 0);
}

test("two browsers share a story, and both can act", async ({ stage }) => {
  const story = stage.tell(
    answered("knock", "You knock.", runs("knock", log("Knock"), { wait: "open" }, done("It opens."))),
    answered("enter", "It is warm inside."),
  );
  const server = await stage.serve(story);
  const one = await stage.open(server);
  const other = await stage.open(server, { viewport: { width: 390, height: 800 } });
  await one.say("knock");
  await other.sees("You knock.");
  await other.button("Stop").waitFor();
  story.open("open");
  await one.isDone();
  await other.isDone();
  await other.say("enter");
  await one.sees("It is warm inside.");

  const told = (player: Player): Promise<string[]> => player.story.getByRole("article").allInnerTexts();
  await expect.poll(async () => await told(one)).toEqual(await told(other));
  // One browser stops the turn, the other starts the next.
  await one.say("knock");
  await other.isDone();
  expect((await told(one)).length).toBe(3);
});

test("a reload during a plan shows past and new records", async ({ stage }) => {
  const story = stage.tell(answered(
    "wait",
    "You wait.",
    runs("clock", log("Tick"), patch({ ticks: 1 }), { wait: "tock" }, log("Tock"), patch({ ticks: 2 }), done("Noon.")),
  ));
  const player = await stage.play(story);
  await player.say("wait");
  await player.go("Tools");
  await player.graph.getByRole("link", { name: /^clock running/ }).click();
  await player.tool.getByRole("option", { name: /Tick/ }).waitFor();
  await player.page.reload();
  await player.tool.getByRole("option", { name: /Tick/ }).waitFor();
  story.open("tock");
  await player.tool.getByRole("option", { name: /Tock/ }).waitFor();
  await player.tool.getByText("Noon.").waitFor();
  expect(await player.tool.getByRole("option").count()).toBe(2);
  await player.go("State");
  await player.main.getByRole("treeitem", { name: /^ticks 2/ }).waitFor();
});
