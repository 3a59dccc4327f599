"""Anybody's kernel held against the declaration of what it should compute."""

from __future__ import annotations

import functools
import inspect
import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy

from . import compiler, definition, dtypes, options
from .errors import ArgumentError
from .recurrence import Recurrence

#: The largest error that passes on tame data, as `recurc check` has it for kernels.
_LIMITS = {"float32": 1e-5, "bfloat16": 4e-3, "float16": 1e-3}
_TAME = 4.0  # the condition up to which arithmetic keeps these limits
_LENGTHS = (0, 1, 5, 63, 64, 65, 200)
_PACKINGS = ((64, 0, 1, 65), (5, 63, 130))
_WITHOUT_TOKENS = "a call without tokens"
_SIZES = (8, 6, 5, 7, 3, 4)  # of dims, so that no two sides are equal by chance


@dataclass(frozen=True)
class Row:
    """What became of one array."""

    #: ``"o"``, ``"final S"`` or ``"gradient k"``.
    array: str
    #: ``"tame"`` or ``"hard"``.
    data: str
    #: Relative RMS, where it takes most of its limit.
    error: float
    limit: float
    #: The first sizes and lengths at which it is not within the limit, or what the function raised there; else those of the error.
    where: str

    @property
    def passes(self) -> bool:
        """Whether the error is within the limit; not a number is not."""
        return self.error <= self.limit

    @property
    def refuses(self) -> bool:
        """Whether it is about calls without tokens, which the function does not take. Those it takes are judged all the same."""
        return self.array == _WITHOUT_TOKENS


class Judgement:
    """The result of :func:`recur.judge`: true where all arrays agree; as a string it is a table. A function that takes no call without
    tokens has a row that says so, and is judged by the other calls."""

    def __init__(self, title: str, rows: Sequence[Row], notes: Sequence[str]) -> None:
        self.title = title
        self.rows = tuple(rows)
        #: What was not compared, and why.
        self.notes = tuple(notes)

    def __bool__(self) -> bool:
        judged = [row for row in self.rows if not row.refuses]
        return bool(judged) and all(row.passes for row in judged)

    def __str__(self) -> str:
        lines = [self.title, f"  {'array':<24}{'data':<6}{'error':>10}{'limit':>10}"]
        for row in self.rows:
            said = "pass" if row.passes else f"FAIL at {row.where}"
            numbers = f"{row.error:>10.1e}{row.limit:>10.1e}"
            if row.refuses:
                said, numbers = f"refused at {row.where}", " " * len(numbers)
            lines.append(f"  {row.array:<24}{row.data:<6}{numbers}  {said}")
        return "\n".join([*lines, *(f"  not compared: {note}" for note in self.notes)]) + "\n"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from .rich import write_html

        return write_html(str(self))


# ---- Libraries ----


class _NumPy:
    name = "numpy"

    def give(self, array: Any, dtype: str) -> Any:
        if dtype == "bfloat16":
            import ml_dtypes

            return array.astype(ml_dtypes.bfloat16)
        return array.astype(dtype)

    def offsets(self, ends: Sequence[int]) -> Any:
        return numpy.array(ends, numpy.int64)

    def call(self, function: Callable[..., Sequence[Any]], given: list[Any], cotangents: list[Any] | None) -> tuple[list[Any], list[Any] | None]:
        """What the function gives, in NumPy's float64, and its gradients, or None."""
        return [numpy.asarray(result, numpy.float64) for result in function(*given)], None


class _Torch(_NumPy):
    name = "torch"

    def __init__(self, device: Any) -> None:
        self.device = device

    def give(self, array: Any, dtype: str) -> Any:
        import torch

        return torch.from_numpy(array).to(device=self.device, dtype=getattr(torch, dtype))

    def offsets(self, ends: Sequence[int]) -> Any:
        import torch

        return torch.tensor(ends, dtype=torch.int64, device=self.device)

    def call(self, function: Callable[..., Sequence[Any]], given: list[Any], cotangents: list[Any] | None) -> tuple[list[Any], list[Any] | None]:
        import torch

        leaves = [array.detach().clone().requires_grad_(cotangents is not None and array.is_floating_point()) for array in given]
        results = list(function(*leaves))
        gradients: list[Any] | None = None
        if cotangents is not None:
            pairs = [(result, cotangent.to(result.dtype)) for result, cotangent in zip(results, cotangents) if result.requires_grad]
            by = [leaf for leaf in leaves if leaf.requires_grad]
            found: Sequence[Any] = [None] * len(by)
            if pairs:
                found = torch.autograd.grad([result for result, _ in pairs], by, [cotangent for _, cotangent in pairs], allow_unused=True)
            gradients = [numpy.zeros(tuple(leaf.shape)) if g is None else self._read(g) for g, leaf in zip(found, by)]
        return [self._read(result) for result in results], gradients

    @staticmethod
    def _read(tensor: Any) -> Any:
        return tensor.detach().double().cpu().numpy()


