"""The states that a call forward keeps for its gradient, which would compute them again: before the first token of each chunk,
or of each few."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _native
from .errors import ArgumentError, CompileError, NoGradientError

if TYPE_CHECKING:
    from .kernels import Loaded
    from .recurrence import Recurrence

_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "int32": 4}


@dataclass(frozen=True)
class Sizes:
    """Of a call. Where it is traced, any but the groups and heads may be symbols."""

    B: Any
    T: Any
    heads: Any
    groups: Any
    sequences: Any = None  #: of packed sequences, which lie along T

    def count_rows(self, interval: int) -> Any:
        """Of kept states, at most: which sequences are long, offsets say."""
        if self.sequences is not None:
            return self.T // interval + self.sequences
        return self.B * ((self.T + interval - 1) // interval)


def check_every(name: str, every: Any) -> None:
    """Raises where it is no number of tokens."""
    if not isinstance(every, int) or isinstance(every, bool) or every < 1:
        raise ArgumentError(f"{name}: every is a number of tokens, at least 1, not {every!r}")


def count_on_the_way(kernel: _native.Kernel, B: int, T: int, heads: int, offsets: Sequence[int] | None, every: int) -> list[tuple[int, ...]]:
    """The shapes of the states before every so many tokens, of each sequence or, where these are packed, of all together."""
    tokens = [T] if offsets is None else [max(end - begin, 0) for begin, end in zip(offsets, offsets[1:])]
    rows = sum((length + every - 1) // every for length in tokens)
    leading = (B, rows, heads) if offsets is None else (rows, heads)
    return [(*leading, *shape) for _, kind, _, _, shape in kernel.arrays if kind == "state"]


def check_budget(name: str, kept_bytes: Any) -> None:
    """Raises where it is no number of bytes."""
    if kept_bytes is None or (isinstance(kept_bytes, int) and not isinstance(kept_bytes, bool) and kept_bytes >= 0):
        return
    raise ArgumentError(f"{name}: kept_bytes is a number of bytes, or None, not {kept_bytes!r}")


def choose_interval(kernel: _native.Kernel, sizes: Sizes, kept_bytes: int | None) -> int:
    """The least number of tokens between states that are kept in so many bytes; 0 where nothing is kept. Left open, those of every
    chunk are, where they take at most half of what inputs, outputs, their cotangents and gradients take, which does not depend on
    how long sequences are."""
    chunk = kernel.gradient_chunk
    if not chunk or kept_bytes == 0:
        return 0
    row = 4 * sizes.heads * sum(math.prod(shape) for _, kind, _, _, shape in kernel.arrays if kind == "state")
    if kept_bytes is None:
        return chunk if _are_few(kernel, sizes, row, chunk) else 0

    def fits(chunks: int) -> bool:
        return bool(sizes.count_rows(chunks * chunk) * row <= kept_bytes)

    most = int(sizes.T) // chunk + 1  # with which each sequence has one row
    if not fits(most):
        return 0
    least = 1
    while least < most:
        middle = (least + most) // 2
        least, most = (least, middle) if fits(middle) else (middle + 1, most)
    return most * chunk


def _are_few(kernel: _native.Kernel, sizes: Sizes, row: Any, chunk: int, share: tuple[int, int] = (1, 2)) -> bool:
    """Whether rows of so many bytes, one for each chunk, take at most this share of what inputs, outputs, their cotangents and gradients do."""
    given = sum(
        2 * _BYTES[dtype] * (sizes.groups if shared else sizes.heads) * math.prod(shape)
        for _, kind, dtype, shared, shape in kernel.arrays
        if kind in ("input", "output")
    )
    return bool(share[1] * row <= share[0] * chunk * given)


def list_handed(kernel: _native.Kernel, sizes: Sizes, kept_bytes: int | None) -> tuple[list[Sequence[Any]], list[str]]:
    """The shapes and types of what a call on a GPU hands over to its gradient, by the same budget: states, and behind these what its
    launches leave to each other, where there is room for that too; none where nothing is: every chunk's or none, for a launch leaves
    them by the way."""
    if kernel.handed is None or kept_bytes == 0:
        return [], []
    chunk, taken = kernel.handed
    states = [shape for _, kind, _, _, shape in kernel.arrays if kind == "state"]
    row = sizes.heads * sum(_BYTES[dtype] * math.prod(states[place]) for place, dtype in taken)
    fits = _are_few(kernel, sizes, row, chunk) if kept_bytes is None else bool(sizes.count_rows(chunk) * row <= kept_bytes)
    if not fits:
        return [], []
    shapes: list[Sequence[Any]] = [(sizes.count_rows(chunk), sizes.heads, *states[place]) for place, _ in taken]
    types = [dtype for _, dtype in taken]
    numbers, _ = kernel.handed_values or (0, 0)
    row += sizes.heads * _BYTES["float32"] * numbers
    fits = _are_few(kernel, sizes, row, chunk, (2, 3)) if kept_bytes is None else bool(sizes.count_rows(chunk) * row <= kept_bytes)
    if numbers and fits:
        return [*shapes, (sizes.count_rows(chunk), sizes.heads, numbers)], [*types, "float32"]
    return shapes, types


def list_left(kernel: _native.Kernel, sizes: Sizes, kept_bytes: int | None, on_gpu: bool) -> tuple[tuple[tuple[int, ...], str], ...]:
    """Of each state that a call forward leaves for its gradient, where it leaves any, the shape, as declared, and the type; on a GPU of
    what it leaves besides, too."""
    states = [tuple(shape) for _, kind, _, _, shape in kernel.arrays if kind == "state"]
    if not on_gpu:
        return tuple((shape, "float32") for shape in states)
    return tuple((tuple(shape[2:]), dtype) for shape, dtype in zip(*list_handed(kernel, sizes, kept_bytes)))


def list_shapes(kernel: _native.Kernel, sizes: Sizes, interval: int) -> list[Sequence[Any]]:
    """The shapes of what is kept; none where nothing is."""
    if not interval:
        return []
    rows = sizes.count_rows(interval)
    return [(rows, sizes.heads, *shape) for _, kind, _, _, shape in kernel.arrays if kind == "state"]


def obtain(
    recurrence: Recurrence,
    known: Mapping[str, int],
    dtype: str,
    gradients: Sequence[str],
    sizes: Sizes,
    kept_bytes: int | None,
    target: str | None = None,
) -> tuple[Loaded | None, int]:
    """The kernel for a call forward whose gradients are wanted, with the interval of the states that it keeps; none, and 0, where
    nothing is kept. With ``target`` it is one on a GPU, which hands them over."""
    asked = (*sorted(known.items()), dtype, target, *gradients)
    if kept_bytes == 0 or asked in recurrence.without_gradient:
        return None, 0
    try:
        loaded = recurrence.obtain_gradient(known, dtype, gradients, target)
    except (NoGradientError, CompileError):  # it is told why when the gradient is computed
        recurrence.without_gradient.add(asked)
        return None, 0
    interval = choose_interval(loaded.kernel, sizes, kept_bytes)
    if target is not None:
        interval = loaded.kernel.handed[0] if loaded.kernel.handed and list_handed(loaded.kernel, sizes, kept_bytes)[0] else 0
    return (loaded, interval) if interval else (None, 0)
