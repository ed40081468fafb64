// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EventRecord, JsonObject } from "./record.ts";
import { announcements } from "../shell/announce.ts";
import { canUndo } from "./moves.ts";
import { type Invocation, Session, type Turn } from "./session.ts";
import { type Draft, numbered, played, stream } from "./testing.ts";

const prompt = (text: string): Draft => ({ kind: "prompt", event: { text, timestamp: "2026-01-24T18:30:00Z" } });
const ended = (outcome: string, generations: number, choices: string[] = []): Draft => ({
  kind: "turn_ended",
  event: { outcome, generations, choices },
});
const from = (kind: string, event: JsonObject, attempt: number | null = null, planId = "p"): Draft => {
  return { kind, event, planId, toolId: "t", attempt };
};
const plan = (planId: string, plan: JsonObject = {}): Draft => ({ kind: "plan_started", event: { plan }, planId });
const started = plan("p");
const planEnded = (planId: string, success = true): Draft => ({ kind: "plan_ended", event: { success }, planId });
const tell = (text: string, planId = "p"): Draft => ({ kind: "narrative", event: { text, source: "plan" }, planId });
const choice = (choices: string[], prompt?: string): Draft =>
  from("tool_event", { type: "ui_event", event: "narrative_choice", payload: { choices, ...(prompt === undefined ? {} : { prompt }) } }, 1);

const replanned = numbered([
  prompt("I pull the lever"),
  ...stream("lever"),
  ...stream("instead"),
  ended("completed", 2, ["Open", "Leave"]),
  prompt("I light the torch"),
  ...stream("torch"),
  ended("completed", 1, ["Open", "Leave"]),
]);

// Everything that a view can see, except the version.
function seen(session: Session): unknown {
  const { version: _version, ...rest } = session;
  const invocations = [...session.plans.values()].map((plan) =>
    [...plan.invocations.values()].map((one) => ({ ...one, logs: [...one.logs] })),
  );
  return { ...rest, plans: [...session.plans.keys()], invocations };
}

describe("tools invoked by a narrator before its reply", () => {
  const session = played(
    prompt("I think"),
    { kind: "plan_started", event: { plan: {}, open: true }, planId: "p" },
    from("tool_pending", { toolPath: "tools/t", dependencies: [], line: 4 }),
    from("tool_started", { toolPath: "tools/t", line: 4 }),
    from("tool_ended", { state: "completed", ok: true, executionTime: 1, retryCount: 0 }),
    plan("answer"),
    ended("completed", 1),
  );

  it("belong to their own plan, with lines of the script", () => {
    const [thought, answer] = [...session.plans.values()];
    expect([thought!.isOpen, answer!.isOpen]).toEqual([true, false]);
    expect([...thought!.invocations.values()].map((one) => [one.toolId, one.state, one.line])).toEqual([["t", "completed", 4]]);
  });
});

// A turn whose plans continue each other: the first runs a tool for each of `summaries`.
function continued(summaries: string[], ...rest: Draft[]): Draft[] {
  const tools = summaries.flatMap((summary, index): Draft[] => [
    { ...from("tool_event", { type: "done", ok: true, summary }, 1), toolId: `t${index}` },
    { ...from("tool_ended", { state: "completed", ok: true }), toolId: `t${index}` },
  ]);
  return [
    prompt("I look"),
    plan("p", { narrative: "You look.", continue: true }),
    tell("You look.", "p"),
    ...tools,
    planEnded("p"),
    ...rest,
  ];
}

