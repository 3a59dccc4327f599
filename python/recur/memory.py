"""Calls on whatever shows its memory, with NumPy's arrays as results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

from . import _native, kept
from .errors import ArgumentError

if TYPE_CHECKING:
    from .call_options import CallOptions
    from .recurrence import Recurrence


def refuse(recurrence: Recurrence, *, pool: bool = False, keeps: bool = False) -> None:
    """These arrays allow all calls."""


def find_whole(recurrence: Recurrence, given: list[Any]) -> Recurrence:
    """The recurrence with the states of its delays."""
    return recurrence.with_all_states(*recurrence.read_key(given))


def show_bound(recurrence: Recurrence, array: Any) -> Any:
    """The array itself shows its memory."""
    return array


def lend_threads(call: _native.Call) -> None:
    """NumPy has no threads."""


def allocate_bound(shape: Sequence[int], dtype: str, given: Sequence[Any]) -> Any:
    """An output of a bound call."""
    return numpy.empty(shape, find_type(dtype, given))


def note_bound(arrays: Sequence[Any]) -> None:
    """Nobody has to be told that an array has other numbers."""


def call(recurrence: Recurrence, given: list[Any], chosen: CallOptions) -> Any:
    """The call itself."""
    final = chosen.final
    initials = recurrence.list_initials(chosen.initial)
    finals = None if isinstance(final, bool) or final is None else recurrence.list_finals(final)
    if chosen.pool is not None:  # which has both; see `recur.pools`
        initials = finals = recurrence.list_pools(chosen.pool)
    call = _native.Call(
        recurrence.signature, given, initials, chosen.offsets, chosen.states_transposed, recurrence.notice(), finals=finals,
        **({**chosen.indices.name(), **chosen.indices.numbers} if chosen.pool is not None else {}),
    )  # fmt: skip
    loaded = recurrence.obtain(call.key)
    output_shapes, state_shapes = call.shapes(loaded.kernel)
    wanted = recurrence.list_outputs(chosen.out) or [None] * len(output_shapes)
    made = zip(wanted, output_shapes, loaded.output_types)
    outputs = [numpy.empty(shape, find_type(dtype, given)) if array is None else array for array, shape, dtype in made]
    if finals is None:
        finals = _allocate(state_shapes, loaded.state_types, initials or ()) if final else [None] * len(state_shapes)
    call.run(loaded.kernel, outputs, finals)
    return recurrence.arrange(outputs, finals, chosen.wants_final)


def _allocate(shapes: Sequence[Any], types: Sequence[str], given: Sequence[Any]) -> list[Any]:
    return [numpy.empty(shape, find_type(dtype, given)) for shape, dtype in zip(shapes, types)]


def keep(recurrence: Recurrence, given: list[Any], initial: Any, offsets: Any, every: int) -> Any:
    """The call with the states on the way; see :meth:`recur.Recurrence.keep`."""
    initials = recurrence.list_initials(initial)
    call = _native.Call(recurrence.signature, given, initials, offsets, False, recurrence.notice())
    loaded = recurrence.obtain(call.key)
    output_shapes, state_shapes = call.shapes(loaded.kernel)
    outputs = _allocate(output_shapes, loaded.output_types, given)
    finals = _allocate(state_shapes, loaded.state_types, initials or ())
    B, T = output_shapes[0][:2]
    ends = None if offsets is None else [int(end) for end in numpy.asarray(offsets)]
    rows = [numpy.empty(shape, numpy.float32) for shape in kept.count_on_the_way(loaded.kernel, B, T, call.heads[0], ends, every)]
    flat = rows if ends else [state.reshape(B * state.shape[1], *state.shape[2:]) for state in rows]
    call.run(loaded.kernel, outputs, finals, kept=flat, kept_interval=every)
    return recurrence.arrange_kept(outputs, rows, finals)


def find_type(name: str, given: Sequence[Any]) -> Any:
    """NumPy's type of that name; NumPy itself has no bfloat16, so that it is that of an argument."""
    if name != "bfloat16":
        return numpy.float32 if name == "float32" else numpy.float16
    for array in given:
        if isinstance(array, numpy.ndarray) and array.dtype.name == name:
            return array.dtype
    try:
        import ml_dtypes
    except ImportError:
        raise ArgumentError("bfloat16 results need the package ml_dtypes, which gives NumPy that type") from None
    return ml_dtypes.bfloat16
