// SPDX-License-Identifier: Apache-2.0
// The state view: the current state, or the state after any patch.
import { css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, state } from "lit/decorators.js";
import "../controls/copy_button.ts";
import { emptyPlace } from "../controls/empty.ts";
import { icon } from "../controls/icons.ts";
import { SessionView } from "../controls/session_view.ts";
import { base } from "../controls/styles.ts";
import type { Json, JsonObject } from "../session/record.ts";
import type { Patch, Session } from "../session/session.ts";
import { segment } from "../shell/route.ts";
import "../text/long_text.ts";
import { counted, shortened } from "../text/shorten.ts";
import { toolRoute } from "../tools/route.ts";
import { timeOfDay } from "../tools/time_scale.ts";
import { authorOf } from "./authors.ts";
import { type Change, changesOf } from "./changes.ts";
import { StateHistory } from "./history.ts";
import { preview, print, withEscapedControls } from "./inspect.ts";
import { Marks } from "./marks.ts";
import { pointerOf, segmentsOf, valueAt } from "./pointer.ts";
import { mostHits, PathSearch } from "./search.ts";
import { pathName, type StateTree } from "./state_tree.ts";
import "./state_tree.ts";
import { isContainer, sizeOf, Tree } from "./tree.ts";
import { type Effect, type Writing, writingsOf } from "./writers.ts";

// The time per frame for merging and for searching, in milliseconds.
const budget = 8;
// In the live state, the changes of the turn are marked, up to this number of patches back.
const marked = 200;
const mostWritings = 40;
const mostChanges = 30;
const firstRoom = 20_000;

const effects: Record<Effect, string> = {
  set: "set",
  removed: "removed",
  inside: "changed inside",
  above: "replaced together with its parent",
};

