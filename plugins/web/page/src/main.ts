// SPDX-License-Identifier: Apache-2.0
import "./connection_arrival.ts";
import "mdui/mdui.css";
import "virtual:scheme.css";
import "./theme/page.css";
import "./assets/assets_view.ts";
import "./shell/app.ts";
import "./state/state_view.ts";
import "./tools/tools_view.ts";
