"""Sequences that are shared out over processes: outputs, final states and all gradients are those of one process."""

import datetime
import os
import socket
import time

import numpy
import pytest
from test_golden import NAMES, call as read_call, read_dims
from test_summaries import WITHOUT

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("PyTorch has no torch.distributed", allow_module_level=True)

import torch.multiprocessing as multiprocessing  # noqa: E402

import recur  # noqa: E402
from recur import distributed, scale, summary_calls  # noqa: E402
from recur.processes import Processes  # noqa: E402
from recur.shares import share_out  # noqa: E402

SHARED_OUT = [name for name in NAMES if name not in WITHOUT]
#: In the ordinary run; RECUR_TEST_ALL=1 takes all of them, of which each compiles a gradient.
SOME = ["comba", "gated_delta_net", "gsa", "hgrn", "kda", "mamba2_layer", "mlstm", "pgdn", "rwkv7"]
TRIED = SHARED_OUT if os.environ.get("RECUR_TEST_ALL") == "1" else SOME


def find_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def start(rank, count, port, seconds, work, words):
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=count, timeout=datetime.timedelta(seconds=seconds)
    )
    try:
        work(rank, count, *words)
    finally:
        torch.distributed.destroy_process_group()


def run_processes(count, work, *words, seconds=60):
    multiprocessing.start_processes(start, (count, find_port(), seconds, work, words), nprocs=count, start_method="fork")


def prepare(name, repeats=1):
    """Inputs and params of a recurrence, its initial states, all as leaves that require gradients."""
    base, given, initial = read_call(name)
    recurrence = base.with_options(dims=read_dims(name), quick=True)
    declaration = recurrence.declaration
    arrays = []
    for value in declaration.inputs:
        array = numpy.concatenate([given[value.name]] * repeats, axis=1)
        arrays.append(torch.tensor(array, requires_grad=True))
    arrays += [torch.tensor(given[value.name], requires_grad=True) for value in declaration.params]
    return recurrence, arrays, initial


def weigh(outputs, begin, end):
    """A loss that takes every number otherwise."""
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    total = 0.0
    for place, output in enumerate(outputs):
        weights = torch.cos(torch.arange(int(numpy.prod(output.shape[2:])), dtype=torch.float32).reshape(output.shape[2:]) + place)
        tokens = torch.sin(1.0 + torch.arange(begin, end, dtype=torch.float32))
        total = total + (output * weights * tokens.reshape(1, -1, *[1] * (output.ndim - 2))).sum()
    return total


def weigh_states(states):
    states = states if isinstance(states, dict) else {"": states}
    return sum((state * torch.cos(torch.arange(state.numel(), dtype=torch.float32).reshape(state.shape))).sum() for state in states.values())


def is_near(got, wanted, bound):
    size = max(float(wanted.norm()), 1e-6 * wanted.numel() ** 0.5)
    return float((got - wanted).norm()) <= bound * size


