// SPDX-License-Identifier: Apache-2.0
#pragma once
// The services of the host for plugins, one file for each header of the ABI.

#include "narratoria/context.h"
#include "narratoria/host.h"
#include "narratoria/host_loop.h"
#include "narratoria/host_process.h"
#include "narratoria/host_session.h"
#include "narratoria/invocation.h"
#include "narratoria/narrator.h"

namespace narratoria::plugin {

// narratoria/host.h
extern const nar_host_log kLog;
extern const nar_host_config kConfig;
extern const nar_host_thread_check kThreadCheck;

// narratoria/host_session.h
extern const nar_host_state kState;
extern const nar_host_assets kAssets;
extern const nar_host_prompt kPrompt;

// narratoria/host_loop.h
extern const nar_host_post kPost;
extern const nar_host_timer kTimer;
extern const nar_host_poll kPoll;

// narratoria/host_process.h
extern const nar_host_process kProcess;

// narratoria/narrator.h
extern const nar_host_narrator kNarrator;
extern const nar_host_invoke kInvoke;

// narratoria/context.h
extern const nar_host_context kContext;

// narratoria/invocation.h
extern const nar_host_invocation kInvocation;

}  // namespace narratoria::plugin
