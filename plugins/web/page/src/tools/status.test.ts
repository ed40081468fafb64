// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { Session } from "../session/session.ts";
import type { JsonObject } from "../session/record.ts";
import { numbered } from "../session/testing.ts";
import { afterWhat, elapsed, planState, share, stateIcons, statusLine, turnOutcome, turnState } from "./status.ts";

const begun = Date.parse("2026-01-01T00:00:00Z");

function session(...events: [kind: string, event: JsonObject, attempt?: number][]): Session {
  const made = new Session((run) => run());
  made.take(numbered(
    events.map(([kind, event, attempt], index) => ({
      time: new Date(begun + index * 100).toISOString(),
      planId: kind === "prompt" || kind === "turn_ended" ? null : "p",
      toolId: kind.startsWith("plan_") || kind === "prompt" || kind === "turn_ended" ? null : "pull",
      attempt: attempt ?? null,
      kind,
      event,
    })),
  ));
  return made;
}

const opening: [string, JsonObject, number?][] = [
  ["prompt", { text: "I pull" }],
  ["plan_started", { plan: {}, generationAttempt: 1, parentPlanId: null }],
  ["tool_pending", { toolPath: "tools/lever", dependencies: ["light", "look"] }],
  ["tool_started", { toolPath: "tools/lever" }],
  ["attempt_started", { attempt: 1 }, 1],
];

test("a tool that runs, is retried and fails", () => {
  const log: [string, JsonObject, number] = ["tool_event", { type: "log", level: "info", message: "m", fields: { progress: 0.42 } }, 1];
  const running = session(...opening, log);
  const tool = running.plans.get("p#1")!.invocations.get("pull")!;
  expect(statusLine(tool, begun + 5000)).toBe("running · 42 %");
  expect(share(tool)).toBe(0.42);
  expect(elapsed(tool, begun + 5300)).toBe(5000);
  expect(afterWhat(tool)).toBe(", runs after light, look");
  expect(planState(running.plans.get("p#1")!)).toBe("running");
  expect(turnOutcome(running.turns[0]!)).toBe("running");

  const failed = session(
    ...opening,
    ["attempt_ended", { attempt: 1, state: "failed" }, 1],
    ["attempt_started", { attempt: 2 }, 2],
    ["attempt_ended", { attempt: 2, state: "timeout" }, 2],
    ["tool_ended", { state: "failed", ok: false, executionTime: 1234, retryCount: 1 }],
    ["plan_ended", { success: false, executionTime: 1300, failedTools: ["pull"], canReplan: true }],
    ["turn_ended", { outcome: "fallback", generations: 5 }],
  );
  const over = failed.plans.get("p#1")!.invocations.get("pull")!;
  expect(statusLine(over, begun)).toBe("failed · 1.2 s · 2 attempts");
  expect(statusLine(over, begun, true)).toBe("failed · 1.2 s · 2×");
  expect(planState(failed.plans.get("p#1")!)).toBe("failed");
  expect(turnOutcome(failed.turns[0]!)).toBe("fallback");
});

test("a plan cancelled before its end", () => {
  const cancelled = session(...opening, ["turn_ended", { outcome: "cancelled" }]);
  expect(planState(cancelled.plans.get("p#1")!)).toBe("stopped");
});

test("stopped tools, plans and turns have not failed", () => {
  const made = session(
    ...opening,
    ["attempt_ended", { attempt: 1, state: "failed", code: "CANCELLED" }, 1],
    ["tool_ended", { state: "failed", ok: false, executionTime: 50, retryCount: 0, errorCode: "CANCELLED" }],
    ["plan_ended", { success: false, executionTime: 60, failedTools: ["pull"], canReplan: false }],
    ["turn_ended", { outcome: "cancelled", generations: 1 }],
  );
  const plan = made.plans.get("p#1")!;
  const tool = plan.invocations.get("pull")!;
  expect(statusLine(tool, begun)).toBe("stopped · 50 ms");
  expect(tool.attempts[0]!.state).toBe("stopped");
  expect(planState(plan)).toBe("stopped");
  expect(turnState(made.turns[0]!)).toBe("stopped");
  expect(turnOutcome(made.turns[0]!)).toBe("stopped");
  expect(made.busy).toBe(false);
  expect(new Set([stateIcons.stopped, stateIcons.failed, stateIcons.skipped]).size).toBe(3);
});

test.each([
  ["the fallback is not completed", false, "failed", "narrated", "narration only"],
  ["a failed tool that is not required is mixed", true, "mixed", "mixed", "partly completed"],
])("a turn that ended with %s", (_name, success, ofPlan, ofTurn, words) => {
  const made = session(
    ...opening,
    ["tool_ended", { state: "failed", ok: false, executionTime: 50, retryCount: 0, errorCode: "TOOL_FAILED" }],
    ["plan_ended", { success, executionTime: 60, failedTools: ["pull"], canReplan: !success }],
    ["turn_ended", { outcome: "completed", generations: 1 }],
  );
  expect([planState(made.plans.get("p#1")!), turnState(made.turns[0]!), turnOutcome(made.turns[0]!)]).toEqual([ofPlan, ofTurn, words]);
});
