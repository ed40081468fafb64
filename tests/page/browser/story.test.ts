// SPDX-License-Identifier: Apache-2.0
// A story, as a player plays it.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { torch } from "./harness/serve.ts";
import { answered, asset, choices, done, type Json, log, patch, progress, runs, type Step, wait } from "./harness/story.ts";
import { test } from "./harness/test.ts";

// covers: 003-14.1-story-view, 003-12.2-player-input-field, 003-12.2-send-button
test("the sample story by mouse", async ({ stage }) => {
  const player = await stage.play(torch);
  await player.page.getByRole("heading", { name: "The Torch and the Door" }).waitFor();
  expect(await player.page.title()).toBe("The Torch and the Door");

  await player.say("I light the torch and examine the door");
  await player.sees("You reach for the torch on the wall.");
  const picture = player.story.getByRole("img", { name: "A lit torch on a stone wall" });
  await expect.poll(() => picture.evaluate((one) => (one as HTMLImageElement).naturalWidth)).toBe(256);
  await player.isDone();
  expect(await player.input.inputValue()).toBe("");

  await player.go("Tools");
  await player.graph.getByRole("link", { name: /^light1 completed/ }).click();
  const { tool } = player;
  await tool.getByText("Torch lit.").waitFor();
  await tool.getByRole("option", { name: /Lighting torch/ }).waitFor();

  await (await player.opens("A lit torch on a stone wall")).getByRole("button", { name: "Close" }).click();

  await player.go("State");
  await player.main.getByRole("treeitem", { name: /lit.*true.*changed by light1/ }).waitFor();

  await player.go("Narrative");
  await player.choice("Open").click();
  await player.story.getByRole("article", { name: "You: Open" }).waitFor();
  await player.isDone();
});

test("a saved game by mouse: undo, and another answer", async ({ stage }) => {
  const player = await stage.open(await stage.serve(torch, "--store", join(mkdtempSync(join(tmpdir(), "saves-")), "saves.db")));
  const words = "I light the torch";
  await player.say(words);
  await player.story.getByRole("button", { name: "Undo" }).click();
  await player.story.getByText("The story goes on from its beginning.").waitFor();
  const undone = player.story.getByText(`1 undone turn: ${words}`);
  await undone.waitFor();
  await player.hasFocus(player.input);
  await player.go("State");
  await player.main.getByText("going back").first().waitFor();
  expect(await player.main.getByRole("treeitem", { name: /lit.*true/ }).count()).toBe(0);
  await player.go("Narrative");
  await player.choice(words).click();
  await player.isDone();
  await player.story.getByRole("button", { name: "Another answer" }).click();
  await expect.poll(() => undone.count()).toBe(2);
  await player.isDone();
  const turns = player.story.getByRole("article", { name: `You: ${words}` });
  expect(await turns.count()).toBe(1);
  await undone.first().click();
  const picture = turns.first().getByRole("img", { name: "A lit torch on a stone wall" });
  await expect.poll(() => picture.evaluate((one) => (one as HTMLImageElement).naturalWidth)).toBe(256);
  // The page follows, though the turns above it get shorter.
  await player.story.getByRole("button", { name: "Return here" }).click();
  const back = player.story.getByText(`Back to: ${words}`);
  await expect.poll(async () => (await back.boundingBox())?.y ?? 9999).toBeLessThan(800);
  expect(await turns.count()).toBe(1);
  await player.isDone();
});

test("turns that were undone stay where they began, and the others are one story", async ({ stage }) => {
  const story = stage.story({ prompts: ["one", "two", "three", "four"].map((words) => answered(words, `${words} is told.`)) });
  const player = await stage.open(await stage.serve(story, "--store", join(mkdtempSync(join(tmpdir(), "saves-")), "saves.db")));
  const { keyboard } = player.page;
  const shown = async (): Promise<string[]> => {
    const text = await player.story.getByRole("region", { name: "The story" }).evaluate((one) => {
      const inside = (part: Element | ShadowRoot): string =>
        [...part.children].map((child) => (child.matches(".telling, summary, .moved") ? (child.textContent ?? "") : inside(child.shadowRoot ?? child))).join("\n");
      return inside(one);
    });
    return text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  };
  const undo = async (to: string): Promise<void> => {
    await player.story.getByRole("button", { name: "Undo" }).click();
    await player.story.getByText(`Back to: ${to}`).waitFor();
  };
  for (const words of ["one", "two", "three"]) {
    await player.say(words);
    await player.isDone();
  }
  await undo("two");
  await undo("one");
  expect(await shown()).toEqual(["one is told.", "2 undone turns: two", "Back to: one"]);
  await player.say("four");
  await player.isDone();
  expect(await shown()).toEqual(["one is told.", "2 undone turns: two", "four is told."]);
  // By keyboard.
  await player.tabTo(player.story.locator("summary", { hasText: "2 undone turns: two" }), "back");
  await keyboard.press("Enter");
  await player.tabTo(player.story.getByRole("button", { name: "Return here" }).last());
  await keyboard.press("Enter");
  await player.story.getByText("Back to: three").waitFor();
  expect(await shown()).toEqual(["one is told.", "1 undone turn: four", "two is told.", "three is told.", "Back to: three"]);
  await player.hasFocus(player.input);
  // What the reader unfolds stays in view.
  const undone = player.story.getByText("1 undone turn: four");
  await undone.scrollIntoViewIfNeeded();
  const before = (await undone.boundingBox())!.y;
  await undone.click();
  await player.story.getByText("four is told.").waitFor();
  await player.page.waitForTimeout(300);
  expect(Math.abs((await undone.boundingBox())!.y - before)).toBeLessThan(2);
});

