"""Sequences that are divided among the processes of a group of ``torch.distributed``.

Each process has some of the tokens of every sequence, in the order of the ranks, and passes these to a call with ``group=``. The call
computes the outputs of the process's own tokens, and their gradients. A process may have any number of tokens, even none.

Processes never exchange tokens. They exchange the effect of their tokens on a state: for each head of a sequence a map and an offset, which
have the same size for a million tokens as for a thousand. There is one exchange forward, and one backward, for each level of states: a state
whose update depends on another state is a level later. Results have the same bits each time. Another number of processes changes the
order of sums, and so the last digits.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import threading
import weakref
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn

import torch
import torch.distributed as dist

from . import scale, summaries, torch as tensors
from .errors import ArgumentError, ExchangeError
from .registry import REGISTRY
from .summary_calls import PartCall, obtain

if TYPE_CHECKING:
    from .call_options import CallOptions
    from .recurrence import Recurrence

# ---- Which tokens a process has ----


@dataclass(frozen=True)
class Share:
    """What a process has of the sequences: those from `first` up to but without `last`, of which it has the tokens between two
    `offsets`, counted from its own first token. Dense sequences, of which each process has a piece of every one, are one here."""

    first: int
    last: int
    offsets: tuple[int, ...]
    begins_inside: bool  #: tokens before its own are of its first sequence
    ends_inside: bool  #: tokens behind its own are of its last sequence

    @property
    def is_inside(self) -> bool:
        """Whether states go through it from one process to the next."""
        return self.begins_inside and self.ends_inside and self.last - self.first == 1


def share_out(tokens: Sequence[int], offsets: Sequence[int] | None) -> list[Share]:
    """The shares of processes with so many tokens each; without offsets of dense sequences."""
    count = len(tokens)
    if offsets is None:
        return [Share(0, 1, (0, tokens[rank]), rank > 0, rank + 1 < count) for rank in range(count)]
    shares = []
    begin = 0
    for rank, size in enumerate(tokens):
        end = begin + size
        is_last = rank + 1 == count
        # An empty sequence is the process's whose token would be next.
        own = [
            i
            for i, (a, b) in enumerate(itertools.pairwise(offsets))
            if (a < b and a < end and b > begin) or (a == b and begin <= a and (a < end or is_last)) or (size == 0 and a < begin < b)
        ]
        if not own:
            shares.append(Share(0, 0, (0,), False, False))
        else:
            first, last = own[0], own[-1] + 1
            cuts = [min(max(offset, begin), end) - begin for offset in offsets[first : last + 1]]
            shares.append(Share(first, last, tuple(cuts), offsets[first] < begin, offsets[last] > end))
        begin = end
    return shares


# ---- The exchange ----


class Facts(NamedTuple):
    """What a call is on one process. All but the tokens is the same on each; of text a hash is compared."""

    B: int
    H: int
    layout: str
    offsets: str
    kernel: str
    tokens: int


#: How a message names the texts among these.
_SAID = {"layout": "their layouts", "offsets": "the offsets", "kernel": "the recurrence, its sizes, types or gradients"}


class Processes:
    """The processes of a group that compute a call together."""

    _steps: ClassVar[dict[str, int]] = {}  # what this process has begun in each group: calls, and gradients of calls

    def __init__(self, name: str, group: Any, place: tuple[int, int] | None = None) -> None:
        self.name = name
        self.group = group
        place = place or (dist.get_rank(group), dist.get_world_size(group))
        self.rank: int = place[0]
        self.count: int = place[1]

    def begin(self) -> None:
        """Leaves word that this process takes part from here on, for those that wait in vain."""
        name = self.group.group_name
        step = self._steps[name] = self._steps.get(name, 0) + 1
        with contextlib.suppress(RuntimeError):  # who keeps the words may be gone, which the exchange finds out
            self._find_store().set(f"recur/{name}/{self.rank}", str(step))

    def _find_store(self) -> Any:
        return dist.distributed_c10d._get_default_store()

    def _find_missing(self) -> str:
        """Which processes have not come, as far as they left word."""
        name = self.group.group_name
        try:
            store = self._find_store()
            keys = [f"recur/{name}/{rank}" for rank in range(self.count)]
            steps = [int(store.get(key)) if store.check([key]) else 0 for key in keys]
        except RuntimeError:
            return "the process that keeps the group's store has ended"
        missing = [str(rank) for rank, step in enumerate(steps) if step < self._steps[name]]
        if not missing:
            return "all of them came, and one ended or failed on the way"
        return f"rank {missing[0]} has not come" if len(missing) == 1 else f"ranks {', '.join(missing)} have not come"

    def _raise_in_vain(self, error: RuntimeError) -> NoReturn:
        raise ExchangeError(
            f"{self.name}: rank {self.rank} of {self.count} waited for the others in vain: {self._find_missing()} "
            f"({str(error).strip().splitlines()[0]})"
        ) from error

    def find_place(self, given: Sequence[Any]) -> torch.device:
        """Where processes compare what they give, and say that they refuse it: in the processor's memory where the group can exchange
        that, so that a GPU is not waited for; else on a GPU, that of the tensors where they are on one."""
        host, gpu = torch.device("cpu"), torch.device("cuda")
        if self.can_exchange(host) or not self.can_exchange(gpu):
            return host
        return next((tensor.device for tensor in given if isinstance(tensor, torch.Tensor) and tensor.is_cuda), gpu)

    def can_exchange(self, device: torch.device) -> bool:
        """Whether the group exchanges what lies there."""
        try:
            self.group._get_backend(device)
        except RuntimeError:
            return False
        return True

    def _goes_by_host(self, tensor: torch.Tensor) -> bool:
        """Whether a GPU's tensor is exchanged through the processor's memory, since gloo is all there is."""
        return bool(tensor.is_cuda) and str(self.group._get_backend(tensor.device).name()) == "gloo"

    def gather(self, own: torch.Tensor) -> torch.Tensor:
        """The tensors of all processes, `[processes, ...]`."""
        if self._goes_by_host(own):
            return self.gather(own.cpu()).to(own.device)
        own = own.contiguous()
        everyone = own.new_empty((self.count, *own.shape))
        try:
            if own.is_cuda:
                dist.all_gather_into_tensor(everyone, own, group=self.group)
            else:
                dist.all_gather(list(everyone.unbind(0)), own, group=self.group)
        except RuntimeError as error:
            self._raise_in_vain(error)
        return everyone

    def pass_on(self, own: torch.Tensor, target: int | None, source: int | None) -> torch.Tensor | None:
        """Gives a tensor to one process, and gets another's of the same shape, where there are such."""
        if self._goes_by_host(own):
            passed = self.pass_on(own.cpu(), target, source)
            return None if passed is None else passed.to(own.device)
        own = own.contiguous()
        got = None if source is None else torch.empty_like(own)
        work = []
        try:
            if target is not None:
                work.append(dist.isend(own, dist.get_global_rank(self.group, target), group=self.group))
            if got is not None:
                work.append(dist.irecv(got, dist.get_global_rank(self.group, source), group=self.group))
            for one in work:
                one.wait()
        except RuntimeError as error:
            self._raise_in_vain(error)
        return got

    def share(self, own: torch.Tensor, given: Sequence[int], got: Sequence[int]) -> torch.Tensor:
        """Gives each process so many rows, in order, and gets so many rows from each."""
        if self._goes_by_host(own):
            return self.share(own.cpu(), given, got).to(own.device)
        own = own.contiguous()
        found = own.new_empty((sum(got), *own.shape[1:]))
        try:
            dist.all_to_all_single(found, own, list(got), list(given), group=self.group)
        except RuntimeError as error:
            self._raise_in_vain(error)
        return found

    def agree(self, facts: Facts | None, problem: Exception | None, device: torch.device) -> list[int]:
        """Holds what all processes give against one another. Gives the number of tokens of each. A process that refuses the call,
        and has no facts of it, takes part all the same, so that nobody waits for it."""
        numbers = [0] * len(Facts._fields) if facts is None else [hash_of(fact) if isinstance(fact, str) else fact for fact in facts]
        own = torch.tensor([problem is None, *numbers], dtype=torch.int64, device=device)
        everyone = self.gather(own).tolist()
        if problem is not None:
            raise problem
        assert facts is not None
        for rank, (accepts, *_) in enumerate(everyone):
            if not accepts:
                raise ExchangeError(f"{self.name}: rank {rank} refuses the call, and says there why")
        for place, (field, fact) in enumerate(zip(Facts._fields[:-1], facts), 1):
            values = [row[place] for row in everyone]
            for rank, value in enumerate(values):
                if value != values[0]:
                    raise ExchangeError(
                        f"{self.name}: ranks 0 and {rank} differ in {_SAID[field]}"
                        if isinstance(fact, str)
                        else f"{self.name}: {field} is {values[0]} on rank 0 and {value} on rank {rank}"
                    )
        return [row[-1] for row in everyone]


