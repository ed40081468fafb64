// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { announcements } from "../shell/announce.ts";
import { readRoute, segment } from "../shell/route.ts";
import type { JsonObject } from "../session/record.ts";
import type { Session } from "../session/session.ts";
import { played, stream } from "../session/testing.ts";
import { cutAt, shortened } from "../text/shorten.ts";
import { failureDetails, failureWords, remarkOf, toolsWords, turnDetails } from "./words.ts";

const prompt = { kind: "prompt", event: { text: "I pull the lever" } };
const ended = (outcome: string, generations = 2) => ({ kind: "turn_ended", event: { outcome, generations, choices: [] } });

describe("the remark of a turn", () => {
  it("is undefined for a turn without problems", () => {
    expect(remarkOf(played(prompt, stream("torch"), ended("completed")).turns[0]!)).toBeUndefined();
  });

  it("offers a retry after a failure, and leaves its words to the place where it happened", () => {
    const turn = played(prompt, stream("lever"), stream("instead"), ended("completed")).turns[0]!;
    expect(remarkOf(turn)).toEqual({ words: [], retry: "I pull the lever" });
    expect(failureWords(turn, turn.plans[0]!)).toEqual(["The lever does not move."]);
    const told = turn.entries.flatMap((one) => (one.what === "narrative" ? [one.narrative.text] : one.what === "failure" ? [one.what] : []));
    expect(told.indexOf("failure")).toBe(1);
    expect(told.length).toBeGreaterThan(2);
  });

  it("tells the same failure once", () => {
    const turn = played(prompt, stream("lever"), stream("lever"), stream("lever"), ended("fallback", 5)).turns[0]!;
    expect(turn.plans.map((plan) => failureWords(turn, plan))).toEqual([["The lever does not move."], [], []]);
    const answer = { kind: "narrative", event: { text: "The lever does not move.", source: "plan" } };
    const answered = played(prompt, stream("lever"), answer, ended("completed")).turns[0]!;
    expect(failureWords(answered, answered.plans[0]!)).toEqual([]);
  });

  it("has attempts and reasons of a failure in the details", () => {
    const turn = played(prompt, stream("lever"), stream("instead"), ended("completed")).turns[0]!;
    expect(failureDetails(turn.plans[0]!.invocations.get("pull1")!)).toEqual([
      "failed after 2 tries",
      expect.any(String),
      "Try 1: LEVER_STUCK: The lever is rusted fast.",
      "Try 2: LEVER_STUCK: The lever is rusted fast.",
    ]);
  });

  it("counts all plans of a fallback, including refused ones", () => {
    const words = (...parts: Parameters<typeof played>): string[] => turnDetails(played(...parts).turns[0]!);
    expect(words(prompt, stream("lever"), ended("fallback", 3))).toEqual(["None of the narrator's 3 plans worked."]);
    expect(words(prompt, stream("lever"), ended("fallback", 1))).toEqual(["The narrator's plan did not work."]);
    expect(words(prompt, ended("fallback", 1))).toEqual(["The narrator's plan could not be used."]);
    expect(words(prompt, ended("fallback", 2))).toEqual(["None of the narrator's 2 plans could be used."]);
    expect(words(prompt, ended("fallback", 0))).toEqual(["The narrator returned no plan."]);
  });

  it("have what the narrator's replies took", () => {
    const words = (usage: JsonObject): string[] =>
      turnDetails(played(prompt, { kind: "turn_ended", event: { outcome: "completed", choices: [], usage } }).turns[0]!);
    expect(words({ reports: 2, inputTokens: 1800, cachedTokens: 850, outputTokens: 240, cost: 0.004, currency: "EUR" })).toEqual([
      "The narrator took 1,800 tokens (850 of them cached) and wrote 240, for 0.004 EUR.",
    ]);
    expect(words({ reports: 1, inputTokens: 9, cachedTokens: 0, outputTokens: 2 })).toEqual([
      "The narrator took 9 tokens (0 of them cached) and wrote 2.",
    ]);
  });

  it("does not count plans that were continued", () => {
    const first = { kind: "plan_started", planId: "p", event: { plan: { continue: true } } };
    const turn = played(prompt, first, { kind: "plan_ended", planId: "p", event: { success: true } }, stream("lever"), ended("fallback", 5)).turns[0]!;
    expect(turnDetails(turn)).toEqual(["The narrator could not continue: 5 further plans did not work."]);
  });

  it("distinguishes stopped, stopped elsewhere and timed out", () => {
    const stopped = played(prompt, ended("cancelled")).turns[0]!;
    expect(remarkOf(stopped, true)?.words).toEqual(["You stopped this."]);
    expect(remarkOf(stopped, false)?.words).toEqual(["This was stopped."]);
    expect(remarkOf(played(prompt, ended("timeout")).turns[0]!)?.words).toEqual(["This took too long and was stopped."]);
  });
});

