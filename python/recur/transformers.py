"""Layers of ``transformers`` whose way from one projection to the other is two recurrences, in place of a dozen operations of PyTorch.

>>> recur.transformers.fuse(model)  # Qwen3-Next's and Kimi Linear's linear attention; gives how many layers there were

The layers keep their parameters and the library's cache, with states of the same shapes and meaning. What a fused layer does not take
(a cache that records the past, packed sequences, another activation) goes the library's way.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch

from . import define
from .recurrence import Recurrence

_CONVOLUTION = """recurrence short_convolution {
  dim K, W
  input x: [K]
  param w: [W, K]
  output y: [K] = silu(conv(x, w))
}
"""

# States are [K, V], as the library keeps them.
_QWEN3_NEXT = """recurrence qwen3_next_core {
  dim K, V
  const scale = 1 / sqrt(K)
  const tiny = 1e-6
  shared input q: [K], k: [K]
  input v: [V], z: [V], a: scalar, b: scalar
  param norm: [V], A_log: scalar, dt_bias: scalar
  state S: [K, V]
  let query = l2norm(q)
  let key = l2norm(k)
  S = exp(-exp(A_log) * softplus(a + dt_bias)) * S
  S = S + sigmoid(b) * outer(key, v - key @ S)
  output o: [V] = rmsnorm(scale * (query @ S), eps = tiny) * norm * silu(z)
}
"""

_KIMI = """recurrence kimi_linear_core {
  dim K, V
  const scale = 1 / sqrt(K)
  const tiny = 1e-6
  input q: [K], k: [K], v: [V], f: [K], z: [V], b: scalar
  param norm: [V], A_log: scalar, dt_bias: [K]
  state S: [K, V]
  let query = l2norm(q)
  let key = l2norm(k)
  S = diag(exp(-exp(A_log) * softplus(f + dt_bias))) @ S
  S = S + sigmoid(b) * outer(key, v - key @ S)
  output o: [V] = rmsnorm(scale * (query @ S), eps = tiny) * norm * sigmoid(z)
}
"""


@functools.cache
def _define(text: str, **consts: float) -> Recurrence:
    return define(text, consts=consts)


class _Kept:
    """What is made of a layer's parameters once, and again when one of them has changed."""

    def __init__(self, make: Callable[[], tuple[torch.Tensor, ...]], *parameters: torch.Tensor) -> None:
        self._make, self._parameters = make, parameters
        self._of: Any = None
        self._made: tuple[torch.Tensor, ...] = ()

    def get(self) -> tuple[torch.Tensor, ...]:
        if torch.is_grad_enabled() and any(parameter.requires_grad for parameter in self._parameters):
            return self._make()
        of = [(p.data_ptr(), 0 if p.is_inference() else p._version, p.dtype) for p in self._parameters]
        if of != self._of:
            with torch.inference_mode(False), torch.no_grad():
                self._of, self._made = of, self._make()
        return self._made


def _by_heads(weight: torch.Tensor, size: int) -> torch.Tensor:
    """The weights of a convolution [channels, 1, W], as [heads, W, size]."""
    return weight.reshape(-1, size, weight.shape[-1]).transpose(1, 2).contiguous()


def _order_by_tokens(layer: Any, known: torch.Tensor, cache: Any) -> torch.Tensor:
    """The last tokens in the cache as [B, W, channels], so that each is a state of the convolution; to the library they stay
    [B, channels, W]."""
    tokens = known.transpose(1, 2)
    if not tokens.is_contiguous():
        tokens = tokens.contiguous()
        cache.layers[layer.layer_idx].conv_states[0] = tokens.transpose(1, 2)
    return tokens


def _split_tokens(tokens: torch.Tensor, heads: int, size: int) -> dict[str, torch.Tensor]:
    """What the convolution knows of the last tokens, as its states have it."""
    width = tokens.shape[1]
    return {f"x_back{i}": tokens[:, width - i].view(-1, heads, size) for i in range(1, width)}


