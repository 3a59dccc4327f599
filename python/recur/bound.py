"""A call on the same memory again and again; see :meth:`recur.Recurrence.bind`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from . import _native, memory

if TYPE_CHECKING:
    from .recurrence import Recurrence


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


def show_bound(recurrence: Recurrence, array: Any) -> Any:
    """An array that is no tensor of PyTorch's, which has its own."""
    return array


def allocate_bound(shape: Sequence[int], dtype: str, given: Sequence[Any]) -> Any:
    """An output."""
    return numpy.empty(shape, memory.find_type(dtype, given))


def note_bound(arrays: Sequence[Any]) -> None:
    """Nobody has to be told that an array has other numbers."""
    return None
