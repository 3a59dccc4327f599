"""Sequences that are shared out over the devices of an axis of ``jax.shard_map``.

Each device has as many tokens of every sequence as the others, in the order of the axis, and gives those to a call with
``group=`` and the axis's name. All devices run the same program. So each makes the summary of its own tokens, whether it is the
first of a sequence or the last; the summaries are gathered, and each device goes through those that come before its own tokens
to the state that it starts from. Of packed sequences, what goes from one device to the next is the sequence that its tokens end
in; where that begins among them, the state behind them is known, and the summary counts as that state.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy
from jax.custom_derivatives import SymbolicZero

from . import _native, jax as calls, jax_axes, kept, summaries
from .errors import ArgumentError
from .registry import REGISTRY

if TYPE_CHECKING:
    from .call_options import CallOptions
    from .recurrence import Recurrence

_TARGET = "recur_summary"
_SUMMARISE, _SUMMARISE_BACKWARD, _APPLY = range(3)


@functools.cache
def _register() -> None:
    jax.ffi.register_ffi_target(_TARGET, _native.jax_summary, platform="cpu")


@dataclass(frozen=True)
class _Shared:
    """What of a call is no array: of the call on a device's own tokens, which starts from given states; and the axis."""

    call: calls.Static
    axis: str | tuple[str, ...]
    count: int  # of devices

    @property
    def recurrence(self) -> Recurrence:
        return REGISTRY[self.call.handle]


# ---- Where sequences begin and end ----


class _Crossing(NamedTuple):
    """The sequence that a device's tokens end in, or of calls backward begin in: where it lies among them, and among all
    sequences. `is_known`: it begins, or ends, among them, so that one state of it is known here."""

    offsets: jax.Array | None  # of that sequence alone; None where sequences are dense
    place: jax.Array | None
    is_known: jax.Array

    def pick(self, states: Any) -> Any:
        """Of states of all sequences this one's."""
        return states if self.place is None else jax.lax.dynamic_slice_in_dim(states, self.place, 1)


