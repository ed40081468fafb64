/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_LIMITS_H
#define NARRATORIA_LIMITS_H
/*
 * The limits of nar_limits, each listed once: X(name, type, least, text). `name` is the field of
 * nar_limits, the key in [limits] of a story.toml and the field of Limits in Python. `type` is the
 * field's type, and its largest value means no limit. `least` is the smallest value that is allowed
 * (0 selects the default). The library, the supervisor's protocol, the command and the Python
 * package are generated from these lists, and a test compares the story's schema with them.
 *
 * To add a limit, add a row here, a field at the end of nar_limits, a line in story-1.schema.json
 * and in Python's Limits, and the system call in the supervisor. Later versions may add rows.
 */

/* Set for each process of a tool. */
#define NAR_PROCESS_LIMIT_LIST(X)                                              \
    X(memory_bytes, uint64_t, 1, "Address space (RLIMIT_AS)")                  \
    X(cpu_seconds, uint32_t, 1, "Processor time (RLIMIT_CPU)")                 \
    X(file_bytes, uint64_t, 1, "Size of a file that it writes (RLIMIT_FSIZE)") \
    X(open_files, uint32_t, 1, "Open descriptors (RLIMIT_NOFILE)")

/* Set for a tool and all its descendants together; these need a cgroup folder. */
#define NAR_GROUP_LIMIT_LIST(X)                                                           \
    X(processes, uint32_t, 1, "Processes and threads of a tool with all its descendants") \
    X(resident_bytes, uint64_t, 1048576, "Memory of a tool with all its descendants")

/* All limits of a tool. */
#define NAR_TOOL_LIMIT_LIST(X) \
    NAR_PROCESS_LIMIT_LIST(X)  \
    NAR_GROUP_LIMIT_LIST(X)    \
    X(line_bytes, uint64_t, 1, "Length of an event line in bytes")

/* Limits of each script of a session (spec 002). */
#define NAR_SCRIPT_LIMIT_LIST(X)                                                              \
    X(script_steps, uint64_t, 1, "Operations of a script")                                    \
    X(script_calls, uint64_t, 1, "CALLs of a script")                                         \
    X(script_depth, uint32_t, 1, "Nesting in a script's source and in its values")            \
    X(script_source_bytes, uint64_t, 1, "Size of a script's source")                          \
    X(script_value_bytes, uint64_t, 1, "Size of one value of a script as JSON")               \
    X(script_memory_bytes, uint64_t, 1, "Memory of a script's values and of its CALLs' records") \
    X(script_output_bytes, uint64_t, 1, "Size of what a script prints")                       \
    X(script_time_ms, uint32_t, 1, "Time of a script in milliseconds, waiting for tools included")

/* Limits of a session. */
#define NAR_SESSION_LIMIT_LIST(X)                                                           \
    X(history_patches, uint32_t, 1, "Number of patches that the session's history keeps")   \
    X(patch_bytes, uint64_t, 1, "Size of one patch of the state as JSON")                   \
    X(state_bytes, uint64_t, 1, "Size of the state as JSON")                                \
    NAR_SCRIPT_LIMIT_LIST(X)

#define NAR_LIMIT_LIST(X)  \
    NAR_TOOL_LIMIT_LIST(X) \
    NAR_SESSION_LIMIT_LIST(X)

#endif
