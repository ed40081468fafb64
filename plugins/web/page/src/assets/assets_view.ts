// SPDX-License-Identifier: Apache-2.0
// The gallery, and a dialog that shows one asset.
import { css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, state } from "lit/decorators.js";
import { guard } from "lit/directives/guard.js";
import { repeat } from "lit/directives/repeat.js";
import { styleMap } from "lit/directives/style-map.js";
import { emptyPlace } from "../controls/empty.ts";
import { icon } from "../controls/icons.ts";
import { SessionView } from "../controls/session_view.ts";
import { base } from "../controls/styles.ts";
import { percent } from "../controls/words.ts";
import { rem, Windowed } from "../list/windowed.ts";
import type { Asset } from "../session/session.ts";
import { navigate } from "../shell/route.ts";
import { print } from "../state/inspect.ts";
import "../text/long_text.ts";
import { counted, shortened } from "../text/shorten.ts";
import { toolRoute } from "../tools/route.ts";
import { timeOfDay } from "../tools/time_scale.ts";
import "./asset_figure.ts";
import { addressOf, type Category, categories, categoryIcons, categoryOf, fileNameOf, standing, titleOf } from "./asset_words.ts";

type Filter = Category | "refused" | "all";

const names: Record<Filter, string> = {
  all: "All",
  image: "Images",
  audio: "Audio",
  video: "Video",
  text: "Text",
  model: "Models",
  other: "Other",
  refused: "Refused",
};

// The part of the address after the number, if the picture was opened from the story.
const kFromStory = "story";

const zooms = [0.25, 0.5, 1, 2, 4, 8];

@customElement("narratoria-assets")
export class AssetsView extends SessionView {
  static override styles = [
    base,
    css`
      :host {
        height: 100%;
        overflow: hidden;
      }
      .view {
        display: grid;
        grid-template-rows: auto minmax(0, 1fr);
        height: 100%;
        --edge: clamp(0.75rem, 3vw, 2rem);
      }
      .view > header {
        display: flex;
        flex-wrap: wrap;
        gap: 0.75rem 1.5rem;
        align-items: center;
        padding: 1.25rem var(--edge) 1rem;
      }
      h1 {
        font-size: 1.375rem;
      }
      .gallery {
        overflow: auto;
        padding: 0 var(--edge) 1rem;
        scrollbar-width: thin;
      }
      .shelves {
        display: grid;
        grid-template-columns: repeat(var(--columns), minmax(0, 1fr));
        grid-auto-rows: calc(var(--row) - 1rem);
        gap: 1rem;
      }
      .asset {
        position: relative;
        display: grid;
        grid-template-rows: minmax(0, 1fr) auto;
        overflow: hidden;
        transition:
          transform 160ms,
          border-color 160ms;
      }
      .asset:hover {
        border-color: rgb(var(--mdui-color-outline));
      }
      .asset:focus-within:has(:focus-visible) {
        border-color: var(--accent);
      }
      .frame {
        min-height: 0;
        overflow: hidden;
        background: rgb(var(--mdui-color-surface-container));
      }
      .label {
        padding: 0.75rem 1rem;
        display: grid;
        gap: 0.125rem;
      }
      .label a {
        color: inherit;
        font-weight: 500;
        text-decoration: none;
        outline: none;
      }
      .label a::after {
        content: "";
        position: absolute;
        inset: 0;
        border-radius: inherit;
      }
      .label a:focus-visible::after {
        outline: 2px solid var(--accent);
        outline-offset: -3px;
        border-radius: 1rem;
      }
      /* The link covers the card except the player, which must stay usable. */
      .asset.plays .label a::after {
        top: auto;
        height: 4.25rem;
      }
      .about {
        font-size: 0.75rem;
        color: var(--quiet);
      }
      .badge {
        position: absolute;
        inset-block-start: 0.625rem;
        inset-inline-start: 0.625rem;
        padding: 0.125rem 0.5rem;
        border-radius: 0.5rem;
        font-size: 0.75rem;
        font-weight: 500;
        background: rgb(var(--mdui-color-inverse-surface));
        color: rgb(var(--mdui-color-inverse-on-surface));
      }
      dialog {
        width: 100vw;
        height: 100dvh;
        max-width: none;
        max-height: none;
        margin: 0;
        padding: 0;
        border: 0;
        color: rgb(var(--mdui-color-on-surface));
        background: rgb(var(--mdui-color-surface-container-lowest));
      }
      dialog[open] {
        display: grid;
        overflow: hidden;
        grid-template-columns: minmax(0, 1fr) minmax(18rem, 24rem);
        grid-template-rows: auto minmax(0, 1fr);
      }
      .bar {
        grid-column: 1 / -1;
        display: flex;
        align-items: center;
        gap: 0.25rem;
        padding: 0.5rem 1rem;
      }
      .bar h2 {
        flex: 1;
        font-size: 1.0625rem;
      }
      .alone {
        min-height: 0;
        min-width: 0;
        padding: 0 1rem 1rem;
        display: grid;
        grid-template: minmax(0, 1fr) / minmax(0, 1fr);
      }
      .facts {
        overflow: auto;
        padding: 0.5rem 1.25rem 2rem;
        scrollbar-width: thin;
      }
      dl {
        display: grid;
        grid-template-columns: minmax(5rem, auto) minmax(0, 1fr);
        gap: 0.5rem 1rem;
        margin-bottom: 1rem;
      }
      dt {
        color: var(--quiet);
      }
      dd {
        overflow-wrap: anywhere;
      }
      .facts h3 {
        font-size: 0.875rem;
        color: var(--quiet);
        margin: 1rem 0 0.5rem;
      }
      .metadata {
        padding: 0.75rem 1rem;
        border-radius: 0.75rem;
        background: rgb(var(--mdui-color-surface-container));
      }
      @media (max-width: 799.98px) {
        dialog[open] {
          grid-template-columns: minmax(0, 1fr);
          grid-template-rows: auto 55dvh auto;
          overflow: auto;
        }
        .alone {
          height: 55dvh;
        }
        .facts {
          overflow: visible;
        }
        .bar {
          flex-wrap: wrap;
          gap: 0;
          padding-inline: 0.5rem;
        }
        .bar h2 {
          flex-basis: 100%;
          order: -1;
          padding: 0.5rem;
        }
        .bar .gap {
          flex: 1;
        }
        .bar .icon-button {
          width: 2.25rem;
          height: 2.25rem;
        }
        .bar [role="status"] {
          display: none;
        }
      }
    `,
  ];

