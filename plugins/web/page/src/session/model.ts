// SPDX-License-Identifier: Apache-2.0
// The parts of a session, for the views. `revision` is the seq of the last record that changed the object; a view
// compares it to know whether to render again. Times are in milliseconds since 1970.
import type { LogLines } from "./log_lines.ts";
import type { Json, JsonObject } from "./record.ts";

export type InvocationState =
  | "pending" | "running" | "retrying" | "completed" | "failed" | "skipped" | "timeout"
  // Cancelled, not failed.
  | "stopped";
export type AttemptState = "running" | "completed" | "failed" | "timeout" | "stopped";

// "failed": a plan without a prompt failed. "lost": the game ended during the turn. The others are outcomes of the
// record `turn_ended`.
export type Outcome = "completed" | "fallback" | "cancelled" | "timeout" | "failed" | "lost";

export interface Attempt {
  number: number;
  state: AttemptState;
  started: number;
  ended?: number | undefined;
  code?: string | undefined;
  error?: string | undefined;
  exitStatus?: number | undefined;
  signal?: number | undefined;
}

// An `error` event of the tool itself.
export interface ToolError {
  attempt: number;
  code: string;
  message: string;
  details: JsonObject | undefined;
}

export interface Invocation {
  planKey: string;
  toolId: string;
  toolPath: string;
  // The line of the script that invoked the tool.
  line?: number | undefined;
  dependencies: string[];
  state: InvocationState;
  attempts: Attempt[];
  logs: LogLines;
  // The latest `fields.progress`, 0 to 1.
  progress?: number | undefined;
  // The message of that event.
  progressMessage?: string | undefined;
  errors: ToolError[];
  // From its `done` event.
  summary?: string | undefined;
  result?: Json | undefined;
  // From the record `tool_ended`.
  error?: string | undefined;
  errorCode?: string | undefined;
  stderr?: string | undefined;
  executionTime?: number | undefined;
  pendingSince: number;
  started?: number | undefined;
  ended?: number | undefined;
  revision: number;
}

// One execution of a plan. A host may run the same plan again.
export interface PlanRun {
  key: string;
  plan: JsonObject;
  // The narrator adds invocations one by one while it generates its reply.
  isOpen: boolean;
  // "continue": after success the narrator is asked for the next plan of the turn.
  isContinued: boolean;
  // The plan of the turn that this one continues.
  continues?: PlanRun | undefined;
  started: number;
  ended?: number | undefined;
  success?: boolean | undefined;
  failedTools: string[];
  executionTime?: number | undefined;
  // In the plan's order.
  invocations: Map<string, Invocation>;
  turn: Turn;
  revision: number;
}

export interface Narrative {
  seq: number;
  text: string;
  // The narrator told it in pieces, and may be telling it still. "retracted": no plan followed.
  pieces?: "open" | "whole" | "retracted";
  // What a screen reader says, with the record that completed it: sentence by sentence while it is told in pieces.
  spoken: { seq: number; text: string }[];
}

// The sum of what the narrator's replies in a turn took, in tokens.
export interface Usage {
  input: number;
  cached: number;
  output: number;
  cost: number | undefined;
  currency: string | undefined;
}

export interface Choices {
  planKey?: string | undefined;
  prompt?: string | undefined;
  choices: string[];
}

export interface Asset {
  seq: number;
  time: number;
  planKey: string | undefined;
  toolId: string;
  attempt: number;
  assetId: string;
  kind: string;
  mediaType: string;
  path: string;
  metadata: JsonObject;
  refused?: { code: string; message: string };
  // The later asset with the same name that replaced this one.
  replaced?: Asset;
}

export interface UiPlaceholder {
  planKey: string | undefined;
  toolId: string | undefined;
  attempt: number | undefined;
  event: string;
  payload: Json;
}

export interface Warning {
  toolId: string | undefined;
  message: string;
}

export interface Conflict {
  path: string;
  tools: string[];
}

export interface Patch {
  time: number;
  planKey: string | undefined;
  toolId: string | undefined;
  // The author of a patch that is not from a tool: "" is the host, otherwise a plugin's id.
  by: string | undefined;
  // True if the session went to another turn.
  isMove?: boolean;
  patch: JsonObject;
  // Merged after the patch. A null in it is a value, whereas a null in the patch removes the member.
  nulls: JsonObject | undefined;
}

// A fault of the story's files, which the session reads again when they are saved.
export interface StoryFault {
  // "prompts.json:3:7", or "" for a fault of the whole story.
  place: string;
  message: string;
}

// The beginning of the story, before the first prompt: [opening] of story.toml.
export interface OpeningScene {
  text: string;
  // Prompts that the player may begin with.
  choices: string[];
}

// The items that a turn shows, in order of arrival.
export type TurnEntry =
  | { what: "narrative"; seq: number; narrative: Narrative }
  | { what: "plan"; seq: number; plan: PlanRun }
  // The plan has failed.
  | { what: "failure"; seq: number; plan: PlanRun }
  | { what: "asset"; seq: number; asset: Asset }
  | { what: "placeholder"; seq: number; placeholder: UiPlaceholder };

export interface Turn {
  // From 0.
  index: number;
  // undefined if the host ran a plan without a prompt.
  prompt?: { text: string } | undefined;
  // True if it was played before the game continued: only what it told is known.
  isPast?: boolean;
  // True if the prompt is one that was played again.
  isAgain?: boolean;
  // The number of the stored turn; undefined in a game that is not saved.
  id?: number | undefined;
  // The shown turn that this one continues.
  previous?: Turn | undefined;
  // True once the session has gone to a turn before this one, or to another branch.
  isUndone?: boolean;
  // The undone turns that began after this one, branch by branch. A branch goes on with the turn that was played last.
  branches: Turn[][];
  // The turn of the store, 0 for the beginning, that the session went to. This turn has what it told, unless it is
  // a marker.
  movedTo?: number | undefined;
  // True if the turn that the session went to is shown: this one only says so, until the story goes on.
  isMarker?: boolean;
  // Prompts that are not shown come before that turn.
  isLater?: boolean;
  // The prompt of that turn, if it is known.
  backTo?: string | undefined;
  // The story's ending that this turn of the store reached.
  ending?: string | undefined;
  started: number;
  ended?: number | undefined;
  narratives: Narrative[];
  // Summaries of the tools of continued plans. They are told at the end unless a narrative follows.
  untold: string[];
  usage?: Usage;
  plans: PlanRun[];
  assets: Asset[];
  warnings: Warning[];
  entries: TurnEntry[];
  // The latest choices; final once the turn has ended.
  choices?: Choices | undefined;
  // The number of plans from the narrator, including refused ones; known at the end.
  generations?: number | undefined;
  // undefined while the turn runs.
  outcome?: Outcome | undefined;
  // The number of the record that ended the turn.
  endSeq?: number | undefined;
  revision: number;
}
