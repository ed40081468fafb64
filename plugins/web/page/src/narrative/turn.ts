// SPDX-License-Identifier: Apache-2.0
// One turn of the story: the prompt, the narration, and its assets. The work of tools and narrator is folded below.
import { LitElement, css, html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { guard } from "lit/directives/guard.js";
import { repeat } from "lit/directives/repeat.js";
import "mdui/components/button.js";
import type { Move } from "../prompts.ts";
import { canUndo } from "../session/moves.ts";
import type { Narrative, Turn, TurnEntry, UiPlaceholder } from "../session/session.ts";
import "../text/long_text.ts";
import { paragraphs } from "../text/long_text.ts";
import { counted, shortened } from "../text/shorten.ts";
import { shared } from "../theme/shared.ts";
import "./remark.ts";
import "./tools_line.ts";
import "./undone.ts";
import { endingOf, failureWords, movedWords, refusalWords, remarkOf, turnDetails } from "./words.ts";

const kShort = 3000;
const kEntries = 60;

@customElement("narratoria-turn")
export class TurnView extends LitElement {
  @property({ attribute: false }) turn: Turn | undefined;
  @property({ type: Number }) revision = 0;
  // True if the player can retry: only in the last turn, when nothing runs.
  @property({ type: Boolean }) open = false;
  // The reader wants to see the details of all turns.
  @property({ type: Boolean }) details = false;
  // This window cancelled the turn.
  @property({ type: Boolean }) stoppedHere = false;
  // Entries after this record are new; their appearance is animated.
  @property({ type: Number }) newAfter = 0;
  // True if the player can undo turns.
  @property({ type: Boolean }) saved = false;
  // True if nothing runs, so that the player can go to an undone turn.
  @property({ type: Boolean }) quiet = false;
  // The language of the story's texts; "" if unknown.
  @property() language = "";
  @state() private shown = kEntries;

  static override styles = [
    shared,
    css`
      :host {
        display: block;
        font: 1em / 1.7 var(--font-story);
      }

      article {
        display: flow-root;
      }

      h2 {
        margin: 0 0 1.25em;
        font: italic 400 1em / 1.6 var(--font-story);
        color: rgb(var(--mdui-color-tertiary));
        overflow-wrap: anywhere;
      }

      .words {
        display: block;
        padding-inline-start: 1em;
        border-inline-start: 0.1875rem solid rgb(var(--mdui-color-tertiary));
        white-space: pre-wrap;
      }

      .telling {
        margin: 0 0 1.1em;
        color: rgb(var(--mdui-color-on-surface));
        overflow-wrap: anywhere;
      }

      .telling p {
        margin: 0 0 0.85em;
        white-space: pre-wrap;
        unicode-bidi: plaintext;
        text-wrap: pretty;
        hanging-punctuation: first;
      }

      .telling p:last-child {
        margin-bottom: 0;
      }

      .retracted {
        color: rgb(var(--mdui-color-on-surface-variant));
        text-decoration: line-through;
      }

      .new {
        --reveal: 140%;
        animation: reveal 0.9s cubic-bezier(0.2, 0, 0.4, 1);
        mask-image: linear-gradient(to bottom, #000 calc(var(--reveal) - 40%), #0000 calc(var(--reveal) + 10%));
      }

      @keyframes reveal {
        from {
          --reveal: 20%;
          opacity: 0.4;
        }
        to {
          --reveal: 140%;
          opacity: 1;
        }
      }

      .failure {
        margin: 0 0 1.1em;
        font-style: italic;
        color: rgb(var(--mdui-color-on-surface-variant));
        overflow-wrap: anywhere;
      }

      /* The name between two lines that fade. */
      .ending {
        display: flex;
        align-items: center;
        gap: 1em;
        margin: 2em 0;
        text-align: center;
        overflow-wrap: anywhere;
        color: rgb(var(--mdui-color-tertiary));
      }

      .ending::before,
      .ending::after {
        content: "";
        flex: 1 0 1.5em;
        height: 0.0625rem;
        background: linear-gradient(to right, transparent, rgb(var(--mdui-color-outline)));
      }

      .ending::after {
        transform: scaleX(-1);
      }

      .refused,
      .moved,
      .lack {
        margin: 0 0 1.25rem;
        font: var(--mdui-typescale-body-medium-size) / 1.5 var(--font-page);
        color: rgb(var(--mdui-color-on-surface-variant));
        overflow-wrap: anywhere;
      }

      .undone :is(h2, .telling, .ending) {
        color: rgb(var(--mdui-color-on-surface-variant));
      }

      .undone narratoria-asset {
        opacity: 0.5;
      }

      .undoing {
        display: flex;
        align-items: center;
        gap: 0.75rem;
        margin-bottom: 0.75rem;
      }

      .moves {
        display: flex;
        flex-wrap: wrap;
        margin-inline-start: -0.75rem;
      }

      .moves mdui-button,
      .undoing mdui-button {
        min-width: 0;
        font-family: var(--font-page);
      }

      :is(.moves, .undoing) mdui-button::part(button),
      :is(.moves, .undoing) mdui-button::part(label) {
        padding-inline: 0.375rem;
      }

      narratoria-asset {
        display: block;
        margin: 0 0 1.25em;
      }

      narratoria-tools-line {
        margin: 0 0 1.25rem;
      }

      narratoria-remark {
        margin: 0 0 0.5rem;
      }

      .thinking {
        display: flex;
        align-items: center;
        gap: 0.75rem;
        margin: 0 0 1.25rem;
        font: var(--mdui-typescale-label-large-size) / 1.5 var(--font-page);
        color: rgb(var(--mdui-color-on-surface-variant));
      }

      .dots {
        display: inline-flex;
        gap: 0.3125rem;
      }

      .dots span {
        width: 0.4375rem;
        height: 0.4375rem;
        border-radius: 50%;
        background: rgb(var(--mdui-color-primary));
        animation: breathe 1.5s ease-in-out infinite;
      }

      .dots span:nth-child(2) {
        animation-delay: 0.2s;
      }

      .dots span:nth-child(3) {
        animation-delay: 0.4s;
      }

      @keyframes breathe {
        0%,
        60%,
        100% {
          opacity: 0.25;
        }
        30% {
          opacity: 1;
        }
      }

      .lack summary {
        width: fit-content;
        max-width: 100%;
        min-height: 1.5rem;
        border-radius: 0.25rem;
        cursor: pointer;
      }

      .lack narratoria-long-text {
        margin: 0.25rem 0 0 1rem;
        font-family: var(--font-code);
        font-size: var(--mdui-typescale-body-small-size);
      }

      @media (prefers-reduced-motion: reduce) {
        .new {
          animation: none;
        }

        .dots span {
          animation: none;
          opacity: 0.8;
        }
      }

      @media print {
        article {
          break-inside: auto;
        }

        h2 {
          break-after: avoid;
        }

        .thinking,
        mdui-button {
          display: none;
        }
      }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("beforeprint", this.#printing);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("beforeprint", this.#printing);
  }

  override render(): unknown {
    const turn = this.turn;
    if (turn === undefined) return nothing;
    const remark = remarkOf(turn, this.stoppedHere);
    const entries = turn.entries.filter((one) => isShown(turn, one));
    const left = entries.length - this.shown;
    const hasDetails = turn.plans.some((plan) => plan.invocations.size > 0) || turnDetails(turn).length > 0;
    return html`<article class=${turn.isUndone === true ? "undone" : ""} aria-label=${turn.prompt === undefined ? "The story" : `You: ${shortened(turn.prompt.text, 80)}`}>
      ${turn.isPast === true && turn.isLater === true ? html`<p class="moved">Earlier turns are not shown</p>` : nothing}
      ${turn.isUndone === true ? this.#undone(turn) : nothing}
      ${turn.isAgain === true && turn.isUndone !== true ? html`<p class="moved">Played again</p>` : nothing}
      ${turn.prompt === undefined ? nothing : this.#prompt(turn.prompt.text)}
      ${turn.movedTo === undefined ? nothing : html`<p class="moved">${movedWords(turn)}</p>`}
      ${left > 0
        ? html`<mdui-button variant="text" @click=${() => (this.shown += kEntries)}
            >${counted(left, "earlier part")}</mdui-button
          >`
        : nothing}
      ${repeat(
        left > 0 ? entries.slice(left) : entries,
        // The end of a plan may be both a narrative and a failure.
        (entry) => `${entry.what} ${entry.seq}`,
        (entry) => this.#entry(entry),
      )}
      ${isThinking(turn) ? thinking() : nothing}
      ${turn.isMarker === true ? nothing : this.#ending(endingOf(turn))}
      ${remark === undefined || (remark.words.length === 0 && !this.#retries)
        ? nothing
        : html`<narratoria-remark
            .remark=${remark}
            ?open=${this.#retries}
            @retry=${() => this.dispatchEvent(new CustomEvent("prompt", { detail: remark.retry ?? "" }))}
          ></narratoria-remark>`}
      ${this.open && this.saved ? this.#moves(turn) : nothing}
      ${hasDetails
        ? html`<narratoria-tools-line .turn=${turn} .revision=${turn.revision} ?details=${this.details}></narratoria-tools-line>`
        : nothing}
    </article>
    ${repeat(
      turn.branches,
      (branch) => branch[0]!.index,
      (branch) =>
        html`<narratoria-undone .turns=${branch} .language=${this.language} ?details=${this.details} ?quiet=${this.quiet}></narratoria-undone>`,
    )}`;
  }

  #printing = (): void => {
    this.shown = Number.MAX_SAFE_INTEGER;
  };

  #prompt(text: string): unknown {
    const words = text.length > kShort ? html`<narratoria-long-text .text=${text}></narratoria-long-text>` : text;
    return html`<h2><span class="unseen">You: </span><span class="words" dir="auto" lang=${this.language || nothing}>${words}</span></h2>`;
  }

  #entry(entry: TurnEntry): unknown {
    switch (entry.what) {
      case "narrative":
        return this.#telling(entry.narrative);
      case "asset":
        if (entry.asset.refused !== undefined) {
          return html`<p class="refused">${refusalWords(entry.asset)}</p>`;
        }
        return html`<narratoria-asset
          class=${entry.asset.seq > this.newAfter ? "new" : ""}
          size="inline"
          .asset=${entry.asset}
        ></narratoria-asset>`;
      case "placeholder":
        return this.#placeholder(entry.placeholder);
      case "failure":
        return failureWords(this.turn!, entry.plan).map(
          (one) => html`<p class="failure" dir="auto" lang=${this.language || nothing}>${one}</p>`,
        );
      case "plan":
        return nothing;
    }
  }

  #telling(narrative: Narrative): unknown {
    const isNew = narrative.pieces === undefined && narrative.seq > this.newAfter;
    const words =
      narrative.text.length > kShort
        ? html`<narratoria-long-text .text=${narrative.text}></narratoria-long-text>`
        : paragraphs(narrative.text).map((one) => html`<p dir="auto">${one}</p>`);
    if (narrative.pieces === "retracted") {
      return html`<div class="telling">
        <span class="unseen">Taken back: </span><del class="retracted" lang=${this.language || nothing}>${words}</del>
      </div>`;
    }
    return html`<div lang=${this.language || nothing} class="telling ${isNew ? "new" : ""}">${words}</div>`;
  }

  #ending(name: string | undefined): unknown {
    if (name === undefined) return nothing;
    return html`<p class="ending"><span><span class="unseen">The end: </span><span dir="auto" lang=${this.language || nothing}>${name}</span></span></p>`;
  }

  // In a saved game the prompt is played again instead, so that the failure does not stay in the story.
  get #retries(): boolean {
    return this.open && !this.saved;
  }

  #moves(turn: Turn): unknown {
    const moves = movesOf(turn);
    if (moves.length === 0) return nothing;
    return html`<div class="moves">${moves.map(([move, words]) => this.#button(move, words))}</div>`;
  }

  #undone(turn: Turn): unknown {
    return html`<p class="moved undoing"><span>Undone</span>${this.quiet && turn.id !== undefined ? this.#button(turn.id, "Return here") : nothing}</p>`;
  }

  #button(move: Move, words: string): unknown {
    const make = (): void => void this.dispatchEvent(new CustomEvent<Move>("move", { detail: move, bubbles: true, composed: true }));
    return html`<mdui-button variant="text" @click=${make}>${words}</mdui-button>`;
  }

  // A UI event that no plugin can show: its name, with its content folded (spec 000 §4.4).
  #placeholder(one: UiPlaceholder): unknown {
    return html`<details class="lack" ?open=${this.details}>
      <summary>Something here cannot be shown: <bdi>${shortened(one.event, 200)}</bdi></summary>
      ${guard(
        [one],
        () => html`<narratoria-long-text verbatim .text=${JSON.stringify(one.payload, null, 2)}></narratoria-long-text>`,
      )}
    </details>`;
  }
}

function movesOf(turn: Turn): [Move, string][] {
  if (!canUndo(turn)) return [];
  const moves: [Move, string][] = [
    ["undo", "Undo"],
    ["again", remarkOf(turn) === undefined ? "Another answer" : "Try again"],
  ];
  if (endingOf(turn) !== undefined) moves.push(["restart", "Start over"]);
  return moves;
}

// Only the latest version of an asset is shown, at its own place in the turn.
function isShown(turn: Turn, entry: TurnEntry): boolean {
  if (entry.what === "plan") return false;
  if (entry.what !== "asset") return true;
  const asset = entry.asset;
  if (asset.refused === undefined) return asset.replaced === undefined;
  // A refusal is not shown if a later attempt sent the asset again, refused or not.
  return !turn.assets.some(
    (one) => one.seq > asset.seq && one.planKey === asset.planKey && one.toolId === asset.toolId && one.assetId === asset.assetId,
  );
}

// True if no plan is running, so the narrator is generating one.
function isThinking(turn: Turn): boolean {
  if (turn.outcome !== undefined || turn.narratives.at(-1)?.pieces === "open") return false;
  return turn.plans.every((plan) => plan.ended !== undefined);
}

function thinking(): unknown {
  return html`<div class="thinking">
    <span class="dots" aria-hidden="true"><span></span><span></span><span></span></span>The narrator ponders…
  </div>`;
}
