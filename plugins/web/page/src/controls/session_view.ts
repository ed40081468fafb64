// SPDX-License-Identifier: Apache-2.0
// Base class of a view of the session: renders when the session changes, at most once per frame, and only while
// visible.
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

  // The view's size has changed, or it is visible again.
  protected resized(): void {
    if (!this.#stale) return;
    this.#stale = false;
    this.requestUpdate();
  }

  #changed(): void {
    const isSeen = this.isConnected && this.getClientRects().length > 0;
    if (isSeen) this.requestUpdate();
    else this.#stale = true;
  }

  #listen(): void {
    this.#ends?.();
    this.#ends = this.isConnected ? this.session?.subscribe(() => this.#changed()) : undefined;
    this.requestUpdate();
  }
}
