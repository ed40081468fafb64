#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the checks of this folder: each must find the faults that it looks for."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
import absolute_paths  # noqa: E402
import contributing_samples  # noqa: E402
import include_arrows  # noqa: E402
import python_imports  # noqa: E402


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Path(folder.name)

    def write(self, name, text):
        file = self.tree / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


class IncludeArrows(Tree):
    def setUp(self):
        super().setUp()
        self.write("runtime/base/json.hpp", "#pragma once\n")
        self.write("runtime/event/decoder.hpp", '#pragma once\n#include "base/json.hpp"\n')
        self.write("sdk/include/narratoria/tool.hpp", "#include <string>\n")

    def found(self):
        return list(include_arrows.faults(self.tree))

    def test_good_tree_has_no_faults(self):
        self.write("tests/unit/event/decoder_test.cpp", '#include "event/decoder.hpp"\n')
        self.assertEqual(self.found(), [])

    def test_plugin_may_include_tool_but_not_the_reverse(self):
        self.write("runtime/tool/registry.hpp", "#pragma once\n")
        self.write("runtime/plugin/instance.hpp", '#pragma once\n#include "tool/registry.hpp"\n')
        self.assertEqual(self.found(), [])
        self.write("runtime/tool/resolver.cpp", '#include "plugin/instance.hpp"\n')
        self.assertEqual(len(self.found()), 1)
        self.assertIn("runtime/tool/resolver.cpp:1", self.found()[0])

    def test_include_upwards_is_a_fault(self):
        self.write("runtime/base/json.cpp", '#include "event/decoder.hpp"\n')
        self.assertEqual(len(self.found()), 1)
        self.assertIn("runtime/base/json.cpp:1", self.found()[0])

    def test_include_upwards_is_a_fault_from_any_folder(self):
        self.write("runtime/api/barrier.hpp", "#pragma once\n")
        self.write("runtime/session/session.cpp", '#include "api/barrier.hpp"\n')
        self.assertEqual(len(self.found()), 1)

    def test_include_upwards_by_a_relative_path_is_a_fault(self):
        self.write("runtime/base/json.cpp", '#include "../event/decoder.hpp"\n')
        self.assertEqual(len(self.found()), 1)

    def test_include_of_runtime_from_outside_is_a_fault(self):
        for name in ("sdk/command/run.cpp", "examples/hosts/embed.cpp", "tests/hostile/a_test.cpp"):
            self.write(name, '#include "event/decoder.hpp"\n')
        self.write("plugins/console/main.cpp", "#include <runtime/base/json.hpp>\n")
        self.assertEqual(len(self.found()), 4)

    def test_own_header_with_the_same_name_is_allowed(self):
        self.write("sdk/command/base/json.hpp", "")
        self.write("sdk/command/run.cpp", '#include "base/json.hpp"\n')
        self.assertEqual(self.found(), [])

    def test_folder_that_is_not_in_the_design_is_a_fault(self):
        self.write("runtime/utility/a.cpp", '#include "base/json.hpp"\n')
        self.assertEqual(len(self.found()), 1)

    def test_circle_of_folders_is_a_fault(self):
        self.write("runtime/base/json/tape.hpp", "#pragma once\n")
        self.write("runtime/base/loop.cpp", '#include "base/json/tape.hpp"\n')
        self.assertEqual(list(include_arrows.circle_faults(self.tree)), [])
        self.write("runtime/base/json/text/read.cpp", '#include "../../loop.hpp"\n')
        self.write("runtime/base/json/tape.cpp", '#include "text/read.hpp"\n')
        self.write("runtime/base/loop.hpp", "#pragma once\n")
        self.write("runtime/base/json/text/read.hpp", "#pragma once\n")
        faults = list(include_arrows.circle_faults(self.tree))
        self.assertEqual(len(faults), 1)
        for place in ("runtime/base/loop.cpp:1", "runtime/base/json/tape.cpp:1",
                      "runtime/base/json/text/read.cpp:1"):
            self.assertIn(place, faults[0])

    def test_include_of_sdk_from_abi_is_a_fault(self):
        self.write("abi/include/narratoria/engine.h", '#include "narratoria/tool.hpp"\n')
        self.assertEqual(len(self.found()), 1)


