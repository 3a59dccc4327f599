"""Each array has the type that it comes with: NumPy's, JAX's and PyTorch's."""

import ml_dtypes
import numpy
import pytest
from conftest import FLOAT, draw, error_of

import recur

BF16 = numpy.dtype(ml_dtypes.bfloat16)
STATE = numpy.random.default_rng(7).standard_normal((2, 4, 8, 16)).astype(FLOAT)
GATES = ("g", "beta")


def mix(inputs, wide=GATES, kind=BF16):
    return {name: array if name in wide else array.astype(kind) for name, array in inputs.items()}


def widen(arrays):
    return {name: numpy.asarray(array).astype(FLOAT) for name, array in arrays.items()}


@pytest.fixture
def copies(monkeypatch):
    """What is told of copies."""
    told = []
    monkeypatch.setattr(recur.debug, "copies", True)
    monkeypatch.setattr(recur.debug, "warn_of_copy", told.append)
    return told


@pytest.mark.parametrize("kind, bound", [(BF16, 4e-3), (numpy.dtype("float16"), 7e-4)], ids=str)
@pytest.mark.parametrize("wide", [GATES, ("g",), ("k",), ("q", "beta"), ("q", "k", "g", "beta")], ids=" ".join)
def test_arrays_of_two_types(gdn, inputs, copies, kind, bound, wide):
    mixed = mix(inputs, wide, kind)
    o, S = gdn(**mixed, final=True)
    want, state = gdn(**widen(mixed), final=True)
    assert o.dtype == kind and S.dtype == FLOAT and not copies
    assert error_of(o.astype(FLOAT), want) < bound and error_of(S, state) < bound


RULE = """recurrence rule {
  dim K
  input x: [K], y: [K], a
  param p: [K]
  state h: [K]
  h = a * h + p * x
  output o = h * y
}
"""
SCALARS = """recurrence scalars {
  input x, y
  param p
  output o = p * x * y
}
"""


@pytest.mark.parametrize(
    "text, narrow, result",
    [(RULE, "", FLOAT), (RULE, "x", BF16), (RULE, "y", BF16), (RULE, "a", FLOAT), (RULE, "p", FLOAT), (RULE, "a p", FLOAT), (RULE, "x y p", BF16)]
    + [(SCALARS, "x", BF16), (SCALARS, "p", FLOAT), (SCALARS, "x y p", BF16)],
)  # fmt: skip
def test_outputs_have_the_16_bits_of_vectors(text, narrow, result):
    recurrence = recur.define(text)
    inputs, params = recurrence.declaration.inputs, recurrence.declaration.params
    shapes = {v.name: (1, 5, 2, *([4] * len(v.shape))) for v in inputs} | {v.name: (2, *([4] * len(v.shape))) for v in params}
    random = numpy.random.default_rng(0)
    given = {name: random.uniform(0.5, 1, shape).astype(BF16 if name in narrow.split() else FLOAT) for name, shape in shapes.items()}
    o = recurrence(**given)
    assert o.dtype == result and error_of(o.astype(FLOAT), recurrence(**widen(given))) < 8e-3


@pytest.mark.parametrize("transposed", [False, True])
def test_states_of_16_bits(gdn, inputs, copies, transposed):
    """They are taken as they are, and final states are of the same type."""
    turn = (lambda state: numpy.ascontiguousarray(state.swapaxes(2, 3))) if transposed else lambda state: state
    mixed, narrow = mix(inputs), turn(STATE.astype(BF16))
    options = {"states_transposed": transposed}
    o, S = gdn(**mixed, initial=narrow, final=True, **options)
    want, state = gdn(**widen(mixed), initial=narrow.astype(FLOAT), final=True, **options)
    assert S.dtype == BF16 and S.shape == state.shape and not copies
    assert error_of(o.astype(FLOAT), want) < 4e-3 and error_of(S.astype(FLOAT), state) < 4e-3
    again = narrow.copy()
    p, same = gdn(**mixed, initial=again, final=again, **options)
    assert same is again and numpy.array_equal(again, S) and numpy.array_equal(p, o)
    fresh = numpy.zeros(S.shape, BF16)  # of no initial state, whose type is that of what is written to
    gdn(**mixed, final=fresh, **options)
    assert error_of(fresh.astype(FLOAT), gdn(**mixed, final=True, **options)[1]) < 4e-3


