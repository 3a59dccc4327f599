"""States on the way, which a call leaves for whoever goes on from there."""

import numpy
import pytest
from conftest import FLOAT, draw_layer, error_of

import recur


def take_first(arrays, tokens):
    return {name: array[:, :tokens] for name, array in arrays.items()}


@pytest.mark.parametrize("every", [1, 3, 70, 100])
def test_each_row_is_what_a_call_of_so_many_tokens_ends_with(gdn, inputs, every):
    start = gdn(**inputs, final=True)[1]
    o, rows, last = gdn.keep(**inputs, every=every, initial=start)
    want, final = gdn(**inputs, initial=start, final=True)
    assert error_of(o, want) < 1e-5 and error_of(last, final) < 1e-5
    assert rows.shape == (2, -(-70 // every), 4, 8, 16) and rows.dtype == FLOAT
    assert numpy.array_equal(rows[:, 0], start)
    for row in range(0, rows.shape[1], 7):
        before = gdn(**take_first(inputs, row * every), initial=start, final=True)[1]
        assert error_of(rows[:, row], before) < 1e-5


def test_some_of_the_tokens_that_were_tried_are_taken(gdn, inputs):
    tried = take_first(inputs, 6)
    _, rows, last = gdn.keep(**tried)
    taken = numpy.array([4, 6])  # by each sequence
    state = numpy.concatenate([rows, last[:, None]], 1)[numpy.arange(2), taken]
    for sequence, tokens in enumerate(taken):
        alone = {name: array[sequence : sequence + 1, :tokens] for name, array in inputs.items()}
        assert error_of(state[sequence : sequence + 1], gdn(**alone, final=True)[1]) < 1e-5


def test_rows_of_packed_sequences_lie_one_behind_another(gdn, inputs):
    packed = {name: array[:1] for name, array in inputs.items()}
    offsets = numpy.array([0, 5, 5, 70])
    _, rows, last = gdn.keep(**packed, every=4, offsets=offsets)
    assert rows.shape == (2 + 0 + 17, 4, 8, 16) and last.shape == (3, 4, 8, 16)
    first = gdn(**take_first(packed, 4), final=True)[1]
    assert error_of(rows[1:2], first) < 1e-5 and not rows[2].any()
    rest = {name: array[:, 5:13] for name, array in packed.items()}
    assert error_of(rows[4:5], gdn(**rest, final=True)[1]) < 1e-5


def test_several_states_and_those_of_delays_are_mappings():
    layer = recur.library.qwen3_next_layer
    given, params = draw_layer(layer, 1, 5)
    *_, rows, last = layer.keep(**given, **params)
    assert rows.keys() == last.keys() and "k_back3" in rows
    before = layer(**take_first(given, 3), **params, final=True)[-1]
    for name, state in before.items():
        assert rows[name].shape == (1, 5, *state.shape[1:])
        assert error_of(rows[name][:, 3], state) < 1e-5


def test_float32_beside_16_bits(gdn, inputs):
    half = {name: array if name == "g" else array.astype(numpy.float16) for name, array in inputs.items()}
    o, rows, _ = gdn.keep(**half)
    assert o.dtype == numpy.float16 and error_of(o, gdn(**half)) < 1e-3 and rows.dtype == FLOAT


def test_mistakes(gdn, inputs):
    for every in (0, -1, 1.0, True, None):
        with pytest.raises(recur.ArgumentError, match="gated_delta_net: every is a number of tokens, at least 1, not "):
            gdn.keep(**inputs, every=every)
    with pytest.raises(recur.ArgumentError, match="there is no argument 'final'"):
        gdn.keep(**inputs, final=True)


def test_jax_arrays_are_refused(gdn, inputs):
    jax = pytest.importorskip("jax")
    with pytest.raises(recur.ArgumentError, match="not of JAX's"):
        gdn.keep(**{name: jax.numpy.asarray(array) for name, array in inputs.items()})


def test_jax_arrays_are_refused_before_anything_is_compiled(monkeypatch):
    jax = pytest.importorskip("jax")
    shifted = recur.define("""recurrence shifted {
  dim K
  input x: [K]
  state s: [K]
  s = 0.5 * s + delay(x, 2)
  output o: [K] = s
}""")

    def refuse(*_):
        raise AssertionError("a kernel is compiled for a call that is refused")

    monkeypatch.setattr(recur.kernels, "get", refuse)
    x = jax.numpy.zeros((1, 3, 2, 4))
    with pytest.raises(recur.ArgumentError, match="not of JAX's"):
        shifted.keep(x)
    with pytest.raises(recur.ArgumentError, match="which JAX's arrays do not allow"):
        shifted(x, pool={}, state_indices=jax.numpy.zeros(1, jax.numpy.int32))


@pytest.mark.parametrize("every", [1, 4])
def test_tensors(gdn, inputs, every):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    tensors = {name: torch.tensor(array) for name, array in inputs.items()}
    offsets = numpy.array([0, 30, 70])
    for packed in (False, True):
        given = {name: tensor[: 1 if packed else 2] for name, tensor in tensors.items()}
        own = {"offsets": torch.tensor(offsets)} if packed else {}
        want = gdn.keep(**{name: tensor.numpy() for name, tensor in given.items()}, every=every, **({"offsets": offsets} if packed else {}))
        for got, array in zip(gdn.keep(**given, every=every, **own), want):
            assert isinstance(got, torch.Tensor) and got.shape == array.shape and error_of(got.numpy(), array) < 1e-5
    tensors["v"].requires_grad_()
    with pytest.raises(recur.ArgumentError, match="states on the way have no gradient"):
        gdn.keep(**tensors)
    with torch.no_grad():
        gdn.keep(**tensors)
    with pytest.raises(recur.ArgumentError, match="beside tensors"):
        gdn.keep(**{**tensors, "q": inputs["q"]})
