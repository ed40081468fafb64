// SPDX-License-Identifier: Apache-2.0
// The page for a reader: the first screen, stored data, and preferences of the reader's system.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { flame } from "./harness/media.ts";
import type { Player } from "./harness/player.ts";
import { torch } from "./harness/serve.ts";
import { answered, asset, choices, done, error, failed, type Prompt, runs, ui } from "./harness/story.ts";
import { test } from "./harness/test.ts";

const phones = [
  { width: 390, height: 844 },
  { width: 320, height: 568 },
] as const;

const kLong = "The path bends between the stones, and bends again. ".repeat(12);

function walk(turns: number): Prompt[] {
  return Array.from({ length: turns }, (_, at) => ({ says: `step ${at}`, answers: [{ narrative: `Milestone ${at}. ${kLong}` }] }));
}

async function walked(player: Player, turns: number): Promise<void> {
  for (let at = 0; at < turns; ++at) {
    await player.say(`step ${at}`);
    await player.story.getByText(`Milestone ${at}.`).first().waitFor({ state: "attached" });
    await player.isDone();
  }
}

// The size of the text of the sample story.
function sizeOf(player: Player): Promise<number> {
  return player.story.getByText("The stair ends in the dark").evaluate((one) => Number.parseFloat(getComputedStyle(one).fontSize));
}

function brightnessOf(player: Player): Promise<number> {
  return player.page.evaluate(() => {
    const parts = getComputedStyle(document.body).backgroundColor.match(/\d+/g)!.slice(0, 3).map(Number);
    return parts.reduce((sum, one) => sum + one, 0) / 3;
  });
}

test("the first screen shows opening and choices; a number and Enter play one", async ({ stage }) => {
  const player = await stage.play(torch);
  await player.page.getByRole("heading", { name: "The Torch and the Door" }).waitFor();
  await player.sees("The stair ends in the dark");
  expect(await player.story.getByText("The page is blank.").count()).toBe(0);
  await player.choice("I pull the lever").waitFor();
  await player.hasFocus(player.input);
  await player.page.keyboard.press("1");
  expect(await player.input.inputValue()).toBe("1");
  await player.page.keyboard.press("Enter");
  await player.sees("You reach for the torch on the wall.");
  expect(await player.input.inputValue()).toBe("");
  await player.isDone();
});

for (const viewport of phones) {
  test(`on a phone of ${viewport.width} × ${viewport.height}, choices and input are visible`, async ({ stage }) => {
    const player = await stage.play(torch, { viewport, hasTouch: true, isMobile: true });
    const look = async (words: string): Promise<void> => {
      const choice = (await player.choice(words).boundingBox())!;
      const field = (await player.input.boundingBox())!;
      expect(choice.y).toBeGreaterThanOrEqual(0);
      expect(choice.y + choice.height).toBeLessThanOrEqual(field.y + 1);
      expect(field.y + field.height).toBeLessThanOrEqual(viewport.height);
      const story = (await player.story.getByRole("region", { name: "The story" }).boundingBox())!;
      expect(story.height).toBeGreaterThan(viewport.height * 0.45);
    };
    await player.choice("I light the torch").waitFor();
    await look("I light the torch");
    await player.sees("The stair ends in the dark");
    await player.plays("I light the torch and examine the door");
    await player.choice("Leave").waitFor();
    await look("Open");
    const bar = (await player.page.getByRole("navigation", { name: "Places" }).boundingBox())!;
    expect(bar.height).toBeLessThanOrEqual(60);
  });
}

test("a reload keeps the draft until it is sent", async ({ stage }) => {
  const player = await stage.play(stage.tell(...walk(1)));
  await player.input.fill("step 0");
  await player.page.reload();
  await expect.poll(() => player.input.inputValue()).toBe("step 0");
  await player.input.press("Enter");
  await player.sees("Milestone 0.");
  await player.page.reload();
  await player.sees("Milestone 0.");
  expect(await player.input.inputValue()).toBe("");
});

