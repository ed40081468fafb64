// SPDX-License-Identifier: Apache-2.0
// The player's prompts: being sent, waiting for their turn, or refused with a message; and the moves that undo, repeat or resume them.
import { enterAgain } from "./connection_token.ts";
import type { Session, Turn } from "./session/session.ts";

export interface Answer {
  status: number;
  code: string;
  message: string;
}

// Undoes the last prompt, plays it again, starts over, goes to the end of a turn, or resumes an interrupted prompt, also
// if a tool must run twice.
export type Move = "undo" | "again" | "restart" | number | { resume: number; repeats: boolean };

export type Post = (path: string, body?: string) => Promise<Answer>;

// The server's limit for a request body, in bytes.
export const largestBody = 1024 * 1024;

// How long a move may take to come back, in milliseconds.
const kPatience = 5000;

export class Prompts {
  // Prompts that are not in the story yet: the first may be about to begin its turn, the second waits.
  pending: string[] = [];
  // Why the last prompt was refused; empty if it was not.
  refusal = "";
  isCancelling = false;
  isMoving = false;
  // True if a tool of the interrupted prompt that must not run twice had already started.
  needsRepeats = false;
  #session: Session;
  // Turns that this window cancelled. Other windows do not know of it.
  #stopped = new WeakSet<Turn>();
  #turns = 0;
  // The number of the last record before the move began.
  #movingSince = 0;
  #patience: ReturnType<typeof setTimeout> | undefined;
  #post: Post;
  #listeners = new Set<() => void>();
  #unsubscribe: () => void;

  constructor(session: Session, post: Post = postJson) {
    this.#session = session;
    this.#post = post;
    this.#turns = session.turns.length;
    this.#unsubscribe = session.subscribe(() => this.#follow());
  }

