"""Layers of ``transformers`` that compute everything between their projections by two recurrences, instead of a dozen operations of PyTorch.

>>> recur.transformers.fuse(model)  # its linear attention and its state spaces; returns the number of layers

The layers keep their parameters and the library's cache, with states of the same shapes and meaning. For calls that a fused layer
does not take (a cache that records the past, packed sequences, another activation), it runs the library's code.
:mod:`recur.transformers_forms` lists the layers and says how each computes.
"""

from __future__ import annotations

import copy
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from . import _native
from .transformers_forms import FORMS, Form, Memory


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


def _split_tokens(tokens: torch.Tensor) -> dict[str, torch.Tensor]:
    """What the convolution knows of the last tokens, [B, W, heads, size], as its states have it."""
    width = tokens.shape[1]
    return {f"x_back{i}": tokens[:, width - i] for i in range(1, width)}


#: Numbers of all the convolution's channels that a block of tokens has at most: what lies between the projections stays in the
#: processor's caches then, and no memory grows with the prompt.
_BLOCK = 1 << 20


def _mask(layer: Any, x: torch.Tensor, attention_mask: Any) -> torch.Tensor:
    """Tokens of padding set to zero, as the library does it."""
    if attention_mask is None:
        return x
    return sys.modules[type(layer).__module__].apply_mask_to_padding_states(x, attention_mask)


def _mask_after(form: Form, layer: Any, y: torch.Tensor, attention_mask: Any) -> torch.Tensor:
    if attention_mask is None or not form.masks_after:
        return y
    return _mask(layer, y.flatten(2), attention_mask).view_as(y)


