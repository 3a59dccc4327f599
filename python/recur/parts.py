"""Complex values. A kernel has two real arrays of each, which are taken apart and put together here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy

from . import pools
from .declaration import Value
from .errors import ArgumentError, suggest

if TYPE_CHECKING:
    from .call_options import CallOptions
    from .recurrence import Recurrence


@dataclass(frozen=True)
class Written:
    """A value as the text declares it."""

    name: str
    #: Those of the kernel's arrays: the real and the imaginary part where it is complex, else the value itself.
    parts: tuple[Value, ...]

    @property
    def is_complex(self) -> bool:
        """Whether its numbers are."""
        return bool(self.parts[0].complex)

    def __str__(self) -> str:
        text = str(self.parts[0])
        return "complex " + self.name + text[len(self.parts[0].name) :] if self.is_complex else text


def list_written(values: Sequence[Value]) -> list[Written]:
    """Values as the text declares them, of those that a kernel has."""
    names = list(dict.fromkeys(value.complex or value.name for value in values))
    return [Written(name, tuple(value for value in values if (value.complex or value.name) == name)) for name in names]


def _is_torch(array: Any) -> bool:
    return type(array).__module__.startswith("torch")


def _is_jax(array: Any) -> bool:
    return type(array).__module__.startswith("jax")


def is_complex(array: Any) -> bool:
    """Whether the numbers of an array are complex."""
    return "complex" in str(getattr(array, "dtype", "")) or isinstance(array, complex)


def _split(what: str, array: Any) -> tuple[Any, Any]:
    """The parts of a complex array, and of a real one, which is complex without an imaginary part. Derivatives go through."""
    if array is None:
        return None, None
    if _is_torch(array):
        import torch

        dtype = str(array.dtype).removeprefix("torch.")
        parts = (array.real, array.imag) if array.is_complex() else (array, torch.zeros_like(array))
    elif _is_jax(array):
        import jax.numpy as jnp

        dtype = str(array.dtype)
        parts = (array.real, array.imag) if is_complex(array) else (array, jnp.zeros_like(array))
    else:
        if not isinstance(array, numpy.ndarray):
            array = numpy.from_dlpack(array) if hasattr(array, "__dlpack__") else numpy.asarray(array)
        dtype = array.dtype.name
        parts = (array.real, array.imag) if array.dtype.kind == "c" else (array, numpy.zeros_like(array))
    if dtype == "complex128":
        raise ArgumentError(f"{what} is complex128; a kernel computes with two float32, which are complex64: convert it to that")
    return parts


def _join(re: Any, im: Any) -> Any:
    """The complex array, which is complex64 whatever its parts are."""
    if _is_torch(re):
        import torch

        return torch.complex(re.float(), im.float())
    if _is_jax(re):
        import jax

        return jax.lax.complex(re.astype("float32"), im.astype("float32"))
    whole = numpy.empty(re.shape, numpy.complex64)
    whole.real, whole.imag = re, im
    return whole


def _allocate(array: Any, dtype: str) -> Any:
    """A real array to compute a part of a complex one in."""
    if _is_torch(array):
        import torch

        return array.new_empty(tuple(array.shape), dtype=getattr(torch, dtype))
    if dtype == "bfloat16":
        import ml_dtypes

        return numpy.empty(array.shape, ml_dtypes.bfloat16)
    return numpy.empty(array.shape, dtype)


class _Written:
    """What results are to be written to: arrays for the kernel, and those of the caller's that are put together afterwards."""

    def __init__(self, what: str, given: Any, values: Sequence[Written], has_others: bool, dtype: str) -> None:
        self.targets: dict[str, Any] = {}
        self.arrays: Any = given
        self._made: dict[str, tuple[Any, Any]] = {}
        if given is None or isinstance(given, bool):
            return
        self.arrays = {}
        for name, array in _name(what, given, values, has_others).items():
            if any(value.is_complex and value.name == name for value in values):
                if array is None:
                    continue
                if not is_complex(array) or str(array.dtype).endswith("complex128"):
                    raise ArgumentError(f"{what}: '{name}' is complex, and the array to write it to is {array.dtype}; it must be complex64")
                self.targets[name] = array
                self._made[name] = _allocate(array, dtype), _allocate(array, dtype)
                self.arrays |= {name + "_re": self._made[name][0], name + "_im": self._made[name][1]}
            else:
                self.arrays[name] = array

    def finish(self) -> None:
        """Puts the parts together in the caller's arrays."""
        for name, target in self.targets.items():
            re, im = self._made[name]
            if _is_torch(target):
                target.copy_(_join(re, im))
            else:
                target.real, target.imag = re, im


def _name(what: str, given: Any, values: Sequence[Written], has_others: bool) -> dict[str, Any]:
    """One array for each name, of a mapping, or of the thing itself where there is one value."""
    if isinstance(given, Mapping):
        known = [name for value in values for name in (value.name, *(part.name for part in value.parts))]
        for name in given:
            if name not in known and not has_others:
                raise ArgumentError(f"{what} names '{name}'" + suggest(name, [value.name for value in values]))
        return dict(given)
    if len(values) != 1 or has_others:
        names = ", ".join(value.name for value in values) + (" and those of its delays" if has_others else "")
        raise ArgumentError(f"{what} is of several ({names}): give a mapping of names to arrays")
    return {values[0].name: given}


