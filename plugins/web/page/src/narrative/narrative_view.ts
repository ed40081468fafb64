// SPDX-License-Identifier: Apache-2.0
// The story, turn by turn, with the choices and the player's input below. All its turns are in the page, so that the
// browser can search and print them; it draws only the visible ones. Undone turns are folded where they began.
import { LitElement, type PropertyValues, css, html, nothing } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { guard } from "lit/directives/guard.js";
import { repeat } from "lit/directives/repeat.js";
import "mdui/components/button-icon.js";
import "mdui/components/button.js";
import "mdui/components/circular-progress.js";
import { icon } from "../controls/icons.ts";
import type { Move, Prompts } from "../prompts.ts";
import { blankTurn } from "../session/blank_turn.ts";
import type { Session, Turn } from "../session/session.ts";
import { isWriting } from "../shell/escape.ts";
import type { Reading } from "../shell/reading.ts";
import { paragraphs } from "../text/long_text.ts";
import { shortened } from "../text/shorten.ts";
import { shared } from "../theme/shared.ts";
import type { Offer } from "./choice_list.ts";
import "./choice_list.ts";
import "./interrupted.ts";
import type { PromptInput } from "./prompt_input.ts";
import "./prompt_input.ts";
import type { TurnView } from "./turn.ts";
import "./turn.ts";
import "./undone.ts";

// The latest turns are rendered at once; then this number of earlier ones per frame.
const kTurns = 24;
// Turns that are compared and laid out together, so that the cost of a new turn hardly grows with the number of turns.
const kTurnsInChapter = 24;
const kNear = 96;
// In a low window (400 % zoom) choices and input would leave no room for the story, so they follow it, and all scroll
// together. The same condition is in the styles.
const low = matchMedia("(max-height: 20rem)");
// Space above the current turn, in pixels.
const kHeadroom = 24;

@customElement("narratoria-narrative")
export class NarrativeView extends LitElement {
  @property({ attribute: false }) session: Session | undefined;
  @property({ attribute: false }) prompts: Prompts | undefined;
  @property({ attribute: false }) reading: Reading | undefined;
  @property({ type: Boolean }) ended = false;
  @state() private shown = kTurns;
  @state() private isFarUp = false;
  @query(".scroller") private region!: HTMLElement;
  @query("narratoria-prompt-input") private input!: PromptInput;

  #unsubscribe: (() => void)[] = [];
  // True while new text scrolls the story.
  #follows = true;
  #lastTop = 0;
  // The position that the page last scrolled to, or is scrolling to.
  #goal = 0;
  // True once the reader has scrolled. Until then the position is computed from the story, however late pictures and
  // fonts load.
  @state() private isTouched = false;
  // Records after this number are new to the reader.
  #newAfter = Number.MAX_SAFE_INTEGER;
  #turnsAtLoad = 0;
  // True after the player has asked to go to another turn, until an input of the reader.
  #isReturning = false;
  #drawings = 0;
  #resize: ResizeObserver | undefined;

  // The element that scrolls.
  private get scroller(): HTMLElement {
    return low.matches ? this : this.region;
  }

