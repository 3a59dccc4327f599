"""Recurrences as operators of PyTorch. Where there is no PyTorch, all of this is skipped."""

import numpy
import pytest
from conftest import FLOAT, draw, error_of
from test_golden import GOLDEN, NAMES, call, read

import recur

torch = pytest.importorskip("torch")
import recur.torch  # noqa: E402


def of_torch(inputs):
    return {name: torch.from_numpy(array) for name, array in inputs.items()}


@pytest.mark.parametrize("name", [name for name in NAMES if not recur.library.__getattr__(name).declaration.has_implicit_states])
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
    assert o.dtype == torch.bfloat16 and torch.equal(o, want.bfloat16())
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
    torch.library.opcheck(forward, (inputs, None, gdn.handle, [], False, True), test_utils=tests)
    torch.library.opcheck(forward, ([*inputs, state], None, gdn.handle, [True], False, True), test_utils=tests)
    one = [tensor[:1] for tensor in inputs]
    torch.library.opcheck(forward, (one, torch.tensor([0, 5, 70]), gdn.handle, [], True, False), test_utils=tests)


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


@pytest.mark.parametrize("name", ["mesa_net", "rwkv6", "delta_product"])
def test_compile_of_others(name):
    recurrence, given, _ = call(name)
    given = of_torch(given)
    compiled = torch.compile(lambda given: recurrence(**given), fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        assert torch.equal(compiled(given), recurrence(**given))


def test_export(gdn, inputs):
    class Layer(torch.nn.Module):
        def forward(self, q, k, v, g, beta):
            return gdn(q, k, v, g, beta)

    given = tuple(of_torch(inputs).values())
    program = torch.export.export(Layer(), given)
    assert torch.equal(program.module()(*given), gdn(*given))


def test_a_gradient_is_refused_where_it_is_asked_for(gdn, inputs):
    inputs = of_torch(inputs)
    inputs["v"].requires_grad_()
    o = gdn(**inputs)
    with pytest.raises(recur.NoGradientError) as raised:
        o.sum().backward()
    assert str(raised.value) == (
        "gated_delta_net: there is no kernel of its gradient, so that it cannot be differentiated; detach() on what it is given, "
        "or torch.no_grad(), takes it out of a derivative"
    )
    assert not gdn(**{**inputs, "v": inputs["v"].detach()}).requires_grad
    with torch.no_grad():
        gdn(**inputs, out=torch.zeros_like(o))
    with pytest.raises(recur.ArgumentError, match="results that are written to tensors have no gradient"):
        gdn(**inputs, out=torch.zeros_like(o))


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
    ("type", lambda i: {**i, "v": i["v"].double()}, "the input 'v' has elements of float64; there are kernels for float32, bfloat16 and float16"),
    ("offsets", lambda i: {**i, "offsets": torch.tensor([0.0, 70.0], requires_grad=True)}, "the offsets require a gradient, and have none"),
    ("state", lambda i: {**i, "initial": i["g"]}, "the initial state 'S' has the shape [2, 70, 4]; it should be [B, H, V, K]"),
    ("out", lambda i: {**i, "out": i["v"]}, "the output 'o' shares memory with the input 'v'"),
]


@pytest.mark.parametrize("what, spoil, message", MISTAKES, ids=[what for what, _, _ in MISTAKES])
def test_message(gdn, inputs, what, spoil, message):
    with pytest.raises(recur.ArgumentError) as raised:
        gdn(**spoil(of_torch(inputs)))
    assert str(raised.value) == f"gated_delta_net: {message}"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_tensor_on_a_gpu(gdn, inputs):
    with pytest.raises(recur.ArgumentError) as raised:
        gdn(**{n: tensor.cuda() for n, tensor in of_torch(inputs).items()})
    assert str(raised.value) == "gated_delta_net: a tensor is on cuda:0; the kernels of 'host' are for the processor"
