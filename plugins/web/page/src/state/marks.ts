// SPDX-License-Identifier: Apache-2.0
// The paths changed by a range of patches, as a tree, for a quick lookup for each visible row.
import { isObject, type JsonObject } from "../session/record.ts";

export class Mark {
  // The newest patch that set or removed this path itself.
  own: number | undefined = undefined;
  // The newest patch that changed something inside.
  inside: number | undefined = undefined;
  readonly children = new Map<string, Mark>();
}

// The limit of marked paths: highlighting a million paths would not help.
const most = 20_000;

export class Marks {
  readonly root = new Mark();
  #room = most;

  // Patches must be added from the oldest to the newest.
  add(patch: JsonObject, index: number): void {
    this.#add(this.root, patch, index);
  }

  at(segments: readonly string[]): Mark | undefined {
    let mark: Mark | undefined = this.root;
    for (const one of segments) {
      // Everything inside a value that was replaced as a whole is as new as that value.
      if (mark.own !== undefined && mark.children.size === 0) return mark;
      mark = mark.children.get(one);
      if (mark === undefined) return undefined;
    }
    return mark;
  }

  #add(mark: Mark, patch: JsonObject, index: number): void {
    for (const key of Object.keys(patch)) {
      let child = mark.children.get(key);
      if (child === undefined) {
        if (this.#room-- <= 0) break;
        child = new Mark();
        mark.children.set(key, child);
      }
      const value = patch[key]!;
      if (isObject(value)) {
        this.#add(child, value, index);
        if (Object.keys(value).length === 0) child.own = index;
      } else {
        child.own = index;
        child.children.clear();
        child.inside = undefined;
      }
    }
    mark.inside = index;
  }
}
