"""Recurrences as functions of JAX: the numbers of NumPy's calls, under every transformation."""

import numpy
import pytest
from conftest import FLOAT, draw, error_of
from test_golden import GOLDEN, NAMES, call, read

import recur

jax = pytest.importorskip("jax")
jnp = jax.numpy
if recur._native.jax_call is None:
    pytest.skip("recur was built without JAX", allow_module_level=True)
jax.config.update("jax_platforms", "cpu")


def of_jax(inputs):
    return {name: jnp.asarray(array) for name, array in inputs.items()}


@pytest.mark.parametrize("name", NAMES)
def test_results(name):
    recurrence, given, initial = call(name)
    with_states = jax.jit(lambda given, initial: recurrence(**given, initial=initial, final=True))
    *outputs, states = with_states(of_jax(given), of_jax(initial) if initial else None)
    if not isinstance(states, dict):
        states = {recurrence.declaration.states[0].name: states}
    for value, array in zip(recurrence.declaration.outputs, outputs):
        assert isinstance(array, jax.Array)
        assert error_of(array, read(GOLDEN / name, "output")[value.name]) < 2e-5
    for state, want in read(GOLDEN / name, "final").items():
        assert error_of(states[state], want) < 2e-5


def test_the_same_bits_as_numpy(gdn, inputs):
    state = numpy.random.default_rng(1).standard_normal((2, 4, 8, 16)).astype(FLOAT)
    want, last = gdn(**inputs, initial=state, final=True)
    for function in (gdn, jax.jit(gdn, static_argnames=("final",))):
        o, S = function(**of_jax(inputs), initial=jnp.asarray(state), final=True)
        assert numpy.array_equal(o, want) and numpy.array_equal(S, last)
    assert numpy.array_equal(gdn(**{**inputs, "q": jnp.asarray(inputs["q"])}), gdn(**inputs))  # NumPy's beside JAX's


def test_shapes_without_computing(gdn, inputs):
    o, S = jax.eval_shape(lambda i: gdn(**i, final=True), of_jax(inputs))
    assert (o.shape, o.dtype, S.shape, S.dtype) == ((2, 70, 4, 8), jnp.float32, (2, 4, 8, 16), jnp.float32)


def test_vmap(gdn):
    parts = [draw(seed) for seed in range(3)]
    stacked = {name: jnp.stack([part[name] for part in parts]) for name in parts[0]}
    states = jnp.asarray(numpy.random.default_rng(1).standard_normal((3, 2, 4, 8, 16)), FLOAT)
    o, S = jax.vmap(lambda i, s: gdn(**i, initial=s, final=True))(stacked, states)
    for place, part in enumerate(parts):
        want, last = gdn(**part, initial=numpy.asarray(states[place]), final=True)
        assert numpy.array_equal(o[place], want) and numpy.array_equal(S[place], last)


