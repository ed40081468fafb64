// SPDX-License-Identifier: Apache-2.0
// What a session is made of, as the views see it. `revision` is the seq of the last record that touched the thing:
// a view that remembers it knows whether to draw again. Times are milliseconds since 1970.
import type { LogLines } from "./log_lines.ts";
import type { Json, JsonObject } from "./record.ts";

export type InvocationState =
  | "pending" | "running" | "retrying" | "completed" | "failed" | "skipped" | "timeout"
  // Somebody ended it: it has not failed.
  | "stopped";
export type AttemptState = "running" | "completed" | "failed" | "timeout" | "stopped";

// "failed" is a plan's that no prompt asked for; with "lost" the game ended in the midst of it; the other four are a
// turn's own.
export type Outcome = "completed" | "fallback" | "cancelled" | "timeout" | "failed" | "lost";

export interface Attempt {
  number: number;
  state: AttemptState;
  started: number;
  ended: number | undefined;
  code: string | undefined;
  error: string | undefined;
  exitStatus: number | undefined;
  signal: number | undefined;
}

// An `error` event of the tool itself.
export interface ToolError {
  seq: number;
  time: number;
  attempt: number;
  code: string;
  message: string;
  details: JsonObject | undefined;
}

export interface Invocation {
  planKey: string;
  toolId: string;
  toolPath: string;
  // Of the script that invoked it.
  line: number | undefined;
  dependencies: string[];
  state: InvocationState;
  attempts: Attempt[];
  logs: LogLines;
  // The latest `fields.progress`, 0 to 1.
  progress: number | undefined;
  // The message that came with it.
  progressMessage: string | undefined;
  errors: ToolError[];
  // Of its `done`.
  summary: string | undefined;
  result: Json | undefined;
  // Of its end.
  error: string | undefined;
  errorCode: string | undefined;
  stderr: string | undefined;
  executionTime: number | undefined;
  retryCount: number;
  pendingSince: number;
  started: number | undefined;
  ended: number | undefined;
  revision: number;
}

// One execution of a plan: a host may run the same plan again.
export interface PlanRun {
  key: string;
  planId: string;
  // From 1.
  execution: number;
  plan: JsonObject;
  // A narrator invokes its tools one by one while it thinks.
  isOpen: boolean;
  generationAttempt: number;
  parentPlanId: string | null;
  started: number;
  ended: number | undefined;
  success: boolean | undefined;
  canReplan: boolean;
  failedTools: string[];
  executionTime: number | undefined;
  // In the plan's order.
  invocations: Map<string, Invocation>;
  turn: Turn;
  revision: number;
}

export interface Narrative {
  seq: number;
  time: number;
  planKey: string | undefined;
  text: string;
  // "tool" where a tool said it at its end; else as the record has it.
  source: string;
}

export interface Choices {
  seq: number;
  planKey: string | undefined;
  toolId: string | undefined;
  prompt: string | undefined;
  choices: string[];
}

export interface Asset {
  seq: number;
  time: number;
  planKey: string | undefined;
  planId: string;
  toolId: string;
  attempt: number;
  assetId: string;
  kind: string;
  mediaType: string;
  path: string;
  metadata: JsonObject;
  refused?: { code: string; message: string };
  // The later one with the same name that stands in its place.
  replaced?: Asset;
  // No plugin shows it (`asset_placeholder`).
  unsupported?: true;
}

export interface UiPlaceholder {
  seq: number;
  time: number;
  planKey: string | undefined;
  toolId: string | undefined;
  attempt: number | undefined;
  event: string;
  payload: Json;
}

export interface Warning {
  seq: number;
  time: number;
  planId: string | undefined;
  toolId: string | undefined;
  code: string;
  message: string;
}

export interface Conflict {
  seq: number;
  time: number;
  planId: string | undefined;
  path: string;
  tools: string[];
}

export interface Patch {
  seq: number;
  time: number;
  planKey: string | undefined;
  planId: string | undefined;
  toolId: string | undefined;
  attempt: number | undefined;
  // Who posted a patch that comes from no tool: "" the host, else a plugin's id.
  by: string | undefined;
  patch: JsonObject;
  // Merged after the patch: a null in it is a value, where the same null of the patch removes.
  nulls: JsonObject | undefined;
}

// What the story begins with, before anything was said: story.toml's [opening].
export interface OpeningScene {
  text: string;
  // Prompts that the player may begin with.
  choices: string[];
}

// What a turn shows, in the order in which it came.
export type TurnEntry =
  | { what: "narrative"; narrative: Narrative }
  | { what: "plan"; plan: PlanRun }
  | { what: "asset"; asset: Asset }
  | { what: "placeholder"; placeholder: UiPlaceholder };

export interface Turn {
  // From 0.
  index: number;
  // Missing where the host ran a plan that no prompt asked for.
  prompt: { seq: number; text: string; time: number } | undefined;
  started: number;
  ended: number | undefined;
  narratives: Narrative[];
  plans: PlanRun[];
  assets: Asset[];
  placeholders: UiPlaceholder[];
  warnings: Warning[];
  entries: TurnEntry[];
  // The latest offered; final once the turn has ended.
  choices: Choices | undefined;
  // Plans that the narrator gave, refused ones too; known at the end.
  generations: number | undefined;
  // Missing while it runs.
  outcome: Outcome | undefined;
  // The record that ended it.
  endSeq: number | undefined;
  revision: number;
}
