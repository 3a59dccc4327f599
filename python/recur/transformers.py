"""Layers of ``transformers`` whose way from one projection to the other is two recurrences, in place of a dozen operations of PyTorch.

>>> recur.transformers.fuse(model)  # Qwen3-Next's and Kimi Linear's linear attention; gives how many layers there were

The layers keep their parameters and the library's cache, with states of the same shapes and meaning. What a fused layer does not take
(a cache that records the past, packed sequences, another activation) goes the library's way.
"""

from __future__ import annotations

import copy
import functools
import math
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
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
def _define(text: str, plan: str = "auto", **consts: float) -> Recurrence:
    return define(text, consts=consts, plan=plan)


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


class _Seen:
    """What a layer saw before, in the library's cache: the last tokens before the convolution, and the state. Its versions have other
    functions to ask for these, and keep them in the same places, which is where they are taken from."""

    __slots__ = ("entry", "tokens", "state")

    def __init__(self, entry: Any) -> None:
        self.entry = entry
        has = entry.has_previous_state[0]
        #: [B, channels, W], and [B, heads, size, size]; None before a prompt.
        self.tokens: Any = entry.conv_states[0] if has else None
        self.state: Any = entry.recurrent_states[0] if has else None

    @staticmethod
    def find(layer: Any, cache: Any) -> _Seen | None:
        """None where the cache is not of the kind that this knows."""
        entries, place = getattr(cache, "layers", ()), layer.layer_idx
        entry = entries[place] if place < len(entries) else None
        kept = (getattr(entry, name, None) for name in ("conv_states", "recurrent_states", "has_previous_state"))
        return _Seen(entry) if all(isinstance(one, dict) and 0 in one for one in kept) else None

    def order_by_tokens(self) -> torch.Tensor:
        """The last tokens as [B, W, channels], so that each is a state of the convolution; to the library they stay
        [B, channels, W]."""
        tokens: torch.Tensor = self.tokens.transpose(1, 2)
        if not tokens.is_contiguous():
            tokens = tokens.contiguous()
            self.tokens = self.entry.conv_states[0] = tokens.transpose(1, 2)
        return tokens


def _split_tokens(tokens: torch.Tensor, heads: int, size: int) -> dict[str, torch.Tensor]:
    """What the convolution knows of the last tokens, as its states have it."""
    width = tokens.shape[1]
    return {f"x_back{i}": tokens[:, width - i].view(-1, heads, size) for i in range(1, width)}


#: Some heads of the convolution, [B, T, n, size], and which they are.
_Part = tuple[torch.Tensor, slice]


@dataclass(frozen=True)
class _Shape:
    """The short convolution's heads, which are those of queries, of keys and of values; how many of values; their size."""

    heads: int
    values: int
    size: int


@dataclass(frozen=True)
class _Way:
    """How a layer computes: what its projections make of hidden states is parts of the convolution, and what else its recurrence
    takes; how the convolution's result is cut to queries, keys and values; the projection back."""

    shape: _Shape
    convolution: Recurrence
    core: Recurrence
    project: Callable[[torch.Tensor, _Memory | None], tuple[list[_Part], tuple[torch.Tensor, ...]]]
    cut: Callable[[torch.Tensor], tuple[torch.Tensor, ...]]
    project_back: Callable[[], Any]


class _Memory:
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


#: Numbers of all the convolution's channels that a block of tokens has at most: what lies between the projections stays in the
#: processor's caches then, and no memory grows with the prompt.
_BLOCK = 1 << 20


def _apply(linear: Any, x: torch.Tensor, memory: _Memory | None) -> torch.Tensor:
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


