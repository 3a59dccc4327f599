"""How a GPU multiplies what is made of float32 data, where the recurrence leaves it open: as PyTorch multiplies its own matrices."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .registry import REGISTRY

if TYPE_CHECKING:
    from .recurrence import Recurrence

_twins: dict[str, str] = {}


def choose(recurrence: Recurrence, arrays: Sequence[Any], named: Mapping[str, Any]) -> Recurrence:
    """The recurrence to call on these arrays: itself, or the same with products of tf32, if its arrays are PyTorch's, lie on a GPU
    and are float32, and PyTorch multiplies such matrices so."""
    if recurrence.precision is not None or recurrence.is_saved or "torch" not in sys.modules:
        return recurrence
    first: Any = arrays[0] if arrays else next(iter(named.values()), None)
    if not getattr(first, "is_cuda", False) or str(first.dtype) != "torch.float32":
        return recurrence
    return REGISTRY[_find_twin(recurrence.handle)]


def _find_twin(handle: str) -> str:
    """By handles, which are constants to torch.compile: it compiles again when PyTorch's precision changes."""
    import torch

    if torch.get_float32_matmul_precision() == "highest":
        return handle
    twin = _twins.get(handle)
    if twin is None:
        twin = _twins[handle] = REGISTRY[handle].with_options(precision="tf32").handle
    return twin


# What torch.compiler.assume_constant_result does, which would import the whole of TorchDynamo here.
_find_twin._dynamo_marked_constant = True  # type: ignore[attr-defined]