class Layout:
    """Which values of a recurrence are complex."""

    def __init__(self, recurrence: Recurrence) -> None:
        declaration = recurrence.declaration
        self.name = recurrence.name
        self.given = [*list_written(declaration.inputs), *list_written(declaration.params)]
        self.states = list_written(declaration.states)
        self.outputs = list_written(declaration.outputs)
        self.has_others = declaration.has_implicit_states
        # Plain tables, which torch.compile follows.
        self._labels = {
            value.name: f"{self.name}: the {kind} '{value.name}'"
            for kind, values in (("input", declaration.inputs), ("param", declaration.params))
            for value in list_written(values)
        }
        self._complex_states = {value.name for value in self.states if value.is_complex}

    def __bool__(self) -> bool:
        return any(value.is_complex for value in (*self.given, *self.states, *self.outputs))

    def split_given(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """The kernel's inputs and params by their names. A complex one is given as it is, or as its parts, by their names."""
        if len(arrays) > len(self.given):
            names = ", ".join(value.name for value in self.given)
            raise ArgumentError(f"{self.name}: {len(arrays)} arrays are given, and it takes {len(self.given)}: {names}")
        found: dict[str, Any] = {}
        whole = dict(zip((value.name for value in self.given), arrays))
        known = {value.name: value for value in self.given}
        parts = {part.name: value for value in self.given for part in value.parts}
        for name, array in named.items():
            if name in whole or (name not in known and name in parts and (parts[name].name in whole or parts[name].name in named)):
                is_part = name not in known
                again = f"the argument '{name}' is given twice, by place and by name"
                raise ArgumentError(f"{self.name}: " + (f"'{parts[name].name}' is given, and '{name}', a part of it, too" if is_part else again))
            if name in known:
                whole[name] = array
            else:
                found[name] = array  # a part, or a name that the call refuses
        for name, array in whole.items():
            value = known[name]
            if value.is_complex:
                found[name + "_re"], found[name + "_im"] = _split(self._labels[name], array)
            else:
                if is_complex(array):
                    raise ArgumentError(f"{self._labels[name]} is real, and the array is {array.dtype}")
                found[name] = array
        for value in self.given:
            missing = [part.name for part in value.parts if part.name not in found]
            if value.is_complex and len(missing) == 2:
                raise ArgumentError(f"{self._labels[value.name]} is missing")
        return found

    def refuse_wholes(self, arrays: Sequence[Any], named: Mapping[str, Any], *others: Any) -> None:
        """What a bound call or one on a pool reads and writes lies in memory as its kernel has it."""
        for array in (*arrays, *named.values(), *others):
            if any(map(is_complex, array.values() if isinstance(array, Mapping) else [array])):
                raise ArgumentError(
                    f"{self.name}: a bound call, or one on a pool, reads and writes memory as it is; give the parts of a complex value as two arrays, by the "
                    "names that end in _re and _im"
                )

    def call(self, recurrence: Recurrence, arrays: Sequence[Any], named: Mapping[str, Any], chosen: CallOptions) -> Any:
        """The call of a recurrence that has complex values."""
        given = self.split_given(arrays, named)
        initial = chosen.initial
        if initial is not None:
            states: dict[str, Any] = {}
            for name, array in _name(f"{self.name}: initial", initial, self.states, self.has_others).items():
                if name in self._complex_states:
                    states[name + "_re"], states[name + "_im"] = _split(f"{self.name}: the initial state '{name}'", array)
                else:
                    states[name] = array
            initial = states
        finals = _Written(f"{self.name}: final", chosen.final, self.states, self.has_others, "float32")
        result = "float32" if chosen.out is None else recurrence.find_result_type(given)
        outputs = _Written(f"{self.name}: out", chosen.out, self.outputs, False, result)
        chosen = chosen._replace(initial=initial, final=finals.arrays, out=outputs.arrays)
        if chosen.pool is not None:  # which lies in memory as the kernel has it: the parts of a complex state are two arrays
            self.refuse_wholes((), {}, chosen.pool)
            results = pools.perform(recurrence, (), given, chosen)
        else:
            results = recurrence.repeat(
                (), given, chosen.initial, chosen.final, chosen.out, chosen.offsets, chosen.states_transposed, kept_bytes=chosen.kept_bytes
            )
            if results is None:
                results = recurrence.compute((), given, chosen)
        finals.finish()
        outputs.finish()
        return self._join_results(recurrence, results, finals, outputs)

    def _join_results(self, recurrence: Recurrence, results: Any, finals: _Written, outputs: _Written) -> Any:
        with_states = finals.arrays is not False and finals.arrays is not None
        count = len(recurrence.declaration.outputs)
        rest = iter(results if count > 1 or with_states else (results,))
        joined = []
        for value in self.outputs:
            parts = [next(rest) for _ in value.parts]
            target = outputs.targets.get(value.name)
            joined.append(target if target is not None else _join(*parts) if value.is_complex else parts[0])
        if with_states:
            joined.append(self._join_states(next(rest), finals))
        return tuple(joined) if len(joined) > 1 else joined[0]

    def _join_states(self, states: Any, finals: _Written) -> Any:
        if not isinstance(states, Mapping):
            return states  # of the one that there is, which is real
        left = dict(states)
        for value in self.states:
            if not value.is_complex:
                continue
            re, im = (left.pop(part.name) for part in value.parts)
            target = finals.targets.get(value.name)
            if re is not None:
                left[value.name] = target if target is not None else _join(re, im)
        ordered = {value.name: left.pop(value.name) for value in self.states if value.name in left} | left
        return next(iter(ordered.values())) if len(self.states) == 1 and not self.has_others else ordered
