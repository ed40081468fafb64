// SPDX-License-Identifier: Apache-2.0
// The status of invocations and plans, as text and icons.
import type { IconName } from "../controls/icons.ts";
import { percent } from "../controls/words.ts";
import type { Attempt, Invocation, InvocationState, Outcome, PlanRun, Turn } from "../session/session.ts";
import { counted, shortened } from "../text/shorten.ts";
import { duration } from "./time_scale.ts";

export const stateIcons: Record<InvocationState, IconName> = {
  pending: "pending",
  running: "running",
  retrying: "retry",
  completed: "check",
  failed: "error",
  skipped: "skip",
  timeout: "hourglass",
  stopped: "stop",
};

export const stateNames: Record<InvocationState, string> = {
  pending: "waiting",
  running: "running",
  retrying: "trying again",
  completed: "completed",
  failed: "failed",
  skipped: "skipped",
  timeout: "timed out",
  stopped: "stopped",
};

export function isOver(state: InvocationState): boolean {
  return state !== "pending" && state !== "running" && state !== "retrying";
}

// Milliseconds from the start to the end, or until now. Server and browser share a clock, because they are on the same
// machine.
export function elapsed(invocation: Invocation, now: number): number | undefined {
  if (invocation.started === undefined) return undefined;
  if (invocation.executionTime !== undefined) return invocation.executionTime;
  return Math.max(0, (invocation.ended ?? now) - invocation.started);
}

export function attemptTime(attempt: Attempt, now: number): number {
  return Math.max(0, (attempt.ended ?? now) - attempt.started);
}

// "completed · 87 ms", "running · 42 %", "failed · 1.2 s · 4 attempts", or shorter with "4×".
export function statusLine(invocation: Invocation, now: number, isShort = false): string {
  const parts = [stateNames[invocation.state]];
  const time = elapsed(invocation, now);
  const { state, progress } = invocation;
  if (state === "running" && progress !== undefined) parts.push(percent(progress));
  else if (time !== undefined && state !== "skipped") parts.push(duration(time));
  if (invocation.attempts.length > 1) {
    const count = invocation.attempts.length;
    parts.push(isShort ? `${count}×` : isOver(state) ? counted(count, "attempt") : `attempt ${count}`);
  }
  return parts.join(" · ");
}

// The dependencies as text for screen readers, which do not see the edges.
export function afterWhat({ dependencies }: Invocation): string {
  return dependencies.length > 0 ? `, runs after ${listed(dependencies)}` : "";
}

// A list of names in one line, shortened to be readable.
export function listed(names: readonly string[], most = 6): string {
  const shown = names.slice(0, most).map((one) => shortened(one, 60));
  if (names.length > most) shown.push(`${names.length - most} more`);
  return shown.join(", ");
}

// The progress, 0 to 1, for the filled part of a box.
export function share(invocation: Invocation): number {
  if (invocation.state === "completed") return 1;
  return invocation.progress ?? 0;
}

// "mixed": the plan succeeded although a tool failed.
export type PlanState = "running" | "completed" | "mixed" | "failed" | "stopped";
// "narrated": the turn ended with narration, without a successful plan.
export type TurnState = PlanState | "narrated";

export function planState(plan: PlanRun): PlanState {
  if (plan.ended !== undefined) {
    if (plan.success === true) return plan.failedTools.length > 0 ? "mixed" : "completed";
    return wasStopped(plan) ? "stopped" : "failed";
  }
  const outcome = plan.turn.outcome;
  return outcome === undefined ? "running" : isStopped(outcome) ? "stopped" : "failed";
}

// True if the plan was cancelled and did not fail.
function wasStopped(plan: PlanRun): boolean {
  const states = [...plan.invocations.values()].map((one) => one.state);
  if (states.includes("stopped")) return true;
  return plan.turn.outcome === "cancelled" && !states.includes("failed") && !states.includes("timeout");
}

export const planIcons: Record<TurnState, IconName> = {
  running: "running",
  completed: "check",
  mixed: "warning",
  failed: "error",
  stopped: "stop",
  narrated: "book",
};

export function planName(state: PlanState): string {
  return state === "mixed" ? "partly completed" : state;
}

export function turnState(turn: Turn): TurnState {
  if (turn.outcome === undefined) return "running";
  if (turn.outcome === "completed") {
    if (turn.plans.at(-1)?.success === false) return "narrated";
    return turn.plans.some((plan) => plan.success === false || plan.failedTools.length > 0) ? "mixed" : "completed";
  }
  return isStopped(turn.outcome) ? "stopped" : "failed";
}

function isStopped(outcome: Outcome): boolean {
  return outcome === "cancelled" || outcome === "lost";
}

const outcomes: Record<Outcome, string> = {
  completed: "completed",
  fallback: "fallback",
  cancelled: "stopped",
  timeout: "timed out",
  failed: "failed",
  lost: "interrupted",
};

export function turnOutcome(turn: Turn): string {
  if (turn.outcome === undefined) return "running";
  const state = turnState(turn);
  return state === "narrated" ? "narration only" : state === "mixed" ? planName(state) : outcomes[turn.outcome];
}

export function planEnd(plan: PlanRun, now: number): number {
  return plan.ended ?? plan.turn.ended ?? now;
}
