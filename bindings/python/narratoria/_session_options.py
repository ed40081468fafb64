# SPDX-License-Identifier: Apache-2.0
# The arguments of a session, checked, as the compiled part takes them.

from __future__ import annotations

from errno import ENOENT
from os.path import exists

from narratoria._checks import numbers_of, path_text, text_of, true_or_false, whole_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from os import PathLike
    from typing import Any

    from narratoria.options import Limits, Times

# In the order of NAR_OUTPUT_….
_OUTPUT_MODES = ("remove", "keep", "none")
# The index is the number of the C ABI.
_DURABILITIES = ("turn", "lazy")


def _guarantees(sandbox: str | Iterable[str]) -> str:
    names = (
        [text_of("sandbox", sandbox)]
        if isinstance(sandbox, (str, bytes))
        else [text_of("each of sandbox", each) for each in sandbox]
    )
    # An empty variable of the environment would mean: no guarantees at all.
    if not all(name.strip() for name in names):
        raise ValueError('an empty text in sandbox; name guarantees, such as "no_network"')
    return ",".join(names)


def core_options(
    story: str | PathLike[str] | None,
    *,
    project: str | PathLike[str] | None,
    state: Mapping[str, Any] | None,
    narrator: str | Callable[..., Any] | None,
    plugins: Iterable[str | PathLike[str]],
    plugin_settings: Mapping[str, Mapping[str, Any]] | None,
    without_plugins: bool,
    id: str | None,
    jobs: int | None,
    root: str | PathLike[str] | None,
    environment: Mapping[str, str] | None,
    allow_paths: Iterable[str | PathLike[str]],
    allow_schemes: Iterable[str],
    sandbox: str | Iterable[str],
    times: Times | None,
    limits: Limits | None,
    cgroup: str | PathLike[str] | None,
    output_mode: str,
    store: str | PathLike[str] | None,
    durability: str,
    must_be_new: bool,
) -> dict[str, Any]:
    """The options of a `_core.Session`."""
    if state is not None and not hasattr(state, "keys"):
        raise TypeError(f"state is a dict, not {type(state).__name__}")
    if plugin_settings is not None and not hasattr(plugin_settings, "keys"):
        raise TypeError(f"plugin_settings is a dict, not {type(plugin_settings).__name__}")
    if narrator is not None and not isinstance(narrator, str) and not callable(narrator):
        raise TypeError(
            f"narrator is a function or the id of a plugin, not {type(narrator).__name__}"
        )
    for name, text in (("id", id), ("store", store)):
        if text is not None and not text:
            raise ValueError(f"{name} is empty; leave it out for the default")
    if environment is not None and not hasattr(environment, "items"):
        raise TypeError(f"environment is a dict, not {type(environment).__name__}")
    if output_mode not in _OUTPUT_MODES:
        raise ValueError(f'output_mode is "remove", "keep" or "none", not {output_mode!r}')
    if durability not in _DURABILITIES:
        raise ValueError(f'durability is "turn" or "lazy", not {durability!r}')
    given_environment: list[str] = []
    for name, value in (environment or {}).items():
        if "=" in text_of("the name of a variable of environment", name):
            raise ValueError(f"the name of a variable of environment has no =, as in {name!r}")
        given_environment.append(f"{name}={text_of(f'environment[{name!r}]', value)}")
    options: dict[str, Any] = {
        "story": None if story is None else path_text("story", story),
        "project": None if project is None else path_text("project", project),
        "state": None if state is None else dict(state),
        "narrator_id": text_of("narrator", narrator) if isinstance(narrator, str) else None,
        "plugins": [path_text("each of plugins", each) for each in plugins],
        "plugin_settings": None if plugin_settings is None else dict(plugin_settings),
        "without_plugins": true_or_false("without_plugins", without_plugins),
        "id": None if id is None else text_of("id", id),
        "jobs": 0 if jobs is None else whole_number("jobs", jobs, 1, 0xFFFF_FFFF),
        "cgroup": None if cgroup is None else path_text("cgroup", cgroup),
        "output_mode": _OUTPUT_MODES.index(output_mode),
        "store": None if store is None else path_text("store", store),
        "durability": _DURABILITIES.index(durability),
        "must_be_new": true_or_false("must_be_new", must_be_new),
        "root": None if root is None else path_text("root", root),
        "environment": given_environment,
        "allow_paths": [path_text("each of allow_paths", each) for each in allow_paths],
        "allow_schemes": [text_of("each of allow_schemes", each) for each in allow_schemes],
        "sandbox": _guarantees(sandbox),
        "times": numbers_of("times", times),
        "limits": numbers_of("limits", limits),
    }
    for plugin in options["plugins"]:
        if "/" in plugin and not exists(plugin):
            raise FileNotFoundError(
                ENOENT, "there is no such plugin; a plugin without / is an id", plugin
            )
    return options
