"""The text of a traced recurrence, and the Python lines that its parts are from."""

from __future__ import annotations

import itertools
import linecache
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .errors import Diagnostic, Place, TraceError
from .symbols import KNOWN, Spot, Symbol

_KEYWORDS = {"recurrence", "fn", "dim", "const", "shared", "input", "param", "state", "let", "output", "restart", "for", "in", "scalar", "token"}
_LEVELS = {"+": 1, "-": 1, "*": 2, "/": 2, "@": 3}
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")  # below all others, and never one behind another
_UNARY, _POSTFIX = 4, 5
_DEEPEST, _LONGEST = 30, 90  # of an expression that stands in another one


@dataclass(frozen=True)
class Declared:
    """An argument of the function, as the text declares it."""

    word: str
    name: str
    sides: Sequence[str | int]
    numbers: str  # what stands before the word: "complex " or "int ", or nothing
    start: Symbol | None
    symbol: Symbol


@dataclass
class _Line:
    """A line of the text; the parts of it that have a spot of their own, by their columns."""

    text: str
    spot: Spot
    parts: list[tuple[int, int, Spot]] = field(default_factory=list)

    def put(self, text: str, spot: Spot | None = None) -> None:
        if spot:
            self.parts.append((len(self.text), len(self.text) + len(text), spot))
        self.text += text

    def find(self, begin: int, end: int) -> Spot:
        """The smallest part that has these columns."""
        found = [part for part in self.parts if part[0] <= begin and end <= part[1]]
        return min(found, key=lambda part: part[1] - part[0])[2] if found else self.spot


class Text:
    """A text, and where its parts are from."""

    def __init__(self, name: str, lines: list[_Line]) -> None:
        self._lines = lines
        self.name = name
        self.text = "".join(line.text + "\n" for line in lines)

    @property
    def file(self) -> str:
        """The file of the function."""
        return self._lines[0].spot.file

    def _find(self, place: Place) -> Spot | None:
        if not 1 <= place.line <= len(self._lines):
            return None
        last = place.end_column if place.end_line == place.line else len(self._lines[place.line - 1].text) + 1
        return self._lines[place.line - 1].find(place.column - 1, last - 1)

    def _show(self, severity: str, place: Place, message: str) -> str:
        """As ``recurc`` shows a place, in the Python file."""
        spot = self._find(place)
        if spot is None:
            return f"{severity}: {message}\n"
        column = "" if spot.column is None else f":{spot.column + 1}"
        shown = f"{spot.file}:{spot.line}{column}: {severity}: {message}\n"
        line = linecache.getline(spot.file, spot.line).rstrip("\n")
        if line and severity != "help":
            shown += f"  {line}\n"
            if spot.column is not None and line.isascii():
                end = spot.end_column if spot.end_line == spot.line and spot.end_column else len(line)
                shown += "  " + " " * spot.column + "^" + "~" * (end - spot.column - 1) + "\n"
        return shown

    def _move(self, place: Place) -> Place:
        spot = self._find(place)
        if spot is None:
            return place
        column = 0 if spot.column is None else spot.column + 1
        return Place(spot.line, column, spot.end_line or spot.line, 0 if spot.end_column is None else spot.end_column + 1)

    def translate(self, diagnostics: Sequence[Diagnostic]) -> tuple[str, list[Diagnostic]]:
        """What the compiler says of the text, said of the Python file."""
        shown, moved = "", []
        for diagnostic in diagnostics:
            code = f" [{diagnostic.code}]" if diagnostic.code else ""
            shown += self._show(diagnostic.severity, diagnostic.place, diagnostic.message + code)
            for remark in diagnostic.remarks:
                elsewhere = remark.severity == "note" and remark.place.line
                shown += self._show("note", remark.place, remark.message) if elsewhere else f"{remark.severity}: {remark.message}\n"
            remarks = tuple(replace(remark, place=self._move(remark.place), replacement=None) for remark in diagnostic.remarks)
            moved.append(replace(diagnostic, place=self._move(diagnostic.place), remarks=remarks))
        return shown, moved


@dataclass
class _Statement:
    order: tuple[float, int]
    head: str
    value: Symbol
    spot: Spot
    defines: bool = False  # whether it computes the value, which has a name from here on


