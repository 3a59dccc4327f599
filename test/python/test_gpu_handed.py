"""What PyTorch's calls on a GPU hand over to their gradients. `tools/test-gpu` runs these where there is one; elsewhere they are skipped."""

import contextlib

import pytest
from conftest import draw, error_of
from test_gpu import host, put

import recur

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from replays import capture  # noqa: E402  (where PyTorch is)
import recur.torch  # noqa: E402  (the operators)

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no GPU")

T, H, SIDE, CHUNK = 200, 4, 64, 64
ROW = H * SIDE * SIDE * 2  # bytes of the states at one chunk's start, in bfloat16


@pytest.fixture
def gdn():
    """A recurrence that was never called."""
    return recur.library.gated_delta_net.with_options()


def draw_mixed(seed=0, **sizes):
    """bfloat16 data beside float32 gates."""
    given = put(draw(seed, T=T, H=H, K=SIDE, V=SIDE, **sizes))
    return {name: x if name in ("g", "beta") else x.bfloat16() for name, x in given.items()}


@contextlib.contextmanager
def watch():
    """The shapes of what calls forward and backward that went the long way were given to hand over, and to take."""
    seen, forward, backward = {"over": [], "taken": []}, recur._native.Call.run_on_gpu, recur._native.Call.run_backward_on_gpu

    def run(*arguments, handed=(), **options):
        seen["over"].append(len(handed))
        return forward(*arguments, handed=list(handed), **options)

    def run_backward(*arguments, handed=(), **options):
        seen["taken"].append(len(handed))
        return backward(*arguments, handed=list(handed), **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recur._native.Call, "run_on_gpu", run)
        patch.setattr(recur._native.Call, "run_backward_on_gpu", run_backward)
        yield seen


def derive(function, given, **options):
    leaves = {name: x.detach().clone().requires_grad_() for name, x in given.items()}
    o = function(**leaves, **options)
    weight = torch.linspace(-1, 1, o.numel(), device="cuda").reshape(o.shape).to(o.dtype)
    return [o.detach(), *torch.autograd.grad(o, list(leaves.values()), weight)]


def count_value_bytes(gdn):
    """What launches leave to each other, of the rows of two sequences."""
    numbers, _ = gdn.obtain_gradient({"K": SIDE, "V": SIDE}, {"q": "bfloat16", "k": "bfloat16", "v": "bfloat16"}, (), "sm_90a").kernel.handed_values
    return 2 * 4 * H * numbers * 4


@pytest.mark.parametrize("kept_bytes, handed", [(None, 2), (0, 0), (2 * 4 * ROW, 1), (2 * 4 * ROW - 1, 0), (1 << 30, 2)])
def test_the_budget_decides(gdn, kept_bytes, handed):
    """With and without, the numbers are as near to those of float32, and a call like one before has the same bits."""
    given = draw_mixed()
    with watch() as seen:
        first = derive(gdn, given, kept_bytes=kept_bytes)
    assert seen == {"over": [handed], "taken": [handed]}
    with watch() as seen:
        again = derive(gdn, given, kept_bytes=kept_bytes)
    assert seen == {"over": [], "taken": []} and all(map(torch.equal, first, again))
    wide = derive(gdn, {name: x.float() for name, x in given.items()}, kept_bytes=kept_bytes)
    none = derive(gdn, given, kept_bytes=0)
    print(f"kept_bytes={kept_bytes}: the same bits as without: {[torch.equal(a, b) for a, b in zip(first, none)]}")
    for value, want in zip(first, wide):
        assert error_of(host(value), host(want)) < 6e-3


def test_values_change_no_bit(gdn):
    """Whether the gradient takes what the launches of the call forward leave to each other, or makes it again."""
    given = draw_mixed()
    given["beta"][:, 3:70] = 0
    taken, again = derive(gdn, given), derive(gdn, given, kept_bytes=2 * 4 * ROW)
    assert all(map(torch.equal, taken, again))


def test_fewer_gradients_than_the_call_forward_knew_of(gdn):
    """They may be of another kernel, which does not take all that was handed over."""
    leaves = {name: x.requires_grad_() for name, x in draw_mixed().items()}
    weight = torch.ones(2, T, H, SIDE, device="cuda", dtype=torch.bfloat16)
    every = torch.autograd.grad(gdn(**leaves), list(leaves.values()), weight)
    for place, leaf in enumerate(leaves.values()):
        (one,) = torch.autograd.grad(gdn(**leaves), [leaf], weight)
        assert error_of(host(one), host(every[place])) < 1e-3


def test_nothing_is_handed_over_where_no_gradient_is_wanted(gdn):
    given = draw_mixed()
    with watch() as seen:
        gdn(**given)
        with torch.no_grad():
            gdn(**{name: x.requires_grad_() for name, x in given.items()})
    assert not any(seen["over"]) and not seen["taken"]


