// SPDX-License-Identifier: Apache-2.0
// Text as paragraphs, each with its own direction. Long text is shown in steps, but printed as a whole.
import { LitElement, css, html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";
import "mdui/components/button.js";
import { shared } from "../theme/shared.ts";
import { cutAt } from "./shorten.ts";

const kFirst = 4000;
const kStep = 20_000;

@customElement("narratoria-long-text")
export class LongText extends LitElement {
  @property({ attribute: false }) text = "";
  // Preserves line ends and makes no paragraphs, for code, JSON and diagnostics.
  @property({ type: Boolean }) verbatim = false;
  @state() private ends: number[] = [];

  static override styles = [
    shared,
    css`
      :host {
        display: block;
        white-space: normal;
        overflow-wrap: anywhere;
      }

      p {
        margin: 0 0 var(--paragraph-gap, 0.85em);
        white-space: pre-wrap;
        unicode-bidi: plaintext;
      }

      div:last-of-type > p:last-child {
        margin-bottom: 0;
      }

      div:focus {
        outline: 0;
      }

      .later {
        content-visibility: auto;
        contain-intrinsic-size: auto 40rem;
      }

      .more {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 0.5rem 1rem;
        margin-top: 0.5rem;
        font: var(--mdui-typescale-label-medium-size) / 1.4 var(--font-page);
        color: rgb(var(--mdui-color-on-surface-variant));
      }

      @media print {
        .later {
          content-visibility: visible;
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

  override willUpdate(changed: Map<string, unknown>): void {
    if (changed.has("text")) this.ends = [cutAt(this.text, 0, kFirst)];
  }

  override render(): unknown {
    const end = this.ends.at(-1) ?? 0;
    const left = this.text.length - end;
    return html`${repeat(
      this.ends,
      (_, index) => index,
      (to, index) => {
        const part = this.text.slice(this.ends[index - 1] ?? 0, to);
        return html`<div class=${index === 0 ? "first" : "later"} tabindex="-1">
          ${(this.verbatim ? [part] : paragraphs(part)).map((one) => html`<p dir="auto">${one}</p>`)}
        </div>`;
      },
    )}${left === 0
      ? nothing
      : html`<div class="more">
          <mdui-button variant="text" @click=${this.#more}>Show more</mdui-button>
          <span>${left.toLocaleString("en")} more characters</span>
        </div>`}`;
  }

  #printing = (): void => {
    if (this.ends.at(-1) !== this.text.length) this.ends = [...this.ends, this.text.length];
  };

  #more = async (): Promise<void> => {
    this.ends = [...this.ends, cutAt(this.text, this.ends.at(-1) ?? 0, kStep)];
    await this.updateComplete;
    // When the button is gone, move the focus to the new text.
    if (this.renderRoot.querySelector(".more") === null) {
      this.renderRoot.querySelector<HTMLElement>("div:last-of-type")?.focus({ preventScroll: true });
    }
  };
}

export function paragraphs(text: string): string[] {
  return text
    .split(/\n[ \t]*\n\s*/)
    .map((one) => one.trim())
    .filter((one) => one !== "");
}
