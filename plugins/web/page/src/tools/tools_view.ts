// SPDX-License-Identifier: Apache-2.0
// The tools view: a list of turns, the plans of a turn side by side, and the selected tool in full.
import { css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { styleMap } from "lit/directives/style-map.js";
import { emptyPlace } from "../controls/empty.ts";
import { icon } from "../controls/icons.ts";
import { SessionView } from "../controls/session_view.ts";
import { base } from "../controls/styles.ts";
import { rem, Windowed } from "../list/windowed.ts";
import { invocationsOf, movedWords } from "../narrative/words.ts";
import type { Prompts } from "../prompts.ts";
import type { PlanRun, Turn } from "../session/session.ts";
import { textOf, textsOf } from "../session/record.ts";
import { navigate } from "../shell/route.ts";
import { counted, shortened } from "../text/shorten.ts";
import type { InvocationPanel } from "./invocation_panel.ts";
import "./invocation_panel.ts";
import type { PlanGraph } from "./plan_graph.ts";
import "./plan_graph.ts";
import "./plan_table.ts";
import "./plan_timeline.ts";
import { planRoute } from "./route.ts";
import { isOver, planIcons, planName, planState, turnOutcome, turnState } from "./status.ts";
import { duration } from "./time_scale.ts";

@customElement("narratoria-tools")
export class ToolsView extends SessionView {
  static override styles = [
    base,
    css`
      :host {
        height: 100%;
        overflow: hidden;
        container-type: inline-size;
      }
      .view {
        display: grid;
        grid-template-columns: 17rem minmax(0, 1fr);
        height: 100%;
      }
      .view.with-tool {
        grid-template-columns: 17rem minmax(0, 1fr) minmax(22rem, 30rem);
      }
      .turns {
        display: grid;
        grid-template-rows: auto minmax(0, 1fr);
        border-inline-end: 1px solid rgba(var(--mdui-color-outline-variant), 0.5);
        min-height: 0;
      }
      .turns h2 {
        padding: 1.25rem 1.25rem 0.5rem;
        font-size: 0.875rem;
        color: var(--quiet);
      }
      .list {
        overflow: auto;
        padding: 0 0.5rem 1rem;
        scrollbar-width: thin;
      }
      .turn {
        display: grid;
        grid-template-columns: auto minmax(0, 1fr);
        align-content: center;
        gap: 0 0.75rem;
        height: var(--row);
        padding: 0 0.75rem;
        border-radius: 1rem;
        color: inherit;
        text-decoration: none;
      }
      .turn:hover {
        background: rgba(var(--mdui-color-on-surface), 0.06);
      }
      .turn[aria-current] {
        background: rgb(var(--mdui-color-secondary-container));
        color: rgb(var(--mdui-color-on-secondary-container));
      }
      .turn .icon {
        grid-row: span 2;
        align-self: center;
        color: var(--tone);
      }
      .turn[aria-current] .icon,
      .turn[aria-current] .about {
        color: inherit;
      }
      .turn .says {
        font-weight: 500;
      }
      .about {
        font-size: 0.75rem;
        color: var(--quiet);
      }
      .stage {
        overflow: auto;
        padding: 1.25rem clamp(0.75rem, 2.5cqw, 2rem) 3rem;
        scrollbar-width: thin;
        min-width: 0;
      }
      .stage > header {
        display: grid;
        grid-template-columns: minmax(0, 1fr) auto;
        gap: 0.75rem 1rem;
        align-items: start;
        margin-bottom: 1.25rem;
      }
      h1 {
        font-size: clamp(1.125rem, 2.4cqw, 1.5rem);
        line-height: 1.35;
        overflow-wrap: anywhere;
        display: -webkit-box;
        -webkit-box-orient: vertical;
        -webkit-line-clamp: 3;
        overflow: hidden;
      }
      .pager {
        display: flex;
        align-items: center;
        gap: 0.25rem;
      }
      .segments button {
        padding: 0 1rem;
        font-weight: 500;
      }
      .plans {
        display: grid;
        grid-template-columns: minmax(0, 1fr);
        gap: 1.25rem;
      }
      .plan {
        display: grid;
        grid-template-columns: minmax(0, 1fr);
        align-content: start;
        gap: 0.75rem;
        min-width: 0;
      }
      .plan > header {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        align-content: flex-start;
        gap: 0.5rem 0.75rem;
        min-height: 2rem;
      }
      .plan h2 {
        font-size: 1rem;
      }
      .card.drawing {
        overflow: hidden;
        padding: 0;
      }
      .narrative {
        color: var(--quiet);
        overflow-wrap: anywhere;
      }
      .side {
        overflow: auto;
        padding: 1.25rem;
        border-inline-start: 1px solid rgba(var(--mdui-color-outline-variant), 0.5);
        background: rgb(var(--mdui-color-surface-container-low));
        scrollbar-width: thin;
      }
      .warnings {
        display: grid;
        gap: 0.25rem;
        margin-top: 1.25rem;
        padding: 0.75rem 1rem;
        border-radius: 1rem;
        background: var(--caution-container);
        overflow-wrap: anywhere;
      }
      .warnings li {
        display: flex;
        gap: 0.5rem;
      }
      .none {
        padding: 1.5rem;
        color: var(--quiet);
      }
      .stop {
        color: rgb(var(--mdui-color-on-error-container));
        background: rgb(var(--mdui-color-error-container));
      }
      .back {
        display: none;
        margin-bottom: 0.5rem;
      }
      @container (min-width: 900px) {
        .plans.several {
          grid-template-columns: repeat(var(--plans), minmax(19rem, 1fr));
          overflow-x: auto;
          padding-bottom: 0.75rem;
          gap: 0.75rem 1.25rem;
          scrollbar-width: auto;
        }
        /* Fade out at the edge to show that there is more. */
        .several.cut {
          mask-image: linear-gradient(to right, #000 calc(100% - 4rem), rgb(0 0 0 / 0.15));
        }
        /* Align the parts of plans that are side by side. */
        .several > .plan {
          grid-row: span 4;
          grid-template-rows: subgrid;
        }
      }
      @container (max-width: 1599.98px) {
        .view.with-tool {
          grid-template-columns: minmax(0, 1fr) minmax(22rem, 30rem);
        }
        .view.with-tool .turns {
          display: none;
        }
      }
      @container (max-width: 1199.98px) {
        .view,
        .view.with-tool {
          grid-template-columns: minmax(0, 1fr);
        }
        .turns {
          display: none;
        }
        .view.with-tool {
          grid-template-columns: minmax(0, 1fr) minmax(20rem, 24rem);
        }
      }
      @container (max-width: 839.98px) {
        .view.with-tool {
          grid-template-columns: minmax(0, 1fr);
        }
        .view.with-tool .stage {
          display: none;
        }
        .side {
          border: 0;
          padding: 1rem clamp(0.75rem, 4cqw, 1.25rem) 3rem;
          background: none;
        }
        .back {
          display: inline-flex;
        }
        .stage > header {
          grid-template-columns: minmax(0, 1fr);
        }
      }
    `,
  ];

  @property({ attribute: false }) prompts: Prompts | undefined = undefined;
  @property({ type: Boolean }) ended = false;
  @state() private mode: "drawing" | "table" = "drawing";

  #list = new Windowed(this);
  // The turn shown: the selected one, else the newest.
  #turn: Turn | undefined;
  #plan: PlanRun | undefined;
  // The turn in the list that has the focus, or had it last.
  #reached: Turn | undefined;

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed);
    const session = this.session;
    const [planKey] = this.path;
    this.#plan = planKey === undefined ? undefined : session?.plans.get(planKey);
    this.#turn = this.#plan?.turn ?? lastWithPlan(session?.turns ?? []);
    // A different turn is shown, so it becomes the tab stop of the list.
    if (changed.has("path") && this.#plan !== undefined) this.#reached = this.#turn;
    this.#list.count = session?.turns.length ?? 0;
    this.#list.rowHeight = rem(3.75);
  }

  protected override render(): TemplateResult {
    const turn = this.#turn;
    if (turn === undefined || this.session === undefined) {
      return emptyPlace("tools", "No tools yet", "The tools that the story runs will appear here.");
    }
    const toolId = this.path[1];
    const invocation = toolId === undefined ? undefined : this.#plan?.invocations.get(toolId);
    return html`<div class="view ${invocation === undefined ? "" : "with-tool"}">
      ${this.#turns(turn)}
      <div class="stage" tabindex="-1">${this.#stage(turn, invocation === undefined ? undefined : toolId)}</div>
      ${
        invocation === undefined
          ? nothing
          : html`<div class="side" role="complementary" aria-label="Selected tool" @keydown=${this.#sideKey}>
              <a class="button plain back" href=${planRoute(this.#plan!.key)}>${icon("back")}The plan</a>
              <narratoria-invocation
                .session=${this.session}
                .plan=${this.#plan}
                .invocation=${invocation}
                .revision=${Math.max(invocation.revision, this.#plan!.turn.outcome === undefined ? 0 : this.#plan!.turn.revision)}
              ></narratoria-invocation>
            </div>`
      }
    </div>`;
  }

  protected override resized(): void {
    super.resized();
    this.#cut();
  }

  readonly #cut = (): void => {
    const plans = this.renderRoot.querySelector(".plans");
    plans?.classList.toggle("cut", plans.scrollLeft + plans.clientWidth < plans.scrollWidth - 1);
  };

  protected override updated(changed: PropertyValues): void {
    this.#cut();
    if (!changed.has("path")) return;
    const before = (changed.get("path") as string[] | undefined)?.[1];
    const now = this.path[1];
    if (now !== undefined && now !== before && before === undefined) {
      const panel = this.renderRoot.querySelector<InvocationPanel>("narratoria-invocation");
      void panel?.updateComplete.then(() => panel.renderRoot.querySelector<HTMLElement>("#title")?.focus());
    }
    if (this.#turn !== undefined && this.path.length > 0) this.#list.reveal(this.#list.count - 1 - this.#turn.index);
  }

  #turns(current: Turn): TemplateResult {
    const turns = this.session!.turns;
    const stop = this.#tabStop(current);
    return html`<nav class="turns" aria-label="Turns">
      <h2>${counted(turns.length, "turn")}</h2>
      <div class="list" ${this.#list.attach} @scroll=${this.#list.onScroll} @keydown=${this.#turnKey} @focusin=${this.#turnFocused} style=${styleMap({ "--row": `${this.#list.rowHeight}px` })}>
        ${this.#list.draw((index) => {
          // Newest first.
          const turn = turns[turns.length - 1 - index];
          return turn === undefined ? nothing : turnItem(turn, turn === current, index, index === stop);
        })}
      </div>
    </nav>`;
  }

  // The list has one tab stop: the turn reached with the arrow keys, else the turn shown, or the nearest rendered turn
  // if that one is scrolled away.
  #tabStop(current: Turn): number {
    const turns = this.session!.turns;
    const wanted = turns.length - 1 - (this.#reached?.index ?? current.index);
    const { first, last } = this.#list.rows;
    const near = Math.max(first, Math.min(last - 1, wanted));
    for (let far = 0; far < last - first; ++far) {
      for (const index of [near + far, near - far]) {
        if (index >= first && index < last && (turns[turns.length - 1 - index]?.plans.length ?? 0) > 0) return index;
      }
    }
    return -1;
  }

  #turnFocused(event: FocusEvent): void {
    const index = indexOf(event);
    const turns = this.session!.turns;
    if (index === undefined) return;
    this.#reached = turns[turns.length - 1 - index];
    this.requestUpdate();
  }

  #turnKey(event: KeyboardEvent): void {
    const here = indexOf(event);
    if (here === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    const turns = this.session!.turns;
    const count = turns.length;
    // The newest turn is first in the list.
    const moves: Record<string, [from: number, step: number]> = {
      ArrowDown: [count - 1 - here, -1],
      ArrowUp: [count - 1 - here, 1],
      Home: [count, -1],
      End: [-1, 1],
    };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    const next = nextWithPlan(turns, ...move);
    if (next === undefined) return;
    this.#reached = next;
    const index = count - 1 - next.index;
    this.#list.reveal(index);
    this.requestUpdate();
    void this.updateComplete.then(() =>
      this.renderRoot.querySelector<HTMLElement>(`a.turn[data-index="${index}"]`)?.focus({ preventScroll: true }),
    );
  }

  #stage(turn: Turn, selected: string | undefined): TemplateResult {
    const plans = turn.plans;
    return html`<header>
        <div>
          <h1 dir="auto">${titleOf(turn)}</h1>
        </div>
        <div class="chips">
          <span class="segments" role="group" aria-label="How plans are shown">
            <button type="button" aria-pressed=${this.mode === "drawing" ? "true" : "false"} @click=${() => (this.mode = "drawing")}>Graph</button>
            <button type="button" aria-pressed=${this.mode === "table" ? "true" : "false"} @click=${() => (this.mode = "table")}>Table</button>
          </span>
          ${this.#pager(turn)} ${this.#stopButton()}
        </div>
      </header>
      ${
        plans.length === 0
          ? html`<p class="card none">
              ${turn.outcome === undefined ? "The narrator is making a plan." : turn.isPast === true ? "This turn was played before the game continued. Its tools are not shown here." : turn.movedTo === undefined ? "The narrator replied without a plan." : "No tool ran here."}
            </p>`
          : html`<div class="plans ${plans.length > 1 ? "several" : ""}" tabindex=${plans.length > 1 ? 0 : nothing} role="group" aria-label=${counted(plans.length, "plan")} @scroll=${this.#cut} style=${styleMap({ "--plans": String(plans.length) })}>
              ${plans.map((plan, index) => this.#planCard(plan, index, plans, selected))}
            </div>`
      }
      ${
        turn.warnings.length === 0
          ? nothing
          : html`<ul class="warnings" aria-label="Warnings">
              ${turn.warnings.slice(-20).map((one) => html`<li class="warn">${icon("warning")}<span>${one.toolId === undefined ? nothing : html`<bdi>${shortened(one.toolId, 80)}</bdi>: `}<bdi>${shortened(one.message, 400)}</bdi></span></li>`)}
            </ul>`
      }`;
  }

  // Stops the running turn, whichever turn is shown.
  #stopButton(): unknown {
    if (this.session?.busy !== true || this.prompts === undefined || this.ended) return nothing;
    return html`<button class="button stop" type="button" title="Stop (Escape)" ?disabled=${this.prompts.isCancelling} @click=${this.#stop}>
      ${icon("stop")}Stop
    </button>`;
  }

  #stop(): void {
    const asked = this.prompts?.cancel();
    this.requestUpdate();
    void asked?.then(() => this.requestUpdate());
    // The stop button disappears with the turn, so move the focus.
    this.renderRoot.querySelector<HTMLElement>(".stage")?.focus({ preventScroll: true });
  }

  #planCard(plan: PlanRun, index: number, plans: readonly PlanRun[], selected: string | undefined): TemplateResult {
    const state = planState(plan);
    const chosen = plan === this.#plan ? selected : undefined;
    const disabled = textsOf(plan.plan, "disabledSkills");
    const narrative = textOf(plan.plan, "narrative") ?? "";
    const done = [...plan.invocations.values()].filter((one) => isOver(one.state)).length;
    const name = plans.length > 1 ? `Plan ${index + 1} of ${plans.length}` : "The plan";
    return html`<section class="plan" aria-label="${name}, ${planName(state)}">
      <header>
        <h2>${name}</h2>
        <span class="chip tone ${state}">${icon(planIcons[state])}${planName(state)}</span>
        <span class="number about">
          ${done < plan.invocations.size ? `${done} of ${counted(plan.invocations.size, "tool")}` : counted(plan.invocations.size, "tool")}${
            plan.executionTime === undefined ? nothing : html` · ${duration(plan.executionTime)}`
          }
        </span>
        ${plan.continues === undefined ? nothing : html`<span class="chip">${icon("right")}continues plan ${plans.indexOf(plan.continues) + 1}</span>`}
        ${disabled.slice(0, 8).map((one) => html`<span class="chip" title="Disabled in this plan">${icon("block")}<span>without <span dir="auto">${shortened(one, 60)}</span></span></span>`)}
        ${disabled.length > 8 ? html`<span class="chip">and ${disabled.length - 8} more</span>` : nothing}
      </header>
      <p class="narrative" dir="auto" ?hidden=${narrative === "" && plans.length === 1}>${shortened(narrative, 300)}</p>
      ${
        plan.invocations.size === 0
          ? html`<p class="card none">${narrative === "" ? "This plan runs no tools." : "This plan has only a narrative and runs no tools."}</p>`
          : this.mode === "table"
            ? html`<div class="card drawing"><narratoria-plan-table .plan=${plan} .revision=${plan.revision} .selected=${chosen}></narratoria-plan-table></div>`
            : html`<div class="card drawing">
                  <narratoria-plan-graph .plan=${plan} .revision=${plan.revision} .selected=${chosen}></narratoria-plan-graph>
                </div>
                <div class="card drawing">
                  <narratoria-plan-timeline .plan=${plan} .revision=${Math.max(plan.revision, plan.turn.outcome === undefined ? 0 : plan.turn.revision)} .selected=${chosen}></narratoria-plan-timeline>
                </div>`
      }
    </section>`;
  }

  #pager(turn: Turn): TemplateResult {
    const turns = this.session!.turns;
    const before = nextWithPlan(turns, turn.index, -1);
    const behind = nextWithPlan(turns, turn.index, 1);
    const to = (other: Turn | undefined): (() => void) => () => {
      const plan = other?.plans.at(-1);
      if (plan !== undefined) navigate(planRoute(plan.key));
    };
    return html`<span class="pager">
      <button class="icon-button" type="button" aria-label="Previous turn" title="Previous turn" ?disabled=${before === undefined} @click=${to(before)}>${icon("left")}</button>
      <span class="number about">${turn.index + 1} of ${turns.length}</span>
      <button class="icon-button" type="button" aria-label="Next turn" title="Next turn" ?disabled=${behind === undefined} @click=${to(behind)}>${icon("right")}</button>
      ${this.path.length > 0 && behind !== undefined ? html`<a class="button plain" href="#/tools">Newest</a>` : nothing}
    </span>`;
  }

  #sideKey(event: KeyboardEvent): void {
    if (event.key !== "Escape" || event.defaultPrevented || this.#plan === undefined) return;
    const toolId = this.path[1];
    const plan = this.#plan;
    // Escape closes the tool here; it must not also stop the turn.
    event.preventDefault();
    navigate(planRoute(plan.key));
    // Return the focus to the element from which the tool was opened.
    requestAnimationFrame(() => {
      for (const graph of this.renderRoot.querySelectorAll<PlanGraph>("narratoria-plan-graph")) {
        if (graph.plan === plan && toolId !== undefined) void graph.focusOn(toolId);
      }
    });
  }
}

function indexOf(event: Event): number | undefined {
  const item = event.target instanceof Element ? event.target.closest<HTMLElement>("a.turn") : null;
  const index = Number(item?.dataset["index"]);
  return Number.isInteger(index) ? index : undefined;
}

function turnItem(turn: Turn, isCurrent: boolean, index: number, isStop: boolean): TemplateResult {
  const state = turnState(turn);
  const plan = turn.plans.at(-1);
  if (turn.movedTo !== undefined) return html`<div class="turn"><span class="says clipped" dir="auto">${titleOf(turn)}</span></div>`;
  const about = [turn.isUndone === true ? "undone" : turnOutcome(turn)];
  if (turn.plans.length > 1) about.push(counted(turn.plans.length, "plan"));
  const tools = invocationsOf(turn).length;
  about.push(turn.isPast === true ? "played before" : tools === 0 ? "no tools" : counted(tools, "tool"));
  const inside = html`${icon(planIcons[state])}<span class="says clipped" dir="auto">${titleOf(turn)}</span><span class="about clipped">${about.join(" · ")}</span>`;
  return plan === undefined
    ? html`<div class="turn ${state}">${inside}</div>`
    : html`<a class="turn ${state}" href=${planRoute(plan.key)} data-index=${index} tabindex=${isStop ? 0 : -1} aria-current=${isCurrent ? "page" : nothing}>${inside}</a>`;
}

function titleOf(turn: Turn): string {
  const moved = movedWords(turn);
  if (moved !== undefined) return moved;
  return turn.prompt === undefined ? "A plan of the host" : shortened(turn.prompt.text, 300);
}

function lastWithPlan(turns: readonly Turn[]): Turn | undefined {
  const last = turns.at(-1);
  if (last === undefined || last.plans.length > 0 || last.outcome === undefined) return last;
  return nextWithPlan(turns, turns.length - 1, -1) ?? last;
}

function nextWithPlan(turns: readonly Turn[], from: number, step: number): Turn | undefined {
  for (let index = from + step; index >= 0 && index < turns.length; index += step) {
    if (turns[index]!.plans.length > 0) return turns[index];
  }
  return undefined;
}
