// SPDX-License-Identifier: Apache-2.0
// The event stream, as long as the page is open: EventSource reconnects by itself; what it gives up on, a gap in the
// records, a page that nobody looks at, and other windows of this browser are cared for here. A window opens a stream of
// its own first. When it has all there is and another window leads (connection_share.ts), it closes it and follows; when
// it misses something, it opens it again.
import { type OpenShare, type Role, type Share, type Told, openShare } from "./connection_share.ts";
import { enterAgain } from "./connection_token.ts";
import { type EventRecord, isObject, isRecord, numberOf, objectOf, textOf, textsOf } from "./session/record.ts";
import type { Opening, Taken } from "./session/session.ts";

export type Status =
  // Nothing has come yet.
  | "opening"
  | "open"
  // It was lost; it is being tried again.
  | "lost"
  // The server knows this page no more (403), or another game has taken the place of this one (409).
  | "ended"
  // Closed while the page is hidden.
  | "resting";

export interface Source {
  readonly readyState: number;
  onopen: ((event: Event) => void) | null;
  onerror: ((event: Event) => void) | null;
  onmessage: ((event: MessageEvent<string>) => void) | null;
  addEventListener(type: string, listener: (event: MessageEvent<string>) => void): void;
  close(): void;
}

// What the connection needs of the browser; a test brings its own.
export interface Environment {
  openSource(url: string): Source;
  // The HTTP status that the stream's address answers; undefined when nobody does.
  probe(url: string): Promise<number | undefined>;
  // Shows the token again: another local server may have overwritten the cookie. Whether it let this page in.
  enter(): Promise<boolean>;
  share: OpenShare;
  later(run: () => void, milliseconds: number): () => void;
  isHidden(): boolean;
  onVisibility(listener: () => void): () => void;
}

export interface Listener {
  status(status: Status): void;
  // Returns the number of the last record that is already there for this session: 0 for one that is new.
  opened(opening: Opening): number;
  records(records: readonly EventRecord[], skipGap: boolean): Taken;
  lastSeq(): number;
}

const kClosed = 2;
const kHiddenFor = 30_000;
const kFirstWait = 1000;
const kLongestWait = 15_000;

export class Connection {
  status: Status = "opening";
  // It ended because another game runs at the same address.
  isReplaced = false;
  #source: Source | undefined;
  #listener: Listener;
  #around: Environment;
  #wait = kFirstWait;
  #cancelWait: (() => void) | undefined;
  #cancelRest: (() => void) | undefined;
  #stopWatching: () => void;
  #game = "";
  #share: Share | undefined;
  #role: Role | undefined;
  // The newest record that is known to be there.
  #newest = 0;
  // The token was shown, and no stream has opened since.
  #hasEntered = false;
  // Where the last gap began: the same again will never be filled.
  #gapAfter = -1;

  constructor(listener: Listener, around: Environment = browser()) {
    this.#listener = listener;
    this.#around = around;
    this.#stopWatching = around.onVisibility(() => this.#visibility());
    // It may have been opened behind another page.
    this.#visibility();
  }

  open(): void {
    this.#close();
    const source = this.#around.openSource(this.#url());
    this.#source = source;
    source.onopen = () => {
      this.#wait = kFirstWait;
      this.#set("open");
      if (this.#role === "leader") this.#share?.tell({ what: "status", status: "open" });
    };
    source.onerror = () => this.#failed(source);
    source.addEventListener("session", (message) => this.#opened(source, message.data));
    source.onmessage = (message) => this.#take(source, message.data);
  }

  // At once, when the player asks for it.
  retry(): void {
    this.#wait = kFirstWait;
    this.open();
  }

  dispose(): void {
    this.#stopWatching();
    this.#cancelRest?.();
    this.#leave();
    this.#close();
  }

  #url(): string {
    const game = this.#game === "" ? "" : `&game=${encodeURIComponent(this.#game)}`;
    return `/api/events?after=${this.#listener.lastSeq()}${game}`;
  }

  #set(status: Status): void {
    if (this.status === status) return;
    this.status = status;
    this.#listener.status(status);
  }

