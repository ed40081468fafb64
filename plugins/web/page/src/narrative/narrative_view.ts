// SPDX-License-Identifier: Apache-2.0
// The story, turn by turn, with the player's input below it. Only its latest turns are on the page; earlier ones
// come when the reader goes back to them.
import { LitElement, type PropertyValues, css, html, nothing } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";
import "mdui/components/button-icon.js";
import "mdui/components/button.js";
import "mdui/components/circular-progress.js";
import { icon } from "../controls/icons.ts";
import type { Prompts } from "../prompts.ts";
import { blankTurn } from "../session/blank_turn.ts";
import type { Session, Turn } from "../session/session.ts";
import { navigate, segment } from "../shell/route.ts";
import { shortened } from "../text/shorten.ts";
import { shared } from "../theme/shared.ts";
import type { FallbackAnswer, FallbackDialog } from "./fallback_dialog.ts";
import "./fallback_dialog.ts";
import type { PromptInput } from "./prompt_input.ts";
import "./prompt_input.ts";
import type { TurnView } from "./turn.ts";
import "./turn.ts";

const kTurns = 24;
const kNear = 96;
// Above the turn that is read.
const kHeadroom = 32;

// The turns whose notice the player has read.
const dismissed = new WeakMap<Turn, true>();

@customElement("narratoria-narrative")
export class NarrativeView extends LitElement {
  @property({ attribute: false }) session: Session | undefined;
  @property({ attribute: false }) prompts: Prompts | undefined;
  @property({ type: Boolean }) ended = false;
  @state() private shown = kTurns;
  @state() private isFarUp = false;
  @query(".scroller") private scroller!: HTMLElement;
  @query("narratoria-prompt-input") private input!: PromptInput;
  @query("narratoria-fallback-dialog") private fallback!: FallbackDialog;

  #unsubscribe: (() => void)[] = [];
  // Whether the reader follows the story as it goes on.
  #follows = true;
  #lastTop = 0;
  // What comes behind this record is new to the reader.
  #newAfter = Number.MAX_SAFE_INTEGER;
  #drawings = 0;
  // The turn whose fallback the dialog tells.
  #told: Turn | undefined;
  // The turns whose dialog the player has closed.
  #closed = new WeakSet<Turn>();
  #resize: ResizeObserver | undefined;

