#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_imports.py [TREE]: checks that no modules of the Python package import each other.

An import inside a function counts like one at the top: it only hides a circle. Imports for type
checkers (`if TYPE_CHECKING:`) do not count.
"""

import ast
import sys
from pathlib import Path

from include_arrows import circles

PACKAGE = "bindings/python/narratoria"


def is_type_checking(test):
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"


def imports_below(node):
    """(line, dotted names) of each import that may run; of `from a import b`, a.b and a."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield child.lineno, [[alias.name] for alias in child.names]
        elif isinstance(child, ast.ImportFrom):
            base = ".".join(([PACKAGE.rpartition("/")[2]] if child.level else [])
                            + ([child.module] if child.module else []))
            yield child.lineno, [[f"{base}.{alias.name}", base] for alias in child.names]
        elif isinstance(child, ast.If) and is_type_checking(child.test):
            yield from imports_below(ast.Module(child.orelse, []))
        else:
            if isinstance(child, ast.Call) and child.args:
                called, name = child.func, child.args[0]
                called = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                if called == "import_module" and isinstance(name, ast.Constant):
                    yield child.lineno, [[name.value]]
            yield from imports_below(child)


def module_imports(tree):
    """{module: {imported module: a place}}, for the modules of the package."""
    package = tree / PACKAGE
    # The compiled module has only a stub, and no imports.
    files = {f"{package.name}.{file.stem}": file
             for file in [*package.glob("*.pyi"), *sorted(package.glob("*.py"))]}
    if f"{package.name}.__init__" in files:
        files[package.name] = files.pop(f"{package.name}.__init__")
    found = {}
    for module, file in files.items():
        if file.suffix != ".py":
            continue
        for line, imported in imports_below(ast.parse(file.read_text(encoding="utf-8"))):
            for names in imported:
                target = next((name for name in names if name in files), None)
                if target is not None and target != module:
                    place = f"{file.relative_to(tree).as_posix()}:{line}: {target}"
                    found.setdefault(module, {}).setdefault(target, place)
    return found


def faults(tree):
    includes = module_imports(tree.resolve())
    for group in circles(includes):
        places = [place for module in sorted(group)
                  for target, place in sorted(includes[module].items()) if target in group]
        yield "modules import each other in a circle: " + "; ".join(places)


def main():
    tree = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2]
    found = list(faults(tree))
    for fault in found:
        print(fault, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
