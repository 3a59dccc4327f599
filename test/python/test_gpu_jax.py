"""Calls on JAX's arrays in memory of a GPU. `tools/test-gpu` runs these where there is one; elsewhere they are skipped."""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import numpy
import pytest
from conftest import draw, error_of
from test_handed import list_calls

import recur

pytestmark = pytest.mark.skipif(jax.default_backend() != "gpu", reason="JAX finds no GPU")


def put(arrays):
    return {name: jax.numpy.asarray(array) for name, array in arrays.items()}


def on_cpu(function, arrays):
    with jax.default_device(jax.devices("cpu")[0]):
        return jax.tree.map(numpy.asarray, function(**put(arrays)))


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["as it is", "jit"])
def test_results_are_those_of_the_processor(gdn, inputs, wrap):
    function = wrap(lambda **x: gdn(**x, final=True))
    o, S = function(**put(inputs))
    want_o, want_S = gdn(**inputs, final=True)
    assert next(iter(o.devices())).platform == "gpu"
    assert error_of(o, want_o) < 2e-5 and error_of(S, want_S) < 2e-5


def test_states_and_sequences(gdn):
    given = draw(B=1, T=100)
    bounds = numpy.array([0, 30, 30, 100])
    initial = numpy.random.default_rng(5).standard_normal((3, 4, 8, 16)).astype(numpy.float32)
    o, S = gdn(**put(given), initial=jax.numpy.asarray(initial), offsets=bounds, final=True)
    want_o, want_S = gdn(**given, initial=initial, offsets=bounds, final=True)
    assert error_of(o, want_o) < 2e-5 and error_of(S, want_S) < 2e-5
    traced = jax.jit(lambda offsets: gdn(**put(given), offsets=offsets))
    for other in (bounds, numpy.array([0, 5, 64, 100])):
        assert error_of(traced(jax.numpy.asarray(other)), gdn(**given, offsets=other)) < 2e-5


def test_vmap(gdn, inputs):
    given = put({name: numpy.stack([array, array[::-1]]) for name, array in inputs.items()})
    mapped = jax.jit(jax.vmap(lambda x: gdn(**x)))(given)
    want = numpy.stack([gdn(**{name: numpy.asarray(array[i]) for name, array in given.items()}) for i in range(2)])
    assert error_of(mapped, want) < 2e-5


def test_the_processor_beside(gdn, inputs):
    """JAX has the processor too: where arrays are there, so is the call."""
    o = on_cpu(gdn, inputs)
    assert error_of(o, gdn(**inputs)) < 1e-6


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["as it is", "jit"])
@pytest.mark.parametrize("bounds", [None, [0, 30, 30, 70]], ids=["batch", "packed"])
def test_gradients_are_those_of_the_processor(gdn, wrap, bounds):
    given = draw(B=2 if bounds is None else 1)
    offsets = None if bounds is None else numpy.array(bounds)
    state = numpy.random.default_rng(5).standard_normal((2 if bounds is None else 3, 4, 8, 16)).astype(numpy.float32)

    def loss(arrays):
        o, S = gdn(**{name: array for name, array in arrays.items() if name != "S"}, initial=arrays["S"], offsets=offsets, final=True)
        return (o**2).sum() + S.sum()

    derive = wrap(jax.grad(loss))
    arrays = put({**given, "S": state})
    got, again = derive(arrays), derive(arrays)
    with jax.default_device(jax.devices("cpu")[0]):
        want = jax.grad(loss)(put({**given, "S": state}))
    for name, gradient in want.items():
        assert error_of(got[name], gradient) < 1e-4, name
        assert numpy.array_equal(got[name], again[name]), name


def test_a_gradient_under_vmap(gdn, inputs):
    given = put({name: numpy.stack([array, array[::-1]]) for name, array in inputs.items()})
    derive = jax.grad(lambda x: (gdn(**x) ** 2).sum())
    mapped = jax.jit(jax.vmap(derive))(given)
    for i in range(2):
        for name, gradient in derive({name: array[i] for name, array in given.items()}).items():
            assert error_of(mapped[name][i], gradient) < 1e-5, name


def draw_mixed(**sizes):
    """bfloat16 data beside float32 gates."""
    given = put(draw(T=200, K=64, V=64, **sizes))
    return {name: x if name in ("g", "beta") else x.astype("bfloat16") for name, x in given.items()}


def list_intervals(function, *given):
    """Of the custom calls that a program makes, how many tokens are between the states that are handed over."""
    return [int(dict(call.params["attributes"])["kept_interval"]) for call in list_calls(jax.make_jaxpr(function)(*given).jaxpr)]


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["as it is", "jit"])
@pytest.mark.parametrize("bounds", [None, [0, 30, 30, 127, 200]], ids=["batch", "packed"])
def test_states_are_handed_over(wrap, bounds):
    """With and without, gradients are as near to those of float32, and the same call gives the same bits."""
    gdn = recur.library.gated_delta_net
    given, offsets = draw_mixed(B=2 if bounds is None else 1), None if bounds is None else numpy.array(bounds)
    derive = lambda kept_bytes: wrap(jax.grad(lambda x: (gdn(**x, offsets=offsets, kept_bytes=kept_bytes).astype("float32") ** 2).sum()))
    chunk, again = list_intervals(derive(None), given)
    assert chunk == again > 0 and list_intervals(derive(0), given) == [0, 0]
    handing, same, computing = derive(None)(given), derive(None)(given), derive(0)(given)
    wide = derive(None)({name: x.astype("float32") for name, x in given.items()})
    for name, want in wide.items():
        assert numpy.array_equal(handing[name], same[name]), name
        for got in (handing, computing):
            assert error_of(got[name].astype("float32"), want) < 6e-3, name


def test_states_are_handed_over_under_vmap():
    given = {name: jax.numpy.stack([x, x[::-1]]) for name, x in draw_mixed(B=2).items()}
    derive = jax.grad(lambda x: (recur.library.gated_delta_net(**x).astype("float32") ** 2).sum())
    mapped = jax.jit(jax.vmap(derive))
    assert all(list_intervals(mapped, given))
    found = mapped(given)
    for i in range(2):
        for name, gradient in derive({name: x[i] for name, x in given.items()}).items():
            assert numpy.array_equal(found[name][i], gradient), name
