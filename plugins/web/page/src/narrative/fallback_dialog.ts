// SPDX-License-Identifier: Apache-2.0
// After the last plan has failed: what is told instead, and what the player may do. A <dialog> of the browser's own,
// which keeps the focus inside, gives it back, and makes all behind it inert.
import { LitElement, css, html, nothing } from "lit";
import { customElement, property, query } from "lit/decorators.js";
import "mdui/components/button.js";
import type { Turn } from "../session/session.ts";
import "../text/long_text.ts";
import { shared } from "../theme/shared.ts";
import { noticeOf } from "./words.ts";

export type FallbackAnswer = "again" | "else" | "what";

@customElement("narratoria-fallback-dialog")
export class FallbackDialog extends LitElement {
  @property({ attribute: false }) turn: Turn | undefined;
  @query("dialog") private dialog!: HTMLDialogElement;

  static override styles = [
    shared,
    css`
      dialog {
        width: min(35rem, calc(100vw - 2rem));
        max-height: calc(100dvh - 2rem);
        padding: 1.5rem;
        border: 0;
        border-radius: 1.75rem;
        background: rgb(var(--mdui-color-surface-container-high));
        color: rgb(var(--mdui-color-on-surface));
        font: 1.125rem / 1.7 var(--font-story);
        overflow-y: auto;
      }

      dialog[open] {
        animation: rise 0.3s cubic-bezier(0.05, 0.7, 0.1, 1);
      }

      dialog::backdrop {
        background: rgba(var(--mdui-color-scrim), 0.6);
      }

      @keyframes rise {
        from {
          opacity: 0;
          transform: translateY(1rem);
        }
      }

      h2 {
        margin: 0 0 0.75rem;
        font: 400 1.5rem / 1.3 var(--font-story);
      }

      .why {
        margin: 0.5rem 0 0;
        font: 0.875rem / 1.5 var(--font-page);
        color: rgb(var(--mdui-color-on-surface-variant));
        overflow-wrap: anywhere;
      }

      .actions {
        display: flex;
        flex-wrap: wrap;
        justify-content: flex-end;
        gap: 0.5rem;
        margin-top: 1.5rem;
        font-family: var(--font-page);
      }

      mdui-button {
        font-family: var(--font-page);
      }

      @media (prefers-reduced-motion: reduce) {
        dialog[open] {
          animation: none;
        }
      }
    `,
  ];

  override render(): unknown {
    const turn = this.turn;
    if (turn === undefined) return html`<dialog></dialog>`;
    const told = turn.narratives.filter((one) => one.source === "fallback").map((one) => one.text);
    return html`<dialog aria-labelledby="headline" aria-describedby="told" @close=${this.#closed}>
      <h2 id="headline">It does not work out</h2>
      <div id="told"><narratoria-long-text .text=${told.join("\n\n")}></narratoria-long-text></div>
      ${noticeOf(turn)?.words.map((one) => html`<p class="why" dir="auto">${one}</p>`)}
      <div class="actions">
        ${turn.plans.length === 0
          ? nothing
          : html`<mdui-button variant="text" @click=${() => this.#answer("what")}>What happened</mdui-button>`}
        ${turn.prompt === undefined
          ? nothing
          : html`<mdui-button variant="text" @click=${() => this.#answer("again")}>Try again</mdui-button>`}
        <mdui-button variant="filled" @click=${() => this.#answer("else")}>Say something else</mdui-button>
      </div>
    </dialog>`;
  }

  async show(turn: Turn): Promise<void> {
    this.turn = turn;
    await this.updateComplete;
    if (this.dialog.open) return;
    this.dialog.showModal();
    this.renderRoot.querySelector<HTMLElement>("mdui-button[variant=filled]")?.focus();
  }

  #answer(answer: FallbackAnswer): void {
    this.dialog.close(answer);
  }

  // Escape means: something else.
  #closed = (): void => {
    const answer = this.dialog.returnValue;
    this.dialog.returnValue = "";
    this.dispatchEvent(new CustomEvent("answer", { detail: answer === "" ? "else" : answer }));
  };
}
