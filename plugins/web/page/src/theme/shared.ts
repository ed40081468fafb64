// SPDX-License-Identifier: Apache-2.0
// The base styles: common ones, and those of the frame and the narrative.
import { css } from "lit";

export const common = css`
  *,
  *::before,
  *::after {
    box-sizing: border-box;
  }

  [hidden] {
    display: none !important;
  }

  /* Only for screen readers. */
  .unseen {
    position: absolute;
    width: 1px;
    height: 1px;
    margin: -1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
`;

export const shared = [
  common,
  css`
    :focus-visible,
    mdui-button[focus-visible],
    mdui-button-icon[focus-visible] {
      outline: 0.1875rem solid rgb(var(--mdui-color-primary));
      outline-offset: 0.125rem;
    }

    a {
      color: rgb(var(--mdui-color-primary));
    }

    .icon {
      display: block;
      flex: none;
      width: 1em;
      height: 1em;
      fill: currentColor;
    }

    /* mdui's buttons have a fixed height; a label may need several lines. */
    mdui-button {
      height: auto;
      min-height: 2.5rem;
      max-width: 100%;
      border-radius: 1.25rem;
    }

    mdui-button::part(button) {
      height: auto;
      min-height: 2.5rem;
      padding-block: 0.5rem;
      white-space: normal;
    }

    mdui-button::part(label) {
      min-width: 0;
      overflow-wrap: anywhere;
    }

    @media (forced-colors: active) {
      mdui-button,
      mdui-button-icon {
        border: 0.0625rem solid ButtonBorder;
      }
    }
  `,
];
