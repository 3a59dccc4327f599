"""How a call that users of another library know becomes a call of a recurrence of :mod:`recur.fla_texts`."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import define
from .errors import ArgumentError
from .fla_context import Context
from .fla_texts import choose
from .recurrence import Recurrence
from .registry import REGISTRY

_Consts = tuple[tuple[str, float], ...]


@functools.cache
def _define_once(name: str, there: tuple[str, ...], consts: _Consts) -> Recurrence:
    return define(choose(name, there), consts=dict(consts))


def _find(name: str, there: tuple[str, ...], consts: _Consts) -> str:
    """The handle of a recurrence: nothing to be traced."""
    return _define_once(name, there, consts).handle


# As torch.compiler.assume_constant_result does.
_find._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _define(name: str, given: Mapping[str, Any], options: Mapping[str, bool], consts: Mapping[str, float | None]) -> Recurrence:
    """The recurrence of that name in which there are these arrays, those of the options that are on, and the consts that have a
    value. The text's own value of a const holds where there is none."""
    there = [value for value, array in given.items() if array is not None] + [option for option, is_on in options.items() if is_on]
    numbers = tuple((const, float(value)) for const, value in consts.items() if value is not None)
    return REGISTRY[_find(name, (*there, *(const for const, _ in numbers)), numbers)]


def pair(cu_seqlens: Any, cu_seqlens_cpu: Any) -> Any:
    """Offsets as a call takes them: of tensors on a GPU both, of others the one that the processor can read."""
    if cu_seqlens is None or cu_seqlens_cpu is None:
        return cu_seqlens if cu_seqlens_cpu is None else cu_seqlens_cpu
    return (cu_seqlens_cpu, cu_seqlens) if getattr(cu_seqlens, "is_cuda", False) else cu_seqlens_cpu


def share(call: str, offsets: Any, context: Any) -> Any:
    """The context in place of offsets, which it has."""
    if context is None:
        return offsets
    if not isinstance(context, Context):
        raise ArgumentError(f"{call}: cp_context is what recur.fla.build_cp_context gives, and not a {type(context).__name__}")
    return context


class Rows(NamedTuple):
    """In place of whether final states are given: initial states are pools, which have the final ones afterwards, as
    :mod:`recur.serving` calls with them. Without indices they are the sequences' own."""

    states: Any = None
    finals: Any = None
    out: Any = None  # an array that the output is written to
    tokens: Any = None  # the rows of the states after tokens that are tried, and how many were accepted of those before
    accepted: Any = None
    replayed: int = 0  # so many of each sequence's first tokens are those
    interval: Any = None  # the states after every so many tokens are kept too, in these rows
    intervals: Any = None
    positions: Any = None  # how many tokens sequences had before
    parents: Any = None  # of tokens that are tried as trees


def _serve(
    recurrence: Recurrence, arrays: Mapping[str, Any], pools: Mapping[str, Any], rows: Rows, offsets: Any, transposed: bool
) -> tuple[Any, Mapping[str, Any]]:
    """The output, and the pools by their names."""
    given = {state: array for state, array in pools.items() if array is not None}
    own: dict[str, Any] = {"offsets": offsets, "states_transposed": transposed, "out": rows.out}
    if rows.states is not None:
        own |= {"token_indices": rows.tokens, "accepted": rows.accepted, "replayed": rows.replayed}
        own |= {"interval": rows.interval, "interval_indices": rows.intervals, "positions": rows.positions, "parents": rows.parents}
        return recurrence(**arrays, pool=given, state_indices=rows.states, final_indices=rows.finals, **own), given
    recurrence.list_pools(given)  # none is missing here either
    return recurrence(**arrays, initial=given, final=given, **own)[0], given


def _widen(state: Any) -> Any:
    """States are float32."""
    if state is None or str(state.dtype).endswith("float32"):
        return state
    return state.float() if hasattr(state, "float") else state.astype("float32")


