"""What a part of a sequence makes of states, and of their cotangents, for parts that lie on several machines.

The parts of a sequence are computed at the same time: each finds its summaries without knowing the states before it, these are
exchanged, and what the parts before it make of the first state is the state that it goes on from. Gradients go the other way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import _native
from .errors import ArgumentError

if TYPE_CHECKING:
    from .recurrence import Recurrence


@dataclass(frozen=True)
class Shape:
    """What the summary of a state consists of."""

    state: int  #: the state's place
    map_size: int  #: numbers of a head of a sequence
    offset_size: int
    needs: tuple[int, ...]  #: states that must be known before the part, by their places
    has_backward_map: bool  #: whether the map of cotangents is another than that of states


def list_shapes(recurrence: Recurrence, kernel: _native.Kernel) -> list[Shape]:
    """The summaries that a kernel has, of which later ones may need the states of earlier ones."""
    found = kernel.summaries
    if found is None:
        raise ArgumentError(
            f"{recurrence.name}: a sequence of it cannot be shared out: {_find_reason(recurrence, kernel)}; give whole sequences, and leave out group="
        )
    return [Shape(*facts) for facts in found]


def _find_reason(recurrence: Recurrence, kernel: _native.Kernel) -> str:
    """Why there are no summaries: what the plan that is made of them is refused for."""
    if recurrence.source is None and not kernel.is_for_cpu:
        return "its saved kernel has no summaries; save it with summaries=True"
    if recurrence.source is not None:
        for plan in recurrence.explain_json(target="host")["kernels"]["plans"]:
            if plan["plan"] == "segment" and not plan["available"]:
                return str(plan["reason"])
    if not kernel.is_for_cpu:
        return "what its tokens make of a state multiplies it from the left, and on a GPU there are no such summaries yet"
    return "what its tokens make of a state is no map that is found without knowing the state"


def list_levels(shapes: Sequence[Shape]) -> list[list[int]]:
    """Summaries that can be made at the same time: those that need no state, those that need states of these, and so on."""
    level: dict[int, int] = {}
    for shape in shapes:
        level[shape.state] = 1 + max((level[need] for need in shape.needs), default=-1)
    return [[i for i, shape in enumerate(shapes) if level[shape.state] == wanted] for wanted in range(max(level.values(), default=-1) + 1)]


def list_backward_levels(shapes: Sequence[Shape]) -> list[list[int]]:
    """The same of cotangents: a state that others' summaries need has its cotangent after them."""
    level: dict[int, int] = {}
    for shape in reversed(shapes):
        level[shape.state] = 1 + max((level[other.state] for other in shapes if shape.state in other.needs), default=-1)
    return [[i for i, shape in enumerate(shapes) if level[shape.state] == wanted] for wanted in range(max(level.values(), default=-1) + 1)]
