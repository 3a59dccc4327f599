"""Calls on PyTorch's tensors: one custom operator, ``recur::forward``, with a fake for tracing and a place for gradients,
and recurrences as modules.

The operator is given the name of a recurrence under which this process has it; which kernel it takes follows from types and
shapes. ``torch.compile`` sees the operator and its fake, and nothing of what is inside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from . import _native
from .errors import ArgumentError, NoGradientError
from .recurrence import REGISTRY

if TYPE_CHECKING:
    from .recurrence import Recurrence

_TYPES = {torch.float32: "float32", torch.bfloat16: "bfloat16", torch.float16: "float16"}


def _show(tensor: Any) -> Any:
    """Where a tensor's elements are. What is no tensor is left to the checks of calls."""
    if not isinstance(tensor, torch.Tensor):
        return tensor
    dtype = _TYPES.get(tensor.dtype, str(tensor.dtype).removeprefix("torch."))
    return _native.View.from_pointer(tensor.data_ptr(), dtype, tensor.shape, tensor.stride(), tensor)


def _allocate(shapes: Sequence[Sequence[Any]], like: torch.Tensor, dtype: torch.dtype) -> list[torch.Tensor]:
    return [like.new_empty(list(shape), dtype=dtype) for shape in shapes]


def _run(
    recurrence: Recurrence,
    given: Sequence[Any],
    initials: Sequence[Any] | None,
    outputs: Sequence[Any] | None,
    finals: Sequence[Any] | bool,
    offsets: Any,
    transposed: bool,
) -> tuple[list[torch.Tensor], list[Any]]:
    """The call itself. What of outputs and final states is not given is made here."""
    shown = [_show(tensor) for tensor in given]
    call = _native.Call(
        recurrence.signature,
        shown,
        None if initials is None else [_show(state) for state in initials],
        _show(offsets),
        transposed,
        recurrence.notice(),
    )
    loaded = recurrence.obtain(call.key)
    output_shapes, state_shapes = call.shapes(loaded.kernel)
    made = _allocate(output_shapes, given[0], given[0].dtype)
    results = made if outputs is None else [new if tensor is None else tensor for tensor, new in zip(outputs, made)]
    states: Sequence[Any] = [None] * len(state_shapes)
    if finals is True:
        states = _allocate(state_shapes, given[0], torch.float32)
    elif finals is not False:
        states = finals
    call.run(loaded.kernel, [_show(tensor) for tensor in results], [_show(state) for state in states])
    return results, list(states)


def _unpack(recurrence: Recurrence, tensors: Sequence[Any], has_initial: Sequence[bool]) -> tuple[Sequence[Any], list[Any] | None]:
    """Inputs and params; initial states, or None."""
    count = len(recurrence.declaration.inputs) + len(recurrence.declaration.params)
    rest = iter(tensors[count:])
    return tensors[:count], [next(rest) if there else None for there in has_initial] if has_initial else None


@torch.library.custom_op("recur::forward", mutates_args=(), device_types="cpu")
def _forward(
    tensors: Sequence[torch.Tensor],
    offsets: torch.Tensor | None,
    name: str,
    has_initial: Sequence[bool],
    transposed: bool,
    final: bool,
) -> list[torch.Tensor]:
    recurrence = REGISTRY[name]
    given, initials = _unpack(recurrence, tensors, has_initial)
    outputs, states = _run(recurrence, given, initials, None, final, offsets, transposed)
    return outputs + (states if final else [])


@_forward.register_fake
def _(
    tensors: Sequence[torch.Tensor],
    offsets: torch.Tensor | None,
    name: str,
    has_initial: Sequence[bool],
    transposed: bool,
    final: bool,
) -> list[torch.Tensor]:
    """Sizes of dims become numbers, for a kernel is of them; B, T and H may stay symbols."""
    recurrence = REGISTRY[name]
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
    B, T = tensors[0].shape[:2]
    sequences = B if offsets is None else offsets.shape[0] - 1
    dtype = _TYPES.get(tensors[0].dtype, str(tensors[0].dtype))
    kernel = recurrence.obtain_for(dims, dtype).kernel
    outputs, states = [], []
    for _, kind, _, _, shape in kernel.arrays:
        if kind == "output":
            outputs.append((B, T, heads, *shape))
        elif kind == "state":
            states.append((sequences, heads, *(shape[::-1] if transposed and len(shape) == 2 else shape)))
    results = _allocate(outputs, tensors[0], tensors[0].dtype)
    return results + (_allocate(states, tensors[0], torch.float32) if final else [])


