"""The calls that servers have, with the names and the arguments of vLLM's and SGLang's operators, on pools of states.

``initial_state`` is the pool, ``[N, H, K, V]`` or with ``state_v_first`` ``[N, H, V, K]``, in float32 or 16 bits, and ``ssm_state_indices`` the row of
each sequence: the call reads and writes states there. A negative index has no row: the sequence begins with zeros, and its state is not
stored. Without indices, sequence ``i`` has row ``i``. Inputs are ``[B, T, H, ...]``, or ``[1, T, H, ...]`` with ``cu_seqlens``; so these
calls take prompts, single tokens, and both at once.

For speculative decoding, ``ssm_state_indices`` is ``[N, tokens]``, with at most 16 tokens: the state after each token goes to its row. With
``num_accepted_tokens`` ``[N]``, counted from 1, a sequence begins with the row of the last accepted token, and without it with its first
row.

With ``num_replayed_tokens``, tokens that are tried leave no states: the first so many tokens of each sequence are those that were tried in
the call before, with the same inputs, ``num_accepted_tokens`` says how many of them were taken, from 0 on, and ``ssm_state_indices`` has one row for
each sequence, which gets the state after these. The output is that of the tokens behind them.

Tokens that are tried as a tree have ``retrieve_parent_token``, ``[N, tokens]`` or ``[tokens]`` for all: the number of the token that each is behind, and -1
for one that begins as the sequence does. The count of accepted tokens then stands for the path of the token that it counts to.

For a cache of prefixes, calls that take prompts have ``interval``, ``interval_indices`` and ``positions`` of :mod:`recur.pools`: the
states after every so many tokens go to rows of the pool too.

Each ``fused_recurrent_*`` of :mod:`recur.fla` is here too, on a pool: the recurrences are the same. :mod:`recur.pools` says which checks
and guarantees there are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from . import fla
from .errors import ArgumentError
from .fla_calls import Rows, run_on_rows

#: The calls of :mod:`recur.fla` that take a pool here, by their names there.
_FAMILY = (
    "fused_recurrent_comba", "fused_recurrent_delta_rule", "fused_recurrent_gdn2", "fused_recurrent_gla", "fused_recurrent_kda",
    "fused_recurrent_momentum_delta_rule", "fused_recurrent_precond_gated_delta_rule", "fused_recurrent_precond_kda",
    "fused_recurrent_rwkv7", "fused_recurrent_simple_gla",
)  # fmt: skip

__all__ = [
    *_FAMILY,
    "fused_recurrent_gated_delta_rule",
    "fused_recurrent_gated_delta_rule_packed_decode",
    "fused_recurrent_gated_delta_rule_update",
    "fused_sigmoid_gating_delta_rule_update",
    "selective_state_update",
]


#: How servers call the pool, and the rows of sequences in it.
_WORDS = ("initial_state", "ssm_state_indices")
_OTHER_WORDS = ("initial_state_source", "initial_state_indices")

#: What a prompt leaves for a cache of prefixes, by the words that calls of recurrences have.
_KEPT = {"interval": None, "interval_indices": None, "positions": None}


def _find_rows(
    call: str, pool: Any, indices: Any, in_place: bool = True, accepted: Any = None, out: Any = None, words: tuple[str, str] = _WORDS,
    replayed: int = 0, parents: Any = None,
) -> Rows:
    """Which rows of the pool the call's sequences have."""
    if pool is None or isinstance(pool, tuple) and any(one is None for one in pool):
        raise ArgumentError(f"{call} reads and writes states in a pool: give it as {words[0]}; the calls of recur.fla begin without one")
    if not in_place:
        raise ArgumentError(f"{call}: states are written in place; for others gather the rows, and call recur.fla")
    if replayed:
        return Rows(indices, out=out, accepted=accepted, replayed=replayed, parents=parents)
    if getattr(indices, "ndim", 1) == 2:
        return Rows(indices[:, 0] if accepted is None else indices, out=out, tokens=indices, accepted=accepted, parents=parents)
    if parents is not None:
        raise ArgumentError(f"{call}: retrieve_parent_token is of tokens with rows in {words[1]}, which is [sequences, tokens] then, or that are replayed")
    if accepted is not None:
        raise ArgumentError(f"{call}: num_accepted_tokens counts along {words[1]}, which is [sequences, tokens] then")
    return Rows(indices, out=out)


def _keep(rows: Rows, interval: int | None, indices: Any, positions: Any) -> Rows:
    """With the rows of the states that prompts leave."""
    return rows._replace(interval=interval, intervals=indices, positions=positions)


def _run(q: Any, k: Any, v: Any, g: Any, beta: Any, pool: Any, rows: Rows, **options: Any) -> tuple[Any, Any]:
    """The gated delta rule on a pool."""
    return fla.fused_recurrent_gated_delta_rule(
        q, k, v, g, beta=beta, initial_state=pool, output_final_state=rows, **options  # type: ignore[arg-type]
    )


