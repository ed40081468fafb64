# SPDX-License-Identifier: Apache-2.0
# Builds the runtime of tests/mutation/run.py, of which one file is compiled for each mutant: without
# optimization, not together with others, and with the headers that most files include parsed
# beforehand, in half the time.
cmake_language(DEFER CALL target_compile_options narratoria_core PRIVATE -O0)
cmake_language(DEFER CALL set_target_properties narratoria_core PROPERTIES UNITY_BUILD OFF)
cmake_language(DEFER CALL target_precompile_headers narratoria_core PRIVATE
    <algorithm> <atomic> <cerrno> <chrono> <cstdint> <cstring> <functional> <map> <memory> <mutex>
    <optional> <string> <string_view> <unordered_map> <utility> <vector> <fmt/format.h> <uv.h>)
