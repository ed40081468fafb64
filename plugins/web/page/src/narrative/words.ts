// SPDX-License-Identifier: Apache-2.0
// Messages about problems in a turn: remarks for the reader, and details of tools and narrator on demand.
import { categoryOf } from "../assets/asset_words.ts";
import { canUndo } from "../session/moves.ts";
import { objectOf, textOf } from "../session/record.ts";
import type { Asset, Invocation, PlanRun, Turn, Usage } from "../session/session.ts";
import { counted, shortened } from "../text/shorten.ts";

// A remark at the end of a turn with problems.
export interface Remark {
  // The page's own words. May be empty.
  words: string[];
  // The prompt to retry.
  retry: string | undefined;
}

const kWords = 300;
const kEnding = 200;
const kBackTo = 120;
const kFailures = 5;

// Returns undefined for a turn without problems. `stoppedHere`: this window cancelled the turn.
export function remarkOf(turn: Turn, stoppedHere = false): Remark | undefined {
  const failed = turn.plans.filter((plan) => plan.success === false);
  const remark = (...words: string[]): Remark => ({ words, retry: turn.prompt?.text });
  switch (turn.outcome) {
    case undefined:
      return undefined;
    case "cancelled":
      return remark(stoppedHere ? "You stopped this." : "This was stopped.");
    case "lost":
      return remark("The game was closed during this turn.");
    case "timeout":
      return remark("This took too long and was stopped.");
    case "failed":
      return failed.some((plan) => failureWords(turn, plan).length > 0) ? remark() : remark("It did not work out.");
    case "fallback":
      return remark();
    default:
      return failed.some((plan) => failuresOf(plan).length > 0) ? remark() : undefined;
  }
}

// The name of the story's ending, if the story ends with this turn. Only the last plan of a turn names it, and the story
// goes on if that plan fails.
export function endingOf(turn: Turn): string | undefined {
  if (turn.ending !== undefined) return shortened(turn.ending, kEnding);
  const plan = turn.plans.at(-1);
  if (turn.outcome !== "completed" || plan?.success !== true) return undefined;
  const name = textOf(objectOf(plan.plan, "metadata") ?? {}, "ending")?.trim() ?? "";
  return name === "" ? undefined : shortened(name, kEnding);
}

// What the failed tools of a plan say, for the place in the story where the plan failed. Words that the turn tells
// anyway, in its narration or for an earlier plan, are not repeated.
export function failureWords(turn: Turn, plan: PlanRun): string[] {
  const told = new Set(turn.narratives.filter((one) => one.pieces !== "retracted").map((one) => withStop(one.text.trim())));
  for (const earlier of turn.plans.slice(0, turn.plans.indexOf(plan))) {
    if (earlier.success === false) for (const one of failuresOf(earlier)) told.add(storyWords(one));
  }
  return [...new Set(failuresOf(plan).map(storyWords))].filter((one) => one !== "" && !told.has(one)).slice(0, kFailures);
}

function failuresOf(plan: PlanRun): Invocation[] {
  return [...plan.invocations.values()].filter(hasFailed);
}

export function invocationsOf(turn: Turn): Invocation[] {
  return turn.plans.flatMap((plan) => [...plan.invocations.values()]);
}

export function hasFailed(invocation: Invocation): boolean {
  return invocation.state === "failed" || invocation.state === "timeout";
}

// The failed tool's own message, which its author wrote for the player.
function storyWords(invocation: Invocation): string {
  const summary = (invocation.summary ?? "").trim();
  const words = summary === "" ? (invocation.errors.at(-1)?.message ?? "").trim() : summary;
  return words === "" ? "" : withStop(shortened(words, kWords));
}

// "3 tools ran", "3 tools ran, 1 failed", "1 warning"; undefined if there is nothing to say.
export function toolsWords(turn: Turn): string | undefined {
  const ran = invocationsOf(turn).filter((one) => one.started !== undefined || hasFailed(one)).length;
  const failed = invocationsOf(turn).filter(hasFailed).length;
  const words: string[] = [];
  if (ran > 0) words.push(`${counted(ran, "tool")} ran`);
  if (failed > 0) words.push(`${failed.toLocaleString("en")} failed`);
  if (turn.warnings.length > 0) words.push(counted(turn.warnings.length, "warning"));
  return words.length === 0 ? undefined : words.join(", ");
}

// The details of a turn besides its tools' failures: the fallback, refused assets and warnings.
export function turnDetails(turn: Turn): string[] {
  const lines: string[] = [];
  if (turn.outcome === "fallback") lines.push(plansWords(turn));
  if (turn.usage !== undefined) lines.push(usageWords(turn.usage));
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

// "The narrator took 1,800 tokens (850 of them cached) and wrote 240, for 0.004 EUR."
function usageWords(usage: Usage): string {
  const count = (tokens: number): string => tokens.toLocaleString("en");
  const price = usage.cost === undefined ? "" : `, for ${usage.cost} ${shortened(usage.currency ?? "", 20)}`;
  return `The narrator took ${count(usage.input)} tokens (${count(usage.cached)} of them cached) and wrote ${count(usage.output)}${price}.`;
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

// "Back to: I light the torch"; undefined if the session did not move.
export function movedWords(turn: Turn): string | undefined {
  if (turn.movedTo === undefined) return undefined;
  if (!canUndo(turn)) return "The story goes on from its beginning.";
  if (turn.backTo !== undefined) return `Back to: ${shortened(turn.backTo, kBackTo)}`;
  return `The story goes on from turn ${turn.movedTo.toLocaleString("en")}.`;
}

// "The choices are 1 to 3."
export function rangeWords(choices: number): string {
  return choices === 1 ? "There is one choice: 1." : `The choices are 1 to ${choices}.`;
}

// Includes refused plans, which never ran.
function plansWords(turn: Turn): string {
  const continued = turn.plans.filter((plan) => plan.success === true && plan.isContinued).length;
  const count = Math.max(turn.generations ?? 0, turn.plans.length - continued);
  if (continued > 0) return `The narrator could not continue: ${counted(count, "further plan")} did not work.`;
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