class PythonImports(Tree):
    def setUp(self):
        super().setUp()
        self.write("bindings/python/narratoria/__init__.py", "from narratoria import _core\n")
        self.write("bindings/python/narratoria/_core.pyi", "from narratoria.events import Event\n")
        self.write("bindings/python/narratoria/events.py", "import json\nimport narratoria._core\n")

    def found(self, documents):
        self.write("bindings/python/narratoria/documents.py", documents)
        return list(python_imports.faults(self.tree))

    def test_imports_in_one_direction_are_allowed(self):
        self.assertEqual(self.found("from .events import Event\nfrom . import events, _core\n"), [])

    def test_circle_is_a_fault_at_each_of_its_imports(self):
        self.write("bindings/python/narratoria/events.py", "from narratoria import documents\n")
        found = self.found("\nimport narratoria.events\n")
        self.assertEqual(len(found), 1)
        self.assertIn("narratoria/documents.py:2: narratoria.events", found[0])
        self.assertIn("narratoria/events.py:1: narratoria.documents", found[0])

    def test_circle_of_three_modules_is_a_fault(self):
        self.write("bindings/python/narratoria/events.py", "from .errors import Error\n")
        self.write("bindings/python/narratoria/errors.py", "from .documents import Fault\n")
        self.assertEqual(len(self.found("from .events import Event\n")), 1)

    def test_import_inside_a_function_counts(self):
        self.write("bindings/python/narratoria/events.py", "import narratoria.documents\n")
        for statement in ("from narratoria.events import Event", "from . import events",
                          "import narratoria.events", "import_module('narratoria.events')"):
            function = f"class A:\n    async def f(self):\n        if self:\n            {statement}\n"
            self.assertEqual(len(self.found(function)), 1, statement)

    def test_import_for_type_checkers_does_not_count(self):
        self.write("bindings/python/narratoria/events.py", "import narratoria.documents\n")
        for test in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            condition = f"if {test}:\n    from narratoria.events import Event\n"
            self.assertEqual(self.found(condition), [])
            otherwise = f"if {test}:\n    pass\nelse:\n    from narratoria.events import Event\n"
            self.assertEqual(len(self.found(otherwise)), 1)


class AbsolutePaths(Tree):
    def found(self):
        return list(absolute_paths.faults(self.tree))

    def test_ordinary_paths_are_allowed(self):
        self.write("a.md", "#!/usr/bin/env python3, /tmp/torch.png, /etc/passwd, /home/user/story, "
                           "https://example.org/home/page/x, /tools/0/input, build/home/x/y\n")
        self.assertEqual(self.found(), [])

    def test_folder_of_a_user_is_a_fault(self):
        # Concatenated, so that this file does not fail the check itself.
        self.write("a.md", "see /" + "home/anna/narratoria/README.md\n")
        self.write("b.c", 'open("/' + 'builds/1234/x.c");\n')
        self.assertEqual(len(self.found()), 2)

    def test_folder_of_this_checkout_is_a_fault(self):
        self.write("a.md", f"see {self.tree.resolve()}/b\n")
        self.assertEqual(len(self.found()), 1)


class ContributingSamples(Tree):
    def found(self, page):
        self.write("CMakePresets.json", '{"configurePresets": [{"name": "dev"}]}')
        self.write("runtime/base/json.hpp", "#pragma once\nint read();\nint write();\n")
        self.write("CONTRIBUTING.md", page)
        return list(contributing_samples.faults(self.tree, "cc", "c++"))

    def test_correct_page_has_no_faults(self):
        page = """Run:
```sh
CC=cc cat runtime/base/json.hpp   # a comment
cat --preset dev
```
In `runtime/base/json.hpp`:
   ```cpp
   int read();
   int write();
   ```
Add `runtime/base/clock.hpp`, and see [the presets](CMakePresets.json):
```cpp
// runtime/base/clock.hpp
#pragma once
int now();
```
```cpp
#include "base/clock.hpp"
inline int later() { return now() + 1; }
```
"""
        self.assertEqual(self.found(page), [])

    def test_sample_that_does_not_compile_is_a_fault(self):
        self.assertEqual(len(self.found("```cpp\nint x = y;\n```\n")), 1)
        self.assertEqual(len(self.found("```c\nint x = y;\n```\n")), 1)

    def test_lines_that_are_not_in_the_quoted_file_are_a_fault(self):
        page = "In `runtime/base/json.hpp`:\n   ```cpp\n   int write();\n   int read();\n   ```\n"
        self.assertEqual(len(self.found(page)), 1)

    def test_missing_files_programs_and_presets_are_faults(self):
        page = """See `runtime/base/gone.hpp` and [a page](docs/gone.md).
```sh
cmake --preset gone
no-such-program-at-all
cat runtime/base/gone.hpp
tests/gone.sh
```
"""
        self.assertEqual(len(self.found(page)), 6)


if __name__ == "__main__":
    unittest.main()
