"""What a call on a GPU hands over to its gradient, as far as that can be told without a GPU: which states and when, and what a trace knows."""

from types import SimpleNamespace

import numpy
import pytest

import recur
from recur import kept

#: Of linear attention, with chunks of 64 tokens.
SIDE = 16
ARRAYS = [("q", "input", "bfloat16", True, (SIDE,)), ("k", "input", "bfloat16", True, (SIDE,)), ("v", "input", "bfloat16", False, (SIDE,))]
ARRAYS += [("S", "state", "float32", False, (SIDE, SIDE)), ("z", "state", "float32", False, (SIDE,)), ("o", "output", "bfloat16", False, (SIDE,))]


def make_kernel(handed, sides=1, values=None):
    """Stands in for one whose states are so many times as large in each side, and which hands over such values besides."""
    arrays = [(*array[:4], tuple(sides * side for side in array[4])) if array[1] == "state" else array for array in ARRAYS]
    return SimpleNamespace(arrays=arrays, handed=handed, handed_values=values)


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_the_budget_decides(dtype):
    """All chunks' states or none: of two sequences of 130 tokens, three rows each."""
    kernel, sizes = make_kernel((64, ((0, dtype),))), kept.Sizes(2, 130, 4, 2)
    own = [(6, 4, SIDE, SIDE)], [dtype]
    needed = 6 * 4 * SIDE * SIDE * (2 if dtype == "bfloat16" else 4)
    for kept_bytes, want in ((None, own), (needed, own), (needed - 1, ([], [])), (0, ([], []))):
        assert kept.list_handed(kernel, sizes, kept_bytes) == want
    packed = kept.Sizes(1, 130, 4, 2, sequences=5)
    assert kept.list_handed(kernel, packed, None) == ([(130 // 64 + 5, 4, SIDE, SIDE)], [dtype])


def test_few_bytes_are_handed_over_without_a_budget():
    """At most half of what inputs, outputs and their gradients take, however long sequences are: here 2 * 64 * 2 * (2 * 2 + 4 + 4) / 4 * 16."""
    for sides, fits in ((1, True), (2, True), (8, False)):
        for tokens in (1, 64, 100000):
            shapes, _ = kept.list_handed(make_kernel((64, ((0, "bfloat16"),)), sides), kept.Sizes(1, tokens, 4, 2), None)
            assert bool(shapes) == fits, (sides, tokens)


def test_values_are_handed_over_where_there_is_room_beside_states():
    sizes, state, numbers = kept.Sizes(2, 130, 4, 2), (6, 4, SIDE, SIDE), 96
    kernel = make_kernel((64, ((0, "bfloat16"),)), values=(numbers, 7))
    states, both = 6 * 4 * SIDE * SIDE * 2, 6 * 4 * (SIDE * SIDE * 2 + numbers * 4)
    alone, all_of_them = ([state], ["bfloat16"]), ([state, (6, 4, numbers)], ["bfloat16", "float32"])
    for kept_bytes, want in ((None, all_of_them), (both, all_of_them), (both - 1, alone), (states, alone), (states - 1, ([], []))):
        assert kept.list_handed(kernel, sizes, kept_bytes) == want
    many = make_kernel((64, ((0, "bfloat16"),)), values=(64 * 1024, 7))
    assert kept.list_handed(many, sizes, None) == alone  # beyond two thirds of what the call is given and gives


def test_only_what_the_gradient_takes_is_handed_over():
    assert kept.list_handed(make_kernel(None), kept.Sizes(2, 130, 4, 2), None) == ([], [])
    shapes, dtypes = kept.list_handed(make_kernel((64, ((1, "float32"),))), kept.Sizes(2, 130, 4, 2), None)
    assert shapes == [(6, 4, SIDE)] and dtypes == ["float32"]


@pytest.fixture(scope="module")
def attention():
    return recur.library.linear_attention.with_options(quick=True)


@pytest.mark.parametrize("kept_bytes", [None, 0])
def test_a_trace_knows_what_is_handed_over(attention, kept_bytes, monkeypatch):
    """By tensors without memory on a GPU that is not there."""
    torch = pytest.importorskip("torch")
    import recur.torch
    from recur import torch_gpu
    from torch._subclasses.fake_tensor import FakeTensorMode

    monkeypatch.setattr(torch_gpu, "_get_capability", lambda index: (9, 0))
    chunk, states = attention.obtain_gradient({"K": SIDE, "V": SIDE}, "bfloat16", (), "sm_90a").kernel.handed
    assert states == ((0, "bfloat16"),)
    want = [] if kept_bytes == 0 else [(2 * -(-130 // chunk), 4, SIDE, SIDE)]
    with FakeTensorMode():
        given = [torch.empty(2, 130, 4, SIDE, device="cuda:0", dtype=torch.bfloat16) for _ in range(3)]
        o, S, *handed = torch.ops.recur.forward(given, None, attention.handle, [], False, True, [True] * 3, kept_bytes)
        assert o.shape == (2, 130, 4, SIDE) and S.shape == (2, 4, SIDE, SIDE) and o.is_cuda
        assert [x.shape for x in handed] == want
        assert all(x.is_cuda and x.dtype == torch.bfloat16 for x in handed)
        assert len(torch.ops.recur.forward(given, None, attention.handle, [], False, True, [], kept_bytes)) == 2  # no gradient is wanted
        found = torch.ops.recur.backward(given, None, [o, None], attention.handle, [], False, True, [True, False, True], handed, chunk if handed else 0)
        assert [x.shape for x in found] == [given[0].shape, given[2].shape]


def list_calls(jaxpr):
    """The custom calls of a program, in its functions too."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "ffi_call":
            yield equation
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                yield from list_calls(inner)


@pytest.mark.parametrize("kept_bytes, offsets, mapped", [(None, None, 0), (0, None, 0), (None, [0, 30, 130], 0), (None, None, 3)], ids=["open", "none", "packed", "vmap"])
def test_jax_traces_what_is_handed_over(attention, kept_bytes, offsets, mapped, monkeypatch):
    """The program for a GPU that is not there: what its call forward leaves, and what its call backward takes."""
    jax = pytest.importorskip("jax")
    from recur import jax as calls

    monkeypatch.setattr(calls, "find_target", lambda recurrence, arrays: "sm_90a")
    chunk, _ = attention.obtain_gradient({"K": SIDE, "V": SIDE}, "bfloat16", (), "sm_90a").kernel.handed
    B = 1 if offsets else 2
    given = [jax.ShapeDtypeStruct((*[mapped] * bool(mapped), B, 130, 4, SIDE), "bfloat16") for _ in range(3)]
    bounds = {} if offsets is None else {"offsets": numpy.array(offsets)}
    derive = jax.grad(lambda q, k, v: attention(q, k, v, kept_bytes=kept_bytes, **bounds).astype("float32").sum(), argnums=(0, 1, 2))
    program = jax.make_jaxpr(jax.jit(jax.vmap(derive) if mapped else derive))(*given)
    forward, backward = list_calls(program.jaxpr)
    rows = 130 // chunk + 2 if offsets else max(mapped, 1) * 2 * -(-130 // chunk)
    want = [] if kept_bytes == 0 else [((rows, 4, SIDE, SIDE), "bfloat16")]
    describe = lambda values: [(value.aval.shape, value.aval.dtype.name) for value in values]
    assert describe(forward.outvars[1:]) == want
    assert describe(backward.invars[3 + bool(offsets) + 1 :]) == want
    facts = [dict(equation.params["attributes"]) for equation in (forward, backward)]
    assert [fact["kept_interval"] for fact in facts] == [chunk if want else 0] * 2
    if want:
        assert facts[0]["key"] == facts[1]["key"]
