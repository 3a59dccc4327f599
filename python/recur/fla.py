"""The calls that users of flash-linear-attention have, with the same arguments, layouts and defaults.

Replace imports from ``fla.ops`` by ``from recur import fla`` to switch a model over to kernels for processors and GPUs. Inputs are
``[B, T, H, ...]``, states ``[N, H, K, V]`` in float32, or ``[N, H, V, K]`` with ``state_v_first``; ``cu_seqlens`` packs sequences
along T, and ``cu_seqlens_cpu`` are the same numbers in the processor's memory. Inputs may also be float32 where that library requires
16 bits, each array is read in its own type, heads may share queries and keys in every call, and arrays may be NumPy's, JAX's or
PyTorch's. Each call is a recurrence of :mod:`recur.fla_texts`, whose state is ``[K, V]`` like the caller's: transposing
it would take longer than a token does.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Mapping
from typing import Any

from .errors import ArgumentError
from .fla_calls import Rows, add_gate, check_strength, flatten, need, pair, refuse_heads_first, run_on_the_way, run_state, run_states, share
from .fla_context import build as build_cp_context

__all__ = [
    "build_cp_context",
    "chunk_comba",
    "chunk_delta_rule",
    "chunk_diag_kdn",
    "chunk_gated_delta_product",
    "chunk_gated_delta_rule",
    "chunk_gdn2",
    "chunk_gla",
    "chunk_gsa",
    "chunk_kda",
    "chunk_lightnet",
    "chunk_linear_attn",
    "chunk_mesa_net",
    "chunk_momentum_delta_rule",
    "chunk_precond_gated_delta_rule",
    "chunk_precond_kda",
    "chunk_rwkv7",
    "chunk_simple_gla",
    "fused_recurrent_comba",
    "fused_recurrent_delta_rule",
    "fused_recurrent_diag_kdn",
    "fused_recurrent_gated_delta_rule",
    "fused_recurrent_gdn2",
    "fused_recurrent_gla",
    "fused_recurrent_gsa",
    "fused_recurrent_kda",
    "fused_recurrent_lightnet",
    "fused_recurrent_momentum_delta_rule",
    "fused_recurrent_precond_gated_delta_rule",
    "fused_recurrent_precond_kda",
    "fused_recurrent_rwkv7",
    "fused_recurrent_simple_gla",
    "install",
    "mamba_chunk_scan_combined",
    "uninstall",
]


def chunk_gated_delta_rule(
    q: Any,
    k: Any,
    v: Any,
    g: Any,
    beta: Any,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_beta_sigmoid_in_kernel: bool = False,
    allow_neg_eigval: bool = False,
    state_v_first: bool = False,
    cu_seqlens: Any = None,
    cu_seqlens_cpu: Any = None,
    head_first: bool = False,
    cp_context: Any = None,
) -> tuple[Any, Any]:
    """Gated DeltaNet: a decay ``g``, in log space, and a strength ``beta`` per token and head."""
    refuse_heads_first(head_first)
    options = {"l2norm": use_qk_l2norm_in_kernel, **check_strength("chunk_gated_delta_rule", use_beta_sigmoid_in_kernel, allow_neg_eigval)}
    given = {"q": q, "k": k, "v": v, "g": need("chunk_gated_delta_rule", "g", g)}
    given["beta"] = need("chunk_gated_delta_rule", "beta", beta)
    offsets = share("chunk_gated_delta_rule", pair(cu_seqlens, cu_seqlens_cpu), cp_context)
    return run_state("gated_delta_rule", given, initial_state, output_final_state, offsets, state_v_first, options, scale=scale)


def fused_recurrent_gated_delta_rule(
    q: Any,
    k: Any,
    v: Any,
    g: Any = None,
    gk: Any = None,
    gv: Any = None,
    beta: Any = None,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    A_log: Any = None,
    dt_bias: Any = None,
    use_beta_sigmoid_in_kernel: bool = False,
    allow_neg_eigval: bool = False,
    state_v_first: bool = False,
    cu_seqlens: Any = None,
) -> tuple[Any, Any]:
    """The same, for a few tokens; also with decays per key channel (``gk``) and per value channel (``gv``), and without. With
    ``use_gate_in_kernel`` the decay is ``-exp(A_log) * softplus(g + dt_bias)``."""
    options = {"l2norm": use_qk_l2norm_in_kernel, **check_strength("fused_recurrent_gated_delta_rule", use_beta_sigmoid_in_kernel, allow_neg_eigval)}
    given = {"q": q, "k": k, "v": v, "g": g, "gk": gk, "gv": gv, "beta": beta}
    if use_gate_in_kernel:
        given["g"] = need("fused_recurrent_gated_delta_rule: use_gate_in_kernel", "g", g)
        given["A_log"] = flatten(need("fused_recurrent_gated_delta_rule: use_gate_in_kernel", "A_log", A_log))
        given["dt_bias"] = dt_bias
    return run_state("gated_delta_rule", given, initial_state, output_final_state, cu_seqlens, state_v_first, options, scale=scale)


def chunk_delta_rule(
    q: Any,
    k: Any,
    v: Any,
    beta: Any,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Any = None,
    cu_seqlens_cpu: Any = None,
    head_first: bool = False,
) -> tuple[Any, Any]:
    """DeltaNet."""
    refuse_heads_first(head_first)
    options = {"l2norm": use_qk_l2norm_in_kernel}
    given = {"q": q, "k": k, "v": v, "beta": beta}
    return run_state("delta_rule", given, initial_state, output_final_state, pair(cu_seqlens, cu_seqlens_cpu), options=options, scale=scale)


fused_recurrent_delta_rule = chunk_delta_rule


def chunk_kda(
    q: Any,
    k: Any,
    v: Any,
    g: Any,
    beta: Any,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    use_beta_sigmoid_in_kernel: bool = False,
    allow_neg_eigval: bool = False,
    safe_gate: bool = False,
    lower_bound: float | None = None,
    return_intermediate_states: bool = False,
    state_v_first: bool = False,
    cu_seqlens: Any = None,
    cu_seqlens_cpu: Any = None,
    A_log: Any = None,
    dt_bias: Any = None,
    cp_context: Any = None,
) -> tuple[Any, ...]:
    """Kimi Delta Attention: a decay per key channel. With ``use_gate_in_kernel`` the decay is ``-exp(A_log) * softplus(g +
    dt_bias)``, or with a ``lower_bound`` ``lower_bound * sigmoid(exp(A_log) * (g + dt_bias))``, where ``A_log`` may be left out.
    With ``return_intermediate_states`` the states before each 64 tokens come third, in float32."""
    options = {"l2norm": use_qk_l2norm_in_kernel, **check_strength("chunk_kda", use_beta_sigmoid_in_kernel, allow_neg_eigval)}
    given = {"q": q, "k": k, "v": v, "g": g, "beta": beta}
    bound = add_gate("chunk_kda", given, v.shape[2], use_gate_in_kernel, safe_gate, lower_bound, A_log, dt_bias)
    offsets = share("chunk_kda", pair(cu_seqlens, cu_seqlens_cpu), cp_context)
    consts = {"scale": scale, "lower_bound": bound}
    if return_intermediate_states:
        if cp_context is not None:
            raise ArgumentError("chunk_kda: with cp_context there are no states on the way; leave return_intermediate_states out")
        o, last, rows = run_on_the_way("kda", given, {"S": initial_state}, offsets, state_v_first, options, **consts)
        return o, last["S"] if output_final_state else None, rows
    return run_state("kda", given, initial_state, output_final_state, offsets, state_v_first, options, **consts)


fused_recurrent_kda = chunk_kda


def chunk_gdn2(
    q: Any,
    k: Any,
    v: Any,
    g: Any,
    b: Any,
    w: Any,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    cu_seqlens: Any = None,
    cu_seqlens_cpu: Any = None,
    safe_gate: bool = False,
    lower_bound: float | None = None,
    return_intermediate_states: bool = False,
    state_v_first: bool = False,
    A_log: Any = None,
    dt_bias: Any = None,
) -> tuple[Any, ...]:
    """Gated DeltaNet 2: a decay ``g`` and a strength ``b`` of erasing per key channel, and a strength ``w`` of writing per
    value channel. Gates and intermediate states are as in :func:`chunk_kda`."""
    options, given = {"l2norm": use_qk_l2norm_in_kernel}, {"q": q, "k": k, "v": v, "g": g, "b": b, "w": w}
    bound = add_gate("chunk_gdn2", given, v.shape[2], use_gate_in_kernel, safe_gate, lower_bound, A_log, dt_bias)
    offsets = pair(cu_seqlens, cu_seqlens_cpu)
    consts = {"scale": scale, "lower_bound": bound}
    if return_intermediate_states:
        o, last, rows = run_on_the_way("gdn2", given, {"S": initial_state}, offsets, state_v_first, options, **consts)
        return o, last["S"] if output_final_state else None, rows
    return run_state("gdn2", given, initial_state, output_final_state, offsets, state_v_first, options, **consts)


fused_recurrent_gdn2 = chunk_gdn2


def chunk_diag_kdn(
    q: Any,
    k: Any,
    v: Any,
    g: Any,
    omega: Any,
    r: Any,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    info_scale: float | None = None,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    A_log: Any = None,
    dt_bias: Any = None,
    cu_seqlens: Any = None,
    cu_seqlens_cpu: Any = None,
    safe_gate: bool = False,
    chunk_size: int = 64,
) -> tuple[Any, tuple[Any, Any] | None]:
    """The diagonal Kalman delta network: what is written goes along a gain that a variance of each key channel gives, with ``omega`` the
    noise of the process and ``r`` that of what is observed. The states are a pair, ``[N, H, K, V]`` and the precision ``[N, H, K]``,
    which starts as one. ``safe_gate`` and ``chunk_size`` are taken and have no meaning here."""
    given = {"q": q, "k": k, "v": v, "g": g, "omega": omega, "r": r}
    add_gate("chunk_diag_kdn", given, v.shape[2], use_gate_in_kernel, False, None, A_log, dt_bias)
    S, c = (None, None) if initial_state is None else initial_state
    options, offsets = {"l2norm": use_qk_l2norm_in_kernel}, pair(cu_seqlens, cu_seqlens_cpu)
    o, last = run_states("diag_kdn", given, {"S": S, "c": c}, output_final_state, offsets, options=options, scale=scale, info_scale=info_scale)
    return o, (last["S"], last["c"]) if output_final_state else None


fused_recurrent_diag_kdn = chunk_diag_kdn


def _spread(array: Any, count: int, axis: int) -> Any:
    """Each group of heads' own part for each of its heads."""
    if array is None or count == 1:
        return array
    return array.repeat_interleave(count, axis) if hasattr(array, "repeat_interleave") else array.repeat(count, axis)


