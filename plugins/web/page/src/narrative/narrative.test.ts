// SPDX-License-Identifier: Apache-2.0
// @vitest-environment happy-dom
import type { LitElement } from "lit";
import { beforeEach, describe, expect, it } from "vitest";
import { Prompts } from "../prompts.ts";
import type { EventRecord, JsonObject } from "../session/record.ts";
import { Session } from "../session/session.ts";
import { type Draft, numbered, settled, stream } from "../session/testing.ts";
import { Reading } from "../shell/reading.ts";
import "./narrative_view.ts";

const hostile = '<img src=x onerror="alert(1)"><script>alert(2)</script>';

let session: Session;
let prompts: Prompts;
let posted: string[];
let view: LitElement;
let reading: Reading;

type Given = [kind: string, event: JsonObject, from?: Partial<EventRecord>];

// Takes records, and waits until they are drawn.
async function take(...records: Given[]): Promise<void> {
  const drafts = records.map(([kind, event, from]): Draft => ({ kind, event, ...from }));
  session.take(numbered(drafts, session.lastSeq));
  await settled();
}

const saved = (turn: number): Given => ["turn_ended", { outcome: "completed", generations: 1, choices: [], turn }];
const ended = (...choices: string[]): Given => ["turn_ended", { outcome: "completed", generations: 1, choices }];
// The records of a tool in a plan.
const ofTool = (kind: string, event: JsonObject): Given => [kind, event, { planId: "p", toolId: "kettle", attempt: 1 }];
const started: Given[] = [["prompt", { text: "x" }], ofTool("plan_started", { plan: {} }), ofTool("tool_started", { toolPath: "tools/kettle" })];

// All matching descendants, including those in shadow roots.
function all(selector: string, root: ParentNode = view.renderRoot): Element[] {
  const found = [...root.querySelectorAll(selector)];
  for (const one of root.querySelectorAll("*")) if (one.shadowRoot !== null) found.push(...all(selector, one.shadowRoot));
  return found;
}

const texts = (selector: string): string[] => all(selector).map((one) => (one.textContent ?? "").trim());
const input = (): HTMLTextAreaElement => all("textarea")[0] as HTMLTextAreaElement;

// Unfolds all undone turns.
async function unfold(): Promise<void> {
  for (const one of all("narratoria-undone details")) (one as HTMLDetailsElement).open = true;
  await settled();
}

function type(words: string): void {
  input().value = words;
  input().dispatchEvent(new Event("input"));
}

function press(key: string, more: KeyboardEventInit = {}): KeyboardEvent {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, composed: true, cancelable: true, ...more });
  input().dispatchEvent(event);
  return event;
}

beforeEach(async () => {
  document.body.textContent = "";
  localStorage.clear();
  sessionStorage.clear();
  reading = new Reading();
  session = new Session((run) => run());
  session.open({ sessionId: "s", title: "The Torch and the Door", last: 0, state: {} });
  posted = [];
  prompts = new Prompts(session, (path, body) => {
    posted.push(`${path} ${body ?? ""}`);
    return Promise.resolve({ status: 202, code: "", message: "" });
  });
  view = document.createElement("narratoria-narrative") as LitElement;
  Object.assign(view, { session, prompts, reading });
  document.body.append(view);
  await settled();
});