def _convolve(layer: Any, x: torch.Tensor, weights: torch.Tensor, cache: Any) -> torch.Tensor:
    """The short convolution of [B, T, heads, size], which goes on from the cache and leaves the last tokens there."""
    B, T, heads, size = x.shape
    convolution = _define(_CONVOLUTION)
    if cache is None:
        return convolution(x, weights)
    known = cache.get_conv_state(layer.layer_idx, state_idx=0)
    initial = None
    if known is not None:
        states = _split_tokens(_order_by_tokens(layer, known, cache), heads, size)
        initial = {name: state.float() for name, state in states.items()}
    result = convolution(x, weights, initial=initial)
    cache.update_conv_state(x.reshape(B, T, -1).transpose(1, 2), layer.layer_idx, conv_kernel_size=weights.shape[1])
    return result


def _remember(layer: Any, core: Recurrence, given: tuple[torch.Tensor, ...], cache: Any) -> torch.Tensor:
    """The recurrence itself, with its state in the cache."""
    if cache is None:
        return core(*given)
    state = cache.get_recurrent_state(layer.layer_idx, state_idx=0)
    result, last = core(*given, initial=None if state is None else state.float(), final=True)
    cache.update_recurrent_state(last, layer.layer_idx)
    return result


class _Token:
    """One token after another of one cache: both calls bound to memory that stays, and the states in the cache in place."""

    def __init__(self, B: int, heads: int, size: int, tokens: torch.Tensor, state: torch.Tensor, weights: torch.Tensor) -> None:
        #: What the convolution reads, and what it gives: queries, keys and values, one head behind another.
        self.x = torch.empty(B, 1, heads, size)
        #: What else the layer hands on.
        self.rest: dict[str, torch.Tensor] = {}
        self._tokens, self._state = tokens, state
        states = _split_tokens(tokens, heads, size)
        self._convolve = _define(_CONVOLUTION).bind(self.x, weights, initial=states, final=states)
        self.y: torch.Tensor = self._convolve.result

    def bind(self, core: Recurrence, *given: torch.Tensor) -> None:
        """The rest, on what the convolution gives and other memory that stays."""
        self._core = core.bind(*given, initial=self._state, final=self._state)

    def compute(self) -> torch.Tensor:
        """[B, 1, heads * size], until the next token."""
        self._tokens[:, 0].copy_(self._tokens[:, 1])
        self._convolve()
        result: torch.Tensor = self._core()
        return result.flatten(2)


class _Tokens(threading.local):
    """The last of these that a layer had in a thread, for as long as neither the cache's memory nor the parameters change."""

    def __init__(self, layer: Any, heads: int, size: int, make: Callable[[_Token, int, Any], None]) -> None:
        self._layer, self._heads, self._size, self._make = layer, heads, size, make
        self._of: Any = None
        self._token: _Token | None = None

    def find(self, hidden: torch.Tensor, cache: Any, weights: tuple[torch.Tensor, ...], params: tuple[torch.Tensor, ...]) -> _Token | None:
        """None where a token goes as a prompt does: there is nothing in the cache yet, or not all of it is float32."""
        layer = self._layer
        if cache is None or hidden.shape[1] != 1 or hidden.dtype != torch.float32 or hidden.is_cuda:
            return None
        known, state = cache.get_conv_state(layer.layer_idx, state_idx=0), cache.get_recurrent_state(layer.layer_idx, state_idx=0)
        if known is None or state is None or state.dtype != torch.float32 or not state.is_contiguous():
            return None
        if any(p.dtype != torch.float32 for p in params):
            return None
        tokens = _order_by_tokens(layer, known, cache)
        if self._of is not None:
            places, shape, of_weights, of_params = self._of
            if places == (tokens.data_ptr(), state.data_ptr()) and shape == tokens.shape and of_weights is weights and of_params is params:
                return self._token
        B = hidden.shape[0]
        with torch.inference_mode(False), torch.no_grad():
            self._token = _Token(B, self._heads, self._size, tokens, state, weights[0])
            self._make(self._token, B, params)
        self._of = ((tokens.data_ptr(), state.data_ptr()), tokens.shape, weights, params)
        return self._token


