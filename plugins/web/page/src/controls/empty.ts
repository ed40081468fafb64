// SPDX-License-Identifier: Apache-2.0
// The placeholder of an empty view, with a hint at its later contents. Its style is `.empty` in styles.ts.
import { html, type TemplateResult } from "lit";
import { type IconName, icon } from "./icons.ts";

export function emptyPlace(sign: IconName, headline: string, words: string): TemplateResult {
  return html`<div class="empty">
    ${icon(sign)}
    <h1>${headline}</h1>
    <p>${words}</p>
  </div>`;
}
