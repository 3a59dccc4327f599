"""Calls whose states are rows of pools, as a server has them: one array ``[N, H, ...]`` for each state, with a row for each request.

>>> o = gdn(q, k, v, g, beta, pool={"S": states}, state_indices=rows)

Sequence ``i`` of the call begins with the row ``rows[i]``, and its state goes there after the last token; with ``final_indices`` it goes
to another row. Prompts that are packed (``offsets=``), single tokens and whatever else a call takes have pools in the same way, and the
numbers are those of a call with ``initial`` and ``final``, to the last bit.

A sequence whose index is negative has no row: it begins as the recurrence says, and its state is written nowhere. So a batch can be
padded to a fixed number of sequences. No row is written for two sequences, nor written for one and read for another; several may read
the same one. On the processor that is checked, and that each index lies in the pool. On a GPU indices are read by the kernels alone, so
that a CUDA graph can hold the call: an index beyond the pool counts as a negative one there, and ``RECUR_DEBUG=indices`` or
``recur.debug.indices = True`` has all of it checked, for which each call waits.

Of tokens that are only tried, as in speculative decoding, ``token_indices`` ``[sequences, tokens]`` says where the state after each of
them goes, and the call after that how many were taken:

>>> o = gdn(q, k, v, g, beta, pool=states, state_indices=rows, token_indices=tried)
>>> o = gdn(q, k, v, g, beta, pool=states, state_indices=tried, accepted=counts, token_indices=tried)

Sequence ``i`` of the second call begins with the row ``tried[i, counts[i] - 1]``; it may write the row that it begins with. There are at
most 16 tokens of a sequence. Outputs and states have the bits of calls of one token each, with states in float32 between them.

For a cache of prefixes, ``interval`` leaves the states after every so many tokens of a prompt in rows of the pool, beside the last one:

>>> o = gdn(q, k, v, g, beta, pool=states, state_indices=rows, interval=256, interval_indices=cached)

The state after the first 256 tokens of sequence ``i`` goes to the row ``cached[i, 0]``, the one after 512 to ``cached[i, 1]``, and so on, the
one after the last token too where that ends at a multiple; rows behind these are not looked at. ``interval`` is a multiple of the kernel's
chunk. Where the prompt goes on from earlier calls, ``positions`` says how many tokens each sequence had in them, a multiple of the chunk as
well, and multiples are counted from there: after 512 tokens ``cached[i, 0]`` gets the state after 768.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import debug, options
from .errors import ArgumentError

if TYPE_CHECKING:
    from .call_options import CallOptions
    from .recurrence import Recurrence


def read_interval(name: str, interval: Any, rows: Any, positions: Any) -> int:
    """Of how many tokens states are kept at multiples, or 0."""
    if interval is None:
        if rows is not None or positions is not None:
            raise ArgumentError(f"{name}: {'positions' if rows is None else 'interval_indices'} is of calls with interval=, which is left out")
        return 0
    if isinstance(interval, bool) or not isinstance(interval, int) or interval < 1:
        raise ArgumentError(f"{name}: interval is {interval!r}; it is a number of tokens, at least 1")
    if rows is None:
        raise ArgumentError(f"{name}: interval= keeps states; say by interval_indices= to which rows of the pool they go")
    return interval


def _check(recurrence: Recurrence, chosen: CallOptions, group: Any, layout: Any) -> None:
    """That what the call is given goes together."""
    name = recurrence.name
    if chosen.pool is None:
        words = ", ".join(word for word, rows in chosen.indices.name().items() if rows is not None)
        raise ArgumentError(f"{name}: without pool= there are no rows; give it, or leave {words} out")
    if chosen.indices.states is None:
        raise ArgumentError(f"{name}: pool= has states of all requests; say by state_indices= which row is whose")
    if chosen.initial is not None or chosen.wants_final:
        raise ArgumentError(f"{name}: with pool= states are read from its rows and written there; leave initial= and final= out")
    if chosen.kept_bytes is not None:
        raise ArgumentError(f"{name}: what reads and writes a pool has no gradient, for which kept_bytes= would keep states")
    if group is not None or layout is not None:
        raise ArgumentError(f"{name}: sequences that are shared out over processes have no pool")


def call(
    recurrence: Recurrence, arrays: Sequence[Any], named: Mapping[str, Any], chosen: CallOptions, group: Any, layout: Any
) -> Any:
    """The call of :meth:`recur.Recurrence.__call__` with ``pool=``."""
    _check(recurrence, chosen, group, layout)
    chosen = chosen._replace(states_transposed=options.read_flag(recurrence.name, "states_transposed", chosen.states_transposed))
    if recurrence.layout is not None:
        return recurrence.layout.call(recurrence, arrays, named, chosen)
    return perform(recurrence, tuple(arrays), dict(named), chosen)


def perform(recurrence: Recurrence, arrays: tuple[Any, ...], named: dict[str, Any], chosen: CallOptions) -> Any:
    """The call on the arrays that a kernel has: as one that was made before, where there was one."""
    if not debug.indices:
        known = recurrence.repeat(
            arrays, named, chosen.pool, chosen.pool, chosen.out, chosen.offsets, chosen.states_transposed, chosen.indices
        )
        if known is not None:
            return known
    return recurrence.compute(arrays, named, chosen)
