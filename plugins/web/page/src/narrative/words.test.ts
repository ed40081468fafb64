// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { announcements } from "../shell/announce.ts";
import { readRoute, segment } from "../shell/route.ts";
import type { EventRecord } from "../session/record.ts";
import { Session } from "../session/session.ts";
import { cutAt, shortened, skillName } from "../text/shorten.ts";
import { noticeOf } from "./words.ts";

function stream(name: string): EventRecord[] {
  const text = readFileSync(new URL(`../session/streams/${name}.ndjson`, import.meta.url), "utf8");
  return text.trim().split("\n").map((line) => JSON.parse(line) as EventRecord);
}

function told(...parts: (EventRecord[] | { kind: string; event: EventRecord["event"] })[]): Session {
  const session = new Session(() => {});
  const records = parts.flatMap((part) =>
    Array.isArray(part) ? part : [{ seq: 0, time: "2026-01-24T18:30:00Z", sessionId: "s", ...part }],
  );
  session.take(records.map((record, index) => ({ ...record, seq: index + 1 })));
  return session;
}

const prompt = { kind: "prompt", event: { text: "I pull the lever" } };
const ended = (outcome: string, generations = 2) => ({ kind: "turn_ended", event: { outcome, generations, choices: [] } });

describe("the notice of a turn", () => {
  it("is nothing where all went well", () => {
    expect(noticeOf(told(prompt, stream("torch"), ended("completed")).turns[0]!)).toBeUndefined();
  });

  it("says what failed, after how many tries, and that the story went on", () => {
    const session = told(prompt, stream("lever"), stream("instead"), ended("completed"));
    expect(noticeOf(session.turns[0]!)).toMatchObject({
      tone: "quiet",
      words: ["The lever does not move: rusty-lever failed after 2 tries.", "The story went on without it."],
      failures: [{ toolId: "pull1" }],
      retry: "I pull the lever",
    });
  });

  it("does not double a full stop, and does not speak of an exit that was in order", () => {
    const session = told(prompt, stream("lever"), stream("instead"), ended("completed"));
    expect(noticeOf(session.turns[0]!)?.failures[0]?.details).toEqual([
      expect.any(String),
      "Try 1: LEVER_STUCK: The lever is rusted fast.",
      "Try 2: LEVER_STUCK: The lever is rusted fast.",
    ]);
  });

  it("says the same failure once", () => {
    const session = told(prompt, stream("lever"), stream("lever"), stream("lever"), ended("fallback", 5));
    expect(noticeOf(session.turns[0]!)?.words).toEqual([
      "The lever does not move: rusty-lever failed after 2 tries. (3 times)",
      "None of the narrator's 5 plans worked.",
    ]);
  });

  it("counts the plans of a fallback as they were given, those that never ran too", () => {
    const words = (...parts: Parameters<typeof told>): string | undefined => noticeOf(told(...parts).turns[0]!)?.words.at(-1);
    expect(words(prompt, stream("lever"), ended("fallback", 3))).toBe("None of the narrator's 3 plans worked.");
    expect(words(prompt, stream("lever"), ended("fallback", 1))).toBe("The narrator's plan did not work.");
    expect(words(prompt, ended("fallback", 1))).toBe("The narrator's plan could not be used.");
    expect(words(prompt, ended("fallback", 2))).toBe("None of the narrator's 2 plans could be used.");
    expect(words(prompt, ended("fallback", 0))).toBe("The narrator found no way.");
  });

  it("has words for a turn that was stopped, and one that took too long", () => {
    expect(noticeOf(told(prompt, ended("cancelled")).turns[0]!)?.headline).toBe("You stopped this.");
    expect(noticeOf(told(prompt, ended("timeout")).turns[0]!)?.headline).toMatch(/longer than it may/);
  });
});

describe("a screen reader", () => {
  it("hears what is new: the telling, the pictures, the choices", () => {
    const session = told(prompt, stream("torch"), {
      kind: "turn_ended",
      event: { outcome: "completed", generations: 1, choices: ["Open", "Leave"] },
    });
    expect(announcements(session, 1)).toEqual([
      "You reach for the torch on the wall.",
      "Picture: A lit torch on a stone wall",
      "You can choose: Open, Leave",
    ]);
    expect(announcements(session, session.lastSeq)).toEqual([]);
  });
});

describe("a text that is cut", () => {
  it("ends at a space where there is one near", () => {
    expect("one two three".slice(0, cutAt("one two three", 0, 9))).toBe("one two ");
  });

  it("never ends within a character of two halves", () => {
    const flames = "🔥".repeat(10);
    for (let length = 2; length < 20; ++length) {
      expect(flames.slice(0, cutAt(flames, 0, length))).toMatch(/^(🔥)+$/u);
    }
  });

  it("always goes on", () => {
    const text = "x".repeat(1_000_000);
    let steps = 0;
    for (let at = 0; at < text.length; at = cutAt(text, at, 20_000)) ++steps;
    expect(steps).toBe(50);
  });

  it("says that there is more", () => {
    expect(shortened("one two three", 9)).toBe("one two…");
    expect(shortened("one", 9)).toBe("one");
  });
});

describe("a skill's name", () => {
  it("is its file's, without the extension", () => {
    expect(skillName("tools/torch-lighter")).toBe("torch-lighter");
    expect(skillName("/a/b/forge.py")).toBe("forge");
    expect(skillName(".hidden")).toBe(".hidden");
    expect(skillName("roll_dice")).toBe("roll_dice");
  });
});

describe("a route", () => {
  it("holds whatever an id holds", () => {
    const id = "a/b#1 %2F \u{1F525}";
    expect(readRoute(`#/tools/${segment(id)}/t`)).toEqual({ place: "tools", path: [id, "t"] });
    expect(readRoute("")).toEqual({ place: "narrative", path: [] });
    expect(readRoute("#/nowhere/x")).toEqual({ place: "narrative", path: [] });
    expect(readRoute("#/state/%E0%A4%A")).toEqual({ place: "state", path: ["%E0%A4%A"] });
  });
});