test("a long story is searchable and printed without the page", async ({ stage }) => {
  const player = await stage.play(stage.story({ title: "The Path", prompts: walk(40) }));
  await walked(player, 40);
  await player.page.reload();
  await expect.poll(() => player.story.getByRole("article").count()).toBe(40);
  // window.find() searches like the browser's own search and scrolls to a match. It may run before all turns are
  // rendered.
  const find = (): boolean =>
    (window as unknown as { find: (words: string, exact: boolean, back: boolean, wrap: boolean) => boolean }).find("Milestone 3.", true, false, true);
  await expect.poll(() => player.page.evaluate(find)).toBe(true);

  await player.page.emulateMedia({ media: "print" });
  const paper = await player.page.evaluate(() => {
    const all = window.__elements();
    const turns = all.filter((one) => one.localName === "narratoria-turn").map((one) => one.getBoundingClientRect());
    const hidden = all.map((one) => (one.getClientRects().length > 0 ? one.localName : "")).filter((name) => ["nav", "textarea"].includes(name));
    return { turns: turns.filter((box) => box.height > 40).length, height: document.documentElement.scrollHeight, last: Math.max(...turns.map((box) => box.bottom + scrollY)), hidden };
  });
  expect(paper.hidden).toEqual([]);
  expect(paper.turns).toBe(40);
  expect(paper.height).toBeGreaterThanOrEqual(Math.floor(paper.last));
  const pdf = await player.page.pdf({ format: "A5" });
  // Each turn fills a third of a printed page.
  expect((pdf.toString("latin1").match(/\/Type\s*\/Page\b(?!s)/g) ?? []).length).toBeGreaterThan(8);
});

for (const viewport of [{ width: 800, height: 500 }, { width: 320, height: 256 }]) {
  test(`the page keeps the position of a reader who scrolls, ${viewport.width} × ${viewport.height}`, async ({ stage }) => {
    const player = await stage.play(stage.tell(...walk(6)), { viewport });
    const isLastTurnShown = async (): Promise<boolean> => {
      const box = await player.story.getByRole("article").last().boundingBox();
      return box !== null && box.y >= 0 && box.y < viewport.height / 2;
    };
    await walked(player, 5);
    for (const when of ["after a turn", "after a load"]) {
      await expect.poll(isLastTurnShown, { message: when }).toBe(true);
      for (const words of ["Milestone 1.", "Milestone 2."]) {
        const line = player.story.getByText(words);
        // As assistive technology and the browser's search do: without an input event that the page sees.
        await line.evaluate((one) => one.scrollIntoView({ block: "center" }));
        // Any later scroll of the page happens in these frames.
        const { top, bottom } = await line.evaluate(async (one) => {
          for (let frame = 0; frame < 5; ++frame) await new Promise((resolve) => requestAnimationFrame(resolve));
          return one.getBoundingClientRect();
        });
        expect([top < viewport.height / 2, bottom > viewport.height / 3], `${words} ${when}`).toEqual([true, true]);
      }
      await player.page.reload();
      await expect.poll(() => player.story.getByRole("article").count()).toBe(5);
    }
    // The next turn is shown from its beginning.
    await player.story.getByText("Milestone 1.").evaluate((one) => one.scrollIntoView());
    await player.plays("step 5");
    await expect.poll(() => player.story.getByRole("article").count()).toBe(6);
    await expect.poll(isLastTurnShown).toBe(true);
  });
}

test("a move does not change the position of a reader in another window", async ({ stage }) => {
  const player = await stage.open(await stage.serve(stage.tell(...walk(6)), "--store", join(mkdtempSync(join(tmpdir(), "saves-")), "saves.db")), { viewport: { width: 800, height: 500 } });
  await walked(player, 6);
  const line = player.story.getByText("Milestone 1.");
  await line.evaluate((one) => one.scrollIntoView({ block: "center" }));
  const place = async (): Promise<number> => Math.round((await line.boundingBox())!.y);
  const before = await place();
  for (const [turn, to, count] of [[6, 3, 4], [3, 6, 7], [6, 2, 3]] as const) {
    // As another window does: the page itself does not ask for the move.
    await player.page.evaluate((body) => fetch("/api/go", { method: "POST", headers: { "Content-Type": "application/json" }, body }), JSON.stringify({ turn, to }));
    await expect.poll(() => player.story.getByRole("article").count()).toBe(count);
    expect(await place(), `to turn ${to}`).toBe(before);
  }
});

