// SPDX-License-Identifier: Apache-2.0
// Which rows of a long list stand in the part that is seen. All rows have one height: the place of row 100,000 is
// known without having seen those before it.

export interface Rows {
  // Rows [first, last) are drawn, `first` at `top` pixels of `height` in all.
  first: number;
  last: number;
  top: number;
  height: number;
}

export interface Port {
  scrollTop: number;
  height: number;
}

// Browsers stop at some 17 to 33 million pixels; a longer list is scrolled through in proportion.
export const tallest = 8_000_000;

// Pixels drawn above and below what is seen, so that a quick scroll shows rows and no gap.
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

// Where to scroll so that the row is seen; undefined where it is seen already.
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
