/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_NARRATORIA_H
#define NARRATORIA_NARRATORIA_H
/* Includes the whole ABI. Hosts start reading at engine.h and session.h, plugins at plugin.h. */
#include "narratoria/asset_renderer.h"
#include "narratoria/base.h"
#include "narratoria/context.h"
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
#include "narratoria/record.h"
#include "narratoria/result.h"
#include "narratoria/script.h"
#include "narratoria/session.h"
#include "narratoria/status.h"
#include "narratoria/store.h"
#include "narratoria/tool.h"
#include "narratoria/tool_runner.h"
#include "narratoria/tools.h"
#include "narratoria/ui_handler.h"
#include "narratoria/validate.h"
#endif