describe("a continued turn", () => {
  const told = (...drafts: Draft[]): string[] => played(drafts).turns[0]!.entries.flatMap((one) => (one.what === "narrative" ? [one.narrative.text] : one.what === "failure" ? ["(failure)"] : []));

  it("does not tell the summaries of tools if a narrative follows", () => {
    const drafts = continued(["Two doors."], plan("q", { narrative: "You see two doors." }), tell("You see two doors.", "q"), planEnded("q"), ended("completed", 1));
    expect(told(...drafts)).toEqual(["You look.", "You see two doors."]);
  });

  it("tells the summaries at its end if no narrative follows", () => {
    const drafts = continued(["Two doors.", "A well."], plan("q"), planEnded("q"));
    expect(told(...drafts)).toEqual(["You look."]);
    expect(told(...drafts, ended("completed", 1))).toEqual(["You look.", "Two doors.\n\nA well."]);
    const lost = played(drafts);
    lost.markLost(5);
    expect(lost.turns[0]!.narratives.at(-1)?.text).toBe("Two doors.\n\nA well.");
  });

  it("tells the summaries before those of a later plan, and before its failure", () => {
    const done: Draft[] = [
      { ...from("tool_event", { type: "done", ok: true, summary: "It is deep." }, 1, "q"), toolId: "u" },
      { ...from("tool_ended", { state: "completed", ok: true }, null, "q"), toolId: "u" },
    ];
    expect(told(...continued(["A well."], plan("q"), ...done))).toEqual(["You look.", "A well.\n\nIt is deep."]);
    const failing = continued(["A well."], plan("q"), planEnded("q", false), tell("You stumble.", "r"), ended("completed", 2));
    expect(told(...failing)).toEqual(["You look.", "A well.", "(failure)", "You stumble."]);
  });

  it("tells the summary of a plan without continue at once", () => {
    expect(told(prompt("x"), plan("p"), from("tool_event", { type: "done", ok: true, summary: "A well." }, 1), from("tool_ended", { state: "completed", ok: true }))).toEqual(["A well."]);
  });

  it("knows which plan continues which", () => {
    const [first, second, third] = played(continued([], plan("q"), planEnded("q", false), plan("r"), planEnded("r"), ended("completed", 2))).turns[0]!.plans;
    expect([first!.continues, second!.continues, third!.continues]).toEqual([undefined, first, first]);
    const replan = played(prompt("x"), plan("p", { continue: true }), planEnded("p", false), plan("q")).turns[0]!.plans[1]!;
    expect(replan.continues).toBeUndefined();
  });

  it("keeps the question of its choices", () => {
    const drafts = continued([], plan("q"), planEnded("q"), ended("completed", 1, ["Left", "Back"]));
    drafts.splice(3, 0, choice(["Left"], "Which door?"));
    expect(played(drafts).turns[0]!.choices).toMatchObject({ prompt: "Which door?", choices: ["Left", "Back"] });
  });

  it("is the same however its records are batched", () => {
    const records = numbered(continued(["A well."], plan("q"), planEnded("q"), ended("completed", 1, ["Left"])));
    const one = played();
    for (const record of records) one.take([record]);
    expect(one.turns[0]!.narratives).toEqual(played(records).turns[0]!.narratives);
  });
});

describe("choices", () => {
  it("of a plan of the host are offered when it has succeeded", () => {
    const offered = (success: boolean): string[] | undefined =>
      played(plan("p", { choices: ["Left", "Right"] }), planEnded("p", success)).turns[0]!.choices?.choices;
    expect(offered(true)).toEqual(["Left", "Right"]);
    expect(offered(false)).toBeUndefined();
  });

  it("and narrative of a turn that the session went to are shown", () => {
    const session = played(prompt("x"), ended("completed", 1, ["A"]), { kind: "session_moved", event: { turn: 1, narrative: "It is dark.", choices: ["B"] } });
    const last = session.turns.at(-1)!;
    expect([last.prompt, last.outcome, last.narratives.map((one) => one.text), last.choices?.choices]).toEqual([undefined, "completed", ["It is dark."], ["B"]]);
    expect(session.busy).toBe(false);
  });
});

