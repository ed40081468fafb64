// SPDX-License-Identifier: Apache-2.0
// Stories written by a test: a folder as described in docs/writing-a-story.md, with tools that the test controls.
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

// A step of a tool. Steps run one after the other.
export type Step =
  | { emit: { [key: string]: Json } }
  // Text that is written unchanged, whether it is an event or not.
  | { raw: string }
  // Waits until the test opens the gate.
  | { wait: string }
  | { pause: number }
  | { stderr: string }
  // In the event, "{n}" becomes the round and "{now}" the time.
  | { repeat: { times: number; event: { [key: string]: Json }; everyMs?: number } }
  | { remove: string }
  | { exit: number };

export const log = (message: string, fields?: { [key: string]: Json }, level = "info"): Step => ({
  emit: { type: "log", level, message, ...(fields === undefined ? {} : { fields }) },
});
export const progress = (part: number, message = "Working"): Step => log(message, { progress: part });
export const patch = (state: { [key: string]: Json }): Step => ({ emit: { type: "state_patch", patch: state } });
export const ui = (event: string, payload: { [key: string]: Json } = {}): Step => ({
  emit: { type: "ui_event", event, payload },
});
export const choices = (...words: string[]): Step => ui("narrative_choice", { choices: words });
export const error = (errorCode: string, errorMessage: string, details: { [key: string]: Json } = {}): Step => ({
  emit: { type: "error", errorCode, errorMessage, details },
});
export const done = (summary: string, result?: Json): Step => ({
  emit: { type: "done", ok: true, summary, ...(result === undefined ? {} : { result }) },
});
export const failed = (summary: string): Step => ({ emit: { type: "done", ok: false, summary } });
export const wait = (gate: string): Step => ({ wait: gate });
export const asset = (
  assetId: string,
  mediaType: string,
  path: string,
  metadata: { [key: string]: Json } = {},
  kind = mediaType.split("/")[0] ?? "",
): Step => ({ emit: { type: "asset", assetId, kind, mediaType, path, metadata } });

export interface Tool {
  toolId: string;
  // The file name in tools/; by default the toolId.
  name?: string;
  steps: Step[];
  dependencies?: string[];
  required?: boolean;
  async?: boolean;
  retries?: number;
  timeoutMs?: number;
  input?: { [key: string]: Json };
}

export interface Answer {
  // Fixed for stories of which screenshots are taken.
  requestId?: string;
  narrative?: string;
  tools?: Tool[];
  parallel?: boolean;
  // Told when the tools have succeeded.
  success?: string;
  choices?: string[];
}

export interface Prompt {
  says: string | string[];
  answers: Answer[];
}

// A tool that takes these steps.
export const runs = (toolId: string, ...steps: Step[]): Tool => ({ toolId, steps });
// A prompt with one answer: a narrative, and a plan if there are tools.
export const answered = (says: string, narrative: string, ...tools: Tool[]): Prompt => ({
  says,
  answers: [tools.length === 0 ? { narrative } : { narrative, tools }],
});

export interface Telling {
  title?: string;
  prompts: Prompt[];
  unmatched?: string;
  fallback?: string[];
  // A Python program that is the narrator (plugins/narrator_process). It can wait for a file of the folder "gates".
  narrator?: string;
  // Files of the story, by name.
  files?: { [name: string]: string | Uint8Array };
}

const kPlay = join(dirname(fileURLToPath(import.meta.url)), "play.py");

export class Story {
  readonly folder: string;
  readonly #gates: string;

  private constructor(folder: string) {
    this.folder = folder;
    this.#gates = join(folder, "gates");
  }

  static write(telling: Telling | ((folder: string) => Telling)): Story {
    const story = new Story(mkdtempSync(join(tmpdir(), "story-")));
    story.#write(typeof telling === "function" ? telling(story.folder) : telling);
    return story;
  }

