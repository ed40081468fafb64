// SPDX-License-Identifier: Apache-2.0
// The event stream, as long as the page is open: EventSource reconnects by itself; what it gives up on, a gap in the
// records, and a page that nobody looks at, are cared for here.
import { type EventRecord, isObject, isRecord, numberOf, objectOf, textOf } from "./session/record.ts";
import type { Opening, Taken } from "./session/session.ts";

export type Status =
  // Nothing has come yet.
  | "opening"
  | "open"
  // It was lost; it is being tried again.
  | "lost"
  // The server knows this page no more: 403.
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
  #source: Source | undefined;
  #listener: Listener;
  #around: Environment;
  #wait = kFirstWait;
  #cancelWait: (() => void) | undefined;
  #cancelRest: (() => void) | undefined;
  #stopWatching: () => void;
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
    const source = this.#around.openSource(`/api/events?after=${this.#listener.lastSeq()}`);
    this.#source = source;
    source.onopen = () => {
      this.#wait = kFirstWait;
      this.#set("open");
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
    this.#close();
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
    const before = this.#listener.lastSeq();
    const known = this.#listener.opened(opening);
    // Another session than the one that the stream was opened for: from its beginning.
    if (known === 0 && before > 0) this.open();
  }

  #take(source: Source, data: string): void {
    if (source !== this.#source) return;
    const after = this.#listener.lastSeq();
    if (this.#listener.records(readRecords(data), this.#gapAfter === after) === "all") return;
    this.#gapAfter = this.#listener.lastSeq();
    this.open();
  }

  #failed(source: Source): void {
    if (source !== this.#source) return;
    this.#set("lost");
    if (source.readyState !== kClosed) return;
    const url = `/api/events?after=${this.#listener.lastSeq()}`;
    void this.#around.probe(url).then((status) => {
      if (source !== this.#source) return;
      if (status === 403) {
        this.#close();
        this.#set("ended");
        return;
      }
      this.#cancelWait = this.#around.later(() => this.open(), this.#wait);
      this.#wait = Math.min(this.#wait * 2, kLongestWait);
    });
  }

  // A browser has six connections for a host: pages that nobody looks at must not hold them all.
  #visibility(): void {
    this.#cancelRest?.();
    this.#cancelRest = undefined;
    if (this.status === "ended") return;
    if (this.#around.isHidden()) {
      this.#cancelRest = this.#around.later(() => {
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
  return {
    // The server learns it with the first record.
    sessionId: textOf(value, "sessionId") ?? "",
    title: textOf(value, "title") ?? "",
    last: numberOf(value, "last") ?? 0,
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
