"""The cost of dividing a sequence among processes: bytes and steps of each exchange, and the efficiency.

This is a model with stated figures; it measures nothing. ``recur.distributed`` uses it to choose how summaries are
exchanged. `docs/scale.md` has its predictions, and `bench/python/scale.py` compares them with measurements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Up to so many bytes that a process would get of all others, what counts is how often it waits, and the processor's work for that: two
#: waits took half a millisecond more than one on four H200, in which NVLink brings three times as much.
_FEW_BYTES = 64 << 20

#: Seconds of a process for its summaries and their launches, forward and with gradients, however many tokens it has: with decays that
#: leave nothing of a state after some hundred tokens, and 64 heads, as measured on two H200 (`bench/results/several-2-gpus.csv`).
SUMMARY_SECONDS = (1.8e-4, 4.2e-4)


def count_steps(ranks: int) -> int:
    """How often a process waits for another one in a scan: once for each doubling, and for the state of the one before it."""
    return math.ceil(math.log2(ranks)) + 1 if ranks > 1 else 0


def choose_exchange(ranks: int, heads: int, map_bytes: int, state_bytes: int) -> str:
    """How summaries of so many bytes each are exchanged. With ``"all-gather"`` each process gets everybody's and goes through those
    before its own: it waits once. With ``"heads"`` each goes through everybody's for some of the heads of all sequences, and gives
    each other one its state: it waits twice, and gets as many bytes however many processes there are, up to as many as there
    are heads. With ``"scan"`` it gets one summary for each doubling of the processes behind it. Two processes gather, and so do
    more where the bytes are few; else the way is taken on which a process gets fewest."""
    whole = map_bytes + state_bytes
    ways = {
        "all-gather": (ranks - 1) * whole,
        "heads": (ranks - 1) * (whole + state_bytes) // max(min(ranks, heads), 1),
        "scan": max(count_steps(ranks) - 1, 0) * whole + state_bytes,
    }
    return "all-gather" if ranks <= 2 or ways["all-gather"] < _FEW_BYTES else min(ways, key=lambda way: ways[way])


@dataclass(frozen=True)
class Link:
    """What one process can send, and get at the same time."""

    name: str
    bytes_per_second: float
    seconds: float  #: until the first byte is there, with what a library of collectives adds


#: Of one GPU each: an H100's NVLink through a switch, and a port of 400 Gbit/s, at four fifths of what is printed on them.
NVLINK = Link("NVLink", 0.8 * 450e9, 8e-6)
INFINIBAND = Link("InfiniBand", 0.8 * 50e9, 15e-6)


@dataclass(frozen=True)
class Work:
    """A call on whole sequences, of one level of states: a matrix of V x K for each head, whose map is K x K."""

    tokens: int
    heads: int
    K: int
    V: int
    sequences: int = 1
    input_bytes: int = 2  #: of a number

    @property
    def map_bytes(self) -> int:
        """Of the maps that a process makes, which are float32."""
        return 4 * self.sequences * self.heads * self.K * self.K

    @property
    def state_bytes(self) -> int:
        """Of the offsets, and of states."""
        return 4 * self.sequences * self.heads * self.K * self.V

    def count_token_bytes(self, ranks: int) -> float:
        """Of a process's inputs and outputs: two keys, two values, two scalars of float32."""
        per_token = self.heads * (self.input_bytes * 2 * (self.K + self.V) + 8)
        return self.sequences * self.tokens / ranks * per_token


@dataclass(frozen=True)
class Exchange:
    """One way to exchange, of a call forward or of its gradient."""

    kind: str
    steps: int  #: a process waits so often
    sent_bytes: float  #: by a process, or to it, at most
    flops: float  #: of a process, at most, for what the exchange takes beside the call

    def count_seconds(self, link: Link, flops_per_second: float) -> float:
        """What a process waits for it, nothing being overlapped."""
        return self.steps * link.seconds + self.sent_bytes / link.bytes_per_second + self.flops / flops_per_second


def all_gather(work: Work, ranks: int, backward: bool) -> Exchange:
    """Each process gets everybody's summaries. Cotangents have the maps of states, which are there already."""
    sent = (0 if backward else work.map_bytes) + work.state_bytes
    walk = 2.0 * work.sequences * work.heads * work.K * work.K * work.V
    return Exchange("all-gather", 1 if ranks > 1 else 0, (ranks - 1) * sent, (ranks - 1) * walk)


def by_heads(work: Work, ranks: int, backward: bool) -> Exchange:
    """Each process gets everybody's summaries of some heads, and gives each the state that it goes on from."""
    own = math.ceil(work.sequences * work.heads / ranks)  # heads of a process
    share = own / (work.sequences * work.heads)
    sent = (0 if backward else work.map_bytes) + work.state_bytes
    got = (ranks - 1) * share * sent  # and what it sends is no more
    walk = (ranks - 1) * own * 2.0 * work.K * work.K * work.V
    return Exchange("heads", 2 if ranks > 1 else 0, got + (ranks - 1) * share * work.state_bytes, walk)


def scan(work: Work, ranks: int, backward: bool) -> Exchange:
    """Each process gets a summary for each doubling, joins it with its own, and at last the state of the one before it."""
    steps = count_steps(ranks)
    join = 2.0 * work.sequences * work.heads * work.K * work.K * (work.K + work.V)
    doublings = max(steps - 1, 0)
    sent = doublings * (work.map_bytes + work.state_bytes) + (work.state_bytes if ranks > 1 else 0)
    return Exchange("scan", steps, sent, doublings * join)


def all_to_all(work: Work, ranks: int, backward: bool) -> Exchange:
    """Each process gets all tokens of some heads, and gives the outputs back: nothing is computed beside the call."""
    share = (ranks - 1) / ranks
    ways = 2 if backward else 1  # cotangents and gradients come beside inputs, or inputs are kept by heads
    return Exchange("all-to-all", 2 if ranks > 1 else 0, ways * share * work.count_token_bytes(ranks), 0.0)


def choose(work: Work, ranks: int, link: Link, flops_per_second: float, backward: bool = False) -> Exchange:
    """The exchange of summaries that a call takes."""
    kind = choose_exchange(ranks, work.sequences * work.heads, work.map_bytes, work.state_bytes)
    return {"all-gather": all_gather, "heads": by_heads, "scan": scan}[kind](work, ranks, backward)


def predict_efficiency(
    work: Work,
    ranks: int,
    seconds: float,
    link: Link,
    flops_per_second: float,
    backward: bool = False,
) -> float:
    """The time of one process over that of all, and over how many there are. `seconds`: of the whole call on one process, forward or
    with gradients."""
    if ranks == 1:
        return 1.0
    own = seconds / ranks
    exchanges = [choose(work, ranks, link, flops_per_second, side) for side in (False, True)[: 1 + backward]]
    return own / (own + SUMMARY_SECONDS[backward] + sum(one.count_seconds(link, flops_per_second) for one in exchanges))
