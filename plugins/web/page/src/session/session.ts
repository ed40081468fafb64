// SPDX-License-Identifier: Apache-2.0
// A session, derived only from its records: the same records give the same session, however they are batched.
import { blankTurn } from "./blank_turn.ts";
import { FrameNotifier, type Schedule } from "./frame_notifier.ts";
import { LogLines, levels } from "./log_lines.ts";
import { Merger, difference } from "./merge.ts";
import { arranged, canUndo, goBack } from "./moves.ts";
import type {
  Asset,
  Attempt,
  AttemptState,
  Conflict,
  Invocation,
  InvocationState,
  Narrative,
  OpeningScene,
  Outcome,
  Patch,
  PlanRun,
  StoryFault,
  Turn,
  UiPlaceholder,
} from "./model.ts";
import { isOutcome } from "./outcome.ts";
import { pastTurns, turnBefore } from "./past.ts";
import {
  type EventRecord,
  type JsonObject,
  flagOf,
  isObject,
  member,
  numberOf,
  objectOf,
  textOf,
  textsOf,
  timeOf,
} from "./record.ts";

export type * from "./model.ts";
export type { Level, LogLine, LogLines } from "./log_lines.ts";

// The `session` message, the first of each stream. `sessionId` is "" before the first record. `game` is known from the
// beginning; this page's requests contain it, so that a later game at the same address refuses them.
export interface Opening {
  sessionId: string;
  game?: string | undefined;
  title: string;
  language?: string | undefined;
  opening?: OpeningScene | undefined;
  // The number before the first record of the stream: not 0 in a game that continues.
  after?: number | undefined;
  last: number;
  state?: JsonObject | undefined;
  // The last turns of a saved game before the first record, the oldest first.
  turns?: readonly JsonObject[] | undefined;
  // The prompt after them that was interrupted.
  interrupted?: JsonObject | undefined;
}

// A stored prompt that can be resumed.
export interface Interrupted {
  id: number;
  text: string;
}

// The error code of attempts and tools that the player or the host cancelled.
const kCancelled = "CANCELLED";

export type Taken = "all" | "gap";

export class Session {
  id = "";
  game = "";
  title = "";
  // A BCP 47 language tag; "" if the story does not say.
  language = "";
  opening: OpeningScene = { text: "", choices: [] };
  // Of the story's files as last saved. Until they are fixed, the session plays the story from before.
  storyFaults: readonly StoryFault[] = [];
  initialState: JsonObject = {};
  lastSeq = 0;
  // True once all records that existed when the first stream opened have come.
  caughtUp = false;
  // Increases with each change.
  version = 0;
  // The number of the last stored turn, 0 for the beginning; undefined if the game is not saved.
  turnId: number | undefined;
  // Follows the end of the story, until a turn begins or the session moves.
  interrupted: Interrupted | undefined;
  // Why the game is not being saved; "" if it is.
  storeFault = "";
  // The last warning that belongs to no turn.
  stray: { seq: number; message: string } | undefined;

  // In the order in which they were played, with each move of the session.
  readonly turns: Turn[] = [];
  // The turns on the way to where the session is, and a marker if it has just gone there. A move replaces the array.
  story: Turn[] = [];
  // The undone turns that began at the beginning, as Turn.branches.
  branches: Turn[][] = [];
  // By PlanRun.key, in the order of their start.
  readonly plans = new Map<string, PlanRun>();
  readonly assets: Asset[] = [];
  readonly patches: Patch[] = [];
  readonly conflicts: Conflict[] = [];

  // The last warning about the store. It may concern a single move, or a fault that keeps nothing from being saved.
  #storeWarning = "";
  // The shown turn at whose end the session is.
  #current: Turn | undefined;
  // The stored turn before the first shown one.
  #before: JsonObject | undefined;
  // True if the next prompt is one that is played again.
  #playsAgain = false;
  // The state after the session last moved, and the number of patches before it.
  #moved: { state: JsonObject; patches: number } | undefined;
  #last: number | undefined;
  // The latest execution of each plan, by plan id. Records refer to it.
  #latest = new Map<string, PlanRun>();
  #executions = new Map<string, number>();
  // The current asset by plan execution, tool and name; and the asset that each one replaced.
  #standing = new Map<string, Asset>();
  #replaced = new WeakMap<Asset, Asset>();
  #notifier: FrameNotifier;