  dispose(): void {
    clearTimeout(this.#patience);
    this.#unsubscribe();
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get busy(): boolean {
    return this.#session.busy || this.pending.length > 0 || this.isMoving;
  }

  hasStopped(turn: Turn): boolean {
    return this.#stopped.has(turn);
  }

  // True if the prompt was accepted. Otherwise the text stays in the input, and `refusal` says why.
  async submit(text: string): Promise<boolean> {
    const words = text.trim();
    if (words === "") return false;
    this.refusal = "";
    const body = JSON.stringify({ text: words });
    if (new TextEncoder().encode(body).length > largestBody) return this.#refuse(tooLongWords);
    // At most one prompt runs and one waits.
    if (this.pending.length + (this.#session.busy ? 1 : 0) >= 2) return this.#refuse(busyWords);
    this.pending.push(words);
    this.#changed();
    const answer = await this.#posted("/api/prompt", body);
    if (answer.status === 202) return true;
    const index = this.pending.lastIndexOf(words);
    if (index >= 0) this.pending.splice(index, 1);
    return this.#refuse(wordsFor(answer));
  }

  async cancel(): Promise<void> {
    if (this.isCancelling || !this.busy) return;
    this.isCancelling = true;
    this.refusal = "";
    const running = this.#session.running;
    this.#changed();
    const answer = await this.#posted("/api/cancel");
    // A waiting prompt needs no handling here: its record comes, followed by the end of a cancelled turn.
    if (answer.status !== 202) this.refusal = wordsFor(answer);
    else if (running !== undefined) this.#stopped.add(running);
    this.isCancelling = false;
    this.#changed();
  }

  // Lasts until the game has moved, or says why it did not.
  async move(move: Move): Promise<void> {
    if (this.busy) return;
    this.#movingSince = this.#session.lastSeq;
    this.isMoving = true;
    this.refusal = "";
    this.#changed();
    const turn = this.#session.turnId;
    const [name, members] = requestOf(move);
    const answer = await this.#posted(`/api/${name}`, JSON.stringify({ turn, ...members }));
    if (answer.status === 202) {
      // Another window may have stopped the move, which leaves no record.
      this.#patience = setTimeout(() => this.#endMove(), kPatience);
      return this.#follow();
    }
    const needsRepeats = answer.code === "NOT_REPEATABLE";
    this.needsRepeats ||= needsRepeats;
    this.#endMove(needsRepeats ? "" : moveWordsFor(answer));
  }

  #endMove(refusal = ""): void {
    clearTimeout(this.#patience);
    this.isMoving = false;
    this.refuse(refusal);
  }

  refuse(words: string): void {
    this.refusal = words;
    this.#changed();
  }

  forgetRefusal(): void {
    if (this.refusal === "") return;
    this.refusal = "";
    this.#changed();
  }

  // The connection is back, so the message that the game is unreachable is obsolete.
  reached(): void {
    if (this.refusal === unreachableWords) this.forgetRefusal();
  }

  #follow(): void {
    const turns = this.#session.turns;
    for (; this.#turns < turns.length; ++this.#turns) {
      const words = turns[this.#turns]?.prompt?.text.trim();
      const index = words === undefined ? -1 : this.pending.indexOf(words);
      if (index >= 0) this.pending.splice(index, 1);
      // A new turn has begun, so the server accepts a prompt again.
      this.refusal = "";
      if (this.isMoving) this.#endMove();
    }
    const { stray } = this.#session;
    if (this.isMoving && stray !== undefined && stray.seq > this.#movingSince) this.#endMove(stray.message);
    this.#changed();
  }

  #refuse(words: string): false {
    this.refuse(words);
    return false;
  }

  async #posted(path: string, body?: string): Promise<Answer> {
    try {
      const game = this.#session.game;
      return await this.#post(game === "" ? path : `${path}?game=${encodeURIComponent(game)}`, body);
    } catch {
      return { status: 0, code: "", message: "" };
    }
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

const tooLongWords = "That is too long for one prompt. Shorten it.";
const busyWords = "The story is busy, and your next words are already waiting. Wait for a turn to end.";
const busyWithOthersWords = "The story is busy, and the next words of another player are already waiting. Wait for a turn to end.";
// It stays true when the connection is back.
const unreachableWords = "The game could not be reached. Your words are still here: send them again.";

function requestOf(move: Move): [string, object] {
  if (typeof move === "number") return ["go", { to: move }];
  if (typeof move === "object") return ["resume", { to: move.resume, repeats: move.repeats }];
  return [move, {}];
}

function moveWordsFor(answer: Answer): string {
  if (answer.status === 0) return "The game could not be reached. Try again.";
  if (answer.code === "BUSY") return "The story is busy. Wait for a turn to end.";
  if (answer.code === "OTHER_TURN") return "The story has gone on in the meantime.";
  if (answer.code === "NO_TURN") return "There is no such turn.";
  if (answer.code === "NOT_POSSIBLE") return "That is not possible with this turn.";
  return wordsFor(answer);
}

function wordsFor(answer: Answer): string {
  if (answer.code === "ANOTHER_SESSION") return "This game has ended, and a different one runs here. Reload the page to play it.";
  if (answer.code === "BUSY" || answer.status === 409) return busyWithOthersWords;
  if (answer.status === 403) return "This game has ended. Open the new address.";
  if (answer.status === 413) return tooLongWords;
  if (answer.status === 0) return unreachableWords;
  return answer.message === "" ? `The game refused your words (${answer.status}).` : answer.message;
}

async function postJson(path: string, body?: string): Promise<Answer> {
  const post = (): Promise<Response> =>
    fetch(path, {
      method: "POST",
      ...(body === undefined ? {} : { body, headers: { "Content-Type": "application/json" } }),
    });
  let response = await post();
  // A different local server may have overwritten the cookie.
  if (response.status === 403 && (await enterAgain())) response = await post();
  let answer: { code?: unknown; message?: unknown } = {};
  try {
    answer = ((await response.json()) as typeof answer | null) ?? {};
  } catch {
    // Without a JSON body, the status is enough.
  }
  return {
    status: response.status,
    code: typeof answer.code === "string" ? answer.code : "",
    message: typeof answer.message === "string" ? answer.message : "",
  };
}
