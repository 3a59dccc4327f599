"""What options may be, checked where they are given: each mistake is an :class:`recur.ArgumentError` that names the option."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import ArgumentError


def read_count(where: str, option: str, value: Any, least: int = 0, most: int = 2**31 - 1) -> int:
    """A whole number, of Python's, NumPy's or whoever else's."""
    count = None
    if not isinstance(value, bool):
        with contextlib.suppress(TypeError):
            count = operator.index(value)
    if count is not None and least <= count <= most:
        return count
    bound = "" if count is None else f" of at least {least}" if count < least else f" of at most {most}"
    raise ArgumentError(f"{where}: {option} is a whole number{bound}, not {value!r}")


def read_flag(where: str, option: str, value: Any) -> bool:
    """Yes or no."""
    if type(value) is bool or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    raise ArgumentError(f"{where}: {option} is True or False, not {value!r}")


def read_text(where: str, option: str, value: Any) -> str:
    """A word, or a longer text."""
    if isinstance(value, str):
        return value
    raise ArgumentError(f"{where}: {option} is a string, not {value!r}")


def read_number(where: str, option: str, value: Any) -> float:
    """A number, such as the value of a const."""
    if not isinstance(value, (str, bytes)):
        with contextlib.suppress(TypeError, ValueError):
            return float(value)
    raise ArgumentError(f"{where}: {option} is a number, not {value!r}")


def read_mapping(where: str, option: str, value: Any, example: str) -> dict[str, Any]:
    """Names and what they are given."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ArgumentError(f"{where}: {option} is a mapping such as {example}, not {value!r}")
    return {read_text(where, f"a name in {option}", name): item for name, item in value.items()}


def read_dims(where: str, dims: Any, option: str = "dims") -> dict[str, int]:
    """Sizes of dims."""
    given = read_mapping(where, option, dims, '{"K": 64}')
    return {name: read_count(where, f"the size of the dim '{name}'", size, 1, 65536) for name, size in given.items()}


def read_consts(where: str, consts: Any) -> dict[str, float]:
    """Values of consts."""
    given = read_mapping(where, "consts", consts, '{"scale": 1.0}')
    return {name: read_number(where, f"the const '{name}'", value) for name, value in given.items()}


def read_tokens(where: str, tokens: Any) -> list[int] | None:
    """The lengths of sequences to check; None leaves them to the compiler."""
    if tokens is None:
        return None
    if isinstance(tokens, (str, bytes)) or not hasattr(tokens, "__iter__"):
        raise ArgumentError(f"{where}: tokens is a list of lengths such as [0, 1, 65], not {tokens!r}")
    lengths = [read_count(where, "a length in tokens", length) for length in tokens]
    if not lengths:
        raise ArgumentError(f"{where}: tokens has no length to check")
    return lengths


@dataclass(frozen=True)
class Options:
    """How a recurrence is compiled, as :func:`recur.define` and :meth:`recur.Recurrence.with_options` take it."""

    dims: dict[str, int] = field(default_factory=dict)
    consts: dict[str, float] = field(default_factory=dict)
    target: str = "host"
    plan: str = "auto"
    chunk: int = 0
    quick: bool = False
    precision: str | None = None  #: None: exact, or as PyTorch has it for its tensors

    @staticmethod
    def read(where: str, dims: Any, consts: Any, target: Any, plan: Any, chunk: Any, quick: Any, precision: Any) -> Options:
        """Raises :class:`recur.ArgumentError` where one is of the wrong kind. The compiler knows which targets and chunks there are."""
        return Options(
            read_dims(where, dims),
            read_consts(where, consts),
            read_text(where, "target", target),
            read_text(where, "plan", plan),
            read_count(where, "chunk", chunk),
            read_flag(where, "quick", quick),
            None if precision is None else read_text(where, "precision", precision),
        )
