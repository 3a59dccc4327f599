"""Calls on PyTorch's tensors: the custom operators ``recur::forward`` and, for its gradient, ``recur::backward``, each with a
fake for tracing; and recurrences as modules.

An operator is given the name of a recurrence under which this process has it; which kernel it takes follows from types and
shapes. ``torch.compile`` sees the operators and their fakes, and nothing of what is inside.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from . import _native, kept as keeping, parts
from .call_options import Indices
from .dtypes import read_types
from .errors import ArgumentError, CompileError, NoGradientError
from .registry import REGISTRY, follow_traces

if TYPE_CHECKING:
    from .call_options import CallOptions
    from .kernels import Loaded
    from .recurrence import Recurrence

_Sizes = keeping.Sizes
TYPES = {torch.float32: "float32", torch.bfloat16: "bfloat16", torch.float16: "float16"}
BY_NAME = {name: dtype for dtype, name in TYPES.items()}

_HAS_TABLE = hasattr(torch.Tensor, "__dlpack_c_exchange_api__")


def note_written(tensors: Sequence[Any]) -> None:
    """Tells PyTorch that tensors have other numbers now, so that autograd refuses those that it had kept."""
    for tensor in tensors:
        if isinstance(tensor, torch.Tensor):
            torch.autograd.graph.increment_version(tensor)


def note_bound(tensors: Sequence[Any]) -> Callable[[], None]:
    """The same as a function that takes a fifth of a microsecond, where this PyTorch has it."""
    written = [tensor for tensor in tensors if isinstance(tensor, torch.Tensor)]
    return functools.partial(note_written if _increment is None else _increment, written)


def _find_increment() -> Callable[[Sequence[Any]], None] | None:
    increment: Any = getattr(torch._C, "_increment_version", None)
    try:
        increment([])  # older ones took a tensor
    except TypeError:
        return None
    return increment


_increment = _find_increment()


def _place_offsets(offsets: torch.Tensor, index: int) -> torch.Tensor:
    """Offsets in the memory of a GPU."""
    from . import torch_gpu

    return torch_gpu.place_offsets(offsets, index)


follow_traces(torch.compiler.is_compiling)
if torch.backends.openmp.is_available():
    _native.use_torchs_threads(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"), torch.get_num_threads)


def show(tensor: Any) -> Any:
    """Where a tensor's elements are. What is no tensor is left to the checks of calls, and so are tensors of a PyTorch that has
    DLPack's table of functions: they are read there."""
    if _HAS_TABLE or not isinstance(tensor, torch.Tensor):
        return tensor
    dtype = TYPES.get(tensor.dtype) or str(tensor.dtype).removeprefix("torch.")
    gpu = tensor.get_device() if tensor.is_cuda else -1
    return _native.View.from_pointer(tensor.data_ptr(), dtype, tensor.shape, tensor.stride(), tensor, gpu)


def show_bound(recurrence: Recurrence, tensor: Any) -> Any:
    """The same for a bound call, which nobody differentiates or traces."""
    if isinstance(tensor, torch.Tensor):
        if tensor.device.type != "cpu":
            raise ArgumentError(
                f"{recurrence.name}: a tensor is on {tensor.device}; calls are bound to tensors in the processor's memory alone; on a GPU "
                "capture the call in a CUDA graph"
            )
        if tensor.requires_grad and torch.is_grad_enabled():
            raise ArgumentError(f"{recurrence.name}: a bound call has no gradient; detach() what requires one")
        if tensor.is_neg():
            raise ArgumentError(
                f"{recurrence.name}: a bound call reads a tensor's memory as it is, and one is negated lazily; give what its resolve_neg() "
                "returns"
            )
    return show(tensor)


def allocate_bound(shape: Sequence[int], dtype: str, given: Sequence[Any]) -> torch.Tensor:
    """An output of a bound call."""
    return torch.empty(list(shape), dtype=BY_NAME[dtype])


def lend_threads(call: _native.Call) -> None:
    """Lets a bound call run on PyTorch's threads."""
    call.run_on_torchs_threads()


def find_target(recurrence: Recurrence, tensor: Any) -> str | None:
    """What to compile for where a tensor is on a GPU; None on the processor, which is what recurrences are compiled for."""
    if not tensor.is_cuda:
        return None
    from . import torch_gpu

    return torch_gpu.find_target(recurrence, tensor.device)


def allocate(shapes: Sequence[Sequence[Any]], types: Sequence[str], like: torch.Tensor) -> list[torch.Tensor]:
    """One for each of these shapes, of these types, on the device of a tensor."""
    return [like.new_empty(list(shape), dtype=BY_NAME[dtype]) for shape, dtype in zip(shapes, types)]


