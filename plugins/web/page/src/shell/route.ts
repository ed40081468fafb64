// SPDX-License-Identifier: Apache-2.0
// The four places, and what stands behind them, in the address: #/tools/PLAN/TOOL, #/assets/SEQ (with /story behind it,
// where the story opened it), #/state/POINTER.

export const places = ["narrative", "tools", "assets", "state"] as const;
export type Place = (typeof places)[number];

export interface Route {
  place: Place;
  // What follows the place, decoded: ["PLAN", "TOOL"].
  path: string[];
}

export function readRoute(hash: string): Route {
  const [first = "", ...rest] = hash.replace(/^#?\/?/, "").split("/");
  const place = places.find((one) => one === first) ?? "narrative";
  return { place, path: place === first ? rest.filter((one) => one !== "").map(decoded) : [] };
}

// A part of a route that may hold anything: a tool's id with a slash, a JSON Pointer.
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