def _run_with_gates(q: Any, k: Any, v: Any, a: Any, b: Any, pool: Any, rows: Rows, **options: Any) -> tuple[Any, Any]:
    """The same with what its gates are made of, which models have as ``[tokens, H]``."""
    a, b = (x.reshape(*v.shape[:2], x.shape[-1]) if x.ndim == 2 else x for x in (a, b))
    return _run(q, k, v, a, b, pool, rows, use_gate_in_kernel=True, use_beta_sigmoid_in_kernel=True, **options)


def fused_recurrent_gated_delta_rule(
    q: Any,
    k: Any,
    v: Any,
    g: Any,
    beta: Any = None,
    scale: float | None = None,
    initial_state: Any = None,
    inplace_final_state: bool = True,
    cu_seqlens: Any = None,
    ssm_state_indices: Any = None,
    num_accepted_tokens: Any = None,
    use_qk_l2norm_in_kernel: bool = False,
    *,
    num_replayed_tokens: int = 0,
    retrieve_parent_token: Any = None,
    state_v_first: bool = False,
    interval: int | None = None,
    interval_indices: Any = None,
    positions: Any = None,
) -> tuple[Any, Any]:
    """Gated DeltaNet, with vLLM's arguments: a decay ``g``, in log space, and a strength ``beta``, or one of 1, per token and head. Gives
    the output, and the pool."""
    rows = _find_rows(
        "fused_recurrent_gated_delta_rule", initial_state, ssm_state_indices, inplace_final_state, num_accepted_tokens,
        replayed=num_replayed_tokens, parents=retrieve_parent_token,
    )  # fmt: skip
    rows = _keep(rows, interval, interval_indices, positions)
    return _run(
        q, k, v, g, beta, initial_state, rows, scale=scale, use_qk_l2norm_in_kernel=use_qk_l2norm_in_kernel,
        state_v_first=state_v_first, cu_seqlens=cu_seqlens,
    )  # fmt: skip


def fused_recurrent_gated_delta_rule_update(
    q: Any,
    k: Any,
    v: Any,
    g: Any,
    beta: Any = None,
    scale: float | None = None,
    initial_state_source: Any = None,
    initial_state_indices: Any = None,
    cu_seqlens: Any = None,
    use_qk_l2norm_in_kernel: bool = False,
    disable_state_update: bool = False,
    *,
    state_v_first: bool = False,
) -> Any:
    """The same with SGLang's arguments: gives the output alone. With ``disable_state_update`` nothing is written."""
    rows = _find_rows("fused_recurrent_gated_delta_rule_update", initial_state_source, initial_state_indices, words=_OTHER_WORDS)
    if disable_state_update:
        if initial_state_indices is None:
            raise ArgumentError("fused_recurrent_gated_delta_rule_update: disable_state_update needs initial_state_indices")
        none = initial_state_indices * 0 - 1
        rows = rows._replace(finals=none) if rows.tokens is None else rows._replace(tokens=none)
    o, _ = _run(
        q, k, v, g, beta, initial_state_source, rows, scale=scale, use_qk_l2norm_in_kernel=use_qk_l2norm_in_kernel,
        state_v_first=state_v_first, cu_seqlens=cu_seqlens,
    )  # fmt: skip
    return o


def _check_softplus(call: str, slope: float, threshold: float) -> None:
    """Beyond the threshold a softplus is its argument, which it is in 16 bits anyway."""
    if slope != 1.0 or threshold < 20.0:
        raise ArgumentError(f"{call}: the softplus is log(1 + exp(x)); one of the slope {slope} and the threshold {threshold} is not taken")


def fused_sigmoid_gating_delta_rule_update(
    *,
    A_log: Any,
    a: Any,
    b: Any,
    dt_bias: Any,
    q: Any,
    k: Any,
    v: Any,
    beta: float = 1.0,
    threshold: float = 20.0,
    softplus_beta: float = 1.0,
    softplus_threshold: float = 20.0,
    scale: float | None = None,
    initial_state: Any = None,
    initial_state_source: Any = None,
    inplace_final_state: bool = True,
    cu_seqlens: Any = None,
    ssm_state_indices: Any = None,
    initial_state_indices: Any = None,
    num_accepted_tokens: Any = None,
    num_replayed_tokens: int = 0,
    retrieve_parent_token: Any = None,
    use_qk_l2norm_in_kernel: bool = False,
    state_v_first: bool = False,
) -> Any:
    """Gated DeltaNet with its gates: the decay is ``-exp(A_log) * softplus(a + dt_bias)``, the strength ``sigmoid(b)``. vLLM and SGLang have
    these arguments in different orders, so give them by name. With vLLM's names the result is the output and the pool; with
    ``initial_state_source``, SGLang's name, it is the output alone."""
    call = "fused_sigmoid_gating_delta_rule_update"
    _check_softplus(call, beta, threshold)
    _check_softplus(call, softplus_beta, softplus_threshold)
    pool = initial_state if initial_state_source is None else initial_state_source
    indices = ssm_state_indices if initial_state_indices is None else initial_state_indices
    rows = _find_rows(call, pool, indices, inplace_final_state, num_accepted_tokens, replayed=num_replayed_tokens, parents=retrieve_parent_token)
    results = _run_with_gates(
        q, k, v, a, b, pool, rows, A_log=A_log, dt_bias=dt_bias, scale=scale, use_qk_l2norm_in_kernel=use_qk_l2norm_in_kernel,
        state_v_first=state_v_first, cu_seqlens=cu_seqlens,
    )  # fmt: skip
    return results if initial_state_source is None else results[0]


