// SPDX-License-Identifier: Apache-2.0
// @vitest-environment happy-dom
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { LitElement } from "lit";
import { beforeEach, describe, expect, it } from "vitest";
import { type Answer, Prompts } from "../prompts.ts";
import type { EventRecord, JsonObject } from "../session/record.ts";
import { Session } from "../session/session.ts";
import { Reading } from "../shell/reading.ts";
import "./narrative_view.ts";

const hostile = '<img src=x onerror="alert(1)"><script>alert(2)</script>';

let session: Session;
let prompts: Prompts;
let posted: string[];
let answer: Answer;
let view: LitElement;
let reading: Reading;

const settled = async (): Promise<void> => {
  for (let round = 0; round < 4; ++round) await new Promise((resolve) => setTimeout(resolve));
};

function take(...records: [kind: string, event: JsonObject][]): void {
  session.take(
    records.map(([kind, event], index) => ({
      seq: session.lastSeq + index + 1,
      time: "2026-01-24T18:30:00Z",
      sessionId: "s",
      kind,
      event,
    })),
  );
}

function takeStream(name: string): void {
  const here = dirname(fileURLToPath(import.meta.url));
  const text = readFileSync(join(here, `../session/streams/${name}.ndjson`), "utf8");
  const records = text.trim().split("\n").map((line) => JSON.parse(line) as EventRecord);
  session.take(records.map((record, index) => ({ ...record, seq: session.lastSeq + index + 1 })));
}

// All matching descendants, including those in shadow roots.
function all(selector: string, root: ParentNode = view.renderRoot): Element[] {
  const found = [...root.querySelectorAll(selector)];
  for (const one of root.querySelectorAll("*")) if (one.shadowRoot !== null) found.push(...all(selector, one.shadowRoot));
  return found;
}

const texts = (selector: string): string[] => all(selector).map((one) => (one.textContent ?? "").trim());
const input = (): HTMLTextAreaElement => all("textarea")[0] as HTMLTextAreaElement;

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
  answer = { status: 202, code: "", message: "" };
  prompts = new Prompts(session, (path, body) => {
    posted.push(`${path} ${body ?? ""}`);
    return Promise.resolve(answer);
  });
  view = document.createElement("narratoria-narrative");
  Object.assign(view, { session, prompts, reading });
  document.body.append(view);
  await settled();
});