describe("a game that continues", () => {
  const picture = { seq: 7, toolId: "t", attempt: 1, assetId: "map", kind: "image", mediaType: "image/png", path: "map.png", metadata: {} };
  const past = [
    { id: 4, parent: 3, kind: "prompt", prompt: "I enter", status: "fallback", began: "2026-01-24T18:30:00Z", ended: "2026-01-24T18:30:01Z", narrative: "It is dark.", choices: [], ending: null, assets: [] },
    { id: 6, parent: 5, kind: "prompt", prompt: "I look", status: "completed", began: "", ended: null, narrative: "A map.", choices: ["Take it"], ending: "Found", assets: [picture] },
  ];
  const opened = (...drafts: Draft[]): Session => {
    const session = new Session();
    const opening = { sessionId: "s", title: "", after: 0, last: 0, turns: past };
    session.open(opening);
    session.open(opening);
    session.take(numbered(drafts).map((record) => ({ ...record, seq: record.seq + 19 })), true);
    return session;
  };

  it("begins with its last turns", () => {
    const session = opened();
    expect(session.turns.map((one) => [one.prompt?.text, one.narratives.map((told) => told.text), one.outcome, one.choices?.choices])).toEqual([
      ["I enter", ["It is dark."], "fallback", undefined],
      ["I look", ["A map."], "completed", ["Take it"]],
    ]);
    expect(session.turns.map((one) => [one.id, one.ending, one.assets.map((asset) => asset.seq)])).toEqual([[4, undefined, []], [6, "Found", [7]]]);
    expect(session.assets).toEqual(session.turns[1]!.assets);
    expect([session.turnId, session.busy]).toEqual([6, false]);
  });

  const cut = (turns: JsonObject[]): Session => {
    const session = new Session();
    const interrupted = { id: 7, kind: "prompt", prompt: "I jump", status: "interrupted" };
    session.open({ sessionId: "s", title: "", last: 0, turns, interrupted });
    return session;
  };

  it("names the prompt that was interrupted until the story goes on", () => {
    const after = (draft: Draft): unknown => {
      const session = cut(past);
      session.take(numbered([draft], 20), true);
      return session.interrupted;
    };
    expect([cut(past).interrupted, cut(past).turnId, cut([]).turnId]).toEqual([{ id: 7, text: "I jump" }, 6, 0]);
    expect(after({ kind: "prompt", event: { text: "I stay" } })).toBe(undefined);
    expect(after({ kind: "session_moved", event: { turn: 4, narrative: "", choices: [] } })).toBe(undefined);
  });

  it("does not call a resumed prompt played again", () => {
    const again = (text: string): boolean | undefined => {
      const session = cut([]);
      // After a turn of the host, which is not shown.
      session.take(numbered([
        { kind: "session_moved", event: { turn: 1, narrative: "", choices: [], playsAgain: true } },
        { kind: "prompt", event: { text } },
      ]));
      return session.turns.at(-1)!.isAgain;
    };
    expect([again("I jump"), again("I look")]).toEqual([false, true]);
  });

  it("says whether earlier turns are not shown", () => {
    const shown = (count: number): unknown[] => {
      const session = new Session();
      session.open({ sessionId: "s", title: "", last: 0, turns: Array.from({ length: count }, (_, at) => ({ ...past[0], id: at + 2 })) });
      return [session.turns.length, session.turns[0]!.id, session.turns[0]!.isLater];
    };
    expect([shown(50), shown(51)]).toEqual([[50, 2, false], [50, 3, true]]);
  });

  const move = (turn: number): Draft => ({ kind: "session_moved", event: { turn, narrative: "It is dark.", choices: [] } });

  it("goes back to them, and to the ones before", () => {
    const session = opened(move(4), move(3));
    expect(session.turns.map((one) => one.isUndone === true)).toEqual([true, true, false, false]);
    expect(session.turns.slice(2).map((one) => [one.backTo, canUndo(one)])).toEqual([["I enter", true], [undefined, true]]);
    // Their pictures are not announced again.
    expect(announcements(session, opened().lastSeq).map((one) => one.text).join()).not.toContain("map");
  });

  it("tells a turn that is not shown once, when the session goes there", () => {
    const texts = (...drafts: Draft[]): string[][] => opened(...drafts).story.map((one) => one.narratives.map((told) => told.text));
    expect(texts(move(3))).toEqual([["It is dark."]]);
    expect(texts(move(3), prompt("p"), move(3))).toEqual([["It is dark."], []]);
  });

  it("names the turn before the first shown one, which the server also sends", () => {
    const session = new Session();
    const turns = Array.from({ length: 51 }, (_, at) => ({ ...past[0], id: at + 1, prompt: `p${at + 1}` }));
    session.open({ sessionId: "s", title: "", last: 0, turns });
    session.take(numbered([move(1), move(7), move(1)]));
    expect(session.turns.slice(50).map((one) => one.backTo)).toEqual(["p1", "p7", "p1"]);
  });
});