  constructor(schedule?: Schedule) {
    this.#notifier = new FrameNotifier(schedule);
  }

  // The running turn.
  get running(): Turn | undefined {
    const last = this.turns.at(-1);
    return last !== undefined && last.outcome === undefined ? last : undefined;
  }

  get busy(): boolean {
    return this.running !== undefined;
  }

  // Calls `listener` after changes, at most once per frame. Returns a function that ends the subscription.
  subscribe(listener: () => void): () => void {
    return this.#notifier.subscribe(listener);
  }

  // True if the stream is of a different session. A session without an id has no records, so it differs from one that
  // has an id.
  isAnother(opening: Opening): boolean {
    return this.id !== "" && opening.sessionId !== this.id;
  }

  open(opening: Opening): void {
    if (opening.sessionId !== "") this.id = opening.sessionId;
    this.game = opening.game ?? "";
    this.title = opening.title;
    this.language = opening.language ?? "";
    if (opening.opening !== undefined) this.opening = opening.opening;
    if (opening.state !== undefined) this.initialState = opening.state;
    if (this.lastSeq === 0) this.lastSeq = opening.after ?? 0;
    if (this.turns.length === 0) this.#addPast(opening.turns ?? [], opening.interrupted);
    this.#last = opening.last;
    this.#changed();
  }

  // Skips records that came before. Stops at a gap, unless `skipGap` says that the missing records will never come.
  take(records: readonly EventRecord[], skipGap = false): Taken {
    let taken: Taken = "all";
    for (const record of records) {
      if (record.seq <= this.lastSeq) continue;
      if (record.seq > this.lastSeq + 1 && !skipGap) {
        taken = "gap";
        break;
      }
      this.lastSeq = record.seq;
      if (this.id === "") this.id = record.sessionId;
      this.#apply(record);
    }
    this.#changed();
    return taken;
  }

  // The game has ended: the running turn will never be completed.
  markLost(time: number): void {
    const turn = this.running;
    if (turn === undefined) return;
    // The number of the next record, which never comes.
    endTurn(turn, "lost", this.lastSeq + 1, time);
    this.#changed();
  }