def test_vmap_of_some_arguments_and_twice(gdn, inputs):
    inputs = of_jax(inputs)
    queries = jnp.stack([inputs["q"] * i for i in range(6)]).reshape(2, 3, *inputs["q"].shape)
    rest = {n: a for n, a in inputs.items() if n != "q"}
    one = lambda q: gdn(q=q, **rest)
    o = jax.jit(jax.vmap(jax.vmap(one)))(queries)
    assert o.shape == (2, 3, 2, 70, 4, 8)
    for i in range(6):
        assert numpy.array_equal(o[i // 3, i % 3], one(queries[i // 3, i % 3]))
    assert numpy.array_equal(jax.vmap(one, in_axes=1, out_axes=1)(queries[0].swapaxes(0, 1)), o[0].swapaxes(0, 1))


def test_vmap_over_params():
    recurrence, given, _ = call("mesa_net")
    given = of_jax(given)
    ridges = jnp.stack([given["ridge"], 2 * given["ridge"]])
    rest = {n: a for n, a in given.items() if n != "ridge"}
    o = jax.vmap(lambda ridge: recurrence(ridge=ridge, **rest))(ridges)
    for place in range(2):
        assert numpy.array_equal(o[place], recurrence(ridge=ridges[place], **rest))


def test_packed_sequences(gdn):
    inputs = draw(B=1)
    offsets = numpy.array([0, 20, 20, 70])
    want, last = gdn(**inputs, offsets=offsets, final=True)
    packed = jax.jit(lambda i, at: gdn(**i, offsets=at, final=True))
    o, S = packed(of_jax(inputs), jnp.asarray(offsets))
    assert numpy.array_equal(o, want) and numpy.array_equal(S, last)
    with pytest.raises(Exception, match=r"sequence_offsets decrease: \[2\] is 5, after 20"):
        jax.block_until_ready(packed(of_jax(inputs), jnp.array([0, 20, 5, 70])))


def test_types(gdn, inputs):
    narrow = {n: jnp.asarray(a, jnp.bfloat16) for n, a in inputs.items()}
    o = gdn(**narrow)
    want = gdn(**{n: numpy.asarray(a) for n, a in narrow.items()})
    assert o.dtype == jnp.bfloat16 and numpy.array_equal(o, want)
    mixed = {**narrow, "g": jnp.asarray(inputs["g"])}
    o = jax.jit(lambda i: gdn(**i))(mixed)
    want = gdn(**{n: numpy.asarray(a) for n, a in mixed.items()})
    assert o.dtype == jnp.bfloat16 and numpy.array_equal(o, want)


@pytest.mark.parametrize("B, T, H", [(0, 5, 4), (2, 0, 4), (2, 5, 0)])
def test_empty_arrays(gdn, B, T, H):
    inputs = of_jax(draw(B=B, T=T, H=H, Hq=H // 2))
    o, S = gdn(**inputs, final=True)
    assert o.shape == (B, T, H, 8) and S.shape == (B, H, 8, 16)
    o = jax.vmap(lambda i: gdn(**i))({n: a[None] for n, a in inputs.items()})
    assert o.shape == (1, B, T, H, 8)


def test_without_a_gradient_a_saved_kernel_refuses_it(gdn, inputs, tmp_path):
    recur.save(gdn, tmp_path / "gdn.so", K=16, V=8)
    saved, inputs = recur.load(tmp_path / "gdn.so"), of_jax(inputs)
    value, pull = jax.vjp(lambda v: saved(**{**inputs, "v": v}).sum(), inputs["v"])
    with pytest.raises(recur.NoGradientError) as raised:
        pull(jnp.ones_like(value))
    assert str(raised.value) == "gated_delta_net: the saved kernel has no gradient; save it with backward=True"
    recur.save(gdn, tmp_path / "gdn.so", K=16, V=8, backward=True)
    again = recur.load(tmp_path / "gdn.so")
    loss = lambda recurrence: jax.grad(lambda v: recurrence(**{**inputs, "v": v}).sum())(inputs["v"])
    assert numpy.array_equal(loss(again), loss(gdn))


MISTAKES = [
    ("missing", lambda i: {n: a for n, a in i.items() if n != "beta"}, "the input 'beta' is missing"),
    ("dim", lambda i: {**i, "k": i["k"][..., :5]}, "K is 5 in 'k', but 16 in 'q'"),
    ("type", lambda i: {**i, "v": i["v"].astype(int)}, "the input 'v' has elements of int32; there are kernels for float32, bfloat16 and float16; convert it to float32"),
    ("out", lambda i: {**i, "out": i["v"]}, "JAX's arrays cannot be written to; leave out= out"),
    ("final", lambda i: {**i, "final": i["v"]}, "JAX's arrays cannot be written to; final must be True or False"),
    ("state", lambda i: {**i, "initial": i["g"]}, "the initial state 'S' has the shape [2, 70, 4]; it should be [B, H, V, K]"),
]


@pytest.mark.parametrize("what, spoil, message", MISTAKES, ids=[what for what, _, _ in MISTAKES])
def test_message(gdn, inputs, what, spoil, message):
    for function in (lambda i: gdn(**i), jax.jit(lambda i: gdn(**i))):
        with pytest.raises(recur.ArgumentError) as raised:
            function(spoil(of_jax(inputs)))
        assert str(raised.value) == f"gated_delta_net: {message}"


def test_a_program_of_another_process(gdn, inputs):
    """A program that JAX kept names a kernel that nobody loaded here."""
    gdn(**of_jax(inputs))
    shape = jax.ShapeDtypeStruct((2, 70, 4, 8), FLOAT)
    with pytest.raises(Exception, match="this program was compiled in another process"):
        jax.block_until_ready(
            jax.ffi.ffi_call("recur_call", [shape])(
                *of_jax(inputs).values(), key="0", sizes=numpy.array([2, 70, 4, 2]), has_initial=False, has_final=False,
                is_packed=False, transposed=False, backward=False, **dict.fromkeys(("cotangents", "gradients", "offsets"), numpy.array([], int)), kept_interval=numpy.int64(0),
            )
        )  # fmt: skip
