// SPDX-License-Identifier: Apache-2.0
// Accessibility: assistive technology, keyboard, all sizes, reduced motion.
import axe from "axe-core";
import type { Locator } from "playwright-core";
import { expect } from "vitest";
import { type Player } from "./harness/player.ts";
import { rich, tellRich } from "./harness/rich.ts";
import { torch } from "./harness/serve.ts";
import { test } from "./harness/test.ts";

const places = ["Narrative", "Tools", "Assets", "State"] as const;
const widths = [320, 768, 1440] as const;

interface Violation {
  rule: string;
  help: string;
  where: string[];
}

async function violations(player: Player): Promise<Violation[]> {
  await player.page.evaluate(axe.source);
  return player.page.evaluate(async () => {
    const run = (window as unknown as { axe: typeof axe }).axe;
    const found = await run.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    });
    if (found.passes.length < 15) throw new Error(`axe has seen next to nothing: ${found.passes.length} rules passed`);
    return found.violations.map((one) => ({
      rule: one.id,
      help: one.help,
      where: one.nodes.slice(0, 5).map((node) => `${node.target.flat().join(" » ")}: ${node.failureSummary ?? ""}`),
    }));
  });
}

// Visits all parts of the page, and calls `look` at each.
async function goThrough(player: Player, look: (what: string) => Promise<void>): Promise<void> {
  await look("Narrative");
  await player.go("Tools");
  await look("Tools");
  await player.button("Table").click();
  await look("Tools, as a table");
  await player.button("Graph").click();
  await player.graph.last().getByRole("link").first().click();
  await player.tool.getByRole("heading").first().waitFor();
  await look("Tools, one of them");
  await player.go("Assets");
  await look("Assets");
  await player.main.getByRole("article").first().getByRole("link").click();
  await player.page.getByRole("dialog").waitFor();
  await look("Assets, one of them");
  await player.page.keyboard.press("Escape");
  await player.go("State");
  await player.main.getByRole("treeitem").first().click();
  await look("State");
}

for (const colorScheme of ["dark", "light"] as const) {
  for (const width of widths) {
    test(`axe finds nothing in any view, ${colorScheme}, ${width} pixels wide`, async ({ stage }) => {
      const player = await stage.play(stage.story(rich), { viewport: { width, height: 800 } });
      if (colorScheme === "light") await player.reads("Light colours");
      const look = async (what: string): Promise<void> => expect(await violations(player), what).toEqual([]);
      await look("before anything is said");
      await tellRich(player);
      await goThrough(player, look);
    });
  }
}

test("axe finds nothing in running tools, errors and the sheet", async ({ stage }) => {
  const story = stage.story(rich);
  const player = await stage.play(story);
  await player.say("work");
  await player.sees(/Hammers/);
  expect(await violations(player), "Narrative").toEqual([]);
  await player.go("Tools");
  await player.graph.getByRole("link", { name: /running/ }).first().click();
  expect(await violations(player), "Tools").toEqual([]);
  story.open("work");
  await player.go("Narrative");
  await player.isDone();
  await player.say("fail");
  await player.sees("The dark swallows your words.");
  await player.isDone();
  await player.story.getByText(/failed · details/).last().click();
  expect(await violations(player), "the fallback, with its details").toEqual([]);
  await player.button("Reading").click();
  expect(await violations(player), "the sheet").toEqual([]);
  await player.page.keyboard.press("Escape");
  await player.plays("replan");
  expect(await violations(player), "what went wrong").toEqual([]);
});

