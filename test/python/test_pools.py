"""States as rows of pools: the numbers of a call whose states are its own, wherever in the pool they lie."""

import numpy
import pytest
from conftest import FLOAT, draw, draw_layer

import recur

ROWS = numpy.array([5, 0], numpy.int32)
OTHERS = numpy.array([1, 3], numpy.int32)


def draw_pool(gdn, rows=7, **sizes):
    """As what calls end with, in the order of the rows."""
    return gdn(**draw(seed=3, **{"B": rows, "T": 9, **sizes}), final=True)[1]


def take(arrays, begin, end):
    return {name: array[:, begin:end] for name, array in arrays.items()}


@pytest.mark.parametrize("tokens", [0, 1, 2, 70])
@pytest.mark.parametrize("finals", [None, OTHERS])
def test_a_call_has_the_bits_of_one_whose_states_are_its_own(gdn, inputs, tokens, finals):
    given, pool = take(inputs, 0, tokens), draw_pool(gdn)
    o, S = gdn(**given, initial=pool[ROWS], final=True)
    want = pool.copy()
    want[ROWS if finals is None else finals] = S
    assert numpy.array_equal(gdn(**given, pool=pool, state_indices=ROWS, final_indices=finals), o)
    assert numpy.array_equal(pool, want)


@pytest.mark.parametrize("plan", ["step", "chunk", "segment"])
def test_in_every_plan_and_either_orientation(gdn, inputs, plan):
    chosen = gdn.with_options(plan=plan, quick=True)
    for transposed in (False, True):
        pool = numpy.ascontiguousarray(draw_pool(gdn).swapaxes(2, 3)) if transposed else draw_pool(gdn)
        o, S = chosen(**inputs, initial=pool[ROWS], final=True, states_transposed=transposed)
        assert numpy.array_equal(chosen(**inputs, pool={"S": pool}, state_indices=ROWS, states_transposed=transposed), o)
        assert numpy.array_equal(pool[ROWS], S)


def test_without_a_row_a_sequence_begins_anew_and_leaves_nothing(gdn, inputs):
    pool = draw_pool(gdn)
    before = pool.copy()
    o = gdn(**inputs, pool=pool, state_indices=numpy.array([-1, 4], numpy.int32))
    start = numpy.stack([numpy.zeros_like(before[0]), before[4]])
    want, S = gdn(**inputs, initial=start, final=True)
    before[4] = S[1]
    assert numpy.array_equal(o, want) and numpy.array_equal(pool, before)


def test_packed_prompts_read_and_write_rows(gdn, inputs):
    packed = {name: array[:1] for name, array in inputs.items()}
    offsets = numpy.array([0, 5, 5, 70])
    rows = numpy.array([2, 6, 4], numpy.int32)
    pool = draw_pool(gdn)
    o, S = gdn(**packed, offsets=offsets, initial=pool[rows], final=True)
    assert numpy.array_equal(gdn(**packed, offsets=offsets, pool=pool, state_indices=rows), o)
    assert numpy.array_equal(pool[rows], S)


def test_states_that_start_otherwise_than_as_zero():
    """A sequence without a row starts as the text says."""
    mlstm = recur.library.mlstm.with_options(quick=True)
    random = numpy.random.default_rng(2)
    sizes = {"K": 4, "V": 6}
    given = {
        v.name: random.standard_normal((2, 6, 2, *(sizes[side] for side in v.shape)), dtype=FLOAT) for v in mlstm.declaration.inputs
    }
    *_, states = mlstm(**given, final=True)
    pools = {name: numpy.repeat(state, 3, 0) for name, state in states.items()}
    before = {name: pool.copy() for name, pool in pools.items()}
    rows = numpy.array([4, -1], numpy.int32)
    o = mlstm(**given, pool=pools, state_indices=rows)
    want, last = mlstm(**given, initial={name: pool[[4, 4]] for name, pool in before.items()}, final=True)
    assert numpy.array_equal(o[0], want[0]) and numpy.array_equal(o[1], mlstm(**given)[1])
    for name, state in last.items():
        before[name][4] = state[0]
        assert numpy.array_equal(pools[name], before[name]), name


def test_lines_of_delays_are_states_like_others():
    layer = recur.library.qwen3_next_layer.with_options(quick=True)
    given, params = draw_layer(layer, 2, 5)
    *_, states = layer(**given, **params, final=True)
    pools = {name: numpy.concatenate([state] * 4) for name, state in states.items()}
    o, last = layer(**given, **params, initial={name: pool[ROWS] for name, pool in pools.items()}, final=True)
    assert numpy.array_equal(layer(**given, **params, pool=pools, state_indices=ROWS), o)
    for name, state in last.items():
        assert numpy.array_equal(pools[name][ROWS], state), name


def test_pools_of_16_bits(gdn, inputs):
    pool = draw_pool(gdn).astype(numpy.float16)
    o, S = gdn(**inputs, initial=pool[ROWS], final=True)
    assert S.dtype == numpy.float16
    assert numpy.array_equal(gdn(**inputs, pool=pool, state_indices=ROWS), o) and numpy.array_equal(pool[ROWS], S)