def make_results(
    call: _native.Call, loaded: Loaded, outputs: Sequence[Any] | None, finals: Sequence[Any] | bool, like: torch.Tensor
) -> tuple[list[Any], list[Any]]:
    """Outputs, of which those that are not given are made here, and final states: given, made here, or None where they are not
    wanted."""
    output_shapes, state_shapes = call.shapes(loaded.kernel)
    results = [None] * len(output_shapes) if outputs is None else list(outputs)
    if any(tensor is None for tensor in results):
        made = allocate(output_shapes, loaded.output_types, like)
        results = [new if tensor is None else tensor for tensor, new in zip(results, made)]
    if finals is True:
        return results, list(allocate(state_shapes, loaded.state_types, like))
    return results, list(finals or [None] * len(state_shapes))


def allocate_kept(shapes: Sequence[Sequence[Any]], like: torch.Tensor, offsets: Any, types: Sequence[str] | None = None) -> list[torch.Tensor]:
    """Packed sequences may have fewer rows than there is room for, which are zero then: the same each time."""
    types = types or ["float32"] * len(shapes)
    if offsets is None:
        return allocate(shapes, types, like)
    return [like.new_zeros(list(shape), dtype=getattr(torch, dtype)) for shape, dtype in zip(shapes, types)]


def read(
    recurrence: Recurrence,
    given: Sequence[Any],
    initials: Sequence[Any] | None,
    offsets: Any,
    transposed: bool,
    finals: Any = None,
    indices: Indices | None = None,
) -> _native.Call:
    """A call on these tensors, whose types and shapes are checked."""
    call = _native.Call(
        recurrence.signature,
        [show(tensor) for tensor in given],
        None if initials is None else [show(state) for state in initials],
        show(offsets),
        transposed,
        recurrence.notice(),
        finals=None if finals is None or isinstance(finals, bool) else [show(state) for state in finals],
        **{word: show(rows) for word, rows in (indices or Indices()).name().items()},
        **(indices.numbers if indices else {}),
    )
    call.run_on_torchs_threads()
    return call


def _run(
    recurrence: Recurrence,
    given: Sequence[Any],
    initials: Sequence[Any] | None,
    outputs: Sequence[Any] | None,
    finals: Sequence[Any] | bool,
    offsets: Any,
    transposed: bool,
    twin: Any = None,
) -> tuple[list[torch.Tensor], list[Any]]:
    """The call itself. What of outputs and final states is not given is made here. ``twin``: offsets in a GPU's memory too."""
    results, states, _ = run_keeping(recurrence, given, initials, outputs, finals, offsets, transposed, twin)
    return results, states


