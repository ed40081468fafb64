// SPDX-License-Identifier: Apache-2.0
// The frame around the four views: navigation, title, and the banner for the connection's state.
import { LitElement, type PropertyValues, css, html, nothing } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { keyed } from "lit/directives/keyed.js";
import "mdui/components/button-icon.js";
import "mdui/components/button.js";
import "mdui/components/navigation-bar-item.js";
import "mdui/components/navigation-bar.js";
import "mdui/components/navigation-rail-item.js";
import "mdui/components/navigation-rail.js";
import { Connection, type Status } from "../connection.ts";
import { icon } from "../controls/icons.ts";
import "../narrative/narrative_view.ts";
import { Prompts } from "../prompts.ts";
import { Session } from "../session/session.ts";
import { shortened } from "../text/shorten.ts";
import { shared } from "../theme/shared.ts";
import "./announcer.ts";
import { isForTheTurn, isWriting } from "./escape.ts";
import { Reading } from "./reading.ts";
import type { ReadingSheet } from "./reading_sheet.ts";
import "./reading_sheet.ts";
import { type Place, type Route, navigate, places, readRoute } from "./route.ts";
import { type Theme, applyTheme, chooseTheme, chosenTheme, onSystemTheme } from "./theme.ts";

const icons = { narrative: "book", tools: "tools", assets: "assets", state: "tree" } as const;
const names: Record<Place, string> = { narrative: "Narrative", tools: "Tools", assets: "Assets", state: "State" };

const wide = matchMedia("(min-width: 37.5rem)");
// How many faults of the story the banner shows.
const kShownFaults = 3;
// How long the connection must be lost before the banner says so, in milliseconds.
const kRequestTimeout = 1500;

@customElement("narratoria-app")
export class App extends LitElement {
  @state() private session = new Session();
  @state() private prompts = new Prompts(this.session);
  @state() private route: Route = readRoute(location.hash);
  @state() private theme: Theme = chosenTheme();
  @state() private isWide = wide.matches;
  @state() private status: Status = "opening";
  @state() private isLost = false;
  @state() private hasRunningTools = false;
  // New narration came while a different view was shown.
  @state() private hasNews = false;
  @query("narratoria-reading-sheet") private sheet!: ReadingSheet;
  #reading = new Reading();
  #endTheme: (() => void) | undefined;
  #connection: Connection | undefined;
  #unsubscribe: (() => void) | undefined;
  // The number of the last narrative that the player has seen.
  #read: number | undefined;
  #lostTimer: ReturnType<typeof setTimeout> | undefined;

