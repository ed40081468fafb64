// SPDX-License-Identifier: Apache-2.0
// The address of a view and of an item in it: #/tools/PLAN/TOOL, #/assets/SEQ (followed by /story if it was opened from
// the story), #/state/POINTER.

export const places = ["narrative", "tools", "assets", "state"] as const;
export type Place = (typeof places)[number];

export interface Route {
  place: Place;
  // The decoded parts after the place: ["PLAN", "TOOL"].
  path: string[];
}

export function readRoute(hash: string): Route {
  const [first = "", ...rest] = hash.replace(/^#?\/?/, "").split("/");
  const place = places.find((one) => one === first) ?? "narrative";
  return { place, path: place === first ? rest.filter((one) => one !== "").map(decoded) : [] };
}

// Encodes a part of a route, which may be any text, such as a tool's id with a slash, or a JSON Pointer.
export function segment(text: string): string {
  return encodeURIComponent(text);
}

export function navigate(hash: string): void {
  location.hash = hash;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