def fused_recurrent_gated_delta_rule_packed_decode(
    mixed_qkv: Any,
    a: Any,
    b: Any,
    A_log: Any,
    dt_bias: Any,
    scale: float,
    initial_state: Any,
    out: Any,
    ssm_state_indices: Any,
    use_qk_l2norm_in_kernel: bool = False,
    *,
    state_v_first: bool = False,
) -> tuple[Any, Any]:
    """One token of each sequence, with queries, keys and values as the projection leaves them, ``[B, 2 * H * K + HV * V]``, and the
    gates of :func:`fused_sigmoid_gating_delta_rule_update`. ``out`` is ``[B, 1, HV, V]``. Gives it, and the pool."""
    call = "fused_recurrent_gated_delta_rule_packed_decode"
    rows = _find_rows(call, initial_state, ssm_state_indices, out=out)
    heads, first, second = initial_state.shape[1:]
    K, V = (second, first) if state_v_first else (first, second)
    B, width = mixed_qkv.shape
    groups, rest = divmod(width - heads * V, 2 * K)
    if rest or groups < 1 or heads % groups:
        raise ArgumentError(
            f"{call}: mixed_qkv has {width} numbers a token, which are not 2 * H * K + HV * V for the pool's HV = {heads}, K = {K} and V = {V}; "
            f"state_v_first={not state_v_first} takes the pool's last sides the other way round"
        )
    q, k, v = (
        mixed_qkv[:, begin : begin + count * size].reshape(B, 1, count, size)
        for begin, count, size in ((0, groups, K), (groups * K, groups, K), (2 * groups * K, heads, V))
    )
    return _run_with_gates(
        q, k, v, a, b, initial_state, rows, A_log=A_log, dt_bias=dt_bias, scale=scale, use_qk_l2norm_in_kernel=use_qk_l2norm_in_kernel,
        state_v_first=state_v_first,
    )  # fmt: skip