test("each tab stop is visible and not a trap", async ({ stage }) => {
  const player = await stage.play(stage.story(rich), { viewport: { width: 1280, height: 900 } });
  await tellRich(player);
  for (const place of places) {
    await player.go(place);
    await player.page.locator("body").click({ position: { x: 2, y: 2 } });
    const seen = new Set<string>();
    for (let stop = 0; stop < 200; ++stop) {
      await player.page.keyboard.press("Tab");
      const focus = await player.page.evaluate(() => {
        let at: Element | null = document.activeElement;
        while (at?.shadowRoot?.activeElement != null) at = at.shadowRoot.activeElement;
        if (at === null || at === document.body) return undefined;
        // The focus changes an outline or a colour, on the element or on an ancestor in its component.
        const marks: string[] = [];
        for (let one: Element | null = at, depth = 0; one !== null && depth < 4; ++depth) {
          const style = getComputedStyle(one);
          if (style.outlineStyle !== "none" && Number.parseFloat(style.outlineWidth) > 0) marks.push("outline");
          if (style.boxShadow !== "none") marks.push("shadow");
          if (one.matches(":focus-within") && Number.parseFloat(style.borderTopWidth) > 1) marks.push("border");
          if (getComputedStyle(one, "::after").outlineStyle !== "none") marks.push("after");
          const root = one.getRootNode();
          one = one.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
        }
        const ripple = at.getRootNode() instanceof ShadowRoot && (at.getRootNode() as ShadowRoot).host.hasAttribute("focus-visible");
        const box = at.getBoundingClientRect();
        const id = `${at.tagName} ${at.getAttribute("aria-label") ?? at.textContent?.trim().slice(0, 40) ?? ""} ${Math.round(box.x)},${Math.round(box.y)}`;
        return { id, isMarked: marks.length > 0 || ripple, isInView: box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth };
      });
      if (focus === undefined || seen.has(focus.id)) break;
      seen.add(focus.id);
      expect(focus.isMarked, `${place}: ${focus.id} shows that it has the focus`).toBe(true);
      expect(focus.isInView, `${place}: ${focus.id} is in view`).toBe(true);
    }
    expect(seen.size, `${place}: stops`).toBeGreaterThan(4);
    expect(seen.size, `${place}: stops`).toBeLessThan(200);
  }
});

for (const [what, viewport, deviceScaleFactor] of [
  ["320 pixels wide", { width: 320, height: 640 }, 2],
  ["at 200 % of 1280 pixels", { width: 640, height: 400 }, 2],
  ["at 400 % of 1280 pixels", { width: 320, height: 256 }, 4],
  ["in 4K", { width: 3840, height: 2160 }, 1],
] as const) {
  test(`nothing is cut off or scrolls sideways, ${what}`, async ({ stage }) => {
    const player = await stage.play(stage.story(rich), { viewport, deviceScaleFactor });
    await tellRich(player);
    await goThrough(player, async (view) => {
      const sideways = await player.page.evaluate(() => ({
        page: document.documentElement.scrollWidth - innerWidth,
        // A line of text may be wider than its container, but no part of the page may need sideways scrolling.
        outside: [...document.querySelectorAll("*")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.tagName),
      }));
      expect(sideways, view).toEqual({ page: 0, outside: [] });
    });
    // The input and the navigation are reachable.
    await player.go("Narrative");
    await player.input.scrollIntoViewIfNeeded();
    const box = (await player.input.boundingBox())!;
    expect(box.y + box.height).toBeLessThanOrEqual(viewport.height);
    expect(box.width).toBeGreaterThan(100);
    const text = (await player.story.getByText("The well is older than the village.").first().boundingBox())!;
    expect(text.width).toBeLessThanOrEqual(viewport.width);
  });
}

for (const viewport of [{ width: 320, height: 256 }, { width: 640, height: 256 }]) {
  test(`the whole story is read by scrolling, at 400 % in a window of ${viewport.width} pixels`, async ({ stage }) => {
    const player = await stage.play(torch, { viewport, deviceScaleFactor: 4 });
    const places = player.page.getByRole("navigation", { name: "Places" });
    const [nav, main] = [(await places.boundingBox())!, (await player.main.boundingBox())!];
    // The navigation is next to the story or below it.
    expect(nav.x + nav.width <= main.x || main.y + main.height <= nav.y).toBe(true);
    expect(nav.y + nav.height).toBeLessThanOrEqual(viewport.height);
    expect(main.height).toBeGreaterThan(0.75 * viewport.height);
    // Nothing covers the text, the choices and the input once they are scrolled into view.
    const isReadable = async (one: Locator): Promise<void> => {
      await one.scrollIntoViewIfNeeded();
      expect(await one.evaluate(isUncovered), String(one)).toBe(true);
    };
    await isReadable(player.story.getByText("The stair ends in the dark"));
    await isReadable(player.story.getByText("Beside it, something iron juts"));
    await isReadable(player.choice("I light the torch"));
    await isReadable(player.input);
    await player.plays("I light the torch and examine the door");
    // The turn is read from its beginning.
    const told = player.story.getByText("You reach for the torch on the wall.");
    expect(await told.evaluate(isUncovered)).toBe(true);
    await isReadable(player.story.getByText("Door examined."));
    await isReadable(player.choice("Leave"));
    await isReadable(player.input);
  });
}

