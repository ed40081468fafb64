// SPDX-License-Identifier: Apache-2.0
// Messages about problems in a turn: remarks for the reader, and details of tools and narrator on demand.
import { categoryOf } from "../assets/asset_words.ts";
import type { Asset, Invocation, PlanRun, Turn } from "../session/session.ts";
import { counted, shortened } from "../text/shorten.ts";

// A remark on a turn with problems.
export interface Remark {
  // The story's own words, or the page's if the story has none. May be empty.
  words: string[];
  // The prompt to retry.
  retry: string | undefined;
}

const kWords = 300;
const kFailures = 5;

// Returns undefined for a turn without problems. `stoppedHere`: this window cancelled the turn.
export function remarkOf(turn: Turn, stoppedHere = false): Remark | undefined {
  const failed = turn.plans.filter((plan) => plan.success === false).flatMap(failuresOf);
  const messages = [...new Set(failed.map(storyWords).filter((one) => one !== ""))].slice(0, kFailures);
  const remark = (...words: string[]): Remark => ({ words: [...messages, ...words], retry: turn.prompt?.text });
  switch (turn.outcome) {
    case undefined:
      return messages.length === 0 ? undefined : { words: messages, retry: undefined };
    case "cancelled":
      return { words: [stoppedHere ? "You stopped this." : "This was stopped."], retry: turn.prompt?.text };
    case "lost":
      return remark("The game ended here.");
    case "timeout":
      return remark("This took too long and was stopped.");
    case "failed":
      return remark(...(messages.length === 0 ? ["It did not work out."] : []));
    case "fallback":
      return remark();
    default:
      return failed.length === 0 ? undefined : remark();
  }
}

function failuresOf(plan: PlanRun): Invocation[] {
  return [...plan.invocations.values()].filter(hasFailed);
}

export function hasFailed(invocation: Invocation): boolean {
  return invocation.state === "failed" || invocation.state === "timeout";
}

// The failed tool's own message, which its author wrote for the player.
function storyWords(invocation: Invocation): string {
  const summary = (invocation.summary ?? invocation.errors.at(-1)?.message ?? "").trim();
  return summary === "" ? "" : withStop(shortened(summary, kWords));
}

// "3 tools ran", "3 tools ran, 1 failed"; undefined if none ran.
export function toolsWords(turn: Turn): string | undefined {
  let ran = 0;
  let failed = 0;
  for (const plan of turn.plans) {
    for (const invocation of plan.invocations.values()) {
      if (invocation.started !== undefined || hasFailed(invocation)) ++ran;
      if (hasFailed(invocation)) ++failed;
    }
  }
  if (ran === 0) return undefined;
  return `${counted(ran, "tool")} ran${failed === 0 ? "" : `, ${failed.toLocaleString("en")} failed`}`;
}

// The details of a turn besides its tools' failures: the fallback, refused assets and warnings.
export function turnDetails(turn: Turn): string[] {
  const lines: string[] = [];
  if (turn.outcome === "fallback") lines.push(plansWords(turn));
  for (const asset of turn.assets) {
    if (asset.refused === undefined) continue;
    const why = asset.refused.message.trim() === "" ? asset.refused.code : asset.refused.message.trim();
    lines.push(`${shortened(asset.toolId, 80)}: ${shortened(asset.assetId, 80)} could not be shown: ${withStop(shortened(why, kWords))}`);
  }
  for (const one of turn.warnings.slice(-kWarnings)) {
    lines.push(`${one.toolId === undefined ? "" : `${shortened(one.toolId, 80)}: `}${shortened(one.message, kWords)}`);
  }
  return lines;
}

const kWarnings = 20;

const kinds = {
  image: "A picture",
  audio: "A sound",
  video: "A film",
  text: "A text",
  model: "A model",
  other: "A file",
} as const;

// "A picture could not be shown."
export function refusalWords(asset: Asset): string {
  return `${kinds[categoryOf(asset)]} could not be shown.`;
}

// Includes refused plans, which never ran.
function plansWords(turn: Turn): string {
  const count = Math.max(turn.generations ?? 0, turn.plans.length);
  const did = turn.plans.length === 0 ? "could be used" : "worked";
  if (count === 0) return "The narrator returned no plan.";
  if (count === 1) return turn.plans.length === 0 ? "The narrator's plan could not be used." : "The narrator's plan did not work.";
  return `None of the narrator's ${counted(count, "plan")} ${did}.`;
}

// "failed after 2 tries", and the reasons.
export function failureDetails(invocation: Invocation): string[] {
  const tries = invocation.attempts.length;
  const lines = [
    `${invocation.state === "timeout" ? "did not finish in time" : "failed"}${tries > 1 ? ` after ${counted(tries, "try", "tries")}` : ""}`,
  ];
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

function withStop(text: string): string {
  return /[.。!?…]["'”’»)]*$/u.test(text) ? text : `${text}.`;
}

function withoutStop(text: string): string {
  return text.replace(/[.。!]+$/u, "");
}
