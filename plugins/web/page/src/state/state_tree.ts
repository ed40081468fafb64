// SPDX-License-Identifier: Apache-2.0
// The state as a tree, with the keyboard navigation of the ARIA tree pattern and one tab stop. Only visible rows are
// rendered.
import { css, html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";
import { styleMap } from "lit/directives/style-map.js";
import { icon } from "../controls/icons.ts";
import { leadsTo } from "../controls/keys.ts";
import { base } from "../controls/styles.ts";
import { rem, Windowed } from "../list/windowed.ts";
import type { Json, JsonObject } from "../session/record.ts";
import type { Patch } from "../session/session.ts";
import { shortened } from "../text/shorten.ts";
import { authorOf } from "./authors.ts";
import { preview, withEscapedControls } from "./inspect.ts";
import type { Marks } from "./marks.ts";
import { pointerOf } from "./pointer.ts";
import { isContainer, sizeOf, Tree, type TreeNode } from "./tree.ts";

// The limit of rows for "expand all".
const mostRows = 200_000;
// States up to this number of rows are shown expanded.
const small = 40;
const typeAhead = 700;

@customElement("narratoria-state-tree")
export class StateTree extends LitElement {
  static override styles = [
    base,
    css`
      :host {
        min-height: 0;
        min-width: 0;
      }
      .port {
        height: 100%;
        overflow: auto;
        border-radius: inherit;
        scrollbar-width: thin;
      }
      .port:focus-visible {
        outline-offset: -3px;
      }
      .row {
        position: relative;
        display: flex;
        align-items: center;
        gap: 0.5rem;
        height: var(--row);
        padding-inline: 0.5rem 1rem;
        white-space: nowrap;
        cursor: default;
      }
      .row:hover {
        background: rgba(var(--mdui-color-on-surface), 0.05);
      }
      .row.marked::before {
        content: "";
        position: absolute;
        inset-inline-start: 0;
        inset-block: 3px;
        width: 3px;
        border-radius: 2px;
        background: var(--caution);
      }
      .row.marked {
        background: color-mix(in srgb, var(--caution) 9%, transparent);
      }
      .row[aria-selected="true"] {
        background: rgb(var(--mdui-color-secondary-container));
        color: rgb(var(--mdui-color-on-secondary-container));
      }
      .row[aria-selected="true"] .value,
      .row[aria-selected="true"] .twist {
        color: inherit;
      }
      .port:focus-visible .row[aria-selected="true"] {
        outline: 2px solid var(--accent);
        outline-offset: -2px;
      }
      .twist {
        display: grid;
        place-items: center;
        width: 1.5rem;
        height: 100%;
        flex: none;
        color: var(--quiet);
        transition: transform 120ms;
      }
      .open > .twist .icon {
        transform: rotate(90deg);
      }
      .key {
        flex: none;
        max-width: 55%;
        font-weight: 500;
      }
      .key.index {
        color: var(--quiet);
        font-weight: 400;
      }
      mark {
        background: var(--caution-container);
        color: inherit;
        border-radius: 3px;
        outline: 1px solid var(--caution);
      }
      .value {
        flex: 0 1 auto;
        color: var(--quiet);
      }
      .value.string {
        color: light-dark(#2b6a35, #a5d6a0);
      }
      .value.number {
        color: light-dark(#1d5aa8, #9ecbff);
      }
      .value.boolean {
        color: light-dark(#8a4200, #ffb68a);
      }
      .author {
        flex: 0 0 auto;
        max-width: min(12rem, 40%);
        padding: 0.0625rem 0.5rem;
        border-radius: 0.5rem;
        font: 500 0.75rem / 1.35 var(--font-page, system-ui);
        color: light-dark(#4a3300, #ffe0a0);
        background: var(--caution-container);
      }
      @media (forced-colors: active) {
        .row.marked::before {
          background: CanvasText;
        }
        .author {
          border: 1px solid;
        }
      }
      .author.inside {
        background: none;
        color: inherit;
        border: 1px dashed var(--caution);
      }
    `,
  ];

  @property({ attribute: false }) value: JsonObject = {};
  @property({ attribute: false }) selected: string[] | undefined = undefined;
  @property({ attribute: false }) marks: Marks | undefined = undefined;
  @property({ attribute: false }) marksVersion = 0;
  @property({ attribute: false }) patches: readonly Patch[] = [];
  // The text to highlight in the keys of the rows, in lower case.
  @property({ attribute: false }) words = "";

  // The tree's rows. It outlives this element, so that expanded rows stay expanded.
  @property({ attribute: false }) tree = new Tree();

  #rows = new Windowed(this);
  #typed = "";
  #typedAt = 0;

  protected override willUpdate(changed: PropertyValues): void {
    if (changed.has("value") || changed.has("tree")) {
      this.tree.update(this.value);
      if (!this.tree.isArranged && this.tree.rowCount <= small) this.tree.expandAll(small);
    }
    if (changed.has("selected") && this.selected !== undefined && this.selected.length > 0) {
      this.tree.reveal(this.selected);
    }
    this.#rows.count = this.tree.rowCount;
    this.#rows.rowHeight = rem(2);
  }

  protected override render(): TemplateResult {
    const { first, last } = this.#rows.rows;
    const nodes = this.tree.slice(first, last);
    const selected = this.selected === undefined ? undefined : this.tree.find(this.selected);
    const active = nodes.indexOf(selected!);
    return html`<div
      class="port"
      role="tree"
      tabindex="0"
      aria-label="State"
      aria-activedescendant=${active >= 0 ? `row${first + active}` : nothing}
      ${this.#rows.attach}
      @scroll=${this.#rows.onScroll}
      @keydown=${this.#key}
      style=${styleMap({ "--row": `${this.#rows.rowHeight}px` })}
    >
      ${this.#rows.draw((index) => {
        const node = nodes[index - first];
        return node === undefined ? nothing : this.#row(node, index, node === selected);
      })}
    </div>`;
  }

  protected override updated(changed: PropertyValues): void {
    if (!changed.has("selected") || this.selected === undefined) return;
    const node = this.tree.find(this.selected);
    if (node !== undefined && node.parent !== undefined) this.#rows.reveal(this.tree.indexOf(node));
  }

  expandAll(): void {
    this.tree.isArranged = true;
    this.tree.expandAll(mostRows);
    this.requestUpdate();
  }

  collapseAll(): void {
    this.tree.isArranged = true;
    this.tree.collapseAll();
    this.requestUpdate();
  }

  #row(node: TreeNode, index: number, isSelected: boolean): TemplateResult {
    const { value, depth } = node;
    const container = isContainer(value) && sizeOf(value) > 0;
    const mark = this.marks?.at(node.segments);
    const own = mark?.own !== undefined && (mark.inside === undefined || mark.own >= mark.inside);
    // A change inside is marked on this row only while it is collapsed, otherwise on the row of the changed member.
    const inside = !own && mark?.inside !== undefined && !node.expanded;
    const patch = own ? this.patches[mark!.own!] : inside ? this.patches[mark!.inside!] : undefined;
    const indent = { paddingInlineStart: `calc(0.5rem + ${Math.min(depth, 40)} * var(--indent, 1.125rem))` };
    const isIndex = Array.isArray(node.parent?.value);
    return html`<div
      class="row code ${node.expanded ? "open" : ""} ${own ? "marked" : ""}"
      id="row${index}"
      role="treeitem"
      aria-level=${depth + 1}
      aria-setsize=${node.parent?.children?.length ?? 1}
      aria-posinset=${node.place + 1}
      aria-expanded=${container ? (node.expanded ? "true" : "false") : nothing}
      aria-selected=${isSelected ? "true" : "false"}
      style=${styleMap(indent)}
      @click=${() => this.#select(node)}
      @dblclick=${() => this.#toggle(node)}
    >
      ${
        container
          ? html`<span class="twist" @click=${(event: Event) => {
              event.stopPropagation();
              this.#toggle(node);
            }}>${icon("right")}</span>`
          : html`<span class="twist"></span>`
      }
      <span class="key clipped ${isIndex ? "index" : ""}" dir="auto">${this.#marked(node.key)}</span>
      <span class="value clipped ${typeof value}" dir="auto">${shownValue(value, node.expanded)}</span>
      ${
        patch === undefined
          ? nothing
          : html`<span class="author clipped ${inside ? "inside" : ""}" title="${inside ? "Changed inside" : "Changed"} by ${authorOf(patch)}"
              ><span class="unseen">${inside ? "changed inside by " : "changed by "}</span><bdi>${authorOf(patch)}</bdi></span
            >`
      }
    </div>`;
  }

  #marked(key: string): unknown {
    if (key === "") return '""';
    const text = withEscapedControls(shortened(key, 120));
    const at = this.words === "" ? -1 : text.toLowerCase().indexOf(this.words);
    if (at < 0) return text;
    const end = at + this.words.length;
    return html`${text.slice(0, at)}<mark>${text.slice(at, end)}</mark>${text.slice(end)}`;
  }

  #select(node: TreeNode): void {
    this.dispatchEvent(new CustomEvent("select-path", { detail: node.segments }));
  }

  #toggle(node: TreeNode): void {
    this.tree.isArranged = true;
    if (node.expanded) this.tree.collapse(node);
    else this.tree.expand(node);
    this.requestUpdate();
  }

  #key(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const tree = this.tree;
    const node = this.selected === undefined ? undefined : tree.find(this.selected);
    const here = node === undefined || node.parent === undefined ? -1 : tree.indexOf(node);
    const page = Math.max(1, Math.floor((this.#rows.scroller.value?.clientHeight ?? 300) / this.#rows.rowHeight) - 1);
    let to = leadsTo(event, here, tree.rowCount - 1, page);
    if (to === undefined) switch (event.key) {
      case "ArrowRight":
        if (node === undefined || here < 0) to = 0;
        else if (isContainer(node.value) && !node.expanded) this.#toggle(node);
        else if ((node.children?.length ?? 0) > 0) to = here + 1;
        break;
      case "ArrowLeft":
        if (node === undefined || here < 0) break;
        if (node.expanded) this.#toggle(node);
        else if (node.parent?.parent !== undefined) to = tree.indexOf(node.parent);
        break;
      case "Enter":
      case " ":
        if (node !== undefined && here >= 0 && isContainer(node.value)) this.#toggle(node);
        break;
      case "*":
        if (node === undefined) return;
        this.tree.isArranged = true;
        tree.expandSiblings(node);
        this.requestUpdate();
        break;
      default:
        if (event.key.length !== 1) return;
        to = this.#typeAhead(event.key, here);
    }
    event.preventDefault();
    if (to === undefined) return;
    const next = tree.row(Math.max(0, Math.min(tree.rowCount - 1, to)));
    if (next !== undefined) this.#select(next);
  }

  #typeAhead(key: string, here: number): number | undefined {
    const now = performance.now();
    this.#typed = now - this.#typedAt > typeAhead ? key.toLowerCase() : this.#typed + key.toLowerCase();
    this.#typedAt = now;
    const all = this.tree.slice(0, this.tree.rowCount);
    const from = this.#typed.length > 1 ? Math.max(0, here) : here + 1;
    for (let step = 0; step < all.length; ++step) {
      const index = (from + step) % all.length;
      if (all[index]!.key.toLowerCase().startsWith(this.#typed)) return index;
    }
    return undefined;
  }
}

function shownValue(value: Json, expanded: boolean): string {
  if (Array.isArray(value)) return value.length === 0 ? "[]" : expanded ? `[${value.length}]` : `[${value.length}] ${preview(value, 100)}`;
  if (isContainer(value)) {
    const size = sizeOf(value);
    return size === 0 ? "{}" : expanded ? `{${size}}` : `{${size}} ${preview(value, 100)}`;
  }
  return preview(value, 240);
}

export function pathName(segments: readonly string[]): string {
  return segments.length === 0 ? "the whole state" : withEscapedControls(pointerOf(segments));
}
