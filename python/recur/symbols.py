"""What a recurrence written in Python computes on while it is traced: symbols, which remember what was done to them and at which
line."""

from __future__ import annotations

import itertools
import math
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from .errors import TraceError

_FOLDER = os.path.dirname(__file__)
_numbers = itertools.count()


class Spot(NamedTuple):
    """A stretch of a Python file. Lines count from 1, columns from 0 in bytes; None where Python does not know them."""

    file: str
    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


def find_spot() -> Spot:
    """What the caller of this package computes just now."""
    frame: Any = sys._getframe(1)
    while os.path.dirname(frame.f_code.co_filename) == _FOLDER and frame.f_back:
        frame = frame.f_back
    code = frame.f_code
    if sys.version_info >= (3, 11):
        line, end_line, column, end_column = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None))
        return Spot(code.co_filename, line or frame.f_lineno, column, end_line, end_column)
    return Spot(code.co_filename, frame.f_lineno)


class Symbol:
    """A value of one token. It is added, multiplied and indexed as arrays are, and :mod:`recur.functions` take it; what it will be is
    not known."""

    __slots__ = ("kind", "named", "operands", "order", "spot", "word")

    def __init__(self, kind: str, word: str, operands: Sequence[Symbol] = (), named: dict[str, Symbol | str] | None = None, spot: Spot | None = None) -> None:
        self.kind = kind  #: name, number, infix, negate, call, index, column or slice
        self.word = word  #: the name, the number, the operator or the function
        self.operands = tuple(operands)
        self.named = named or {}
        self.order = next(_numbers)
        self.spot = spot or find_spot()

    def __repr__(self) -> str:
        return f"<symbol {self.word}>" if self.kind == "name" else f"<symbol of {self.word!r}>"

    def __add__(self, other: Any) -> Any:
        return _infix("+", self, other)

    def __radd__(self, other: Any) -> Any:
        # The sum of a list begins with 0.
        return self if type(other) is int and other == 0 else _infix("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return _infix("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _infix("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return _infix("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _infix("*", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _infix("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _infix("/", other, self)

    def __matmul__(self, other: Any) -> Any:
        return _infix("@", self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _infix("@", other, self)

    def __neg__(self) -> Symbol:
        return Symbol("negate", "-", (self,))

    def __pos__(self) -> Symbol:
        return self

    def __abs__(self) -> Symbol:
        return Symbol("call", "abs", (self,))

    def __pow__(self, power: Any) -> Symbol:
        if not isinstance(power, Symbol) and power == 2:
            return Symbol("infix", "*", (self, self))
        return Symbol("call", "pow", (self, read(power)))

    def __getitem__(self, place: Any) -> Symbol:
        places = place if isinstance(place, tuple) else (place,)
        if len(places) == 2 and isinstance(places[0], slice) and places[0] == slice(None):
            return Symbol("column", "[]", (self, _read_index(places[1])))
        found = self
        for one in places:
            if isinstance(one, slice):
                if one.step is not None or one.start is None or one.stop is None:
                    raise TraceError("a slice names both of its ends, and no step: x[0:K], not x[:K]")
                found = Symbol("slice", "..", (found, _read_index(one.start), _read_index(one.stop)))
            else:
                found = Symbol("index", "[]", (found, _read_index(one)))
            if isinstance(one, slice) and len(places) > 1:
                raise TraceError("a slice has rows as a whole; a column of a matrix is S[:, j]")
        return found

    @property
    def T(self) -> NoReturn:  # noqa: N802
        """There is no transpose."""
        raise TraceError("there is no transpose: write x @ S for S.T @ x, and outer(b, a) for outer(a, b).T")

    def __bool__(self) -> NoReturn:
        raise TraceError(
            "an 'if', 'while', 'and', 'or' or 'not' asks for the value of a symbol, which is known only when there is a token; compute both "
            "ways and choose by recur.where(c, a, b)"
        )

    def __iter__(self) -> NoReturn:
        raise TraceError("a symbol is not looped over, for its size comes with the arrays: write for j in range(4), and x[j]")

    def __index__(self) -> NoReturn:
        raise TraceError("a size that comes with the arrays is no number here: loop over range(4), with 4 in the annotation too")

    __len__ = __int__ = __float__ = __index__

    # A comparison is 1 where it holds and 0 elsewhere, and no bool.
    def __lt__(self, other: Any) -> Symbol:
        return _infix("<", self, other)

    def __le__(self, other: Any) -> Symbol:
        return _infix("<=", self, other)

    def __gt__(self, other: Any) -> Symbol:
        return _infix(">", self, other)

    def __ge__(self, other: Any) -> Symbol:
        return _infix(">=", self, other)

    def __eq__(self, other: Any) -> Symbol:  # type: ignore[override]
        return _infix("==", self, other)

    def __ne__(self, other: Any) -> Symbol:  # type: ignore[override]
        return _infix("!=", self, other)

    __hash__ = object.__hash__

    def __mod__(self, other: Any) -> Symbol:
        return Symbol("call", "mod", (self, read(other)))

    def __rmod__(self, other: Any) -> Symbol:
        return read(other) % self

    def __floordiv__(self, other: Any) -> Symbol:
        return Symbol("call", "floor", (self / other,))

    def __rfloordiv__(self, other: Any) -> Symbol:
        return read(other) // self

    def __array_ufunc__(self, function: Any, method: str, *operands: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            raise TraceError(f"numpy.{function.__name__}.{method} does not take symbols; recur.sum and recur.dot do")
        return apply_foreign("numpy", function.__name__, operands)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, operands: Any = (), options: Any = None) -> Any:
        if options:
            raise TraceError(f"torch.{function.__name__} takes symbols without other arguments")
        return apply_foreign("torch", function.__name__, operands)


_INFIX = {"add": "+", "sub": "-", "subtract": "-", "mul": "*", "multiply": "*", "div": "/", "divide": "/", "true_divide": "/", "matmul": "@"}
_INFIX |= {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!="}
_INFIX |= {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_OTHER_NAMES = {"remainder": "mod", "absolute": "abs", "maximum": "max", "minimum": "min", "power": "pow", "float_power": "pow", "log_sigmoid": "logsigmoid"}
#: The functions of the language; :mod:`recur.functions` fills it.
KNOWN: dict[str, Callable[..., Symbol]] = {}


def apply_foreign(library: str, name: str, operands: Sequence[Any]) -> Any:
    """A function of NumPy's or PyTorch's on symbols: what the language calls so."""
    name = name.strip("_")
    name = {"rmul": "mul", "radd": "add"}.get(name, name)
    if name in _INFIX:
        return _infix(_INFIX[name], *operands)
    if name in ("neg", "negative"):
        return -read(operands[0])
    known = KNOWN.get(_OTHER_NAMES.get(name, name))
    if known is None:
        raise TraceError(f"{library}.{name} does not take symbols; dir(recur.functions) lists what does")
    return known(*operands)


def read(value: Any) -> Symbol:
    """A symbol, or a number, which becomes one."""
    if isinstance(value, Symbol):
        return value
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise TraceError(f"a recurrence computes with its arguments and with numbers, not with {value!r}") from None
    if not math.isfinite(number):
        raise TraceError(f"numbers in a recurrence are finite, and this is {number}")
    if number < 0:
        return Symbol("negate", "-", (read(-value),))
    return Symbol("number", str(int(number)) if number == int(number) and number < 1e15 else repr(number))


def _read_index(value: Any) -> Symbol:
    if not isinstance(value, Symbol) and (not hasattr(value, "__index__") or int(value) < 0):
        raise TraceError(f"an index counts from 0, and is a whole number, not {value!r}")
    return read(value)


def _infix(operator: str, left: Any, right: Any) -> Symbol:
    return Symbol("infix", operator, (read(left), read(right)))
