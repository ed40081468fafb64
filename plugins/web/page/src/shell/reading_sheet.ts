// SPDX-License-Identifier: Apache-2.0
// The settings for reading: text size, line length, colours, details, and printing. A native <dialog>, which traps the
// focus and restores it. It is next to the navigation rail, or at the bottom of a narrow page.
import { LitElement, css, html } from "lit";
import { customElement, property, query } from "lit/decorators.js";
import { icon } from "../controls/icons.ts";
import { base } from "../controls/styles.ts";
import { percent } from "../controls/words.ts";
import { type LineWidth, type Reading, lineWidths, textSizes } from "./reading.ts";
import type { Theme } from "./theme.ts";

const colours: Record<Theme, string> = { system: "Colours of the system", dark: "Dark colours", light: "Light colours" };

@customElement("narratoria-reading-sheet")
export class ReadingSheet extends LitElement {
  @property({ attribute: false }) reading: Reading | undefined;
  @property() theme: Theme = "system";
  @property({ type: Boolean, reflect: true }) narrow = false;
  @query("dialog") private dialog!: HTMLDialogElement;
  #unsubscribe: (() => void) | undefined;

  static override styles = [
    base,
    css`
      :host {
        position: absolute;
      }
      dialog {
        position: fixed;
        inset: auto auto 1rem 5.75rem;
        width: min(20rem, calc(100vw - 2rem));
        max-height: calc(100dvh - 2rem);
        margin: 0;
        padding: 1rem 1.25rem 1.25rem;
        overflow-y: auto;
        border: 1px solid var(--line);
        border-radius: 1.25rem;
        background: rgb(var(--mdui-color-surface-container-high));
        color: rgb(var(--mdui-color-on-surface));
        box-shadow: 0 0.5rem 2rem rgb(0 0 0 / 0.35);
      }
      dialog::backdrop {
        background: rgba(var(--mdui-color-scrim), 0.25);
      }
      :host([narrow]) dialog {
        inset: auto 0 0;
        width: 100%;
        max-width: none;
        border-width: 1px 0 0;
        border-radius: 1.25rem 1.25rem 0 0;
      }
      header,
      .row {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        justify-content: space-between;
        gap: 0.25rem 0.75rem;
        min-height: 3rem;
      }
      h2 {
        font-size: 1rem;
      }
      .steps {
        display: flex;
        align-items: center;
      }
      .steps output {
        min-width: 3.25rem;
        text-align: center;
      }
      kbd {
        padding: 0 0.375rem;
        border: 1px solid var(--line);
        border-radius: 0.25rem;
        font: inherit;
        font-size: 0.75rem;
      }
      @media print {
        :host {
          display: none;
        }
      }
    `,
  ];

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#unsubscribe?.();
  }

  override willUpdate(changed: Map<string, unknown>): void {
    if (!changed.has("reading")) return;
    this.#unsubscribe?.();
    this.#unsubscribe = this.reading?.subscribe(() => this.requestUpdate());
  }

  override render(): unknown {
    const reading = this.reading;
    const size = reading?.textSize ?? 1;
    return html`<dialog aria-labelledby="title" @click=${this.#clicked}>
      <header>
        <h2 id="title">Reading</h2>
        <button class="icon-button" type="button" aria-label="Close" title="Close (Escape)" @click=${this.#close}>${icon("close")}</button>
      </header>
      <div class="row">
        <span id="size">Text size</span>
        <span class="steps" role="group" aria-labelledby="size">
          <button class="icon-button" type="button" aria-label="Smaller text" ?disabled=${size <= textSizes[0]} @click=${() => reading?.stepTextSize(-1)}>${icon("remove")}</button>
          <output class="number">${percent(size)}</output>
          <button class="icon-button" type="button" aria-label="Larger text" ?disabled=${size >= textSizes.at(-1)!} @click=${() => reading?.stepTextSize(1)}>${icon("add")}</button>
        </span>
      </div>
      <div class="row">
        <span id="lines">Lines</span>
        <span class="segments" role="group" aria-labelledby="lines">
          ${(Object.keys(lineWidths) as LineWidth[]).map(
            (one) =>
              html`<button type="button" aria-pressed=${reading?.lineWidth === one ? "true" : "false"} @click=${() => reading?.set({ lineWidth: one })}>${one}</button>`,
          )}
        </span>
      </div>
      <div class="row">
        <span id="colours">Colours</span>
        <span class="segments" role="group" aria-labelledby="colours">
          ${(Object.keys(colours) as Theme[]).map(
            (one) =>
              html`<button type="button" aria-label=${colours[one]} aria-pressed=${this.theme === one ? "true" : "false"} @click=${() => this.dispatchEvent(new CustomEvent("theme", { detail: one }))}>${one}</button>`,
          )}
        </span>
      </div>
      <div class="row">
        <span><span id="did">What tools did</span> <kbd aria-hidden="true">d</kbd></span>
        <button id="how" class="chip" type="button" aria-labelledby="did how" aria-keyshortcuts="d" aria-pressed=${reading?.details === true ? "true" : "false"} @click=${() => reading?.set({ details: !reading.details })}>
          ${reading?.details === true ? "shown" : "folded"}
        </button>
      </div>
      <div class="row">
        <span>On paper</span>
        <button class="button plain" type="button" @click=${this.#print}>Print the story</button>
      </div>
    </dialog>`;
  }

  show(): void {
    if (!this.dialog.open) this.dialog.showModal();
  }

  #close = (): void => this.dialog.close();

  // Closes the dialog on a click on its backdrop.
  #clicked = (event: MouseEvent): void => {
    if (event.target === this.dialog && !contains(this.dialog.getBoundingClientRect(), event)) this.dialog.close();
  };

  #print = (): void => {
    this.dialog.close();
    this.dispatchEvent(new CustomEvent("print"));
  };
}

function contains(box: DOMRect, { clientX, clientY }: MouseEvent): boolean {
  return clientX >= box.left && clientX <= box.right && clientY >= box.top && clientY <= box.bottom;
}