def test_memory_is_given_back(gdn):
    """What is handed over lives as long as the graph."""
    leaves = [x.requires_grad_() for x in draw_mixed().values()]
    weight = torch.ones(2, T, H, SIDE, device="cuda", dtype=torch.bfloat16)
    torch.autograd.grad(gdn(*leaves), leaves, weight)

    def count(**options):
        before = torch.cuda.memory_allocated()
        o = gdn(*leaves, **options)
        return torch.cuda.memory_allocated() - before, o

    (more, o), (less, other) = count(), count(kept_bytes=0)
    values = count_value_bytes(gdn)
    assert values > 0 and more - less == 2 * 4 * ROW + values
    before = torch.cuda.memory_allocated()
    torch.autograd.grad(o, leaves, weight)
    del o
    assert before - torch.cuda.memory_allocated() >= 2 * 4 * ROW
    assert other.requires_grad


@pytest.mark.parametrize("place", ["processor", "GPU", "both"])
def test_packed_sequences(gdn, place):
    """As many rows as there may be, wherever the offsets are; each sequence has the bits that it has alone."""
    given, bounds = draw_mixed(B=1), torch.tensor([0, 30, 30, 127, 200])
    offsets = {"processor": bounds, "GPU": bounds.cuda(), "both": (bounds, bounds.cuda())}[place]
    with watch() as seen:
        whole = derive(gdn, given, offsets=offsets)
    assert seen == {"over": [2], "taken": [2]} and all(map(torch.equal, whole, derive(gdn, given, offsets=offsets)))
    weight = torch.linspace(-1, 1, whole[0].numel(), device="cuda").reshape(whole[0].shape).bfloat16()
    for begin, end in zip(bounds.tolist(), bounds.tolist()[1:]):
        own = [x[:, begin:end].detach().clone().requires_grad_() for x in given.values()]
        o = gdn(*own)
        alone = [o, *torch.autograd.grad(o, own, weight[:, begin:end].contiguous())]
        assert all(torch.equal(one, x[:, begin:end]) for one, x in zip(alone, whole))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_in_one_graph(gdn, backend):
    if backend == "inductor":
        pytest.importorskip("triton")
    given = draw_mixed()
    want = derive(gdn, given)
    torch._dynamo.reset()
    traced = torch.compile(lambda **given: gdn(**given), fullgraph=True, backend=backend)
    with watch() as seen:
        got = derive(traced, given)
    assert seen == {"over": [2], "taken": [2]} and all(map(torch.equal, got, want))


def test_a_length_that_is_a_symbol(gdn):
    torch._dynamo.reset()
    traced = torch.compile(lambda **given: gdn(**given), fullgraph=True, backend="aot_eager", dynamic=True)
    for tokens in (200, 130, 64):
        given = {name: x[:, :tokens].contiguous() for name, x in draw_mixed().items()}
        with watch() as seen:
            got = derive(traced, given)
        assert seen == {"over": [2], "taken": [2]} and all(map(torch.equal, got, derive(gdn, given)))


@pytest.mark.filterwarnings("ignore")
def test_opcheck(gdn):
    given = [x.requires_grad_() for x in draw_mixed().values()]
    arguments = (given, None, gdn.handle, [], False, True, [True] * 5, None)
    torch.library.opcheck(torch.ops.recur.forward, arguments)
    o, S, handed, values = torch.ops.recur.forward([x.detach() for x in given], *arguments[1:])
    assert handed.shape == (2 * 4, H, SIDE, SIDE) and handed.dtype == torch.bfloat16
    weights = [torch.ones_like(o), None]
    backward = ([x.detach() for x in given], None, weights, gdn.handle, [], False, True, [True] * 5, [handed, values], CHUNK)
    torch.library.opcheck(torch.ops.recur.backward, backward)


def test_export(gdn):
    class Layer(torch.nn.Module):
        def forward(self, q, k, v, g, beta):
            return gdn(q, k, v, g, beta)

    given = draw_mixed()
    exported = torch.export.export(Layer(), tuple(given.values())).module()
    assert torch.equal(exported(*given.values()), gdn(**given))


def test_a_graph_holds_both(gdn):
    given = draw_mixed()
    leaves = [x.requires_grad_() for x in given.values()]
    weight = torch.ones(2, T, H, SIDE, device="cuda", dtype=torch.bfloat16)
    work = lambda: torch.autograd.grad(gdn(*leaves), leaves, weight)
    graph, captured = capture(work)
    with torch.no_grad():
        for x in leaves:
            x.mul_(0.5)
    graph.replay()
    assert all(map(torch.equal, captured, work()))


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints(gdn, reentrant):
    """Where PyTorch computes a call without gradients first, the states are handed over by the one that is made again."""
    given = draw_mixed()
    want = derive(gdn, given)
    again = lambda **leaves: torch.utils.checkpoint.checkpoint(lambda *x: gdn(*x), *leaves.values(), use_reentrant=reentrant)
    leaves = {name: x.clone().requires_grad_() for name, x in given.items()}
    o = again(**leaves)
    o.backward(torch.linspace(-1, 1, o.numel(), device="cuda").reshape(o.shape).to(o.dtype))
    for leaf, gradient in zip(leaves.values(), want[1:]):
        assert torch.equal(leaf.grad, gradient)
