"""Calls on JAX's arrays: custom calls of XLA on the CPU and on NVIDIA's GPUs, with jit, vmap and gradients.

A program names its kernel by a key, under which the kernel is kept in this process. Sizes are known when a function is
traced, which is when a kernel is compiled.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy
from jax.custom_batching import custom_vmap
from jax.custom_derivatives import SymbolicZero

from . import _native, jax_axes, kept
from .errors import ArgumentError, LoadError, NoGradientError
from .kernels import find_gpu_targets
from .memory import allocate_bound as allocate_bound, lend_threads as lend_threads, note_bound as note_bound, show_bound as show_bound
from .registry import REGISTRY

if TYPE_CHECKING:
    from .call_options import CallOptions
    from .recurrence import Recurrence

_TARGET = "recur_call"


@functools.cache
def _register() -> None:
    if _native.jax_call is None:
        raise LoadError("this build of recur was made without JAX; install jax, and build recur again")
    jax.ffi.register_ffi_target(_TARGET, _native.jax_call, platform="cpu")


@functools.cache
def _register_on_gpu() -> None:
    jax.ffi.register_ffi_target(_TARGET, _native.jax_call_on_gpu, platform="CUDA")


def _find_device(arrays: Sequence[Any]) -> Any:
    """Where a call will be: with its arrays, or where JAX puts what is traced."""
    for array in arrays:
        if isinstance(array, jax.Array) and not isinstance(array, jax.core.Tracer):
            return next(iter(array.devices()))
    default = jax.config.jax_default_device
    return default if hasattr(default, "platform") else jax.devices(default)[0]


def find_target(recurrence: Recurrence, arrays: Sequence[Any]) -> str | None:
    """What to compile for where a call is on a GPU; None on the processor, which is what recurrences are compiled for."""
    device = _find_device(arrays)
    if device.platform == "cpu":
        return None
    capability = str(getattr(device, "compute_capability", "?"))
    numbers = tuple(int(part) for part in capability.split(".") if part.isdigit())
    targets = find_gpu_targets((numbers[0], numbers[1])) if len(numbers) == 2 else []
    if not targets or device.platform not in ("gpu", "cuda"):
        raise ArgumentError(f"{recurrence.name}: the call is on {device} (compute capability {capability}), for which there are no kernels")
    _register_on_gpu()
    if recurrence.is_saved or recurrence.target == "host":
        return recurrence.target if recurrence.is_saved else targets[0]
    if not set(targets) & set(recurrence.target.split(",")):
        raise ArgumentError(f"{recurrence.name}: the call is on {device}; the kernels are for '{recurrence.target}', and this GPU takes '{targets[0]}'")
    return recurrence.target


@dataclass(frozen=True)
class Static:
    """What of a call is no array."""

    handle: str  # of the recurrence
    key: str  # of its kernel
    sizes: tuple[tuple[str, int], ...]  # of dims
    inputs: int
    params: int
    heads: tuple[int, int]  # H, Hq
    dtype: str  # of each array, as in recur.dtypes
    outputs: tuple[tuple[int, ...], ...]  # shapes of a token
    states: tuple[tuple[int, ...], ...]
    output_types: tuple[str, ...]
    state_types: tuple[str, ...]
    has_initial: bool
    is_packed: bool
    wants_final: bool
    transposed: bool
    target: str | None  # a GPU's; None for the processor
    offsets: tuple[int, ...]  # on a GPU, where they are known: then the numbers of chunks are too
    kept_bytes: int | None  # for a gradient

    @property
    def given(self) -> int:
        """How many buffers are differentiated: inputs, params, initial states."""
        return self.inputs + self.params + (len(self.states) if self.has_initial else 0)


@dataclass(frozen=True)
class Asked:
    """What of a call backward there is: the places of the cotangents that are not zero, among outputs and final states, and of
    the gradients that are wanted, among inputs, params and initial states."""

    cotangents: tuple[int, ...]
    gradients: tuple[int, ...]
    kept_interval: int = 0  # of the states that the call forward left, which are the last buffers; on a GPU the chunk


def mark(flags: Sequence[bool]) -> jax.Array:
    """Flags as the shape of an empty array. JAX has one tree for what a function's calls forward leave to its gradient, the last
    one's that was traced, and keeps the gradients of others: what is told apart by anything but a shape is mixed up there."""
    return jnp.zeros((0, *map(int, flags)))


