// SPDX-License-Identifier: Apache-2.0
// Notifies listeners of changes, at most once per frame.

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
