"""The libraries whose arrays a call takes: NumPy, PyTorch and JAX, each a module with the functions of one interface.

:mod:`recur.recurrence` knows the interface alone. A library is imported when its arrays come first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from . import memory

if TYPE_CHECKING:
    from . import _native
    from .call_options import CallOptions
    from .recurrence import Recurrence


class ArrayLibrary(Protocol):
    """What each of the modules does with its arrays. `given` are the inputs and params of a call, in the order of the text."""

    def refuse(self, recurrence: Recurrence, *, pool: bool = False, keeps: bool = False) -> None:
        """Raises for calls that its arrays do not allow, on rows of pools or with states on the way, before anything is compiled."""

    def find_whole(self, recurrence: Recurrence, given: list[Any]) -> Recurrence:
        """The recurrence with the states of its delays and convolutions, which a caller may pass."""

    def call(self, recurrence: Recurrence, given: list[Any], chosen: CallOptions) -> Any:
        """The results of a call, as the caller gets them."""

    def keep(self, recurrence: Recurrence, given: list[Any], initial: Any, offsets: Any, every: int) -> Any:
        """The same with the states on the way; see :meth:`recur.Recurrence.keep`."""

    def show_bound(self, recurrence: Recurrence, array: Any) -> Any:
        """The memory of an array, for a call that is made on it again and again; see :meth:`recur.Recurrence.bind`."""

    def lend_threads(self, call: _native.Call) -> None:
        """Lets such a call run on the library's threads, if it has some."""

    def allocate_bound(self, shape: Sequence[int], dtype: str, given: Sequence[Any]) -> Any:
        """An output of such a call."""

    def note_bound(self, arrays: Sequence[Any]) -> Callable[[], None] | None:
        """What tells the library that a call has written the arrays, if it has to know."""


class SharedCalls(Protocol):
    """Calls whose sequences are divided among the processes of a group, or among the devices of an axis."""

    def call(self, recurrence: Recurrence, given: list[Any], chosen: CallOptions, group: Any, layout: str | None) -> Any:
        """The results for the tokens that are given, as the caller gets them."""


def find(arrays: Sequence[Any]) -> ArrayLibrary:
    """The library of the first array that is one of PyTorch's or JAX's. Whatever else shows its memory gives NumPy's arrays."""
    for array in arrays:
        family = type(array).__module__
        if family.startswith("jax"):
            from . import jax as jax_arrays

            return jax_arrays
        if family.startswith("torch"):
            from . import torch as torch_arrays

            return torch_arrays
    return memory


def find_shared(arrays: Sequence[Any]) -> SharedCalls:
    """JAX divides its arrays among devices. Processes exchange tensors of PyTorch."""
    if any(type(array).__module__.startswith("jax") for array in arrays):
        from . import jax_shared

        return jax_shared
    from . import distributed

    return distributed
