// SPDX-License-Identifier: Apache-2.0
// Measures the page: `npm run measure`, on an idle machine. Prints one JSON object.
import { appendFileSync, readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { loadavg } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, expect } from "vitest";
import { tree } from "../harness/serve.ts";
import { answered, done, type Json, runs, type Tool } from "../harness/story.ts";
import { shared, type Stage, test } from "../harness/test.ts";
import type { Player } from "../harness/player.ts";

const numbers: Record<string, unknown> = { when: new Date().toISOString(), load: loadavg()[0] };

afterAll(() => console.log(`\n${JSON.stringify(numbers, null, 2)}`));

function at(part: number, values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN) * 10) / 10;
}

// In each frame, looks for new times ("written TIME end") in the text of elements, and measures until they are painted.
async function watch(player: Player, selector: string): Promise<void> {
  await player.page.evaluate((selector) => {
    const seen = new Set<string>();
    const late: number[] = [];
    Object.assign(window, { __late: late });
    // The current content is painted at the end of the frame, and the next task runs after that.
    const look = (): void => {
      const shown = window.__elements().filter((one) => one.matches(selector));
      const texts = shown.map((one) => (one.shadowRoot ?? one).textContent ?? "");
      const times = texts.flatMap((text) => [...text.matchAll(/written ([\d.]+) end/g)].map((match) => match[1]!));
      const fresh = times.filter((time) => !seen.has(time));
      for (const one of fresh) seen.add(one);
      const channel = new MessageChannel();
      channel.port1.onmessage = () => {
        const now = performance.timeOrigin + performance.now();
        for (const one of fresh) late.push(now - Number(one));
      };
      channel.port2.postMessage(0);
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }, selector);
}

async function watched(player: Player): Promise<unknown> {
  const late = await player.page.evaluate(() => (window as unknown as { __late: number[] }).__late);
  expect(late.length).toBeGreaterThan(150);
  return { count: late.length, median: at(0.5, late), p95: at(0.95, late) };
}

test("the page's size, each file with gzip", () => {
  const dist = join(tree, "plugins/web/page/dist");
  const files = readdirSync(dist, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  numbers["gzip bytes"] = files.reduce((sum, one) => sum + gzipSync(readFileSync(join(one.parentPath, one.name)), { level: 9 }).length, 0);
});

test("from a tool's write to the pixel", async ({ stage }) => {
  const story = stage.tell(answered(
    "go",
    "",
    runs(
      "clock",
      { wait: "watched" },
      // "{now}" is the time of writing in milliseconds; it is also the progress message.
      { repeat: { times: 200, everyMs: 23, event: { type: "log", level: "info", message: "written {now} end" } } },
      done("Done."),
    ),
  ));
  const player = await stage.play(story);
  await player.say("go");
  await player.go("Tools");
  await player.graph.getByRole("link", { name: /^clock running/ }).click();
  await player.tool.getByRole("heading", { name: "clock" }).waitFor();
  await watch(player, "[role=option]");
  story.open("watched");
  await player.tool.getByText("Done.").waitFor();
  numbers["write to pixel, ms"] = await watched(player);
});

test("from a piece of the narrative to the pixel", async ({ stage }) => {
  const event = (choice: object): string => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`;
  const token = (content: string): string => event({ delta: { content } });
  const model = createServer((_, response) => {
    response.socket?.setNoDelay(true);
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write(token('{"narrative":"'));
    let left = 80;
    const timer = setInterval(() => {
      if (left-- > 0) return void response.write(token(`written ${performance.timeOrigin + performance.now()} end `));
      clearInterval(timer);
      response.end(`${token('Done.","tools":[],"choices":[]}')}${event({ delta: {}, finish_reason: "stop" })}data: [DONE]\n\n`);
    }, 23);
  });
  await new Promise<void>((resolve) => model.listen(0, "127.0.0.1", resolve));
  const { port } = model.address() as AddressInfo;
  const story = stage.tell();
  appendFileSync(
    join(story.folder, "story.toml"),
    `[narrator]\nname = "narratoria.narrator_llm"\n[plugins."narratoria.narrator_llm"]\n` +
      `base_url = "http://127.0.0.1:${port}/v1"\nmodel = "small"\nformat = "json_schema"\n`,
  );
  const player = await stage.play(story);
  await watch(player, "narratoria-turn");
  for (let turn = 0; turn < 3; ++turn) {
    await player.plays("go");
  }
  numbers["piece of the narrative to pixel, ms"] = await watched(player);
  model.closeAllConnections();
  model.close();
});

test("from the start of serve to the first paint", async ({ stage }) => {
  const first: number[] = [];
  const contentful: number[] = [];
  for (let round = 0; round < 6; ++round) {
    // The browser is already running, as a player's is.
    const context = await (await shared()).newContext({ viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    const server = await stage.serve(join(tree, "examples/stories/torch"));
    await page.goto(server.address);
    await page.getByRole("heading", { name: "The Torch and the Door" }).waitFor();
    const paints = await page.evaluate(() =>
      Object.fromEntries(performance.getEntriesByType("paint").map((one) => [one.name, performance.timeOrigin + one.startTime])),
    );
    await context.close();
    // The first round warms up the file system cache and the browser.
    if (round === 0) continue;
    first.push((paints["first-paint"] ?? Number.NaN) - server.begun);
    contentful.push((paints["first-contentful-paint"] ?? Number.NaN) - server.begun);
  }
  numbers["serve to first paint, ms"] = { median: at(0.5, first), worst: at(1, first), contentful: at(0.5, contentful) };
});

// The player at the end of a turn of these tools, in the view of tools.
async function flooded(stage: Stage, tools: Tool[]): Promise<{ player: Player; cdp: Session }> {
  const player = await stage.play(stage.tell({ says: "flood", answers: [{ parallel: true, tools }] }));
  player.context.setDefaultTimeout(60_000);
  await player.plays("flood");
  const cdp = await player.context.newCDPSession(player.page);
  await cdp.send("Performance.enable");
  await player.go("Tools");
  return { player, cdp };
}

// Scrolls the log of the tool shown, from its end, and notes the memory.
async function measureLog(player: Player, cdp: Session, what: string, frames: string): Promise<void> {
  const log = player.tool.getByRole("listbox", { name: /^Log/ });
  await log.waitFor();
  await log.scrollIntoViewIfNeeded();
  await log.press("End");
  const box = (await log.boundingBox())!;
  numbers[`${what}: ${frames}`] = await scrolled(player, cdp, box.x + 100, box.y + 100);
  numbers[`${what}: JavaScript heap after a collection, MB`] = await heap(cdp);
  numbers[`${what}: the page's process, what is its own, MB`] = await own();
}

test("100,000 events: scrolling and memory", async ({ stage }) => {
  const event = (tool: number): { [key: string]: Json } => ({
    type: "log",
    level: "info",
    message: `tool ${tool} says {n}: the quick brown fox jumps over the lazy dog`,
  });
  const tools = Array.from({ length: 100 }, (_, at) => ({
    ...runs(`tool-${at}`, { repeat: { times: 999, event: event(at) } }, done("Done.")),
    name: "flood",
    async: true,
  }));
  const { player, cdp } = await flooded(stage, tools);
  numbers["100,000 events: frames while the tools are scrolled"] = await scrolled(player, cdp, 700, 500);
  await player.main.getByRole("link", { name: /tool-50/ }).first().focus();
  await player.page.keyboard.press("Enter");
  await measureLog(player, cdp, "100,000 events", "frames while a log is scrolled");
});

test("100,000 events of one tool: scrolling its log, and memory", async ({ stage }) => {
  const message = "line {n}: the quick brown fox jumps over the lazy dog";
  const event = { type: "log", level: "info", message, fields: { at: 1, of: "flood" } };
  const { player, cdp } = await flooded(stage, [runs("flood", { repeat: { times: 99_990, event } }, done("Done."))]);
  await player.graph.getByRole("link", { name: /^flood/ }).click();
  await measureLog(player, cdp, "one log of 99,990 lines", "frames while it is scrolled");
});

type Session = Awaited<ReturnType<Player["context"]["newCDPSession"]>>;

async function heap(cdp: Session): Promise<number> {
  await cdp.send("HeapProfiler.collectGarbage");
  const { metrics } = await cdp.send("Performance.getMetrics");
  return Math.round((metrics.find((one) => one.name === "JSHeapUsedSize")?.value ?? 0) / 1e5) / 10;
}

// The private memory of the largest renderer process, which is the page's. It includes buffers outside the JavaScript
// heap, images and the browser's own data of the page, but not memory shared with other processes.
async function own(): Promise<number> {
  const cdp = await (await shared()).newBrowserCDPSession();
  const { processInfo } = await cdp.send("SystemInfo.getProcessInfo");
  const sizes = processInfo
    .filter((one) => one.type === "renderer")
    .map((one) => {
      const text = readFileSync(`/proc/${one.id}/smaps_rollup`, "utf8");
      return [...text.matchAll(/^Private_(?:Clean|Dirty): +(\d+) kB/gm)].reduce((sum, [, size]) => sum + Number(size), 0);
    });
  await cdp.detach();
  return Math.round(Math.max(...sizes) / 100) / 10;
}

async function scrolled(player: Player, cdp: Session, x: number, y: number): Promise<unknown> {
  await player.page.evaluate(() => {
    const gaps: number[] = [];
    let before = 0;
    Object.assign(window, { __gaps: gaps, __isWatching: true });
    const look = (now: number): void => {
      if (before !== 0) gaps.push(now - before);
      before = now;
      if ((window as unknown as { __isWatching: boolean }).__isWatching) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  for (const distance of [4000, -4000]) {
    await cdp.send("Input.synthesizeScrollGesture", { x, y, yDistance: distance, speed: 4000, gestureSourceType: "mouse", preventFling: true });
  }
  const gaps = await player.page.evaluate(() => {
    Object.assign(window, { __isWatching: false });
    return (window as unknown as { __gaps: number[] }).__gaps;
  });
  const seconds = gaps.reduce((sum, one) => sum + one, 0) / 1000;
  return { frames: gaps.length, "per second": Math.round(gaps.length / seconds), "median ms": at(0.5, gaps), "p95 ms": at(0.95, gaps), "worst ms": at(1, gaps) };
}

test("from Enter to the reply, after many turns", async ({ stage }) => {
  const story = stage.tell(answered("go on", "You go on through the dark, and the dark goes on around you."));
  const player = await stage.play(story);
  player.context.setDefaultTimeout(120_000);
  const found: Record<string, unknown> = {};
  let turns = 0;
  for (const most of [0, 200, 500, 1000]) {
    for (; turns < most; ++turns) {
      await player.page.evaluate(async () => {
        for (;;) {
          const answer = await fetch("/api/prompt", {
            method: "POST",
            headers: { "Content-Type": "application/json" },
            body: JSON.stringify({ text: "go on" }),
          });
          if (answer.ok) return;
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      });
    }
    await player.isDone();
    const took: number[] = [];
    for (let round = 0; round < 9; ++round, ++turns) {
      await player.input.fill("go on");
      took.push(
        await player.page.evaluate(async () => {
          const story = window.__elements().find((one) => one.localName === "narratoria-narrative")!.shadowRoot!;
          const before = story.querySelectorAll("narratoria-turn").length;
          const input = document.activeElement!;
          let deepest: Element = input;
          while (deepest.shadowRoot?.activeElement) deepest = deepest.shadowRoot.activeElement;
          const begun = performance.now();
          deepest.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, composed: true, cancelable: true }));
          return new Promise<number>((resolve) => {
            const look = (): void => {
              const turns = story.querySelectorAll("narratoria-turn");
              const last = turns[turns.length - 1];
              if (turns.length > before && last?.shadowRoot?.textContent?.includes("You go on")) {
                const channel = new MessageChannel();
                channel.port1.onmessage = () => resolve(performance.now() - begun);
                channel.port2.postMessage(0);
              } else requestAnimationFrame(look);
            };
            requestAnimationFrame(look);
          });
        }),
      );
      await player.isDone();
    }
    found[`${most} turns`] = { median: at(0.5, took), worst: at(1, took) };
  }
  numbers["Enter to answer, ms"] = found;
});
