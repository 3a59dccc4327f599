"""The calls that users of flash-linear-attention have, with the same arguments, layouts and defaults.

``from recur import fla`` in place of imports from ``fla.ops`` switches a model over, to kernels for processors and GPUs. Inputs are
``[B, T, H, ...]``, states ``[N, H, K, V]`` in float32, ``cu_seqlens`` packs sequences along T. float32 inputs are taken where
that library asks for 16 bits, heads may share queries and keys everywhere, and NumPy's and JAX's arrays go in as PyTorch's
tensors do. Each call is a recurrence below, written as one token, whose state is ``[K, V]`` as the caller's is: transposing it
would take longer than a token does.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from . import define
from .errors import ArgumentError
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

_HEAD = """recurrence {name} {{
  dim K, V
  const scale = 1 / sqrt(K)
  shared input q: [K], k: [K]
  input v: [V]{inputs}
  state S: [K, V]
  let query = {query}
  let key = {key}
{body}
  output o: [V] = scale * (query @ S)
}}
"""


@functools.cache
def _define_once(text: str, consts: tuple[tuple[str, float], ...], dims: tuple[tuple[str, int], ...]) -> Recurrence:
    return define(text, consts=dict(consts), dims=dict(dims))


def _find(text: str, consts: tuple[tuple[str, float], ...], dims: tuple[tuple[str, int], ...]) -> str:
    """The handle of a recurrence: nothing to be traced."""
    return _define_once(text, consts, dims).handle


# As torch.compiler.assume_constant_result does.
_find._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _define(text: str, consts: tuple[tuple[str, float], ...] = (), dims: tuple[tuple[str, int], ...] = ()) -> Recurrence:
    return REGISTRY[_find(text, consts, dims)]


def _write(name: str, inputs: str, body: str, normalize: bool) -> str:
    """A recurrence of a query and a key, which are brought to length one where that is asked for."""
    return _HEAD.format(
        name=name,
        inputs=", " + inputs if inputs else "",
        query="l2norm(q)" if normalize else "q",
        key="l2norm(k)" if normalize else "k",
        body="\n".join("  " + line for line in body.split("\n")),
    )


def _widen(state: Any) -> Any:
    """States are float32."""
    if state is None or str(state.dtype).endswith("float32"):
        return state
    return state.float() if hasattr(state, "float") else state.astype("float32")


def _refuse_heads_first(head_first: bool) -> None:
    if head_first:
        raise ArgumentError("head_first=True is not taken: transpose to [B, T, H, ...]")


def _scale(scale: float | None) -> tuple[tuple[str, float], ...]:
    return () if scale is None else (("scale", float(scale)),)


def _call(
    recurrence: Recurrence, given: dict[str, Any], initial: Any, final: bool, cu_seqlens: Any, transposed: bool = False
) -> tuple[Any, Any]:
    """The output, and the state S, or None."""
    states = None if initial is None else {"S": _widen(initial)}
    results = recurrence(**given, initial=states, final=final, offsets=cu_seqlens, states_transposed=transposed)
    if not final:
        return results, None
    state = results[1]
    return results[0], state["S"] if isinstance(state, dict) else state


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
    cu_seqlens: Any = None,
    head_first: bool = False,
) -> tuple[Any, Any]:
    """Gated DeltaNet: a decay ``g``, in log space, and a strength ``beta`` per token and head."""
    _refuse_heads_first(head_first)
    body = "S = exp(g) * S\nS = S + beta * outer(key, v - key @ S)"
    text = _write("gated_delta_rule", "g, beta", body, use_qk_l2norm_in_kernel)
    given = {"q": q, "k": k, "v": v, "g": g, "beta": beta}
    return _call(_define(text, _scale(scale)), given, initial_state, output_final_state, cu_seqlens)


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
    cu_seqlens: Any = None,
) -> tuple[Any, Any]:
    """The same, for a few tokens; also with decays per key channel (``gk``) and per value channel (``gv``), and without."""
    given = {"q": q, "k": k, "v": v}
    inputs, body = [], []
    for name, decay, line, declared in (
        ("g", g, "S = exp(g) * S", "g"),
        ("gk", gk, "S = diag(exp(gk)) @ S", "gk: [K]"),
        ("gv", gv, "S = S @ diag(exp(gv))", "gv: [V]"),
        ("beta", beta, "", "beta"),
    ):
        if decay is not None:
            given[name] = decay
            inputs.append(declared)
            body += [line] if line else []
    strength = "outer(key, v - key @ S)" if beta is None else "beta * outer(key, v - key @ S)"
    text = _write("gated_delta_rule", ", ".join(inputs), "\n".join([*body, f"S = S + {strength}"]), use_qk_l2norm_in_kernel)
    return _call(_define(text, _scale(scale)), given, initial_state, output_final_state, cu_seqlens)


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
    head_first: bool = False,
) -> tuple[Any, Any]:
    """DeltaNet."""
    _refuse_heads_first(head_first)
    text = _write("delta_rule", "beta", "S = S + beta * outer(key, v - key @ S)", use_qk_l2norm_in_kernel)
    given = {"q": q, "k": k, "v": v, "beta": beta}
    return _call(_define(text, _scale(scale)), given, initial_state, output_final_state, cu_seqlens)


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
    A_log: Any = None,
    dt_bias: Any = None,
) -> tuple[Any, Any]:
    """Kimi Delta Attention: a decay per key channel. With ``use_gate_in_kernel`` the decay is ``-exp(A_log) * softplus(g +
    dt_bias)``, or with ``safe_gate`` and a ``lower_bound`` ``lower_bound * sigmoid(exp(A_log) * (g + dt_bias))``."""
    given = {"q": q, "k": k, "v": v, "g": g, "beta": beta}
    params, gate = [], "g"
    if use_gate_in_kernel:
        if A_log is None:
            raise ArgumentError("chunk_kda: use_gate_in_kernel needs A_log")
        params.append("A_log")
        given["A_log"] = A_log.reshape(-1)
        if dt_bias is not None:
            params.append("dt_bias: [K]")
            given["dt_bias"] = dt_bias.reshape(v.shape[2], -1)
            gate = "(g + dt_bias)"
        if safe_gate:
            if lower_bound is None:
                raise ArgumentError("chunk_kda: safe_gate needs a lower_bound")
            gate = f"({float(lower_bound)!r}) * sigmoid(exp(A_log) * {gate})"
        else:
            gate = f"-exp(A_log) * softplus({gate})"
    strength = "beta"
    if use_beta_sigmoid_in_kernel:
        strength = "2 * sigmoid(beta)" if allow_neg_eigval else "sigmoid(beta)"
    declared = "g: [K], beta" + (f"\n  param {', '.join(params)}" if params else "")
    body = f"let decay = {gate}\nlet strength = {strength}\nS = diag(exp(decay)) @ S\nS = S + strength * outer(key, v - key @ S)"
    text = _write("kda", declared, body, use_qk_l2norm_in_kernel)
    return _call(_define(text, _scale(scale)), given, initial_state, output_final_state, cu_seqlens, state_v_first)


fused_recurrent_kda = chunk_kda


def chunk_gla(
    q: Any,
    k: Any,
    v: Any,
    g: Any,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    cu_seqlens: Any = None,
    head_first: bool = False,
) -> tuple[Any, Any]:
    """Gated linear attention: a decay per key channel, in log space."""
    _refuse_heads_first(head_first)
    text = _write("gla", "g: [K]", "S = diag(exp(g)) @ S + outer(key, v)", False)
    return _call(_define(text, _scale(scale)), {"q": q, "k": k, "v": v, "g": g}, initial_state, output_final_state, cu_seqlens)


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
    cu_seqlens: Any = None,
) -> tuple[Any, Any]:
    """The same for a few tokens, with decays per key channel and per value channel, either of which may be left out."""
    if reverse:
        raise ArgumentError("fused_recurrent_gla: reverse=True is not taken: turn the tokens around")
    given = {"q": q, "k": k, "v": v}
    inputs, decayed = [], "S"
    if gk is not None:
        given["gk"], decayed = gk, f"diag(exp(gk)) @ {decayed}"
        inputs.append("gk: [K]")
    if gv is not None:
        given["gv"], decayed = gv, f"({decayed}) @ diag(exp(gv))"
        inputs.append("gv: [V]")
    text = _write("gla", ", ".join(inputs), f"S = {decayed} + outer(key, v)", False)
    return _call(_define(text, _scale(scale)), given, initial_state, output_final_state, cu_seqlens)


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
) -> tuple[Any, Any]:
    """Linear attention with a decay per token and head (``g``), per head (``g_gamma``), both or none."""
    given = {"q": q, "k": k, "v": v}
    inputs, decay = "", []
    if g is not None:
        given["g"], inputs = g, "g"
        decay.append("g")
    if g_gamma is not None:
        given["g_gamma"] = g_gamma
        inputs = f"{inputs}\n  param g_gamma" if inputs else "unused"
        decay.append("g_gamma")
    if inputs == "unused":
        text = _write("simple_gla", "", "S = exp(g_gamma) * S + outer(key, v)", False).replace(
            "  state S", "  param g_gamma\n  state S"
        )
    else:
        decayed = f"exp({' + '.join(decay)}) * S" if decay else "S"
        text = _write("simple_gla", inputs, f"S = {decayed} + outer(key, v)", False)
    return _call(_define(text, _scale(scale)), given, initial_state, output_final_state, cu_seqlens, state_v_first)


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
    text = _write("linear_attn", "", "S = S + outer(key, v)", False)
    if normalize:
        text = text.replace("state S: [K, V]", "state S: [K, V], z: [K]").replace("  output", "  z = z + k\n  output")
        text = text.replace("scale * (query @ S)", "(scale * (query @ S)) / (scale * dot(z, query) + 1e-10)")
    return _call(_define(text, _scale(scale)), {"q": q, "k": k, "v": v}, initial_state, output_final_state, cu_seqlens)


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
    decay = "w" if w is None else "-exp(w)"
    text = f"""recurrence rwkv7 {{
  dim K, V
  const scale = 1
  input r: [K], k: [K], v: [V], a: [K], b: [K], w: [K]
  state S: [K, V]
  let decay = {decay}
  S = diag(exp(decay)) @ S + outer(b, a @ S) + outer(k, v)
  output o: [V] = scale * (r @ S)
}}
"""
    given = {"r": r, "k": k, "v": v, "a": a, "b": b, "w": log_w if w is None else w}
    return _call(_define(text, _scale(scale)), given, initial_state, output_final_state, cu_seqlens)


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
) -> tuple[Any, Any]:
    """Gated DeltaProduct: one decay, then ``num_householder`` steps a token. Keys, values and strengths of the steps lie along
    T: ``[B, T * num_householder, H, ...]``. ``g`` may be None."""
    B, T, H = q.shape[:3]
    step = "l2norm(k[j])" if use_qk_l2norm_in_kernel else "k[j]"
    text = f"""recurrence gated_delta_product {{
  dim K, V, N
  const scale = 1 / sqrt(K)
  input q: [K], k: [N, K], v: [N, V], beta: [N]{", g" if g is not None else ""}
  state S: [K, V]
  {"S = exp(g) * S" if g is not None else ""}
  for j in 0..N {{
    let key = {step}
    S = S + beta[j] * outer(key, v[j] - key @ S)
  }}
  output o: [V] = scale * ({"l2norm(q)" if use_qk_l2norm_in_kernel else "q"} @ S)
}}
"""

    def by_token(array: Any) -> Any:
        if array.shape[1] != T * num_householder:
            raise ArgumentError(
                f"chunk_gated_delta_product: T is {T} in 'q', so that keys, values and strengths of {num_householder} steps have "
                f"{T * num_householder} places along T, not {array.shape[1]}"
            )
        return array.reshape(B, T, num_householder, H, *array.shape[3:]).swapaxes(2, 3)

    given = {"q": q, "k": by_token(k), "v": by_token(v), "beta": by_token(beta)}
    if g is not None:
        given["g"] = g
    return _call(_define(text, _scale(scale)), given, initial_state, output_final_state, cu_seqlens)


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
) -> tuple[Any, Any]:
    """Comba: what is erased is read by the auxiliary key ``p``, before the decay."""
    given = {"q": q, "k": k, "v": v, "p": k if p is None else p, "g": g}
    strength, inputs = "", "p: [K], g"
    if beta is not None:
        given["beta"], strength, inputs = beta, "beta * ", "p: [K], g, beta"
    reader = "l2norm(p)" if use_qk_l2norm_in_kernel else "p"
    text = _write(
        "comba", inputs, f"let reader = {reader}\nS = exp(g) * S + {strength}outer(key, v - reader @ S)", use_qk_l2norm_in_kernel
    )
    return _call(_define(text, _scale(scale)), given, initial_state, output_final_state, cu_seqlens)


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
    cu_seqlens: Any = None,
) -> tuple[Any, Any, Any]:
    """MesaNet: the read-out solves a least-squares problem by conjugate gradients. Gives the output and both states."""
    text = """recurrence mesa_net {
  dim K, V
  const iterations = 30
  input q: [K], k: [K], v: [V], g, beta
  param lamb: [K]
  state G: [K, K], S: [K, V]
  G = exp(g) * G + beta * outer(k, k)
  S = exp(g) * S + beta * outer(k, v)
  output o: [V] = cg(G, q, ridge = lamb, iterations = iterations) @ S
}
"""
    recurrence = _define(text, (("iterations", float(max_CG_iteration)),))
    initial = None
    if h_kk_init is not None or h_kv_init is not None:
        initial = {"G": _widen(h_kk_init), "S": _widen(h_kv_init)}
    results = recurrence(q, k, v, g, beta, lamb, initial=initial, final=output_final_state, offsets=cu_seqlens)
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
    given = {"B": B, "C": C, "x": x, "dt": dt, "A": A}
    inputs, params, skip = "", "A", ""
    step = "dt"
    if dt_bias is not None:
        given["dt_bias"], params, step = dt_bias, params + ", dt_bias", "dt + dt_bias"
    if dt_softplus:
        step = f"softplus({step})"
    low, high = dt_limit
    if low > 0:
        step = f"max({step}, {float(low)!r})"
    if high < math.inf:
        step = f"min({step}, {float(high)!r})"
    if D is not None:
        given["D"] = D
        params += ", D: [V]" if D.ndim == 2 else ", D"
        skip = " + D * x"
    output = f"S @ C{skip}"
    if z is not None:
        given["z"], inputs, output = z, ", z: [V]", f"({output}) * silu(z)"
    text = f"""recurrence mamba_scan {{
  dim K, V
  shared input B: [K], C: [K]
  input x: [V], dt{inputs}
  param {params}
  state S: [V, K]
  let step = {step}
  S = exp(step * A) * S + outer(step * x, B)
  output y: [V] = {output}
}}
"""
    y, state = _call(_define(text), given, initial_states, return_final_states, cu_seqlens)
    return (y, state) if return_final_states else y
