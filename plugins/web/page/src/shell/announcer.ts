// SPDX-License-Identifier: Apache-2.0
// The only live region. It is part of all four views and announces only the story.
import { LitElement, css, html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";
import type { Prompts } from "../prompts.ts";
import type { Session } from "../session/session.ts";
import { type Announcement, announcements } from "./announce.ts";
import { shared } from "../theme/shared.ts";

const kMaxMessages = 12;

@customElement("narratoria-announcer")
export class Announcer extends LitElement {
  @property({ attribute: false }) session: Session | undefined;
  @property({ attribute: false }) prompts: Prompts | undefined;
  @state() private messages: (Announcement & { key: number })[] = [];
  #after = 0;
  #next = 0;
  #unsubscribe: (() => void) | undefined;

  static override styles = [
    shared,
    css`
      :host {
        position: absolute;
      }
    `,
  ];

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#unsubscribe?.();
  }

  override willUpdate(changed: Map<string, unknown>): void {
    if (!changed.has("session")) return;
    this.#unsubscribe?.();
    this.messages = [];
    this.#after = Number.MAX_SAFE_INTEGER;
    this.#unsubscribe = this.session?.subscribe(() => this.#listen());
  }

  override render(): unknown {
    return html`<div class="unseen" role="log" aria-live="polite" aria-label="Narration">
      ${repeat(
        this.messages,
        (one) => one.key,
        (one) => html`<p lang=${one.isStory ? this.session?.language || nothing : nothing}>${one.text}</p>`,
      )}
    </div>`;
  }

  // Does not announce records from before the page was opened.
  #listen(): void {
    const session = this.session;
    if (session === undefined || !session.caughtUp) return;
    if (this.#after !== Number.MAX_SAFE_INTEGER) {
      const news = announcements(session, this.#after, (turn) => this.prompts?.hasStopped(turn) ?? false).map((one) => ({ ...one, key: ++this.#next }));
      if (news.length > 0) this.messages = [...this.messages, ...news].slice(-kMaxMessages);
    }
    this.#after = session.lastSeq;
  }
}
