// SPDX-License-Identifier: Apache-2.0
// How the page shows each kind of asset.
import { join } from "node:path";
import { expect } from "vitest";
import type { Locator } from "playwright-core";
import { flame, film, wave } from "./harness/media.ts";
import type { Player } from "./harness/player.ts";
import { torch } from "./harness/serve.ts";
import { answered, asset, done, runs, type Story } from "./harness/story.ts";
import { type Stage, test } from "./harness/test.ts";

const kMarkup = '<!doctype html><title>x</title><script>parent.__pwned = "html"; top.__pwned = 1;</script><h1>Hello</h1>';
const kPicture =
  '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="48" onload="top.__pwned = 1"><script>top.__pwned = "svg"</script>' +
  '<rect width="64" height="48" fill="teal"/></svg>';

function museum(stage: Stage): Story {
  return stage.story((folder) => {
    const file = (name: string): string => join(folder, "files", name);
    return {
      files: {
        "files/flame.png": flame(),
        "files/well.svg": kPicture,
        "files/drip.wav": wave(90),
        "files/sparks.webm": film(),
        "files/letter.txt": "Dear finder,\nthe well is deep.\n",
        "files/map.json": '{"north": "well"}',
        "files/cup.gltf": '{"asset": {"version": "2.0"}}',
        "files/page.html": kMarkup,
        "files/thing.bin": new Uint8Array([0, 1, 2, 255]),
        "files/gone.png": flame(),
        "files/lie.png": "this is no picture",
      },
      prompts: [
        answered(
          "show",
          "A museum of everything.",
          runs(
            "museum",
            asset("flame", "image/png", file("flame.png"), { alt: "A small flame", width: 16, height: 16 }),
            asset("well", "image/svg+xml", file("well.svg"), { description: "A well, drawn" }),
            asset("drip", "audio/wav", file("drip.wav"), { title: "Drops that fall" }),
            asset("sparks", "video/webm", file("sparks.webm"), { title: "Sparks that fly" }),
            asset("letter", "text/plain", file("letter.txt"), { title: "A letter" }),
            asset("map", "application/json", file("map.json"), {}, "data"),
            asset("cup", "model/gltf+json", file("cup.gltf"), { vertices: 812 }, "model"),
            asset("page", "text/html", file("page.html"), {}, "text"),
            asset("thing", "application/x-thing", file("thing.bin"), { weight: "3 stone" }, "thing"),
            asset("gone", "image/png", file("gone.png"), { alt: "Gone" }),
            asset("lie", "image/png", file("lie.png"), { alt: "A lie" }),
            asset("refused", "image/png", file("never-written.png"), { alt: "Never" }),
            { remove: file("gone.png") },
            { wait: "end" },
            done("Shown."),
          ),
        ),
      ],
    };
  });
}

// `prepare`: what the test does before the assets are shown.
async function shown(stage: Stage, prepare?: (player: Player) => Promise<void>): Promise<Player> {
  const story = museum(stage);
  const player = await stage.play(story);
  await prepare?.(player);
  // The request for the missing file.
  player.allow(/40[49]|410|ERR_FAILED/);
  await player.say("show");
  await player.sees("A museum of everything.");
  story.open("end");
  await player.isDone();
  return player;
}

// Returns "playing", or the reason why it does not play yet.
function standing(media: Locator): Promise<string> {
  return media.evaluate((element) => {
    const one = element as HTMLMediaElement;
    if (!one.paused && one.currentTime > 0) return "playing";
    return `paused ${one.paused}, error ${one.error?.message ?? "none"}, network ${one.networkState}, ready ${one.readyState}`;
  });
}

// covers: 003-12.2-asset-gallery, 003-14.1-asset-gallery, 003-12.2-graceful-degradation,
// 003-12.2-image-preview
test("the gallery shows each kind, and cards for unsupported files", async ({ stage }) => {
  const player = await shown(stage);
  await player.go("Assets");
  await player.main.getByRole("heading", { name: "12 assets" }).waitFor();
  const card = (name: string): Locator => player.main.getByRole("article", { name });
  await card("flame").getByRole("img", { name: "A small flame" }).waitFor();
  await card("well").getByRole("img", { name: "A well, drawn" }).waitFor();
  await card("A letter").getByText("the well is deep.").waitFor();
  await card("thing").getByText("application/x-thing").first().waitFor();
  await card("cup").getByText("model/gltf+json").first().waitFor();
  await card("Never").getByText("refused", { exact: true }).last().waitFor();
  await card("gone").getByText(/gone/i).first().waitFor();

  // An unknown type: its details and a download.
  const alone = await player.opens("thing");
  await alone.getByText("application/x-thing").first().waitFor();
  await alone.getByText(/3 stone/).first().waitFor();
  await alone.getByRole("link", { name: "Download" }).first().waitFor();
  await player.page.keyboard.press("Escape");

  // The refused asset shows the reason.
  await (await player.opens("Never")).getByText(/never-written\.png/).first().waitFor();
  await player.page.keyboard.press("Escape");
});

test("pictures are in the story, with alternative text", async ({ stage }) => {
  const player = await shown(stage);
  for (const name of ["A small flame", "A well, drawn"]) {
    const picture = player.story.getByRole("img", { name });
    await picture.scrollIntoViewIfNeeded();
    await expect.poll(() => picture.evaluate((one) => (one as HTMLImageElement).naturalWidth)).toBeGreaterThan(0);
  }
  // A broken, missing or refused picture is replaced by text. The deleted file may also be refused.
  await expect
    .poll(async () => {
      // A picture is loaded when it is near the viewport.
      for (const one of await player.story.getByRole("img", { name: /^(Gone|A lie)$/ }).all()) {
        await one.scrollIntoViewIfNeeded({ timeout: 1000 }).catch(() => undefined);
      }
      return player.story.getByText(/cannot be shown: it is missing|A picture could not be shown/).count();
    })
    .toBe(3);
});