  static override styles = [
    shared,
    css`
      :host {
        display: grid;
        grid-template: minmax(0, 1fr) auto / minmax(0, 1fr);
        height: 100%;
        font-size: clamp(1.0625rem, 0.95rem + 0.35vw, 1.75rem);
        background:
          radial-gradient(70rem 34rem at 50% -12rem, rgba(var(--mdui-color-primary-container), 0.55), transparent 70%),
          radial-gradient(40rem 24rem at 50% 110%, rgba(var(--mdui-color-tertiary-container), 0.28), transparent 70%);
      }

      .scroller:focus-visible {
        outline-offset: -0.25rem;
      }

      .scroller {
        position: relative;
        overflow-y: auto;
        overscroll-behavior: contain;
        scrollbar-color: rgb(var(--mdui-color-outline-variant)) transparent;
      }

      .column {
        width: 100%;
        max-width: calc(40em + 3rem);
        margin-inline: auto;
        padding: 1.5rem 1.5rem 2rem;
      }

      header {
        padding: clamp(1.5rem, 9vh, 6rem) 0 clamp(1.25rem, 6vh, 4rem);
        text-align: center;
      }

      .alone header {
        padding-top: clamp(2rem, 20vh, 14rem);
      }

      .flame {
        width: 2.75em;
        height: 2.75em;
        margin-bottom: 0.75em;
        fill: rgb(var(--mdui-color-tertiary));
        filter: drop-shadow(0 0 1.25rem rgba(var(--mdui-color-tertiary), 0.55));
        transform-origin: 50% 90%;
        /* A minute of it: without an end, a page that nobody touches would be drawn for ever. */
        animation: flicker 5s ease-in-out 12;
      }

      @keyframes flicker {
        0%,
        100% {
          transform: none;
        }
        22% {
          transform: scale(1.02, 0.97) skewX(-1deg);
        }
        41% {
          transform: scale(0.98, 1.04) skewX(1.5deg);
        }
        63% {
          transform: scale(1.01, 0.99) skewX(-0.5deg);
        }
        80% {
          transform: scale(0.99, 1.03) skewX(1deg);
        }
      }

      @media (prefers-reduced-motion: reduce) {
        .flame {
          animation: none;
        }
      }

      h1 {
        margin: 0;
        font: 400 2.1em / 1.2 var(--font-story);
        letter-spacing: -0.01em;
        text-wrap: balance;
        overflow-wrap: anywhere;
        color: rgb(var(--mdui-color-on-surface));
      }

      .invitation {
        margin: 1em 0 0;
        font: italic 400 1.1em / 1.6 var(--font-story);
        color: rgb(var(--mdui-color-on-surface-variant));
      }

      narratoria-turn {
        padding-bottom: 1.75em;
      }

      narratoria-turn + narratoria-turn {
        padding-top: 2em;
        border-top: 0.0625rem solid;
        border-image: linear-gradient(
            to right,
            transparent,
            rgb(var(--mdui-color-outline-variant)) 30% 70%,
            transparent
          )
          1;
      }

      narratoria-turn:not(:last-of-type) {
        content-visibility: auto;
        contain-intrinsic-size: auto 24rem;
      }

      .earlier,
      .opening {
        display: flex;
        justify-content: center;
        margin-bottom: 1.5rem;
      }

      .below {
        flex: none;
        width: 2.75rem;
        height: 2.75rem;
        color: rgb(var(--mdui-color-primary));
      }

      .dock {
        width: 100%;
        max-width: calc(40em + 3rem);
        margin-inline: auto;
        padding: 0.5rem 1.5rem 1rem;
      }

      @media (max-width: 37.4rem) {
        .column {
          padding-inline: 1.125rem;
        }

        .dock {
          padding: 0.375rem 0.75rem 0.625rem;
        }
      }

      @media (max-height: 30rem) {
        header,
        .alone header {
          padding-block: 1rem;
        }

        .flame {
          display: none;
        }

        .dock {
          padding-block: 0.25rem 0.375rem;
        }
      }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    this.#follows = true;
    this.#newAfter = Number.MAX_SAFE_INTEGER;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#forget();
    this.#resize?.disconnect();
    this.#resize = undefined;
  }

  override willUpdate(changed: PropertyValues): void {
    this.#drawings += 1;
    if (changed.has("session") || changed.has("prompts") || this.#unsubscribe.length === 0) {
      this.#forget();
      const draw = (): void => this.requestUpdate();
      if (this.session !== undefined) this.#unsubscribe.push(this.session.subscribe(draw));
      if (this.prompts !== undefined) this.#unsubscribe.push(this.prompts.subscribe(draw));
    }
    if (changed.has("session")) this.#newAfter = Number.MAX_SAFE_INTEGER;
    const session = this.session;
    if (session?.caughtUp === true && this.#newAfter === Number.MAX_SAFE_INTEGER) this.#newAfter = session.lastSeq;
  }

  override render(): unknown {
    const session = this.session;
    if (session === undefined) return nothing;
    const turns = session.caughtUp ? session.turns : [];
    const first = Math.max(0, turns.length - this.shown);
    const isQuiet = !session.busy && (this.prompts?.said.length ?? 0) === 0 && !this.ended;
    const last = turns.length - 1;
    return html`<div
        class="scroller"
        tabindex="0"
        role="region"
        aria-label="The story"
        aria-busy=${session.busy ? "true" : "false"}
        @scroll=${this.#scrolled}
      >
        <div class="column ${turns.length === 0 ? "alone" : ""}">
          ${first > 0
            ? html`<h1 class="unseen">${titleOf(session)}</h1>
                <div class="earlier">
                  <mdui-button variant="text" @click=${this.#earlier}>Earlier in the story</mdui-button>
                </div>`
            : this.#title(session, turns.length === 0)}
          ${session.caughtUp
            ? nothing
            : html`<div class="opening">
                <mdui-circular-progress role="progressbar" aria-label="Opening the story"></mdui-circular-progress>
              </div>`}
          ${repeat(
            turns.slice(first),
            (turn) => turn.index,
            (turn) =>
              html`<narratoria-turn
                .turn=${turn}
                .revision=${turn.revision}
                .newAfter=${this.#newAfter}
                ?open=${isQuiet && turn.index === last}
                ?dismissed=${dismissed.has(turn)}
                ?withheld=${(turn === this.#told || turn.index === last) && this.#isTold(turn)}
                @say=${(event: CustomEvent<string>) => this.#say(event.detail)}
                @dismiss=${() => this.#dismiss(turn)}
              ></narratoria-turn>`,
          )}
          ${this.#onItsWay(session)}
        </div>
      </div>
      <div class="dock" @keydown=${this.#leaf}>
        <narratoria-prompt-input
          .session=${session}
          .prompts=${this.prompts}
          .drawing=${this.#drawings}
          ?ended=${this.ended}
          @said=${() => (this.#follows = true)}
          >${this.isFarUp ? this.#below() : nothing}</narratoria-prompt-input
        >
      </div>
      <narratoria-fallback-dialog @answer=${this.#answered}></narratoria-fallback-dialog>`;
  }

  // In the input's bar, where it lies over nothing that is read or pressed.
  #below(): unknown {
    return html`<mdui-button-icon class="below" title="More below" @click=${this.#toTheEnd}
      >${icon("down")}<span class="unseen">More below</span></mdui-button-icon
    >`;
  }

  #title(session: Session, isAlone: boolean): unknown {
    return html`<header>
      <svg class="flame" viewBox="0 0 24 24" aria-hidden="true">
        <path
          d="M12.6 1.5c.7 4.100-6.100 6.300-6.100 12a5.600 5.600 0 0 0 11.200.1c0-1.700-.6-3.200-1.500-4.300-.3 1.300-1 2.200-2 2.700 1-3.800.5-8-1.600-10.500z"
        />
      </svg>
      <h1 dir="auto">${titleOf(session)}</h1>
      ${isAlone && session.caughtUp ? html`<p class="invitation">The page is blank. What do you do?</p>` : nothing}
    </header>`;
  }

  // Said, and not yet heard: shown at once.
  #onItsWay(session: Session): unknown {
    const words = session.busy || !session.caughtUp ? undefined : this.prompts?.said[0];
    if (words === undefined) return nothing;
    const turn = blankTurn(-1, 0, 0);
    turn.prompt = { seq: 0, text: words, time: 0 };
    return html`<narratoria-turn .turn=${turn}></narratoria-turn>`;
  }

  protected override firstUpdated(): void {
    this.#resize = new ResizeObserver(() => this.#follow());
    const column = this.renderRoot.querySelector(".column");
    if (column !== null) this.#resize.observe(column);
    this.#resize.observe(this.scroller);
  }

  protected override updated(): void {
    this.#follow();
    this.#showFallback();
  }

  #forget(): void {
    for (const one of this.#unsubscribe) one();
    this.#unsubscribe = [];
  }

  // --- reading ---------------------------------------------------------------------------------------------------

  // Down with the story, but never past the beginning of its last turn: a reader reads from the top.
  #follow(): void {
    const scroller = this.scroller;
    if (this.#follows) {
      const end = scroller.scrollHeight - scroller.clientHeight;
      const top = Math.min(end, Math.max(0, this.#lastTurnTop() - kHeadroom));
      if (Math.abs(scroller.scrollTop - top) > 1 && top > scroller.scrollTop) {
        const calm =
          this.#newAfter === Number.MAX_SAFE_INTEGER ||
          top - scroller.scrollTop > 2 * scroller.clientHeight ||
          matchMedia("(prefers-reduced-motion: reduce)").matches;
        scroller.scrollTo({ top, behavior: calm ? "instant" : "smooth" });
      }
    }
    this.#look();
  }

  #lastTurnTop(): number {
    const turns = this.renderRoot.querySelectorAll<TurnView>("narratoria-turn");
    const last = turns.item(turns.length - 1) as TurnView | null;
    return last === null ? 0 : last.offsetTop;
  }

  #scrolled = (): void => {
    const top = this.scroller.scrollTop;
    if (top < this.#lastTop - 1) this.#follows = false;
    this.#lastTop = top;
    if (this.#distance() < kNear || top >= this.#lastTurnTop() - kHeadroom - 1) this.#follows = true;
    this.#look();
  };

  #distance(): number {
    const scroller = this.scroller;
    return scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop;
  }

  #look(): void {
    const isFarUp = this.#distance() > kNear;
    if (isFarUp !== this.isFarUp) void Promise.resolve().then(() => (this.isFarUp = isFarUp));
  }

  #earlier = async (): Promise<void> => {
    const scroller = this.scroller;
    const fromEnd = scroller.scrollHeight - scroller.scrollTop;
    this.#follows = false;
    this.shown += kTurns;
    await this.updateComplete;
    scroller.scrollTo({ top: scroller.scrollHeight - fromEnd, behavior: "instant" });
    if (this.renderRoot.querySelector(".earlier") === null) scroller.focus({ preventScroll: true });
  };

  // A page up or down in the story, without leaving the words that are being written.
  #leaf = (event: KeyboardEvent): void => {
    if (event.key !== "PageUp" && event.key !== "PageDown") return;
    event.preventDefault();
    const page = 0.85 * this.scroller.clientHeight;
    this.scroller.scrollBy({ top: event.key === "PageUp" ? -page : page });
  };

  #toTheEnd = (): void => {
    this.#follows = true;
    this.shown = kTurns;
    this.scroller.focus({ preventScroll: true });
    void this.updateComplete.then(() => this.scroller.scrollTo({ top: this.scroller.scrollHeight }));
  };

  // --- deciding --------------------------------------------------------------------------------------------------

  #say(words: string): void {
    this.#follows = true;
    void this.prompts?.say(words);
    this.input.focus();
  }

  #dismiss(turn: Turn): void {
    dismissed.set(turn, true);
    this.requestUpdate();
    this.input.focus();
  }

