"""Which tokens of the sequences each process of a group has."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import torch


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
