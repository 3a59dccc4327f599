"""Over which axes of a ``jax.shard_map`` arrays differ from device to device. JAX keeps count of it in the types of arrays, unless
told not to; a custom call says it of its results, and takes arrays that all differ over the same axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax


def read(arrays: Sequence[Any]) -> frozenset[Any]:
    """The axes over which some of the arrays differ."""
    found: frozenset[Any] = frozenset()
    for array in arrays:
        kind = jax.typeof(array)
        if hasattr(kind, "manual_axis_type"):
            found |= kind.manual_axis_type.varying
        else:  # of JAX before 0.10, or none at all before 0.6
            found |= getattr(kind, "vma", frozenset())
    return found


def vary(arrays: Sequence[Any], axes: frozenset[Any] = frozenset()) -> list[Any]:
    """The arrays as such that all differ over the same axes: those of any of them, and these."""
    axes = axes | read(arrays)
    return [_vary(array, tuple(sorted(axes - read([array]), key=str))) for array in arrays] if axes else list(arrays)


def _vary(array: Any, missing: tuple[Any, ...]) -> Any:
    if not missing:
        return array
    if hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(array, missing, to="varying")
    return jax.lax.pvary(array, missing)


def describe(shape: Sequence[int], dtype: Any, like: Any) -> jax.ShapeDtypeStruct:
    """The type of a result that differs over the same axes as an array."""
    if not read([like]):
        return jax.ShapeDtypeStruct(shape, dtype)
    kind = jax.typeof(like)
    if hasattr(kind, "manual_axis_type"):
        sharding = jax.sharding.NamedSharding(kind.sharding.mesh, jax.sharding.PartitionSpec(*[None] * len(shape)))
        return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding, manual_axis_type=kind.manual_axis_type)
    return jax.ShapeDtypeStruct(shape, dtype, vma=kind.vma)
