// SPDX-License-Identifier: Apache-2.0
// The plan as a table, with the contents of graph and timeline. Screen readers can read it line by line.
import { css, html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";
import { Clock } from "../controls/clock.ts";
import { icon } from "../controls/icons.ts";
import { base } from "../controls/styles.ts";
import { percent } from "../controls/words.ts";
import type { Invocation, PlanRun } from "../session/session.ts";
import { counted, shortened } from "../text/shorten.ts";
import { toolRoute } from "./route.ts";
import { elapsed, listed, planState, stateIcons, stateNames } from "./status.ts";
import { duration } from "./time_scale.ts";

const step = 100;

@customElement("narratoria-plan-table")
export class PlanTable extends LitElement {
  static override styles = [
    base,
    css`
      .port {
        overflow-x: auto;
        border-radius: inherit;
      }
      table {
        width: 100%;
        border-collapse: collapse;
        text-align: start;
      }
      th,
      td {
        text-align: start;
        vertical-align: top;
        padding: 0.625rem 1rem;
        border-bottom: 1px solid rgba(var(--mdui-color-outline-variant), 0.4);
      }
      thead th {
        font-size: 0.75rem;
        font-weight: 500;
        color: var(--quiet);
      }
      tr:last-child > * {
        border-bottom: 0;
      }
      .state {
        display: flex;
        gap: 0.5rem;
        align-items: center;
        color: var(--tone);
        white-space: nowrap;
      }
      .name {
        font-weight: 500;
        overflow-wrap: anywhere;
        min-width: 8rem;
      }
      .text {
        color: var(--quiet);
        overflow-wrap: anywhere;
        min-width: 10rem;
      }
      .more {
        padding: 0.5rem 1rem;
      }
    `,
  ];

  @property({ attribute: false }) plan: PlanRun | undefined = undefined;
  @property({ attribute: false }) revision = 0;
  @property({ attribute: false }) selected: string | undefined = undefined;
  @state() private shown = step;

  constructor() {
    super();
    new Clock(this, () => this.plan !== undefined && planState(this.plan) === "running", 250);
  }

  protected override willUpdate(changed: PropertyValues): void {
    if (changed.has("plan")) this.shown = step;
  }

  protected override render(): TemplateResult | typeof nothing {
    const plan = this.plan;
    if (plan === undefined) return nothing;
    const now = Date.now();
    const list = [...plan.invocations.values()].slice(0, this.shown);
    const left = plan.invocations.size - list.length;
    return html`<div class="port" tabindex="0" role="group" aria-label="Tools of this plan">
        <table>
          <thead>
            <tr>
              ${["Tool", "Status", "Time", "Attempts", "Runs after", "Outcome"].map((one) => html`<th scope="col">${one}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${repeat(
              list,
              (one) => one.toolId,
              (one) => this.#row(plan, one, now),
            )}
          </tbody>
        </table>
      </div>
      ${
        left > 0
          ? html`<p class="more">
              <button class="button plain" type="button" @click=${() => (this.shown += step)}>Show ${counted(Math.min(step, left), "more tool")}</button>
              ${left.toLocaleString("en")} left
            </p>`
          : nothing
      }`;
  }

  #row(plan: PlanRun, one: Invocation, now: number): TemplateResult {
    const time = elapsed(one, now);
    const summary = one.summary ?? one.error ?? "";
    return html`<tr>
      <th scope="row" class="name">
        <a href=${toolRoute(plan.key, one.toolId)} dir="auto" aria-current=${one.toolId === this.selected ? "true" : nothing}>${shortened(one.toolId, 120)}</a>
      </th>
      <td>
        <span class="state ${one.state}">${icon(stateIcons[one.state])}${stateNames[one.state]}${
          one.state === "running" && one.progress !== undefined ? html` <span class="number">${percent(one.progress)}</span>` : nothing
        }</span>
      </td>
      <td class="number">${time === undefined || one.state === "skipped" ? "–" : duration(time)}</td>
      <td class="number">${one.attempts.length === 0 ? "–" : one.attempts.length}</td>
      <td class="text" dir="auto">${one.dependencies.length === 0 ? "–" : listed(one.dependencies)}</td>
      <td class="text" dir="auto">${summary === "" ? "–" : shortened(summary, 160)}</td>
    </tr>`;
  }
}
