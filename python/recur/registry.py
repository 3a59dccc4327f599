"""What the package's modules share about all recurrences of the process, without knowing what a recurrence is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .recurrence import Recurrence

#: Recurrences by their handles, which operators of other libraries carry.
REGISTRY: dict[str, Recurrence] = {}

_is_traced: Callable[[], bool] = bool


def follow_traces(is_tracing: Callable[[], bool]) -> None:
    """What is asked whether a call is being traced."""
    global _is_traced
    _is_traced = is_tracing


def is_traced() -> bool:
    """Whether torch.compile is tracing a call. Without PyTorch none is."""
    return _is_traced()