def run_again(
    recurrence: Recurrence, given: Sequence[torch.Tensor], initials: Sequence[Any], offsets: Any
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Outputs and final states, at once where such a call was made before."""
    names = [state.name for state in recurrence.declaration.states]
    there = {name: state for name, state in zip(names, initials) if state is not None}
    results = recurrence.repeat(tuple(given), {}, there or None, True, None, offsets, False)
    if results is None:
        outputs, states, _ = run_keeping(recurrence, given, initials, None, True, offsets, False)
        return outputs, states
    *outputs, last = results
    return outputs, [last] if isinstance(last, torch.Tensor) else [last[name] for name in names]


def run_keeping(
    recurrence: Recurrence,
    given: Sequence[Any],
    initials: Sequence[Any] | None,
    outputs: Sequence[Any] | None,
    finals: Sequence[Any] | bool,
    offsets: Any,
    transposed: bool,
    twin: Any = None,
    gradients: Sequence[str] | None = None,
    kept_bytes: int | None = None,
    every: int = 0,
    indices: Indices | None = None,
    training: _Call | None = None,
) -> tuple[list[torch.Tensor], list[Any], list[torch.Tensor]]:
    """The same with the states that are kept for these gradients, where any are wanted, or for the caller before every so many
    tokens. With ``indices`` initial and final states are pools. ``training`` is told of a call that autograd knows of."""
    given = [resolve(tensor) for tensor in given]
    initials = initials and [resolve(state) for state in initials]
    written = [*(outputs or ()), *(() if isinstance(finals, bool) else finals)]
    if any(isinstance(tensor, torch.Tensor) and tensor.is_neg() for tensor in written):
        raise ArgumentError(
            f"{recurrence.name}: results cannot be written to a tensor that is negated lazily; give what its resolve_neg() returns"
        )
    if given[0].is_cuda:
        from . import torch_gpu

        names = None if gradients is None else tuple(gradients)
        computed = torch_gpu.run(
            recurrence, given, initials, outputs, finals, offsets, twin, transposed, every, names, indices, kept_bytes, training
        )
        note_written(written)
        return computed
    call = read(recurrence, given, initials, offsets, transposed, finals, indices)
    loaded, interval, kept_shapes = None, 0, []
    if gradients is not None:
        B, T = given[0].shape[:2]
        sizes = _Sizes(B, T, *call.heads, None if offsets is None else offsets.shape[0] - 1)
        loaded, interval = keeping.obtain(recurrence, recurrence.name_sizes(call.key[0]), call.key[1], gradients, sizes, kept_bytes)
        kept_shapes = keeping.list_shapes(loaded.kernel, sizes, interval) if loaded else []
    loaded = loaded or recurrence.obtain(call.key)
    results, states = make_results(call, loaded, outputs, finals, given[0])
    kept = flat = allocate_kept(kept_shapes, given[0], offsets)
    if every:
        from . import torch_kept

        interval = every
        kept, flat = torch_kept.allocate(call, loaded.kernel, given[0], offsets, every)
    call.run(
        loaded.kernel,
        [show(tensor) for tensor in results],
        [show(state) for state in states],
        kept=[show(state) for state in flat],
        kept_interval=interval,
    )
    note_written(written)
    if training is not None:
        training.learn(call, loaded.kernel, given, initials, results, states, kept, range(len(kept)), interval)
    elif not interval:
        packed = offsets if twin is None else (offsets, twin)
        recurrence.learn(call, loaded.kernel, given, initials, outputs, finals, packed, results, states, indices=indices)
    return results, states, kept


def resolve(tensor: Any) -> Any:
    """The tensor as its memory is: PyTorch may have put a negation off, of which those who read the memory see nothing."""
    return tensor.resolve_neg() if isinstance(tensor, torch.Tensor) and tensor.is_neg() else tensor


def _unpack(recurrence: Recurrence, tensors: Sequence[Any], has_initial: Sequence[bool]) -> tuple[Sequence[Any], list[Any] | None]:
    """Inputs and params; initial states, or None."""
    count = len(recurrence.declaration.inputs) + len(recurrence.declaration.params)
    rest = iter(tensors[count:])
    return tensors[:count], [next(rest) if there else None for there in has_initial] if has_initial else None


@torch.library.custom_op("recur::forward", mutates_args=(), device_types=("cpu", "cuda"))
def _forward(
    tensors: Sequence[torch.Tensor],
    offsets: torch.Tensor | None,
    name: str,
    has_initial: Sequence[bool],
    transposed: bool,
    final: bool,
    wanted: Sequence[bool],
    kept_bytes: int | None,
) -> list[torch.Tensor]:
    """Outputs, and final states; and where gradients of some of the tensors are ``wanted``, the states that they take."""
    recurrence = REGISTRY[name]
    given, initials = _unpack(recurrence, tensors, has_initial)
    gradients = recurrence.name_wanted(wanted, has_initial) if any(wanted) else None
    outputs, states, kept = run_keeping(
        recurrence, given, initials, None, final, offsets, transposed, gradients=gradients, kept_bytes=kept_bytes
    )
    return outputs + (states if final else []) + kept


def _read_sizes(
    recurrence: Recurrence, tensors: Sequence[torch.Tensor], offsets: Any, has_initial: Sequence[bool]
) -> tuple[dict[str, int], str, keeping.Sizes]:
    """Sizes of dims, which become numbers, for a kernel is of them; the types; B, T and H, which may stay symbols."""
    declaration = recurrence.declaration
    dims: dict[str, int] = {}
    heads = groups = None
    for place, (value, tensor) in enumerate(zip((*declaration.inputs, *declaration.params), tensors)):
        leading = 3 if place < len(declaration.inputs) else 1
        if value.shared:
            groups = tensor.shape[2]
        else:
            heads = tensor.shape[leading - 1]
        for side, size in zip(value.shape or (), tensor.shape[leading:]):
            if isinstance(side, str):
                dims[side] = int(size)
    heads = groups if heads is None else heads
    sequences = None if offsets is None else offsets.shape[0] - 1
    given, initials = _unpack(recurrence, tensors, has_initial)
    dtype = recurrence.signature.name_types(list(read_types(given)), None if initials is None else list(read_types(initials)))
    B, T = tensors[0].shape[:2]
    return dims, dtype, _Sizes(B, T, heads, heads if groups is None else groups, sequences)


def _find_keeping(
    recurrence: Recurrence,
    tensors: Sequence[torch.Tensor],
    offsets: Any,
    has_initial: Sequence[bool],
    wanted: Sequence[bool],
    kept_bytes: int | None,
) -> tuple[Any, int, keeping.Sizes]:
    """The kernel of a call forward whose gradient is wanted, and the interval of the states that it keeps, as a call finds them."""
    dims, dtype, sizes = _read_sizes(recurrence, tensors, offsets, has_initial)
    if not any(wanted):
        return None, 0, sizes
    names = recurrence.name_wanted(wanted, has_initial)
    return (*keeping.obtain(recurrence, dims, dtype, names, sizes, kept_bytes, find_target(recurrence, tensors[0])), sizes)


def _get_digest(kernel: _native.Kernel) -> int:
    """Of what calls on a GPU hand over beside states; 0 where there is nothing."""
    return kernel.handed_values[1] if kernel.handed_values else 0


@_forward.register_fake
def _(
    tensors: Sequence[torch.Tensor],
    offsets: torch.Tensor | None,
    name: str,
    has_initial: Sequence[bool],
    transposed: bool,
    final: bool,
    wanted: Sequence[bool],
    kept_bytes: int | None,
) -> list[torch.Tensor]:
    recurrence = REGISTRY[name]
    dims, dtype, sizes = _read_sizes(recurrence, tensors, offsets, has_initial)
    loaded, interval, _ = _find_keeping(recurrence, tensors, offsets, has_initial, wanted, kept_bytes)
    target = find_target(recurrence, tensors[0])
    if target and any(wanted):
        with contextlib.suppress(NoGradientError, CompileError):  # as the call does, so that one kernel is compiled
            loaded = recurrence.obtain_gradient(dims, dtype, recurrence.name_wanted(wanted, has_initial), target)
    loaded = loaded or recurrence.obtain_for(dims, dtype, target=target)
    kernel = loaded.kernel
    sequences = sizes.B if offsets is None else sizes.sequences
    outputs, states = [], []
    for _, kind, _, _, shape in kernel.arrays:
        if kind == "output":
            outputs.append((sizes.B, sizes.T, sizes.heads, *shape))
        elif kind == "state":
            states.append((sequences, sizes.heads, *(shape[::-1] if transposed and len(shape) == 2 else shape)))
    results = allocate(outputs, loaded.output_types, tensors[0])
    results += allocate(states, loaded.state_types, tensors[0]) if final else []
    if target:
        shapes, kinds = keeping.list_handed(kernel, sizes, kept_bytes) if interval else ([], [])
        return results + allocate_kept(shapes, tensors[0], offsets, kinds)
    return results + allocate_kept(keeping.list_shapes(kernel, sizes, interval), tensors[0], offsets)


@torch.library.custom_op("recur::backward", mutates_args=(), device_types=("cpu", "cuda"))
def _backward(
    tensors: Sequence[torch.Tensor],
    offsets: torch.Tensor | None,
    cotangents: Sequence[torch.Tensor | None],
    name: str,
    has_initial: Sequence[bool],
    transposed: bool,
    final: bool,
    wanted: Sequence[bool],
    kept: Sequence[torch.Tensor],
    kept_interval: int,
    kept_digest: int = 0,
) -> list[torch.Tensor]:
    """Gradients of the tensors that are wanted, from cotangents of what the call forward gives, None for zeros, and the states
    that it kept, with more behind them on a GPU. What only the others need is not computed: kernels are of the gradients that are wanted."""
    call = _Call(REGISTRY[name], has_initial, final, offsets, None, transposed, None, digest=kept_digest)
    return _differentiate(call, tensors, cotangents, wanted, kept, kept_interval)


@dataclass
class _Call:
    """What of a call is no tensor that is differentiated."""

    recurrence: Recurrence
    has_initial: Sequence[bool]
    final: bool
    offsets: torch.Tensor | None
    twin: torch.Tensor | None  # the offsets in a GPU's memory too
    transposed: bool
    kept_bytes: int | None
    packed: int = 0  # how many of these two there are
    interval: int = 0  # of the states that it left for the gradient
    digest: int = 0  # of what else it left
    training: _native.Training | None = None  # where another such call would be known

    def learn(
        self, call: _native.Call, kernel: _native.Kernel, given: Sequence[Any], initials: Any, results: Sequence[Any], states: Sequence[Any],
        kept: Sequence[torch.Tensor], places: Sequence[int], interval: int, workspace_bytes: int = 0,
    ) -> None:  # fmt: skip
        """Remembers the call, which has left the states of these places."""
        self.interval = interval
        self.digest = _get_digest(kernel)
        facts = replace(self, offsets=None, twin=None, training=None)
        left = (self.kept_bytes, list(kept), list(places), 0 if given[0].is_cuda else interval, facts)
        packed = self.offsets if self.twin is None else (self.offsets, self.twin)
        self.training = self.recurrence.learn(
            call, kernel, list(given), initials, None, self.final, packed, list(results), list(states), workspace_bytes, training=left
        )


def _differentiate(
    of: _Call,
    tensors: Sequence[torch.Tensor],
    cotangents: Sequence[torch.Tensor | None],
    wanted: Sequence[bool],
    kept: Sequence[torch.Tensor],
    kept_interval: int,
    note: Callable[[_native.Call, _native.Kernel, list[torch.Tensor], int, int], None] | None = None,
) -> list[torch.Tensor]:
    """The gradients that are wanted. ``note`` is told of the call, its kernel, the gradients, the bytes of its workspace, and how much it
    took of what is kept."""
    recurrence, has_initial = of.recurrence, of.has_initial
    given, initials = _unpack(recurrence, [resolve(tensor) for tensor in tensors], has_initial)
    gradients = [
        torch.empty_like(tensor, memory_format=torch.contiguous_format) if is_wanted else None
        for tensor, is_wanted in zip(tensors, wanted)
    ]
    rest = iter(gradients[len(given) :])
    states = [next(rest) if there else None for there in has_initial] or [None] * len(recurrence.declaration.states)
    cotangents = [resolve(tensor) for tensor in cotangents]
    outputs = len(recurrence.declaration.outputs)
    of_outputs, of_finals = cotangents[:outputs], cotangents[outputs:] if of.final else [None] * len(states)
    names = recurrence.name_wanted(wanted, has_initial)
    made = [tensor for tensor in gradients if tensor is not None]
    if given[0].is_cuda:
        from . import torch_gpu

        of_given = (gradients[: len(given)], states)
        handed = (kept_interval, of.digest, kept)
        call, loaded, size, takes_kept = torch_gpu.run_backward(
            recurrence, given, initials, of.offsets, of.twin, (of_outputs, of_finals), of_given, of.transposed, names, handed
        )
        if note is not None:
            note(call, loaded.kernel, made, size, takes_kept)
        return made
    call = read(recurrence, given, initials, of.offsets, of.transposed)
    loaded = recurrence.obtain_gradient_of(call.key, names)
    call.run_backward(
        loaded.kernel,
        [show(tensor) for tensor in of_outputs],
        [show(tensor) for tensor in of_finals],
        [show(tensor) for tensor in gradients[: len(given)]],
        [show(tensor) for tensor in states],
        kept=[show(tensor) for tensor in kept],
        kept_interval=kept_interval,
    )
    if note is not None:
        note(call, loaded.kernel, made, 0, len(kept) if kept_interval else 0)
    return made


@_backward.register_fake
def _(
    tensors: Sequence[torch.Tensor],
    offsets: torch.Tensor | None,
    cotangents: Sequence[torch.Tensor | None],
    name: str,
    has_initial: Sequence[bool],
    transposed: bool,
    final: bool,
    wanted: Sequence[bool],
    kept: Sequence[torch.Tensor],
    kept_interval: int,
    kept_digest: int = 0,
) -> list[torch.Tensor]:
    return [
        torch.empty_like(tensor, memory_format=torch.contiguous_format) for tensor, is_wanted in zip(tensors, wanted) if is_wanted
    ]


def _set_up(ctx: Any, inputs: tuple[Any, ...], output: list[torch.Tensor]) -> None:
    tensors, offsets, *ctx.rest = inputs
    name, has_initial, _, final, wanted, kept_bytes = ctx.rest
    recurrence = REGISTRY[name]
    ctx.made = len(recurrence.declaration.outputs) + (len(recurrence.declaration.states) if final else 0)
    ctx.interval = ctx.digest = 0
    if len(output) > ctx.made:
        loaded, ctx.interval, _ = _find_keeping(recurrence, tensors, offsets, has_initial, wanted, kept_bytes)
        ctx.digest = _get_digest(loaded.kernel) if loaded else 0
    ctx.set_materialize_grads(False)  # what nobody looks at has no cotangent, kept states above all
    ctx.count = len(tensors)
    ctx.is_packed = offsets is not None
    ctx.save_for_backward(*tensors, *([offsets] if ctx.is_packed else []), *output[ctx.made :])


def _derive(ctx: Any, cotangents: Sequence[torch.Tensor | None]) -> Any:
    saved = ctx.saved_tensors  # once: under torch.utils.checkpoint it is what makes the call again
    tensors, rest = saved[: ctx.count], saved[ctx.count :]
    offsets, kept = (rest[0], rest[1:]) if ctx.is_packed else (None, rest)
    name, has_initial, transposed, final, asked, _ = ctx.rest
    wanted = list(ctx.needs_input_grad[0])
    left = (kept, ctx.interval, ctx.digest)
    computed = iter(_backward(tensors, offsets, cotangents[: ctx.made], name, has_initial, transposed, final, wanted, *left))
    gradients = [next(computed) if is_wanted else None for is_wanted in wanted]
    # PyTorch takes an empty list for one of tensors, and wants it back as that.
    return gradients, None, None, None if has_initial else [], None, None, None if asked else [], None


_forward.register_autograd(_derive, setup_context=_set_up)


class _Differentiated(torch.autograd.Function):
    """The same as the operators do, for a call that nobody looks on at: going by them takes 0.1 ms, longer than a chunk on a GPU."""

    @staticmethod
    def forward(ctx: Any, call: _Call, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        recurrence = call.recurrence
        given, initials = _unpack(recurrence, tensors, call.has_initial)
        gradients = recurrence.name_wanted(ctx.needs_input_grad[1:], call.has_initial)
        outputs, states, kept = run_keeping(
            recurrence, given, initials, None, call.final, call.offsets, call.transposed, call.twin, gradients, call.kept_bytes, training=call
        )
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors, *(bounds for bounds in (call.offsets, call.twin) if bounds is not None), *kept)
        ctx.call = call
        return tuple(outputs + (states if call.final else []))

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> Any:
        saved = ctx.saved_tensors
        if ctx.call.training is not None and not torch.is_grad_enabled():
            found = ctx.call.training.derive(saved, cotangents, ctx.needs_input_grad)
            if found is not NotImplemented:
                return found
        return _derive_saved((ctx.call, ctx.call.training, saved, ctx.needs_input_grad), *cotangents)


class _Repeated(torch.autograd.Function):
    """The same for a call like one before, whose way is known."""

    @staticmethod
    def forward(ctx: Any, training: _native.Training, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        results, saved = training.run()
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*saved)
        ctx.training = training
        return results

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> Any:
        saved = ctx.saved_tensors
        if not torch.is_grad_enabled():
            found = ctx.training.derive(saved, cotangents, ctx.needs_input_grad)
            if found is not NotImplemented:
                return found
        return _derive_saved((ctx.training.facts, ctx.training, saved, ctx.needs_input_grad), *cotangents)


@torch.autograd.function.once_differentiable
def _derive_saved(of: tuple[_Call, _native.Training | None, Sequence[torch.Tensor], Sequence[bool]], *cotangents: torch.Tensor | None) -> Any:
    """The gradients of a call from what autograd has saved of it, which the next one like it is computed like."""
    call, training, saved, needed = of
    declaration = call.recurrence.declaration
    count = len(declaration.inputs) + len(declaration.params) + sum(call.has_initial)
    tensors, bounds, kept = saved[:count], saved[count : count + call.packed], saved[count + call.packed :]
    offsets, twin = (*bounds, None, None)[:2]
    as_saved = replace(call, offsets=offsets, twin=twin)

    def note(made: _native.Call, kernel: _native.Kernel, gradients: list[torch.Tensor], size: int, takes_kept: int) -> None:
        if training is not None:
            training.learn(made, kernel, saved, cotangents, needed, gradients, size, takes_kept)

    computed = iter(_differentiate(as_saved, tensors, cotangents, needed[1:], kept, call.interval, note))
    return (None, *[next(computed) if is_wanted else None for is_wanted in needed[1:]])


# What torch.compile's own code makes its buffers by, where this PyTorch has it.
_direct = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
_native.use_torch(
    {
        "tensor": torch.Tensor,
        "parameter": torch.nn.Parameter,
        "bytes": torch.uint8,
        "empty": torch.empty,
        "empty_on_cpu": getattr(_direct, "_empty_strided_cpu", None),
        "empty_on_gpu": getattr(_direct, "_empty_strided_cuda", None),
        "is_grad_enabled": torch.is_grad_enabled,
        "is_negative": torch.Tensor.is_neg,
        "increment_version": _increment or note_written,
        "modes": [torch._C._len_torch_dispatch_stack, torch._C._functorch.peek_interpreter_stack, torch._C._get_tracing_state],
        "profiler": torch.autograd.profiler,
        "forward_ad": torch.autograd.forward_ad,
        "get_device": getattr(torch._C, "_cuda_getDevice", None),
        "place_offsets": _place_offsets,
        # Function.apply asks for transformations, of which there are none where a call is repeated.
        "differentiate": super(torch.autograd.Function, _Repeated).apply,
    }
)
def complete(name: str, dims: tuple[tuple[str, int], ...], types: tuple[str | None, ...], target: str | None = None) -> str:
    """The handle of the recurrence with the states of its delays, which a kernel knows: nothing to be traced."""
    recurrence = REGISTRY[name]
    return recurrence.with_all_states(dims, recurrence.signature.name_types(list(types), None), target).handle


# What torch.compiler.assume_constant_result does, which would import the whole of TorchDynamo here.
complete._dynamo_marked_constant = True  # type: ignore[attr-defined]


def refuse(recurrence: Recurrence, *, pool: bool = False, keeps: bool = False) -> None:
    """These arrays allow all calls."""


def find_whole(recurrence: Recurrence, given: list[Any]) -> Recurrence:
    """The recurrence with the states of its delays."""
    tensor = next(array for array in given if isinstance(array, torch.Tensor))
    return REGISTRY[complete(recurrence.handle, recurrence.read_dims(given), read_types(given), find_target(recurrence, tensor))]


def keep(recurrence: Recurrence, given: list[Any], initial: Any, offsets: Any, every: int) -> Any:
    """A call with the states on the way; see :meth:`recur.Recurrence.keep`."""
    from . import torch_kept

    return torch_kept.keep(recurrence, given, initial, offsets, every)


def refuse_transformations(name: str, tensors: Sequence[Any]) -> None:
    """torch.func's transformations and forward mode do not see an operator; a tangent would be zero without a word."""
    functorch = torch._C._functorch
    if functorch.peek_interpreter_stack() is not None:
        if any(functorch.is_batchedtensor(tensor) for tensor in tensors):
            raise ArgumentError(f"{name}: torch.func.vmap cannot map a recurrence; give it all sequences at once, along B")
        if any(functorch.is_gradtrackingtensor(tensor) for tensor in tensors):
            raise NoGradientError(f"{name}: torch.func's derivatives do not go through a recurrence; backward() and torch.autograd.grad do")
    forward = torch.autograd.forward_ad
    if forward._current_level >= 0 and any(forward.unpack_dual(tensor).tangent is not None for tensor in tensors):
        raise NoGradientError(f"{name}: there are no derivatives in forward mode; backward() and torch.autograd.grad give those in reverse mode")


def call(recurrence: Recurrence, given: list[Any], chosen: CallOptions) -> Any:
    """A call with at least one tensor among its inputs and params."""
    name, declaration = recurrence.name, recurrence.declaration
    for place, tensor in enumerate(given):
        if not isinstance(tensor, torch.Tensor):
            is_input = place < len(declaration.inputs)
            value = declaration.inputs[place] if is_input else declaration.params[place - len(declaration.inputs)]
            what = "is missing" if tensor is None else f"is no tensor, but a {type(tensor).__name__}, beside tensors"
            raise ArgumentError(f"{name}: the {'input' if is_input else 'param'} '{value.name}' {what}")
    pools = None if chosen.pool is None else recurrence.list_pools(chosen.pool)
    initials = recurrence.list_initials(chosen.initial) if pools is None else pools
    if not torch.compiler.is_compiling():
        refuse_transformations(name, [tensor for tensor in (*given, *(initials or ())) if isinstance(tensor, torch.Tensor)])
    for tensor in (*given, *(initials or ())):
        if isinstance(tensor, torch.Tensor) and tensor.device != given[0].device:
            raise ArgumentError(f"{name}: a tensor is on {given[0].device}, and another on {tensor.device}; a call has all on one device")
    if given[0].device.type not in ("cpu", "meta", "cuda"):
        raise ArgumentError(f"{name}: a tensor is on {given[0].device}; there are kernels for processors and for NVIDIA's GPUs")
    offsets, twin = chosen.offsets, None
    if offsets is not None:
        if isinstance(offsets, tuple) and len(offsets) == 2 and all(isinstance(part, torch.Tensor) for part in offsets):
            offsets, twin = offsets
        offsets = torch.as_tensor(offsets)
        if offsets.requires_grad:
            raise ArgumentError(f"{name}: the offsets require a gradient, and there is none for them; detach() them")
    if pools is not None:
        return _call_on_pools(recurrence, given, pools, chosen, offsets, twin)
    if chosen.writes:
        return _call_into(recurrence, given, initials, chosen, offsets, twin)
    states = [state for state in initials or () if state is not None]
    has_initial = [state is not None for state in initials or ()]
    final, transposed, count = chosen.wants_final, chosen.states_transposed, len(declaration.outputs)
    tensors = [*given, *states]
    wanted = [tensor.requires_grad for tensor in tensors] if torch.is_grad_enabled() else []
    if _is_quiet(tensors):
        if any(wanted):
            packed = sum(bounds is not None for bounds in (offsets, twin))
            differentiated = _Call(recurrence, has_initial, final, offsets, twin, transposed, chosen.kept_bytes, packed)
            results = list(_Differentiated.apply(differentiated, *tensors))
        else:
            computed, last = _run(recurrence, given, initials, None, final, offsets, transposed, twin)
            results = computed + last
    else:
        offsets = twin if twin is not None and given[0].is_cuda else offsets
        results = _forward(tensors, offsets, recurrence.handle, has_initial, transposed, final, wanted, chosen.kept_bytes)
        results = results[: count + len(declaration.states)] if final else results[:count]
    return recurrence.arrange(results[:count], results[count:], final)


def _is_quiet(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether nobody looks on: no tracing, no mode or transformation that an operator would be seen by. Going by the operator
    takes 0.1 ms, longer than a token."""
    return (
        not torch.compiler.is_compiling()
        and all(type(tensor) in (torch.Tensor, torch.nn.Parameter) and not tensor.is_meta for tensor in tensors)
        and torch._C._len_torch_dispatch_stack() == 0
        and torch._C._functorch.peek_interpreter_stack() is None
        and not torch._C._get_tracing_state()
        and not torch.autograd.profiler._is_profiler_enabled
        and not torch.autograd.forward_ad._current_level >= 0
    )


def _call_into(
    recurrence: Recurrence, given: list[torch.Tensor], initials: list[Any] | None, chosen: CallOptions, offsets: Any, twin: Any
) -> Any:
    """Where results are written to tensors that are given: nothing to differentiate or to trace."""
    tensors = [tensor for tensor in (*given, *(initials or ())) if isinstance(tensor, torch.Tensor)]
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        raise ArgumentError(f"{recurrence.name}: results that are written to tensors have no gradient; detach() what requires one")
    wanted, final = recurrence.list_outputs(chosen.out), chosen.final
    finals = recurrence.list_finals(final) if not isinstance(final, (bool, type(None))) else bool(final)
    outputs, states = _run(recurrence, given, initials, wanted, finals, offsets, chosen.states_transposed, twin)
    return recurrence.arrange(outputs, states, finals is not False)


def _make_outputs(
    recurrence: Recurrence, tensors: Sequence[torch.Tensor], pools: Sequence[torch.Tensor], offsets: Any, replayed: int, trees: bool
) -> list[torch.Tensor]:
    dims, dtype, sizes = _read_sizes(recurrence, [*tensors, *pools], offsets, [True] * len(pools))
    loaded = recurrence.obtain_for(dims, dtype, target=find_target(recurrence, tensors[0]), trees=trees)
    tokens = sizes.T - (replayed if offsets is None else 0)
    shapes = [(sizes.B, tokens, sizes.heads, *shape) for _, kind, _, _, shape in loaded.kernel.arrays if kind == "output"]
    return allocate(shapes, loaded.output_types, tensors[0])


# Two operators, for PyTorch does not trace one that both writes tensors and gives a list of others.
@torch.library.custom_op("recur::outputs", mutates_args=(), device_types=("cpu", "cuda"))
def _allocate_outputs(
    tensors: Sequence[torch.Tensor], pools: Sequence[torch.Tensor], offsets: torch.Tensor | None, name: str, replayed: int, trees: bool
) -> list[torch.Tensor]:
    """Outputs of a call on pools, which it will write."""
    return _make_outputs(REGISTRY[name], tensors, pools, offsets, replayed, trees)


@_allocate_outputs.register_fake
def _(
    tensors: Sequence[torch.Tensor], pools: Sequence[torch.Tensor], offsets: torch.Tensor | None, name: str, replayed: int, trees: bool
) -> list[torch.Tensor]:
    return _make_outputs(REGISTRY[name], tensors, pools, offsets, replayed, trees)


@torch.library.custom_op("recur::serve", mutates_args=("pools", "outputs"), device_types=("cpu", "cuda"))
def _serve(
    tensors: Sequence[torch.Tensor],
    pools: Sequence[torch.Tensor],
    outputs: Sequence[torch.Tensor],
    state_indices: torch.Tensor,
    final_indices: torch.Tensor | None,
    token_indices: torch.Tensor | None,
    accepted: torch.Tensor | None,
    interval_indices: torch.Tensor | None,
    positions: torch.Tensor | None,
    parents: torch.Tensor | None,
    interval: int,
    replayed: int,
    offsets: torch.Tensor | None,
    name: str,
    transposed: bool,
) -> None:
    """The call whose states are rows of the pools."""
    indices = Indices(state_indices, final_indices, token_indices, accepted, interval_indices, positions, parents, interval, replayed)
    run_keeping(REGISTRY[name], tensors, pools, list(outputs), list(pools), offsets, transposed, indices=indices)


@_serve.register_fake
def _(*arguments: Any) -> None:
    return None


def _call_on_pools(
    recurrence: Recurrence, given: list[torch.Tensor], pools: list[Any], chosen: CallOptions, offsets: Any, twin: Any
) -> Any:
    """Where states are rows of pools, which are written: nothing to differentiate."""
    tensors = [tensor for tensor in (*given, *pools) if isinstance(tensor, torch.Tensor)]
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        raise ArgumentError(f"{recurrence.name}: what reads and writes a pool has no gradient; detach() what requires one")
    indices = chosen.indices.convert(lambda _, rows: torch.as_tensor(rows))
    wanted = recurrence.list_outputs(chosen.out)
    is_whole = wanted is None or all(isinstance(output, torch.Tensor) for output in wanted)
    if is_whole and not _is_quiet([*tensors, *(wanted or ())]):
        offsets = twin if twin is not None and given[0].is_cuda else offsets
        outputs = wanted
        if outputs is None:
            outputs = _allocate_outputs(given, pools, offsets, recurrence.handle, indices.replayed, indices.parents is not None)
        _serve(given, pools, outputs, *indices, offsets, recurrence.handle, chosen.states_transposed)
        return recurrence.arrange(outputs, (), False)
    outputs, _, _ = run_keeping(recurrence, given, pools, wanted, pools, offsets, chosen.states_transposed, twin, indices=indices)
    return recurrence.arrange(outputs, (), False)


class Module(torch.nn.Module):
    """A recurrence as a module, with its params as parameters, which start as zeros or as what is given."""

    def __init__(self, recurrence: Recurrence, heads: int, dims: Mapping[str, int], **params: torch.Tensor) -> None:
        super().__init__()
        self.recurrence = recurrence
        sizes = {**recurrence.declaration.dims, **recurrence.dims, **dims}
        for value in parts.list_written(recurrence.declaration.params):
            sides = []
            for side in value.parts[0].shape or ():
                size = side if isinstance(side, int) else sizes.get(side)
                if size is None:
                    raise ArgumentError(f"{recurrence.name}: the param '{value.name}' needs the size of the dim '{side}'")
                sides.append(size)
            start = params.pop(value.name, None)
            shape = (heads, *sides)
            if start is not None and tuple(start.shape) != shape:
                raise ArgumentError(f"{recurrence.name}: the param '{value.name}' has the shape {list(start.shape)}; it should be {list(shape)}")
            if start is None:
                start = torch.zeros(shape, dtype=torch.complex64 if value.is_complex else torch.float32)
            self.register_parameter(value.name, torch.nn.Parameter(start))
        for name in params:
            raise ArgumentError(f"{recurrence.name}: there is no param '{name}'")

    def forward(self, *inputs: torch.Tensor, **options: Any) -> Any:
        """A call with these inputs, by place or by name, and the options of :meth:`recur.Recurrence.__call__`."""
        return self.recurrence(*inputs, **dict(self.named_parameters(recurse=False)), **options)

    def extra_repr(self) -> str:
        """What it computes."""
        return self.recurrence.name
