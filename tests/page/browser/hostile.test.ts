// SPDX-License-Identifier: Apache-2.0
// Hostile texts in all places where a story or a tool can put text. Each test checks that nothing was executed, opened
// or loaded from elsewhere, and that the page keeps its structure and still responds.
import { expect } from "vitest";
import type { Player } from "./harness/player.ts";
import * as hostile from "./harness/hostile.ts";
import { answered, asset, choices, done, error, failed, type Json, log, patch, runs, ui } from "./harness/story.ts";
import { test } from "./harness/test.ts";
import { flame } from "./harness/media.ts";

const places = ["Narrative", "Tools", "Assets", "State"] as const;

// The page has exactly the elements that it has for a harmless story.
async function keepsItsShape(player: Player): Promise<void> {
  const shape = await player.page.evaluate(() => {
    const found: Record<string, number> = {};
    for (const one of window.__elements()) {
      const name = one.localName;
      if (["script", "iframe", "object", "embed", "base", "meta", "main", "nav"].includes(name)) found[name] = (found[name] ?? 0) + 1;
      for (const { name: attribute, value } of one.attributes) {
        if (attribute.startsWith("on")) found[`${name} ${attribute}`] = 1;
        if (["href", "src", "action"].includes(attribute) && /^\s*(javascript|data):/i.test(value)) found[`${name} ${value}`] = 1;
      }
    }
    return { found, pwned: String(window.__pwned), width: document.documentElement.scrollWidth - innerWidth };
  });
  expect(shape.pwned).toBe("undefined");
  expect(shape.found["main"]).toBe(1);
  expect(Object.keys(shape.found).filter((name) => !["script", "meta", "main", "nav"].includes(name))).toEqual([]);
  expect(shape.found["script"]).toBe(1);
  expect(shape.width).toBeLessThanOrEqual(0);
}

async function stillAnswers(player: Player): Promise<void> {
  for (const place of places) {
    await player.go(place);
    await keepsItsShape(player);
  }
  await player.go("Narrative");
  await player.say("ping");
  await player.story.getByText("pong", { exact: true }).last().waitFor();
}

const ping = answered("ping", "pong");

test("in title, prompt, narration and choices", async ({ stage }) => {
  const player = await stage.play(stage.story({
    title: hostile.together("title").replaceAll("\u0000", ""),
    prompts: [
      ping,
      answered(
        "{anything}",
        hostile.together("narrative"),
        runs("choose", choices(...hostile.all, hostile.together("choice")), done(hostile.together("summary"))),
      ),
    ],
  }));
  await player.plays(hostile.together("prompt").replaceAll("\u0000", ""));
  await player.story.getByRole("list", { name: "What you can do" }).waitFor();
  expect(await player.story.getByRole("list", { name: "What you can do" }).getByRole("button").count()).toBe(hostile.all.length + 1);
  expect(await player.story.getByRole("article").innerText()).toContain(`window.__pwned='narrative'`);
  await keepsItsShape(player);
  await player.story.getByRole("list", { name: "What you can do" }).getByRole("button").first().click();
  await player.isDone();
  await stillAnswers(player);
});

