"""A recurrence as a function of arrays."""

from __future__ import annotations

import hashlib
import inspect
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy

from . import _native, array_library, bound, debug, definition, dtypes, gradient, kept, kernels, options, orientation, parts, pools, reports
from . import precision as precisions
from .call_options import CallOptions, Indices
from .declaration import Declaration, Value
from .errors import ArgumentError, CompileError, NoGradientError, suggest
from .options import Options
from .registry import REGISTRY, is_traced
from .rich import Explanation

_KEYWORDS = (
    "initial", "final", "out", "offsets", "states_transposed", "kept_bytes", "group", "layout", "pool", "state_indices", "final_indices",
    "token_indices", "accepted", "replayed", "interval", "interval_indices", "positions", "parents",
)  # fmt: skip

#: What completion shows; the rest is for the package's other modules.
_SHOWN = (
    "bind", "check", "chunk", "consts", "declaration", "dims", "explain", "explain_json", "function", "gradient", "is_saved", "keep", "name", "plan", "precision",
    "quick", "source", "source_name", "stub", "target", "text", "with_options",
)  # fmt: skip


class Recurrence:
    """A recurrence, to be called on arrays. :func:`recur.load`, :func:`recur.define` and :mod:`recur.library` give them.

    Arguments are the inputs, in the order of the text, and then the params, each by position or by name. ``B``
    sequences of ``T`` tokens with ``H`` heads each lie in arrays ``[B, T, H, ...]``, params in ``[H, ...]``; a
    ``shared`` input has ``Hq`` groups of heads in place of ``H``. NumPy's arrays give NumPy's, PyTorch's tensors
    PyTorch's, JAX's arrays JAX's; whatever else has a buffer or DLPack gives NumPy's.
    """

    def __init__(
        self,
        declaration: Declaration,
        source: str | None,
        source_name: str,
        options: Options,
        *,
        loaded: kernels.Loaded | None = None,
    ) -> None:
        self.declaration = declaration
        self.source = source
        self.source_name = source_name
        self.target = options.target
        self.plan = options.plan
        self.chunk = options.chunk
        self.quick = options.quick
        self.precision = options.precision
        self._options = options
        self._dims = options.dims
        self._consts = options.consts
        #: The Python function of one token that it was traced from; None where it is of a text. Other such functions may call it.
        self.function: Callable[..., Any] | None = None
        self._only = loaded  # of a shared object, which has one size, and one type for each array
        self._kernels: dict[tuple[Any, ...], kernels.Loaded] = {}
        self._gradients: dict[tuple[Any, ...], kernels.Loaded] = {}
        #: Gradients that were asked for, and cannot be had.
        self.without_gradient: set[tuple[Any, ...]] = set()
        self._whole: dict[tuple[tuple[str, int], ...], Recurrence] = {}  # by sizes
        #: Calls on PyTorch's tensors that were made before; None until there is one.
        self.repeats: _native.Repeats | None = None
        # A side may be a const, which is then a size that arrays have.
        sides = {side for v in (*declaration.inputs, *declaration.params, *declaration.states) for side in v.shape or ()}
        self._sizes = [*declaration.dims, *(name for name in declaration.consts if name in sides)]

        def list_values(values: tuple[Value, ...]) -> list[tuple[str, bool, tuple[int | str, ...], bool]]:
            return [(v.name, v.shared, v.shape or (), v.integer) for v in values]

        self.signature = _native.Signature(
            declaration.name,
            self._sizes,
            list_values(declaration.inputs),
            list_values(declaration.params),
            list_values(declaration.states),
        )
        self._given = [v.name for v in (*declaration.inputs, *declaration.params)]
        self._places = {name: place for place, name in enumerate(self._given)}
        self._states = [v.name for v in declaration.states]
        #: Of states with two sides of different names these, by the states' names.
        self.sides = {v.name: v.shape for v in declaration.states if v.shape and len(v.shape) == 2 and v.shape[0] != v.shape[1]}
        self._outputs = [v.name for v in declaration.outputs]
        layout = parts.Layout(self)
        self.layout = layout if layout else None  # None where all is real
        names = dict.fromkeys([*(value.name for value in layout.given), *self._given])
        self._other_names = definition.rename_arguments(declaration.name, names, _KEYWORDS)
        keywords = {name: word for word, name in self._other_names.items()}
        self._arguments = [keywords.get(value.name, value.name) for value in layout.given]
        made_of = (source or loaded and loaded.key, declaration.name, declaration.states, options)
        #: The same for the same text and options in every process.
        self.handle = f"{declaration.name}-{hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]}"
        REGISTRY[self.handle] = self
        self.__name__ = self.__qualname__ = declaration.name
        self.__doc__ = reports.describe(self)

    # ---- What it is ----

    @property
    def name(self) -> str:
        """As the text declares it."""
        return self.declaration.name

    @property
    def text(self) -> str | None:
        """Its text in the language, also where it was written in Python; None of a saved kernel."""
        return self.source

    @property
    def is_saved(self) -> bool:
        """Whether it is a saved kernel, for one choice of sizes and one target, without its text."""
        return self._only is not None

    @property
    def dims(self) -> dict[str, int]:
        """The sizes that were fixed."""
        return dict(self._dims)

    @property
    def consts(self) -> dict[str, float]:
        """The consts that were set."""
        return dict(self._consts)

    @property
    def __signature__(self) -> inspect.Signature:
        parameter = inspect.Parameter
        return inspect.Signature(
            [parameter(name, parameter.POSITIONAL_OR_KEYWORD) for name in self._arguments]
            + [
                parameter(name, parameter.KEYWORD_ONLY, default=False if name in ("final", "states_transposed") else None)
                for name in _KEYWORDS
            ]
        )

    def __repr__(self) -> str:
        chosen = {**self._dims, **self._consts}
        extras = "".join(f", {name}={value}" for name, value in chosen.items())
        return f"<recurrence {self.name}({', '.join(self._arguments)}){extras} for {self.target}>"

    def __dir__(self) -> list[str]:
        return sorted([*_SHOWN, *(name for name in super().__dir__() if name.startswith("__"))])

    def __deepcopy__(self, memo: dict[int, Any]) -> Recurrence:
        return self  # for nothing of it changes

    def __reduce__(self) -> tuple[Any, ...]:
        if self._only:
            raise pickle.PicklingError(f"{self.name}: a saved kernel is not pickled; load its file where it is needed")
        return _define_again, (self.source, self.source_name, self.name, self._options)

    def with_options(
        self,
        *,
        dims: Mapping[str, int] | None = None,
        consts: Mapping[str, float] | None = None,
        target: str | None = None,
        plan: str | None = None,
        chunk: int | None = None,
        quick: bool | None = None,
        precision: str | None = None,
    ) -> Recurrence:
        """The same recurrence with other sizes, consts, target (``"host"``, ``"x86-64-v3"``, ...), plan, chunk or precision of a
        GPU's products (``"exact"`` or ``"tf32"``). With ``quick``, kernels compile in a fifth of the time and run slower."""
        if self._only:
            raise ArgumentError(f"{self.name}: a saved kernel takes no options; load the text of the recurrence")
        assert self.source is not None
        chosen = Options.read(
            self.name,
            {**self._dims, **options.read_dims(self.name, dims)},
            {**self._consts, **options.read_consts(self.name, consts)},
            self.target if target is None else target,
            self.plan if plan is None else plan,
            self.chunk if chunk is None else chunk,
            self.quick if quick is None else quick,
            self.precision if precision is None else precision,
        )
        definition.verify(self.source, self.source_name, self.declaration, chosen)
        made = Recurrence(self.declaration, self.source, self.source_name, chosen)
        made.function = self.function
        return made

    def explain(self, *, target: str | None = None, backward: bool = False, **dims: int) -> Explanation:
        """The structure that the compiler found: classes of states, axes, the chunkwise form. With a target the report has its plans
        too, and with ``backward`` the gradient's."""
        return Explanation(reports.explain(self, target, backward, dims)["text"].decode())

    def explain_json(self, *, target: str | None = None, backward: bool = False, **dims: int) -> Any:
        """The same as data, with the fields of ``recurc explain --json``."""
        import json

        return json.loads(reports.explain(self, target, backward, dims)["json"])[0]

    def check(
        self,
        *,
        dtype: str = "float32",
        backward: bool = False,
        seed: int = 0,
        tokens: Sequence[int] | None = None,
        hard: bool = False,
        **dims: int,
    ) -> Explanation:
        """Compares every stage of the compiler, and the kernels for this recurrence's target, with the token-by-token interpreter, on
        random data of one type, or of several, as in ``"bfloat16,g=float32"``. Returns the table; if a stage differs, raises
        :class:`recur.CheckError` with the table.

        backward: check the gradients, on tame and on hard data, against dual numbers.
        seed: the start of the random numbers.
        tokens: the lengths of the sequences; by default 0, 1, 5, 64, 65 and 200.
        hard: draw strong decays, large gains and keys that are nearly alike.
        """
        return reports.check(self, dtype, backward, seed, tokens, hard, dims)

    def stub(self) -> str:
        """The text of a ``.pyi`` file that declares a function of this name with these arguments."""
        return reports.write_stub(self, self._arguments)

    # ---- Calls ----

    def _bind(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """Inputs and params in order."""
        if len(arrays) > len(self._given):
            raise ArgumentError(
                f"{self.name}: {len(arrays)} arrays are given, and it takes {len(self._given)}: {', '.join(self._given)}"
            )
        given = list(arrays)
        if named or len(given) < len(self._given):
            given += [None] * (len(self._given) - len(given))
            for name, array in named.items():
                place = self._places.get(name)
                if place is None:
                    known = [*self._arguments, *_KEYWORDS]
                    raise ArgumentError(f"{self.name}: there is no argument '{name}'" + suggest(name, known))
                if place < len(arrays):
                    raise ArgumentError(f"{self.name}: the argument '{name}' is given twice, by place and by name")
                given[place] = array
        for word, name in self._other_names.items():
            if name in self._places and given[self._places[name]] is None:
                raise ArgumentError(f"{self.name}: '{name}' is missing; by keyword it is {word}=, for {name} is a word of the call's or of Python's")
        for name, array in zip(self._given, given):
            _refuse_masked(self.name, name, array)
        return given

    def _by_name(self, what: str, given: Any, names: Sequence[str]) -> list[Any] | None:
        """One for each name, of a mapping, or of the thing itself where there is one name."""
        if given is None:
            return None
        if isinstance(given, Mapping):
            for name in given:
                if name not in names:
                    raise ArgumentError(f"{self.name}: {what} names '{name}', which is none of {', '.join(names)}")
            for name, array in given.items():
                _refuse_masked(self.name, name, array)
            return [given.get(name) for name in names]
        if len(names) != 1:
            raise ArgumentError(f"{self.name}: {what} is of several ({', '.join(names)}): give a mapping of names to arrays")
        _refuse_masked(self.name, names[0], given)
        return [given]

    def list_initials(self, initial: Any) -> list[Any] | None:
        """An initial state, or None, for each state in order; None where there are none at all."""
        return self._by_name("initial", initial, self._states)

    def list_outputs(self, out: Any) -> list[Any] | None:
        """The same of arrays to write outputs to."""
        return self._by_name("out", out, self._outputs)

    def list_finals(self, final: Any) -> list[Any]:
        """The same of arrays to write final states to."""
        return self._by_name("final", final, self._states) or [None] * len(self._states)

    def list_pools(self, pool: Any) -> list[Any]:
        """The same of pools, each of which is needed: what a request has no row for would be lost."""
        rows = self._by_name("pool", pool, self._states) or []
        for name, array in zip(self._states, rows):
            if array is None:
                raise ArgumentError(f"{self.name}: the pool of the state '{name}' is missing")
        return rows

    def notice(self) -> Callable[[str], None] | None:
        """What is told of copies."""
        return debug.warn_of_copy if debug.copies else None

    def request(
        self,
        sizes: Mapping[str, int],
        dtype: str,
        backward: bool = False,
        target: str | None = None,
        gradients: Sequence[str] = (),
        summaries: bool = False,
        trees: bool = False,
    ) -> kernels.Request:
        """What to compile for these sizes of dims and types (:mod:`recur.dtypes`); with ``backward`` kernels of the gradient too,
        of all or of what ``gradients`` names, with ``summaries`` those of parts of sequences on a GPU, and with ``trees`` those of
        tokens that are tried as trees there. A target takes the place of the recurrence's own."""
        if self.source is None:
            raise ArgumentError(f"{self.name}: a saved kernel cannot be compiled for anything else")
        dtype = dtypes.check(self.declaration, dtype)
        definition.check_names(self.name, "dim", sizes, self.declaration.dims)
        dims = {}
        for name, default in self.declaration.dims.items():
            size = sizes.get(name, self._dims.get(name, default))
            if size is None:
                raise ArgumentError(
                    f"{self.name}: the size of the dim '{name}' is in no array; fix it by with_options(dims={{'{name}': ...}})"
                )
            if name in self._dims and self._dims[name] != size:
                raise ArgumentError(f"{self.name}: {name} is {size} in the arrays, but was fixed as {self._dims[name]}")
            dims[name] = int(size)
        is_for_gpu = any(map(kernels.is_for_gpus, (target or self.target).split(",")))
        return kernels.Request(
            self.source,
            self.source_name,
            self.name,
            tuple(dims.items()),
            tuple((name, float(value)) for name, value in sorted(self._consts.items())),
            dtype,
            target or self.target,
            self.plan,
            self.chunk,
            backward,
            self.quick,
            summaries and is_for_gpu,  # a processor's kernels have them anyway
            tuple(gradients),
            (self.precision or "exact") if is_for_gpu else "exact",
            trees and is_for_gpu,
        )

    def obtain(self, key: tuple[Any, ...], target: str | None = None, trees: bool = False) -> kernels.Loaded:
        """The kernel for `Call.key`: the sizes of dims that arrays have, and their types; for the GPU that has the arrays, where
        a target is given, and for this processor elsewhere."""
        known = (*key, target, trees) if target else key
        found = self._kernels.get(known)
        if found is None:
            if target is None:
                self._check_is_for_processors()
            found = self._kernels[known] = self.obtain_for(self.name_sizes(key[0]), key[1], target=target, trees=trees)
        return found

    def _check_is_for_processors(self) -> None:
        if kernels.is_for_gpus(self.target):
            raise ArgumentError(f"{self.name}: the kernels are for '{self.target}', and the arrays are in the processor's memory")

    def name_sizes(self, sizes: Sequence[int | None]) -> dict[str, int]:
        """Those of `Call.key`, by their names."""
        return {name: size for name, size in zip(self._sizes, sizes) if size is not None}

    def obtain_gradient(
        self, known: Mapping[str, int], dtype: str, gradients: Sequence[str] = (), target: str | None = None, summaries: bool = False
    ) -> kernels.Loaded:
        """The kernel of the gradient, of all or of what is named; raises :class:`recur.NoGradientError` where there is none."""
        loaded = self.obtain_for(known, dtype, backward=True, target=target, gradients=gradients, summaries=summaries)
        if not loaded.kernel.has_gradient:
            raise NoGradientError(f"{self.name}: the saved kernel has no gradient; save it with backward=True")
        return loaded

    def obtain_gradient_of(self, key: tuple[Any, ...], gradients: tuple[str, ...], target: str | None = None) -> kernels.Loaded:
        """The same for `Call.key`, as `obtain` has it."""
        known = (*key, target, gradients)
        found = self._gradients.get(known)
        if found is None:
            found = self._gradients[known] = self.obtain_gradient(self.name_sizes(key[0]), key[1], gradients, target)
        return found

    def obtain_trained(
        self, key: tuple[Any, ...], gradients: tuple[str, ...] | None, target: str | None, trees: bool = False
    ) -> kernels.Loaded:
        """The kernel of a call forward. Where ``gradients`` are wanted it is the one that has these too, so that one is compiled; if
        there is none, it is told why when the gradient is computed."""
        asked = (*key, target, *(gradients or ()))
        if gradients is not None and asked not in self.without_gradient:
            try:
                return self.obtain_gradient_of(key, gradients, target)
            except (NoGradientError, CompileError):
                self.without_gradient.add(asked)
        return self.obtain(key, target, trees)

    def name_wanted(self, wanted: Sequence[bool], has_initial: Sequence[bool]) -> tuple[str, ...]:
        """What `obtain_gradient` takes, where of inputs, params and the initial states that there are these gradients are wanted:
        names, or none where those of all inputs and params are that have one, for then the states' cost nothing."""
        values = (*self.declaration.inputs, *self.declaration.params)
        names = [value.name for value in values]
        if all(is_wanted or value.integer for is_wanted, value in zip(wanted, values)):
            return ()
        names += [state.name for state, there in zip(self.declaration.states, has_initial) if there]
        return tuple(name for name, is_wanted in zip(names, wanted) if is_wanted)

    def obtain_for(
        self,
        known: Mapping[str, int],
        dtype: str,
        backward: bool = False,
        target: str | None = None,
        gradients: Sequence[str] = (),
        summaries: bool = False,
        trees: bool = False,
    ) -> kernels.Loaded:
        """The kernel for these sizes, which arrays have, and their types."""
        if self._only:
            for array, kind, own, _, _ in self._only.kernel.arrays:
                if kind != "output" and own != "int32" and (found := dtypes.find(dtype, kind, array)) != own:
                    raise ArgumentError(f"{self.name}: the saved kernel has the {kind} '{array}' in {own}, and the array is {found}")
            for name, size in known.items():
                if self._dims.get(name, size) != size:
                    raise ArgumentError(f"{self.name}: {name} is {size} in the arrays, but {self._dims[name]} in the saved kernel")
            return self._only
        dims = {name: size for name, size in known.items() if name in self.declaration.dims}
        return kernels.get(self.request(dims, dtype, backward, target, gradients, summaries, trees))

    def __call__(
        self,
        /,
        *arrays: Any,
        initial: Any = None,
        final: Any = False,
        out: Any = None,
        offsets: Any = None,
        states_transposed: bool = False,
        kept_bytes: int | None = None,
        group: Any = None,
        layout: str | None = None,
        pool: Any = None,
        state_indices: Any = None,
        final_indices: Any = None,
        token_indices: Any = None,
        accepted: Any = None,
        replayed: int = 0,
        interval: int | None = None,
        interval_indices: Any = None,
        positions: Any = None,
        parents: Any = None,
        **named: Any,
    ) -> Any:
        """Computes the outputs.

        initial: the states before the first token, as a mapping of names to arrays ``[B, H, ...]``, or as the array itself
            if there is one state. A state that is left out has its start value, which is zero without ``at start``.
        final: True to return the states after the last token too, last in the result: the array if there is one
            state, else a mapping. Or an array, or a mapping, to write them to; it may be the initial one.
        out: arrays to write outputs to, as a mapping, or the array itself if there is one output.
        offsets: for packed sequences, ``[sequences + 1]`` integers from 0 to T: sequence ``i`` is the tokens from
            ``offsets[i]`` up to, but not including, ``offsets[i + 1]``. B is 1, and states are ``[sequences, H, ...]``.
        states_transposed: states of rank 2, initial and final, have their sides swapped.
        kept_bytes: a budget of memory for the states that a later gradient needs: the states of every chunk, or of every
            n-th chunk, are kept, and the gradient computes the others again. By default each chunk's states are kept if they
            need at most half the memory of inputs, outputs and their gradients; 0 keeps nothing.
        group: a group of ``torch.distributed``, or True for all processes. Each process has some of the tokens of every sequence,
            in the order of the ranks, and computes their outputs; ``offsets`` then count the tokens of all processes. The first
            process gives the initial states, and the last gets the final ones. See :mod:`recur.distributed`. With JAX's arrays it
            is the name of an axis of ``jax.shard_map``; see :mod:`recur.jax_shared`.
        layout: with ``group`` of processes, which tokens each process has: ``"contiguous"``, or ``"zigzag"``, with which each
            process has two parts of equal length: the first parts in the order of the ranks, then the second parts in reverse order.
        pool: instead of ``initial`` and ``final``, the states of all requests of a server, as a mapping of names to arrays
            ``[N, H, ...]``, or as the array itself if there is one state. The call reads and writes rows in place. See
            :mod:`recur.pools`.
        state_indices: the row of each sequence in the pool, int32: the sequence begins with this row, and its states go there after
            the last token. A negative index has no row: the sequence begins with the start values, and its states are not stored.
        final_indices: the rows that states go to, if they are other rows.
        token_indices: for tokens that are only tried, ``[sequences, tokens]``, at most 16 for each sequence: the row for the state
            after each token; with a negative index the state is not stored.
        accepted: how many of the tokens that were tried last were taken, at least 1 for each sequence. ``state_indices`` is then the
            ``token_indices`` of that call, ``[sequences, tokens]``, and a sequence begins with the state after the last token taken.
        replayed: without a row for each token: the first ``replayed`` tokens of each sequence are those that were tried last, of which
            ``accepted`` says how many were taken, from 0 on. The states after those go to ``state_indices``, or ``final_indices``, and outputs
            are those of the other tokens, which are tried now: ``[B, T - replayed, ...]``; with ``offsets`` outputs lie where their tokens lie,
            and what lies at replayed ones means nothing.
        interval: the number of tokens, a multiple of the chunk, after each multiple of which the state is stored too, as for a cache
            of prefixes. The rows are ``interval_indices``, ``[sequences, multiples]``; with a negative index a state is not stored.
        positions: how many tokens each sequence had before this call; multiples count from there. Without it there were none.
        parents: for tokens that are tried as a tree, int32, ``[tokens]`` for all sequences or ``[sequences, tokens]``: token ``t`` begins with the
            state after token ``parents[t]``, an earlier one, or with -1 as the sequence does. Outputs and states of a token are those of
            its path, and ``accepted`` stands for the path of the token that it counts to. With ``replayed`` there are two trees, that of the
            replayed tokens and behind it that of the others, whose numbers begin at 0 again. At most 16 tokens a tree.

        The result is the output, or the outputs as a tuple. Arrays are float32, bfloat16 or float16; complex values are complex64, as
        arguments and as results. Other types are refused. Each array is read in its own type. If an input that is a vector or a matrix
        has 16 bits, outputs have its type; otherwise they are float32. (If all inputs are scalars, each of them counts.)
        """
        if states_transposed is not False and states_transposed is not True:
            states_transposed = options.read_flag(self.name, "states_transposed", states_transposed)
        if self._other_names:
            named = self._rename(named)
        other = precisions.choose(self, arrays, named)
        if other is not self:
            return other(
                *arrays, initial=initial, final=final, out=out, offsets=offsets, states_transposed=states_transposed, kept_bytes=kept_bytes,
                group=group, layout=layout, pool=pool, state_indices=state_indices, final_indices=final_indices, token_indices=token_indices,
                accepted=accepted, replayed=replayed, interval=interval, interval_indices=interval_indices, positions=positions,
                parents=parents, **named,
            )  # fmt: skip
        if replayed or not (pool is state_indices is final_indices is token_indices is accepted is interval is interval_indices is positions is parents is None):
            every = pools.read_interval(self.name, interval, interval_indices, positions)
            again = pools.read_replayed(self.name, replayed, accepted)
            indices = Indices(state_indices, final_indices, token_indices, accepted, interval_indices, positions, parents, every, again)
            chosen = CallOptions(initial, final, out, offsets, states_transposed, kept_bytes, pool, indices)
            return pools.call(self, arrays, named, chosen, group, layout)
        if group is None and layout is None and self.layout is None:
            repeated = self.repeat(arrays, named, initial, final, out, offsets, states_transposed, kept_bytes=kept_bytes)
            if repeated is not None:
                return repeated
        chosen = CallOptions(initial, final, out, offsets, states_transposed, kept_bytes)
        if group is not None:
            if self.layout is not None:
                raise ArgumentError(f"{self.name}: what is declared complex cannot be shared out over processes")
            given = self._bind(arrays, named)
            return array_library.find_shared(given).call(self, given, chosen, group, layout)
        if layout is not None:
            raise ArgumentError(f"{self.name}: layout= says how tokens lie on the processes of group=, which is left out")
        if self.layout is not None:
            return self.layout.call(self, arrays, named, chosen)
        return self.compute(arrays, named, chosen)

    def _rename(self, named: dict[str, Any]) -> dict[str, Any]:
        """Arguments by the names of the text."""
        return {self._other_names.get(word, word): array for word, array in named.items()}

    def repeat(
        self, arrays: tuple[Any, ...], named: dict[str, Any], initial: Any, final: Any, out: Any, offsets: Any, states_transposed: bool,
        indices: tuple[Any, ...] | None = None, kept_bytes: int | None = None,
    ) -> Any:  # fmt: skip
        """The results where a call like this one was made before, else None. To make an object of the options would take longer than
        to find that out."""
        if is_traced() or self.repeats is None:
            return None
        results = self.repeats.call(arrays, named, initial, final, out, offsets, states_transposed, indices, kept_bytes)
        return None if results is NotImplemented else results

    def compute(self, arrays: tuple[Any, ...], named: dict[str, Any], chosen: CallOptions) -> Any:
        """The call on the arrays that a kernel has, which was not made before."""
        kept.check_budget(self.name, chosen.kept_bytes)
        given = self._bind(arrays, named)
        if is_traced():
            return self._perform(given, chosen)
        if chosen.initial is not None:
            orientation.check(self, chosen.initial, chosen.states_transposed)
        results = self._perform(given, chosen)
        if chosen.wants_final:
            orientation.note(self, results[-1], chosen.states_transposed)
        return results

    def _perform(self, given: list[Any], chosen: CallOptions) -> Any:
        needs_all = self.declaration.has_implicit_states and (chosen.initial is not None or chosen.wants_final or chosen.pool is not None)
        of = array_library.find(given)
        of.refuse(self, pool=chosen.pool is not None)
        return of.call(of.find_whole(self, given) if needs_all else self, given, chosen)

    def keep(self, /, *arrays: Any, every: int = 1, initial: Any = None, offsets: Any = None, **named: Any) -> Any:
        """The call, which also returns states between tokens, so that another call can go on from one of them, as in speculative
        decoding. The arguments are those of a call, on NumPy's arrays or PyTorch's tensors; nothing is differentiated.

        every: the number of tokens from one state to the next; 1 for the states before each token.

        The result is the outputs, the states before the tokens 0, ``every``, ``2 * every`` and so on, ``[B, rows, H, ...]``, and
        the states after the last token. For packed sequences the rows lie one behind another, ``[rows, H, ...]``. If there are
        several states, both are mappings.
        """
        named = self._rename(named)
        other = precisions.choose(self, arrays, named)
        if other is not self:
            return other.keep(*arrays, every=every, initial=initial, offsets=offsets, **named)
        if self.layout is not None:
            self.layout.refuse_wholes(arrays, named, initial)
        kept.check_every(self.name, every)
        given = self._bind(arrays, named)
        of = array_library.find(given)
        of.refuse(self, keeps=True)
        whole = of.find_whole(self, given) if self.declaration.has_implicit_states else self
        return of.keep(whole, given, initial, offsets, every)

    def gradient(
        self,
        /,
        *arrays: Any,
        cotangents: Any = None,
        final_cotangents: Any = None,
        initial: Any = None,
        wanted: Sequence[str] | None = None,
        offsets: Any = None,
        states_transposed: bool = False,
        **named: Any,
    ) -> dict[str, Any]:
        """The gradient of a loss by the arrays of a call, for NumPy's arrays; PyTorch and JAX compute gradients themselves. The
        arguments are those of a call.

        cotangents: the loss's derivatives by the outputs, as a mapping of names to arrays, or the array itself if there is one
            output. Outputs that are left out count as zero.
        final_cotangents: the loss's derivatives by the final states.
        wanted: the names of the arrays to differentiate by; by default all inputs, params and given initial states. The
            kernel computes no other gradient.

        The result has the gradients by name, each with the shape and type of its array.
        """
        named = self._rename(named)
        if self.layout is not None:
            gradient.refuse_complex(self.name, *arrays, *named.values(), initial, cotangents, final_cotangents)
            named, arrays = self.layout.split_given(arrays, named), ()
        states_transposed = options.read_flag(self.name, "states_transposed", states_transposed)
        given = self._bind(arrays, named)
        needs_all = self.declaration.has_implicit_states and (initial is not None or final_cotangents is not None)
        whole = self.with_all_states(*self.read_key(given)) if needs_all else self
        return gradient.compute(whole, given, cotangents, final_cotangents, initial, wanted, offsets, states_transposed)

    def arrange_kept(self, outputs: Sequence[Any], rows: Sequence[Any], finals: Sequence[Any]) -> Any:
        """Results as `keep` gives them."""
        *computed, last = self.arrange(outputs, finals, True)
        return (*computed, rows[0] if len(rows) == 1 else dict(zip(self._states, rows)), last)

    def bind(
        self,
        /,
        *arrays: Any,
        initial: Any = None,
        final: Any = None,
        out: Any = None,
        states_transposed: bool = False,
        **named: Any,
    ) -> bound.Bound:
        """A function without arguments, which makes this call again each time, on the current contents of the same arrays. It is for
        tokens that come one at a time, for which reading and checking the arrays takes as long as the token. The arguments are those
        of a call, on NumPy's arrays or PyTorch's tensors in the processor's memory, all of which are read in place;
        ``final`` must be arrays, which may be the initial ones. Without ``out`` the outputs are arrays of the bound call,
        which the next call overwrites."""
        named = self._rename(named)
        states_transposed = options.read_flag(self.name, "states_transposed", states_transposed)
        if self.layout is not None:
            self.layout.refuse_wholes(arrays, named, initial, final, out)
        given = self._bind(arrays, named)
        if self.declaration.has_implicit_states and (initial is not None or final is not None):
            whole = self.with_all_states(*self.read_key(given))
            return whole.bind(*given, initial=initial, final=final, out=out, states_transposed=states_transposed)
        if isinstance(final, bool):
            raise ArgumentError(f"{self.name}: a bound call writes final states to arrays of yours; give them, or None")
        of = array_library.find(given)
        initials, finals = self.list_initials(initial), self.list_finals(final)
        shown = [of.show_bound(self, state) for state in finals]
        call = _native.Call(
            self.signature,
            [of.show_bound(self, array) for array in given],
            None if initials is None else [of.show_bound(self, state) for state in initials],
            None,
            states_transposed,
            None,
            finals=shown,
        )
        of.lend_threads(call)
        loaded = self.obtain(call.key)
        shapes, _ = call.shapes(loaded.kernel)
        wanted = self.list_outputs(out) or [None] * len(shapes)
        made = zip(shapes, wanted, loaded.output_types)
        outputs = [of.allocate_bound(shape, dtype, given) if array is None else array for shape, array, dtype in made]
        call.bind(loaded.kernel, [of.show_bound(self, array) for array in outputs], shown)
        note = of.note_bound([*outputs, *finals])
        return bound.Bound(call, self.arrange(outputs, (), False), (given, initials, finals, outputs), note)

    def learn(
        self, call: _native.Call, kernel: _native.Kernel, given: list[Any], initials: Any, wanted: Any, finals: Any,
        offsets: Any, results: list[Any], states: list[Any], workspace_bytes: int = 0, indices: tuple[Any, ...] | None = None,
        training: tuple[Any, ...] | None = None,
    ) -> _native.Training | None:  # fmt: skip
        """Remembers a call on PyTorch's tensors, so that one like it is made at once; see `Repeats::learn`."""
        if self.repeats is None:
            self.repeats = _native.Repeats(self._given)
        return self.repeats.learn(call, kernel, given, initials, wanted, finals, offsets, results, states, workspace_bytes, indices, training)

    def read_key(self, given: Sequence[Any]) -> tuple[tuple[tuple[str, int], ...], str]:
        """The sizes of dims and the types of a kernel for these arrays. What does not fit is found when they are read."""
        return self.read_dims(given), self.signature.name_types(list(dtypes.read_types(given)), None)

    def find_result_type(self, given: Mapping[str, Any]) -> str:
        """The type of outputs of a call with these inputs and params."""
        types = dtypes.read_types([given.get(name) for name in self._given])
        return dtypes.split(self.signature.name_types(list(types), None))[0]

    def read_dims(self, given: Sequence[Any]) -> tuple[tuple[str, int], ...]:
        """The sizes of dims alone, from the arrays' shapes."""
        dims: dict[str, int] = {}
        values = (*self.declaration.inputs, *self.declaration.params)
        for place, (value, array) in enumerate(zip(values, given)):
            leading = 3 if place < len(self.declaration.inputs) else 1
            for side, size in zip(value.shape or (), tuple(getattr(array, "shape", ()))[leading:]):
                if isinstance(side, str):
                    dims.setdefault(side, int(size))
        return tuple(sorted(dims.items()))

    def with_all_states(self, dims: tuple[tuple[str, int], ...], dtype: str, target: str | None = None) -> Recurrence:
        """The same with the states of delays declared behind the others, as the kernel for these sizes has them."""
        found = self._whole.get(dims)
        if found is None:
            arrays = self.obtain_for(dict(dims), dtype, target=target).kernel.arrays
            started = {state.name for state in self.declaration.states if state.has_start}
            states = tuple(Value(name, False, shape, name in started) for name, kind, _, _, shape in arrays if kind == "state")
            found = self._whole[dims] = Recurrence(
                replace(self.declaration, states=states, has_implicit_states=False),
                self.source,
                self.source_name,
                self._options,
                loaded=self._only,
            )
            if self.repeats is None:
                self.repeats = _native.Repeats(self._given)
            found.repeats = self.repeats  # for a call has the same states there and here
        return found

    def arrange(self, outputs: Sequence[Any], finals: Sequence[Any], with_states: bool) -> Any:
        """Results as a call gives them."""
        if with_states:
            return (*outputs, finals[0] if len(finals) == 1 else dict(zip(self._states, finals)))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _refuse_masked(where: str, name: str, array: Any) -> None:
    """A kernel reads every element, also those that a mask hides."""
    if isinstance(array, numpy.ma.MaskedArray):
        raise ArgumentError(f"{where}: '{name}' is a masked array, and kernels read what its mask hides; give {name}.filled(0), or another filling")


def _define_again(source: str, source_name: str, name: str, chosen: Options) -> Recurrence:
    """Of a pickle, which warned where it was made."""
    return Recurrence(definition.describe(source, source_name, name), source, source_name, chosen)
