// SPDX-License-Identifier: Apache-2.0
import "mdui/mdui.css";
import "virtual:scheme.css";
import "./theme/page.css";
import "./shell/app.ts";

import.meta.glob(
  ["./tools/tools-view.ts", "./assets/assets-view.ts", "./assets/asset-figure.ts", "./state/state-view.ts"],
  { eager: true },
);
