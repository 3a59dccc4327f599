"""Recurrences of one token, compiled to kernels, as functions of NumPy, JAX and PyTorch arrays.

>>> import recur
>>> gdn = recur.library.gated_delta_net
>>> o, S = gdn(q, k, v, g, beta, initial={"S": S0}, final=True)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from . import _native, cache, compiler, debug, kernels, library
from .declaration import Declaration, Value, read_all
from .errors import (
    ArgumentError,
    CacheWarning,
    CheckError,
    CompileError,
    CompilerFault,
    CopyWarning,
    Diagnostic,
    Error,
    LoadError,
    NoGradientError,
)
from .recurrence import Recurrence
from .rich import Explanation

__all__ = [
    "ArgumentError",
    "CacheWarning",
    "CheckError",
    "CompileError",
    "CompilerFault",
    "CopyWarning",
    "Declaration",
    "Diagnostic",
    "Error",
    "Explanation",
    "LoadError",
    "NoGradientError",
    "Recurrence",
    "Value",
    "cache",
    "compile",
    "debug",
    "define",
    "library",
    "load",
    "save",
    "set_threads",
    "threads",
]


def define(
    text: str,
    *,
    recurrence: str | None = None,
    source_name: str = "source",
    dims: Mapping[str, int] | None = None,
    consts: Mapping[str, float] | None = None,
    target: str = "host",
    plan: str = "auto",
    chunk: int = 0,
    quick: bool = False,
) -> Recurrence:
    """The recurrence that a text declares; ``recurrence`` names one of several.

    ``target``, ``plan`` and ``chunk`` are those of ``recurc build``, ``dims`` and ``consts`` sizes and numbers in place of
    the text's own; ``quick`` kernels compile in a fifth of the time, and run slower. Raises :class:`recur.CompileError` where the text has mistakes of syntax; others are found when it is
    explained or called, which is when sizes are known.
    """
    described, _ = compiler.perform("describe", text, source_name=source_name, recurrence=recurrence)
    found = read_all(described["json"])
    if len(found) != 1:
        names = ", ".join(declaration.name for declaration in found) or "none"
        raise ArgumentError(f"{source_name} has {len(found)} recurrences ({names}); name one of them by recurrence=")
    if not found[0].names_its_sides():
        compiler.perform("explain", text, source_name=source_name, recurrence=recurrence)  # which says where they are not
    return Recurrence(
        found[0], text, source_name, dims=dims, consts=consts, target=target, plan=plan, chunk=chunk, quick=quick
    )


def load(path: str | os.PathLike[str], **options: Any) -> Recurrence:
    """The recurrence of a ``.recur`` file, with the options of :func:`define`; or of a file that :func:`save` wrote, for
    which the compiler is not needed."""
    path = os.fspath(path)
    try:
        with open(path, "rb") as file:
            content = file.read(4)
            if content != b"\x7fELF":
                text = (content + file.read()).decode(errors="replace")
    except OSError as error:
        raise LoadError(f"{path} cannot be read: {error.strerror}") from None
    if content != b"\x7fELF":
        return define(text, source_name=path, **options)
    if options:
        raise ArgumentError(f"{path} is compiled already; it takes no options")
    loaded, facts = kernels.load_file(path)
    return Recurrence(
        loaded.declaration, None, path, dims=facts["dims"], target=facts["target"], loaded=loaded, dtype=facts["dtype"]
    )


def _read_sizes(recurrence: Recurrence, sizes: Mapping[str, Any]) -> kernels.Request:
    dims = {name: size for name, size in sizes.items() if name not in ("dtype", "backward")}
    return recurrence.request(dims, str(sizes.get("dtype", "float32")), bool(sizes.get("backward", False)))


def compile(recurrence: Recurrence, ahead: Iterable[Mapping[str, Any]]) -> Recurrence:
    """Compiles kernels before they are needed, and keeps them in the cache: for each of ``ahead``, such as
    ``{"K": 128, "V": 128, "dtype": "bfloat16", "backward": True}``. Gives the recurrence back."""
    for sizes in ahead:
        kernels.get(_read_sizes(recurrence, sizes))
    return recurrence


def save(
    recurrence: Recurrence, path: str | os.PathLike[str], *, dtype: str = "float32", backward: bool = False, **dims: int
) -> None:
    """Writes a shared object with the kernels for these sizes and this type, with ``backward`` of the gradient too: :func:`load` takes it where there is no
    compiler, and C programs can load it, for it has ``NAME_recurrence`` and the functions of ``recur/Runtime.h``."""
    kernels.save(_read_sizes(recurrence, {**dims, "dtype": dtype, "backward": backward}), os.fspath(path))


def threads() -> int:
    """How many threads kernels run on, the caller's among them; PyTorch's tensors have those of PyTorch (:func:`set_threads`)."""
    return _native.thread_count()


def set_threads(count: int) -> None:
    """Sets that number, which holds from the first call on, of PyTorch's tensors too: without it, and without ``RECUR_THREADS``,
    calls on these run on PyTorch's own threads, ``torch.get_num_threads()`` of them."""
    if not _native.set_thread_count(count):
        raise ArgumentError(f"the number of threads cannot become {count}: it is from 1 to 1024, and set before the first call")
