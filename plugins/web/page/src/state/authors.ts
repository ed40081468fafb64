// SPDX-License-Identifier: Apache-2.0
// The author of a patch, as text.
import type { Patch } from "../session/session.ts";
import { shortened } from "../text/shorten.ts";
import { withEscapedControls } from "./inspect.ts";

export function authorOf(patch: Patch): string {
  if (patch.isMove === true) return "going back";
  if (patch.by === "") return "the host";
  if (patch.by !== undefined) return shortened(withEscapedControls(patch.by), 60);
  return patch.toolId === undefined ? "a tool" : shortened(withEscapedControls(patch.toolId), 60);
}