test("in tool names, paths, input, log lines, errors and results", async ({ stage }) => {
  const ids = [...hostile.all.map((one) => one.replaceAll("\u0000", "")), "__proto__", "constructor", "a/b~c#d?e%20f", " ", ".."];
  const player = await stage.play(stage.tell(
    ping,
    {
      says: "run",
      answers: [
        {
          narrative: "They run.",
          parallel: true,
          tools: ids.map((toolId, at) => ({
            toolId,
            name: `<img src=x onerror=window.__pwned='path'>${hostile.turned}${hostile.emoji}${at}`.replaceAll("/", ""),
            async: true,
            required: false,
            dependencies: at === 0 ? [] : [ids[0]!],
            input: { text: hostile.together("input"), "<b>key</b>": toolId },
            steps: [
              ...hostile.all.map((text) => log(text, { [text]: text, nested: { __proto__x: text } })),
              { stderr: hostile.together("stderr").replaceAll("\u0000", "") },
              error("HOSTILE_ERROR", hostile.together("error"), { [hostile.markup("key")]: hostile.together("details") }),
              at === 0 ? done(hostile.together("summary"), { [hostile.turned]: hostile.all as unknown as Json[] }) : failed(hostile.together("summary")),
            ],
          })),
        },
      ],
    },
  ));
  await player.plays("run");
  await keepsItsShape(player);
  await player.go("Tools");
  expect(await player.graph.getByRole("link").count()).toBe(ids.length);
  await keepsItsShape(player);
  // Each tool can be opened by its address, whatever its name contains.
  for (const place of [0, 2, ids.indexOf("__proto__"), ids.indexOf("a/b~c#d?e%20f"), ids.indexOf("..")]) {
    await player.graph.getByRole("link").nth(place).focus();
    await player.page.keyboard.press("Enter");
    await player.tool.getByRole("heading").first().waitFor();
    await player.tool.getByRole("listbox", { name: `Log, ${hostile.all.length} lines` }).waitFor();
    await player.tool.getByRole("option").first().click();
    await player.tool.getByRole("region", { name: "Selected line" }).waitFor();
    await keepsItsShape(player);
    await player.tool.getByRole("link", { name: "Close the tool" }).click();
  }
  await player.button("Table").click();
  await keepsItsShape(player);
  await stillAnswers(player);
});

test("in the keys and values of the state", async ({ stage }) => {
  const keys = ["__proto__", "constructor", "toString", "", " ", "a/b", "~0~1", "0", "01", "-1", ...hostile.all.map((one) => one.slice(0, 400))];
  // As JSON text, because an object literal cannot have an own key __proto__.
  const body = keys.map((key) => `${JSON.stringify(key)}:${JSON.stringify({ value: hostile.together("value"), [key]: [null, key] })}`).join(",");
  const player = await stage.play(stage.tell(
    ping,
    answered(
      "write",
      "",
      runs(
        "scribe",
        { raw: `{"version":"0","type":"state_patch","patch":{"hostile":{${body}}}}\n` },
        patch({ after: true }),
        done("Written."),
      ),
    ),
  ));
  await player.plays("write");
  await player.go("State");
  const tree = player.main.getByRole("tree", { name: "State" });
  await tree.getByRole("treeitem", { name: new RegExp(`^hostile \\{${keys.length}\\}`) }).waitFor();
  await player.button("Expand all").click();
  await keepsItsShape(player);
  expect(await player.page.evaluate(() => ({}.constructor === Object && !("value" in {})))).toBe(true);
  const search = player.main.getByRole("searchbox");
  for (const words of ["__proto__", "/hostile/a~1b", "/hostile//value", "<script>", hostile.arabic, "\\", "["]) {
    await search.fill(words);
    await search.press("Enter");
    await keepsItsShape(player);
  }
  await search.fill("/hostile/a~1b/value");
  await search.press("Enter");
  const details = player.main.getByRole("complementary", { name: "Details" });
  await details.getByText(/a string|a text|characters/).first().waitFor();
  await player.button("Previous patch").click();
  await player.button("Previous patch").click();
  await keepsItsShape(player);
  await player.button("Live").click();
  await stillAnswers(player);
});

