// SPDX-License-Identifier: Apache-2.0
// What went wrong in a turn, in words for a player; the details are for who asks.
import { categoryOf } from "../assets/asset_words.ts";
import type { Asset, Invocation, PlanRun, Turn } from "../session/session.ts";
import { counted, shortened, skillName } from "../text/shorten.ts";

export interface Failure {
  planKey: string;
  toolId: string;
  // "The lever does not move: rusty-lever failed after 2 tries."
  words: string;
  details: string[];
}

export interface Notice {
  tone: "quiet" | "error";
  headline: string;
  words: string[];
  failures: Failure[];
  // The prompt that may be said again.
  retry: string | undefined;
}

const kWords = 300;
const kFailures = 5;

export function failuresOf(plan: PlanRun): Failure[] {
  const failures: Failure[] = [];
  for (const invocation of plan.invocations.values()) {
    if (invocation.state !== "failed" && invocation.state !== "timeout") continue;
    failures.push({
      planKey: plan.key,
      toolId: invocation.toolId,
      words: failureWords(invocation),
      details: details(invocation),
    });
  }
  return failures;
}

// What a turn that went not quite as it should has to say; undefined for one that went well.
export function noticeOf(turn: Turn): Notice | undefined {
  const failed = turn.plans.filter((plan) => plan.success === false);
  const failures = failed.flatMap(failuresOf);
  const notice = (tone: Notice["tone"], headline: string, words: string[] = []): Notice => ({
    tone,
    headline,
    words: [...once(failures.map((one) => one.words)).slice(0, kFailures), ...words],
    failures,
    retry: turn.prompt?.text,
  });
  switch (turn.outcome) {
    case "cancelled":
      return notice("quiet", "You stopped this.", []);
    case "lost":
      return notice("quiet", "The game ended here.");
    case "timeout":
      return notice("error", "This took longer than it may, and was ended.");
    case "fallback":
      return notice("error", "It did not work out.", [
        plansWords(turn),
      ]);
    case "failed":
      return notice("error", "It did not work out.");
    default:
      if (failures.length === 0) return undefined;
      return notice("quiet", "Not everything worked.", [
        turn.outcome === undefined && turn.plans.at(-1)?.success === false
          ? "The narrator looks for another way."
          : "The story went on without it.",
      ]);
  }
}

const kinds = {
  image: "A picture",
  audio: "A sound",
  video: "A film",
  text: "A text",
  model: "A model",
  other: "A file",
} as const;

// "A picture could not be shown: There is no such file."
export function refusalWords(asset: Asset, why: { code: string; message: string }): string {
  const reason = why.message.trim() === "" ? why.code : why.message.trim();
  const said = `${kinds[categoryOf(asset)]} could not be shown`;
  return reason === "" ? `${said}.` : `${said}: ${withoutStop(shortened(reason, kWords))}.`;
}

// Plans that were refused ran nowhere, and count as well.
function plansWords(turn: Turn): string {
  const count = Math.max(turn.generations ?? 0, turn.plans.length);
  const did = turn.plans.length === 0 ? "could be used" : "worked";
  if (count === 0) return "The narrator found no way.";
  if (count === 1) return turn.plans.length === 0 ? "The narrator's plan could not be used." : "The narrator's plan did not work.";
  return `None of the narrator's ${counted(count, "plan")} ${did}.`;
}

export function toolName(invocation: Invocation): string {
  const name = skillName(invocation.toolPath);
  return shortened(name === "" ? invocation.toolId : name, 80);
}

function failureWords(invocation: Invocation): string {
  const name = toolName(invocation);
  if (invocation.state === "timeout") return `${name} did not finish in time.`;
  const said = invocation.summary ?? invocation.errors.at(-1)?.message;
  const tries = invocation.attempts.length > 1 ? ` after ${counted(invocation.attempts.length, "try", "tries")}` : "";
  const failed = `${name} failed${tries}.`;
  if (said === undefined || said.trim() === "") return failed;
  return `${withoutStop(shortened(said.trim(), kWords))}: ${failed}`;
}

function details(invocation: Invocation): string[] {
  const lines: string[] = [];
  if (invocation.error !== undefined) {
    const code = invocation.errorCode === undefined ? "" : `${invocation.errorCode}: `;
    lines.push(`${code}${invocation.error}`);
  }
  for (const attempt of invocation.attempts) {
    if (attempt.state !== "failed" && attempt.state !== "timeout") continue;
    const end =
      attempt.signal !== undefined
        ? `, signal ${attempt.signal}`
        : attempt.exitStatus !== undefined && attempt.exitStatus !== 0
          ? `, exit status ${attempt.exitStatus}`
          : "";
    lines.push(`Try ${attempt.number}: ${withoutStop((attempt.error ?? attempt.code ?? attempt.state).trim())}${end}.`);
  }
  if (invocation.stderr !== undefined) lines.push(invocation.stderr.trim());
  return lines;
}

// The same from one plan after the other is said once.
function once(words: string[]): string[] {
  const times = new Map<string, number>();
  for (const one of words) times.set(one, (times.get(one) ?? 0) + 1);
  return [...times].map(([one, count]) => (count === 1 ? one : `${one} (${counted(count, "time")})`));
}

function withoutStop(text: string): string {
  return text.replace(/[.。!]+$/u, "");
}
