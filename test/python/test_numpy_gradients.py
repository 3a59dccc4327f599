"""Gradients by NumPy's arrays alone, against those that JAX asks for and against differences."""

import numpy
import pytest
from conftest import FLOAT, draw, error_of

import recur


def draw_like(array, seed=7):
    return numpy.random.default_rng(seed).standard_normal(array.shape).astype(FLOAT)


def test_differences(gdn, inputs):
    """Of the outputs and the final state, by one array after another."""
    S0 = draw_like(numpy.empty((2, 4, 8, 16))) / 4
    o, S = gdn(**inputs, initial=S0, final=True)
    weights, of_state = draw_like(o), draw_like(S, 8)
    found = gdn.gradient(**inputs, initial=S0, cotangents=weights, final_cotangents=of_state)
    assert list(found) == [*inputs, "S"]

    def loss(given, state):
        o, S = gdn(**given, initial=state, final=True)
        return (o.astype(float) * weights).sum() + (S.astype(float) * of_state).sum()

    for name, gradient in found.items():
        array = S0 if name == "S" else inputs[name]
        assert gradient.shape == array.shape and gradient.dtype == array.dtype
        step = 2.0**-8 * draw_like(array, 9)

        def moved(sign):
            changed = array + sign * step
            return loss(inputs, changed) if name == "S" else loss({**inputs, name: changed}, S0)

        along = (moved(1) - moved(-1)) / 2
        assert abs(along - (gradient.astype(float) * step).sum()) < 2e-3 * max(abs(along), 1), name


def test_the_same_as_under_jax(gdn, inputs):
    jax = pytest.importorskip("jax")
    if recur._native.jax_call is None:
        pytest.skip("recur was built without JAX")
    given = {name: jax.numpy.asarray(array) for name, array in inputs.items()}
    o, pull = jax.vjp(lambda given: gdn(**given), given)
    weights = draw_like(o)
    (want,) = pull(jax.numpy.asarray(weights))
    found = gdn.gradient(**inputs, cotangents=weights)
    assert {name: error_of(gradient, want[name]) for name, gradient in found.items()} == dict.fromkeys(inputs, 0)


def test_packed_sequences_are_apart(gdn):
    given = draw(B=1, T=70)
    weights, S0 = draw_like(given["v"]), draw_like(numpy.empty((3, 4, 8, 16)))
    offsets = [0, 40, 40, 70]
    found = gdn.gradient(**given, cotangents={"o": weights}, initial={"S": S0}, offsets=numpy.array(offsets))
    for number, (begin, end) in enumerate(zip(offsets, offsets[1:])):
        part = {name: array[:, begin:end] for name, array in given.items()}
        alone = gdn.gradient(**part, cotangents=weights[:, begin:end], initial=S0[number : number + 1])
        for name in given:
            assert numpy.array_equal(found[name][:, begin:end], alone[name]), name
        assert numpy.array_equal(found["S"][number], alone["S"][0])


def test_what_is_wanted_alone(gdn, inputs):
    weights = draw_like(inputs["v"])
    every = gdn.gradient(**inputs, cotangents=weights)
    assert list(gdn.gradient(*inputs.values(), cotangents=weights, wanted="v")) == ["v"]
    some = gdn.gradient(*inputs.values(), cotangents=weights, wanted=["g", "v"])
    assert list(some) == ["g", "v"] and all(error_of(some[name], every[name]) < 1e-6 for name in some)


def test_16_bits(gdn, inputs):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    weights = draw_like(inputs["v"])
    every = gdn.gradient(**inputs, cotangents=weights)
    narrow = {name: inputs[name].astype(ml_dtypes.bfloat16) for name in "qkv"}
    found = gdn.gradient(**{**inputs, **narrow}, cotangents=weights.astype(ml_dtypes.bfloat16))
    assert found["k"].dtype == ml_dtypes.bfloat16 and found["g"].dtype == FLOAT
    assert all(error_of(found[name].astype(FLOAT), every[name]) < 2e-2 for name in every)


