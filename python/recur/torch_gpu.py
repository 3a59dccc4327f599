"""Calls on PyTorch's tensors in memory of an NVIDIA GPU.

The work goes into PyTorch's current stream and is not waited for; its workspace is PyTorch's too. So a CUDA graph can capture
a call whose kernels were loaded by one before.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from . import _native, debug, kernels
from .call_options import Indices
from .errors import ArgumentError
from .kept import Sizes, list_handed

if TYPE_CHECKING:
    from . import torch as torch_calls
    from .recurrence import Recurrence

#: Kernels by the index of a GPU on which they are loaded.
_loaded: set[tuple[_native.Kernel, int]] = set()


#: What a recurrence is compiled for, by its handle and the index of a GPU.
_targets: dict[tuple[str, int], str] = {}

#: In place of a guard where the GPU of the tensors is the current one.
_nothing = contextlib.nullcontext()


def _get_stream(index: int) -> int:
    """The address of PyTorch's current stream, without an object of Python's for it where that can be had."""
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return int(raw(index) if raw else torch.cuda.current_stream(index).cuda_stream)


@functools.cache
def _get_capability(index: int) -> tuple[int, int]:
    major, minor = torch.cuda.get_device_capability(index)
    return int(major), int(minor)


def find_target(recurrence: Recurrence, device: torch.device) -> str:
    """The same as :func:`_choose_target`, once for each GPU."""
    known = _targets.get((recurrence.handle, device.index))
    if known is None:
        known = _targets[recurrence.handle, device.index] = _choose_target(recurrence, device)
    return known


def _choose_target(recurrence: Recurrence, device: torch.device) -> str:
    """What a recurrence is compiled for where tensors are on this device: for the GPU itself, unless it was said otherwise."""
    if torch.version.hip is not None:
        raise ArgumentError(f"{recurrence.name}: a tensor is on {device}, which is no GPU of NVIDIA's")
    if recurrence.is_saved:
        return recurrence.target
    targets = kernels.find_gpu_targets(_get_capability(device.index))
    if not targets:
        raise ArgumentError(
            f"{recurrence.name}: a tensor is on {device}, a GPU of compute capability "
            f"{'.'.join(map(str, _get_capability(device.index)))}, for which there are no kernels; there are some from 8.0 on"
        )
    if recurrence.target == "host":
        return targets[0]
    if not set(targets) & set(recurrence.target.split(",")):
        raise ArgumentError(f"{recurrence.name}: a tensor is on {device}; the kernels are for '{recurrence.target}', and this GPU takes '{targets[0]}'")
    return recurrence.target


def _lay_out(recurrence: Recurrence, tensor: Any, leading: int, name: str) -> Any:
    """The tensor, or a copy where kernels cannot read it as it lies: the elements of one token lie one after another, and no
    stride before these is zero."""
    if not isinstance(tensor, torch.Tensor) or tensor.is_contiguous():
        return tensor
    shape, strides, expected = tensor.shape, tensor.stride(), 1
    why = ""
    for side in reversed(range(leading, tensor.ndim)):
        if shape[side] > 1 and strides[side] != expected:
            why = "the elements of one token are not one after another"
        expected *= shape[side]
    if any(size > 1 and stride <= 0 for size, stride in zip(shape[:leading], strides)):
        why = why or "a stride is zero"
    if not why:
        return tensor
    notice = recurrence.notice()
    if notice:
        notice(f"{recurrence.name}: {name} is copied: {why}")
    return tensor.contiguous()


def _prepare(loaded: kernels.Loaded, index: int, name: str) -> None:
    """Loads the kernels on the current GPU, which is not done while a graph is captured."""
    entry = (loaded.kernel, index)
    if entry in _loaded:
        return
    if torch.cuda.is_current_stream_capturing():
        raise ArgumentError(f"{name}: a graph is being captured, and the kernels are not loaded yet: make the call once before")
    torch.cuda.current_stream(index).synchronize()  # which makes sure that there is a context
    loaded.kernel.load_on_gpu()
    _loaded.add(entry)


def place_offsets(offsets: torch.Tensor, index: int) -> torch.Tensor:
    """Offsets in the memory of a GPU as kernels read them."""
    return _place(offsets, index, torch.int64, "offsets", ", or both, as offsets=(on_the_processor, on_the_gpu)")


def _place(numbers: torch.Tensor, index: int, dtype: torch.dtype, what: str, or_else: str = "") -> torch.Tensor:
    """Whole numbers in the memory of a GPU as kernels read them. Nothing is waited for: what lies in the processor's memory is copied
    before the caller can change it, and the rest happens in the current stream."""
    if not numbers.is_cuda:
        if torch.cuda.is_current_stream_capturing():
            raise ArgumentError(
                f"a graph is being captured, and {what} in the processor's memory would have to be copied: give them in memory of the "
                f"GPU{or_else}"
            )
        numbers = numbers.to(dtype, copy=True)
    return numbers.to(torch.device("cuda", index), dtype, non_blocking=True).contiguous()


def _place_rows(indices: Indices, index: int, name: str) -> Indices:
    """Rows of pools as kernels read them."""

    def place(what: str, rows: Any) -> Any:
        if rows.dtype not in (torch.int32, torch.int64):
            raise ArgumentError(f"{name}: {what} has elements of {str(rows.dtype).removeprefix('torch.')}; rows of pools are int32")
        return _place(rows, index, torch.int32, what)

    return indices.convert(place)


def _split_offsets(offsets: Any, twin: Any, device: torch.device, name: str) -> tuple[Any, Any]:
    """Offsets in the processor's memory, where they are known there, and the same numbers in the GPU's."""
    if offsets is None:
        return None, None
    for given in (offsets, twin):
        if given is not None and (given.ndim != 1 or given.dtype not in (torch.int32, torch.int64)):
            raise ArgumentError(
                f"{name}: the offsets are {str(given.dtype).removeprefix('torch.')} and have the shape {list(given.shape)}; they are int64 or "
                "int32, [sequences + 1]"
            )
    if twin is not None and (offsets.is_cuda or twin.device != device or twin.shape != offsets.shape):
        raise ArgumentError(f"{name}: of two offsets the first lies in the processor's memory, and the second on {device}, with as many numbers")
    if twin is None and offsets.is_cuda:
        if offsets.device != device:
            raise ArgumentError(f"{name}: the offsets are on {offsets.device}, and the tensors on {device}; a call has all on one device")
        return None, offsets
    return offsets, offsets if twin is None else twin


def _enter(index: int) -> Any:
    """What makes a GPU the current one, for a while."""
    if not _native.has_cuda_context() and torch.cuda.is_initialized():
        torch.cuda.current_stream(index).query()  # a new thread has no context until something needs one
    return _nothing if torch.cuda.current_device() == index else torch.cuda.device(index)


def _read(
    recurrence: Recurrence,
    given: Sequence[Any],
    initials: Sequence[Any] | None,
    offsets: Any,
    twin: Any,
    transposed: bool,
    finals: Sequence[Any] | bool = False,
    indices: Indices | None = None,
) -> tuple[_native.Call, Any]:
    """A call on the current GPU; and what it reads, which must stay until the work is in the stream: copies whose memory PyTorch would
    give to what is made next."""
    from .torch import show

    device, declaration = given[0].device, recurrence.declaration
    inputs = len(declaration.inputs)
    if not all(tensor.is_contiguous() for tensor in given):
        values = (*declaration.inputs, *declaration.params)
        given = [_lay_out(recurrence, x, 3 if i < inputs else 1, values[i].name) for i, x in enumerate(given)]
    rows = Indices() if indices is None else _place_rows(indices, device.index, recurrence.name)
    starts = initials if indices else initials and [_lay_out(recurrence, x, 2, v.name) for x, v in zip(initials, declaration.states)]
    on_host, on_gpu = _split_offsets(offsets, twin, device, recurrence.name)
    placed = None if on_gpu is None else place_offsets(on_gpu, device.index)
    call = _native.Call(
        recurrence.signature,
        [show(tensor) for tensor in given],
        None if starts is None else [show(state) for state in starts],
        show(on_host),
        transposed,
        None,
        device.index,
        show(placed),
        None if isinstance(finals, bool) else [show(state) for state in finals],
        **{word: show(one) for word, one in rows.name().items()},
        **rows.numbers,
    )
    if debug.indices:
        call.check_indices()
    return call, (given, starts, placed, rows)


def _check(recurrence: Recurrence, loaded: kernels.Loaded, device: torch.device) -> None:
    """That the kernels are for a GPU, and loaded there."""
    if not loaded.kernel.is_for_gpu:
        raise ArgumentError(f"{recurrence.name}: a tensor is on {device}, and the saved kernel is for '{recurrence.target}'")
    _prepare(loaded, device.index, recurrence.name)


def read(
    recurrence: Recurrence, given: Sequence[Any], initials: Sequence[Any] | None, offsets: Any, transposed: bool
) -> tuple[_native.Call, Any]:
    """A call on the tensors' GPU, and what must stay until its work is in the stream."""
    with _enter(given[0].device.index):
        return _read(recurrence, given, initials, offsets, None, transposed)