  // Opens a gate for the tools that wait at it.
  open(gate: string): void {
    writeFileSync(join(this.#gates, gate), "");
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #write(telling: Telling): void {
    for (const name of ["gates", "steps", "tools"]) mkdirSync(join(this.folder, name));
    for (const [name, content] of Object.entries(telling.files ?? {})) {
      mkdirSync(dirname(join(this.folder, name)), { recursive: true });
      writeFileSync(join(this.folder, name), content);
    }
    const text = (words: string): string => words.replace(/[{}]/g, "$&$&");
    const answers = (list: Answer[]): Json[] =>
      list.map((answer) => {
        const more = {
          ...(answer.success === undefined ? {} : { success: text(answer.success) }),
          ...(answer.choices === undefined ? {} : { choices: answer.choices.map(text) }),
        };
        if (answer.tools === undefined) return { narrative: text(answer.narrative ?? ""), ...more };
        return {
          ...more,
          plan: {
            ...(answer.requestId === undefined ? {} : { requestId: answer.requestId }),
            narrative: text(answer.narrative ?? ""),
            parallel: answer.parallel ?? false,
            tools: answer.tools.map((tool) => this.#tool(tool, text)),
          },
        };
      });
    // Long time limits, so that none ends a tool that waits at a gate.
    writeFileSync(
      join(this.folder, "story.toml"),
      [
        `title = ${toml(telling.title ?? "The Well")}`,
        "[times]",
        "try_ms = 120000",
        "plan_ms = 240000",
        "grace_ms = 500",
        "narrator_ms = 120000",
        "[tools]",
        'allow_paths = ["tools"]',
        ...(telling.narrator === undefined
          ? []
          : [
              "[narrator]",
              'name = "narratoria.narrator_process"',
              '[plugins."narratoria.narrator_process"]',
              'command = ["python3", "-u", "narrator.py"]',
            ]),
        ...(telling.fallback === undefined ? [] : ["[fallback]", `templates = [${telling.fallback.map(toml).join(", ")}]`]),
        "",
      ].join("\n"),
    );
    if (telling.narrator !== undefined) writeFileSync(join(this.folder, "narrator.py"), telling.narrator);
    writeFileSync(
      join(this.folder, "prompts.json"),
      JSON.stringify({
        prompts: telling.prompts.map((prompt) => ({
          patterns: typeof prompt.says === "string" ? [prompt.says] : prompt.says,
          answers: answers(prompt.answers),
        })),
        ...(telling.unmatched === undefined ? {} : { unmatched: { narrative: text(telling.unmatched) } }),
      }),
    );
  }

  #count = 0;

  #tool(tool: Tool, text: (words: string) => string): Json {
    const name = tool.name ?? tool.toolId;
    const path = join(this.folder, "tools", name);
    copyFileSync(kPlay, path);
    const steps = join(this.folder, "steps", `${++this.#count}.json`);
    writeFileSync(steps, JSON.stringify({ gates: this.#gates, steps: tool.steps }));
    return {
      toolId: text(tool.toolId),
      toolPath: text(`tools/${name}`),
      input: { ...(everyText(tool.input ?? {}, text) as { [key: string]: Json }), steps },
      dependencies: (tool.dependencies ?? []).map(text),
      required: tool.required ?? true,
      async: tool.async ?? false,
      retryPolicy: { maxRetries: tool.retries ?? 0, backoffMs: 20 },
      ...(tool.timeoutMs === undefined ? {} : { timeoutMs: tool.timeoutMs }),
    };
  }
}

function everyText(value: Json, text: (words: string) => string): Json {
  if (typeof value === "string") return text(value);
  if (Array.isArray(value)) return value.map((one) => everyText(one, text));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, everyText(one, text)]));
}

// JSON does not escape U+007F, but TOML requires it.
function toml(words: string): string {
  return JSON.stringify(words).replaceAll("\u007f", "\\u007f");
}
