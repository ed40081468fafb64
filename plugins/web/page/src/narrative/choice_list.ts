// SPDX-License-Identifier: Apache-2.0
// The choices, as numbered buttons. The number in the input plays the choice, too (prompt_input.ts).
import { LitElement, type PropertyValues, css, html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import "mdui/components/button.js";
import { counted, shortened } from "../text/shorten.ts";
import { shared } from "../theme/shared.ts";

const kChoices = 12;
const kLongest = 2000;

export interface Offer {
  prompt: string;
  choices: readonly string[];
}

@customElement("narratoria-choices")
export class ChoiceList extends LitElement {
  @property({ attribute: false }) offer: Offer | undefined;
  // The language of the story's texts; "" if unknown.
  @property() language = "";
  @state() private shown = kChoices;

  static override styles = [
    shared,
    css`
      :host {
        display: block;
        max-height: min(16rem, 38dvh);
        overflow-y: auto;
        overscroll-behavior: contain;
        scrollbar-width: thin;
      }

      .asked {
        margin: 0 0 0.5rem;
        padding-inline: 0.25rem;
        font: italic calc(1rem * var(--text-size, 1)) / 1.5 var(--font-story);
        color: rgb(var(--mdui-color-on-surface-variant));
        overflow-wrap: anywhere;
      }

      ul {
        display: flex;
        flex-wrap: wrap;
        gap: 0.5rem;
        margin: 0 -0.25rem;
        /* Room for the focus ring. */
        padding: 0.25rem;
        list-style: none;
      }

      li {
        display: flex;
        max-width: 100%;
      }

      mdui-button {
        font-family: var(--font-page);
        font-size: calc(0.9375rem * var(--text-size, 1));
        text-align: start;
      }

      mdui-button::part(button) {
        padding-inline: 0.875rem 1.125rem;
      }

      mdui-button::part(label) {
        padding: 0;
        text-align: start;
      }

      @media (max-width: 37.4rem), (max-height: 30rem) {
        ul {
          gap: 0.375rem;
        }

        mdui-button,
        mdui-button::part(button) {
          min-height: 2.25rem;
          padding-block: 0.25rem;
        }
      }

      /* In a low window the choices scroll with the story. */
      @media (max-height: 20rem) {
        :host {
          max-height: none;
        }
      }

      .key {
        display: inline-block;
        min-width: 1.25em;
        margin-inline-end: 0.25em;
        color: rgb(var(--mdui-color-tertiary));
        font-variant-numeric: tabular-nums;
      }

      @media (forced-colors: active) {
        .key {
          color: inherit;
        }
      }
    `,
  ];

  protected override willUpdate(changed: PropertyValues): void {
    if (changed.has("offer")) this.shown = kChoices;
  }

  override render(): unknown {
    const offer = this.offer;
    if (offer === undefined) return nothing;
    const left = offer.choices.length - this.shown;
    const prompt = offer.prompt.trim();
    return html`${prompt === "" ? nothing : html`<p class="asked" dir="auto" lang=${this.language || nothing}>${shortened(prompt, 600)}</p>`}
      <ul aria-label="What you can do">
        ${offer.choices.slice(0, this.shown).map(
          (text, index) =>
            html`<li>
              <mdui-button variant="tonal" @click=${() => this.#submit(text)}
                ><span class="key" aria-hidden="true">${index + 1}</span><span dir="auto" lang=${this.language || nothing}
                  >${shortened(text, kLongest)}</span
                ></mdui-button
              >
            </li>`,
        )}
        ${left > 0
          ? html`<li><mdui-button variant="text" @click=${this.#more}>${counted(left, "more choice")}</mdui-button></li>`
          : nothing}
      </ul>`;
  }

  #more = async (): Promise<void> => {
    const first = this.shown;
    this.shown += 4 * kChoices;
    await this.updateComplete;
    this.renderRoot.querySelectorAll<HTMLElement>("mdui-button")[first]?.focus();
  };

  #submit(text: string): void {
    this.dispatchEvent(new CustomEvent("prompt", { detail: text }));
  }
}
