// SPDX-License-Identifier: Apache-2.0
// Authentication, and interference by other servers on this machine.
import { type Server as HttpServer, createServer } from "node:http";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Page } from "playwright-core";
import { flame } from "./harness/media.ts";
import { tree } from "./harness/serve.ts";
import { answered, asset, done, log, runs, type Story } from "./harness/story.ts";
import { type Stage, test } from "./harness/test.ts";

const kOthers = /a new page was opened/;

function story(stage: Stage): Story {
  return stage.tell(
    answered("look", "A well."),
    answered("knock", "You knock.", runs("knock", log("Knock"), { wait: "open" }, done("It opens."))),
  );
}

const told = (page: Page, text: string): Promise<void> => page.getByRole("main").getByText(text).first().waitFor();

test("the token leaves the address bar and is not needed again", async ({ stage }) => {
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
  // The address with the token again: the token is removed again.
  const loaded = other.waitForEvent("load");
  await other.goto(server.address);
  await loaded;
  await other.getByRole("textbox", { name: "What do you do?" }).waitFor();
  expect(other.url()).toBe(`${server.origin}/`);
});

test("the player continues after the cookie is overwritten", async ({ stage }) => {
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

test("eight windows of one browser share one stream", async ({ stage }) => {
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
  // The leader is closed during a turn.
  await pages[7]!.getByRole("textbox", { name: "What do you do?" }).fill("knock");
  await pages[7]!.getByRole("button", { name: "Send", exact: true }).click();
  for (const page of pages) await told(page, "You knock.");
  await pages[1]!.close();
  await player.page.goto("about:blank");
  telling.open("open");
  for (const page of pages.slice(2)) await page.getByRole("button", { name: "Stop", exact: true }).waitFor({ state: "detached" });
});

test("data of an earlier server does not run and is cleared", async ({ stage }) => {
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
  // A change of only the fragment would not load the page, so leave the earlier server's page first.
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

test("an address without its token, or an old one, says what to do", async ({ stage }) => {
  const server = await stage.serve(story(stage));
  const player = await stage.open(server, { address: `${server.origin}/` });
  player.allow(/403/);
  await player.page.getByRole("heading", { name: "This game needs its full address" }).waitFor();
  await player.page.goto(`${server.origin}/#token=${"0".repeat(32)}`);
  await player.page.getByRole("heading", { name: "This address belongs to a different game" }).waitFor();
  await player.page.goto(server.address);
  await player.input.waitFor();
});

test("a page on a different port can read and change nothing", async ({ stage }) => {
  const telling = stage.story((folder) => ({
    files: { "flame.png": flame() },
    prompts: [
      answered("look", "A flame.", runs("look", asset("flame", "image/png", `${folder}/flame.png`, { alt: "A flame" }), done("Seen."))),
      { says: ["stolen", ".*stolen.*"], answers: [{ narrative: "Somebody else spoke." }] },
    ],
  }));
  const server = await stage.serve(telling);
  const player = await stage.open(server);
  await player.say("look");
  const picture = player.story.getByRole("img", { name: "A flame" });
  await expect.poll(() => picture.evaluate((one) => (one as HTMLImageElement).naturalWidth)).toBe(16);
  const shown = await picture.evaluate((one) => (one as HTMLImageElement).src);
  const script = await player.page.evaluate(() => document.querySelector("script")!.src);

  const evil = createServer((request, response) => {
    const isScript = request.url?.endsWith(".js") === true;
    response.writeHead(200, { "content-type": isScript ? "text/javascript" : "text/html" }).end(isScript ? "onfetch = () => undefined;" : "<!doctype html><title>evil</title>");
  });
  await new Promise<void>((resolve) => evil.listen(0, server.host, resolve));
  const { port } = evil.address() as { port: number };
  // In the player's browser, with the player's cookie: same site, different origin.
  const page = await player.context.newPage();
  player.allow(/a new page was opened/, new RegExp(`${server.host}:${port}`), /40[35]|ERR_|policy/);
  await page.goto(`http://${server.host}:${port}/`);
  expect((await player.context.cookies(server.origin)).length).toBe(1);
  // The server's responses, including those that the browser withholds from the page.
  const asked = new Map<string, string>();
  const statuses: { requestId: string; statusCode: number }[] = [];
  // The browser may report an answer before its request.
  const answers = (): string[] =>
    statuses.flatMap(({ requestId, statusCode }) => {
      const what = asked.get(requestId);
      return what === undefined ? [] : [`${statusCode} ${what}`];
    });
  const devtools = await player.context.newCDPSession(page);
  devtools.on("Network.requestWillBeSent", ({ requestId, request, type }) => {
    if (request.url.startsWith(server.origin)) asked.set(requestId, `${request.method} ${request.url} as ${type}`);
  });
  devtools.on("Network.responseReceivedExtraInfo", ({ requestId, statusCode }) => void statuses.push({ requestId, statusCode }));
  await devtools.send("Network.enable");
  const got = await page.evaluate(
    async ({ origin, shown, script }) => {
      const events = `${origin}/api/events?after=0`;
      const found: string[] = [];
      const note = (way: string) => (isIn: boolean): void => void (isIn && found.push(way));
      const text = JSON.stringify({ text: "stolen" });
      const asked = async (way: string, address: string, init: RequestInit): Promise<void> => {
        const answer = await fetch(address, { credentials: "include", signal: AbortSignal.timeout(20_000), ...init }).catch(() => undefined);
        note(way)(answer !== undefined && (answer.type !== "opaque" || answer.status !== 0));
      };
      const element = (way: string, name: string, fields: Record<string, string>): Promise<void> =>
        new Promise((resolve) => {
          const one = Object.assign(document.createElement(name), fields) as HTMLElement;
          one.onload = () => resolve(note(way)(name !== "iframe" && name !== "object" && name !== "embed"));
          one.onloadeddata = () => resolve(note(way)(true));
          one.onerror = () => resolve();
          document.body.append(one);
        });
      // The page is not notified of the end of these requests; their responses are checked below.
      const link = (rel: string, href: string): void => document.head.append(Object.assign(document.createElement("link"), { rel, href }));
      await asked("fetch with cors", events, { mode: "cors" });
      await asked("fetch without cors", events, { mode: "no-cors" });
      await asked("fetch of a picture", shown, { mode: "no-cors" });
      await asked("fetch as of the same origin", events, { mode: "same-origin" });
      await asked("post as text", `${origin}/api/prompt`, { mode: "no-cors", method: "POST", body: text });
      await asked("post as JSON", `${origin}/api/prompt`, { method: "POST", body: text, headers: { "Content-Type": "application/json" } });
      await asked("post that outlives its page", `${origin}/api/prompt`, { mode: "no-cors", method: "POST", body: text, keepalive: true });
      await asked("another method", `${origin}/api/prompt`, { method: "PUT", body: text });
      await asked("reading settings", `${origin}/api/reading`, { mode: "no-cors", method: "POST", body: '{"theme":"light"}' });
      navigator.sendBeacon(`${origin}/api/cancel`);
      navigator.sendBeacon(`${origin}/api/prompt`, new Blob([text], { type: "text/plain" }));
      await element("img", "img", { src: shown });
      await element("script", "script", { src: script });
      await element("module", "script", { type: "module", src: script });
      await element("style", "link", { rel: "stylesheet", href: `${origin}/app/` });
      await element("preload", "link", { rel: "preload", as: "image", href: shown });
      link("prefetch", events);
      await element("modulepreload", "link", { rel: "modulepreload", href: script });
      link("icon", shown);
      link("manifest", shown);
      await element("video", "video", { src: shown });
      await element("audio", "audio", { src: shown });
      await element("track", "video", { src: shown, crossOrigin: "use-credentials" });
      await element("object", "object", { data: `${origin}/` });
      await element("embed", "embed", { src: `${origin}/` });
      await element("iframe", "iframe", { src: `${origin}/` });
      for (const frame of document.querySelectorAll("iframe")) {
        let inside: Document | null = null;
        try {
          inside = frame.contentDocument;
        } catch {
          // A different origin: access denied.
        }
        note("iframe")(inside !== null && inside.body.childElementCount > 0);
      }
      await new Promise<void>((resolve) => {
        const source = new EventSource(events, { withCredentials: true });
        source.addEventListener("session", () => resolve(note("event source")(true)));
        source.onerror = () => {
          source.close();
          resolve();
        };
      });
      await new Promise<void>((resolve) => {
        const socket = new WebSocket(events.replace("http", "ws"));
        socket.onopen = () => resolve(note("web socket")(true));
        socket.onerror = () => resolve();
      });
      // Hidden from the bundler of the test.
      const imports = new Function("address", "return import(address)") as (address: string) => Promise<unknown>;
      await imports(script).then(() => note("import")(true), () => undefined);
      await navigator.serviceWorker.register("/worker.js", { scope: `${origin}/` }).then(() => note("service worker")(true), () => undefined);
      try {
        new Worker(script);
        note("worker")(true);
      } catch {
        // Worker scripts must be of the page's own origin.
      }
      // A form of the foreign page, with a frame as its target.
      const form = Object.assign(document.createElement("form"), { action: `${origin}/api/prompt`, method: "post", enctype: "text/plain", target: "into" });
      document.body.append(Object.assign(document.createElement("iframe"), { name: "into" }), form);
      form.append(Object.assign(document.createElement("input"), { name: '{"text":"stolen","x":"', value: '"}' }));
      form.submit();
      document.cookie = `narratoria-${new URL(origin).port}=${"0".repeat(32)}; path=/api`;
      // Cross-Origin-Opener-Policy separates it from its opener once it is loaded.
      const opened = window.open(`${origin}/`, "opened");
      for (let isThere = false; opened !== null && !isThere; await new Promise(requestAnimationFrame)) {
        try {
          isThere = opened.closed;
          note("window")(opened.document.body.childElementCount > 0);
        } catch {
          isThere = true;
        }
      }
      return found;
    },
    { origin: server.origin, shown, script },
  );
  expect(got).toEqual([]);
  // The browser reports some answers later than the page has them.
  await expect.poll(() => answers().length).toBeGreaterThan(20);
  expect(answers().filter((one) => !one.startsWith("403 "))).toEqual([]);

  // A foreign cookie of a longer path now precedes the player's; the story has only the player's prompts.
  await player.say("look");
  await expect.poll(() => player.story.getByRole("article", { name: "You: look" }).count()).toBe(2);
  await player.isDone();
  expect(await player.story.getByText("Somebody else spoke.").count()).toBe(0);
  expect(await player.story.getByRole("article").count()).toBe(2);
  await end(evil);
});