  #close(): void {
    this.#cancelWait?.();
    this.#cancelWait = undefined;
    this.#source?.close();
    this.#source = undefined;
  }

  #opened(source: Source, data: string): void {
    if (source !== this.#source) return;
    const opening = readOpening(data);
    if (opening === undefined) return;
    // A stream that reconnects by itself asks as it did first, when this page did not know its game.
    if (this.#game !== "" && opening.game !== undefined && opening.game !== this.#game) return this.#end(true);
    this.#hasEntered = false;
    this.#newest = Math.max(this.#newest, opening.last);
    const before = this.#listener.lastSeq();
    const known = this.#listener.opened(opening);
    this.#join(opening.game ?? "");
    // Another session than the one that the stream was opened for: from its beginning.
    if (known === 0 && before > 0) return this.open();
    if (this.#role === "leader") this.#share?.tell({ what: "opened", last: opening.last });
    this.#perhapsFollow();
  }

  #take(source: Source, data: string): void {
    if (source !== this.#source) return;
    const after = this.#listener.lastSeq();
    const records = readRecords(data);
    // What was there already, other windows have of their own streams.
    if (this.#role === "leader" && (records.at(-1)?.seq ?? 0) > this.#newest) this.#share?.tell({ what: "records", data });
    if (this.#listener.records(records, this.#gapAfter === after) !== "all") {
      this.#gapAfter = this.#listener.lastSeq();
      return this.open();
    }
    this.#perhapsFollow();
  }

  // --- other windows -------------------------------------------------------------------------------------------------

  #join(game: string): void {
    if (game === "" || (this.#share !== undefined && game === this.#game)) return;
    this.#leave();
    this.#game = game;
    const share = this.#around.share(
      game,
      (role) => {
        if (share !== undefined && share !== this.#share) return;
        this.#role = role;
        if (role === "follower") this.#perhapsFollow();
        else if (this.#source === undefined && this.#cancelWait === undefined) this.open();
      },
      (told) => {
        if (share === this.#share) this.#heard(told);
      },
    );
    this.#share = share;
  }

  #leave(): void {
    this.#share?.leave();
    this.#share = undefined;
    this.#role = undefined;
  }

  // This window has all there is, and another one has the stream.
  #perhapsFollow(): void {
    if (this.#role !== "follower" || this.#source === undefined || this.status !== "open" || this.#listener.lastSeq() < this.#newest) return;
    this.#close();
    // What the leader passed on while this window had no ears yet.
    this.#share?.tell({ what: "asked" });
  }

  #heard(told: Told): void {
    if (told.what === "asked") {
      if (this.#role === "leader") this.#share?.tell({ what: "opened", last: this.#listener.lastSeq() });
      return;
    }
    if (this.#role === "leader") return;
    switch (told.what) {
      case "status":
        if (this.#source === undefined) this.#set(told.status);
        return;
      case "opened":
        this.#newest = Math.max(this.#newest, told.last);
        if (this.#source === undefined && this.#listener.lastSeq() < this.#newest) this.open();
        return;
      case "records": {
        const records = readRecords(told.data);
        this.#newest = Math.max(this.#newest, records.at(-1)?.seq ?? 0);
        if (this.#listener.records(records, false) === "all") return this.#perhapsFollow();
        // A stream of its own that is open brings what is missing.
        if (this.#source === undefined) this.open();
        return;
      }
    }
  }

  // --- the end of a stream -------------------------------------------------------------------------------------------

  #failed(source: Source): void {
    if (source !== this.#source) return;
    this.#set("lost");
    if (this.#role === "leader") this.#share?.tell({ what: "status", status: "lost" });
    if (source.readyState !== kClosed) return;
    void this.#around.probe(this.#url()).then(async (status) => {
      if (source !== this.#source) return;
      if (status === 409) return this.#end(true);
      if (status === 403) {
        const isIn = !this.#hasEntered && (await this.#around.enter());
        if (source !== this.#source) return;
        if (!isIn) return this.#end(false);
        this.#hasEntered = true;
        return this.open();
      }
      this.#cancelWait = this.#around.later(() => this.open(), this.#wait);
      this.#wait = Math.min(this.#wait * 2, kLongestWait);
    });
  }

  #end(isReplaced: boolean): void {
    this.isReplaced = isReplaced;
    this.#leave();
    this.#close();
    this.#set("ended");
  }

  // A page that nobody looks at holds no connection, and leads no other window.
  #visibility(): void {
    this.#cancelRest?.();
    this.#cancelRest = undefined;
    if (this.status === "ended") return;
    if (this.#around.isHidden()) {
      this.#cancelRest = this.#around.later(() => {
        this.#leave();
        this.#close();
        this.#set("resting");
      }, kHiddenFor);
    } else if (this.status === "resting") {
      this.open();
    }
  }
}

export function readOpening(data: string): Opening | undefined {
  const value = parsed(data);
  if (!isObject(value)) return undefined;
  const state = objectOf(value, "state");
  const game = textOf(value, "game");
  const opening = objectOf(value, "opening");
  return {
    // The server learns it with the first record.
    sessionId: textOf(value, "sessionId") ?? "",
    title: textOf(value, "title") ?? "",
    last: numberOf(value, "last") ?? 0,
    ...(game === undefined ? {} : { game }),
    ...(opening === undefined
      ? {}
      : { opening: { text: textOf(opening, "text") ?? "", choices: textsOf(opening, "choices") } }),
    ...(state === undefined ? {} : { state }),
  };
}

export function readRecords(data: string): EventRecord[] {
  return data.split("\n").map(parsed).filter(isRecord);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function browser(): Environment {
  return {
    openSource: (url) => new EventSource(url),
    enter: enterAgain,
    share: openShare,
    async probe(url) {
      const abort = new AbortController();
      try {
        const response = await fetch(url, { signal: abort.signal });
        return response.status;
      } catch {
        return undefined;
      } finally {
        abort.abort();
      }
    },
    later(run, milliseconds) {
      const timer = setTimeout(run, milliseconds);
      return () => clearTimeout(timer);
    },
    isHidden: () => document.hidden,
    onVisibility(listener) {
      document.addEventListener("visibilitychange", listener);
      return () => document.removeEventListener("visibilitychange", listener);
    },
  };
}
