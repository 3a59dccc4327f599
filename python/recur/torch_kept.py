"""Calls on PyTorch's tensors that leave the states on the way; see :meth:`recur.Recurrence.keep`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from . import _native, kept, torch as tensors
from .errors import ArgumentError

if TYPE_CHECKING:
    from .recurrence import Recurrence


def allocate(
    call: _native.Call, kernel: _native.Kernel, like: torch.Tensor, offsets: Any, every: int
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The states before every so many tokens, and the same with the rows of all sequences in one dimension; none for 0."""
    if not every:
        return [], []
    B, T = like.shape[:2]
    ends = None if offsets is None else offsets.tolist()
    shapes = kept.count_on_the_way(kernel, B, T, call.heads[0], ends, every)
    rows = tensors.allocate(shapes, ["float32"] * len(shapes), like)
    return rows, rows if offsets is not None else [state.flatten(0, 1) for state in rows]


def keep(recurrence: Recurrence, given: list[Any], initial: Any, offsets: Any, every: int) -> Any:
    """A call with the states on the way; see :meth:`recur.Recurrence.keep`."""
    name = recurrence.name
    if torch.compiler.is_compiling():
        raise ArgumentError(f"{name}: a call that gives states on the way cannot be traced")
    initials = recurrence.list_initials(initial)
    for tensor in given:
        if not isinstance(tensor, torch.Tensor):
            raise ArgumentError(f"{name}: an argument is no tensor, but a {type(tensor).__name__}, beside tensors")
    states = [state for state in initials or () if state is not None]
    tensors.refuse_transformations(name, [tensor for tensor in (*given, *states) if isinstance(tensor, torch.Tensor)])
    for tensor in (*given, *states):
        if isinstance(tensor, torch.Tensor) and tensor.device != given[0].device:
            raise ArgumentError(f"{name}: a tensor is on {given[0].device}, and another on {tensor.device}; a call has all on one device")
        if isinstance(tensor, torch.Tensor) and tensor.requires_grad and torch.is_grad_enabled():
            raise ArgumentError(f"{name}: states on the way have no gradient; detach() what requires one")
    if given[0].device.type not in ("cpu", "cuda"):
        raise ArgumentError(f"{name}: a tensor is on {given[0].device}; there are kernels for processors and for NVIDIA's GPUs")
    twin = None
    if isinstance(offsets, tuple) and len(offsets) == 2 and all(isinstance(part, torch.Tensor) for part in offsets):
        offsets, twin = offsets
    offsets = None if offsets is None else torch.as_tensor(offsets)
    if offsets is not None and offsets.is_cuda:
        offsets, twin = offsets.cpu(), offsets  # how many rows there are depends on them
    computed, last, rows = tensors.run_keeping(recurrence, given, initials, None, True, offsets, False, twin, every=every)
    return recurrence.arrange_kept(computed, rows, last)
