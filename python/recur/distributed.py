"""Sequences that are divided among the processes of a group of ``torch.distributed``.

Each process has some of the tokens of every sequence, in the order of the ranks, and passes these to a call with ``group=``. The call
computes the outputs of the process's own tokens, and their gradients. A process may have any number of tokens, even none.

Processes never exchange tokens. They exchange the effect of their tokens on a state: for each head of a sequence a map and an offset, which
have the same size for a million tokens as for a thousand. There is one exchange forward, and one backward, for each level of states: a state
whose update depends on another state is a level later. Results have the same bits each time. Another number of processes changes the
order of sums, and so the last digits.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from . import torch as tensors
from .errors import ArgumentError
from .part_run import Plan, Run, exchange_together
from .processes import Facts, Processes
from .registry import REGISTRY
from .shares import LAYOUTS, Layout, Part, Share, share_out
from .summary_calls import PartCall

if TYPE_CHECKING:
    from .call_options import CallOptions
    from .recurrence import Recurrence


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
    recurrence: Recurrence, plan: Plan, has_initial: Sequence[bool], values: Sequence[torch.Tensor], needed: Sequence[bool] | None
) -> tuple[tuple[torch.Tensor, ...], list[Run]]:
    """Outputs of this process's tokens, and the states behind each of its parts; `needed` says which gradients will be."""
    inputs = len(recurrence.declaration.inputs)
    count = inputs + len(recurrence.declaration.params)
    rest = iter(values[count:])
    initials = [next(rest) if there else None for there in has_initial]
    backward = needed is not None and any(needed)
    runs = []
    for part, cut in zip(plan.parts, plan.cut(values[0].shape[1])):
        run = Run(recurrence, plan, part, _cut(values[:count], inputs, cut), backward)
        run.wanted = list(needed[:count]) if needed is not None and backward else None
        runs.append(run)
    made = exchange_together(plan.processes, plan.layout, [run.forward(_pick(run.part, initials)) for run in runs])
    outputs = made[0][0] if len(made) == 1 else [torch.cat(pieces, dim=1) for pieces in zip(*(part[0] for part in made))]
    return (*outputs, *(state for _, states in made for state in states)), runs


class _Shared(torch.autograd.Function):  # type: ignore[misc]
    """Outputs of this process's tokens, and the states behind each of its parts."""

    @staticmethod
    def forward(ctx: Any, name: str, plan: Plan, has_initial: Sequence[bool], *values: torch.Tensor) -> Any:
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
        plan = Plan(Processes(name, group, place), *rest)
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


def _agree(name: str, group: Any, layout: str, prepared: _Prepared | None, problem: Exception | None, is_derived: bool) -> Plan:
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
    return Plan(processes, lies, tuple(Part(number, shares, ends is not None) for number in lies.list_parts(processes.rank)))


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
