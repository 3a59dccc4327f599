"""Every mistake in a call has its message."""

import numpy
import pytest
from conftest import FLOAT, draw

import recur


class OnAnotherDevice:
    """What a GPU's array shows of itself."""

    dtype = "float32"

    def __dlpack__(self, **options):
        raise BufferError("it is on another device")

    def __dlpack_device__(self):
        return (2, 0)


def change(name, how):
    def changed(inputs):
        return {**inputs, name: how(inputs[name])}

    return changed


STATE = numpy.zeros((2, 4, 8, 16), FLOAT)
MISTAKES = [
    ("missing", lambda i: {n: a for n, a in i.items() if n != "beta"}, "the input 'beta' is missing"),
    ("None", change("k", lambda a: None), "the input 'k' is missing"),
    ("unknown", lambda i: {**i, "gamma": i["g"]}, "there is no argument 'gamma'; there are q, k, v, g, beta, initial, final, out, offsets, states_transposed, kept_bytes, group, layout, pool, state_indices, final_indices, token_indices, accepted, replayed, interval, interval_indices, positions, parents"),
    ("misspelt", lambda i: {**i, "bta": i["g"]}, "there is no argument 'bta'; did you mean 'beta'?"),
    ("list", change("q", lambda a: a.tolist()), "the input 'q' is no array: a list; write numpy.asarray(q, 'float32')"),
    ("float64", change("v", lambda a: a.astype(float)), "the input 'v' has elements of float64; there are kernels for float32, bfloat16 and float16; write v.astype('float32')"),
    ("integers", change("v", lambda a: a.astype(int)), "the input 'v' has elements of int64; there are kernels for float32, bfloat16 and float16; write v.astype('float32')"),
    ("device", change("v", lambda a: OnAnotherDevice()), "the input 'v' is no array: a float32 shows its memory neither as a buffer nor by DLPack"),
    ("rank", change("q", lambda a: a[0]), "the input 'q' has the shape [70, 2, 16]; it should be [B, T, Hq, K]"),
    ("nine sides", change("q", lambda a: a.reshape(2, 70, 2, 16, 1, 1, 1, 1, 1)), "the input 'q' has the shape of 9 sides; it should be [B, T, Hq, K]"),
    ("scalar with a side", change("g", lambda a: a[..., None]), "the input 'g' has the shape [2, 70, 4, 1]; it should be [B, T, H]"),
    ("dim", change("k", lambda a: a[..., :5]), "K is 5 in 'k', but 16 in 'q'"),
    ("tokens", change("v", lambda a: a[:, :9]), "T is 9 in 'v', but 70 in 'q'; it is [B, T, H, ...]"),
    ("sequences", change("v", lambda a: a[:1]), "B is 1 in 'v', but 2 in 'q'; it is [B, T, H, ...]"),
    ("heads", change("g", lambda a: a[:, :, :3]), "H is 3 in 'g', but 4 in 'v'; it is [B, T, H, ...]"),
    ("groups", change("k", lambda a: a[:, :, :1]), "Hq is 1 in 'k', but 2 in 'q'; it is [B, T, Hq, ...]"),
    ("groups that do not divide", lambda i: {**i, **{n: numpy.repeat(i[n], 2, 2)[:, :, :3] for n in "qk"}}, "Hq = 3 does not divide H = 4"),
    ("type of a state", lambda i: {**i, "initial": STATE.astype(float)}, "the initial state 'S' has elements of float64; there are kernels for float32, bfloat16 and float16; write S.astype('float32')"),
    ("rank of a state", lambda i: {**i, "initial": STATE[0]}, "the initial state 'S' has the shape [4, 8, 16]; it should be [B, H, V, K]"),
    ("sides of a state", lambda i: {**i, "initial": STATE.swapaxes(2, 3)}, "V is 16 in 'S', but 8 in 'v'; its last two sides seem to be swapped: states_transposed=True takes it as it lies. States of recur.fla are [K, V], those of recur.library [V, K]"),
    ("sequences of a state", lambda i: {**i, "initial": STATE[:1]}, "B is 1 in 'S', but 2 in 'q'; it is [B, H, ...]"),
    ("unknown state", lambda i: {**i, "initial": {"s": STATE}}, "initial names 's', which is none of S"),
    ("unknown final state", lambda i: {**i, "final": {"R": STATE}}, "final names 'R', which is none of S"),
    ("unknown output", lambda i: {**i, "out": {"p": STATE}}, "out names 'p', which is none of o"),
    ("shape of out", lambda i: {**i, "out": numpy.zeros((2, 70, 4, 9), FLOAT)}, "out: the output 'o' has the shape [2, 70, 4, 9]; it will be [2, 70, 4, 8]"),
    ("type of out", lambda i: {**i, "out": numpy.zeros((2, 70, 4, 8))}, "out: the output 'o' has elements of float64; they will be float32"),
    ("read-only out", lambda i: {**i, "out": numpy.broadcast_to(FLOAT(0), (2, 70, 4, 8))}, "out: the output 'o' is read-only"),
    ("strides of out", lambda i: {**i, "out": numpy.zeros((2, 70, 4, 16), FLOAT)[..., ::2]}, "out: the output 'o' has strides that kernels cannot write: the elements of one token lie one after another, and no stride is zero or negative"),
    ("no array as out", lambda i: {**i, "out": 5}, "out: the output 'o' is no array: a int shows its memory neither as a buffer nor by DLPack"),
    ("out over an input", lambda i: {**i, "out": i["v"]}, "the output 'o' shares memory with the input 'v'"),
    ("final over an input", lambda i: {**i, "final": numpy.zeros((2, 4, 8, 16), FLOAT), "out": numpy.zeros(1, FLOAT)}, "out: the output 'o' has the shape [1]; it will be [2, 70, 4, 8]"),
    ("offsets with sequences", lambda i: {**i, "offsets": numpy.array([0, 70])}, "B is 2 in 'q'; with offsets it is 1, and sequences lie along T"),
    ("mixed 16 bits", lambda i: {**i, "q": i["q"].astype(numpy.float16), "v": as_bfloat16(i["v"])}, "'v' is bfloat16, but 'q' is float16; outputs have the 16 bits of these inputs, which therefore are of one type"),
]