@customElement("narratoria-state")
export class StateView extends SessionView {
  static override styles = [
    base,
    css`
      :host {
        height: 100%;
        overflow: hidden;
        container-type: inline-size;
      }
      .view {
        display: grid;
        grid-template-columns: minmax(0, 1fr) minmax(20rem, 28rem);
        grid-template-rows: auto auto minmax(0, 1fr);
        gap: 0 1.25rem;
        height: 100%;
        padding: 1.25rem clamp(0.75rem, 2.5cqw, 2rem) 1.25rem;
      }
      .top {
        grid-column: 1 / -1;
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 0.75rem 1rem;
        margin-bottom: 0.75rem;
      }
      h1 {
        font-size: 1.375rem;
        margin-inline-end: auto;
      }
      .search {
        display: flex;
        align-items: center;
        flex: 0 1 26rem;
        min-width: min(100%, 16rem);
        height: 2.75rem;
        padding-inline: 1rem 0.25rem;
        border-radius: 1.375rem;
        background: rgb(var(--mdui-color-surface-container-high));
        color: var(--quiet);
      }
      .search:focus-within {
        outline: 2px solid var(--accent);
        outline-offset: 2px;
      }
      .search input {
        flex: 1;
        min-width: 0;
        height: 100%;
        padding: 0 0.75rem;
        border: 0;
        outline: 0;
        font: inherit;
        color: rgb(var(--mdui-color-on-surface));
        background: none;
      }
      .search input::placeholder {
        color: var(--quiet);
        opacity: 1;
      }
      .search input::-webkit-search-cancel-button {
        display: none;
      }
      .hits {
        white-space: nowrap;
        font-size: 0.75rem;
      }
      .search .icon-button {
        width: 2.25rem;
        height: 2.25rem;
      }
      .time {
        grid-column: 1 / -1;
        display: grid;
        grid-template-columns: auto auto minmax(0, 1fr) auto;
        align-items: center;
        gap: 0.25rem 0.5rem;
        padding: 0.5rem 0.75rem;
        margin-bottom: 1rem;
      }
      .slide {
        position: relative;
        display: grid;
        gap: 0.125rem;
        min-width: 0;
      }
      .about {
        display: flex;
        gap: 0.5rem;
        min-width: 0;
        font-size: 0.8125rem;
        color: var(--quiet);
      }
      .about strong {
        color: rgb(var(--mdui-color-on-surface));
        font-weight: 500;
        white-space: nowrap;
      }
      input[type="range"] {
        appearance: none;
        width: 100%;
        height: 1.5rem;
        margin: 0;
        background: none;
        cursor: pointer;
        border-radius: 0.75rem;
      }
      input[type="range"]::-webkit-slider-runnable-track {
        height: 0.25rem;
        border-radius: 0.125rem;
        background: linear-gradient(var(--accent), var(--accent)) 0 0 / var(--part) 100% no-repeat
          rgb(var(--mdui-color-surface-container-highest));
      }
      input[type="range"]::-webkit-slider-thumb {
        appearance: none;
        width: 1.25rem;
        height: 1.25rem;
        margin-top: -0.5rem;
        border-radius: 50%;
        background: var(--accent);
        box-shadow: 0 1px 3px rgb(0 0 0 / 0.4);
      }
      input[type="range"]::-moz-range-track {
        height: 0.25rem;
        border-radius: 0.125rem;
        background: rgb(var(--mdui-color-surface-container-highest));
      }
      input[type="range"]::-moz-range-progress {
        height: 0.25rem;
        border-radius: 0.125rem;
        background: var(--accent);
      }
      input[type="range"]::-moz-range-thumb {
        width: 1.25rem;
        height: 1.25rem;
        border: 0;
        border-radius: 50%;
        background: var(--accent);
      }
      .live {
        min-width: 5.5rem;
      }
      .live[aria-pressed="true"] {
        color: rgb(var(--mdui-color-on-primary));
        background: var(--accent);
      }
      .live[aria-pressed="false"] {
        color: var(--accent);
        background: none;
        box-shadow: inset 0 0 0 1px rgb(var(--mdui-color-outline));
      }
      .tree {
        min-height: 0;
        display: grid;
        grid-template-rows: minmax(0, 1fr);
        padding-block: 0.5rem;
      }
      .detail {
        min-height: 0;
        overflow: auto;
        overflow-wrap: anywhere;
        scrollbar-width: thin;
        display: grid;
        gap: 1.25rem;
        align-content: start;
        grid-template-columns: minmax(0, 1fr);
        padding-bottom: 1rem;
      }
      h2 {
        font-size: 1rem;
        overflow-wrap: anywhere;
      }
      h3 {
        font-size: 0.875rem;
        color: var(--quiet);
        margin-bottom: 0.5rem;
      }
      .heading {
        display: flex;
        align-items: center;
        gap: 0.5rem;
        justify-content: space-between;
        min-height: 2.5rem;
      }
      .heading h3 {
        margin: 0;
      }
      .pointer {
        font-family: var(--code);
        font-size: 0.875rem;
        flex: 1;
        min-width: 0;
      }
      .json {
        padding: 0.75rem 1rem;
        max-height: 26rem;
        overflow: auto;
        border-radius: 0.75rem;
        background: rgb(var(--mdui-color-surface-container));
        scrollbar-width: thin;
      }
      .json pre {
        white-space: pre-wrap;
        overflow-wrap: anywhere;
        unicode-bidi: plaintext;
        line-height: 1.5;
      }
      .writings {
        display: grid;
        gap: 0.25rem;
      }
      .writing {
        display: grid;
        grid-template-columns: minmax(0, 1fr) auto;
        gap: 0 0.75rem;
        padding: 0.5rem 0.75rem;
        border-radius: 0.75rem;
        background: rgb(var(--mdui-color-surface-container-low));
      }
      .writing .value {
        grid-column: 1 / -1;
        color: var(--quiet);
        overflow-wrap: anywhere;
      }
      .writing button {
        color: var(--accent);
        font-size: 0.8125rem;
        border-radius: 0.5rem;
        padding: 0 0.375rem;
        min-height: 1.5rem;
      }
      .change {
        padding: 0.375rem 0.75rem;
        border-radius: 0.75rem;
        display: block;
        width: 100%;
        text-align: start;
        overflow-wrap: anywhere;
      }
      .change:hover {
        background: rgba(var(--mdui-color-on-surface), 0.06);
      }
      .change .what {
        display: inline-block;
        min-width: 4.5rem;
        font-size: 0.75rem;
        color: var(--quiet);
      }
      .change code {
        overflow-wrap: anywhere;
      }
      .quiet {
        color: var(--quiet);
      }
      .conflict {
        padding: 0.75rem 1rem;
        border-radius: 0.75rem;
        background: var(--caution-container);
        overflow-wrap: anywhere;
      }
      .tools {
        display: flex;
      }
      @media (forced-colors: active) {
        input[type="range"] {
          appearance: auto;
        }
        .search {
          border: 1px solid CanvasText;
        }
      }
      @container (max-width: 839.98px) {
        .view {
          display: block;
          overflow: auto;
        }
        .tree {
          height: clamp(16rem, 55vh, 40rem);
          margin-bottom: 1.25rem;
        }
        narratoria-state-tree {
          --indent: 0.75rem;
        }
        .detail {
          overflow: visible;
        }
        .time {
          grid-template-columns: auto auto minmax(0, 1fr);
        }
        .slide {
          grid-column: 1 / -1;
          grid-row: 1;
        }
        .live {
          justify-self: end;
        }
        .about {
          flex-wrap: wrap;
          gap: 0 0.5rem;
        }
      }
    `,
  ];

