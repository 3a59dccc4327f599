"""Calls on arrays: layouts, packed sequences, types, results that are given, threads."""

import itertools
import threading

import numpy
import pytest
from conftest import FLOAT, draw, error_of

import recur


class OnlyDLPack:
    """An array of a library that this package knows nothing of."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_inputs_by_name_and_by_place(gdn, inputs):
    want = gdn(**inputs)
    arrays = list(inputs.values())
    assert numpy.array_equal(gdn(*arrays), want)
    assert numpy.array_equal(gdn(*arrays[:3], beta=arrays[4], g=arrays[3]), want)
    assert want.shape == (2, 70, 4, 8) and want.dtype == FLOAT


def test_a_sequence_in_two_parts(gdn, inputs):
    want, state = gdn(**inputs, final=True)
    first, between = gdn(**{n: a[:, :33] for n, a in inputs.items()}, final=True)
    second, last = gdn(**{n: a[:, 33:] for n, a in inputs.items()}, initial={"S": between}, final=True)
    assert error_of(numpy.concatenate([first, second], 1), want) < 1e-5
    assert error_of(last, state) < 1e-5


def with_layout(array, how):
    if how == "heads outermost":
        return numpy.ascontiguousarray(array.transpose(0, 2, 1, *range(3, array.ndim))).transpose(0, 2, 1, *range(3, array.ndim))
    if how == "slice of a longer sequence":
        return numpy.concatenate([array, array, array], 1)[:, 70:140]
    if how == "slice of a projection":
        return numpy.concatenate([array, array], 2)[:, :, array.shape[2] :]
    if how == "read-only":
        array = array.copy()
        array.flags.writeable = False
        return array
    return OnlyDLPack(array)


@pytest.mark.parametrize(
    "how", ["heads outermost", "slice of a longer sequence", "slice of a projection", "read-only", "DLPack"]
)
def test_layouts_go_in_without_a_copy(gdn, inputs, how, monkeypatch, recwarn):
    want = gdn(**inputs)
    monkeypatch.setattr(recur.debug, "copies", True)
    assert numpy.array_equal(gdn(**{n: with_layout(a, how) for n, a in inputs.items()}), want)
    assert not [w for w in recwarn if issubclass(w.category, recur.CopyWarning)]


def unaligned(array):
    memory = numpy.zeros(array.nbytes + 1, numpy.uint8)[1:]
    memory[:] = numpy.frombuffer(array.tobytes(), numpy.uint8)
    return memory.view(FLOAT).reshape(array.shape)


COPIED = [
    ("every other element", lambda a: numpy.repeat(a, 2, -1)[..., ::2], "the elements of one token are not one after another"),
    ("backwards", lambda a: a[:, ::-1].copy()[:, ::-1], "a stride is zero or negative"),
    ("unaligned", unaligned, "it is not aligned to its elements"),
]


@pytest.mark.parametrize("how, change, why", COPIED, ids=[how for how, _, _ in COPIED])
def test_other_layouts_are_copied_and_say_so(gdn, inputs, how, change, why, monkeypatch):
    want = gdn(**inputs)
    changed = {**inputs, "v": change(inputs["v"])}
    assert numpy.array_equal(gdn(**changed), want)
    monkeypatch.setattr(recur.debug, "copies", True)
    with pytest.warns(recur.CopyWarning) as warned:
        assert numpy.array_equal(gdn(**changed), want)
    assert [str(w.message) for w in warned] == [f"gated_delta_net: v is copied: {why}"]


def test_an_array_that_is_spread_over_heads(gdn, inputs):
    beta = inputs["beta"][:, :, :1]
    spread = numpy.broadcast_to(beta, inputs["beta"].shape)
    assert numpy.array_equal(gdn(**{**inputs, "beta": spread}), gdn(**{**inputs, "beta": spread.copy()}))


def test_packed_sequences(gdn, inputs):
    inputs = {n: a[:1] for n, a in inputs.items()}
    initial = numpy.random.default_rng(1).standard_normal((3, 4, 8, 16)).astype(FLOAT)
    for offsets in (numpy.array([0, 20, 20, 70]), numpy.array([0, 20, 20, 70], numpy.int32)):
        o, states = gdn(**inputs, initial=initial, final=True, offsets=offsets)
        assert states.shape == (3, 4, 8, 16)
        for i in range(3):
            part = {n: a[:, offsets[i] : offsets[i + 1]] for n, a in inputs.items()}
            want, state = gdn(**part, initial=initial[i : i + 1], final=True)
            assert numpy.array_equal(o[:, offsets[i] : offsets[i + 1]], want)
            assert numpy.array_equal(states[i : i + 1], state)
    assert numpy.array_equal(states[1], initial[1])  # of an empty sequence


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_every_order_of_memory(gdn, inputs, order):
    """With the axes in any order, forwards and backwards, with more rows than a block of the copy has and with fewer."""
    want = gdn(**inputs)
    for turned in (slice(None), slice(None, None, -1)):
        v = numpy.ascontiguousarray(inputs["v"].transpose(order)[..., turned])[..., turned].transpose(numpy.argsort(order))
        assert numpy.array_equal(v, inputs["v"]) and numpy.array_equal(gdn(**{**inputs, "v": v}), want)
    narrow = v.astype(numpy.float16)
    assert numpy.array_equal(gdn(**{**inputs, "v": narrow}), gdn(**{**inputs, "v": numpy.ascontiguousarray(narrow)}))


def test_transposed_states(gdn, inputs):
    initial = numpy.random.default_rng(1).standard_normal((2, 4, 8, 16)).astype(FLOAT)
    o, state = gdn(**inputs, initial=initial, final=True)
    swapped = numpy.ascontiguousarray(initial.swapaxes(2, 3))
    p, turned = gdn(**inputs, initial=swapped, final=True, states_transposed=True)
    assert numpy.array_equal(o, p) and numpy.array_equal(turned.swapaxes(2, 3), state)


def test_several_states_and_outputs():
    text = """recurrence two {
      dim K, V
      input k: [K], v: [V], a: scalar
      state S: [V, K], z: [K]
      S = a * S + outer(v, k)
      z = z + k
      output o: [V] = S @ k
      output n = dot(z, k)
    }"""
    two = recur.define(text)
    k, v, a = draw()["k"], draw()["v"][:, :, :2], draw()["beta"][:, :, :2]
    o, n, states = two(k, v, a, final=True)
    assert o.shape == (2, 70, 2, 8) and n.shape == (2, 70, 2) and states["z"].shape == (2, 2, 16)
    assert error_of(n, numpy.einsum("bthk,bthk->bth", k.cumsum(1), k)) < 1e-5
    o2, n2 = two(k, v, a, initial={"z": states["z"]})
    assert numpy.array_equal(o2, o) and not numpy.array_equal(n2, n)
    given = numpy.zeros_like(n)
    assert two(k, v, a, out={"n": given})[1] is given and numpy.array_equal(given, n)


def test_results_that_are_given(gdn, inputs):
    want, state = gdn(**inputs, final=True)
    out = numpy.full((2, 70, 8, 8), 7, FLOAT)
    assert gdn(**inputs, out=out[:, :, 2:6]).base is out
    assert numpy.array_equal(out[:, :, 2:6], want) and (out[:, :, :2] == 7).all() and (out[:, :, 6:] == 7).all()
    kept = numpy.zeros_like(state)
    o, S = gdn(**inputs, initial=kept, final=kept)  # in place, as in decoding
    assert S is kept and numpy.array_equal(kept, state)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_types(gdn, inputs, dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = numpy.dtype(getattr(ml_dtypes, dtype, dtype))
    narrow = {n: a.astype(kind) for n, a in inputs.items()}
    o, S = gdn(**narrow, final=True)
    assert o.dtype == kind and S.dtype == FLOAT
    want = gdn(**{n: a.astype(FLOAT) for n, a in narrow.items()})
    assert error_of(o.astype(FLOAT), want) < (5e-3 if dtype == "bfloat16" else 7e-4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_float32_gates_beside_16_bits(gdn, inputs, dtype):
    """Gates keep their float32; products take the 16 bits of the data."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = numpy.dtype(getattr(ml_dtypes, dtype, dtype))
    mixed = {n: a if n in ("g", "beta") else a.astype(kind) for n, a in inputs.items()}
    want = gdn(**{n: a.astype(FLOAT) for n, a in mixed.items()})
    o = gdn(**mixed)
    assert o.dtype == kind and error_of(o.astype(FLOAT), want) < (4e-3 if dtype == "bfloat16" else 7e-4)
    out = numpy.zeros(o.shape, kind)
    gdn(**mixed, out=out)
    assert numpy.array_equal(out, o)


