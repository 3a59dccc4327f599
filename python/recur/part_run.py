"""The computation of one part of the sequences, forward and backward, with what it gives to the other parts and takes from them."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from . import scale, summaries, torch as tensors
from .processes import Processes
from .shares import Layout, Part
from .summary_calls import PartCall, obtain

if TYPE_CHECKING:
    from .recurrence import Recurrence

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


@dataclass
class Piece:
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


class Kernels:
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


class Run:
    """A call on the tokens of one part: forward, and then backward."""

    def __init__(self, recurrence: Recurrence, plan: Plan, part: Part, given: Sequence[torch.Tensor], backward: bool) -> None:
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

    def _piece(self, first: int, last: int) -> Piece:
        share = self.part.own
        if self.is_dense:
            return Piece(0, self.given[0].shape[1], 0, self.given[0].shape[0], None)
        begin, end = share.offsets[first], share.offsets[last]
        offsets = torch.tensor([offset - begin for offset in share.offsets[first : last + 1]], dtype=torch.int64)
        return Piece(begin, end, first, last, offsets)

    def _count(self) -> int:
        share = self.part.own
        return share.last - share.first

    def _units(self) -> int:
        return self.given[0].shape[0] if self.is_dense else 1

    def _call(self, piece: Piece, initials: Sequence[Any]) -> PartCall:
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

    def _start(self, piece: Piece, initials: Sequence[Any]) -> list[Any]:
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

    def _starts(self, piece: Piece, initials: Sequence[Any]) -> list[Any]:
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
class Plan:
    """How a call is shared out, as this process sees it."""

    processes: Processes
    layout: Layout
    parts: tuple[Part, ...]  # of this process
    kernels: dict[bool, Kernels] = field(default_factory=dict)

    def obtain(self, recurrence: Recurrence, given: Sequence[torch.Tensor], backward: bool) -> Kernels:
        """The kernels of the call, which all calls of the plan have."""
        found = self.kernels.get(backward)
        if found is None:
            found = self.kernels[backward] = Kernels(recurrence, given, backward)
        return found

    def cut(self, tokens: int) -> list[slice]:
        """Where the tokens of each of this process's parts lie among its own."""
        size = tokens // self.layout.pieces
        return [slice(place * size, (place + 1) * size) for place in range(self.layout.pieces)]
