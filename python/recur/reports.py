"""What the compiler reports of a recurrence: what it understood, and how far its stages are from the interpreter."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import compiler, definition, dtypes, options, parts
from .errors import ArgumentError, CheckError
from .rich import Explanation

if TYPE_CHECKING:
    from .recurrence import Recurrence


def _perform(what: str, recurrence: Recurrence, dims: Mapping[str, Any], **asked: Any) -> dict[str, bytes]:
    if recurrence.source is None:
        raise ArgumentError(f"{recurrence.name}: a saved kernel has no text to {what}; load the text of the recurrence")
    definition.check_names(recurrence.name, "dim", dims, recurrence.declaration.dims)
    return compiler.perform(
        what,
        recurrence.source,
        source_name=recurrence.source_name,
        recurrence=recurrence.name,
        dims={**recurrence.dims, **options.read_dims(recurrence.name, dims)},
        consts=recurrence.consts,
        **asked,
    ).artifacts


def explain(recurrence: Recurrence, target: Any, backward: Any, dims: Mapping[str, Any]) -> dict[str, bytes]:
    """The report as ``text`` and as ``json``; see :meth:`recur.Recurrence.explain`."""
    if target is not None:
        options.read_text(recurrence.name, "target", target)
    asks = options.read_flag(recurrence.name, "backward", backward)
    return _perform("explain", recurrence, dims, target=target, backward=asks, precision=recurrence.precision)


def check(recurrence: Recurrence, dtype: Any, backward: Any, seed: Any, tokens: Any, hard: Any, dims: Mapping[str, Any]) -> Explanation:
    """The table; see :meth:`recur.Recurrence.check`."""
    name = recurrence.name
    report = _perform(
        "check",
        recurrence,
        dims,
        target=recurrence.target,
        dtype=dtypes.spell(dtypes.check(recurrence.declaration, dtype)),
        plan=recurrence.plan,
        chunk=recurrence.chunk or None,
        quick=recurrence.quick,
        precision=recurrence.precision,
        backward=options.read_flag(name, "backward", backward),
        seed=options.read_count(name, "seed", seed, most=2**64 - 1),
        tokens=options.read_tokens(name, tokens),
        hard=options.read_flag(name, "hard", hard),
    )
    table = Explanation(report["text"].decode())
    if not all(result["pass"] for result in json.loads(report["json"])):
        raise CheckError(table)
    return table


def write_stub(recurrence: Recurrence, arguments: Sequence[str]) -> str:
    """See :meth:`recur.Recurrence.stub`."""
    given = "".join(f"    {name}: _Array,\n" for name in arguments)
    names = ", ".join(value.name for value in parts.list_written(recurrence.declaration.states))
    states = f"_Array | Mapping[str, _Array | None] | None = ..., # {names}"
    return (
        "from collections.abc import Mapping\nfrom typing import Any\n\n_Array = Any\n\n"
        f"def {recurrence.name}(\n{given}    *,\n    initial: {states}\n"
        f"    final: bool | {states.replace(' | None = ...', ' = ...')}\n"
        "    out: _Array | Mapping[str, _Array] | None = ...,\n    offsets: _Array | None = ...,\n"
        "    states_transposed: bool = ...,\n    kept_bytes: int | None = ...,\n    group: Any = ...,\n) -> Any: ...\n"
    )


def describe(recurrence: Recurrence) -> str:
    """What a recurrence takes and gives, in some lines."""
    lines = [f"The recurrence ``{recurrence.name}``.", ""]
    for title, values in (
        ("Inputs", recurrence.declaration.inputs),
        ("Params", recurrence.declaration.params),
        ("States", recurrence.declaration.states),
        ("Outputs", recurrence.declaration.outputs),
    ):
        if values:
            written = parts.list_written(values)
            lines.append(f"{title}: " + ", ".join(("shared " if v.parts[0].shared else "") + str(v) for v in written) + ".")
    return "\n".join(lines)
