// SPDX-License-Identifier: Apache-2.0
// The prompt of a saved game that was interrupted, with a button to resume it.
import { LitElement, type PropertyValues, css, html, nothing } from "lit";
import { customElement, property, query } from "lit/decorators.js";
import "mdui/components/button.js";
import type { Move } from "../prompts.ts";
import type { Interrupted } from "../session/session.ts";
import { shortened } from "../text/shorten.ts";
import { shared } from "../theme/shared.ts";
import { remarkStyles } from "./remark.ts";

const kPrompt = 200;

@customElement("narratoria-interrupted")
export class InterruptedPrompt extends LitElement {
  @property({ attribute: false }) prompt: Interrupted | undefined;
  // True if a tool of the prompt that must not run twice had already started.
  @property({ type: Boolean }) repeats = false;
  // True if nothing runs, so that the player can resume it.
  @property({ type: Boolean }) quiet = false;
  // The language of the story's texts; "" if unknown.
  @property() language = "";
  @query("mdui-button") private button: LitElement | null | undefined;

  static override styles = [
    shared,
    remarkStyles,
    css`
      :host {
        margin-top: 1.5rem;
      }

      p:empty {
        margin: 0;
      }
    `,
  ];

  // The player has just pressed the button, which now asks.
  protected override updated(changed: PropertyValues): void {
    const { button } = this;
    if (this.repeats && changed.has("quiet")) void button?.updateComplete.then(() => button.focus());
  }

  override render(): unknown {
    const prompt = this.prompt;
    if (prompt === undefined) return nothing;
    const detail: Move = { resume: prompt.id, repeats: this.repeats };
    const resume = (): void => void this.dispatchEvent(new CustomEvent<Move>("move", { detail, bubbles: true, composed: true }));
    return html`<p>
        Your last prompt was interrupted: <bdi lang=${this.language || nothing}>${shortened(prompt.text, kPrompt)}</bdi>
      </p>
      <p role="status">${this.repeats ? "A part that should not happen twice had already started. You can also play on without it." : nothing}</p>
      ${this.quiet ? html`<mdui-button variant="text" @click=${resume}>${this.repeats ? "Resume anyway" : "Resume"}</mdui-button>` : nothing}`;
  }
}
