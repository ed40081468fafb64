// SPDX-License-Identifier: Apache-2.0
// The input for prompts. It grows with the text. Enter sends, Shift+Enter inserts a line break, and arrow up in an
// empty field recalls earlier prompts. A number alone plays the choice with this number. Escape, which stops the running turn, is handled by the page (shell/escape.ts).
import { LitElement, type PropertyValues, css, html, nothing } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { live } from "lit/directives/live.js";
import "mdui/components/button-icon.js";
import "mdui/components/button.js";
import { icon } from "../controls/icons.ts";
import type { Prompts } from "../prompts.ts";
import type { Session } from "../session/session.ts";
import { shortened } from "../text/shorten.ts";
import { shared } from "../theme/shared.ts";
import { endingOf, rangeWords } from "./words.ts";

// A device with a physical keyboard. On others, focusing the input would open a virtual keyboard over the story.
const desk = matchMedia("(hover: hover) and (pointer: fine)");

// The draft of a prompt, kept while other views are shown and over a reload of this tab.
const kDraft = "narratoria-draft";

function readDraft(): string {
  try {
    return sessionStorage.getItem(kDraft) ?? "";
  } catch {
    return "";
  }
}

function writeDraft(words: string): void {
  try {
    if (words === "") sessionStorage.removeItem(kDraft);
    else sessionStorage.setItem(kDraft, words);
  } catch {
    // The browser stores nothing, or its storage is full.
  }
}

@customElement("narratoria-prompt-input")
export class PromptInput extends LitElement {
  @property({ attribute: false }) session: Session | undefined;
  @property({ attribute: false }) prompts: Prompts | undefined;
  @property({ attribute: false }) choices: readonly string[] = [];
  @property({ type: Boolean }) ended = false;
  // A counter of the view around it, so that both render together.
  @property({ type: Number }) drawing = 0;
  @state() private text = readDraft();
  @query("textarea") private area!: HTMLTextAreaElement;
  // The earlier prompt in the field: 1 is the latest, 0 is none.
  #recalled = 0;

  static override styles = [
    shared,
    css`
      :host {
        display: block;
        font: var(--mdui-typescale-body-large-size) / 1.5 var(--font-page);
      }

      form {
        display: flex;
        align-items: end;
        gap: 0.25rem;
        padding: 0.375rem 0.5rem 0.375rem 1.25rem;
        border: 0.0625rem solid rgb(var(--mdui-color-outline));
        border-radius: 1.75rem;
        background: rgb(var(--mdui-color-surface-container));
        transition: border-color 150ms;
      }

      form:focus-within {
        border-color: rgb(var(--mdui-color-primary));
        outline: 0.125rem solid rgb(var(--mdui-color-primary));
        outline-offset: -0.125rem;
      }

      textarea {
        flex: 1;
        min-width: 0;
        height: 2.75rem;
        max-height: min(12rem, 30vh);
        padding: 0.5625rem 0;
        border: 0;
        outline: 0;
        resize: none;
        background: none;
        color: rgb(var(--mdui-color-on-surface));
        caret-color: rgb(var(--mdui-color-primary));
        font: calc(1.0625rem * var(--text-size, 1)) / 1.5 var(--font-story);
      }

      /* The surrounding field shows the focus. */
      textarea:focus-visible {
        outline: 0;
      }

      textarea::placeholder {
        color: rgb(var(--mdui-color-on-surface-variant));
        opacity: 1;
        font-style: italic;
      }

      mdui-button-icon {
        flex: none;
        width: 2.75rem;
        height: 2.75rem;
      }

      .line {
        display: flex;
        align-items: center;
        gap: 0.75rem;
        min-height: 1.25rem;
        margin: 0 1.25rem 0.5rem;
        font: var(--mdui-typescale-body-medium-size) / 1.4 var(--font-page);
        color: rgb(var(--mdui-color-on-surface-variant));
        overflow-wrap: anywhere;
      }

      .refusal {
        color: rgb(var(--mdui-color-error));
      }

      .waiting q {
        font-family: var(--font-story);
        font-style: italic;
        color: rgb(var(--mdui-color-tertiary));
      }
    `,
  ];