  #addPast(stored: readonly JsonObject[], interrupted: JsonObject | undefined): void {
    this.#before = turnBefore(stored);
    for (const turn of pastTurns(stored)) {
      this.#current = turn;
      this.turnId = turn.id;
      this.#add(turn);
      this.assets.push(...turn.assets);
      this.lastSeq = Math.max(this.lastSeq, ...turn.assets.map((asset) => asset.seq));
    }
    if (interrupted === undefined) return;
    this.interrupted = { id: numberOf(interrupted, "id") ?? 0, text: textOf(interrupted, "prompt") ?? "" };
    this.turnId ??= 0;
  }

  #changed(): void {
    this.caughtUp ||= this.#last !== undefined && this.lastSeq >= this.#last;
    this.version += 1;
    this.#notifier.notify();
  }

  #apply(record: EventRecord): void {
    const time = timeOf(record);
    switch (record.kind) {
      case "tool_event": return this.#toolEvent(record, time);
      case "prompt": return this.#prompt(record, time);
      case "narrative": return this.#narrative(record, time, textOf(record.event, "text") ?? "");
      case "narrative_delta": return this.#narrativeDelta(record, time, textOf(record.event, "text") ?? "");
      case "narrative_retracted": return this.#narrativeRetracted(record, time);
      case "plan_started": return this.#planStarted(record, time);
      case "plan_ended": return this.#planEnded(record, time);
      case "tool_pending": return this.#toolPending(record, time);
      case "tool_started": return this.#toolStarted(record, time);
      case "tool_ended": return this.#toolEnded(record, time);
      case "attempt_started": return void this.#attempt(record, time);
      case "attempt_ended": return this.#attemptEnded(record, time);
      case "asset_refused": return this.#assetRefused(record);
      case "ui_placeholder": return this.#uiPlaceholder(record, time);
      case "state_patched": return this.#patch(record, time, textOf(record.event, "by") ?? "");
      case "state_conflict": return this.#conflict(record);
      case "warning": return this.#warning(record);
      case "story_reloaded": return this.#storyReloaded(record);
      case "turn_ended": return this.#turnEnded(record, time);
      case "session_moved": return this.#sessionMoved(record, time);
    }
  }

  // --- turns -----------------------------------------------------------------------------------------------------

  #prompt(record: EventRecord, time: number): void {
    const before = this.running;
    if (before !== undefined) endTurn(before, "completed", record.seq, time);
    const text = textOf(record.event, "text") ?? "";
    // An interrupted prompt was not played to its end before.
    const resumes = this.interrupted?.text === text;
    const turn = this.#newTurn(record, time);
    turn.prompt = { text };
    turn.isAgain = this.#playsAgain && !resumes;
    this.#playsAgain = false;
  }

  #newTurn(record: EventRecord, time: number): Turn {
    const turn = blankTurn(this.turns.length, record.seq, time);
    turn.previous = this.#current;
    this.#current = turn;
    this.#add(turn);
    return turn;
  }

  #add(turn: Turn): void {
    this.interrupted = undefined;
    this.turns.push(turn);
    if (this.story.at(-1)?.isMarker === true) this.story.pop();
    this.story.push(turn);
  }

  // The turn that a record belongs to: its plan's turn, else the running turn, else a new one begun by the host.
  #turnOf(record: EventRecord, time: number): Turn {
    const turn = this.#planOf(record)?.turn ?? this.running ?? this.#newTurn(record, time);
    turn.revision = record.seq;
    return turn;
  }

  #narrative(record: EventRecord, time: number, text: string): void {
    const turn = this.#turnOf(record, time);
    turn.untold = [];
    const open = openNarrative(turn);
    if (open === undefined) return addNarrative(turn, record.seq, text);
    // A plan's narrative may be trimmed.
    const isSpoken = text.startsWith(open.text.trimEnd());
    const rest = isSpoken ? text.slice(spokenLength(open)) : text;
    Object.assign(open, { text, pieces: "whole" });
    if (rest.trim() !== "") open.spoken.push({ seq: record.seq, text: rest });
  }

  #narrativeDelta(record: EventRecord, time: number, text: string): void {
    const turn = this.#turnOf(record, time);
    let open = openNarrative(turn);
    if (open === undefined) {
      open = { seq: record.seq, text: "", pieces: "open", spoken: [] };
      turn.narratives.push(open);
      turn.entries.push({ what: "narrative", seq: record.seq, narrative: open });
    }
    open.text += text;
    // Whole sentences only.
    const rest = open.text.slice(spokenLength(open));
    const end = /^[^]*(?:[.!?…][^\p{L}\p{N}\s]{0,8}\s|[。！？]|\n)/u.exec(rest)?.[0];
    if (end !== undefined && end.trim() !== "") open.spoken.push({ seq: record.seq, text: end });
  }

  #narrativeRetracted(record: EventRecord, time: number): void {
    const open = openNarrative(this.#turnOf(record, time));
    if (open === undefined) return;
    open.pieces = "retracted";
    open.spoken.push({ seq: record.seq, text: "" });
  }

  #turnEnded(record: EventRecord, time: number): void {
    const turn = this.running;
    if (turn === undefined) return;
    const outcome = textOf(record.event, "outcome");
    turn.generations = numberOf(record.event, "generations");
    const usage = objectOf(record.event, "usage");
    if (usage !== undefined) {
      turn.usage = {
        input: numberOf(usage, "inputTokens") ?? 0,
        cached: numberOf(usage, "cachedTokens") ?? 0,
        output: numberOf(usage, "outputTokens") ?? 0,
        cost: numberOf(usage, "cost"),
        currency: textOf(usage, "currency"),
      };
    }
    if (Object.hasOwn(record.event, "choices")) {
      const choices = textsOf(record.event, "choices");
      turn.choices = choices.length === 0 ? undefined : { planKey: turn.choices?.planKey, prompt: turn.choices?.prompt, choices };
    }
    // A turn that could not be stored has the number 0.
    const id = numberOf(record.event, "turn");
    if (id !== undefined && id > 0) turn.id = this.turnId = id;
    const isDurable = flagOf(record.event, "durable");
    if (isDurable !== undefined) this.storeFault = isDurable ? "" : this.#storeWarning;
    endTurn(turn, isOutcome(outcome) ? outcome : "completed", record.seq, time);
  }

  #sessionMoved(record: EventRecord, time: number): void {
    const to = numberOf(record.event, "turn") ?? 0;
    this.turnId = to;
    const last = goBack(this.turns, this.#current, to, record.seq);
    this.#current = last;
    ({ story: this.story, branches: this.branches } = arranged(this.turns, last, record.seq));
    if (record.state !== undefined) this.#replaceState(record.state, time);
    this.#playsAgain = flagOf(record.event, "playsAgain") === true;
    // The player has read what comes before that prompt.
    if (this.#playsAgain) return;
    const turn = blankTurn(this.turns.length, record.seq, time);
    turn.previous = last;
    turn.movedTo = to;
    turn.ending = textOf(record.event, "ending");
    const told = textOf(record.event, "narrative") ?? "";
    // The prompts before a turn that was stored before this page are not shown.
    turn.isLater = to > 0 && (turn.index === 0 || told !== "");
    if (last?.id === to) turn.backTo = last.prompt?.text ?? last.backTo;
    else if (numberOf(this.#before ?? {}, "id") === to) turn.backTo = textOf(this.#before ?? {}, "prompt");
    // The story's opening is always shown.
    turn.isMarker = last === undefined ? !canUndo(turn) : last.id === to || hasTold(last, told);
    if (!turn.isMarker) {
      turn.id = to;
      this.#current = turn;
      if (told !== "") addNarrative(turn, record.seq, told);
    }
    this.#add(turn);
    const choices = textsOf(record.event, "choices");
    if (choices.length > 0) turn.choices = { choices };
    endTurn(turn, "completed", record.seq, time);
  }

  // The views of the state see a move as one patch of the host.
  #replaceState(state: JsonObject, time: number): void {
    const merger = new Merger();
    let before = this.#moved?.state ?? this.initialState;
    for (const patch of this.patches.slice(this.#moved?.patches ?? 0)) before = merger.apply(before, patch);
    const patch = difference(before, state);
    if (Object.keys(patch.patch).length > 0) {
      this.patches.push({ time, planKey: undefined, toolId: undefined, by: "", isMove: true, patch: patch.patch, nulls: patch.nulls });
    }
    this.#moved = { state, patches: this.patches.length };
  }

  // --- plans -----------------------------------------------------------------------------------------------------

  #planOf(record: EventRecord): PlanRun | undefined {
    return typeof record.planId === "string" ? this.#latest.get(record.planId) : undefined;
  }

  #planStarted(record: EventRecord, time: number): void {
    const planId = record.planId ?? "";
    const execution = (this.#executions.get(planId) ?? 0) + 1;
    this.#executions.set(planId, execution);
    const turn = this.running ?? this.#newTurn(record, time);
    const content = objectOf(record.event, "plan") ?? {};
    const continues = turn.plans.findLast((one) => one.success === true && one.isContinued);
    const plan: PlanRun = {
      key: `${planId}#${execution}`,
      plan: content,
      isOpen: flagOf(record.event, "open") === true,
      isContinued: flagOf(content, "continue") === true,
      continues,
      started: time,
      failedTools: [],
      invocations: new Map(),
      turn,
      revision: record.seq,
    };
    this.#latest.set(planId, plan);
    this.plans.set(plan.key, plan);
    turn.plans.push(plan);
    turn.entries.push({ what: "plan", seq: record.seq, plan });
    turn.choices = continues === undefined || turn.choices === undefined ? undefined : { ...turn.choices, planKey: plan.key };
    turn.revision = record.seq;
  }

  #planEnded(record: EventRecord, time: number): void {
    const plan = this.#planOf(record);
    if (plan === undefined) return;
    plan.ended = time;
    plan.success = flagOf(record.event, "success") ?? false;
    plan.failedTools = textsOf(record.event, "failedTools");
    plan.executionTime = numberOf(record.event, "executionTime");
    plan.revision = record.seq;
    plan.turn.revision = record.seq;
    if (plan.success) {
      offer(plan, textsOf(plan.plan, "choices"), undefined);
    } else {
      tellUntold(plan.turn, record.seq);
      plan.turn.entries.push({ what: "failure", seq: record.seq, plan });
      // A failed plan offers no choices.
      plan.turn.choices = undefined;
    }
    if (plan.turn.prompt === undefined && plan.turn.outcome === undefined) {
      endTurn(plan.turn, plan.success ? "completed" : "failed", record.seq, time);
    }
  }

  // --- invocations -----------------------------------------------------------------------------------------------

  #invocation(record: EventRecord, time: number): Invocation | undefined {
    const plan = this.#planOf(record);
    const toolId = record.toolId;
    if (plan === undefined || typeof toolId !== "string") return undefined;
    plan.revision = record.seq;
    plan.turn.revision = record.seq;
    let invocation = plan.invocations.get(toolId);
    if (invocation === undefined) {
      invocation = {
        planKey: plan.key,
        toolId,
        toolPath: "",
        dependencies: [],
        state: "pending",
        attempts: [],
        logs: new LogLines(),
        errors: [],
        pendingSince: time,
        revision: record.seq,
      };
      plan.invocations.set(toolId, invocation);
    }
    invocation.revision = record.seq;
    return invocation;
  }

  #toolPending(record: EventRecord, time: number): void {
    const invocation = this.#invocation(record, time);
    if (invocation === undefined) return;
    invocation.toolPath = textOf(record.event, "toolPath") ?? "";
    invocation.line = numberOf(record.event, "line");
    invocation.dependencies = textsOf(record.event, "dependencies");
  }

  #toolStarted(record: EventRecord, time: number): void {
    const invocation = this.#invocation(record, time);
    if (invocation === undefined) return;
    invocation.toolPath = textOf(record.event, "toolPath") ?? invocation.toolPath;
    invocation.line = numberOf(record.event, "line") ?? invocation.line;
    invocation.state = "running";
    invocation.started = time;
  }

  #toolEnded(record: EventRecord, time: number): void {
    const invocation = this.#invocation(record, time);
    if (invocation === undefined) return;
    const state = textOf(record.event, "state");
    invocation.state = isEnd(state) ? state : flagOf(record.event, "ok") === true ? "completed" : "failed";
    invocation.ended = time;
    invocation.executionTime = numberOf(record.event, "executionTime");
    invocation.error = textOf(record.event, "error");
    invocation.errorCode = textOf(record.event, "errorCode");
    invocation.stderr = textOf(record.event, "stderr");
    if (invocation.state === "failed" && invocation.errorCode === kCancelled) invocation.state = "stopped";
    // The text of a failed tool is part of the turn's remark instead.
    const summary = invocation.state === "completed" ? (invocation.summary ?? "").trim() : "";
    const plan = this.#planOf(record);
    const narrative = textOf(plan?.plan ?? {}, "narrative") ?? "";
    if (plan === undefined || narrative.includes(summary)) return;
    plan.turn.untold.push(summary);
    if (!plan.isContinued) tellUntold(plan.turn, record.seq);
  }

  // The attempt of a record. The first record that names an attempt creates it.
  #attempt(record: EventRecord, time: number): { invocation: Invocation; attempt: Attempt } | undefined {
    const invocation = this.#invocation(record, time);
    if (invocation === undefined) return undefined;
    const number = record.attempt ?? numberOf(record.event, "attempt") ?? 1;
    let attempt = invocation.attempts.at(-1);
    if (attempt?.number !== number) attempt = invocation.attempts.find((one) => one.number === number);
    if (attempt === undefined) {
      attempt = {
        number,
        state: "running",
        started: time,
      };
      invocation.attempts.push(attempt);
      invocation.state = "running";
      invocation.progress = undefined;
      invocation.progressMessage = undefined;
    }
    return { invocation, attempt };
  }

  #attemptEnded(record: EventRecord, time: number): void {
    const found = this.#attempt(record, time);
    if (found === undefined) return;
    const { invocation, attempt } = found;
    const state = textOf(record.event, "state");
    attempt.state = isAttemptEnd(state) ? state : "failed";
    attempt.ended = time;
    attempt.code = textOf(record.event, "code");
    attempt.error = textOf(record.event, "error");
    attempt.exitStatus = numberOf(record.event, "exitStatus");
    attempt.signal = numberOf(record.event, "signal");
    if (attempt.state === "failed" && attempt.code === kCancelled) attempt.state = "stopped";
    if (attempt.state !== "completed") invocation.state = "retrying";
  }

  // --- events of tools -------------------------------------------------------------------------------------------

  #toolEvent(record: EventRecord, time: number): void {
    const found = this.#attempt(record, time);
    if (found === undefined) return;
    const { invocation, attempt } = found;
    const event = record.event;
    switch (textOf(event, "type")) {
      case "log": {
        const fields = objectOf(event, "fields");
        const level = textOf(event, "level");
        invocation.logs.add({
          seq: record.seq,
          time,
          level: levels.find((one) => one === level) ?? "info",
          message: textOf(event, "message") ?? "",
          fields,
          attempt: attempt.number,
        });
        const progress = fields === undefined ? undefined : numberOf(fields, "progress");
        if (progress !== undefined && progress >= 0 && progress <= 1) {
          invocation.progress = progress;
          invocation.progressMessage = textOf(event, "message");
        }
        break;
      }
      case "state_patch":
        this.#patch(record, time, undefined);
        break;
      case "asset":
        this.#asset(record, time);
        break;
      case "ui_event": {
        const plan = this.#planOf(record);
        const payload = objectOf(event, "payload");
        if (plan === undefined || payload === undefined || textOf(event, "event") !== "narrative_choice") break;
        offer(plan, textsOf(payload, "choices"), textOf(payload, "prompt"));
        break;
      }
      case "error":
        invocation.errors.push({
          attempt: attempt.number,
          code: textOf(event, "errorCode") ?? "",
          message: textOf(event, "errorMessage") ?? "",
          details: objectOf(event, "details"),
        });
        break;
      case "done":
        invocation.summary = textOf(event, "summary");
        invocation.result = member(event, "result");
        if (flagOf(event, "ok") === true) invocation.progress = invocation.progress === undefined ? undefined : 1;
        break;
    }
  }

  #patch(record: EventRecord, time: number, by: string | undefined): void {
    const patch = objectOf(record.event, "patch");
    if (patch === undefined) return;
    this.patches.push({
      time,
      planKey: this.#planOf(record)?.key,
      toolId: record.toolId ?? undefined,
      by,
      patch,
      nulls: objectOf(record.event, "nulls"),
    });
  }

  #asset(record: EventRecord, time: number): void {
    const event = record.event;
    const turn = this.#turnOf(record, time);
    const asset: Asset = {
      seq: record.seq,
      time,
      planKey: this.#planOf(record)?.key,
      toolId: record.toolId ?? "",
      attempt: record.attempt ?? 1,
      assetId: textOf(event, "assetId") ?? "",
      kind: textOf(event, "kind") ?? "",
      mediaType: textOf(event, "mediaType") ?? "",
      path: textOf(event, "path") ?? "",
      metadata: objectOf(event, "metadata") ?? {},
    };
    const name = nameOf(asset);
    const before = this.#standing.get(name);
    if (before !== undefined) {
      before.replaced = asset;
      this.#replaced.set(asset, before);
    }
    this.#standing.set(name, asset);
    this.assets.push(asset);
    turn.assets.push(asset);
    turn.entries.push({ what: "asset", seq: record.seq, asset });
  }

  #standingAsset(record: EventRecord): Asset | undefined {
    const planKey = this.#planOf(record)?.key;
    const assetId = textOf(record.event, "assetId");
    if (assetId === undefined) return undefined;
    return this.#standing.get(nameOf({ planKey, toolId: record.toolId ?? "", assetId }));
  }

  // Undoes a replacement: the asset that the refused one replaced is current again.
  #assetRefused(record: EventRecord): void {
    const asset = this.#standingAsset(record);
    if (asset === undefined || asset.refused !== undefined) return;
    asset.refused = {
      code: textOf(record.event, "code") ?? "",
      message: textOf(record.event, "message") ?? "",
    };
    const before = this.#replaced.get(asset);
    if (before !== undefined) {
      delete before.replaced;
      this.#standing.set(nameOf(asset), before);
    } else {
      this.#standing.delete(nameOf(asset));
    }
    const turn = this.#planOf(record)?.turn;
    if (turn !== undefined) turn.revision = record.seq;
  }

  #uiPlaceholder(record: EventRecord, time: number): void {
    const turn = this.#turnOf(record, time);
    const placeholder: UiPlaceholder = {
      planKey: this.#planOf(record)?.key,
      toolId: record.toolId ?? undefined,
      attempt: record.attempt ?? undefined,
      event: textOf(record.event, "event") ?? "",
      payload: member(record.event, "payload") ?? {},
    };
    dropEarlierAttempts(turn, placeholder);
    turn.entries.push({ what: "placeholder", seq: record.seq, placeholder });
  }

  #conflict(record: EventRecord): void {
    this.conflicts.push({ path: textOf(record.event, "path") ?? "", tools: textsOf(record.event, "tools") });
  }

  #storyReloaded(record: EventRecord): void {
    this.title = textOf(record.event, "title") ?? this.title;
    const opening = objectOf(record.event, "opening") ?? {};
    this.opening = { text: textOf(opening, "text") ?? "", choices: textsOf(opening, "choices") };
    const faults = member(record.event, "faults");
    this.storyFaults = (Array.isArray(faults) ? faults.filter(isObject) : []).map((fault) => ({
      place: [textOf(fault, "file"), numberOf(fault, "line"), numberOf(fault, "column")]
        .filter((part) => part !== undefined)
        .join(":"),
      message: textOf(fault, "message") ?? "",
    }));
  }

  #warning(record: EventRecord): void {
    const turn = this.#planOf(record)?.turn ?? this.running;
    const message = textOf(record.event, "message") ?? "";
    const code = textOf(record.event, "code") ?? "";
    if (code === "STORE_RECOVERED") this.storeFault = "";
    else if (code.startsWith("STORE_")) this.#storeWarning = message;
    if (turn === undefined) return void (this.stray = { seq: record.seq, message });
    turn.warnings.push({ toolId: record.toolId ?? undefined, message });
    turn.revision = record.seq;
  }
}