def as_bfloat16(array):
    return array.astype(pytest.importorskip("ml_dtypes").bfloat16)


@pytest.mark.parametrize("what, spoil, message", MISTAKES, ids=[what for what, _, _ in MISTAKES])
def test_message(gdn, inputs, what, spoil, message):
    with pytest.raises(recur.ArgumentError) as raised:
        gdn(**spoil(inputs))
    assert str(raised.value) == f"gated_delta_net: {message}"


OFFSETS = [
    ("decreasing", [0, 9, 5, 70], "sequence_offsets decrease: [2] is 5, after 9"),
    ("outside", [0, 71], "sequence_offsets[1] is 71, outside of 0 to T = 70"),
    ("none", [], "the offsets have the shape [0]; they are [sequences + 1], from 0 to T"),
    ("a matrix", [[0, 70]], "the offsets have the shape [1, 2]; they are [sequences + 1], from 0 to T"),
    ("floats", [0.0, 70.0], "the offsets have elements of float64; they are int64 or int32, in the processor's memory"),
]


@pytest.mark.parametrize("what, offsets, message", OFFSETS, ids=[what for what, _, _ in OFFSETS])
def test_message_of_offsets(gdn, what, offsets, message):
    with pytest.raises(recur.ArgumentError) as raised:
        gdn(**draw(B=1), offsets=numpy.array(offsets, None if offsets else int))
    assert str(raised.value) == f"gated_delta_net: {message}"


def test_offsets_and_initial_states_disagree(gdn):
    with pytest.raises(recur.ArgumentError) as raised:
        gdn(**draw(B=1), offsets=numpy.array([0, 70]), initial=STATE)
    assert str(raised.value) == "gated_delta_net: the initial state 'S' is of 2 sequences, and the offsets of 1"


def test_too_many_arrays(gdn, inputs):
    with pytest.raises(recur.ArgumentError) as raised:
        gdn(*inputs.values(), inputs["g"])
    assert str(raised.value) == "gated_delta_net: 6 arrays are given, and it takes 5: q, k, v, g, beta"


def test_an_argument_twice(gdn, inputs):
    with pytest.raises(recur.ArgumentError) as raised:
        gdn(*inputs.values(), g=inputs["g"])
    assert str(raised.value) == "gated_delta_net: the argument 'g' is given twice, by place and by name"


def test_several_states_need_names():
    mesa = recur.library.mesa_net
    with pytest.raises(recur.ArgumentError) as raised:
        mesa(*[numpy.zeros(1)] * 6, initial=STATE)
    assert str(raised.value) == "mesa_net: initial is of several (G, S): give a mapping of names to arrays"


def test_a_fixed_size_that_arrays_have_not(gdn, inputs):
    with pytest.raises(recur.ArgumentError) as raised:
        gdn.with_options(dims={"K": 32})(**inputs)
    assert str(raised.value) == "gated_delta_net: K is 16 in the arrays, but was fixed as 32"


def test_a_size_that_is_in_no_array():
    text = "recurrence r {\n  dim N\n  input x: scalar\n  output o = x * N\n}\n"
    with pytest.raises(recur.ArgumentError) as raised:
        recur.define(text)(numpy.ones((1, 2, 3), FLOAT))
    assert str(raised.value) == "r: the size of the dim 'N' is in no array; fix it by with_options(dims={'N': ...})"
    assert (recur.define(text, dims={"N": 3})(numpy.ones((1, 2, 3), FLOAT)) == 3).all()


def test_a_mistake_changes_nothing(gdn, inputs):
    out = numpy.full((2, 70, 4, 8), 7, FLOAT)
    with pytest.raises(recur.ArgumentError):
        gdn(**inputs, out=out, final=numpy.zeros((1, 4, 8, 16), FLOAT))
    assert (out == 7).all()


def test_it_is_a_type_error_and_a_value_error(gdn):
    for kind in (TypeError, ValueError, recur.Error):
        with pytest.raises(kind):
            gdn()