def _set_up(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.name = REGISTRY[inputs[2]].name


def _refuse(ctx: Any, *_: Any) -> Any:
    raise NoGradientError(
        f"{ctx.name}: there is no kernel of its gradient, so that it cannot be differentiated; detach() on what it is given, or "
        "torch.no_grad(), takes it out of a derivative"
    )


_forward.register_autograd(_refuse, setup_context=_set_up)


def call(
    recurrence: Recurrence, given: list[Any], initial: Any, final: Any, out: Any, offsets: Any, states_transposed: bool
) -> Any:
    """A call with at least one tensor among its inputs and params."""
    name, declaration = recurrence.name, recurrence.declaration
    for place, tensor in enumerate(given):
        if not isinstance(tensor, torch.Tensor):
            is_input = place < len(declaration.inputs)
            value = declaration.inputs[place] if is_input else declaration.params[place - len(declaration.inputs)]
            what = "is missing" if tensor is None else f"is no tensor, but a {type(tensor).__name__}, beside tensors"
            raise ArgumentError(f"{name}: the {'input' if is_input else 'param'} '{value.name}' {what}")
    initials = recurrence.list_initials(initial)
    for tensor in (*given, *(initials or ())):
        if isinstance(tensor, torch.Tensor) and tensor.device.type not in ("cpu", "meta"):
            raise ArgumentError(f"{name}: a tensor is on {tensor.device}; the kernels of '{recurrence.target}' are for the processor")
    if offsets is not None:
        offsets = torch.as_tensor(offsets)
        if offsets.requires_grad:
            raise ArgumentError(f"{name}: the offsets require a gradient, and have none")
    types = {tensor.dtype for tensor in given}
    narrow = types - {torch.float32}
    result = None
    if len(types) == 2 and len(narrow) == 1 and narrow <= _TYPES.keys():
        result = next(iter(narrow))
        given = [tensor.float() for tensor in given]
    if out is not None or not isinstance(final, (bool, type(None))):
        return _call_into(recurrence, given, initials, final, out, offsets, states_transposed, result)
    states = [state for state in initials or () if state is not None]
    has_initial = [state is not None for state in initials or ()]
    results = _forward([*given, *states], offsets, recurrence.handle, has_initial, states_transposed, bool(final))
    count = len(declaration.outputs)
    outputs = [tensor.to(result) for tensor in results[:count]] if result else results[:count]
    return recurrence.arrange(outputs, results[count:], bool(final))


def _call_into(
    recurrence: Recurrence,
    given: list[torch.Tensor],
    initials: list[Any] | None,
    final: Any,
    out: Any,
    offsets: Any,
    transposed: bool,
    result: torch.dtype | None,
) -> Any:
    """Where results are written to tensors that are given: nothing to differentiate or to trace."""
    tensors = [tensor for tensor in (*given, *(initials or ())) if isinstance(tensor, torch.Tensor)]
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        raise ArgumentError(f"{recurrence.name}: results that are written to tensors have no gradient; detach() what requires one")
    wanted = recurrence.list_outputs(out)
    finals = recurrence.list_finals(final) if not isinstance(final, (bool, type(None))) else bool(final)
    outputs, states = _run(recurrence, given, initials, None if result else wanted, finals, offsets, transposed)
    if result:
        outputs = [tensor.to(result) for tensor in outputs]
        outputs = [new if tensor is None else tensor.copy_(new) for tensor, new in zip(wanted or [None] * len(outputs), outputs)]
    return recurrence.arrange(outputs, states, finals is not False)


class Module(torch.nn.Module):
    """A recurrence as a module, with its params as parameters, which start as zeros or as what is given."""

    def __init__(self, recurrence: Recurrence, heads: int, dims: Mapping[str, int], **params: torch.Tensor) -> None:
        super().__init__()
        self.recurrence = recurrence
        sizes = {**recurrence.declaration.dims, **recurrence.dims, **dims}
        for value in recurrence.declaration.params:
            sides = []
            for side in value.shape or ():
                size = side if isinstance(side, int) else sizes.get(side)
                if size is None:
                    raise ArgumentError(f"{recurrence.name}: the param '{value.name}' needs the size of the dim '{side}'")
                sides.append(size)
            start = params.pop(value.name, None)
            shape = (heads, *sides)
            if start is not None and tuple(start.shape) != shape:
                raise ArgumentError(f"{recurrence.name}: the param '{value.name}' has the shape {list(start.shape)}; it should be {list(shape)}")
            self.register_parameter(value.name, torch.nn.Parameter(torch.zeros(shape) if start is None else start))
        for name in params:
            raise ArgumentError(f"{recurrence.name}: there is no param '{name}'")

    def forward(self, *inputs: torch.Tensor, **options: Any) -> Any:
        """A call with these inputs, by place or by name, and the options of :meth:`recur.Recurrence.__call__`."""
        return self.recurrence(*inputs, **dict(self.named_parameters(recurse=False)), **options)

    def extra_repr(self) -> str:
        """What it computes."""
        return self.recurrence.name