describe("a move", () => {
  const turn = (id: number): Draft[] => [prompt(`p${id}`), { kind: "turn_ended", event: { outcome: "completed", generations: 1, choices: [], turn: id } }];
  const move = (to: number, state?: JsonObject): Draft => ({ kind: "session_moved", event: { turn: to, narrative: "", choices: [] }, ...(state && { state }) });
  const undone = (...drafts: (Draft | Draft[])[]): number[] => played(...drafts).turns.flatMap((one, index) => (one.isUndone === true ? [index] : []));

  it("marks the turns that are not on the way to where the session is", () => {
    expect(undone(turn(1), turn(2), turn(3), move(1))).toEqual([1, 2]);
    expect(undone(turn(1), turn(2), move(0))).toEqual([0, 1]);
    // A new branch, and back to the first one.
    expect(undone(turn(1), turn(2), move(1), turn(3), move(2))).toEqual([3]);
    // Turn 2 is one of the host, which is not shown.
    expect(undone(turn(1), turn(3), move(2))).toEqual([1]);
    // Turn 3 is, too: on the new branch, and then at the beginning of a new game.
    expect(undone(turn(1), turn(2), move(1), turn(4), move(3))).toEqual([1, 3]);
    expect(undone(turn(1), turn(2), move(0), turn(4), move(3))).toEqual([0, 1, 3]);
    // A plan of the host has no number.
    const host: Draft[] = [plan("p"), planEnded("p")];
    expect(undone(turn(1), host, turn(3), move(2))).toEqual([2]);
    expect(undone(turn(1), host, turn(3), move(1))).toEqual([1, 2]);
  });

  // The story, with undone turns in brackets, and where the session has just gone to.
  const told = (...drafts: (Draft | Draft[])[]): string => {
    const name = (one: Turn): string => one.prompt?.text ?? `>${one.movedTo ?? ""}`;
    const undone = (branches: Turn[][]): string[] => branches.map((one) => `[${line(one)}]`);
    const line = (turns: Turn[]): string => turns.flatMap((one) => [name(one), ...undone(one.branches)]).join(" ");
    const session = played(...drafts);
    return [...undone(session.branches), line(session.story)].join(" ");
  };

  it("leaves undone turns at the turn that they followed", () => {
    expect(told(turn(1), turn(2), turn(3), move(1))).toBe("p1 [p2 p3] >1");
    expect(told(turn(1), turn(2), turn(3), move(2), move(1))).toBe("p1 [p2 p3] >1");
    expect(told(turn(1), turn(2), move(0))).toBe("[p1 p2] >0");
    expect(told(turn(1), turn(2), move(1), turn(3), move(1))).toBe("p1 [p2] [p3] >1");
    // A branch of an undone branch.
    expect(told(turn(1), turn(2), turn(3), move(2), turn(4), move(1))).toBe("p1 [p2 [p3] p4] >1");
  });

  it("and the turns after it are one story", () => {
    expect(told(turn(1), turn(2), turn(3), move(1), turn(4))).toBe("p1 [p2 p3] p4");
    expect(told(turn(1), turn(2), turn(3), move(2), move(1), turn(4), move(3))).toBe("p1 [p4] p2 p3 >3");
    expect(told(turn(1), turn(2), turn(3), move(2), move(1), turn(4), move(3), turn(5))).toBe("p1 [p4] p2 p3 p5");
    const again: Draft = { kind: "session_moved", event: { turn: 1, narrative: "", choices: [], playsAgain: true } };
    expect(told(turn(1), turn(2), again)).toBe("p1 [p2]");
    expect(told(turn(1), turn(2), again, turn(3))).toBe("p1 [p2] p3");
  });

  it("does not tell a shown turn again", () => {
    const texts = (to: number, narrative: string): string[] =>
      played(prompt("p1"), tell("Dark."), tell("Cold."), turn(1).slice(1), turn(2), { kind: "session_moved", event: { turn: to, narrative, choices: [] } })
        .turns.at(-1)!.narratives.map((one) => one.text);
    expect(texts(1, "Dark.\n\nCold.")).toEqual([]);
    expect(texts(1, "Dark, and shortened.")).toEqual([]);
    expect(texts(0, "")).toEqual([]);
  });

  it("to a turn of the host tells what is not shown", () => {
    const texts = (narrative: string): string[] =>
      played(prompt("p1"), tell("Dark."), turn(1).slice(1), turn(3), { kind: "session_moved", event: { turn: 2, narrative, choices: [] } })
        .story.at(-1)!.narratives.map((one) => one.text);
    // A turn that only changes the state has the text of the turn before it.
    expect([texts("Dark."), texts("Light.")]).toEqual([[], ["Light."]]);
  });

  it("renders again the turns whose branches change", () => {
    const session = played(turn(1), turn(2), turn(3), move(1));
    const before = session.story[0]!.revision;
    session.take(numbered([move(3)], session.lastSeq));
    expect([before, session.story[0]!.revision]).toEqual([session.lastSeq - 1, session.lastSeq]);
  });

  it("is possible once a turn is saved", () => {
    expect(played(prompt("x"), ended("completed", 1)).turnId).toBeUndefined();
    expect(played(turn(1)).turnId).toBe(1);
    expect(played(turn(1), turn(2), move(1)).turnId).toBe(1);
  });

  it("undoes nothing before the first prompt, also after a turn of the host", () => {
    const possible = (...drafts: (Draft | Draft[])[]): boolean => canUndo(played(...drafts).turns.at(-1)!);
    expect([possible(turn(1)), possible(turn(1), move(0)), possible(turn(2), move(1))]).toEqual([true, false, false]);
    // A game that goes on.
    expect([possible(move(3)), possible(move(3), turn(4), move(3))]).toEqual([true, true]);
  });

  it("is not offered for a turn that could not be stored, and the game is not saved until one is", () => {
    const stored = (turn: number, durable: boolean): Draft[] => [prompt("x"), { kind: "turn_ended", event: { outcome: "completed", turn, durable } }];
    const warning = (code: string): Draft => ({ kind: "warning", event: { code, message: code } });
    const fault = (...drafts: (Draft | Draft[])[]): [string, number | undefined] => {
      const session = played(...drafts);
      return [session.storeFault, session.turnId];
    };
    expect(fault(stored(1, true), warning("STORE_REMOVED"), stored(0, false))).toEqual(["STORE_REMOVED", 1]);
    expect(fault(warning("STORE_FULL"), stored(1, false), stored(2, true))).toEqual(["", 2]);
    expect(fault(warning("STORE_FULL"), stored(1, false), warning("STORE_RECOVERED"))).toEqual(["", 1]);
    // A fault that keeps nothing from being saved.
    expect(fault(warning("STORE_DAMAGED"), stored(1, true))).toEqual(["", 1]);
  });

  it("replaces the state by a patch of the host", () => {
    const patched = (patch: JsonObject): Draft => ({ kind: "state_patched", event: { patch, by: "" } });
    const session = played(turn(1), patched({ a: 1, b: { c: 2 } }), move(0, { b: {}, d: null }), patched({ e: 3 }), move(0, { e: 3 }));
    expect(session.patches.map(({ patch, nulls }) => [patch, nulls])).toEqual([
      [{ a: 1, b: { c: 2 } }, undefined],
      [{ a: null, b: { c: null }, d: null }, { d: null }],
      [{ e: 3 }, undefined],
      [{ b: null, d: null }, undefined],
    ]);
  });
});