// True if each corner of the element's visible part shows the element itself. Runs in the page.
function isUncovered(one: Element): boolean {
  const box = one.getBoundingClientRect();
  if (box.height === 0 || box.top < 0 || box.bottom > innerHeight) return false;
  const deepest = (x: number, y: number): Element | null => {
    let at = document.elementFromPoint(x, y);
    for (let next = at; next !== null && next.shadowRoot !== null; at = next) {
      next = next.shadowRoot.elementFromPoint(x, y);
      if (next === at || next === null) break;
    }
    return at;
  };
  const contains = (inner: Element | null): boolean => {
    for (let at: Node | null = inner; at !== null; at = at instanceof ShadowRoot ? at.host : at.parentNode) if (at === one) return true;
    return false;
  };
  return [box.top + 4, box.bottom - 4].every((y) => contains(deepest(box.left + box.width / 2, y)));
}

for (const colorScheme of ["dark", "light"] as const) {
  test(`the focus on the navigation is visible, ${colorScheme}`, async ({ stage }) => {
    const player = await stage.play(torch, { colorScheme });
    for (const [part, viewport] of [["rail", { width: 1280, height: 800 }], ["bar", { width: 390, height: 844 }]] as const) {
      await player.page.setViewportSize(viewport);
      const item = player.page.locator(`mdui-navigation-${part}-item`).nth(1);
      // The window has its new size before the page has the other navigation.
      await item.waitFor();
      await player.tabTo(player.place("Tools"));
      const contrast = await item.evaluate((one) => {
        const rgb = (text: string): number[] => text.match(/[\d.]+/g)!.slice(0, 3).map(Number);
        const luminance = (text: string): number => {
          const [r, g, b] = rgb(text).map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
          return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
        };
        const style = getComputedStyle(one);
        if (style.outlineStyle === "none" || Number.parseFloat(style.outlineWidth) < 2) return 0;
        let behind: Element | null = one;
        while (behind !== null && /, 0\)$|transparent/.test(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
        const [light, dark] = [luminance(style.outlineColor), luminance(getComputedStyle(behind!).backgroundColor)].toSorted((a, b) => b - a);
        return (light! + 0.05) / (dark! + 0.05);
      });
      expect(contrast, part).toBeGreaterThanOrEqual(3);
    }
  });
}

test("nothing moves with reduced motion", async ({ stage }) => {
  const story = stage.story(rich);
  const player = await stage.play(story, { reducedMotion: "reduce" });
  await player.say("work");
  await player.sees(/Hammers/);
  for (const place of places) {
    await player.go(place);
    const moving = await player.page.evaluate(() =>
      document
        .getAnimations()
        .filter((one) => one.playState === "running" && Number(one.effect?.getComputedTiming().activeDuration) > 10)
        .map((one) => {
          const effect = one.effect as KeyframeEffect | null;
          return `${effect?.target?.tagName ?? ""} ${effect?.target?.className ?? ""} ${effect?.getKeyframes().map((frame) => Object.keys(frame).join(",")).join(";") ?? ""}`;
        })
        // A change of colour is not motion.
        .filter((name) => /transform|translate|scale|rotate|left|top|width|height|offset[A-Z]/i.test(name.split(" ").at(-1)?.replaceAll(/offset(?![A-Z])|computedOffset/g, "") ?? "")),
    );
    expect(moving, place).toEqual([]);
  }
  story.open("work");
});

// covers: 003-12.1-material-design, 003-12.4-dark-theme
test("Material Design 3, dark by default, light by choice", async ({ stage }) => {
  const player = await stage.play(torch);
  const look = (): Promise<{ background: number; isMaterial: boolean; primary: string }> =>
    player.page.evaluate(() => {
      const style = getComputedStyle(document.documentElement);
      const numbers = (name: string): number[] => style.getPropertyValue(name).split(",").map(Number);
      const [red = 0, green = 0, blue = 0] = numbers("--mdui-color-surface");
      return {
        background: (red + green + blue) / 3,
        // Components and colour roles are those of Material Design 3.
        isMaterial: [..."primary on-primary tertiary surface-container-high outline-variant".split(" ")].every(
          (role) => numbers(`--mdui-color-${role}`).length === 3,
        ),
        primary: style.getPropertyValue("--mdui-color-primary"),
      };
    });
  const dark = await look();
  expect(dark.isMaterial).toBe(true);
  expect(dark.background).toBeLessThan(40);
  await player.reads("Light colours");
  await expect.poll(async () => (await look()).background).toBeGreaterThan(220);
  await player.page.reload();
  await player.input.waitFor();
  expect((await look()).background).toBeGreaterThan(220);
  await player.reads("Dark colours");
  await expect.poll(look).toEqual(dark);
});