test("the position after a load does not depend on pictures", async ({ stage }) => {
  const story = stage.story((folder) => ({
    files: { "flame.png": flame() },
    prompts: [
      ...walk(6),
      answered(
        "look",
        `A flame. ${kLong}`,
        runs("look", asset("flame", "image/png", `${folder}/flame.png`, { alt: "A flame" }), done("Seen.")),
      ),
    ],
  }));
  const player = await stage.play(story, { viewport: { width: 800, height: 500 } });
  await walked(player, 6);
  for (const _ of [1, 2]) {
    await player.plays("look");
  }
  const places = new Set<number>();
  for (let load = 0; load < 5; ++load) {
    // A different delay each time.
    await player.page.route("**/api/assets/**", async (route) => {
      await new Promise((resolve) => setTimeout(resolve, load * 150));
      await route.continue().catch(() => undefined);
    });
    await player.page.reload();
    const picture = player.story.getByRole("img", { name: "A flame" }).last();
    await expect.poll(() => picture.evaluate((one) => (one as HTMLImageElement).complete && (one as HTMLImageElement).naturalWidth > 0)).toBe(true);
    await player.page.evaluate(async () => {
      await document.fonts.ready;
      for (let frame = 0; frame < 5; ++frame) await new Promise((resolve) => requestAnimationFrame(resolve));
    });
    places.add(Math.round((await player.story.getByRole("article").last().boundingBox())!.y));
    await player.page.unroute("**/api/assets/**");
  }
  expect([...places].length, [...places].join(", ")).toBe(1);
});

test("the page follows the system's colours until a choice", async ({ stage }) => {
  const player = await stage.play(torch, { colorScheme: "light" });
  const brightness = (): Promise<number> => brightnessOf(player);
  await player.input.waitFor();
  expect(await brightness()).toBeGreaterThan(220);
  await player.page.emulateMedia({ colorScheme: "dark" });
  await expect.poll(brightness).toBeLessThan(40);
  await player.reads("Light colours");
  await expect.poll(brightness).toBeGreaterThan(220);
  await player.reads("Colours of the system");
  await player.page.emulateMedia({ colorScheme: "light" });
  await expect.poll(brightness).toBeGreaterThan(220);
});

test("more contrast and forced colours are respected", async ({ stage }) => {
  const player = await stage.play(stage.tell(answered("look", "A well.", runs("look", done("Seen.")))), { colorScheme: "light" });
  const variant = (): Promise<number> =>
    player.page.evaluate(() => {
      const parts = getComputedStyle(document.documentElement).getPropertyValue("--mdui-color-on-surface-variant").split(",").map(Number);
      return parts.reduce((sum, one) => sum + one, 0) / 3;
    });
  await player.plays("look");
  const before = await variant();
  await player.page.emulateMedia({ contrast: "more" });
  expect(await variant()).toBeLessThan(before);
  await player.page.emulateMedia({ contrast: "no-preference", forcedColors: "active" });
  await player.go("Tools");
  const chip = player.main.getByText("completed", { exact: true }).first();
  await chip.waitFor();
  // A colour of the system's palette, not the page's green.
  const [colour, text] = await chip.evaluate((one) => {
    const probe = document.body.appendChild(document.createElement("span"));
    probe.style.setProperty("color", "CanvasText");
    const canvas = getComputedStyle(probe).color;
    probe.remove();
    return [getComputedStyle(one).color, canvas];
  });
  expect(colour).toBe(text);
});

test("text can be twice as large without loss, also on a phone", async ({ stage }) => {
  const player = await stage.play(torch, { viewport: { width: 320, height: 568 } });
  const before = await sizeOf(player);
  await player.button("Reading").click();
  const larger = player.button("Larger text");
  const ofControls = async (): Promise<number[]> =>
    Promise.all([player.input, player.choice("I pull the lever")].map((one) => one.evaluate((element) => Number.parseFloat(getComputedStyle(element).fontSize))));
  const controls = await ofControls();
  for (let step = 0; step < 9 && (await larger.isEnabled()); ++step) await larger.click();
  await player.page.getByRole("dialog", { name: "Reading" }).getByText("200 %").waitFor();
  await player.page.keyboard.press("Escape");
  expect((await sizeOf(player)) / before).toBeCloseTo(2, 1);
  expect((await ofControls()).map((size, index) => size / controls[index]!)).toEqual([2, 2]);
  await player.page.reload();
  await player.sees("The stair ends in the dark");
  expect((await sizeOf(player)) / before).toBeCloseTo(2, 1);
  const sideways = await player.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(sideways).toBe(0);
  const text = (await player.story.getByText("The stair ends in the dark").boundingBox())!;
  expect(text.x + text.width).toBeLessThanOrEqual(320);
});