def test_pools_of_complex_states_are_their_parts():
    turn = recur.define("recurrence turn { complex input x, a complex state h h = a * h + x complex output y = h }", quick=True)
    random = numpy.random.default_rng(4)
    x, a, start = (random.standard_normal((2, *shape, 2)).astype(FLOAT) @ numpy.array([1, 1j]) for shape in ((6, 3), (6, 3), (7, 3)))
    x, a, start = x.astype(numpy.complex64), a.astype(numpy.complex64) / 2, start[0].astype(numpy.complex64)
    pools = {"h_re": start.real.copy(), "h_im": start.imag.copy()}
    y, last = turn(x, a, initial=start[ROWS], final=True)
    got = turn(x, a, pool=pools, state_indices=ROWS)
    assert got.dtype == numpy.complex64 and numpy.array_equal(got, y)
    assert numpy.array_equal(pools["h_re"][ROWS] + 1j * pools["h_im"][ROWS], last)
    halves = {f"{name}_{part}": getattr(array, of).astype(numpy.float16) for name, array in (("x", x), ("a", a)) for part, of in (("re", "real"), ("im", "imag"))}
    out = numpy.zeros_like(y)
    assert turn(**halves, pool=pools, state_indices=ROWS, out=out) is out and out.all()
    with pytest.raises(recur.ArgumentError, match="give the parts of a complex value as two arrays"):
        turn(x, a, pool=start, state_indices=ROWS)


def test_rows_may_be_of_64_bits_and_strided(gdn, inputs):
    pool = draw_pool(gdn)
    wide = numpy.array([5, 99, 0, 99])[::2]
    o = gdn(**inputs, initial=pool[ROWS])
    assert numpy.array_equal(gdn(**inputs, pool=pool, state_indices=wide), o)


def test_a_pool_may_be_a_slice_of_a_larger_block(gdn, inputs):
    block = numpy.zeros((7, 9, 4, 8, 16), FLOAT)
    block[:, 3] = pool = draw_pool(gdn)
    o, S = gdn(**inputs, initial=pool[ROWS], final=True)
    assert numpy.array_equal(gdn(**inputs, pool=block[:, 3], state_indices=ROWS), o)
    assert numpy.array_equal(block[:, 3][ROWS], S) and not block[:, :3].any() and not block[:, 4:].any()


@pytest.mark.parametrize("plan, tokens", [("auto", 1), ("step", 5), ("chunk", 130)])
def test_a_sequence_has_the_same_bits_whatever_else_is_in_the_batch(gdn, plan, tokens):
    """Wherever in the pool it lies, and with any number of other sequences."""
    chosen = gdn.with_options(plan=plan, quick=True)
    given = draw(seed=5, B=6, T=tokens)
    pool = draw_pool(gdn, rows=11)
    one = pool[3:4].copy()
    want = chosen(**{name: array[2:3] for name, array in given.items()}, pool=one, state_indices=numpy.zeros(1, numpy.int32))
    for place, rows in ((0, [3]), (2, [0, 1, 3, 10]), (1, [-1, 3, 7, 2, 8]), (5, [9, 8, 7, 6, 5, 3])):
        own = pool.copy()
        batch = {name: array[[2 if i == place else i for i in range(len(rows))]] for name, array in given.items()}
        o = chosen(**batch, pool=own, state_indices=numpy.array(rows, numpy.int32))
        assert numpy.array_equal(o[place], want[0]) and numpy.array_equal(own[3], one[0])


def test_a_prompt_has_the_same_bits_in_parts_of_whole_chunks(gdn):
    chosen = gdn.with_options(plan="chunk", chunk=64, quick=True)
    given, start, row = draw(seed=5, B=1, T=150), draw_pool(gdn, rows=1), numpy.zeros(1, numpy.int32)
    whole, parts = start.copy(), start.copy()
    want = chosen(**given, pool=whole, state_indices=row)
    pieces = [chosen(**take(given, begin, end), pool=parts, state_indices=row) for begin, end in ((0, 64), (64, 128), (128, 150))]
    assert numpy.array_equal(numpy.concatenate(pieces, 1), want) and numpy.array_equal(parts, whole)