test("a saved game begins with its last turns, and goes back to them", async ({ stage }) => {
  const store = ["--store", join(mkdtempSync(join(tmpdir(), "saves-")), "saves.db")];
  const server = await stage.serve(torch, ...store);
  const before = await stage.open(server);
  for (const words of ["I examine the door", "I look around"]) {
    await before.say(words);
    await before.isDone();
  }
  await before.page.close();
  await server.stop();

  const player = await stage.open(await stage.serve(torch, ...store));
  const turns = player.story.getByRole("article", { name: /^You: / });
  await expect.poll(() => turns.count()).toBe(2);
  await turns.first().getByText("Door examined.").waitFor();
  await player.story.getByRole("button", { name: "Undo" }).click();
  await player.story.getByText("Back to: I examine the door").waitFor();
  await player.say("I wait");
  await player.isDone();
});

test("a prompt that was interrupted is resumed, after a question if a tool must not run twice", async ({ stage }) => {
  const story = stage.story({
    prompts: [answered("I pay", "You open your purse.", runs("pay", log("Counting."), wait("go"), done("Paid.")))],
    files: { "tools/pay.tool.json": JSON.stringify({ name: "pay", repeatable: false }) },
  });
  const store = ["--store", join(mkdtempSync(join(tmpdir(), "saves-")), "saves.db")];
  const server = await stage.serve(story, ...store);
  const before = await stage.open(server);
  await before.say("I pay");
  await before.go("Tools");
  await before.graph.getByRole("link", { name: /^pay running/ }).waitFor();
  await before.page.close();
  await server.stop("SIGKILL");

  const player = await stage.open(await stage.serve(story, ...store));
  const notice = player.story.getByText("Your last prompt was interrupted: I pay");
  await notice.waitFor();
  player.allow(/409/);
  await player.button("Resume").click();
  await player.sees("should not happen twice");
  story.open("go");
  // The question has the focus.
  await player.page.keyboard.press("Enter");
  await player.sees("Paid.");
  await player.isDone();
  expect([await notice.count(), await player.story.getByText("Played again").count()]).toEqual([0, 0]);
});

