"""Layers of ``transformers`` whose way from one projection to the other is two recurrences, in place of a dozen operations of PyTorch.

>>> recur.transformers.fuse(model)  # Qwen3-Next's and Kimi Linear's linear attention; gives how many layers there were

The layers keep their parameters and the library's cache, with states of the same shapes and meaning. What a fused layer does not take
(a cache that records the past, packed sequences, another activation) goes the library's way.
"""

from __future__ import annotations

import copy
import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch

from . import _native, define
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
        if torch.compiler.is_compiling() or torch.is_grad_enabled() and any(parameter.requires_grad for parameter in self._parameters):
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


#: Some heads of the convolution, [B, T, n, size], and which they are.
_Part = tuple[torch.Tensor, slice]


def _convolve(layer: Any, convolution: Recurrence, parts: list[_Part], heads: int, weights: torch.Tensor, cache: Any) -> torch.Tensor:
    """The short convolution of all parts, as [B, T, heads, size], which goes on from the cache and leaves the last tokens there.
    Each part is read where the projection left it."""
    B, T, _, size = parts[0][0].shape
    known = None if cache is None else cache.get_conv_state(layer.layer_idx, state_idx=0)
    states = None if known is None else _split_tokens(_order_by_tokens(layer, known, cache), heads, size)
    result = parts[0][0].new_empty(B, T, heads, size)
    writes = not torch.compiler.is_compiling() and not torch.is_grad_enabled()
    for x, place in parts:
        initial = None if states is None else {name: state[:, place].float() for name, state in states.items()}
        if writes:
            convolution(x, weights[place], initial=initial, out=result[:, :, place])
        else:
            result[:, :, place] = convolution(x, weights[place], initial=initial)
    if cache is not None:
        width = weights.shape[1]  # more tokens are not kept
        last = result.new_empty(B, min(T, width), heads, size)
        for x, place in parts:
            last[:, :, place] = x[:, -width:]
        cache.update_conv_state(last.flatten(2).transpose(1, 2), layer.layer_idx, conv_kernel_size=width)
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
        self._tokens, self._state = tokens, state
        states = _split_tokens(tokens, heads, size)
        self._convolve = _define(_CONVOLUTION).bind(self.x, weights, initial=states, final=states)
        self.y: torch.Tensor = self._convolve.result

    def take(self, projected: list[torch.Tensor], pieces: list[tuple[int, torch.Tensor, torch.Tensor]]) -> None:
        """Says which parts of what the projections give are copied to where the calls read them: of the number of a tensor, a
        part of it, the memory."""
        moved = [(0, self._tokens[:, 1], self._tokens[:, 0]), *((1 + number, part, to) for number, part, to in pieces)]
        self._gather = _native.Gather([self._tokens, *projected], moved)

    def bind(self, core: Recurrence, *given: torch.Tensor) -> None:
        """The rest, on what the convolution gives and other memory that stays."""
        self._core = core.bind(*given, initial=self._state, final=self._state)
        self._result: torch.Tensor = self._core.result.flatten(2)

    def compute(self, *projected: torch.Tensor) -> torch.Tensor | None:
        """[B, 1, heads * size], until the next token. None where what is projected is not as it was said to be."""
        if not self._gather.copy(self._tokens, *projected):
            return None
        self._convolve()
        self._core()
        return self._result


class _Tokens(threading.local):
    """The last of these that a layer had in a thread, for as long as neither the cache's memory nor the parameters change."""

    def __init__(self, layer: Any, heads: int, size: int, make: Callable[[_Token, int, Any], None]) -> None:
        self._layer, self._heads, self._size, self._make = layer, heads, size, make
        self._of: Any = None
        self._token: _Token | None = None

    def find(self, hidden: torch.Tensor, cache: Any, weights: tuple[torch.Tensor, ...], params: tuple[torch.Tensor, ...]) -> _Token | None:
        """None where a token goes as a prompt does: there is nothing in the cache yet, or not all of it is float32."""
        if cache is None or hidden.shape[1] != 1 or hidden.dtype != torch.float32 or hidden.is_cuda:
            return None
        place = self._layer.layer_idx
        known, state = cache.get_conv_state(place, state_idx=0), cache.get_recurrent_state(place, state_idx=0)
        if known is None or state is None:
            return None
        of = self._of
        if of is not None and of[0] is known and of[1] is state and of[2] is weights and of[3] is params:
            if of[4] == (known.data_ptr(), state.data_ptr(), hidden.shape[0]):
                return self._token
        if state.dtype != torch.float32 or not state.is_contiguous() or any(p.dtype != torch.float32 for p in params):
            return None
        tokens = _order_by_tokens(self._layer, known, cache)
        known = cache.get_conv_state(place, state_idx=0)
        with torch.inference_mode(False), torch.no_grad():
            self._token = _Token(hidden.shape[0], self._heads, self._size, tokens, state, weights[0])
            self._make(self._token, hidden.shape[0], params)
        self._of = known, state, weights, params, (known.data_ptr(), state.data_ptr(), hidden.shape[0])
        return self._token


