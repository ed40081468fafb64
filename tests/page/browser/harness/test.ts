// SPDX-License-Identifier: Apache-2.0
// `test` of this suite: stories, servers and players that end with their test, which fails when one of them
// complains.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, type BrowserContext, type BrowserContextOptions } from "playwright-core";
import { test as base } from "vitest";
import { launch } from "./browser.ts";
import { Cable } from "./cable.ts";
import { Player } from "./player.ts";
import { Server } from "./serve.ts";
import { Still } from "./still.ts";
import { Story, type Telling } from "./story.ts";

export interface Opening extends BrowserContextOptions {
  browser?: Browser;
  // Where the page is, when it is not at the server's own address.
  address?: string;
}

export class Stage {
  readonly #stories: Story[] = [];
  readonly #servers: Server[] = [];
  readonly #players: Player[] = [];
  readonly #browsers: Browser[] = [];
  readonly #contexts: BrowserContext[] = [];
  readonly #cables: Cable[] = [];
  readonly #stills: Still[] = [];
  // Of all servers of a test, as of one player.
  readonly #state = mkdtempSync(join(tmpdir(), "state-"));

  story(telling: Telling | ((folder: string) => Telling)): Story {
    const story = Story.write(telling);
    this.#stories.push(story);
    return story;
  }

  async serve(story: Story | string, ...more: string[]): Promise<Server> {
    const server = await Server.start(typeof story === "string" ? story : story.folder, this.#state, ...more);
    this.#servers.push(server);
    return server;
  }

  async open(server: Server, opening: Opening = {}): Promise<Player> {
    const { browser, address = server.address, ...options } = opening;
    const context = await (browser ?? (await shared())).newContext({
      viewport: { width: 1280, height: 800 },
      reducedMotion: "reduce",
      colorScheme: "dark",
      locale: "en-GB",
      timezoneId: "UTC",
      ...options,
    });
    context.setDefaultTimeout(80_000);
    const player = await Player.begin(context, new URL(address).origin);
    this.#players.push(player);
    await player.page.goto(address);
    // With its token the address leads on to the page, which has none of it.
    if (address.includes("#token=")) {
      await player.page.locator("narratoria-app").waitFor();
      await player.page.waitForURL((url) => !url.href.includes("token="));
    }
    return player;
  }

  async play(story: Story | string, opening: Opening = {}): Promise<Player> {
    return this.open(await this.serve(story), opening);
  }

  // Without a player who notes what goes wrong.
  async context(): Promise<BrowserContext> {
    const context = await (await shared()).newContext({ reducedMotion: "reduce" });
    context.setDefaultTimeout(80_000);
    this.#contexts.push(context);
    return context;
  }

  async browser(...more: string[]): Promise<Browser> {
    const browser = await launch(...more);
    this.#browsers.push(browser);
    return browser;
  }

  async cable(server: Server): Promise<Cable> {
    const cable = await Cable.to(server.host, server.port);
    this.#cables.push(cable);
    return cable;
  }

  async still(server: Server, folder: string): Promise<Still> {
    const still = await Still.of(server, folder);
    this.#stills.push(still);
    return still;
  }

  // Ends everything, whatever fails on the way.
  async end(): Promise<string[]> {
    const complaints: string[] = [];
    const ends = [
      ...this.#players.map((player) => async () => void complaints.push(...(await player.finish()))),
      ...this.#contexts.map((context) => () => context.close()),
      ...this.#browsers.map((browser) => () => browser.close()),
      ...this.#cables.map((cable) => () => cable.end()),
      ...this.#stills.map((still) => () => still.end()),
      ...this.#servers.map((server) => () => server.stop()),
      ...this.#stories.map((story) => async () => story.remove()),
      async () => rmSync(this.#state, { recursive: true, force: true }),
    ];
    for (const end of ends) {
      await inTime(end()).catch((problem: unknown) => complaints.push(String(problem)));
    }
    return complaints;
  }
}

const kPatience = 200_000;

async function inTime(end: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("what a test began does not end")), kPatience);
  });
  await Promise.race([end, late]).finally(() => clearTimeout(timer));
}

let browser: Promise<Browser> | undefined;

// One for all tests of a file.
export function shared(): Promise<Browser> {
  browser ??= launch();
  return browser;
}

export const test = base.extend<{ stage: Stage }>({
  stage: async ({}, use) => {
    const stage = new Stage();
    let complaints: string[] = [];
    try {
      await use(stage);
    } finally {
      complaints = await stage.end();
    }
    if (complaints.length > 0) throw new Error(`behind the player's back:\n${complaints.join("\n")}`);
  },
});

test.afterAll(async () => {
  await (await browser)?.close();
  browser = undefined;
});
