// SPDX-License-Identifier: Apache-2.0
// The first thing the page does, before anything reads its address: it takes the token out of it.
import { keepToken, keptToken, takeToken } from "./connection_token.ts";

keepToken(takeToken() ?? keptToken());
// The entrance counts its tries by it (entrance.ts); this one succeeded.
sessionStorage.removeItem("narratoria-tried");

addEventListener("pagehide", () => keepToken(undefined));

// The address of another game, opened in this window: the browser loads nothing for a fragment.
addEventListener("hashchange", () => {
  const token = takeToken();
  if (token === undefined) return;
  keepToken(token);
  location.reload();
});
