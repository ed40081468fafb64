// SPDX-License-Identifier: Apache-2.0
// @vitest-environment happy-dom
import { beforeEach, expect, it } from "vitest";
import type { JsonObject } from "../session/record.ts";
import { Session } from "../session/session.ts";
import { numbered, settled } from "../session/testing.ts";
import type { ToolsView } from "./tools_view.ts";
import "./tools_view.ts";

let session: Session;
let view: ToolsView;

function take(kind: string, event: JsonObject, planId: string | null = null): void {
  session.take(numbered([{ planId, kind, event }], session.lastSeq));
}

// A turn whose plan has only a narrative.
function tell(name: string): void {
  take("prompt", { text: name });
  take("plan_started", { plan: {}, generationAttempt: 1, parentPlanId: null }, name);
  take("plan_ended", { success: true }, name);
  take("turn_ended", { outcome: "completed", generations: 1, choices: [] });
}

const all = <Kind extends HTMLElement>(selector: string): Kind[] => [...view.renderRoot.querySelectorAll<Kind>(selector)];

beforeEach(async () => {
  document.body.textContent = "";
  session = new Session((run) => run());
  session.open({ sessionId: "s", title: "T", last: 0, state: {} });
  view = document.createElement("narratoria-tools") as ToolsView;
  // The test environment has no layout.
  view.getClientRects = () => [{}] as unknown as DOMRectList;
  Object.assign(view, { session, path: [] });
  document.body.append(view);
  await settled();
});

it("says which plan continues which", async () => {
  take("prompt", { text: "look" });
  take("plan_started", { plan: { continue: true, narrative: "You look." } }, "p");
  take("plan_ended", { success: true }, "p");
  take("plan_started", { plan: {} }, "q");
  take("plan_ended", { success: false }, "q");
  take("plan_started", { plan: { narrative: "Two doors." } }, "r");
  take("plan_ended", { success: true }, "r");
  take("turn_ended", { outcome: "completed", generations: 2, choices: [] });
  await settled();
  const chips = all("section.plan").map((plan) => [...plan.querySelectorAll(".chip:not(.tone)")].map((one) => one.textContent?.trim()));
  expect(chips).toEqual([[], ["continues plan 1"], ["continues plan 1"]]);
  expect(all(".plan .none").map((one) => one.textContent)).toEqual([
    "This plan has only a narrative and runs no tools.",
    "This plan runs no tools.",
    "This plan has only a narrative and runs no tools.",
  ]);
});

it("is one tab stop; arrow keys move between turns", async () => {
  for (const name of ["one", "two", "three"]) tell(name);
  take("prompt", { text: "words alone" });
  take("turn_ended", { outcome: "completed", generations: 1, choices: [] });
  await settled();
  const stops = (): string[] => all("a.turn[tabindex='0'] .says").map((one) => one.textContent ?? "");
  expect(all("a.turn").length).toBe(3);
  expect(stops()).toEqual(["three"]);

  const press = async (key: string): Promise<void> => {
    all("a.turn[tabindex='0']")[0]!.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, composed: true }));
    await settled();
  };
  await press("ArrowDown");
  expect(stops()).toEqual(["two"]);
  await press("End");
  expect(stops()).toEqual(["one"]);
  await press("ArrowDown");
  expect(stops()).toEqual(["one"]);
  // Skips the turn without a plan, which is not a link.
  await press("Home");
  expect(stops()).toEqual(["three"]);
});
