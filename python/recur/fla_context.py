"""Context parallelism by the names of flash-linear-attention: which of a group's tokens a process has, as its layers ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .errors import ArgumentError


@dataclass(frozen=True)
class Context:
    """A process's part of packed sequences. What has no meaning for its layout is None."""

    group: Any  #: of ``torch.distributed``
    whole: tuple[int, ...]  #: offsets of the sequences among all processes' tokens
    cu_seqlens: Any  #: those among this process's own tokens
    cu_seqlens_cpu: Any
    conv1d_kernel_size: int | None = None
    layout: str = "contiguous"
    is_first_rank: bool | None = None  #: whether its first sequence begins here
    is_last_rank: bool | None = None  #: whether its last sequence ends here
    pre_num_ranks: int | None = None  #: processes before it that have tokens of its first sequence
    post_num_ranks: int | None = None  #: processes behind it that have tokens of its last sequence
    pre_num_conv_tokens: int | None = None  #: tokens of its first sequence before its own


def build(
    cu_seqlens: Any,
    group: Any,
    conv1d_kernel_size: int | None = None,
    cu_seqlens_cpu: Any = None,
    use_tf32x3_affine_chain: bool = False,
    layout: str = "contiguous",
) -> Context:
    """The context of sequences whose tokens are cut into as many parts of one length as there are processes, or twice as many.
    ``use_tf32x3_affine_chain`` changes nothing: products of maps have float32's digits here."""
    import torch
    import torch.distributed as dist

    from .shares import LAYOUTS, Layout, share_out

    del use_tf32x3_affine_chain
    if layout not in LAYOUTS:
        raise ArgumentError(f"build_cp_context: layout is one of {', '.join(LAYOUTS)}, and not {layout!r}")
    offsets = torch.as_tensor(cu_seqlens if cu_seqlens_cpu is None else cu_seqlens_cpu)
    whole = tuple(int(offset) for offset in offsets.tolist())
    rank, count = dist.get_rank(group), dist.get_world_size(group)
    lies = Layout(layout, count)
    parts = count * lies.pieces
    if not whole or whole[-1] % parts:
        total = whole[-1] if whole else 0
        raise ArgumentError(f"build_cp_context: {total} tokens cannot be cut into {parts} parts of one length; pad the last sequence")
    size = whole[-1] // parts
    shares = share_out([size] * parts, whole)
    own = [shares[part] for part in lies.list_parts(rank)]
    ends = list(own[0].offsets)
    for share in own[1:]:
        ends += [size + offset for offset in share.offsets[1:]]
    local = torch.tensor(ends, dtype=offsets.dtype)
    there = local.to(cu_seqlens.device) if isinstance(cu_seqlens, torch.Tensor) else local
    if layout != "contiguous":
        return Context(group, whole, there, local, conv1d_kernel_size, layout)
    (share,) = own
    begin = rank * size
    first, last = (whole[share.first], whole[share.last]) if share.last > share.first else (begin, begin + size)
    return Context(
        group, whole, there, local, conv1d_kernel_size, layout,
        is_first_rank=not share.begins_inside,
        is_last_rank=not share.ends_inside,
        pre_num_ranks=rank - first // size if share.begins_inside else 0,
        post_num_ranks=(last - 1) // size - rank if share.ends_inside else 0,
        pre_num_conv_tokens=begin - first if share.begins_inside else 0,
    )  # fmt: skip
