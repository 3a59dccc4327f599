"""Gradients under JAX: of every recurrence of the library against its interpreter in float64, and of some against loops over
tokens that JAX differentiates."""

import jax
import jax.numpy as jnp
import numpy
import pytest
from conftest import FLOAT, KEPT_INTERVALS, draw, error_of
from float64 import compile_all, get_case
from test_golden import NAMES

import recur
import recur.jax

if recur._native.jax_call is None:
    pytest.skip("recur was built without JAX", allow_module_level=True)
B, T, H, K, V = 2, 67, 4, 8, 6


def draw_all(recurrence, seed=0):
    """Inputs and params of any recurrence, with gates below zero; initial states."""
    random, sizes = numpy.random.default_rng(seed), {"K": K, "V": V, "N": 2}
    declaration = recurrence.declaration

    def normal(leading, value):
        array = random.standard_normal((*leading, *(sizes.get(s, s) for s in value.shape)))
        return (-abs(array) if value.name in ("g", "w", "A") else 0.5 * array).astype(FLOAT)

    given = {v.name: normal((B, T, 2 if v.shared else H), v) for v in declaration.inputs}
    given.update({v.name: normal((H,), v) for v in declaration.params})
    return given, {v.name: normal((B, H), v) for v in declaration.states}


def delta(S, k, v, beta):
    return S + beta * jnp.outer(v - S @ k, k)


def gated_delta_net(S, x, p):
    S = delta(jnp.exp(x["g"]) * S, x["k"], x["v"], x["beta"])
    return S, S @ x["q"] / K**0.5


def kda(S, x, p):
    S = delta(S * jnp.exp(x["g"]), x["k"], x["v"], x["beta"])
    return S, S @ x["q"] / K**0.5


def rwkv6(S, x, p):
    o = S @ x["r"] + jnp.dot(x["r"], p["u"] * x["k"]) * x["v"]
    return S * jnp.exp(x["w"]) + jnp.outer(x["v"], x["k"]), o


def delta_product(S, x, p):
    for j in range(2):
        S = delta(S, x["k"][j], x["v"][j], x["beta"][j])
    return S, S @ x["q"] / K**0.5


def mamba2_ssd(S, x, p):
    step = jax.nn.softplus(x["dt"] + p["dt_bias"])
    S = jnp.exp(step * p["A"]) * S + jnp.outer(step * x["x"], x["B"])
    return S, S @ x["C"] + p["D"] * x["x"]


