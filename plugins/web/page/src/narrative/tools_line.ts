// SPDX-License-Identifier: Apache-2.0
// The tools of a turn in one quiet line: what works now, what is done, each a way to its details.
import { LitElement, css, html, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { classMap } from "lit/directives/class-map.js";
import { Clock } from "../controls/clock.ts";
import { icon } from "../controls/icons.ts";
import type { Invocation, InvocationState, Turn } from "../session/session.ts";
import { segment } from "../shell/route.ts";
import { counted, shortened } from "../text/shorten.ts";
import { styleMap } from "../csp/style_map.ts";
import { shared } from "../theme/shared.ts";
import { toolName } from "./words.ts";

const kShown = 5;
// What takes less is over before one has read how long it took.
const kWorthSaying = 3000;

@customElement("narratoria-tools-line")
export class ToolsLine extends LitElement {
  @property({ attribute: false }) turn: Turn | undefined;
  @property({ type: Number }) revision = 0;

  constructor() {
    super();
    new Clock(this, () => this.turn !== undefined && this.turn.outcome === undefined, () => 1000);
  }

  static override styles = [
    shared,
    css`
      :host {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 0.25rem 1rem;
        font: var(--mdui-typescale-label-large-size) / 1.5 var(--font-page);
        color: rgb(var(--mdui-color-on-surface-variant));
      }

      a {
        display: inline-flex;
        flex-wrap: wrap;
        align-items: center;
        column-gap: 0.5rem;
        min-height: 1.75rem;
        max-width: 100%;
        border-radius: 0.5rem;
        color: inherit;
        text-decoration: none;
        overflow-wrap: anywhere;
      }

      a:hover .name {
        text-decoration: underline;
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

      .name {
        color: rgb(var(--mdui-color-on-surface));
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

        .bar > span {
          transition: none;
        }
      }
    `,
  ];

  override render(): unknown {
    const turn = this.turn;
    if (turn === undefined) return nothing;
    const shown: Invocation[] = [];
    let total = 0;
    for (const plan of turn.plans) {
      total += plan.invocations.size;
    }
    // What works now comes first where there is no room for all.
    const working = total > kShown;
    for (const plan of turn.plans) {
      for (const invocation of plan.invocations.values()) {
        if (shown.length === kShown) break;
        if (!working || isWorking(turn, invocation)) shown.push(invocation);
      }
    }
    if (working && shown.length === 0) {
      shown.push(...[...(turn.plans.at(-1)?.invocations.values() ?? [])].slice(0, kShown - 1));
    }
    const more = total - shown.length;
    const last = turn.plans.at(-1);
    return html`${shown.map((one) => this.#invocation(turn, one))}${more <= 0 || last === undefined
      ? nothing
      : html`<a href="#/tools/${segment(last.key)}">and ${counted(more, "more tool")}</a>`}`;
  }

  #invocation(turn: Turn, invocation: Invocation): unknown {
    const name = toolName(invocation);
    const working = isWorking(turn, invocation);
    const state = stateOf(turn, invocation);
    const said = working ? "" : shortened(invocation.summary ?? "", 120);
    const message = working && invocation.progress !== undefined ? shortened((invocation.progressMessage ?? "").trim(), 80) : "";
    const tries = invocation.attempts.length;
    return html`<a
      class=${classMap({ [state]: true })}
      href="#/tools/${segment(invocation.planKey)}/${segment(invocation.toolId)}"
    >
      <span class="sign" aria-hidden="true">${sign(state)}</span>
      <span class="name" dir="auto">${name}${working ? "…" : ""}</span>
      ${said === "" ? nothing : html`<span dir="auto">${said}</span>`}
      ${said === "" && !working ? html`<span class="unseen">${state}</span>` : nothing}
      ${working ? elapsed(invocation) : nothing}
      ${working && tries > 1 ? html`<span>try ${tries}</span>` : nothing}
      ${working && invocation.progress !== undefined ? bar(name, invocation.progress) : nothing}
      ${message === "" ? nothing : html`<span dir="auto">${message}</span>`}
    </a>`;
  }
}

function elapsed(invocation: Invocation): unknown {
  const took = Date.now() - (invocation.started ?? Date.now());
  if (took < kWorthSaying) return nothing;
  const seconds = Math.floor(took / 1000);
  const minutes = Math.floor(seconds / 60);
  return html`<span>${minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`}</span>`;
}

function isWorking(turn: Turn, invocation: Invocation): boolean {
  const state = stateOf(turn, invocation);
  return state === "running" || state === "retrying";
}

// What its turn left behind works no more.
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