describe("a turn", () => {
  const session = played(replanned);

  it("begins with its prompt, and is busy until turn_ended", () => {
    expect(session.turns.map((turn) => [turn.prompt?.text, turn.outcome, turn.generations])).toEqual([
      ["I pull the lever", "completed", 2],
      ["I light the torch", "completed", 1],
    ]);
    expect(session.busy).toBe(false);
    expect(session.caughtUp).toBe(true);
    const running = played(prompt("x"), ...stream("torch"));
    expect([running.busy, running.turns[0]!.outcome]).toEqual([true, undefined]);
  });

  it("contains all plans, the failed one first", () => {
    const [first, second] = session.turns[0]!.plans;
    expect(first).toMatchObject({ success: false, failedTools: ["pull1"] });
    expect(second).toMatchObject({ success: true });
    expect(session.turns[0]!.narratives.map((one) => one.text)).toEqual([
      "You close both hands around the lever and pull.",
      "The torch is beyond reach. You examine the mysterious door instead.",
      "Door examined.",
    ]);
  });

  it("keeps assets in order between narratives", () => {
    expect(session.turns[1]!.entries.map((entry) => entry.what)).toEqual(["plan", "narrative", "asset", "narrative", "narrative"]);
  });

  it("takes its choices from turn_ended", () => {
    expect(session.turns[1]!.choices?.choices).toEqual(["Open", "Leave"]);
    const none = played(prompt("x"), ...stream("torch"), ended("completed", 1, []));
    expect(none.turns[0]!.choices).toBeUndefined();
  });

  it("joins the choices of a plan without duplicates", () => {
    const running = played(prompt("x"), started, choice(["Fight", ""], "What now?"), choice(["Flee", "Fight"]));
    expect(running.turns[0]!.choices).toMatchObject({ choices: ["Fight", "Flee"], prompt: "What now?" });
  });

  it("has the placeholders of the latest attempt only", () => {
    const placeholder = (attempt: number, event = "map"): Draft =>
      from("ui_placeholder", { event, payload: { attempt } }, attempt);
    const tried = played(prompt("x"), started, placeholder(1), placeholder(1, "sound"), placeholder(2), placeholder(3), placeholder(3));
    const kept = tried.turns[0]!.entries.flatMap((one) => (one.what === "placeholder" ? [one.placeholder] : []));
    expect(kept.map((one) => [one.event, one.payload])).toEqual([
      ["sound", { attempt: 1 }],
      // An attempt may send an event twice.
      ["map", { attempt: 3 }],
      ["map", { attempt: 3 }],
    ]);
  });

  it("is lost when the game ends", () => {
    const running = played(prompt("x"), started);
    const before = running.turns[0]!.revision;
    running.markLost(5);
    expect(running.busy).toBe(false);
    expect(running.turns[0]).toMatchObject({ outcome: "lost", ended: 5 });
    expect(running.turns[0]!.revision).toBeGreaterThan(before);
    const over = played(replanned);
    over.markLost(5);
    expect(over.turns.at(-1)!.outcome).toBe("completed");
  });

  it("ends with its plan if it has no prompt", () => {
    const direct = played(...stream("lever"), ...stream("torch"));
    expect(direct.turns.map((turn) => [turn.prompt, turn.outcome])).toEqual([
      [undefined, "failed"],
      [undefined, "completed"],
    ]);
  });
});

