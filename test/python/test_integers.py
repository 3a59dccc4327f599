"""Inputs of integers: int32 arrays, of which nothing is a derivative."""

import numpy
import pytest
from conftest import FLOAT

import recur

TEXT = """
recurrence documents {
  dim K, V
  int input document, position: [K]
  input q: [K], k: [K], v: [V], g
  state S: [V, K]
  restart document == 1
  S = exp(g) * S + outer(v, k * cos(0.5 * position))
  output o: [V] = where(mod(document, 2) == 0, S @ q, 0.5 * (S @ q))
}
"""
B, T, H, K, V = 2, 70, 2, 6, 4


@pytest.fixture(scope="module")
def documents():
    return recur.define(TEXT)


@pytest.fixture(scope="module")
def given():
    random = numpy.random.default_rng(5)
    return {
        "document": random.integers(0, 8, (B, T, H)).astype(numpy.int32),
        "position": random.integers(-3, 2000, (B, T, H, K)).astype(numpy.int32),
        "q": random.standard_normal((B, T, H, K)).astype(FLOAT),
        "k": random.standard_normal((B, T, H, K)).astype(FLOAT),
        "v": random.standard_normal((B, T, H, V)).astype(FLOAT),
        "g": -random.random((B, T, H)).astype(FLOAT),
    }


def compute(document, position, q, k, v, g):
    """What the text says, token by token, in float64."""
    S, rows = numpy.zeros((B, H, V, K)), []
    for t in range(T):
        S = numpy.where((document[:, t] == 1)[..., None, None], 0, S)
        key = k[:, t].astype(float) * numpy.cos(0.5 * position[:, t])
        S = numpy.exp(g[:, t].astype(float))[..., None, None] * S + v[:, t][..., :, None] * key[..., None, :]
        read = numpy.einsum("bhvk,bhk->bhv", S, q[:, t].astype(float))
        rows.append(numpy.where((document[:, t] % 2 == 0)[..., None], read, 0.5 * read))
    return numpy.stack(rows, 1)


def message_of(call):
    with pytest.raises((recur.ArgumentError, recur.TraceError)) as caught:
        call()
    return str(caught.value)


def test_a_call(documents, given):
    want = compute(**given)
    assert numpy.abs(documents(**given) - want).max() < 1e-4 * numpy.abs(want).max()
    half = {name: array.astype(numpy.float16) if array.dtype == FLOAT else array for name, array in given.items()}
    assert documents(**half).dtype == numpy.float16  # what integers are does not say what outputs are
    assert numpy.abs(documents(**half) - want).max() < 1e-2 * numpy.abs(want).max()
    assert documents.declaration.inputs[0].integer and not documents.declaration.inputs[2].integer


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda a: a.astype(numpy.int64), "has elements of int64; its integers are int32: write document.astype('int32')"),
        (lambda a: a.astype(FLOAT), "has elements of float32; its integers are int32: write document.astype('int32')"),
        (lambda a: a.tolist(), "is no array: a list"),
    ],
)
def test_other_types_are_refused(documents, given, change, message):
    assert message in message_of(lambda: documents(**{**given, "document": change(given["document"])}))


def test_numpys_gradient(documents, given):
    gradients = documents.gradient(**given, cotangents=numpy.ones((B, T, H, V), FLOAT))
    assert sorted(gradients) == ["g", "k", "q", "v"] and numpy.isfinite(gradients["g"]).all()
    step = numpy.random.default_rng(7).standard_normal((B, T, H, K)).astype(FLOAT)
    along = [compute(**{**given, "q": given["q"] + sign * 1e-3 * step}).sum() for sign in (1, -1)]
    assert float((gradients["q"] * step).sum()) == pytest.approx((along[0] - along[1]) / 2e-3, rel=1e-3)
    message = message_of(lambda: documents.gradient(**given, cotangents=numpy.ones((B, T, H, V), FLOAT), wanted=["document"]))
    assert "wanted names 'document', an input of integers, by which nothing is differentiated" in message


