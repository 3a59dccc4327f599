"""Calls that make summaries of PyTorch's tensors and put them together, on processors and on a GPU.

On a GPU the work goes into PyTorch's current stream, and its workspace is PyTorch's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from . import torch as tensors
from .summaries import Shape, list_shapes

if TYPE_CHECKING:
    from .kernels import Loaded
    from .recurrence import Recurrence


#: What :func:`obtain` has found, by all that it depends on.
_obtained: dict[tuple[Any, ...], tuple[Loaded, int, list[Shape]]] = {}


def obtain(recurrence: Recurrence, given: Sequence[torch.Tensor], backward: bool) -> tuple[Loaded, int, list[Shape]]:
    """The kernels for these tensors with their summaries, how many heads there are, and the summaries' shapes."""
    inputs = len(recurrence.declaration.inputs)
    sizes = tuple((tuple(x.shape[2 if i < inputs else 0 :]), x.dtype) for i, x in enumerate(given))
    key = (recurrence.handle, backward, given[0].device, sizes)
    found = _obtained.get(key)
    if found is None:
        found = _obtained[key] = _obtain(recurrence, given, backward)
    return found


def _obtain(recurrence: Recurrence, given: Sequence[torch.Tensor], backward: bool) -> tuple[Loaded, int, list[Shape]]:
    call = PartCall(recurrence, None, given, None, None).call
    sizes, dtype = recurrence.name_sizes(call.key[0]), call.key[1]
    target = tensors.find_target(recurrence, given[0])
    obtain = recurrence.obtain_gradient if backward else recurrence.obtain_for
    loaded = obtain(sizes, dtype, target=target, summaries=True)
    return loaded, int(call.heads[0]), list_shapes(recurrence, loaded.kernel)


class PartCall:
    """A call on a part of a sequence, whose summaries are made; or, of no tokens, one that says of how many heads summaries are put
    together."""

    def __init__(
        self, recurrence: Recurrence, loaded: Loaded | None, given: Sequence[Any], initials: Sequence[Any] | None, offsets: Any
    ) -> None:
        self.recurrence, self.loaded = recurrence, loaded
        self.device = given[0].device
        self._bytes: dict[bool, int] = {}  # of the workspace, forward and backward
        if not given[0].is_cuda:
            self.call = tensors.read(recurrence, given, initials, offsets, False)
            return
        from . import torch_gpu

        self.call, self._kept = torch_gpu.read(recurrence, given, initials, offsets, False)

    def _perform(self, backward: bool, compute: Any) -> None:
        assert self.loaded is not None
        if self.device.type != "cuda":
            compute(self.loaded.kernel)
            return
        from . import torch_gpu

        with torch_gpu.enter(self.recurrence, self.loaded, self.device):
            size = self._bytes.get(backward)
            if size is None:
                size = self._bytes[backward] = self.call.count_summary_bytes(self.loaded.kernel, backward)
            workspace = torch.empty(size, dtype=torch.uint8, device=self.device) if size else None
            self.call.use_space(0 if workspace is None else workspace.data_ptr(), size, torch_gpu.get_stream(self.device))
            compute(self.loaded.kernel)

    def summarise(self, i: int, maps: torch.Tensor, offsets: torch.Tensor) -> None:
        """What the part makes of a state."""
        self._perform(False, lambda kernel: self.call.summarise(kernel, i, tensors.show(maps), tensors.show(offsets)))

    def summarise_backward(
        self, i: int, outputs: Sequence[Any], finals: Sequence[Any], maps: torch.Tensor | None, offsets: torch.Tensor
    ) -> None:
        """What it makes of the state's cotangent, with cotangents of outputs and of the states behind it."""
        shown = [tensors.show(x) for x in outputs], [tensors.show(x) for x in finals]
        self._perform(True, lambda kernel: self.call.summarise_backward(kernel, i, *shown, tensors.show(maps), tensors.show(offsets)))

    def apply(
        self, i: int, backward: bool, maps: torch.Tensor, offsets: torch.Tensor, state: torch.Tensor, result: torch.Tensor
    ) -> None:
        """A state, or a cotangent, through a summary."""
        given = (tensors.show(maps), tensors.show(offsets))
        self._perform(
            False, lambda kernel: self.call.apply_summary(kernel, i, backward, given, tensors.show(state), tensors.show(result))
        )

    def apply_all(self, i: int, backward: bool, parts: Sequence[tuple[torch.Tensor, torch.Tensor]], result: torch.Tensor) -> None:
        """What the first of the parts knows, its offset, through the others, one after another."""
        shown = [(tensors.show(maps), tensors.show(offsets)) for maps, offsets in parts]
        self._perform(False, lambda kernel: self.call.apply_summaries(kernel, i, backward, shown, tensors.show(result)))

    def combine(self, i: int, backward: bool, *summaries: tuple[torch.Tensor, torch.Tensor]) -> None:
        """The third of the summaries becomes that of the parts of the first and the second, in the order of their tokens."""
        shown = [(tensors.show(maps), tensors.show(offsets)) for maps, offsets in summaries]
        self._perform(False, lambda kernel: self.call.combine_summaries(kernel, i, backward, *shown))
