// SPDX-License-Identifier: Apache-2.0
// The log of an invocation: one row per line, of which only the visible ones are rendered, and the selected line in
// full below. Follows the newest line until the reader scrolls up.
import { css, html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { guard } from "lit/directives/guard.js";
import { styleMap } from "lit/directives/style-map.js";
import "../controls/copy_button.ts";
import { icon, type IconName } from "../controls/icons.ts";
import { leadsTo } from "../controls/keys.ts";
import { base } from "../controls/styles.ts";
import { rem, Windowed } from "../list/windowed.ts";
import type { Invocation, Level } from "../session/session.ts";
import { levels } from "../session/log_lines.ts";
import { print } from "../state/inspect.ts";
import "../text/long_text.ts";
import { counted } from "../text/shorten.ts";
import { LogFilter } from "./log_filter.ts";
import { timeOfDay } from "./time_scale.ts";

const signs: Record<Level, IconName> = { debug: "dot", info: "info", warn: "warning", error: "error" };
// The number of characters of a line in its row; a row is never wider.
const most = 400;

@customElement("narratoria-log")
export class LogView extends LitElement {
  static override styles = [
    base,
    css`
      :host {
        position: relative;
        container-type: inline-size;
      }
      .chips {
        margin-bottom: 0.75rem;
      }
      .chip .icon {
        color: var(--tone);
      }
      .port {
        height: min(24rem, 50vh);
        min-height: 8rem;
        overflow: auto;
        overflow-x: hidden;
        border-radius: 0.75rem;
        background: rgb(var(--mdui-color-surface-container-lowest));
        border: 1px solid rgba(var(--mdui-color-outline-variant), 0.5);
        scrollbar-width: thin;
        contain: strict;
      }
      .port.short {
        height: auto;
        contain: content;
      }
      .row {
        display: flex;
        align-items: center;
        gap: 0.625rem;
        height: var(--row);
        padding: 0 0.75rem;
        white-space: nowrap;
        cursor: pointer;
      }
      .row:hover {
        background: rgba(var(--mdui-color-on-surface), 0.05);
      }
      .row[aria-selected="true"] {
        background: rgb(var(--mdui-color-secondary-container));
        color: rgb(var(--mdui-color-on-secondary-container));
      }
      .row .icon {
        color: var(--tone);
        font-size: 0.875rem;
      }
      .row.debug .message {
        color: var(--quiet);
      }
      .when {
        color: var(--quiet);
        font-size: 0.75rem;
      }
      .row[aria-selected="true"] > * {
        color: inherit !important;
      }
      .message {
        flex: 1;
        text-align: start;
      }
      .newest {
        position: absolute;
        inset-inline-end: 1rem;
        margin-top: -3rem;
        box-shadow: 0 2px 6px rgb(0 0 0 / 0.35);
        color: rgb(var(--mdui-color-on-primary));
        background: var(--accent);
      }
      .line {
        margin-top: 0.75rem;
        padding: 0.75rem 1rem;
        display: grid;
        gap: 0.5rem;
      }
      .line header {
        display: flex;
        align-items: center;
        gap: 0.5rem;
        color: var(--quiet);
      }
      .line header > span {
        flex: 1;
      }
      .none {
        padding: 1rem;
        color: var(--quiet);
      }
      @container (max-width: 420px) {
        .when {
          display: none;
        }
      }
    `,
  ];

  @property({ attribute: false }) invocation: Invocation | undefined = undefined;
  @property({ attribute: false }) revision = 0;
  @state() private wanted: ReadonlySet<Level> = new Set(levels);
  // The index in the log of the selected line; -1 is none.
  @state() private chosen = -1;

  #rows = new Windowed(this);
  #filter = new LogFilter(this.wanted);

  constructor() {
    super();
    this.#rows.follows = true;
  }

  protected override willUpdate(changed: PropertyValues): void {
    const logs = this.invocation?.logs;
    if (logs === undefined) return;
    if (changed.has("invocation")) {
      this.chosen = -1;
      this.#rows.follows = true;
    }
    this.#filter.update(logs, this.wanted);
    this.#rows.count = this.#filter.length;
    this.#rows.rowHeight = rem(1.75);
  }

  protected override render(): TemplateResult | typeof nothing {
    const logs = this.invocation?.logs;
    if (logs === undefined) return nothing;
    const count = this.#filter.length;
    const chosen = this.chosen >= 0 && this.wanted.has(logs.levelAt(this.chosen)) ? this.#filter.placeOf(this.chosen) : -1;
    const many = (this.invocation?.attempts.length ?? 0) > 1;
    return html`<div class="chips" role="group" aria-label="Levels shown">
        ${levels.map(
          (level) => html`<button
            class="chip ${level}"
            type="button"
            aria-pressed=${this.wanted.has(level) ? "true" : "false"}
            @click=${() => this.#toggle(level)}
          >
            ${icon(signs[level])}${level}<span class="number">${this.#filter.counts[level].toLocaleString("en")}</span>
          </button>`,
        )}
      </div>
      ${
        count === 0
          ? html`<p class="card none">${logs.length === 0 ? "No log lines." : "No lines of these levels."}</p>`
          : html`<div
                class="port ${count < 10 ? "short" : ""}"
                role="listbox"
                tabindex="0"
                aria-label="Log, ${counted(count, "line")}"
                aria-activedescendant=${chosen >= this.#rows.rows.first && chosen < this.#rows.rows.last ? `line${chosen}` : nothing}
                ${this.#rows.attach}
                @scroll=${this.#rows.onScroll}
                @keydown=${this.#key}
                style=${styleMap({ "--row": `${this.#rows.rowHeight}px` })}
              >
                ${this.#rows.draw((index) => this.#row(index, chosen, count, many))}
              </div>
              ${
                this.#rows.follows
                  ? nothing
                  : html`<button class="button newest" type="button" @click=${this.#newest}>${icon("down")}Newest</button>`
              }`
      }
      ${this.#line()}`;
  }

  #row(index: number, chosen: number, count: number, many: boolean): unknown {
    const line = this.invocation?.logs.at(this.#filter.at(index));
    if (line === undefined) return nothing;
    return html`<div
      class="row code ${line.level}"
      id="line${index}"
      role="option"
      aria-selected=${index === chosen ? "true" : "false"}
      aria-setsize=${count}
      aria-posinset=${index + 1}
      @click=${() => this.#choose(index)}
    >
      ${icon(signs[line.level])}<span class="unseen">${line.level}:</span>
      <span class="when number">${timeOfDay(line.time)}${many ? html` <span title="Attempt ${line.attempt}">#${line.attempt}</span>` : nothing}</span>
      <span class="message clipped" dir="auto">${line.message.slice(0, most)}</span>
    </div>`;
  }

  #line(): TemplateResult | typeof nothing {
    const line = this.invocation?.logs.at(this.chosen);
    if (line === undefined) return nothing;
    const fields = line.fields;
    return html`<section class="card line" aria-label="Selected line">
      <header>
        <span class="number">${timeOfDay(line.time)} · ${line.level} · attempt ${line.attempt}</span>
        <narratoria-copy compact label="Copy this line" .text=${() => (fields === undefined ? line.message : `${line.message}\n${JSON.stringify(fields, null, 2)}`)}></narratoria-copy>
        <button class="icon-button" type="button" aria-label="Close the line" title="Close" @click=${() => (this.chosen = -1)}>${icon("close")}</button>
      </header>
      <narratoria-long-text class="code" verbatim .text=${line.message}></narratoria-long-text>
      ${guard([fields], () => (fields === undefined ? nothing : html`<narratoria-long-text class="code" verbatim .text=${print(fields, 1_000_000).text}></narratoria-long-text>`))}
    </section>`;
  }

  #toggle(level: Level): void {
    const wanted = new Set(this.wanted);
    if (!wanted.delete(level)) wanted.add(level);
    this.wanted = wanted;
  }

  #choose(index: number): void {
    this.chosen = this.#filter.at(index);
    this.#rows.follows = false;
  }

  #newest(): void {
    this.#rows.follows = true;
    this.#rows.toEnd();
    this.requestUpdate();
  }

  #key(event: KeyboardEvent): void {
    const last = this.#filter.length - 1;
    const rows = this.#rows.rows;
    const here = this.chosen >= 0 ? this.#filter.placeOf(this.chosen) : this.#rows.isAtEnd ? last + 1 : rows.first - 1;
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape" && this.chosen >= 0) {
      event.stopPropagation();
      this.chosen = -1;
      return;
    }
    const index = leadsTo(event, here, last, 12);
    if (index === undefined) return;
    event.preventDefault();
    this.#choose(index);
    this.#rows.reveal(index);
  }
}
