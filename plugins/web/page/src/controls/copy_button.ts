// SPDX-License-Identifier: Apache-2.0
import { css, html, LitElement, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { icon } from "./icons.ts";
import { base } from "./styles.ts";

@customElement("narratoria-copy")
export class CopyButton extends LitElement {
  static override shadowRootOptions = { ...LitElement.shadowRootOptions, delegatesFocus: true };
  static override styles = [
    base,
    css`
      :host {
        display: inline-block;
      }
    `,
  ];

  // The text to copy, or a function if it is expensive to create.
  @property({ attribute: false }) text: string | (() => string) = "";
  @property() label = "Copy";
  @property({ type: Boolean }) compact = false;
  @state() private outcome: "" | "Copied" | "Not copied" = "";

  protected override render(): TemplateResult {
    const done = this.outcome === "Copied";
    return html`<button
        type="button"
        class=${this.compact ? "icon-button" : "button"}
        title=${this.label}
        aria-label=${this.label}
        @click=${this.#copy}
      >
        ${icon(done ? "check" : "copy")}${this.compact ? "" : html`<span>${this.outcome || "Copy"}</span>`}
      </button>
      <span class="unseen" role="status">${this.outcome}</span>`;
  }

  async #copy(): Promise<void> {
    const text = typeof this.text === "string" ? this.text : this.text();
    try {
      await navigator.clipboard.writeText(text);
      this.outcome = "Copied";
    } catch {
      this.outcome = "Not copied";
    }
    setTimeout(() => (this.outcome = ""), 2000);
  }
}
