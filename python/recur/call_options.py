"""What a caller chooses beside the arrays of a call, as one thing that is handed on to whoever makes the call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Indices(NamedTuple):
    """Rows of pools, as arrays or None: those of sequences, those that their states go to, those of tokens; how many tokens were
    accepted; the rows of states after every ``interval`` tokens, and how many tokens sequences had before; which token each of a tree is behind. Of the first ``replayed`` tokens those
    that were accepted are gone over again."""

    states: Any = None
    finals: Any = None
    tokens: Any = None
    accepted: Any = None
    intervals: Any = None
    positions: Any = None
    parents: Any = None
    interval: int = 0
    replayed: int = 0

    @property
    def numbers(self) -> dict[str, int]:
        """What is no array, by its name."""
        return {"interval": self.interval, "replayed": self.replayed}

    def name(self) -> dict[str, Any]:
        """The arrays, by the names that calls have for them."""
        return dict(zip(("state_indices", "final_indices", "token_indices", "accepted", "interval_indices", "positions", "parents"), self))

    def convert(self, read: Callable[[str, Any], Any]) -> Indices:
        """The same with what is made of each array that there is, by its name and itself."""
        arrays = zip(self._fields, self.name().items())
        return self._replace(**{field: read(what, rows) for field, (what, rows) in arrays if rows is not None})


class CallOptions(NamedTuple):
    """The options of :meth:`recur.Recurrence.__call__`, which says what each is."""

    initial: Any = None
    final: Any = False
    out: Any = None
    offsets: Any = None
    states_transposed: bool = False
    kept_bytes: int | None = None
    pool: Any = None
    indices: Indices = Indices()

    @property
    def wants_final(self) -> bool:
        """Whether final states are among the results."""
        return self.final is not None and self.final is not False

    @property
    def writes(self) -> bool:
        """Whether results are written to arrays of the caller's."""
        return self.out is not None or not isinstance(self.final, (bool, type(None)))
