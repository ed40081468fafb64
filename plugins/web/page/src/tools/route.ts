// SPDX-License-Identifier: Apache-2.0
import { segment } from "../shell/route.ts";

export function planRoute(planKey: string): string {
  return `#/tools/${segment(planKey)}`;
}

// A tool's id may have a megabyte. Addresses of long ids are cached, not created for each frame.
const long = 500;
const recent: { planKey: string; toolId: string; route: string }[] = [];

export function toolRoute(planKey: string, toolId: string): string {
  if (planKey.length + toolId.length < long) return `#/tools/${segment(planKey)}/${segment(toolId)}`;
  const known = recent.find((one) => one.toolId === toolId && one.planKey === planKey);
  if (known !== undefined) return known.route;
  const route = `#/tools/${segment(planKey)}/${segment(toolId)}`;
  recent.unshift({ planKey, toolId, route });
  if (recent.length > 64) recent.pop();
  return route;
}
