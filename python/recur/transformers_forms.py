"""How layers of ``transformers`` compute between their projections: the recurrences, and what goes in and out of them.

A family of layers is a function here, which reads a layer's sizes and gives its :class:`Form`. Families whose layers are written alike
share one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from . import define
from .fla_texts import TEXTS, choose_lines
from .recurrence import Recurrence

_CONVOLUTION = """
recurrence short_convolution {
  dim K, W
  input x: [K]
  param w: [W, K]
  param c: [K]                                          # with bias
  output y: [K] = silu(conv(x, w))                      # without bias
  output y: [K] = silu(conv(x, w) + c)                  # with bias
}
"""

# States are [K, V], as the library keeps them.
_GATED_DELTA_NET = """
recurrence gated_delta_net_core {
  dim K, V
  const scale = 1 / sqrt(K)
  const tiny = 1e-6
  shared input q: [K], k: [K]
  input v: [V], z: [V], a: scalar, b: scalar
  param norm: [V], A_log: scalar, dt_bias: scalar
  state S: [K, V]
  let query = l2norm(q)
  let key = l2norm(k)
  let strength = sigmoid(b)                             # without negative
  let strength = 2 * sigmoid(b)                         # with negative
  S = exp(-exp(A_log) * softplus(a + dt_bias)) * S
  S = S + strength * outer(key, v - key @ S)
  output o: [V] = rmsnorm(scale * (query @ S), eps = tiny) * norm * silu(z)
}
"""

_KIMI_DELTA_ATTENTION = """
recurrence kimi_delta_attention_core {
  dim K, V
  const scale = 1 / sqrt(K)
  const tiny = 1e-6
  const lower_bound = -5                                # with lower_bound
  input q: [K], k: [K], v: [V], f: [K], z: [V], b: scalar
  param norm: [V], A_log: scalar, dt_bias: [K]
  state S: [K, V]
  let query = l2norm(q)
  let key = l2norm(k)
  let gate = f + dt_bias
  let decay = -exp(A_log) * softplus(gate)              # without lower_bound
  let decay = lower_bound * sigmoid(exp(A_log) * gate)  # with lower_bound
  S = diag(exp(decay)) @ S
  S = S + sigmoid(b) * outer(key, v - key @ S)
  output o: [V] = rmsnorm(scale * (query @ S), eps = tiny) * norm * sigmoid(z)
}
"""


@functools.cache
def _define(text: str, there: tuple[str, ...], plan: str = "auto", **consts: float) -> Recurrence:
    return define(choose_lines(text, there), consts=consts, plan=plan)


class Kept:
    """What is made of a layer's parameters once, and again when one of them has changed."""

    def __init__(self, make: Callable[[], tuple[torch.Tensor, ...]], *parameters: torch.Tensor) -> None:
        self._make, self._parameters = make, parameters
        self._of: Any = None
        self._made: tuple[torch.Tensor, ...] = ()

    def get(self) -> tuple[torch.Tensor, ...]:
        if torch.compiler.is_compiling() or torch.is_grad_enabled() and any(parameter.requires_grad for parameter in self._parameters):
            return self._make()
        of = [(p.data_ptr(), 0 if p.is_inference() else p._version, p.dtype) for p in self._parameters]
        if of != self._of:
            with torch.inference_mode(False), torch.no_grad():
                self._of, self._made = of, self._make()
        return self._made


class Memory:
    """Arrays that one block of a prompt after another is computed in."""

    def __init__(self) -> None:
        self._arrays: dict[Any, torch.Tensor] = {}

    def get(self, key: Any, like: torch.Tensor, *shape: int) -> torch.Tensor:
        """One of this shape, or the first rows of one that was as long as this or longer; it holds what was left in it."""
        count = math.prod(shape)
        array = self._arrays.get(key)
        if array is None or array.numel() < count:
            array = self._arrays[key] = like.new_empty(count)
        return array[:count].view(shape)


def apply(linear: Any, x: torch.Tensor, memory: Memory | None) -> torch.Tensor:
    """What a projection gives, in memory that is there already. One that is more than a matrix (of a quantized or adapted model, or
    with hooks) is called."""
    is_matrix = (
        memory is not None
        and type(linear) is torch.nn.Linear
        and linear.bias is None
        and linear.weight.dtype == x.dtype
        and "forward" not in vars(linear)
        and not (linear._forward_hooks or linear._forward_pre_hooks or torch.nn.modules.module._global_forward_hooks)
        and not torch.nn.modules.module._global_forward_pre_hooks
        and not torch.is_autocast_enabled("cpu")
    )
    if memory is None or not is_matrix:
        return linear(x)
    rows, columns = math.prod(x.shape[:-1]), linear.weight.shape[0]
    result = memory.get(linear, x, rows, columns)
    torch.mm(x.reshape(rows, -1), linear.weight.t(), out=result)
    return result.view(*x.shape[:-1], columns)


