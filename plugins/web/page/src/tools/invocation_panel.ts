// SPDX-License-Identifier: Apache-2.0
// All details of one invocation.
import { css, html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";
import { guard } from "lit/directives/guard.js";
import { styleMap } from "lit/directives/style-map.js";
import "../assets/asset_figure.ts";
import { Clock } from "../controls/clock.ts";
import "../controls/copy_button.ts";
import { icon } from "../controls/icons.ts";
import { base } from "../controls/styles.ts";
import { percent } from "../controls/words.ts";
import type { Asset, Attempt, Invocation, PlanRun, Session, ToolError } from "../session/session.ts";
import { flagOf, isObject, type Json, type JsonObject, member, numberOf, objectOf, textOf } from "../session/record.ts";
import { print } from "../state/inspect.ts";
import "../text/long_text.ts";
import { counted, shortened } from "../text/shorten.ts";
import "./log_view.ts";
import { planRoute, toolRoute } from "./route.ts";
import { attemptTime, elapsed, isOver, stateIcons, stateNames } from "./status.ts";
import { duration } from "./time_scale.ts";

// Further assets of a tool are shown only in the gallery.
const mostAssets = 12;
const mostErrors = 50;
const mostJson = 2_000_000;

@customElement("narratoria-invocation")
export class InvocationPanel extends LitElement {
  static override styles = [
    base,
    css`
      :host {
        container-type: inline-size;
      }
      .panel {
        display: grid;
        grid-template-columns: minmax(0, 1fr);
        gap: 1.25rem;
      }
      header {
        display: flex;
        align-items: flex-start;
        gap: 0.75rem;
      }
      .title {
        flex: 1;
        min-width: 0;
      }
      h1:focus {
        outline: none;
      }
      h1 {
        font-size: 1.25rem;
        line-height: 1.3;
        overflow-wrap: anywhere;
      }
      h2 {
        font-size: 0.875rem;
        color: var(--quiet);
        display: flex;
        align-items: center;
        justify-content: space-between;
        min-height: 2rem;
        margin-bottom: 0.25rem;
      }
      .sign {
        display: grid;
        place-items: center;
        width: 2.5rem;
        height: 2.5rem;
        border-radius: 50%;
        flex: none;
        font-size: 1.1rem;
        color: var(--tone);
        background: color-mix(in srgb, var(--tone) 16%, transparent);
      }
      .progress {
        height: 0.5rem;
        border-radius: 0.25rem;
        background: rgb(var(--mdui-color-surface-container-highest));
        overflow: hidden;
      }
      .progress > span {
        display: block;
        height: 100%;
        width: 100%;
        transform-origin: left;
        background: var(--accent);
        border-radius: inherit;
        transition: transform 160ms linear;
      }
      .progress.unknown > span {
        width: 35%;
        animation: slide 1.4s ease-in-out infinite;
      }
      @keyframes slide {
        from {
          transform: translateX(-100%);
        }
        to {
          transform: translateX(300%);
        }
      }
      .progress-line {
        display: flex;
        align-items: center;
        gap: 0.75rem;
      }
      .progress-line .progress {
        flex: 1;
      }
      .facts {
        display: grid;
        grid-template-columns: minmax(6rem, auto) minmax(0, 1fr);
        gap: 0.375rem 1rem;
      }
      .facts dt {
        color: var(--quiet);
      }
      .facts dd {
        overflow-wrap: anywhere;
      }
      .attempts {
        display: grid;
        gap: 0.5rem;
      }
      .attempt {
        display: grid;
        grid-template-columns: auto minmax(0, 1fr) auto;
        gap: 0.125rem 0.75rem;
        align-items: center;
        padding: 0.5rem 0.75rem;
        border-radius: 0.75rem;
        background: rgb(var(--mdui-color-surface-container));
      }
      .attempt .icon {
        color: var(--tone);
      }
      .attempt .why {
        grid-column: 2 / -1;
        color: var(--quiet);
      }
      .trouble {
        padding: 0.75rem 1rem;
        border-radius: 1rem;
        background: color-mix(in srgb, var(--bad) 9%, transparent);
        border: 1px solid color-mix(in srgb, var(--bad) 45%, transparent);
        display: grid;
        gap: 0.5rem;
      }
      .trouble header > .icon {
        color: var(--bad);
      }
      .trouble + .trouble {
        margin-top: 0.5rem;
      }
      .trouble header {
        align-items: center;
      }
      .trouble header strong {
        flex: 1;
        overflow-wrap: anywhere;
      }
      .when {
        font-weight: 400;
        opacity: 0.85;
      }
      .summary {
        font-size: 1rem;
      }
      .block {
        padding: 0.75rem 1rem;
        border-radius: 0.75rem;
        background: rgb(var(--mdui-color-surface-container-lowest));
        max-height: 20rem;
        overflow: auto;
        scrollbar-width: thin;
      }
      details > summary {
        cursor: pointer;
        padding: 0.25rem 0;
        color: var(--quiet);
        font-weight: 500;
        border-radius: 0.5rem;
      }
      details[open] > summary {
        margin-bottom: 0.5rem;
      }
      .made {
        display: grid;
        grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr));
        gap: 0.75rem;
      }
      .made a {
        min-width: 0;
        color: inherit;
        text-decoration: none;
        border-radius: 0.75rem;
      }
    `,
  ];

  @property({ attribute: false }) session: Session | undefined = undefined;
  @property({ attribute: false }) plan: PlanRun | undefined = undefined;
  @property({ attribute: false }) invocation: Invocation | undefined = undefined;
  @property({ attribute: false }) revision = 0;

  #descriptor: JsonObject = {};
  #behind: string[] = [];
  #assets: Asset[] = [];

  constructor() {
    super();
    new Clock(this, () => this.#runs, 100);
  }

  get #runs(): boolean {
    const one = this.invocation;
    return one !== undefined && !isOver(one.state) && one.state !== "pending" && this.plan?.turn.outcome === undefined;
  }

  protected override willUpdate(changed: PropertyValues): void {
    const { plan, invocation } = this;
    if (plan === undefined || invocation === undefined) return;
    if (changed.has("invocation")) {
      this.#descriptor = descriptorOf(plan, invocation.toolId);
      const others = [...plan.invocations.values()];
      this.#behind = others.filter((one) => one.dependencies.includes(invocation.toolId)).map((one) => one.toolId);
    }
    if (changed.has("revision") || changed.has("invocation")) {
      this.#assets = plan.turn.assets.filter((one) => one.replaced === undefined && one.planKey === plan.key && one.toolId === invocation.toolId);
    }
  }

  protected override render(): TemplateResult | typeof nothing {
    const { plan, invocation } = this;
    if (plan === undefined || invocation === undefined) return nothing;
    const now = Date.now();
    const time = elapsed(invocation, now);
    return html`<article class="panel" aria-labelledby="title">
      <header class=${invocation.state}>
        <span class="sign">${icon(stateIcons[invocation.state])}</span>
        <div class="title">
          <h1 id="title" tabindex="-1" dir="auto">${shortened(invocation.toolId, 200)}</h1>
          <p class="tone number">
            ${stateNames[invocation.state]}${time === undefined || invocation.state === "skipped" ? nothing : html` · ${duration(time)}`}${
              invocation.attempts.length > 1 ? html` · ${counted(invocation.attempts.length, "attempt")}` : nothing
            }
          </p>
        </div>
        <a class="icon-button" href=${planRoute(plan.key)} aria-label="Close the tool" title="Close">${icon("close")}</a>
      </header>
      ${this.#progress(invocation)} ${this.#summary(invocation)} ${this.#troubles(invocation)} ${this.#facts(plan, invocation)}
      ${this.#attempts(invocation, now)} ${this.#made()}
      ${this.#json("Input", member(this.#descriptor, "input"))} ${this.#json("Result", invocation.result)}
      ${
        invocation.stderr === undefined
          ? nothing
          : html`<section>
              <h2>Standard error<narratoria-copy compact label="Copy the standard error" .text=${invocation.stderr}></narratoria-copy></h2>
              <div class="block code" tabindex="0" role="group" aria-label="Standard error">
                <narratoria-long-text verbatim .text=${invocation.stderr}></narratoria-long-text>
              </div>
            </section>`
      }
      <section>
        <h2>Log</h2>
        <narratoria-log .invocation=${invocation} .revision=${invocation.revision}></narratoria-log>
      </section>
    </article>`;
  }

  #progress(one: Invocation): unknown {
    if (one.state !== "running" && one.state !== "retrying") return nothing;
    const part = one.state === "running" ? one.progress : undefined;
    return html`<div class="progress-line">
      <div
        class="progress ${part === undefined ? "unknown" : ""}"
        role="progressbar"
        aria-label="Progress of ${shortened(one.toolId, 100)}"
        aria-valuemin="0"
        aria-valuemax="100"
        aria-valuenow=${part === undefined ? nothing : Math.round(part * 100)}
      >
        <span style=${styleMap(part === undefined ? {} : { transform: `scaleX(${part})` })}></span>
      </div>
      ${part === undefined ? nothing : html`<span class="number" aria-hidden="true">${percent(part)}</span>`}
    </div>`;
  }

  #summary(one: Invocation): unknown {
    if (one.summary === undefined || one.summary === "") return nothing;
    return html`<narratoria-long-text class="summary" .text=${one.summary}></narratoria-long-text>`;
  }

  #troubles(one: Invocation): unknown {
    if (one.error === undefined && one.errors.length === 0) return nothing;
    const groups = alike(one.errors.slice(-mostErrors));
    return html`<section aria-label="Errors">
      ${one.error === undefined ? nothing : trouble(one.errorCode ?? "FAILED", one.error, undefined, "")}
      ${groups.map(({ error, attempts }) => trouble(error.code, error.message, error.details, one.attempts.length > 1 ? attemptsSaid(attempts) : ""))}
      ${one.errors.length > mostErrors ? html`<p>${counted(one.errors.length - mostErrors, "earlier error")}</p>` : nothing}
    </section>`;
  }

  #facts(plan: PlanRun, one: Invocation): TemplateResult {
    const retry = objectOf(this.#descriptor, "retryPolicy");
    const retries = retry === undefined ? undefined : numberOf(retry, "maxRetries");
    const backoff = retry === undefined ? undefined : numberOf(retry, "backoffMs");
    const links = (ids: readonly string[]): unknown => {
      const shown = ids.slice(0, 12);
      return html`${shown.map(
        (id, index) => html`${index > 0 ? ", " : ""}${
          plan.invocations.has(id) ? html`<a href=${toolRoute(plan.key, id)} dir="auto">${shortened(id, 80)}</a>` : shortened(id, 80)
        }`,
      )}${ids.length > shown.length ? ` and ${ids.length - shown.length} more` : ""}`;
    };
    const skills = flagOf(this.#descriptor, "required") === false ? "no: the plan may succeed without it" : "yes";
    return html`<dl class="facts">
      <dt>Tool</dt>
      <dd dir="auto"><code>${shortened(one.toolPath, 400)}</code></dd>
      ${one.line === undefined ? nothing : html`<dt>Line</dt><dd>${one.line}</dd>`}
      ${one.dependencies.length === 0 ? nothing : html`<dt>Runs after</dt><dd>${links(one.dependencies)}</dd>`}
      ${this.#behind.length === 0 ? nothing : html`<dt>Before</dt><dd>${links(this.#behind)}</dd>`}
      ${plan.isOpen ? nothing : html`<dt>Required</dt><dd>${skills}</dd>`}
      ${
        retries === undefined
          ? nothing
          : html`<dt>Retries</dt><dd>${retries === 0 ? "none" : html`up to ${retries}${backoff === undefined ? "" : `, the first after ${duration(backoff)}`}`}</dd>`
      }
    </dl>`;
  }

  #attempts(one: Invocation, now: number): unknown {
    if (one.attempts.length === 0 || (one.attempts.length === 1 && one.state === "completed")) return nothing;
    return html`<section>
      <h2>Attempts</h2>
      <ol class="attempts">
        ${one.attempts.map((attempt) => attemptItem(attempt, now))}
      </ol>
    </section>`;
  }

  #made(): unknown {
    if (this.#assets.length === 0) return nothing;
    const shown = this.#assets.slice(0, mostAssets);
    return html`<section>
      <h2>Assets</h2>
      <ul class="made">
        ${shown.map((one) => html`<li><a href="#/assets/${one.seq}" aria-label="Asset ${shortened(one.assetId, 100)}"><narratoria-asset .asset=${one} size="thumbnail"></narratoria-asset></a></li>`)}
      </ul>
      ${this.#assets.length > shown.length ? html`<p><a href="#/assets">All ${this.#assets.length} assets</a></p>` : nothing}
    </section>`;
  }

  #json(title: string, value: Json | undefined): unknown {
    if (value === undefined || (isObject(value) && Object.keys(value).length === 0)) return nothing;
    return html`<details>
      <summary>${title}</summary>
      <div class="block code" tabindex="0" role="group" aria-label=${title}>
        ${guard([value], () => html`<narratoria-long-text verbatim .text=${print(value, mostJson).text}></narratoria-long-text>`)}
      </div>
    </details>`;
  }
}

function attemptItem(attempt: Attempt, now: number): TemplateResult {
  const ends = [];
  if (attempt.code !== undefined) ends.push(attempt.code);
  if (attempt.exitStatus !== undefined) ends.push(`exit status ${attempt.exitStatus}`);
  if (attempt.signal !== undefined) ends.push(`signal ${attempt.signal}`);
  return html`<li class="attempt ${attempt.state}">
    ${icon(stateIcons[attempt.state])}
    <span>Attempt ${attempt.number}: ${stateNames[attempt.state]}${ends.length > 0 ? html` <span class="tone">${ends.join(", ")}</span>` : nothing}</span>
    <span class="number">${duration(attemptTime(attempt, now))}</span>
    ${attempt.error === undefined ? nothing : html`<narratoria-long-text class="why" .text=${attempt.error}></narratoria-long-text>`}
  </li>`;
}

function trouble(code: string, message: string, details: JsonObject | undefined, when: string): TemplateResult {
  const more = (): string => (details === undefined ? "" : print(details, mostJson).text);
  return html`<div class="trouble">
    <header>
      ${icon("error")}<strong><bdi>${shortened(code, 120)}</bdi>${when === "" ? nothing : html` <span class="when">${when}</span>`}</strong>
      <narratoria-copy label="Copy the error" .text=${() => `${code}: ${message}${details === undefined ? "" : `\n${more()}`}`}></narratoria-copy>
    </header>
    <narratoria-long-text verbatim .text=${message}></narratoria-long-text>
    ${guard([details], () => (details === undefined ? nothing : html`<narratoria-long-text class="code" verbatim .text=${more()}></narratoria-long-text>`))}
  </div>`;
}

// Groups equal errors of several attempts, newest first.
function alike(errors: readonly ToolError[]): { error: ToolError; attempts: number[] }[] {
  const groups: { error: ToolError; attempts: number[] }[] = [];
  for (const error of errors.toReversed()) {
    const same = groups.find(({ error: other }) => other.code === error.code && other.message === error.message);
    if (same === undefined) groups.push({ error, attempts: [error.attempt] });
    else if (!same.attempts.includes(error.attempt)) same.attempts.unshift(error.attempt);
  }
  return groups;
}

function attemptsSaid(attempts: readonly number[]): string {
  return attempts.length === 1 ? `attempt ${attempts[0]}` : `attempts ${attempts.join(", ")}`;
}

function descriptorOf(plan: PlanRun, toolId: string): JsonObject {
  const tools = member(plan.plan, "tools");
  return (Array.isArray(tools) ? tools : []).filter(isObject).find((one) => textOf(one, "toolId") === toolId) ?? {};
}