describe("the story", () => {
  it("begins with its title", () => {
    expect(texts("h1")).toEqual(["The Torch and the Door"]);
  });

  it("focuses the input unless something else has the focus", async () => {
    expect(document.activeElement).toBe(view);
    const link = document.body.appendChild(document.createElement("button"));
    link.focus();
    view.remove();
    view = Object.assign(document.createElement("narratoria-narrative"), { session, prompts });
    document.body.append(view);
    await settled();
    expect(input()).toBeDefined();
    expect(document.activeElement).toBe(link);
  });

  it("shows prompt, narration, tools and choices of each turn", async () => {
    take(["prompt", { text: "I light the torch" }]);
    takeStream("torch");
    take(["turn_ended", { outcome: "completed", generations: 1, choices: ["Open", "Leave"] }]);
    await settled();
    expect(texts("h2")).toEqual(["You: I light the torch"]);
    expect(texts(".telling p")).toEqual(["You reach for the torch on the wall.", "Torch lit.", "Door examined."]);
    expect(texts("narratoria-tools-line").length).toBe(1);
    expect(texts("narratoria-choices mdui-button")).toEqual(["1Open", "2Leave"]);
  });

  it("shows a narrative while it is told, and marks what is taken back", async () => {
    take(["prompt", { text: "x" }], ["narrative_delta", { text: "One.\n\nAnd " }]);
    await settled();
    expect([texts(".telling p"), all(".thinking").length]).toEqual([["One.", "And"], 0]);
    take(["narrative_retracted", {}]);
    await settled();
    expect([texts("del p"), all(".thinking").length]).toEqual([["One.", "And"], 1]);
    take(["narrative_delta", { text: "Two" }], ["narrative", { text: "Two.", source: "plan" }]);
    await settled();
    expect(texts(".telling > p")).toEqual(["Two."]);
  });

  it("reads as one turn if its plans continue each other", async () => {
    const at = { planId: "p", toolId: "t", attempt: 1, time: "2026-01-24T18:30:00Z", sessionId: "s" };
    const emit = (kind: string, event: JsonObject, more: Partial<EventRecord> = {}): void =>
      void session.take([{ ...at, ...more, seq: session.lastSeq + 1, kind, event }]);
    const begin = (): void => {
      emit("prompt", { text: "x" });
      emit("plan_started", { plan: { continue: true } });
      emit("narrative", { text: "You look.", source: "plan" });
      emit("tool_started", { toolPath: "tools/t" });
      emit("attempt_started", { attempt: 1 });
      emit("tool_event", { type: "asset", assetId: "a", kind: "image", mediaType: "image/png", path: "a.png" });
      emit("tool_event", { type: "done", ok: true, summary: "Two doors." });
      emit("tool_ended", { state: "completed", ok: true });
      emit("plan_ended", { success: true });
      emit("plan_started", { plan: { tools: [] } }, { planId: "q" });
    };
    const end = (): void => {
      emit("plan_ended", { success: true }, { planId: "q" });
      emit("turn_ended", { outcome: "completed", generations: 1, choices: ["Left"] }, { planId: null });
    };
    begin();
    emit("narrative", { text: "You see two doors.", source: "plan" }, { planId: "q" });
    end();
    await settled();
    expect(all(".telling, narratoria-asset").map((one) => one.textContent?.trim())).toEqual(["You look.", "", "You see two doors."]);
    expect(all("narratoria-tools-line summary").map((one) => one.textContent)).toEqual(["1 tool ran · details"]);
    begin();
    end();
    await settled();
    expect(texts(".telling p").slice(2)).toEqual(["You look.", "Two doors."]);
    expect(all("narratoria-tools-line summary").length).toBe(2);
    expect(texts("narratoria-choices mdui-button")).toEqual(["1Left"]);
  });

  it("has no line of tools for plans that neither tell nor run anything", async () => {
    take(["prompt", { text: "x" }], ["plan_started", { plan: { tools: [], continue: true } }], ["plan_ended", { success: true }]);
    take(["plan_started", { plan: { tools: [] } }], ["plan_ended", { success: true }]);
    take(["turn_ended", { outcome: "completed", generations: 1, choices: [] }]);
    await settled();
    expect(all(".telling, narratoria-tools-line, narratoria-remark")).toEqual([]);
  });

  it("tells a summary before the failure of the same plan", async () => {
    const at = { planId: "p", attempt: 1, time: "2026-01-24T18:30:00Z", sessionId: "s" };
    const emit = (kind: string, event: JsonObject, toolId: string | null = null): void =>
      void session.take([{ ...at, toolId, seq: session.lastSeq + 1, kind, event }]);
    emit("prompt", { text: "x" });
    emit("plan_started", { plan: { continue: true } });
    emit("tool_event", { type: "done", ok: true, summary: "A well." }, "look");
    emit("tool_ended", { state: "completed", ok: true }, "look");
    emit("tool_event", { type: "done", ok: false, summary: "The rope tears." }, "pull");
    emit("tool_ended", { state: "failed", ok: false }, "pull");
    emit("plan_ended", { success: false, failedTools: ["pull"] });
    await settled();
    expect(texts(".telling p, .failure")).toEqual(["A well.", "The rope tears."]);
  });

  it("names the story's ending after the turn's last text", async () => {
    const emit = (kind: string, event: JsonObject, planId: string | null = "p"): void =>
      void session.take([{ planId, time: "2026-01-24T18:30:00Z", sessionId: "s", seq: session.lastSeq + 1, kind, event }]);
    emit("prompt", { text: "I leave" }, null);
    emit("plan_started", { plan: { metadata: { ending: hostile } } });
    emit("narrative", { text: "You go.", source: "plan" });
    emit("plan_ended", { success: true });
    await settled();
    expect(texts(".ending")).toEqual([]);
    emit("turn_ended", { outcome: "completed", generations: 1, choices: [] }, null);
    await settled();
    expect(all(".telling p, .ending").map((one) => one.textContent)).toEqual(["You go.", `The end: ${hostile}`]);
    expect(all("img, script").length).toBe(0);
    // The player may write on.
    emit("prompt", { text: "I look back" }, null);
    emit("plan_started", { plan: {} }, "q");
    emit("plan_ended", { success: true }, "q");
    emit("turn_ended", { outcome: "completed", generations: 1, choices: [] }, null);
    await settled();
    expect(texts(".ending").length).toBe(1);
  });

  it("shows where the session went to, with the choices of that turn", async () => {
    take(["session_moved", { turn: 0, narrative: "", choices: ["I begin"] }]);
    await settled();
    expect(texts(".moved")).toEqual(["The story goes on from its beginning."]);
    expect(texts("narratoria-choices mdui-button")).toEqual(["1I begin"]);
    take(["session_moved", { turn: 2, narrative: "It is dark.", choices: [] }]);
    await settled();
    expect(texts(".moved").at(-1)).toBe("The story goes on from turn 2.");
    expect(texts(".telling p")).toEqual(["It is dark."]);
    expect(texts("narratoria-choices mdui-button")).toEqual([]);
  });

  it("has the language of the story on the story's texts only", async () => {
    session.open({ sessionId: "s", title: "Der Brunnen", language: "de", last: 0, state: {}, opening: { text: "Es ist dunkel.", choices: [] } });
    take(["prompt", { text: "Licht" }], ["narrative", { text: "Hell.", source: "plan" }]);
    take(["turn_ended", { outcome: "completed", generations: 1, choices: ["Weiter"] }]);
    await settled();
    const languages = (selector: string): (string | undefined)[] =>
      all(selector).map((one) => one.closest("[lang]")?.getAttribute("lang") ?? undefined);
    for (const selector of ["h1", ".scene p", ".words", ".telling p", "narratoria-choices mdui-button [dir]"]) {
      expect(languages(selector), selector).toEqual(["de"]);
    }
    for (const selector of ["h2 .unseen", "textarea", "narratoria-turn"]) expect(languages(selector), selector).toEqual([undefined]);
  });

  it("shows a tool that ended with its turn as stopped", async () => {
    const at = { planId: "p", toolId: "t", seq: 0, time: "2026-01-24T18:30:00Z", sessionId: "s" };
    const emit = (kind: string, event: JsonObject): void =>
      void session.take([{ ...at, seq: session.lastSeq + 1, kind, event }]);
    emit("prompt", { text: "x" });
    emit("plan_started", { plan: { requestId: "p" }, generationAttempt: 1, parentPlanId: null });
    emit("tool_started", { toolPath: "tools/slow" });
    await settled();
    expect(all(".ember").length).toBe(1);
    session.markLost(Date.now());
    await settled();
    expect(all(".ember").length).toBe(0);
    emit("tool_ended", { state: "failed", ok: false, executionTime: 5, retryCount: 0, errorCode: "CANCELLED" });
    emit("turn_ended", { outcome: "cancelled", generations: 1, choices: [] });
    reading.set({ details: true });
    await settled();
    expect(all("narratoria-tools-line li").map((one) => one.className.trim())).toEqual(["tool stopped"]);
    expect(session.plans.get("p#1")!.invocations.get("t")!.state).toBe("stopped");
  });

  it("shortens the progress message of a running tool", async () => {
    const at = { planId: "p", toolId: "tea", attempt: 1, seq: 0, time: "2026-01-24T18:30:00Z", sessionId: "s" };
    const emit = (kind: string, event: JsonObject): void =>
      void session.take([{ ...at, seq: session.lastSeq + 1, kind, event }]);
    const log = (message: string, fields: JsonObject): void =>
      emit("tool_event", { type: "log", level: "info", message, fields });
    emit("prompt", { text: "x" });
    emit("plan_started", { plan: { requestId: "p" }, generationAttempt: 1, parentPlanId: null });
    emit("tool_started", { toolPath: "tools/tea" });
    emit("attempt_started", { attempt: 1 });
    log("Water boils", {});
    await settled();
    expect(texts(".working").join("")).toMatch(/Working…/);
    log("Brewing the tea, step 8", { progress: 0.8 });
    await settled();
    expect(texts(".working").join("")).toMatch(/Brewing the tea, step 8.*80 %/s);
    log("word ".repeat(100), { progress: 0.9 });
    await settled();
    expect(texts(".working").join("").length).toBeLessThan(200);
    // The name of the tool is for assistive technology, which needs one for the bar.
    expect(texts(".working").join("")).not.toMatch(/tea/);
  });

  it("shows a line for a refused picture", async () => {
    const at = { planId: "p", toolId: "t", attempt: 1, seq: 0, time: "2026-01-24T18:30:00Z", sessionId: "s" };
    const emit = (kind: string, event: JsonObject): void =>
      void session.take([{ ...at, seq: session.lastSeq + 1, kind, event }]);
    emit("prompt", { text: "x" });
    emit("plan_started", { plan: { requestId: "p" }, generationAttempt: 1, parentPlanId: null });
    const picture = { type: "asset", assetId: "a", kind: "image", mediaType: "image/png", path: "a.png" };
    emit("tool_event", picture);
    emit("asset_refused", { assetId: "a", code: "ASSET_MISSING", message: "there is no such file." });
    await settled();
    expect(texts(".refused")).toEqual(["A picture could not be shown."]);
    reading.set({ details: true });
    await settled();
    expect(texts("narratoria-tools-line li").join("")).toMatch(/there is no such file/);
    emit("tool_event", picture);
    await settled();
    expect(texts(".refused")).toEqual([]);
    expect(all("narratoria-asset").length).toBe(1);
  });

  it("sends a choice as the next prompt", async () => {
    take(["prompt", { text: "x" }], ["turn_ended", { outcome: "completed", generations: 1, choices: ["Open"] }]);
    await settled();
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

  it("shows markup as text", async () => {
    take(
      ["prompt", { text: hostile }],
      ["narrative", { text: hostile, source: "plan" }],
      ["ui_placeholder", { event: hostile, payload: { [hostile]: hostile } }],
      ["turn_ended", { outcome: "completed", generations: 1, choices: [hostile] }],
    );
    await settled();
    expect(texts(".telling p")).toEqual([hostile]);
    expect(texts("narratoria-choices mdui-button")).toEqual([`1${hostile}`]);
    expect(texts(".lack bdi")).toEqual([hostile]);
    expect(all("img, script")).toEqual([]);
  });

  it("shows a text of a megabyte in steps", async () => {
    take(["prompt", { text: "x" }], ["narrative", { text: "word ".repeat(200_000), source: "plan" }]);
    await settled();
    const shown = (): number => texts(".telling narratoria-long-text p, p").join("").length;
    const before = shown();
    expect(before).toBeLessThan(10_000);
    (all(".more mdui-button")[0] as HTMLElement).click();
    await settled();
    expect(shown()).toBeGreaterThan(before + 10_000);
  });

  it("has all turns in the page for search and print", async () => {
    for (let index = 0; index < 300; ++index) {
      take(["prompt", { text: `${index}` }], ["turn_ended", { outcome: "completed", generations: 1, choices: [] }]);
    }
    await settled();
    expect(all("narratoria-turn").length).toBeGreaterThan(20);
    // The latest turns are rendered at once, earlier ones in later frames, and all before the page is printed.
    dispatchEvent(new Event("beforeprint"));
    await settled();
    expect(all("narratoria-turn").length).toBe(300);
    expect(texts("h1").length).toBe(1);
  });

  it("shows only the placeholder of the latest attempt", async () => {
    const at = { planId: "p", toolId: "t", seq: 0, time: "2026-01-24T18:30:00Z", sessionId: "s" };
    const emit = (kind: string, event: JsonObject, attempt?: number): void =>
      void session.take([{ ...at, ...(attempt === undefined ? {} : { attempt }), seq: session.lastSeq + 1, kind, event }]);
    emit("prompt", { text: "x" });
    emit("plan_started", { plan: { requestId: "p" }, generationAttempt: 1, parentPlanId: null });
    for (const attempt of [1, 2, 3, 4]) emit("ui_placeholder", { event: "dice", payload: { attempt } }, attempt);
    emit("ui_placeholder", { event: "dice", payload: { attempt: 4 } }, 4);
    emit("ui_placeholder", { event: "cards", payload: {} }, 4);
    await settled();
    expect(texts(".lack bdi")).toEqual(["dice", "dice", "cards"]);
  });
});

describe("the first screen", () => {
  it("shows the opening; digit keys select its choices", async () => {
    session.open({
      sessionId: "s", title: "The Well", last: 0, state: {},
      opening: { text: "It is dark.\n\nA torch hangs on the wall.", choices: ["I light the torch", "I wait"] },
    });
    await settled();
    expect(texts(".scene p")).toEqual(["It is dark.", "A torch hangs on the wall."]);
    expect(texts("narratoria-choices mdui-button")).toEqual(["1I light the torch", "2I wait"]);
    expect(texts(".invitation")).toEqual([]);
    press("2");
    await settled();
    expect(posted).toEqual(['/api/prompt {"text":"I wait"}']);
  });

  it("ignores digit keys while the player types", async () => {
    session.open({ sessionId: "s", title: "", last: 0, opening: { text: "Dark.", choices: ["I wait"] } });
    await settled();
    type("Roll ");
    expect(press("1").defaultPrevented).toBe(false);
    await settled();
    expect(posted).toEqual([]);
    type("");
  });
});

describe("a problem", () => {
  it("is reported in the story's words, with a retry button", async () => {
    take(["prompt", { text: "I pull the lever" }]);
    takeStream("lever");
    takeStream("instead");
    take(["turn_ended", { outcome: "completed", generations: 2, choices: [] }]);
    await settled();
    expect(texts("narratoria-remark p")).toEqual([]);
    const told = texts(".telling, .failure");
    expect(told.filter((one) => one === "The lever does not move.")).toHaveLength(1);
    expect(told.indexOf("The lever does not move.")).toBeLessThan(told.length - 1);
    expect(texts("narratoria-tools-line summary")).toEqual(["2 tools ran, 1 failed · details"]);
    expect(texts("narratoria-turn").join("")).not.toMatch(/rusty-lever|pull1|tries/);
    expect(texts("narratoria-remark mdui-button")).toEqual(["Try again"]);
    (all("narratoria-remark mdui-button")[0] as HTMLElement).click();
    await settled();
    expect(posted).toEqual(['/api/prompt {"text":"I pull the lever"}']);
  });

  it("has technical text in the details of one or all turns", async () => {
    take(["prompt", { text: "I pull the lever" }]);
    takeStream("lever");
    takeStream("instead");
    take(["turn_ended", { outcome: "completed", generations: 2, choices: [] }]);
    await settled();
    reading.set({ details: true });
    await settled();
    expect(texts("narratoria-tools-line li a")).toEqual(["pull1", "examine1", "examine2"]);
    expect(texts("p").join("")).toMatch(/failed after 2 tries/);
    reading.set({ details: false });
    await settled();
    expect(texts("narratoria-tools-line li a")).toEqual([]);
  });

  it("is the fallback text when no plan worked", async () => {
    take(
      ["prompt", { text: "x" }],
      ["narrative", { text: "Nothing.", source: "fallback" }],
      ["turn_ended", { outcome: "fallback", generations: 5, choices: [] }],
    );
    await settled();
    expect(texts(".telling")).toEqual(["Nothing."]);
    expect(texts("narratoria-remark p")).toEqual([]);
    expect(texts("narratoria-remark mdui-button")).toEqual(["Try again"]);
    expect(all("dialog")).toEqual([]);
  });

  it("says \"you\" only in the window that stopped the turn", async () => {
    take(["prompt", { text: "x" }]);
    await prompts.cancel();
    take(["turn_ended", { outcome: "cancelled", generations: 1, choices: [] }]);
    await settled();
    expect(texts("narratoria-remark p")).toEqual(["You stopped this."]);
    take(["prompt", { text: "y" }], ["turn_ended", { outcome: "cancelled", generations: 1, choices: [] }]);
    await settled();
    expect(texts("narratoria-remark p")).toEqual(["You stopped this.", "This was stopped."]);
  });
});

describe("the input", () => {
  it("sends with Enter, breaks the line with Shift+Enter", async () => {
    type("  I light the torch");
    expect(press("Enter", { shiftKey: true }).defaultPrevented).toBe(false);
    expect(posted).toEqual([]);
    expect(press("Enter").defaultPrevented).toBe(true);
    await settled();
    expect(posted).toEqual(['/api/prompt {"text":"I light the torch"}']);
    expect(input().value).toBe("");
  });

  it("ignores Enter during input composition", async () => {
    type("と");
    press("Enter", { isComposing: true });
    await settled();
    expect(posted).toEqual([]);
    type("");
  });

  it("keeps the draft over a reload", async () => {
    type("I open the do");
    view.remove();
    view = Object.assign(document.createElement("narratoria-narrative"), { session, prompts, reading });
    document.body.append(view);
    await settled();
    expect(input().value).toBe("I open the do");
    press("Enter");
    await settled();
    expect(sessionStorage.getItem("narratoria-draft")).toBeNull();
  });

  it("recalls earlier prompts with the arrow keys", async () => {
    for (const text of ["one", "two", "two", "three"]) {
      take(["prompt", { text }], ["turn_ended", { outcome: "completed", generations: 1, choices: [] }]);
    }
    const pressed = async (key: string): Promise<string> => {
      press(key);
      await settled();
      return input().value;
    };
    expect(await pressed("ArrowUp")).toBe("three");
    expect(await pressed("ArrowUp")).toBe("two");
    expect(await pressed("ArrowUp")).toBe("one");
    expect(await pressed("ArrowUp")).toBe("one");
    expect(await pressed("ArrowDown")).toBe("two");
    expect(await pressed("ArrowDown")).toBe("three");
    expect(await pressed("ArrowDown")).toBe("");
    // The arrow keys do not replace typed text.
    type("mine");
    expect(await pressed("ArrowUp")).toBe("mine");
    type("");
  });

  it("has a stop button only while a turn runs", async () => {
    expect(texts("mdui-button-icon")).toEqual(["Send"]);
    take(["prompt", { text: "x" }]);
    await settled();
    expect(texts("mdui-button-icon")).toEqual(["Stop", "Send"]);
    (all("mdui-button-icon")[0] as HTMLElement).click();
    await settled();
    expect(posted).toEqual(["/api/cancel "]);
  });

  it("shows a waiting prompt and returns a refused one", async () => {
    take(["prompt", { text: "one" }]);
    type("two");
    press("Enter");
    await settled();
    expect(texts(".waiting q")).toEqual(["two"]);
    type("three");
    press("Enter");
    await settled();
    expect(texts(".refusal")[0]).toMatch(/already wait/);
    expect(input().value).toBe("three");
    type("");
  });
});
