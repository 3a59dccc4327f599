"""Complex values: one complex array to the caller, two real ones to the kernel."""

import inspect

import numpy
import pytest
from conftest import FLOAT, error_of

import recur

LRU = """
recurrence turning {
  dim N, P
  input x: [P], t: [N]
  complex input u: [N]
  param nu: [N]
  complex param B: [N, P], C: [P, N]
  complex state h: [N] at start complex(0.5, 0.25)
  state m: [P]
  h = exp(-exp(nu)) * cis(t) * h + B @ x + u
  m = 0.9 * m + re(C @ h)
  output y: [P] = re(C @ h) + m
  complex output z: [N] = conj(h) * u
}
"""
B, T, H, N, P = 2, 70, 2, 6, 4
LARGE = {"N": N, "P": P}


@pytest.fixture(scope="module")
def turning():
    return recur.define(LRU)


@pytest.fixture(scope="module")
def given():
    random = numpy.random.default_rng(3)

    def normal(*shape):
        return random.standard_normal(shape).astype(FLOAT)

    def complex_normal(*shape):
        return (normal(*shape) + 1j * normal(*shape)).astype(numpy.complex64)

    return {
        "x": normal(B, T, H, P), "t": normal(B, T, H, N), "u": complex_normal(B, T, H, N), "nu": normal(H, N),
        "B": complex_normal(H, N, P), "C": complex_normal(H, P, N),
    }  # fmt: skip


def compute(x, t, u, nu, B, C, h=None, m=None):
    """What the text says, token by token, in complex128."""
    h = numpy.full((x.shape[0], x.shape[2], N), 0.5 + 0.25j) if h is None else h
    m = numpy.zeros((x.shape[0], x.shape[2], P)) if m is None else m
    ys, zs = [], []
    for token in range(x.shape[1]):
        h = numpy.exp(-numpy.exp(nu)) * numpy.exp(1j * t[:, token]) * h + numpy.einsum("hnp,bhp->bhn", B, x[:, token]) + u[:, token]
        read = numpy.einsum("hpn,bhn->bhp", C, h).real
        m = 0.9 * m + read
        ys.append(read + m)
        zs.append(numpy.conj(h) * u[:, token])
    return numpy.stack(ys, 1), numpy.stack(zs, 1), h, m


def close(got, want):
    assert got.shape == want.shape
    whole = lambda array: numpy.stack([numpy.real(array), numpy.imag(array)])
    return error_of(whole(numpy.asarray(got)), whole(want)) < 1e-5


def test_numpy(turning, given):
    y, z, states = turning(**given, final=True)
    want = compute(**given)
    assert y.dtype == FLOAT and z.dtype == numpy.complex64 and states["h"].dtype == numpy.complex64
    assert list(states) == ["h", "m"]
    assert all(map(close, [y, z, states["h"], states["m"]], want))
    by_place = turning(*given.values())
    assert numpy.array_equal(by_place[1], z)
    parts = {"u_re": given["u"].real, "u_im": given["u"].imag}
    rest = {name: array for name, array in given.items() if name != "u"}
    assert numpy.array_equal(turning(**rest, **parts)[1], z)


def test_states_go_on(turning, given):
    first = {name: array[:, :40] if name in "xtu" else array for name, array in given.items()}
    second = {name: array[:, 40:] if name in "xtu" else array for name, array in given.items()}
    *_, states = turning(**first, final=True)
    y, z, last = turning(**second, initial=states, final=True)
    want = compute(**given)
    assert close(y, want[0][:, 40:]) and close(z, want[1][:, 40:]) and close(last["h"], want[2])
    h = states["h"].copy()
    turning(**second, initial={"h": h, "m": states["m"]}, final={"h": h})  # in place
    assert numpy.array_equal(h, last["h"])
    real = compute(**second, h=states["h"].real.astype(complex), m=states["m"])
    y, z = turning(**second, initial={"h": states["h"].real.copy(), "m": states["m"]})  # without an imaginary part
    assert close(z, real[1])


def test_results_are_written_where_they_belong(turning, given):
    y, z = turning(**given)
    out = numpy.zeros_like(z)
    results = turning(**given, out={"z": out})
    assert results[1] is out and numpy.array_equal(out, z) and numpy.array_equal(results[0], y)


