"""Recurrences of one token, compiled to kernels, as functions of NumPy, JAX and PyTorch arrays.

>>> import recur
>>> gdn = recur.library.gated_delta_net
>>> o, S = gdn(q, k, v, g, beta, initial={"S": S0}, final=True)
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping
from typing import Any

from . import _native, cache, compiler, debug, definition, errors, kernels, library, options
from .declaration import Declaration, Value
from .errors import (
    ArgumentError,
    CacheWarning,
    CheckError,
    CompileError,
    CompilerFault,
    CompileWarning,
    CopyWarning,
    Diagnostic,
    Error,
    LoadError,
    NoGradientError,
)
from .options import Options
from .recurrence import Recurrence
from .rich import Explanation

__all__ = [
    "ArgumentError",
    "CacheWarning",
    "CheckError",
    "CompileError",
    "CompileWarning",
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

#: Modules that are imported when they are first named, each for a library that need not be installed.
_MODULES = {"fla": "", "jax": "JAX", "torch": "PyTorch", "transformers": "PyTorch"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            raise AttributeError(f"recur.{name} needs {_MODULES[name]}, which is not installed: {error}") from None
    raise AttributeError(f"module 'recur' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, *(name for name in globals() if name.startswith("__"))])


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

    ``target``, ``plan`` and ``chunk`` are those of ``recurc build``, ``dims`` and ``consts`` sizes and numbers in place of the text's
    own; ``quick`` kernels compile in a fifth of the time, and run slower. Raises :class:`recur.CompileError` where the text has
    mistakes, and gives what the compiler warns of as a :class:`recur.CompileWarning`. Sizes are not known before the first call, so
    that what depends on them is found then.
    """
    _refuse_path(text)
    source_name = options.read_text("define", "source_name", source_name)
    if recurrence is not None:
        options.read_text("define", "recurrence", recurrence)
    chosen = options.Options.read("define", dims, consts, target, plan, chunk, quick)
    declaration = definition.describe(text, source_name, recurrence)
    warning = definition.verify(text, source_name, declaration, chosen)
    if warning:
        errors.warn(warning, CompileWarning)
    return Recurrence(declaration, text, source_name, chosen)


def _refuse_path(text: Any) -> None:
    if isinstance(text, os.PathLike) or (isinstance(text, str) and "\n" not in text and text.strip().endswith((".recur", ".so"))):
        raise ArgumentError(f"define takes the text of a recurrence, and {os.fspath(text)!r} is a path; recur.load reads files")
    if not isinstance(text, str):
        raise ArgumentError(f"define takes the text of a recurrence, not {text!r}")


def load(path: str | os.PathLike[str], **options: Any) -> Recurrence:
    """The recurrence of a ``.recur`` file, with the options of :func:`define`; or of a file that :func:`save` wrote, for which the
    compiler is not needed. Loading such a file runs its code: load only files whose writer you trust."""
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentError(f"load takes the path of a file, not {path!r}")
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
    chosen = Options(dims=facts["dims"], target=facts["target"])
    return Recurrence(loaded.declaration, None, path, chosen, loaded=loaded, dtype=facts["dtype"])


def _read_sizes(recurrence: Recurrence, sizes: Mapping[str, Any]) -> kernels.Request:
    if not isinstance(recurrence, Recurrence):
        raise ArgumentError(f"a recurrence is compiled, not {recurrence!r}")
    dims = options.read_dims(recurrence.name, {name: size for name, size in sizes.items() if name not in ("dtype", "backward")})
    backward = options.read_flag(recurrence.name, "backward", sizes.get("backward", False))
    return recurrence.request(dims, str(sizes.get("dtype", "float32")), backward)


def compile(recurrence: Recurrence, ahead: Iterable[Mapping[str, Any]]) -> Recurrence:
    """Compiles kernels before they are needed, and keeps them in the cache: for each of ``ahead``, such as
    ``{"K": 128, "V": 128, "dtype": "bfloat16", "backward": True}``. Gives the recurrence back."""
    wanted = [ahead] if isinstance(ahead, (str, Mapping)) or not isinstance(ahead, Iterable) else list(ahead)
    if isinstance(ahead, Mapping) or not all(isinstance(sizes, Mapping) for sizes in wanted):
        raise ArgumentError(f'ahead is a list of mappings, one for each kernel, such as [{{"K": 128, "V": 128}}], not {ahead!r}')
    for sizes in wanted:
        kernels.get(_read_sizes(recurrence, sizes))
    return recurrence


def save(
    recurrence: Recurrence, path: str | os.PathLike[str], *, dtype: str = "float32", backward: bool = False, **dims: int
) -> None:
    """Writes a shared object with the kernels for these sizes and this type, with ``backward`` of the gradient too: :func:`load`
    takes it where there is no compiler, and C programs can load it, for it has ``NAME_recurrence`` and the functions of
    ``recur/Runtime.h``."""
    kernels.save(_read_sizes(recurrence, {**dims, "dtype": dtype, "backward": backward}), os.fspath(path))


def threads() -> int:
    """How many threads kernels run on, the caller's among them; PyTorch's tensors have those of PyTorch (:func:`set_threads`)."""
    return _native.thread_count()


def set_threads(count: int) -> None:
    """Sets that number, which holds from the first call on, of PyTorch's tensors too: without it, and without ``RECUR_THREADS``,
    calls on these run on PyTorch's own threads, ``torch.get_num_threads()`` of them."""
    if not _native.set_thread_count(options.read_count("set_threads", "the number of threads", count)):
        raise ArgumentError(f"the number of threads cannot become {count}: it is from 1 to 1024, and set before the first call")
