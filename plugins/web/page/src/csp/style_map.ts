// SPDX-License-Identifier: Apache-2.0
// A replacement for Lit's styleMap, whose first rendering writes the `style` attribute, which the page's
// Content-Security-Policy forbids. The build substitutes it everywhere, including mdui's components.
import { noChange } from "lit";
import { type AttributePart, Directive, type PartInfo, PartType, directive } from "lit/directive.js";

export type StyleInfo = Record<string, string | number | null | undefined>;

class StyleMap extends Directive {
  #before = new Set<string>();

  constructor(part: PartInfo) {
    super(part);
    if (part.type !== PartType.ATTRIBUTE || part.name !== "style") throw new Error("styleMap is for style attributes");
  }

  override render(_info: Readonly<StyleInfo>): unknown {
    return noChange;
  }

  override update(part: AttributePart, [info]: [Readonly<StyleInfo>]): unknown {
    const style = (part.element as HTMLElement).style;
    for (const name of this.#before) {
      if (info[name] == null) style.removeProperty(dashed(name));
    }
    this.#before.clear();
    for (const [name, value] of Object.entries(info)) {
      if (value == null) continue;
      this.#before.add(name);
      const [text, priority] = String(value).split(/\s*!\s*/);
      style.setProperty(dashed(name), text ?? "", priority ?? "");
    }
    return noChange;
  }
}

function dashed(name: string): string {
  return name.includes("-") ? name : name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

export const styleMap = directive(StyleMap);