def call_target(
    target: str, results: Sequence[jax.ShapeDtypeStruct], buffers: Sequence[Any], vmap_method: str | None = None, **facts: Any
) -> list[jax.Array]:
    """A custom call of XLA."""
    buffers = jax_axes.vary(buffers)
    results = [jax_axes.describe(result.shape, result.dtype, buffers[0]) for result in results]
    return list(jax.ffi.ffi_call(target, results, vmap_method=vmap_method)(*buffers, **facts))


def _call(
    static: Static, key: str, results: list[Any], asked: Asked | None, kept_interval: int, buffers: Sequence[jax.Array]
) -> list[jax.Array]:
    """The custom call, backward where something is asked. Shapes may be larger than those that were first called with: vmap
    makes B larger."""
    B, T = buffers[0].shape[:2]
    return call_target(
        _TARGET,
        results,
        buffers,
        key=key,
        sizes=numpy.array([B, T, *static.heads], numpy.int64),
        has_initial=static.has_initial,
        has_final=static.wants_final,
        is_packed=static.is_packed,
        transposed=static.transposed,
        backward=asked is not None,
        cotangents=numpy.array(asked.cotangents if asked else (), numpy.int64),
        gradients=numpy.array(asked.gradients if asked else (), numpy.int64),
        kept_interval=numpy.int64(kept_interval),
        offsets=numpy.array(static.offsets, numpy.int64),
    )


@dataclass(frozen=True)
class Keeping:
    """By which kernel a call forward leaves states for its gradient, how many tokens are between them, and of each state that is left the
    shape, as declared, and the type; on a GPU of what it leaves besides too, behind them."""

    key: str
    interval: int
    states: tuple[tuple[tuple[int, ...], str], ...]


def _read_sizes(static: Static, buffers: Sequence[jax.Array]) -> kept.Sizes:
    sequences = buffers[static.given].shape[0] - 1 if static.is_packed else None
    B, T = buffers[0].shape[:2]
    return kept.Sizes(B, T, *static.heads, sequences)


def choose_keeping(static: Static, wanted: Sequence[int], buffers: Sequence[jax.Array]) -> Keeping | None:
    """For the gradients that are wanted; None where nothing is left for them. Of one of the calls that vmap makes one of."""
    if not wanted:
        return None
    recurrence, sizes = REGISTRY[static.handle], _read_sizes(static, buffers)
    names = recurrence.name_wanted([place in wanted for place in range(static.given)], [static.has_initial] * len(static.states))
    loaded, interval = kept.obtain(recurrence, dict(static.sizes), static.dtype, names, sizes, static.kept_bytes, static.target)
    if loaded is None:
        return None
    _native.keep_for_jax(loaded.key, loaded.kernel)
    return Keeping(loaded.key, interval, kept.list_left(loaded.kernel, sizes, static.kept_bytes, static.target is not None))


def fill_up(static: Static, left: Sequence[jax.Array]) -> list[jax.Array]:
    """What a call forward leaves, with as many arrays always: see mark."""
    return [*left, *[jnp.zeros(0, jnp.float32)] * (len(static.states) + 1 - len(left))]


