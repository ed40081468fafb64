// SPDX-License-Identifier: Apache-2.0
// Tells listeners that something changed, at most once for each frame, however often it changes.

export type Schedule = (run: () => void) => void;

const nextFrame: Schedule = (run) => {
  if (typeof requestAnimationFrame === "function") requestAnimationFrame(run);
  else setTimeout(run, 16);
};

export class FrameNotifier {
  #listeners = new Set<() => void>();
  #isScheduled = false;
  #schedule: Schedule;

  constructor(schedule: Schedule = nextFrame) {
    this.#schedule = schedule;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  notify(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#schedule(() => {
      this.#isScheduled = false;
      for (const listener of [...this.#listeners]) listener();
    });
  }
}
