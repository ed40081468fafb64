// SPDX-License-Identifier: Apache-2.0
// A JSON value as the rows of a tree. Only expanded values have nodes. Each node stores the number of rows of its
// subtree, so row 50,000 is found by skipping siblings. When the value changes, identical parts are not visited, and
// expanded nodes stay expanded.
import type { Json } from "../session/record.ts";
import { pointerPart } from "./pointer.ts";

export class TreeNode {
  children: TreeNode[] | undefined = undefined;
  // The number of rows of the subtree, including this one.
  rows = 1;
  // The index among its siblings.
  place = 0;

  constructor(
    readonly parent: TreeNode | undefined,
    readonly key: string,
    public value: Json,
    readonly depth: number,
  ) {}

  get expanded(): boolean {
    return this.children !== undefined;
  }

  get pointer(): string {
    return this.parent === undefined ? "" : this.parent.pointer + pointerPart(this.key);
  }

  get segments(): string[] {
    const found: string[] = [];
    for (let node: TreeNode = this; node.parent !== undefined; node = node.parent) found.unshift(node.key);
    return found;
  }
}

export function isContainer(value: Json | undefined): value is Json[] | { [key: string]: Json } {
  return typeof value === "object" && value !== null;
}

const sizes = new WeakMap<object, number>();

export function sizeOf(value: Json[] | { [key: string]: Json }): number {
  if (Array.isArray(value)) return value.length;
  let size = sizes.get(value);
  if (size === undefined) {
    size = Object.keys(value).length;
    sizes.set(value, size);
  }
  return size;
}

export class Tree {
  // The value itself; it has no row.
  readonly root: TreeNode;
  // True once the reader has expanded or collapsed a node.
  isArranged = false;
  // Expanded nodes by pointer, including removed ones that may come back.
  readonly #expanded = new Set<string>();

  constructor(value: Json = {}) {
    this.root = new TreeNode(undefined, "", value, -1);
    this.#fill(this.root);
  }

  get rowCount(): number {
    return this.root.rows - 1;
  }

  update(value: Json): void {
    this.#update(this.root, value);
    if (this.root.children === undefined) this.#fill(this.root);
  }

  row(index: number): TreeNode | undefined {
    if (index < 0 || index >= this.rowCount) return undefined;
    let node = this.root;
    // `left` rows of `node` precede the wanted row; the first is the node's own row.
    let left = index + 1;
    while (left > 0) {
      --left;
      let next: TreeNode | undefined;
      for (const child of node.children ?? []) {
        if (left < child.rows) {
          next = child;
          break;
        }
        left -= child.rows;
      }
      if (next === undefined) return undefined;
      node = next;
    }
    return node;
  }

  indexOf(node: TreeNode): number {
    let index = -1;
    for (let one = node; one.parent !== undefined; one = one.parent) {
      ++index;
      for (const sibling of one.parent.children ?? []) {
        if (sibling === one) break;
        index += sibling.rows;
      }
    }
    return index;
  }

  // Rows [first, last), in order.
  slice(first: number, last: number): TreeNode[] {
    const found: TreeNode[] = [];
    const start = this.row(first);
    if (start === undefined || last <= first) return found;
    // For each level down to the row: the siblings and the index among them.
    const way: { siblings: TreeNode[]; place: number }[] = [];
    for (let one = start; one.parent !== undefined; one = one.parent) {
      const siblings = one.parent.children ?? [];
      way.unshift({ siblings, place: one.place });
    }
    while (way.length > 0 && found.length < last - first) {
      const level = way.at(-1)!;
      const node = level.siblings[level.place];
      if (node === undefined) {
        way.pop();
        const above = way.at(-1);
        if (above !== undefined) ++above.place;
        continue;
      }
      found.push(node);
      if (node.children !== undefined && node.children.length > 0) way.push({ siblings: node.children, place: 0 });
      else ++level.place;
    }
    return found;
  }

  // The node at the path, if its ancestors are expanded.
  find(segments: readonly string[], expands = false): TreeNode | undefined {
    let node: TreeNode | undefined = this.root;
    for (const one of segments) {
      if (expands) this.expand(node);
      node = node.children?.find((child) => child.key === one);
      if (node === undefined) return undefined;
    }
    return node;
  }

  // Expands the ancestors of the path and returns its node; undefined if the path does not exist.
  reveal(segments: readonly string[]): TreeNode | undefined {
    return this.find(segments, true);
  }

  expand(node: TreeNode): void {
    if (node.expanded || !isContainer(node.value)) return;
    if (node.parent !== undefined) this.#expanded.add(node.pointer);
    this.#fill(node);
  }

  collapse(node: TreeNode): void {
    if (node.parent === undefined || !node.expanded) return;
    this.#expanded.delete(node.pointer);
    node.children = undefined;
    grow(node, 1 - node.rows);
  }

  expandSiblings(node: TreeNode): void {
    for (const one of node.parent?.children ?? []) this.expand(one);
  }

  // Expands breadth first, up to about `most` rows. Returns true if everything is expanded.
  expandAll(most: number): boolean {
    let level: TreeNode[] = [this.root];
    while (level.length > 0) {
      const next: TreeNode[] = [];
      for (const node of level) {
        if (!isContainer(node.value)) continue;
        if (!node.expanded && this.rowCount + sizeOf(node.value) > most) return false;
        this.expand(node);
        for (const child of node.children ?? []) next.push(child);
      }
      level = next;
    }
    return true;
  }

  collapseAll(): void {
    this.#expanded.clear();
    for (const node of this.root.children ?? []) this.collapse(node);
  }

  #fill(node: TreeNode): void {
    const made = this.#childrenOf(node, undefined);
    node.children = made;
    grow(node, made.reduce((sum, one) => sum + one.rows, 0));
  }

  #childrenOf(node: TreeNode, before: TreeNode[] | undefined): TreeNode[] {
    const value = node.value;
    if (!isContainer(value)) return [];
    const keys = Array.isArray(value) ? Array.from(value.keys(), String) : Object.keys(value);
    const members = value as { [key: string]: Json };
    let byKey: Map<string, TreeNode> | undefined;
    const prefix = this.#expanded.size > 0 ? node.pointer : "";
    return keys.map((key, index) => {
      let child = before?.[index];
      if (before !== undefined && child?.key !== key) {
        byKey ??= new Map(before.map((one) => [one.key, one]));
        child = byKey.get(key);
      }
      const inside = members[key]!;
      if (child !== undefined) {
        child.place = index;
        this.#update(child, inside);
        return child;
      }
      const made = new TreeNode(node, key, inside, node.depth + 1);
      made.place = index;
      if (isContainer(inside) && this.#expanded.size > 0 && this.#expanded.has(prefix + pointerPart(key))) {
        made.children = this.#childrenOf(made, undefined);
        made.rows += made.children.reduce((sum, one) => sum + one.rows, 0);
      }
      return made;
    });
  }

  // Does not update the row counts of the ancestors; the caller must.
  #update(node: TreeNode, value: Json): void {
    if (node.value === value) return;
    const wasContainer = isContainer(node.value);
    node.value = value;
    if (!isContainer(value)) {
      node.children = undefined;
      node.rows = 1;
    } else if (node.children !== undefined || (!wasContainer && this.#expanded.has(node.pointer))) {
      node.children = this.#childrenOf(node, node.children);
      node.rows = node.children.reduce((sum, one) => sum + one.rows, 1);
    }
  }
}

function grow(node: TreeNode, by: number): void {
  for (let one: TreeNode | undefined = node; one !== undefined; one = one.parent) one.rows += by;
}