def _forward(keeping: Keeping | None, static: Static, *buffers: jax.Array) -> list[jax.Array]:
    """Outputs, final states, and the states that are left for the gradient."""
    B, T = buffers[0].shape[:2]
    H = static.heads[0]
    sequences = buffers[static.given].shape[0] - 1 if static.is_packed else B
    results = [jax.ShapeDtypeStruct((B, T, H, *shape), dtype) for shape, dtype in zip(static.outputs, static.output_types)]
    if static.wants_final:
        states = zip(static.states, static.state_types)
        results += [jax.ShapeDtypeStruct((sequences, H, *shape), dtype) for shape, dtype in states]
    if keeping is None:
        return _call(static, static.key, results, None, 0, buffers)
    rows = _read_sizes(static, buffers).count_rows(keeping.interval)
    results += [jax.ShapeDtypeStruct((rows, H, *shape), dtype) for shape, dtype in keeping.states]
    return _call(static, keeping.key, results, None, keeping.interval, buffers)


def _backward(asked: Asked, static: Static, *buffers: jax.Array) -> list[jax.Array]:
    """The gradients that are asked for, from the cotangents that are not zero, and the kept states, which come last."""
    recurrence = REGISTRY[static.handle]
    wanted = [place in asked.gradients for place in range(static.given)]
    names = recurrence.name_wanted(wanted, [static.has_initial] * len(static.states))
    loaded = recurrence.obtain_gradient(dict(static.sizes), static.dtype, names, static.target)
    _native.keep_for_jax(loaded.key, loaded.kernel)
    results = [jax.ShapeDtypeStruct(buffers[place].shape, buffers[place].dtype) for place in asked.gradients]
    return _call(static, loaded.key, results, asked, asked.kept_interval, buffers)


def _one_by_one(function: Callable[..., list[jax.Array]], batched: Sequence[bool], arrays: Sequence[jax.Array]) -> Any:
    def run(some: list[jax.Array]) -> list[jax.Array]:
        rest = iter(some)
        return function(*(next(rest) if is_batched else array for is_batched, array in zip(batched, arrays)))

    return jax.lax.map(run, [array for is_batched, array in zip(batched, arrays) if is_batched])


