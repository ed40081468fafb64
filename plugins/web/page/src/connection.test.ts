// SPDX-License-Identifier: Apache-2.0
import { beforeEach, describe, expect, it } from "vitest";
import type { Role, Share, ShareMessage } from "./connection_share.ts";
import { Connection, type Listener, type Source, type Status, type Environment, readRecords } from "./connection.ts";
import { Session } from "./session/session.ts";

class FakeSource implements Source {
  readyState = 0;
  onopen: ((event: Event) => void) | null = null;
  onerror: ((event: Event) => void) | null = null;
  onmessage: ((event: MessageEvent<string>) => void) | null = null;
  isClosed = false;
  #listeners = new Map<string, (event: MessageEvent<string>) => void>();

  constructor(readonly url: string) {}

  addEventListener(type: string, listener: (event: MessageEvent<string>) => void): void {
    this.#listeners.set(type, listener);
  }

  close(): void {
    this.isClosed = true;
  }

  opens(sessionId: string | null, last: number, game?: string): void {
    this.readyState = 1;
    this.onopen?.(new Event("open"));
    this.#listeners.get("session")?.(message(JSON.stringify({ sessionId, game, title: "T", after: 0, last, state: {} })));
  }

  isAlive(): void {
    this.#listeners.get("alive")?.(message("{}"));
  }

  sends(...seqs: number[]): void {
    this.onmessage?.(message(seqs.map(record).join("\n")));
  }

  // Opens, and sends all records.
  catchesUp(last: number, game?: string): void {
    this.opens("s", last, game);
    this.sends(...Array.from({ length: last }, (_, index) => index + 1));
  }

  breaks(state: 0 | 2): void {
    this.readyState = state;
    this.onerror?.(new Event("error"));
  }
}

// The share between this window and other windows of the browser.
class FakeShare implements Share {
  message: ShareMessage[] = [];
  isLeft = false;

  constructor(
    readonly game: string,
    readonly role: (role: Role) => void,
    readonly receive: (message: ShareMessage) => void,
  ) {}

  send(message: ShareMessage): void {
    this.message.push(message);
  }

  leave(): void {
    this.isLeft = true;
  }

  // Simulates records passed on by the leader.
  passes(...seqs: number[]): void {
    this.receive({ what: "records", data: seqs.map(record).join("\n") });
  }
}

const message = (data: string): MessageEvent<string> => ({ data }) as MessageEvent<string>;
const record = (seq: number): string =>
  JSON.stringify({ seq, time: "2026-01-24T18:30:00Z", sessionId: "s", kind: "narrative", event: { text: `${seq}` } });

let sources: FakeSource[];
let waits: { run: () => void; milliseconds: number }[];
// The wait for a sign of the server.
let silence: { run: () => void } | undefined;
let answer: number | undefined;
let isHidden: boolean;
let sawVisibility: () => void;
let session: Session;
let statuses: Status[];
let connection: Connection;
let isLetIn: boolean;
let entries: number;
let shares: FakeShare[];
let open: () => void;

const source = (): FakeSource => sources.at(-1)!;
const hide = (hidden: boolean): void => {
  isHidden = hidden;
  sawVisibility();
};
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

beforeEach(() => {
  sources = [];
  waits = [];
  answer = undefined;
  isHidden = false;
  isLetIn = false;
  entries = 0;
  shares = [];
  session = new Session(() => {});
  statuses = [];
  const around: Environment = {
    openSource(url) {
      sources.push(new FakeSource(url));
      return source();
    },
    probe: () => Promise.resolve(answer),
    enter() {
      entries += 1;
      return Promise.resolve(isLetIn);
    },
    share(game, role, receive) {
      shares.push(new FakeShare(game, role, receive));
      return shares.at(-1);
    },
    later(run, milliseconds) {
      const wait = { run, milliseconds };
      if (milliseconds === 40_000) {
        silence = wait;
        return () => (silence = undefined);
      }
      waits.push(wait);
      return () => (waits = waits.filter((one) => one !== wait));
    },
    isHidden: () => isHidden,
    onVisibility(listener) {
      sawVisibility = listener;
      return () => {};
    },
  };
  const listener: Listener = {
    status: (status) => statuses.push(status),
    opened(opening) {
      if (session.isAnother(opening)) session = new Session(() => {});
      session.open(opening);
      return session.lastSeq;
    },
    records: (records, skipGap) => session.take(records, skipGap),
    lastSeq: () => session.lastSeq,
  };
  open = () => {
    connection = new Connection(listener, around);
    connection.open();
  };
  open();
});

