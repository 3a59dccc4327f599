"""Gradients of PyTorch's tensors in memory of a GPU. `tools/test-gpu` runs these where there is one; elsewhere they are skipped."""

import concurrent.futures
import os

import pytest
import test_fla
import test_starts
from conftest import draw, error_of
from test_golden import NAMES, call, read_dims
from test_gpu import host, put

import recur

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from replays import Nothing, capture, measure_callers  # noqa: E402  (where PyTorch is)

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no GPU")

BOUND = {torch.float32: 1e-4, torch.bfloat16: 2e-2, torch.float16: 5e-3}


@pytest.fixture(scope="module")
def compiled():
    """The kernels of the golden data, several at a time. What cannot be compiled is found by the test of it."""

    def compile_one(job):
        try:
            recurrence, sizes = job
            recur.compile(recurrence, ahead=[{**sizes, "backward": True}])
        except recur.Error:
            pass

    jobs = [(recur.library.__getattr__(name).with_options(target="sm_90a"), read_dims(name)) for name in NAMES]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, jobs))


def derive(function, given, initial=None, **options):
    """Results and gradients by all floating-point tensors, of cotangents that differ everywhere."""
    leaves = {name: tensor.detach().clone().requires_grad_() for name, tensor in given.items()}
    states = initial and {name: tensor.detach().clone().requires_grad_() for name, tensor in initial.items()}
    results = function(**leaves, initial=states, **options)
    flat = []
    for result in results if isinstance(results, tuple) else [results]:
        flat += result.values() if isinstance(result, dict) else [result]
    loss = sum((x.float() * torch.linspace(-1, 1, x.numel(), device=x.device).reshape(x.shape)).sum() for x in flat)
    names = [*leaves, *(states or ())]
    found = torch.autograd.grad(loss, [*leaves.values(), *(states or {}).values()], allow_unused=True)
    return flat, dict(zip(names, found))


def compare(got, want, bound):
    for name, gradient in want.items():
        if gradient is None:
            assert got[name] is None, name
            continue
        assert got[name].is_cuda and got[name].dtype == gradient.dtype and got[name].shape == gradient.shape, name
        assert error_of(host(got[name]), host(gradient)) < bound, name


def to_host(arrays):
    return arrays and {name: tensor.cpu() for name, tensor in arrays.items()}


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_the_processor(name, compiled):
    _, given, initial = call(name)
    recurrence = recur.library.__getattr__(name)
    given, initial = put(given), None if initial is None else put(initial)
    _, got = derive(recurrence, given, initial, final=True)
    _, want = derive(recurrence, to_host(given), to_host(initial), final=True)
    compare(got, want, BOUND[torch.float32])


@pytest.mark.parametrize("dtype", BOUND, ids=str)
@pytest.mark.parametrize("tokens", [0, 1, 5, 63, 64, 65, 200])
def test_types_and_lengths(gdn, dtype, tokens):
    given = {name: x.float() if name in ("g", "beta") else x for name, x in put(draw(T=tokens), dtype).items()}
    state = {"S": torch.randn(2, 4, 8, 16, device="cuda")}
    _, got = derive(gdn, given, state, final=True)
    _, want = derive(gdn, {name: x.float().cpu() for name, x in given.items()}, to_host(state), final=True)
    assert all(got[name].dtype == x.dtype for name, x in given.items())
    compare({name: x.float() for name, x in got.items()}, want, BOUND[dtype])