class _JAX(_NumPy):
    name = "jax"

    def give(self, array: Any, dtype: str) -> Any:
        import jax.numpy as jnp

        return jnp.asarray(array.astype("float32")).astype(dtype)

    def offsets(self, ends: Sequence[int]) -> Any:
        import jax.numpy as jnp

        return jnp.asarray(ends, jnp.int32)

    def call(self, function: Callable[..., Sequence[Any]], given: list[Any], cotangents: list[Any] | None) -> tuple[list[Any], list[Any] | None]:
        import jax

        def read(array: Any) -> Any:
            return numpy.asarray(array.astype("float32"), numpy.float64)

        if cotangents is None:
            return [read(result) for result in function(*given)], None
        results, pull = jax.vjp(lambda *arrays: list(function(*arrays)), *given)
        gradients = pull([cotangent.astype(result.dtype) for result, cotangent in zip(results, cotangents)])
        return [read(result) for result in results], [read(gradient) for gradient, array in zip(gradients, given) if array.dtype != jax.numpy.int32]


def _find_library(function: Any, library: Any, device: Any) -> _NumPy:
    names = {"numpy": _NumPy, "jax": _JAX, "torch": functools.partial(_Torch, device)}
    if library is None:
        seen: Any = getattr(function, "forward", function)
        seen = inspect.unwrap(getattr(seen, "func", seen))  # what jax.jit, for one, compiles
        found: list[str] = []
        if inspect.isfunction(seen) or inspect.ismethod(seen):
            variables = inspect.getclosurevars(seen)
            values = (*variables.nonlocals.values(), *variables.globals.values())
            found = [str(getattr(value, "__name__", "")).partition(".")[0] for value in values if inspect.ismodule(value)]
        library = next((name for name in ("torch", "jax") if name in found), None)
        if library is None:
            library = "torch" if any("torch" in cls.__module__.partition(".")[0] for cls in type(function).__mro__) else "numpy"
    if library not in names:
        raise ArgumentError(f"judge: library is 'numpy', 'torch' or 'jax', not {library!r}")
    return names[library]()  # type: ignore[operator, no-any-return]


# ---- The judge ----


@dataclass
class _Case:
    """One reference."""

    data: str
    where: str
    arrays: dict[str, dict[str, Any]]  # by role and name
    conditions: dict[tuple[str, str], float]
    ends: list[int] | None
    tokens: int


def _read_reference(recurrence: Recurrence, **asked: Any) -> tuple[dict[str, dict[str, Any]], dict[tuple[str, str], float]]:
    assert recurrence.source is not None
    artifacts = compiler.perform(
        "reference", recurrence.source, source_name=recurrence.source_name, recurrence=recurrence.name, consts=recurrence.consts, **asked
    ).artifacts
    values = numpy.frombuffer(artifacts["values"]).copy()  # which may be written to
    arrays: dict[str, dict[str, Any]] = {}
    conditions = {}
    begin = 0
    for entry in json.loads(artifacts["json"]):
        count = math.prod(entry["shape"])
        arrays.setdefault(entry["role"], {})[entry["name"]] = values[begin : begin + count].reshape(entry["shape"])
        conditions[entry["role"], entry["name"]] = math.inf if entry["condition"] is None else entry["condition"]
        begin += count
    return arrays, conditions