def loop(step, recurrence, given, initial):
    shared = {v.name for v in recurrence.declaration.inputs if v.shared}
    inputs = {v.name for v in recurrence.declaration.inputs}
    tokens = {n: jnp.repeat(a, H // a.shape[2], 2) if n in shared else a for n, a in given.items() if n in inputs}
    params = {n: a for n, a in given.items() if n not in inputs}

    def head(tokens, params, S):
        S, o = jax.lax.scan(lambda S, x: step(S, x, params), S, tokens)
        return o, S

    over_heads = jax.vmap(head, in_axes=(1, 0, 0), out_axes=(1, 0))
    return jax.vmap(over_heads, in_axes=(0, None, 0))(tokens, params, initial["S"])


def loss_of(o, S):
    weights = jnp.linspace(-1, 1, o.size).reshape(o.shape)
    return (o * weights).sum() + (S**2).sum()


@pytest.fixture(scope="module")
def all_compiled():
    compile_all(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_everything_against_float64(name, all_compiled):
    case = get_case(name)
    results, pull = jax.vjp(jax.jit(case.compute), [jnp.asarray(array) for array in case.arrays.values()])
    (gradients,) = pull([jnp.asarray(weight) for weight in case.weights.values()])
    case.judge(*jax.tree.map(numpy.asarray, (results, gradients)))


def test_the_judge_sees_a_wrong_gradient():
    """One number in a hundred that is off by a tenth."""
    case = get_case("delta_net")
    results, pull = jax.vjp(case.compute, [jnp.asarray(array) for array in case.arrays.values()])
    (gradients,) = pull([jnp.asarray(weight) for weight in case.weights.values()])
    results, gradients = jax.tree.map(numpy.array, (results, gradients))
    gradients[1].reshape(-1)[::100] *= 1.1
    with pytest.raises(AssertionError, match="'k'"):
        case.judge(results, gradients)


REFERENCES = [gated_delta_net, kda, rwkv6, delta_product, mamba2_ssd]


@pytest.mark.parametrize("step", REFERENCES, ids=lambda step: step.__name__)
def test_gradients(step):
    recurrence = recur.library.__getattr__(step.__name__).with_options(quick=step is not gated_delta_net)
    given, initial = draw_all(recurrence)
    if "k" in given and step is not rwkv6:
        given["k"] /= numpy.linalg.norm(given["k"], axis=-1, keepdims=True)
    with jax.enable_x64(True):
        wide = jax.tree.map(lambda a: jnp.asarray(a, jnp.float64), (given, initial))
        want = jax.jit(jax.grad(lambda g, i: loss_of(*loop(step, recurrence, g, i)), argnums=(0, 1)))(*wide)
        want = jax.tree.map(numpy.asarray, want)
    narrow = jax.tree.map(jnp.asarray, (given, initial))
    got = jax.jit(jax.grad(lambda g, i: loss_of(*recurrence(**g, initial=i, final=True)), argnums=(0, 1)))(*narrow)
    for group, wanted in zip(got, want):
        for name, gradient in group.items():
            assert gradient.shape == wanted[name].shape
            assert error_of(gradient, wanted[name]) < 1e-4, name


def test_vmap_of_a_gradient(gdn):
    parts = [{n: jnp.asarray(a) for n, a in draw(seed).items()} for seed in range(3)]
    stacked = {name: jnp.stack([part[name] for part in parts]) for name in parts[0]}
    gradient = jax.grad(lambda i: (gdn(**i) ** 2).sum())
    together = jax.jit(jax.vmap(gradient))(stacked)
    for place, part in enumerate(parts):
        for name, alone in gradient(part).items():
            assert numpy.array_equal(together[name][place], alone), name


def test_each_mapped_call_has_its_own_gradient_of_a_param():
    rwkv6 = recur.library.rwkv6
    given, _ = draw_all(rwkv6)
    u, rest = jnp.asarray(given.pop("u")), {n: jnp.asarray(a) for n, a in given.items()}
    factors = jnp.array([1.0, -2.0])
    gradient = lambda factor, u: jax.grad(lambda u: factor * rwkv6(**rest, u=u).sum())(u)
    together = jax.vmap(gradient, in_axes=(0, None))(factors, u)
    assert error_of(together[1], -2 * together[0]) < 1e-6 and numpy.array_equal(together[0], gradient(1.0, u))


def test_packed_sequences(gdn):
    one = {n: jnp.asarray(a) for n, a in draw(B=1).items()}
    offsets = jnp.array([0, 20, 20, 70])
    got = jax.grad(lambda i: (gdn(**i, offsets=offsets) ** 2).sum())(one)
    for first, last in ((0, 20), (20, 70)):
        part = {n: a[:, first:last] for n, a in one.items()}
        for name, alone in jax.grad(lambda i: (gdn(**i) ** 2).sum())(part).items():
            assert error_of(got[name][:, first:last], alone) < 1e-6, name


def test_gradients_beside_16_bits(gdn, inputs):
    mixed = {n: jnp.asarray(a, jnp.float32 if n in ("g", "beta") else jnp.bfloat16) for n, a in inputs.items()}
    got = jax.grad(lambda i: (gdn(**i).astype(jnp.float32) ** 2).sum())(mixed)
    want = jax.grad(lambda i: (gdn(**i) ** 2).sum())({n: a.astype(jnp.float32) for n, a in mixed.items()})
    for name, gradient in got.items():
        assert gradient.dtype == mixed[name].dtype
        assert error_of(gradient.astype(jnp.float32), want[name]) < 2e-2, name


def test_gradients_of_one_and_of_another_by_turns(gdn, inputs):
    """What JAX has kept of one is not taken for the other's."""
    given = {n: jnp.asarray(a) for n, a in inputs.items()}
    loss = lambda some, rest: (gdn(**some, **rest) ** 2).sum()
    want = jax.grad(loss)(given, {})
    for transform in (lambda f: f, jax.jit, lambda f: jax.jit(jax.checkpoint(f)), jax.jit, lambda f: f):
        for names in (["v"], ["q"], ["k", "g"], ["v"], ["q", "k", "v", "g", "beta"], ["q"]):
            got = jax.grad(transform(loss))({n: given[n] for n in names}, {n: a for n, a in given.items() if n not in names})
            for name in names:
                assert error_of(got[name], want[name]) < 1e-6, (names, name)


@pytest.fixture
def asked(monkeypatch):
    """The names of what gradients are compiled for, each time that one is asked for; none stands for all."""
    names = []
    obtain = recur.Recurrence.obtain_gradient

    def watch(self, known, dtype, gradients=(), *where):
        names.append(gradients)
        return obtain(self, known, dtype, gradients, *where)

    monkeypatch.setattr(recur.Recurrence, "obtain_gradient", watch)
    recur.jax._build.cache_clear()  # what was traced before would not ask again
    return names


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit, jax.checkpoint], ids=["plain", "jit", "checkpoint"])
@pytest.mark.parametrize("names", [["v"], ["q", "g"], ["k", "beta", "S"], ["S"]])
def test_gradients_that_nobody_wants_are_left_out(gdn, names, transform, asked):
    """Where only some are asked, the kernel has no more than these, and they are as beside all."""
    arrays = {**{n: jnp.asarray(a) for n, a in draw(T=20).items()}, "S": jnp.ones((2, 4, 8, 16))}

    def loss(some, rest):
        given = {**some, **rest}
        o, S = gdn(**{n: a for n, a in given.items() if n != "S"}, initial=given["S"], final=True)
        return (o * jnp.linspace(-1, 1, o.size).reshape(o.shape)).sum() + (S**2).sum()

    split = lambda names: ({n: arrays[n] for n in names}, {n: a for n, a in arrays.items() if n not in names})
    got = jax.grad(transform(loss))(*split(names))
    assert set(asked) == {tuple(n for n in arrays if n in names)}
    want = jax.grad(loss)(*split(arrays))
    assert () in asked
    for name, gradient in got.items():
        assert error_of(gradient, want[name]) < 1e-6, name


def test_cotangents_that_are_zero_are_not_given(gdn, inputs, monkeypatch):
    """Of an output that no loss depends on there is no array of zeros."""
    given = {n: jnp.asarray(a) for n, a in inputs.items()}
    seen, derive = [], recur.jax._backward

    def watch(asked, static, *buffers):
        seen.append((asked.cotangents, len(buffers)))
        return derive(asked, static, *buffers)

    monkeypatch.setattr(recur.jax, "_backward", watch)
    of_output, of_state = ((lambda v, part=part: (gdn(**{**given, "v": v}, final=True)[part] ** 2).sum()) for part in (0, 1))
    both = jax.grad(lambda v: of_output(v) + of_state(v))(given["v"])
    del seen[:]
    recur.jax._build.cache_clear()
    apart = jax.grad(of_output)(given["v"]) + jax.grad(of_state)(given["v"])
    assert seen == [((0,), 6), ((1,), 6)] and error_of(apart, both) < 1e-6
    assert not jax.grad(lambda v: 0 * v.sum() + gdn(**{**given, "v": jax.lax.stop_gradient(v)}).sum())(given["v"]).any()


def test_params_that_are_mapped_but_not_differentiated(asked):
    rwkv6 = recur.library.rwkv6
    given, _ = draw_all(rwkv6)
    u, rest = jnp.asarray(given.pop("u")), {n: jnp.asarray(a) for n, a in given.items()}
    v = rest.pop("v")
    gradient = lambda v, u: jax.grad(lambda v: (rwkv6(**rest, v=v, u=u) ** 2).sum())(v)
    both = jnp.stack([v, 2 * v]), jnp.stack([u, -u])
    together = jax.vmap(gradient)(*both)
    of_one = jax.vmap(gradient, in_axes=(0, None))(both[0], u)
    assert set(asked) == {("v",)}
    for place in range(2):
        assert numpy.array_equal(together[place], gradient(both[0][place], both[1][place]))
        assert numpy.array_equal(of_one[place], gradient(both[0][place], u))


def test_a_gradient_in_a_loop(gdn, asked):
    """The carried state is differentiated, for the loop goes on from it, and the other inputs are not."""
    given = {n: jnp.asarray(a) for n, a in draw(T=12).items()}
    v, rest = given.pop("v"), given

    def loss(v):
        def step(S, _):
            o, S = gdn(**rest, v=v, initial=S, final=True)
            return S, o.sum()

        S, sums = jax.lax.scan(step, jnp.zeros((2, 4, 8, 16)), None, length=3)
        return sums.sum() + (S**2).sum()

    got = jax.grad(loss)(v)
    assert set(asked) <= {("v",), ("v", "S")} and ("v", "S") in asked
    shift = jnp.asarray(numpy.random.default_rng(3).standard_normal(v.shape), FLOAT)
    numeric = (loss(v + 0.1 * shift) - loss(v - 0.1 * shift)) / 0.2
    assert abs(float((got * shift).sum()) - float(numeric)) < 1e-3 * abs(float(numeric))


def derive_with(gdn, kept_bytes, transform=jax.jit, **given):
    """Results and gradients by all that is given, and the intervals at which states went from the calls forward."""
    intervals, perform = [], recur.jax._call

    def watch(static, key, results, asked, kept_interval, buffers):
        intervals.append(kept_interval)
        return perform(static, key, results, asked, kept_interval, buffers)

    def loss(given):
        o, S = gdn(**{n: a for n, a in given.items() if n not in ("S", "offsets")}, initial=given.get("S"), final=True, kept_bytes=kept_bytes,
                   offsets=given.get("offsets"))  # fmt: skip
        return (o * jnp.linspace(-1, 1, o.size).reshape(o.shape)).sum() + (S**2).sum(), (o, S)

    recur.jax._build.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recur.jax, "_call", watch)
        floats = {n: a for n, a in given.items() if n != "offsets"}
        rest = {n: a for n, a in given.items() if n == "offsets"}
        got = transform(jax.grad(lambda some: loss({**some, **rest}), has_aux=True))(floats)
    return jax.tree.leaves(got), intervals


