// SPDX-License-Identifier: Apache-2.0
// Shows one asset: in the story, on a card, or alone. Files are loaded from the server by the number of their event.
// Foreign markup never becomes part of the page: pictures, including SVG, are <img> elements; HTML is a link.
import { css, html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { styleMap } from "lit/directives/style-map.js";
import { icon, type IconName } from "../controls/icons.ts";
import { base } from "../controls/styles.ts";
import { bytes } from "../controls/words.ts";
import type { Asset } from "../session/session.ts";
import { isObject, numberOf } from "../session/record.ts";
import { preview } from "../state/inspect.ts";
import { shortened } from "../text/shorten.ts";
import { addressOf, altOf, captionOf, categoryIcons, categoryOf, fileNameOf, formatOf, titleOf } from "./asset_words.ts";
import { TextFile } from "./text_file.ts";

export type AssetSize = "thumbnail" | "card" | "inline" | "large";

const kPiece = 64 * 1024;
const kGlimpse = 2 * 1024;
// The delay before a file that could not be shown is loaded again, in milliseconds.
const kAgainMs = 500;

@customElement("narratoria-asset")
export class AssetFigure extends LitElement {
  static override styles = [
    base,
    css`
      :host {
        min-width: 0;
      }
      figure {
        display: grid;
        gap: 0.5rem;
        justify-items: center;
        min-height: 0;
        height: 100%;
      }
      img,
      video {
        display: block;
        max-width: 100%;
        border-radius: 0.75rem;
        background: rgb(var(--mdui-color-surface-container-lowest));
      }
      audio {
        width: min(100%, 34rem);
        min-width: 0;
      }
      :host([size="card"]) audio {
        width: calc(100% - 1.5rem);
      }
      figcaption {
        font-size: 0.8125rem;
        color: var(--quiet);
        overflow-wrap: anywhere;
        text-align: center;
      }
      :host([size="inline"]) img,
      :host([size="inline"]) video {
        max-height: min(70vh, 40rem);
        border-radius: 1rem;
      }
      :host([size="inline"]) img {
        height: auto;
      }
      /* Room for the controls of a small video. */
      :host([size="inline"]) video {
        min-width: min(18rem, 100%);
      }
      :host([size="inline"]) figure {
        grid-template-columns: minmax(0, 1fr);
      }
      .enlarges {
        position: relative;
        display: grid;
        justify-items: center;
        max-width: 100%;
        min-width: 0;
        border-radius: 1rem;
        cursor: zoom-in;
      }
      :host([size="inline"]) .text {
        max-height: 20rem;
        width: 100%;
        padding: 1rem 1.5rem;
        background: rgb(var(--mdui-color-surface-container));
      }
      :host([size="inline"]) .details {
        width: 100%;
      }
      :host([size="card"]),
      :host([size="card"]) figure {
        height: 100%;
        width: 100%;
        align-items: center;
      }
      :host([size="card"]) img,
      :host([size="card"]) video {
        width: 100%;
        height: 100%;
        min-height: 0;
        border-radius: 0;
        object-fit: contain;
      }
      :host([size="card"]) img.small {
        object-fit: none;
      }
      :host([size="card"]) .text {
        height: 100%;
        width: 100%;
        overflow: hidden;
        border-radius: 0;
        font-size: 0.75rem;
        mask-image: linear-gradient(#000 60%, transparent);
      }
      :host([size="thumbnail"]) figure {
        aspect-ratio: 1;
        overflow: hidden;
        border-radius: 0.75rem;
        align-items: center;
        background: rgb(var(--mdui-color-surface-container-highest));
      }
      :host([size="thumbnail"]) img {
        width: 100%;
        height: 100%;
        object-fit: cover;
      }
      :host([size="large"]) {
        height: 100%;
      }
      .viewport {
        display: grid;
        grid-template: minmax(0, 1fr) / minmax(0, 1fr);
        place-items: safe center;
        width: 100%;
        height: 100%;
        min-height: 0;
        overflow: auto;
        border-radius: 0.75rem;
      }
      .viewport img {
        border-radius: 0.25rem;
      }
      .viewport.fit img {
        max-width: 100%;
        max-height: 100%;
        min-height: 0;
        min-width: 0;
        object-fit: contain;
      }
      .viewport:not(.fit) {
        cursor: grab;
        grid-template: auto / auto;
      }
      .viewport:not(.fit) img {
        max-width: none;
      }
      :host([size="large"]) video {
        width: 100%;
        height: 100%;
        min-height: 0;
        object-fit: contain;
      }
      :host([size="large"]) figure {
        grid-template: minmax(0, 1fr) / minmax(0, 1fr);
        align-items: center;
      }
      :host([size="large"]) audio {
        align-self: start;
      }
      :host([size="large"]) figure:has(audio) {
        grid-template: 1fr 1fr / minmax(0, 1fr);
      }
      :host([size="large"]) .text {
        width: 100%;
        height: 100%;
        overflow: auto;
      }
      .text {
        padding: 0.75rem 1rem;
        border-radius: 0.75rem;
        overflow: auto;
        background: rgb(var(--mdui-color-surface-container-lowest));
        text-align: start;
      }
      .text pre {
        white-space: pre-wrap;
        overflow-wrap: anywhere;
        unicode-bidi: plaintext;
        font-size: inherit;
        font-family: var(--code);
        line-height: 1.5;
      }
      .text pre + pre {
        content-visibility: auto;
        contain-intrinsic-size: auto 60rem;
      }
      .sign {
        display: grid;
        place-items: center;
        gap: 0.75rem;
        padding: 1rem;
        color: var(--quiet);
        text-align: center;
        overflow-wrap: anywhere;
        min-width: 0;
      }
      .sign > .icon {
        font-size: 2rem;
        color: rgb(var(--mdui-color-primary));
      }
      :host([size="thumbnail"]) .sign {
        padding: 0.25rem;
        font-size: 0.75rem;
      }
      .sign.refused > .icon {
        color: var(--bad);
      }
      .details {
        display: grid;
        grid-template-columns: auto minmax(0, 1fr);
        align-items: center;
        gap: 0.25rem 1rem;
        padding: 1rem;
        border-radius: 1rem;
        border: 1px solid var(--line);
        background: rgb(var(--mdui-color-surface-container));
        text-align: start;
      }
      .details > .icon {
        grid-row: span 3;
        font-size: 2rem;
        color: var(--accent);
      }
      .details.refused > .icon {
        color: var(--bad);
      }
      :host([size="large"]) .details {
        align-self: center;
        justify-self: center;
        max-width: 36rem;
        margin: auto;
      }
      .details strong {
        font-weight: 500;
        overflow-wrap: anywhere;
      }
      .details p {
        color: var(--quiet);
        overflow-wrap: anywhere;
      }
    `,
  ];

  @property({ attribute: false }) asset: Asset | undefined = undefined;
  // asset.refused. A separate property, because a refusal may come after the asset and must trigger a new rendering.
  @property({ attribute: false }) refusal: Asset["refused"] = undefined;
  @property({ reflect: true }) size: AssetSize = "inline";
  // The scale of an image that is shown alone; 0 fits it to its place.
  @property({ type: Number }) zoom = 0;
  @state() private broken = false;
  @state() private natural: { width: number; height: number } | undefined = undefined;
  @state() private file: TextFile | undefined = undefined;
  @state() private pieces = 0;
  // The size of a file that is only downloaded.
  @state() private bytes: number | undefined = undefined;
  #abort: AbortController | undefined;
  #hasFailed = false;
  // The visible centre of an image larger than its place, as fractions of the image.
  #middle = { x: 0.5, y: 0.5 };

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#abort?.abort();
  }

  protected override willUpdate(changed: PropertyValues): void {
    if (!changed.has("asset") && !changed.has("size")) return;
    const before = changed.get("asset") as Asset | undefined;
    if (changed.has("asset") && before?.seq === this.asset?.seq && before !== undefined) return;
    this.broken = false;
    this.#hasFailed = false;
    this.natural = undefined;
    this.file = undefined;
    this.#abort?.abort();
    const asset = this.asset;
    if (asset === undefined || asset.refused !== undefined || this.size === "thumbnail") return;
    this.bytes = undefined;
    const category = categoryOf(asset);
    if (category === "text") void this.#read(new TextFile(addressOf(asset)));
    else if ((category === "model" || category === "other") && this.size !== "card") void this.#measure(asset);
  }

  protected override render(): TemplateResult | typeof nothing {
    const asset = this.asset;
    if (asset === undefined) return nothing;
    if (asset.refused !== undefined) return this.#refused(asset, asset.refused);
    if (this.broken) return this.#gone(asset);
    const category = categoryOf(asset);
    if (this.size === "thumbnail" && category !== "image") return this.#sign(asset, categoryIcons[category], titleOf(asset));
    switch (category) {
      case "image":
        return this.#image(asset);
      case "audio":
        return html`<figure>
          ${this.size === "card" || this.size === "large" ? html`<div class="sign">${icon("music")}</div>` : nothing}
          <audio controls preload="metadata" src=${addressOf(asset)} aria-label=${altOf(asset)} @error=${this.#failed}></audio>
          ${this.#caption(asset)}
        </figure>`;
      case "video":
        return html`<figure>
          <video controls playsinline preload="metadata" src=${addressOf(asset)} aria-label=${altOf(asset)} @error=${this.#failed}></video>
          ${this.#caption(asset)}
        </figure>`;
      case "text":
        return this.#text(asset);
      default:
        return this.#details(asset);
    }
  }

  #image(asset: Asset): TemplateResult {
    const width = numberOf(asset.metadata, "width");
    const height = numberOf(asset.metadata, "height");
    const known = width !== undefined && height !== undefined && width > 0 && height > 0;
    const scale = this.size === "large" && this.zoom > 0 && this.natural !== undefined ? this.zoom : 0;
    const small = this.natural !== undefined && this.natural.width < 160 && this.natural.height < 160;
    const image = html`<img
      class=${small ? "small" : ""}
      src=${addressOf(asset)}
      alt=${altOf(asset)}
      loading=${this.size === "large" ? "eager" : "lazy"}
      decoding="async"
      width=${known && this.size === "inline" ? Math.round(width) : nothing}
      height=${known && this.size === "inline" ? Math.round(height) : nothing}
      style=${styleMap(scale > 0 ? { width: `${this.natural!.width * scale}px`, height: `${this.natural!.height * scale}px` } : {})}
      draggable="false"
      @error=${this.#failed}
      @load=${this.#loaded}
    />`;
    if (this.size === "inline") {
      return html`<figure>
        <a class="enlarges" href="#/assets/${asset.seq}/story" title="Enlarge">${image}<span class="unseen">, enlarge</span></a>
        ${this.#caption(asset)}
      </figure>`;
    }
    if (this.size !== "large") return html`<figure>${image}${this.#caption(asset)}</figure>`;
    return html`<div class="viewport ${scale > 0 ? "" : "fit"}" tabindex=${scale > 0 ? 0 : nothing} role="group" aria-label="Picture" @scroll=${this.#scrolled} @pointermove=${this.#drag}>${image}</div>`;
  }

  #text(asset: Asset): TemplateResult {
    const file = this.file;
    const loading = file === undefined || (file.read === 0 && !file.done);
    // One <pre> per piece, so that a new piece does not cause a layout of the earlier ones.
    const body = loading ? html`<p role="status">Reading…</p>` : file.pieces.map((one) => html`<pre dir="auto">${one}</pre>`);
    const more =
      this.size === "card" || file === undefined || file.done || loading
        ? nothing
        : html`<button class="button plain" type="button" @click=${() => this.#read(file)}>
            Show more${file.size === undefined ? "" : ` (${bytes(file.size - file.read)} left)`}
          </button>`;
    const box = html`<div class="text" tabindex=${this.size === "card" ? nothing : 0} role="group" aria-label=${altOf(asset)}>${body}${more}</div>`;
    return html`<figure>${box}${this.#caption(asset)}</figure>`;
  }

  #details(asset: Asset): TemplateResult {
    const category = categoryOf(asset);
    if (this.size === "card") return this.#sign(asset, categoryIcons[category], formatOf(asset));
    const about = isObject(asset.metadata) && Object.keys(asset.metadata).length > 0 ? preview(asset.metadata, 300) : "";
    return html`<div class="details">
      ${icon(categoryIcons[category])}
      <strong dir="auto">${shortened(titleOf(asset), 200)}</strong>
      <p><bdi>${shortened(asset.kind, 60)}</bdi> · <bdi>${shortened(asset.mediaType, 100)}</bdi>${this.bytes === undefined ? nothing : html` · ${bytes(this.bytes)}`}${about === "" ? nothing : html`<br /><code dir="auto">${about}</code>`}</p>
      <p><a href=${addressOf(asset)} download=${fileNameOf(asset)}>Download</a></p>
    </div>`;
  }

  #refused(asset: Asset, why: { code: string; message: string }): TemplateResult {
    if (this.size === "thumbnail" || this.size === "card") return this.#sign(asset, "block", shortened(why.message, 140), "refused");
    return html`<div class="details refused">
      ${icon("block")}
      <strong dir="auto">${shortened(asset.assetId, 200)} was refused</strong>
      <p dir="auto">${shortened(why.message, 600)}</p>
      <p><code>${shortened(why.code, 80)}</code></p>
    </div>`;
  }

  #gone(asset: Asset): TemplateResult {
    const words = "This file cannot be shown: it is missing, or its content does not match its type.";
    if (this.size === "thumbnail" || this.size === "card") return this.#sign(asset, "broken", words);
    return html`<div class="details">
      ${icon("broken")}
      <strong dir="auto">${shortened(titleOf(asset), 200)}</strong>
      <p>${words}</p>
      <p><bdi>${shortened(asset.kind, 60)}</bdi> · <bdi>${shortened(asset.mediaType, 100)}</bdi></p>
    </div>`;
  }

  #sign(asset: Asset, name: IconName, words: string, kind = ""): TemplateResult {
    return html`<figure>
      <div class="sign ${kind}">${icon(name)}<span dir="auto">${shortened(words, 160)}</span></div>
      ${this.size === "inline" ? this.#caption(asset) : nothing}
    </figure>`;
  }

  #caption(asset: Asset): TemplateResult | typeof nothing {
    if (this.size !== "inline") return nothing;
    const caption = captionOf(asset);
    return caption === undefined ? nothing : html`<figcaption dir="auto">${shortened(caption, 300)}</figcaption>`;
  }

  // Keeps the centre of the image when the zoom changes.
  protected override updated(changed: PropertyValues): void {
    const before = changed.get("zoom") as number | undefined;
    if (before === undefined || before === this.zoom || this.zoom === 0 || this.natural === undefined) return;
    const port = this.renderRoot.querySelector(".viewport");
    if (port === null) return;
    const { x, y } = before === 0 ? { x: 0.5, y: 0.5 } : this.#middle;
    port.scrollLeft = x * this.natural.width * this.zoom - port.clientWidth / 2;
    port.scrollTop = y * this.natural.height * this.zoom - port.clientHeight / 2;
  }

  #scrolled(event: Event): void {
    const port = event.currentTarget as HTMLElement;
    this.#middle = {
      x: (port.scrollLeft + port.clientWidth / 2) / Math.max(1, port.scrollWidth),
      y: (port.scrollTop + port.clientHeight / 2) / Math.max(1, port.scrollHeight),
    };
  }

  #drag(event: PointerEvent): void {
    if (event.buttons !== 1 || event.pointerType === "touch") return;
    const port = event.currentTarget as HTMLElement;
    port.scrollLeft -= event.movementX;
    port.scrollTop -= event.movementY;
  }

  // Loads a file again once, because the server may have been busy or the connection lost.
  #failed(event: Event): void {
    if (this.#hasFailed) {
      this.broken = true;
      return;
    }
    this.#hasFailed = true;
    const shown = event.target as HTMLImageElement | HTMLMediaElement;
    setTimeout(() => {
      if (shown instanceof HTMLMediaElement) shown.load();
      else shown.setAttribute("src", shown.src);
    }, kAgainMs);
  }

  #loaded(event: Event): void {
    const { naturalWidth: width, naturalHeight: height } = event.target as HTMLImageElement;
    this.natural = { width, height };
    this.dispatchEvent(new CustomEvent("measured", { detail: { width, height } }));
  }

  async #measure(asset: Asset): Promise<void> {
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    try {
      const answer = await fetch(addressOf(asset), { method: "HEAD", signal });
      if (this.asset !== asset) return;
      const length = answer.headers.get("Content-Length");
      if (!answer.ok) this.broken = true;
      else if (length !== null) this.bytes = Number(length);
    } catch {
      // Without a response, no size is shown.
    }
  }

  async #read(file: TextFile): Promise<void> {
    this.file = file;
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    try {
      await file.more(this.size === "card" ? kGlimpse : kPiece, signal);
    } catch {
      if (!signal.aborted && this.file === file) this.broken = true;
      return;
    }
    if (this.file === file) ++this.pieces;
  }
}
