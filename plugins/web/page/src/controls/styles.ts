// SPDX-License-Identifier: Apache-2.0
// Styles common to the views of tools, assets and state.
import { css } from "lit";
import { common } from "../theme/shared.ts";

const views = css`
  :host {
    display: block;
    box-sizing: border-box;
    color: rgb(var(--mdui-color-on-surface));
    font: 400 0.875rem/1.43 var(--font-page, system-ui, sans-serif);
    --good: light-dark(#1a6b3c, #86d6a0);
    --good-container: light-dark(#c6efd2, #16402a);
    --caution: light-dark(#7a5600, #f0c15f);
    --caution-container: light-dark(#ffe2a8, #4a3608);
    --bad: rgb(var(--mdui-color-error));
    --quiet: rgb(var(--mdui-color-on-surface-variant));
    --line: rgb(var(--mdui-color-outline-variant));
    --accent: rgb(var(--mdui-color-primary));
    --code: var(--font-code, ui-monospace, monospace);
  }
  h1,
  h2,
  h3,
  p,
  ul,
  ol,
  dl,
  dd,
  figure,
  pre {
    margin: 0;
    padding: 0;
  }
  h1,
  h2,
  h3 {
    font-weight: 500;
  }
  ul,
  ol {
    list-style: none;
  }
  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }
  a {
    color: var(--accent);
    text-underline-offset: 0.2em;
  }
  .icon {
    width: 1.25em;
    height: 1.25em;
    fill: currentColor;
    flex: none;
    display: block;
  }
  .spinner {
    animation: spin 1.1s linear infinite;
  }
  @keyframes spin {
    to {
      transform: rotate(1turn);
    }
  }
  .clipped {
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
    min-width: 0;
  }
  .number {
    font-variant-numeric: tabular-nums;
  }
  button {
    font: inherit;
    color: inherit;
    background: none;
    border: 0;
    padding: 0;
    cursor: pointer;
  }
  button:disabled {
    opacity: 0.38;
    cursor: default;
  }
  .button {
    display: inline-flex;
    align-items: center;
    justify-content: center;
    gap: 0.5rem;
    min-height: 2.25rem;
    padding: 0 1rem;
    border-radius: 1.125rem;
    font-weight: 500;
    text-decoration: none;
    color: rgb(var(--mdui-color-on-secondary-container));
    background: rgb(var(--mdui-color-secondary-container));
    transition: box-shadow 120ms;
  }
  .button.plain {
    color: var(--accent);
    background: none;
    padding: 0 0.75rem;
  }
  .icon-button {
    display: inline-grid;
    place-items: center;
    width: 2.5rem;
    height: 2.5rem;
    border-radius: 50%;
    color: var(--quiet);
    font-size: 1.05rem;
    flex: none;
  }
  .button:not(:disabled):hover,
  .icon-button:not(:disabled):hover,
  .chip[aria-pressed]:hover {
    box-shadow: inset 0 0 0 100vmax rgba(var(--mdui-color-on-surface), 0.08);
  }
  .chip {
    display: inline-flex;
    align-items: center;
    gap: 0.375rem;
    max-width: 100%;
    min-height: 1.75rem;
    padding: 0 0.625rem;
    border-radius: 0.5rem;
    border: 1px solid var(--line);
    color: var(--quiet);
    font-size: 0.8125rem;
    font-weight: 500;
    line-height: 1.2;
    text-decoration: none;
  }
  button.chip {
    min-height: 2rem;
  }
  .chip[aria-pressed="true"] {
    border-color: transparent;
  }
  .chip[aria-pressed="true"],
  .segments button[aria-pressed="true"] {
    color: rgb(var(--mdui-color-on-secondary-container));
    background: rgb(var(--mdui-color-secondary-container));
  }
  .chips {
    display: flex;
    flex-wrap: wrap;
    gap: 0.5rem;
    align-items: center;
  }
  /* Buttons of which one is pressed, side by side. */
  .segments {
    display: inline-flex;
    border: 1px solid rgb(var(--mdui-color-outline));
    border-radius: 1.125rem;
    overflow: hidden;
  }
  .segments button {
    min-height: 2.125rem;
    padding: 0 0.75rem;
  }
  .segments button + button {
    border-inline-start: 1px solid rgb(var(--mdui-color-outline));
  }
  .segments button:focus-visible {
    outline-offset: -3px;
  }
  .completed {
    --tone: var(--good);
    --tone-container: var(--good-container);
  }
  .running,
  .retrying {
    --tone: var(--accent);
    --tone-container: rgb(var(--mdui-color-primary-container));
  }
  .retrying,
  .mixed,
  .warn {
    --tone: var(--caution);
    --tone-container: var(--caution-container);
  }
  .failed,
  .timeout,
  .error,
  .refused {
    --tone: var(--bad);
    --tone-container: rgb(var(--mdui-color-error-container));
  }
  .pending,
  .skipped,
  .stopped,
  .narrated,
  .debug,
  .info {
    --tone: var(--quiet);
    --tone-container: rgb(var(--mdui-color-surface-container-highest));
  }
  .tone {
    color: var(--tone);
  }
  .chip.tone {
    border-color: currentColor;
  }
  .card {
    border-radius: 1rem;
    background: rgb(var(--mdui-color-surface-container-low));
    border: 1px solid rgba(var(--mdui-color-outline-variant), 0.5);
  }
  .empty {
    display: grid;
    place-items: center;
    align-content: center;
    gap: 0.75rem;
    min-height: 16rem;
    padding: 2rem;
    text-align: center;
    color: var(--quiet);
    font-size: 1rem;
  }
  .empty h1 {
    font-size: 1.25rem;
    color: rgb(var(--mdui-color-on-surface));
  }
  .empty p {
    max-width: 26rem;
  }
  .empty .icon {
    width: 3rem;
    height: 3rem;
    color: rgb(var(--mdui-color-outline));
  }
  code,
  pre,
  .code {
    font-family: var(--code);
    font-size: 0.8125rem;
  }
  @media (prefers-reduced-motion: reduce) {
    *,
    *::before,
    *::after {
      animation-duration: 0.01ms !important;
      animation-iteration-count: 1 !important;
      transition-duration: 0.01ms !important;
      scroll-behavior: auto !important;
    }
  }
  @media (forced-colors: active) {
    :host {
      --good: CanvasText;
      --good-container: Canvas;
      --caution: CanvasText;
      --caution-container: Canvas;
      --bad: CanvasText;
      --quiet: CanvasText;
      --line: CanvasText;
      --accent: LinkText;
    }
    .button,
    .chip,
    .icon-button,
    .card {
      border: 1px solid ButtonBorder;
    }
    [aria-pressed="true"],
    [aria-selected="true"],
    .turn[aria-current] {
      background: Highlight !important;
      color: HighlightText !important;
      forced-color-adjust: none;
    }
  }
`;

export const base = [common, views];