describe("the story", () => {
  it("focuses the input unless something else has the focus", async () => {
    expect(document.activeElement).toBe(view);
    const link = document.body.appendChild(document.createElement("button"));
    link.focus();
    view.remove();
    view = Object.assign(document.createElement("narratoria-narrative") as LitElement, { session, prompts });
    document.body.append(view);
    await settled();
    expect(input()).toBeDefined();
    expect(document.activeElement).toBe(link);
  });

  it("shows prompt, narration, tools and choices of each turn", async () => {
    await take(["prompt", { text: "I light the torch" }]);
    session.take(numbered(stream("torch"), session.lastSeq));
    await take(ended("Open", "Leave"));
    expect(texts("h2")).toEqual(["You: I light the torch"]);
    expect(texts(".telling p")).toEqual(["You reach for the torch on the wall.", "Torch lit.", "Door examined."]);
    expect(texts("narratoria-tools-line").length).toBe(1);
    expect(texts("narratoria-choices mdui-button")).toEqual(["1Open", "2Leave"]);
  });

  it("shows a narrative while it is told, and marks what is taken back", async () => {
    await take(["prompt", { text: "x" }], ["narrative_delta", { text: "One.\n\nAnd " }]);
    expect([texts(".telling p"), all(".thinking").length]).toEqual([["One.", "And"], 0]);
    await take(["narrative_retracted", {}]);
    expect([texts("del p"), all(".thinking").length]).toEqual([["One.", "And"], 1]);
    await take(["narrative_delta", { text: "Two" }], ["narrative", { text: "Two.", source: "plan" }]);
    expect(texts(".telling > p")).toEqual(["Two."]);
  });

  it("has no line of tools for plans that neither tell nor run anything", async () => {
    await take(["prompt", { text: "x" }], ["plan_started", { plan: { tools: [], continue: true } }], ["plan_ended", { success: true }]);
    await take(["plan_started", { plan: { tools: [] } }], ["plan_ended", { success: true }]);
    await take(ended());
    expect(all(".telling, narratoria-tools-line, narratoria-remark")).toEqual([]);
  });

  it("names the story's ending after the turn's last text", async () => {
    const plan = { planId: "p" };
    await take(["prompt", { text: "I leave" }], ["plan_started", { plan: { metadata: { ending: hostile } } }, plan]);
    await take(["narrative", { text: "You go.", source: "plan" }, plan], ["plan_ended", { success: true }, plan]);
    expect(texts(".ending")).toEqual([]);
    await take(ended());
    expect(all(".telling p, .ending").map((one) => one.textContent)).toEqual(["You go.", `The end: ${hostile}`]);
    expect(all("img, script").length).toBe(0);
    // The player may write on.
    const next = { planId: "q" };
    await take(["prompt", { text: "I look back" }], ["plan_started", { plan: {} }, next], ["plan_ended", { success: true }, next], ended());
    expect(texts(".ending").length).toBe(1);
  });

  it("shows where the session went to, with the choices of that turn", async () => {
    await take(["session_moved", { turn: 0, narrative: "", choices: ["I begin"] }]);
    expect(texts(".moved")).toEqual(["The story goes on from its beginning."]);
    expect(texts("narratoria-choices mdui-button")).toEqual(["1I begin"]);
    await take(["session_moved", { turn: 2, narrative: "It is dark.", choices: [] }]);
    expect(texts(".moved").at(-1)).toBe("The story goes on from turn 2.");
    expect(texts(".telling p")).toEqual(["It is dark."]);
    expect(texts("narratoria-choices mdui-button")).toEqual([]);
    await take(["session_moved", { turn: 4, narrative: "It closes.", choices: [], ending: "Trapped" }]);
    expect(texts(".ending")).toEqual(["The end: Trapped"]);
  });

  it("offers to undo the last turn of a saved game", async () => {
    const moves = (): string[] => texts(".moves mdui-button");
    await take(["prompt", { text: "x" }], ended());
    expect(moves()).toEqual([]);
    await take(["prompt", { text: "x" }], saved(1));
    expect(moves()).toEqual(["Undo", "Another answer"]);
    await take(["prompt", { text: "y" }]);
    expect(moves()).toEqual([]);
    const plan = { planId: "p" };
    await take(["plan_started", { plan: { metadata: { ending: "Out" } } }, plan], ["plan_ended", { success: true }, plan], saved(2));
    expect(moves()).toEqual(["Undo", "Another answer", "Start over"]);
    const places = ["undo", "again", "restart"];
    for (const [at, place] of places.entries()) {
      (all(".moves mdui-button")[at] as HTMLElement).click();
      await settled();
      expect(posted.at(-1)).toBe(`/api/${place} {"turn":2}`);
      expect(moves()).toEqual([]);
      await take(["warning", { code: "X", message: "no" }]);
    }
    await take(["session_moved", { turn: 0, narrative: "", choices: [] }]);
    expect(moves()).toEqual([]);
    expect([texts(".words"), texts("summary").map((one) => one.replaceAll(/\s+/g, " "))]).toEqual([[], ["3 undone turns: x"]]);
    await take(["session_moved", { turn: 2, narrative: "Told.", choices: ["a"], playsAgain: true }], ["prompt", { text: "y" }]);
    expect([texts(".moved").at(-1), texts(".words").at(-1)]).toEqual(["Played again", "y"]);
  });

  it("counts the turns of a fold with those of the branches in it", async () => {
    await take(["prompt", { text: "x" }], saved(1), ["prompt", { text: "y" }], saved(2));
    await take(["session_moved", { turn: 1, narrative: "", choices: [] }], ["prompt", { text: "z" }], saved(3));
    await take(["session_moved", { turn: 0, narrative: "", choices: [] }]);
    expect(texts("summary").map((one) => one.replaceAll(/\s+/g, " "))).toEqual(["3 undone turns: x"]);
  });

  it("does not count a move that told an earlier turn", async () => {
    await take(["session_moved", { turn: 9, narrative: "Earlier.", choices: [] }], ["prompt", { text: "x" }], saved(10));
    await take(["session_moved", { turn: 0, narrative: "", choices: [] }]);
    expect(texts("summary").map((one) => one.replaceAll(/\s+/g, " "))).toEqual(["1 undone turn: x"]);
  });

  it("lets the player return to an undone turn", async () => {
    const picture = ofTool("tool_event", { type: "asset", assetId: "a", kind: "image", mediaType: "image/png", path: "/x.png", metadata: {} });
    await take(...started, ofTool("attempt_started", { attempt: 1 }), picture, saved(1), ["prompt", { text: "y" }], saved(2));
    await take(["session_moved", { turn: 1, narrative: "Told.", choices: [] }]);
    expect(texts(".moved")).toEqual(["Back to: x"]);
    expect(all("narratoria-asset").length).toBe(1);
    await unfold();
    expect(texts(".moved")).toEqual(["UndoneReturn here", "Back to: x"]);
    (all(".undoing mdui-button")[0] as HTMLElement).click();
    await settled();
    expect(posted.at(-1)).toBe('/api/go {"turn":1,"to":2}');
    await take(["session_moved", { turn: 2, narrative: "Told on.", choices: [] }]);
    expect([texts(".words"), texts(".moved"), texts(".telling"), all("narratoria-undone")]).toEqual([["x", "y"], ["Back to: y"], [], []]);
  });

  it("says where the session went to until it goes on", async () => {
    await take(["prompt", { text: "x" }], saved(1), ["prompt", { text: "y" }], saved(2));
    await take(["session_moved", { turn: 1, narrative: "", choices: [] }]);
    expect(texts(".moved")).toEqual(["Back to: x"]);
    await take(["prompt", { text: "z" }], saved(3));
    expect([texts(".words"), texts(".moved"), texts(".moves mdui-button")]).toEqual([["x", "z"], [], ["Undo", "Another answer"]]);
  });

  it("keeps the elements of the turns that a move does not undo", async () => {
    const turns = (): Element[] => [...view.renderRoot.querySelectorAll("narratoria-turn")];
    await take(...Array.from({ length: 60 }, (_, at): Given[] => [["prompt", { text: `p${at}` }], ["narrative", { text: "Told." }], saved(at + 1)]).flat());
    await expect.poll(() => turns().length).toBe(60);
    const before = turns();
    await take(["session_moved", { turn: 30, narrative: "Told.", choices: [] }], ["prompt", { text: "x" }], ["narrative", { text: "On." }], saved(61));
    expect(turns().slice(0, 30)).toEqual(before.slice(0, 30));
    await take(["session_moved", { turn: 60, narrative: "Told.", choices: [] }]);
    expect([turns().length, turns().slice(0, 30)]).toEqual([61, before.slice(0, 30)]);
    // Only a new text appears with an animation.
    expect(all(".new")).toEqual([]);
  });

  it("offers to try again once, whether the game is saved or not", async () => {
    await take(["prompt", { text: "x" }], ["turn_ended", { outcome: "timeout", generations: 1, choices: [] }]);
    expect(texts("mdui-button").filter((one) => one !== "")).toEqual(["Try again"]);
    await take(["prompt", { text: "x" }], ["turn_ended", { outcome: "timeout", generations: 1, choices: [], turn: 1 }]);
    expect(texts("mdui-button").filter((one) => one !== "")).toEqual(["Undo", "Try again"]);
  });

  it("has the language of the story on the story's texts only", async () => {
    session.open({ sessionId: "s", title: "Der Brunnen", language: "de", last: 0, state: {}, opening: { text: "Es ist dunkel.", choices: [] } });
    await take(["prompt", { text: "Licht" }], ["narrative", { text: "Hell.", source: "plan" }]);
    await take(ended("Weiter"));
    const languages = (selector: string): (string | undefined)[] =>
      all(selector).map((one) => one.closest("[lang]")?.getAttribute("lang") ?? undefined);
    for (const selector of ["h1", ".scene p", ".words", ".telling p", "narratoria-choices mdui-button [dir]"]) {
      expect(languages(selector), selector).toEqual(["de"]);
    }
    for (const selector of ["h2 .unseen", "textarea", "narratoria-turn"]) expect(languages(selector), selector).toEqual([undefined]);
  });

  it("shows a tool that ended with its turn as stopped", async () => {
    await take(...started);
    expect(all(".ember").length).toBe(1);
    session.markLost(Date.now());
    await settled();
    expect(all(".ember").length).toBe(0);
    reading.set({ details: true });
    await take(ofTool("tool_ended", { state: "failed", ok: false, errorCode: "CANCELLED" }), ["turn_ended", { outcome: "cancelled" }]);
    expect(all("narratoria-tools-line li").map((one) => one.className.trim())).toEqual(["tool stopped"]);
    expect(session.plans.get("p#1")!.invocations.get("kettle")!.state).toBe("stopped");
  });

  it("shortens the progress message of a running tool", async () => {
    const log = (message: string, fields: JsonObject): Given =>
      ofTool("tool_event", { type: "log", level: "info", message, fields });
    await take(...started, log("Water boils", {}));
    expect(texts(".working").join("")).toMatch(/Working…/);
    await take(log("Brewing the tea, step 8", { progress: 0.8 }));
    expect(texts(".working").join("")).toMatch(/Brewing the tea, step 8.*80 %/s);
    await take(log("word ".repeat(100), { progress: 0.9 }));
    expect(texts(".working").join("").length).toBeLessThan(200);
    // The name of the tool is for assistive technology, which needs one for the bar.
    expect(texts(".working").join("")).not.toMatch(/kettle/);
  });

  it("shows a line for a refused picture", async () => {
    const picture = ofTool("tool_event", { type: "asset", assetId: "a", kind: "image", mediaType: "image/png", path: "a.png" });
    await take(...started, picture);
    await take(ofTool("asset_refused", { assetId: "a", code: "ASSET_MISSING", message: "there is no such file." }));
    expect(texts(".refused")).toEqual(["A picture could not be shown."]);
    reading.set({ details: true });
    await settled();
    expect(texts("narratoria-tools-line li").join("")).toMatch(/there is no such file/);
    await take(picture);
    expect(texts(".refused")).toEqual([]);
    expect(all("narratoria-asset").length).toBe(1);
  });

  it("sends a choice as the next prompt", async () => {
    await take(["prompt", { text: "x" }], ended("Open"));
    (all("narratoria-choices mdui-button")[0] as HTMLElement).click();
    await settled();
    expect(posted).toEqual(['/api/prompt {"text":"Open"}']);
    // The pending prompt is shown, and the choices are gone.
    expect(texts("h2")).toEqual(["You: x", "You: Open"]);
    expect(texts("narratoria-choices mdui-button")).toEqual([]);
  });

  it("has a scroll-down button in the input's bar", async () => {
    const scroller = all(".scroller")[0] as HTMLElement;
    Object.defineProperty(scroller, "scrollHeight", { value: 2000 });
    Object.defineProperty(scroller, "clientHeight", { value: 500 });
    scroller.dispatchEvent(new Event("scroll"));
    await settled();
    const more = all("mdui-button-icon").filter((one) => one.textContent?.trim() === "More below");
    expect(more.length).toBe(1);
    expect(more[0]!.closest("narratoria-prompt-input")).not.toBeNull();
    expect(more[0]!.assignedSlot?.closest("form")).not.toBeNull();
  });

  it("shows a text of a megabyte in steps", async () => {
    await take(["prompt", { text: "x" }], ["narrative", { text: "word ".repeat(200_000), source: "plan" }]);
    const shown = (): number => texts(".telling narratoria-long-text p, p").join("").length;
    const before = shown();
    expect(before).toBeLessThan(10_000);
    (all(".more mdui-button")[0] as HTMLElement).click();
    await settled();
    expect(shown()).toBeGreaterThan(before + 10_000);
  });

  it("prints a long text as a whole", async () => {
    await take(["prompt", { text: "x" }], ["narrative", { text: "word ".repeat(10_000), source: "plan" }]);
    dispatchEvent(new Event("beforeprint"));
    await settled();
    expect(texts("p").join("").match(/word/g)?.length).toBe(10_000);
    expect(all(".more")).toEqual([]);
  });

  it("has all turns in the page for search and print", async () => {
    await take(...Array.from({ length: 300 }, (_, index): Given[] => [["prompt", { text: `${index}` }], ended()]).flat());
    expect(all("narratoria-turn").length).toBeGreaterThan(20);
    // The latest turns are rendered at once, earlier ones in later frames, and all before the page is printed.
    dispatchEvent(new Event("beforeprint"));
    await settled();
    expect(all("narratoria-turn").length).toBe(300);
    expect(texts("h1").length).toBe(1);
  });
});