@pytest.mark.parametrize("where", ["processor", "GPU", "both"])
def test_packed_sequences(gdn, where):
    """Each sequence has the bits that it has alone, wherever the offsets are, and those on the GPU are not read back."""
    given = put(draw(B=1, T=200))
    bounds = torch.tensor([0, 30, 30, 127, 200])
    offsets = {"processor": bounds, "GPU": bounds.int().cuda(), "both": (bounds, bounds.cuda())}[where]
    state = {"S": torch.randn(4, 4, 8, 16, device="cuda")}
    _, first = derive(gdn, given, state, offsets=offsets, final=True)
    torch.cuda.set_sync_debug_mode("error" if where != "processor" else "default")
    try:
        _, got = derive(gdn, given, state, offsets=offsets, final=True)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert all(torch.equal(got[name], first[name]) for name in got)
    leaves = {name: tensor.detach().clone().requires_grad_() for name, tensor in given.items()}
    starts = state["S"].clone().requires_grad_()
    o, S = gdn(**leaves, initial=starts, offsets=offsets, final=True)
    weights = [torch.linspace(-1, 1, x.numel(), device="cuda").reshape(x.shape) for x in (o, S)]
    found = torch.autograd.grad([o, S], [*leaves.values(), starts], weights)
    assert all(map(torch.equal, found, got.values()))
    for i, (begin, end) in enumerate(zip(bounds, bounds[1:])):
        own = {name: tensor[:, begin:end].detach().clone().requires_grad_() for name, tensor in given.items()}
        before = state["S"][i : i + 1].clone().requires_grad_()
        results = gdn(**own, initial=before, final=True)
        alone = torch.autograd.grad(results, [*own.values(), before], [weights[0][:, begin:end], weights[1][i : i + 1]])
        for name, gradient in zip(got, alone):
            assert torch.equal(gradient, got[name][i : i + 1] if name == "S" else got[name][:, begin:end]), (i, name)


def test_the_same_bits_each_time(gdn):
    """On any stream, whatever else is in the batch, with any number of heads."""
    given = put(draw(B=3, T=300))
    _, want = derive(gdn, given)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        _, again = derive(gdn, given)
    torch.cuda.current_stream().wait_stream(side)
    assert all(torch.equal(again[name], want[name]) for name in want)

    def gradients(given, weight):
        leaves = [tensor.detach().clone().requires_grad_() for tensor in given.values()]
        return torch.autograd.grad(gdn(*leaves), leaves, weight)

    weight = torch.randn(3, 300, 4, 8, device="cuda")
    whole = gradients(given, weight)
    for found, tensor in zip(gradients({name: x[1:2] for name, x in given.items()}, weight[1:2]), whole):
        assert torch.equal(found, tensor[1:2])
    # Two of the four heads, which share one of the two queries.
    some = {name: x[:, :, :1] if name in "qk" else x[:, :, :2] for name, x in given.items()}
    for name, found, tensor in zip(given, gradients(some, weight[:, :, :2]), whole):
        assert torch.equal(found, tensor[:, :, : 1 if name in "qk" else 2]), name


def test_gradients_look_at_no_later_token(gdn):
    """Of a loss on the first tokens: what comes behind these changes no bit."""
    given, other = put(draw(T=200)), put(draw(1, T=200))
    for name, tensor in other.items():
        tensor[:, :120] = given[name][:, :120]

    def gradients(given):
        leaves = [tensor.clone().requires_grad_() for tensor in given.values()]
        return torch.autograd.grad(gdn(*leaves)[:, :100].square().sum(), leaves)

    for one, two in zip(gradients(given), gradients(other)):
        assert torch.equal(one[:, :100], two[:, :100])


@pytest.mark.parametrize("names", [["v"], ["q", "g"], ["S"]])
def test_what_is_not_wanted_is_left_out(gdn, names):
    given, state = put(draw()), torch.randn(2, 4, 8, 16, device="cuda")
    everything = {**given, "S": state}
    for name in everything:
        everything[name] = everything[name].clone().requires_grad_()
    o, S = gdn(**{n: x for n, x in everything.items() if n != "S"}, initial=everything["S"], final=True)
    want = dict(zip(everything, torch.autograd.grad(o.square().sum() + S.sum(), everything.values())))
    some = {name: tensor.detach().requires_grad_(name in names) for name, tensor in everything.items()}
    o, S = gdn(**{n: x for n, x in some.items() if n != "S"}, initial=some["S"], final=True)
    for name, gradient in zip(names, torch.autograd.grad(o.square().sum() + S.sum(), [some[name] for name in names])):
        assert error_of(host(gradient), host(want[name])) < 1e-5


@pytest.mark.parametrize("place", [0, 1])
def test_a_result_that_no_loss_depends_on(gdn, place):
    """Has no cotangent, which stands for zeros."""

    def derive(arrays):
        leaves = {name: tensor.detach().clone().requires_grad_() for name, tensor in arrays.items()}
        results = gdn(**leaves, final=True)
        return dict(zip(leaves, torch.autograd.grad(results[place].square().sum(), leaves.values())))

    given = put(draw())
    compare(derive(given), derive(to_host(given)), BOUND[torch.float32])


