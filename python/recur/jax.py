"""Calls on JAX's arrays: custom calls of XLA on the CPU, with jit, vmap and a place for gradients.

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

from . import _native
from .errors import ArgumentError, LoadError, NoGradientError

if TYPE_CHECKING:
    from .recurrence import Recurrence

_TARGET = "recur_forward"


@functools.cache
def _register() -> None:
    if _native.jax_forward is None:
        raise LoadError("this build of recur has no calls for JAX: jax was not there when it was built")
    jax.ffi.register_ffi_target(_TARGET, _native.jax_forward, platform="cpu")


@dataclass(frozen=True)
class _Static:
    """What of a call is no array."""

    name: str
    key: str
    inputs: int
    params: int
    heads: tuple[int, int]  # H, Hq
    dtype: str
    outputs: tuple[tuple[int, ...], ...]  # shapes of a token
    states: tuple[tuple[int, ...], ...]
    has_initial: bool
    is_packed: bool
    wants_final: bool
    transposed: bool


def _compute(static: _Static, *buffers: jax.Array) -> list[jax.Array]:
    """The custom call. Shapes may be larger than those that were first called with: vmap makes B larger."""
    B, T = buffers[0].shape[:2]
    H, Hq = static.heads
    sequences = buffers[-1].shape[0] - 1 if static.is_packed else B
    results = [jax.ShapeDtypeStruct((B, T, H, *shape), static.dtype) for shape in static.outputs]
    if static.wants_final:
        results += [jax.ShapeDtypeStruct((sequences, H, *shape), jnp.float32) for shape in static.states]
    computed: list[jax.Array] = jax.ffi.ffi_call(_TARGET, results)(
        *buffers,
        key=static.key,
        sizes=numpy.array([B, T, H, Hq], numpy.int64),
        has_initial=static.has_initial,
        is_packed=static.is_packed,
        transposed=static.transposed,
        plan=numpy.int32(0),
    )
    return computed


def _one_by_one(function: Callable[..., list[jax.Array]], batched: Sequence[bool], arrays: Sequence[jax.Array]) -> Any:
    def run(some: list[jax.Array]) -> list[jax.Array]:
        rest = iter(some)
        return function(*(next(rest) if is_batched else array for is_batched, array in zip(batched, arrays)))

    return jax.lax.map(run, [array for is_batched, array in zip(batched, arrays) if is_batched])


@functools.lru_cache(maxsize=4096)
def _build(static: _Static) -> Callable[..., list[jax.Array]]:
    """The function of the arrays, in the order of the custom call. One for each call that differs in more than arrays, so
    that JAX finds what it has compiled."""

    @custom_vmap
    def compute(*buffers: jax.Array) -> list[jax.Array]:
        return _compute(static, *buffers)

    @compute.def_vmap
    def rule(size: int, batched: Sequence[bool], *buffers: jax.Array) -> Any:
        """The mapped axis becomes a part of B. Params and packed sequences have no B: these go one by one."""
        params = batched[static.inputs : static.inputs + static.params]
        if static.is_packed or any(params):
            results = _one_by_one(compute, batched, buffers)
        else:
            merged = []
            for place, (is_batched, array) in enumerate(zip(batched, buffers)):
                if not static.inputs <= place < static.inputs + static.params:
                    if not is_batched:
                        array = jnp.broadcast_to(array[None], (size, *array.shape))
                    array = array.reshape(math.prod(array.shape[:2]), *array.shape[2:])
                merged.append(array)
            results = [array.reshape(size, array.shape[0] // max(size, 1), *array.shape[1:]) for array in compute(*merged)]
        return results, [True] * len(results)

    @jax.custom_vjp
    def differentiable(*buffers: jax.Array) -> list[jax.Array]:
        return list(compute(*buffers))

    def forward(*buffers: jax.Array) -> tuple[list[jax.Array], None]:
        return list(compute(*buffers)), None

    def backward(_: None, __: list[jax.Array]) -> tuple[jax.Array, ...]:
        raise NoGradientError(
            f"{static.name}: there is no kernel of its gradient, so that it cannot be differentiated; jax.lax.stop_gradient "
            "on what it is given takes it out of a derivative"
        )

    differentiable.defvjp(forward, backward)
    return jax.jit(differentiable)


def _show(array: Any) -> _native.View:
    """Type and shape of what may be traced, as the checks of calls read them. There is no memory to be read."""
    strides = [math.prod(array.shape[side + 1 :]) for side in range(array.ndim)]
    return _native.View.from_pointer(0, array.dtype.name, array.shape, strides, array)


def call(
    recurrence: Recurrence, given: list[Any], initial: Any, final: Any, out: Any, offsets: Any, states_transposed: bool
) -> Any:
    """A call with at least one array of JAX among its inputs and params."""
    _register()
    name = recurrence.name
    if out is not None:
        raise ArgumentError(f"{name}: JAX's arrays are not written to; leave out= away")
    if not isinstance(final, bool) and final is not None:
        raise ArgumentError(f"{name}: JAX's arrays are not written to; final is True or False")
    arrays = [None if array is None else jnp.asarray(array) for array in given]
    initials = recurrence.list_initials(initial)
    if initials is not None:
        initials = [None if state is None else jnp.asarray(state) for state in initials]
    kinds = {array.dtype.name for array in arrays if array is not None}
    result = min(kinds - {"float32"}, default="float32")
    if len(kinds) == 2 and "float32" in kinds and result in ("float16", "bfloat16"):
        arrays = [None if array is None else array.astype(jnp.float32) for array in arrays]
    lengths = None if offsets is None else jnp.asarray(offsets)
    shown = None
    if lengths is not None:
        shown = numpy.zeros(lengths.shape, lengths.dtype.name)  # what they are is checked when they are known
    checked = _native.Call(
        recurrence.signature,
        [None if array is None else _show(array) for array in arrays],
        None if initials is None else [None if state is None else _show(state) for state in initials],
        shown,
        states_transposed,
        None,
    )
    loaded = recurrence.obtain(checked.key)
    _native.keep_for_jax(loaded.key, loaded.kernel)
    output_shapes, state_shapes = checked.shapes(loaded.kernel)
    has_initial = initials is not None and any(state is not None for state in initials)
    buffers = list(arrays)
    if has_initial:
        assert initials is not None
        buffers += [jnp.zeros(s, jnp.float32) if state is None else state for state, s in zip(initials, state_shapes)]
    if lengths is not None:
        buffers.append(lengths.astype(jnp.int32))
    static = _Static(
        name,
        loaded.key,
        len(recurrence.declaration.inputs),
        len(recurrence.declaration.params),
        checked.heads,
        checked.key[1],
        tuple(shape[3:] for shape in output_shapes),
        tuple(shape[2:] for shape in state_shapes),
        has_initial,
        lengths is not None,
        bool(final),
        states_transposed,
    )
    results = _build(static)(*buffers)
    outputs = [array.astype(result) for array in results[: len(output_shapes)]]
    return recurrence.arrange(outputs, results[len(output_shapes) :], bool(final))
