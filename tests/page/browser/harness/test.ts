// SPDX-License-Identifier: Apache-2.0
// The `test` function of this suite: it ends stories, servers and players after the test, and fails if one of them
// reports a fault.
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
import { type Prompt, Story, type Telling } from "./story.ts";

export interface Opening extends BrowserContextOptions {
  browser?: Browser;
  // The page's address, if it is not the server's own.
  address?: string;
}

export class Stage {
  readonly #players: Player[] = [];
  // What ends everything else, in the order of its beginning.
  readonly #ends: (() => Promise<unknown> | void)[] = [];
  // The state folder, shared by all servers of a test, as if one user ran them.
  readonly #state = mkdtempSync(join(tmpdir(), "state-"));

  story(telling: Telling | ((folder: string) => Telling)): Story {
    const story = Story.write(telling);
    this.#ends.push(() => story.remove());
    return story;
  }

  tell(...prompts: Prompt[]): Story {
    return this.story({ prompts });
  }

  async serve(story: Story | string, ...more: string[]): Promise<Server> {
    const server = await Server.start(typeof story === "string" ? story : story.folder, this.#state, ...more);
    this.#ends.push(() => server.stop());
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
    // An address with a token leads to the page, which has no token in its address.
    if (address.includes("#token=")) {
      await player.page.locator("narratoria-app").waitFor();
      await player.page.waitForURL((url) => !url.href.includes("token="));
    }
    return player;
  }

  async play(story: Story | string, opening: Opening = {}): Promise<Player> {
    return this.open(await this.serve(story), opening);
  }

  // A browser context without a player, so faults are not recorded.
  async context(): Promise<BrowserContext> {
    const context = await (await shared()).newContext({ reducedMotion: "reduce" });
    context.setDefaultTimeout(80_000);
    this.#ends.push(() => context.close());
    return context;
  }

  async browser(...more: string[]): Promise<Browser> {
    const browser = await launch(...more);
    this.#ends.push(() => browser.close());
    return browser;
  }

  async cable(server: Server): Promise<Cable> {
    const cable = await Cable.to(server.host, server.port);
    this.#ends.push(() => cable.end());
    return cable;
  }

  async still(server: Server, folder: string): Promise<Still> {
    const still = await Still.of(server, folder);
    this.#ends.push(() => still.end());
    return still;
  }

  // Ends everything, even if one step fails.
  async end(): Promise<string[]> {
    const complaints: string[] = [];
    const ends = [
      ...this.#players.map((player) => async () => void complaints.push(...(await player.finish()))),
      // What began last may use what began before.
      ...this.#ends.toReversed(),
      () => rmSync(this.#state, { recursive: true, force: true }),
    ];
    for (const end of ends) {
      await inTime((async () => void (await end()))()).catch((problem: unknown) => complaints.push(String(problem)));
    }
    return complaints;
  }
}

const kPatience = 200_000;

async function inTime(end: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("timeout while ending the servers and browsers of a test")), kPatience);
  });
  await Promise.race([end, late]).finally(() => clearTimeout(timer));
}

let browser: Promise<Browser> | undefined;

// One browser for all tests of a file.
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
    if (complaints.length > 0) throw new Error(`faults during the test:\n${complaints.join("\n")}`);
  },
});

test.afterAll(async () => {
  await (await browser)?.close();
  browser = undefined;
});