def test_one_complex_state_is_an_array():
    turn = recur.define(
        "recurrence turn { complex input x, a complex state h h = a * h + x complex output y = h output back: scalar = abs(delay(h, 1)) }"
    )
    alone = recur.define("recurrence turn { complex input x, a complex state h h = a * h + x complex output y = h }")
    x = (numpy.arange(6) + 1j).astype(numpy.complex64).reshape(1, 6, 1)
    a = numpy.full_like(x, 0.5j)
    y, h = alone(x, a, final=True)
    assert y[0, 0, 0] == 1j and y[0, 1, 0] == 0.5 + 1j
    assert h.shape == (1, 1) and h[0, 0] == y[0, -1, 0]
    assert numpy.array_equal(alone(x[:, 3:], a[:, 3:], initial=alone(x[:, :3], a[:, :3], final=True)[1]), y[:, 3:])
    both, back, states = turn(x, a, final=True)
    assert numpy.array_equal(both, y) and set(states) == {"h", "h_re_back1", "h_im_back1"}
    rest, *_ = turn(x[:, 3:], a[:, 3:], initial=turn(x[:, :3], a[:, :3], final=True)[2])
    assert numpy.array_equal(rest, y[:, 3:])


def test_what_is_refused(turning, given):
    def refused(message, **changes):
        with pytest.raises(recur.ArgumentError, match=message):
            turning(**{**given, **changes})

    refused("the input 'u' is complex128; .* complex64", u=given["u"].astype(numpy.complex128))
    refused("the input 'x' is real, and the array is complex64", x=given["x"].astype(numpy.complex64))
    refused("'u' is given, and 'u_re', a part of it, too", u_re=given["u"].real)
    refused("there is no argument 'v'; there are x, t, u, nu, B, C", v=given["x"])
    refused("out: 'z' is complex, and the array to write it to is float32", out={"z": numpy.zeros((B, T, H, N), FLOAT)})
    refused("initial is of several .h, m.: give a mapping", initial=numpy.zeros((B, H, N), numpy.complex64))
    refused("initial names 'hh'; did you mean 'h'", initial={"hh": None})
    with pytest.raises(recur.ArgumentError, match="the input 'u' is missing"):
        turning(**{name: array for name, array in given.items() if name != "u"})
    with pytest.raises(recur.ArgumentError, match="'u_im'"):
        turning(**{name: array for name, array in given.items() if name != "u"}, u_re=given["u"].real)
    with pytest.raises(recur.ArgumentError, match="7 arrays are given, and it takes 6: x, t, u, nu, B, C"):
        turning(*given.values(), given["x"])
    with pytest.raises(recur.ArgumentError, match="as two arrays, by the names that end in _re and _im"):
        turning.bind(**given)


def test_bound(turning, given):
    split = {}
    for name, array in given.items():
        is_complex = array.dtype == numpy.complex64
        split |= {name + "_re": array.real.copy(), name + "_im": array.imag.copy()} if is_complex else {name: array}
    step = turning.bind(**split)
    y, z_re, z_im = step()
    want = turning(**given)
    assert numpy.array_equal(y, want[0]) and numpy.array_equal(z_re + 1j * z_im, want[1])


def test_it_describes_itself(turning):
    assert str(inspect.signature(turning)).startswith("(x, t, u, nu, B, C, *, initial=None")
    assert "Inputs: x: [P], t: [N], complex u: [N].\nParams: nu: [N], complex B: [N, P], complex C: [P, N]." in turning.__doc__
    assert "    u: _Array,\n" in turning.stub() and "# h, m" in turning.stub()
    assert repr(turning) == "<recurrence turning(x, t, u, nu, B, C) for host>"
    assert "complex        u, B, C, h, z" in turning.explain(**LARGE)


def test_saved(turning, given, tmp_path):
    recur.save(turning, str(tmp_path / "turning.so"), **LARGE)
    saved = recur.load(str(tmp_path / "turning.so"))
    assert all(map(numpy.array_equal, saved(**given), turning(**given)))


def derive_by_differences(function, array, direction, step=1e-5):
    return (function(array + step * direction) - function(array - step * direction)) / (2 * step)


def find_directions(given):
    """Of every array, and for the complex ones of both parts."""
    random = numpy.random.default_rng(5)
    for name, array in given.items():
        real = random.standard_normal(array.shape)
        yield name, real
        if array.dtype == numpy.complex64:
            yield name, 1j * real


