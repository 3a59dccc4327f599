"""Processes that compute a call together: how they agree on it, and how they give one another tensors."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, NoReturn

import torch
import torch.distributed as dist

from .errors import ExchangeError


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


def hash_of(fact: str) -> int:
    """The same number in every process for the same text."""
    return int.from_bytes(hashlib.sha256(fact.encode()).digest()[:7], "little")
