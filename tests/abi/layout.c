/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pins the layout of every public struct on 64-bit machines: binaries built against 1.0 contain
 * these numbers. Never change a line for a field; add a line for a new field, and change the size
 * of its struct. Compiled as C and C++ (layout.sh). A change that fails to compile here would
 * break every existing plugin.
 */
#include <assert.h>
#include <stddef.h>

#include "narratoria/asset_renderer.h"
#include "narratoria/base.h"
#include "narratoria/context.h"
#include "narratoria/engine.h"
#include "narratoria/event.h"
#include "narratoria/event_sink.h"
#include "narratoria/host.h"
#include "narratoria/host_http.h"
#include "narratoria/host_loop.h"
#include "narratoria/host_process.h"
#include "narratoria/host_session.h"
#include "narratoria/invocation.h"
#include "narratoria/limits.h"
#include "narratoria/narrator.h"
#include "narratoria/narratoria.h"
#include "narratoria/plugin.h"
#include "narratoria/plugins.h"
#include "narratoria/result.h"
#include "narratoria/session.h"
#include "narratoria/status.h"
#include "narratoria/store.h"
#include "narratoria/tool.h"
#include "narratoria/tool_runner.h"
#include "narratoria/tools.h"
#include "narratoria/ui_handler.h"
#include "narratoria/validate.h"

