// SPDX-License-Identifier: Apache-2.0
import type { Outcome } from "./model.ts";

// True for the outcomes that the runtime gives a turn.
export function isOutcome(text: string | undefined): text is Outcome {
  return text === "completed" || text === "fallback" || text === "cancelled" || text === "timeout";
}