def _goes_the_librarys_way(layer: Any, hidden: torch.Tensor, cache: Any, options: dict[str, Any]) -> bool:
    if layer.activation != "silu" or layer.conv1d.bias is not None or hidden.shape[1] == 0:
        return True
    if any(options.get(name) is not None for name in ("cu_seq_lens_q", "seq_idx")):
        return True
    if cache is None:
        return False
    # States in the cache are written in place, and not in a trace.
    if torch.compiler.is_compiling() or torch.is_grad_enabled() and (hidden.requires_grad or any(p.requires_grad for p in layer.parameters())):
        return True
    known = cache.get_conv_state(layer.layer_idx, state_idx=0)
    return bool(cache.is_recording_past(layer.layer_idx)) or known is not None and known.dtype != hidden.dtype


def _mask(layer: Any, hidden: torch.Tensor, attention_mask: Any) -> torch.Tensor:
    if attention_mask is None:
        return hidden
    return sys.modules[type(layer).__module__].apply_mask_to_padding_states(hidden, attention_mask)


def _fuse_qwen3_next(layer: Any) -> Callable[..., Any]:
    library = layer._recur_unfused
    heads, groups, size = layer.num_v_heads, layer.num_k_heads, layer.head_v_dim
    each = heads // groups
    convolution, core = _define(_CONVOLUTION), _define(_QWEN3_NEXT, tiny=float(layer.norm.variance_epsilon))
    weights = _Kept(lambda: (_by_heads(layer.conv1d.weight, size),), layer.conv1d.weight)
    params = _Kept(
        lambda: (layer.norm.weight.expand(heads, size).contiguous(), layer.A_log, layer.dt_bias),
        layer.norm.weight, layer.A_log, layer.dt_bias,
    )  # fmt: skip

    def split(mixed: torch.Tensor, ba: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Queries and keys [B, T, groups, size], values and gates [B, T, groups, each, size], and the numbers of a token."""
        B, T = mixed.shape[:2]
        query, key, value, gate = mixed.view(B, T, groups, 2 + 2 * each, size).split((1, 1, each, each), 3)
        b, a = ba.view(B, T, groups, 2, each).unbind(3)
        return query[:, :, :, 0], key[:, :, :, 0], value, gate, b, a

    def prepare(token: _Token, B: int, params: Any) -> None:
        projected = [torch.empty(B, 1, groups * (2 + 2 * each) * size), torch.empty(B, 1, groups * 2 * each)]
        query, key, value, gate, b, a = split(*projected)
        z, numbers = torch.empty(B, 1, heads, size), torch.empty(2, B, 1, heads)
        token.take(projected, [
            (0, query, token.x[:, :, :groups]),
            (0, key, token.x[:, :, groups : 2 * groups]),
            (0, value, token.x[:, :, 2 * groups :].view(B, 1, groups, each, size)),
            (0, gate, z.view(B, 1, groups, each, size)),
            (1, a, numbers[0].view(B, 1, groups, each)),
            (1, b, numbers[1].view(B, 1, groups, each)),
        ])  # fmt: skip
        q, k, v = token.y[:, :, :groups], token.y[:, :, groups : 2 * groups], token.y[:, :, 2 * groups :]
        token.bind(core, q, k, v, z, *numbers, *params)

    decoding = _Tokens(layer, 2 * groups + heads, size, prepare)

    def forward(hidden_states: torch.Tensor, cache_params: Any = None, attention_mask: Any = None, **options: Any) -> torch.Tensor:
        if layer.head_k_dim != size or _goes_the_librarys_way(layer, hidden_states, cache_params, options):
            return library(hidden_states, cache_params, attention_mask, **options)
        hidden = _mask(layer, hidden_states, attention_mask)
        B, T = hidden.shape[:2]
        mixed, ba = layer.in_proj_qkvz(hidden), layer.in_proj_ba(hidden)
        kept, last = weights.get(), params.get()
        token = decoding.find(hidden, cache_params, kept, last)
        computed = None if token is None else token.compute(mixed, ba)
        if computed is not None:
            return layer.out_proj(computed)
        query, key, value, gate, b, a = split(mixed, ba)
        parts = [(query, slice(groups)), (key, slice(groups, 2 * groups))]
        parts += [(value[:, :, :, i], slice(2 * groups + i, None, each)) for i in range(each)]
        y = _convolve(layer, convolution, parts, 2 * groups + heads, kept[0], cache_params)
        q, k, v = y[:, :, :groups], y[:, :, groups : 2 * groups], y[:, :, 2 * groups :]
        z, b, a = gate.reshape(B, T, heads, size), b.reshape(B, T, heads), a.reshape(B, T, heads)
        o = _remember(layer, core, (q, k, v, z, a, b, *last), cache_params)
        return layer.out_proj(o.reshape(B, T, -1))

    return forward


def _fuse_kimi_linear(layer: Any) -> Callable[..., Any]:
    library = layer._recur_unfused
    heads, size, gate = layer.num_heads, layer.head_dim, layer.forget_gate
    convolution, core = _define(_CONVOLUTION), _define(_KIMI, tiny=float(layer.o_norm.variance_epsilon))
    weights = _Kept(lambda: (_by_heads(layer.conv1d.weight, size),), layer.conv1d.weight)
    params = _Kept(
        lambda: (layer.o_norm.weight.expand(heads, size).contiguous(), gate.A_log.reshape(heads), gate.dt_bias.view(heads, size)),
        layer.o_norm.weight, gate.A_log, gate.dt_bias,
    )  # fmt: skip

    def prepare(token: _Token, B: int, params: Any) -> None:
        projected = [torch.empty(B, 1, heads * size) for _ in range(5)] + [torch.empty(B, 1, heads)]
        kept = [token.x[:, :, i * heads : (i + 1) * heads] for i in range(3)]  # of queries, keys and values
        rest = [torch.empty(B, 1, heads, size), torch.empty(B, 1, heads, size), torch.empty(B, 1, heads)]
        token.take(projected, [(i, projected[i].view(to.shape), to) for i, to in enumerate((*kept, *rest))])
        parts = token.y[:, :, :heads], token.y[:, :, heads : 2 * heads], token.y[:, :, 2 * heads :]
        token.bind(core, *parts, *rest, *params)

    decoding = _Tokens(layer, 3 * heads, size, prepare)

    def forward(hidden_states: torch.Tensor, cache_params: Any = None, attention_mask: Any = None, **options: Any) -> torch.Tensor:
        if _goes_the_librarys_way(layer, hidden_states, cache_params, options):
            return library(hidden_states, cache_params, attention_mask, **options)
        hidden = _mask(layer, hidden_states, attention_mask)
        B, T = hidden.shape[:2]
        projected = layer.q_proj(hidden), layer.k_proj(hidden), layer.v_proj(hidden)
        f, z = gate.f_b_proj(gate.f_a_proj(hidden)), layer.g_b_proj(layer.g_a_proj(hidden))
        b = layer.b_proj(hidden)
        kept, last = weights.get(), params.get()
        token = decoding.find(hidden, cache_params, kept, last)
        computed = None if token is None else token.compute(*projected, f, z, b)
        if computed is not None:
            return layer.o_proj(computed)
        parts = [(x.view(B, T, heads, size), slice(i * heads, (i + 1) * heads)) for i, x in enumerate(projected)]
        y = _convolve(layer, convolution, parts, 3 * heads, kept[0], cache_params)
        given = (y[:, :, :heads], y[:, :, heads : 2 * heads], y[:, :, 2 * heads :], f.view(B, T, heads, size), z.view(B, T, heads, size), b)
        return layer.o_proj(_remember(layer, core, (*given, *last), cache_params).reshape(B, T, -1))

    return forward


_LAYERS = {"Qwen3NextGatedDeltaNet": _fuse_qwen3_next, "KimiLinearDeltaAttention": _fuse_kimi_linear}


class _Fused:
    """The forward of a fused layer. A copy of the layer, and one that is read from a file, has its own: on its own parameters."""

    def __init__(self, layer: Any) -> None:
        self._layer = layer
        self._forward: Callable[..., Any] | None = None

    def prepare(self) -> Callable[..., Any]:
        """Makes what computes, which a copy does at its first call: when it is made, its layer is empty yet."""
        if self._forward is None:
            self._forward = _LAYERS[type(self._layer).__name__](self._layer)
        return self._forward

    def __call__(self, hidden_states: torch.Tensor, cache_params: Any = None, attention_mask: Any = None, **options: Any) -> Any:
        return (self._forward or self.prepare())(hidden_states, cache_params, attention_mask, **options)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Fused:
        return _Fused(copy.deepcopy(self._layer, memo))

    def __reduce__(self) -> tuple[Any, ...]:
        return _Fused, (self._layer,)


def fuse(model: torch.nn.Module) -> int:
    """Makes every layer of Qwen3-Next's or Kimi Linear's linear attention in a model, or the layer that it is, compute by
    recurrences of this package. Gives how many there were; a layer that was fused before is one of them."""
    count = 0
    for module in model.modules():
        if type(module).__name__ not in _LAYERS:
            continue
        count += 1
        if not hasattr(module, "_recur_unfused"):
            object.__setattr__(module, "_recur_unfused", module.forward)
            module.forward = _Fused(module)
            module.forward.prepare()
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
