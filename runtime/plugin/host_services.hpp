// SPDX-License-Identifier: Apache-2.0
#pragma once
// The services of the host for plugins, one file for each header of the ABI.

#include "narratoria/asset_renderer.h"
#include "narratoria/context.h"
#include "narratoria/host.h"
#include "narratoria/host_http.h"
#include "narratoria/host_loop.h"
#include "narratoria/host_process.h"
#include "narratoria/host_session.h"
#include "narratoria/invocation.h"
#include "narratoria/narrator.h"

namespace narratoria::plugin {

// narratoria/host.h
extern const nar_host_log log_service;
extern const nar_host_config config_service;
extern const nar_host_thread_check thread_check_service;

// narratoria/host_session.h
extern const nar_host_state state_service;
extern const nar_host_assets assets_service;
extern const nar_host_prompt prompt_service;
extern const nar_host_turns turns_service;

// narratoria/host_loop.h
extern const nar_host_post post_service;
extern const nar_host_timer timer_service;
extern const nar_host_poll poll_service;
extern const nar_host_render render_service;
extern const nar_host_http http_service;

// narratoria/host_process.h
extern const nar_host_process process_service;

// narratoria/narrator.h
extern const nar_host_narrator narrator_service;
extern const nar_host_invoke invoke_service;

// narratoria/context.h
extern const nar_host_context context_service;

// narratoria/invocation.h
extern const nar_host_invocation invocation_service;

}  // namespace narratoria::plugin