def test_strides(gdn):
    """Slices of a projection, cotangents that are expanded, and results that are sliced."""
    given = put(draw())
    wide = torch.zeros(2, 70, 7, 48, device="cuda")
    wide[:, :, 1:3, 16:32] = given["q"]
    wide.requires_grad_()
    _, want = derive(lambda initial=None, **x: gdn(**x)[:, ::2].sum(-1, keepdim=True).expand(-1, -1, -1, 3), given)
    leaves = {name: tensor.requires_grad_() for name, tensor in given.items() if name != "q"}
    o = gdn(q=wide[:, :, 1:3, 16:32], **leaves)[:, ::2].sum(-1, keepdim=True).expand(-1, -1, -1, 3)
    weight = torch.linspace(-1, 1, o.numel(), device="cuda").reshape(o.shape)
    got = torch.autograd.grad((o * weight).sum(), [wide, *leaves.values()])
    for name, gradient in zip(("q", *leaves), got):
        assert torch.equal(gradient[:, :, 1:3, 16:32] if name == "q" else gradient, want[name]), name


def test_transposed_states(gdn):
    given, state = put(draw()), torch.randn(2, 4, 8, 16, device="cuda")
    _, want = derive(gdn, given, {"S": state}, final=True)
    turned = state.transpose(2, 3).contiguous()
    leaves = [tensor.clone().requires_grad_() for tensor in given.values()]
    turned.requires_grad_()
    o, S = gdn(*leaves, initial=turned, final=True, states_transposed=True)
    weights = [torch.linspace(-1, 1, x.numel(), device="cuda").reshape(shape) for x, shape in ((o, o.shape), (S, (2, 4, 8, 16)))]
    got = torch.autograd.grad([o, S], [*leaves, turned], [weights[0], weights[1].transpose(2, 3)])
    for name, gradient in zip((*given, "S"), got):
        assert torch.equal(gradient.transpose(2, 3) if name == "S" else gradient, want[name]), name


def test_params_and_starts():
    """The gradient of a param is a sum over sequences, and has a part from what states start as."""
    memory, arrays = recur.define(test_starts.TEXT), test_starts.draw_given()
    given = put(arrays)
    _, got = derive(memory, given, final=True)
    _, want = derive(memory, to_host(given), final=True)
    compare(got, want, 1e-4)


def test_a_graph_holds_both(gdn):
    given = put(draw(B=1, T=100))
    bounds = torch.tensor([0, 30, 100], device="cuda")
    leaves = [tensor.requires_grad_() for tensor in given.values()]
    weight = torch.randn(1, 100, 4, 8, device="cuda")

    def work():
        return torch.autograd.grad(gdn(*leaves, offsets=bounds), leaves, weight)

    graph, captured = capture(work)
    with torch.no_grad():
        for tensor in leaves:
            tensor.mul_(0.5)
    bounds[1] = 64
    graph.replay()
    assert all(map(torch.equal, captured, work()))


def test_retained_graphs_and_checkpoints(gdn):
    given = put(draw(T=200))
    leaves = [tensor.requires_grad_() for tensor in given.values()]
    loss = gdn(*leaves).square().sum()
    want = torch.autograd.grad(loss, leaves, retain_graph=True)
    assert all(map(torch.equal, want, torch.autograd.grad(loss, leaves)))
    again = torch.utils.checkpoint.checkpoint(gdn, *leaves, use_reentrant=False).square().sum()
    assert all(map(torch.equal, want, torch.autograd.grad(again, leaves)))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_in_one_graph(gdn, backend):
    if backend == "inductor":
        pytest.importorskip("triton")

    def layer(q, k, v, g, beta, initial=None):
        return gdn(torch.nn.functional.silu(q), k, v, -g.abs(), torch.sigmoid(beta), final=True)

    given = put(draw())
    torch._dynamo.reset()
    _, want = derive(layer, given)
    _, got = derive(torch.compile(layer, fullgraph=True, backend=backend), given)
    compare(got, want, 1e-5)


