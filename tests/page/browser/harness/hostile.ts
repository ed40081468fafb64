// SPDX-License-Identifier: Apache-2.0
// Hostile texts that are meant to break the page.

const kRun = (place: string): string => `window.__pwned='${place}'`;

export const markup = (place: string): string =>
  `</p></div></textarea></title></style></svg><img src=x onerror="${kRun(place)}"><script>${kRun(place)}</script>` +
  `<svg onload="${kRun(place)}"><a href="javascript:${kRun(place)}">go</a><iframe srcdoc="<script>parent.${kRun(place)}</script>"></iframe>`;

export const expressions = "${constructor.constructor('window.__pwned=1')()} {{constructor}} <!--lit$123456789$--> ?lit$1$ &lt;b&gt; &amp;amp;";
// Reverses the direction of all following text, unless the page isolates it: the override is never closed.
export const turned = "\u202Eyranoitces\u2066\u2067 right to left \u202D";
export const arabic = "مرحبا بك في البئر";
export const piled = `Z${"\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308".repeat(40)}algo`;
export const emoji = "👩‍👩‍👧‍👦 🏴‍☠️ 🇺🇦 👍🏿 ❤️‍🔥";
export const controls = "nul \u0000 bell \u0007 escape \u001b[31m line \u2028 paragraph \u2029 feff \ufeff del \u007f";
export const wide = "W".repeat(4000);
export const half = "half of a pair: \ud83d and \udc00";

export const all: readonly string[] = [markup("text"), expressions, turned, arabic, piled, emoji, controls, wide];

export const together = (place: string): string =>
  [markup(place), expressions, turned, arabic, piled, emoji, controls].join(" · ");

export const megabyte = (place: string): string => `${markup(place)} ${"pile of words, ".repeat(70_000)}`.slice(0, 1_000_000);