#: Some heads of the convolution, [B, T, n, size], and which they are.
Part = tuple[torch.Tensor, slice]
_Tensors = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Form:
    """How a layer computes. What its projections make of hidden states is cut into parts of the convolution and what else the
    recurrence takes; what the convolution gives is cut into the recurrence's first inputs."""

    heads: int  #: of the convolution: its channels are cut into pieces of one size, whatever they are used for
    size: int  #: of each
    convolution: Recurrence
    token_convolution: Recurrence  #: the same, which writes nothing but its result: on a processor that takes two thirds of the time
    weights: Kept  #: the convolution's params
    core: Recurrence
    params: Kept  #: the recurrence's params
    result: tuple[int, int]  #: heads and channels of what the recurrence gives
    rest: tuple[tuple[int, ...], ...]  #: the shapes of what it takes besides, of a token
    project: Callable[[torch.Tensor, Memory | None], list[torch.Tensor]]
    split: Callable[[Sequence[torch.Tensor]], tuple[list[Part], list[torch.Tensor]]]
    cut: Callable[[torch.Tensor], _Tensors]
    #: The projection back, and what is in front of it: of [B, T, heads * channels], and of what was projected.
    finish: Callable[[torch.Tensor, Sequence[torch.Tensor], Memory | None], torch.Tensor]
    #: The recurrence of a token after others, where the library computes that in another way.
    token_core: Recurrence
    #: Whether the library sets what the convolution gives of padding to zero, as it does what goes into it.
    masks_after: bool = False


def _convolve(layer: Any, size: int) -> dict[str, Any]:
    """The short convolution of a layer, in pieces of so many channels."""
    weight, bias = layer.conv1d.weight, layer.conv1d.bias
    there = () if bias is None else ("bias",)

    def make() -> _Tensors:
        # [channels, 1, W] as [heads, W, size].
        by_heads = weight.reshape(-1, size, weight.shape[-1]).transpose(1, 2).contiguous()
        return (by_heads,) if bias is None else (by_heads, bias.view(-1, size))

    return {
        "heads": weight.shape[0] // size,
        "size": size,
        "convolution": _define(_CONVOLUTION, there),
        "token_convolution": _define(_CONVOLUTION, there, plan="step"),
        "weights": Kept(make, *([weight] if bias is None else [weight, bias])),
    }


def _cut_to_parts(x: torch.Tensor, first: int, size: int, is_dense: bool) -> list[Part]:
    """[B, T, groups, channels] as heads of a convolution, of which these are the first one and those behind it."""
    count = x.shape[3] // size
    end, pieces = first + x.shape[2] * count, x.unflatten(3, (count, size))
    if is_dense or count == 1:
        return [(pieces.flatten(2, 3), slice(first, end))]
    return [(pieces[:, :, :, i], slice(first + i, end, count)) for i in range(count)]


def _cut_channels(y: torch.Tensor, *shapes: tuple[int, int]) -> _Tensors:
    """What a convolution gave as several arrays, each of so many heads and channels."""
    channels, cut, begin = y.flatten(2), [], 0
    for heads, size in shapes:
        cut.append(channels[:, :, begin : begin + heads * size].unflatten(2, (heads, size)))
        begin += heads * size
    return tuple(cut)


# ---- Gated DeltaNet ----