test("in asset names, types and metadata, and in unknown events", async ({ stage }) => {
  const player = await stage.play(
    stage.story((folder) => {
      const name = `"><img src=x onerror=window.__pwned='file'>${hostile.turned}${hostile.emoji}.png`.replaceAll("/", "");
      return {
        files: { [name]: flame() },
        prompts: [
          ping,
          answered(
            "show",
            "Look.",
            runs(
              "show",
              ...hostile.all.map((text, at) =>
                asset(text, at % 2 === 0 ? "image/png" : `x/${text}`.slice(0, 2000), `${folder}/${name}`, { alt: text, title: text, description: text, [text]: { deep: text } }, at % 2 === 0 ? "image" : text),
              ),
              asset("__proto__", "image/png", `${folder}/${name}`, { alt: "proto" }),
              asset("nowhere", "image/png", `${folder}/${hostile.markup("nowhere").replaceAll("/", "")}`.slice(0, 3000), { alt: "x" }),
              ...hostile.all.map((text) => ui(text, { [text]: text })),
              ui("narrative_choice", { choices: [1, null, { a: 1 }] as Json[], prompt: { no: "text" } }),
              done("Shown."),
            ),
          ),
        ],
      };
    }),
  );
  player.allow(/40\d/);
  await player.plays("show");
  await keepsItsShape(player);
  for (const summary of await player.story.getByText("Something here cannot be shown").all()) await summary.click();
  await keepsItsShape(player);
  await player.go("Assets");
  await keepsItsShape(player);
  await player.main.getByRole("article").first().getByRole("link").click();
  const dialog = player.page.getByRole("dialog");
  await dialog.waitFor();
  for (let at = 0; at < hostile.all.length + 1; ++at) {
    await keepsItsShape(player);
    await player.page.keyboard.press("ArrowRight");
  }
  await player.page.keyboard.press("Escape");
  await stillAnswers(player);
});

test("a text of a megabyte in each of these places", async ({ stage }) => {
  const text = hostile.megabyte("megabyte");
  const player = await stage.play(stage.story((folder) => ({
    title: text.slice(0, 60_000),
    files: { "flame.png": flame() },
    prompts: [
      ping,
      answered(
        "flood",
        text,
        {
          toolId: text.slice(0, 200_000),
          name: "flood",
          steps: [
            log(text, { field: text }),
            patch({ big: text, [text]: 1 }),
            asset(text.slice(0, 200_000), "image/png", `${folder}/flame.png`, { alt: text }),
            ui("flood", { text }),
            choices(text, "ping"),
            error("FLOOD", text),
            done(text),
          ],
        },
      ),
    ],
  })));
  await player.plays("flood");
  await player.story.getByText("pile of words").first().waitFor();
  await keepsItsShape(player);
  await player.go("Tools");
  await player.graph.getByRole("link").first().focus();
  await player.page.keyboard.press("Enter");
  await player.tool.getByRole("option").first().click();
  await keepsItsShape(player);
  await player.go("State");
  await player.main.getByRole("treeitem").first().click();
  await keepsItsShape(player);
  await stillAnswers(player);
});

test("right-to-left text is isolated", async ({ stage }) => {
  const player = await stage.play(stage.tell(answered(
    "speak",
    hostile.arabic,
    { ...runs(hostile.turned, log(hostile.turned), patch({ [hostile.turned]: hostile.turned }), done(hostile.turned)), name: "tool" },
  )));
  await player.plays("speak");
  const told = player.story.getByText(hostile.arabic).first();
  expect(await told.evaluate((one) => getComputedStyle(one).direction)).toBe("rtl");
  // Every element with a hostile text is isolated from its surroundings.
  for (const place of places) {
    await player.go(place);
    const open = await player.page.evaluate((turned) => {
      const found: string[] = [];
      for (const one of window.__elements()) {
        const own = [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.includes(turned) === true);
        if (!own || ["TITLE", "STYLE"].includes(one.tagName)) continue;
        let at: Element | null = one;
        let isIsolated = false;
        while (at !== null && !isIsolated) {
          const style = getComputedStyle(at);
          isIsolated = !style.display.startsWith("inline") || style.display.startsWith("inline-") || style.unicodeBidi.includes("isolate");
          // A block isolates its text only if it contains nothing else.
          if (isIsolated && at !== one && style.display.startsWith("inline") === false) {
            isIsolated = [...at.childNodes].filter((node) => node.textContent?.trim() !== "").length <= 1;
            break;
          }
          at = at.parentElement;
        }
        if (!isIsolated) found.push(`${one.tagName}: ${one.parentElement?.tagName ?? ""}`);
      }
      return found;
    }, hostile.turned.slice(0, 12));
    expect(open, place).toEqual([]);
  }
});