def enter(recurrence: Recurrence, loaded: kernels.Loaded, device: torch.device) -> Any:
    """What makes a GPU the current one for a while, with the kernels loaded there."""
    entered = _enter(device.index)
    with entered:
        _check(recurrence, loaded, device)
    return entered


def get_stream(device: torch.device) -> int:
    """The address of PyTorch's current stream on a GPU."""
    return _get_stream(device.index)


def run(
    recurrence: Recurrence,
    given: Sequence[Any],
    initials: Sequence[Any] | None,
    outputs: Sequence[Any] | None,
    finals: Sequence[Any] | bool,
    offsets: Any,
    twin: Any,
    transposed: bool,
    every: int = 0,
    gradients: tuple[str, ...] | None = None,
    indices: Indices | None = None,
    kept_bytes: int | None = None,
    training: torch_calls._Call | None = None,
) -> tuple[list[torch.Tensor], list[Any], list[torch.Tensor]]:
    """The call itself. What of outputs and final states is not given is made here, and so are the states before every so many
    tokens, where they are wanted. With ``indices`` initial and final states are pools. For ``gradients`` states are handed over, and
    more, in at most ``kept_bytes``; where none are, they are found again."""
    from .torch import allocate_kept as allocate_handed, make_results, show
    from .torch_kept import allocate as allocate_kept

    device = given[0].device
    index = device.index
    with _enter(index):
        call, read = _read(recurrence, given, initials, offsets, twin, transposed, finals, indices)
        target = find_target(recurrence, device)
        loaded = recurrence.obtain_trained(call.key, gradients, target, trees=indices is not None and indices.parents is not None)
        _check(recurrence, loaded, device)
        results, states = make_results(call, loaded, outputs, finals, given[0])
        kept, flat = allocate_kept(call, loaded.kernel, given[0], offsets, every)
        handed: list[torch.Tensor] = []
        if gradients is not None and not every and indices is None:
            B, T = given[0].shape[:2]
            of = Sizes(B, T, *call.heads, None if offsets is None else offsets.shape[0] - 1)
            shapes, types = list_handed(loaded.kernel, of, kept_bytes)
            kept = handed = allocate_handed(shapes, given[0], offsets, types)
        hands_values = _has_values(loaded.kernel, handed)
        size = call.count_workspace_bytes(loaded.kernel, kept_interval=every, hands_over=bool(handed), hands_values=hands_values)
        workspace = torch.empty(size, dtype=torch.uint8, device=device) if size else None
        call.run_on_gpu(
            loaded.kernel,
            [show(tensor) for tensor in results],
            [show(state) for state in states],
            0 if workspace is None else workspace.data_ptr(),
            size,
            _get_stream(index),
            kept=[show(state) for state in flat],
            kept_interval=every,
            handed=[show(state) for state in handed],
        )
        del read
    # Rows that lie elsewhere are copied for each call, and a call that checks its rows is none for when nobody asks for that.
    is_like_others = indices is None or (not debug.indices and all(rows is None or rows.device == device for rows in indices.name().values()))
    if training is not None:
        chunk, taken = loaded.kernel.handed if handed and loaded.kernel.handed else (0, ())
        places = [*(place for place, _ in taken), len(recurrence.declaration.states)]  # what is no state has the place behind them
        training.learn(call, loaded.kernel, given, initials, results, states, handed, places[: len(handed)], chunk, size)
    elif not every and not handed and is_like_others:
        packed = offsets if twin is None else (offsets, twin)
        recurrence.learn(call, loaded.kernel, list(given), initials, outputs, finals, packed, results, states, size, indices)
    return results, states, kept