  // Once, and only when it happens before the reader's eyes.
  #showFallback(): void {
    const turn = this.session?.turns.at(-1);
    if (turn === undefined || this.#told === turn || !this.#isTold(turn)) return;
    this.#told = turn;
    void this.fallback.show(turn);
  }

  // Whether the dialog is, or will be in a moment, there for it.
  #isTold(turn: Turn): boolean {
    return turn.outcome === "fallback" && (turn.endSeq ?? 0) > this.#newAfter && !this.#closed.has(turn);
  }

  #answered = (event: CustomEvent<FallbackAnswer>): void => {
    const turn = this.#told;
    if (turn === undefined) return;
    this.#closed.add(turn);
    dismissed.set(turn, true);
    this.requestUpdate();
    if (event.detail === "again" && turn.prompt !== undefined) this.#say(turn.prompt.text);
    else if (event.detail === "what") {
      const plan = turn.plans.at(-1);
      const tool = plan?.failedTools[0];
      if (plan !== undefined) navigate(`#/tools/${segment(plan.key)}${tool === undefined ? "" : `/${segment(tool)}`}`);
    } else this.input.focus();
  };
}

function titleOf(session: Session): string {
  return session.title === "" ? "A story" : shortened(session.title, 200);
}

declare global {
  interface HTMLElementTagNameMap {
    "narratoria-narrative": NarrativeView;
  }
}
