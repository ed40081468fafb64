# SPDX-License-Identifier: Apache-2.0
# The base of results that become JSON and are not dataclasses, because these load slowly.

from __future__ import annotations

from collections.abc import Iterator

from narratoria._lazy import typing

TYPE_CHECKING = False


class JsonObject:
    """An object that json, pydantic and FastAPI can write."""

    __slots__ = ()

    if TYPE_CHECKING:

        def to_dict(self) -> dict[str, typing.Any]: ...

    def __iter__(self) -> Iterator[tuple[str, typing.Any]]:
        # For dict(turn). FastAPI calls it, because pydantic's models have it.
        return iter(self.to_dict().items())

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> dict[str, typing.Any]:
        # The protocol of pydantic: how fields of this class are checked and written.
        return {
            "type": "is-instance",
            "cls": cls,
            "serialization": {
                "type": "function-plain",
                "function": cls.to_dict,
                "return_schema": {"type": "dict"},
            },
        }
