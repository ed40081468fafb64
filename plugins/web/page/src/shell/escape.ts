// SPDX-License-Identifier: Apache-2.0
// Which keys are for the page: Escape stops what runs, wherever the player is, unless it has something nearer to do;
// letters and digits do their work where nobody writes.

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

// Whether a key goes into a field. One that is empty may be left out: no words begin with what has a use of its own.
export function isWriting(event: KeyboardEvent, inEmpty: boolean): boolean {
  const field = event.composedPath()[0];
  if (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement) return inEmpty || field.value !== "";
  return field instanceof HTMLSelectElement || (field instanceof HTMLElement && field.isContentEditable);
}