describe("an invocation", () => {
  // The tool after each of the records.
  const afterEach = (drafts: Draft[]): (Invocation | undefined)[] =>
    drafts.map((_, index) => played(drafts.slice(0, index + 1)).plans.get("p#1")?.invocations.get("t"));

  it("has attempts, retries and errors", () => {
    const session = played(replanned);
    const plan = session.turns[0]!.plans[0]!;
    const lever = plan.invocations.get("pull1")!;
    expect(lever).toMatchObject({
      state: "failed",
      summary: "The lever does not move.",
      errorCode: "TOOL_FAILED",
    });
    expect(lever.attempts.map((one) => [one.number, one.state, one.exitStatus])).toEqual([
      [1, "failed", 0],
      [2, "failed", 0],
    ]);
    expect(lever.errors.map((one) => one.code)).toEqual(["LEVER_STUCK", "LEVER_STUCK"]);
    expect([...lever.logs].map((line) => [line.attempt, line.level, line.message])).toEqual([
      [1, "info", "Pulling the lever..."],
      [2, "info", "Pulling the lever..."],
    ]);
    expect(plan.invocations.get("examine1")).toMatchObject({ state: "skipped", dependencies: ["pull1"] });
  });

  it("is pending, running, retrying, running, completed", () => {
    const states = afterEach([
      started,
      from("tool_pending", { toolPath: "tools/t.py", dependencies: [] }),
      from("tool_started", { toolPath: "tools/t.py" }),
      from("attempt_started", { attempt: 1 }, 1),
      from("attempt_ended", { attempt: 1, state: "timeout" }, 1),
      from("attempt_started", { attempt: 2 }, 2),
      from("attempt_ended", { attempt: 2, state: "completed", exitStatus: 0 }, 2),
      from("tool_ended", { state: "completed", ok: true, executionTime: 3, retryCount: 1 }),
    ]).map((one) => one?.state);
    expect(states).toEqual([undefined, "pending", "running", "running", "retrying", "running", "running", "completed"]);
  });

  it("takes progress from 0 to 1, reset by each attempt", () => {
    const log = (progress: number, attempt: number): Draft =>
      from("tool_event", { version: "0", type: "log", level: "info", message: "m", fields: { progress } }, attempt);
    const shown = afterEach([started, log(0.5, 1), log(7, 1), log(-1, 1), log(1, 1), log(0, 2)]);
    expect(shown.map((one) => one?.progress)).toEqual([undefined, 0.5, 0.5, 0.5, 1, 0]);
  });
});

describe("assets", () => {
  const asset = (assetId: string, attempt: number): Draft =>
    from("tool_event", { version: "0", type: "asset", assetId, kind: "image", mediaType: "image/png", path: "/x" }, attempt);

  it("of a later attempt replace earlier ones unless refused", () => {
    const session = played(
      started,
      asset("a", 1),
      asset("b", 1),
      asset("a", 2),
      asset("b", 2),
      from("asset_refused", { assetId: "b", code: "ASSET_UNREADABLE", message: "no" }, 2),
    );
    expect(session.assets.map((one) => [one.assetId, one.attempt, one.replaced?.attempt, one.refused?.code])).toEqual([
      ["a", 1, 2, undefined],
      ["b", 1, undefined, undefined],
      ["a", 2, undefined, undefined],
      ["b", 2, undefined, "ASSET_UNREADABLE"],
    ]);
  });

  it("keep the first if a duplicate in one attempt is refused", () => {
    const session = played(
      started,
      asset("a", 1),
      asset("a", 1),
      from("asset_refused", { assetId: "a", code: "ASSET_DUPLICATE", message: "no" }, 1),
    );
    expect(session.assets.map((one) => [one.replaced, one.refused?.code])).toEqual([
      [undefined, undefined],
      [undefined, "ASSET_DUPLICATE"],
    ]);
  });
});

