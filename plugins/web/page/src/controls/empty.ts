// SPDX-License-Identifier: Apache-2.0
// A place where there is nothing yet, and what will be there. Its style is `.empty` in styles.ts.
import { html, type TemplateResult } from "lit";
import { type IconName, icon } from "./icons.ts";

export function emptyPlace(sign: IconName, headline: string, words: string): TemplateResult {
  return html`<div class="empty">
    ${icon(sign)}
    <h1>${headline}</h1>
    <p>${words}</p>
  </div>`;
}
