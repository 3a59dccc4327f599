"""Recurrences of one token, compiled to kernels, as functions of NumPy, JAX and PyTorch arrays.

>>> import recur
>>> gdn = recur.library.gated_delta_net
>>> o, S = gdn(q, k, v, g, beta, initial={"S": S0}, final=True)
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, overload

from . import _native, cache, compiler, debug, definition, errors, functions, kernels, library, options, trace
from .declaration import Declaration, Value
from .errors import (
    ArgumentError,
    CacheWarning,
    CheckError,
    CompileError,
    CompilerFault,
    CompileWarning,
    CopyWarning,
    EnvironmentWarning,
    Diagnostic,
    Error,
    ExchangeError,
    LoadError,
    NoGradientError,
    TraceError,
)
from .options import Options
from .judge import Judgement, judge
from .recurrence import Recurrence
from .rich import Explanation
from .trace import Const, Dim, Input, Param, Shared, State

__all__ = [
    "ArgumentError",
    "CacheWarning",
    "CheckError",
    "CompileError",
    "CompileWarning",
    "CompilerFault",
    "Const",
    "CopyWarning",
    "EnvironmentWarning",
    "Declaration",
    "Diagnostic",
    "Dim",
    "Error",
    "ExchangeError",
    "Explanation",
    "Input",
    "Judgement",
    "LoadError",
    "NoGradientError",
    "Param",
    "Recurrence",
    "Shared",
    "State",
    "TraceError",
    "Value",
    "cache",
    "compile",
    "debug",
    "define",
    "judge",
    "library",
    "load",
    "recurrence",
    "save",
    "set_threads",
    "threads",
]

__version__ = _native.version

#: Modules that are imported when they are first named, each for a library that need not be installed.
_MODULES = {"fla": "", "jax": "JAX", "torch": "PyTorch", "transformers": "PyTorch"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            raise AttributeError(f"recur.{name} needs {_MODULES[name]}, which is not installed: {error}") from None
    if name in functions.__all__:
        return getattr(functions, name)
    raise AttributeError(f"module 'recur' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, *functions.__all__, *(name for name in globals() if name.startswith("__"))])


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
    precision: str | None = None,
) -> Recurrence:
    """Makes the recurrence that a text declares; if the text has several, ``recurrence`` names one.

    ``target``, ``plan`` and ``chunk`` are the options of ``recurc build``. ``dims`` and ``consts`` replace sizes and numbers of the text.
    With ``quick``, kernels compile in a fifth of the time and run slower. ``precision`` says how a GPU multiplies what is made of float32
    data: ``"exact"``, or ``"tf32"``, with factors of 11 bits; without it PyTorch's tensors follow
    ``torch.get_float32_matmul_precision()``, and all else is exact. Raises :class:`recur.CompileError` if the text has
    mistakes, and issues the compiler's warnings as :class:`recur.CompileWarning`. Sizes are not known before the first call, so
    mistakes that depend on sizes are found then.
    """
    _refuse_path(text)
    source_name = options.read_text("define", "source_name", source_name)
    if recurrence is not None:
        options.read_text("define", "recurrence", recurrence)
    chosen = options.Options.read("define", dims, consts, target, plan, chunk, quick, precision)
    declaration = definition.describe(text, source_name, recurrence)
    warning = definition.verify(text, source_name, declaration, chosen)
    if warning:
        errors.warn(warning, CompileWarning)
    return Recurrence(declaration, text, source_name, chosen)


@overload
def recurrence(function: Callable[..., Any], /) -> Recurrence: ...
@overload
def recurrence(**options: Any) -> Callable[[Callable[..., Any]], Recurrence]: ...
def recurrence(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Makes a recurrence of a Python function of one token. It is a decorator, and takes the options of :func:`define`.

    >>> @recur.recurrence
    ... def delta_net(S: recur.State["V", "K"], q: recur.Input["K"], k: recur.Input["K"], v: recur.Input["V"], beta: recur.Input):
    ...     S = S + beta * recur.outer(v - S @ k, k)
    ...     return S, S @ q

    The function runs once, on symbols. It gets the states before the token and the token's inputs. It returns the states after the token, in
    their order, and then the outputs; a mapping gives the outputs names. The recurrence's text is ``.text``.
    """
    if function is None:
        return lambda traced: recurrence(traced, **options)
    if not callable(function):
        raise ArgumentError(f"a recurrence is made of a function, not of {function!r}; recur.define takes a text")
    written = trace.trace(function)
    compiler.translators[written.file, written.text] = written.translate
    made = define(written.text, source_name=written.file, recurrence=written.name, **options)
    made.function = function
    made.__doc__ = function.__doc__ or made.__doc__
    return made