def run_states(
    name: str,
    given: Mapping[str, Any],
    initial: Mapping[str, Any],
    final: bool | Rows,
    offsets: Any,
    transposed: bool = False,
    options: Mapping[str, bool] | None = None,
    **consts: float | None,
) -> tuple[Any, Mapping[str, Any]]:
    """The output, and the states by their names, which are None where they are not asked for, and pools where ``final`` says rows."""
    recurrence = _define(name, given, options or {}, consts)
    arrays = {value: array for value, array in given.items() if array is not None}
    if isinstance(final, Rows):
        return _serve(recurrence, arrays, initial, final, offsets, transposed)
    states = {state: _widen(array) for state, array in initial.items() if array is not None}
    shared: dict[str, Any] = {}
    if isinstance(offsets, Context):
        if transposed and (states or final):
            raise ArgumentError(f"{name}: with cp_context states are [K, V]; leave state_v_first out")
        shared = {"group": offsets.group, "layout": offsets.layout}
        offsets, transposed = offsets.whole, False
    results = recurrence(**arrays, initial=states or None, final=final, offsets=offsets, states_transposed=transposed, **shared)
    names = [state.name for state in recurrence.declaration.states]
    if not final:
        return results, dict.fromkeys(names)
    return results[0], results[1] if len(names) > 1 else {names[0]: results[1]}


def run_state(
    name: str,
    given: Mapping[str, Any],
    initial: Any,
    final: bool | Rows,
    offsets: Any,
    transposed: bool = False,
    options: Mapping[str, bool] | None = None,
    **consts: float | None,
) -> tuple[Any, Any]:
    """The same of the state S alone."""
    output, states = run_states(name, given, {"S": initial}, final, offsets, transposed, options, **consts)
    return output, states["S"]


def run_on_rows(
    name: str, given: Mapping[str, Any], pools: Mapping[str, Any], rows: Rows, offsets: Any, options: Mapping[str, bool]
) -> tuple[Any, Mapping[str, Any]]:
    """The call of that text on pools."""
    return run_states(name, given, pools, rows, offsets, options=options)


_CHUNK = 64  # tokens between the states on the way, as that library has them


def run_on_the_way(
    name: str, given: Mapping[str, Any], initial: Mapping[str, Any], offsets: Any, transposed: bool, options: Mapping[str, bool],
    **consts: float | None,
) -> tuple[Any, Mapping[str, Any], Any]:  # fmt: skip
    """The output, the states, and S before each chunk, ``[B, chunks, H, K, V]``: those of packed sequences lie behind each other."""
    recurrence = _define(name, given, options, consts)
    arrays = {value: array for value, array in given.items() if array is not None}

    def turn(state: Any) -> Any:
        return state.swapaxes(-1, -2) if transposed else state

    states = {state: _widen(array) for state, array in initial.items() if array is not None}
    if "S" in states:
        states["S"] = turn(states["S"])
    output, rows, last = recurrence.keep(**arrays, initial=states or None, every=_CHUNK, offsets=offsets)
    if not isinstance(last, Mapping):
        rows, last = {"S": rows}, {"S": last}
    on_the_way = turn(rows["S"])
    return output, {**last, "S": turn(last["S"])}, on_the_way if offsets is None else on_the_way[None]


def refuse_heads_first(head_first: bool) -> None:
    if head_first:
        raise ArgumentError("head_first=True is not taken: transpose to [B, T, H, ...]")


def add_gate(
    call: str, given: dict[str, Any], heads: int, use_gate_in_kernel: bool, safe_gate: bool, lower_bound: float | None, A_log: Any, dt_bias: Any
) -> float | None:
    """Adds the params of a decay per key channel that the kernel finds. Gives its lower bound, or None."""
    if not use_gate_in_kernel:
        return None
    if safe_gate and lower_bound is None:
        raise ArgumentError(f"{call}: safe_gate needs a lower_bound")
    if A_log is None and lower_bound is None:
        raise ArgumentError(f"{call}: use_gate_in_kernel needs A_log")
    given["A_log"] = flatten(A_log)
    given["dt_bias"] = dt_bias if dt_bias is None or dt_bias.ndim == 2 else dt_bias.reshape(heads, -1)
    return lower_bound


def check_strength(call: str, use_beta_sigmoid_in_kernel: bool, allow_neg_eigval: bool) -> dict[str, bool]:
    if allow_neg_eigval and not use_beta_sigmoid_in_kernel:
        raise ArgumentError(f"{call}: allow_neg_eigval needs use_beta_sigmoid_in_kernel, for it doubles what the sigmoid gives")
    return {"beta_sigmoid": use_beta_sigmoid_in_kernel, "negative": allow_neg_eigval}


def need(call: str, name: str, array: Any) -> Any:
    if array is None:
        raise ArgumentError(f"{call} needs {name}")
    return array


def flatten(param: Any) -> Any:
    """A param ``[H]``, which some models keep as ``[1, 1, H, 1]``."""
    return param if param is None or param.ndim == 1 else param.reshape(-1)
