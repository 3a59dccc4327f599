"""A call on the same memory again and again; see :meth:`recur.Recurrence.bind`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _native


class Bound:
    """A call on the same memory again and again; see :meth:`recur.Recurrence.bind`."""

    __slots__ = ("_call", "_kept", "_note", "result")

    def __init__(self, call: _native.Call, result: Any, kept: Any, note: Callable[[], None] | None) -> None:
        self._call, self._kept, self._note = call, kept, note
        #: The output, or the outputs as a tuple: the same arrays each time.
        self.result = result

    def __call__(self) -> Any:
        """Computes the call, and gives the outputs."""
        self._call.repeat()
        if self._note:
            self._note()
        return self.result
