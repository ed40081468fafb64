// SPDX-License-Identifier: Apache-2.0
import "mdui/mdui.css";
import "virtual:scheme.css";
import "./theme/page.css";
import "./assets/assets-view.ts";
import "./shell/app.ts";
import "./state/state-view.ts";
import "./tools/tools-view.ts";
