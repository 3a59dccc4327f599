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
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
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

    def __init__(self, name: str, group: Any) -> None:
        self.name = name
        self.group = group
        self.rank = dist.get_rank(group)
        self.count = dist.get_world_size(group)

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


#: What a part gives to the others and gets from all parts, at each exchange; and what it computes.
Exchanges = Generator[list[torch.Tensor], list[torch.Tensor], "tuple[list[Any], list[Any]]"]


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
        sizes = [buffer.shape[2] for buffer in asked[0]]
        own = torch.stack([torch.cat(buffers, dim=2) for buffers in asked])
        everyone = layout.order(processes.gather(own))
        answers = [[part.contiguous() for part in everyone.split(sizes, dim=3)]] * len(parts)


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
        return [x if i >= inputs or x is None else x[:, self.begin : self.end] for i, x in enumerate(given)]


class _Run:
    """A call on the tokens of one part: forward, and then backward."""

    def __init__(self, recurrence: Recurrence, plan: _Plan, part: Part, given: Sequence[torch.Tensor], backward: bool) -> None:
        self.recurrence = recurrence
        self.plan = plan
        self.part = part
        self.given = list(given)
        self.inputs = len(recurrence.declaration.inputs)
        self.is_dense = not part.is_packed
        self.loaded, self.heads = obtain(recurrence, given, backward)
        self.kernel, self.output_types = self.loaded.kernel, self.loaded.output_types
        self.shapes = summaries.list_shapes(recurrence, self.kernel)
        self.state_shapes = [shape for _, kind, _, _, shape in self.kernel.arrays if kind == "state"]
        self.states_before: list[torch.Tensor | None] = []  # of the sequence that begins elsewhere
        self.maps: dict[int, torch.Tensor] = {}  # of all parts, or of this one, by the summary
        self.head_maps: dict[int, torch.Tensor] = {}  # of all parts, of the heads that this process goes through

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
        return PartCall(self.recurrence, self.loaded, piece.cut(self.given, self.inputs), initials, piece.offsets)

    def _call_of_none(self, given: Sequence[Any]) -> PartCall:
        """A call that says of how many heads summaries are put together."""
        return PartCall(self.recurrence, self.loaded, given, None, None)

    # Forward

    def forward(self, initials: Sequence[Any]) -> Exchanges:
        """Outputs, and the states behind each sequence of this part."""
        own = self.part.own
        count = self._count()
        rest = self._compute(1 if own.begins_inside else 0, count, initials) if count > own.begins_inside else None
        known = [state[-self._units() :] for state in rest[1]] if rest and own.ends_inside and not own.is_inside else None
        yield from self._exchange(known)
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
        outputs, states, _ = tensors.run_keeping(self.recurrence, given, starts, None, True, piece.offsets, False)
        return outputs, states

    def _start(self, piece: _Piece, initials: Sequence[Any]) -> list[Any]:
        """The states before the sequences of a piece, of those of all of this process."""
        if self.is_dense or initials is self.states_before:
            return list(initials)
        return [state if state is None else state[piece.first : piece.last] for state in initials]

    def _exchange(self, known: Sequence[torch.Tensor] | None) -> Generator[list[torch.Tensor], list[torch.Tensor], None]:
        """Leaves the states before this process's first sequence, where it begins elsewhere."""
        part, own = self.part, self.part.own
        self.states_before = [None] * len(self.state_shapes)
        if not self._crosses():
            return
        units, heads = self._units(), self.heads
        like = self.given[0]
        piece = self._piece(0, 1) if own.is_inside else None
        for level in summaries.list_levels(self.shapes):
            buffers = []
            call = self._call(piece, self.states_before) if piece else None
            for i in level:
                shape = self.shapes[i]
                maps = like.new_zeros((units, heads, shape.map_size), dtype=torch.float32)
                offsets = like.new_zeros((units, heads, shape.offset_size), dtype=torch.float32)
                if call:
                    call.summarise(i, maps, offsets)
                elif known is not None:
                    offsets.copy_(known[shape.state].reshape(offsets.shape))
                buffers += [maps, offsets]
            way = self._choose_exchange(level)
            if way != "all-gather":
                self.maps.update(zip(level, buffers[::2]))
                (self._scan if way == "scan" else self._share_heads)(level, buffers, False, self.states_before)
                continue
            everyone = iter((yield buffers))
            for i in level:
                maps, offsets = next(everyone), next(everyone)
                self.maps[i] = maps
                if own.begins_inside:
                    self.states_before[self.shapes[i].state] = self._walk(i, part.find_before(), maps, offsets, backward=False)

    def _walk(self, i: int, ranks: range, maps: torch.Tensor, offsets: torch.Tensor, backward: bool) -> torch.Tensor:
        """The state that the first of the processes knows, taken through what the others make of it."""
        call = self._call_of_none(self._crossing())
        first, *others = ranks
        state = offsets[first].clone()
        for rank in others:
            call.apply(i, backward, maps[rank], offsets[rank], state, state)
        return state.reshape(*state.shape[:2], *self.state_shapes[self.shapes[i].state])

    def _choose_exchange(self, level: Sequence[int]) -> str:
        """How this level's summaries are exchanged, of calls backward as of calls forward."""
        if self.plan.layout.pieces > 1:
            return "all-gather"
        rows = self._units() * self.heads
        maps, offsets = (4 * rows * sum(sizes) for sizes in zip(*((self.shapes[i].map_size, self.shapes[i].offset_size) for i in level)))
        return scale.choose_exchange(self.plan.layout.count, rows, maps, offsets)

    def _share_heads(self, level: Sequence[int], buffers: list[torch.Tensor], backward: bool, states: list[Any]) -> None:
        """The same as `_scan`, where each process goes through the summaries of all parts for some of the heads, and gives each
        process the state that it goes on from."""
        processes, count, rank = self.plan.processes, self.plan.layout.count, self.part.number
        rows = self._units() * self.heads
        shares = [rows * (i + 1) // count - rows * i // count for i in range(count)]
        own_rows = shares[rank]
        sizes = [buffer.shape[2] for buffer in buffers]
        flat = torch.cat(buffers, dim=2).reshape(rows, sum(sizes))
        everyone = processes.share(flat, shares, [own_rows] * count).reshape(count, own_rows, sum(sizes))
        parts = iter(part.contiguous() for part in everyone.split(sizes, dim=2))
        found = []
        for i in level:
            maps, offsets = next(parts), next(parts)
            if backward and not self.shapes[i].has_backward_map:
                maps = self.head_maps[i]
            elif not backward:
                self.head_maps[i] = maps
            found.append(self._walk_all(i, backward, maps, offsets))
        answers = torch.cat(found, dim=2).reshape(count * own_rows, sum(sizes[1::2]))
        got = processes.share(answers, [own_rows] * count, shares)
        own = self.part.own
        if own.ends_inside if backward else own.begins_inside:
            for i, state in zip(level, got.split(sizes[1::2], dim=1)):
                shape = self.shapes[i].state
                states[shape] = state.reshape(self._units(), self.heads, *self.state_shapes[shape]).contiguous()

    def _walk_all(self, i: int, backward: bool, maps: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        """For each part the state before it, or the cotangent behind it, of a few heads; zeros where it needs none. All are
        `[parts, heads, ...]`."""
        found = torch.zeros_like(offsets)
        count, heads = offsets.shape[:2]
        if heads == 0:
            return found
        few = [x[:1, :0, :1].expand(heads, 0, 1, *x.shape[3:]) if at < self.inputs else x[:1] for at, x in enumerate(self.given)]
        call = self._call_of_none(few)
        order = range(count - 1, -1, -1) if backward else range(count)
        for number, following in itertools.pairwise(order):
            if self.part.shares[number].is_inside:
                call.apply(i, backward, maps[number], offsets[number], found[number], found[following])
            else:
                found[following].copy_(offsets[number])
        return found

    def _scan(self, level: Sequence[int], buffers: list[torch.Tensor], backward: bool, states: list[Any]) -> None:
        """Leaves among `states` what the processes before this one make of the state that one of them knows, or, of cotangents,
        those behind it. At each step a process takes in twice as many others, of which it gets one summary."""
        shares, count = self.part.shares, self.plan.layout.count
        sign = -1 if backward else 1
        place = self.part.number
        sizes = [buffer.shape[2] for buffer in buffers]
        own = torch.cat(buffers, dim=2)
        call = self._call_of_none(self._crossing())

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
                own_parts, got_parts = (iter([part.contiguous() for part in one.split(sizes, dim=2)]) for one in (own, got))
                joined = []
                is_known = knows(place - sign * reach, reach)
                for i in level:
                    own_maps, own_offsets = next(own_parts), next(own_parts)
                    maps, offsets = next(got_parts), next(got_parts)
                    mine, theirs = (own_maps, own_offsets), (maps, offsets)
                    new_maps, new_offsets = torch.zeros_like(own_maps), torch.empty_like(own_offsets)
                    if is_known:  # its offsets are a state
                        call.apply(i, backward, *mine, offsets, new_offsets)
                    else:
                        result = (new_maps, new_offsets)
                        call.combine(i, backward, *((mine, theirs) if backward else (theirs, mine)), result)
                    joined += [new_maps, new_offsets]
                own = torch.cat(joined, dim=2)
            reach *= 2
        last = torch.cat(own.split(sizes, dim=2)[1::2], dim=2)
        got = self.plan.processes.pass_on(last, place + sign if cross(place + sign) else None, place - sign if cross(place) else None)
        if got is not None:
            for i, state in zip(level, got.split(sizes[1::2], dim=2)):
                shape = self.shapes[i].state
                states[shape] = state.reshape(*state.shape[:2], *self.state_shapes[shape]).contiguous()

    def _crossing(self) -> list[torch.Tensor]:
        """Inputs and params of no tokens, for a call that says how many heads there are of the sequences that cross."""
        return [x if i >= self.inputs else x[:, :0] for i, x in enumerate(self.given)]

    # Backward

    def backward(
        self, initials: Sequence[Any], cotangents: Sequence[Any], finals: Sequence[Any], wanted: Sequence[bool]
    ) -> Exchanges:
        """Gradients of inputs and params, and of the states before each sequence of this part."""
        own = self.part.own
        count = self._count()
        behind = 1 if own.ends_inside else 0
        rest = self._derive(0, count - behind, initials, cotangents, finals, wanted) if count > behind else None
        known = [state[: self._units()] for state in rest[1]] if rest and own.begins_inside and not own.is_inside else None
        after = yield from self._exchange_back(known, cotangents)
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
        ends = [None if x is None else x if self.is_dense or len(x) == sequences else x[piece.first : piece.last] for x in finals]
        ends = [None if x is None else x.contiguous() for x in ends]
        all_wanted = [*wanted, *[True] * len(starts)]
        found = iter(
            tensors._backward(
                [*given, *starts], piece.offsets, [*outputs, *ends], self.recurrence.handle, [True] * len(starts), False, True, all_wanted, [], 0
            )
        )
        gradients = [next(found) if is_wanted else None for is_wanted in wanted]
        return gradients, list(found)

    def _exchange_back(
        self, known: Sequence[torch.Tensor] | None, cotangents: Sequence[Any]
    ) -> Generator[list[torch.Tensor], list[torch.Tensor], list[Any]]:
        """The cotangents of the states behind this process's last sequence, where it ends elsewhere."""
        part, own = self.part, self.part.own
        after: list[Any] = [None] * len(self.state_shapes)
        if not self._crosses():
            return after
        units, heads = self._units(), self.heads
        like = self.given[0]
        piece = self._piece(0, 1) if own.is_inside else None
        outputs = [None if x is None else x.contiguous() for x in cotangents]
        for level in summaries.list_backward_levels(self.shapes):
            buffers = []
            call = self._call(piece, self.states_before) if piece else None
            for i in level:
                shape = self.shapes[i]
                maps = like.new_zeros((units, heads, shape.map_size if shape.has_backward_map else 0), dtype=torch.float32)
                offsets = like.new_zeros((units, heads, shape.offset_size), dtype=torch.float32)
                if call:
                    call.summarise_backward(i, outputs, after, maps if shape.has_backward_map else None, offsets)
                elif known is not None:
                    offsets.copy_(known[shape.state].reshape(offsets.shape))
                buffers += [maps, offsets]
            way = self._choose_exchange(level)
            if way == "scan":
                pairs = zip(level, buffers[::2], buffers[1::2])
                self._scan(level, [x for i, maps, own in pairs for x in (maps if maps.shape[2] else self.maps[i], own)], True, after)
                continue
            if way == "heads":
                self._share_heads(level, buffers, True, after)
                continue
            everyone = iter((yield buffers))
            for i in level:
                own_maps, offsets = next(everyone), next(everyone)
                maps = own_maps if self.shapes[i].has_backward_map else self.maps[i]
                if own.ends_inside:
                    after[self.shapes[i].state] = self._walk(i, part.find_behind(), maps, offsets, backward=True)
        return after


@dataclass(frozen=True)
class _Plan:
    """How a call is shared out, as this process sees it."""

    processes: Processes
    layout: Layout
    parts: tuple[Part, ...]  # of this process

    def cut(self, tokens: int) -> list[slice]:
        """Where the tokens of each of this process's parts lie among its own."""
        size = tokens // self.layout.pieces
        return [slice(place * size, (place + 1) * size) for place in range(self.layout.pieces)]


def _cut(arrays: Sequence[Any], inputs: int, tokens: slice) -> list[Any]:
    """Of inputs, and whatever else there is for each token, those of a part; params stay."""
    return [x if x is None or place >= inputs else x[:, tokens] for place, x in enumerate(arrays)]


def _pick(part: Part, states: Sequence[Any]) -> list[Any]:
    """Of states of all sequences those before a part's own, where they are given and not found."""
    if part.is_packed:
        return [state if state is None else state[part.own.first : part.own.last] for state in states]
    return [None if part.own.begins_inside else state for state in states]


class _Shared(torch.autograd.Function):  # type: ignore[misc]
    """Outputs of this process's tokens, and the states behind each of its parts."""

    @staticmethod
    def forward(ctx: Any, name: str, plan: _Plan, has_initial: Sequence[bool], *values: torch.Tensor) -> Any:
        recurrence = REGISTRY[name]
        inputs = len(recurrence.declaration.inputs)
        count = inputs + len(recurrence.declaration.params)
        rest = iter(values[count:])
        initials = [next(rest) if there else None for there in has_initial]
        cuts = plan.cut(values[0].shape[1])
        backward = any(ctx.needs_input_grad)
        runs = [_Run(recurrence, plan, part, _cut(values[:count], inputs, cut), backward) for part, cut in zip(plan.parts, cuts)]
        made = exchange_together(plan.processes, plan.layout, [run.forward(_pick(run.part, initials)) for run in runs])
        outputs = made[0][0] if len(made) == 1 else [torch.cat(pieces, dim=1) for pieces in zip(*(part[0] for part in made))]
        ctx.runs, ctx.plan, ctx.outputs, ctx.has_initial = runs, plan, len(outputs), has_initial
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*values)
        for run in runs:
            run.given = []  # which are saved as autograd wants it
        return (*outputs, *(state for _, states in made for state in states))

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
    processes = Processes(name, group)
    if processes.rank < 0:
        raise ArgumentError(f"{name}: this process is not in the group")
    problem, facts, prepared = None, None, None
    try:
        if layout not in LAYOUTS:
            raise ArgumentError(f"{name}: layout is one of {', '.join(LAYOUTS)}, and not {layout!r}")
        prepared = _prepare(recurrence, given, chosen)
        whole, arrays, states, ends = prepared
        if not processes.can_exchange(arrays[0].device):
            raise ArgumentError(
                f"{name}: a tensor is on {arrays[0].device}, and the group exchanges nothing that lies there; "
                'init_process_group("cpu:gloo,cuda:nccl") makes one that does'
            )
        is_derived = torch.is_grad_enabled() and any(x.requires_grad for x in (*arrays, *states) if x is not None)
        shapes = [tuple(x.shape[3:]) for x in arrays[: len(whole.declaration.inputs)]]
        kernel = repr((is_derived, whole.handle, [str(x.dtype) for x in arrays], shapes))
        heads = PartCall(whole, None, arrays, None, None).call.heads
        if layout == "zigzag" and arrays[0].shape[1] % 2:
            raise ArgumentError(f"{name}: with layout='zigzag' a process has two parts of as many tokens each, and T is {arrays[0].shape[1]}")
        facts = Facts(arrays[0].shape[0], heads[0], layout, repr(ends), kernel, arrays[0].shape[1])
    except (ArgumentError, ValueError) as error:
        problem = error
    processes.begin()
    tokens = processes.agree(facts, problem, processes.find_place(given))
    assert prepared is not None
    whole, arrays, states, ends = prepared
    if ends is not None and (ends[-1] != sum(tokens) or ends[0] != 0):
        raise ArgumentError(f"{name}: the offsets go from {ends[0]} to {ends[-1]}; they are those of all processes' tokens, of which there are {sum(tokens)}")
    lies = Layout(layout, processes.count)
    shares = tuple(share_out(lies.count_tokens(tokens), ends))
    parts = tuple(Part(number, shares, ends is not None) for number in lies.list_parts(processes.rank))
    if ends is None and all(part.own.begins_inside for part in parts):
        states = [None] * len(states)
    has_initial = [state is not None for state in states]
    plan = _Plan(processes, lies, parts)
    results = _Shared.apply(whole.handle, plan, has_initial, *arrays, *[state for state in states if state is not None])
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


def _prepare(
    recurrence: Recurrence, given: list[Any], chosen: CallOptions
) -> tuple[Recurrence, list[torch.Tensor], list[Any], list[int] | None]:
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
