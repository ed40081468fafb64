// SPDX-License-Identifier: Apache-2.0
// RFC 7396 as the runtime merges: objects member by member, null removes, everything else replaces. What was given
// is never changed; what did not change is shared between the old state and the new one, so that two states are
// compared by identity.
import { isObject, type Json, type JsonObject } from "../session/record.ts";

export interface StatePatch {
  patch: JsonObject;
  // Merged after the patch: a null in it is a value.
  nulls?: JsonObject | undefined;
}

// Several patches merged one after the other copy each object that they touch once: what a Merger made itself, it
// may change in place. What it returns is final once the Merger is dropped or sealed.
export class Merger {
  // Members copied so far: what the result costs beyond the state that it came from.
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

  seal(): void {
    this.#own.clear();
  }

  // Without a prototype: "__proto__" is a key like any other.
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
