"""Gradients of calls on NumPy's arrays, which have no library that would ask for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from . import _native, memory, orientation
from .errors import ArgumentError, suggest
from .parts import is_complex

if TYPE_CHECKING:
    from .recurrence import Recurrence


def refuse_complex(name: str, *given: Any) -> None:
    """A kernel's gradient is by the parts of complex values."""
    for array in given:
        if any(map(is_complex, array.values() if isinstance(array, Mapping) else [array])):
            raise ArgumentError(f"{name}: gradient takes the parts of a complex value as two arrays, by the names that end in _re and _im")


def _refuse_others(recurrence: Recurrence, arrays: Sequence[Any]) -> None:
    for array in arrays:
        family = type(array).__module__.partition(".")[0]
        if family == "torch":
            raise ArgumentError(f"{recurrence.name}: gradient takes NumPy's arrays; of PyTorch's tensors backward() or torch.autograd.grad computes it")
        if family in ("jax", "jaxlib"):
            raise ArgumentError(f"{recurrence.name}: gradient takes NumPy's arrays; of JAX's jax.grad or jax.vjp computes it")


def _list_cotangents(recurrence: Recurrence, what: str, given: Any, values: Sequence[Any]) -> list[Any]:
    """One for each value, None for zeros."""
    if isinstance(given, Mapping) or given is None:
        found = dict(given or {})
        known = [value.name for value in values]
        for name in found:
            if name not in known:
                raise ArgumentError(f"{recurrence.name}: {what} names '{name}', which is none of {', '.join(known)}")
        return [found.get(value.name) for value in values]
    if len(values) != 1:
        names = ", ".join(value.name for value in values)
        raise ArgumentError(f"{recurrence.name}: {what} is of several ({names}): give a mapping of names to arrays")
    return [given]


def _choose(recurrence: Recurrence, wanted: Sequence[str] | None, initials: Sequence[Any]) -> list[str]:
    """The names of what is differentiated by: of inputs and params all, and of initial states those that there are."""
    declaration = recurrence.declaration
    there = [state.name for state, array in zip(declaration.states, initials) if array is not None]
    known = [*(value.name for value in (*declaration.inputs, *declaration.params) if not value.integer), *there]
    if wanted is None:
        return known
    if isinstance(wanted, str):
        wanted = [wanted]
    for name in wanted:
        if name not in known:
            is_state = any(state.name == name for state in declaration.states)
            if any(value.name == name for value in declaration.inputs):
                raise ArgumentError(f"{recurrence.name}: wanted names '{name}', an input of integers, by which nothing is differentiated")
            way = ": give it by initial=" if is_state else suggest(name, known)
            raise ArgumentError(f"{recurrence.name}: wanted names '{name}', which is no input, param or initial state of the call" + way)
    return list(wanted)


def compute(
    recurrence: Recurrence,
    given: list[Any],
    cotangents: Any,
    final_cotangents: Any,
    initial: Any,
    wanted: Sequence[str] | None,
    offsets: Any,
    states_transposed: bool,
) -> dict[str, Any]:
    """The gradients by the names of what they are of; see :meth:`recur.Recurrence.gradient`."""
    declaration = recurrence.declaration
    if initial is not None:
        orientation.check(recurrence, initial, states_transposed)
    initials = recurrence.list_initials(initial) or [None] * len(declaration.states)
    outputs = _list_cotangents(recurrence, "cotangents", cotangents, declaration.outputs)
    finals = _list_cotangents(recurrence, "final_cotangents", final_cotangents, declaration.states)
    _refuse_others(recurrence, [*given, *initials, *outputs, *finals])
    names = _choose(recurrence, wanted, initials)
    if all(array is None for array in (*outputs, *finals)):
        raise ArgumentError(f"{recurrence.name}: gradient needs the loss's derivatives by outputs (cotangents=) or by final states (final_cotangents=)")
    has_initial = [array is not None for array in initials]
    call = _native.Call(
        recurrence.signature, given, initials if any(has_initial) else None, offsets, states_transposed, recurrence.notice()
    )
    values = [value.name for value in (*declaration.inputs, *declaration.params)]
    flags = [name in names for name in values] + [state.name in names for state, there in zip(declaration.states, has_initial) if there]
    sizes, dtype = call.key
    kernel = recurrence.obtain_gradient(recurrence.name_sizes(sizes), dtype, recurrence.name_wanted(flags, has_initial)).kernel
    arrays = {name: array for name, array in zip([*values, *(state.name for state in declaration.states)], [*given, *initials])}
    types = {name: (role, kind) for name, role, kind, _, _ in kernel.arrays if role != "output"}
    results = {name: numpy.empty(numpy.shape(arrays[name]), memory.find_type(types[name][1], given)) for name in names}
    call.run_backward(
        kernel,
        outputs,
        finals,
        [results.get(name) for name in values],
        [results.get(state.name) for state in declaration.states],
    )
    return results
