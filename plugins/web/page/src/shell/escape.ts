// SPDX-License-Identifier: Apache-2.0
// Decides which key presses the page handles. Escape cancels the running turn in all views, unless it closes or clears
// something else. Letters and digits are shortcuts unless the focus is in a text field.

export function isForTheTurn(event: KeyboardEvent): boolean {
  if (event.key !== "Escape" || event.defaultPrevented || event.isComposing || event.repeat) return false;
  if ((document.fullscreenElement ?? null) !== null) return false;
  // A field with text is cleared first.
  const field = event.composedPath()[0];
  if (field instanceof HTMLInputElement && field.value !== "") return false;
  return !hasOpenDialog(document);
}

// Searches all shadow roots, because the focus need not be in the dialog: a click next to its buttons removes it.
function hasOpenDialog(root: ParentNode): boolean {
  if (root.querySelector("dialog[open]") !== null) return true;
  for (const one of root.querySelectorAll("*")) {
    if (one.shadowRoot !== null && hasOpenDialog(one.shadowRoot)) return true;
  }
  return false;
}

// True if the key press goes into a text field.
export function isWriting(event: KeyboardEvent): boolean {
  const field = event.composedPath()[0];
  return field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement || field instanceof HTMLSelectElement || (field instanceof HTMLElement && field.isContentEditable);
}