// covers: 003-12.2-multiline-input
test("the sample story by keyboard alone", async ({ stage }) => {
  const player = await stage.play(torch);
  const { keyboard } = player.page;
  await player.page.getByRole("heading", { name: "The Torch and the Door" }).waitFor();

  await player.tabTo(player.input);
  await keyboard.type("I light the torch");
  await keyboard.press("Shift+Enter");
  await keyboard.type("and examine the door");
  expect(await player.input.inputValue()).toBe("I light the torch\nand examine the door");
  await keyboard.press("Enter");
  await player.sees("You reach for the torch on the wall.");
  await player.isDone();

  // The tools: arrow keys follow the graph, Enter opens a tool, Escape closes it.
  await player.tabTo(player.place("Tools"), "back");
  await keyboard.press("Enter");
  await player.tabTo(player.graph.getByRole("link", { name: /^light1 completed/ }));
  await keyboard.press("ArrowRight");
  const examine = player.graph.getByRole("link", { name: /^examine1 completed/ });
  await player.hasFocus(examine);
  await keyboard.press("Enter");
  const { tool } = player;
  await player.hasFocus(tool.getByRole("heading", { name: "examine1" }));
  await player.tabTo(tool.getByRole("listbox", { name: /^Log/ }));
  await keyboard.press("Home");
  await tool.getByRole("region", { name: "Selected line" }).getByText("Examining door...").waitFor();
  await keyboard.press("Escape");
  await keyboard.press("Escape");
  await player.hasFocus(examine);

  // The assets: Enter opens one, Escape closes it.
  await player.tabTo(player.place("Assets"), "back");
  await keyboard.press("Enter");
  const picture = player.main.getByRole("link", { name: "A lit torch on a stone wall" });
  await player.tabTo(picture);
  await keyboard.press("Enter");
  const alone = player.page.getByRole("dialog", { name: "A lit torch on a stone wall" });
  await alone.waitFor();
  await keyboard.press("Escape");
  await alone.waitFor({ state: "hidden" });
  await player.hasFocus(picture);

  // The state: arrow keys move in the tree and expand it.
  await player.tabTo(player.place("State"), "back");
  await keyboard.press("Enter");
  const tree = player.main.getByRole("tree", { name: "State" });
  await player.tabTo(tree);
  await keyboard.press("Home");
  const inventory = tree.getByRole("treeitem", { name: /^inventory/ });
  await expect.poll(() => inventory.getAttribute("aria-selected")).toBe("true");
  await keyboard.press("ArrowLeft");
  await expect.poll(() => inventory.getAttribute("aria-expanded")).toBe("false");
  await keyboard.press("ArrowRight");
  await expect.poll(() => inventory.getAttribute("aria-expanded")).toBe("true");

  // Continue the story with a choice.
  await player.tabTo(player.place("Narrative"), "back");
  await keyboard.press("Enter");
  await player.tabTo(player.choice("Leave"));
  await keyboard.press("Enter");
  await player.story.getByRole("article", { name: "You: Leave" }).waitFor();
});

test("a turn with a text after its tools reads as one, also after a reload", async ({ stage }) => {
  const story = stage.tell(
    {
      says: "look",
      answers: [
        {
          narrative: "You look around.",
          tools: [runs("eye", progress(0.5, "Looking"), wait("seen"), done("Two doors."))],
          success: "There are two doors, and both are shut.",
          choices: ["Left", "Right"],
        },
      ],
    },
    { says: "left", answers: [{ narrative: "You push.", tools: [runs("hand", done("It opens."))], choices: ["Go in"] }] },
    answered("go in", "You go in.", runs("foot", wait("never"))),
  );
  const player = await stage.play(story);
  const told = async (prompt: string): Promise<string[]> =>
    (await player.story.getByRole("article", { name: `You: ${prompt}` }).getByRole("paragraph").allInnerTexts()).filter((one) => one !== "");
  const offered = (): Promise<string[]> => player.story.getByRole("list", { name: "What you can do" }).getByRole("listitem").allInnerTexts();
  const heard = (): Promise<string[]> => player.page.getByRole("log", { name: "Narration" }).getByRole("paragraph").allInnerTexts();

  await player.say("look");
  await player.sees("Looking");
  await player.page.reload();
  await player.sees("Looking");
  expect(await told("look")).toEqual(["You look around."]);
  story.open("seen");
  await player.sees("There are two doors, and both are shut.");
  await player.isDone();
  const texts = ["You look around.", "There are two doors, and both are shut."];
  expect(await told("look")).toEqual(texts);
  await expect.poll(offered).toEqual([expect.stringMatching(/^1\s*Left$/), expect.stringMatching(/^2\s*Right$/)]);
  expect(await player.story.getByText("1 tool ran · details").count()).toBe(1);
  await expect.poll(heard).toEqual(["There are two doors, and both are shut.", "You can choose: Left, Right"]);

  // The answer tells nothing after the tool, so its summary is told.
  await player.choice("Left").click();
  await player.sees("It opens.");
  await player.isDone();
  expect(await told("Left")).toEqual(["You push.", "It opens."]);
  expect((await heard()).slice(-3)).toEqual(["You push.", "It opens.", "You can choose: Go in"]);

  // A turn that is stopped offers the choices before it again.
  await player.choice("Go in").click();
  await player.sees("You go in.");
  expect(await player.story.getByRole("list", { name: "What you can do" }).count()).toBe(0);
  await player.button("Stop").click();
  await player.story.getByRole("button", { name: "Try again" }).waitFor();
  await player.choice("Go in").waitFor();

  await player.page.reload();
  await player.choice("Go in").waitFor();
  expect(await told("look")).toEqual(texts);
  expect(await told("Left")).toEqual(["You push.", "It opens."]);

  await player.go("Tools");
  await player.main.getByRole("link", { name: /^look/ }).click();
  await player.main.getByRole("region", { name: "Plan 2 of 2, completed" }).getByText("continues plan 1").waitFor();
});

