"""The recurrences that come with the package: ``recur.library.gated_delta_net``, and ``dir(recur.library)`` for their names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..recurrence import Recurrence

_FOLDER = os.path.dirname(__file__)
_found: dict[str, Recurrence] = {}


def names() -> list[str]:
    """All names, in order."""
    return sorted(entry[: -len(".recur")] for entry in os.listdir(_FOLDER) if entry.endswith(".recur"))


def __getattr__(name: str) -> Recurrence:
    if name not in _found:
        path = os.path.join(_FOLDER, name + ".recur")
        if name.startswith("_") or not os.path.exists(path):
            raise AttributeError(f"recur.library has no recurrence '{name}'; dir(recur.library) lists them")
        from .. import load

        _found[name] = load(path)
    return _found[name]


def __dir__() -> list[str]:
    return names()
