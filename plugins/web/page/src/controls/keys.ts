// SPDX-License-Identifier: Apache-2.0
// The index that a key leads to from `here` in a list that ends with `last`; undefined for other keys.
export function leadsTo(event: KeyboardEvent, here: number, last: number, page: number): number | undefined {
  if (event.altKey || event.ctrlKey || event.metaKey) return undefined;
  const moves: Record<string, number> = {
    ArrowDown: here + 1,
    ArrowUp: here - 1,
    PageDown: here + page,
    PageUp: here - page,
    Home: 0,
    End: last,
  };
  const to = moves[event.key];
  return to === undefined ? undefined : Math.max(0, Math.min(last, to));
}
