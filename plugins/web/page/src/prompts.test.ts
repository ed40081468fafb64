// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, vi } from "vitest";
import { type Answer, Prompts } from "./prompts.ts";
import type { JsonObject } from "./session/record.ts";
import { Session } from "./session/session.ts";
import { type Draft, numbered } from "./session/testing.ts";

const taken: Answer = { status: 202, code: "", message: "" };

function setting(answer: (path: string) => Answer | Promise<Answer> = () => taken) {
  const session = new Session((run) => run());
  const posted: [string, string | undefined][] = [];
  const prompts = new Prompts(session, async (path, body) => {
    posted.push([path, body]);
    return answer(path);
  });
  const record = (kind: string, event: JsonObject): void =>
    void session.take(numbered([{ kind, event }], session.lastSeq));
  return { session, prompts, posted, record };
}

describe("a prompt", () => {
  it("is pending until its turn begins", async () => {
    const { prompts, posted, record } = setting();
    expect(await prompts.submit("  I light the torch ")).toBe(true);
    expect(posted).toEqual([["/api/prompt", '{"text":"I light the torch"}']]);
    expect(prompts.pending).toEqual(["I light the torch"]);
    expect(prompts.busy).toBe(true);
    record("prompt", { text: "I light the torch" });
    expect(prompts.pending).toEqual([]);
    expect(prompts.busy).toBe(true);
    record("turn_ended", { outcome: "completed" });
    expect(prompts.busy).toBe(false);
  });

  it("reports an unreachable game until it is reachable", async () => {
    const { prompts } = setting(() => Promise.reject(new Error("offline")));
    expect(await prompts.submit("one")).toBe(false);
    expect(prompts.refusal).toMatch(/could not be reached/);
    prompts.reached();
    expect(prompts.refusal).toBe("");
  });

  it("keeps other refusals when the connection returns", async () => {
    const { prompts } = setting(() => ({ status: 413, code: "", message: "" }));
    await prompts.submit("one");
    prompts.reached();
    expect(prompts.refusal).toMatch(/too long/);
  });

  it("is refused without a request while one runs and one waits", async () => {
    const { prompts, posted, record } = setting();
    await prompts.submit("one");
    record("prompt", { text: "one" });
    expect(await prompts.submit("two")).toBe(true);
    expect(await prompts.submit("three")).toBe(false);
    expect(prompts.refusal).toMatch(/already wait/);
    expect(prompts.pending).toEqual(["two"]);
    expect(posted.length).toBe(2);
  });

  it("names another player if the waiting words are not this window's", async () => {
    const { prompts } = setting(() => ({ status: 409, code: "BUSY", message: "" }));
    await prompts.submit("one");
    expect(prompts.refusal).toMatch(/of another player are already waiting/);
  });

  it("is refused with a message", async () => {
    for (const [answer, words] of [
      [{ status: 409, code: "BUSY", message: "" }, /already wait/],
      [{ status: 403, code: "FORBIDDEN", message: "no" }, /has ended/],
      [{ status: 503, code: "FULL", message: "Too many." }, /Too many\./],
    ] as const) {
      const { prompts } = setting(() => answer);
      expect(await prompts.submit("x")).toBe(false);
      expect(prompts.refusal).toMatch(words);
      expect(prompts.pending).toEqual([]);
    }
  });

  it("is ignored when empty", async () => {
    const { prompts, posted } = setting();
    expect(await prompts.submit(" \n ")).toBe(false);
    expect(posted).toEqual([]);
  });
});

describe("cancelling", () => {
  it("drops the waiting prompt in every window", async () => {
    const { prompts, posted, record } = setting();
    await prompts.submit("one");
    record("prompt", { text: "one" });
    await prompts.submit("two");
    await prompts.cancel();
    expect(posted.at(-1)).toEqual(["/api/cancel", undefined]);
    record("turn_ended", { outcome: "cancelled" });
    record("prompt", { text: "two" });
    record("turn_ended", { outcome: "cancelled" });
    expect(prompts.pending).toEqual([]);
    expect(prompts.busy).toBe(false);
  });

  it("keeps a prompt sent after it", async () => {
    const { session, prompts } = setting();
    await prompts.submit("three");
    const cancelled: Draft = { kind: "turn_ended", event: { outcome: "cancelled" } };
    const prompt = (text: string): Draft => ({ kind: "prompt", event: { text } });
    session.take(numbered([prompt("one"), cancelled, prompt("two"), cancelled]));
    expect(prompts.pending).toEqual(["three"]);
    expect(prompts.busy).toBe(true);
  });

  it("sends a request only while a turn runs", async () => {
    const { prompts, posted } = setting();
    await prompts.cancel();
    expect(posted).toEqual([]);
  });
});

describe("a move", () => {
  const three: JsonObject = { outcome: "completed", turn: 3 };

  it("is sent with the turn that the player saw, once, until the game has moved", async () => {
    const { prompts, posted, record } = setting();
    record("prompt", { text: "x" });
    await prompts.move("undo");
    expect(posted).toEqual([]);
    record("turn_ended", three);
    await prompts.move("undo");
    await prompts.move("undo");
    expect(posted).toEqual([["/api/undo", '{"turn":3}']]);
    expect(prompts.busy).toBe(true);
    record("session_moved", { turn: 2, narrative: "", choices: [] });
    expect(prompts.busy).toBe(false);
    await prompts.move("again");
    expect(posted.at(-1)).toEqual(["/api/again", '{"turn":2}']);
  });

  it("resumes an interrupted prompt, and asks before a tool runs twice", async () => {
    let code = "NOT_REPEATABLE";
    const { prompts, posted } = setting(() => ({ status: 409, code, message: "" }));
    await prompts.move({ resume: 4, repeats: false });
    expect(posted).toEqual([["/api/resume", '{"to":4,"repeats":false}']]);
    expect([prompts.needsRepeats, prompts.busy, prompts.refusal]).toEqual([true, false, ""]);
    code = "OTHER_TURN";
    await prompts.move({ resume: 4, repeats: true });
    expect([prompts.needsRepeats, prompts.refusal]).toEqual([true, expect.stringMatching(/has gone on/)]);
  });

  it("that fails later is refused with the game's words", async () => {
    const { prompts, record } = setting();
    record("warning", { code: "OLD", message: "old" });
    await prompts.move("undo");
    expect([prompts.busy, prompts.refusal]).toEqual([true, ""]);
    record("warning", { code: "STORE_REMOVED", message: "the store was removed" });
    expect([prompts.busy, prompts.refusal]).toEqual([false, "the store was removed"]);
  });

  it("that another window has stopped does not block this one", async () => {
    vi.useFakeTimers();
    const { prompts } = setting();
    await prompts.move("undo");
    vi.runAllTimers();
    vi.useRealTimers();
    expect(prompts.busy).toBe(false);
  });

  it("is refused with a message", async () => {
    for (const [answer, words] of [
      [{ status: 409, code: "BUSY", message: "" }, /story is busy/],
      [{ status: 404, code: "NO_TURN", message: "no" }, /no such turn/],
      [{ status: 409, code: "OTHER_TURN", message: "" }, /has gone on/],
      [{ status: 0, code: "", message: "" }, /^The game could not be reached. Try again/],
      [{ status: 403, code: "FORBIDDEN", message: "no" }, /has ended/],
    ] as const) {
      const { prompts } = setting(() => answer);
      await prompts.move("undo");
      expect([prompts.refusal, prompts.busy]).toEqual([expect.stringMatching(words), false]);
    }
  });
});