def _draw_cases(recurrence: Recurrence, asked: Mapping[str, Any], sizes: Sequence[Mapping[str, int]], packs: bool, seed: int) -> Iterator[_Case]:
    shared = any(value.shared for value in recurrence.declaration.inputs)
    for place, (data, dims, lengths) in enumerate(itertools.product(("tame", "hard"), sizes, [*((t,) for t in _LENGTHS), *(_PACKINGS if packs else ())])):
        heads = 4 if place % 2 == 0 else 2
        options_ = {"heads": heads, "groups": heads // 2 if shared else heads, "batch": 1 if len(lengths) > 1 else 2}
        arrays, conditions = _read_reference(
            recurrence, **asked, dims=dims, tokens=list(lengths), hard=data == "hard", seed=seed + place, **options_
        )
        where = ", ".join(f"{name} = {size}" for name, size in dims.items()) + (", " if dims else "")
        where += f"T = {lengths[0]}" if len(lengths) == 1 else f"sequences of {', '.join(map(str, lengths))} tokens"
        yield _Case(data, where, arrays, conditions, None if len(lengths) == 1 else [0, *itertools.accumulate(lengths)], sum(lengths))


def _measure(got: Any, want: Any) -> float:
    """Relative RMS."""
    if got.shape != want.shape:
        return math.inf
    if not want.size:
        return 0.0
    with numpy.errstate(all="ignore"):
        scale = max(float(numpy.abs(want).max()), 1e-300)
        squares = float(((got - want) / scale).__pow__(2).sum())
        return math.sqrt(squares / max(float(((want / scale) ** 2).sum()), 1e-300)) if want.any() else math.sqrt(float((got**2).sum()))


class _Trial:
    """The function, as this recurrence's arrays are given to it."""

    def __init__(self, recurrence: Recurrence, function: Any, library: _NumPy, dtype: str) -> None:
        self.recurrence, self.function, self.library, self.dtype = recurrence, function, library, dtype
        declaration = recurrence.declaration
        self.given = [value.name for value in (*declaration.inputs, *declaration.params)]
        self.integers = {value.name for value in declaration.inputs if value.integer}
        self.outputs = [value.name for value in declaration.outputs]
        self.states = [value.name for value in declaration.states]
        names = set(inspect.signature(function).parameters)
        self.takes_offsets = "offsets" in names
        self.takes_initial = "initial" in names and not declaration.has_implicit_states
        self.gives_final = "final" in names and not declaration.has_implicit_states

    def list_notes(self, backward: bool) -> list[str]:
        """What is not compared."""
        notes = [] if self.takes_offsets else ["packed sequences: the function has no argument 'offsets'"]
        if self.recurrence.declaration.has_implicit_states:
            notes.append("initial and final states: those of delays have no names of the text")
        elif self.states:
            missing = [word for word, there in (("initial", self.takes_initial), ("final", self.gives_final)) if not there]
            notes += [f"{word} states: the function has no argument '{word}'" for word in missing]
        if backward and self.library.name == "numpy":
            notes.append("gradients: NumPy has none")
        return notes

    def _call(self, case: _Case, arrays: Sequence[Any]) -> list[Any]:
        """Outputs and final states in order."""
        count = len(self.given)
        extra: dict[str, Any] = {}
        if self.takes_initial:
            initial = dict(zip(case.arrays.get("initial", {}), arrays[count:]))
            extra["initial"] = next(iter(initial.values())) if list(initial) == self.states and len(self.states) == 1 else initial
        if self.gives_final:
            extra["final"] = True
        if case.ends is not None:
            extra["offsets"] = self.library.offsets(case.ends)
        results = self.function(*arrays[:count], **extra)
        found = list(results) if isinstance(results, (tuple, list)) else [results]
        if self.gives_final:
            states = found.pop()
            found += [states[name] for name in self.states] if isinstance(states, Mapping) else [states]
        wanted = len(self.outputs) + (len(self.states) if self.gives_final else 0)
        if len(found) != wanted:
            raise ValueError(f"it gives {len(found)} arrays, and {wanted} are declared")
        return found

    def compare(self, case: _Case, backward: bool) -> Iterator[tuple[str, float, float]]:
        """Of each array: its name in the table, the error and the limit's factor."""
        roles = [("input" if name in case.arrays.get("input", {}) else "param", name) for name in self.given]
        initial = list(case.arrays.get("initial", {})) if self.takes_initial else []
        roles += [("initial", name) for name in initial]
        types = ["float32" if role == "initial" else "int32" if name in self.integers else self.dtype for role, name in roles]
        given = [self.library.give(case.arrays[role][name], dtype) for (role, name), dtype in zip(roles, types)]
        results = [("output", name) for name in self.outputs] + [("final", name) for name in self.states if self.gives_final]
        cotangents = None
        if backward:
            kinds = [("cotangent" if role == "output" else "final cotangent", name, self.dtype if role == "output" else "float32") for role, name in results]
            cotangents = [self.library.give(case.arrays[kind][name], dtype) for kind, name, dtype in kinds]
        got, gradients = self.library.call(lambda *arrays: self._call(case, arrays), given, cotangents)
        for (role, name), array in zip(results, got):
            yield name if role == "output" else f"final {name}", _measure(array, case.arrays[role][name]), case.conditions[role, name]
        differentiated = [(role, name) for role, name in roles if name not in self.integers]
        for (role, name), array in zip(differentiated, gradients or ()):
            kind = "initial gradient" if role == "initial" else "gradient"
            yield f"gradient {'initial ' * (role == 'initial')}{name}", _measure(array, case.arrays[kind][name]), case.conditions[kind, name]


def judge(
    recurrence: Recurrence,
    function: Callable[..., Any],
    *,
    library: str | None = None,
    dtype: str = "float32",
    backward: bool = True,
    sizes: Mapping[str, int] | Sequence[Mapping[str, int]] | None = None,
    seed: int = 0,
    limit: float | None = None,
    device: Any = "cpu",
) -> Judgement:
    """Compares a function with a recurrence, which the compiler's interpreter runs in float64: outputs, final states and
    gradients, on tame data and on hard data (strong decays, keys that are nearly alike), with sequences shorter and longer than a chunk.

    function: takes the inputs and params of the recurrence in their order, as arrays of NumPy, PyTorch or JAX, and returns the outputs. If
        it has an argument ``offsets``, it gets packed sequences too; if it has ``initial``, it gets initial states, and if it has ``final``,
        it must return the final states, as :class:`recur.Recurrence` does.
    library: ``"numpy"``, ``"torch"`` or ``"jax"``; by default the libraries that the function calls decide. NumPy's arrays have no gradients.
    dtype: the type of the arrays: ``"float32"``, ``"bfloat16"`` or ``"float16"``.
    backward: whether gradients are compared.
    sizes: sizes of dims, or a list of several such sizes; by default small sizes that differ.
    limit: the largest error that passes; 1e-5 for float32, 4e-3 for bfloat16 and 1e-3 for float16. If rounding the data changes a
        result more than usual, the limit of that result is wider by as much.
    device: the device of PyTorch's tensors.
    """
    if not isinstance(recurrence, Recurrence) or recurrence.source is None:
        raise ArgumentError("judge: a function is held against a recurrence with its text, not against " + repr(recurrence))
    if not callable(function):
        raise ArgumentError(f"judge: {function!r} is no function")
    name = recurrence.name
    if any(value.complex for value in (*recurrence.declaration.inputs, *recurrence.declaration.params)):
        raise ArgumentError(f"{name}: functions of complex arrays are not judged")
    backward, seed = options.read_flag(name, "backward", backward), options.read_count(name, "seed", seed)
    if dtype not in dtypes.NAMES:
        raise ArgumentError(f"{name}: there are no kernels for {dtype}, only for {', '.join(dtypes.NAMES)}")
    narrow = dtypes.NAMES[dtype]
    base = _LIMITS[dtype] if limit is None else options.read_number(name, "limit", limit)
    found = _find_library(function, library, device)
    trial = _Trial(recurrence, function, found, dtype)
    chosen = _choose_sizes(recurrence, sizes)
    notes = trial.list_notes(backward)
    backward = backward and found.name != "numpy"
    asked = {"dtype": narrow, "backward": backward, "starts_anew": not trial.takes_initial, "forgets_final": not trial.gives_final}
    worst: dict[tuple[str, str], Row] = {}
    for case in _draw_cases(recurrence, asked, chosen, trial.takes_offsets, seed):
        try:
            compared = list(trial.compare(case, backward))
        except Exception as error:  # whatever the function raises is a result of it
            said = f"{case.where}: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
            array = "the call" if case.tokens else _WITHOUT_TOKENS
            worst.setdefault((array, case.data), Row(array, case.data, math.inf, base, said))
            continue
        for array, off, condition in compared:
            if math.isfinite(condition):  # else a rounding of the data changes all of it
                row = Row(array, case.data, off, base * max(1.0, condition / _TAME), case.where)
                worst[array, case.data] = _choose_worse(worst.get((array, case.data)), row)
    order = list(dict.fromkeys(array for array, _ in worst))
    rows = sorted(worst.values(), key=lambda row: (order.index(row.array), row.data == "hard"))
    shown = "; ".join(", ".join(f"{dim} = {size}" for dim, size in dims.items()) for dims in chosen if dims)
    lengths = f"T = {', '.join(map(str, _LENGTHS))}" + (", and packed" if trial.takes_offsets else "")
    return Judgement(f"{name}: {shown}{'; ' if shown else ''}{lengths}; {found.name}, {dtype}, seed {seed}", rows, notes)


def _choose_worse(before: Row | None, row: Row) -> Row:
    """What takes more of its limit, and where it first took more than that."""
    if before is None:
        return row
    is_worse = not math.isnan(before.error) and not row.error / row.limit <= before.error / before.limit
    worse = row if is_worse else before
    return worse if before.passes else replace(worse, where=before.where)


def _choose_sizes(recurrence: Recurrence, sizes: Any) -> list[dict[str, int]]:
    """Of all dims that have no size of their own."""
    declared = recurrence.declaration.dims
    unknown = [dim for dim, size in declared.items() if size is None and dim not in recurrence.dims]
    several: Sequence[Any]
    if sizes is None:
        several = [dict(zip(unknown, itertools.cycle(_SIZES))), dict.fromkeys(unknown, 16)] if unknown else [{}]
    else:
        several = [sizes] if isinstance(sizes, Mapping) else list(sizes)
    chosen = []
    for given in several:
        dims = {**recurrence.dims, **options.read_dims(recurrence.name, given, "sizes")}
        definition.check_names(recurrence.name, "dim", dims, declared)
        for dim in unknown:
            if dim not in dims:
                raise ArgumentError(f"{recurrence.name}: sizes has none for the dim '{dim}'")
        chosen.append(dims)
    return chosen
