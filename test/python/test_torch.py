"""Recurrences as operators of PyTorch. Where there is no PyTorch, all of this is skipped."""

import copy
import pickle

import numpy
import pytest
from conftest import FLOAT, KEPT_INTERVALS, draw, error_of
from float64 import compile_all, get_case
from test_golden import GOLDEN, NAMES, call, read

import recur

torch = pytest.importorskip("torch")
import recur.torch  # noqa: E402


def of_torch(inputs):
    return {name: torch.from_numpy(array) for name, array in inputs.items()}


@pytest.fixture(scope="module")
def all_compiled():
    compile_all(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_everything_against_float64(name, all_compiled):
    """And `torch.compile` makes one graph of it, forward and backward, with the same bits."""
    case = get_case(name)
    weights = [torch.from_numpy(weight) for weight in case.weights.values()]

    def derive(function):
        arrays = [torch.from_numpy(array.copy()).requires_grad_() for array in case.arrays.values()]
        results = function(arrays)
        return results, torch.autograd.grad(results, arrays, weights)

    results, gradients = derive(case.compute)
    case.judge([result.detach().numpy() for result in results], [gradient.numpy() for gradient in gradients])
    torch._dynamo.reset()
    again = derive(torch.compile(case.compute, fullgraph=True, backend="aot_eager"))
    assert all(map(torch.equal, [*results, *gradients], [*again[0], *again[1]]))


@pytest.mark.filterwarnings("ignore:Input #. requires gradient and is not a double")
@pytest.mark.parametrize("name", ["gated_delta_net", "kda", "rwkv6", "mamba2_ssd", "delta_product"])
def test_gradcheck(name, all_compiled):
    case = get_case(name)

    def cut(kind, array):  # to tokens enough for differences in float32
        return torch.from_numpy(array[:, :5].copy() if kind == "input" else array.copy()).requires_grad_()

    arrays = [cut(kind, array) for (kind, _), array in case.arrays.items()]
    compute = lambda *arrays: tuple(case.compute(arrays))
    assert torch.autograd.gradcheck(compute, arrays, eps=1e-2, atol=2e-2, rtol=2e-2, fast_mode=True, nondet_tol=0.0)


@pytest.mark.parametrize("name", NAMES)
def test_results(name):
    recurrence, given, initial = call(name)
    *outputs, states = recurrence(**of_torch(given), initial=of_torch(initial) if initial else None, final=True)
    if not isinstance(states, dict):
        states = {recurrence.declaration.states[0].name: states}
    for value, tensor in zip(recurrence.declaration.outputs, outputs):
        assert isinstance(tensor, torch.Tensor)
        assert error_of(tensor.numpy(), read(GOLDEN / name, "output")[value.name]) < 2e-5
    for state, want in read(GOLDEN / name, "final").items():
        assert error_of(states[state].numpy(), want) < 2e-5


def test_the_same_bits_as_numpy(gdn, inputs):
    state = numpy.random.default_rng(1).standard_normal((2, 4, 8, 16)).astype(FLOAT)
    want, last = gdn(**inputs, initial=state, final=True)
    o, S = gdn(**of_torch(inputs), initial=torch.from_numpy(state), final=True)
    assert numpy.array_equal(o, want) and numpy.array_equal(S, last)
    turned = gdn(**of_torch(inputs), initial=torch.from_numpy(state).mT.contiguous(), final=True, states_transposed=True)
    assert torch.equal(turned[0], o) and torch.equal(turned[1].mT, S)
    one = {n: a[:1] for n, a in inputs.items()}
    for offsets in (torch.tensor([0, 20, 70]), numpy.array([0, 20, 70])):
        o, S = gdn(**of_torch(one), offsets=offsets, final=True)
        want, last = gdn(**one, offsets=numpy.array([0, 20, 70]), final=True)
        assert numpy.array_equal(o, want) and numpy.array_equal(S, last)


def test_calls_that_nobody_watches_give_the_bits_of_the_operator(gdn, inputs):
    """They go past the operator, unless there is a mode or a transformation that must see it."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    inputs = of_torch(inputs)
    want = gdn(**inputs)
    with Watch():
        watched = gdn(**inputs)
    assert torch.equal(watched, want) and "recur.forward.default" in seen
    inputs["q"].requires_grad_()
    o = gdn(**inputs)
    assert error_of(o.detach().numpy(), want.numpy()) < 1e-6 and o.requires_grad  # in the gradient's chunks
    with torch.no_grad():
        assert torch.equal(gdn(**inputs), want) and not gdn(**inputs).requires_grad


def test_layouts(gdn, inputs, monkeypatch, recwarn):
    monkeypatch.setattr(recur.debug, "copies", True)
    want = gdn(**inputs)
    heads_first = {n: torch.from_numpy(a).transpose(1, 2).contiguous().transpose(1, 2) for n, a in inputs.items()}
    assert numpy.array_equal(gdn(**heads_first), want)
    assert not [w for w in recwarn if issubclass(w.category, recur.CopyWarning)]
    spread = of_torch(inputs)["beta"][:, :, :1].expand(2, 70, 4)
    with pytest.warns(recur.CopyWarning, match="beta is copied: a stride is zero or negative"):
        gdn(**{**of_torch(inputs), "beta": spread})


def test_types(gdn, inputs):
    narrow = {n: tensor.bfloat16() for n, tensor in of_torch(inputs).items()}
    o, S = gdn(**narrow, final=True)
    assert o.dtype == torch.bfloat16 and S.dtype == torch.float32
    assert error_of(o.float().numpy(), gdn(**{n: t.float().numpy() for n, t in narrow.items()})) < 5e-3
    mixed = {**narrow, "g": narrow["g"].float()}
    o = gdn(**mixed)
    want = gdn(**{n: tensor.float() for n, tensor in mixed.items()})
    assert o.dtype == torch.bfloat16 and error_of(o.float().numpy(), want.numpy()) < 5e-3
    out = torch.zeros_like(o)
    assert gdn(**mixed, out=out) is out and torch.equal(out, o)


def test_results_that_are_given(gdn, inputs):
    inputs = of_torch(inputs)
    want, last = gdn(**inputs, final=True)
    state, out = torch.zeros(2, 4, 8, 16), torch.zeros(2, 70, 4, 8)
    o, S = gdn(**inputs, initial=state, final=state, out=out)
    assert o is out and S is state and torch.equal(o, want) and torch.equal(S, last)


@pytest.mark.parametrize("B, T, H", [(0, 5, 4), (2, 0, 4), (2, 5, 0)])
def test_empty_tensors(gdn, B, T, H):
    o, S = gdn(**of_torch(draw(B=B, T=T, H=H, Hq=H // 2)), final=True)
    assert o.shape == (B, T, H, 8) and S.shape == (B, H, 8, 16)


def test_opcheck(gdn, inputs):
    inputs = list(of_torch(inputs).values())
    state = torch.zeros(2, 4, 8, 16)
    forward = torch.ops.recur.forward.default
    tests = ("test_schema", "test_faketensor", "test_autograd_registration")
    backward = torch.ops.recur.backward.default
    cotangents = [torch.ones(2, 70, 4, 8), torch.ones(2, 4, 8, 16)]
    for wanted in ([True] * 5, [False, True, False, False, True]):
        torch.library.opcheck(backward, (inputs, None, cotangents, gdn.handle, [], False, True, wanted, [], 0), test_utils=tests[:2])
    torch.library.opcheck(forward, (inputs, None, gdn.handle, [], False, True, [], None), test_utils=tests)
    torch.library.opcheck(forward, ([*inputs, state], None, gdn.handle, [True], False, True, [], None), test_utils=tests)
    one = [tensor[:1] for tensor in inputs]
    torch.library.opcheck(forward, (one, torch.tensor([0, 5, 70]), gdn.handle, [], True, False, [True] * 5, None), test_utils=tests)


def test_opcheck_of_everything(gdn):
    """With what torch.compile's backends do to an operator, forward and backward, for sizes that are symbols."""
    given = list(of_torch(draw(T=9)).values())
    forward, backward = torch.ops.recur.forward.default, torch.ops.recur.backward.default
    for initial in ([], [torch.zeros(2, 4, 8, 16)]):
        needing = [tensor.clone().requires_grad_() for tensor in given + initial]
        for wanted in ([], [True] * len(needing)):
            torch.library.opcheck(forward, (needing, None, gdn.handle, [True] * len(initial), False, True, wanted, None))
    cotangents = [torch.ones(2, 9, 4, 8), torch.ones(2, 4, 8, 16)]
    torch.library.opcheck(backward, (given, None, cotangents, gdn.handle, [], False, True, [True] * 5, [], 0))
    kept = forward(given, None, gdn.handle, [], False, True, [True] * 5, None)[2:]
    assert [tuple(tensor.shape) for tensor in kept] == [(2, 4, 8, 16)]
    torch.library.opcheck(backward, (given, None, [None, cotangents[1]], gdn.handle, [], False, True, [True] * 5, kept, 64))


@pytest.mark.parametrize("strict", [False, True])
def test_export_with_a_length_that_is_a_symbol(gdn, strict):
    class Layer(torch.nn.Module):
        def forward(self, *given):
            return gdn(*given, final=True)

    given = tuple(of_torch(draw(T=9)).values())
    tokens = torch.export.Dim("T", min=2, max=4096)
    program = torch.export.export(Layer(), given, strict=strict, dynamic_shapes=(tuple({1: tokens} for _ in given),))
    longer = tuple(of_torch(draw(T=70)).values())
    assert all(map(torch.equal, program.module()(*longer), gdn(*longer, final=True)))


def test_what_transformations_would_get_wrong_is_refused(gdn, inputs):
    given = of_torch(inputs)
    of_v = lambda v: gdn(**{**given, "v": v})
    assert torch.equal(torch.func.vmap(lambda x: x * 2)(of_v(given["v"])), 2 * of_v(given["v"]))
    with pytest.raises(recur.ArgumentError, match="gated_delta_net: torch.func.vmap cannot map a recurrence"):
        torch.func.vmap(of_v)(given["v"][None])
    for derive in (lambda: torch.func.grad(lambda v: of_v(v).sum())(given["v"]), lambda: torch.func.jvp(of_v, (given["v"],), (given["v"],))):
        with pytest.raises(recur.NoGradientError, match="torch.func's derivatives do not go through a recurrence; backward"):
            derive()
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(given["v"], torch.ones_like(given["v"]))
        with pytest.raises(recur.NoGradientError, match="there are no derivatives in forward mode"):
            of_v(dual)
        assert torch.equal(of_v(given["v"]), gdn(**given))


@pytest.mark.parametrize("deterministic", [False, True])
def test_the_same_bits_each_time(gdn, deterministic):
    """Of results and of gradients, also where PyTorch is told to refuse what is not so."""
    torch.use_deterministic_algorithms(deterministic)
    try:
        given = [tensor.requires_grad_() for tensor in of_torch(draw(B=3, T=300)).values()]
        runs = []
        for _ in range(3):
            o, S = gdn(*given, final=True)
            runs.append([o, S, *torch.autograd.grad(o.sum() + S.square().sum(), given)])
        assert all(map(torch.equal, runs[0] + runs[0], runs[1] + runs[2]))
    finally:
        torch.use_deterministic_algorithms(False)


def test_copies_and_pickles(gdn, inputs, tmp_path):
    module = recur.torch.Module(recur.library.rwkv6, 2, {"K": 4})
    given = {name: torch.linspace(-1, 1, 72).reshape(1, 9, 2, 4) for name in "rkvw"}
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        with torch.no_grad():
            assert torch.equal(other(**given), module(**given))
            other.u.add_(1)
            assert not torch.equal(other(**given), module(**given))
    chosen = gdn.with_options(consts={"scale": 0.5}, dims={"K": 16}, plan="chunk")
    again = pickle.loads(pickle.dumps(chosen))
    assert again.handle == chosen.handle and torch.equal(again(**of_torch(inputs)), chosen(**of_torch(inputs)))
    recur.save(gdn, tmp_path / "gdn.so", K=16, V=8)
    with pytest.raises(pickle.PicklingError, match="gated_delta_net: a saved kernel is not pickled; load its file where it is needed"):
        pickle.dumps(recur.load(tmp_path / "gdn.so"))


def test_compile_in_one_graph(gdn, inputs):
    inputs = of_torch(inputs)

    @torch.compile(fullgraph=True, backend="aot_eager")
    def layer(q, k, v, g, beta):
        o, S = gdn(q * 2, k, v, -g.abs(), beta, final=True)
        return o * 3, S

    with torch.no_grad():
        o, S = layer(**inputs)
        want, last = gdn(**{**inputs, "q": inputs["q"] * 2, "g": -inputs["g"].abs()}, final=True)
        assert torch.equal(o, want * 3) and torch.equal(S, last)
        layer(**of_torch(draw(T=33)))  # another length


def test_compile_with_states_of_delays():
    recurrence, given, _ = call("qwen3_next_layer")
    given = of_torch(given)

    @torch.compile(fullgraph=True, backend="aot_eager")
    def layer(given, initial):
        return recurrence(**given, initial=initial, final=True)

    with torch.no_grad():
        _, states = layer(given, None)
        o, last = layer(given, states)
        want, wanted = recurrence(**given, initial=states, final=True)
        assert torch.equal(o, want) and all(torch.equal(last[name], state) for name, state in wanted.items())


def test_export(gdn, inputs):
    class Layer(torch.nn.Module):
        def forward(self, q, k, v, g, beta):
            return gdn(q, k, v, g, beta)

    given = tuple(of_torch(inputs).values())
    program = torch.export.export(Layer(), given)
    assert torch.equal(program.module()(*given), gdn(*given))


def loop(inputs, state):
    """gated_delta_net, token by token in float64."""
    q, k, v, g, beta = (tensor.double() for tensor in inputs)
    q, k = (tensor.repeat_interleave(v.shape[2] // tensor.shape[2], 2) for tensor in (q, k))
    S, outputs = state.double(), []
    for t in range(q.shape[1]):
        S = g[:, t, :, None, None].exp() * S
        wrong = v[:, t] - (S @ k[:, t, ..., None]).squeeze(-1)
        S = S + (beta[:, t, :, None] * wrong)[..., None] * k[:, t, :, None, :]
        outputs.append((S @ q[:, t, ..., None]).squeeze(-1) / q.shape[-1] ** 0.5)
    return torch.stack(outputs, 1), S


def gradients_of(function, inputs, state):
    given = [tensor.clone().requires_grad_() for tensor in (*inputs, state)]
    o, S = function(given[:-1], given[-1])
    weights = torch.linspace(-1, 1, o.numel(), dtype=o.dtype).reshape(o.shape)
    return torch.autograd.grad((o * weights).sum() + S.square().sum(), given)


def test_gradients(gdn):
    inputs = list(of_torch(draw(T=19)).values())
    state = torch.linspace(-1, 1, 2 * 4 * 8 * 16).reshape(2, 4, 8, 16)
    run = lambda given, initial: gdn(*given, initial=initial, final=True)
    want = gradients_of(loop, inputs, state)
    for function in (run, torch.compile(run, fullgraph=True, backend="aot_eager")):
        for gradient, reference in zip(gradients_of(function, inputs, state), want):
            assert error_of(gradient.numpy(), reference.numpy()) < 1e-5
    without_state = torch.autograd.grad(gdn(*[tensor.requires_grad_() for tensor in inputs]).sum(), inputs)
    assert all(gradient.shape == tensor.shape for gradient, tensor in zip(without_state, inputs))


@pytest.mark.parametrize("names", [["v"], ["q", "g"], ["k", "beta", "S"], ["S"]])
def test_gradients_that_nobody_wants_are_left_out(gdn, names, monkeypatch):
    """What requires none has none, the others are as beside all, and the kernel has no more than these."""
    asked = []
    obtain = type(gdn).obtain_gradient_of

    def watch(self, key, gradients, target=None):
        asked.append(gradients)
        return obtain(self, key, gradients, target)

    monkeypatch.setattr(type(gdn), "obtain_gradient_of", watch)

    def derive(function, wanted):
        tensors = {**of_torch(draw(T=20)), "S": torch.ones(2, 4, 8, 16)}
        for name in wanted:
            tensors[name].requires_grad_()
        given = {name: tensor for name, tensor in tensors.items() if name != "S"}
        o, last = function(**given, initial=tensors["S"], final=True)
        (o.square().sum() + last.sum()).backward()
        return {name: tensor.grad for name, tensor in tensors.items()}

    everything = derive(gdn, ["q", "k", "v", "g", "beta", "S"])
    for function in (gdn, torch.compile(gdn, backend="aot_eager")):
        some = derive(function, names)
        assert {name for name, gradient in some.items() if gradient is not None} == set(names)
        for name in names:
            assert error_of(some[name].numpy(), everything[name].numpy()) < 1e-5
    assert set(asked) == {(), tuple(names)}


@pytest.mark.parametrize("packed", [False, True])
def test_gradients_that_nobody_watches_have_the_bits_of_the_operators(gdn, packed):
    """A mode must see the operators; else calls go past them, backward too."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    inputs = of_torch(draw(B=1, T=100))
    state = torch.ones(3 if packed else 1, 4, 8, 16)
    offsets = torch.tensor([0, 30, 30, 100]) if packed else None

    def derive():
        leaves = [tensor.clone().requires_grad_() for tensor in (*inputs.values(), state)]
        o, S = gdn(*leaves[:-1], initial=leaves[-1], offsets=offsets, final=True)
        loss = o.square().sum() + S.sum()
        gradients = torch.autograd.grad(loss, leaves, retain_graph=True)
        assert all(map(torch.equal, gradients, torch.autograd.grad(loss, leaves)))
        return [o.detach(), S.detach(), *gradients]

    alone = derive()
    with Watch():
        watched = derive()
    assert all(map(torch.equal, alone, watched))
    assert {"recur.forward.default", "recur.backward.default"} <= set(seen)


def test_checkpoints_give_the_same_bits(gdn, inputs):
    inputs = of_torch(inputs)

    def derive(function):
        leaves = [tensor.clone().requires_grad_() for tensor in inputs.values()]
        return torch.autograd.grad(function(*leaves).square().sum(), leaves)

    again = derive(lambda *leaves: torch.utils.checkpoint.checkpoint(gdn, *leaves, use_reentrant=False))
    assert all(map(torch.equal, derive(gdn), again))


def test_there_is_no_second_derivative(gdn, inputs):
    inputs = of_torch(inputs)
    v = inputs["v"].requires_grad_()
    (gradient,) = torch.autograd.grad(gdn(**inputs).square().sum(), v, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_gradients_beside_16_bits(gdn):
    inputs = of_torch(draw(T=19))
    mixed = {n: (t if n in ("g", "beta") else t.bfloat16()).requires_grad_() for n, t in inputs.items()}
    gdn(**mixed).float().square().sum().backward()
    wide = {n: t.detach().float().requires_grad_() for n, t in mixed.items()}
    gdn(**wide).square().sum().backward()
    for name, tensor in mixed.items():
        assert tensor.grad.dtype == tensor.dtype
        assert error_of(tensor.grad.float().numpy(), wide[name].grad.numpy()) < 2e-2


def test_what_has_no_gradient(gdn, inputs):
    inputs = of_torch(inputs)
    inputs["v"].requires_grad_()
    o = gdn(**inputs)
    assert o.requires_grad and not gdn(**{**inputs, "v": inputs["v"].detach()}).requires_grad
    with torch.no_grad():
        gdn(**inputs, out=torch.zeros_like(o))
    with pytest.raises(recur.ArgumentError, match="results that are written to tensors have no gradient"):
        gdn(**inputs, out=torch.zeros_like(o))


def derive_with(gdn, kept_bytes, function=None, **tensors):
    """Results and gradients by all that is given, and the intervals at which the gradients that went the long way found states."""
    intervals, run = [], recur._native.Call.run_backward

    def watch(*arguments, kept, kept_interval, **options):
        intervals.append(kept_interval)
        return run(*arguments, kept=kept, kept_interval=kept_interval, **options)

    given = {name: tensor.clone().requires_grad_(tensor.is_floating_point()) for name, tensor in tensors.items()}
    state, offsets = given.pop("S", None), given.pop("offsets", None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recur._native.Call, "run_backward", watch)
        o, S = (function or gdn)(**given, initial=state, offsets=offsets, final=True, kept_bytes=kept_bytes)
        loss = (o * torch.linspace(-1, 1, o.numel()).reshape(o.shape)).sum() + S.square().sum()
        wanted = [*given.values(), *([] if state is None else [state])]
        got = torch.autograd.grad(loss, wanted, retain_graph=True)
        assert all(map(torch.equal, got, torch.autograd.grad(loss, wanted)))  # what is kept stays as it was
    return [o.detach(), S.detach(), *got], intervals


@pytest.mark.parametrize("chunk, kept_bytes, interval", KEPT_INTERVALS)
def test_states_that_are_kept(in_chunks, chunk, kept_bytes, interval):
    """The gradient takes the states that the call forward left, as many as the budget allows: the same numbers, also where all of it
    is one graph, and where the call is made again for the gradient."""
    gdn = in_chunks(chunk).with_options()
    given = {**of_torch(draw(T=150)), "S": torch.linspace(-1, 1, 2 * 4 * 8 * 16).reshape(2, 4, 8, 16)}
    want, _ = derive_with(in_chunks(chunk), 0, **given)
    again = lambda **options: torch.utils.checkpoint.checkpoint(in_chunks(chunk).with_options(), use_reentrant=False, **options)
    torch._dynamo.reset()
    traced = torch.compile(lambda **options: gdn(**options), fullgraph=True, backend="aot_eager")
    for function in (gdn, again, traced):
        got, intervals = derive_with(gdn, kept_bytes, function, **given)
        assert intervals == ([interval, interval] if function is traced else [interval])
        assert all(error_of(value.numpy(), wanted.numpy()) < 1e-6 for value, wanted in zip(got, want))


def test_states_that_are_kept_of_packed_sequences(in_chunks):
    gdn = in_chunks(64).with_options()
    given = {**of_torch(draw(B=1, T=150)), "offsets": torch.tensor([0, 3, 3, 131, 150])}
    (got, intervals), (want, none) = derive_with(gdn, None, **given), derive_with(gdn, 0, **given)
    assert (intervals, none) == ([64], [0])
    assert all(error_of(value.numpy(), wanted.numpy()) < 1e-6 for value, wanted in zip(got, want))


def test_nothing_is_kept_where_no_gradient_is_known(gdn, inputs, tmp_path):
    """A saved kernel without one computes the outputs; and without one that takes states there are none to keep."""
    recur.save(gdn, tmp_path / "gdn.so", K=16, V=8)
    given = of_torch(inputs)
    given["v"].requires_grad_()
    saved = recur.load(tmp_path / "gdn.so")(**given)
    assert torch.equal(saved, gdn(**given))
    with pytest.raises(recur.NoGradientError, match="the saved kernel has no gradient; save it with backward=True"):
        saved.sum().backward()


def test_a_module_learns():
    """The param of a recurrence goes where the loss goes down."""
    module = recur.torch.Module(recur.library.rwkv6, 2, {"K": 4})
    given = {name: torch.linspace(-1, 1, 1 * 9 * 2 * 4).reshape(1, 9, 2, 4) for name in "rkv"}
    given["w"] = -torch.ones(1, 9, 2, 4)
    target = torch.nn.Parameter(torch.ones(2, 4))
    wanted = recur.library.rwkv6(**given, u=target.detach())
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = (module(**given) - wanted).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]


def test_module():
    rwkv6 = recur.library.rwkv6
    _, given, _ = call("rwkv6")
    given = of_torch(given)
    u = given.pop("u")
    module = recur.torch.Module(rwkv6, u.shape[0], {"K": u.shape[1]}, u=u)
    assert [(name, tuple(p.shape)) for name, p in module.named_parameters()] == [("u", tuple(u.shape))]
    with torch.no_grad():
        assert torch.equal(module(**given), rwkv6(**given, u=u))
    assert repr(module) == "Module(rwkv6)"
    assert not recur.torch.Module(rwkv6, 3, {"K": 5}).u.any()
    for make, message in [
        (lambda: recur.torch.Module(rwkv6, 3, {}), "rwkv6: the param 'u' needs the size of the dim 'K'"),
        (lambda: recur.torch.Module(rwkv6, 3, {"K": 5}, u=torch.zeros(3)), "rwkv6: the param 'u' has the shape [3]; it should be [3, 5]"),
        (lambda: recur.torch.Module(rwkv6, 3, {"K": 5}, w=torch.zeros(3)), "rwkv6: there is no param 'w'"),
    ]:
        with pytest.raises(recur.ArgumentError) as raised:
            make()
        assert str(raised.value) == message


MISTAKES = [
    ("missing", lambda i: {n: a for n, a in i.items() if n != "beta"}, "the input 'beta' is missing"),
    ("NumPy beside", lambda i: {**i, "g": i["g"].numpy()}, "the input 'g' is no tensor, but a ndarray, beside tensors"),
    ("dim", lambda i: {**i, "k": i["k"][..., :5]}, "K is 5 in 'k', but 16 in 'q'"),
    ("type", lambda i: {**i, "v": i["v"].double()}, "the input 'v' has elements of float64; there are kernels for float32, bfloat16 and float16; write v.float()"),
    ("offsets", lambda i: {**i, "offsets": torch.tensor([0.0, 70.0], requires_grad=True)}, "the offsets require a gradient, and there is none for them; detach() them"),
    ("device", lambda i: {**i, "g": i["g"].to("meta")}, "a tensor is on cpu, and another on meta; a call has all on one device"),
    ("GPU's kernels", lambda i: i, "the kernels are for 'sm_90a', and the arrays are in the processor's memory"),
    ("state", lambda i: {**i, "initial": i["g"]}, "the initial state 'S' has the shape [2, 70, 4]; it should be [B, H, V, K]"),
    ("out", lambda i: {**i, "out": i["v"]}, "the output 'o' shares memory with the input 'v'"),
]


@pytest.mark.parametrize("what, spoil, message", MISTAKES, ids=[what for what, _, _ in MISTAKES])
def test_message(gdn, inputs, what, spoil, message):
    called = gdn.with_options(target="sm_90a") if what == "GPU's kernels" else gdn
    with pytest.raises(recur.ArgumentError) as raised:
        called(**spoil(of_torch(inputs)))
    assert str(raised.value) == f"gated_delta_net: {message}"


def test_a_bound_call(gdn):
    given = of_torch(draw(B=1, T=1))
    state = torch.zeros(1, 4, 8, 16)
    bound = gdn.bind(**given, initial=state, final=state)
    want, last = gdn(**given, final=True)
    assert torch.equal(bound(), want) and torch.equal(state, last)
    given["v"].requires_grad_()
    with pytest.raises(recur.ArgumentError, match="a bound call has no gradient; detach"):
        gdn.bind(**given)