def test_a_bound_call(gdn):
    inputs = draw(T=1)
    given, state = mix(inputs), STATE.astype(BF16)
    want, last = gdn(**given, initial=state, final=True)
    step = gdn.bind(**given, initial=state, final=state)
    assert numpy.array_equal(step(), want) and step.result.dtype == BF16 and numpy.array_equal(state, last)


def test_compiled_ahead_and_saved(gdn, inputs, tmp_path, monkeypatch):
    recurrence, mixed = gdn.with_options(consts={"scale": 0.3}), mix(inputs)
    recur.compile(recurrence, ahead=[{"K": 16, "V": 8, "dtype": "bfloat16, beta=float32, g=float32"}])
    recur.save(recurrence, tmp_path / "gdn.so", K=16, V=8, dtype="bfloat16,g=float32,beta=float32")
    monkeypatch.setattr(recur.kernels, "_compile", None)
    want = recurrence(**mixed)
    saved = recur.load(tmp_path / "gdn.so")
    assert numpy.array_equal(saved(**mixed), want)
    with pytest.raises(recur.ArgumentError, match="the saved kernel has the input 'g' in float32, and the array is bfloat16"):
        saved(**mix(inputs, wide=("beta",)))
    with pytest.raises(recur.ArgumentError, match="the saved kernel has the state 'S' in float32, and the array is bfloat16"):
        saved(**mixed, initial=STATE.astype(BF16))


@pytest.mark.parametrize(
    "dtype, message",
    [
        ("bfloat16,gain=float32", "gated_delta_net: dtype names 'gain', which is no array of the recurrence; there are S, beta, g, k, o, q, v"),
        ("bfloat16,g=float64", "gated_delta_net: there are no kernels for float64, only for float32, bfloat16, float16"),
        ("g=float32", "gated_delta_net: there are no kernels for g=float32, only for float32, bfloat16, float16"),
        ("bfloat16,g", "gated_delta_net: there are no kernels for nothing, only for float32, bfloat16, float16"),
    ],
)
def test_mistakes_of_a_dtype(gdn, dtype, message):
    with pytest.raises(recur.ArgumentError) as raised:
        recur.compile(gdn, ahead=[{"K": 16, "V": 8, "dtype": dtype}])
    assert str(raised.value) == message


def test_a_check_of_types(gdn):
    gdn.check(K=16, V=8, dtype="bfloat16,g=float32,S=bfloat16")


def test_complex_values():
    turn = recur.define("recurrence turn {\n  dim N\n  complex input x: [N]\n  input t: [N]\n  complex state h: [N]\n  h = 0.9 * cis(t) * h + x\n  complex output y = h\n}\n")
    random = numpy.random.default_rng(0)
    x = (random.standard_normal((1, 9, 2, 4)) + 1j * random.standard_normal((1, 9, 2, 4))).astype(numpy.complex64)
    t = random.standard_normal((1, 9, 2, 4)).astype(FLOAT)
    recur.compile(turn, ahead=[{"N": 4, "dtype": "bfloat16,x=float32"}])
    want, got = turn(x, t.astype(BF16).astype(FLOAT)), turn(x, t.astype(BF16), out={"y": numpy.zeros((1, 9, 2, 4), numpy.complex64)})
    assert got.dtype == numpy.complex64 and error_of(got.view(FLOAT), want.view(FLOAT)) < 8e-3


def test_delays():
    layer = recur.library.qwen3_next_layer
    random = numpy.random.default_rng(1)
    given = {v.name: random.standard_normal((1, 9, 2, 4)[: 3 + len(v.shape)], dtype=FLOAT).astype(BF16) for v in layer.declaration.inputs}
    params = {v.name: random.standard_normal((2, 4, 4)[: 1 + len(v.shape)], dtype=FLOAT) for v in layer.declaration.params}
    whole, _ = layer(**given, **params, final=True)
    first, states = layer(**{n: a[:, :5] for n, a in given.items()}, **params, final=True)
    rest, _ = layer(**{n: a[:, 5:] for n, a in given.items()}, **params, initial=states, final=True)
    assert whole.dtype == BF16 and error_of(numpy.concatenate([first, rest], 1).astype(FLOAT), whole.astype(FLOAT)) < 1e-2
    narrow = {n: state.astype(BF16) for n, state in states.items()}
    rest, last = layer(**{n: a[:, 5:] for n, a in given.items()}, **params, initial=narrow, final=True)
    assert {n: state.dtype for n, state in last.items()} == dict.fromkeys(states, BF16)
    assert error_of(rest.astype(FLOAT), whole[:, 5:].astype(FLOAT)) < 2e-2