describe("a window whose game has ended", () => {
  const refused = async (): Promise<void> => {
    source().opens("s", 0, "old");
    answer = 403;
    source().breaks(2);
    await settled();
    expect(connection.status).toBe("ended");
    expect(connection.isReplaced).toBe(false);
  };

  it("notices a new game once a different window has entered it", async () => {
    await refused();
    answer = 409;
    statuses = [];
    sawVisibility();
    await settled();
    expect(connection.isReplaced).toBe(true);
    expect(statuses).toEqual(["ended"]);
  });

  it("stays ended as long as it is refused or hidden", async () => {
    await refused();
    sawVisibility();
    await settled();
    expect(connection.isReplaced).toBe(false);
    answer = 409;
    hide(true);
    await settled();
    expect(connection.isReplaced).toBe(false);
  });
});

describe("the event stream", () => {
  it("starts at the first record", () => {
    expect(source().url).toBe("/api/events?after=0");
    source().catchesUp(2);
    expect(session.lastSeq).toBe(2);
    expect(session.caughtUp).toBe(true);
    expect(statuses).toEqual(["open"]);
  });

  it("begins with any number in a game that continues", () => {
    source().opens("s", 0);
    source().sends(20, 21);
    expect([session.lastSeq, sources.length]).toEqual([21, 1]);
    source().sends(23);
    expect([session.lastSeq, sources.length]).toEqual([21, 2]);
  });

  it("is lost and opens again if nothing comes for 40 seconds", () => {
    source().catchesUp(1);
    const first = silence;
    source().isAlive();
    expect(silence).not.toBe(first);
    silence!.run();
    expect(connection.status).toBe("lost");
    expect(sources.map((one) => one.isClosed)).toEqual([true, false]);
    source().opens("s", 1);
    expect(connection.status).toBe("open");
  });

  it("may open before the session id is known", () => {
    source().opens(null, 0);
    expect(session.caughtUp).toBe(true);
    source().sends(1);
    expect(session.id).toBe("s");
    source().opens("s", 1);
    expect(session.lastSeq).toBe(1);
  });

  it("ignores records repeated after a reconnection", () => {
    source().catchesUp(2);
    source().breaks(0);
    expect(statuses).toEqual(["open", "lost"]);
    source().opens("s", 4);
    // The records so far stay in the session while the rest is loaded.
    expect(session.caughtUp).toBe(true);
    source().sends(2, 3, 4);
    expect(session.lastSeq).toBe(4);
    expect(statuses).toEqual(["open", "lost", "open"]);
    expect(sources.length).toBe(1);
  });

  it("reopens once at a gap, then skips it", () => {
    source().opens("s", 9);
    source().sends(1, 2);
    source().sends(5);
    expect(sources.length).toBe(2);
    expect(source().url).toBe("/api/events?after=2");
    expect(sources[0]!.isClosed).toBe(true);
    source().opens("s", 9);
    source().sends(5, 6);
    expect(session.lastSeq).toBe(6);
    expect(sources.length).toBe(2);
  });

  it("starts over with a new session without an id", () => {
    source().catchesUp(2);
    source().breaks(0);
    source().opens(null, 0);
    expect(sources.length).toBe(2);
    expect(source().url).toBe("/api/events?after=0");
    source().opens(null, 0);
    source().sends(1);
    expect(session.lastSeq).toBe(1);
    expect(sources.length).toBe(2);
  });

  it("starts over with a new session", () => {
    source().catchesUp(2);
    source().opens("other", 1);
    expect(source().url).toBe("/api/events?after=0");
    source().opens("other", 1);
    source().sends(1);
    expect(session.id).toBe("other");
    expect(session.lastSeq).toBe(1);
  });

  it("retries with backoff when EventSource gives up", async () => {
    const tried: number[] = [];
    for (let round = 0; round < 6; ++round) {
      source().breaks(2);
      await settled();
      tried.push(waits[0]!.milliseconds);
      waits.shift()!.run();
    }
    expect(tried).toEqual([1000, 2000, 4000, 8000, 15_000, 15_000]);
  });

  it("ends when the server refuses the page", async () => {
    source().catchesUp(1);
    answer = 403;
    source().breaks(2);
    await settled();
    expect(connection.status).toBe("ended");
    expect(waits).toEqual([]);
  });

  it("closes on a long-hidden page and resumes later", () => {
    source().catchesUp(3);
    hide(true);
    expect(waits[0]!.milliseconds).toBe(30_000);
    waits.shift()!.run();
    expect(source().isClosed).toBe(true);
    expect(connection.status).toBe("resting");
    hide(false);
    expect(source().url).toBe("/api/events?after=3");
  });

  it("closes on a page opened in the background", () => {
    connection.dispose();
    isHidden = true;
    open();
    source().opens("s", 3);
    expect(waits.map((one) => one.milliseconds)).toEqual([30_000]);
    waits.shift()!.run();
    expect(connection.status).toBe("resting");
  });

  it("stays open when the page is hidden briefly", () => {
    source().opens("s", 0);
    hide(true);
    hide(false);
    expect(waits).toEqual([]);
    expect(sources.length).toBe(1);
  });

  it("ignores events of a closed source", () => {
    source().opens("s", 3);
    const first = source();
    connection.retry();
    first.sends(1);
    expect(session.lastSeq).toBe(0);
  });
});

