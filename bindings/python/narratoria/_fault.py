# SPDX-License-Identifier: Apache-2.0
# The document of one fault. Not in documents.py, which needs the exceptions that have faults.

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ._document import Described, new_object


@dataclass(slots=True, repr=False, eq=False)
class Fault(Described):
    """One fault of a document, as in `narratoria validate --json` and `planFaults`.

    Attributes:
        message: what is wrong and what to do, for people.
        pointer: JSON Pointer to the place; `""` is the whole document.
        rule: the violated rule, for programs.
        line, column: place in the text, from 1; None if there was no text.
        byte: place in the text, from 0; None if there was no text.
        file: the file of a story; None for other documents.
        extra: unknown members.

    >>> Fault("must not be empty", "/tools/0/toolId", "minLength", line=3, column=17)
    <Fault 3:17 /tools/0/toolId minLength: must not be empty>
    """

    message: str
    pointer: str = ""
    rule: str = ""
    line: int | None = None
    column: int | None = None
    byte: int | None = None
    file: str | None = None
    extra: dict[str, Any] = field(default_factory=new_object)

    _order = "file line column byte pointer rule message"

    def __str__(self) -> str:
        place = [str(part) for part in (self.file, self.line, self.column) if part is not None]
        parts = [":".join(place), self.pointer, self.rule]
        return f"{' '.join(part for part in parts if part) or 'fault'}: {self.message}"

    def __repr__(self) -> str:
        return f"<Fault {self}>"


# Its public place, for pickles. Not in the class: `dataclass` looks for that module.
Fault.__module__ = "narratoria.documents"
