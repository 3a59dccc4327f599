"""Calls on PyTorch's tensors like ones that were made before, which go a shorter way. Where there is no PyTorch, this is skipped."""

import concurrent.futures

import pytest
from conftest import draw, error_of
from test_golden import call

import recur

torch = pytest.importorskip("torch")
import recur.torch  # noqa: E402


def of_torch(inputs):
    return {name: torch.from_numpy(array) for name, array in inputs.items()}


@pytest.fixture
def gdn():
    """A recurrence that was never called."""
    return recur.library.gated_delta_net.with_options()


@pytest.fixture
def long_way(monkeypatch):
    """Counts calls that nothing was remembered for."""
    calls = []
    made = recur.torch.call
    monkeypatch.setattr(recur.torch, "call", lambda *arguments: calls.append(1) or made(*arguments))
    return calls


def tensors_of(result):
    if isinstance(result, dict):
        return [tensor for name in sorted(result) for tensor in tensors_of(result[name])]
    return [tensor for part in result for tensor in tensors_of(part)] if isinstance(result, tuple) else [result]


WAYS = {
    "by place": lambda f, i, S: f(*i.values()),
    "by name": lambda f, i, S: f(**i),
    "both": lambda f, i, S: f(i["q"], i["k"], v=i["v"], beta=i["beta"], g=i["g"]),
    "final": lambda f, i, S: f(**i, final=True),
    "initial": lambda f, i, S: f(**i, initial=S, final=True),
    "mapping": lambda f, i, S: f(**i, initial={"S": S}, final={"S": S.clone()}),
    "none of a mapping": lambda f, i, S: f(**i, initial={"S": None}, final=True),
    "in place": lambda f, i, S: f(**i, initial=S, final=S),
    "out": lambda f, i, S: f(**i, out=torch.zeros_like(i["v"])),
    "out by name": lambda f, i, S: f(**i, out={"o": torch.zeros_like(i["v"])}, final=True),
    "transposed": lambda f, i, S: f(**i, initial=S.transpose(2, 3).contiguous(), final=True, states_transposed=True),
    "float32 gates": lambda f, i, S: f(**{n: t if n in ("g", "beta") else t.bfloat16() for n, t in i.items()}, initial=S, final=True),
    "16 bits": lambda f, i, S: f(**{name: tensor.bfloat16() for name, tensor in i.items()}, final=True),
    "strides": lambda f, i, S: f(**{**i, "v": i["v"].transpose(1, 2).contiguous().transpose(1, 2)}),
    "parameter": lambda f, i, S: f(**{**i, "g": torch.nn.Parameter(i["g"], requires_grad=False)}),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("tokens", [1, 70])
def test_a_call_like_one_before_gives_the_same(gdn, long_way, way, tokens):
    """On other numbers in other memory, and its results are tensors of their own."""
    make, state = WAYS[way], torch.linspace(-1, 1, 2 * 4 * 8 * 16).reshape(2, 4, 8, 16)
    first = of_torch(draw(T=tokens))
    kept = tensors_of(make(gdn, first, state.clone()))
    before = [tensor.clone() for tensor in kept]
    for seed in (1, 2):
        inputs = of_torch(draw(seed, T=tokens))
        del long_way[:]
        results = tensors_of(make(gdn, inputs, state.clone()))
        assert not long_way
        wanted = tensors_of(make(recur.library.gated_delta_net.with_options(), inputs, state.clone()))
        assert len(results) == len(wanted)
        for result, want in zip(results, wanted):
            assert result.dtype == want.dtype and result.is_contiguous() and torch.equal(result, want)
    assert all(map(torch.equal, kept, before))


def test_states_of_delays(long_way):
    recurrence, given, _ = call("qwen3_next_layer")
    recurrence, given = recurrence.with_options(), of_torch(given)
    want, states = recurrence(**given, final=True)
    again, more = recurrence(**given, initial=states, final=True)
    assert len(long_way) == 2
    once_more, last = recurrence(**given, initial=states, final=True)
    assert torch.equal(once_more, again) and last.keys() == more.keys() and all(torch.equal(last[name], more[name]) for name in more)
    assert torch.equal(recurrence(**given, final=True)[0], want)
    some = {name: states[name] for name in ("k_back1", "S")}
    assert torch.equal(recurrence(**given, initial=some), recurrence(**given, initial=some)) and len(long_way) == 3


def test_nothing_is_taken_for_what_it_is_not(gdn, long_way):
    """Whatever differs from the call before goes by what it is."""
    inputs = of_torch(draw())
    want = gdn(**inputs)
    wide = torch.zeros(2, 70, 4, 16)
    wide[..., :8] = inputs["v"]
    offsets = torch.tensor([0, 30, 70])
    one = {name: tensor[:1] for name, tensor in inputs.items()}
    assert torch.equal(gdn(**{**inputs, "v": wide[..., :8]}), want)
    assert torch.equal(gdn(**one), want[:1])
    packed = gdn(**one, offsets=offsets)
    assert torch.equal(gdn(**one, offsets=offsets), packed) and not torch.equal(packed, want[:1])
    mixed = {name: tensor.bfloat16() if name == "v" else tensor for name, tensor in inputs.items()}
    assert gdn(**mixed).dtype == torch.bfloat16 and torch.equal(gdn(**mixed), gdn(**mixed))
    assert gdn(**{name: tensor[:, :0] for name, tensor in inputs.items()}).shape == (2, 0, 4, 8)
    turned = inputs["k"].transpose(2, 3).contiguous().transpose(2, 3)
    for _ in range(2):
        assert torch.equal(gdn(**{**inputs, "k": turned}), want)  # is copied each time
    assert len(long_way) == 8
    assert torch.equal(gdn(**inputs), want) and len(long_way) == 8


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_packed_sequences(gdn, long_way, dtype):
    """Where sequences begin and end is read each time, and only how many there are must be as before."""
    given = {name: tensor[:1] for name, tensor in of_torch(draw()).items()}
    state = torch.linspace(-1, 1, 3 * 4 * 8 * 16).reshape(3, 4, 8, 16)
    gdn(**given, offsets=torch.tensor([0, 20, 30, 70], dtype=dtype), initial=state, final=True)
    del long_way[:]
    strided = torch.tensor([0, 9, 33, 9, 33, 9, 70, 9], dtype=dtype)[::2]
    for offsets in (torch.tensor([0, 33, 33, 70], dtype=dtype), strided):
        fresh = recur.library.gated_delta_net.with_options()
        o, S = gdn(**given, offsets=offsets, initial=state, final=True)
        assert all(map(torch.equal, (o, S), fresh(**given, offsets=offsets.tolist(), initial=state, final=True)))
        assert S.shape == (3, 4, 8, 16)
    assert len(long_way) == 3  # another stride is another call, once, and each fresh one
    with pytest.raises(recur.ArgumentError, match=r"sequence_offsets decrease: \[2\] is 20, after 30"):
        gdn(**given, offsets=torch.tensor([0, 30, 20, 70], dtype=dtype), initial=state, final=True)
    assert len(long_way) == 3
    gdn(**given, offsets=torch.tensor([0, 70], dtype=dtype))
    assert len(long_way) == 4


def test_who_looks_on_sees_the_operator(gdn, long_way):
    inputs = of_torch(draw())
    want = gdn(**inputs)

    class Recorder(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), options=None):
            seen.append(str(function))
            return function(*arguments, **(options or {}))

    seen = []
    with Recorder():
        gdn(**inputs)
    assert "recur.forward.default" in seen
    with torch.profiler.profile() as profile:
        gdn(**inputs)
    assert any("recur::forward" in event.key for event in profile.key_averages())
    compiled = torch.compile(lambda **x: gdn(**x), fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(**inputs), want)
    needing = {name: tensor.clone().requires_grad_() for name, tensor in inputs.items()}
    o = gdn(**needing)
    assert error_of(o.detach().numpy(), want.numpy()) < 1e-6 and o.requires_grad  # in the gradient's chunks
    with torch.no_grad():
        assert not gdn(**needing).requires_grad
    with torch.inference_mode():
        assert torch.equal(gdn(**inputs), want)


