// SPDX-License-Identifier: Apache-2.0
import { segment } from "../shell/route.ts";

export function planRoute(planKey: string): string {
  return `#/tools/${segment(planKey)}`;
}

export function toolRoute(planKey: string, toolId: string): string {
  return `#/tools/${segment(planKey)}/${segment(toolId)}`;
}