def test_jax(documents, given):
    jax = pytest.importorskip("jax")
    arrays = {name: jax.numpy.asarray(array) for name, array in given.items()}

    def loss(floats):
        return documents(document=arrays["document"], position=arrays["position"], **floats).sum()

    floats = {name: array for name, array in arrays.items() if array.dtype == FLOAT}
    gradients = jax.jit(jax.grad(loss))(floats)
    want = documents.gradient(**given, cotangents=numpy.ones((B, T, H, V), FLOAT))
    for name in floats:
        assert numpy.allclose(gradients[name], want[name], atol=1e-5 * numpy.abs(want[name]).max())


def test_pytorch(documents, given):
    torch = pytest.importorskip("torch")
    arrays = {name: torch.from_numpy(array).requires_grad_(array.dtype == FLOAT) for name, array in given.items()}
    documents(**arrays).sum().backward()
    want = documents.gradient(**given, cotangents=numpy.ones((B, T, H, V), FLOAT))
    for name, gradient in want.items():
        assert numpy.allclose(arrays[name].grad, gradient, atol=1e-5 * numpy.abs(gradient).max())
    assert arrays["document"].grad is None
    message = message_of(lambda: documents(**{**arrays, "document": arrays["document"].long()}))
    assert "has elements of int64; its integers are int32: write document.int()" in message


def test_written_in_python():
    @recur.recurrence
    def every_fourth(S: recur.State["V", "K"], position: recur.Input[int], k: recur.Input["K"], v: recur.Input["V"], row: recur.Const = 1):
        S = recur.where(position % 4 == 0, S + recur.outer(v, k), S)
        late = (position // 2 >= 3) * ((0 < position) * (position != 7))
        signs = recur.sign(position - 4) + recur.erf(0 * position)
        parts = 7 % (position + 1) + 10 * (7 // (position + 1))
        return S, {"o": S @ k, "column": S[:, 1], "late": recur.gelu(0 * position) + late, "signs": signs, "parts": parts, "one": S[row, 0]}

    assert "int input position" in every_fourth.text and "S[:, 1]" in every_fourth.text and "S[row][0]" in every_fourth.text
    k, v = numpy.ones((1, 9, 1, 3), FLOAT), numpy.ones((1, 9, 1, 2), FLOAT)
    o, column, late, signs, parts, one = every_fourth(numpy.arange(9, dtype=numpy.int32).reshape(1, 9, 1), k, v)
    assert o[0, :, 0, 0].tolist() == [3, 3, 3, 3, 6, 6, 6, 6, 9] and column[0, :, 0, 1].tolist() == [1, 1, 1, 1, 2, 2, 2, 2, 3]
    assert late[0, :, 0].tolist() == [0, 0, 0, 0, 0, 0, 1, 0, 1] and signs[0, :, 0].tolist() == [-1] * 4 + [0] + [1] * 4
    assert one[0, :, 0].tolist() == column[0, :, 0, 1].tolist()
    assert parts[0, :, 0].tolist() == [7 % n + 10 * (7 // n) for n in range(1, 10)]
    assert "only inputs are integers: leave int out of recur.State[...]" in message_of(lambda: recur.State[int])


def test_the_judge(documents):
    torch = pytest.importorskip("torch")

    def by_hand(document, position, q, k, v, g):
        S, rows = torch.zeros(*v.shape[:1], *v.shape[2:], k.shape[-1]), []
        for t in range(v.shape[1]):
            S = S * (document[:, t] != 1)[..., None, None]
            key = k[:, t] * torch.cos(0.5 * position[:, t])
            S = torch.exp(g[:, t])[..., None, None] * S + v[:, t, :, :, None] * key[:, :, None, :]
            read = (S @ q[:, t, :, :, None])[..., 0]
            rows.append(torch.where((document[:, t] % 2 == 0)[..., None], read, 0.5 * read))
        return torch.stack(rows, 1) if rows else torch.zeros_like(v)

    found = recur.judge(documents, by_hand, sizes={"K": 4, "V": 3})
    assert found, str(found)