def test_messages_after_calls(gdn, long_way):
    inputs, state = of_torch(draw()), torch.zeros(2, 4, 8, 16)
    out = torch.zeros(2, 70, 4, 8)
    gdn(**inputs, initial=state, final=state, out=out)
    spoilt = [
        ({"out": inputs["v"]}, "the output 'o' shares memory with the input 'v'"),
        ({"out": torch.zeros(2, 70, 4, 9)}, "out: the output 'o' has the shape [2, 70, 4, 9]; it will be [2, 70, 4, 8]"),
        ({"initial": {"R": state}}, "initial names 'R', which is none of S"),
        ({"final": None, "initial": state[:1]}, "B is 1 in 'S', but 2 in 'q'; it is [B, H, ...]"),
        ({"w": state}, "there is no argument 'w'; there are q, k, v, g, beta, initial, final, out, offsets, states_transposed, kept_bytes, group, layout, pool, state_indices, final_indices, token_indices, accepted, replayed, interval, interval_indices, positions, parents"),
    ]
    for changed, message in spoilt:
        with pytest.raises(recur.ArgumentError) as raised:
            gdn(**{**inputs, "initial": state, "final": state, "out": out, **changed})
        assert str(raised.value) == f"gated_delta_net: {message}"
    assert len(long_way) == 4  # the first of these is found by the runtime


