// SPDX-License-Identifier: Apache-2.0
// The way in, and what other servers on this machine may do to it.
import { type Server as HttpServer, createServer } from "node:http";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Page } from "playwright-core";
import { tree } from "./harness/serve.ts";
import { done, log, type Story } from "./harness/story.ts";
import { type Stage, test } from "./harness/test.ts";

const kOthers = /another page was opened/;

function story(stage: Stage): Story {
  return stage.story({
    prompts: [
      { says: "look", answers: [{ narrative: "A well." }] },
      { says: "knock", answers: [{ narrative: "You knock.", tools: [{ toolId: "knock", steps: [log("Knock"), { wait: "open" }, done("It opens.")] }] }] },
    ],
  });
}

const told = (page: Page, text: string): Promise<void> => page.getByRole("main").getByText(text).first().waitFor();

test("the token leaves the address bar, and a reload and another window need it no more", async ({ stage }) => {
  const server = await stage.serve(story(stage));
  const player = await stage.open(server);
  player.allow(kOthers);
  expect(player.page.url()).toBe(`${server.origin}/`);
  expect(await player.page.evaluate(() => history.length)).toBeLessThan(4);
  await player.page.reload();
  await player.input.waitFor();
  const other = await player.context.newPage();
  await other.goto(`${server.origin}/`);
  await other.locator("narratoria-app").waitFor();
  // With the token once more: it goes from the address again.
  const loaded = other.waitForEvent("load");
  await other.goto(server.address);
  await loaded;
  await other.getByRole("textbox", { name: "What do you do?" }).waitFor();
  expect(other.url()).toBe(`${server.origin}/`);
});

test("another local server on the same address overwrites the cookie: the player goes on", async ({ stage }) => {
  const server = await stage.serve(story(stage));
  const player = await stage.open(server);
  player.allow(/403/);
  await player.say("look");
  await player.sees("A well.");
  const overwrite = (): Promise<void> =>
    player.context.addCookies([{ name: `narratoria-${server.port}`, value: "f".repeat(32), domain: server.host, path: "/", httpOnly: true, sameSite: "Strict" }]);
  await overwrite();
  await player.say("knock");
  await player.sees("You knock.");
  await overwrite();
  await player.page.reload();
  await player.sees("You knock.");
});

test("eight windows of one browser all follow the game, over one stream", async ({ stage }) => {
  const telling = story(stage);
  const server = await stage.serve(telling);
  const player = await stage.open(server);
  player.allow(kOthers);
  const pages = [player.page];
  for (let count = 1; count < 8; ++count) {
    const page = await player.context.newPage();
    await page.goto(`${server.origin}/`);
    await page.getByRole("textbox", { name: "What do you do?" }).waitFor();
    pages.push(page);
  }
  await player.say("look");
  for (const page of pages) await told(page, "A well.");
  // The one that led goes in the middle of a turn.
  await pages[7]!.getByRole("textbox", { name: "What do you do?" }).fill("knock");
  await pages[7]!.getByRole("button", { name: "Send", exact: true }).click();
  for (const page of pages) await told(page, "You knock.");
  await pages[1]!.close();
  await player.page.goto("about:blank");
  telling.open("open");
  for (const page of pages.slice(2)) await page.getByRole("button", { name: "Stop", exact: true }).waitFor({ state: "detached" });
});

test("what an earlier server left in the browser does not run, and goes when the player enters", async ({ stage }) => {
  const dist = join(tree, "plugins/web/page/dist");
  const script = readdirSync(join(dist, "app")).find((name) => name.endsWith(".js"))!;
  const poison = "window.__pwned = 'cache';";
  const worker = "addEventListener('fetch', () => undefined); addEventListener('install', () => skipWaiting());";
  const earlier = createServer((request, response) => {
    if (request.url === "/worker.js") return void response.writeHead(200, { "content-type": "text/javascript" }).end(worker);
    if (request.url === `/app/${script}`) {
      return void response.writeHead(200, { "content-type": "text/javascript", "cache-control": "public, max-age=31536000, immutable" }).end(poison);
    }
    response.writeHead(200, { "content-type": "text/html" }).end(`<!doctype html><title>earlier</title><p>An earlier server`);
  });
  await new Promise<void>((resolve) => earlier.listen(0, "127.0.0.1", resolve));
  const port = (earlier.address() as { port: number }).port;
  const context = await stage.context();
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${port}/`);
  await page.evaluate(async (name) => {
    await (await fetch(`/app/${name}`)).text();
    localStorage.setItem("left", "behind");
    await navigator.serviceWorker.register("/worker.js");
    await navigator.serviceWorker.ready;
  }, script);
  await end(earlier);

  const server = await stage.serve(story(stage), "--address", "127.0.0.1", "--port", String(port));
  const integrity = /integrity="(sha384-[^"]+)"/.exec(readFileSync(join(dist, "index.html"), "utf8"))?.[1];
  expect(integrity).toBeDefined();
  // A fragment alone would leave the earlier server's page where it is.
  await page.goto("about:blank");
  await page.goto(server.address);
  await page.getByRole("textbox", { name: "What do you do?" }).waitFor();
  expect(await page.evaluate(() => window.__pwned)).toBe(undefined);
  expect(await page.evaluate(() => localStorage.getItem("left"))).toBe(null);
  await expect.poll(() => page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length)).toBe(0);
  await page.reload();
  await page.getByRole("textbox", { name: "What do you do?" }).waitFor();
});

function end(server: HttpServer): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

test("the address without its token says what to do, and so does that of another game", async ({ stage }) => {
  const server = await stage.serve(story(stage));
  const player = await stage.open(server, { address: `${server.origin}/` });
  player.allow(/403/);
  await player.page.getByRole("heading", { name: "This game needs its whole address" }).waitFor();
  await player.page.goto(`${server.origin}/#token=${"0".repeat(32)}`);
  await player.page.getByRole("heading", { name: "This address is of another game" }).waitFor();
  await player.page.goto(server.address);
  await player.input.waitFor();
});