function addNarrative(turn: Turn, seq: number, text: string): void {
  const narrative: Narrative = { seq, text, spoken: [{ seq, text }] };
  turn.narratives.push(narrative);
  turn.entries.push({ what: "narrative", seq, narrative });
}

// True if `text` is what the store has as the text of the turn. A turn of the host has the text of the turn before it.
function hasTold(turn: Turn, text: string): boolean {
  const told = turn.narratives.filter((one) => one.pieces !== "retracted").map((one) => one.text);
  return text === "" || told.join("\n\n") === text;
}

// The narrative that the narrator is telling in pieces.
function openNarrative(turn: Turn): Narrative | undefined {
  const last = turn.narratives.at(-1);
  return last?.pieces === "open" ? last : undefined;
}

function spokenLength(narrative: Narrative): number {
  return narrative.spoken.reduce((sum, one) => sum + one.text.length, 0);
}

function tellUntold(turn: Turn, seq: number): void {
  if (turn.untold.length === 0) return;
  addNarrative(turn, seq, turn.untold.join("\n\n"));
  turn.untold = [];
}

// The choices of a plan, and of the plans that it continues, form one list, in the order of arrival.
function offer(plan: PlanRun, texts: string[], prompt: string | undefined): void {
  const more = texts.filter((one) => one !== "");
  if (more.length === 0) return;
  const before = plan.turn.choices?.planKey === plan.key ? plan.turn.choices : undefined;
  const choices = [...new Set([...(before?.choices ?? []), ...more])];
  plan.turn.choices = { planKey: plan.key, prompt: prompt ?? before?.prompt, choices };
}

