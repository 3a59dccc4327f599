"""The types of the arrays that a kernel has, as a text: that of what is not named, outputs among it, and then each array that has
another one, such as ``"bfloat16,g=float32,beta=float32"``. States are float32 where they are not named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .errors import ArgumentError, suggest

if TYPE_CHECKING:
    from .declaration import Declaration

#: The names of types in NumPy, and of `recurc build --dtype`.
NAMES = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}


def read_types(arrays: Sequence[Any]) -> tuple[str | None, ...]:
    """The names of the types of arrays of whatever library; None for what is none."""
    return tuple(None if array is None else str(getattr(array, "dtype", "")).rsplit(".", 1)[-1] for array in arrays)


def split(text: str) -> tuple[str, dict[str, str]]:
    """The type of what is not named, and those of what is."""
    first, *others = (word.strip() for word in text.split(","))
    return first, dict((name.strip(), dtype.strip()) for name, _, dtype in (word.partition("=") for word in others))


def spell(text: str) -> str:
    """The same in the words of `recurc build --dtype`."""
    usual, named = split(text)
    return ",".join([NAMES[usual], *(f"{name}={NAMES[dtype]}" for name, dtype in named.items())])


def find(text: str, kind: str, name: str) -> str:
    """The type of an array of a kind: an input, a param, a state or an output."""
    usual, named = split(text)
    return named.get(name, "float32" if kind == "state" else usual)


def check(declaration: Declaration, text: Any) -> str:
    """What a caller wrote, as calls write it. A complex value is named, or its parts are."""
    usual, named = split(str(text))
    for dtype in (usual, *named.values()):
        if dtype not in NAMES:
            raise ArgumentError(f"{declaration.name}: there are no kernels for {dtype or 'nothing'}, only for {', '.join(NAMES)}")
    groups = (declaration.inputs, declaration.params, declaration.states, declaration.outputs)
    wholes = {value.complex for values in groups for value in values if value.complex}
    known = sorted({value.name for values in groups for value in values} | wholes)
    for name in named:
        # States of delays are not declared: the compiler knows them.
        if name not in known and not declaration.has_implicit_states:
            raise ArgumentError(f"{declaration.name}: dtype names '{name}', which is no array of the recurrence" + suggest(name, known))
    words = [usual]
    for values, default in zip(groups, (usual, usual, "float32", usual)):
        for value in values:
            dtype = named.pop(value.name, "") or named.get(value.complex or "", default)
            if dtype != default:
                words.append(f"{value.name}={dtype}")
    return ",".join(words + [f"{name}={dtype}" for name, dtype in named.items() if name not in wholes])