def hold_against_one(rank, count, name, cuts, has_states=True):
    """A process's part: the tokens between two cuts. Without states none are given, and none have a part in the loss."""
    recurrence, arrays, initial = prepare(name)
    initial = initial if has_states else None
    inputs = len(recurrence.declaration.inputs)
    initials = {n: torch.tensor(a, requires_grad=True) for n, a in (initial or {}).items()}
    *outputs, states = recurrence(*arrays, initial=initials or None, final=True)
    loss = weigh(tuple(outputs), 0, outputs[0].shape[1]) + (weigh_states(states) if has_states else 0)
    leaves = [*arrays, *initials.values()]
    wanted = torch.autograd.grad(loss, leaves, allow_unused=True)

    begin, end = cuts[rank], cuts[rank + 1]
    own = [x.detach()[:, begin:end].requires_grad_() if i < inputs else x.detach().requires_grad_() for i, x in enumerate(arrays)]
    own_initials = {n: x.detach().clone().requires_grad_() for n, x in initials.items()}
    *shared, last = recurrence(*own, initial=(own_initials or None) if rank == 0 else None, final=True, group=True)
    for got, whole in zip(shared, outputs):
        assert is_near(got.detach(), whole.detach()[:, begin:end], 2e-5), (name, "outputs", rank)
    loss = weigh(tuple(shared), begin, end)
    if rank + 1 == count:
        for got, whole in zip(last.values() if isinstance(last, dict) else [last], states.values() if isinstance(states, dict) else [states]):
            assert is_near(got.detach(), whole.detach(), 2e-5), (name, "final states")
        loss = loss + (weigh_states(last) if has_states else 0)
    else:
        assert all(state is None for state in (last.values() if isinstance(last, dict) else [last]))
    loss.backward()
    for place, (x, whole) in enumerate(zip(own, wanted)):
        got = torch.zeros_like(x) if x.grad is None else x.grad
        if place < inputs:
            part = torch.zeros_like(x) if whole is None else whole[:, begin:end]
            everyone = torch.tensor([float((got - part).square().sum()), float(part.square().sum())])
        else:  # of params each process has what its own tokens give
            torch.distributed.all_reduce(got)
            part = torch.zeros_like(x) if whole is None else whole
            everyone = torch.tensor([float((got - part).square().sum()), float(part.square().sum())]) / count
        torch.distributed.all_reduce(everyone)
        assert everyone[0].sqrt() <= 1e-4 * max(float(everyone[1].sqrt()), 1e-3), (name, place, everyone)
    if rank == 0:
        for x, whole in zip(own_initials.values(), wanted[len(arrays) :]):
            assert is_near(x.grad, whole, 1e-4), (name, "initial states")


