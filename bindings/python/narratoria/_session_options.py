# SPDX-License-Identifier: Apache-2.0
# Checks the arguments of a session and converts them for the compiled part.

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

# The index is the value of NAR_OUTPUT_….
_OUTPUT_MODES = ("remove", "keep", "none")
# The index is the value in the C ABI.
_DURABILITIES = ("turn", "lazy")


def _guarantees(sandbox: str | Iterable[str]) -> str:
    names = (
        [text_of("sandbox", sandbox)]
        if isinstance(sandbox, (str, bytes))
        else [text_of("each element of sandbox", each) for each in sandbox]
    )
    # An empty string, for example from an empty environment variable, would mean no guarantees.
    if not all(name.strip() for name in names):
        raise ValueError('sandbox contains an empty str; name guarantees, such as "no_network"')
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
    seed: int | None,
    watch: bool,
) -> dict[str, Any]:
    """Returns the options of a `_core.Session`."""
    if state is not None and not hasattr(state, "keys"):
        raise TypeError(f"state must be a dict, not {type(state).__name__}")
    if plugin_settings is not None and not hasattr(plugin_settings, "keys"):
        raise TypeError(f"plugin_settings must be a dict, not {type(plugin_settings).__name__}")
    if narrator is not None and not isinstance(narrator, str) and not callable(narrator):
        raise TypeError(
            f"narrator must be a function or the id of a plugin, not {type(narrator).__name__}"
        )
    for name, text in (("id", id), ("store", store)):
        if text is not None and not text:
            raise ValueError(f"{name} must not be empty; leave it out for the default")
    if environment is not None and not hasattr(environment, "items"):
        raise TypeError(f"environment must be a dict, not {type(environment).__name__}")
    if output_mode not in _OUTPUT_MODES:
        raise ValueError(f'output_mode must be "remove", "keep" or "none", not {output_mode!r}')
    if durability not in _DURABILITIES:
        raise ValueError(f'durability must be "turn" or "lazy", not {durability!r}')
    given_environment: list[str] = []
    for name, value in (environment or {}).items():
        if "=" in text_of("the name of an environment variable", name):
            raise ValueError(f"the name of an environment variable must not contain =: {name!r}")
        given_environment.append(f"{name}={text_of(f'environment[{name!r}]', value)}")
    options: dict[str, Any] = {
        "story": None if story is None else path_text("story", story),
        "project": None if project is None else path_text("project", project),
        "state": None if state is None else dict(state),
        "narrator_id": text_of("narrator", narrator) if isinstance(narrator, str) else None,
        "plugins": [path_text("each element of plugins", each) for each in plugins],
        "plugin_settings": None if plugin_settings is None else dict(plugin_settings),
        "without_plugins": true_or_false("without_plugins", without_plugins),
        "id": None if id is None else text_of("id", id),
        "jobs": 0 if jobs is None else whole_number("jobs", jobs, 1, 0xFFFF_FFFF),
        "cgroup": None if cgroup is None else path_text("cgroup", cgroup),
        "output_mode": _OUTPUT_MODES.index(output_mode),
        "store": None if store is None else path_text("store", store),
        "durability": _DURABILITIES.index(durability),
        "must_be_new": true_or_false("must_be_new", must_be_new),
        "seed": 0 if seed is None else whole_number("seed", seed, 1, 0xFFFF_FFFF_FFFF_FFFF),
        "watch": true_or_false("watch", watch),
        "root": None if root is None else path_text("root", root),
        "environment": given_environment,
        "allow_paths": [path_text("each element of allow_paths", each) for each in allow_paths],
        "allow_schemes": [text_of("each element of allow_schemes", each) for each in allow_schemes],
        "sandbox": _guarantees(sandbox),
        "times": numbers_of("times", times),
        "limits": numbers_of("limits", limits),
    }
    for name in ("must_be_new", "durability"):
        if options[name] and store is None:
            raise ValueError(
                f'{name} needs a store; give the session one, such as store="saves.db"'
            )
    for plugin in options["plugins"]:
        if "/" in plugin and not exists(plugin):
            raise FileNotFoundError(
                ENOENT, "the plugin does not exist; to name a plugin by its id, use no /", plugin
            )
    return options
