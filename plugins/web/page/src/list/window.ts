// SPDX-License-Identifier: Apache-2.0
// Computes the visible rows of a long list. All rows have the same height, so the position of row 100,000 is known
// without rendering the rows before it.

export interface Rows {
  // Rows [first, last) are rendered; `first` is at `top` pixels of the total `height`.
  first: number;
  last: number;
  top: number;
  height: number;
}

export interface Port {
  scrollTop: number;
  height: number;
}

// Browsers limit the height of elements to 17 to 33 million pixels. A longer list is scrolled proportionally.
export const tallest = 8_000_000;

// Pixels rendered above and below the visible part, so that quick scrolling does not show a gap.
export const margin = 240;

export function rowsIn(count: number, rowHeight: number, port: Port): Rows {
  const full = count * rowHeight;
  const height = Math.min(full, tallest);
  const offset = offsetOf(full, port);
  const seenFirst = Math.floor(offset / rowHeight);
  const more = Math.ceil(margin / rowHeight);
  const first = Math.max(0, Math.min(seenFirst - more, count));
  const last = Math.min(count, Math.ceil((offset + port.height) / rowHeight) + more);
  return { first, last: Math.max(first, last), top: first * rowHeight - offset + port.scrollTop, height };
}

// The scroll position that makes the row visible; undefined if it is visible already.
export function scrollFor(index: number, count: number, rowHeight: number, port: Port): number | undefined {
  const full = count * rowHeight;
  const offset = offsetOf(full, port);
  const top = index * rowHeight;
  let wanted = offset;
  if (top < offset) wanted = top;
  else if (top + rowHeight > offset + port.height) wanted = top + rowHeight - port.height;
  if (wanted === offset) return undefined;
  return full <= tallest ? wanted : (wanted * scrollRange(tallest, port)) / scrollRange(full, port);
}

function offsetOf(full: number, port: Port): number {
  const scrolled = Math.max(0, port.scrollTop);
  if (full <= tallest) return Math.min(scrolled, Math.max(0, full - port.height));
  return Math.min(1, scrolled / scrollRange(tallest, port)) * scrollRange(full, port);
}

function scrollRange(height: number, port: Port): number {
  return Math.max(1, height - port.height);
}
