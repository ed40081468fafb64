/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole public API in one shared object with debug information, for abidw and abidiff: a
 * function for each struct, a pointer for each function. It is never run. abi_gate.sh reports a
 * missing one.
 */
#include "narratoria/asset_renderer.h"
#include "narratoria/base.h"
#include "narratoria/context.h"
#include "narratoria/engine.h"
#include "narratoria/event.h"
#include "narratoria/event_sink.h"
#include "narratoria/host.h"
#include "narratoria/host_loop.h"
#include "narratoria/host_process.h"
#include "narratoria/host_session.h"
#include "narratoria/invocation.h"
#include "narratoria/narrator.h"
#include "narratoria/narratoria.h"
#include "narratoria/plugin.h"
#include "narratoria/plugins.h"
#include "narratoria/record.h"
#include "narratoria/result.h"
#include "narratoria/session.h"
#include "narratoria/status.h"
#include "narratoria/store.h"
#include "narratoria/tool.h"
#include "narratoria/tool_runner.h"
#include "narratoria/tools.h"
#include "narratoria/ui_handler.h"
#include "narratoria/validate.h"

#define STRUCT(type)                                \
    NAR_API void probe_##type(const type *content); \
    void probe_##type(const type *content) { (void)content; }
#define FUNCTION(name) NAR_API __typeof__(name) *probe_##name;

STRUCT(nar_asset)
STRUCT(nar_asset_renderer_extension)
STRUCT(nar_str)
STRUCT(nar_times)
STRUCT(nar_limits)
STRUCT(nar_log_line)
STRUCT(nar_engine_options)
STRUCT(nar_event)
STRUCT(nar_event_sink)
STRUCT(nar_event_sink_extension)
STRUCT(nar_host)
STRUCT(nar_host_log)
STRUCT(nar_host_config)
STRUCT(nar_host_thread_check)
STRUCT(nar_host_post)
STRUCT(nar_host_timer)
STRUCT(nar_host_poll)
STRUCT(nar_program)
STRUCT(nar_process_exit)
STRUCT(nar_process_events)
STRUCT(nar_host_process)
STRUCT(nar_http_request)
STRUCT(nar_http_response)
STRUCT(nar_http_end)
STRUCT(nar_http_events)
STRUCT(nar_host_http)
STRUCT(nar_host_state)
STRUCT(nar_state_metadata)
STRUCT(nar_host_context)
STRUCT(nar_host_assets)
STRUCT(nar_host_render)
STRUCT(nar_host_prompt)
STRUCT(nar_host_turns)
STRUCT(nar_invocation)
STRUCT(nar_invocation_end)
STRUCT(nar_command)
STRUCT(nar_host_invocation)
STRUCT(nar_narrator_request)
STRUCT(nar_narrator)
STRUCT(nar_narrator_extension)
STRUCT(nar_host_narrator)
STRUCT(nar_invoke_outcome)
STRUCT(nar_host_invoke)
STRUCT(nar_failure)
STRUCT(nar_host_description)
STRUCT(nar_plugin)
STRUCT(nar_session_extension)
STRUCT(nar_session_options)
STRUCT(nar_turn)
STRUCT(nar_replayed)
STRUCT(nar_replay_handler)
STRUCT(nar_turn_handler)
STRUCT(nar_execution_handler)
STRUCT(nar_script)
STRUCT(nar_script_end)
STRUCT(nar_script_handler)
STRUCT(nar_error)
STRUCT(nar_tool)
STRUCT(nar_tool_extension)
STRUCT(nar_tool_registration)
STRUCT(nar_tool_runner_extension)
STRUCT(nar_ui_event)
STRUCT(nar_ui_handler_extension)

FUNCTION(nar_abi_version)
FUNCTION(nar_engine_adopt_thread)
FUNCTION(nar_engine_create)
FUNCTION(nar_engine_descriptor)
FUNCTION(nar_engine_destroy)
FUNCTION(nar_engine_is_busy)
FUNCTION(nar_engine_post)
FUNCTION(nar_engine_prepare)
FUNCTION(nar_engine_run_for)
FUNCTION(nar_engine_run_once)
FUNCTION(nar_engine_run_until_idle)
FUNCTION(nar_engine_timeout)
FUNCTION(nar_error_clear)
FUNCTION(nar_event_to_json)
FUNCTION(nar_kind_name)
FUNCTION(nar_library_version)
FUNCTION(nar_make_uuid)
FUNCTION(nar_narrator_delta)
FUNCTION(nar_narrator_fail)
FUNCTION(nar_narrator_reply)
FUNCTION(nar_narrator_usage)
FUNCTION(nar_plugins_read_metadata)
FUNCTION(nar_plugins_search)
FUNCTION(nar_result_cancelled)
FUNCTION(nar_result_json)
FUNCTION(nar_result_release)
FUNCTION(nar_result_retain)
FUNCTION(nar_result_success)
FUNCTION(nar_result_write)
FUNCTION(nar_result_write_to)
FUNCTION(nar_session_again)
FUNCTION(nar_session_attach_sink)
FUNCTION(nar_session_cancel)
FUNCTION(nar_session_submission)
FUNCTION(nar_session_cancel_submission)
FUNCTION(nar_session_create)
FUNCTION(nar_session_destroy)
FUNCTION(nar_session_detach_sink)
FUNCTION(nar_session_execute)
FUNCTION(nar_session_extend)
FUNCTION(nar_session_go_to)
FUNCTION(nar_session_id)
FUNCTION(nar_session_opening)
FUNCTION(nar_session_patch_state)
FUNCTION(nar_session_prompt)
FUNCTION(nar_session_read_assets)
FUNCTION(nar_session_read_assets_after)
FUNCTION(nar_session_read_current)
FUNCTION(nar_session_read_history)
FUNCTION(nar_session_read_plugins)
FUNCTION(nar_session_read_published)
FUNCTION(nar_session_read_state)
FUNCTION(nar_session_run_script)
FUNCTION(nar_script_parse)
FUNCTION(nar_session_check_script)
FUNCTION(nar_session_script_names)
FUNCTION(nar_session_state_size)
FUNCTION(nar_session_set_state)
FUNCTION(nar_session_clear_state)
FUNCTION(nar_session_read_turns)
FUNCTION(nar_session_register_state_metadata)
FUNCTION(nar_session_replay)
FUNCTION(nar_session_resume)
FUNCTION(nar_session_read_state_metadata)
FUNCTION(nar_session_read_all_state_metadata)
FUNCTION(nar_session_format_state_for_prompt)
FUNCTION(nar_session_title)
FUNCTION(nar_session_tools_add)
FUNCTION(nar_session_tools_find)
FUNCTION(nar_session_tools_for_models)
FUNCTION(nar_session_tools_list)
FUNCTION(nar_session_tools_remove)
FUNCTION(nar_status_name)
FUNCTION(nar_status_text)
FUNCTION(nar_store_go_to)
FUNCTION(nar_store_prune)
FUNCTION(nar_store_read_sessions)
FUNCTION(nar_store_read_state)
FUNCTION(nar_store_read_turns)
FUNCTION(nar_store_set_name)
FUNCTION(nar_text_release)
FUNCTION(nar_text_view)
FUNCTION(nar_validate)

/* Function types that no struct or function above uses. */
NAR_API nar_plugin_entry_fn probe_nar_plugin_entry;
NAR_API nar_write_fn probe_nar_write;
