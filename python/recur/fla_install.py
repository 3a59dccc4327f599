"""The calls of :mod:`recur.fla` in place of those of flash-linear-attention itself, in this process."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

from .errors import LoadError
from .fla_context import Context

_Function = Callable[..., Any]

#: What tells that library how to compute, and not what.
_HINTS = {"chunk_indices", "chunk_size", "disable_recompute", "lower_bound", "max_num_seqs", "safe_gate", "solve_tril_precision", "use_graph"}

#: Modules of operators that its own `fla.ops` does not import.
_APART = ("fla.ops.diag_kdn", "fla.ops.gdn2", "fla.ops.lightnet")

#: What was replaced: a module, a name in it, and what it was.
_replaced: list[tuple[Any, str, _Function]] = []


def _stand_in(own: _Function, library: _Function) -> _Function:
    """A function with the library's arguments and defaults. What is not taken here goes the library's way: an argument that there is none of,
    and that library's own context of several processes."""
    parameters = inspect.signature(library).parameters
    names = list(parameters)
    defaults = {name: parameter.default for name, parameter in parameters.items() if parameter.default is not inspect.Parameter.empty}
    known = inspect.signature(own).parameters.keys()
    # In that library's first versions `w` was what minus its exponential is the decay's logarithm.
    has_older_decay = "log_w" in known and "log_w" in names

    @functools.wraps(library)
    def call(*arguments: Any, **named: Any) -> Any:
        given = {**defaults, **dict(zip(names, arguments)), **named}
        if has_older_decay and given.get("w") is not None:
            given["log_w"] = -given.pop("w").exp()
        taken = {name: value for name, value in given.items() if name in known}
        others = {name for name, value in given.items() if name not in known and name not in _HINTS and value is not None and value is not False}
        context = given.get("cp_context")
        if others or (context is not None and not isinstance(context, Context)):
            return library(*arguments, **named)
        return own(**taken)

    return call


def install(own: Mapping[str, _Function]) -> list[str]:
    """Puts these functions wherever modules of the package ``fla`` have its own. Gives the names of those that were found."""
    try:
        importlib.import_module("fla.ops")
    except ModuleNotFoundError as error:
        raise LoadError(
            f"recur.fla.install replaces calls of flash-linear-attention, which is not installed here ({error}); without that library call "
            "recur.fla itself"
        ) from error
    for name in _APART:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    uninstall()
    modules = [module for name, module in list(sys.modules.items()) if module is not None and name.partition(".")[0] == "fla"]
    found: dict[str, _Function] = {}
    for name in own:
        found.update((name, vars(module)[name]) for module in modules if callable(vars(module).get(name)))
    stand_ins = {id(function): _stand_in(own[name], function) for name, function in found.items()}
    for module in modules:
        for name, value in list(vars(module).items()):
            if id(value) in stand_ins:
                _replaced.append((module, name, value))
                setattr(module, name, stand_ins[id(value)])
    return sorted(found)


def uninstall() -> None:
    """Puts everything back."""
    while _replaced:
        module, name, value = _replaced.pop()
        setattr(module, name, value)
