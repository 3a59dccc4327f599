"""What a specification declares, as far as calls need it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

#: A side of a shape: a number, or the name of a dim.
Side = int | str


@dataclass(frozen=True)
class Value:
    """An input, param, state or output."""

    name: str
    shared: bool
    #: None where the text leaves the shape of an output to the compiler.
    shape: tuple[Side, ...] | None
    #: Whether a state does not start as zero where no initial state is given.
    has_start: bool = False
    #: Of the real or the imaginary part of a complex value: the name of that.
    complex: str | None = None
    #: Whether it is an input of integers, whose arrays are int32 and by which nothing is differentiated.
    integer: bool = False

    def __str__(self) -> str:
        if self.shape is None:
            return self.name
        return self.name + (": [" + ", ".join(map(str, self.shape)) + "]" if self.shape else ": scalar")


@dataclass(frozen=True)
class Declaration:
    """A recurrence as its text declares it."""

    name: str
    #: Each dim with its default, or None.
    dims: dict[str, int | None]
    #: Each const with its value, where that is known without sizes.
    consts: dict[str, float | None]
    inputs: tuple[Value, ...]
    params: tuple[Value, ...]
    states: tuple[Value, ...]
    outputs: tuple[Value, ...]
    #: Whether there are states that the text does not declare, as those of delays.
    has_implicit_states: bool = False

    @staticmethod
    def from_json(value: dict[str, Any]) -> Declaration:
        """Of what the compiler's ``recur_describe`` gives for one recurrence."""

        def values(kind: str) -> tuple[Value, ...]:
            return tuple(
                Value(
                    v["name"],
                    v["shared"],
                    None if v["shape"] is None else tuple(v["shape"]),
                    bool(v.get("has_start")),
                    v.get("complex"),
                    bool(v.get("integer")),
                )
                for v in value[kind]
            )

        return Declaration(
            value["name"],
            {dim["name"]: dim["size"] for dim in value["dims"]},
            {const["name"]: const["value"] for const in value["consts"]},
            values("inputs"),
            values("params"),
            values("states"),
            values("outputs"),
            bool(value.get("has_implicit_states", False)),
        )

    def names_its_sides(self) -> bool:
        """Whether every side of an input, a param or a state that has a name is a dim or a const."""
        sides = {side for v in (*self.inputs, *self.params, *self.states) for side in v.shape or () if isinstance(side, str)}
        return sides <= self.dims.keys() | self.consts.keys()

    def to_json(self) -> dict[str, Any]:
        """The inverse of :meth:`from_json`."""

        def values(kind: tuple[Value, ...]) -> list[dict[str, Any]]:
            return [
                {
                    "name": v.name,
                    "shared": v.shared,
                    "shape": v.shape if v.shape is None else list(v.shape),
                    "has_start": v.has_start,
                    "complex": v.complex,
                    "integer": v.integer,
                }
                for v in kind
            ]

        return {
            "name": self.name,
            "dims": [{"name": name, "size": size} for name, size in self.dims.items()],
            "consts": [{"name": name, "value": value} for name, value in self.consts.items()],
            "inputs": values(self.inputs),
            "params": values(self.params),
            "states": values(self.states),
            "outputs": values(self.outputs),
            "has_implicit_states": self.has_implicit_states,
        }


def read_all(text: bytes) -> list[Declaration]:
    """Of the list that ``recur_describe`` gives."""
    return [Declaration.from_json(value) for value in json.loads(text)]