def test_params_and_states_of_delays():
    recurrence = recur.define("""recurrence f {
      dim K, W = 3
      input x: [K]
      param w: [W, K]
      state s: [K]
      s = 0.5 * s + conv(x, w)
      output o = s
    }""")
    x, w = draw_like(numpy.empty((1, 9, 2, 4))), draw_like(numpy.empty((2, 3, 4)), 8)
    weights = draw_like(x, 10)
    _, states = recurrence(x, w, final=True)
    states = {name: draw_like(state, 11) for name, state in states.items()}
    found = recurrence.gradient(x, w, cotangents=weights, initial=states)
    assert set(found) == {"x", "w", *states} and len(states) == 3
    for name in ("w", "x_back2"):
        step = 2.0**-8 * draw_like(found[name], 12)

        def loss(sign):
            given = {"x": x, "w": w + sign * step if name == "w" else w}
            initial = {**states, name: states[name] + sign * step} if name in states else states
            return (recurrence(**given, initial=initial).astype(float) * weights).sum()

        along = (loss(1) - loss(-1)) / 2
        assert abs(along - (found[name].astype(float) * step).sum()) < 2e-3 * max(abs(along), 1), name


def test_parts_of_complex_values():
    """A complex value goes in and has its gradient as two real ones; one that is given whole is refused."""
    recurrence = recur.define("""recurrence f {
      dim K
      complex input u: [K]
      param nu: [K]
      complex state h: [K]
      h = exp(-exp(nu)) * cis(0.5) * h + u
      complex output z: [K] = h * u
    }""")
    re, im, nu = (draw_like(numpy.empty((1, 9, 2, 4)), 1), draw_like(numpy.empty((1, 9, 2, 4)), 2), draw_like(numpy.empty((2, 4)), 3))
    given = {"u_re": re, "u_im": im, "nu": nu}
    weights = {"z_re": draw_like(re, 4), "z_im": draw_like(re, 5)}
    found = recurrence.gradient(**given, cotangents=weights)
    assert set(found) == set(given)

    def loss(given):
        z = recurrence(**given)
        return (z.real.astype(float) * weights["z_re"] + z.imag.astype(float) * weights["z_im"]).sum()

    for name, gradient in found.items():
        step = 2.0**-8 * draw_like(gradient, 9)
        along = (loss({**given, name: given[name] + step}) - loss({**given, name: given[name] - step})) / 2
        assert abs(along - (gradient.astype(float) * step).sum()) < 2e-3 * max(abs(along), 1), name
    with pytest.raises(recur.ArgumentError, match="f: gradient takes the parts of a complex value as two arrays, by the names that end in _re and _im"):
        recurrence.gradient(u=re + 1j * im, nu=nu, cotangents=weights)


MISTAKES = [
    (lambda f, d: f.gradient(**d), "gradient needs the loss's derivatives by outputs (cotangents=) or by final states (final_cotangents=)"),
    (lambda f, d: f.gradient(**d, cotangents={"y": d["v"]}), "cotangents names 'y', which is none of o"),
    (lambda f, d: f.gradient(**d, cotangents=d["v"], wanted=["V"]), "wanted names 'V', which is no input, param or initial state of the call; did you mean 'v'?"),
    (lambda f, d: f.gradient(**d, cotangents=d["v"], wanted=["S"]), "wanted names 'S', which is no input, param or initial state of the call: give it by initial="),
    (lambda f, d: f.gradient(d["q"], cotangents=d["v"]), "the input 'k' is missing"),
]


@pytest.mark.parametrize("mistake, message", MISTAKES, ids=range(len(MISTAKES)))
def test_messages(gdn, inputs, mistake, message):
    with pytest.raises(recur.ArgumentError) as raised:
        mistake(gdn, inputs)
    assert str(raised.value) == f"gated_delta_net: {message}"


def test_cotangents_of_another_shape(gdn, inputs):
    with pytest.raises(recur.ArgumentError, match=r"the cotangent of 'o' has the shape \[2, 70, 2, 16\]; it will be \[2, 70, 4, 8\]"):
        gdn.gradient(**inputs, cotangents=inputs["q"])


def test_arrays_of_other_libraries(gdn, inputs):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    with pytest.raises(recur.ArgumentError, match=r"of PyTorch's tensors backward\(\)"):
        gdn.gradient(**{name: torch.from_numpy(array) for name, array in inputs.items()}, cotangents=inputs["v"])
