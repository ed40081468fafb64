// SPDX-License-Identifier: Apache-2.0
// One event stream for all windows of a browser, because a browser opens at most six connections to a server. The
// window that holds a Web Lock is the leader: it reads the stream and passes it on; the others follow. When it closes,
// the browser gives the lock to the next window. (Not a shared worker, because a worker's script cannot have an
// integrity hash.)

export type Role = "leader" | "follower";

// The messages between windows. All but "request" come from the leader.
export type ShareMessage =
  // The data of one message of the stream.
  | { what: "records"; data: string }
  // The number of the newest record: when the leader's stream opened, or in reply to "request".
  | { what: "opened"; last: number }
  | { what: "status"; status: "open" | "lost" }
  // A window has become a follower and requests "opened".
  | { what: "request" };

export interface Share {
  send(message: ShareMessage): void;
  leave(): void;
}

// Returns undefined if the browser has no Web Locks; each window then has its own stream.
export type OpenShare = (game: string, role: (role: Role) => void, receive: (message: ShareMessage) => void) => Share | undefined;

export const openShare: OpenShare = (game, role, receive) => {
  // Old browsers have no Web Locks, nor do pages outside a secure context, such as http:// on a remote address.
  const locks = (navigator as { locks?: LockManager }).locks;
  if (locks === undefined || typeof BroadcastChannel === "undefined") return undefined;
  const name = `narratoria-${game}`;
  const channel = new BroadcastChannel(name);
  channel.onmessage = (message: MessageEvent<ShareMessage>) => receive(message.data);
  const controller = new AbortController();
  const released = new Promise<void>((resolve) => controller.signal.addEventListener("abort", () => resolve()));
  const lead = (): Promise<void> | undefined => {
    if (controller.signal.aborted) return undefined;
    role("leader");
    return released;
  };
  void (async () => {
    let isLeader = false;
    await locks.request(name, { ifAvailable: true }, (lock) => {
      isLeader = lock !== null;
      return isLeader ? lead() : undefined;
    });
    if (isLeader || controller.signal.aborted) return;
    role("follower");
    await locks.request(name, { signal: controller.signal }, lead);
  })().catch(() => undefined);
  return {
    send: (message) => channel.postMessage(message),
    leave() {
      channel.close();
      controller.abort();
    },
  };
};

const kArrivals = "narratoria-arrivals";

// Tells the other windows that this one has entered a game.
export function announceArrival(): void {
  if (typeof BroadcastChannel === "undefined") return;
  const channel = new BroadcastChannel(kArrivals);
  channel.postMessage("");
  channel.close();
}

// Calls `listener` when a different window has entered a game. Returns a function that ends it.
export function onArrival(listener: () => void): () => void {
  if (typeof BroadcastChannel === "undefined") return () => {};
  const channel = new BroadcastChannel(kArrivals);
  channel.onmessage = listener;
  return () => channel.close();
}
