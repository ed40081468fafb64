// SPDX-License-Identifier: Apache-2.0
// Renders its host repeatedly while something is running and the host is visible: at each frame, or four times a second
// if the reader prefers reduced motion. No timer is active while nothing runs.
import type { ReactiveController, ReactiveControllerHost } from "lit";

const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class Clock implements ReactiveController {
  #frame = 0;
  #timer = 0;

  // `interval`: milliseconds between renderings; less than a frame means each frame.
  constructor(
    private readonly host: ReactiveControllerHost & HTMLElement,
    private readonly isRunning: () => boolean,
    private readonly interval: number | (() => number) = 0,
  ) {
    host.addController(this);
  }

  hostUpdated(): void {
    if (this.#frame !== 0 || this.#timer !== 0 || !this.isRunning()) return;
    const interval = typeof this.interval === "number" ? this.interval : this.interval();
    const wait = calm.matches ? Math.max(250, interval) : interval;
    const tick = (): void => {
      this.#frame = this.#timer = 0;
      // While the host is hidden, check once a second whether it is visible again.
      if (this.host.getClientRects().length > 0) this.host.requestUpdate();
      else if (this.host.isConnected && this.isRunning()) this.#timer = window.setTimeout(tick, 1000);
    };
    if (wait < 17) this.#frame = requestAnimationFrame(tick);
    else this.#timer = window.setTimeout(() => {
      this.#timer = 0;
      this.#frame = requestAnimationFrame(tick);
    }, wait);
  }

  hostDisconnected(): void {
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#timer);
    this.#frame = this.#timer = 0;
  }
}