def test_many_sizes(gdn, long_way):
    """More than are remembered; the last ones are."""
    wanted = {tokens: gdn(**of_torch(draw(T=tokens))) for tokens in range(1, 50)}
    del long_way[:]
    for tokens in range(49, 20, -1):
        assert torch.equal(gdn(**of_torch(draw(T=tokens))), wanted[tokens])
    assert not long_way and torch.equal(gdn(**of_torch(draw(T=3))), wanted[3]) and long_way


def test_threads(gdn):
    inputs = {tokens: of_torch(draw(tokens, T=tokens)) for tokens in range(1, 9)}
    wanted = {tokens: gdn(**given, final=True) for tokens, given in inputs.items()}

    def work(tokens):
        results = [gdn(**inputs[tokens], final=True) for _ in range(200)]
        return all(torch.equal(o, wanted[tokens][0]) and torch.equal(S, wanted[tokens][1]) for o, S in results)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, [1, 2, 3, 4, 5, 6, 7, 8] * 2))


def test_negation_that_was_put_off(gdn, long_way):
    """Its memory holds the numbers before it."""
    inputs = of_torch(draw())
    later = torch.complex(torch.zeros_like(inputs["v"]), -inputs["v"]).conj().imag
    assert later.is_neg() and torch.equal(later, inputs["v"])
    want = gdn(**inputs)
    for _ in range(2):
        assert torch.equal(gdn(**{**inputs, "v": later}), want)
    with pytest.raises(recur.ArgumentError, match="results cannot be written to a tensor that is negated lazily"):
        gdn(**inputs, out=later)
    with pytest.raises(recur.ArgumentError, match="and one is negated lazily; give what its resolve_neg"):
        gdn.bind(**{**inputs, "v": later})
    weights = torch.complex(torch.zeros_like(want), torch.ones_like(want)).conj().imag
    v = inputs["v"].clone().requires_grad_()
    (got,) = torch.autograd.grad(gdn(**{**inputs, "v": v}), v, weights)
    (wanted,) = torch.autograd.grad(gdn(**{**inputs, "v": v}), v, -torch.ones_like(want))
    assert torch.equal(got, wanted)


@pytest.mark.parametrize("how", ["the first", "one before", "bound"])
def test_autograd_knows_what_was_written(gdn, how):
    """A state that a graph kept, and a call went on from in place, is no state to take a gradient by."""
    inputs, state, out = of_torch(draw()), torch.ones(2, 4, 8, 16), torch.ones(2, 70, 4, 8)
    call = gdn.bind(**inputs, initial=state, final=state, out=out) if how == "bound" else lambda: gdn(**inputs, initial=state, final=state, out=out)
    if how == "one before":
        call()
    for kept in (state, out):
        weight = torch.ones_like(kept, requires_grad=True)
        loss = (weight * kept).sum()
        version = kept._version
        call()
        assert kept._version > version
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()
    with torch.inference_mode():
        fresh = torch.zeros(2, 4, 8, 16)
        for _ in range(2):
            gdn(**inputs, initial=fresh, final=fresh)


@pytest.fixture
def long_way_back(monkeypatch):
    """Counts gradients that nothing was remembered for."""
    calls = []
    made = recur.torch._differentiate
    monkeypatch.setattr(recur.torch, "_differentiate", lambda *arguments: calls.append(1) or made(*arguments))
    return calls


def train(make, inputs, state, names=None, retains=False):
    """Results and gradients of a loss that depends on all results; of some tensors alone, where these are named."""
    leaves = {name: tensor.detach().clone().requires_grad_() for name, tensor in {**inputs, "S": state}.items()}
    for name, tensor in leaves.items():
        tensor.requires_grad_(names is None or name in names)
    results = tensors_of(make(leaves, leaves["S"]))
    weights = [torch.linspace(-1, 1, x.numel(), dtype=x.dtype).reshape(x.shape) for x in results]
    wanted = [leaf for leaf in leaves.values() if leaf.requires_grad]
    found = torch.autograd.grad(results, wanted, weights, allow_unused=True, retain_graph=retains)
    if retains:
        again = torch.autograd.grad(results, wanted, weights, allow_unused=True)
        assert all(one is other is None or torch.equal(one, other) for one, other in zip(found, again))
    return [x.detach() for x in results], found