describe("the line of a turn's tools", () => {
  it("counts tools that ran and tools that failed", () => {
    expect(toolsWords(played(prompt, stream("torch"), ended("completed")).turns[0]!)).toMatch(/^\d tools? ran$/);
    expect(toolsWords(played(prompt, stream("lever"), stream("instead"), ended("completed")).turns[0]!)).toBe("2 tools ran, 1 failed");
    expect(toolsWords(played(prompt, ended("fallback")).turns[0]!)).toBeUndefined();
  });

  it("counts warnings, for example about choices that are not offered", () => {
    const warning = { kind: "warning", event: { code: "NARRATIVE_CHOICE", message: "9000 beyond the first 1000" } };
    const turn = played(prompt, stream("torch"), warning, ended("completed")).turns[0]!;
    expect(toolsWords(turn)).toMatch(/^\d tools? ran, 1 warning$/);
    expect(turnDetails(turn)).toEqual(["9000 beyond the first 1000"]);
  });
});

describe("a screen reader", () => {
  it("announces new narration, pictures and choices", () => {
    const session = played(prompt, stream("torch"), {
      kind: "turn_ended",
      event: { outcome: "completed", generations: 1, choices: ["Open", "Leave"] },
    });
    expect(announcements(session, 1).map((one) => one.text)).toEqual([
      "You reach for the torch on the wall.",
      "Picture: A lit torch on a stone wall",
      "Torch lit.",
      "Door examined.",
      "You can choose: Open, Leave",
    ]);
    expect(announcements(session, 1).map((one) => one.isStory)).toEqual([true, false, true, true, false]);
    expect(announcements(session, session.lastSeq)).toEqual([]);
  });

  it("announces a summary once, when the story tells it", () => {
    const at = { planId: "p", toolId: "t", attempt: 1 };
    const records = [
      prompt,
      { ...at, kind: "plan_started", event: { plan: { continue: true } } },
      { ...at, kind: "tool_event", event: { type: "done", ok: true, summary: "A well." } },
      { ...at, kind: "tool_ended", event: { state: "completed", ok: true } },
      { ...at, kind: "plan_ended", event: { success: true } },
    ];
    expect(announcements(played(...records), 0)).toEqual([]);
    const untold = played(...records, { kind: "turn_ended", event: { outcome: "completed", generations: 1, choices: ["Drink"] } });
    expect(announcements(untold, 5).map((one) => one.text)).toEqual(["A well.", "You can choose: Drink"]);
    const told = played(...records, { kind: "narrative", event: { text: "You see a well.", source: "plan" } }, ended("completed"));
    expect(announcements(told, 0).map((one) => one.text)).toEqual(["You see a well."]);
  });

  it("announces that the session went to a different turn", () => {
    const session = played({ kind: "session_moved", event: { turn: 3, narrative: "It is dark.", choices: ["Wait"] } });
    expect(announcements(session, 0)).toEqual([
      { text: "The story goes on from turn 3.", isStory: false },
      { text: "It is dark.", isStory: true },
      { text: "You can choose: Wait", isStory: false },
    ]);
  });

  it("announces the ending after the text, and only if its plan succeeds", () => {
    const end = (success: boolean, outcome: string): Session =>
      played(
        prompt,
        { planId: "p", kind: "plan_started", event: { plan: { metadata: { ending: "Away" } } } },
        { planId: "p", kind: "narrative", event: { text: "You go.", source: "plan" } },
        { planId: "p", kind: "plan_ended", event: { success } },
        { kind: "turn_ended", event: { outcome, generations: 1, choices: [] } },
      );
    expect(announcements(end(true, "completed"), 0).map((one) => one.text)).toEqual(["You go.", "The end: Away"]);
    expect(announcements(end(false, "fallback"), 0).map((one) => one.text)).toEqual(["You go."]);
    expect(announcements(end(true, "cancelled"), 0).map((one) => one.text)).toEqual(["You go.", "This was stopped."]);
  });

  it("announces a failure when it happens", () => {
    const session = played(prompt, stream("lever"));
    expect(announcements(session, 2).map((one) => one.text)).toContain("The lever does not move.");
  });
});

describe("a text that is cut", () => {
  it("ends at a space if one is near", () => {
    expect("one two three".slice(0, cutAt("one two three", 0, 9))).toBe("one two ");
  });

  it("never ends within a surrogate pair", () => {
    const flames = "🔥".repeat(10);
    for (let length = 2; length < 20; ++length) {
      expect(flames.slice(0, cutAt(flames, 0, length))).toMatch(/^(🔥)+$/u);
    }
  });

  it("always makes progress", () => {
    const text = "x".repeat(1_000_000);
    let steps = 0;
    for (let at = 0; at < text.length; at = cutAt(text, at, 20_000)) ++steps;
    expect(steps).toBe(50);
  });

  it("ends in an ellipsis", () => {
    expect(shortened("one two three", 9)).toBe("one two…");
    expect(shortened("one", 9)).toBe("one");
  });
});

describe("a route", () => {
  it("encodes any id", () => {
    const id = "a/b#1 %2F \u{1F525}";
    expect(readRoute(`#/tools/${segment(id)}/t`)).toEqual({ place: "tools", path: [id, "t"] });
    expect(readRoute("")).toEqual({ place: "narrative", path: [] });
    expect(readRoute("#/nowhere/x")).toEqual({ place: "narrative", path: [] });
    expect(readRoute("#/state/%E0%A4%A")).toEqual({ place: "state", path: ["%E0%A4%A"] });
  });
});