  // The number of patches in the state shown; undefined shows the live state.
  @state() private position: number | undefined = undefined;
  @state() private selected: string[] = [];
  @state() private words = "";
  @state() private hit = -1;
  @state() private room = firstRoom;

  #history: StateHistory | undefined;
  #tree = new Tree();
  #count = 0;
  #value: JsonObject = {};
  #marks = new Marks();
  #marksFrom = -1;
  #marksTo = -1;
  #marksVersion = 0;
  #search: PathSearch | undefined;
  #searched: JsonObject | undefined;
  #searchAgain = 0;
  #writings: Writing[] = [];
  #writingsMore = false;
  #writingsOf = "";
  #writingsTo = 0;

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed);
    const session = this.session;
    if (session === undefined) return;
    const memory = memoryOf(session);
    if (this.#history !== memory.history) {
      this.#history = memory.history;
      this.#tree = memory.tree;
      this.position = undefined;
    }
    if (changed.has("path")) this.#select(segmentsOf(this.path[0] ?? "") ?? []);
    const history = this.#history;
    if (!history.advance(budget)) requestAnimationFrame(() => this.requestUpdate());
    if (this.position !== undefined && this.position >= history.length) this.position = undefined;
    this.#count = this.position ?? history.length;
    this.#value = history.at(this.#count);
    this.#mark(session);
    this.#findWritings(session);
    if (this.words !== "" && this.#searched !== this.#value) this.#searchSoon();
  }

  protected override render(): TemplateResult | typeof nothing {
    const session = this.session;
    if (session === undefined) return nothing;
    if (session.patches.length === 0 && sizeOf(this.#value) === 0) {
      return emptyPlace("tree", "No state yet", "The state of the story will appear here.");
    }
    return html`<div class="view">
      <header class="top">
        <h1>State</h1>
        ${this.#searchBox()}
        <span class="tools">
          <button class="icon-button" type="button" aria-label="Expand all" title="Expand all" @click=${() => this.#treeElement?.expandAll()}>${icon("unfoldMore")}</button>
          <button class="icon-button" type="button" aria-label="Collapse all" title="Collapse all" @click=${() => this.#treeElement?.collapseAll()}>${icon("unfoldLess")}</button>
        </span>
      </header>
      ${this.#slider(session)}
      <section class="card tree" aria-label="Tree">
        ${
          sizeOf(this.#value) === 0
            ? html`<p class="empty">The state is empty at this point.</p>`
            : html`<narratoria-state-tree
                .tree=${this.#tree}
                .value=${this.#value}
                .selected=${this.selected.length > 0 ? this.selected : undefined}
                .marks=${this.#marks}
                .marksVersion=${this.#marksVersion}
                .patches=${session.patches}
                .words=${this.words.startsWith("/") ? "" : this.words.toLowerCase()}
                @select-path=${(event: CustomEvent<string[]>) => this.#choose(event.detail)}
              ></narratoria-state-tree>`
        }
      </section>
      <aside class="detail" aria-label="Details">${this.#detail(session)}</aside>
    </div>`;
  }

  get #treeElement(): StateTree | null {
    return this.renderRoot.querySelector("narratoria-state-tree");
  }

  // --- the history -----------------------------------------------------------------------------------------------

  #slider(session: Session): TemplateResult {
    const total = this.#history?.length ?? 0;
    const patch = session.patches[this.#count - 1];
    const live = this.position === undefined;
    const position = patch === undefined ? "before the first patch" : `patch ${this.#count} of ${total}, by ${authorOf(patch)}, ${timeOfDay(patch.time)}`;
    return html`<section class="card time" aria-label="History">
      <button class="icon-button" type="button" aria-label="Previous patch" title="Previous patch" ?disabled=${this.#count === 0} @click=${() => this.#go(this.#count - 1)}>${icon("left")}</button>
      <button class="icon-button" type="button" aria-label="Next patch" title="Next patch" ?disabled=${live || this.#count >= total} @click=${() => this.#go(this.#count + 1)}>${icon("right")}</button>
      <div class="slide">
        <span class="about" aria-hidden="true">
          ${
            patch === undefined
              ? html`<strong>${total === 0 ? this.session?.turns[0]?.isPast === true ? "No patches since the game continued" : "No patches yet" : `Before the first of ${counted(total, "patch", "patches")}`}</strong>`
              : html`<strong class="number">Patch ${this.#count.toLocaleString("en")} of ${total.toLocaleString("en")}</strong><span class="clipped">by <bdi>${authorOf(patch)}</bdi></span><span class="number">${timeOfDay(patch.time)}</span>`
          }
        </span>
        <input
          type="range"
          min="0"
          max=${total}
          step="1"
          .value=${String(this.#count)}
          ?disabled=${total === 0}
          aria-label="History of the state"
          aria-valuetext=${position}
          @input=${(event: Event) => this.#go(Number((event.target as HTMLInputElement).value))}
        />
      </div>
      <button class="button live" type="button" aria-pressed=${live ? "true" : "false"} title="Follow what happens" @click=${() => this.#go(live ? total - 1 : total)}>Live</button>
    </section>`;
  }

  #go(count: number): void {
    const total = this.#history?.length ?? 0;
    this.position = count >= total ? undefined : Math.max(0, count);
  }

  protected override updated(): void {
    const slider = this.renderRoot.querySelector<HTMLInputElement>('input[type="range"]');
    const total = this.#history?.length ?? 0;
    // On the first rendering, the maximum is set after the value, and the browser clamps the value.
    if (slider !== null && slider.value !== String(this.#count)) slider.value = String(this.#count);
    slider?.style.setProperty("--part", `${total === 0 ? 0 : (this.#count / total) * 100}%`);
  }

  // Marks the changes of the selected patch, or, in the live state, of the current turn.
  #mark(session: Session): void {
    const to = this.#count;
    let from = Math.max(0, to - 1);
    if (this.position === undefined) {
      const since = session.turns.at(-1)?.started ?? 0;
      from = Math.max(0, to - marked);
      while (from < to - 1 && session.patches[from]!.time < since) ++from;
    }
    if (from !== this.#marksFrom || to < this.#marksTo) {
      this.#marks = new Marks();
      this.#marksTo = from;
      this.#marksFrom = from;
      ++this.#marksVersion;
    }
    for (; this.#marksTo < to; ++this.#marksTo) {
      this.#marks.add(session.patches[this.#marksTo]!.patch, this.#marksTo);
      ++this.#marksVersion;
    }
  }

  // --- search ----------------------------------------------------------------------------------------------------

  #searchBox(): TemplateResult {
    const search = this.#search;
    const hits = search?.hits.length ?? 0;
    let result = "";
    if (search !== undefined) {
      result = hits === 0 ? (search.done ? "nothing" : "…") : `${this.hit >= 0 ? `${this.hit + 1} of ` : ""}${hits.toLocaleString("en")}${search.capped ? "+" : ""}`;
    }
    return html`<div class="search" role="search">
      ${icon("search")}
      <input
        type="search"
        dir="auto"
        placeholder="Search by path"
        aria-label="Search by path: words or a JSON Pointer"
        .value=${this.words}
        @input=${(event: Event) => this.#find((event.target as HTMLInputElement).value)}
        @keydown=${this.#searchKey}
      />
      <span class="hits number" role="status">${result}</span>
      <button class="icon-button" type="button" aria-label="Previous hit" title="Previous hit (Shift+Enter)" ?disabled=${hits === 0} @click=${() => this.#goToHit(-1)}>${icon("up")}</button>
      <button class="icon-button" type="button" aria-label="Next hit" title="Next hit (Enter)" ?disabled=${hits === 0} @click=${() => this.#goToHit(1)}>${icon("down")}</button>
    </div>`;
  }

  #find(words: string): void {
    this.words = words;
    this.hit = -1;
    this.#search = undefined;
    if (words !== "") this.#startSearch();
  }

  #startSearch(): void {
    this.#searched = this.#value;
    const search = new PathSearch(this.#value, this.words);
    const at = this.hit >= 0 ? pointerOf(this.selected) : undefined;
    const go = (): void => {
      if (this.#search !== search || !this.isConnected) return;
      if (!search.advance(budget)) requestAnimationFrame(go);
      else if (at !== undefined) this.hit = search.hits.slice(0, mostHits).findIndex((one) => pointerOf(one) === at);
      this.requestUpdate();
    };
    this.#search = search;
    go();
  }

  // Repeats the search, because the state has changed.
  #searchSoon(): void {
    if (this.#searchAgain !== 0) return;
    this.#searchAgain = window.setTimeout(() => {
      this.#searchAgain = 0;
      if (this.words !== "" && this.#searched !== this.#value) this.#startSearch();
    }, 400);
  }

  #goToHit(by: number): void {
    const hits = this.#search?.hits ?? [];
    if (hits.length === 0) return;
    this.hit = this.hit < 0 ? (by > 0 ? 0 : hits.length - 1) : (this.hit + by + hits.length) % hits.length;
    this.#choose(hits[this.hit]!);
  }

  #searchKey(event: KeyboardEvent): void {
    if (event.key === "Enter") this.#goToHit(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape" && this.words !== "") this.#find("");
    else return;
    event.preventDefault();
  }

  // --- details ---------------------------------------------------------------------------------------------------

  #select(segments: string[]): void {
    if (pointerOf(segments) === pointerOf(this.selected)) return;
    this.selected = segments;
    this.room = firstRoom;
  }

  // Puts the selection into the address, without a history entry for each arrow key.
  #choose(segments: string[]): void {
    this.#select(segments);
    history.replaceState(history.state, "", segments.length === 0 ? "#/state" : `#/state/${segment(pointerOf(segments))}`);
  }

  #findWritings(session: Session): void {
    const pointer = pointerOf(this.selected);
    if (this.selected.length === 0) return;
    if (pointer !== this.#writingsOf || this.#count < this.#writingsTo) {
      this.#writingsOf = pointer;
      this.#writingsTo = this.#count;
      const found = writingsOf(session.patches, this.#count, this.selected, mostWritings);
      this.#writings = found.writings;
      this.#writingsMore = found.more;
      return;
    }
    const { writings, more } = writingsOf(session.patches, this.#count, this.selected, mostWritings, this.#writingsTo);
    this.#writingsTo = this.#count;
    if (writings.length === 0) return;
    const all = [...writings, ...this.#writings];
    this.#writingsMore ||= more || all.length > mostWritings;
    this.#writings = all.slice(0, mostWritings);
  }

  #detail(session: Session): TemplateResult {
    const chosen = this.selected;
    const value: Json | undefined = valueAt(this.#value, chosen);
    return html`<div>
        <div class="heading">
          <h2 class="pointer" dir="auto">${shortened(pathName(chosen), 600)}</h2>
          ${
            chosen.length === 0
              ? nothing
              : html`<narratoria-copy compact label="Copy the path" .text=${pointerOf(chosen)}></narratoria-copy>
                  <button class="icon-button" type="button" aria-label="Back to the whole state" title="Back to the whole state" @click=${() => this.#choose([])}>${icon("close")}</button>`
          }
        </div>
        <p class="quiet">${aboutValue(value)}</p>
      </div>
      ${chosen.length === 0 || this.position !== undefined ? this.#thisPatch(session) : nothing}
      ${value === undefined ? nothing : this.#inspector(value)}
      ${chosen.length === 0 ? nothing : this.#wrote(session, chosen)}
      ${this.#conflicts(session, pointerOf(chosen))}`;
  }

  #inspector(value: Json): TemplateResult {
    const { text, complete } = print(value, this.room);
    return html`<section>
      <div class="heading">
        <h3>JSON</h3>
        <narratoria-copy compact label="Copy as JSON" .text=${() => JSON.stringify(value, null, 2)}></narratoria-copy>
      </div>
      <div class="json code" tabindex="0" role="group" aria-label="Value as JSON">
        <pre dir="auto">${text}${complete ? "" : "…"}</pre>
        ${complete ? nothing : html`<button class="button plain" type="button" @click=${() => (this.room *= 4)}>Show more</button>`}
      </div>
    </section>`;
  }

  #thisPatch(session: Session): unknown {
    const patch = session.patches[this.#count - 1];
    if (patch === undefined || this.#history === undefined) return nothing;
    const { changes, more } = changesOf(this.#history.at(this.#count - 1), patch, mostChanges);
    return html`<section>
      <h3>${this.position === undefined ? "The newest patch" : "This patch"}, by ${author(patch)}</h3>
      <ul>
        ${changes.map((one) => this.#change(one))}
        ${changes.length === 0 ? html`<li class="quiet">It changes nothing.</li>` : nothing}
        ${more ? html`<li class="quiet">and more.</li>` : nothing}
      </ul>
    </section>`;
  }

  #change(change: Change): TemplateResult {
    return html`<li>
      <button class="change" type="button" @click=${() => this.#choose(change.segments)}>
        <span class="what">${change.what === "same" ? "as before" : change.what}</span> <code dir="auto">${shortened(pathName(change.segments), 200)}</code>
        ${change.value === undefined ? nothing : html` = <code class="quiet" dir="auto">${preview(change.value, 120)}</code>`}
      </button>
    </li>`;
  }

  #wrote(session: Session, segments: readonly string[]): TemplateResult {
    const first = valueAt(session.initialState, segments);
    return html`<section>
      <h3>Who changed it</h3>
      <ol class="writings">
        ${this.#writings.map((one) => this.#writing(session, one, segments))}
        ${
          first !== undefined && !this.#writingsMore
            ? html`<li class="writing"><span>from the beginning</span><span class="value code" dir="auto">${preview(first, 200)}</span></li>`
            : nothing
        }
        ${this.#writings.length === 0 && first === undefined ? html`<li class="quiet">Not changed so far.</li>` : nothing}
        ${this.#writingsMore ? html`<li class="quiet">and earlier ones.</li>` : nothing}
      </ol>
    </section>`;
  }

  #writing(session: Session, { index, effect }: Writing, segments: readonly string[]): unknown {
    const patch = session.patches[index];
    if (patch === undefined) return nothing;
    const value = effect === "set" || effect === "inside" ? valueAt(patch.patch, segments) : undefined;
    return html`<li class="writing">
      <span>${effects[effect]} by ${author(patch)}</span>
      <button type="button" class="number" title="Show the state after this patch" @click=${() => this.#go(index + 1)}>
        <span class="unseen">Patch ${index + 1}, </span>${timeOfDay(patch.time)}
      </button>
      ${value === undefined ? nothing : html`<span class="value code" dir="auto">${preview(value, 200)}</span>`}
    </li>`;
  }

  #conflicts(session: Session, pointer: string): unknown {
    const isHere = (path: string): boolean => pointer === "" || path === pointer || path.startsWith(`${pointer}/`);
    const found = session.conflicts.filter((one) => isHere(one.path)).slice(-5).reverse();
    if (found.length === 0) return nothing;
    return html`<section>
      <h3>Written by two tools at once</h3>
      <ul class="writings">
        ${found.map((one) => html`<li class="conflict"><code dir="auto">${shortened(withEscapedControls(one.path), 200)}</code>: <bdi>${shortened(one.tools[0] ?? "", 60)}</bdi>, then <bdi>${shortened(one.tools[1] ?? "", 60)}</bdi>, which takes effect</li>`)}
      </ul>
    </section>`;
  }
}

// The computed states of a session, kept while a different view is shown.
interface Memory {
  history: StateHistory;
  tree: Tree;
}

const memories = new WeakMap<Session, Memory>();

function memoryOf(session: Session): Memory {
  let memory = memories.get(session);
  if (memory === undefined || memory.history.initial !== session.initialState) {
    memory = { history: new StateHistory(session.initialState, session.patches), tree: new Tree() };
    memories.set(session, memory);
  }
  return memory;
}

function author(patch: Patch): unknown {
  const name = authorOf(patch);
  if (patch.by !== undefined || patch.planKey === undefined || patch.toolId === undefined) return html`<bdi>${name}</bdi>`;
  return html`<a href=${toolRoute(patch.planKey, patch.toolId)}><bdi>${name}</bdi></a>`;
}

function aboutValue(value: Json | undefined): string {
  if (value === undefined) return "Not there at this point.";
  if (Array.isArray(value)) return `a list of ${counted(value.length, "item")}`;
  if (isContainer(value)) return `an object with ${counted(sizeOf(value), "key")}`;
  if (typeof value === "string") return `a text of ${counted(value.length, "character")}`;
  return value === null ? "null" : `a ${typeof value}`;
}
