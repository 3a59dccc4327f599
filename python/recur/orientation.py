"""Which side of a square state is which. A state ``[V, K]`` that is given where ``[K, V]`` is expected, as between
:mod:`recur.fla` and a recurrence of one's own, has a wrong shape where K and V differ. Where they are equal its shape says nothing, so
that calls remember how the states lie that they gave, for as long as these live and hold the same numbers."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy

from .errors import ArgumentError

if TYPE_CHECKING:
    from .recurrence import Recurrence

_Sides = tuple[int | str, ...]

#: By the `id` of an array that is alive: the array, its sides, and what tells whether its numbers are still the same.
_given: dict[int, tuple[weakref.ref[Any], _Sides, Any]] = {}


def _mark(array: Any) -> Any:
    """Changes when the array is written to: a count of PyTorch's, some elements of NumPy's; others cannot be written to."""
    if hasattr(type(array), "_version"):
        return object() if array.is_inference() else array._version  # of the first nobody counts, and nothing is known
    if isinstance(array, numpy.ndarray):
        corner = array[(0,) * (array.ndim - 2)]
        return float(corner[0, 1]), float(corner[1, 0]), float(corner[0, -1])
    return None


def _is_square(array: Any) -> bool:
    shape: tuple[int, ...] = getattr(array, "shape", ())
    return len(shape) >= 4 and shape[-1] == shape[-2] > 1 and 0 not in shape


def _pair(recurrence: Recurrence, arrays: Any, transposed: bool) -> list[tuple[str, _Sides, Any]]:
    """States with two sides of different names, with the sides as these arrays have them."""
    found: list[tuple[str, _Sides, Any]] = []
    if not recurrence.sides:
        return found
    if not isinstance(arrays, Mapping):
        arrays = dict.fromkeys(recurrence.sides, arrays) if len(recurrence.declaration.states) == 1 else {}
    for name, array in arrays.items():
        sides = recurrence.sides.get(name)
        if sides and _is_square(array):
            found.append((name, sides[::-1] if transposed else sides, array))
    return found


def note(recurrence: Recurrence, states: Any, transposed: bool) -> None:
    """Remembers the states that a call gave."""
    for _, sides, array in _pair(recurrence, states, transposed):
        key = id(array)
        try:
            alive = weakref.ref(array, lambda _, key=key: _given.pop(key, None))  # type: ignore[misc]
        except TypeError:  # of what is traced
            continue
        _given[key] = alive, sides, _mark(array)


def check(recurrence: Recurrence, states: Any, transposed: bool) -> None:
    """Raises where a call gave one of these states with its sides the other way round."""
    for name, sides, array in _pair(recurrence, states, transposed):
        alive, before, mark = _given.get(id(array), (None, None, None))
        if alive is not None and alive() is array and before == sides[::-1] and mark == _mark(array):
            lies, wanted = (", ".join(map(str, pair)) for pair in (before, sides))
            raise ArgumentError(
                f"{recurrence.name}: the initial state '{name}' was given by a call as [B, H, {lies}], and is expected as [B, H, {wanted}]; "
                f"states_transposed={not transposed} takes it as it lies. States of recur.fla are [K, V], those of recur.library [V, K]"
            )
