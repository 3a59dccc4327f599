"""Calls whose states are rows of pools, as a server has them: one array ``[N, H, ...]`` for each state, with a row for each request.

>>> o = gdn(q, k, v, g, beta, pool={"S": states}, state_indices=rows)

Sequence ``i`` of the call begins with the row ``rows[i]``, and its state goes there after the last token; with ``final_indices`` it goes
to another row. Packed prompts (``offsets=``), single tokens and all other calls use pools in the same way, and the
results are those of a call with ``initial`` and ``final``, to the last bit.

A sequence whose index is negative has no row: it begins with the start values of the recurrence, and its state is not stored. So a batch can be
padded to a fixed number of sequences. No row is written for two sequences, nor written for one and read for another; several sequences may read
the same row. On the processor, calls check these rules, and that each index lies in the pool. On a GPU only the kernels read indices, so
a CUDA graph can hold the call: an index beyond the pool counts as a negative one. With ``RECUR_DEBUG=indices`` or
``recur.debug.indices = True`` calls on a GPU check all rules too, and each call waits for the GPU.

For tokens that are only tried, as in speculative decoding, ``token_indices`` ``[sequences, tokens]`` has the row for the state after each
token, and the next call says how many tokens were taken:

>>> o = gdn(q, k, v, g, beta, pool=states, state_indices=rows, token_indices=tried)
>>> o = gdn(q, k, v, g, beta, pool=states, state_indices=tried, accepted=counts, token_indices=tried)

Sequence ``i`` of the second call begins with the row ``tried[i, counts[i] - 1]``; it may write the row that it begins with. A sequence has at
most 16 such tokens. Outputs and states have the bits of calls of one token each, with states in float32 between them.

With ``replayed``, tokens that are tried leave no states, so that a call reads each state once and writes it once however many it tries. The
first tokens of a call are those that the call before tried, with the same inputs:

>>> o = gdn(q, k, v, g, beta, pool=states, state_indices=rows, accepted=counts, replayed=4)

Sequence ``i`` goes over the first ``counts[i]`` of its first four tokens again, its row gets the state after them, and it goes on to the tokens
behind the four, of which ``o`` has the outputs. Inputs of tokens that were not taken are not read. ``counts[i]`` may be 0, as in a first
call, which has nothing to go over. On a GPU such a call is one launch, of plan ``step``.

Tokens may be tried as a tree, of which any path may be taken. ``parents`` ``[tokens]``, or ``[sequences, tokens]`` if sequences have trees of their
own, has for each token the number of the token that it is behind, which comes before it, or -1 if it begins as the sequence does. Here two tokens
follow the first one, and one of these has another behind it:

>>> o = gdn(q, k, v, g, beta, pool=states, state_indices=rows, token_indices=tried, parents=[-1, 0, 0, 2])

Outputs and states of a token are those of its path, and ``accepted`` then stands for the path of the token that it counts to: with 4, the tokens 0,
2 and 3 were taken. With ``replayed`` the tree of the new tokens lies behind that of the replayed ones, and its numbers begin at 0 again; its tokens
begin with the state after the path that was taken. A tree has at most 16 tokens.

For a cache of prefixes, ``interval`` also stores the states after every so many tokens of a prompt in rows of the pool:

>>> o = gdn(q, k, v, g, beta, pool=states, state_indices=rows, interval=256, interval_indices=cached)

The state after the first 256 tokens of sequence ``i`` goes to the row ``cached[i, 0]``, the state after 512 tokens to ``cached[i, 1]``, and so on.
The state after the last token is stored too if the number of tokens is a multiple; further rows are not looked at. ``interval`` is a multiple of
the kernel's chunk. If the prompt continues earlier calls, ``positions`` has the number of tokens that each sequence had in them, also a multiple
of the chunk, and multiples count from there: after 512 tokens ``cached[i, 0]`` gets the state after 768.
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


def read_replayed(name: str, replayed: Any, accepted: Any) -> int:
    """How many of each sequence's first tokens were tried before."""
    if isinstance(replayed, bool) or not isinstance(replayed, int) or replayed < 0:
        raise ArgumentError(f"{name}: replayed is {replayed!r}; it is a number of tokens, at least 0")
    if replayed and accepted is None:
        raise ArgumentError(f"{name}: replayed= has tokens gone over again; say by accepted= how many of them were taken")
    return replayed


def _check(recurrence: Recurrence, chosen: CallOptions, group: Any, layout: Any) -> None:
    """That what the call is given goes together."""
    name = recurrence.name
    if chosen.pool is None:
        words = ", ".join(word for word, rows in {**chosen.indices.name(), "replayed": chosen.indices.replayed or None}.items() if rows is not None)
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