def _has_values(kernel: _native.Kernel, handed: Sequence[torch.Tensor]) -> bool:
    """Whether there is more than states among what is handed over."""
    return kernel.handed is not None and len(handed) > len(kernel.handed[1])


def _choose_taken(kernel: _native.Kernel, chunk: int, digest: int, handed: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """What the gradient takes of what was handed over: where fewer gradients are wanted than the call forward knew of, it may be that
    of another kernel."""
    if not handed or kernel.handed is None or kernel.handed[0] != chunk:
        return []
    types = [dtype for _, dtype in kernel.handed[1]]
    if [str(state.dtype).removeprefix("torch.") for state in handed[: len(types)]] != types:
        return []
    is_same = kernel.handed_values is not None and kernel.handed_values[1] == digest
    return list(handed if is_same else handed[: len(types)])


def run_backward(
    recurrence: Recurrence,
    given: Sequence[torch.Tensor],
    initials: Sequence[Any] | None,
    offsets: Any,
    twin: Any,
    cotangents: tuple[Sequence[Any], Sequence[Any]],
    gradients: tuple[Sequence[Any], Sequence[Any]],
    transposed: bool,
    wanted: tuple[str, ...],
    handed: tuple[int, int, Sequence[torch.Tensor]] = (0, 0, ()),
) -> tuple[_native.Call, kernels.Loaded, int, int]:
    """The gradients, from cotangents of outputs and final states: those of inputs and params, and of initial states. ``handed`` is the
    chunk of which states were handed over, the digest of what there is besides, and all of these. Gives the call, its kernels, the bytes
    of its workspace, and how many it took of them."""
    from .torch import show

    device = given[0].device
    with _enter(device.index):
        call, read = _read(recurrence, given, initials, offsets, twin, transposed)
        loaded = recurrence.obtain_gradient_of(call.key, wanted, find_target(recurrence, device))
        _check(recurrence, loaded, device)
        outputs, finals = ([_lay_out(recurrence, x, leading, "a cotangent") for x in tensors] for tensors, leading in zip(cotangents, (3, 2)))
        taken = _choose_taken(loaded.kernel, *handed)
        takes_values = _has_values(loaded.kernel, taken)
        size = call.count_workspace_bytes(loaded.kernel, backward=True, hands_over=bool(taken), hands_values=takes_values)
        workspace = torch.empty(size, dtype=torch.uint8, device=device) if size else None
        call.run_backward_on_gpu(
            loaded.kernel,
            [show(tensor) for tensor in outputs],
            [show(tensor) for tensor in finals],
            [show(tensor) for tensor in gradients[0]],
            [show(tensor) for tensor in gradients[1]],
            0 if workspace is None else workspace.data_ptr(),
            size,
            _get_stream(device.index),
            handed=[show(one) for one in taken],
        )
        del read
    return call, loaded, size, len(taken)
