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
import "./narrative_view.ts";

const hostile = '<img src=x onerror="alert(1)"><script>alert(2)</script>';

let session: Session;
let prompts: Prompts;
let posted: string[];
let answer: Answer;
let view: LitElement;

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

// All elements below, shadow roots too.
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
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  input().dispatchEvent(event);
  return event;
}

beforeEach(async () => {
  document.body.textContent = "";
  session = new Session((run) => run());
  session.open({ sessionId: "s", title: "The Torch and the Door", last: 0, state: {} });
  posted = [];
  answer = { status: 202, code: "", message: "" };
  prompts = new Prompts(session, (path, body) => {
    posted.push(`${path} ${body ?? ""}`);
    return Promise.resolve(answer);
  });
  view = document.createElement("narratoria-narrative");
  Object.assign(view, { session, prompts });
  document.body.append(view);
  await settled();
});

describe("the story", () => {
  it("begins with its title", () => {
    expect(texts("h1")).toEqual(["The Torch and the Door"]);
  });

  it("has the input at hand, unless the focus is somewhere already", async () => {
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

  it("tells each turn: the prompt, the narration, the tools, the choices", async () => {
    take(["prompt", { text: "I light the torch" }]);
    takeStream("torch");
    take(["turn_ended", { outcome: "completed", generations: 1, choices: ["Open", "Leave"] }]);
    await settled();
    expect(texts("h2")).toEqual(["You: I light the torch"]);
    expect(texts(".telling p")).toEqual(["You reach for the torch on the wall."]);
    expect(texts("narratoria-tools-line").length).toBe(1);
    expect(texts(".choices mdui-button")).toEqual(["Open", "Leave"]);
  });

  it("shows a tool that was ended with its turn as one that was stopped", async () => {
    const at = { planId: "p", toolId: "t", seq: 0, time: "2026-01-24T18:30:00Z", sessionId: "s" };
    const tell = (kind: string, event: JsonObject): void =>
      void session.take([{ ...at, seq: session.lastSeq + 1, kind, event }]);
    tell("prompt", { text: "x" });
    tell("plan_started", { plan: { requestId: "p" }, generationAttempt: 1, parentPlanId: null });
    tell("tool_started", { toolPath: "tools/slow" });
    await settled();
    expect(all(".ember").length).toBe(1);
    session.cutOff(Date.now());
    await settled();
    expect(all(".ember").length).toBe(0);
    tell("tool_ended", { state: "failed", ok: false, executionTime: 5, retryCount: 0, errorCode: "CANCELLED" });
    tell("turn_ended", { outcome: "cancelled", generations: 1, choices: [] });
    await settled();
    expect(all("narratoria-tools-line a").map((one) => one.className.trim())).toEqual(["stopped"]);
    expect(session.plans.get("p#1")!.invocations.get("t")!.state).toBe("stopped");
  });

  it("says what a tool at work says with its progress, shortened", async () => {
    const at = { planId: "p", toolId: "tea", attempt: 1, seq: 0, time: "2026-01-24T18:30:00Z", sessionId: "s" };
    const tell = (kind: string, event: JsonObject): void =>
      void session.take([{ ...at, seq: session.lastSeq + 1, kind, event }]);
    const log = (message: string, fields: JsonObject): void =>
      tell("tool_event", { type: "log", level: "info", message, fields });
    tell("prompt", { text: "x" });
    tell("plan_started", { plan: { requestId: "p" }, generationAttempt: 1, parentPlanId: null });
    tell("tool_started", { toolPath: "tools/tea" });
    tell("attempt_started", { attempt: 1 });
    log("Water boils", {});
    await settled();
    expect(texts("narratoria-tools-line a").join("")).not.toMatch(/Water/);
    log("Brewing the tea, step 8", { progress: 0.8 });
    await settled();
    expect(texts("narratoria-tools-line a").join("")).toMatch(/tea….*80 %.*Brewing the tea, step 8/s);
    log("word ".repeat(100), { progress: 0.9 });
    await settled();
    expect(texts("narratoria-tools-line a").join("").length).toBeLessThan(200);
  });

  it("leaves a quiet line where a picture was refused", async () => {
    const at = { planId: "p", toolId: "t", attempt: 1, seq: 0, time: "2026-01-24T18:30:00Z", sessionId: "s" };
    const tell = (kind: string, event: JsonObject): void =>
      void session.take([{ ...at, seq: session.lastSeq + 1, kind, event }]);
    tell("prompt", { text: "x" });
    tell("plan_started", { plan: { requestId: "p" }, generationAttempt: 1, parentPlanId: null });
    const picture = { type: "asset", assetId: "a", kind: "image", mediaType: "image/png", path: "a.png" };
    tell("tool_event", picture);
    tell("asset_refused", { assetId: "a", code: "ASSET_MISSING", message: "there is no such file." });
    await settled();
    expect(texts(".refused")).toEqual(["A picture could not be shown: there is no such file."]);
    tell("tool_event", picture);
    await settled();
    expect(texts(".refused")).toEqual([]);
    expect(all("narratoria-asset").length).toBe(1);
  });

  it("takes a choice as the next prompt", async () => {
    take(["prompt", { text: "x" }], ["turn_ended", { outcome: "completed", generations: 1, choices: ["Open"] }]);
    await settled();
    (all(".choices mdui-button")[0] as HTMLElement).click();
    await settled();
    expect(posted).toEqual(['/api/prompt {"text":"Open"}']);
    // What is on its way is shown, and offers nothing any more.
    expect(texts("h2")).toEqual(["You: x", "You: Open"]);
    expect(texts(".choices mdui-button")).toEqual([]);
  });

  it("leads to what is below from the input's bar, where it covers nothing", async () => {
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

  it("shows markup as the text that it is", async () => {
    take(
      ["prompt", { text: hostile }],
      ["narrative", { text: hostile, source: "plan" }],
      ["ui_placeholder", { event: hostile, payload: { [hostile]: hostile } }],
      ["turn_ended", { outcome: "completed", generations: 1, choices: [hostile] }],
    );
    await settled();
    expect(texts(".telling p")).toEqual([hostile]);
    expect(texts(".choices mdui-button")).toEqual([hostile]);
    expect(texts(".card strong")).toEqual([hostile]);
    expect(all("img, script")).toEqual([]);
  });

  it("shows a megabyte in steps", async () => {
    take(["prompt", { text: "x" }], ["narrative", { text: "word ".repeat(200_000), source: "plan" }]);
    await settled();
    const shown = (): number => texts(".telling narratoria-long-text p, p").join("").length;
    const before = shown();
    expect(before).toBeLessThan(10_000);
    (all(".more mdui-button")[0] as HTMLElement).click();
    await settled();
    expect(shown()).toBeGreaterThan(before + 10_000);
  });

  it("keeps its latest turns on the page, and brings the earlier ones when they are asked for", async () => {
    for (let index = 0; index < 100; ++index) {
      take(["prompt", { text: `${index}` }], ["turn_ended", { outcome: "completed", generations: 1, choices: [] }]);
    }
    await settled();
    const before = all("narratoria-turn").length;
    expect(before).toBeLessThan(50);
    (all(".earlier mdui-button")[0] as HTMLElement).click();
    await settled();
    expect(all("narratoria-turn").length).toBeGreaterThan(before);
    expect(texts("h1").length).toBe(1);
  });
});

describe("what went wrong", () => {
  it("is said in words, with what to do", async () => {
    take(["prompt", { text: "I pull the lever" }]);
    takeStream("lever");
    takeStream("instead");
    take(["turn_ended", { outcome: "completed", generations: 2, choices: [] }]);
    await settled();
    expect(texts("narratoria-notice").length).toBe(1);
    expect(texts(".body > p")[0]).toBe("The lever does not move: rusty-lever failed after 2 tries.");
    expect(texts(".actions mdui-button")).toEqual(["Retry", "Continue", "Details"]);
    (all(".actions mdui-button")[0] as HTMLElement).click();
    await settled();
    expect(posted).toEqual(['/api/prompt {"text":"I pull the lever"}']);
  });

  it("is put away by Continue", async () => {
    take(["prompt", { text: "x" }], ["turn_ended", { outcome: "cancelled", generations: 1, choices: [] }]);
    await settled();
    expect(texts("h3")).toEqual(["You stopped this."]);
    (all(".actions mdui-button")[1] as HTMLElement).click();
    await settled();
    expect(texts("h3")).toEqual([]);
  });

  it("opens the fallback's dialog when it happens, not when the page is opened later", async () => {
    const fallback: [string, JsonObject][] = [
      ["prompt", { text: "x" }],
      ["narrative", { text: "Nothing.", source: "fallback" }],
      ["turn_ended", { outcome: "fallback", generations: 5, choices: [] }],
    ];
    take(...fallback);
    await settled();
    expect((all("dialog")[0] as HTMLDialogElement).open).toBe(true);
    // One of the two: what the dialog tells and offers does not stand beside it as well.
    expect(texts("narratoria-notice")).toEqual([]);
    expect(texts(".telling")).toEqual([]);
    (all("dialog")[0] as HTMLDialogElement).close();
    await settled();
    expect(texts(".telling")).toEqual(["Nothing."]);

    document.body.textContent = "";
    view = document.createElement("narratoria-narrative");
    Object.assign(view, { session, prompts });
    document.body.append(view);
    await settled();
    expect((all("dialog")[0] as HTMLDialogElement).open).toBe(false);
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

  it("leaves Enter to who composes a character", async () => {
    type("と");
    press("Enter", { isComposing: true });
    await settled();
    expect(posted).toEqual([]);
    type("");
  });

  it("has a button that stops what runs, and only then", async () => {
    expect(texts("mdui-button-icon")).toEqual(["Send"]);
    take(["prompt", { text: "x" }]);
    await settled();
    expect(texts("mdui-button-icon")).toEqual(["Stop", "Send"]);
    (all("mdui-button-icon")[0] as HTMLElement).click();
    await settled();
    expect(posted).toEqual(["/api/cancel "]);
  });

  it("shows what waits, and gives back what cannot", async () => {
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
