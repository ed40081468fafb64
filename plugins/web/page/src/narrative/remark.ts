// SPDX-License-Identifier: Apache-2.0
// A remark on a turn with problems, less prominent than the story, with a button to retry.
import { LitElement, css, html, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import "mdui/components/button.js";
import { shared } from "../theme/shared.ts";
import type { Remark } from "./words.ts";

export const remarkStyles = css`
  :host {
    display: block;
    color: rgb(var(--mdui-color-on-surface-variant));
    overflow-wrap: anywhere;
  }

  p {
    margin: 0 0 0.35em;
    font: italic 0.9375em / 1.6 var(--font-story);
  }

  mdui-button {
    font-family: var(--font-page);
  }

  mdui-button::part(button),
  mdui-button::part(label) {
    padding-inline: 0;
  }

  @media print {
    mdui-button {
      display: none;
    }
  }
`;

@customElement("narratoria-remark")
export class TurnRemark extends LitElement {
  @property({ attribute: false }) remark: Remark | undefined;
  // True if the player can retry: only in the last turn, when nothing runs.
  @property({ type: Boolean }) open = false;

  static override styles = [shared, remarkStyles];

  override render(): unknown {
    const remark = this.remark;
    if (remark === undefined) return nothing;
    return html`${remark.words.map((one) => html`<p dir="auto">${one}</p>`)}
    ${this.open && remark.retry !== undefined
      ? html`<mdui-button variant="text" @click=${() => this.dispatchEvent(new CustomEvent("retry"))}>Try again</mdui-button>`
      : nothing}`;
  }
}
