/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_NARRATORIA_H
#define NARRATORIA_NARRATORIA_H
/* The whole contract. A host begins with engine.h and session.h, a plugin with plugin.h. */
#include "narratoria/asset_renderer.h"
#include "narratoria/base.h"
#include "narratoria/engine.h"
#include "narratoria/event.h"
#include "narratoria/event_sink.h"
#include "narratoria/host.h"
#include "narratoria/host_loop.h"
#include "narratoria/host_session.h"
#include "narratoria/invocation.h"
#include "narratoria/narrator.h"
#include "narratoria/plugin.h"
#include "narratoria/plugins.h"
#include "narratoria/result.h"
#include "narratoria/session.h"
#include "narratoria/status.h"
#include "narratoria/tool.h"
#include "narratoria/tool_runner.h"
#include "narratoria/ui_handler.h"
#include "narratoria/validate.h"
#endif