@pytest.mark.filterwarnings("ignore")
def test_opcheck(gdn):
    given = [tensor.requires_grad_() for tensor in put(draw(T=20)).values()]
    arguments = (given, None, gdn.handle, [], False, True, [True] * len(given), None)
    torch.library.opcheck(torch.ops.recur.forward, arguments)
    weights = [torch.randn(2, 20, 4, 8, device="cuda"), None]
    backward = ([x.detach() for x in given], None, weights, gdn.handle, [], False, True, [True] * len(given), [], 0)
    torch.library.opcheck(torch.ops.recur.backward, backward)


def test_autocast(gdn):
    """Arrays come as autocast gives them: 16-bit data from projections beside float32 gates."""
    given = put(draw(K=16, V=16))
    weight = torch.randn(16, 16, device="cuda", requires_grad=True)
    with torch.autocast("cuda", torch.bfloat16):
        o = gdn(given["q"] @ weight, given["k"] @ weight, given["v"] @ weight, given["g"], given["beta"])
        assert o.dtype == torch.bfloat16
    o.float().square().sum().backward()
    assert weight.grad.dtype == torch.float32 and weight.grad.isfinite().all() and weight.grad.abs().max() > 0


def test_a_thread_that_never_used_the_gpu(gdn):
    given = put(draw())
    _, want = derive(gdn, given)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        _, got = pool.submit(derive, gdn, given).result()
    assert all(torch.equal(got[name], want[name]) for name in want)


def test_the_callers_own_thread(gdn):
    """Where PyTorch is told to use no thread of its own for a GPU, the bits are the same."""
    given = put(draw())
    _, want = derive(gdn, given)
    with torch.autograd.set_multithreading_enabled(False):
        _, got = derive(gdn, given)
    assert all(torch.equal(got[name], want[name]) for name in want)


@pytest.mark.parametrize("name", test_fla.TRACED)
def test_known_names(name):
    """Each call of recur.fla differentiates on the GPU as on the processor."""

    def derive(device):
        with torch.device(device):  # for what a call makes itself
            given = {n: torch.tensor(array).to(device).requires_grad_() for n, array in test_fla.draw_data().items()}
            results = test_fla.TRACED[name](given, torch)
        results = [x for x in (results if isinstance(results, tuple) else [results]) if x is not None]
        return torch.autograd.grad(sum(x.square().sum() for x in results), list(given.values()), allow_unused=True)

    for got, want in zip(derive("cuda"), derive("cpu")):
        assert (got is None) == (want is None)
        assert got is None or error_of(host(got), host(want)) < 2e-4


def test_saved_kernels(gdn, tmp_path):
    path = str(tmp_path / "gdn.so")
    recur.save(gdn.with_options(target="sm_90a"), path, K=16, V=8, backward=True)
    given = put(draw())
    _, got = derive(recur.load(path), given)
    _, want = derive(gdn, given)
    assert all(torch.equal(got[name], want[name]) for name in want)
    recur.save(gdn.with_options(target="sm_90a"), path, K=16, V=8)
    with pytest.raises(recur.NoGradientError, match="the saved kernel has no gradient; save it with backward=True"):
        derive(recur.load(path), given)


#: Microseconds of the caller, beyond those of a function that does nothing. They were 70 to 80 when this was set, and 160 to 200 on the long
#: way: the bound notices that calls no longer go the short one.
SLOWEST = 140


def test_overhead_does_not_grow(gdn):
    """Of forward and backward together, the launches included, beside a function that does nothing: PyTorch computes gradients on a GPU in
    a thread of its own, for which its caller waits."""

    leaves = [tensor.requires_grad_() for tensor in put(draw(B=1, T=64)).values()]
    weight = torch.ones(1, 64, 4, 8, device="cuda")
    both, nothing = measure_callers(
        lambda: torch.autograd.grad(gdn(*leaves), leaves, weight), lambda: torch.autograd.grad(Nothing.apply(*leaves), leaves, weight)
    )
    print(f"forward and backward on a GPU, us of the caller: {both:.1f}; {nothing:.1f} of a function that does nothing")
    assert both - nothing < SLOWEST