describe("patches", () => {
  it("name their author: tool, plugin or host", () => {
    const session = played(
      started,
      from("tool_event", { version: "0", type: "state_patch", patch: { a: 1 } }, 1),
      { kind: "state_patched", event: { patch: { b: 2 }, by: "" } },
      { kind: "state_patched", event: { patch: { c: 3 }, by: "example.clock" } },
    );
    expect(session.patches.map((one) => [one.toolId, one.by, one.patch])).toEqual([
      ["t", undefined, { a: 1 }],
      [undefined, "", { b: 2 }],
      [undefined, "example.clock", { c: 3 }],
    ]);
  });
});

describe("a story that is reloaded", () => {
  const reloaded = (faults: unknown[]): Draft => ({
    kind: "story_reloaded",
    event: { title: "The Road", opening: { text: "A road.", choices: ["Go"] }, faults } as Draft["event"],
  });

  it("has a new title and opening", () => {
    const session = played(reloaded([]));
    expect([session.title, session.opening]).toEqual(["The Road", { text: "A road.", choices: ["Go"] }]);
    expect(session.storyFaults).toEqual([]);
  });

  it("shows its faults until a change without one", () => {
    const fault = { file: "prompts.json", line: 3, column: 7, pointer: "", rule: "json-syntax", message: "a , is missing" };
    const records = numbered([reloaded([fault, { rule: "story-folder", message: "gone" }]), reloaded([])]);
    const session = played(records.slice(0, 1));
    expect(session.storyFaults).toEqual([
      { place: "prompts.json:3:7", message: "a , is missing" },
      { place: "", message: "gone" },
    ]);
    session.take(records);
    expect(session.storyFaults).toEqual([]);
  });
});

describe("a narrative that is told in pieces", () => {
  const piece = (text: string): Draft => ({ kind: "narrative_delta", event: { text } });
  const told = (session: Session): unknown => session.turns[0]!.narratives.map((one) => [one.text, one.pieces]);
  const spoken = (records: Draft[]): string[] =>
    announcements(played(prompt("x"), ...records), 0).map((one) => one.text);

  it("grows, and is whole when its plan starts", () => {
    const records = numbered([prompt("x"), piece("The door "), piece("creaks."), started, tell("The door creaks.")]);
    expect(told(played(records.slice(0, 2)))).toEqual([["The door ", "open"]]);
    expect(told(played(records.slice(0, 3)))).toEqual([["The door creaks.", "open"]]);
    expect(told(played(records))).toEqual([["The door creaks.", "whole"]]);
  });

  it("has the words of its plan if they differ", () => {
    expect(told(played(prompt("x"), piece("A door."), started, tell("A gate.")))).toEqual([["A gate.", "whole"]]);
  });

  it("stays, marked, if it is retracted", () => {
    const retracted: Draft = { kind: "narrative_retracted", event: {} };
    expect(told(played(prompt("x"), piece("One."), retracted, piece("Two")))).toEqual([
      ["One.", "retracted"],
      ["Two", "open"],
    ]);
    expect(spoken([piece("A door. And"), retracted, piece("A gate"), started, tell("A gate.")])).toEqual([
      "A door.",
      "The narrator takes that back.",
      "A gate.",
    ]);
  });

  it("is spoken sentence by sentence", () => {
    expect(spoken(["The do", "or", " creaks. “Who’s", " there?” she", " asks.\n", "The end"].map(piece))).toEqual([
      "The door creaks.",
      "“Who’s there?”",
      "she asks.",
    ]);
    expect(spoken([piece("It is 3.5 m. Yes"), started, tell("It is 3.5 m. Yes.")])).toEqual(["It is 3.5 m.", "Yes."]);
    expect(spoken([piece("A door. "), started, tell("A gate.")])).toEqual(["A door.", "A gate."]);
    expect(spoken([piece("A door.\n"), started, tell("A door.")])).toEqual(["A door."]);
  });
});

