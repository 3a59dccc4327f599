"""What a caller chooses beside the arrays of a call, as one thing that is handed on to whoever makes the call."""

from __future__ import annotations

from typing import Any, NamedTuple


class CallOptions(NamedTuple):
    """The options of :meth:`recur.Recurrence.__call__`, which says what each is."""

    initial: Any = None
    final: Any = False
    out: Any = None
    offsets: Any = None
    states_transposed: bool = False
    kept_bytes: int | None = None
    pool: Any = None
    state_indices: Any = None
    final_indices: Any = None

    @property
    def wants_final(self) -> bool:
        """Whether final states are among the results."""
        return self.final is not None and self.final is not False

    @property
    def writes(self) -> bool:
        """Whether results are written to arrays of the caller's."""
        return self.out is not None or not isinstance(self.final, (bool, type(None)))