def test_jax(gdn, inputs):
    jax = pytest.importorskip("jax")
    mixed = {name: jax.numpy.asarray(array) for name, array in mix(inputs).items()}
    narrow = STATE.astype(BF16)
    want, last = gdn(**mix(inputs), initial=narrow, final=True)
    o, S = jax.jit(lambda i, s: gdn(**i, initial=s, final=True))(mixed, jax.numpy.asarray(narrow))
    assert o.dtype == S.dtype == BF16 and numpy.array_equal(o, want) and numpy.array_equal(S, last)
    o, S = jax.vmap(lambda i, s: gdn(**i, initial=s, final=True))(*jax.tree.map(lambda a: a[None], (mixed, jax.numpy.asarray(narrow))))
    assert numpy.array_equal(o[0], want) and numpy.array_equal(S[0], last)

    def loss(i, s):
        o, S = gdn(**i, initial=s, final=True)
        return (o.astype(FLOAT) ** 2).sum() + (S.astype(FLOAT) ** 2).sum()

    got = jax.grad(loss, (0, 1))(mixed, jax.numpy.asarray(narrow))
    want = jax.grad(loss, (0, 1))(*jax.tree.map(lambda a: a.astype(FLOAT), (mixed, jax.numpy.asarray(narrow))))
    for gradient, reference, of in zip(*map(jax.tree.leaves, (got, want, (mixed, narrow)))):
        assert gradient.dtype == of.dtype and error_of(gradient.astype(FLOAT), reference) < 2e-2


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed")


def of_torch(torch, inputs, wide=GATES):
    return {name: torch.from_numpy(array) if name in wide else torch.from_numpy(array).bfloat16() for name, array in inputs.items()}


def test_tensors_are_read_as_they_are(torch, gdn, inputs, copies, monkeypatch):
    """Nothing of PyTorch's converts anything, neither the first time nor later; the second time is the short way."""
    import recur.torch

    gdn, mixed = gdn.with_options(), of_torch(torch, inputs)
    for name in ("to", "float", "type", "bfloat16", "copy_", "clone"):
        monkeypatch.setattr(torch.Tensor, name, None)
    first = gdn(**mixed, final=True)
    monkeypatch.setattr(recur.torch, "call", None)
    again = gdn(**mixed, final=True)
    monkeypatch.undo()
    assert all(map(torch.equal, first, again)) and not copies
    assert first[0].dtype == torch.bfloat16 and first[1].dtype == torch.float32
    assert error_of(first[0].float().numpy(), gdn(**widen({n: t.float() for n, t in mixed.items()}))) < 4e-3


def test_gradients_of_tensors(torch, gdn):
    """Each has the type of what it is of, that of a state too; and the operator is seen whole."""
    inputs, narrow = draw(T=19), torch.from_numpy(STATE).bfloat16()

    def derive(given, state, function):
        leaves = [tensor.detach().clone().requires_grad_() for tensor in (*given.values(), state)]
        o, S = function(*leaves[:-1], initial=leaves[-1], final=True)
        assert S.dtype == state.dtype
        (o.float().square().sum() + S.float().square().sum()).backward()
        return o, [leaf.grad for leaf in leaves]

    mixed = of_torch(torch, inputs)
    o, got = derive(mixed, narrow, gdn)
    want, wide = derive({n: t.float() for n, t in mixed.items()}, narrow.float(), gdn)
    assert [gradient.dtype for gradient in got] == [tensor.dtype for tensor in (*mixed.values(), narrow)]
    for gradient, reference in zip((o, *got), (want, *wide)):
        assert error_of(gradient.detach().float().numpy(), reference.detach().numpy()) < 2e-2
    compiled = torch.compile(lambda *a, **options: gdn(*a, **options), fullgraph=True, backend="aot_eager")
    for gradient, reference in zip(derive(mixed, narrow, compiled)[1], got):
        assert torch.equal(gradient, reference)
    arguments = ([*mixed.values(), narrow], None, gdn.handle, [True], False, True, [], None)
    torch.library.opcheck(torch.ops.recur.forward, arguments, test_utils=("test_schema", "test_faketensor"))


def test_bound_tensors(torch, gdn):
    mixed, state = of_torch(torch, draw(T=1)), torch.from_numpy(STATE).bfloat16()
    want, last = gdn(**mixed, initial=state.clone(), final=True)
    step = gdn.bind(**mixed, initial=state, final=state)
    assert torch.equal(step(), want) and torch.equal(state, last) and want.dtype == torch.bfloat16