def _form_gated_delta_net(
    layer: Any,
    norm: Any,
    back: str,
    project: Callable[[torch.Tensor, Memory | None], list[torch.Tensor]],
    read: Callable[[Sequence[torch.Tensor]], list[torch.Tensor]],
    is_dense: bool,
    *options: str,
) -> Form | None:
    """``read`` gives queries and keys ``[B, T, groups, K]``, values and gates ``[B, T, groups, channels]``, and two numbers, ``a`` and
    ``b``; ``is_dense`` says that the groups of each lie one behind another."""
    heads, groups, keys, values = layer.num_v_heads, layer.num_k_heads, layer.head_k_dim, layer.head_v_dim
    if layer.activation != "silu" or getattr(norm, "activation", "silu") != "silu":
        return None
    convolution = _convolve(layer, math.gcd(keys, values))
    size = convolution["size"]
    core = _define(_GATED_DELTA_NET, options, tiny=float(norm.variance_epsilon))

    def split(projected: Sequence[torch.Tensor]) -> tuple[list[Part], list[torch.Tensor]]:
        query, key, value, gate, a, b = read(projected)
        ends = [groups * keys // size, 2 * groups * keys // size]
        parts = _cut_to_parts(query, 0, size, is_dense) + _cut_to_parts(key, ends[0], size, is_dense)
        return parts + _cut_to_parts(value, ends[1], size, is_dense), [gate, a, b]

    return Form(
        **convolution,
        core=core,
        token_core=core,
        params=Kept(
            lambda: (norm.weight.expand(heads, values).contiguous(), layer.A_log, layer.dt_bias), norm.weight, layer.A_log, layer.dt_bias
        ),
        result=(heads, values),
        rest=((heads, values), (heads,), (heads,)),
        project=project,
        split=split,
        cut=lambda y: _cut_channels(y, (groups, keys), (groups, keys), (heads, values)),
        finish=lambda o, _, memory: apply(getattr(layer, back), o, memory),
    )


def _form_qwen3_next(layer: Any) -> Form | None:
    """One projection has queries, keys, values and gates, group by group, and another one the numbers of a token."""
    groups, keys, values = layer.num_k_heads, layer.head_k_dim, layer.head_v_dim
    each = layer.num_v_heads // groups

    def read(projected: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        mixed, numbers = (x.unflatten(2, (groups, -1)) for x in projected)
        query, key, value, gate = mixed.split((keys, keys, each * values, each * values), 3)
        b, a = numbers.split((each, each), 3)
        return [query, key, value, gate, a, b]

    def project(hidden: torch.Tensor, memory: Memory | None) -> list[torch.Tensor]:
        return [apply(linear, hidden, memory) for linear in (layer.in_proj_qkvz, layer.in_proj_ba)]

    return _form_gated_delta_net(layer, layer.norm, "out_proj", project, read, False)


def _form_qwen3_5(layer: Any) -> Form | None:
    """One projection has queries, keys and values, each of all heads, and there are three more."""
    groups, keys, values = layer.num_k_heads, layer.head_k_dim, layer.head_v_dim

    def read(projected: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        mixed, z, a, b = projected
        query, key, value = mixed.split((groups * keys, groups * keys, layer.num_v_heads * values), 2)
        return [*(x.unflatten(2, (groups, -1)) for x in (query, key, value)), z, a, b]

    def project(hidden: torch.Tensor, memory: Memory | None) -> list[torch.Tensor]:
        linears = (layer.in_proj_qkv, layer.in_proj_z, layer.in_proj_a, layer.in_proj_b)
        return [apply(linear, hidden, memory) for linear in linears]

    return _form_gated_delta_net(layer, layer.norm, "out_proj", project, read, True)


def _form_olmo_hybrid(layer: Any) -> Form | None:
    """Each has a projection of its own, and the strength may be as large as two."""
    groups = layer.num_k_heads

    def read(projected: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        query, key, value, z, a, b = projected
        return [*(x.unflatten(2, (groups, -1)) for x in (query, key, value)), z, a, b]

    def project(hidden: torch.Tensor, memory: Memory | None) -> list[torch.Tensor]:
        linears = (layer.q_proj, layer.k_proj, layer.v_proj, layer.g_proj, layer.a_proj, layer.b_proj)
        return [apply(linear, hidden, memory) for linear in linears]

    options = ("negative",) if layer.allow_neg_eigval else ()
    return _form_gated_delta_net(layer, layer.o_norm, "o_proj", project, read, True, *options)


# ---- Kimi Delta Attention ----


def _find_lower_bound(gate: Any) -> float | None:
    """Of a decay's logarithm, where the layer has one: under either name."""
    if hasattr(gate, "safe_gate"):
        return float(gate.lower_bound) if gate.safe_gate else None
    bound = getattr(gate, "safe_gate_lower_bound", None)
    return None if bound is None else float(bound)


def _form_kimi_delta_attention(layer: Any) -> Form | None:
    """Queries, keys and values have a projection each; gates have one, or two one after the other."""
    heads, size, gate = layer.num_heads, layer.head_dim, layer.forget_gate
    if layer.activation != "silu" or getattr(layer.o_norm, "activation", "sigmoid") != "sigmoid":
        return None
    bound, tiny = _find_lower_bound(gate), float(layer.o_norm.variance_epsilon)
    if bound is None:
        core = _define(_KIMI_DELTA_ATTENTION, (), tiny=tiny)
    else:
        core = _define(_KIMI_DELTA_ATTENTION, ("lower_bound",), tiny=tiny, lower_bound=bound)
    decays = [gate.f_proj] if hasattr(gate, "f_proj") else [gate.f_a_proj, gate.f_b_proj]
    gates = [layer.g_proj] if hasattr(layer, "g_proj") else [layer.g_a_proj, layer.g_b_proj]

    def project(hidden: torch.Tensor, memory: Memory | None) -> list[torch.Tensor]:
        chains = ([layer.q_proj], [layer.k_proj], [layer.v_proj], decays, gates, [layer.b_proj])
        return [functools.reduce(lambda x, linear: apply(linear, x, memory), chain, hidden) for chain in chains]

    def split(projected: Sequence[torch.Tensor]) -> tuple[list[Part], list[torch.Tensor]]:
        parts = [(x.unflatten(2, (heads, size)), slice(i * heads, (i + 1) * heads)) for i, x in enumerate(projected[:3])]
        return parts, list(projected[3:])

    return Form(
        **_convolve(layer, size),
        core=core,
        token_core=core,
        params=Kept(
            lambda: (layer.o_norm.weight.expand(heads, size).contiguous(), gate.A_log.reshape(heads), gate.dt_bias.view(heads, size)),
            layer.o_norm.weight, gate.A_log, gate.dt_bias,
        ),
        result=(heads, size),
        rest=((heads, size), (heads, size), (heads,)),
        project=project,
        split=split,
        cut=lambda y: _cut_channels(y, *[(heads, size)] * 3),
        finish=lambda o, _, memory: apply(layer.o_proj, o, memory),
    )  # fmt: skip


# ---- Mamba-2 ----


def _form_mamba2(layer: Any) -> Form | None:
    """One projection has gates, what the convolution takes and the steps. The norm goes over heads of one group together, so that it is
    the layer's own, and so is the gate that belongs to it."""
    heads, groups, channels, states = layer.num_heads, layer.n_groups, layer.head_dim, layer.ssm_state_size
    inner = layer.intermediate_size
    if layer.activation not in ("silu", "swish") or heads * channels != inner:
        return None
    lowest, highest = (float(limit) for limit in layer.time_step_limit)
    limits = {name: limit for name, limit in (("lowest", lowest), ("highest", highest)) if 0 < limit < math.inf}
    there = ("dt_bias", "D", "softplus")
    has_norm = getattr(layer, "mamba_rms_norm", True)
    convolution = _convolve(layer, math.gcd(channels, states))
    size = convolution["size"]

    def project(hidden: torch.Tensor, memory: Memory | None) -> list[torch.Tensor]:
        factor = getattr(layer, "ssm_in_multiplier", 1)
        projected = apply(layer.in_proj, hidden if factor == 1 else hidden * factor, memory)
        return [projected * layer.mup_vector if hasattr(layer, "mup_vector") else projected]

    def split(projected: Sequence[torch.Tensor]) -> tuple[list[Part], list[torch.Tensor]]:
        _, mixed, steps = projected[0].split((inner, layer.conv_dim, heads), 2)
        return [(mixed.unflatten(2, (-1, size)), slice(None))], [steps]

    def cut(y: torch.Tensor) -> _Tensors:
        x, B, C = _cut_channels(y, (heads, channels), (groups, states), (groups, states))
        return B, C, x

    def finish(y: torch.Tensor, projected: Sequence[torch.Tensor], memory: Memory | None) -> torch.Tensor:
        gate = projected[0][:, :, :inner]
        y = layer.norm(y, gate) if has_norm else y * torch.nn.functional.silu(gate)
        return apply(layer.out_proj, y.to(projected[0].dtype), memory)

    return Form(
        **convolution,
        core=_define(TEXTS["mamba_scan"], (*there, *limits), **limits),
        # The limits of the step are those of a prompt alone.
        token_core=_define(TEXTS["mamba_scan"], there),
        params=Kept(lambda: (-torch.exp(layer.A_log.float()), layer.dt_bias, layer.D), layer.A_log, layer.dt_bias, layer.D),
        result=(heads, channels),
        rest=((heads,),),
        project=project,
        split=split,
        cut=cut,
        finish=finish,
        masks_after=True,
    )


#: By the names of the layers' classes.
FORMS: dict[str, Callable[[Any], Form | None]] = {
    "Qwen3NextGatedDeltaNet": _form_qwen3_next,
    "Qwen3_5GatedDeltaNet": _form_qwen3_5,
    "Qwen3_5MoeGatedDeltaNet": _form_qwen3_5,
    "OlmoHybridGatedDeltaNet": _form_olmo_hybrid,
    "KimiLinearDeltaAttention": _form_kimi_delta_attention,
    "Glm5NextTextLinearAttention": _form_kimi_delta_attention,
    "BailingHybridDeltaAttention": _form_kimi_delta_attention,
    "NemotronHMamba2Mixer": _form_mamba2,
    "BambaMixer": _form_mamba2,
    "FalconH1Mixer": _form_mamba2,
    "GraniteMoeHybridMambaLayer": _form_mamba2,
}