class Program:
    """What a function declared and did."""

    def __init__(self, name: str, spot: Spot, name_at: Callable[[Spot], str | None]) -> None:
        self._name, self._spot, self._name_at = name, spot, name_at
        self._declared: list[Declared] = []
        self.restarts: list[Symbol] = []
        self._names: dict[int, str] = {}  # what stands for a symbol, by its id
        self._kept: list[_Statement] = []

    def declare(self, declared: Declared) -> None:
        """Adds an argument."""
        self._declared.append(declared)
        self._names[id(declared.symbol)] = declared.name

    # ---- Expressions ----

    @staticmethod
    def _list_operands(symbol: Symbol) -> list[Symbol]:
        return [*symbol.operands, *(value for value in symbol.named.values() if isinstance(value, Symbol))]

    def _list_all(self, roots: Sequence[Symbol]) -> list[Symbol]:
        """In the order in which they were computed."""
        found: dict[int, Symbol] = {}
        left = list(roots)
        while left:
            symbol = left.pop()
            if id(symbol) not in found:
                found[id(symbol)] = symbol
                left += self._list_operands(symbol)
        return sorted(found.values(), key=lambda symbol: symbol.order)

    def _list_read(self, statement: _Statement) -> Iterator[Symbol]:
        """The declared symbols that stand in it."""
        left = [statement.value]
        while left:
            one = left.pop()
            if one.kind == "name":
                yield one
            elif (one is statement.value and statement.defines) or id(one) not in self._names:
                left += self._list_operands(one)

    def _write(self, line: _Line, symbol: Symbol, level: int = 0, is_defined: bool = False) -> None:
        begin, name = len(line.text), self._names.get(id(symbol))
        if name and not is_defined:
            line.put(name)
        elif symbol.kind == "name" and symbol.word != "token":
            raise TraceError(f"{self._name}: the value '{symbol.word}' belongs to another recurrence, and cannot be computed with here")
        elif symbol.kind in ("name", "number"):
            line.put(symbol.word)
        elif symbol.kind in ("infix", "negate"):
            own = _LEVELS.get(symbol.word, 0) if symbol.kind == "infix" else _UNARY
            line.put("(" * (own < level))
            if symbol.kind == "negate":
                line.put("-")
                self._write(line, symbol.operands[0], _UNARY)
            else:
                self._write(line, symbol.operands[0], own + (symbol.word in _COMPARISONS))
                line.put(f" {symbol.word} ")
                self._write(line, symbol.operands[1], own + 1)
            line.put(")" * (own < level))
        elif symbol.kind == "call":
            line.put(symbol.word + "(")
            pairs = [("", operand) for operand in symbol.operands] + [(f"{word} = ", value) for word, value in symbol.named.items()]
            for place, (head, value) in enumerate(pairs):
                line.put(", " * (place > 0) + head)
                if isinstance(value, str):
                    line.put(value)
                else:
                    self._write(line, value)
            line.put(")")
        else:
            self._write(line, symbol.operands[0], _POSTFIX)
            line.put("[:, " if symbol.kind == "column" else "[")
            for place, operand in enumerate(symbol.operands[1:]):
                line.put(".." * (place > 0))
                self._write(line, operand, 1)
            line.put("]")
        line.parts.append((begin, len(line.text), symbol.spot))

    # ---- Names ----

    def _choose_name(self, symbol: Symbol, taken: set[str]) -> str:
        word = self._name_at(symbol.spot) or "value"
        if not word.isascii() or word in _KEYWORDS or word in KNOWN:
            word = "value"
        name, count = word, 0
        while name in taken:
            count += 1
            name = f"{word}_{count}"
        taken.add(name)
        return name

    def _name_values(self, roots: Sequence[Symbol], taken: set[str]) -> list[Symbol]:
        """Gives those a name that are used more than once, or would make a statement long. In the order of their computation."""
        symbols = self._list_all(roots)
        uses: dict[int, int] = {}
        for symbol in [*roots, *(operand for symbol in symbols for operand in self._list_operands(symbol))]:
            uses[id(symbol)] = uses.get(id(symbol), 0) + 1
        depth: dict[int, int] = {}
        length: dict[int, int] = {}
        named = []
        for symbol in symbols:
            inner = [one for one in self._list_operands(symbol) if id(one) not in self._names]
            depth[id(symbol)] = 1 + max((depth[id(one)] for one in inner), default=0)
            length[id(symbol)] = len(symbol.word) + 4 + sum(length[id(one)] for one in inner)
            is_small = symbol.kind in ("name", "number", "index", "slice", "column") or (symbol.kind == "negate" and symbol.operands[0].kind == "number")
            # A diagonal is no value by itself.
            if is_small or (symbol.kind == "call" and symbol.word == "diag"):
                continue
            if uses[id(symbol)] > 1 or depth[id(symbol)] > _DEEPEST or length[id(symbol)] > _LONGEST:
                self._names[id(symbol)] = self._choose_name(symbol, taken)
                named.append(symbol)
        return named

    # ---- Statements ----

    def write(self, states: Mapping[str, Symbol], outputs: Mapping[str, Symbol]) -> Text:
        """The text: `states` are those after the token."""
        taken = {declared.name for declared in self._declared} | {side for d in self._declared for side in d.sides if isinstance(side, str)}
        taken |= outputs.keys()
        named = self._name_values([*self.restarts, *states.values(), *outputs.values()], taken)
        lets = [_Statement((symbol.order, 0), f"let {self._names[id(symbol)]} = ", symbol, symbol.spot, True) for symbol in named]
        others = [_Statement((value.order, 1), "restart ", value, value.spot) for value in self.restarts]
        order: tuple[float, int] = (-1, 0)
        for word, value in outputs.items():  # which stay in their order
            order = max(order, (math.inf, 0) if value.kind == "name" else (value.order, 1))
            others.append(_Statement(order, f"output {word} = ", value, value.spot))
        lines = [_Line(f"recurrence {self._name} {{", self._spot), *self._write_declarations()]
        for statement in sorted([*self._update(states, lets, others, taken), *others], key=lambda statement: statement.order):
            line = _Line("", statement.spot)
            line.put("  " + statement.head, statement.spot)
            self._write(line, statement.value, is_defined=statement.defines)
            lines.append(line)
        return Text(self._name, [*lines, _Line("}", self._spot)])

    def _update(self, states: Mapping[str, Symbol], lets: list[_Statement], others: list[_Statement], taken: set[str]) -> list[_Statement]:
        """The statements that give values names and states values. Python's names do not change what they stand for when a state goes on, so
        that a state is updated at once only if nothing that follows reads what it was; else at the end."""
        symbols = {declared.name: declared.symbol for declared in self._declared}
        provisional = [_Statement((math.inf if value.kind == "name" else value.order, 0), word, value, value.spot, True) for word, value in states.items()]

        def is_read_after(word: str, value: Symbol) -> bool:
            return any(
                statement.value is not value and statement.order > (value.order, 0) and any(one is symbols[word] for one in self._list_read(statement))
                for statement in [*lets, *others, *provisional]
            )

        updates = []
        for word, value in states.items():
            is_new = value.kind not in ("name", "number") and sum(value is other for other in states.values()) == 1
            if is_new and not is_read_after(word, value):
                lets = [statement for statement in lets if statement.value is not value]
                self._names[id(value)] = word
                updates.append(_Statement((value.order, 0), f"{word} = ", value, value.spot, True))
                continue
            is_other_state = value.kind == "name" and any(value is symbols[other] for other in states if other != word)
            if is_other_state or id(value) not in self._names and value.kind != "number":
                name = self._choose_name(value, taken)
                order = (math.inf, 0) if is_other_state else (value.order, 0)
                updates.append(_Statement(order, f"let {name} = ", value, value.spot, not is_other_state))
                if is_other_state:
                    value = Symbol("name", name, spot=value.spot)
                self._names[id(value)] = name
            updates.append(_Statement((math.inf, 1), f"{word} = ", value, value.spot))
        self._kept = updates  # whose symbols are known by their ids
        return [*lets, *updates]

    def _write_declarations(self) -> Iterator[_Line]:
        """Neighbours of one kind share a line."""
        names = {declared.name for declared in self._declared if declared.word in ("dim", "const")}
        sides: dict[str, Declared] = {}
        for declared in self._declared:
            for side in declared.sides:
                if isinstance(side, str) and side not in names:
                    sides.setdefault(side, replace(declared, word="dim", name=side, sides=(), numbers="", start=None))
        found = list(sides.values())
        for words in (("dim",), ("const",), ("shared input", "input", "param"), ("state",)):
            found += [declared for declared in self._declared if declared.word in words]
        for head, group in itertools.groupby(found, lambda declared: declared.numbers + declared.word):
            line, several = _Line(f"  {head} ", self._spot), list(group)
            for declared in several:
                if declared is not several[0]:
                    if head == "const" or len(line.text) > _LONGEST:
                        yield line
                        line = _Line(f"  {head} ", self._spot)
                    else:
                        line.put(", ")
                shape = f": [{', '.join(map(str, declared.sides))}]" if declared.sides else ""
                line.put(declared.name + shape, declared.symbol.spot)
                if declared.start is not None:
                    line.put(" at start " if declared.word == "state" else " = ")
                    self._write(line, declared.start)
            yield line