def _shape_rest(form: Form, rest: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [x.reshape(*x.shape[:2], *shape) for x, shape in zip(rest, form.rest)]


def _compute_at_once(form: Form, layer: Any, hidden: torch.Tensor, attention_mask: Any) -> torch.Tensor:
    """All tokens with nothing before them, for those who differentiate or trace: nothing is written that is there already."""
    B, T = hidden.shape[:2]
    projected, weights = form.project(hidden, None), form.weights.get()
    parts, rest = form.split(projected)
    y = hidden.new_empty(B, T, form.heads, form.size)
    for x, place in parts:
        y[:, :, place] = form.convolution(x, *(weight[place] for weight in weights))
    y = _mask_after(form, layer, y, attention_mask)
    result = form.core(*form.cut(y), *_shape_rest(form, rest), *form.params.get())
    return form.finish(result.reshape(B, T, -1), projected, None)


def _compute_by_blocks(
    form: Form, layer: Any, hidden: torch.Tensor, attention_mask: Any, seen: _Seen | None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Some tokens after others, each block from what the one before it left; gives also the last tokens before the convolution,
    [B, n, heads, size], and the state."""
    B, T = hidden.shape[:2]
    weights, params = form.weights.get(), form.params.get()
    width = weights[0].shape[1]
    longest = T if hidden.is_cuda else max(_BLOCK // max(B * form.heads * form.size, 1), 64, 2 * width)
    blocks, memory = -(-T // longest), Memory()
    convolution = form.convolution if hidden.is_cuda else form.token_convolution
    tokens, state = None, None
    if seen is not None and seen.tokens is not None:
        tokens = seen.order_by_tokens().view(B, -1, form.heads, form.size)
    if seen is not None and seen.state is not None:
        state = seen.state.to(torch.float32, copy=True)
    core = form.token_core if T == 1 and state is not None else form.core
    result = None
    for block in range(blocks):
        place = slice(T * block // blocks, T * (block + 1) // blocks)
        some = hidden[:, place]
        count = some.shape[1]
        projected = form.project(some, memory)
        parts, rest = form.split(projected)
        y = memory.get("y", some, B, count, form.heads, form.size)
        last = some.new_empty(B, min(count, width), form.heads, form.size)
        for x, heads in parts:
            known = None if tokens is None else {name: token[:, heads].float() for name, token in _split_tokens(tokens).items()}
            convolution(x, *(weight[heads] for weight in weights), initial=known, out=y[:, :, heads])
            last[:, :, heads] = x[:, -width:]
        y = _mask_after(form, layer, y, None if attention_mask is None else attention_mask[:, place])
        o = memory.get("o", some, B, count, *form.result)
        _, state = core(*form.cut(y), *_shape_rest(form, rest), *params, initial=state, final=True if state is None else state, out=o)
        computed = form.finish(o.view(B, count, -1), projected, memory if blocks > 1 else None)
        if result is None:
            result = computed if blocks == 1 else computed.new_empty(B, T, computed.shape[2])
        if blocks > 1:
            result[:, place] = computed
        tokens = last
    assert result is not None and tokens is not None and state is not None  # of at least one block
    return result, tokens, state


class _Token:
    """One token after another of one cache: both calls bound to memory that stays, and the states in the cache in place."""

    def __init__(self, form: Form, projected: Sequence[torch.Tensor], tokens: torch.Tensor, state: torch.Tensor) -> None:
        B, weights = tokens.shape[0], form.weights.get()
        #: What the convolution reads.
        x = torch.empty(B, 1, form.heads, form.size)
        states = _split_tokens(tokens.view(B, -1, form.heads, form.size))
        self._tokens, self._state = tokens, state
        self._convolve = form.convolution.bind(x, *weights, initial=states, final=states)
        parts, rest = form.split(projected)
        kept = [torch.empty(B, 1, *shape) for shape in form.rest]
        # Which parts of what the projections give are copied to where the calls read them; an array is found by its memory.
        moved: list[tuple[int, torch.Tensor, torch.Tensor]] = [(0, tokens[:, 1], tokens[:, 0])]
        for part, to in [*((part, x[:, :, place]) for part, place in parts), *((part, to.view(part.shape)) for part, to in zip(rest, kept))]:
            number = next(i for i, array in enumerate(projected) if array.untyped_storage().data_ptr() == part.untyped_storage().data_ptr())
            moved.append((1 + number, part, to))
        self._gather = _native.Gather([tokens, *projected], moved)
        self._core = form.token_core.bind(*form.cut(self._convolve.result), *kept, *form.params.get(), initial=state, final=state)
        self._result: torch.Tensor = self._core.result.flatten(2)

    def compute(self, projected: Sequence[torch.Tensor]) -> torch.Tensor | None:
        """[B, 1, heads * channels], until the next token. None where what is projected does not lie as it did."""
        if not self._gather.copy(self._tokens, *projected):
            return None
        self._convolve()
        self._core()
        return self._result


class _Tokens(threading.local):
    """The last of these that a layer had in a thread, for as long as neither the cache's memory nor the parameters change."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._of: Any = None
        self._token: _Token | None = None

    def takes(self, hidden: torch.Tensor, seen: _Seen | None, attention_mask: Any) -> bool:
        """Whether a token goes this way: there is something in the cache, and all of it is float32."""
        if seen is None or hidden.shape[1] != 1 or hidden.dtype != torch.float32 or hidden.is_cuda:
            return False
        if self._form.masks_after and attention_mask is not None:
            return False
        return seen.tokens is not None and seen.state is not None and seen.state.dtype == torch.float32 and seen.state.is_contiguous()

    def find(self, hidden: torch.Tensor, seen: _Seen, projected: Sequence[torch.Tensor]) -> _Token | None:
        """None where the layer's parameters are not float32."""
        known, state, weights, params = seen.tokens, seen.state, self._form.weights.get(), self._form.params.get()
        of = self._of
        if of is not None and of[0] is known and of[1] is state and of[2] is weights and of[3] is params:
            if of[4] == (known.data_ptr(), state.data_ptr(), hidden.shape[0]):
                return self._token
        if any(p.dtype != torch.float32 for p in (*params, *weights)):
            return None
        tokens = seen.order_by_tokens()
        known = seen.tokens
        with torch.inference_mode(False), torch.no_grad():
            self._token = _Token(self._form, projected, tokens, state)
        self._of = known, state, weights, params, (known.data_ptr(), state.data_ptr(), hidden.shape[0])
        return self._token


def _is_watched(layer: Any, hidden: torch.Tensor) -> bool:
    """Whether somebody traces the call, or will ask for its gradient."""
    if torch.compiler.is_compiling():
        return True
    return torch.is_grad_enabled() and (hidden.requires_grad or any(p.requires_grad for p in layer.parameters()))


def _goes_the_librarys_way(layer: Any, hidden: torch.Tensor, cache: Any, seen: _Seen | None, options: dict[str, Any]) -> bool:
    if hidden.shape[0] == 0 or hidden.shape[1] == 0 or layer.conv1d.weight.shape[-1] < 2:
        return True
    if any(options.get(name) is not None for name in ("cu_seq_lens_q", "cu_seqlens", "seq_idx")):
        return True
    if cache is None:
        return False
    # States in the cache are written in place, and not in a trace.
    if seen is None or seen.entry.record_past or _is_watched(layer, hidden):
        return True
    return seen.tokens is not None and seen.tokens.dtype != hidden.dtype


def _fuse(layer: Any) -> Callable[..., Any]:
    """What computes in place of the layer's own function."""
    library, form = layer._recur_unfused, FORMS[type(layer).__name__](layer)
    if form is None:
        return library
    decoding = _Tokens(form)

    def forward(hidden_states: torch.Tensor, cache: Any, attention_mask: Any, **options: Any) -> torch.Tensor:
        seen = None if cache is None else _Seen.find(layer, cache)
        if _goes_the_librarys_way(layer, hidden_states, cache, seen, options):
            return library(hidden_states, cache, attention_mask, **options)
        hidden = _mask(layer, hidden_states, attention_mask)
        if _is_watched(layer, hidden):
            return _compute_at_once(form, layer, hidden, attention_mask)
        if seen is not None and decoding.takes(hidden, seen, attention_mask):
            projected = form.project(hidden, None)
            token = decoding.find(hidden, seen, projected)
            computed = None if token is None else token.compute(projected)
            if computed is not None:
                return form.finish(computed, projected, None)
        result, tokens, state = _compute_by_blocks(form, layer, hidden, attention_mask, seen)
        if cache is not None:
            cache.update_conv_state(tokens.flatten(2).transpose(1, 2), layer.layer_idx, conv_kernel_size=layer.conv1d.weight.shape[-1])
            cache.update_recurrent_state(state, layer.layer_idx)
        return result

    return forward


class _Fused:
    """The forward of a fused layer. A copy of the layer, and one that is read from a file, has its own: on its own parameters."""

    def __init__(self, layer: Any) -> None:
        self._layer = layer
        self._forward: Callable[..., Any] | None = None

    def prepare(self) -> Callable[..., Any]:
        """Makes what computes, which a copy does at its first call: when it is made, its layer is empty yet."""
        if self._forward is None:
            self._forward = _fuse(self._layer)
        return self._forward

    def __call__(self, hidden_states: torch.Tensor, cache: Any = None, attention_mask: Any = None, cache_params: Any = None, **options: Any) -> Any:
        # Up to 5.23 that library calls the cache by the other name.
        given = cache_params if cache is None else cache
        return (self._forward or self.prepare())(hidden_states, given, attention_mask, **options)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Fused:
        return _Fused(copy.deepcopy(self._layer, memo))

    def __reduce__(self) -> tuple[Any, ...]:
        return _Fused, (self._layer,)


def fuse(model: torch.nn.Module) -> int:
    """Fuses every layer of a model that :mod:`recur.transformers_forms` knows: the layer then computes by recurrences of this
    package. ``model`` may also be a single layer. Returns the number of layers, those that were fused before included."""
    count = 0
    for module in model.modules():
        if type(module).__name__ not in FORMS:
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
