// SPDX-License-Identifier: Apache-2.0
// Escape stops what runs, wherever the player is, unless it has something nearer to do.

export function isForTheTurn(event: KeyboardEvent): boolean {
  if (event.key !== "Escape" || event.defaultPrevented || event.isComposing || event.repeat) return false;
  if ((document.fullscreenElement ?? null) !== null) return false;
  // A field that holds words is emptied first.
  const field = event.composedPath()[0];
  if (field instanceof HTMLInputElement && field.value !== "") return false;
  return !hasOpenDialog(document);
}

// The focus need not be inside of it: who clicks beside its buttons has it nowhere.
function hasOpenDialog(root: ParentNode): boolean {
  if (root.querySelector("dialog[open]") !== null) return true;
  for (const one of root.querySelectorAll("*")) {
    if (one.shadowRoot !== null && hasOpenDialog(one.shadowRoot)) return true;
  }
  return false;
}
