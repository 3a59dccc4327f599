"""A definition is checked as a whole where it is made, though the sizes of its dims come with the arrays."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from . import compiler
from .declaration import Declaration, read_all
from .errors import ArgumentError, CompileError, suggest
from .options import Options


def check_names(where: str, kind: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Raises where a dim or a const is named that the text does not declare."""
    for name in given:
        if name not in known:
            raise ArgumentError(f"{where}: there is no {kind} '{name}'" + suggest(name, known))


def rename_arguments(where: str, names: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """By which keyword an input or param is given whose own name is a word of Python's (``lambda``) or of the call's (``out``): by the
    name with ``_`` behind it. The names, by these keywords."""
    names = list(names)
    other = {name + "_": name for name in names if keyword.iskeyword(name) or name in taken}
    for word, name in other.items():
        if word in names:
            raise ArgumentError(
                f"{where}: '{name}' would be given as '{word}', for a call has a '{name}' of its own, and '{word}' is another input or param; "
                f"give '{name}' another name in the text"
            )
    return other


def describe(source: str, source_name: str, recurrence: str | None) -> Declaration:
    """What the text declares of the one recurrence that it has, or that is named."""
    found = read_all(compiler.perform("describe", source, source_name=source_name, recurrence=recurrence).artifacts["json"])
    if len(found) != 1:
        names = ", ".join(declaration.name for declaration in found) or "none"
        raise ArgumentError(f"{source_name} has {len(found)} recurrences ({names}); name one of them by recurrence=")
    return found[0]


def _assume(dims: list[str]) -> Iterator[dict[str, int]]:
    """Sizes for dims that have none. A slice such as ``x[0..K - N]`` needs a larger K, and ``K / 3`` a multiple of three."""
    for size in (64, 360, 2520, 1):
        yield dict.fromkeys(dims, size)
    for order in (dims, dims[::-1]):
        yield {name: 24 << min(place, 7) for place, name in enumerate(order)}


def verify(source: str, source_name: str, declaration: Declaration, options: Options) -> str:
    """Raises :class:`recur.CompileError` where the text is wrong whatever the sizes of its dims are, or an option names what there is
    not. Gives the warnings, as ``recurc`` prints them."""
    check_names(declaration.name, "dim", options.dims, declaration.dims)
    check_names(declaration.name, "const", options.consts, declaration.consts)
    unknown = [name for name, size in declaration.dims.items() if size is None and name not in options.dims]
    first: CompileError | None = None
    for assumed in _assume(unknown) if unknown else iter([{}]):
        try:
            return compiler.perform(
                "compile",
                source,
                source_name=source_name,
                recurrence=declaration.name,
                dims={**assumed, **options.dims},
                consts=options.consts,
                target=options.target,
                plan=options.plan,
                chunk=options.chunk or None,
                precision=options.precision,
            ).text.rstrip("\n")
        except CompileError as error:
            first = first or error
            if not error.is_about_the_text:
                break
    assert first
    raise first
