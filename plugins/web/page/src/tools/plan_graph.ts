// SPDX-License-Identifier: Apache-2.0
// The plan as a graph. Edges are SVG, tools are HTML links, so that their names are ellipsized, follow the direction of
// their script and take the focus. It is one tab stop; the arrow keys follow the dependencies.
import { css, html, LitElement, nothing, type PropertyValues, svg, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";
import { styleMap } from "lit/directives/style-map.js";
import { Clock } from "../controls/clock.ts";
import { icon } from "../controls/icons.ts";
import { base } from "../controls/styles.ts";
import { rem } from "../list/windowed.ts";
import type { Invocation, PlanRun } from "../session/session.ts";
import { counted } from "../text/shorten.ts";
import { type Edge, type Layout, layOut, type Placed } from "./layout.ts";
import { toolRoute } from "./route.ts";
import { afterWhat, isOver, share, stateIcons, statusLine } from "./status.ts";

interface Box {
  x: number;
  y: number;
}

// An edge at the current scale.
interface Line {
  edge: Edge;
  d: string;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

// Up to this number, all tools are rendered; above, only the visible ones.
const few = 120;
const room = 240;
const mostEdges = 300;
const scales = [0.3, 0.45, 0.65, 0.85, 1, 1.25];

@customElement("narratoria-plan-graph")
export class PlanGraph extends LitElement {
  static override styles = [
    base,
    css`
      :host {
        position: relative;
      }
      .port {
        overflow: auto;
        max-height: min(34rem, 60vh);
        border-radius: inherit;
        scrollbar-width: thin;
      }
      .canvas {
        position: relative;
        margin: 0 auto;
      }
      svg.edges {
        position: absolute;
        inset: 0;
        overflow: visible;
        pointer-events: none;
      }
      .edge {
        fill: none;
        stroke: rgb(var(--mdui-color-outline));
        stroke-width: 1.5;
      }
      .edge.waits {
        stroke-dasharray: 5 5;
        stroke: rgb(var(--mdui-color-outline-variant));
      }
      .edge.flows {
        stroke: var(--accent);
        stroke-width: 2;
        stroke-dasharray: 6 6;
        animation: flow 0.8s linear infinite;
      }
      .edge.broken {
        stroke: var(--bad);
        stroke-dasharray: 2 5;
      }
      @keyframes flow {
        to {
          stroke-dashoffset: -12;
        }
      }
      .head {
        fill: rgb(var(--mdui-color-outline));
      }
      .head.flows {
        fill: var(--accent);
      }
      .head.broken {
        fill: var(--bad);
      }
      .tool {
        position: absolute;
        left: 0;
        top: 0;
        display: flex;
        align-items: center;
        gap: 0.625rem;
        padding: 0 0.75rem;
        border-radius: 0.875rem;
        border: 1px solid var(--line);
        background: rgb(var(--mdui-color-surface-container-high));
        color: inherit;
        text-decoration: none;
        overflow: hidden;
        isolation: isolate;
        transition:
          border-color 200ms,
          background-color 200ms;
      }
      .tool:hover {
        border-color: var(--tone);
      }
      .tool[aria-current] {
        border-color: var(--accent);
        box-shadow: 0 0 0 1px var(--accent);
      }
      .tool.pending,
      .tool.stopped,
      .tool.skipped {
        background: rgb(var(--mdui-color-surface-container));
        border-style: dashed;
      }
      .tool.failed,
      .tool.timeout {
        border-color: var(--bad);
      }
      .fill {
        position: absolute;
        inset: 0;
        z-index: -1;
        transform-origin: left;
        background: var(--tone-container);
        opacity: 0.55;
        transition: transform 160ms linear;
      }
      .sign {
        color: var(--tone);
        font-size: 1.05rem;
      }
      .words {
        display: grid;
        min-width: 0;
        line-height: 1.3;
      }
      .name {
        font-weight: 600;
      }
      .status {
        font-size: 0.75rem;
        color: var(--quiet);
      }
      .small .status {
        display: none;
      }
      .small .tool {
        padding: 0 0.5rem;
        gap: 0.375rem;
        font-size: 0.75rem;
      }
      /* No animation in large graphs: hundreds of moving lines would only distract. */
      .many .edge,
      .many .spinner {
        animation: none;
      }
      .many .edge.waits {
        stroke-dasharray: none;
      }
      .unseen {
        inset: 0 auto auto 0;
      }
      .tiny .tool {
        padding: 0;
        justify-content: center;
        border-radius: 0.5rem;
      }
      .tiny .words {
        display: none;
      }
      .zoom {
        position: absolute;
        inset-inline-end: 0.5rem;
        bottom: 0.5rem;
        display: flex;
        border-radius: 1.25rem;
        background: rgb(var(--mdui-color-surface-container-highest));
        box-shadow: 0 1px 3px rgb(0 0 0 / 0.3);
      }
      .zoom .icon-button {
        width: 2.25rem;
        height: 2.25rem;
      }
      @media (forced-colors: active) {
        .edge,
        .head {
          stroke: CanvasText;
        }
        .tool[aria-current] {
          outline: 3px solid Highlight;
        }
        .fill {
          background: Highlight;
          forced-color-adjust: none;
          opacity: 0.4;
        }
      }
    `,
  ];

  @property({ attribute: false }) plan: PlanRun | undefined = undefined;
  // The plan's revision, so that a change of the plan causes a new rendering.
  @property({ attribute: false }) revision = 0;
  @property({ attribute: false }) selected: string | undefined = undefined;
  // Layout from top to bottom, for narrow places.
  @state() private upright = false;
  @state() private scale = 1;
  @state() private active: string | undefined = undefined;
  @state() private view = { left: 0, top: 0, width: 1200, height: 700 };

  #layout: Layout = { nodes: [], edges: [], layers: 0, breadth: 1 };
  #byId = new Map<string, Placed>();
  #laidOut = "";
  #lines: Line[] = [];
  #drawn = "";
  #isZoomed = false;
  // Pixels per unit: 1 at the usual text size. With larger text, the whole graph is larger.
  #unit = 1;
  #sizes = new ResizeObserver(() => {
    this.#fit();
    this.#look();
    const { selected } = this;
    if (selected !== undefined) void this.updateComplete.then(() => this.#reveal(selected));
  });

  constructor() {
    super();
    new Clock(this, () => this.#runs(), 200);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.updateComplete.then(() => this.isConnected && this.#port !== null && this.#sizes.observe(this.#port));
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#sizes.disconnect();
  }

  protected override willUpdate(changed: PropertyValues): void {
    const plan = this.plan;
    if (plan === undefined) return;
    this.#unit = rem(1) / 16;
    const name = `${plan.key} ${plan.invocations.size}`;
    if (name !== this.#laidOut) {
      this.#laidOut = name;
      this.#layout = layOut(
        [...plan.invocations.values()].map(({ toolId, dependencies }) => ({ id: toolId, dependencies })),
      );
      this.#byId = new Map(this.#layout.nodes.map((one) => [one.id, one]));
      this.#fit();
    }
    if (changed.has("plan") && changed.get("plan") !== undefined) this.#isZoomed = false;
    if (changed.has("plan") || this.active === undefined || !this.#byId.has(this.active)) {
      this.active = this.selected ?? plan.invocations.keys().next().value;
    }
  }

  protected override render(): TemplateResult | typeof nothing {
    const plan = this.plan;
    if (plan === undefined) return nothing;
    const { width, height } = this.#extent();
    const now = Date.now();
    const shown = this.#shown();
    const size = this.#size();
    const tools = plan.invocations.size;
    return html`<div
        class="port ${tools > few ? "many" : ""} ${this.scale < 0.4 ? "tiny" : this.scale < 0.8 ? "small" : ""}"
        role="group"
        aria-label="Graph of ${counted(tools, "tool")}; use the arrow keys to follow dependencies"
        @scroll=${this.#look}
        @keydown=${this.#key}
      >
        <div class="canvas" style=${styleMap({ width: `${width}px`, height: `${height}px` })}>
          <svg class="edges" width=${width} height=${height} aria-hidden="true">
            <defs>
              ${["", "flows", "broken"].map(
                (kind) => svg`<marker id="head${kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"
                  markerUnits="userSpaceOnUse" orient="auto"><path class="head ${kind}" d="M0 0.5 L8 4 L0 7.5 z"></path></marker>`,
              )}
            </defs>
            ${this.#edges(plan)}
          </svg>
          ${repeat(
            shown,
            (one) => one.id,
            (one) => this.#tool(plan, plan.invocations.get(one.id)!, this.#place(one), size, now),
          )}
        </div>
      </div>
      ${
        tools > 6 || this.scale !== 1
          ? html`<div class="zoom">
              <button class="icon-button" type="button" aria-label="Smaller" title="Smaller" ?disabled=${this.scale === scales[0]} @click=${() => this.#zoom(-1)}>${icon("remove")}</button>
              <button class="icon-button" type="button" aria-label="Larger" title="Larger" ?disabled=${this.scale === scales.at(-1)} @click=${() => this.#zoom(1)}>${icon("add")}</button>
            </div>`
          : nothing
      }`;
  }

  protected override updated(changed: PropertyValues): void {
    if (changed.has("selected") && this.selected !== undefined) this.#reveal(this.selected);
  }

  #tool(plan: PlanRun, one: Invocation, at: Box, size: Box, now: number): TemplateResult {
    const part = share(one);
    const shift = { transform: `translate(${at.x}px, ${at.y}px)`, width: `${size.x}px`, height: `${size.y}px` };
    return html`<a
      class="tool ${one.state}"
      href=${toolRoute(plan.key, one.toolId)}
      data-id=${one.toolId}
      tabindex=${one.toolId === this.active ? 0 : -1}
      aria-current=${one.toolId === this.selected ? "true" : nothing}
      title=${one.toolId.slice(0, 200)}
      style=${styleMap(shift)}
      @focus=${() => (this.active = one.toolId)}
    >
      <span class="fill" style=${styleMap({ transform: `scaleX(${part})` })}></span>
      <span class="sign">${icon(stateIcons[one.state])}</span>
      <span class="words">
        <span class="name clipped" dir="auto">${one.toolId.slice(0, 200)}</span>
        <span class="status clipped number">${statusLine(one, now, true)}</span>
        <span class="unseen">${afterWhat(one)}</span>
      </span>
    </a>`;
  }

  #edges(plan: PlanRun): unknown[] {
    const { left, top, width, height } = this.view;
    const all = this.#layout.edges.length <= few * 2;
    const drawn = [];
    for (const line of this.#drawing()) {
      const { from, to } = line.edge;
      const isOfActive = from === this.active || to === this.active;
      if (!all && !isOfActive) {
        if (drawn.length >= mostEdges) continue;
        if (line.left > left + width + room || line.right < left - room) continue;
        if (line.top > top + height + room || line.bottom < top - room) continue;
      }
      const kind = kindOf(plan, line.edge);
      const head = kind === "flows" || kind === "broken" ? kind : "";
      drawn.push(svg`<path class="edge ${kind}" d=${line.d} marker-end="url(#head${head})"></path>`);
    }
    return drawn;
  }

  // Shortest edges first: if not all can be drawn, the longest ones are the least informative.
  #drawing(): Line[] {
    const name = `${this.#laidOut} ${this.scale} ${this.upright} ${this.#unit}`;
    if (name === this.#drawn) return this.#lines;
    this.#drawn = name;
    this.#lines = this.#layout.edges.map((edge) => {
      const points = edge.points.map((one) => this.#middle(one));
      const xs = points.map((one) => one.x);
      const ys = points.map((one) => one.y);
      const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
      return { edge, d: this.#curve(points), left, right, top, bottom };
    });
    if (this.#lines.length > mostEdges) {
      const length = (one: Line): number => one.right - one.left + one.bottom - one.top;
      this.#lines.sort((a, b) => length(a) - length(b));
    }
    return this.#lines;
  }

  // A curve from the end of one tool to the beginning of the other, horizontal at each layer.
  #curve(points: readonly Box[]): string {
    const size = this.#size();
    const along: keyof Box = this.upright ? "y" : "x";
    const across: keyof Box = this.upright ? "x" : "y";
    const at = (a: number, b: number): string => (this.upright ? `${b} ${a}` : `${a} ${b}`);
    const half = size[along] / 2;
    const first = points[0]!;
    let text = `M${at(first[along] + half, first[across])}`;
    for (let index = 1; index < points.length; ++index) {
      const from = points[index - 1]!;
      const to = points[index]!;
      const start = from[along] + half;
      const end = to[along] - half;
      const bend = (end - start) / 2;
      text += ` C${at(start + bend, from[across])} ${at(end - bend, to[across])} ${at(end, to[across])}`;
      if (index < points.length - 1) text += ` L${at(to[along] + half, to[across])}`;
    }
    return text;
  }

  #size(): Box {
    const tiny = this.scale < 0.4;
    const unit = this.#unit;
    return {
      x: unit * (tiny ? 36 : Math.max(96, 212 * this.scale)),
      y: unit * (tiny ? 28 : Math.max(34, 60 * this.scale)),
    };
  }

  #step(): { along: number; across: number } {
    const size = this.#size();
    const unit = this.#unit;
    const gap = unit * Math.max(14, 20 * this.scale);
    return this.upright
      ? { along: size.y + unit * Math.max(24, 44 * this.scale), across: size.x + gap }
      : { along: size.x + unit * Math.max(32, 64 * this.scale), across: size.y + gap };
  }

  #middle({ layer, across }: { layer: number; across: number }): Box {
    const size = this.#size();
    const step = this.#step();
    const main = margin + layer * step.along;
    const cross = margin / 2 + across * step.across;
    return this.upright ? { x: cross, y: main + size.y / 2 } : { x: main + size.x / 2, y: cross };
  }

  #place(one: Placed): Box {
    const middle = this.#middle(one);
    const size = this.#size();
    return { x: middle.x - size.x / 2, y: middle.y - size.y / 2 };
  }

  #extent(): { width: number; height: number } {
    const size = this.#size();
    const step = this.#step();
    const along = margin * 2 + (this.#layout.layers - 1) * step.along + (this.upright ? size.y : size.x);
    const across = margin + this.#layout.breadth * step.across;
    return this.upright ? { width: across, height: along } : { width: along, height: across };
  }

  #shown(): Placed[] {
    const { nodes } = this.#layout;
    if (nodes.length <= few) return nodes;
    const { left, top, width, height } = this.view;
    return nodes.filter((one) => {
      if (one.id === this.active) return true;
      const { x, y } = this.#middle(one);
      return x > left - room && x < left + width + room && y > top - room && y < top + height + room;
    });
  }

  // null until there is a plan.
  get #port(): HTMLElement | null {
    return this.renderRoot.querySelector<HTMLElement>(".port");
  }

  #look(): void {
    const port = this.#port;
    if (this.#layout.nodes.length <= few || port === null) return;
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = port;
    const { left, top, width, height } = this.view;
    const moved = Math.max(Math.abs(left - scrollLeft), Math.abs(top - scrollTop));
    if (moved < room / 4 && width === clientWidth && height === clientHeight) return;
    this.view = { left: scrollLeft, top: scrollTop, width: clientWidth, height: clientHeight };
  }

  // Selects left to right if that fits, else top to bottom if that fits, else a smaller, still readable scale.
  #fit(): void {
    if (this.#isZoomed) return;
    const width = this.clientWidth;
    if (width === 0) return;
    const many = this.#layout.nodes.length > few;
    for (const scale of many ? [0.45] : [1, 0.85]) {
      for (const upright of [false, true]) {
        this.scale = scale;
        this.upright = upright;
        if (this.#extent().width <= width) return;
      }
    }
    this.upright = width < 560 && this.#layout.breadth <= this.#layout.layers * 3;
    this.scale = many ? 0.45 : width < 560 ? 0.85 : 1;
  }

  #zoom(by: number): void {
    this.#isZoomed = true;
    const index = scales.indexOf(this.scale) + by;
    this.scale = scales[Math.max(0, Math.min(scales.length - 1, index))]!;
  }

  #runs(): boolean {
    for (const one of this.plan?.invocations.values() ?? []) {
      if (one.state === "running" || one.state === "retrying") return this.plan?.turn.outcome === undefined;
    }
    return false;
  }

  #key(event: KeyboardEvent): void {
    const active = this.active;
    if (active === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    const next = this.#next(event.key, active);
    if (next === undefined) return;
    event.preventDefault();
    void this.focusOn(next);
  }

  #next(key: string, active: string): string | undefined {
    const [forward, back, later, earlier] = this.upright
      ? ["ArrowDown", "ArrowUp", "ArrowRight", "ArrowLeft"]
      : ["ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp"];
    const here = this.#byId.get(active);
    if (here === undefined) return undefined;
    switch (key) {
      case forward:
        return this.#nearest(here, this.#layout.edges.filter((one) => one.from === active).map((one) => one.to));
      case back:
        return this.#nearest(here, this.plan?.invocations.get(active)?.dependencies ?? []);
      case later:
      case earlier: {
        const sign = key === later ? 1 : -1;
        const beside = this.#layout.nodes.filter(
          (one) => one.layer === here.layer && (one.across - here.across) * sign > 0.01,
        );
        return this.#nearest(here, beside.map((one) => one.id));
      }
      case "Home":
        return this.#layout.nodes[0]?.id;
      case "End":
        return this.#layout.nodes.at(-1)?.id;
      default:
        return undefined;
    }
  }

  #nearest(here: Placed, ids: readonly string[]): string | undefined {
    const far = (one: Placed): number => Math.abs(one.across - here.across) + Math.abs(one.layer - here.layer) * 0.5;
    const others = ids.flatMap((id) => this.#byId.get(id) ?? []).filter((one) => one !== here);
    return others.sort((a, b) => far(a) - far(b))[0]?.id;
  }

  async focusOn(id: string): Promise<void> {
    this.active = id;
    this.#reveal(id);
    await this.updateComplete;
    for (const one of this.renderRoot.querySelectorAll<HTMLElement>(".tool")) {
      if (one.dataset["id"] === id) one.focus({ preventScroll: true });
    }
  }

  #reveal(id: string): void {
    const node = this.#byId.get(id);
    const port = this.#port;
    if (node === undefined || port === null) return;
    const { x, y } = this.#place(node);
    const size = this.#size();
    const edge = 24;
    if (x < port.scrollLeft) port.scrollLeft = x - edge;
    else if (x + size.x > port.scrollLeft + port.clientWidth) port.scrollLeft = x + size.x + edge - port.clientWidth;
    if (y < port.scrollTop) port.scrollTop = y - edge;
    else if (y + size.y > port.scrollTop + port.clientHeight) port.scrollTop = y + size.y + edge - port.clientHeight;
    this.#look();
  }
}

const margin = 20;

function kindOf(plan: PlanRun, edge: Edge): string {
  const from = plan.invocations.get(edge.from);
  const to = plan.invocations.get(edge.to);
  if (from === undefined || to === undefined) return "waits";
  if (from.state === "failed" || from.state === "timeout" || from.state === "skipped" || from.state === "stopped") return "broken";
  if (!isOver(from.state)) return "waits";
  return to.state === "running" || to.state === "retrying" ? "flows" : "";
}