def _strides(array: Any) -> tuple[int, ...]:
    """In elements, of whichever library."""
    if callable(getattr(array, "stride", None)):
        return tuple(array.stride())
    return tuple(stride // array.itemsize for stride in array.strides)


def _is_one(array: Any, sides: int) -> bool:
    """Whether all elements along the last sides are the same, as those of an expanded array are."""
    return array is None or all(stride == 0 or size == 1 for stride, size in zip(_strides(array)[-sides:], array.shape[-sides:]))


def selective_state_update(
    state: Any,
    x: Any,
    dt: Any,
    A: Any,
    B: Any,
    C: Any,
    D: Any = None,
    z: Any = None,
    dt_bias: Any = None,
    dt_softplus: bool = False,
    state_batch_indices: Any = None,
    dst_state_batch_indices: Any = None,
    pad_slot_id: int = -1,
    out: Any = None,
    num_accepted_tokens: Any = None,
    cu_seqlens: Any = None,
    retrieve_parent_token: Any = None,
) -> Any:
    """Tokens of Mamba or Mamba-2, one of each sequence, with the arguments of its package and of vLLM: ``state`` is the pool ``[N, H, P, S]``,
    ``x``, ``dt`` and ``z`` are ``[B, H, P]``, ``A`` is ``[H, P, S]``, ``B`` and ``C`` are ``[B, G, S]``, ``D`` and ``dt_bias`` are ``[H, P]``; without heads all of it
    lacks the side ``H``. Where ``A``, ``dt`` and ``dt_bias`` are expanded from one number of each head it is Mamba-2, whose kernel is the
    faster one. A state goes to the row ``dst_state_batch_indices``, where that is given. With ``cu_seqlens`` sequences have any number of tokens,
    which lie one behind another in place of ``B``. With ``num_accepted_tokens`` both kinds of rows are ``[N, tokens]``: a sequence begins with
    the row of the last token that was accepted, and the state after each token goes to its own. So it does with ``retrieve_parent_token``,
    of tokens that are tried as trees. Gives the output."""
    call = "selective_state_update"
    is_of_tokens = num_accepted_tokens is not None or retrieve_parent_token is not None
    if is_of_tokens and getattr(state_batch_indices, "ndim", 1) != 2:
        word = "retrieve_parent_token is of tokens with rows in" if num_accepted_tokens is None else "num_accepted_tokens counts along"
        raise ArgumentError(f"{call}: {word} state_batch_indices, which is [sequences, tokens] then")
    if pad_slot_id >= 0:
        raise ArgumentError(f"{call}: a negative index has no row, and pad_slot_id is {pad_slot_id}")
    if state_batch_indices is None and dst_state_batch_indices is not None:
        raise ArgumentError(f"{call}: dst_state_batch_indices needs state_batch_indices")
    has_heads = state.ndim == 4

    def with_heads(array: Any, side: int) -> Any:
        return array if array is None or has_heads else array[(slice(None),) * side + (None,)]

    def of_token(array: Any) -> Any:
        return None if array is None else array[:, None] if cu_seqlens is None else array[None]

    def find_first(rows: Any) -> Any:
        return rows if getattr(rows, "ndim", 1) == 1 else rows[:, 0]

    pool = with_heads(state, 1)
    x, dt, z, B, C = (with_heads(array, 1) for array in (x, dt, z, B, C))
    A, D, dt_bias = (with_heads(array, 0) for array in (A, D, dt_bias))
    written = None if out is None else of_token(with_heads(out, 1))
    if not is_of_tokens:
        rows = Rows(find_first(state_batch_indices), find_first(dst_state_batch_indices), written)
    else:
        tokens = state_batch_indices if dst_state_batch_indices is None else dst_state_batch_indices
        first = find_first(state_batch_indices) if num_accepted_tokens is None else state_batch_indices
        rows = Rows(first, out=written, tokens=tokens, accepted=num_accepted_tokens, parents=retrieve_parent_token)
    given = {"B": of_token(B), "C": of_token(C), "x": of_token(x), "dt": of_token(dt), "z": of_token(z), "A": A, "dt_bias": dt_bias, "D": D}
    options = {"softplus": dt_softplus}
    if _is_one(A, 2) and _is_one(dt, 1) and _is_one(dt_bias, 1):
        given |= {"dt": of_token(dt[..., 0]), "A": A[:, 0, 0], "dt_bias": None if dt_bias is None else dt_bias[:, 0]}
        if D is not None and _is_one(D, 1):
            given["D"] = D[:, 0]
        options["channels"] = given["D"] is not None and given["D"].ndim == 2
        y, _ = run_on_rows("mamba_scan", given, {"S": pool}, rows, cu_seqlens, options)
    else:
        y, _ = run_on_rows("selective_state", given, {"S": pool}, rows, cu_seqlens, options)
    y = y[:, 0] if cu_seqlens is None else y[0]
    return y if has_heads else y[:, 0]


#: What calls of :mod:`recur.fla` take, and the same on a pool do not; and what these take besides.
_LEFT_OUT = {
    "output_final_state": "states stay in the pool",
    "return_intermediate_states": "of states on the way there are none with a pool",
    "cp_context": "sequences that are shared out over processes have no pool",
}
_ADDED = {
    "inplace_final_state": True, "ssm_state_indices": None, "num_accepted_tokens": None, "num_replayed_tokens": 0, "retrieve_parent_token": None,
}  # fmt: skip


def _make(name: str) -> Callable[..., Any]:
    """A call of :mod:`recur.fla` on a pool: with what says its rows in place of whether the final state is given."""
    function = getattr(fla, name)
    kept = [parameter for word, parameter in inspect.signature(function).parameters.items() if word not in _LEFT_OUT]
    added = [inspect.Parameter(word, inspect.Parameter.KEYWORD_ONLY, default=default) for word, default in (_ADDED | _KEPT).items()]
    signature = inspect.Signature([*kept, *added])

    def call(*arrays: Any, **named: Any) -> Any:
        for word, why in _LEFT_OUT.items():
            if word in named:
                raise ArgumentError(f"{name}: {why}; leave {word} out")
        given = signature.bind(*arrays, **named).arguments
        in_place, indices, accepted, replayed, parents = (given.pop(word, default) for word, default in _ADDED.items())
        rows = _find_rows(name, given.get("initial_state"), indices, in_place, accepted, replayed=replayed, parents=parents)
        rows = _keep(rows, *(given.pop(word, None) for word in _KEPT))
        return function(**given, output_final_state=rows)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"""As :func:`recur.fla.{name}`, on the pool ``initial_state``, at the rows ``ssm_state_indices``. Gives the output, and the pool."""
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


for _name in _FAMILY:
    globals()[_name] = _make(_name)