describe("the input", () => {
  it("plays the choice with a number only on Enter", async () => {
    await take(["prompt", { text: "x" }], ended("Open", "Leave"));
    for (const words of ["2nd door", " 2. ", "3"]) {
      type(words);
      press("Enter");
      await settled();
      if (words !== "3") await take(["prompt", { text: words === "2nd door" ? words : "Leave" }], ended("Open", "Leave"));
    }
    expect(posted).toEqual(['/api/prompt {"text":"2nd door"}', '/api/prompt {"text":"Leave"}']);
    expect([input().value, texts("[role=alert]")]).toEqual(["3", ["The choices are 1 to 2."]]);
    type("");
  });

  it("takes a digit that is typed elsewhere", async () => {
    await take(["prompt", { text: "x" }], ended("Open"));
    (all(".scroller")[0] as HTMLElement).focus();
    dispatchEvent(new KeyboardEvent("keydown", { key: "1" }));
    expect(posted).toEqual([]);
    expect(view.shadowRoot?.activeElement?.tagName.toLowerCase()).toBe("narratoria-prompt-input");
  });

  it("does not ask what to do after the story's ending", async () => {
    const plan = { planId: "p" };
    await take(["prompt", { text: "x" }], ["plan_started", { plan: { metadata: { ending: "Away" } } }, plan], ["plan_ended", { success: true }, plan], ended());
    expect(input().placeholder).toMatch(/has ended/);
  });

  it("ignores Enter during input composition", async () => {
    type("と");
    press("Enter", { isComposing: true });
    await settled();
    expect(posted).toEqual([]);
    type("");
  });

  it("recalls earlier prompts with the arrow keys", async () => {
    for (const text of ["one", "two", "two", "three"]) await take(["prompt", { text }], ended());
    const pressed = async (key: string): Promise<string> => {
      press(key);
      await settled();
      return input().value;
    };
    const shown: string[] = [];
    for (const way of ["Up", "Up", "Up", "Up", "Down", "Down", "Down"]) shown.push(await pressed(`Arrow${way}`));
    expect(shown).toEqual(["three", "two", "one", "one", "two", "three", ""]);
    // The arrow keys do not replace typed text.
    type("mine");
    expect(await pressed("ArrowUp")).toBe("mine");
    type("");
  });
});