def _goes_the_librarys_way(layer: Any, hidden: torch.Tensor, cache: Any, options: dict[str, Any]) -> bool:
    if layer.activation != "silu" or layer.conv1d.bias is not None or hidden.shape[1] == 0:
        return True
    if any(options.get(name) is not None for name in ("cu_seq_lens_q", "seq_idx")):
        return True
    if cache is None:
        return False
    # States in the cache are written in place, and not in a trace.
    if torch.compiler.is_compiling() or torch.is_grad_enabled() and any(p.requires_grad for p in layer.parameters()):
        return True
    known = cache.get_conv_state(layer.layer_idx, state_idx=0)
    return bool(cache.is_recording_past(layer.layer_idx)) or known is not None and known.dtype != hidden.dtype


def _mask(layer: Any, hidden: torch.Tensor, attention_mask: Any) -> torch.Tensor:
    if attention_mask is None:
        return hidden
    return sys.modules[type(layer).__module__].apply_mask_to_padding_states(hidden, attention_mask)


def _fuse_qwen3_next(layer: Any) -> Callable[..., Any]:
    library = layer.forward
    heads, groups, size = layer.num_v_heads, layer.num_k_heads, layer.head_v_dim
    each = heads // groups
    core = _define(_QWEN3_NEXT, tiny=float(layer.norm.variance_epsilon))
    weights = _Kept(lambda: (_by_heads(layer.conv1d.weight, size),), layer.conv1d.weight)
    params = _Kept(
        lambda: (layer.norm.weight.expand(heads, size).contiguous(), layer.A_log, layer.dt_bias),
        layer.norm.weight, layer.A_log, layer.dt_bias,
    )  # fmt: skip

    def prepare(token: _Token, B: int, params: Any) -> None:
        token.rest.update(z=torch.empty(B, 1, groups, each, size), ba=torch.empty(2, B, 1, groups, each))
        b, a = token.rest["ba"].view(2, B, 1, heads)
        q, k, v = token.y[:, :, :groups], token.y[:, :, groups : 2 * groups], token.y[:, :, 2 * groups :]
        token.bind(core, q, k, v, token.rest["z"].view(B, 1, heads, size), a, b, *params)

    decoding = _Tokens(layer, 2 * groups + heads, size, prepare)

    def forward(hidden_states: torch.Tensor, cache_params: Any = None, attention_mask: Any = None, **options: Any) -> torch.Tensor:
        if layer.head_k_dim != size or _goes_the_librarys_way(layer, hidden_states, cache_params, options):
            return library(hidden_states, cache_params, attention_mask, **options)
        hidden = _mask(layer, hidden_states, attention_mask)
        B, T = hidden.shape[:2]
        mixed = layer.in_proj_qkvz(hidden).view(B, T, groups, 2 + 2 * each, size)
        ba = layer.in_proj_ba(hidden).view(B, T, groups, 2, each)
        query, key, value, gate = mixed.split((1, 1, each, each), 3)
        kept = weights.get()
        token = decoding.find(hidden, cache_params, kept, params.get())
        if token is not None:
            token.x[:, :, :groups].copy_(query[:, :, :, 0])
            token.x[:, :, groups : 2 * groups].copy_(key[:, :, :, 0])
            token.x[:, :, 2 * groups :].view(B, 1, groups, each, size).copy_(value)
            token.rest["z"].copy_(gate)
            token.rest["ba"].copy_(ba.permute(3, 0, 1, 2, 4))
            return layer.out_proj(token.compute())
        x = torch.cat((query[:, :, :, 0], key[:, :, :, 0], value.reshape(B, T, heads, size)), 2)
        y = _convolve(layer, x, kept[0], cache_params)
        q, k, v = y[:, :, :groups], y[:, :, groups : 2 * groups], y[:, :, 2 * groups :]
        z, b, a = gate.reshape(B, T, heads, size), ba[:, :, :, 0].reshape(B, T, heads), ba[:, :, :, 1].reshape(B, T, heads)
        o = _remember(layer, core, (q, k, v, z, a, b, *params.get()), cache_params)
        return layer.out_proj(o.reshape(B, T, -1))

    return forward