// covers: 003-12.2-input-feedback
test("the page shows running tools, and Stop ends them", async ({ stage }) => {
  const story = stage.tell(answered("dig", "You dig.", runs("spade", progress(0.4, "Digging"), wait("never"), done("Dug."))));
  const player = await stage.play(story);
  await player.say("dig");
  await player.sees("You dig.");
  await player.story.getByRole("progressbar", { name: "spade" }).and(player.page.locator("[aria-valuenow='40']")).waitFor();

  await player.button("Stop").click();
  await player.sees("You stopped this.");
  await player.isDone();
  await player.go("Tools");
  await player.graph.getByRole("link", { name: /^spade stopped/ }).waitFor();

  // Also by keyboard.
  await player.go("Narrative");
  await player.say("dig");
  await player.button("Stop").waitFor();
  await player.input.press("Escape");
  await player.isDone();

  // Also from a different view, by button and by keyboard.
  for (const stop of [() => player.button("Stop").click(), () => player.page.keyboard.press("Escape")]) {
    await player.go("Narrative");
    await player.say("dig");
    await player.button("Stop").waitFor();
    await player.go("Tools");
    await player.button("Stop").waitFor();
    await stop();
    await player.graph.getByRole("link", { name: /^spade stopped/ }).waitFor();
    await expect.poll(() => player.button("Stop").count()).toBe(0);
  }
});

test("a second prompt waits; a third is refused and kept", async ({ stage }) => {
  const story = stage.tell(answered("first", "One.", runs("slow", wait("go"), done("Done."))), answered("second", "Two."));
  const player = await stage.play(story);
  await player.say("first");
  await player.sees("One.");
  await player.say("second");
  await player.page.getByRole("status").getByText("Next:").waitFor();
  await player.say("third");
  await player.page.getByRole("alert").getByText("The story is busy").waitFor();
  await expect.poll(() => player.input.inputValue()).toBe("third");
  story.open("go");
  await player.sees("Two.");
  await player.isDone();
  expect(await player.story.getByRole("article").count()).toBe(2);
});

test("a narrative appears, and is announced, while the narrator writes it", async ({ stage }) => {
  const narrator = `
import json, os, sys, time
def say(**message): print(json.dumps({"id": request["id"], **message}))
def wait(gate):
    while not os.path.exists(f"gates/{gate}"): time.sleep(0.01)
for line in sys.stdin:
    request = json.loads(line)
    if "request" not in request: continue
    if request["request"]["generationAttempt"] == 1:
        say(delta="The door creaks. And the li")
        wait("fail")
        say(error="it broke")
    else:
        say(delta="The door stays shut.")
        wait("end")
        say(plan={"requestId": "p", "tools": [], "narrative": "The door stays shut."})
`;
  const telling = stage.story({ prompts: [], narrator });
  const player = await stage.play(telling);
  const announced = player.page.getByRole("log", { name: "Narration" });
  await player.say("I push");
  await player.sees("The door creaks. And the li");
  await expect.poll(() => announced.innerText()).toBe("The door creaks.");
  telling.open("fail");
  await player.sees("The door stays shut.");
  expect(await player.story.locator("del").innerText()).toBe("The door creaks. And the li");
  await expect.poll(() => announced.innerText()).toContain("The narrator takes that back.");
  telling.open("end");
  await player.isDone();
  expect(await player.story.getByText("The door stays shut.").count()).toBe(1);
  expect(await announced.innerText()).toMatch(/The door stays shut\.$/);
});

test("new narration is announced politely and once", async ({ stage }) => {
  const player = await stage.play(stage.story((folder) => ({
    files: { "well.svg": '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>' },
    prompts: [
      answered(
        "look",
        "The well is deep.",
        runs(
          "look",
          log("not for the player"),
          asset("well", "image/svg+xml", `${folder}/well.svg`, { description: "A well" }),
          choices("Jump"),
          done("Seen."),
        ),
      ),
      answered("jump", "You fall."),
    ],
  })));
  const region = player.page.getByRole("log", { name: "Narration" });
  expect(await region.getAttribute("aria-live")).toBe("polite");
  await player.plays("look");
  await expect
    .poll(() => region.getByRole("paragraph").allInnerTexts())
    .toEqual(["The well is deep.", "Picture: A well", "Seen.", "You can choose: Jump"]);

  // Narration from before the page was opened is not announced.
  await player.page.reload();
  await player.sees("The well is deep.");
  expect(await region.getByRole("paragraph").count()).toBe(0);
  await player.say("jump");
  await expect.poll(() => region.getByRole("paragraph").allInnerTexts()).toEqual(["You fall."]);
});