def test_every_value_of_16_bits_is_read_as_numpy_reads_it():
    text = "recurrence copy {\n  input x: scalar, y: scalar\n  output o = x + y\n}\n"
    bits = numpy.arange(1 << 16, dtype=numpy.uint16).view(numpy.float16).reshape(1, -1, 1)
    bits = bits[numpy.isfinite(bits)].reshape(1, -1, 1)
    o = recur.define(text)(bits, numpy.zeros(bits.shape, FLOAT))
    assert numpy.array_equal(o, bits)


@pytest.mark.parametrize("B, T, H", [(0, 5, 4), (2, 0, 4), (2, 5, 0), (0, 0, 0)])
def test_empty_arrays(gdn, B, T, H):
    inputs = draw(B=B, T=T, H=H, Hq=H // 2)
    o, S = gdn(**inputs, final=True)
    assert o.shape == (B, T, H, 8) and S.shape == (B, H, 8, 16)
    assert not S.any()


def test_one_kernel_serves_all_lengths(gdn, inputs, monkeypatch):
    gdn(**inputs)
    monkeypatch.setattr(recur.kernels, "_compile", None)
    for T in (1, 2, 63, 64, 65, 200):
        gdn(**draw(T=T))


def test_two_sizes_at_once_from_several_threads():
    sizes, results, errors = [(8, 8), (16, 8), (8, 16), (24, 8)] * 3, {}, []

    def work(place, K, V):
        try:
            results[place] = recur.library.gated_delta_net(**draw(K=K, V=V))
        except Exception as error:  # seen by the test itself below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i, *size)) for i, size in enumerate(sizes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    for place, (K, V) in enumerate(sizes):
        assert numpy.array_equal(results[place], recur.library.gated_delta_net(**draw(K=K, V=V)))


def test_other_threads_run_during_a_call(gdn):
    """Were the interpreter's lock held, the other thread could not count while a kernel runs."""
    long = draw(B=4, T=4096, H=8, Hq=8, K=64, V=64)
    gdn(**long)
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1

    other = threading.Thread(target=count)
    seen = []
    other.start()
    try:
        for _ in range(5):
            call = recur._native.Call(gdn.signature, list(long.values()), None, None, False, None)
            outputs = [numpy.empty((4, 4096, 8, 64), FLOAT)]
            kernel = gdn.obtain(call.key).kernel
            before = counted[0]
            call.run(kernel, outputs, [None])
            seen.append(counted[0] - before)
    finally:
        stop.set()
        other.join()
    assert max(seen) > 1000


def test_consts_and_sizes_are_options(inputs):
    gdn = recur.library.gated_delta_net
    twice = gdn.with_options(consts={"scale": 2.0})
    once = gdn.with_options(consts={"scale": 1.0})
    assert error_of(twice(**inputs), 2 * once(**inputs)) < 1e-6
    steps = recur.library.delta_product.with_options(dims={"N": 3})
    assert steps.dims == {"N": 3}
    for plan in ("step", "chunk"):
        assert error_of(gdn.with_options(plan=plan)(**inputs), gdn(**inputs)) < 1e-5


def test_states_of_delays():
    late = recur.define("recurrence late {\n  dim K\n  input x: [K]\n  output o: [K] = delay(x, 2)\n}\n")
    x = draw()["v"]
    o, states = late(x, final=True)
    assert not o[:, :2].any() and numpy.array_equal(o[:, 2:], x[:, :-2])
    assert set(states) == {"x_back1", "x_back2"}
    assert numpy.array_equal(states["x_back1"], x[:, -1]) and numpy.array_equal(states["x_back2"], x[:, -2])
    assert numpy.array_equal(late(x, initial={"x_back1": states["x_back1"]})[:, 1], x[:, -1])
    with pytest.raises(recur.ArgumentError) as raised:
        late(x, initial=states["x_back1"])
    assert str(raised.value) == "late: initial is of several (x_back1, x_back2): give a mapping of names to arrays"
    with pytest.raises(recur.ArgumentError) as raised:
        late(x, initial={"x_back3": states["x_back1"]})
    assert str(raised.value) == "late: initial names 'x_back3', which is none of x_back1, x_back2"


def test_decoding_a_layer_with_delays(tmp_path):
    """Token by token in place, as the whole sequence; of a saved kernel too."""
    layer = recur.library.qwen3_next_layer.with_options(quick=True)
    random, sizes = numpy.random.default_rng(0), {"K": 8, "V": 6, "W": 4}
    lead = lambda v: (2, 7, 2 if v.shared else 4)
    given = {v.name: random.standard_normal((*lead(v), *(sizes[s] for s in v.shape))).astype(FLOAT) for v in layer.declaration.inputs}
    params = {v.name: random.standard_normal((4, *(sizes[s] for s in v.shape))).astype(FLOAT) for v in layer.declaration.params}
    want, last = layer(**given, **params, final=True)
    recur.save(layer, tmp_path / "layer.so", **sizes)
    for one in (layer, recur.load(tmp_path / "layer.so")):
        states = {name: numpy.zeros_like(state) for name, state in last.items()}
        for t in range(7):
            o = one(**{n: a[:, t : t + 1] for n, a in given.items()}, **params, initial=states, final=states)[0]
            assert error_of(o, want[:, t : t + 1]) < 1e-5
        for name, state in states.items():
            assert error_of(state, last[name]) < 1e-5, name


def test_a_bound_call(gdn):
    """The call on the same memory again, on what it holds then."""
    given = draw(B=1, T=1)
    state, want = numpy.zeros((1, 4, 8, 16), FLOAT), numpy.zeros((1, 4, 8, 16), FLOAT)
    bound = gdn.bind(**given, initial=state, final=state)
    for seed in range(3):
        for name, array in draw(seed, B=1, T=1).items():
            given[name][:] = array
        assert (bound() == gdn(**given, initial=want, final=want)[0]).all() and (state == want).all()
    assert bound() is bound.result
    out = numpy.zeros((1, 1, 4, 8), FLOAT)
    assert gdn.bind(**given, out=out)() is out and (out == gdn(**given)).all()


def test_a_bound_call_of_delays():
    layer = recur.define("recurrence r { dim K, W\n input x: [K]\n param w: [W, K]\n output y: [K] = conv(x, w) }")
    x, w = numpy.ones((1, 1, 2, 3), FLOAT), numpy.ones((2, 4, 3), FLOAT)
    states = {f"x_back{i}": numpy.zeros((1, 2, 3), FLOAT) for i in (1, 2, 3)}
    bound = layer.bind(x, w, initial=states, final=states)
    assert [float(bound()[0, 0, 0, 0]) for _ in range(5)] == [1, 2, 3, 4, 4]


BOUND_MISTAKES = [
    (lambda i: {**i, "final": True}, "a bound call writes final states to arrays of yours; give them, or None"),
    (lambda i: {**i, "k": i["k"][..., ::-1]}, "'k' would be copied, and a bound call reads arrays where they lie"),
    (lambda i: {**i, "g": i["g"][:, ::-1]}, "'g' would be copied, and a bound call reads arrays where they lie"),
    (lambda i: {**i, "k": None}, "the input 'k' is missing"),
]


@pytest.mark.parametrize("spoil, message", BOUND_MISTAKES, ids=[message for _, message in BOUND_MISTAKES])
def test_what_is_not_bound(gdn, inputs, spoil, message):
    with pytest.raises(recur.ArgumentError) as raised:
        gdn.bind(**spoil(inputs))
    assert str(raised.value) == f"gated_delta_net: {message}"


def test_pieces_are_gathered_from_arrays_that_lie_alike():
    source, other = numpy.arange(60, dtype=FLOAT).reshape(2, 5, 6), numpy.ones((2, 1), FLOAT)
    dense, turned, ones = numpy.zeros((2, 2, 6), FLOAT), numpy.zeros((3, 2), FLOAT), numpy.zeros((2, 1), FLOAT)
    gather = recur._native.Gather([source, other], [(0, source[:, 1:3], dense), (0, source[:, 4, ::2], turned.T), (1, other, ones)])
    for factor in (1, 2):
        moved = source * FLOAT(factor)
        assert gather.copy(moved, other * factor)
        assert (dense == moved[:, 1:3]).all() and (turned.T == moved[:, 4, ::2]).all() and (ones == factor).all()
    for wrong in [(source,), (other, source), (source.astype(numpy.float16), other), (source[:, ::-1], other), (source[:1], other), (3, other)]:
        assert not gather.copy(*wrong)
    assert (turned.T == 2 * source[:, 4, ::2]).all()
    for piece in [(2, source, source), (0, source[:1], dense), (0, source[:, :2], dense.astype(numpy.float16))]:
        with pytest.raises(recur.ArgumentError, match="each piece must lie in its source, and have the shape and type of the array that it is copied to"):
            recur._native.Gather([source, other], [piece])
    with pytest.raises(recur.ArgumentError, match="each array must be float32, bfloat16 or float16"):
        recur._native.Gather([source.astype(int)], [])


def test_the_last_tokens_are_one_state():
    """Of a long delay; a sequence that is cut goes on from it."""
    recurrence = recur.define("recurrence f { dim K input x: [K] output o = x - delay(x, 20) }", quick=True)
    x = numpy.random.default_rng(0).standard_normal((2, 50, 3, 4)).astype(numpy.float32)
    whole, last = recurrence(x, final=True)
    assert numpy.array_equal(last, x[:, 30:].swapaxes(1, 2))
    first, last = recurrence(x[:, :13], final=True)
    rest = recurrence(x[:, 13:], initial={"x_last20": last})
    assert numpy.array_equal(numpy.concatenate([first, rest], 1), whole)
    assert numpy.array_equal(whole[:, 20:], x[:, 20:] - x[:, :-20])
