// SPDX-License-Identifier: Apache-2.0
// Removes the token from the address. Must be the page's first import, before other modules read the address.
import { announceArrival } from "./connection_share.ts";
import { keepToken, keptToken, takeToken } from "./connection_token.ts";

keepToken(takeToken() ?? keptToken());
// The entrance's marker of an attempt (entrance.ts), which has succeeded.
sessionStorage.removeItem("narratoria-tried");
announceArrival();

addEventListener("pagehide", () => keepToken(undefined));

// An address with a new token was opened in this window. The browser does not load the page for a new fragment, so do
// it here.
addEventListener("hashchange", () => {
  const token = takeToken();
  if (token === undefined) return;
  keepToken(token);
  location.reload();
});
