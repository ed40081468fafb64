# SPDX-License-Identifier: Apache-2.0
"""scikit-build-core without sdists: the library's sources are not in this folder."""

from __future__ import annotations

from scikit_build_core.build import *  # noqa: F403


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    """Refuses, because an sdist of this folder could not be built."""
    raise SystemExit(
        "narratoria has no sdist; build a wheel from the whole checkout: `pip wheel "
        "./bindings/python` (or `python -m build --wheel bindings/python`)"
    )
