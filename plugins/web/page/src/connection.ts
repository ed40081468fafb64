// SPDX-License-Identifier: Apache-2.0
// The connection to the event stream. EventSource reconnects after most errors; this class handles the others, gaps in
// the records, hidden pages, and sharing with other windows of the browser. A window first opens its own stream. When
// it has all records and a different window is the leader (connection_share.ts), it closes its stream and becomes a
// follower. When it misses a record, it opens its own stream again.
import { type OpenShare, type Role, type Share, type ShareMessage, onArrival, openShare } from "./connection_share.ts";
import { enterAgain } from "./connection_token.ts";
import { type EventRecord, isObject, isRecord, numberOf, objectOf, objectsOf, textOf, textsOf } from "./session/record.ts";
import type { Opening, Taken } from "./session/session.ts";

export type Status =
  // Not connected yet.
  | "opening"
  | "open"
  // Lost; reconnecting.
  | "lost"
  // The server refuses the token (403), or runs a different game now (409).
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

// The browser functions that the connection uses; tests replace them.
export interface Environment {
  openSource(url: string): Source;
  // The HTTP status of a request to the stream's address; undefined without a response.
  probe(url: string): Promise<number | undefined>;
  // Sends the token again, because a different local server may have overwritten the cookie. True if it was accepted.
  enter(): Promise<boolean>;
  share: OpenShare;
  later(run: () => void, milliseconds: number): () => void;
  isHidden(): boolean;
  // Calls `listener` when the page is shown or hidden, when its window gets the focus, and when a different window of
  // the browser has entered a game.
  onVisibility(listener: () => void): () => void;
}

export interface Listener {
  status(status: Status): void;
  // Returns the number of the last known record of this session: 0 for a new session.
  opened(opening: Opening): number;
  records(records: readonly EventRecord[], skipGap: boolean): Taken;
  lastSeq(): number;
}

const kClosed = 2;
const kHiddenFor = 30_000;
// The server sends something at least every 15 seconds.
const kSilentFor = 40_000;
const kFirstWait = 1000;
const kLongestWait = 15_000;

export class Connection {
  status: Status = "opening";
  // The connection ended because a different game runs at the same address.
  isReplaced = false;
  #source: Source | undefined;
  #listener: Listener;
  #environment: Environment;
  #wait = kFirstWait;
  #cancelWait: (() => void) | undefined;
  #cancelRest: (() => void) | undefined;
  #cancelSilence: (() => void) | undefined;
  #stopWatching: () => void;
  #game = "";
  #share: Share | undefined;
  #role: Role | undefined;
  // The number of the newest record that is known to exist.
  #newest = 0;
  // The token was sent again, and no stream has opened since.
  #hasEntered = false;
  // The record before the last gap. If the same gap comes again, it will never be filled.
  #gapAfter = -1;

  constructor(listener: Listener, environment: Environment = browser()) {
    this.#listener = listener;
    this.#environment = environment;
    this.#stopWatching = environment.onVisibility(() => this.#visibility());
    // The page may have been opened in a background tab.
    this.#visibility();
  }

  open(): void {
    this.#close();
    const source = this.#environment.openSource(this.#url());
    this.#source = source;
    this.#hear();
    source.onopen = () => {
      this.#hear();
      this.#wait = kFirstWait;
      this.#set("open");
      if (this.#role === "leader") this.#share?.send({ what: "status", status: "open" });
    };
    source.onerror = () => this.#failed(source);
    source.addEventListener("alive", () => this.#hear());
    source.addEventListener("session", (message) => this.#opened(source, message.data));
    source.onmessage = (message) => this.#receiveRecords(source, message.data);
  }

  // Reconnects at once, on the player's request.
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

  // The server has sent something. A server that hangs closes no connection: it is only silent.
  #hear(): void {
    this.#cancelSilence?.();
    this.#cancelSilence = this.#environment.later(() => {
      this.#lose();
      this.open();
    }, kSilentFor);
  }