describe("a batch", () => {
  it("has one record per line; other lines are skipped", () => {
    const lines = [record(1), "", "no JSON", "[]", '{"seq":"1"}', record(2)].join("\n");
    expect(readRecords(lines).map((one) => one.seq)).toEqual([1, 2]);
  });
});

describe("a page whose cookie was overwritten", () => {
  it("sends its token again and resumes", async () => {
    source().catchesUp(1);
    [answer, isLetIn] = [403, true];
    source().breaks(2);
    await settled();
    expect(sources.length).toBe(2);
    expect(source().url).toBe("/api/events?after=1");
    source().opens("s", 1);
    expect(connection.status).toBe("open");
  });

  it("ends when the token is refused, without further attempts", async () => {
    [answer, isLetIn] = [403, true];
    source().breaks(2);
    await settled();
    source().breaks(2);
    await settled();
    expect(entries).toBe(1);
    expect(connection.status).toBe("ended");
    expect(connection.isReplaced).toBe(false);
  });
});

describe("a page of an earlier game at the same address", () => {
  it("sends its game in each request and reports the end", async () => {
    source().catchesUp(1, "g1");
    answer = 409;
    source().breaks(2);
    await settled();
    expect(connection.status).toBe("ended");
    expect(connection.isReplaced).toBe(true);
    expect(shares.at(-1)?.isLeft).toBe(true);
    expect(session.lastSeq).toBe(1);
  });

  it("notices the new game when EventSource reconnects", () => {
    source().catchesUp(1, "g1");
    source().breaks(0);
    source().opens(null, 0, "g2");
    expect(connection.isReplaced).toBe(true);
    expect(session.lastSeq).toBe(1);
    expect(source().isClosed).toBe(true);
  });

  it("requests its own game after each connection loss", () => {
    source().catchesUp(1, "g1");
    connection.retry();
    expect(source().url).toBe("/api/events?after=1&game=g1");
  });
});

describe("several windows of one browser", () => {
  const share = (): FakeShare => shares.at(-1)!;

  it("close their streams once caught up, except the leader", () => {
    source().opens("s", 2, "g");
    share().role("follower");
    expect(source().isClosed).toBe(false);
    source().sends(1, 2);
    expect(source().isClosed).toBe(true);
    expect(connection.status).toBe("open");
    expect(share().message).toEqual([{ what: "request" }]);
    share().passes(3);
    expect(session.lastSeq).toBe(3);
    expect(sources.length).toBe(1);
  });

  it("pass on only new records", () => {
    source().opens("s", 1, "g");
    share().role("leader");
    source().sends(1);
    expect(share().message).toEqual([]);
    source().sends(2);
    expect(share().message).toEqual([{ what: "records", data: record(2) }]);
    share().receive({ what: "request" });
    expect(share().message.at(-1)).toEqual({ what: "opened", last: 2 });
  });

  it("reopen a stream for missed records, then close it", () => {
    source().opens("s", 0, "g");
    share().role("follower");
    share().passes(3);
    expect(source().url).toBe("/api/events?after=0&game=g");
    source().catchesUp(3, "g");
    expect(session.lastSeq).toBe(3);
    expect(source().isClosed).toBe(true);
    share().receive({ what: "opened", last: 5 });
    expect(source().isClosed).toBe(false);
    expect(source().url).toBe("/api/events?after=3&game=g");
  });

  it("accept records before the leader is known", () => {
    source().catchesUp(1, "g");
    share().passes(2, 3);
    share().role("follower");
    expect(session.lastSeq).toBe(3);
  });

  it("elect a new leader when the leader closes", () => {
    source().opens("s", 1, "g");
    share().role("follower");
    source().sends(1);
    share().role("leader");
    expect(sources.length).toBe(2);
    source().opens("s", 2, "g");
    expect(share().message.at(-1)).toEqual({ what: "opened", last: 2 });
  });

  it("all report that the game is unreachable", () => {
    source().opens("s", 0, "g");
    share().role("follower");
    share().receive({ what: "status", status: "lost" });
    expect(connection.status).toBe("lost");
    share().receive({ what: "status", status: "open" });
    expect(connection.status).toBe("open");
  });

  it("give up the lead while hidden", () => {
    source().opens("s", 0, "g");
    share().role("leader");
    hide(true);
    waits.at(-1)?.run();
    expect(share().isLeft).toBe(true);
    hide(false);
    source().opens("s", 0, "g");
    expect(shares.length).toBe(2);
  });
});