@pytest.mark.parametrize("chunk, kept_bytes, interval", KEPT_INTERVALS)
def test_states_that_are_kept(in_chunks, chunk, kept_bytes, interval):
    """The gradient takes the states that the call forward left, as many as the budget allows: the same numbers."""
    gdn = in_chunks(chunk)
    given = {n: jnp.asarray(a) for n, a in draw(T=150).items()}
    given["S"] = jnp.linspace(-1, 1, 2 * 4 * 8 * 16).reshape(2, 4, 8, 16)
    got, intervals = derive_with(gdn, kept_bytes, **given)
    assert intervals[-2:] == [interval, interval]  # before them, the function is traced by itself
    want, _ = derive_with(gdn, 0, **given)
    for value, wanted in zip(got, want):
        assert error_of(value, wanted) < 1e-6
    again, _ = derive_with(gdn, kept_bytes, jax.checkpoint, **given)
    for value, wanted in zip(again, want):
        assert error_of(value, wanted) < 1e-6


def test_states_that_are_kept_of_packed_and_of_mapped_calls(in_chunks):
    gdn = in_chunks(64)
    one = {n: jnp.asarray(a) for n, a in draw(B=1, T=150).items()}
    offsets = jnp.array([0, 3, 3, 131, 150])
    got, intervals = derive_with(gdn, None, offsets=offsets, **one)
    want, none = derive_with(gdn, 0, offsets=offsets, **one)
    assert (set(intervals), set(none)) == ({0, 64}, {0})
    for value, wanted in zip(got, want):
        assert error_of(value, wanted) < 1e-6
    parts = [{n: jnp.asarray(a) for n, a in draw(seed, T=150).items()} for seed in range(2)]
    stacked = {name: jnp.stack([part[name] for part in parts]) for name in parts[0]}
    for kept_bytes in (None, 2 * 2 * 4 * 512):  # of each of the mapped calls
        together, intervals = derive_with(gdn, kept_bytes, jax.vmap, **stacked)
        assert set(intervals) == {0, 128 if kept_bytes else 64}
        for place, part in enumerate(parts):
            for value, alone in zip(together, derive_with(gdn, kept_bytes, **part)[0]):
                assert error_of(value[place], alone) < 1e-6


@pytest.mark.parametrize("budget", [-1, 1.5, "all", True])
def test_a_budget_that_is_none(gdn, inputs, budget):
    with pytest.raises(recur.ArgumentError) as raised:
        gdn(**inputs, kept_bytes=budget)
    assert str(raised.value) == f"gated_delta_net: kept_bytes is a number of bytes, or None, not {budget!r}"


def test_second_derivatives_are_refused(gdn, inputs):
    given = {name: jnp.asarray(array) for name, array in inputs.items()}
    derive = jax.grad(lambda v: (gdn(**{**given, "v": v}) ** 2).sum())
    for transform in (lambda f: f, jax.jit, lambda f: lambda v: jax.vmap(f)(v[None])[0]):
        with pytest.raises(recur.NoGradientError) as raised:
            jax.grad(lambda v: (transform(derive)(v) ** 2).sum())(given["v"])
        assert str(raised.value) == "gated_delta_net: a gradient is differentiated once more, and there are first derivatives alone"