def _compute_at_once(way: _Way, hidden: torch.Tensor, weights: torch.Tensor, params: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """All tokens with nothing before them, for those who differentiate or trace: nothing is written that is there already."""
    B, T = hidden.shape[:2]
    parts, rest = way.project(hidden, None)
    y = hidden.new_empty(B, T, way.shape.heads, way.shape.size)
    for x, place in parts:
        y[:, :, place] = way.convolution(x, weights[place])
    return way.project_back()(way.core(*way.cut(y), *rest, *params).reshape(B, T, -1))


def _compute_by_blocks(
    way: _Way, hidden: torch.Tensor, weights: torch.Tensor, params: tuple[torch.Tensor, ...], seen: _Seen | None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Some tokens after others, each block from what the one before it left; gives also the last tokens before the convolution,
    [B, n, heads, size], and the state."""
    (B, T), shape, width = hidden.shape[:2], way.shape, weights.shape[1]
    longest = T if hidden.is_cuda else max(_BLOCK // max(B * shape.heads * shape.size, 1), 64, 2 * width)
    blocks, memory = -(-T // longest), _Memory()
    # A token at a time, nothing of the convolution is written but its result: on a processor that takes two thirds of the time.
    convolution = way.convolution if hidden.is_cuda else _define(_CONVOLUTION, plan="step")
    tokens, state = None, None
    if seen is not None and seen.tokens is not None:
        tokens = seen.order_by_tokens().view(B, -1, shape.heads, shape.size)
    if seen is not None and seen.state is not None:
        state = seen.state.to(torch.float32, copy=True)
    result = None
    for block in range(blocks):
        place = slice(T * block // blocks, T * (block + 1) // blocks)
        some = hidden[:, place]
        count = some.shape[1]
        parts, rest = way.project(some, memory)
        y = memory.get("y", some, B, count, shape.heads, shape.size)
        last = some.new_empty(B, min(count, width), shape.heads, shape.size)
        for x, heads in parts:
            known = None if tokens is None else {f"x_back{i}": tokens[:, -i, heads].float() for i in range(1, width)}
            convolution(x, weights[heads], initial=known, out=y[:, :, heads])
            last[:, :, heads] = x[:, -width:]
        o = memory.get("o", some, B, count, shape.values, shape.size)
        _, state = way.core(*way.cut(y), *rest, *params, initial=state, final=True if state is None else state, out=o)
        computed = _apply(way.project_back(), o.view(B, count, -1), memory if blocks > 1 else None)
        if result is None:
            result = computed if blocks == 1 else computed.new_empty(B, T, computed.shape[2])
        if blocks > 1:
            result[:, place] = computed
        tokens = last
    assert result is not None and tokens is not None and state is not None  # of at least one block
    return result, tokens, state


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

    def find(self, hidden: torch.Tensor, seen: _Seen | None, weights: tuple[torch.Tensor, ...], params: tuple[torch.Tensor, ...]) -> _Token | None:
        """None where a token goes as a prompt does: there is nothing in the cache yet, or not all of it is float32."""
        if seen is None or hidden.shape[1] != 1 or hidden.dtype != torch.float32 or hidden.is_cuda:
            return None
        known, state = seen.tokens, seen.state
        if known is None or state is None:
            return None
        of = self._of
        if of is not None and of[0] is known and of[1] is state and of[2] is weights and of[3] is params:
            if of[4] == (known.data_ptr(), state.data_ptr(), hidden.shape[0]):
                return self._token
        if state.dtype != torch.float32 or not state.is_contiguous() or any(p.dtype != torch.float32 for p in params):
            return None
        tokens = seen.order_by_tokens()
        known = seen.tokens
        with torch.inference_mode(False), torch.no_grad():
            self._token = _Token(hidden.shape[0], self._heads, self._size, tokens, state, weights[0])
            self._make(self._token, hidden.shape[0], params)
        self._of = known, state, weights, params, (known.data_ptr(), state.data_ptr(), hidden.shape[0])
        return self._token


def _is_watched(layer: Any, hidden: torch.Tensor) -> bool:
    """Whether somebody traces the call, or will ask for its gradient."""
    if torch.compiler.is_compiling():
        return True
    return torch.is_grad_enabled() and (hidden.requires_grad or any(p.requires_grad for p in layer.parameters()))


def _goes_the_librarys_way(layer: Any, hidden: torch.Tensor, cache: Any, seen: _Seen | None, options: dict[str, Any]) -> bool:
    if layer.activation != "silu" or layer.conv1d.bias is not None or hidden.shape[0] == 0 or hidden.shape[1] == 0:
        return True
    if any(options.get(name) is not None for name in ("cu_seq_lens_q", "seq_idx")):
        return True
    if cache is None:
        return False
    # States in the cache are written in place, and not in a trace.
    if seen is None or seen.entry.record_past or _is_watched(layer, hidden):
        return True
    return seen.tokens is not None and seen.tokens.dtype != hidden.dtype


def _compute(way: _Way, layer: Any, hidden: torch.Tensor, cache: Any, seen: _Seen | None, weights: torch.Tensor, params: Any) -> torch.Tensor:
    """All tokens, with what they leave in the cache."""
    if _is_watched(layer, hidden):
        return _compute_at_once(way, hidden, weights, params)
    result, tokens, state = _compute_by_blocks(way, hidden, weights, params, seen)
    if cache is not None:
        cache.update_conv_state(tokens.flatten(2).transpose(1, 2), layer.layer_idx, conv_kernel_size=weights.shape[1])
        cache.update_recurrent_state(state, layer.layer_idx)
    return result


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

    def project(hidden: torch.Tensor, memory: _Memory | None) -> tuple[list[_Part], tuple[torch.Tensor, ...]]:
        B, T = hidden.shape[:2]
        query, key, value, gate, b, a = split(_apply(layer.in_proj_qkvz, hidden, memory), _apply(layer.in_proj_ba, hidden, memory))
        parts = [(query, slice(groups)), (key, slice(groups, 2 * groups))]
        parts += [(value[:, :, :, i], slice(2 * groups + i, None, each)) for i in range(each)]
        return parts, (gate.reshape(B, T, heads, size), a.reshape(B, T, heads), b.reshape(B, T, heads))

    def cut(y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return y[:, :, :groups], y[:, :, groups : 2 * groups], y[:, :, 2 * groups :]

    way = _Way(_Shape(2 * groups + heads, heads, size), convolution, core, project, cut, lambda: layer.out_proj)

    def forward(hidden_states: torch.Tensor, cache_params: Any = None, attention_mask: Any = None, **options: Any) -> torch.Tensor:
        seen = None if cache_params is None else _Seen.find(layer, cache_params)
        if layer.head_k_dim != size or _goes_the_librarys_way(layer, hidden_states, cache_params, seen, options):
            return library(hidden_states, cache_params, attention_mask, **options)
        hidden = _mask(layer, hidden_states, attention_mask)
        kept, last = weights.get(), params.get()
        token = decoding.find(hidden, seen, kept, last)
        computed = None if token is None else token.compute(layer.in_proj_qkvz(hidden), layer.in_proj_ba(hidden))
        if computed is not None:
            return layer.out_proj(computed)
        return _compute(way, layer, hidden, cache_params, seen, kept[0], last)

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

    def project_all(hidden: torch.Tensor, memory: _Memory | None) -> list[torch.Tensor]:
        f = _apply(gate.f_b_proj, _apply(gate.f_a_proj, hidden, memory), memory)
        z = _apply(layer.g_b_proj, _apply(layer.g_a_proj, hidden, memory), memory)
        return [_apply(linear, hidden, memory) for linear in (layer.q_proj, layer.k_proj, layer.v_proj)] + [f, z, _apply(layer.b_proj, hidden, memory)]

    def project(hidden: torch.Tensor, memory: _Memory | None) -> tuple[list[_Part], tuple[torch.Tensor, ...]]:
        B, T = hidden.shape[:2]
        *projected, f, z, b = project_all(hidden, memory)
        parts = [(x.view(B, T, heads, size), slice(i * heads, (i + 1) * heads)) for i, x in enumerate(projected)]
        return parts, (f.view(B, T, heads, size), z.view(B, T, heads, size), b)

    def cut(y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return y[:, :, :heads], y[:, :, heads : 2 * heads], y[:, :, 2 * heads :]

    way = _Way(_Shape(3 * heads, heads, size), convolution, core, project, cut, lambda: layer.o_proj)

    def forward(hidden_states: torch.Tensor, cache_params: Any = None, attention_mask: Any = None, **options: Any) -> torch.Tensor:
        seen = None if cache_params is None else _Seen.find(layer, cache_params)
        if _goes_the_librarys_way(layer, hidden_states, cache_params, seen, options):
            return library(hidden_states, cache_params, attention_mask, **options)
        hidden = _mask(layer, hidden_states, attention_mask)
        kept, last = weights.get(), params.get()
        token = decoding.find(hidden, seen, kept, last)
        computed = None if token is None else token.compute(*project_all(hidden, None))
        if computed is not None:
            return layer.o_proj(computed)
        return _compute(way, layer, hidden, cache_params, seen, kept[0], last)

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
