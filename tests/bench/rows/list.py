# SPDX-License-Identifier: Apache-2.0
"""The list of the rows: what measures them, and their order in the table."""

from . import (
    embedding, narrator, page, pipeline, plan, plugins, projects, python, schemas, script, state,
    store, tools,
)

MEASURES = {
    "spawn": tools.spawn, "chain": tools.chain, "sandbox": tools.sandbox,
    "pipeline": pipeline.pipeline, "cat": pipeline.cat, "state": state.state, "store": store.store,
    "memory": state.memory, "plan": plan.plan, "script": script.script, "many": tools.many,
    "million": tools.million, "command": tools.command, "embedding": embedding.embedding,
    "frame": embedding.frame, "plugins": plugins.plugins, "schemas": schemas.schemas,
    "page": page.page, "python-plan": python.python_plan, "python-tool": python.python_tool,
    "python-sink": python.python_sink, "python-import": python.python_import,
    "python-call": projects.python_call, "service-call": projects.service_call,
    "narrator": narrator.narrator,
}
ORDER = [
    "spawn", "spawn-1gb", "spawn-ninja", "spawn-make", "chain", "chain-nolibc", "sandbox",
    "pipeline",
    "pipeline-one-tree", "pipeline-nested", "pipeline-pool", "pipeline-with-log", "cat", "state-same", "state-random",
    "state-memory", "state-snapshot", "state-restore",
    "store-turn", "store-pipeline", "store-open", "store-state", "store-bytes", "plan", "plan-memory", "plan-growth",
    "script-loop", "script-machine-call", "script-call", "script-call-sink", "script-call-ordinary", "script-call-memory", "script-parse", "script-compile", "script-waiting", "many", "many-memory", "million",
    "command", "engine", "session", "session-story", "frame-idle", "turn", "frame", "frame-store", "plugin-sink", "plugin-sink-cpp", "plugin-sinks-16", "plugin-scan",
    "plugin-life", "schema-check", "tool-find", "page-streams", "page-first-byte", "python-plan", "python-tool", "python-script-call", "python-tool-mcp", "python-sink",
    "python-sink-read", "python-import", "python-call", "python-call-python", "python-call-fresh",
    "service-call", "service-many", "narrator-delta", "narrator-turn", "narrator-cancel", "narrator-langgraph",
    "narrator-langgraph-memory", "narrator-pydantic-ai", "narrator-pydantic-ai-memory",
]