#: How the parts of a sequence lie on processes: one on each, in order; or two on each, of which the second ones come in the
#: other order behind all first ones, so that under a causal mask all have as much to do.
LAYOUTS = ("contiguous", "zigzag")


@dataclass(frozen=True)
class Layout:
    """Which parts of the sequences a process has. Parts are numbered in the order of tokens."""

    kind: str
    count: int  # of processes

    @property
    def pieces(self) -> int:
        """How many parts each process has."""
        return 2 if self.kind == "zigzag" else 1

    def list_parts(self, rank: int) -> list[int]:
        """The numbers of a process's parts, in the order in which it has their tokens."""
        return [rank, 2 * self.count - 1 - rank] if self.kind == "zigzag" else [rank]

    def order(self, of_processes: torch.Tensor) -> torch.Tensor:
        """What is `[processes, pieces, ...]` by parts."""
        first = of_processes[:, 0]
        return torch.cat((first, of_processes[:, 1].flip(0))) if self.kind == "zigzag" else first

    def count_tokens(self, of_processes: Sequence[int]) -> list[int]:
        """The tokens of each part; a process's parts have as many each."""
        tokens = [count // self.pieces for count in of_processes]
        return [*tokens, *reversed(tokens)] if self.kind == "zigzag" else tokens


@dataclass(frozen=True)
class Part:
    """A part of the sequences among all parts."""

    number: int
    shares: tuple[Share, ...]  # of all parts
    is_packed: bool

    @property
    def own(self) -> Share:
        return self.shares[self.number]

    def find_before(self) -> range:
        """The parts whose summaries lead to the state before this one's tokens, the first of which knows its own state."""
        number = self.number - 1
        while self.shares[number].is_inside:
            number -= 1
        return range(number, self.number)

    def find_behind(self) -> range:
        """The same of cotangents."""
        number = self.number + 1
        while self.shares[number].is_inside:
            number += 1
        return range(number, self.number, -1)


#: What a part gives to the others and gets from all parts, `[parts, ...]`, at each exchange; and what it computes.
Exchanges = Generator[torch.Tensor, torch.Tensor, "tuple[list[Any], list[Any]]"]


def exchange_together(processes: Processes, layout: Layout, parts: Sequence[Exchanges]) -> list[tuple[list[Any], list[Any]]]:
    """Computes the parts of this process, with one exchange for all of them wherever they ask for one."""
    results: list[Any] = [None] * len(parts)
    answers: list[Any] = [None] * len(parts)
    while True:
        asked = []
        for place, part in enumerate(parts):
            try:
                asked.append(part.send(answers[place]))
            except StopIteration as stop:
                results[place] = stop.value
        if not asked:
            return results
        own = asked[0][None] if len(asked) == 1 else torch.stack(asked)
        answers = [layout.order(processes.gather(own))] * len(parts)


class Columns:
    """Where the summaries of a level lie in what is exchanged, which has a row for each head of a sequence: behind one another each
    one's map, where it is exchanged, and its offset."""

    def __init__(self, shapes: Sequence[summaries.Shape], level: Sequence[int], has_maps: Sequence[bool]) -> None:
        self.level = list(level)
        self.maps: dict[int, slice] = {}
        self.offsets: dict[int, slice] = {}
        self.size = 0
        for i, has_map in zip(level, has_maps):
            for columns, size in ((self.maps, shapes[i].map_size if has_map else 0), (self.offsets, shapes[i].offset_size)):
                columns[i] = slice(self.size, self.size + size)
                self.size += size

    def get_maps(self, i: int, rows: torch.Tensor) -> torch.Tensor:
        """The columns of a map."""
        return rows[..., self.maps[i]]

    def get_offsets(self, i: int, rows: torch.Tensor) -> torch.Tensor:
        """The columns of an offset."""
        return rows[..., self.offsets[i]]


# ---- The call ----


@dataclass
class _Piece:
    """Sequences of this process that are computed together."""

    begin: int  # tokens
    end: int
    first: int  # of its sequences
    last: int
    offsets: torch.Tensor | None

    def cut(self, given: Sequence[Any], inputs: int) -> list[Any]:
        if self.begin == 0 and self.end == given[0].shape[1]:
            return list(given)
        return [x if i >= inputs or x is None else x[:, self.begin : self.end] for i, x in enumerate(given)]


class _Kernels:
    """What calls of one kind are computed by."""

    def __init__(self, recurrence: Recurrence, given: Sequence[torch.Tensor], backward: bool) -> None:
        self.loaded, self.heads, self.shapes = obtain(recurrence, given, backward)
        self.state_shapes = [shape for _, kind, _, _, shape in self.loaded.kernel.arrays if kind == "state"]
        self.levels = [Columns(self.shapes, level, [True] * len(level)) for level in summaries.list_levels(self.shapes)]
        self.backward_levels = [
            Columns(self.shapes, level, [self.shapes[i].has_backward_map for i in level])
            for level in summaries.list_backward_levels(self.shapes)
        ]
        # States begin as what is given, or zero, and their summaries are of one level.
        self.know_start = not any(state.has_start for state in recurrence.declaration.states) and not any(shape.needs for shape in self.shapes)
        self.calls_of_none: dict[tuple[int, int, int], PartCall] = {}  # by the thread, and how many sequences and heads there are


class _Run:
    """A call on the tokens of one part: forward, and then backward."""

    def __init__(self, recurrence: Recurrence, plan: _Plan, part: Part, given: Sequence[torch.Tensor], backward: bool) -> None:
        self.recurrence = recurrence
        self.plan = plan
        self.part = part
        self.given = list(given)
        self.inputs = len(recurrence.declaration.inputs)
        self.is_dense = not part.is_packed
        self.kernels = kernels = plan.obtain(recurrence, given, backward)
        self.loaded, self.heads, self.shapes, self.state_shapes = kernels.loaded, kernels.heads, kernels.shapes, kernels.state_shapes
        self.kernel, self.output_types = self.loaded.kernel, self.loaded.output_types
        self.wanted: list[bool] | None = None  # gradients of inputs and params, where any are
        self.states_before: list[torch.Tensor | None] = []  # of the sequence that begins elsewhere
        self.maps: dict[int, torch.Tensor] = {}  # of all parts, or of this one, by the summary
        self.head_maps: dict[int, torch.Tensor] = {}  # of all parts, of the heads that this process goes through
        self.kept: dict[tuple[int, int], tuple[list[torch.Tensor], int]] = {}  # what calls forward leave for those backward, by their sequences

    # The sequences of this process: the first one may go on from another process, the last one on to another.

    def _piece(self, first: int, last: int) -> _Piece:
        share = self.part.own
        if self.is_dense:
            return _Piece(0, self.given[0].shape[1], 0, self.given[0].shape[0], None)
        begin, end = share.offsets[first], share.offsets[last]
        offsets = torch.tensor([offset - begin for offset in share.offsets[first : last + 1]], dtype=torch.int64)
        return _Piece(begin, end, first, last, offsets)

    def _count(self) -> int:
        share = self.part.own
        return share.last - share.first

    def _units(self) -> int:
        return self.given[0].shape[0] if self.is_dense else 1

    def _call(self, piece: _Piece, initials: Sequence[Any]) -> PartCall:
        offsets = None if self.part.own.is_inside else piece.offsets  # of the one sequence that there is
        return PartCall(self.recurrence, self.loaded, piece.cut(self.given, self.inputs), initials, offsets)

    def _call_of_none(self, units: int, heads: int) -> PartCall:
        """A call of no tokens, which says of how many heads summaries are put together: of all of each sequence, or of one of each of as
        many sequences."""
        key = (threading.get_ident(), units, heads)
        call = self.kernels.calls_of_none.get(key)
        if call is None:
            is_whole = heads == self.heads
            given = [
                x.new_empty((units, 0, x.shape[2] if is_whole else heads, *x.shape[3:]) if i < self.inputs else (heads, *x.shape[1:]))
                for i, x in enumerate(self.given)
            ]
            call = self.kernels.calls_of_none[key] = PartCall(self.recurrence, self.loaded, given, None, None)
        return call

    # Forward

    def forward(self, initials: Sequence[Any]) -> Exchanges:
        """Outputs, and the states behind each sequence of this part."""
        own = self.part.own
        count = self._count()
        is_later = self._makes_summary() and not own.begins_inside
        rest = self._compute(1 if own.begins_inside else 0, count, initials) if count > own.begins_inside and not is_later else None
        known = [state[-self._units() :] for state in rest[1]] if rest and own.ends_inside and not own.is_inside else None
        yield from self._exchange(initials, known)
        if is_later:
            return self._compute(0, count, initials)
        ahead = self._compute(0, 1, self.states_before) if own.begins_inside and count else None
        parts = [part for part in (ahead, rest) if part]
        if not parts:  # no tokens of any sequence
            return self._make_nothing()
        if len(parts) == 1:
            return parts[0]
        return [torch.cat(pair, dim=1) for pair in zip(*(part[0] for part in parts))], [
            torch.cat(pair) for pair in zip(*(part[1] for part in parts))
        ]

    def _make_nothing(self) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        like = self.given[0]
        outputs = [(1, 0, self.heads, *shape) for _, kind, _, _, shape in self.kernel.arrays if kind == "output"]
        states = [(0, self.heads, *shape) for shape in self.state_shapes]
        return tensors.allocate(outputs, self.output_types, like), tensors.allocate(states, ["float32"] * len(states), like)

    def _crosses(self) -> bool:
        """Whether a sequence goes from one process to another at all."""
        return any(share.begins_inside for share in self.part.shares)

    def _compute(self, first: int, last: int, initials: Sequence[Any]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        piece = self._piece(first, last)
        given = piece.cut(self.given, self.inputs)
        starts = self._start(piece, initials)
        if self.wanted is None:
            return tensors.run_again(self.recurrence, given, starts, piece.offsets)
        known, all_wanted = self._ask(piece.offsets)
        names = self.recurrence.name_wanted(all_wanted, known.has_initial)
        outputs, states, kept = tensors.run_keeping(
            self.recurrence, given, starts, None, True, piece.offsets, False, gradients=names, training=known
        )
        self.kept[first, last] = kept, known.interval
        return outputs, states

    def _ask(self, offsets: Any) -> tuple[tensors._Call, list[bool]]:
        """What calls are forward and backward, whose gradients go on to all states before them."""
        assert self.wanted is not None
        states = [True] * len(self.state_shapes)
        return tensors._Call(self.recurrence, states, True, offsets, None, False, None, packed=offsets is not None), [*self.wanted, *states]

    def _start(self, piece: _Piece, initials: Sequence[Any]) -> list[Any]:
        """The states before the sequences of a piece, of those of all of this process."""
        if self.is_dense or initials is self.states_before:
            return list(initials)
        return [state if state is None else state[piece.first : piece.last] for state in initials]

    def _makes_summary(self) -> bool:
        """Whether the part's summary leads to the state behind it. Where the first state is known the state is, but only when all of the
        part is computed, which the others would wait for."""
        own = self.part.own
        others_wait = self.is_dense and own.ends_inside and self.plan.processes.count > 1
        return own.is_inside or (others_wait and self.kernels.know_start)

    def _exchange(self, initials: Sequence[Any], known: Sequence[torch.Tensor] | None) -> Generator[torch.Tensor, torch.Tensor, None]:
        """Leaves the states before this process's first sequence, where it begins elsewhere."""
        part, own = self.part, self.part.own
        self.states_before = [None] * len(self.state_shapes)
        if not self._crosses():
            return
        piece = self._piece(0, 1) if self._makes_summary() else None
        for columns in self.kernels.levels:
            level = columns.level
            rows = self._allocate(columns, piece is not None)
            call = self._call(piece, self.states_before) if piece else None
            for i in level:
                maps, offsets, state = columns.get_maps(i, rows), columns.get_offsets(i, rows), self.shapes[i].state
                if call:
                    call.summarise(i, maps, offsets)
                    if not own.begins_inside and initials and initials[state] is not None:
                        behind = torch.empty_like(initials[state], memory_format=torch.contiguous_format)
                        call.apply(i, False, maps, offsets, initials[state].contiguous(), behind)
                        offsets.copy_(behind.reshape(offsets.shape))
                elif known is not None:
                    offsets.copy_(known[state].reshape(offsets.shape))
            way = self._choose_exchange(level)
            if way != "all-gather":
                self.maps.update((i, columns.get_maps(i, rows)) for i in level)
                (self._scan if way == "scan" else self._share_heads)(columns, rows, False, self.states_before)
                continue
            everyone = yield rows
            for i in level:
                self.maps[i] = columns.get_maps(i, everyone)
                if own.begins_inside:
                    offsets = columns.get_offsets(i, everyone)
                    self.states_before[self.shapes[i].state] = self._walk(i, part.find_before(), self.maps[i], offsets, backward=False)

    def _allocate(self, columns: Columns, is_written: bool) -> torch.Tensor:
        """What this part gives to others; zeros unless all of it is written."""
        make = self.given[0].new_empty if is_written else self.given[0].new_zeros
        return make((self._units(), self.heads, columns.size), dtype=torch.float32)

    def _walk(self, i: int, ranks: range, maps: torch.Tensor, offsets: torch.Tensor, backward: bool) -> torch.Tensor:
        """The state that the first of the processes knows, taken through what the others make of it."""
        state = offsets.new_empty((*offsets.shape[1:3], *self.state_shapes[self.shapes[i].state]))
        call = self._call_of_none(self._units(), self.heads)
        call.apply_all(i, backward, [(maps[rank], offsets[rank]) for rank in ranks], state)
        return state

    def _choose_exchange(self, level: Sequence[int]) -> str:
        """How this level's summaries are exchanged, of calls backward as of calls forward."""
        if self.plan.layout.pieces > 1:
            return "all-gather"
        rows = self._units() * self.heads
        maps, offsets = (4 * rows * sum(sizes) for sizes in zip(*((self.shapes[i].map_size, self.shapes[i].offset_size) for i in level)))
        return scale.choose_exchange(self.plan.layout.count, rows, maps, offsets)

    def _share_heads(self, columns: Columns, own_rows: torch.Tensor, backward: bool, states: list[Any]) -> None:
        """The same as `_scan`, where each process goes through the summaries of all parts for some of the heads, and gives each
        process the state that it goes on from."""
        processes, count, rank = self.plan.processes, self.plan.layout.count, self.part.number
        rows = self._units() * self.heads
        shares = [rows * (i + 1) // count - rows * i // count for i in range(count)]
        own = shares[rank]
        everyone = processes.share(own_rows.reshape(rows, columns.size), shares, [own] * count).reshape(count, own, columns.size)
        found = Columns(self.shapes, columns.level, [False] * len(columns.level))
        answers = everyone.new_empty((count, own, found.size))
        for i in columns.level:
            maps = columns.get_maps(i, everyone)
            if backward and not self.shapes[i].has_backward_map:
                maps = self.head_maps[i]
            elif not backward:
                self.head_maps[i] = maps
            self._walk_all(i, backward, maps, columns.get_offsets(i, everyone), found.get_offsets(i, answers))
        got = processes.share(answers.reshape(count * own, found.size), [own] * count, shares)
        if self.part.own.ends_inside if backward else self.part.own.begins_inside:
            for i in columns.level:
                shape = self.shapes[i].state
                state = found.get_offsets(i, got).reshape(self._units(), self.heads, *self.state_shapes[shape])
                states[shape] = state.contiguous()

    def _walk_all(self, i: int, backward: bool, maps: torch.Tensor, offsets: torch.Tensor, found: torch.Tensor) -> None:
        """For each part the state before it, or the cotangent behind it, of a few heads; of the first one anything, for it needs none.
        All are `[parts, heads, ...]`."""
        count, heads = offsets.shape[:2]
        if heads == 0:
            return
        call = self._call_of_none(heads, 1)
        order = range(count - 1, -1, -1) if backward else range(count)
        states = found if found.is_contiguous() else torch.empty(found.shape, dtype=found.dtype, device=found.device)
        for number, following in itertools.pairwise(order):
            if self.part.shares[number].is_inside and number != order[0]:
                call.apply(i, backward, maps[number], offsets[number], states[number], states[following])
            else:
                states[following].copy_(offsets[number])
        if states is not found:
            found.copy_(states)

    def _scan(self, columns: Columns, own: torch.Tensor, backward: bool, states: list[Any]) -> None:
        """Leaves among `states` what the processes before this one make of the state that one of them knows, or, of cotangents,
        those behind it. At each step a process takes in twice as many others, of which it gets one summary."""
        shares, count = self.part.shares, self.plan.layout.count
        sign = -1 if backward else 1
        place = self.part.number
        call = self._call_of_none(self._units(), self.heads)

        def knows(number: int, reach: int) -> bool:
            """Whether so many parts, of which this is the last that a state goes through, have one that knows its state."""
            return any(not shares[number - sign * i].is_inside for i in range(reach) if 0 <= number - sign * i < count)

        def cross(number: int) -> bool:
            """Whether the part needs a state from the one before it, or, of cotangents, behind it."""
            return 0 <= number < count and (shares[number].ends_inside if backward else shares[number].begins_inside)

        reach = 1
        while reach < count:
            wants = 0 <= place - sign * reach < count and not knows(place, reach)
            target = place + sign * reach
            gives = 0 <= target < count and not knows(target, reach)
            got = self.plan.processes.pass_on(own, target if gives else None, place - sign * reach if wants else None)
            if got is not None:
                joined = torch.zeros_like(own)
                is_known = knows(place - sign * reach, reach)
                for i in columns.level:
                    mine, theirs, new = ((columns.get_maps(i, one), columns.get_offsets(i, one)) for one in (own, got, joined))
                    if is_known:  # its offsets are a state
                        state = torch.empty_like(theirs[1], memory_format=torch.contiguous_format)
                        call.apply(i, backward, *mine, theirs[1].contiguous(), state)
                        new[1].copy_(state)
                    else:
                        call.combine(i, backward, *((mine, theirs) if backward else (theirs, mine)), new)
                own = joined
            reach *= 2
        last = torch.cat([columns.get_offsets(i, own) for i in columns.level], dim=2)
        got = self.plan.processes.pass_on(last, place + sign if cross(place + sign) else None, place - sign if cross(place) else None)
        if got is not None:
            for i, state in zip(columns.level, got.split([self.shapes[i].offset_size for i in columns.level], dim=2)):
                shape = self.shapes[i].state
                states[shape] = state.reshape(*state.shape[:2], *self.state_shapes[shape]).contiguous()

    # Backward

    def backward(
        self, initials: Sequence[Any], cotangents: Sequence[Any], finals: Sequence[Any], wanted: Sequence[bool]
    ) -> Exchanges:
        """Gradients of inputs and params, and of the states before each sequence of this part."""
        own = self.part.own
        count = self._count()
        behind = 1 if own.ends_inside else 0
        is_later = self._makes_backward_summary(finals) and not own.ends_inside
        rest = self._derive(0, count - behind, initials, cotangents, finals, wanted) if count > behind and not is_later else None
        known = [state[: self._units()] for state in rest[1]] if rest and own.begins_inside and not own.is_inside else None
        after = yield from self._exchange_back(known, cotangents, finals)
        if is_later:
            return self._derive(0, count, initials, cotangents, finals, wanted)
        last = self._derive(count - 1, count, initials, cotangents, after, wanted) if own.ends_inside and count else None
        parts = [part for part in (rest, last) if part]
        if not parts:
            return [torch.zeros_like(x) if is_wanted else None for x, is_wanted in zip(self.given, wanted)], []
        if len(parts) == 1:
            return parts[0]
        gradients = [
            None if one is None else torch.cat((one, other), dim=1) if i < self.inputs else one + other
            for i, (one, other) in enumerate(zip(parts[0][0], parts[1][0]))
        ]
        return gradients, [torch.cat(pair) for pair in zip(parts[0][1], parts[1][1])]

    def _starts(self, piece: _Piece, initials: Sequence[Any]) -> list[Any]:
        """The states before the sequences of a piece, of which the first may begin elsewhere."""
        if not self.part.own.begins_inside or piece.first > 0:
            return self._start(piece, initials)
        if self.is_dense or piece.last == 1:
            return list(self.states_before)
        heads = self.heads
        like = self.given[0]
        starts = []
        for state, before, shape in zip(initials, self.states_before, self.state_shapes):
            later = (
                like.new_zeros((piece.last - 1, heads, *shape), dtype=torch.float32) if state is None else state[1 : piece.last]
            )
            starts.append(torch.cat((before, later)))
        return starts

    def _derive(
        self, first: int, last: int, initials: Sequence[Any], cotangents: Sequence[Any], finals: Sequence[Any], wanted: Sequence[bool]
    ) -> tuple[list[Any], list[torch.Tensor]]:
        piece = self._piece(first, last)
        given = piece.cut(self.given, self.inputs)
        heads = self.heads
        sequences = given[0].shape[0] if piece.offsets is None else piece.last - piece.first
        starts = [
            given[0].new_zeros((sequences, heads, *shape), dtype=torch.float32) if state is None else state.contiguous()
            for state, shape in zip(self._starts(piece, initials), self.state_shapes)
        ]
        outputs = [None if x is None else x[:, piece.begin : piece.end].contiguous() for x in cotangents]
        self.wanted = list(wanted)
        ends = [None if x is None else x if self.is_dense or len(x) == sequences else x[piece.first : piece.last] for x in finals]
        ends = [None if x is None else x.contiguous() for x in ends]
        known, all_wanted = self._ask(piece.offsets)
        kept, interval = self.kept.get((first, last), ([], 0))
        found = iter(tensors._differentiate(known, [*given, *starts], [*outputs, *ends], all_wanted, kept, interval))
        gradients = [next(found) if is_wanted else None for is_wanted in wanted]
        return gradients, list(found)

    def _makes_backward_summary(self, finals: Sequence[Any]) -> bool:
        """The same as `_makes_summary`, of cotangents. Those behind the last part are known, and are zero if nobody gives any."""
        own = self.part.own
        others_wait = self.is_dense and own.begins_inside and self.plan.processes.count > 1
        is_zero = all(final is None for final in finals) and not any(shape.needs for shape in self.shapes)
        return own.is_inside or (others_wait and is_zero)

    def _exchange_back(
        self, known: Sequence[torch.Tensor] | None, cotangents: Sequence[Any], finals: Sequence[Any]
    ) -> Generator[torch.Tensor, torch.Tensor, list[Any]]:
        """The cotangents of the states behind this process's last sequence, where it ends elsewhere."""
        part, own = self.part, self.part.own
        after: list[Any] = [None] * len(self.state_shapes)
        if not self._crosses():
            return after
        piece = self._piece(0, 1) if self._makes_backward_summary(finals) else None
        outputs = [None if x is None else x.contiguous() for x in cotangents]
        for columns in self.kernels.backward_levels:
            level = columns.level
            rows = self._allocate(columns, piece is not None)
            call = self._call(piece, self.states_before) if piece else None
            for i in level:
                shape = self.shapes[i]
                maps, offsets = columns.get_maps(i, rows) if shape.has_backward_map else None, columns.get_offsets(i, rows)
                if call:
                    call.summarise_backward(i, outputs, after, maps, offsets)
                elif known is not None:
                    offsets.copy_(known[shape.state].reshape(offsets.shape))
            way = self._choose_exchange(level)
            if way == "scan":
                self._scan_back(level, columns, rows, after)
                continue
            if way == "heads":
                self._share_heads(columns, rows, True, after)
                continue
            everyone = yield rows
            for i in level:
                maps = columns.get_maps(i, everyone) if self.shapes[i].has_backward_map else self.maps[i]
                if own.ends_inside:
                    offsets = columns.get_offsets(i, everyone)
                    after[self.shapes[i].state] = self._walk(i, part.find_behind(), maps, offsets, backward=True)
        return after

    def _scan_back(self, level: Sequence[int], columns: Columns, rows: torch.Tensor, after: list[Any]) -> None:
        """A scan, for which each part gives its maps too."""
        whole = Columns(self.shapes, level, [True] * len(level))
        own = self._allocate(whole, True)
        for i in level:
            whole.get_maps(i, own).copy_(columns.get_maps(i, rows) if self.shapes[i].has_backward_map else self.maps[i])
            whole.get_offsets(i, own).copy_(columns.get_offsets(i, rows))
        self._scan(whole, own, True, after)


@dataclass(frozen=True)
class _Plan:
    """How a call is shared out, as this process sees it."""

    processes: Processes
    layout: Layout
    parts: tuple[Part, ...]  # of this process
    kernels: dict[bool, _Kernels] = field(default_factory=dict)

    def obtain(self, recurrence: Recurrence, given: Sequence[torch.Tensor], backward: bool) -> _Kernels:
        """The kernels of the call, which all calls of the plan have."""
        found = self.kernels.get(backward)
        if found is None:
            found = self.kernels[backward] = _Kernels(recurrence, given, backward)
        return found

    def cut(self, tokens: int) -> list[slice]:
        """Where the tokens of each of this process's parts lie among its own."""
        size = tokens // self.layout.pieces
        return [slice(place * size, (place + 1) * size) for place in range(self.layout.pieces)]


def _cut(arrays: Sequence[Any], inputs: int, tokens: slice) -> list[Any]:
    """Of inputs, and whatever else there is for each token, those of a part; params stay."""
    if tokens.start == 0 and all(x is None or tokens.stop == x.shape[1] for x in arrays[:inputs]):
        return list(arrays)
    return [x if x is None or place >= inputs else x[:, tokens] for place, x in enumerate(arrays)]


def _pick(part: Part, states: Sequence[Any]) -> list[Any]:
    """Of states of all sequences those before a part's own, where they are given and not found."""
    if part.is_packed:
        return [state if state is None else state[part.own.first : part.own.last] for state in states]
    return [None if part.own.begins_inside else state for state in states]


def _compute(
    recurrence: Recurrence, plan: _Plan, has_initial: Sequence[bool], values: Sequence[torch.Tensor], needed: Sequence[bool] | None
) -> tuple[tuple[torch.Tensor, ...], list[_Run]]:
    """Outputs of this process's tokens, and the states behind each of its parts; `needed` says which gradients will be."""
    inputs = len(recurrence.declaration.inputs)
    count = inputs + len(recurrence.declaration.params)
    rest = iter(values[count:])
    initials = [next(rest) if there else None for there in has_initial]
    backward = needed is not None and any(needed)
    runs = []
    for part, cut in zip(plan.parts, plan.cut(values[0].shape[1])):
        run = _Run(recurrence, plan, part, _cut(values[:count], inputs, cut), backward)
        run.wanted = list(needed[:count]) if needed is not None and backward else None
        runs.append(run)
    made = exchange_together(plan.processes, plan.layout, [run.forward(_pick(run.part, initials)) for run in runs])
    outputs = made[0][0] if len(made) == 1 else [torch.cat(pieces, dim=1) for pieces in zip(*(part[0] for part in made))]
    return (*outputs, *(state for _, states in made for state in states)), runs


class _Shared(torch.autograd.Function):  # type: ignore[misc]
    """Outputs of this process's tokens, and the states behind each of its parts."""

    @staticmethod
    def forward(ctx: Any, name: str, plan: _Plan, has_initial: Sequence[bool], *values: torch.Tensor) -> Any:
        recurrence = REGISTRY[name]
        results, runs = _compute(recurrence, plan, has_initial, values, ctx.needs_input_grad[3:])
        ctx.runs, ctx.plan, ctx.outputs, ctx.has_initial = runs, plan, len(recurrence.declaration.outputs), has_initial
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*values)
        for run in runs:
            run.given = []  # which are saved as autograd wants it
        return results

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> Any:
        values, runs, plan = ctx.saved_tensors, ctx.runs, ctx.plan
        given = values[: len(values) - sum(ctx.has_initial)]
        rest = iter(values[len(given) :])
        initials = [next(rest) if there else None for there in ctx.has_initial]
        wanted = list(ctx.needs_input_grad[3 : 3 + len(given)])
        cuts = plan.cut(given[0].shape[1])
        states = len(ctx.has_initial)
        asked = []
        for place, (run, cut) in enumerate(zip(runs, cuts)):
            run.given = _cut(given, run.inputs, cut)
            first = ctx.outputs + place * states
            outputs = _cut(cotangents[: ctx.outputs], ctx.outputs, cut)
            asked.append(run.backward(_pick(run.part, initials), outputs, cotangents[first : first + states], wanted))
        if not given[0].is_cuda:
            plan.processes.begin()
        made = exchange_together(plan.processes, plan.layout, asked)
        for run in runs:
            run.given = []
        gradients = [_join([part[0][place] for part in made], place < runs[0].inputs) for place in range(len(given))]
        found: list[Any] = []
        for place, there in enumerate(ctx.has_initial):
            if there:
                found.append(_add_up([(run.part, part[1][place] if part[1] else None) for run, part in zip(runs, made)], initials[place]))
        return (None, None, None, *gradients, *found)


def _join(pieces: Sequence[Any], is_input: bool) -> Any:
    """The gradient of an array by those of the parts: of an input each has its own tokens, of a param all have some."""
    if len(pieces) == 1 or pieces[0] is None:
        return pieces[0]
    return torch.cat(list(pieces), dim=1) if is_input else sum(pieces[1:], pieces[0])


def _add_up(gradients: Sequence[tuple[Part, Any]], initial: torch.Tensor) -> torch.Tensor:
    """The gradient of initial states by those of the states before each sequence of each part. That before a part's own first
    token is given only where the sequence begins there."""
    total = torch.zeros_like(initial)
    for part, gradient in gradients:
        own = part.own
        if gradient is None:
            continue
        if part.is_packed:
            first = own.first + own.begins_inside
            total[first : own.last] += gradient[own.begins_inside :]
        elif not own.begins_inside:
            total += gradient
    return total


def call(recurrence: Recurrence, given: list[Any], chosen: CallOptions, group: Any, layout: str | None) -> Any:
    """A call whose sequences are shared out over the processes of a group."""
    name, layout = recurrence.name, layout or "contiguous"
    if not dist.is_available() or not dist.is_initialized():
        raise ArgumentError(f"{name}: group= needs torch.distributed: call torch.distributed.init_process_group first")
    if group is True:
        group = dist.group.WORLD
    known = _plans.setdefault(group, {})
    problem, prepared, key, is_derived = None, None, None, False
    try:
        if layout not in LAYOUTS:
            raise ArgumentError(f"{name}: layout is one of {', '.join(LAYOUTS)}, and not {layout!r}")
        prepared = _prepare(recurrence, given, chosen)
        whole, arrays, states, ends = prepared
        is_derived = torch.is_grad_enabled() and any(x.requires_grad for x in (*arrays, *states) if x is not None)
        if arrays[0].is_cuda and ends is None:
            key = (whole.handle, layout, is_derived, *[(x.shape, x.dtype) for x in arrays])
    except (ArgumentError, ValueError) as error:
        problem = error
    found = known.get(key) if key else None
    if found is None:
        plan = _agree(name, group, layout, prepared, problem, is_derived)
        if key:
            if len(known) >= _MOST_PLANS:
                known.clear()
            known[key] = (plan.processes.rank, plan.processes.count), plan.layout, plan.parts, plan.kernels
    else:
        place, *rest = found
        plan = _Plan(Processes(name, group, place), *rest)
    assert prepared is not None
    whole, arrays, states, ends = prepared
    parts = plan.parts
    if ends is None and all(part.own.begins_inside for part in parts):
        states = [None] * len(states)
    has_initial = [state is not None for state in states]
    values = (*arrays, *[state for state in states if state is not None])
    results = _Shared.apply(whole.handle, plan, has_initial, *values) if is_derived else _compute(whole, plan, has_initial, values, None)[0]
    count = len(whole.declaration.outputs)
    outputs = list(results[:count])
    if not chosen.wants_final:
        return recurrence.arrange(outputs, [], False)
    kinds = len(states)
    finals = []
    for place in range(kinds):
        placed = [_place(results[count + i * kinds + place], part.own, ends) for i, part in enumerate(parts)]
        there = [state for state in placed if state is not None]
        finals.append(sum(there[1:], there[0]) if there else None)
    return whole.arrange(outputs, finals, True)


#: Of each group, what its processes found out together of calls on GPUs. There it is found out once for all calls of dense sequences that
#: are like each other: to compare makes the processor wait for the others, while the exchange that follows is the GPU's. How many tokens others
#: have of dense sequences has no part in what a process does. A plan, but for the group, which may be gone: rank and count of processes, and the rest.
_plans: weakref.WeakKeyDictionary[Any, dict[tuple[Any, ...], tuple[Any, ...]]] = weakref.WeakKeyDictionary()
_MOST_PLANS = 1024


def _agree(name: str, group: Any, layout: str, prepared: _Prepared | None, problem: Exception | None, is_derived: bool) -> _Plan:
    """Compares with the other processes what each gives, and shares the tokens out. A process that refuses the call takes part."""
    processes = Processes(name, group)
    if processes.rank < 0:
        raise ArgumentError(f"{name}: this process is not in the group")
    facts = None
    if prepared is not None and problem is None:
        try:
            facts = _state_facts(processes, prepared, layout, is_derived)
        except (ArgumentError, ValueError) as error:
            problem = error
    processes.begin()
    tokens = processes.agree(facts, problem, processes.find_place([] if prepared is None else prepared[1]))
    assert prepared is not None
    ends = prepared[3]
    if ends is not None and (ends[-1] != sum(tokens) or ends[0] != 0):
        raise ArgumentError(f"{name}: the offsets go from {ends[0]} to {ends[-1]}; they are those of all processes' tokens, of which there are {sum(tokens)}")
    lies = Layout(layout, processes.count)
    shares = tuple(share_out(lies.count_tokens(tokens), ends))
    return _Plan(processes, lies, tuple(Part(number, shares, ends is not None) for number in lies.list_parts(processes.rank)))


def _state_facts(processes: Processes, prepared: _Prepared, layout: str, is_derived: bool) -> Facts:
    """What the call is on this process, if it can be made."""
    name = processes.name
    whole, arrays, _, ends = prepared
    if not processes.can_exchange(arrays[0].device):
        raise ArgumentError(
            f"{name}: a tensor is on {arrays[0].device}, and the group exchanges nothing that lies there; "
            'init_process_group("cpu:gloo,cuda:nccl") makes one that does'
        )
    shapes = [tuple(x.shape[3:]) for x in arrays[: len(whole.declaration.inputs)]]
    kernel = repr((is_derived, whole.handle, [str(x.dtype) for x in arrays], shapes))
    heads = PartCall(whole, None, arrays, None, None).call.heads
    if layout == "zigzag" and arrays[0].shape[1] % 2:
        raise ArgumentError(f"{name}: with layout='zigzag' a process has two parts of as many tokens each, and T is {arrays[0].shape[1]}")
    return Facts(arrays[0].shape[0], heads[0], layout, repr(ends), kernel, arrays[0].shape[1])


def _place(state: torch.Tensor, own: Share, ends: Sequence[int] | None) -> Any:
    """Final states as a call gives them: of dense sequences on the last process, of packed ones a row for each sequence, which
    is zero where the sequence ends on another process."""
    if ends is None:
        return None if own.ends_inside else state
    ended = state[:-1] if own.ends_inside else state
    sequences = len(ends) - 1
    before = state.new_zeros((own.first, *state.shape[1:]))
    behind = state.new_zeros((sequences - own.first - len(ended), *state.shape[1:]))
    return torch.cat((before, ended, behind))


def hash_of(fact: str) -> int:
    """The same number in every process for the same text."""
    return int.from_bytes(hashlib.sha256(fact.encode()).digest()[:7], "little")


#: The recurrence with all of its states, inputs and params, initial states, and offsets.
_Prepared = tuple["Recurrence", list[torch.Tensor], list[Any], "list[int] | None"]


def _prepare(recurrence: Recurrence, given: list[Any], chosen: CallOptions) -> _Prepared:
    """The recurrence with all of its states, and what a process gives, checked as far as one process can."""
    name = recurrence.name
    for tensor in given:
        if not isinstance(tensor, torch.Tensor):
            raise ArgumentError(f"{name}: with group= all inputs and params are PyTorch's tensors, and one is a {type(tensor).__name__}")
        if tensor.device != given[0].device:
            raise ArgumentError(f"{name}: a tensor is on {given[0].device}, and another on {tensor.device}; a call has all on one device")
    if given[0].device.type not in ("cpu", "cuda"):
        raise ArgumentError(f"{name}: a tensor is on {given[0].device}; there are kernels for processors and for NVIDIA's GPUs")
    if chosen.writes:
        raise ArgumentError(f"{name}: with group= results are new tensors: final is True or False, and out is left out")
    if chosen.states_transposed:
        raise ArgumentError(f"{name}: with group= states are as declared; states_transposed is left out")
    whole = recurrence
    if recurrence.declaration.has_implicit_states:
        whole = tensors.find_whole(recurrence, given)
    initials = whole.list_initials(chosen.initial)
    states: list[Any] = list(initials or [])
    states += [None] * (len(whole.declaration.states) - len(states))
    for value, state in zip(whole.declaration.states, states):
        if state is not None and not isinstance(state, torch.Tensor):
            raise ArgumentError(f"{name}: the initial state '{value.name}' is no tensor, but a {type(state).__name__}")
        if state is not None and state.device != given[0].device:
            raise ArgumentError(f"{name}: a tensor is on {given[0].device}, and another on {state.device}; a call has all on one device")
        if state is not None and state.dtype != torch.float32:
            raise ArgumentError(
                f"{name}: with group= states are float32, as processes exchange them, and '{value.name}' is {state.dtype}; "
                f"write {value.name}.float()"
            )
    ends = None
    if chosen.offsets is not None:
        offsets = chosen.offsets
        if isinstance(offsets, tuple) and len(offsets) == 2 and all(isinstance(part, torch.Tensor) for part in offsets):
            offsets = offsets[0]  # the second has the same numbers in a GPU's memory
        ends = [int(offset) for offset in torch.as_tensor(offsets).tolist()]
        if len(ends) < 1 or any(a > b for a, b in itertools.pairwise(ends)):
            raise ArgumentError(f"{name}: the offsets decrease, or there are none")
        if given[0].shape[0] != 1:
            raise ArgumentError(f"{name}: with offsets B is 1, and it is {given[0].shape[0]}")
        for value, state in zip(whole.declaration.states, states):
            if state is not None and len(state) != len(ends) - 1:
                raise ArgumentError(f"{name}: the initial state '{value.name}' has {len(state)} rows for {len(ends) - 1} sequences")
    return whole, given, states, ends


class Module(tensors.Module):
    """A recurrence as a module whose sequences are divided among the processes of a one-dimensional mesh, or of one dimension of a
    mesh. `heads` is the number of heads of this process, if another dimension of the mesh divides the heads. The gradients of the
    module's parameters come from the process's own tokens; data parallelism sums them over this dimension as over others."""

    def __init__(
        self, recurrence: Recurrence, heads: int, dims: Mapping[str, int], mesh: Any, side: str | None = None, layout: str = "contiguous",
        **params: torch.Tensor,
    ) -> None:  # fmt: skip
        super().__init__(recurrence, heads, dims, **params)
        if side is None and mesh.ndim != 1:
            raise ArgumentError(f"{recurrence.name}: the mesh has {mesh.ndim} sides, and side= does not say which is that of tokens")
        self.mesh, self.side, self.layout = mesh, side, layout

    def forward(self, *inputs: torch.Tensor, **options: Any) -> Any:
        """A call on the process's own tokens, with the options of :meth:`recur.Recurrence.__call__`."""
        return super().forward(*inputs, group=self.mesh.get_group(self.side), layout=self.layout, **options)