test("a file is shown after a broken connection", async ({ stage }) => {
  const cut = new Set<string>();
  const player = await shown(stage, async ({ page }) => {
    await page.route("**/api/assets/**", (route) => {
      const address = route.request().url();
      if (cut.has(address)) return route.continue();
      cut.add(address);
      return route.abort();
    });
  });
  const picture = player.story.getByRole("img", { name: "A small flame" });
  await picture.scrollIntoViewIfNeeded();
  await expect.poll(() => picture.evaluate((one) => (one as HTMLImageElement).naturalWidth)).toBeGreaterThan(0);
  expect(cut.size).toBeGreaterThan(0);
});

// The browser's native controls play and pause by keyboard.
async function playsByItsControls(player: Player, media: Locator): Promise<void> {
  const state = (): Promise<{ controls: boolean; isPaused: boolean }> =>
    media.evaluate((one) => ({ controls: (one as HTMLMediaElement).controls, isPaused: (one as HTMLMediaElement).paused }));
  await media.scrollIntoViewIfNeeded();
  await media.evaluate((one) => {
    (one as HTMLMediaElement).muted = true;
    (one as HTMLMediaElement).loop = true;
  });
  await expect.poll(() => media.evaluate((one) => (one as HTMLMediaElement).readyState)).toBeGreaterThan(0);
  expect(await state()).toEqual({ controls: true, isPaused: true });
  const size = (await media.boundingBox())!;
  expect(size.width).toBeGreaterThan(100);
  expect(size.height).toBeGreaterThan(30);
  await player.tabTo(media);
  await player.page.keyboard.press("Space");
  await expect.poll(() => standing(media)).toBe("playing");
  await player.page.keyboard.press("Space");
  await expect.poll(state).toEqual({ controls: true, isPaused: true });
}

// Checks the controls in the gallery, in the dialog and in the story.
async function isPlayedEverywhere(player: Player, kind: "audio" | "video", name: string): Promise<void> {
  await player.go("Assets");
  const card = player.main.getByRole("article", { name });
  await playsByItsControls(player, card.locator(kind));
  await card.getByRole("link", { name }).click();
  await playsByItsControls(player, player.page.getByRole("dialog", { name }).locator(kind));
  await player.page.keyboard.press("Escape");
  await player.go("Narrative");
  await playsByItsControls(player, player.story.locator(kind));
}

test("seeking in a sound requests a range of the file", async ({ stage }) => {
  const player = await shown(stage);
  const parts: number[] = [];
  player.page.on("response", (response) => {
    if (response.url().includes("/api/assets/")) parts.push(response.status());
  });
  const sound = (await player.opens("Drops that fall")).locator("audio");
  await playsByItsControls(player, sound);
  expect(await sound.evaluate((one) => Math.round((one as HTMLMediaElement).duration))).toBe(90);
  await sound.evaluate((one) => void ((one as HTMLMediaElement).currentTime = 80));
  await player.page.keyboard.press("Space");
  await expect.poll(() => sound.evaluate((one) => (one as HTMLMediaElement).currentTime)).toBeGreaterThan(80);
  expect(parts).toContain(206);
});

// covers: 003-12.2-audio-player
test("audio has player controls in gallery, dialog and story", async ({ stage }) => {
  await isPlayedEverywhere(await shown(stage), "audio", "Drops that fall");
});

// covers: 003-12.2-video-player
test("video has player controls in gallery, dialog and story", async ({ stage }) => {
  const player = await shown(stage);
  await isPlayedEverywhere(player, "video", "Sparks that fly");
  expect(await player.story.locator("video").evaluate((one) => (one as HTMLVideoElement).videoWidth)).toBe(64);
});

test("an HTML asset never runs, not even at its own address", async ({ stage }) => {
  const player = await shown(stage);
  const alone = await player.opens("page");
  await alone.getByText("text/html").first().waitFor();
  const address = await alone.getByRole("link", { name: "Download" }).first().getAttribute("href");

  // The file's policy forbids scripts, and the browser reports the violation.
  player.allow(/sandbox|Blocked script execution|download/i);
  const response = await player.page.request.get(new URL(address!, player.origin).href);
  expect(response.headers()["content-security-policy"]).toContain("sandbox");
  expect(response.headers()["x-content-type-options"]).toBe("nosniff");
  await player.page.goto(new URL(address!, player.origin).href).catch(() => undefined);
  expect(await player.page.evaluate(() => window.__pwned)).toBe(undefined);
});

test("a picture of the sample story can be enlarged", async ({ stage }) => {
  const player = await stage.play(torch);
  await player.plays("light the torch");
  const alone = await player.opens("A lit torch on a stone wall");
  await alone.getByRole("status").getByText("fits").waitFor();
  const width = async (): Promise<number> => (await alone.getByRole("img").boundingBox())!.width;
  const before = await width();
  await player.page.keyboard.press("+");
  await player.page.keyboard.press("+");
  await expect.poll(width).not.toBe(before);
  await player.page.keyboard.press("0");
  await expect.poll(width).toBe(before);
});