  static override styles = [
    shared,
    css`
      :host {
        display: grid;
        grid-template: auto minmax(0, 1fr) / auto minmax(0, 1fr);
        height: 100dvh;
        font: var(--mdui-typescale-body-medium-size) / 1.5 var(--font-page);
        color: rgb(var(--mdui-color-on-surface));
      }

      :host([narrow]) {
        grid-template: auto minmax(0, 1fr) auto / minmax(0, 1fr);
      }

      nav {
        grid-row: 1 / -1;
        min-height: 0;
      }

      :host([narrow]) nav {
        grid-row: 3;
        min-height: auto;
        display: flex;
        align-items: center;
        background: rgb(var(--mdui-color-surface-container));
      }

      mdui-navigation-rail {
        position: static;
        height: 100%;
        padding-top: 1.25rem;
        overflow: hidden auto;
        scrollbar-width: none;
        background: rgb(var(--mdui-color-surface-container-low));
      }

      mdui-navigation-bar {
        position: static;
        flex: 1;
        min-width: 0;
        height: 3.5rem;
        padding: 0;
        background: none;
        box-shadow: none;
      }

      mdui-navigation-bar-item {
        min-width: 0;
      }

      /* Icon and label without padding, to leave more height for the story. */
      mdui-navigation-bar-item::part(container) {
        min-width: 0;
        padding-block: 0.25rem;
      }

      mdui-navigation-bar-item::part(indicator) {
        height: 1.75rem;
      }

      nav > mdui-button-icon {
        flex: none;
        margin-inline: 0.25rem;
      }

      /* Inside the item, because the rail clips what is outside. */
      mdui-navigation-rail-item[focus-visible],
      mdui-navigation-bar-item[focus-visible] {
        outline: 0.1875rem solid rgb(var(--mdui-color-primary));
        outline-offset: -0.1875rem;
        border-radius: 0.5rem;
      }

      .badge {
        position: absolute;
        top: 0;
        right: calc(50% - 1.25rem);
        width: 0.5rem;
        height: 0.5rem;
        border-radius: 50%;
        background: rgb(var(--mdui-color-tertiary));
        transform: none;
      }

      .banner {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        justify-content: center;
        gap: 0.25rem 1rem;
        padding: 0.375rem 1rem;
        border-bottom: 0.125rem solid rgb(var(--mdui-color-tertiary));
        background: rgb(var(--mdui-color-surface-container-high));
        color: rgb(var(--mdui-color-on-surface));
        text-align: center;
      }

      .banner.ended {
        border-color: rgb(var(--mdui-color-error));
      }

      .banner mdui-button {
        min-height: 2rem;
      }

      .banner.faults {
        flex-direction: column;
        overflow-wrap: anywhere;
      }

      [role="status"] {
        grid-column: -2;
        min-width: 0;
      }

      main {
        grid-column: -2;
        min-width: 0;
        min-height: 0;
        overflow: hidden;
      }

      main > * {
        display: block;
        height: 100%;
      }

      main > narratoria-narrative {
        display: grid;
      }

      /* In forced-colors mode the page's own colours do not apply, so an outline marks the current view. */
      @media (forced-colors: active) {
        [current] {
          outline: 0.125rem solid Highlight;
          outline-offset: -0.125rem;
          text-decoration: underline;
        }
      }

      /* At 400 % zoom a banner of several lines could take the whole window, so the page scrolls and the view keeps a
         minimum height. */
      @media (max-height: 20rem) {
        :host {
          grid-template-rows: auto minmax(8rem, 1fr);
          overflow-y: auto;
        }

        :host([narrow]) {
          grid-template-rows: auto minmax(8rem, 1fr) auto;
        }
      }

      @media (max-height: 30rem) {
        mdui-navigation-rail {
          padding-top: 0.25rem;
        }

        mdui-navigation-bar {
          height: 3rem;
        }
      }

      @media print {
        :host,
        main {
          display: block;
          height: auto;
          overflow: visible;
        }

        nav,
        [role="status"],
        narratoria-announcer {
          display: none;
        }
      }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    applyTheme(this.theme);
    this.#endTheme = onSystemTheme(() => applyTheme(this.theme));
    addEventListener("hashchange", this.#routed);
    addEventListener("keydown", this.#pressed);
    wide.addEventListener("change", this.#resized);
    this.#resized();
    this.#watch();
    this.#connection = new Connection({
      status: (status) => this.#connected(status),
      opened: (opening) => {
        if (this.session.isAnother(opening)) {
          this.session = new Session();
          this.prompts.dispose();
          this.prompts = new Prompts(this.session);
          this.#watch();
        }
        this.session.open(opening);
        return this.session.lastSeq;
      },
      records: (records, skipGap) => this.session.take(records, skipGap),
      lastSeq: () => this.session.lastSeq,
    });
    this.#connection.open();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("hashchange", this.#routed);
    removeEventListener("keydown", this.#pressed);
    wide.removeEventListener("change", this.#resized);
    this.#endTheme?.();
    this.#unsubscribe?.();
    this.#connection?.dispose();
    clearTimeout(this.#lostTimer);
  }

  override willUpdate(): void {
    this.toggleAttribute("narrow", !this.isWide);
    const title = this.session.title === "" ? "Narratoria" : shortened(this.session.title, 120);
    document.title = this.route.place === "narrative" ? title : `${names[this.route.place]} · ${title}`;
  }

  // Keyed by the session, because a view's state (the turn being read, the selected patch) belongs to one session.
  override render(): unknown {
    return html`${this.isWide ? this.#rail() : nothing}
      <div role="status">${this.#banner()}${this.#storeFault()}${this.#storyFaults()}</div>
      <main aria-label=${names[this.route.place]}>${keyed(this.session, this.#place())}</main>
      ${this.isWide ? nothing : this.#bar()}
      <narratoria-announcer .session=${this.session} .prompts=${this.prompts}></narratoria-announcer>
      <narratoria-reading-sheet
        .reading=${this.#reading}
        .theme=${this.theme}
        ?narrow=${!this.isWide}
        @theme=${(event: CustomEvent<Theme>) => this.#switchTheme(event.detail)}
        @print=${this.#print}
      ></narratoria-reading-sheet>`;
  }

  protected override updated(changed: PropertyValues): void {
    if (changed.has("route" as keyof this) || changed.has("isWide" as keyof this)) void this.#markCurrent();
  }

  #place(): unknown {
    const { place, path } = this.route;
    switch (place) {
      case "narrative":
        return html`<narratoria-narrative
          .session=${this.session}
          .prompts=${this.prompts}
          .reading=${this.#reading}
          ?ended=${this.status === "ended"}
        ></narratoria-narrative>`;
      case "tools":
        return html`<narratoria-tools
          .session=${this.session}
          .prompts=${this.prompts}
          .path=${path}
          ?ended=${this.status === "ended"}
        ></narratoria-tools>`;
      case "assets":
        return html`<narratoria-assets .session=${this.session} .path=${path}></narratoria-assets>`;
      case "state":
        return html`<narratoria-state .session=${this.session} .path=${path}></narratoria-state>`;
    }
  }

  #rail(): unknown {
    return html`<nav aria-label="Places">
      <mdui-navigation-rail .value=${this.route.place} alignment="start">
        ${places.map(
          (place) =>
            html`<mdui-navigation-rail-item href="#/${place}" value=${place}
              ><span slot="icon">${icon(icons[place])}</span>${this.#badge(place)}${names[place]}</mdui-navigation-rail-item
            >`,
        )}
        <div slot="bottom">${this.#readingButton()}</div>
      </mdui-navigation-rail>
    </nav>`;
  }

  #bar(): unknown {
    return html`<nav aria-label="Places">
      <mdui-navigation-bar .value=${this.route.place} label-visibility="labeled">
        ${places.map(
          (place) =>
            html`<mdui-navigation-bar-item href="#/${place}" value=${place}
              ><span slot="icon">${icon(icons[place])}</span>${this.#badge(place)}${names[place]}</mdui-navigation-bar-item
            >`,
        )}
      </mdui-navigation-bar>
      ${this.#readingButton()}
    </nav>`;
  }

  #badge(place: Place): unknown {
    const words =
      place === "tools" && this.hasRunningTools ? "at work" : place === "narrative" && this.hasNews ? "something new" : "";
    if (words === "") return nothing;
    return html`<span slot="badge" class="badge"><span class="unseen">${words}</span></span>`;
  }

  #readingButton(): unknown {
    return html`<mdui-button-icon title="Reading: text size, colours, details, print" @click=${() => this.sheet.show()}
      >${icon("letters")}<span class="unseen">Reading</span></mdui-button-icon
    >`;
  }

  #banner(): unknown {
    if (this.status === "ended" && this.#connection?.isReplaced === true) {
      return html`<div class="banner ended">
        <span>This game has ended, and a new one is running. You can still read this one here.</span
        ><mdui-button variant="text" @click=${() => location.reload()}>Load the new game</mdui-button>
      </div>`;
    }
    if (this.status === "ended") {
      return html`<div class="banner ended">
        This game has ended. To play again, open the new address. You can still read this game here.
      </div>`;
    }
    if (!this.isLost) return nothing;
    return html`<div class="banner">
      <span>The game has stopped or cannot be reached. Trying again…</span
      ><mdui-button variant="text" @click=${() => this.#connection?.retry()}>Try now</mdui-button>
    </div>`;
  }

  #storeFault(): unknown {
    const fault = this.session.storeFault;
    if (fault === "") return nothing;
    return html`<div class="banner ended faults">
      <span>This game is not being saved.</span>
      <span>${shortened(fault, 300)}</span>
    </div>`;
  }

  #storyFaults(): unknown {
    const faults = this.session.storyFaults;
    if (faults.length === 0) return nothing;
    const more = faults.length - kShownFaults;
    return html`<div class="banner ended faults">
      <span>The story's files have a fault. Until it is fixed, the story from before is played.</span>
      ${faults.slice(0, kShownFaults).map(
        ({ place, message }) => html`<span>${place === "" ? "" : `${place}: `}${shortened(message, 300)}</span>`,
      )}
      ${more > 0 ? html`<span>${more === 1 ? "1 more" : `${more} more`}</span>` : nothing}
    </div>`;
  }

  // mdui renders the link in the item's shadow root, so the attribute must be set there.
  async #markCurrent(): Promise<void> {
    const items = this.renderRoot.querySelectorAll<LitElement & { value: string }>(
      "mdui-navigation-rail-item, mdui-navigation-bar-item",
    );
    for (const item of items) {
      item.toggleAttribute("current", item.value === this.route.place);
      await item.updateComplete;
      const link = item.renderRoot.querySelector("a");
      if (item.value === this.route.place) link?.setAttribute("aria-current", "page");
      else link?.removeAttribute("aria-current");
    }
  }

  #watch(): void {
    this.#unsubscribe?.();
    this.#read = undefined;
    this.hasNews = false;
    const session = this.session;
    let { title, storyFaults, storeFault } = session;
    this.#unsubscribe = session.subscribe(() => {
      const isElsewhere = this.route.place !== "narrative";
      const newest = session.turns.at(-1)?.narratives.at(-1)?.seq ?? 0;
      if (!isElsewhere || !session.caughtUp || this.#read === undefined) this.#read = newest;
      this.hasNews = isElsewhere && newest > this.#read;
      this.hasRunningTools = session.running?.plans.some((plan) => plan.ended === undefined) ?? false;
      const isChanged = title !== session.title || storyFaults !== session.storyFaults || storeFault !== session.storeFault;
      if (isChanged) this.requestUpdate();
      ({ title, storyFaults, storeFault } = session);
    });
  }

  #connected(status: Status): void {
    this.status = status;
    // The banner also depends on the connection.
    this.requestUpdate();
    if (status === "ended") this.session.markLost(Date.now());
    if (status === "open") this.prompts.reached();
    clearTimeout(this.#lostTimer);
    if (status === "lost") this.#lostTimer = setTimeout(() => (this.isLost = true), kRequestTimeout);
    else this.isLost = false;
  }

  #pressed = (event: KeyboardEvent): void => {
    if (isForDetails(event)) {
      event.preventDefault();
      this.#reading.set({ details: !this.#reading.details });
      return;
    }
    if (this.status === "ended" || !this.prompts.busy || !isForTheTurn(event)) return;
    event.preventDefault();
    void this.prompts.cancel();
  };

  #routed = (): void => {
    this.route = readRoute(location.hash);
    if (this.route.place !== "narrative") return;
    this.#read = undefined;
    this.hasNews = false;
  };

  #resized = (): void => {
    this.isWide = wide.matches;
  };

  #switchTheme(theme: Theme): void {
    this.theme = theme;
    chooseTheme(theme);
  }

  // Prints the story, whichever view is shown.
  #print = async (): Promise<void> => {
    if (this.route.place !== "narrative") navigate("#/narrative");
    this.#routed();
    await this.updateComplete;
    print();
  };
}

function isForDetails(event: KeyboardEvent): boolean {
  if (event.key !== "d" || event.defaultPrevented || event.isComposing || event.repeat) return false;
  return !event.ctrlKey && !event.altKey && !event.metaKey && !isWriting(event);
}