def _fuse_kimi_linear(layer: Any) -> Callable[..., Any]:
    library = layer.forward
    heads, size, gate = layer.num_heads, layer.head_dim, layer.forget_gate
    core = _define(_KIMI, tiny=float(layer.o_norm.variance_epsilon))
    weights = _Kept(lambda: (_by_heads(layer.conv1d.weight, size),), layer.conv1d.weight)
    params = _Kept(
        lambda: (layer.o_norm.weight.expand(heads, size).contiguous(), gate.A_log.reshape(heads), gate.dt_bias.view(heads, size)),
        layer.o_norm.weight, gate.A_log, gate.dt_bias,
    )  # fmt: skip

    def prepare(token: _Token, B: int, params: Any) -> None:
        token.rest.update(f=torch.empty(B, 1, heads, size), z=torch.empty(B, 1, heads, size), b=torch.empty(B, 1, heads))
        parts = token.y[:, :, :heads], token.y[:, :, heads : 2 * heads], token.y[:, :, 2 * heads :]
        token.bind(core, *parts, token.rest["f"], token.rest["z"], token.rest["b"], *params)

    decoding = _Tokens(layer, 3 * heads, size, prepare)

    def forward(hidden_states: torch.Tensor, cache_params: Any = None, attention_mask: Any = None, **options: Any) -> torch.Tensor:
        if _goes_the_librarys_way(layer, hidden_states, cache_params, options):
            return library(hidden_states, cache_params, attention_mask, **options)
        hidden = _mask(layer, hidden_states, attention_mask)
        B, T = hidden.shape[:2]
        projected = layer.q_proj(hidden), layer.k_proj(hidden), layer.v_proj(hidden)
        f = gate.f_b_proj(gate.f_a_proj(hidden)).view(B, T, heads, size)
        z = layer.g_b_proj(layer.g_a_proj(hidden)).view(B, T, heads, size)
        b = layer.b_proj(hidden)
        kept = weights.get()
        token = decoding.find(hidden, cache_params, kept, params.get())
        if token is not None:
            torch.cat(projected, -1, out=token.x.view(B, 1, -1))
            for name, tensor in (("f", f), ("z", z), ("b", b)):
                token.rest[name].copy_(tensor)
            return layer.o_proj(token.compute())
        y = _convolve(layer, torch.cat(projected, -1).view(B, T, 3 * heads, size), kept[0], cache_params)
        given = (y[:, :, :heads], y[:, :, heads : 2 * heads], y[:, :, 2 * heads :], f, z, b, *params.get())
        return layer.o_proj(_remember(layer, core, given, cache_params).reshape(B, T, -1))

    return forward


_LAYERS = {"Qwen3NextGatedDeltaNet": _fuse_qwen3_next, "KimiLinearDeltaAttention": _fuse_kimi_linear}


def fuse(model: torch.nn.Module) -> int:
    """Makes every layer of Qwen3-Next's or Kimi Linear's linear attention in a model, or the layer that it is, compute by
    recurrences of this package. Gives how many there were; a layer that was fused before is one of them."""
    count = 0
    for module in model.modules():
        fuse_layer = _LAYERS.get(type(module).__name__)
        if fuse_layer is None:
            continue
        count += 1
        if not hasattr(module, "_recur_unfused"):
            object.__setattr__(module, "_recur_unfused", module.forward)
            module.forward = fuse_layer(module)
    return count


def unfuse(model: torch.nn.Module) -> int:
    """The inverse of :func:`fuse`."""
    count = 0
    for module in model.modules():
        if hasattr(module, "_recur_unfused"):
            module.forward = module._recur_unfused
            object.__delattr__(module, "_recur_unfused")
            count += 1
    return count