test("reading settings outlive the server and the browser", async ({ stage }) => {
  const before = await stage.open(await stage.serve(torch));
  await before.sees("The stair ends in the dark");
  const normal = await sizeOf(before);
  const kept = before.page.waitForResponse((answer) => answer.url().endsWith("/api/reading") && answer.request().postDataJSON().theme === "light");
  await before.button("Reading").click();
  await before.button("Larger text").click();
  await before.button("Larger text").click();
  await before.button("long").click();
  await before.button("Light colours").click();
  expect((await kept).status()).toBe(200);

  const server = await stage.serve(torch);
  expect(server.origin).not.toBe(before.origin);
  const after = await stage.open(server);
  await after.sees("The stair ends in the dark");
  expect((await sizeOf(after)) / normal).toBeCloseTo(1.35, 1);
  expect(await brightnessOf(after)).toBeGreaterThan(220);
  await after.button("Reading").click();
  await after.page.getByRole("button", { name: "long", pressed: true }).waitFor();
  // Back to the system's preference.
  const gone = after.page.waitForResponse((answer) => answer.url().endsWith("/api/reading") && answer.request().postDataJSON().theme === undefined);
  await after.button("Colours of the system").click();
  await gone;
  const last = await stage.open(await stage.serve(torch));
  await last.sees("The stair ends in the dark");
  expect(await brightnessOf(last)).toBeLessThan(40);
  expect((await sizeOf(last)) / normal).toBeCloseTo(1.35, 1);
});

test("a retry repeats no placeholder and replaces assets", async ({ stage }) => {
  const player = await stage.play(stage.story((folder) => ({
    files: { "flame.png": flame() },
    prompts: [
      {
        says: "roll",
        answers: [
          {
            narrative: "You roll.",
            tools: [
              {
                toolId: "dice",
                retries: 3,
                steps: [
                  ui("dice_roll", { sides: 20 }),
                  asset("face", "image/png", `${folder}/flame.png`, { title: "The face" }),
                  error("LOST", "A die is lost."),
                  failed("The die rolls away."),
                ],
              },
            ],
          },
          { narrative: "You stop rolling." },
        ],
      },
    ],
  })));
  await player.say("roll");
  await player.sees("You stop rolling.");
  await player.isDone();
  expect(await player.story.getByText("dice_roll").count()).toBe(1);
  await player.go("Assets");
  await player.main.getByRole("heading", { name: "1 asset" }).waitFor();
  expect(await player.main.getByText(/is missing/).count()).toBe(0);
});

test("only the window that stopped a turn says \"you\"", async ({ stage }) => {
  const story = stage.tell(answered("dig", "You dig.", runs("spade", { wait: "never" }, done("Dug."))));
  const server = await stage.serve(story);
  const one = await stage.open(server);
  const other = await stage.open(server);
  await one.say("dig");
  await other.button("Stop").waitFor();
  await one.button("Stop").click();
  await one.sees("You stopped this.");
  await other.sees("This was stopped.");
});

test("a picture in the gallery is not cropped and has its title", async ({ stage }) => {
  const tall = '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="400"><rect width="100" height="400" fill="#c60"/></svg>';
  const player = await stage.play(stage.story((folder) => ({
    files: { "tall.svg": tall },
    prompts: [
      {
        says: "paint",
        answers: [{ narrative: "You paint.", tools: [{ toolId: "paint", steps: [asset("p1", "image/svg+xml", `${folder}/tall.svg`, { description: "A tall portrait" }), choices("Again"), done("Painted.")] }] }],
      },
    ],
  })));
  await player.plays("paint");
  await player.go("Assets");
  const card = player.main.getByRole("article", { name: "A tall portrait" });
  await card.waitFor();
  expect(await card.getByRole("img").evaluate((one) => getComputedStyle(one).objectFit)).toBe("contain");
});