def _call_preconditioned(
    name: str, given: dict[str, Any], initial: Any, initial_A: Any, final: bool, log_atk_scale: Any, offsets: Any, transposed: bool,
    options: Mapping[str, bool], **consts: float | None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The preconditioner's state is one of each group of heads there, and one of each head in the recurrence."""
    copies = given["v"].shape[2] // given["k"].shape[2]
    if copies != 1 and isinstance(final, Rows):
        raise ArgumentError(f"{name}: in a pool the preconditioner has a state of each head; repeat queries and keys for their heads")
    is_number = isinstance(log_atk_scale, (int, float))
    if not is_number:
        given["log_atk_scale"] = _spread(flatten(log_atk_scale), copies, 0)
    states = {"S": initial, "A": _spread(initial_A, copies, 1)}
    center = log_atk_scale if is_number else None
    o, last = run_states(name, given, states, final, offsets, transposed, options, center=center, **consts)
    A = last["A"]
    return o, last["S"], A if A is None or copies == 1 else A[:, ::copies]


def chunk_precond_gated_delta_rule(
    q: Any,
    k: Any,
    v: Any,
    g_atk: Any,
    g: Any,
    beta_atk: Any,
    beta: Any,
    scale: float | None = None,
    initial_state: Any = None,
    initial_A_state: Any = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = True,
    cu_seqlens: Any = None,
    cu_seqlens_cpu: Any = None,
    transpose_state_layout: bool = False,
    x: float = 1.5,
    eps: float = 1e-6,
    log_atk_scale: Any = None,
) -> tuple[Any, Any, Any]:
    """Gated DeltaNet whose write keys are scaled per channel by the sum of earlier writes to that channel. Returns the output, the
    state, and the preconditioner's state ``[N, H, K]``."""
    given = {"q": q, "k": k, "v": v, "g_atk": g_atk, "g": g, "beta_atk": beta_atk, "beta": beta}
    return _call_preconditioned(
        "precond_gated_delta_rule", given, initial_state, initial_A_state, output_final_state, log_atk_scale,
        pair(cu_seqlens, cu_seqlens_cpu), transpose_state_layout, {"l2norm": use_qk_l2norm_in_kernel}, scale=scale, x=x, eps=eps,
    )  # fmt: skip


fused_recurrent_precond_gated_delta_rule = chunk_precond_gated_delta_rule


def chunk_precond_kda(
    q: Any,
    k: Any,
    v: Any,
    g: Any,
    g_atk: Any,
    beta_atk: Any,
    beta: Any,
    scale: float | None = None,
    initial_state: Any = None,
    initial_A_state: Any = None,
    output_final_state: bool = False,
    use_gate_in_kernel: bool = False,
    safe_gate: bool = False,
    lower_bound: float | None = None,
    cu_seqlens: Any = None,
    cu_seqlens_cpu: Any = None,
    transpose_state_layout: bool = False,
    x: float = 1.5,
    eps: float = 1e-6,
    log_atk_scale: Any = None,
    A_log: Any = None,
    dt_bias: Any = None,
) -> tuple[Any, Any, Any]:
    """The same of Kimi Delta Attention, with the gates of :func:`chunk_kda`."""
    given = {"q": q, "k": k, "v": v, "g": g, "g_atk": g_atk, "beta_atk": beta_atk, "beta": beta}
    bound = add_gate("chunk_precond_kda", given, v.shape[2], use_gate_in_kernel, safe_gate, lower_bound, A_log, dt_bias)
    return _call_preconditioned(
        "precond_kda", given, initial_state, initial_A_state, output_final_state, log_atk_scale, pair(cu_seqlens, cu_seqlens_cpu),
        transpose_state_layout, {}, scale=scale, x=x, eps=eps, lower_bound=bound,
    )  # fmt: skip


fused_recurrent_precond_kda = chunk_precond_kda


def chunk_momentum_delta_rule(
    q: Any,
    k: Any,
    v: Any,
    log_alpha: Any,
    log_mu: Any,
    p: Any = None,
    beta: Any = None,
    eta: Any = None,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    cu_seqlens: Any = None,
    use_qk_l2norm_in_kernel: bool = True,
    use_p_times_alpha: bool = True,
    chunk_size: int = 64,
) -> tuple[Any, Any]:
    """The delta rule with momentum: a second state adds up the writes. Initial and final states are pairs.
    ``chunk_size`` is accepted and has no effect; packed sequences are accepted too."""
    given = {"q": q, "k": k, "v": v, "log_alpha": log_alpha, "log_mu": log_mu, "p": p, "beta": beta, "eta": eta}
    options = {"l2norm": use_qk_l2norm_in_kernel, "decayed": use_p_times_alpha}
    states = {} if initial_state is None else {"S": initial_state[0], "M": initial_state[1]}
    o, last = run_states("momentum_delta_rule", given, states, output_final_state, cu_seqlens, options=options, scale=scale)
    return o, (last["S"], last["M"]) if output_final_state else None


fused_recurrent_momentum_delta_rule = chunk_momentum_delta_rule


def chunk_lightnet(
    q: Any,
    k: Any,
    v: Any,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    state_v_first: bool = False,
    cu_seqlens: Any = None,
) -> tuple[Any, tuple[Any, Any]]:
    """LightNet: keys are weights of a softmax over all tokens so far. The second state is the logarithm of their sum, ``[N, 1, H,
    K]``, which is always given."""
    S, z = (None, None) if initial_state is None else initial_state
    states = {"S": S, "z": None if z is None else z[:, 0]}
    o, last = run_states("lightnet", {"q": q, "k": k, "v": v}, states, True, cu_seqlens, state_v_first, scale=scale)
    return o, (last["S"] if output_final_state else None, last["z"][:, None])


fused_recurrent_lightnet = chunk_lightnet


def chunk_gsa(
    q: Any,
    k: Any,
    v: Any,
    s: Any,
    g: Any = None,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    checkpoint_level: int = 2,
    cu_seqlens: Any = None,
    cu_seqlens_cpu: Any = None,
) -> tuple[Any, tuple[Any, Any]]:
    """Gated slot attention, the operator of Raven too: ``s`` says what a token writes to each slot, and ``g`` is a decay for each, in log
    space. Without ``g`` it is ABC, whose writes are weights of a softmax over all tokens so far. The states are a pair, ``[N, H, K, M]``
    and ``[N, H, M, V]``. Keys and values may have fewer heads than queries. ``checkpoint_level`` is accepted and has no effect."""
    if g is None and initial_state is not None:
        raise ArgumentError("chunk_gsa: without gates there is no state to go on from, for the weights of its tokens are not known; give g")
    groups, rest = divmod(q.shape[2], k.shape[2])
    if not groups or rest:
        raise ArgumentError(f"chunk_gsa: q has {q.shape[2]} heads, but k has {k.shape[2]}; queries have as many as keys, or some times as many")

    def spread(state: Any) -> Any:
        """A state of each query's head."""
        if groups == 1:
            return state
        return state[:, :, None].expand(-1, -1, groups, -1, -1).flatten(1, 2) if hasattr(state, "expand") else state.repeat(groups, 1)

    states = {} if initial_state is None else {"hk": spread(initial_state[0]), "hv": spread(initial_state[1])}
    given = {"q": q, "k": k, "v": v, "s": s, "g": g}
    o, last = run_states("gsa", given, states, output_final_state, pair(cu_seqlens, cu_seqlens_cpu), scale=scale)
    return o, (last["hk"][:, ::groups], last["hv"][:, ::groups]) if output_final_state else (None, None)


fused_recurrent_gsa = chunk_gsa


def chunk_gla(
    q: Any,
    k: Any,
    v: Any,
    g: Any,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    state_v_first: bool = False,
    cu_seqlens: Any = None,
    cu_seqlens_cpu: Any = None,
    head_first: bool = False,
) -> tuple[Any, Any]:
    """Gated linear attention: a decay per key channel, in log space."""
    refuse_heads_first(head_first)
    given = {"q": q, "k": k, "v": v, "g": need("chunk_gla", "g", g)}
    return run_state("gla", given, initial_state, output_final_state, pair(cu_seqlens, cu_seqlens_cpu), state_v_first, scale=scale)


def fused_recurrent_gla(
    q: Any,
    k: Any,
    v: Any,
    gk: Any = None,
    gv: Any = None,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    reverse: bool = False,
    state_v_first: bool = False,
    cu_seqlens: Any = None,
) -> tuple[Any, Any]:
    """The same for a few tokens, with decays per key channel and per value channel, either of which may be left out."""
    if reverse:
        raise ArgumentError("fused_recurrent_gla: reverse=True is not taken: turn the tokens around")
    given = {"q": q, "k": k, "v": v, "gk": gk, "gv": gv}
    return run_state("gla", given, initial_state, output_final_state, cu_seqlens, state_v_first, scale=scale)


def chunk_simple_gla(
    q: Any,
    k: Any,
    v: Any,
    g: Any = None,
    g_gamma: Any = None,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    state_v_first: bool = False,
    cu_seqlens: Any = None,
    cu_seqlens_cpu: Any = None,
) -> tuple[Any, Any]:
    """Linear attention with a decay per token and head (``g``), per head (``g_gamma``), both or none."""
    given = {"q": q, "k": k, "v": v, "g": g, "g_gamma": g_gamma}
    return run_state("simple_gla", given, initial_state, output_final_state, pair(cu_seqlens, cu_seqlens_cpu), state_v_first, scale=scale)


fused_recurrent_simple_gla = chunk_simple_gla


def chunk_linear_attn(
    q: Any,
    k: Any,
    v: Any,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    normalize: bool = True,
    cu_seqlens: Any = None,
    head_first: bool = False,
) -> tuple[Any, Any]:
    """Linear attention; ``normalize`` divides by the sum of the scores, for each packed sequence by itself. The state is then a pair,
    whose second part is the sum of keys, ``[N, 1, H, K]``."""
    refuse_heads_first(head_first)
    S, z = initial_state if isinstance(initial_state, (tuple, list)) else (initial_state, None)
    states = {"S": S, "z": None if z is None else z[:, 0]}
    given, options = {"q": q, "k": k, "v": v}, {"normalize": normalize}
    o, last = run_states("linear_attn", given, states, output_final_state, cu_seqlens, options=options, scale=scale)
    return o, (last["S"], last["z"][:, None]) if normalize and output_final_state else last["S"]


def _find_decay(call: str, w: Any, log_w: Any) -> Any:
    """The logarithm of RWKV-7's decay. In the first versions of that library ``w`` was what minus its exponential is the logarithm."""
    if (w is None) == (log_w is None):
        raise ArgumentError(f"{call}: give w, the decay's logarithm, or log_w, which is the same")
    if log_w is not None:
        return log_w
    library = getattr(sys.modules.get("fla.ops.rwkv7"), call, None)
    if library is not None and "log_w" in inspect.signature(library).parameters:
        raise ArgumentError(
            f"{call}: w is the decay's logarithm here, and in the flash-linear-attention that is loaded it is something else; "
            "give log_w = -exp(w)"
        )
    return w


def _give_rwkv7(call: str, r: Any, w: Any, log_w: Any, **others: Any) -> dict[str, Any]:
    return {"r": r, "w": _find_decay(call, w, log_w), **{name: need(call, name, array) for name, array in others.items()}}


def chunk_rwkv7(
    r: Any,
    w: Any = None,
    k: Any = None,
    v: Any = None,
    a: Any = None,
    b: Any = None,
    scale: float | None = 1.0,
    initial_state: Any = None,
    output_final_state: bool = False,
    cu_seqlens: Any = None,
    cu_seqlens_cpu: Any = None,
    *,
    log_w: Any = None,
    head_first: bool = False,
) -> tuple[Any, Any]:
    """RWKV-7: ``S = diag(exp(w)) S + b (a S) + k v``, where ``w`` is the decay's logarithm, as version 0.6 of that library has it; ``log_w`` is the same.
    In the library's first versions ``w`` meant something else; if one of these versions is loaded, the call is refused."""
    refuse_heads_first(head_first)
    given = _give_rwkv7("chunk_rwkv7", r, w, log_w, k=k, v=v, a=a, b=b)
    return run_state("rwkv7", given, initial_state, output_final_state, pair(cu_seqlens, cu_seqlens_cpu), scale=scale)


def fused_recurrent_rwkv7(
    r: Any,
    w: Any = None,
    k: Any = None,
    v: Any = None,
    a: Any = None,
    b: Any = None,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = True,
    cu_seqlens: Any = None,
    *,
    log_w: Any = None,
) -> tuple[Any, Any]:
    """The same for a few tokens, with that library's other defaults: a scale of ``1 / sqrt(K)``, and the final state."""
    given = _give_rwkv7("fused_recurrent_rwkv7", r, w, log_w, k=k, v=v, a=a, b=b)
    return run_state("rwkv7", given, initial_state, output_final_state, cu_seqlens, scale=scale)


def chunk_gated_delta_product(
    q: Any,
    k: Any,
    v: Any,
    g: Any,
    beta: Any,
    num_householder: int,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Any = None,
    cu_seqlens_cpu: Any = None,
) -> tuple[Any, Any]:
    """Gated DeltaProduct: one decay, then ``num_householder`` steps a token. Keys, values and strengths of the steps lie along
    T: ``[B, T * num_householder, H, ...]``. ``g`` may be None."""
    B, T, H = q.shape[:3]

    def by_token(array: Any) -> Any:
        if array.shape[1] != T * num_householder:
            raise ArgumentError(
                f"chunk_gated_delta_product: T is {T} in 'q', so that keys, values and strengths of {num_householder} steps have "
                f"{T * num_householder} places along T, not {array.shape[1]}"
            )
        return array.reshape(B, T, num_householder, H, *array.shape[3:]).swapaxes(2, 3)

    given = {"q": q, "k": by_token(k), "v": by_token(v), "beta": by_token(beta), "g": g}
    options = {"l2norm": use_qk_l2norm_in_kernel}
    offsets = pair(cu_seqlens, cu_seqlens_cpu)
    return run_state("gated_delta_product", given, initial_state, output_final_state, offsets, options=options, scale=scale)


def chunk_comba(
    q: Any,
    k: Any,
    v: Any,
    p: Any,
    g: Any,
    beta: Any = None,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Any = None,
    cu_seqlens_cpu: Any = None,
) -> tuple[Any, Any]:
    """Comba: the auxiliary key ``p`` reads the value to erase, before the decay."""
    given = {"q": q, "k": k, "v": v, "p": k if p is None else p, "g": g, "beta": beta}
    options = {"l2norm": use_qk_l2norm_in_kernel}
    return run_state("comba", given, initial_state, output_final_state, pair(cu_seqlens, cu_seqlens_cpu), options=options, scale=scale)


def fused_recurrent_comba(
    q: Any,
    k: Any,
    p: Any,
    v: Any,
    g: Any,
    beta: Any = None,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Any = None,
) -> tuple[Any, Any]:
    """The same for a few tokens; ``p`` comes before ``v``, as that library has it."""
    return chunk_comba(q, k, v, p, g, beta, scale, initial_state, output_final_state, use_qk_l2norm_in_kernel, cu_seqlens)


def chunk_mesa_net(
    q: Any,
    k: Any,
    v: Any,
    g: Any,
    beta: Any,
    lamb: Any,
    h_kk_init: Any = None,
    h_kv_init: Any = None,
    output_final_state: bool = False,
    max_CG_iteration: int = 30,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Any = None,
    cu_seqlens_cpu: Any = None,
) -> tuple[Any, Any, Any]:
    """MesaNet: the read-out solves a least-squares problem by conjugate gradients. Gives the output and both states."""
    given = {"q": q, "k": k, "v": v, "g": g, "beta": beta, "lamb": lamb}
    options, offsets = {"l2norm": use_qk_l2norm_in_kernel}, pair(cu_seqlens, cu_seqlens_cpu)
    states = {"G": h_kk_init, "S": h_kv_init}
    o, last = run_states("mesa_net", given, states, output_final_state, offsets, options=options, iterations=max_CG_iteration)
    return o, last["G"], last["S"]


def install() -> list[str]:
    """Replaces flash-linear-attention's own calls by these, in all of its loaded modules: a model that is written with
    that library then uses them without a change. Returns their names. A call with arguments that Recur does not take still runs
    that library's code."""
    from . import fla_install

    return fla_install.install({name: globals()[name] for name in __all__ if name not in ("build_cp_context", "install", "uninstall")})


def uninstall() -> None:
    """Undoes :func:`install`."""
    from . import fla_install

    fla_install.uninstall()


def mamba_chunk_scan_combined(
    x: Any,
    dt: Any,
    A: Any,
    B: Any,
    C: Any,
    chunk_size: int,
    D: Any = None,
    z: Any = None,
    dt_bias: Any = None,
    initial_states: Any = None,
    seq_idx: Any = None,
    cu_seqlens: Any = None,
    dt_softplus: bool = False,
    dt_limit: tuple[float, float] = (0.0, math.inf),
    return_final_states: bool = False,
) -> Any:
    """Mamba-2's scan, with the arguments of its own package: the output, and with ``return_final_states`` the states
    ``[B, H, V, K]`` too. ``chunk_size`` is accepted and has no effect; ``cu_seqlens`` packs sequences."""
    if seq_idx is not None:
        raise ArgumentError("mamba_chunk_scan_combined: seq_idx is not taken: give cu_seqlens")
    given = {"B": B, "C": C, "x": x, "dt": dt, "A": A, "dt_bias": dt_bias, "D": D, "z": z}
    options = {"softplus": dt_softplus, "channels": D is not None and D.ndim == 2}
    lowest, highest = dt_limit
    y, state = run_state(
        "mamba_scan", given, initial_states, return_final_states, cu_seqlens, options=options,
        lowest=lowest if lowest > 0 else None, highest=highest if highest < math.inf else None,
    )  # fmt: skip
    return (y, state) if return_final_states else y
