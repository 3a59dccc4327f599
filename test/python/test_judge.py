"""The judge finds kernels right that are right, and finds what is wrong with others."""

import numpy
import pytest

import recur

gdn = recur.library.gated_delta_net
SMALL = {"K": 4, "V": 3}


def step(xp, S, q, k, v, g, beta):
    S = xp.exp(g)[..., None, None] * S
    error = v - (S @ k[..., None])[..., 0]
    S = S + (beta[..., None] * error)[..., None] * k[..., None, :]
    return S, (S @ q[..., None])[..., 0] / 2  # of a K of four


def by_numpy(q, k, v, g, beta, initial=None, final=False, offsets=None):
    """Gated DeltaNet, token by token."""
    B, T, H, V = v.shape
    q, k = (numpy.repeat(x, H // x.shape[2], 2) for x in (q, k))
    ends = [0, T] if offsets is None else list(offsets)
    o, states = numpy.zeros(v.shape, numpy.float32), []
    for sequence, (begin, end) in enumerate(zip(ends, ends[1:])):
        S = numpy.zeros((B, H, V, 4), numpy.float32) if initial is None else initial if offsets is None else initial[sequence : sequence + 1]
        for t in range(begin, end):
            S, o[:, t] = step(numpy, S, *(x[:, t] for x in (q, k, v, g, beta)))
        states.append(S)
    return (o, numpy.concatenate(states)) if final else o


def spoil(**how):
    """The same with something wrong."""

    def spoilt(q, k, v, g, beta, initial=None, final=False, offsets=None):
        if how.get("ignores_initial"):
            initial = None
        if how.get("leaks") and offsets is not None:
            offsets = numpy.array([0, *([v.shape[1]] * (len(offsets) - 1))])  # all tokens are one sequence's
        o, S = by_numpy(q, k, v, g, beta, initial, True, offsets)
        if how.get("late"):
            o[:, 64:] *= 1.001
        if how.get("nan") and v.shape[1] == 63:
            o[:, 7] = numpy.nan
        if how.get("shape"):
            o = o[..., :1]
        if how.get("raises") and v.shape[1] > 64:
            raise ValueError("too many tokens\nfor it")
        if how.get("wants_tokens") and v.shape[1] == 0:
            raise ValueError("no tokens\nat all")
        if how.get("state"):
            S = S + 1e-3
        return (o, S) if final else o

    return spoilt


def test_a_right_function():
    found = recur.judge(gdn, by_numpy, sizes=SMALL)
    assert found and {row.array for row in found.rows} == {"o", "final S"} and {row.data for row in found.rows} == {"tame", "hard"}
    assert all(0 < row.error < 1e-6 for row in found.rows)
    lines = str(found).splitlines()
    assert lines[0] == "gated_delta_net: K = 4, V = 3; T = 0, 1, 5, 63, 64, 65, 200, and packed; numpy, float32, seed 0"
    assert lines[-1] == "  not compared: gradients: NumPy has none" and lines[2].endswith("1.0e-05  pass")
    assert "<table>" in found._repr_html_()


@pytest.mark.parametrize(
    "how, arrays, where",
    [
        ("late", {"o"}, "K = 4, V = 3, T = 65"),
        ("nan", {"o"}, "K = 4, V = 3, T = 63"),
        ("shape", {"o"}, "K = 4, V = 3, T = 0"),
        ("state", {"final S"}, "K = 4, V = 3, T = 0"),
        ("ignores_initial", {"o", "final S"}, None),
        ("leaks", {"o", "final S"}, "K = 4, V = 3, sequences of 64, 0, 1, 65 tokens"),
        ("raises", {"the call"}, "K = 4, V = 3, T = 65: ValueError: too many tokens"),
    ],
)
def test_a_wrong_function(how, arrays, where):
    found = recur.judge(gdn, spoil(**{how: True}), sizes=SMALL)
    failed = [row for row in found.rows if not row.passes]
    assert not found and {row.array for row in failed} == arrays
    assert f"FAIL at {failed[0].where}" in str(found)
    if where:
        assert {row.where for row in failed if row.array == failed[0].array} == {where}


def test_a_function_that_needs_tokens():
    found = recur.judge(gdn, spoil(wants_tokens=True), sizes=SMALL)
    refused = [row for row in found.rows if row.refuses]
    assert found and {row.array for row in found.rows if not row.passes} == {"a call without tokens"}
    assert [row.where for row in refused] == ["K = 4, V = 3, T = 0: ValueError: no tokens"] * 2
    assert "refused at K = 4, V = 3, T = 0: ValueError: no tokens" in str(found) and "FAIL" not in str(found)
    late = recur.judge(gdn, spoil(wants_tokens=True, late=True), sizes=SMALL)
    assert not late and {row.array for row in late.rows if not row.passes and not row.refuses} == {"o"}


def test_jax():
    jax = pytest.importorskip("jax")

    @jax.jit  # so that tame and hard data of a length are compiled for once
    def by_jax(q, k, v, g, beta):
        H = v.shape[2]
        q, k = (jax.numpy.repeat(x, H // x.shape[2], 2) for x in (q, k))
        turned = [jax.numpy.moveaxis(x, 1, 0) for x in (q, k, v, g, beta)]
        S, o = jax.lax.scan(lambda S, x: step(jax.numpy, S, *x), jax.numpy.zeros((*v.shape[:1], H, v.shape[3], 4)), tuple(turned))
        return jax.numpy.moveaxis(o, 0, 1)

    found = recur.judge(gdn, by_jax, sizes=SMALL)
    assert found, found
    assert {row.array for row in found.rows} == {"o", *(f"gradient {name}" for name in ("q", "k", "v", "g", "beta"))}
    assert "not compared: packed sequences: the function has no argument 'offsets'" in str(found)
    stopped = recur.judge(gdn, jax.jit(lambda q, k, v, g, beta: by_jax(q, k, v, jax.lax.stop_gradient(g), beta)), sizes=SMALL, library="jax")
    assert {row.array for row in stopped.rows if not row.passes} == {"gradient g"}


def test_pytorch():
    torch = pytest.importorskip("torch")

    def by_torch(q, k, v, g, beta):
        H = v.shape[2]
        q, k = (x.repeat_interleave(H // x.shape[2], 2) for x in (q, k))
        S, outputs = torch.zeros(*v.shape[:1], H, v.shape[3], 4), []
        for t in range(v.shape[1]):
            S, o = step(torch, S, *(x[:, t] for x in (q, k, v, g, beta)))
            outputs.append(o)
        return torch.stack(outputs, 1) if outputs else v * 0

    assert recur.judge(gdn, by_torch, sizes=SMALL)
    wrong = recur.judge(gdn, lambda q, k, v, g, beta: by_torch(q, k, v, g, beta.detach()), sizes=SMALL, library="torch")
    assert {row.array for row in wrong.rows if not row.passes} == {"gradient beta"}


@pytest.mark.parametrize("name", ["mamba2", "rwkv7", "short_start", "learnt"])
def test_the_packages_own(name):
    """With params, with several states, with delays and with states that start by themselves."""
    texts = {
        "short_start": "recurrence short_start {\n dim K\n input x: [K]\n state s: [K]\n s = 0.5 * s + x + delay(x, 1)\n output o = s\n}",
        "learnt": "recurrence learnt {\n dim K\n input x: [K]\n param w: [K]\n state s: [K] at start w\n s = 0.5 * s + w * x\n output o = s\n}",
    }
    recurrence = recur.define(texts[name]) if name in texts else getattr(recur.library, name)
    pytest.importorskip("jax")
    dims = dict(zip((dim for dim, size in recurrence.declaration.dims.items() if size is None), (4, 3, 2, 5)))
    found = recur.judge(recurrence, recurrence.with_options(quick=True), sizes=dims, library="jax")
    assert found, found
    assert any(row.array.startswith("gradient") for row in found.rows)


def test_sixteen_bits():
    pytest.importorskip("ml_dtypes")
    found = recur.judge(gdn, gdn.with_options(quick=True), sizes=SMALL, dtype="bfloat16")
    assert found and {row.limit >= 4e-3 for row in found.rows} == {True}
    assert not recur.judge(gdn, gdn.with_options(quick=True), sizes=SMALL, dtype="bfloat16", limit=1e-7)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: recur.judge("gdn", by_numpy), "judge: a function is held against a recurrence with its text, not against 'gdn'"),
        (lambda: recur.judge(gdn, 5), "judge: 5 is no function"),
        (lambda: recur.judge(gdn, by_numpy, library="cupy"), "judge: library is 'numpy', 'torch' or 'jax', not 'cupy'"),
        (lambda: recur.judge(gdn, by_numpy, sizes={"K": 4}), "gated_delta_net: sizes has none for the dim 'V'"),
        (lambda: recur.judge(gdn, by_numpy, sizes={"N": 4}), "gated_delta_net: there is no dim 'N'; there are K, V"),
        (lambda: recur.judge(gdn, by_numpy, dtype="float64"), "gated_delta_net: there are no kernels for float64, only for float32, bfloat16, float16"),
        (lambda: recur.judge(gdn, by_numpy, seed="1"), "gated_delta_net: seed is a whole number, not '1'"),
        (lambda: recur.judge(recur.define("recurrence z { complex input x state s s = s + re(x) output o = s }"), by_numpy), "z: functions of complex arrays are not judged"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(recur.ArgumentError) as raised:
        call()
    assert str(raised.value) == message