def _refuse_path(text: Any) -> None:
    if isinstance(text, os.PathLike) or (isinstance(text, str) and "\n" not in text and text.strip().endswith((".recur", ".so"))):
        raise ArgumentError(f"define takes the text of a recurrence, and {os.fspath(text)!r} is a path; recur.load reads files")
    if not isinstance(text, str):
        raise ArgumentError(f"define takes the text of a recurrence, not {text!r}")


def load(path: str | os.PathLike[str], **options: Any) -> Recurrence:
    """Loads the recurrence of a ``.recur`` file, with the options of :func:`define`, or of a file that :func:`save` wrote. The latter
    needs no compiler, but loading it runs its code: load only files from people you trust."""
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
    return Recurrence(loaded.declaration, None, path, chosen, loaded=loaded)


#: What is compiled besides, where it is asked for.
_FLAGS = ("backward", "summaries", "trees")


def _read_sizes(recurrence: Recurrence, sizes: Mapping[str, Any]) -> kernels.Request:
    if not isinstance(recurrence, Recurrence):
        raise ArgumentError(f"a recurrence is compiled, not {recurrence!r}")
    dims = options.read_dims(recurrence.name, {name: size for name, size in sizes.items() if name not in ("dtype", *_FLAGS)})
    backward, summaries, trees = (options.read_flag(recurrence.name, flag, sizes.get(flag, False)) for flag in _FLAGS)
    return recurrence.request(dims, str(sizes.get("dtype", "float32")), backward, summaries=summaries, trees=trees)


def compile(recurrence: Recurrence, ahead: Iterable[Mapping[str, Any]]) -> Recurrence:
    """Compiles kernels before they are needed, and keeps them in the cache. Each element of ``ahead`` stands for one kernel, such as
    ``{"K": 128, "V": 128, "dtype": "bfloat16,g=float32", "backward": True}``. Returns the recurrence."""
    wanted = [ahead] if isinstance(ahead, (str, Mapping)) or not isinstance(ahead, Iterable) else list(ahead)
    if isinstance(ahead, Mapping) or not all(isinstance(sizes, Mapping) for sizes in wanted):
        raise ArgumentError(f'ahead is a list of mappings, one for each kernel, such as [{{"K": 128, "V": 128}}], not {ahead!r}')
    for sizes in wanted:
        kernels.get(_read_sizes(recurrence, sizes))
    return recurrence


def save(
    recurrence: Recurrence,
    path: str | os.PathLike[str],
    *,
    dtype: str = "float32",
    backward: bool = False,
    summaries: bool = False,
    trees: bool = False,
    **dims: int,
) -> None:
    """Writes a shared object with the kernels for these sizes and types. With ``backward`` it has the gradient's kernels too, with
    ``summaries`` the kernels that calls with ``group=`` need on GPUs, and with ``trees`` those that calls with ``parents=`` need there.
    :func:`load` reads it without a compiler. C programs can load it too, because it has ``NAME_recurrence`` and the functions of
    ``recur/Runtime.h``."""
    asked = {**dims, "dtype": dtype, "backward": backward, "summaries": summaries, "trees": trees}
    kernels.save(_read_sizes(recurrence, asked), os.fspath(path))


def threads() -> int:
    """The number of threads of kernels, the caller's included. Calls on PyTorch's tensors use PyTorch's threads (:func:`set_threads`)."""
    return _native.thread_count()


def set_threads(count: int) -> None:
    """Sets the number of threads of kernels, before the first call, for PyTorch's tensors too. Without it, and without
    ``RECUR_THREADS``, calls on PyTorch's tensors run on PyTorch's own threads, ``torch.get_num_threads()`` of them."""
    if not _native.set_thread_count(options.read_count("set_threads", "the number of threads", count)):
        raise ArgumentError(f"the number of threads cannot become {count}: it is from 1 to 1024, and set before the first call")