// covers: 000-4.4-payload
test("a placeholder shows any ui event payload unchanged", async ({ stage }) => {
  const payloads: { [event: string]: Json | undefined } = {
    none: undefined,
    empty: {},
    markup: { wind: "north <b>wind</b> & \u202e rain" },
    deep: { list: [1, [], { deep: [null, false] }], big: 1e21, "": -0.5 },
    names: { constructor: "x", choices: "none", event: "narrative_choice", text: null },
  };
  const told = Object.entries(payloads).map(([event, payload]): Step => ({
    emit: { type: "ui_event", event: `event_${event}`, ...(payload === undefined ? {} : { payload }) },
  }));
  const player = await stage.play(stage.tell(answered("tell", "Winds blow.", runs("wind", ...told, choices("Go on"), done("Told.")))));
  await player.plays("tell");
  await player.choice("Go on").waitFor();
  for (const [event, payload] of Object.entries(payloads)) {
    const placeholder = player.story.locator("details", { has: player.page.getByText(`event_${event}`, { exact: true }) });
    await placeholder.getByText(`event_${event}`, { exact: true }).click();
    const shown = await placeholder.getByRole("paragraph").innerText();
    expect(JSON.parse(shown), event).toEqual(payload === undefined ? {} : payload);
  }
});

// covers: 003-12.2-narrative-state-panel, 003-14.1-narrative-state-panel, 003-12.2-state-tree,
// 003-12.2-state-changes, 003-12.2-state-json
test("the state tree marks changes, shows any patch, and JSON", async ({ stage }) => {
  const player = await stage.play(stage.tell(answered(
    "walk",
    "",
    runs("first", patch({ place: { name: "well", steps: 1 } }), done("There.")),
    runs("second", patch({ place: { steps: 2 }, rope: ["hemp", 12] }), done("There.")),
  )));
  await player.plays("walk");
  await player.go("State");
  const tree = player.main.getByRole("tree", { name: "State" });
  await tree.getByRole("treeitem", { name: /^steps 2 changed by second$/ }).waitFor();
  await tree.getByRole("treeitem", { name: /^rope/ }).click();
  const details = player.main.getByRole("complementary", { name: "Details" });
  await details.getByRole("heading", { name: "/rope" }).waitFor();
  expect(JSON.parse(await details.getByRole("group", { name: "Value as JSON" }).innerText())).toEqual(["hemp", 12]);

  await player.button("Previous patch").click();
  await tree.getByRole("treeitem", { name: /^steps 1 changed by first$/ }).waitFor();
  expect(await tree.getByRole("treeitem", { name: /^rope/ }).count()).toBe(0);
  await player.button("Live").click();
  await tree.getByRole("treeitem", { name: /^steps 2/ }).waitFor();
});

// covers: 003-12.2-tool-execution-panel, 003-14.1-tool-execution-panel, 003-12.2-tool-name-status,
// 003-12.2-tool-log, 003-12.2-tool-progress, 003-12.2-tool-completion
test("tools show status, progress, live log lines and their end", async ({ stage }) => {
  const story = stage.tell({
    says: "build",
    answers: [
      {
        narrative: "Hammers ring.",
        parallel: true,
        tools: [
          { ...runs("saw", log("Sawing"), progress(0.25), wait("saw"), progress(0.75), wait("end"), done("Sawn.")), async: true },
          { ...runs("nail", wait("end"), done("Nailed.")), async: true },
          { ...runs("paint", done("Painted.")), dependencies: ["saw", "nail"] },
        ],
      },
    ],
  });
  const player = await stage.play(story);
  await player.say("build");
  await player.go("Tools");
  await player.graph.getByRole("link", { name: /^saw running.*25 %/ }).waitFor();
  await player.graph.getByRole("link", { name: /^nail running/ }).waitFor();
  await player.graph.getByRole("link", { name: /^paint waiting/ }).waitFor();

  await player.graph.getByRole("link", { name: /^saw running/ }).first().click();
  const { tool } = player;
  const bar = tool.getByRole("progressbar", { name: "Progress of saw" });
  await expect.poll(() => bar.getAttribute("aria-valuenow")).toBe("25");
  await tool.getByRole("option", { name: /Sawing/ }).waitFor();
  story.open("saw");
  await expect.poll(() => bar.getAttribute("aria-valuenow")).toBe("75");
  story.open("end");
  await tool.getByText("Sawn.").waitFor();
  await player.main.getByRole("region", { name: "The plan, completed" }).waitFor();

  await player.button("Table").click();
  const table = player.main.getByRole("group", { name: "Tools of this plan" });
  expect(await table.getByRole("rowheader").allInnerTexts()).toEqual(["saw", "nail", "paint"]);
});