def _map_over_sequences(
    static: Static, function: Callable[..., list[jax.Array]], goes_one_by_one: Callable[[Sequence[bool]], bool]
) -> Callable[..., list[jax.Array]]:
    """The function under vmap: the mapped axis becomes a part of B, except where something has no B."""

    @custom_vmap
    def mapped(*buffers: jax.Array) -> list[jax.Array]:
        return function(static, *buffers)

    @mapped.def_vmap
    def rule(size: int, batched: Sequence[bool], *buffers: jax.Array) -> Any:
        if static.is_packed or goes_one_by_one(batched):
            results = _one_by_one(mapped, batched, buffers)
            return results, [True] * len(results)
        merged = []
        for place, (is_batched, array) in enumerate(zip(batched, buffers)):
            if not static.inputs <= place < static.inputs + static.params:
                if not is_batched:
                    array = jnp.broadcast_to(array[None], (size, *array.shape))
                array = array.reshape(math.prod(array.shape[:2]), *array.shape[2:])
            merged.append(array)
        parts = [array.reshape(size, array.shape[0] // max(size, 1), *array.shape[1:]) for array in mapped(*merged)]
        return parts, [True] * len(parts)

    return mapped


def _refuse_derivatives(name: str, function: Callable[..., list[jax.Array]]) -> Callable[..., list[jax.Array]]:
    """The function, which is a part of what JAX differentiates, with a reason where JAX differentiates it once more."""

    @jax.custom_jvp
    def computed(*buffers: jax.Array) -> list[jax.Array]:
        return function(*buffers)

    @computed.defjvp
    def refuse(primals: Any, tangents: Any) -> Any:
        raise NoGradientError(f"{name}: a gradient is differentiated once more, and there are first derivatives alone")

    return computed


@functools.lru_cache(maxsize=4096)
def make_functions(static: Static) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The call forward, by what it keeps for its gradient, and the call backward, by what is asked of it; each a function of
    the arrays, in the order of the custom call."""
    params = slice(static.inputs, static.inputs + static.params)
    name = REGISTRY[static.handle].name

    @functools.cache
    def compute(keeping: Keeping | None) -> Callable[..., list[jax.Array]]:
        mapped = _map_over_sequences(static, functools.partial(_forward, keeping), lambda batched: any(batched[params]))
        return _refuse_derivatives(name, mapped)

    @functools.cache
    def derive(asked: Asked) -> Callable[..., list[jax.Array]]:
        # Each of the mapped calls has gradients of its own with respect to params, which one call with a larger B would sum.
        sums = any(static.inputs <= place < static.inputs + static.params for place in asked.gradients)
        mapped = _map_over_sequences(static, functools.partial(_backward, asked), lambda batched: sums or any(batched[params]))
        return _refuse_derivatives(name, mapped)

    return compute, derive


@functools.lru_cache(maxsize=4096)
def _build(static: Static) -> Callable[..., list[jax.Array]]:
    """The function of the arrays, which can be differentiated. One for each call that differs in more than arrays, so that JAX
    finds what it has compiled."""
    compute, derive = make_functions(static)
    made = len(static.outputs) + (len(static.states) if static.wants_final else 0)

    @jax.custom_vjp
    def differentiable(*buffers: jax.Array) -> list[jax.Array]:
        return list(compute(None)(*buffers))

    def forward(*primals: Any) -> tuple[list[jax.Array], tuple[Any, ...]]:
        buffers = tuple(primal.value for primal in primals)
        wanted = tuple(place for place, primal in enumerate(primals[: static.given]) if primal.perturbed)
        results = list(compute(choose_keeping(static, wanted, buffers))(*buffers))
        return results[:made], (buffers, fill_up(static, results[made:]), mark([place in wanted for place in range(static.given)]))

    def backward(left: tuple[Any, ...], cotangents: list[Any]) -> tuple[jax.Array | None, ...]:
        buffers, states, marked = left
        wanted = tuple(place for place, flag in enumerate(marked.shape[1:]) if flag)
        known = tuple(place for place, array in enumerate(cotangents) if not isinstance(array, SymbolicZero))
        gradients: list[jax.Array | None] = [None] * len(buffers)  # which stands for zero
        if known and wanted:
            keeping = choose_keeping(static, wanted, buffers)
            given = [*buffers, *[cotangents[place] for place in known], *(states[: len(keeping.states)] if keeping else ())]
            computed = derive(Asked(known, wanted, keeping.interval if keeping else 0))(*given)
            for place, gradient in zip(wanted, computed):
                gradients[place] = gradient
        return tuple(gradients)

    differentiable.defvjp(forward, backward, symbolic_zeros=True)
    return jax.jit(differentiable)


def take(array: Any) -> Any:
    """JAX's array of what is one of some library; anything else as it is, which the checks of calls refuse."""
    if any(hasattr(array, name) for name in ("__jax_array__", "__dlpack__", "__array__")):
        return jnp.asarray(array)
    return array


def _show(array: Any) -> Any:
    """Type and shape of what may be traced, as the checks of calls read them. There is no memory to be read."""
    if not hasattr(array, "dtype"):
        return array
    strides = [math.prod(array.shape[side + 1 :]) for side in range(array.ndim)]
    return _native.View.from_pointer(0, array.dtype.name, array.shape, strides, array)


def prepare(recurrence: Recurrence, given: list[Any], chosen: CallOptions) -> tuple[Static, list[Any]]:
    """What a call has beside arrays, and its arrays in the order of the custom call."""
    _register()
    name = recurrence.name
    if chosen.out is not None:
        raise ArgumentError(f"{name}: JAX's arrays cannot be written to; leave out= out")
    if chosen.writes:
        raise ArgumentError(f"{name}: JAX's arrays cannot be written to; final must be True or False")
    arrays = [take(array) for array in given]
    initials = recurrence.list_initials(chosen.initial)
    if initials is not None:
        initials = [take(state) for state in initials]
    offsets = chosen.offsets
    lengths = take(offsets)
    shown = lengths
    if hasattr(lengths, "dtype"):
        shown = numpy.zeros(lengths.shape, lengths.dtype.name)  # what they are is checked when they are known
    checked = _native.Call(
        recurrence.signature,
        [_show(array) for array in arrays],
        None if initials is None else [_show(state) for state in initials],
        shown,
        chosen.states_transposed,
        None,
    )
    target = find_target(recurrence, [*arrays, *(initials or ())])
    loaded = recurrence.obtain(checked.key, target)
    known: tuple[int, ...] = ()
    if target is not None and lengths is not None and not isinstance(offsets, jax.Array):
        known = tuple(int(offset) for offset in numpy.asarray(offsets))
    _native.keep_for_jax(loaded.key, loaded.kernel)
    output_shapes, state_shapes = checked.shapes(loaded.kernel)
    has_initial = initials is not None and any(state is not None for state in initials)
    buffers = list(arrays)
    if has_initial:
        assert initials is not None
        for state, value in zip(recurrence.declaration.states, initials):
            if value is None and state.has_start:
                raise ArgumentError(
                    f"{name}: the state '{state.name}' does not start as zero: give the initial states of all such states, or of none"
                )
        kinds = zip(initials, state_shapes, loaded.state_types)
        buffers += [jnp.zeros(shape, dtype) if state is None else state for state, shape, dtype in kinds]
    if lengths is not None:
        narrow = lengths.astype(jnp.int32)
        buffers.append(narrow if target is None else jnp.stack([narrow, jnp.zeros_like(narrow)], -1))  # int64, of two halves
    sizes = recurrence.name_sizes(checked.key[0])
    static = Static(
        recurrence.handle,
        loaded.key,
        tuple(sizes.items()),
        len(recurrence.declaration.inputs),
        len(recurrence.declaration.params),
        checked.heads,
        checked.key[1],
        tuple(shape[3:] for shape in output_shapes),
        tuple(shape[2:] for shape in state_shapes),
        tuple(loaded.output_types),
        tuple(loaded.state_types),
        has_initial,
        lengths is not None,
        chosen.wants_final,
        chosen.states_transposed,
        target,
        known,
        chosen.kept_bytes,
    )
    return static, jax_axes.vary(buffers)


def run(static: Static, buffers: Sequence[Any]) -> tuple[list[jax.Array], list[jax.Array]]:
    """Outputs and final states, which can be differentiated."""
    results = _build(static)(*buffers)
    return results[: len(static.outputs)], results[len(static.outputs) :]


def refuse(recurrence: Recurrence, *, pool: bool = False, keeps: bool = False) -> None:
    """What JAX's arrays do not allow."""
    if keeps:
        raise ArgumentError(f"{recurrence.name}: states on the way are given of NumPy's arrays and PyTorch's tensors, not of JAX's")
    if pool:
        raise ArgumentError(f"{recurrence.name}: rows of a pool are written where they lie, which JAX's arrays do not allow")


def find_whole(recurrence: Recurrence, given: list[Any]) -> Recurrence:
    """The recurrence with the states of its delays."""
    return recurrence.with_all_states(*recurrence.read_key(given), find_target(recurrence, given))


def keep(recurrence: Recurrence, given: list[Any], initial: Any, offsets: Any, every: int) -> Any:
    """JAX's arrays have no such calls."""
    refuse(recurrence, keeps=True)


def call(recurrence: Recurrence, given: list[Any], chosen: CallOptions) -> Any:
    """A call with at least one array of JAX among its inputs and params."""
    static, buffers = prepare(recurrence, given, chosen)
    outputs, finals = run(static, buffers)
    return recurrence.arrange(outputs, finals, chosen.wants_final)
