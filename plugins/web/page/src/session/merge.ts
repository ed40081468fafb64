// SPDX-License-Identifier: Apache-2.0
// Merges patches as the runtime does (RFC 7396): objects member by member, null removes, everything else replaces.
// Arguments are never modified. The old and the new state share unchanged parts, so states can be compared by identity.
import { isObject, type Json, type JsonObject } from "./record.ts";

export interface StatePatch {
  patch: JsonObject;
  // Merged after the patch. A null in it is a value.
  nulls?: JsonObject | undefined;
}

// Merges several patches and copies each changed object only once, because a Merger may modify its own copies. Results
// may still change until the Merger is dropped.
export class Merger {
  // The number of members copied so far: the cost of the result in addition to the original state.
  copied = 0;
  #own = new Set<JsonObject>();

  apply(target: JsonObject, { patch, nulls }: StatePatch): JsonObject {
    const out = this.#merge(target, patch, false);
    return nulls === undefined ? out : this.#merge(out, nulls, true);
  }

  #merge(target: JsonObject, patch: JsonObject, keepsNulls: boolean): JsonObject {
    let out = target;
    for (const key of Object.keys(patch)) {
      const value = patch[key]!;
      const old = Object.hasOwn(out, key) ? out[key] : undefined;
      if (value === null && !keepsNulls) {
        if (old === undefined) continue;
        out = this.#writable(out);
        delete out[key];
        continue;
      }
      const next: Json = isObject(value) ? this.#merge(isObject(old) ? old : this.#empty(), value, keepsNulls) : value;
      if (next === old) continue;
      out = this.#writable(out);
      out[key] = next;
    }
    return out;
  }

  // Without a prototype, so that "__proto__" is an ordinary key.
  #empty(): JsonObject {
    const made = Object.create(null) as JsonObject;
    this.#own.add(made);
    return made;
  }

  #writable(object: JsonObject): JsonObject {
    if (this.#own.has(object)) return object;
    const made = this.#empty();
    for (const key of Object.keys(object)) made[key] = object[key]!;
    this.copied += Object.keys(object).length;
    return made;
  }
}

export function merge(target: JsonObject, patch: JsonObject): JsonObject {
  return new Merger().apply(target, { patch });
}

// Returns the patch that turns `before` into `after`.
export function difference(before: JsonObject, after: JsonObject): StatePatch {
  // Without a prototype, so that "__proto__" is an ordinary key.
  const patch = Object.create(null) as JsonObject;
  const nulls = Object.create(null) as JsonObject;
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) patch[key] = null;
  for (const key of Object.keys(after)) {
    const value = after[key]!;
    const old = Object.hasOwn(before, key) ? before[key]! : undefined;
    if (isObject(value)) {
      const inner = difference(isObject(old) ? old : {}, value);
      if (isObject(old) && Object.keys(inner.patch).length === 0) continue;
      patch[key] = inner.patch;
      if (inner.nulls !== undefined) nulls[key] = inner.nulls;
    } else if (JSON.stringify(old) !== JSON.stringify(value)) {
      patch[key] = value;
      if (value === null) nulls[key] = null;
    }
  }
  return { patch, nulls: Object.keys(nulls).length === 0 ? undefined : nulls };
}