describe("records", () => {
  it("give the same session however they are batched", () => {
    const whole = seen(played(replanned));
    fc.assert(
      fc.property(fc.array(fc.nat(replanned.length)), (cuts) => {
        const session = new Session(() => {});
        session.open({ sessionId: "s", title: "T", last: replanned.length, state: {} });
        let from = 0;
        for (const to of [...cuts, replanned.length].sort((a, b) => a - b)) {
          session.take(replanned.slice(from, to));
          from = to;
        }
        expect(seen(session)).toEqual(whole);
      }),
    );
  });

  it("are taken once; a gap stops", () => {
    const session = new Session(() => {});
    expect(session.take(replanned.slice(0, 10))).toBe("all");
    expect(session.take(replanned.slice(5, 12))).toBe("all");
    expect(session.take(replanned.slice(20))).toBe("gap");
    expect(session.lastSeq).toBe(12);
    expect(session.take(replanned.slice(20), true)).toBe("all");
  });

  it("of a game that continues begin with a later one", () => {
    const session = new Session(() => {});
    session.open({ sessionId: "s", title: "T", after: 8, last: 10, state: {} });
    expect(session.take(replanned.slice(8, 10))).toBe("all");
  });

  it("of any shape are harmless", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            kind: fc.constantFrom(
              "tool_event", "prompt", "narrative", "plan_started", "plan_ended", "tool_pending", "tool_started",
              "tool_ended", "attempt_started", "attempt_ended", "asset_refused", "state_conflict", "warning",
              "ui_placeholder", "asset_placeholder", "turn_ended", "state_patched", "story_reloaded", "narrative_delta",
              "narrative_retracted", "unheard_of",
            ),
            planId: fc.constantFrom(null, "p", "q", "__proto__"),
            toolId: fc.constantFrom(null, "t", "constructor"),
            attempt: fc.constantFrom(null, 1, 2),
            event: fc.dictionary(
              fc.constantFrom(
                "type", "text", "plan", "state", "patch", "choices", "payload", "fields", "assetId", "event", "level",
                "opening", "faults",
              ),
              fc.oneof(
                fc.jsonValue(),
                fc.constantFrom("log", "asset", "ui_event", "error", "done", "state_patch", "narrative_choice"),
              ),
            ),
          }),
        ),
        (drafts) => {
          const records = numbered(drafts as Draft[]);
          expect(played(records).lastSeq).toBe(records.length);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("a listener", () => {
  it("is called once per frame until it unsubscribes", () => {
    const frames: (() => void)[] = [];
    const session = new Session((run) => frames.push(run));
    let calls = 0;
    const leave = session.subscribe(() => ++calls);
    session.take(replanned.slice(0, 3));
    session.take(replanned.slice(3, 6));
    expect(frames.length).toBe(1);
    frames.pop()!();
    expect(calls).toBe(1);
    leave();
    session.take(replanned.slice(6));
    frames.pop()!();
    expect(calls).toBe(1);
  });
});

describe("100,000 events", () => {
  it("are taken in less than three seconds and 60 MB", () => {
    const text: string[] = [];
    for (let index = 0; index < 100_000; ++index) {
      const event =
        index % 10 === 0
          ? { version: "0", type: "state_patch", patch: { counter: { value: index } } }
          : { version: "0", type: "log", level: "info", message: `Step ${index} of many, which takes a moment` };
      const record = { ...numbered([from("tool_event", event, 1)])[0]!, seq: index + 2 };
      text.push(JSON.stringify(record));
    }
    globalThis.gc?.();
    const before = process.memoryUsage().heapUsed;
    const session = new Session(() => {});
    session.take(numbered([started]));
    const began = performance.now();
    for (let index = 0; index < text.length; index += 200) {
      session.take(text.slice(index, index + 200).map((line) => JSON.parse(line) as EventRecord));
    }
    const took = performance.now() - began;
    globalThis.gc?.();
    const grew = (process.memoryUsage().heapUsed - before) / 1e6;
    expect(session.lastSeq).toBe(100_001);
    expect(session.plans.get("p#1")?.invocations.get("t")?.logs.length).toBe(90_000);
    console.info(`100,000 events: ${took.toFixed(0)} ms, ${grew.toFixed(1)} MB`);
    if (globalThis.gc !== undefined) expect(grew).toBeLessThan(60);
  });
});
