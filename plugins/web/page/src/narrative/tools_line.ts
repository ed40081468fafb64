// SPDX-License-Identifier: Apache-2.0
// The tools of a turn, kept unobtrusive: their progress while they run, then one line that unfolds to a list of the
// tools with their results and errors.
import { LitElement, type PropertyValues, css, html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { classMap } from "lit/directives/class-map.js";
import { Clock } from "../controls/clock.ts";
import { icon } from "../controls/icons.ts";
import { styleMap } from "../csp/style_map.ts";
import type { Invocation, InvocationState, Turn } from "../session/session.ts";
import "../text/long_text.ts";
import { counted, shortened } from "../text/shorten.ts";
import { shared } from "../theme/shared.ts";
import { planRoute, toolRoute } from "../tools/route.ts";
import { failureDetails, hasFailed, invocationsOf, toolsWords, turnDetails } from "./words.ts";

const kShown = 24;
const kWorking = 3;
// The minimum duration that is shown, in milliseconds.
const kWorthSaying = 3000;

@customElement("narratoria-tools-line")
export class ToolsLine extends LitElement {
  @property({ attribute: false }) turn: Turn | undefined;
  @property({ type: Number }) revision = 0;
  // The reader wants to see the details of all turns.
  @property({ type: Boolean }) details = false;
  @state() private isOpen = false;

  constructor() {
    super();
    new Clock(this, () => this.turn !== undefined && this.turn.outcome === undefined, () => 1000);
  }

  static override styles = [
    shared,
    css`
      :host {
        display: block;
        font: var(--mdui-typescale-label-large-size) / 1.5 var(--font-page);
        color: rgb(var(--mdui-color-on-surface-variant));
      }

      summary {
        display: inline-flex;
        align-items: center;
        gap: 0.375rem;
        min-height: 1.75rem;
        padding-inline-end: 0.5rem;
        border-radius: 0.5rem;
        font-size: 0.8125rem;
        list-style: none;
        cursor: pointer;
      }

      summary::-webkit-details-marker {
        display: none;
      }

      summary:hover .more {
        text-decoration: underline;
      }

      summary .icon {
        width: 1rem;
        height: 1rem;
        transition: transform 120ms;
      }

      details[open] summary .icon {
        transform: rotate(90deg);
      }

      ul {
        display: grid;
        gap: 0.25rem;
        margin: 0.25rem 0 0;
        padding: 0 0 0 0.5rem;
        border-inline-start: 0.0625rem solid rgb(var(--mdui-color-outline-variant));
        list-style: none;
      }

      .tool {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        column-gap: 0.5rem;
        min-height: 1.75rem;
        overflow-wrap: anywhere;
      }

      .tool a {
        color: rgb(var(--mdui-color-on-surface));
        min-height: 1.5rem;
        text-underline-offset: 0.2em;
      }

      .why {
        flex-basis: 100%;
        margin: 0 0 0.25rem 1.5rem;
        font-family: var(--font-code);
        font-size: var(--mdui-typescale-body-small-size);
      }

      .sign {
        flex: none;
        display: inline-flex;
        width: 1rem;
        height: 1rem;
        font-size: 1rem;
      }

      .completed .sign {
        color: rgb(var(--mdui-color-primary));
      }

      .failed .sign,
      .timeout .sign {
        color: rgb(var(--mdui-color-error));
      }

      .working {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        column-gap: 0.625rem;
        min-height: 1.75rem;
        overflow-wrap: anywhere;
      }

      .bar {
        flex: none;
        width: 6rem;
        height: 0.25rem;
        border-radius: 0.125rem;
        background: rgb(var(--mdui-color-surface-container-highest));
        overflow: hidden;
      }

      .bar > span {
        display: block;
        height: 100%;
        background: rgb(var(--mdui-color-primary));
        transition: width 120ms linear;
      }

      .ember {
        width: 0.625rem;
        height: 0.625rem;
        margin: auto;
        border-radius: 50%;
        background: rgb(var(--mdui-color-tertiary));
        animation: glow 1.4s ease-in-out infinite;
      }

      .ash {
        width: 0.625rem;
        height: 0.625rem;
        margin: auto;
        border: 0.0625rem solid rgb(var(--mdui-color-outline));
        border-radius: 50%;
      }

      @keyframes glow {
        50% {
          opacity: 0.35;
          transform: scale(0.8);
        }
      }

      @media (prefers-reduced-motion: reduce) {
        .ember {
          animation: none;
        }

        .bar > span,
        summary .icon {
          transition: none;
        }
      }

      @media (forced-colors: active) {
        .bar {
          border: 0.0625rem solid CanvasText;
        }

        .bar > span,
        .ember {
          background: CanvasText;
          forced-color-adjust: none;
        }
      }

      @media print {
        :host {
          display: none;
        }
      }
    `,
  ];

  override willUpdate(changed: PropertyValues): void {
    if (changed.has("details")) this.isOpen = this.details;
  }

  override render(): unknown {
    const turn = this.turn;
    if (turn === undefined) return nothing;
    const working = turn.outcome === undefined ? this.#working(turn) : nothing;
    if (turn.outcome === undefined && !this.details) return working;
    const words = toolsWords(turn);
    return html`${working}
      <details ?open=${this.isOpen} @toggle=${this.#toggled}>
        <summary>${icon("right")}<span>${words === undefined ? "" : `${words} · `}<span class="more">details</span></span></summary>
        ${this.isOpen ? this.#all(turn) : nothing}
      </details>`;
  }

  // Shows the tools' progress messages, which are written for the player. Their names are not shown.
  #working(turn: Turn): unknown {
    const working = invocationsOf(turn).filter((one) => ["running", "retrying"].includes(stateOf(turn, one)));
    if (working.length === 0) return nothing;
    const telling = working.filter((one) => one.progress !== undefined).slice(0, kWorking);
    if (telling.length === 0) {
      return html`<div class="working"><span class="sign" aria-hidden="true">${sign("running")}</span><span>Working…</span>${elapsed(working[0]!)}</div>`;
    }
    return telling.map((one) => {
      const message = shortened((one.progressMessage ?? "").trim(), 80);
      return html`<div class="working">
        <span class="sign" aria-hidden="true">${sign("running")}</span>
        ${message === "" ? nothing : html`<span dir="auto">${message}</span>`}
        ${bar(shortened(one.toolId, 80), one.progress ?? 0)}${elapsed(one)}
      </div>`;
    });
  }

  #all(turn: Turn): unknown {
    const all = invocationsOf(turn);
    const last = turn.plans.at(-1);
    return html`<ul>
      ${all.slice(0, kShown).map((one) => this.#invocation(turn, one))}
      ${all.length > kShown && last !== undefined
        ? html`<li class="tool"><a href=${planRoute(last.key)}>and ${counted(all.length - kShown, "more tool")}</a></li>`
        : nothing}
      ${turnDetails(turn).map((one) => html`<li class="tool" dir="auto">${one}</li>`)}
    </ul>`;
  }

  #invocation(turn: Turn, invocation: Invocation): unknown {
    const state = stateOf(turn, invocation);
    const summary = shortened(invocation.summary ?? "", 120);
    return html`<li class=${classMap({ tool: true, [state]: true })}>
      <span class="sign" aria-hidden="true">${sign(state)}</span>
      <a href=${toolRoute(invocation.planKey, invocation.toolId)} dir="auto">${shortened(invocation.toolId, 80)}</a>
      ${summary === "" ? nothing : html`<span dir="auto">${summary}</span>`}
      <span class="unseen">${state}</span>
      ${hasFailed(invocation)
        ? html`<narratoria-long-text class="why" verbatim .text=${failureDetails(invocation).join("\n")}></narratoria-long-text>`
        : nothing}
    </li>`;
  }

  #toggled = (event: Event): void => {
    this.isOpen = (event.target as HTMLDetailsElement).open;
  };
}

function elapsed(invocation: Invocation): unknown {
  const took = Date.now() - (invocation.started ?? Date.now());
  if (took < kWorthSaying) return nothing;
  const seconds = Math.floor(took / 1000);
  const minutes = Math.floor(seconds / 60);
  return html`<span>${minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`}</span>`;
}

// A tool that has not ended by the end of its turn was stopped.
function stateOf(turn: Turn, invocation: Invocation): InvocationState {
  return turn.outcome !== undefined && invocation.ended === undefined ? "stopped" : invocation.state;
}

function sign(state: InvocationState): unknown {
  switch (state) {
    case "completed":
      return icon("tick");
    case "failed":
    case "timeout":
      return icon("close");
    case "skipped":
      return icon("skip");
    case "stopped":
      return icon("stop");
    case "pending":
      return html`<span class="ash"></span>`;
    default:
      return html`<span class="ember"></span>`;
  }
}

function bar(name: string, progress: number): unknown {
  const percent = Math.floor(progress * 100);
  return html`<span class="bar" role="progressbar" aria-label=${name} aria-valuemin="0" aria-valuemax="100" aria-valuenow=${percent}
      ><span style=${styleMap({ width: `${percent}%` })}></span></span
    ><span>${percent} %</span>`;
}
