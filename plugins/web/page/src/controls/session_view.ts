// SPDX-License-Identifier: Apache-2.0
// A view of the session: drawn again when it changes, at most once a frame, and only while it is seen.
import { LitElement, type PropertyValues } from "lit";
import { property } from "lit/decorators.js";
import type { Session } from "../session/session.ts";

export abstract class SessionView extends LitElement {
  @property({ attribute: false }) session: Session | undefined = undefined;
  @property({ attribute: false }) path: string[] = [];

  #ends: (() => void) | undefined;
  #stale = false;
  #sizes: ResizeObserver | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.#sizes = new ResizeObserver(() => this.resized());
    this.#sizes.observe(this);
    this.#listen();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#sizes?.disconnect();
    this.#ends?.();
    this.#ends = undefined;
  }

  protected override willUpdate(changed: PropertyValues): void {
    if (changed.has("session")) this.#listen();
  }

  // Whether the view is on screen at all: another place may be shown instead of it.
  protected get isSeen(): boolean {
    return this.isConnected && this.getClientRects().length > 0;
  }

  // The view has another size, or is seen again.
  protected resized(): void {
    if (!this.#stale) return;
    this.#stale = false;
    this.requestUpdate();
  }

  // The session changed.
  protected changed(): void {
    if (this.isSeen) this.requestUpdate();
    else this.#stale = true;
  }

  #listen(): void {
    this.#ends?.();
    this.#ends = this.isConnected ? this.session?.subscribe(() => this.changed()) : undefined;
    this.requestUpdate();
  }
}