  #close(): void {
    this.#cancelSilence?.();
    this.#cancelSilence = undefined;
    this.#cancelWait?.();
    this.#cancelWait = undefined;
    this.#source?.close();
    this.#source = undefined;
  }

  #opened(source: Source, data: string): void {
    if (source !== this.#source) return;
    this.#hear();
    const opening = readOpening(data);
    if (opening === undefined) return;
    // EventSource reconnects with the URL of its first request, which may not contain the game.
    if (this.#game !== "" && opening.game !== undefined && opening.game !== this.#game) return this.#end(true);
    this.#hasEntered = false;
    this.#newest = Math.max(this.#newest, opening.last);
    const before = this.#listener.lastSeq();
    const known = this.#listener.opened(opening);
    // The first record of a game that continues does not have the number 1.
    if (opening.last === 0) this.#gapAfter = known;
    this.#join(opening.game ?? "");
    // A different session than before: open its stream from the beginning.
    if (known === 0 && before > 0) return this.open();
    if (this.#role === "leader") this.#share?.send({ what: "opened", last: opening.last });
    this.#perhapsFollow();
  }

  #receiveRecords(source: Source, data: string): void {
    if (source !== this.#source) return;
    this.#hear();
    const after = this.#listener.lastSeq();
    const records = readRecords(data);
    // Only newer records: other windows get the older ones from their own streams.
    if (this.#role === "leader" && (records.at(-1)?.seq ?? 0) > this.#newest) this.#share?.send({ what: "records", data });
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
    const share = this.#environment.share(
      game,
      (role) => {
        if (share !== undefined && share !== this.#share) return;
        this.#role = role;
        if (role === "follower") this.#perhapsFollow();
        else if (this.#source === undefined && this.#cancelWait === undefined) this.open();
      },
      (message) => {
        if (share === this.#share) this.#receive(message);
      },
    );
    this.#share = share;
  }

  #leave(): void {
    this.#share?.leave();
    this.#share = undefined;
    this.#role = undefined;
  }

  // Closes this window's stream if it has all records and a different window leads.
  #perhapsFollow(): void {
    if (this.#role !== "follower" || this.#source === undefined || this.status !== "open" || this.#listener.lastSeq() < this.#newest) return;
    this.#close();
    // The leader may have passed on records before this window listened: ask for the newest number.
    this.#share?.send({ what: "request" });
  }

  #receive(message: ShareMessage): void {
    if (message.what === "request") {
      if (this.#role === "leader") this.#share?.send({ what: "opened", last: this.#listener.lastSeq() });
      return;
    }
    if (this.#role === "leader") return;
    switch (message.what) {
      case "status":
        if (this.#source === undefined) this.#set(message.status);
        return;
      case "opened":
        this.#newest = Math.max(this.#newest, message.last);
        if (this.#source === undefined && this.#listener.lastSeq() < this.#newest) this.open();
        return;
      case "records": {
        const records = readRecords(message.data);
        this.#newest = Math.max(this.#newest, records.at(-1)?.seq ?? 0);
        if (this.#listener.records(records, false) === "all") return this.#perhapsFollow();
        // If this window has a stream, it brings the missing records.
        if (this.#source === undefined) this.open();
        return;
      }
    }
  }

  // --- the end of a stream -------------------------------------------------------------------------------------------

  #lose(): void {
    this.#set("lost");
    if (this.#role === "leader") this.#share?.send({ what: "status", status: "lost" });
  }

  #failed(source: Source): void {
    if (source !== this.#source) return;
    this.#lose();
    if (source.readyState !== kClosed) return;
    void this.#environment.probe(this.#url()).then(async (status) => {
      if (source !== this.#source) return;
      if (status === 409) return this.#end(true);
      if (status === 403) {
        const isIn = !this.#hasEntered && (await this.#environment.enter());
        if (source !== this.#source) return;
        if (!isIn) return this.#end(false);
        this.#hasEntered = true;
        return this.open();
      }
      this.#cancelWait = this.#environment.later(() => this.open(), this.#wait);
      this.#wait = Math.min(this.#wait * 2, kLongestWait);
    });
  }

  #end(isReplaced: boolean): void {
    this.isReplaced = isReplaced;
    this.#leave();
    this.#close();
    this.#set("ended");
  }

  // A window that was refused (403) cannot know whether a new game runs at its address, until a different window of the
  // browser has entered that game.
  #lookForNewGame(): void {
    if (this.isReplaced || this.#game === "") return;
    void this.#environment.probe(this.#url()).then((status) => {
      if (status !== 409 || this.isReplaced) return;
      this.isReplaced = true;
      this.#listener.status("ended");
    });
  }

  // A hidden page gives up its connection and its role.
  #visibility(): void {
    this.#cancelRest?.();
    this.#cancelRest = undefined;
    if (this.status === "ended") {
      if (!this.#environment.isHidden()) this.#lookForNewGame();
      return;
    }
    if (this.#environment.isHidden()) {
      this.#cancelRest = this.#environment.later(() => {
        this.#leave();
        this.#close();
        this.#set("resting");
      }, kHiddenFor);
    } else if (this.status === "resting") {
      this.open();
    }
  }
}

function readOpening(data: string): Opening | undefined {
  const value = parsed(data);
  if (!isObject(value)) return undefined;
  const opening = objectOf(value, "opening");
  return {
    // Unknown until the first record.
    sessionId: textOf(value, "sessionId") ?? "",
    title: textOf(value, "title") ?? "",
    after: numberOf(value, "after") ?? 0,
    last: numberOf(value, "last") ?? 0,
    game: textOf(value, "game"),
    language: textOf(value, "language"),
    opening: opening && { text: textOf(opening, "text") ?? "", choices: textsOf(opening, "choices") },
    state: objectOf(value, "state"),
    turns: objectsOf(value, "turns"),
    interrupted: objectOf(value, "interrupted"),
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
      addEventListener("focus", listener);
      const stopListening = onArrival(listener);
      return () => {
        stopListening();
        document.removeEventListener("visibilitychange", listener);
        removeEventListener("focus", listener);
      };
    },
  };
}
