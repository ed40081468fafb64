// SPDX-License-Identifier: Apache-2.0
// A branch of undone turns, folded to one line, so that the story around it reads on. Its turns are rendered only once
// the reader unfolds it.
import { LitElement, css, html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";
import { icon } from "../controls/icons.ts";
import type { Turn } from "../session/session.ts";
import { counted, shortened } from "../text/shorten.ts";
import { shared } from "../theme/shared.ts";
import "./turn.ts";

const kPrompt = 120;

@customElement("narratoria-undone")
export class UndoneTurns extends LitElement {
  // A move of the session replaces the array.
  @property({ attribute: false }) turns: readonly Turn[] = [];
  // The reader wants to see the details of all turns.
  @property({ type: Boolean }) details = false;
  // True if nothing runs, so that the player can go to an undone turn.
  @property({ type: Boolean }) quiet = false;
  // The language of the story's texts; "" if unknown.
  @property() language = "";
  @state() private isOpen = false;

  static override styles = [
    shared,
    css`
      :host {
        display: block;
        margin-top: 0.5rem;
        color: rgb(var(--mdui-color-on-surface-variant));
        overflow-wrap: anywhere;
      }

      summary {
        display: flex;
        width: fit-content;
        max-width: 100%;
        gap: 0.375rem;
        min-height: 1.75rem;
        padding-inline-end: 0.5rem;
        border-radius: 0.5rem;
        font: var(--mdui-typescale-body-medium-size) / 1.5 var(--font-page);
        list-style: none;
        cursor: pointer;
      }

      summary::-webkit-details-marker {
        display: none;
      }

      summary:hover {
        text-decoration: underline;
      }

      summary .icon {
        flex: none;
        width: 1rem;
        height: 1.5em;
        transition: transform 120ms;
      }

      details[open] > summary .icon {
        transform: rotate(90deg);
      }

      .turns {
        margin: 0.5rem 0 1rem 0.4375rem;
        padding-inline-start: 1rem;
        border-inline-start: 0.0625rem solid rgb(var(--mdui-color-outline-variant));
      }

      narratoria-turn {
        padding-bottom: 1rem;
      }

      @media (prefers-reduced-motion: reduce) {
        summary .icon {
          transition: none;
        }
      }

      @media print {
        details:not([open]) {
          display: none;
        }
      }
    `,
  ];

  override render(): unknown {
    const { turns } = this;
    const prompt = turns.find((one) => one.prompt !== undefined)?.prompt?.text;
    return html`<details ?open=${this.isOpen} @toggle=${this.#toggled}>
      <summary>${icon("right")}<span>${counted(playedIn(turns), "undone turn")}${prompt === undefined ? nothing : html`: <bdi lang=${this.language || nothing}>${shortened(prompt, kPrompt)}</bdi>`}</span></summary>
      ${this.isOpen
        ? html`<div class="turns">
            ${repeat(
              turns,
              (turn) => turn.index,
              (turn) =>
                html`<narratoria-turn
                  .turn=${turn}
                  .revision=${turn.revision}
                  .newAfter=${Number.MAX_SAFE_INTEGER}
                  .language=${this.language}
                  ?details=${this.details}
                  ?quiet=${this.quiet}
                ></narratoria-turn>`,
            )}
          </div>`
        : nothing}
    </details>`;
  }

  #toggled = (event: Event): void => {
    this.isOpen = (event.target as HTMLDetailsElement).open;
    // Sent before the turns are rendered: the story must not follow its growing end.
    if (this.isOpen) this.dispatchEvent(new CustomEvent("unfold", { bubbles: true, composed: true }));
  };
}

// The number of turns that were played, with the branches among them. A move is not one.
function playedIn(branch: readonly Turn[]): number {
  return branch.reduce((sum, turn) => turn.branches.reduce((rest, one) => rest + playedIn(one), sum + (turn.movedTo === undefined ? 1 : 0)), 0);
}