  @state() private filter: Filter = "all";
  @state() private zoom = 0;
  @state() private isPicture = false;

  #grid = new Windowed(this);
  #columns = 1;
  #all: Asset[] = [];
  #counts = new Map<Filter, number>();
  #opened: number | undefined;

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed);
    this.#select();
    const width = this.clientWidth || 800;
    this.#columns = Math.max(1, Math.floor((width - rem(2)) / rem(width < rem(40) ? 13 : 17)));
    this.#grid.count = Math.ceil(this.#all.length / this.#columns);
    this.#grid.rowHeight = rem(18);
    if (changed.has("path")) this.zoom = 0;
  }

  // Selects the assets to show, newest first.
  #select(): void {
    this.#counts = new Map();
    this.#all = [];
    const assets = this.session?.assets ?? [];
    for (let index = assets.length - 1; index >= 0; --index) {
      const asset = assets[index]!;
      // Only the asset that replaced it is shown.
      if (asset.replaced !== undefined) continue;
      const kind: Filter = asset.refused !== undefined ? "refused" : categoryOf(asset);
      this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
      if (this.filter === "all" || this.filter === kind) this.#all.push(asset);
    }
  }

  protected override render(): TemplateResult {
    const total = [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
    if (total === 0) {
      return emptyPlace("image", "No assets yet", "Pictures, sounds and other files of the story will appear here.");
    }
    const filters = ([...categories, "refused"] as const).filter((one) => this.#counts.has(one));
    return html`<div class="view">
        <header>
          <h1>${counted(total, "asset")}</h1>
          ${
            filters.length < 2
              ? nothing
              : html`<div class="chips" role="group" aria-label="Kinds shown">
                  ${(["all", ...filters] as const).map((one) => this.#chip(one, one === "all" ? total : (this.#counts.get(one) ?? 0)))}
                </div>`
          }
        </header>
        <div
          class="gallery"
          role="group"
          aria-label="Gallery"
          ${this.#grid.attach}
          @scroll=${this.#grid.onScroll}
          @keydown=${this.#key}
          style=${styleMap({ "--row": `${this.#grid.rowHeight}px`, "--columns": String(this.#columns) })}
        >
          ${this.#grid.drawTogether((first, last) => this.#shelves(first, last))}
        </div>
      </div>
      ${this.#dialog()}`;
  }

  protected override updated(): void {
    const dialog = this.renderRoot.querySelector("dialog");
    const wanted = this.#chosen?.seq;
    if (dialog === null || wanted === this.#opened) return;
    const before = this.#opened;
    this.#opened = wanted;
    if (wanted !== undefined && !dialog.open) dialog.showModal();
    if (wanted === undefined && dialog.open) dialog.close();
    if (wanted === undefined && before !== undefined) void this.#focusOn(this.#all.findIndex((one) => one.seq === before));
  }

  protected override resized(): void {
    super.resized();
    this.requestUpdate();
  }

  #chip(filter: Filter, count: number): TemplateResult {
    return html`<button class="chip" type="button" aria-pressed=${this.filter === filter ? "true" : "false"} @click=${() => this.#show(filter)}>
      ${filter === "all" ? nothing : icon(filter === "refused" ? "block" : categoryIcons[filter])}${names[filter]}
      <span class="number">${count.toLocaleString("en")}</span>
    </button>`;
  }

  #show(filter: Filter): void {
    this.filter = filter;
    const box = this.#grid.scroller.value;
    if (box !== undefined) box.scrollTop = 0;
  }

  // One grid for all rendered rows: a new asset moves the cards, and no card is created again.
  #shelves(first: number, last: number): TemplateResult {
    const from = first * this.#columns;
    return html`<div class="shelves">
      ${repeat(
        this.#all.slice(from, last * this.#columns),
        (one) => one.seq,
        (one, place) => this.#card(one, from + place),
      )}
    </div>`;
  }

  #card(asset: Asset, index: number): TemplateResult {
    const category = categoryOf(asset);
    const plays = asset.refused === undefined && (category === "audio" || category === "video");
    const badge = asset.refused !== undefined ? "refused" : "";
    return html`<article class="asset card ${badge} ${plays ? "plays" : ""}" aria-labelledby="name${asset.seq}">
      <div class="frame"><narratoria-asset .asset=${asset} .refusal=${asset.refused} size="card"></narratoria-asset></div>
      <div class="label">
        <a id="name${asset.seq}" class="clipped" dir="auto" data-index=${index} href="#/assets/${asset.seq}">${shortened(titleOf(asset), 120)}</a>
        <span class="about clipped"><bdi>${shortened(asset.kind, 30)}</bdi> · <bdi>${shortened(asset.mediaType, 40)}</bdi></span>
        <span class="about clipped"><bdi>${shortened(asset.toolId, 24)}</bdi> · <span class="number">${timeOfDay(asset.time).slice(0, 8)}</span></span>
      </div>
      ${badge === "" ? nothing : html`<span class="badge">${badge}</span>`}
    </article>`;
  }

  get #chosen(): Asset | undefined {
    const seq = Number(this.path[0]);
    const found = this.session?.assets.find((one) => one.seq === seq);
    return found === undefined ? undefined : standing(found);
  }

  #dialog(): TemplateResult {
    const asset = this.#chosen;
    return html`<dialog aria-labelledby="alone" @close=${this.#closed} @cancel=${this.#cancelled} @keydown=${this.#dialogKey}>
      ${asset === undefined ? nothing : this.#alone(asset)}
    </dialog>`;
  }

  #alone(asset: Asset): TemplateResult {
    const place = this.#all.indexOf(asset);
    const isPicture = categoryOf(asset) === "image" && asset.refused === undefined && this.isPicture;
    return html`<div class="bar">
        <h2 id="alone" class="clipped" dir="auto">${shortened(titleOf(asset), 200)}</h2>
        ${place < 0 ? nothing : html`<span class="about number">${place + 1} of ${this.#all.length}</span>`}
        <button class="icon-button" type="button" aria-label="Previous" title="Previous (←)" ?disabled=${place <= 0} @click=${() => this.#step(-1)}>${icon("left")}</button>
        <button class="icon-button" type="button" aria-label="Next" title="Next (→)" ?disabled=${place < 0 || place >= this.#all.length - 1} @click=${() => this.#step(1)}>${icon("right")}</button>
        <span class="gap"></span>
        ${
          isPicture
            ? html`<button class="icon-button" type="button" aria-label="Smaller" title="Smaller (−)" @click=${() => this.#zoomBy(-1)}>${icon("remove")}</button>
                <span class="about number" role="status">${this.zoom === 0 ? "fits" : percent(this.zoom)}</span>
                <button class="icon-button" type="button" aria-label="Larger" title="Larger (+)" @click=${() => this.#zoomBy(1)}>${icon("add")}</button>
                <button class="icon-button" type="button" aria-label="Fit to window" title="Fit to window (0)" @click=${() => (this.zoom = 0)}>${icon("fit")}</button>`
            : nothing
        }
        ${asset.refused !== undefined ? nothing : html`<a class="icon-button" href=${addressOf(asset)} download=${fileNameOf(asset)} aria-label="Download" title="Download">${icon("download")}</a>`}
        <button class="icon-button" type="button" autofocus aria-label="Close" title="Close (Escape)" @click=${this.#close}>${icon("close")}</button>
      </div>
      <div class="alone">
        <narratoria-asset .asset=${asset} .refusal=${asset.refused} size="large" .zoom=${this.zoom} @measured=${() => (this.isPicture = true)}></narratoria-asset>
      </div>
      <div class="facts" tabindex="0" role="group" aria-label="Details">
        <dl>
          <dt>Name</dt>
          <dd dir="auto">${shortened(asset.assetId, 300)}</dd>
          <dt>Kind</dt>
          <dd dir="auto">${shortened(asset.kind, 100)}</dd>
          <dt>Media type</dt>
          <dd><code>${shortened(asset.mediaType, 200)}</code></dd>
          <dt>Made by</dt>
          <dd>${asset.planKey === undefined ? shortened(asset.toolId, 100) : html`<a dir="auto" href=${toolRoute(asset.planKey, asset.toolId)}>${shortened(asset.toolId, 100)}</a>`}${asset.attempt > 1 ? `, attempt ${asset.attempt}` : ""}</dd>
          <dt>At</dt>
          <dd class="number">${timeOfDay(asset.time)}</dd>
          <dt>File</dt>
          <dd dir="auto"><code>${shortened(asset.path, 600)}</code></dd>
          ${asset.refused === undefined ? nothing : html`<dt>Refused</dt><dd dir="auto"><code>${asset.refused.code}</code> ${shortened(asset.refused.message, 600)}</dd>`}
        </dl>
        ${guard([asset.metadata], () =>
          Object.keys(asset.metadata).length === 0
            ? nothing
            : html`<h3>Metadata</h3><narratoria-long-text class="metadata code" verbatim .text=${print(asset.metadata, 1_000_000).text}></narratoria-long-text>`,
        )}
      </div>`;
  }

  #zoomBy(by: number): void {
    const figure = this.renderRoot.querySelector<HTMLElement & { shadowRoot: ShadowRoot }>("dialog narratoria-asset");
    const image = figure?.shadowRoot.querySelector("img");
    if (image === null || image === undefined || image.naturalWidth === 0) return;
    const now = this.zoom > 0 ? this.zoom : image.getBoundingClientRect().width / image.naturalWidth;
    const next = by > 0 ? zooms.find((one) => one > now * 1.01) : zooms.findLast((one) => one < now * 0.99);
    if (next !== undefined) this.zoom = next;
  }

  #step(by: number): void {
    const chosen = this.#chosen;
    const place = chosen === undefined ? -1 : this.#all.indexOf(chosen);
    const next = place < 0 ? undefined : this.#all[place + by];
    if (next === undefined) return;
    this.isPicture = false;
    // Replaces the history entry, so that browsing through 20 assets does not add 20 entries.
    const from = this.path[1] === kFromStory ? `/${kFromStory}` : "";
    history.replaceState(history.state, "", `#/assets/${next.seq}${from}`);
    dispatchEvent(new HashChangeEvent("hashchange"));
  }

  // Goes back to the view that opened it: the gallery or the story.
  #close(): void {
    navigate(this.path[1] === kFromStory ? "#/narrative" : "#/assets");
  }

  #cancelled(event: Event): void {
    event.preventDefault();
    this.#close();
  }

  #closed(): void {
    if (this.#chosen !== undefined) this.#close();
  }

  #dialogKey(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const inside = event.composedPath();
    if (inside.some((one) => one instanceof HTMLMediaElement)) return;
    const scrolls = inside.some((one) => one instanceof HTMLElement && one.matches(".viewport:not(.fit), .text"));
    switch (event.key) {
      case "ArrowLeft":
      case "ArrowRight":
        if (scrolls) return;
        this.#step(event.key === "ArrowLeft" ? -1 : 1);
        break;
      case "+":
      case "=":
        this.#zoomBy(1);
        break;
      case "-":
        this.#zoomBy(-1);
        break;
      case "0":
        this.zoom = 0;
        break;
      default:
        return;
    }
    event.preventDefault();
  }

  #key(event: KeyboardEvent): void {
    const link = event.composedPath()[0];
    if (!(link instanceof HTMLElement) || link.dataset["index"] === undefined) return;
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const here = Number(link.dataset["index"]);
    const last = this.#all.length - 1;
    const to: Record<string, number> = {
      ArrowRight: here + 1,
      ArrowLeft: here - 1,
      ArrowDown: here + this.#columns,
      ArrowUp: here - this.#columns,
      Home: 0,
      End: last,
    };
    const wanted = to[event.key];
    if (wanted === undefined || wanted < 0 || wanted > last) return;
    event.preventDefault();
    void this.#focusOn(wanted);
  }

  async #focusOn(index: number): Promise<void> {
    if (index < 0) return;
    this.#grid.reveal(Math.floor(index / this.#columns));
    await this.updateComplete;
    this.renderRoot.querySelector<HTMLElement>(`a[data-index="${index}"]`)?.focus({ preventScroll: true });
  }
}