def split(count, tokens, is_even):
    if is_even:
        return [tokens * rank // count for rank in range(count + 1)]
    return [0, *sorted(numpy.random.default_rng(count).integers(0, tokens + 1, count - 1).tolist()), tokens]


@pytest.mark.parametrize("name", TRIED)
def test_parts_are_the_whole(name):
    prepare(name)
    recurrence, arrays, _ = prepare(name)
    recurrence(*arrays)  # compiled once, and found in the cache by each process
    run_processes(3, hold_against_one, name, split(3, arrays[0].shape[1], is_even=False))


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_any_number_of_processes(count):
    run_processes(count, hold_against_one, "gated_delta_net", split(count, 70, is_even=True))


def test_processes_without_tokens():
    run_processes(4, hold_against_one, "pgdn", [0, 0, 40, 40, 70])
    run_processes(3, hold_against_one, "mamba2_layer", [0, 1, 2, 70])


def hold_packed(rank, count, name, ends, cuts):
    recurrence, arrays, _ = prepare(name, repeats=2)
    inputs = len(recurrence.declaration.inputs)
    _, states = recurrence(*arrays, final=True)
    random = numpy.random.default_rng(5)

    def draw(shape):
        return torch.tensor(0.3 * random.standard_normal((len(ends) - 1, *shape[1:])), dtype=torch.float32).abs_().requires_grad_()

    names = [value.name for value in recurrence.declaration.states]
    given = states if isinstance(states, dict) else {names[0]: states}
    initials = {n: draw(given[n].shape) for n in names}
    offsets = torch.tensor(ends)
    output, states = recurrence(*arrays, initial=initials, final=True, offsets=offsets)
    states = states if isinstance(states, dict) else {names[0]: states}
    loss = weigh(output, 0, output.shape[1]) + weigh_states(states)
    wanted = torch.autograd.grad(loss, [*arrays, *initials.values()], allow_unused=True)

    begin, end = cuts[rank], cuts[rank + 1]
    own = [x.detach()[:, begin:end].requires_grad_() if i < inputs else x.detach().requires_grad_() for i, x in enumerate(arrays)]
    own_initials = {n: x.detach().clone().requires_grad_() for n, x in initials.items()}
    got, last = recurrence(*own, initial=own_initials, final=True, offsets=offsets, group=True)
    last = last if isinstance(last, dict) else {names[0]: last}
    if end > begin:
        assert is_near(got.detach(), output.detach()[:, begin:end], 2e-5)
    for n, state in last.items():  # each process has the rows of what ends on it
        whole = state.detach().clone()
        torch.distributed.all_reduce(whole)
        if n in states:
            assert is_near(whole, states[n].detach(), 2e-5), n
    loss = weigh(got, begin, end) + weigh_states({n: state for n, state in last.items() if n in states})
    loss.backward()
    for place, (x, whole) in enumerate(zip([*own, *own_initials.values()], wanted)):
        grad = torch.zeros_like(x) if x.grad is None else x.grad
        part = torch.zeros_like(grad) if whole is None else whole
        if place < inputs:
            part = part[:, begin:end] if whole is not None else part
        else:
            torch.distributed.all_reduce(grad)
        assert float((grad - part).norm()) <= 1e-4 * max(float(part.norm()), 1e-3), (name, place)


@pytest.mark.parametrize("name", ["gated_delta_net", "pgdn"])
@pytest.mark.parametrize(
    ("ends", "cuts"),
    [
        ([0, 140], [0, 50, 100, 140]),
        ([0, 20, 20, 90, 140], [0, 50, 100, 140]),
        ([0, 50, 100, 100, 140], [0, 50, 100, 140]),
        ([0, 3, 138, 140, 140], [0, 1, 139, 140]),
        ([0, 10, 130, 140], [0, 40, 40, 140]),
    ],
)
def test_packed_sequences_whose_ends_fall_anywhere(name, ends, cuts):
    run_processes(3, hold_packed, name, ends, cuts)


def hold_otherwise(rank, count, way, work, *words):
    """The same where summaries are exchanged in a way that a call of this size would not choose."""
    scale.choose_exchange = lambda ranks, heads, maps, states: way
    work(rank, count, *words)


@pytest.mark.parametrize("way", ["heads", "scan"])
@pytest.mark.parametrize("name", ["pgdn", "mlstm"])
def test_each_exchange(name, way):
    run_processes(5, hold_otherwise, way, hold_against_one, name, split(5, 70, is_even=False))


def hold_bytes(rank, count):
    """What the process that sends most sends is what the model of the benchmark says."""
    import several

    recurrence, arrays, _ = prepare("gated_delta_net")
    own, inputs = [x.detach() for x in arrays], len(recurrence.declaration.inputs)
    own = [x[:, 10 * rank : 10 * rank + 10].contiguous() if i < inputs else x for i, x in enumerate(own)]
    sent = [0]
    with several.counting(sent):
        recurrence(*own, group=True)
    most = torch.tensor(sent[0])
    torch.distributed.all_reduce(most, torch.distributed.ReduceOp.MAX)
    _, heads, shapes = summary_calls.obtain(recurrence, own, False)
    assert int(most) == several.predict_bytes(shapes, count, len(own[0]) * heads, False)["predicted bytes"] > 0


@pytest.mark.parametrize("way", ["all-gather", "heads"])
def test_each_exchange_sends_what_the_model_says(way):
    run_processes(3, hold_otherwise, way, hold_bytes)


@pytest.mark.parametrize("way", ["heads", "scan"])
@pytest.mark.parametrize("count", [1, 8])
def test_each_exchange_of_any_number_of_processes(count, way):
    run_processes(count, hold_otherwise, way, hold_against_one, "gated_delta_net", split(count, 70, is_even=True))


# Some heads of several are each process's.
def test_an_exchange_of_several_heads_without_states():
    run_processes(2, hold_otherwise, "heads", hold_against_one, "gated_delta_net", split(2, 70, is_even=False), False)


@pytest.mark.parametrize("way", ["heads", "scan"])
def test_each_exchange_of_packed_sequences(way):
    run_processes(5, hold_otherwise, way, hold_packed, "pgdn", [0, 20, 20, 90, 140], [0, 30, 50, 70, 100, 140])


def test_a_call_keeps_nothing_that_it_applied():
    """One that takes states through summaries is used again for as long as the recurrence is."""
    recurrence, arrays, _ = prepare("gated_delta_net")
    arrays = [x.detach() for x in arrays]
    loaded, heads, (shape,) = summary_calls.obtain(recurrence, arrays, False)
    call = summary_calls.PartCall(recurrence, loaded, arrays, None, None)
    maps, offsets = (torch.zeros((len(arrays[0]), heads, size)) for size in (shape.map_size, shape.offset_size))
    count = lambda: [torch._C._storage_Use_Count(x.untyped_storage()._cdata) for x in (maps, offsets)]
    before = count()
    call.summarise(0, maps, offsets)
    call.apply(0, False, maps, offsets, offsets.clone(), offsets.clone())
    call.apply_all(0, False, [(maps, offsets), (maps, offsets)], offsets.clone())
    call.combine(0, False, (maps, offsets), (maps, offsets), (maps.clone(), offsets.clone()))
    assert count() == before


def test_the_exchange_follows_from_sizes():
    choose, large = scale.choose_exchange, 1 << 22
    assert [choose(ranks, 64, large, large) for ranks in (2, 4, 8, 16, 64, 1024)] == [*["all-gather"] * 3, *["heads"] * 2, "scan"]
    assert choose(64, 64, 1 << 10, 1 << 10) == "all-gather"
    assert choose(64, 1, large, large) == "scan"


def lay_zigzag(rank, count, tokens):
    """The places of a process's tokens: two parts, the second in the other order of the ranks behind all first ones."""
    size = tokens // (2 * count)
    first, second = rank * size, (2 * count - 1 - rank) * size
    return torch.cat((torch.arange(first, first + size), torch.arange(second, second + size)))


def hold_zigzag(rank, count, name, ends):
    recurrence, arrays, initial = prepare(name, repeats=2)
    tokens = 2 * count * (140 // (2 * count))
    inputs = len(recurrence.declaration.inputs)
    arrays = [x.detach()[:, :tokens].requires_grad_() if i < inputs else x for i, x in enumerate(arrays)]
    *_, states = recurrence(*arrays, final=True)
    states = states if isinstance(states, dict) else {recurrence.declaration.states[0].name: states}
    rows = 1 if ends is None else len(ends) - 1
    initials = {n: torch.cat([0.3 * x.detach().abs() + 0.1 * row for row in range(rows)]).requires_grad_() for n, x in states.items()}
    offsets = {} if ends is None else {"offsets": torch.tensor(ends)}
    output, last = recurrence(*arrays, initial=initials, final=True, **offsets)
    last = last if isinstance(last, dict) else {next(iter(states)): last}
    weights = torch.cos(torch.arange(output.numel(), dtype=torch.float32)).reshape(output.shape)
    wanted = torch.autograd.grad((output * weights).sum() + weigh_states(last), [*arrays, *initials.values()], allow_unused=True)

    places = lay_zigzag(rank, count, tokens)
    own = [x.detach()[:, places].requires_grad_() if i < inputs else x.detach().requires_grad_() for i, x in enumerate(arrays)]
    own_initials = {n: x.detach().clone().requires_grad_() for n, x in initials.items()}
    got, shared = recurrence(*own, initial=own_initials, final=True, group=True, layout="zigzag", **offsets)
    shared = shared if isinstance(shared, dict) else {next(iter(states)): shared}
    assert is_near(got.detach(), output.detach()[:, places], 2e-5)
    loss = (got * weights[:, places]).sum()
    for n, state in shared.items():
        if ends is not None:  # each process has the rows of what ends on it
            whole = state.detach().clone()
            torch.distributed.all_reduce(whole)
            assert is_near(whole, last[n].detach(), 2e-5), n
        else:  # the first process has the last tokens too
            assert (state is None) == (rank > 0)
            assert state is None or is_near(state.detach(), last[n].detach(), 2e-5), n
    if rank == 0 or ends is not None:
        loss = loss + weigh_states(shared)
    loss.backward()
    for place, (x, whole) in enumerate(zip([*own, *own_initials.values()], wanted)):
        grad = torch.zeros_like(x) if x.grad is None else x.grad
        part = torch.zeros_like(grad) if whole is None else whole[:, places] if place < inputs else whole
        if place >= inputs:
            torch.distributed.all_reduce(grad)
        assert float((grad - part).norm()) <= 1e-4 * max(float(part.norm()), 1e-3), (name, place)


@pytest.mark.parametrize(("count", "ends"), [(1, None), (3, None), (4, None), (2, [0, 30, 30, 75, 140]), (3, [0, 23, 46, 130, 138])])
@pytest.mark.parametrize("name", ["gated_delta_net", "mamba2_layer"])
def test_zigzag(name, count, ends):
    run_processes(count, hold_zigzag, name, ends)


def hold_known_names(rank, count, layout, ends):
    from recur import fla

    torch.manual_seed(0)
    tokens, heads, K, V = ends[-1], 2, 8, 6
    q, k = (torch.nn.functional.normalize(torch.randn(1, tokens, heads, K), dim=-1) for _ in "qk")
    v, beta = torch.randn(1, tokens, heads, V), torch.rand(1, tokens, heads)
    g = {"gated_delta_rule": -torch.rand(1, tokens, heads), "kda": -torch.rand(1, tokens, heads, K)}
    context = fla.build_cp_context(torch.tensor(ends), torch.distributed.group.WORLD, 4, layout=layout)
    own_tokens = tokens // count
    places = torch.arange(rank * own_tokens, (rank + 1) * own_tokens) if layout == "contiguous" else lay_zigzag(rank, count, tokens)
    assert context.cu_seqlens[0] == 0 and context.cu_seqlens[-1] == own_tokens and context.layout == layout
    for name, decay in g.items():
        call = getattr(fla, f"chunk_{name}")
        whole = [x.clone().requires_grad_() for x in (q, k, v, decay, beta)]
        own = [x[:, places].requires_grad_() for x in (q, k, v, decay, beta)]
        wanted, _ = call(*whole, cu_seqlens=torch.tensor(ends))
        got, last = call(*own, cu_seqlens=context.cu_seqlens, cp_context=context)
        assert last is None and is_near(got.detach(), wanted.detach()[:, places], 2e-5)
        weights = torch.cos(torch.arange(wanted.numel(), dtype=torch.float32)).reshape(wanted.shape)
        (wanted * weights).sum().backward()
        (got * weights[:, places]).sum().backward()
        for x, y in zip(own, whole):
            assert is_near(x.grad, y.grad[:, places], 1e-4), name
    if layout == "contiguous":
        facts = [context.is_first_rank, context.is_last_rank, context.pre_num_ranks, context.post_num_ranks, context.pre_num_conv_tokens]
        assert facts == [[True, False, 0, 2, 0], [False, False, 1, 1, 8], [False, True, 2, 0, 26]][rank]
    expect("3 parts of one length", lambda: fla.build_cp_context(torch.tensor([0, 40]), torch.distributed.group.WORLD))
    expect("what recur.fla.build_cp_context gives", lambda: fla.chunk_kda(q, k, v, g["kda"], beta, cp_context=1))


@pytest.mark.parametrize("layout", ["contiguous", "zigzag"])
def test_known_names(layout):
    run_processes(3, hold_known_names, layout, [0, 10, 38, 54])


def hold_module(rank, count):
    from torch.distributed.device_mesh import init_device_mesh

    recurrence, arrays, _ = prepare("mamba2_layer")
    inputs = len(recurrence.declaration.inputs)
    params = {value.name: x.detach() for value, x in zip(recurrence.declaration.params, arrays[inputs:])}
    heads, dims = arrays[0].shape[2], {**read_dims("mamba2_layer"), "parts": params["w"].shape[-1]}
    whole = recur.torch.Module(recurrence, heads, dims, **{n: x.clone() for n, x in params.items()})
    given = [x.detach() for x in arrays[:inputs]]
    wanted = whole(*given)
    weigh(wanted, 0, 70).backward()
    mesh = init_device_mesh("cpu", (2, count // 2), mesh_dim_names=("others", "tokens"))
    place, ranks = mesh.get_local_rank("tokens"), mesh.size(1)
    begin, end = split(ranks, 70, is_even=True)[place : place + 2]
    for at in (mesh["tokens"], None), (mesh, "tokens"):
        module = distributed.Module(recurrence, heads, dims, *at, **{n: x.clone() for n, x in params.items()})
        output = module(*(x[:, begin:end] for x in given))
        assert is_near(output.detach(), wanted.detach()[:, begin:end], 2e-5)
        weigh(output, begin, end).backward()
        for own, other in zip(module.parameters(), whole.parameters()):
            torch.distributed.all_reduce(own.grad, group=mesh.get_group("tokens"))
            assert is_near(own.grad, other.grad, 1e-4)
    expect("the mesh has 2 sides", lambda: distributed.Module(recurrence, heads, dims, mesh, **params))


def test_a_module_on_a_mesh():
    run_processes(4, hold_module)


def hold_types(rank, count):
    recurrence, arrays, _ = prepare("gated_delta_net")
    mixed = [x.detach().to(torch.bfloat16 if place < 3 else torch.float32).requires_grad_() for place, x in enumerate(arrays)]
    whole = recurrence(*mixed)
    weigh(whole.float(), 0, 70).backward()
    begin, end = split(count, 70, is_even=True)[rank : rank + 2]
    own = [x.detach()[:, begin:end].contiguous().requires_grad_() for x in mixed]
    output = recurrence(*own, group=True)
    assert output.dtype == torch.bfloat16
    assert is_near(output.detach().float(), whole.detach()[:, begin:end].float(), 4e-3)
    weigh(output.float(), begin, end).backward()
    for x, of in zip(own, mixed):
        assert x.grad.dtype == of.dtype
        assert is_near(x.grad.float(), of.grad[:, begin:end].float(), 8e-3)


def test_types_are_taken_as_they_come():
    run_processes(3, hold_types)


def hold_bits(rank, count):
    recurrence, arrays, _ = prepare("gated_delta_net")
    begin, end = split(count, 70, is_even=True)[rank : rank + 2]

    def once():
        own = [x.detach()[:, begin:end].contiguous().requires_grad_() for x in arrays]
        output = recurrence(*own, group=True)
        weigh(output, begin, end).backward()
        return [output.detach(), *(x.grad for x in own)]

    first = once()
    if rank == 1:
        time.sleep(0.2)
    for one, other in zip(first, once()):
        assert torch.equal(one, other)


def test_the_bits_are_the_same_each_time():
    run_processes(3, hold_bits)


def expect(match, work):
    try:
        work()
    except recur.Error as error:
        assert match in str(error), str(error)
    else:
        raise AssertionError("nothing was raised")


def hold_refusals(rank, count):
    recurrence, arrays, _ = prepare("gated_delta_net")
    plain = [x.detach() for x in arrays]
    cut = [x[:, :10].contiguous() for x in plain]
    if rank == 0:
        expect("rank 1 refuses the call", lambda: recurrence(*cut, group=True))
    else:
        expect("states are as declared", lambda: recurrence(*cut, states_transposed=True, group=True))
    more = [torch.cat((x, x)) for x in cut] if rank else cut
    expect("B is 1 on rank 0 and 2 on rank 1", lambda: recurrence(*more, group=True))
    kinds = [x.bfloat16() for x in cut] if rank else cut
    expect("ranks 0 and 1 differ in the recurrence", lambda: recurrence(*kinds, group=True))
    expect("ranks 0 and 1 differ in the offsets", lambda: recurrence(*cut, offsets=[0, 20 - rank], group=True))
    expect("of which there are 20", lambda: recurrence(*cut, offsets=[0, 30], group=True))
    expect("ranks 0 and 1 differ in their layouts", lambda: recurrence(*cut, group=True, layout=["contiguous", "zigzag"][rank]))
    expect("layout is one of contiguous, zigzag", lambda: recurrence(*cut, group=True, layout="striped"))
    odd = [x[:, :9] for x in cut]
    expect("two parts of as many tokens each, and T is 9", lambda: recurrence(*odd, group=True, layout="zigzag"))
    elsewhere = torch.zeros(1, device="meta")
    expect("a tensor is on cpu, and another on meta", lambda: recurrence(*cut, initial=elsewhere, group=True))
    expect("the offsets decrease", lambda: recurrence(*cut, offsets=[0, 30, 20], group=True))
    result = recurrence(*cut, group=True)  # after all that it still works
    assert result.shape[1] == 10


def test_misuse_is_refused_by_all():
    run_processes(2, hold_refusals)


class Group:
    """One that exchanges what lies on these devices."""

    def __init__(self, *devices):
        self.devices = devices

    def _get_backend(self, device):
        if device.type not in self.devices:
            raise RuntimeError(f"No backend type associated with device type {device.type}")


@pytest.mark.parametrize("devices, place", [(("cpu",), "cpu"), (("cpu", "cuda"), "cpu"), (("cuda",), "cuda"), ((), "cpu")])
def test_processes_compare_what_they_give_where_the_group_can(devices, place):
    """Also those of a call that is refused: the others would wait for them in vain."""
    processes = object.__new__(Processes)
    processes.group = Group(*devices)
    assert processes.find_place([None, torch.zeros(1)]) == torch.device(place)


def leave_early(rank, count):
    recurrence, arrays, _ = prepare("gated_delta_net")
    cut = [x.detach()[:, :10].contiguous() for x in arrays]
    if rank == 1:
        return
    expect("waited for the others in vain: rank 1 has not come", lambda: recurrence(*cut, group=True))


def test_a_process_that_ends_is_no_hang():
    run_processes(2, leave_early)


def leave_before_the_gradient(rank, count, told):
    recurrence, arrays, _ = prepare("gated_delta_net")
    own = [x.detach()[:, :10].contiguous().requires_grad_() for x in arrays]
    output = recurrence(*own, group=True)
    if rank == 0:
        told.wait(20)  # which is longer than the other waits, or it would see that this process has ended
        return
    expect("rank 0 has not come", lambda: output.sum().backward())
    told.set()


def test_a_process_without_a_gradient_is_no_hang():
    told = multiprocessing.get_context("fork").Event()
    run_processes(2, leave_before_the_gradient, told, seconds=5)
    assert told.is_set()


def test_without_processes():
    recurrence, arrays, _ = prepare("gated_delta_net")
    with pytest.raises(recur.ArgumentError, match="init_process_group"):
        recurrence(*arrays, group=True)


def test_shares():
    shares = share_out([5, 0, 5], None)
    assert [share.is_inside for share in shares] == [False, True, False]
    shares = share_out([4, 4, 4], [0, 2, 2, 6, 12])
    assert [(share.first, share.last, share.offsets) for share in shares] == [(0, 3, (0, 2, 2, 4)), (2, 4, (0, 2, 4)), (3, 4, (0, 4))]
    assert [(share.begins_inside, share.ends_inside) for share in shares] == [(False, True), (True, True), (True, False)]