def test_mistakes(gdn, inputs):
    pool = draw_pool(gdn)

    def refuse(match, **options):
        before = pool.copy()
        with pytest.raises(recur.ArgumentError, match=match):
            gdn(**inputs, **options)
        assert numpy.array_equal(pool, before)

    def of(*rows):
        return numpy.array(rows, numpy.int32)

    refuse("without pool= there are no rows; give it, or leave state_indices out", state_indices=ROWS)
    refuse("say by state_indices= which row is whose", pool=pool)
    refuse("leave initial= and final= out", pool=pool, state_indices=ROWS, final=True)
    refuse("leave initial= and final= out", pool=pool, state_indices=ROWS, initial=pool[ROWS])
    refuse("has no gradient, for which kept_bytes= would keep states", pool=pool, state_indices=ROWS, kept_bytes=0)
    refuse("sequences that are shared out over processes have no pool", pool=pool, state_indices=ROWS, group=True)
    refuse("pool names 'R', which is none of S", pool={"R": pool}, state_indices=ROWS)
    refuse("the pool of the state 'S' is missing", pool={}, state_indices=ROWS)
    refuse(r"state_indices\[1\] is 7, and the pools have 7 rows; a negative index stands for none", pool=pool, state_indices=of(0, 7))
    refuse(r"state_indices\[1\] is 3, and so is \[0\]; no row is written for two sequences", pool=pool, state_indices=of(3, 3))
    refuse(r"final_indices\[1\] is 4, and so is \[0\]", pool=pool, state_indices=of(3, 3), final_indices=of(4, 4))
    refuse(r"state_indices\[0\] is 4, and so is final_indices\[1\]", pool=pool, state_indices=of(4, 3), final_indices=of(5, 4))
    refuse("state_indices is of 3 sequences, and the call has 2", pool=pool, state_indices=of(0, 1, 2))
    refuse("state_indices has elements of float32; rows of pools are int32", pool=pool, state_indices=ROWS.astype(FLOAT))
    refuse(r"state_indices has the shape \[2, 1\]; it is \[sequences\]", pool=pool, state_indices=ROWS[:, None])
    refuse(r"state_indices is no array: a list; write numpy.array\(state_indices, 'int32'\)", pool=pool, state_indices=[5, 0])
    refuse(r"state_indices\[0\] is 4294967301, which is no row", pool=pool, state_indices=numpy.array([2**32 + 5, 0]))
    refuse("the pool 'S' has strides that kernels cannot write", pool=pool.swapaxes(2, 3).copy().swapaxes(2, 3), state_indices=ROWS)
    frozen = pool.view()
    frozen.flags.writeable = False
    refuse("the pool 'S' is read-only", pool=frozen, state_indices=ROWS)
    refuse("H is 2 in 'S', but 4 in", pool=pool[:, :2], state_indices=ROWS)


def test_jax_arrays_are_refused(gdn, inputs):
    jax = pytest.importorskip("jax")
    given = {name: jax.numpy.asarray(array) for name, array in inputs.items()}
    with pytest.raises(recur.ArgumentError, match="rows of a pool are written where they lie, which JAX's arrays do not allow"):
        gdn(**given, pool=jax.numpy.asarray(draw_pool(gdn)), state_indices=jax.numpy.asarray(ROWS))


def test_tensors(gdn, inputs):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    given = {name: torch.tensor(array) for name, array in inputs.items()}
    start = draw_pool(gdn)
    o, S = gdn(**inputs, initial=start[ROWS], final=True)
    for rows in (torch.tensor(ROWS), torch.tensor(ROWS, dtype=torch.int64)):
        for _ in range(3):  # the later ones as calls that were made before
            pool = torch.tensor(start)
            version = pool._version
            got = gdn(**given, pool=pool, state_indices=rows)
            assert isinstance(got, torch.Tensor) and numpy.array_equal(got.numpy(), o)
            assert numpy.array_equal(pool.numpy()[ROWS], S) and pool._version > version
    for _ in range(2):
        pool = torch.tensor(start)
        got = gdn(**given, pool={"S": pool}, state_indices=torch.tensor(ROWS), final_indices=torch.tensor(OTHERS))
        assert numpy.array_equal(got.numpy(), o)
        assert numpy.array_equal(pool.numpy()[OTHERS], S) and numpy.array_equal(pool.numpy()[ROWS], start[ROWS])
    with pytest.raises(recur.ArgumentError, match=r"state_indices\[1\] is 5, and so is \[0\]"):
        gdn(**given, pool=pool, state_indices=torch.tensor([5, 5], dtype=torch.int32))
    given["v"].requires_grad_()
    with pytest.raises(recur.ArgumentError, match="what reads and writes a pool has no gradient"):
        gdn(**given, pool=pool, state_indices=torch.tensor(ROWS))
    with torch.no_grad():
        gdn(**given, pool=pool, state_indices=torch.tensor(ROWS))


@pytest.mark.parametrize("packed, gives_out", [(False, False), (True, False), (False, True)])
def test_a_compiled_model(gdn, inputs, packed, gives_out):
    """torch.compile sees one operator that writes the pool, and the output where it is given."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    given = {name: torch.tensor(array[:1] if packed else array) for name, array in inputs.items()}
    offsets = torch.tensor([0, 30, 70]) if packed else None
    rows = torch.tensor(ROWS)

    def model(pool, q, k, v, g, beta):
        out = torch.empty_like(v) if gives_out else None
        return gdn(2 * q, k, v, g, beta, pool=pool, state_indices=rows, offsets=offsets, out=out) + 1

    start = torch.tensor(draw_pool(gdn))
    pool, own = start.clone(), start.clone()
    want = model(own, **given)
    for _ in range(2):
        pool.copy_(start)
        got = torch.compile(model, fullgraph=True)(pool, **given)
        assert torch.equal(got, want) and torch.equal(pool, own)
    assert not torch.equal(own, start)
