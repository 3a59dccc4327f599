"""Calls that make summaries of PyTorch's tensors and put them together, on processors and on a GPU.

On a GPU the work goes into PyTorch's current stream, and its workspace is PyTorch's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from . import torch as tensors

if TYPE_CHECKING:
    from .kernels import Loaded
    from .recurrence import Recurrence


def obtain(recurrence: Recurrence, given: Sequence[torch.Tensor], backward: bool) -> tuple[Loaded, int]:
    """The kernels for these tensors with their summaries, and how many heads there are."""
    call = PartCall(recurrence, None, given, None, None).call
    sizes, dtype = recurrence.name_sizes(call.key[0]), call.key[1]
    target = tensors.find_target(recurrence, given[0])
    obtain = recurrence.obtain_gradient if backward else recurrence.obtain_for
    return obtain(sizes, dtype, target=target, summaries=True), int(call.heads[0])


class PartCall:
    """A call on a part of a sequence, whose summaries are made; or, of no tokens, one that says of how many heads summaries are put
    together."""

    def __init__(
        self, recurrence: Recurrence, loaded: Loaded | None, given: Sequence[Any], initials: Sequence[Any] | None, offsets: Any
    ) -> None:
        self.recurrence, self.loaded = recurrence, loaded
        self.device = given[0].device
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
            size = self.call.count_summary_bytes(self.loaded.kernel, backward)
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

    def combine(self, i: int, backward: bool, *summaries: tuple[torch.Tensor, torch.Tensor]) -> None:
        """The third of the summaries becomes that of the parts of the first and the second, in the order of their tokens."""
        shown = [(tensors.show(maps), tensors.show(offsets)) for maps, offsets in summaries]
        self._perform(False, lambda kernel: self.call.combine_summaries(kernel, i, backward, *shown))
