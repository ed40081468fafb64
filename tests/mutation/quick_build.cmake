# SPDX-License-Identifier: Apache-2.0
# Options of the runtime that tests/mutation/run.py builds. Each mutant recompiles one file, so there is
# no optimization and no unity build. Precompiled headers halve the time.
cmake_language(DEFER CALL target_compile_options narratoria_core PRIVATE -O0)
cmake_language(DEFER CALL set_target_properties narratoria_core PROPERTIES UNITY_BUILD OFF)
cmake_language(DEFER CALL target_precompile_headers narratoria_core PRIVATE
    <algorithm> <atomic> <cerrno> <chrono> <cstdint> <cstring> <functional> <map> <memory> <mutex>
    <optional> <string> <string_view> <unordered_map> <utility> <vector> <fmt/format.h> <uv.h>)