  static override styles = [
    shared,
    css`
      :host {
        display: grid;
        grid-template: minmax(0, 1fr) auto / minmax(0, 1fr);
        height: 100%;
        font-size: calc(clamp(1.0625rem, 0.95rem + 0.35vw, 1.75rem) * var(--text-size, 1));
        background:
          radial-gradient(70rem 34rem at 50% -12rem, rgba(var(--mdui-color-primary-container), 0.55), transparent 70%),
          radial-gradient(40rem 24rem at 50% 110%, rgba(var(--mdui-color-tertiary-container), 0.28), transparent 70%);
      }

      @media screen and (max-height: 20rem) {
        :host {
          grid-template: 1fr auto / minmax(0, 1fr);
          overflow-y: auto;
          /* New text comes above the input, which must not keep its place. */
          overflow-anchor: none;
          scrollbar-color: rgb(var(--mdui-color-outline-variant)) transparent;
        }
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

      /* The page itself keeps the position. Otherwise the browser's changes would be taken for the reader's. */
      .scroller.loading {
        overflow-anchor: none;
      }

      @media (max-height: 20rem) {
        .scroller {
          overflow: visible;
        }
      }

      .column,
      .dock {
        width: 100%;
        max-width: calc(var(--line-width, 36em) + 3rem);
        margin-inline: auto;
      }

      .column {
        padding: 1.5rem 1.5rem 2rem;
      }

      header {
        padding: clamp(1.5rem, 7vh, 5rem) 0 clamp(1.25rem, 5vh, 3rem);
        text-align: center;
      }

      .alone header {
        padding-top: clamp(1.5rem, 14vh, 10rem);
      }

      .alone.opened header {
        padding-top: clamp(1.25rem, 8vh, 6rem);
      }

      .scene {
        padding-bottom: 1.75em;
        font: 1em / 1.7 var(--font-story);
        overflow-wrap: anywhere;
      }

      .scene p {
        margin: 0 0 0.85em;
        white-space: pre-wrap;
        unicode-bidi: plaintext;
        text-wrap: pretty;
      }

      .scene p:last-child {
        margin-bottom: 0;
      }

      .flame {
        width: 2.75em;
        height: 2.75em;
        margin-bottom: 0.75em;
        fill: rgb(var(--mdui-color-tertiary));
        filter: drop-shadow(0 0 1.25rem rgba(var(--mdui-color-tertiary), 0.55));
        transform-origin: 50% 90%;
        /* One minute only: an endless animation would keep an idle page drawing. */
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

      .scene + narratoria-turn,
      .scene + .chapter > narratoria-turn:first-child,
      narratoria-undone + .chapter > narratoria-turn:first-child,
      .chapter + narratoria-turn,
      .chapter + .chapter > narratoria-turn:first-child,
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

      .chapter:not(:last-of-type) {
        content-visibility: auto;
        contain-intrinsic-size: auto 576rem;
      }

      narratoria-turn:not(:last-of-type) {
        content-visibility: auto;
        contain-intrinsic-size: auto 24rem;
      }

      .column > narratoria-undone {
        margin-bottom: 1.75em;
      }

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
        padding: 0.5rem 1.5rem 1rem;
      }

      narratoria-choices {
        margin-bottom: 0.375rem;
      }

      @media (max-width: 37.4rem) {
        .column {
          padding-inline: 1.125rem;
        }

        .dock {
          padding: 0.25rem 0.75rem 0.5rem;
        }

        .flame {
          width: 2em;
          height: 2em;
        }

        h1 {
          font-size: 1.75em;
        }
      }

      /* On low screens, less space around the title leaves room for the first words. */
      @media (max-height: 44rem) {
        header,
        .alone.opened header {
          padding-block: 1.25rem;
        }

        .opened .flame {
          display: none;
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

      /* Print the whole story, and nothing else. */
      @media print {
        :host {
          display: block;
          height: auto;
          background: none;
          font-size: 11.5pt;
        }

        .scroller {
          overflow: visible;
          height: auto;
        }

        .column {
          max-width: none;
          padding: 0;
        }

        header,
        .alone header {
          padding: 0 0 2rem;
        }

        .flame,
        .invitation,
        .dock {
          display: none;
        }

        .chapter:not(:last-of-type),
        narratoria-turn:not(:last-of-type) {
          content-visibility: visible;
        }
      }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    this.#follows = true;
    this.isTouched = false;
    this.#lastTop = 0;
    this.#goal = 0;
    this.#newAfter = Number.MAX_SAFE_INTEGER;
    this.addEventListener("scroll", this.#scrolled);
    addEventListener("keydown", this.#pressed);
    addEventListener("beforeprint", this.#printing);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("keydown", this.#pressed);
    removeEventListener("beforeprint", this.#printing);
    this.#forget();
    this.#resize?.disconnect();
    this.#resize = undefined;
  }

  override willUpdate(changed: PropertyValues): void {
    this.#drawings += 1;
    if (changed.has("session") || changed.has("prompts") || changed.has("reading") || this.#unsubscribe.length === 0) {
      this.#forget();
      const draw = (): void => this.requestUpdate();
      for (const one of [this.session, this.prompts, this.reading]) {
        if (one !== undefined) this.#unsubscribe.push(one.subscribe(draw));
      }
    }
    if (changed.has("session")) this.#newAfter = Number.MAX_SAFE_INTEGER;
    const session = this.session;
    if (session?.caughtUp === true && this.#newAfter === Number.MAX_SAFE_INTEGER) {
      this.#newAfter = session.lastSeq;
      this.#turnsAtLoad = session.turns.length;
    }
  }

  override render(): unknown {
    const session = this.session;
    if (session === undefined) return nothing;
    const turns = session.caughtUp ? session.story : [];
    const first = Math.max(0, turns.length - this.shown);
    const isAlone = !session.caughtUp || session.turns.length === 0;
    const isQuiet = !(this.prompts?.busy ?? session.busy) && !this.ended;
    const last = turns.at(-1);
    const offer = isQuiet && session.caughtUp ? this.#offer(session) : undefined;
    return html`<div
        class="scroller ${this.isLoading ? "loading" : ""}"
        tabindex="0"
        role="region"
        aria-label="The story"
        aria-busy=${session.busy ? "true" : "false"}
        @scroll=${this.#scrolled}
        @wheel=${this.#touched}
        @touchmove=${this.#touched}
        @pointerdown=${this.#touched}
        @keydown=${this.#touched}
      >
        <div class="column ${isAlone ? "alone" : ""} ${session.opening.text === "" ? "" : "opened"}" @move=${(event: CustomEvent<Move>) => this.#move(event.detail)} @unfold=${this.#unfolded}>
          ${this.#title(session, isAlone)}
          ${session.caughtUp
            ? nothing
            : html`<div class="opening">
                <mdui-circular-progress role="progressbar" aria-label="Opening the story"></mdui-circular-progress>
              </div>`}
          ${repeat(
            session.caughtUp ? session.branches : [],
            (branch) => branch[0]!.index,
            (branch) =>
              html`<narratoria-undone
                .turns=${branch}
                .language=${session.language}
                ?details=${this.reading?.details ?? false}
                ?quiet=${isQuiet}
              ></narratoria-undone>`,
          )}
          ${repeat(
            chaptersOf(turns, first),
            (chapter) => chapter.number,
            (chapter) =>
              // A finished chapter is not compared with the DOM turn by turn.
              guard(
                [
                  chapter.turns.length,
                  chapter.turns.reduce((sum, turn) => sum + turn.revision, 0),
                  chapter.turns.filter((turn) => this.prompts?.hasStopped(turn)).length,
                  chapter.turns.at(-1) === last,
                  isQuiet && (chapter.turns.at(-1) === last || chapter.turns.some((turn) => turn.branches.length > 0)),
                  this.#newAfter,
                  this.reading?.details,
                  session,
                ],
                () => html`<div class="chapter">${this.#turns(chapter.turns, isQuiet, last)}</div>`,
              ),
          )}
          ${session.interrupted === undefined || !session.caughtUp
            ? nothing
            : html`<narratoria-interrupted
                .prompt=${session.interrupted}
                .language=${session.language}
                ?repeats=${this.prompts?.needsRepeats ?? false}
                ?quiet=${isQuiet}
              ></narratoria-interrupted>`}
          ${this.#onItsWay(session)}
        </div>
      </div>
      <div class="dock" @keydown=${this.#leaf} @wheel=${this.#touched} @touchmove=${this.#touched}>
        ${offer === undefined
          ? nothing
          : html`<narratoria-choices .offer=${offer} .language=${session.language} @prompt=${(event: CustomEvent<string>) => this.#submit(event.detail)}></narratoria-choices>`}
        <narratoria-prompt-input
          .session=${session}
          .prompts=${this.prompts}
          .choices=${offer?.choices ?? []}
          .drawing=${this.#drawings}
          ?ended=${this.ended}
          @submitted=${() => (this.#follows = true)}
          >${this.isFarUp ? this.#below() : nothing}</narratoria-prompt-input
        >
      </div>`;
  }

  #turns(turns: Turn[], isQuiet: boolean, last: Turn | undefined): unknown {
    return repeat(
      turns,
      (turn) => turn.index,
      (turn) =>
        html`<narratoria-turn
          .turn=${turn}
          .revision=${turn.revision}
          .newAfter=${turn === last ? this.#newAfter : Number.MAX_SAFE_INTEGER}
          .language=${this.session?.language ?? ""}
          ?open=${isQuiet && turn === last}
          ?details=${this.reading?.details ?? false}
          ?quiet=${isQuiet}
          ?saved=${this.session?.turnId !== undefined && this.session.storeFault === ""}
          ?stoppedHere=${this.prompts?.hasStopped(turn) ?? false}
          @prompt=${(event: CustomEvent<string>) => this.#submit(event.detail)}
        ></narratoria-turn>`,
    );
  }

  // In the input's bar, so that it does not cover text or buttons.
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
      <h1 dir="auto" lang=${session.language || nothing}>${session.title === "" ? "A story" : shortened(session.title, 200)}</h1>
      ${isAlone && session.caughtUp && session.opening.text === ""
        ? html`<p class="invitation">The page is blank. What do you do?</p>`
        : nothing}
    </header>
    ${session.opening.text === ""
      ? nothing
      : html`<section class="scene" aria-label="The beginning">
          ${paragraphs(session.opening.text).map((one) => html`<p dir="auto" lang=${session.language || nothing}>${one}</p>`)}
        </section>`}`;
  }

  // Returns the same object as long as the offer does not change.
  #offer(session: Session): Offer | undefined {
    const choices = session.story.length === 0 ? session.opening : session.story.at(-1)?.choices;
    if (choices === undefined || choices.choices.length === 0) return undefined;
    if (this.#offered?.choices !== choices.choices) {
      this.#offered = { prompt: ("prompt" in choices ? choices.prompt : undefined) ?? "", choices: choices.choices };
    }
    return this.#offered;
  }
  #offered: Offer | undefined;

  // Shows a sent prompt at once, before its record comes.
  #onItsWay(session: Session): unknown {
    const words = session.busy || !session.caughtUp ? undefined : this.prompts?.pending[0];
    if (words === undefined) return nothing;
    const turn = blankTurn(-1, 0, 0);
    turn.prompt = { text: words };
    return html`<narratoria-turn .turn=${turn} .language=${session.language}></narratoria-turn>`;
  }

  protected override firstUpdated(): void {
    this.#resize = new ResizeObserver(() => this.#follow());
    const column = this.renderRoot.querySelector(".column");
    if (column !== null) this.#resize.observe(column);
    this.#resize.observe(this.region);
    this.#resize.observe(this);
  }

  protected override updated(): void {
    this.#follow();
    this.#fill();
  }

  // Renders the earlier turns of a long story, while its end is already readable.
  #fill(): void {
    const session = this.session;
    if (session === undefined || !session.caughtUp || this.shown >= session.story.length || this.#isFilling) return;
    this.#isFilling = true;
    requestAnimationFrame(() => {
      this.#isFilling = false;
      if (this.isConnected) void this.#showMore(4 * kTurns);
    });
  }
  #isFilling = false;

  // Renders more turns without moving the visible ones.
  async #showMore(turns: number): Promise<void> {
    const scroller = this.scroller;
    const fromEnd = scroller.scrollHeight - scroller.scrollTop;
    this.shown += turns;
    await this.updateComplete;
    if (!this.#follows) scroller.scrollTo({ top: scroller.scrollHeight - fromEnd, behavior: "instant" });
  }

  #printing = (): void => {
    this.shown = Number.MAX_SAFE_INTEGER;
    this.performUpdate();
  };

  #forget(): void {
    for (const one of this.#unsubscribe) one();
    this.#unsubscribe = [];
  }

  // --- reading ---------------------------------------------------------------------------------------------------

  // Scrolls down with the story, but never past the beginning of the last turn, where reading starts.
  #follow(): void {
    const scroller = this.scroller;
    // The event of the reader's scroll may come later than this.
    this.#noteScroll();
    if (this.#follows) {
      const top = Math.min(this.#end, Math.max(0, this.#lastTurnTop() - kHeadroom));
      const isLoading = this.isLoading;
      if (Math.abs(scroller.scrollTop - top) > 1 && (isLoading || top > scroller.scrollTop)) {
        const calm =
          isLoading ||
          this.#newAfter === Number.MAX_SAFE_INTEGER ||
          top - scroller.scrollTop > 2 * scroller.clientHeight ||
          matchMedia("(prefers-reduced-motion: reduce)").matches;
        this.#goal = top;
        scroller.scrollTo({ top, behavior: calm ? "instant" : "smooth" });
        if (calm) this.#lastTop = scroller.scrollTop;
      }
    }
    this.#look();
  }

  #lastTurnTop(): number {
    const turns = this.renderRoot.querySelectorAll<TurnView>(
      ".column > narratoria-turn, .chapter:last-of-type > narratoria-turn:last-of-type",
    );
    return turns.item(turns.length - 1)?.offsetTop ?? 0;
  }

  #touched = (): void => {
    this.isTouched = true;
    this.#isReturning = false;
  };

  #scrolled = (): void => {
    this.#noteScroll();
    if (this.#distance() < kNear || this.#lastTop >= this.#lastTurnTop() - kHeadroom - 1) this.#follows = true;
    this.#look();
  };

  // Assistive technology, the browser's search, the focus and the scrollbar scroll without an input event. The page
  // itself scrolls from the last position to its goal only, and the browser to the end if the content shrinks.
  #noteScroll(): void {
    const top = this.scroller.scrollTop;
    const isUp = top < Math.min(this.#lastTop, this.#end) - 1;
    // A move changes the turns above, and the browser scrolls to keep the position.
    if (isUp && !this.#isReturning) this.#follows = false;
    if (isUp || top > Math.max(this.#lastTop, this.#goal) + 1) this.isTouched = true;
    this.#lastTop = top;
  }

  // The story is as it was loaded, and the reader has not scrolled.
  private get isLoading(): boolean {
    return !this.isTouched && this.#turnsAtLoad === this.session?.turns.length;
  }

  // The largest position.
  get #end(): number {
    return this.scroller.scrollHeight - this.scroller.clientHeight;
  }

  #distance(): number {
    return this.#end - this.scroller.scrollTop;
  }

  #look(): void {
    const isFarUp = this.#distance() > kNear;
    if (isFarUp !== this.isFarUp) void Promise.resolve().then(() => (this.isFarUp = isFarUp));
  }

  // Scrolls the story by a page while the focus stays in the input.
  #leaf = (event: KeyboardEvent): void => {
    if (event.key !== "PageUp" && event.key !== "PageDown") return;
    event.preventDefault();
    this.isTouched = true;
    const page = 0.85 * this.scroller.clientHeight;
    this.scroller.scrollBy({ top: event.key === "PageUp" ? -page : page });
  };

  #toTheEnd = (): void => {
    this.#follows = true;
    this.isTouched = true;
    this.region.focus({ preventScroll: true });
    void this.updateComplete.then(() => this.scroller.scrollTo({ top: this.scroller.scrollHeight }));
  };

  // --- deciding --------------------------------------------------------------------------------------------------

  #submit(words: string): void {
    this.#follows = true;
    void this.prompts?.submit(words);
    this.input.focus();
  }

  #move(move: Move): void {
    this.#follows = true;
    this.#isReturning = true;
    void this.prompts?.move(move);
    // The buttons disappear, so move the focus.
    this.input.focus();
  }

  // The reader reads the unfolded turns, so the page must not scroll to the end.
  #unfolded = (): void => {
    this.#follows = false;
    this.isTouched = true;
  };

  // A digit begins the number of a choice, wherever the focus is.
  #pressed = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.isComposing || event.repeat) return;
    if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    if (/^[0-9]$/.test(event.key) && !isWriting(event)) this.input.focus();
  };
}

interface Chapter {
  number: number;
  turns: Turn[];
}

// Groups the turns from `first` by chapter.
function chaptersOf(turns: Turn[], first: number): Chapter[] {
  const chapters: Chapter[] = [];
  for (let at = first; at < turns.length; ) {
    const number = Math.floor(at / kTurnsInChapter);
    const end = (number + 1) * kTurnsInChapter;
    chapters.push({ number, turns: turns.slice(at, end) });
    at = end;
  }
  return chapters;
}