def judge_gradients(given, weights, gradients, conjugated):
    """`gradients`: dL/dre + i dL/dim, or its conjugate, which is what JAX gives."""
    exact = {name: array.astype(numpy.complex128 if array.dtype == numpy.complex64 else numpy.float64) for name, array in given.items()}

    def loss(**arrays):
        y, z, h, m = compute(**arrays)
        return (y * weights[0]).sum() + (z * numpy.conj(weights[1])).real.sum() + (h * numpy.conj(weights[2])).real.sum()

    for name, direction in find_directions(given):
        want = derive_by_differences(lambda array: loss(**{**exact, name: array}), exact[name], direction)
        gradient = numpy.asarray(gradients[name]).astype(complex)
        got = ((gradient if conjugated else numpy.conj(gradient)) * direction).real.sum()
        assert abs(got - want) < 2e-4 * max(1, abs(want)), name


@pytest.fixture(scope="module")
def weights():
    random = numpy.random.default_rng(7)
    shapes = (B, T, H, P), (B, T, H, N), (B, H, N)
    real, *parts = [random.standard_normal(shape) for shape in shapes]
    return [real.astype(FLOAT), *[(part + 1j * random.standard_normal(part.shape)).astype(numpy.complex64) for part in parts]]


def test_jax(turning, given, weights):
    jax = pytest.importorskip("jax")
    if recur._native.jax_call is None:
        pytest.skip("recur was built without JAX")
    jax.config.update("jax_platforms", "cpu")
    jnp = jax.numpy
    arrays = {name: jnp.asarray(array) for name, array in given.items()}
    y, z, states = jax.jit(lambda arrays: turning(**arrays, final=True))(arrays)
    want = turning(**given, final=True)
    assert isinstance(z, jax.Array) and numpy.array_equal(z, want[1]) and numpy.array_equal(states["h"], want[2]["h"])
    again, _ = turning(**arrays, initial=states)
    assert again.shape == y.shape

    def loss(arrays):
        y, z, states = turning(**arrays, final=True)
        return (y * weights[0]).sum() + (z * weights[1].conj()).real.sum() + (states["h"] * weights[2].conj()).real.sum()

    judge_gradients(given, weights, jax.grad(loss)(arrays), conjugated=True)
    mapped = jax.vmap(lambda u: turning(**{**arrays, "u": u})[1])(jnp.stack([arrays["u"], 2 * arrays["u"]]))
    assert numpy.allclose(mapped[0], z, atol=1e-5)
    with pytest.raises(recur.ArgumentError, match="the param 'B' is complex128|there is no"):
        turning(**{**arrays, "B": given["B"].astype(numpy.complex128), "unknown": 1})


def test_torch(turning, given, weights):
    torch = pytest.importorskip("torch")
    arrays = {name: torch.from_numpy(array.copy()).requires_grad_() for name, array in given.items()}
    want = turning(**given, final=True)

    def compute_all(arrays):
        y, z, states = turning(**arrays, final=True)
        return y, z, states["h"]

    results = compute_all(arrays)
    assert results[1].dtype == torch.complex64
    wanted = [*want[:2], want[2]["h"]]
    for got, array in zip(results, wanted):  # in the gradient's chunks
        assert numpy.abs(got.detach().numpy() - array).max() < 1e-5 * numpy.abs(array).max()
    with torch.no_grad():
        plain = compute_all(arrays)
        assert all(numpy.array_equal(got.numpy(), array) for got, array in zip(plain, wanted))
        out = torch.empty_like(plain[1])
        assert turning(**arrays, out={"z": out})[1] is out and torch.equal(out, plain[1])
        assert torch.equal(turning(**{**arrays, "u": arrays["u"].conj().resolve_conj()})[1], turning(**{**arrays, "u": arrays["u"].conj()})[1])
    gradients = torch.autograd.grad(results, list(arrays.values()), [torch.from_numpy(weight) for weight in weights])
    judge_gradients(given, weights, dict(zip(given, (gradient.numpy() for gradient in gradients))), conjugated=False)
    torch._dynamo.reset()
    compiled = torch.compile(compute_all, fullgraph=True, backend="aot_eager")(arrays)
    assert all(map(torch.equal, compiled, results))
    module = recur.torch.Module(turning, H, LARGE, B=arrays["B"].detach())
    assert {name: parameter.dtype for name, parameter in module.named_parameters()} == {
        "nu": torch.float32, "B": torch.complex64, "C": torch.complex64
    }  # fmt: skip
    y, z = module(*[arrays[name].detach() for name in "xtu"])
    z.abs().sum().backward()
    assert module.B.grad.dtype == torch.complex64 and module.B.grad.abs().sum() > 0