TRAINED = {name: way for name, way in WAYS.items() if name not in ("in place", "out", "out by name", "mapping", "parameter")} | {
    "a budget": lambda f, i, S: f(**i, initial=S, kept_bytes=0),
    "packed": lambda f, i, S: f(**{n: x[:1] for n, x in i.items()}, initial=S, offsets=torch.tensor([0, len(i["v"][0]) // 2, len(i["v"][0])]), final=True),
}


@pytest.mark.parametrize("way", TRAINED)
@pytest.mark.parametrize("names", [None, ["v", "S"], ["g"]], ids=["all", "some", "one"])
def test_gradients_like_some_before_are_the_same(gdn, long_way, long_way_back, way, names):
    """On other numbers in other memory, forward and backward, also where a graph is retained."""
    state = torch.linspace(-1, 1, 2 * 4 * 8 * 16).reshape(2, 4, 8, 16)

    def run(recurrence, seed, **options):
        inputs = of_torch(draw(seed))
        make = lambda f, given, S: TRAINED[way](f, {n: given[n] for n in inputs}, S)
        return train(lambda leaves, S: make(recurrence, leaves, S), inputs, state, names, **options)

    before = run(gdn, 0)
    kept = [x.clone() for x in before[0]]
    for seed in (1, 2):
        del long_way[:], long_way_back[:]
        results, gradients = run(gdn, seed, retains=True)
        assert not long_way and not long_way_back
        want, wanted = run(recur.library.gated_delta_net.with_options(), seed)
        assert all(map(torch.equal, results, want))
        for gradient, reference in zip(gradients, wanted):
            assert gradient is reference is None or torch.equal(gradient, reference) and gradient.dtype == reference.dtype
    assert all(map(torch.equal, before[0], kept))


def test_what_autograd_promises_holds_for_gradients_like_some_before(gdn, long_way, long_way_back):
    inputs = of_torch(draw())
    weight = torch.linspace(-1, 1, 2 * 70 * 4 * 8).reshape(2, 70, 4, 8)

    def run(function=gdn, wanted=None, **options):
        leaves = {name: tensor.clone().requires_grad_() for name, tensor in inputs.items()}
        return torch.autograd.grad(function(**leaves), [leaves[name] for name in wanted or leaves], weight, **options)

    want = run()
    for wanted in (["v"], ["q", "g"]):  # of what a call was made for
        for _ in range(2):
            for name, gradient in zip(wanted, run(wanted=wanted)):
                assert torch.equal(gradient, want[list(inputs).index(name)])
    assert len(long_way) == len(long_way_back) == 1
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x.numpy().copy(), torch.from_numpy):
        assert all(map(torch.equal, run(), want))
    again = lambda **leaves: torch.utils.checkpoint.checkpoint(gdn, use_reentrant=False, **leaves)
    assert all(map(torch.equal, run(again), want))
    assert all(map(torch.equal, run(create_graph=True), want)) and len(long_way_back) == 2
    with pytest.raises(RuntimeError, match="once_differentiable"):
        run(lambda **leaves: gdn(**leaves).square(), create_graph=True)[0].sum().backward()
    leaves = {name: tensor.clone().requires_grad_() for name, tensor in inputs.items()}
    o = gdn(**leaves)
    with torch.no_grad():
        assert not gdn(**leaves).requires_grad
        leaves["q"].mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        o.sum().backward()
    assert len(long_way) == 2  # the call without a gradient is another


def test_gradients_of_several_threads(gdn):
    inputs = {tokens: of_torch(draw(tokens, T=tokens)) for tokens in range(1, 5)}

    def run(tokens):
        leaves = [tensor.clone().requires_grad_() for tensor in inputs[tokens].values()]
        return torch.autograd.grad(gdn(*leaves).square().sum(), leaves)

    wanted = {tokens: run(tokens) for tokens in inputs}
    work = lambda tokens: all(all(map(torch.equal, run(tokens), wanted[tokens])) for _ in range(50))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, [1, 2, 3, 4] * 2))