#define SIZE(type, bytes) \
    static_assert(sizeof(type) == (bytes), "the size of " #type " has changed")
#define FIELD(type, field, bytes) \
    static_assert(offsetof(type, field) == (bytes), #type "." #field " has moved")
#define CONSTANT(name, value) static_assert((name) == (value), #name " has another value")

#if UINTPTR_MAX == UINT64_MAX

/* asset_renderer.h */
SIZE(nar_asset, 128);
FIELD(nar_asset, size, 0);
FIELD(nar_asset, attempt, 4);
FIELD(nar_asset, seq, 8);
FIELD(nar_asset, plan_id, 16);
FIELD(nar_asset, tool_id, 32);
FIELD(nar_asset, asset_id, 48);
FIELD(nar_asset, kind, 64);
FIELD(nar_asset, media_type, 80);
FIELD(nar_asset, path, 96);
FIELD(nar_asset, metadata, 112);

SIZE(nar_asset_renderer_extension, 32);
FIELD(nar_asset_renderer_extension, size, 0);
FIELD(nar_asset_renderer_extension, priority, 4);
FIELD(nar_asset_renderer_extension, media_types, 8);
FIELD(nar_asset_renderer_extension, media_type_count, 16);
FIELD(nar_asset_renderer_extension, render, 24);

/* base.h */
SIZE(nar_str, 16);
FIELD(nar_str, data, 0);
FIELD(nar_str, size, 8);

/* engine.h */
SIZE(nar_times, 32);
FIELD(nar_times, size, 0);
FIELD(nar_times, try_ms, 4);
FIELD(nar_times, plan_ms, 8);
FIELD(nar_times, narrator_ms, 12);
FIELD(nar_times, prompt_ms, 16);
FIELD(nar_times, grace_ms, 20);
FIELD(nar_times, narrator_first_ms, 24);
FIELD(nar_times, narrator_between_ms, 28);

SIZE(nar_limits, 128);
FIELD(nar_limits, size, 0);
FIELD(nar_limits, open_files, 4);
FIELD(nar_limits, memory_bytes, 8);
FIELD(nar_limits, file_bytes, 16);
FIELD(nar_limits, cpu_seconds, 24);
FIELD(nar_limits, history_patches, 28);
FIELD(nar_limits, line_bytes, 32);
FIELD(nar_limits, resident_bytes, 40);
FIELD(nar_limits, processes, 48);
FIELD(nar_limits, reserved, 52);
FIELD(nar_limits, patch_bytes, 56);
FIELD(nar_limits, state_bytes, 64);
FIELD(nar_limits, script_steps, 72);
FIELD(nar_limits, script_calls, 80);
FIELD(nar_limits, script_source_bytes, 88);
FIELD(nar_limits, script_value_bytes, 96);
FIELD(nar_limits, script_memory_bytes, 104);
FIELD(nar_limits, script_output_bytes, 112);
FIELD(nar_limits, script_depth, 120);
FIELD(nar_limits, script_time_ms, 124);

SIZE(nar_log_line, 56);
FIELD(nar_log_line, size, 0);
FIELD(nar_log_line, level, 4);
FIELD(nar_log_line, message, 8);
FIELD(nar_log_line, session_id, 24);
FIELD(nar_log_line, code, 40);

SIZE(nar_engine_options, 192);
FIELD(nar_engine_options, size, 0);
FIELD(nar_engine_options, jobs, 4);
FIELD(nar_engine_options, root, 8);
FIELD(nar_engine_options, environment, 24);
FIELD(nar_engine_options, environment_count, 32);
FIELD(nar_engine_options, allow_paths, 40);
FIELD(nar_engine_options, allow_path_count, 48);
FIELD(nar_engine_options, times, 56);
FIELD(nar_engine_options, limits, 64);
FIELD(nar_engine_options, log, 72);
FIELD(nar_engine_options, user, 80);
FIELD(nar_engine_options, supervisor, 88);
FIELD(nar_engine_options, cgroup, 104);
FIELD(nar_engine_options, allow_schemes, 120);
FIELD(nar_engine_options, allow_scheme_count, 128);
FIELD(nar_engine_options, output, 136);
FIELD(nar_engine_options, output_mode, 152);
FIELD(nar_engine_options, reserved, 156);
FIELD(nar_engine_options, sandbox, 160);
FIELD(nar_engine_options, store, 176);

/* event.h */
SIZE(nar_event, 96);
FIELD(nar_event, size, 0);
FIELD(nar_event, kind, 4);
FIELD(nar_event, type, 8);
FIELD(nar_event, attempt, 12);
FIELD(nar_event, seq, 16);
FIELD(nar_event, time_us, 24);
FIELD(nar_event, session_id, 32);
FIELD(nar_event, plan_id, 48);
FIELD(nar_event, tool_id, 64);
FIELD(nar_event, body, 80);

SIZE(nar_event_sink, 40);
FIELD(nar_event_sink, size, 0);
FIELD(nar_event_sink, reserved, 4);
FIELD(nar_event_sink, kinds, 8);
FIELD(nar_event_sink, user, 16);
FIELD(nar_event_sink, event, 24);
FIELD(nar_event_sink, detached, 32);

/* event_sink.h */
SIZE(nar_event_sink_extension, 24);
FIELD(nar_event_sink_extension, size, 0);
FIELD(nar_event_sink_extension, reserved, 4);
FIELD(nar_event_sink_extension, kinds, 8);
FIELD(nar_event_sink_extension, event, 16);

/* host.h */
SIZE(nar_host, 40);
FIELD(nar_host, size, 0);
FIELD(nar_host, abi_version, 4);
FIELD(nar_host, context, 8);
FIELD(nar_host, get_extension, 16);
FIELD(nar_host, session_id, 24);

SIZE(nar_host_log, 16);
FIELD(nar_host_log, size, 0);
FIELD(nar_host_log, reserved, 4);
FIELD(nar_host_log, write, 8);

SIZE(nar_host_config, 64);
FIELD(nar_host_config, size, 0);
FIELD(nar_host_config, reserved, 4);
FIELD(nar_host_config, settings, 8);
FIELD(nar_host_config, story, 16);
FIELD(nar_host_config, title, 24);
FIELD(nar_host_config, opening, 32);
FIELD(nar_host_config, language, 40);
FIELD(nar_host_config, publish, 48);
FIELD(nar_host_config, withhold, 56);

SIZE(nar_host_thread_check, 16);
FIELD(nar_host_thread_check, size, 0);
FIELD(nar_host_thread_check, reserved, 4);
FIELD(nar_host_thread_check, is_engine_thread, 8);

/* host_loop.h */
SIZE(nar_host_post, 16);
FIELD(nar_host_post, size, 0);
FIELD(nar_host_post, reserved, 4);
FIELD(nar_host_post, post, 8);

SIZE(nar_host_timer, 24);
FIELD(nar_host_timer, size, 0);
FIELD(nar_host_timer, reserved, 4);
FIELD(nar_host_timer, start, 8);
FIELD(nar_host_timer, stop, 16);

SIZE(nar_host_poll, 32);
FIELD(nar_host_poll, size, 0);
FIELD(nar_host_poll, reserved, 4);
FIELD(nar_host_poll, start, 8);
FIELD(nar_host_poll, change, 16);
FIELD(nar_host_poll, stop, 24);
CONSTANT(NAR_POLL_READABLE, 1);
CONSTANT(NAR_POLL_WRITABLE, 2);

/* host_process.h */
SIZE(nar_program, 64);
FIELD(nar_program, size, 0);
FIELD(nar_program, reserved, 4);
FIELD(nar_program, arguments, 8);
FIELD(nar_program, argument_count, 16);
FIELD(nar_program, environment, 24);
FIELD(nar_program, environment_count, 32);
FIELD(nar_program, folder, 40);
FIELD(nar_program, limits, 56);

SIZE(nar_process_exit, 72);
FIELD(nar_process_exit, size, 0);
FIELD(nar_process_exit, exit_status, 4);
FIELD(nar_process_exit, signal_number, 8);
FIELD(nar_process_exit, reserved, 12);
FIELD(nar_process_exit, error_code, 16);
FIELD(nar_process_exit, error, 32);
FIELD(nar_process_exit, user_us, 48);
FIELD(nar_process_exit, system_us, 56);
FIELD(nar_process_exit, resident_bytes, 64);

SIZE(nar_process_events, 48);
FIELD(nar_process_events, size, 0);
FIELD(nar_process_events, reserved, 4);
FIELD(nar_process_events, on_output, 8);
FIELD(nar_process_events, on_diagnostics, 16);
FIELD(nar_process_events, on_drained, 24);
FIELD(nar_process_events, on_closed, 32);
FIELD(nar_process_events, on_exit, 40);

SIZE(nar_host_process, 48);
FIELD(nar_host_process, size, 0);
FIELD(nar_host_process, reserved, 4);
FIELD(nar_host_process, start, 8);
FIELD(nar_host_process, write, 16);
FIELD(nar_host_process, close_input, 24);
FIELD(nar_host_process, terminate, 32);
FIELD(nar_host_process, release, 40);

SIZE(nar_http_request, 96);
FIELD(nar_http_request, size, 0);
FIELD(nar_http_request, connect_ms, 4);
FIELD(nar_http_request, method, 8);
FIELD(nar_http_request, url, 24);
FIELD(nar_http_request, headers, 40);
FIELD(nar_http_request, header_count, 48);
FIELD(nar_http_request, body, 56);
FIELD(nar_http_request, first_byte_ms, 72);
FIELD(nar_http_request, between_ms, 76);
FIELD(nar_http_request, total_ms, 80);
FIELD(nar_http_request, reserved, 84);
FIELD(nar_http_request, max_body_bytes, 88);

SIZE(nar_http_response, 24);
FIELD(nar_http_response, size, 0);
FIELD(nar_http_response, status, 4);
FIELD(nar_http_response, headers, 8);
FIELD(nar_http_response, header_count, 16);

SIZE(nar_http_end, 40);
FIELD(nar_http_end, size, 0);
FIELD(nar_http_end, was_sent, 4);
FIELD(nar_http_end, error_code, 8);
FIELD(nar_http_end, error, 24);

SIZE(nar_http_events, 32);
FIELD(nar_http_events, size, 0);
FIELD(nar_http_events, reserved, 4);
FIELD(nar_http_events, on_response, 8);
FIELD(nar_http_events, on_body, 16);
FIELD(nar_http_events, on_end, 24);

SIZE(nar_host_http, 24);
FIELD(nar_host_http, size, 0);
FIELD(nar_host_http, reserved, 4);
FIELD(nar_host_http, start, 8);
FIELD(nar_host_http, cancel, 16);
CONSTANT(NAR_STREAM_INPUT, 0);
CONSTANT(NAR_STREAM_OUTPUT, 1);
CONSTANT(NAR_STREAM_DIAGNOSTICS, 2);

/* context.h */
SIZE(nar_state_metadata, 48);
FIELD(nar_state_metadata, size, 0);
FIELD(nar_state_metadata, reserved, 4);
FIELD(nar_state_metadata, description, 8);
FIELD(nar_state_metadata, user, 24);
FIELD(nar_state_metadata, format, 32);
FIELD(nar_state_metadata, released, 40);

SIZE(nar_host_context, 88);
FIELD(nar_host_context, size, 0);
FIELD(nar_host_context, reserved, 4);
FIELD(nar_host_context, set_state, 8);
FIELD(nar_host_context, get_state_value, 16);
FIELD(nar_host_context, has_state, 24);
FIELD(nar_host_context, get_all_state, 32);
FIELD(nar_host_context, clear_state, 40);
FIELD(nar_host_context, get_state_metadata, 48);
FIELD(nar_host_context, get_all_state_metadata, 56);
FIELD(nar_host_context, register_state_metadata, 64);
FIELD(nar_host_context, format_state_for_prompt, 72);
FIELD(nar_host_context, deliver_output, 80);

/* host_session.h */
SIZE(nar_host_state, 24);
FIELD(nar_host_state, size, 0);
FIELD(nar_host_state, reserved, 4);
FIELD(nar_host_state, read, 8);
FIELD(nar_host_state, patch, 16);

SIZE(nar_host_assets, 16);
FIELD(nar_host_assets, size, 0);
FIELD(nar_host_assets, reserved, 4);
FIELD(nar_host_assets, list, 8);

SIZE(nar_host_render, 16);
FIELD(nar_host_render, size, 0);
FIELD(nar_host_render, reserved, 4);
FIELD(nar_host_render, rendered, 8);

SIZE(nar_host_prompt, 40);
FIELD(nar_host_prompt, size, 0);
FIELD(nar_host_prompt, reserved, 4);
FIELD(nar_host_prompt, submit, 8);
FIELD(nar_host_prompt, submission, 16);
FIELD(nar_host_prompt, cancel, 24);
FIELD(nar_host_prompt, cancel_all, 32);

SIZE(nar_host_turns, 40);
FIELD(nar_host_turns, size, 0);
FIELD(nar_host_turns, reserved, 4);
FIELD(nar_host_turns, go_to, 8);
FIELD(nar_host_turns, again, 16);
FIELD(nar_host_turns, read, 24);
FIELD(nar_host_turns, resume, 32);

/* invocation.h */
SIZE(nar_invocation, 152);
FIELD(nar_invocation, size, 0);
FIELD(nar_invocation, attempt, 4);
FIELD(nar_invocation, plan_id, 8);
FIELD(nar_invocation, tool_id, 24);
FIELD(nar_invocation, tool_path, 40);
FIELD(nar_invocation, plan_folder, 56);
FIELD(nar_invocation, root, 72);
FIELD(nar_invocation, request, 88);
FIELD(nar_invocation, environment, 104);
FIELD(nar_invocation, environment_count, 112);
FIELD(nar_invocation, try_ms, 120);
FIELD(nar_invocation, reserved, 124);
FIELD(nar_invocation, resources, 128);
FIELD(nar_invocation, limits, 144);

SIZE(nar_invocation_end, 104);
FIELD(nar_invocation_end, size, 0);
FIELD(nar_invocation_end, exit_status, 4);
FIELD(nar_invocation_end, error_code, 8);
FIELD(nar_invocation_end, error, 24);
FIELD(nar_invocation_end, user_us, 40);
FIELD(nar_invocation_end, system_us, 48);
FIELD(nar_invocation_end, resident_bytes, 56);
FIELD(nar_invocation_end, last_output, 64);
FIELD(nar_invocation_end, details, 80);
FIELD(nar_invocation_end, flags, 96);
FIELD(nar_invocation_end, reserved, 100);

SIZE(nar_command, 24);
FIELD(nar_command, size, 0);
FIELD(nar_command, reserved, 4);
FIELD(nar_command, arguments, 8);
FIELD(nar_command, argument_count, 16);

SIZE(nar_host_invocation, 48);
FIELD(nar_host_invocation, size, 0);
FIELD(nar_host_invocation, reserved, 4);
FIELD(nar_host_invocation, output, 8);
FIELD(nar_host_invocation, diagnostics, 16);
FIELD(nar_host_invocation, ended, 24);
FIELD(nar_host_invocation, run, 32);
FIELD(nar_host_invocation, set_waiting, 40);

/* narrator.h */
SIZE(nar_narrator_request, 32);
FIELD(nar_narrator_request, size, 0);
FIELD(nar_narrator_request, timeout_ms, 4);
FIELD(nar_narrator_request, token, 8);
FIELD(nar_narrator_request, json, 16);

SIZE(nar_narrator, 56);
FIELD(nar_narrator, size, 0);
FIELD(nar_narrator, flags, 4);
FIELD(nar_narrator, id, 8);
FIELD(nar_narrator, user, 24);
FIELD(nar_narrator, generate, 32);
FIELD(nar_narrator, cancel, 40);
FIELD(nar_narrator, released, 48);

SIZE(nar_narrator_extension, 24);
FIELD(nar_narrator_extension, size, 0);
FIELD(nar_narrator_extension, flags, 4);
FIELD(nar_narrator_extension, generate, 8);
FIELD(nar_narrator_extension, cancel, 16);

SIZE(nar_host_narrator, 40);
FIELD(nar_host_narrator, size, 0);
FIELD(nar_host_narrator, reserved, 4);
FIELD(nar_host_narrator, reply, 8);
FIELD(nar_host_narrator, fail, 16);
FIELD(nar_host_narrator, delta, 24);
FIELD(nar_host_narrator, usage, 32);

SIZE(nar_invoke_outcome, 40);
FIELD(nar_invoke_outcome, size, 0);
FIELD(nar_invoke_outcome, reserved, 4);
FIELD(nar_invoke_outcome, token, 8);
FIELD(nar_invoke_outcome, number, 16);
FIELD(nar_invoke_outcome, json, 24);

SIZE(nar_host_invoke, 24);
FIELD(nar_host_invoke, size, 0);
FIELD(nar_host_invoke, reserved, 4);
FIELD(nar_host_invoke, invoke, 8);
FIELD(nar_host_invoke, cancel, 16);

/* script.h */
SIZE(nar_script, 56);
FIELD(nar_script, size, 0);
FIELD(nar_script, flags, 4);
FIELD(nar_script, source, 8);
FIELD(nar_script, scope, 24);
FIELD(nar_script, tools, 40);

SIZE(nar_script_end, 48);
FIELD(nar_script_end, size, 0);
FIELD(nar_script_end, ok, 4);
FIELD(nar_script_end, scope, 8);
FIELD(nar_script_end, error, 24);
FIELD(nar_script_end, result, 40);

SIZE(nar_script_handler, 32);
FIELD(nar_script_handler, size, 0);
FIELD(nar_script_handler, reserved, 4);
FIELD(nar_script_handler, user, 8);
FIELD(nar_script_handler, printed, 16);
FIELD(nar_script_handler, ended, 24);

/* plugin.h */
SIZE(nar_failure, 576);
FIELD(nar_failure, size, 0);
FIELD(nar_failure, message, 4);
FIELD(nar_failure, code, 512);

SIZE(nar_host_description, 40);
FIELD(nar_host_description, size, 0);
FIELD(nar_host_description, abi_version, 4);
FIELD(nar_host_description, name, 8);
FIELD(nar_host_description, version, 24);

SIZE(nar_plugin, 96);
FIELD(nar_plugin, size, 0);
FIELD(nar_plugin, abi_version, 4);
FIELD(nar_plugin, id, 8);
FIELD(nar_plugin, name, 24);
FIELD(nar_plugin, version, 40);
FIELD(nar_plugin, extensions, 56);
FIELD(nar_plugin, extension_count, 64);
FIELD(nar_plugin, init, 72);
FIELD(nar_plugin, deinit, 80);
FIELD(nar_plugin, get_extension, 88);

/* session.h */
SIZE(nar_session_extension, 64);
FIELD(nar_session_extension, size, 0);
FIELD(nar_session_extension, reserved, 4);
FIELD(nar_session_extension, id, 8);
FIELD(nar_session_extension, extension, 24);
FIELD(nar_session_extension, functions, 40);
FIELD(nar_session_extension, instance, 48);
FIELD(nar_session_extension, released, 56);

SIZE(nar_session_options, 184);
FIELD(nar_session_options, size, 0);
FIELD(nar_session_options, reserved, 4);
FIELD(nar_session_options, id, 8);
FIELD(nar_session_options, story, 24);
FIELD(nar_session_options, state, 40);
FIELD(nar_session_options, narrator, 56);
FIELD(nar_session_options, times, 64);
FIELD(nar_session_options, plugins, 72);
FIELD(nar_session_options, plugin_count, 80);
FIELD(nar_session_options, narrator_id, 88);
FIELD(nar_session_options, without_plugins, 104);
FIELD(nar_session_options, must_be_new, 108);
FIELD(nar_session_options, plugin_settings, 112);
FIELD(nar_session_options, project, 128);
FIELD(nar_session_options, store, 144);
FIELD(nar_session_options, durability, 160);
FIELD(nar_session_options, replays, 164);
FIELD(nar_session_options, seed, 168);
FIELD(nar_session_options, watches_story, 176);
FIELD(nar_session_options, reserved_2, 180);

SIZE(nar_turn, 96);
FIELD(nar_turn, size, 0);
FIELD(nar_turn, outcome, 4);
FIELD(nar_turn, generations, 8);
FIELD(nar_turn, reserved, 12);
FIELD(nar_turn, narrative, 16);
FIELD(nar_turn, choices, 32);
FIELD(nar_turn, result, 48);
FIELD(nar_turn, id, 56);
FIELD(nar_turn, durable_seq, 64);
FIELD(nar_turn, durable, 72);
FIELD(nar_turn, reserved_2, 76);
FIELD(nar_turn, usage, 80);

SIZE(nar_replayed, 32);
FIELD(nar_replayed, size, 0);
FIELD(nar_replayed, is_equal, 4);
FIELD(nar_replayed, turn, 8);
FIELD(nar_replayed, stored_hash, 16);
FIELD(nar_replayed, hash, 24);

SIZE(nar_replay_handler, 24);
FIELD(nar_replay_handler, size, 0);
FIELD(nar_replay_handler, reserved, 4);
FIELD(nar_replay_handler, user, 8);
FIELD(nar_replay_handler, ended, 16);

SIZE(nar_turn_handler, 24);
FIELD(nar_turn_handler, size, 0);
FIELD(nar_turn_handler, reserved, 4);
FIELD(nar_turn_handler, user, 8);
FIELD(nar_turn_handler, ended, 16);

SIZE(nar_execution_handler, 24);
FIELD(nar_execution_handler, size, 0);
FIELD(nar_execution_handler, reserved, 4);
FIELD(nar_execution_handler, user, 8);
FIELD(nar_execution_handler, ended, 16);

/* status.h */
SIZE(nar_error, 64);
FIELD(nar_error, size, 0);
FIELD(nar_error, status, 4);
FIELD(nar_error, code, 8);
FIELD(nar_error, message, 24);
FIELD(nar_error, details, 40);
FIELD(nar_error, storage, 56);

/* tool.h */
SIZE(nar_tool, 88);
FIELD(nar_tool, size, 0);
FIELD(nar_tool, reserved, 4);
FIELD(nar_tool, name, 8);
FIELD(nar_tool, description, 24);
FIELD(nar_tool, input_schema, 40);
FIELD(nar_tool, flags, 56);
FIELD(nar_tool, reserved_2, 60);
FIELD(nar_tool, result_schema, 64);
FIELD(nar_tool, try_ms, 80);
FIELD(nar_tool, reserved_3, 84);
CONSTANT(NAR_TOOL_WAITS, 1);
CONSTANT(NAR_END_PERMANENT, 1);
CONSTANT(NAR_TOOL_SYNCHRONOUS, 2);

SIZE(nar_tool_extension, 40);
FIELD(nar_tool_extension, size, 0);
FIELD(nar_tool_extension, reserved, 4);
FIELD(nar_tool_extension, tools, 8);
FIELD(nar_tool_extension, tool_count, 16);
FIELD(nar_tool_extension, invoke, 24);
FIELD(nar_tool_extension, cancel, 32);

/* tool_runner.h */
SIZE(nar_tool_runner_extension, 40);
FIELD(nar_tool_runner_extension, size, 0);
FIELD(nar_tool_runner_extension, flags, 4);
FIELD(nar_tool_runner_extension, schemes, 8);
FIELD(nar_tool_runner_extension, scheme_count, 16);
FIELD(nar_tool_runner_extension, start, 24);
FIELD(nar_tool_runner_extension, cancel, 32);

/* tools.h */
SIZE(nar_tool_registration, 88);
FIELD(nar_tool_registration, size, 0);
FIELD(nar_tool_registration, flags, 4);
FIELD(nar_tool_registration, tool, 8);
FIELD(nar_tool_registration, owner, 16);
FIELD(nar_tool_registration, path, 32);
FIELD(nar_tool_registration, limits, 48);
FIELD(nar_tool_registration, user, 56);
FIELD(nar_tool_registration, invoke, 64);
FIELD(nar_tool_registration, cancel, 72);
FIELD(nar_tool_registration, released, 80);
CONSTANT(NAR_TOOL_REGISTRATION_REPLACES, 1);
CONSTANT(NAR_TOOLS_OPENAI, 1);
CONSTANT(NAR_TOOLS_MCP, 2);

/* ui_handler.h */
SIZE(nar_ui_event, 80);
FIELD(nar_ui_event, size, 0);
FIELD(nar_ui_event, attempt, 4);
FIELD(nar_ui_event, seq, 8);
FIELD(nar_ui_event, plan_id, 16);
FIELD(nar_ui_event, tool_id, 32);
FIELD(nar_ui_event, name, 48);
FIELD(nar_ui_event, payload, 64);

SIZE(nar_ui_handler_extension, 32);
FIELD(nar_ui_handler_extension, size, 0);
FIELD(nar_ui_handler_extension, priority, 4);
FIELD(nar_ui_handler_extension, events, 8);
FIELD(nar_ui_handler_extension, event_count, 16);
FIELD(nar_ui_handler_extension, handle, 24);
#endif

/* Numbers that are compiled into plugins and hosts. */
CONSTANT(NAR_ABI_MAJOR, 1u);
CONSTANT(NAR_OK, 0);
CONSTANT(NAR_INVALID_ARGUMENT, -1);
CONSTANT(NAR_INVALID_DOCUMENT, -2);
CONSTANT(NAR_NOT_FOUND, -3);
CONSTANT(NAR_BUSY, -4);
CONSTANT(NAR_WRONG_THREAD, -5);
CONSTANT(NAR_REENTRANT, -6);
CONSTANT(NAR_FORKED, -7);
CONSTANT(NAR_GONE, -8);
CONSTANT(NAR_STALE, -9);
CONSTANT(NAR_IO, -10);
CONSTANT(NAR_OUT_OF_MEMORY, -11);
CONSTANT(NAR_INTERNAL, -12);
CONSTANT(NAR_DECLINED, -13);
CONSTANT(NAR_UNSUPPORTED, -14);
CONSTANT(NAR_FAILED, -15);
CONSTANT(NAR_PENDING, -16);
CONSTANT(NAR_LOG_DEBUG, 1);
CONSTANT(NAR_LOG_INFO, 2);
CONSTANT(NAR_LOG_WARN, 3);
CONSTANT(NAR_LOG_ERROR, 4);
CONSTANT(NAR_KIND_TOOL_EVENT, 1);
CONSTANT(NAR_KIND_PROMPT, 2);
CONSTANT(NAR_KIND_NARRATIVE, 3);
CONSTANT(NAR_KIND_PLAN_STARTED, 4);
CONSTANT(NAR_KIND_PLAN_ENDED, 5);
CONSTANT(NAR_KIND_TOOL_PENDING, 6);
CONSTANT(NAR_KIND_TOOL_STARTED, 7);
CONSTANT(NAR_KIND_TOOL_ENDED, 8);
CONSTANT(NAR_KIND_ATTEMPT_STARTED, 9);
CONSTANT(NAR_KIND_ATTEMPT_ENDED, 10);
CONSTANT(NAR_KIND_ASSET_REFUSED, 11);
CONSTANT(NAR_KIND_STATE_CONFLICT, 12);
CONSTANT(NAR_KIND_WARNING, 13);
CONSTANT(NAR_KIND_UI_PLACEHOLDER, 14);
CONSTANT(NAR_KIND_ASSET_PLACEHOLDER, 15);
CONSTANT(NAR_KIND_TURN_ENDED, 16);
CONSTANT(NAR_KIND_STATE_PATCHED, 17);
CONSTANT(NAR_KIND_SESSION_MOVED, 18);
CONSTANT(NAR_KIND_STORY_RELOADED, 19);
CONSTANT(NAR_NARRATOR_DETAILED, 1);
CONSTANT(NAR_KIND_NARRATIVE_DELTA, 20);
CONSTANT(NAR_KIND_NARRATIVE_RETRACTED, 21);
CONSTANT(NAR_KIND_NARRATOR_USAGE, 22);
CONSTANT(NAR_TYPE_LOG, 1);
CONSTANT(NAR_TYPE_STATE_PATCH, 2);
CONSTANT(NAR_TYPE_ASSET, 3);
CONSTANT(NAR_TYPE_UI_EVENT, 4);
CONSTANT(NAR_TYPE_ERROR, 5);
CONSTANT(NAR_TYPE_DONE, 6);
CONSTANT(NAR_RESULT_WITHOUT_EVENTS, 1);
CONSTANT(NAR_TURN_COMPLETED, 1);
CONSTANT(NAR_TURN_FALLBACK, 2);
CONSTANT(NAR_TURN_CANCELLED, 3);
CONSTANT(NAR_TURN_TIMEOUT, 4);
CONSTANT(NAR_DURABILITY_TURN, 0);
CONSTANT(NAR_DURABILITY_LAZY, 1);
CONSTANT(NAR_DURABILITY_NONE, 2);
CONSTANT(NAR_TURN_CURRENT, 0);
CONSTANT(NAR_TURN_BEGINNING, UINT64_MAX);
CONSTANT(NAR_TURN_PREVIOUS, UINT64_MAX - 1);
CONSTANT(NAR_DOCUMENT_EVENTS, 1);
CONSTANT(NAR_DOCUMENT_PLAN, 2);
CONSTANT(NAR_DOCUMENT_RESULT, 3);
CONSTANT(NAR_DOCUMENT_STORY, 4);
CONSTANT(NAR_DOCUMENT_PLUGIN, 5);
CONSTANT(NAR_DOCUMENT_TOOL, 6);
CONSTANT(NAR_DOCUMENT_TOOL_FILE, 7);
CONSTANT(NAR_DOCUMENT_WARNINGS, 0x100);

/* Ids, which never change. */
#define ID(name, text) static_assert(__builtin_strcmp(name, text) == 0, #name " has changed")
ID(NAR_EXTENSION_ASSET_RENDERER, "narratoria.asset_renderer/1");
ID(NAR_EXTENSION_EVENT_SINK, "narratoria.event_sink/1");
ID(NAR_HOST_LOG, "narratoria.log/1");
ID(NAR_HOST_CONFIG, "narratoria.config/1");
ID(NAR_HOST_THREAD_CHECK, "narratoria.thread_check/1");
ID(NAR_HOST_POST, "narratoria.post/1");
ID(NAR_HOST_TIMER, "narratoria.timer/1");
ID(NAR_HOST_POLL, "narratoria.poll/1");
ID(NAR_HOST_PROCESS, "narratoria.process/1");
ID(NAR_HOST_STATE, "narratoria.state/1");
ID(NAR_HOST_CONTEXT, "narratoria.context/1");
ID(NAR_HOST_ASSETS, "narratoria.assets/1");
ID(NAR_HOST_RENDER, "narratoria.render/1");
ID(NAR_HOST_HTTP, "narratoria.http/1");
ID(NAR_HOST_PROMPT, "narratoria.prompt/1");
ID(NAR_HOST_TURNS, "narratoria.turns/1");
ID(NAR_HOST_INVOCATION, "narratoria.invocation/1");
ID(NAR_EXTENSION_NARRATOR, "narratoria.narrator/1");
ID(NAR_HOST_INVOKE, "narratoria.invoke/1");
ID(NAR_EXTENSION_TOOL, "narratoria.tool/1");
ID(NAR_EXTENSION_TOOL_RUNNER, "narratoria.tool_runner/1");
ID(NAR_EXTENSION_UI_HANDLER, "narratoria.ui_handler/1");