  override render(): unknown {
    const prompts = this.prompts;
    const busy = prompts?.busy ?? false;
    // If no turn is running, the first prompt is about to begin one, so only the second waits.
    const waiting = this.session?.busy === true ? prompts?.pending[0] : prompts?.pending[1];
    return html`<div role="alert">
        ${prompts === undefined || prompts.refusal === "" || this.ended
          ? nothing
          : html`<div class="line refusal">${prompts.refusal}</div>`}
      </div>
      <div role="status">
        ${waiting === undefined
          ? nothing
          : html`<div class="line waiting">
              <span>Next: <q dir="auto">${shortened(waiting, 120)}</q></span>
            </div>`}
      </div>
      <form @submit=${this.#submit}>
        <textarea
          rows="1"
          dir="auto"
          aria-label="What do you do?"
          aria-keyshortcuts="Enter Shift+Enter Escape ArrowUp"
          placeholder=${this.#placeholder(busy)}
          enterkeyhint="send"
          autocomplete="off"
          autocapitalize="sentences"
          ?disabled=${this.ended}
          .value=${live(this.text)}
          @input=${this.#input}
          @keydown=${this.#keydown}
        ></textarea>
        <slot @slotchange=${this.#grow}></slot>
        ${busy
          ? html`<mdui-button-icon
              class="stop"
              title="Stop (Escape)"
              ?disabled=${prompts?.isCancelling === true || this.ended}
              @click=${this.#stop}
              >${icon("stop")}<span class="unseen">Stop</span></mdui-button-icon
            >`
          : nothing}
        <mdui-button-icon
          variant="filled"
          title="Send (Enter)"
          ?disabled=${this.text.trim() === "" || this.ended}
          @click=${() => void this.#send()}
          >${icon("send")}<span class="unseen">Send</span></mdui-button-icon
        >
      </form>`;
  }

  #placeholder(busy: boolean): string {
    if (this.ended) return "This game is closed.";
    if (busy) return "And then?";
    const last = this.session?.turns.at(-1);
    if (last !== undefined && endingOf(last) !== undefined) return "The story has ended.";
    return "What do you do?";
  }

  override focus(): void {
    this.area.focus();
  }

  // Takes the focus on load, so that the player can type at once, unless a different element has it.
  protected override firstUpdated(): void {
    if (this.text !== "") this.#grow();
    if (desk.matches && document.activeElement === document.body) this.area.focus({ preventScroll: true });
  }

  protected override updated(changed: PropertyValues): void {
    if (changed.has("text")) this.#grow();
  }

  // Also needed when a button joins the bar: lines get shorter, so the text may need one more.
  #grow = (): void => {
    const area = this.area;
    area.style.height = "0";
    area.style.height = `${Math.max(area.scrollHeight, 0)}px`;
  };

  #input = (): void => {
    this.#write(this.area.value);
    this.#recalled = 0;
    this.prompts?.forgetRefusal();
  };

  #keydown = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      void this.#send();
      return;
    }
    if (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "ArrowUp" && (this.text === "" || this.#recalled > 0)) this.#recall(event, 1);
    else if (event.key === "ArrowDown" && this.#recalled > 0) this.#recall(event, -1);
  };

  // Recalls an earlier prompt. Once the player edits the text, the arrow keys move the cursor again.
  #recall(event: KeyboardEvent, by: number): void {
    const history: string[] = [];
    for (const turn of this.session?.turns ?? []) {
      const words = turn.prompt?.text;
      if (words !== undefined && words !== history.at(-1)) history.push(words);
    }
    const wanted = this.#recalled + by;
    if (wanted < 0 || wanted > history.length) return;
    event.preventDefault();
    this.#recalled = wanted;
    this.#write(wanted === 0 ? "" : (history.at(-wanted) ?? ""));
    void this.updateComplete.then(() => this.area.setSelectionRange(this.text.length, this.text.length));
  }

  #write(words: string): void {
    this.text = words;
    writeDraft(words);
  }

  #stop = (): void => {
    void this.prompts?.cancel();
    // The stop button disappears with the turn, so move the focus.
    this.area.focus();
  };

  #submit = (event: Event): void => {
    event.preventDefault();
    void this.#send();
  };

  async #send(): Promise<void> {
    const words = this.text;
    if (words.trim() === "" || this.ended || this.prompts === undefined) return;
    const prompt = this.#promptFor(words);
    if (prompt === undefined) return this.prompts.refuse(rangeWords(this.choices.length));
    this.#write("");
    this.#recalled = 0;
    this.area.focus();
    this.dispatchEvent(new CustomEvent("submitted"));
    if (await this.prompts.submit(prompt)) return;
    if (this.text === "") this.#write(words);
  }

  // As in `narratoria play`. Undefined if no choice has the number.
  #promptFor(words: string): string | undefined {
    const number = /^\s*([0-9]+)[\s.]*$/.exec(words)?.[1];
    return number === undefined || this.choices.length === 0 ? words : this.choices[Number(number) - 1];
  }
}
