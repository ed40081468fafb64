// SPDX-License-Identifier: Apache-2.0
// The plan on a time axis: a row per tool, a bar per attempt, and hatched waits between attempts. While the plan runs,
// the axis grows.
import { css, html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { styleMap } from "lit/directives/style-map.js";
import { Clock } from "../controls/clock.ts";
import { icon } from "../controls/icons.ts";
import { leadsTo } from "../controls/keys.ts";
import { base } from "../controls/styles.ts";
import { rem, Windowed } from "../list/windowed.ts";
import type { Attempt, Invocation, PlanRun } from "../session/session.ts";
import { counted } from "../text/shorten.ts";
import { toolRoute } from "./route.ts";
import { attemptTime, planEnd, planState, stateIcons, stateNames } from "./status.ts";
import { type Bar, barOf, duration, ticksFor } from "./time_scale.ts";

// The minimum length of the axis in milliseconds, so that a bar of 3 ms does not fill the axis of a new plan.
const least = 20;

@customElement("narratoria-plan-timeline")
export class PlanTimeline extends LitElement {
  static override styles = [
    base,
    css`
      :host {
        container-type: inline-size;
        --name: 11rem;
      }
      .axis,
      .row {
        display: grid;
        grid-template-columns: var(--name) minmax(0, 1fr);
        gap: 0.75rem;
        padding: 0 1rem;
      }
      .axis {
        height: 1.75rem;
        align-items: end;
        font-size: 0.75rem;
        color: var(--quiet);
      }
      .ticks,
      .track {
        position: relative;
        height: 100%;
      }
      .tick {
        position: absolute;
        bottom: 0.25rem;
        transform: translateX(-50%);
        white-space: nowrap;
      }
      .tick:first-child {
        transform: none;
      }
      .tick.last {
        transform: translateX(-100%);
      }
      .lines {
        position: absolute;
        inset: 0 1rem 0 calc(var(--name) + 1.75rem);
        pointer-events: none;
      }
      .lines span {
        position: absolute;
        top: 0;
        bottom: 0;
        width: 1px;
        background: rgba(var(--mdui-color-outline-variant), 0.6);
      }
      .body {
        position: relative;
      }
      .port {
        overflow: auto;
        max-height: min(22rem, 45vh);
        padding-bottom: 0.5rem;
        scrollbar-width: thin;
        position: relative;
      }
      .row {
        position: relative;
        height: var(--row);
        align-items: center;
        color: inherit;
        text-decoration: none;
        border-radius: 0.5rem;
      }
      .row:focus-visible {
        outline-offset: -2px;
      }
      .row:hover,
      .row[aria-current] {
        background: rgba(var(--mdui-color-on-surface), 0.06);
      }
      .label {
        display: flex;
        align-items: center;
        gap: 0.5rem;
        min-width: 0;
        font-weight: 500;
        font-size: 0.8125rem;
      }
      .label .icon {
        color: var(--tone);
      }
      .bar {
        position: absolute;
        top: 50%;
        height: 0.875rem;
        margin-top: -0.4375rem;
        min-width: 3px;
        border-radius: 0.25rem;
        background: var(--tone);
        overflow: hidden;
      }
      .bar.failed,
      .bar.timeout {
        background: repeating-linear-gradient(-45deg, var(--tone) 0 5px, color-mix(in srgb, var(--tone) 65%, transparent) 5px 8px);
      }
      .bar.running {
        background: color-mix(in srgb, var(--tone) 38%, transparent);
        box-shadow: inset 0 0 0 1.5px var(--tone);
      }
      .bar .done {
        position: absolute;
        inset: 0;
        transform-origin: left;
        background: var(--tone);
      }
      .wait {
        position: absolute;
        top: 50%;
        height: 0.375rem;
        margin-top: -0.1875rem;
        border-block: 1.5px dotted var(--caution);
      }
      .queue {
        position: absolute;
        top: 50%;
        height: 1px;
        background: rgba(var(--mdui-color-outline), 0.55);
      }
      .time {
        position: absolute;
        top: 50%;
        transform: translateY(-50%);
        padding: 0 0.375rem;
        font-size: 0.75rem;
        color: var(--quiet);
        white-space: nowrap;
        pointer-events: none;
      }
      @container (max-width: 480px) {
        .axis,
        .row {
          grid-template-columns: minmax(0, 1fr);
          gap: 0;
        }
        .lines {
          inset-inline-start: 1rem;
        }
        .row {
          grid-template-rows: 1fr 1.25rem;
          padding-block: 0.25rem;
        }
      }
      @media (forced-colors: active) {
        .bar {
          background: CanvasText;
          forced-color-adjust: none;
        }
      }
    `,
  ];

  @property({ attribute: false }) plan: PlanRun | undefined = undefined;
  @property({ attribute: false }) revision = 0;
  @property({ attribute: false }) selected: string | undefined = undefined;
  @state() private width = 600;
  @state() private active = 0;

  #rows = new Windowed(this);
  #list: Invocation[] = [];
  #sizes = new ResizeObserver(([entry]) => (this.width = entry?.contentRect.width ?? this.width));

  constructor() {
    super();
    // The time in which the bars move by one pixel.
    const pixel = (): number => Math.min(250, (Date.now() - (this.plan?.started ?? 0)) / Math.max(1, this.width));
    new Clock(this, () => this.plan !== undefined && planState(this.plan) === "running", pixel);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#sizes.observe(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#sizes.disconnect();
  }

  protected override willUpdate(changed: PropertyValues): void {
    const plan = this.plan;
    if (plan === undefined) return;
    if (this.#list.length !== plan.invocations.size || changed.has("plan")) this.#list = [...plan.invocations.values()];
    if (changed.has("plan")) this.active = 0;
    this.#rows.count = this.#list.length;
    this.#rows.rowHeight = rem(this.width <= 480 ? 3.25 : 2);
  }

  protected override render(): TemplateResult | typeof nothing {
    const plan = this.plan;
    if (plan === undefined) return nothing;
    const now = Date.now();
    const span = Math.max(least, planEnd(plan, now) - plan.started);
    const axis = this.width <= 480 ? this.width - 32 : this.width - rem(14.75);
    const ticks = ticksFor(span, axis, 84);
    // True if a label centred on its line would be cut off at the end of the axis.
    const isLast = (time: number): boolean => (1 - time / span) * axis < rem(1.5);
    const at = (time: number): Record<string, string> => ({ left: `${(time / span) * 100}%` });
    return html`<div class="axis number" aria-hidden="true">
        ${this.width <= 480 ? nothing : html`<span></span>`}
        <span class="ticks">${ticks.map((one) => html`<span class="tick ${isLast(one.at) ? "last" : ""}" style=${styleMap(at(one.at))}>${one.label}</span>`)}</span>
      </div>
      <div class="body">
        <div class="lines" aria-hidden="true">${ticks.map((one) => html`<span style=${styleMap(at(one.at))}></span>`)}</div>
        <div
          class="port"
          role="group"
          aria-label="Timeline of ${counted(this.#list.length, "tool")}, ${duration(span)} in all"
          ${this.#rows.attach}
          @scroll=${this.#rows.onScroll}
          @keydown=${this.#key}
          style=${styleMap({ "--row": `${this.#rows.rowHeight}px` })}
        >
          ${this.#rows.draw((index) => this.#row(plan, this.#list[index]!, index, span, now))}
        </div>
      </div>`;
  }

  #row(plan: PlanRun, one: Invocation, index: number, span: number, now: number): TemplateResult {
    const begin = one.started ?? (one.state === "pending" ? Math.min(now, planEnd(plan, now)) : one.pendingSince);
    const end = one.ended ?? (one.state === "pending" ? begin : planEnd(plan, now));
    const total = barOf(plan.started, end, plan.started, span).to;
    return html`<a
      class="row ${one.state}"
      data-index=${index}
      href=${toolRoute(plan.key, one.toolId)}
      tabindex=${index === this.active ? 0 : -1}
      aria-current=${one.toolId === this.selected ? "true" : nothing}
      @focus=${() => (this.active = index)}
    >
      <span class="label">${icon(stateIcons[one.state])}<span class="clipped" dir="auto" title=${one.toolId.slice(0, 200)}>${one.toolId.slice(0, 200)}</span></span>
      <span class="unseen">${stateNames[one.state]}${one.attempts.length > 1 ? `: ${attemptsSpoken(one.attempts, now)}` : ""}</span>
      <span class="track">
        <span class="queue" style=${styleMap(placed(plan.started, begin, plan.started, span))}></span>
        ${one.attempts.map((attempt, place) => this.#attempt(one, attempt, one.attempts[place + 1], plan, span, now))}
        ${
          one.state === "pending" || one.state === "skipped"
            ? html`<span class="time" style=${styleMap(total < 0.7 ? { left: `${total * 100}%` } : { right: "0", ...opaque })}>${stateNames[one.state]}</span>`
            : html`<span class="time number" style=${styleMap(besides(barOf(begin, end, plan.started, span)))}
                >${duration(one.executionTime ?? Math.max(0, end - begin))}</span
              >`
        }
      </span>
    </a>`;
  }

  #attempt(one: Invocation, attempt: Attempt, next: Attempt | undefined, plan: PlanRun, span: number, now: number): unknown {
    const limit = one.ended ?? planEnd(plan, now);
    const end = attempt.ended ?? limit;
    const part = attempt.state === "running" && one.progress !== undefined ? one.progress : 0;
    const until = next?.started ?? (one.state === "retrying" ? limit : undefined);
    return html`<span
        class="bar ${attempt.state}"
        title="Attempt ${attempt.number}: ${stateNames[attempt.state]}, ${duration(attemptTime(attempt, now))}"
        style=${styleMap(placed(attempt.started, end, plan.started, span))}
        >${part > 0 ? html`<span class="done" style=${styleMap({ transform: `scaleX(${part})` })}></span>` : nothing}</span
      >${
        until === undefined
          ? nothing
          : html`<span class="wait" title="Waiting for the next attempt" style=${styleMap(placed(end, until, plan.started, span))}></span>`
      }`;
  }

  #key(event: KeyboardEvent): void {
    const wanted = leadsTo(event, this.active, this.#list.length - 1, 10);
    if (wanted === undefined) return;
    event.preventDefault();
    this.active = wanted;
    this.#rows.reveal(this.active);
    void this.updateComplete.then(() => {
      this.renderRoot.querySelector<HTMLElement>(`.row[data-index="${this.active}"]`)?.focus({ preventScroll: true });
    });
  }
}

function placed(from: number, to: number, origin: number, span: number): Record<string, string> {
  const bar = barOf(from, to, origin, span);
  return { left: `${bar.from * 100}%`, width: `${(bar.to - bar.from) * 100}%` };
}

// The background of text over a line, which would otherwise strike it through.
const opaque = { background: "rgb(var(--mdui-color-surface-container-low))" };

// The position of the label: after the bar if there is room, else before it, else none.
function besides({ from, to }: Bar): Record<string, string> {
  if (to < 0.8) return { left: `${to * 100}%` };
  return from > 0.2 ? { right: `${(1 - from) * 100}%`, ...opaque } : { display: "none" };
}

function attemptsSpoken(attempts: readonly Attempt[], now: number): string {
  return attempts
    .slice(0, 12)
    .map((one) => `attempt ${one.number} ${stateNames[one.state]} after ${duration(attemptTime(one, now))}`)
    .join(", ");
}
