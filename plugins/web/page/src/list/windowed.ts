// SPDX-License-Identifier: Apache-2.0
// Renders only the visible rows of a long list, in a scroller in the host's own shadow root, so that roles, styles and
// ids are in one tree.
import { html, type ReactiveController, type ReactiveControllerHost, type TemplateResult } from "lit";
import { createRef, ref, type Ref } from "lit/directives/ref.js";
import { styleMap } from "lit/directives/style-map.js";
import { type Port, type Rows, rowsIn, scrollFor } from "./window.ts";

// A scroll event within this time after an input event is attributed to the reader, in milliseconds.
const kTouch = 600;

export class Windowed implements ReactiveController {
  count = 0;
  rowHeight = 32;
  // Keeps the end in view as rows are added, until the reader scrolls away from it.
  follows = false;
  readonly scroller: Ref<HTMLElement> = createRef();
  readonly #observed = new ResizeObserver(() => this.#settle());
  #watched: Element | undefined;
  #frame = 0;
  #port: Port = { scrollTop: 0, height: 600 };
  #drawn = "";
  // The time of the reader's last input in the list. The scroll position alone does not reveal the reader's intention,
  // because the browser also changes it during layout.
  #touched = Number.NEGATIVE_INFINITY;
  readonly #touch = (): void => {
    this.#touched = performance.now();
  };

  constructor(private readonly host: ReactiveControllerHost & HTMLElement) {
    host.addController(this);
  }

  get rows(): Rows {
    return rowsIn(this.count, this.rowHeight, this.#port);
  }

  get isAtEnd(): boolean {
    const box = this.scroller.value;
    return box === undefined || box.scrollTop + box.clientHeight >= box.scrollHeight - this.rowHeight;
  }

  // The content of the scroller, row by row. Elements of rows that are scrolled away are reused.
  draw(row: (index: number) => unknown): TemplateResult {
    return this.drawTogether((first, last) => {
      const list = [];
      for (let index = first; index < last; ++index) list.push(row(index));
      return list;
    });
  }

  // Like draw(), but renders rows [first, last) with one call.
  drawTogether(draw: (first: number, last: number) => unknown): TemplateResult {
    const { first, last, top, height } = this.rows;
    this.#drawn = `${first}-${last}-${top}`;
    const drawn = draw(first, last);
    return html`<div class="rows-space" role="presentation" style=${styleMap({ height: `${height}px` })}>
      <div class="rows" role="presentation" style=${styleMap({ transform: `translateY(${top}px)` })}>${drawn}</div>
    </div>`;
  }

  readonly onScroll = (): void => {
    const box = this.scroller.value;
    if (box === undefined) return;
    if (performance.now() - this.#touched < kTouch) {
      const before = this.follows;
      this.follows = this.follows ? this.isAtEnd : this.follows;
      if (before !== this.follows) this.host.requestUpdate();
    }
    this.#look();
  };

  get attach(): unknown {
    return ref(this.scroller);
  }

  reveal(index: number): void {
    const box = this.scroller.value;
    if (box === undefined) return;
    this.#measure();
    const to = scrollFor(index, this.count, this.rowHeight, this.#port);
    if (to !== undefined) this.#scrollTo(to);
  }

  toEnd(): void {
    const box = this.scroller.value;
    if (box !== undefined) this.#scrollTo(box.scrollHeight);
  }

  hostUpdated(): void {
    const box = this.scroller.value;
    if (box !== this.#watched) {
      this.#observed.disconnect();
      if (box !== undefined) {
        // Otherwise the browser's scroll anchoring would react to reused elements.
        box.style.overflowAnchor = "none";
        for (const how of ["wheel", "touchmove", "pointerdown", "keydown"]) {
          box.addEventListener(how, this.#touch, { passive: true });
        }
        this.#observed.observe(box);
        if (box.firstElementChild !== null) this.#observed.observe(box.firstElementChild);
      }
      this.#watched = box;
    }
    if (box === undefined || this.#frame !== 0) return;
    // In the next frame, not now: measurements taken now may alternate between the old and the new layout, and each
    // would cause a new rendering, endlessly.
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#settle();
    });
  }

  hostDisconnected(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#observed.disconnect();
    this.#watched = undefined;
  }

  #scrollTo(to: number): void {
    const box = this.scroller.value!;
    box.scrollTop = to;
    this.#look();
  }

  #settle(): void {
    if (this.follows && !this.isAtEnd) this.toEnd();
    else this.#look();
  }

  #measure(): void {
    const box = this.scroller.value;
    if (box === undefined) return;
    const height = box.clientHeight;
    // The end is computed from the rows, because the browser may not have laid them out yet.
    const scrollTop = this.follows ? Math.max(0, this.rows.height - height) : box.scrollTop;
    this.#port = { scrollTop, height };
  }

  // Renders again if different rows are visible now.
  #look(): void {
    this.#measure();
    const { first, last, top } = this.rows;
    if (`${first}-${last}-${top}` !== this.#drawn) this.host.requestUpdate();
  }
}

export function rem(count: number): number {
  return count * (Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 16);
}
