"""States that do not start as zero: where no initial state is given, and what goes through them to gradients."""

import numpy
import pytest
from conftest import FLOAT, error_of

import recur

TEXT = """
recurrence memory {
  dim K, V
  input q: [K], k: [K], v: [V], beta
  param W: [V, K], d: [K]
  state S: [V, K] at start W, P: [K] at start 2 * d
  S = 0.9 * S + sigmoid(beta) * outer(v - S @ l2norm(k), l2norm(k))
  P = 0.5 * P + k
  output o: [V] = S @ q + dot(P, q)
}
"""
B, T, H, K, V = 2, 19, 3, 4, 5


@pytest.fixture(scope="module")
def memory():
    return recur.define(TEXT)


def draw_given():
    shapes = {"q": (B, T, H, K), "k": (B, T, H, K), "v": (B, T, H, V), "beta": (B, T, H), "W": (H, V, K), "d": (H, K)}
    random = numpy.random.default_rng(7)
    return {name: random.standard_normal(shape).astype(FLOAT) for name, shape in shapes.items()}


@pytest.fixture
def given():
    return draw_given()


def starts(given):
    repeat = lambda array: numpy.ascontiguousarray(numpy.broadcast_to(array, (B, *array.shape)))
    return {"S": repeat(given["W"]), "P": repeat(2 * given["d"])}


def test_states_start_by_themselves(memory, given):
    want, states = memory(**given, initial=starts(given), final=True)
    o, finals = memory(**given, final=True)
    assert error_of(o, want) < 1e-6
    for name, state in states.items():
        assert error_of(finals[name], state) < 1e-6


def test_what_is_left_out_starts_by_itself(memory, given):
    want = memory(**given, initial=starts(given))
    assert error_of(memory(**given, initial={"S": starts(given)["S"]}), want) < 1e-6
    assert error_of(memory(**given, initial={"P": starts(given)["P"]}), want) < 1e-6
    assert error_of(memory(**given, initial={"S": 0 * starts(given)["S"]}), want) > 1e-2


def test_each_packed_sequence_starts(memory, given):
    packed = {n: a if n in ("W", "d") else a.reshape(1, B * T, *a.shape[2:]) for n, a in given.items()}
    want = memory(**given).reshape(1, B * T, H, V)
    assert error_of(memory(**packed, offsets=numpy.array([0, T, 2 * T])), want) < 1e-6


def test_no_tokens(memory, given):
    none = {n: a if n in ("W", "d") else a[:, :0] for n, a in given.items()}
    o, finals = memory(**none, final=True)
    assert o.shape == (B, 0, H, V)
    for name, state in starts(given).items():
        assert numpy.array_equal(finals[name], state)


def test_params_are_trained_through_them(memory, given):
    torch = pytest.importorskip("torch")
    tensors = {n: torch.tensor(a, requires_grad=True) for n, a in given.items()}
    memory(**tensors).square().sum().backward()
    others = {n: torch.tensor(a, requires_grad=True) for n, a in given.items()}
    initial = {"S": others["W"].expand(B, H, V, K).contiguous(), "P": (2 * others["d"]).expand(B, H, K).contiguous()}
    memory(**others, initial=initial).square().sum().backward()
    for name, tensor in tensors.items():
        assert error_of(tensor.grad.numpy(), others[name].grad.numpy()) < 1e-5, name
    only = {n: torch.tensor(a, requires_grad=n == "W") for n, a in given.items()}
    memory(**only).square().sum().backward()
    assert error_of(only["W"].grad.numpy(), tensors["W"].grad.numpy()) < 1e-6


def test_jax(memory, given):
    jax = pytest.importorskip("jax")
    arrays = {n: jax.numpy.asarray(a) for n, a in given.items()}
    assert error_of(numpy.asarray(memory(**arrays)), memory(**given)) < 1e-6
    loss = lambda W, initial: (memory(**{**arrays, "W": W}, initial=initial) ** 2).sum()
    repeated = lambda W: loss(W, {"S": jax.numpy.broadcast_to(W, (B, H, V, K)), "P": starts(given)["P"]})
    ours = jax.grad(lambda W: loss(W, None))(arrays["W"])
    assert error_of(numpy.asarray(ours), numpy.asarray(jax.grad(repeated)(arrays["W"]))) < 1e-5
    with pytest.raises(recur.ArgumentError, match="'P' does not start as zero"):
        memory(**arrays, initial={"S": starts(given)["S"]})
