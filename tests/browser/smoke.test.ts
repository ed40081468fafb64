// SPDX-License-Identifier: Apache-2.0
import { expect } from "vitest";
import { launch } from "./harness/browser.ts";
import { test } from "./harness/test.ts";

test("chromium starts", async ({ stage }) => {
  const browser = await launch();
  const page = await browser.newPage();
  await page.goto("data:text/html,<button>Hi</button>");
  expect(await page.getByRole("button").textContent()).toBe("Hi");
  await browser.close();
  void stage;
});
