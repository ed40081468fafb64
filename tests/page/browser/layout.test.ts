// SPDX-License-Identifier: Apache-2.0
// The layout of the page (specification 003, 12.3).
import { expect } from "vitest";
import type { Locator } from "playwright-core";
import { film, flame, wave } from "./harness/media.ts";
import { answered, asset, choices, done, runs, type Story } from "./harness/story.ts";
import { type Stage, test } from "./harness/test.ts";

const kSmall = { width: 390, height: 844 };
const kWide = { width: 1280, height: 800 };
const kLong = "The path bends between the stones, and bends again. ".repeat(60);

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
  right: number;
  bottom: number;
}

async function box(of: Locator): Promise<Box> {
  const { x, y, width, height } = (await of.boundingBox())!;
  return { x, y, width, height, right: x + width, bottom: y + height };
}

function cellar(stage: Stage): Story {
  return stage.story((folder) => ({
    files: { "flame.png": flame(), "drip.wav": wave(2), "sparks.webm": film() },
    prompts: [
      answered(
        "look",
        "A cellar with a flame in it.",
        runs(
          "look",
          asset("flame", "image/png", `${folder}/flame.png`, { alt: "A flame" }),
          asset("drip", "audio/wav", `${folder}/drip.wav`, { title: "Drops" }),
          asset("sparks", "video/webm", `${folder}/sparks.webm`, { title: "Sparks" }),
          choices("Go on"),
          done("Seen."),
        ),
      ),
      answered("walk", kLong),
    ],
  }));
}

// covers: 003-12.3-navigation-rail
test("a navigation rail is on the left, or a bar below on a phone", async ({ stage }) => {
  const player = await stage.play(cellar(stage), { viewport: kWide });
  const places = player.page.getByRole("navigation", { name: "Places" });
  const links = (): Promise<Box[]> => places.getByRole("link").all().then((all) => Promise.all(all.map(box)));
  for (const place of ["Narrative", "Tools", "Assets", "State"] as const) {
    await player.go(place);
    await places.locator("mdui-navigation-rail").waitFor();
    const [rail, main] = [await box(places), await box(player.main)];
    expect([rail.x, rail.y, rail.height], place).toEqual([0, 0, kWide.height]);
    expect(rail.width, place).toBeLessThan(kWide.width / 8);
    expect([main.x, main.y, main.right, main.bottom], place).toEqual([rail.right, 0, kWide.width, kWide.height]);
    const rows = await links();
    // In one column.
    expect(new Set(rows.map((one) => Math.round(one.x + one.width / 2))).size, place).toBe(1);
    expect(rows.map((one) => one.y), place).toEqual(rows.map((one) => one.y).toSorted((one, other) => one - other));
  }

  await player.page.setViewportSize(kSmall);
  await places.locator("mdui-navigation-bar").waitFor();
  const [bar, main] = [await box(places), await box(player.main)];
  expect([bar.x, bar.width, bar.bottom]).toEqual([0, kSmall.width, kSmall.height]);
  expect(main.bottom).toBeLessThanOrEqual(bar.y);
});

// covers: 003-12.3-places
test("the rail leads to Narrative, Tools, Assets and State", async ({ stage }) => {
  const player = await stage.play(cellar(stage), { viewport: kWide });
  const order = ["Narrative", "Tools", "Assets", "State"] as const;
  for (const viewport of [kWide, kSmall]) {
    await player.page.setViewportSize(viewport);
    const places = player.page.getByRole("navigation", { name: "Places" });
    // In the order in which assistive technology reads them.
    const names = async (): Promise<string[]> => [...(await places.ariaSnapshot()).matchAll(/link "([^"]*)"/g)].map((one) => one[1]!);
    await expect.poll(names).toEqual([...order]);
    const links = places.getByRole("link");
    for (const [at, place] of order.entries()) {
      await links.nth(at).click();
      await player.page.getByRole("main", { name: place }).waitFor();
      expect(await player.main.count(), place).toBe(1);
      await expect.poll(() => links.nth(at).getAttribute("aria-current"), { message: place }).toBe("page");
      expect(await player.page.locator("[aria-current=page]").count(), place).toBe(1);
    }
  }
});

// covers: 003-12.3-story-view
test("the story view shows the narrative text and the assets", async ({ stage }) => {
  const player = await stage.play(cellar(stage), { viewport: kWide });
  await player.plays("look");
  const story = player.story.getByRole("region", { name: "The story" });
  await story.getByText("A cellar with a flame in it.").waitFor();
  const picture = story.getByRole("img", { name: "A flame" });
  await picture.scrollIntoViewIfNeeded();
  await expect.poll(() => picture.evaluate((one) => (one as HTMLImageElement).naturalWidth)).toBe(16);
  for (const name of ["Drops", "Sparks"]) {
    const media = story.getByLabel(name, { exact: true });
    await media.scrollIntoViewIfNeeded();
    await expect.poll(() => media.evaluate((one) => (one as HTMLMediaElement).duration)).toBeGreaterThan(0);
  }
  const [view, main] = [await box(story), await box(player.main)];
  expect(view.x).toBeGreaterThanOrEqual(main.x);
  expect(view.right).toBeLessThanOrEqual(main.right);
  // The story takes most of the main content.
  expect(view.height).toBeGreaterThan(main.height / 2);
});

// covers: 003-12.3-player-input
test("the player's input is always below the story view", async ({ stage }) => {
  const player = await stage.play(cellar(stage), { viewport: kWide });
  const story = player.story.getByRole("region", { name: "The story" });
  const look = async (when: string): Promise<void> => {
    const [field, view, main] = [await box(player.input), await box(story), await box(player.main)];
    expect(field.y, when).toBeGreaterThanOrEqual(view.bottom - 1);
    expect(field.bottom, when).toBeLessThanOrEqual(main.bottom);
    expect(field.x, when).toBeGreaterThanOrEqual(main.x);
    expect(field.right, when).toBeLessThanOrEqual(main.right);
    expect(await player.input.evaluate((one) => one.localName), when).toBe("textarea");
  };
  await look("at the beginning");
  await player.plays("look");
  await look("with choices");
  await player.say("walk");
  await player.sees(/The path bends/);
  await player.isDone();
  await look("behind a long text");
  await story.evaluate((one) => one.scrollTo(0, 0));
  await look("scrolled back");
  await player.page.setViewportSize(kSmall);
  await player.page.getByRole("navigation", { name: "Places" }).locator("mdui-navigation-bar").waitFor();
  await look("on a phone");
});
