"""Recurrences written in Python: a function of one token is run once on symbols, and what it did to them is written down as a text."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import functions
from .errors import TraceError
from .program import Declared, Program, Text
from .symbols import Spot, Symbol, read

# ---- Annotations ----


class _Kind:
    """What an argument is: ``recur.Input`` is a scalar, ``recur.Input["K"]`` a vector and ``recur.Input["V", "K"]`` a matrix, of dims and
    whole numbers; ``recur.Input["N", complex]`` has complex numbers, and ``recur.Input[int]`` integers."""

    word = ""

    def __init__(self, sides: Any = ()) -> None:
        given = sides if isinstance(sides, tuple) else (sides,)
        self.is_complex = complex in given
        self.is_integer = int in given
        if self.is_integer and not isinstance(self, (Input, Shared)):
            raise TraceError(f"only inputs are integers: leave int out of recur.{type(self).__name__}[...]")
        self.sides: list[str | int] = [side for side in given if side is not complex and side is not int]
        for side in self.sides:
            if not isinstance(side, (str, int)) or isinstance(side, bool):
                raise TraceError(f"a side is the name of a dim or a whole number, not {side!r}: write recur.{type(self).__name__}[\"K\"]")

    def __class_getitem__(cls, sides: Any) -> _Kind:
        return cls(sides)


class State(_Kind):
    """Kept from token to token. A default is its start value: a number, or a function of params."""

    word = "state"


class Input(_Kind):
    """A value that each token of each head brings."""

    word = "input"


class Shared(_Kind):
    """An input that a group of heads shares."""

    word = "shared input"


class Param(_Kind):
    """A value for each head, the same for every token."""

    word = "param"


class Dim(_Kind):
    """A size, to compute with; a default is the size if nobody gives another."""

    word = "dim"


class Const(_Kind):
    """A number, fixed when kernels are compiled; its default is its value."""

    word = "const"


# ---- The function in its file ----


@functools.lru_cache(maxsize=64)
def _parse(file: str, text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except SyntaxError:  # as of a notebook's cell with commands in it
        return None


@dataclass(frozen=True)
class _Source:
    """What the file of a function says of it; nothing where there is no file."""

    code: Any
    node: Any

    @staticmethod
    def find(function: Any) -> _Source:
        while not hasattr(function, "__code__"):
            function = getattr(function, "__func__", None) or getattr(function, "func", None) or type(function).__call__
        code = inspect.unwrap(function).__code__
        tree = _parse(code.co_filename, "".join(linecache.getlines(code.co_filename)))
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.FunctionDef):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                if node.name == code.co_name and first == code.co_firstlineno:
                    return _Source(code, node)
        return _Source(code, None)

    def spot(self, node: Any = None) -> Spot:
        if node is None:
            return Spot(self.code.co_filename, self.node.lineno if self.node else self.code.co_firstlineno)
        return Spot(self.code.co_filename, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)

    def spot_of(self, argument: str) -> Spot:
        if self.node is None:
            return self.spot()
        arguments = self.node.args
        found = [a for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs) if a.arg == argument]
        return self.spot(found[0] if found else None)

    def list_returned(self) -> list[str | None]:
        """The names in its only return, None where something else stands."""
        if self.node is None:
            return []
        returns = [node for node in ast.walk(self.node) if isinstance(node, ast.Return)]
        if len(returns) != 1 or not isinstance(returns[0].value, (ast.Tuple, ast.List)):
            return []
        return [item.id if isinstance(item, ast.Name) else None for item in returns[0].value.elts]


@functools.lru_cache(maxsize=64)
def _list_assigned(file: str, text: str) -> dict[int, str]:
    tree, found = _parse(file, text), {}
    for node in ast.walk(tree) if tree else ():
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else getattr(node, "target", None)
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and isinstance(target, ast.Name):
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                found[line] = target.id
    return found


def name_at(spot: Spot) -> str | None:
    """The variable that the statement there assigns."""
    return _list_assigned(spot.file, "".join(linecache.getlines(spot.file))).get(spot.line)


# ---- Tracing ----


def _read_annotations(name: str, function: Any) -> list[tuple[inspect.Parameter, _Kind]]:
    try:
        parameters = inspect.signature(function, eval_str=True).parameters.values()
    except NameError as error:
        raise TraceError(f"{name}: an annotation cannot be read: {error}; import what it names at the top of the module") from None
    found = []
    for parameter in parameters:
        kind: Any = parameter.annotation
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TraceError(f"{name}: each argument has a name of its own; '*{parameter.name}' has none")
        if isinstance(kind, type) and issubclass(kind, _Kind):
            kind = kind()
        has_default = parameter.default is not parameter.empty
        if kind is parameter.empty and has_default and isinstance(parameter.default, (int, float)):
            kind = Const()
        if not isinstance(kind, _Kind):
            written = "has no annotation" if kind is parameter.empty else f"is annotated as {kind!r}"
            raise TraceError(
                f"{name}: the argument '{parameter.name}' {written}; write {parameter.name}: recur.State[\"V\", \"K\"], recur.Input[\"K\"], "
                "recur.Shared[...], recur.Param[...], recur.Dim or recur.Const, without [...] for a scalar"
            )
        if isinstance(kind, Const) and not has_default:
            raise TraceError(f"{name}: the const '{parameter.name}' has no value; give it as a default: {parameter.name}: recur.Const = 1.0")
        if has_default and not isinstance(kind, (State, Dim, Const)):
            raise TraceError(f"{name}: '{parameter.name}' has a default, and every call brings it; states, dims and consts have defaults")
        found.append((parameter, kind))
    return found


def _read_start(name: str, default: Any, symbols: Mapping[str, Symbol]) -> Symbol | None:
    """What a state starts as."""
    if default is inspect.Parameter.empty:
        return None
    if not callable(default):
        return read(default)
    wanted = list(inspect.signature(default).parameters)
    missing = [word for word in wanted if word not in symbols]
    if missing:
        raise TraceError(f"{name}: a state starts as a function of params, dims and consts, and '{missing[0]}' is none of them")
    return read(default(*(symbols[word] for word in wanted)))


def _split_results(name: str, results: Any, states: Sequence[str], source: _Source) -> tuple[list[Symbol], dict[str, Symbol]]:
    """The states after the token, and the outputs by their names."""
    given = list(results) if isinstance(results, (tuple, list)) else [results]
    expected = ", ".join([*states, "and the outputs"])
    if results is None or len(given) <= len(states):
        raise TraceError(f"{name} returns {0 if results is None else len(given)} values; it returns the states after the token and then what goes out: {expected}")
    rest = given[len(states) :]
    after = [read(value) for value in given[: len(states)]]
    if len(rest) == 1 and isinstance(rest[0], Mapping):
        return after, {str(word): read(value) for word, value in rest[0].items()}
    words = source.list_returned()[len(states) :]
    if len(words) != len(rest):
        words = [None] * len(rest)
    usual = ["o"] if len(rest) == 1 else [f"o{place}" for place in range(1, len(rest) + 1)]
    names = [word if word and words.count(word) == 1 and word not in states else other for word, other in zip(words, usual)]
    return after, {word: read(value) for word, value in zip(names, rest)}


def trace(function: Callable[..., Any]) -> Text:
    """The text that the function stands for, and which line of Python each part of it is from."""
    source = _Source.find(function)
    name = getattr(function, "__name__", None) or type(function).__name__
    if not name.isidentifier() or not name.isascii():
        raise TraceError(f"a recurrence has the name of its function, and {name!r} is none that the language takes; write a def")
    annotations = _read_annotations(name, function)
    program = Program(name, source.spot(), name_at)
    symbols: dict[str, Symbol] = {}
    for parameter, kind in annotations:
        symbols[parameter.name] = Symbol("name", parameter.name, spot=source.spot_of(parameter.name))
    fixed = {p.name: symbols[p.name] for p, kind in annotations if isinstance(kind, (Param, Dim, Const))}
    for parameter, kind in annotations:
        start = _read_start(name, parameter.default, fixed) if isinstance(kind, (State, Dim, Const)) else None
        numbers = "complex " if kind.is_complex else "int " if kind.is_integer else ""
        program.declare(Declared(kind.word, parameter.name, kind.sides, numbers, start, symbols[parameter.name]))
    before, functions.restarts = functions.restarts, []
    by_name = {p.name: symbols[p.name] for p, _ in annotations if p.kind is p.KEYWORD_ONLY}
    try:
        results = function(*(symbols[p.name] for p, _ in annotations if p.kind is not p.KEYWORD_ONLY), **by_name)
        program.restarts = functions.restarts
    finally:
        functions.restarts = before
    states = [p.name for p, kind in annotations if isinstance(kind, State)]
    after, outputs = _split_results(name, results, states, source)
    return program.write(dict(zip(states, after)), outputs)