function endTurn(turn: Turn, outcome: Outcome, seq: number, time: number): void {
  tellUntold(turn, seq);
  turn.outcome = outcome;
  turn.ended = time;
  turn.endSeq = seq;
  turn.revision = seq;
}

// A retried tool repeats its events, so only the placeholders of the latest attempt are kept.
function dropEarlierAttempts(turn: Turn, placeholder: UiPlaceholder): void {
  const { attempt, toolId, planKey, event } = placeholder;
  if (attempt === undefined || attempt < 2) return;
  const isEarlier = (one: UiPlaceholder): boolean =>
    one.toolId === toolId && one.planKey === planKey && one.event === event && (one.attempt ?? attempt) < attempt;
  turn.entries = turn.entries.filter((entry) => entry.what !== "placeholder" || !isEarlier(entry.placeholder));
}

function nameOf(asset: Pick<Asset, "planKey" | "toolId" | "assetId">): string {
  return JSON.stringify([asset.planKey ?? null, asset.toolId, asset.assetId]);
}

function isEnd(text: string | undefined): text is InvocationState {
  return text === "completed" || text === "failed" || text === "skipped" || text === "timeout";
}

function isAttemptEnd(text: string | undefined): text is AttemptState {
  return text === "completed" || text === "failed" || text === "timeout";
}
