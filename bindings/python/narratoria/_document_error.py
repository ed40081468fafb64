# SPDX-License-Identifier: Apache-2.0
# The exception of documents. Not in errors.py, which needs a document.

from __future__ import annotations


class DocumentError(ValueError):
    """A document is not valid.

    Attributes:
        pointer: JSON Pointer (RFC 6901) to the place; `""` is the whole document.
        reason: what is wrong there, for people.

    >>> error = DocumentError("must be a string, is a number", "/tools/0/toolId")
    >>> error.pointer
    '/tools/0/toolId'
    >>> print(error)
    /tools/0/toolId: must be a string, is a number
    """

    # Its public place, for tracebacks and pickles.
    __module__ = "narratoria.errors"

    def __init__(self, reason: str, pointer: str = "") -> None:
        super().__init__(reason, pointer)
        self.reason = reason
        self.pointer = pointer

    def __str__(self) -> str:
        return f"{self.pointer or 'the document'}: {self.reason}"

    def within(self, token: str | int) -> DocumentError:
        """Returns the same fault with a pointer from the enclosing object or array, which has the
        place under `token`.

        >>> DocumentError("is missing", "/b").within("a").pointer
        '/a/b'
        """
        escaped = str(token).replace("~", "~0").replace("/", "~1")
        return DocumentError(self.reason, f"/{escaped}{self.pointer}")
