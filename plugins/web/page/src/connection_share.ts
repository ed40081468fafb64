// SPDX-License-Identifier: Apache-2.0
// One event stream for all windows of a browser, which has six connections for a server in all. The window that holds a
// lock leads: it has the stream and passes on what comes; the others follow. When it goes, the browser gives the lock to
// the next. (A shared worker would do as well, but no hash can be demanded of a worker's script.)

export type Role = "leader" | "follower";

// What the leader passes on, and what a follower asks it for.
export type Told =
  // The data of one message of the stream.
  | { what: "records"; data: string }
  // The number of the newest record when its stream opened.
  | { what: "opened"; last: number }
  | { what: "status"; status: "open" | "lost" }
  // Of a window that has begun to follow: it is told the number of the newest record.
  | { what: "asked" };

export interface Share {
  tell(told: Told): void;
  leave(): void;
}

// undefined: this browser has no locks; each window then has a stream of its own.
export type OpenShare = (game: string, role: (role: Role) => void, heard: (told: Told) => void) => Share | undefined;

export const openShare: OpenShare = (game, role, heard) => {
  // Old browsers, and pages that are not served from the machine itself, have no locks.
  const locks = (navigator as { locks?: LockManager }).locks;
  if (locks === undefined || typeof BroadcastChannel === "undefined") return undefined;
  const name = `narratoria-${game}`;
  const channel = new BroadcastChannel(name);
  channel.onmessage = (message: MessageEvent<Told>) => heard(message.data);
  const gone = new AbortController();
  const left = new Promise<void>((resolve) => gone.signal.addEventListener("abort", () => resolve()));
  const lead = (): Promise<void> | undefined => {
    if (gone.signal.aborted) return undefined;
    role("leader");
    return left;
  };
  void (async () => {
    let led = false;
    await locks.request(name, { ifAvailable: true }, (lock) => {
      led = lock !== null;
      return led ? lead() : undefined;
    });
    if (led || gone.signal.aborted) return;
    role("follower");
    await locks.request(name, { signal: gone.signal }, lead);
  })().catch(() => undefined);
  return {
    tell: (told) => channel.postMessage(told),
    leave() {
      channel.close();
      gone.abort();
    },
  };
};
