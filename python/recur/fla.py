"""The calls that users of flash-linear-attention have, with the same arguments, layouts and defaults.

``from recur import fla`` in place of imports from ``fla.ops`` switches a model over, to kernels for processors and GPUs. Inputs are
``[B, T, H, ...]``, states ``[N, H, K, V]`` in float32, or ``[N, H, V, K]`` with ``state_v_first``; ``cu_seqlens`` packs sequences
along T, and ``cu_seqlens_cpu`` are the same numbers in the processor's memory. float32 inputs are taken where that library asks for
16 bits, each array is read in its own type, heads may share queries and keys everywhere, and NumPy's and JAX's arrays go in as
PyTorch's tensors do. Each call is a recurrence of :mod:`recur.fla_texts`, whose state is ``[K, V]`` as the caller's is: transposing
it would take longer than a token does.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

from . import define
from .errors import ArgumentError
from .fla_texts import choose
from .recurrence import REGISTRY, Recurrence

__all__ = [
    "chunk_comba",
    "chunk_delta_rule",
    "chunk_gated_delta_product",
    "chunk_gated_delta_rule",
    "chunk_gla",
    "chunk_kda",
    "chunk_linear_attn",
    "chunk_mesa_net",
    "chunk_rwkv7",
    "chunk_simple_gla",
    "fused_recurrent_delta_rule",
    "fused_recurrent_gated_delta_rule",
    "fused_recurrent_gla",
    "fused_recurrent_kda",
    "fused_recurrent_simple_gla",
    "mamba_chunk_scan_combined",
]

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


def _pair(cu_seqlens: Any, cu_seqlens_cpu: Any) -> Any:
    """Offsets as a call takes them: of tensors on a GPU both, of others the one that the processor can read."""
    if cu_seqlens is None or cu_seqlens_cpu is None:
        return cu_seqlens if cu_seqlens_cpu is None else cu_seqlens_cpu
    return (cu_seqlens_cpu, cu_seqlens) if getattr(cu_seqlens, "is_cuda", False) else cu_seqlens_cpu


def _widen(state: Any) -> Any:
    """States are float32."""
    if state is None or str(state.dtype).endswith("float32"):
        return state
    return state.float() if hasattr(state, "float") else state.astype("float32")


def _call(
    name: str,
    given: Mapping[str, Any],
    initial: Any,
    final: bool,
    offsets: Any,
    transposed: bool = False,
    options: Mapping[str, bool] | None = None,
    **consts: float | None,
) -> tuple[Any, Any]:
    """The output, and the state S, or None."""
    recurrence = _define(name, given, options or {}, consts)
    arrays = {value: array for value, array in given.items() if array is not None}
    states = None if initial is None else {"S": _widen(initial)}
    results = recurrence(**arrays, initial=states, final=final, offsets=offsets, states_transposed=transposed)
    if not final:
        return results, None
    state = results[1]
    return results[0], state["S"] if isinstance(state, dict) else state


def _refuse_heads_first(head_first: bool) -> None:
    if head_first:
        raise ArgumentError("head_first=True is not taken: transpose to [B, T, H, ...]")


def _check_strength(call: str, use_beta_sigmoid_in_kernel: bool, allow_neg_eigval: bool) -> dict[str, bool]:
    if allow_neg_eigval and not use_beta_sigmoid_in_kernel:
        raise ArgumentError(f"{call}: allow_neg_eigval needs use_beta_sigmoid_in_kernel, for it doubles what the sigmoid gives")
    return {"beta_sigmoid": use_beta_sigmoid_in_kernel, "negative": allow_neg_eigval}


def _need(call: str, name: str, array: Any) -> Any:
    if array is None:
        raise ArgumentError(f"{call} needs {name}")
    return array


def _flatten(param: Any) -> Any:
    """A param ``[H]``, which some models keep as ``[1, 1, H, 1]``."""
    return param if param is None or param.ndim == 1 else param.reshape(-1)


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
) -> tuple[Any, Any]:
    """Gated DeltaNet: a decay ``g``, in log space, and a strength ``beta`` per token and head."""
    _refuse_heads_first(head_first)
    options = {"l2norm": use_qk_l2norm_in_kernel, **_check_strength("chunk_gated_delta_rule", use_beta_sigmoid_in_kernel, allow_neg_eigval)}
    given = {"q": q, "k": k, "v": v, "g": _need("chunk_gated_delta_rule", "g", g)}
    given["beta"] = _need("chunk_gated_delta_rule", "beta", beta)
    offsets = _pair(cu_seqlens, cu_seqlens_cpu)
    return _call("gated_delta_rule", given, initial_state, output_final_state, offsets, state_v_first, options, scale=scale)


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
    options = {"l2norm": use_qk_l2norm_in_kernel, **_check_strength("fused_recurrent_gated_delta_rule", use_beta_sigmoid_in_kernel, allow_neg_eigval)}
    given = {"q": q, "k": k, "v": v, "g": g, "gk": gk, "gv": gv, "beta": beta}
    if use_gate_in_kernel:
        given["g"] = _need("fused_recurrent_gated_delta_rule: use_gate_in_kernel", "g", g)
        given["A_log"] = _flatten(_need("fused_recurrent_gated_delta_rule: use_gate_in_kernel", "A_log", A_log))
        given["dt_bias"] = dt_bias
    return _call("gated_delta_rule", given, initial_state, output_final_state, cu_seqlens, state_v_first, options, scale=scale)


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
    _refuse_heads_first(head_first)
    options = {"l2norm": use_qk_l2norm_in_kernel}
    given = {"q": q, "k": k, "v": v, "beta": beta}
    return _call("delta_rule", given, initial_state, output_final_state, _pair(cu_seqlens, cu_seqlens_cpu), options=options, scale=scale)


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
    state_v_first: bool = False,
    cu_seqlens: Any = None,
    cu_seqlens_cpu: Any = None,
    A_log: Any = None,
    dt_bias: Any = None,
) -> tuple[Any, Any]:
    """Kimi Delta Attention: a decay per key channel. With ``use_gate_in_kernel`` the decay is ``-exp(A_log) * softplus(g +
    dt_bias)``, or with a ``lower_bound`` ``lower_bound * sigmoid(exp(A_log) * (g + dt_bias))``, where ``A_log`` may be left out."""
    options = {"l2norm": use_qk_l2norm_in_kernel, **_check_strength("chunk_kda", use_beta_sigmoid_in_kernel, allow_neg_eigval)}
    given = {"q": q, "k": k, "v": v, "g": g, "beta": beta}
    if use_gate_in_kernel:
        if safe_gate and lower_bound is None:
            raise ArgumentError("chunk_kda: safe_gate needs a lower_bound")
        if A_log is None and lower_bound is None:
            raise ArgumentError("chunk_kda: use_gate_in_kernel needs A_log")
        given["A_log"] = _flatten(A_log)
        given["dt_bias"] = dt_bias if dt_bias is None or dt_bias.ndim == 2 else dt_bias.reshape(v.shape[2], -1)
    bound = lower_bound if use_gate_in_kernel else None
    offsets = _pair(cu_seqlens, cu_seqlens_cpu)
    return _call("kda", given, initial_state, output_final_state, offsets, state_v_first, options, scale=scale, lower_bound=bound)


fused_recurrent_kda = chunk_kda


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
    _refuse_heads_first(head_first)
    given = {"q": q, "k": k, "v": v, "g": _need("chunk_gla", "g", g)}
    return _call("gla", given, initial_state, output_final_state, _pair(cu_seqlens, cu_seqlens_cpu), state_v_first, scale=scale)


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
    return _call("gla", given, initial_state, output_final_state, cu_seqlens, state_v_first, scale=scale)


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
    return _call("simple_gla", given, initial_state, output_final_state, _pair(cu_seqlens, cu_seqlens_cpu), state_v_first, scale=scale)


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
    """Linear attention; ``normalize`` divides by the sum of the scores, of each packed sequence by itself."""
    _refuse_heads_first(head_first)
    options = {"normalize": normalize}
    return _call("linear_attn", {"q": q, "k": k, "v": v}, initial_state, output_final_state, cu_seqlens, options=options, scale=scale)


def chunk_rwkv7(
    r: Any,
    k: Any,
    v: Any,
    a: Any,
    b: Any,
    w: Any = None,
    log_w: Any = None,
    scale: float = 1.0,
    initial_state: Any = None,
    output_final_state: bool = True,
    cu_seqlens: Any = None,
    head_first: bool = False,
) -> tuple[Any, Any]:
    """RWKV-7: ``S = diag(exp(log_w)) S + b (a S) + k v``, where ``log_w`` is ``-exp(w)`` if ``w`` is given."""
    _refuse_heads_first(head_first)
    if (w is None) == (log_w is None):
        raise ArgumentError("chunk_rwkv7: give either w or log_w")
    given = {"r": r, "k": k, "v": v, "a": a, "b": b, "w": w, "log_w": log_w}
    return _call("rwkv7", given, initial_state, output_final_state, cu_seqlens, scale=scale)


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
    cu_seqlens: Any = None,
    use_qk_l2norm_in_kernel: bool = False,
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
    offsets = _pair(cu_seqlens, cu_seqlens_cpu)
    return _call("gated_delta_product", given, initial_state, output_final_state, offsets, options=options, scale=scale)


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
    """Comba: what is erased is read by the auxiliary key ``p``, before the decay."""
    given = {"q": q, "k": k, "v": v, "p": k if p is None else p, "g": g, "beta": beta}
    options = {"l2norm": use_qk_l2norm_in_kernel}
    return _call("comba", given, initial_state, output_final_state, _pair(cu_seqlens, cu_seqlens_cpu), options=options, scale=scale)


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
    recurrence = _define("mesa_net", given, {"l2norm": use_qk_l2norm_in_kernel}, {"iterations": max_CG_iteration})
    initial = None
    if h_kk_init is not None or h_kv_init is not None:
        initial = {"G": _widen(h_kk_init), "S": _widen(h_kv_init)}
    results = recurrence(**given, initial=initial, final=output_final_state, offsets=_pair(cu_seqlens, cu_seqlens_cpu))
    if not output_final_state:
        return results, None, None
    return results[0], results[1]["G"], results[1]["S"]


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
    ``[B, H, V, K]`` too. ``chunk_size`` is taken and has no meaning here; packed sequences come by ``cu_seqlens``."""
    if seq_idx is not None:
        raise ArgumentError("mamba_chunk_scan_combined: seq_idx is not taken: give cu_seqlens")
    given = {"B": B, "C": C, "x": x, "dt": dt, "A": A, "dt_bias": dt_bias, "D": D, "z": z}
    options = {"softplus": dt_softplus, "channels": D is not None and D.ndim == 2}
    lowest, highest = dt_limit
    y, state = _call(
        "mamba_scan", given, initial_states, return_final_states, cu_seqlens, options=options,
        lowest=lowest if lowest > 0 else None, highest=highest if highest < math.inf else None,
    )  # fmt: skip
    return (y, state) if return_final_states else y
