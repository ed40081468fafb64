// SPDX-License-Identifier: Apache-2.0
// What went wrong in a turn, in words, with what the player can do about it.
import { LitElement, css, html, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import "mdui/components/button.js";
import { icon } from "../controls/icons.ts";
import { navigate, segment } from "../shell/route.ts";
import { shared } from "../theme/shared.ts";
import "../text/long_text.ts";
import type { Notice } from "./words.ts";

@customElement("narratoria-notice")
export class TurnNotice extends LitElement {
  @property({ attribute: false }) notice: Notice | undefined;
  // Whether there is something to decide: not in a turn that lies behind, nor while the story goes on.
  @property({ type: Boolean }) open = false;

  static override styles = [
    shared,
    css`
      :host {
        display: block;
        font: var(--mdui-typescale-body-medium-size) / 1.5 var(--font-page);
        overflow-wrap: anywhere;
      }

      section {
        display: grid;
        grid-template-columns: auto 1fr;
        gap: 0.25rem 0.75rem;
        padding: 0.75rem 1rem;
        border-radius: 0.75rem;
        background: rgb(var(--mdui-color-surface-container-low));
        color: rgb(var(--mdui-color-on-surface));
      }

      section.error {
        box-shadow: inset 0.1875rem 0 rgb(var(--mdui-color-error));
      }

      /* A turn that lies behind: no more than a remark. */
      section.past {
        padding: 0;
        background: none;
        color: rgb(var(--mdui-color-on-surface-variant));
      }

      .past h3 {
        font: inherit;
      }

      .past .sign {
        font-size: 1.25rem;
        grid-row: 1;
      }

      .actions {
        display: flex;
        flex-wrap: wrap;
        gap: 0.5rem;
        margin-top: 0.75rem;
      }

      .past .actions {
        margin: 0.125rem 0 0 -1.5rem;
      }

      .sign {
        font-size: 1.5rem;
        line-height: 1;
        color: rgb(var(--mdui-color-tertiary));
      }

      .error .sign {
        color: rgb(var(--mdui-color-error));
      }

      h3 {
        margin: 0;
        font-size: var(--mdui-typescale-title-medium-size);
        font-weight: 500;
      }

      .body {
        grid-column: 2;
        min-width: 0;
      }

      p {
        margin: 0.125rem 0;
      }

      details {
        margin-top: 0.5rem;
      }

      summary {
        cursor: pointer;
        width: fit-content;
        min-height: 1.5rem;
        border-radius: 0.25rem;
      }

      narratoria-long-text {
        margin-top: 0.25rem;
        font-family: var(--font-code);
        font-size: var(--mdui-typescale-body-small-size);
      }

    `,
  ];

  override render(): unknown {
    const notice = this.notice;
    if (notice === undefined) return nothing;
    const failure = notice.failures[0];
    const isPast = !this.open && notice.tone !== "error";
    const lines = notice.failures.flatMap((one) => one.details);
    return html`<section class=${isPast ? "past" : notice.tone} aria-label=${notice.headline}>
      <span class="sign" aria-hidden="true"
        >${notice.tone === "error"
          ? icon("error")
          : icon("info")}</span
      >
      ${isPast && notice.words.length > 0 ? nothing : html`<h3>${notice.headline}</h3>`}
      <div class="body">
        ${notice.words.map((one) => html`<p dir="auto">${one}</p>`)}
        ${lines.length === 0
          ? nothing
          : html`<details>
              <summary>What the tools said</summary>
              <narratoria-long-text verbatim .text=${lines.join("\n")}></narratoria-long-text>
            </details>`}
        ${this.open || failure !== undefined
          ? html`<div class="actions">
              ${this.open && notice.retry !== undefined
                ? html`<mdui-button variant="tonal" @click=${() => this.#emit("retry")}>Retry</mdui-button>`
                : nothing}
              ${this.open
                ? html`<mdui-button variant="text" @click=${() => this.#emit("continue")}>Continue</mdui-button>`
                : nothing}
              ${failure === undefined
                ? nothing
                : html`<mdui-button
                    variant="text"
                    @click=${() => navigate(`#/tools/${segment(failure.planKey)}/${segment(failure.toolId)}`)}
                    >Details</mdui-button
                  >`}
            </div>`
          : nothing}
      </div>
    </section>`;
  }

  #emit(name: string): void {
    this.dispatchEvent(new CustomEvent(name));
  }
}