class _Share:
    """What a device has of the sequences. Offsets are those of all devices' tokens."""

    def __init__(self, shared: _Shared, tokens: int, offsets: jax.Array | None) -> None:
        self.rank = jax.lax.axis_index(shared.axis)
        self.count = shared.count
        self.tokens = tokens
        self.begin = self.rank * tokens
        self.offsets = offsets
        self.own_offsets = None if offsets is None else jnp.clip(offsets - self.begin, 0, tokens)

    def _cross(self, first: Any, is_known: Any) -> _Crossing:
        assert self.offsets is not None and self.own_offsets is not None
        place = jnp.clip(first, 0, self.offsets.shape[0] - 2)
        return _Crossing(jax.lax.dynamic_slice_in_dim(self.own_offsets, place, 2), place, is_known(place))

    def find_last(self) -> _Crossing:
        """The sequence of the last token."""
        if self.offsets is None:
            return _Crossing(None, None, self.rank == 0)
        offsets = self.offsets
        last = jnp.searchsorted(offsets, self.begin + self.tokens, side="left") - 1
        return self._cross(last, lambda place: offsets[place] >= self.begin)

    def find_first(self) -> _Crossing:
        """The sequence of the first token."""
        if self.offsets is None:
            return _Crossing(None, None, self.rank == self.count - 1)
        offsets = self.offsets
        first = jnp.searchsorted(offsets, self.begin, side="right") - 1
        return self._cross(first, lambda place: offsets[place + 1] <= self.begin + self.tokens)

    def begins_here(self, sequences: int) -> jax.Array:
        """Of each sequence, whether its first token is this device's."""
        if self.offsets is None:
            return jnp.full(sequences, self.rank == 0)
        return self._own(self.offsets[:-1])

    def ends_here(self, sequences: int) -> jax.Array:
        """The same of its last token; an empty sequence is the device's that it would begin on."""
        if self.offsets is None:
            return jnp.full(sequences, self.rank == self.count - 1)
        is_empty = self.offsets[1:] == self.offsets[:-1]
        return self._own(jnp.where(is_empty, self.offsets[:-1], self.offsets[1:] - 1))

    def _own(self, token: jax.Array) -> jax.Array:
        if self.tokens == 0:
            return jnp.full(token.shape, self.rank == 0)
        return jnp.minimum(token // self.tokens, self.count - 1) == self.rank

    def comes_from_before(self, sequences: int) -> jax.Array:
        """Of each sequence, whether it goes on here from the device before."""
        if self.offsets is None:
            return jnp.full(sequences, self.rank > 0)
        return (self.offsets[:-1] < self.begin) & (self.offsets[1:] > self.begin)

    def goes_on_behind(self, sequences: int) -> jax.Array:
        """The same of the device behind."""
        if self.offsets is None:
            return jnp.full(sequences, self.rank < self.count - 1)
        end = self.begin + self.tokens
        return (self.offsets[:-1] < end) & (self.offsets[1:] > end)


def _choose(mask: jax.Array, one: jax.Array, other: Any) -> jax.Array:
    """By sequences."""
    return jnp.where(mask.reshape(-1, *[1] * (one.ndim - 1)), one, other)


# ---- Summaries ----


class _Summaries:
    """The summaries that a kernel makes of the tokens of one device, and what becomes of states by all devices' ones."""

    def __init__(self, shared: _Shared, key: str, kernel: _native.Kernel, inputs: Sequence[jax.Array]) -> None:
        self.shared = shared
        self.key = key
        self.shapes = summaries.list_shapes(shared.recurrence, kernel)
        self.inputs = list(inputs)  # and params
        self.states = shared.call.states

    def _call(
        self, what: int, i: int, buffers: Sequence[Any], results: Sequence[tuple[int, ...]], backward: bool = False,
        crossing: _Crossing | None = None, states: Sequence[int] = (), cotangents: Sequence[int] = (), sequences: int | None = None,
    ) -> list[jax.Array]:  # fmt: skip
        B, T = self.inputs[0].shape[:2]
        return calls.call_target(
            _TARGET,
            [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in results],
            buffers,
            "sequential",
            key=self.key,
            what=numpy.int64(what),
            summary=numpy.int64(i),
            backward=backward,
            is_packed=crossing is not None and crossing.offsets is not None,
            sizes=numpy.array([B, T, *self.shared.call.heads] if sequences is None else [sequences, 0, *self.shared.call.heads], numpy.int64),
            states=numpy.array(states, numpy.int64),
            cotangents=numpy.array(cotangents, numpy.int64),
        )

    def _size(self, i: int, crossing: _Crossing, has_maps: bool) -> list[tuple[int, ...]]:
        leading = (self.inputs[0].shape[0] if crossing.offsets is None else 1, self.shared.call.heads[0])
        shape = self.shapes[i]
        return [*([(*leading, shape.map_size)] if has_maps else []), (*leading, shape.offset_size)]

    def summarise(self, i: int, crossing: _Crossing, states: Sequence[jax.Array | None]) -> list[jax.Array]:
        """Maps and offsets of the sequence; with the states before it that the summary needs."""
        needs = self.shapes[i].needs
        packed = [] if crossing.offsets is None else [crossing.offsets]
        buffers = [*self.inputs, *[states[place] for place in needs], *packed]
        return self._call(_SUMMARISE, i, buffers, self._size(i, crossing, True), crossing=crossing, states=needs)

    def summarise_backward(
        self, i: int, crossing: _Crossing, states: Sequence[jax.Array], cotangents: Sequence[Any], finals: Sequence[Any]
    ) -> list[jax.Array]:
        """Maps, where they are others than forward, and offsets of the cotangents."""
        packed = [] if crossing.offsets is None else [crossing.offsets]
        known = {place: x for place, x in enumerate([*cotangents, *finals]) if x is not None}
        buffers = [*self.inputs, *states, *packed, *known.values()]
        results = self._size(i, crossing, self.shapes[i].has_backward_map)
        places = range(len(self.states))
        return self._call(_SUMMARISE_BACKWARD, i, buffers, results, crossing=crossing, states=places, cotangents=tuple(known))

    def apply(self, i: int, backward: bool, maps: jax.Array, offsets: jax.Array, states: jax.Array) -> jax.Array:
        """States through a summary."""
        (after,) = self._call(_APPLY, i, [maps, offsets, states], [states.shape], backward, sequences=states.shape[0])
        return after

    def walk(
        self, i: int, backward: bool, maps: jax.Array, offsets: jax.Array, known: jax.Array, takes: jax.Array
    ) -> jax.Array:
        """The state that one device knows, through what those between it and this one make of it. All are of all devices;
        `takes`: which come before this one, of cotangents behind it."""

        def step(state: jax.Array, one: Any) -> Any:
            its_map, its_offset, is_known, is_taken = one
            after = jnp.where(is_known, its_offset, self.apply(i, backward, its_map, its_offset, state))
            return jnp.where(is_taken, after, state), None

        (start, *rest) = jax_axes.vary([jnp.zeros(offsets.shape[1:], jnp.float32), maps, offsets, known, takes])
        state, _ = jax.lax.scan(step, start, tuple(rest), reverse=backward)
        return state.reshape(*state.shape[:2], *self.states[self.shapes[i].state])


def _gather(shared: _Shared, arrays: Sequence[jax.Array]) -> list[jax.Array]:
    """Of each array those of all devices, by one exchange."""
    flat = jnp.concatenate([array.reshape(-1) for array in arrays])
    everyone = jax.lax.all_gather(flat, shared.axis)
    cuts = numpy.cumsum([array.size for array in arrays])[:-1]
    return [part.reshape(-1, *array.shape) for part, array in zip(jnp.split(everyone, cuts, axis=1), arrays)]


def _find_before(
    shared: _Shared, made: _Summaries, share: _Share, starts: Sequence[jax.Array]
) -> tuple[list[jax.Array], dict[int, jax.Array]]:
    """The states that this device's sequences start from, where `starts` are those before the first tokens; and the maps of all
    devices."""
    last = share.find_last()
    before = list(starts)
    comes = share.comes_from_before(starts[0].shape[0])
    maps: dict[int, jax.Array] = {}
    for level in summaries.list_levels(made.shapes):
        parts = []
        at_last = [last.pick(state) for state in before]  # those that are needed are found already
        for i in level:
            own_map, own_offset = made.summarise(i, last, at_last)
            start = at_last[made.shapes[i].state].reshape(own_offset.shape)
            behind = made.apply(i, False, own_map, own_offset, start)
            parts += [own_map, jnp.where(last.is_known, behind, own_offset)]
        gathered = _gather(shared, [*parts, last.is_known.astype(jnp.float32)])
        known = gathered.pop() > 0
        for i in level:
            maps[i], offsets, *gathered = gathered
            found = made.walk(i, False, maps[i], offsets, known, jnp.arange(shared.count) < share.rank)
            place = made.shapes[i].state
            before[place] = _choose(comes, found, before[place])
    return before, maps


def _find_behind(
    shared: _Shared, made: _Summaries, share: _Share, before: Sequence[jax.Array], maps: dict[int, jax.Array],
    cotangents: Sequence[Any], finals: Sequence[jax.Array],
) -> list[jax.Array]:  # fmt: skip
    """The cotangents of the states behind this device's sequences, where `finals` are those behind the last tokens."""
    first = share.find_first()
    after = list(finals)
    goes_on = share.goes_on_behind(finals[0].shape[0])
    starts = [first.pick(state) for state in before]
    found: set[int] = set()  # by states
    for level in summaries.list_backward_levels(made.shapes):
        parts = []
        at_first = [first.pick(state) for state in after]
        for i in level:
            shape = made.shapes[i]
            ends = [x if place in found else None for place, x in enumerate(at_first)]
            *own_map, own_offset = made.summarise_backward(i, first, starts, cotangents, ends)
            if own_map:
                (own,) = own_map
            elif first.offsets is None:
                own = maps[i][share.rank]
            else:  # which is of the sequence of the last token
                own, _ = made.summarise(i, first, starts)
            end = at_first[shape.state].reshape(own_offset.shape)
            ahead = made.apply(i, True, own, own_offset, end)
            parts += [*own_map, jnp.where(first.is_known, ahead, own_offset)]
        gathered = _gather(shared, [*parts, first.is_known.astype(jnp.float32)])
        known = gathered.pop() > 0
        for i in level:
            shape = made.shapes[i]
            its_maps = gathered.pop(0) if shape.has_backward_map else maps[i]
            cotangent = made.walk(i, True, its_maps, gathered.pop(0), known, jnp.arange(shared.count) > share.rank)
            after[shape.state] = _choose(goes_on, cotangent, after[shape.state])
        found |= {made.shapes[i].state for i in level}
    return after


# ---- The call ----


@functools.lru_cache(maxsize=4096)
def _build(shared: _Shared) -> Callable[..., list[jax.Array]]:
    """Inputs, params, the states before the first tokens, and the offsets of packed sequences, to outputs and the states behind
    this device's tokens, of which those count whose sequence ends here."""
    static = shared.call
    given, states = static.inputs + static.params, len(static.states)
    compute, _ = calls.make_functions(static)
    with_finals = replace(static, wants_final=True)
    _, derive = calls.make_functions(with_finals)
    recurrence = shared.recurrence
    sizes = dict(static.sizes)
    made_here = len(static.outputs) + (states if static.wants_final else 0)

    def place(buffers: Sequence[jax.Array]) -> tuple[Sequence[jax.Array], Sequence[jax.Array], _Share, list[Any]]:
        inputs, starts = buffers[:given], buffers[given : given + states]
        share = _Share(shared, inputs[0].shape[1], buffers[given + states] if static.is_packed else None)
        return inputs, starts, share, [] if share.own_offsets is None else [share.own_offsets]

    def run(wanted: Sequence[int] | None, buffers: Sequence[jax.Array]) -> Any:
        inputs, starts, share, packed = place(buffers)
        loaded = recurrence.obtain_for(sizes, static.dtype)
        before, maps = _find_before(shared, _Summaries(shared, static.key, loaded.kernel, inputs), share, starts)
        own = [*inputs, *before, *packed]
        keeping = None if wanted is None else calls.choose_keeping(static, wanted, own)
        results = list(compute(keeping)(*own))
        return results[:made_here], results[made_here:], before, maps

    @jax.custom_vjp
    def differentiable(*buffers: jax.Array) -> list[jax.Array]:
        results: list[jax.Array] = run(None, buffers)[0]
        return results

    def find_wanted(marked: Sequence[int]) -> tuple[int, ...]:
        """All states' cotangents are: what comes before goes on with them."""
        return (*[i for i in range(given) if marked[i]], *range(given, given + states))

    def forward(*primals: Any) -> tuple[list[jax.Array], tuple[Any, ...]]:
        buffers = [primal.value for primal in primals]
        flags = [bool(primal.perturbed) for primal in primals[: given + states]]
        results, kept, before, maps = run(find_wanted(flags), buffers)
        return results, (buffers, calls.fill_up(static, kept), before, [maps[i] for i in range(len(maps))], calls.mark(flags))

    def backward(left: tuple[Any, ...], cotangents: list[Any]) -> tuple[jax.Array | None, ...]:
        buffers, kept, before, maps, marked = left
        inputs, starts, share, packed = place(buffers)
        flags = marked.shape[1:]
        wanted = find_wanted(flags)
        known = [None if isinstance(x, SymbolicZero) else x for x in cotangents]
        outputs, finals = known[: len(static.outputs)], known[len(static.outputs) :]
        finals = [
            jnp.zeros(start.shape, jnp.float32) if i >= len(finals) or finals[i] is None else finals[i] for i, start in enumerate(starts)
        ]
        finals = jax_axes.vary([*inputs, *finals])[len(inputs) :]
        loaded = recurrence.obtain_gradient(sizes, static.dtype)
        _native.keep_for_jax(loaded.key, loaded.kernel)
        made = _Summaries(shared, loaded.key, loaded.kernel, inputs)
        after = _find_behind(shared, made, share, before, dict(enumerate(maps)), outputs, finals)
        own = [*inputs, *before, *packed]
        keeping = calls.choose_keeping(static, wanted, own)
        places = (*[i for i, x in enumerate(outputs) if x is not None], *range(len(outputs), len(outputs) + states))
        asked = calls.Asked(places, wanted, keeping.interval if keeping else 0)
        found = derive(asked)(*own, *[x for x in outputs if x is not None], *after, *(kept[: len(keeping.states)] if keeping else ()))
        gradients: list[jax.Array | None] = [None] * len(buffers)
        for i, gradient in zip(wanted, found):
            gradients[i] = gradient
        # The state before a sequence's first token is given where that token is.
        begins = share.begins_here(starts[0].shape[0])
        for i in range(given, given + states):
            gradient = gradients[i]
            assert gradient is not None
            gradients[i] = _choose(begins, gradient, 0.0) if flags[i] else None
        return tuple(gradients)

    differentiable.defvjp(forward, backward, symbolic_zeros=True)
    return jax.jit(differentiable)


def _find_axis(name: str, group: Any) -> tuple[Any, int, frozenset[str]]:
    """The axis, how many devices it has, and its names."""
    axis = tuple(group) if isinstance(group, (tuple, list)) else group
    names = axis if isinstance(axis, tuple) else (axis,)
    if not names or not all(isinstance(part, str) for part in names):
        raise ArgumentError(f"{name}: with JAX's arrays group is the name of an axis of jax.shard_map, or a tuple of names, and not {group!r}")
    try:
        return axis, int(jax.lax.psum(1, axis)), frozenset(names)
    except NameError:
        raise ArgumentError(f"{name}: there is no axis {axis!r} here; a call with group= belongs in a function that jax.shard_map maps") from None


def _start(
    recurrence: Recurrence, static: calls.Static, given: Sequence[jax.Array], packed: Sequence[jax.Array]
) -> list[jax.Array]:
    """The states before the first tokens, where none are given: zero, or what no tokens leave, as params may have a say in."""
    sequences = packed[0].shape[0] - 1 if packed else given[0].shape[0]
    starts = [jnp.zeros((sequences, static.heads[0], *shape), jnp.float32) for shape in static.states]
    if not any(state.has_start for state in recurrence.declaration.states):
        return starts
    few = [jax.lax.stop_gradient(x[:1, :1]) if i < static.inputs else x for i, x in enumerate(given)]
    empty = replace(static, wants_final=True, is_packed=True)
    _, found = calls.run(empty, jax_axes.vary([*few, jnp.zeros(2, jnp.int32)]))
    return [jnp.broadcast_to(state, start.shape) for state, start in zip(found, starts)]


def _widen(state: Any) -> Any:
    """Devices exchange states in float32."""
    return state.astype(jnp.float32) if getattr(state, "dtype", None) in (jnp.bfloat16, jnp.float16) else state


def call(recurrence: Recurrence, given: list[Any], chosen: CallOptions, group: Any, layout: str | None) -> Any:
    """A call whose sequences are shared out over the devices of an axis."""
    name = recurrence.name
    if layout not in (None, "contiguous"):
        raise ArgumentError(f"{name}: with JAX's arrays tokens lie in the order of the axis, and layout is left out")
    kept.check_budget(name, chosen.kept_bytes)
    axis, count, axes = _find_axis(name, group)
    if chosen.states_transposed:
        raise ArgumentError(f"{name}: with group= states are as declared; states_transposed is left out")
    if calls.find_target(recurrence, given) is not None:
        raise ArgumentError(
            f"{name}: the call is on a GPU, and there are kernels of summaries for processors alone: make the mesh of jax.devices('cpu')"
        )
    whole = recurrence
    if recurrence.declaration.has_implicit_states:
        whole = recurrence.with_all_states(*recurrence.read_key(given))
    initials = [None if state is None else calls.take(state) for state in whole.list_initials(chosen.initial) or []]
    types = [getattr(state, "dtype", jnp.float32) for state in initials] or [jnp.float32] * len(whole.declaration.states)
    wide = {value.name: _widen(state) for value, state in zip(whole.declaration.states, initials) if state is not None}
    static, buffers = calls.prepare(whole, given, chosen._replace(initial=wide or None))
    _register()
    inputs = static.inputs + static.params
    packed = buffers[static.given :]
    if not static.has_initial:
        buffers = [*buffers[:inputs], *_start(whole, static, buffers[:inputs], packed), *packed]
        static = replace(static, has_initial=True)
    buffers = jax_axes.vary(buffers, axes & _list_counted(buffers, axes))
    shared = _Shared(static, axis, count)
    summaries.list_shapes(whole, whole.obtain_for(dict(static.sizes), static.dtype).kernel)  # or a reason why there are none
    results = _build(shared)(*buffers)
    outputs, finals = list(results[: len(static.outputs)]), list(results[len(static.outputs) :])
    if chosen.wants_final:
        share = _Share(shared, given[0].shape[1], packed[0] if packed else None)
        ends = share.ends_here(finals[0].shape[0])
        finals = [jax.lax.psum(_choose(ends, state, 0.0), axis).astype(dtype) for state, dtype in zip(finals, types)]
    return whole.arrange(outputs, finals, chosen.wants_final)


def _list_counted(buffers: Sequence[Any], axes: frozenset[str]) -> frozenset[str]:
    """The axes of which JAX keeps count, which is none under shard_map(check_vma=False)."""
    varied = jax_axes.read([jax.lax.axis_index(tuple(sorted(axes)))])
    return axes & varied
