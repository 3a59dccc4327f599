"""States after every so many tokens, in rows of pools: those of calls that end there."""

import numpy
import pytest
from conftest import FLOAT, draw
from test_pools import draw_pool, take

import recur

ROWS = numpy.array([5, 0], numpy.int32)
POOL = 12


@pytest.fixture
def chunked(gdn):
    return gdn.with_options(plan="chunk", chunk=16, quick=True)


def expect(recurrence, given, pool, kept, interval, positions=(0, 0), **options):
    """The output, and the pools afterwards."""
    start = {name: array[ROWS].astype(FLOAT) for name, array in pool.items()}
    want, after = None, {name: array.copy() for name, array in pool.items()}

    def store(states, sequence, row):
        for name, state in (states if isinstance(states, dict) else dict(zip(start, [states]))).items():
            after[name][row] = state[sequence].astype(after[name].dtype)

    tokens = next(iter(given.values())).shape[1]
    want, last = recurrence(**given, initial=start, final=True, **options)
    for sequence, position in enumerate(positions):
        store(last, sequence, ROWS[sequence])
        for column, end in enumerate(range((position // interval + 1) * interval - position, tokens + 1, interval)):
            if kept[sequence][column] >= 0:
                store(recurrence(**take(given, 0, end), initial=start, final=True, **options)[1], sequence, kept[sequence][column])
    return want, after


@pytest.mark.parametrize("kind", [FLOAT, numpy.float16])
@pytest.mark.parametrize("tokens, interval", [(64, 16), (70, 32), (64, 32), (16, 16), (9, 16), (0, 16)])
def test_states_are_those_of_calls_that_end_there(chunked, inputs, tokens, interval, kind):
    kept = numpy.array([[8, 3, 1, 2], [6, -1, 7, 9]], numpy.int32)
    given, pool = take(inputs, 0, tokens), {"S": draw_pool(chunked, POOL).astype(kind)}
    want, after = expect(chunked, given, pool, kept, interval)
    got = chunked(**given, pool=pool, state_indices=ROWS, interval=interval, interval_indices=kept)
    assert numpy.array_equal(got, want) and numpy.array_equal(pool["S"], after["S"])


@pytest.mark.parametrize("positions", [(16, 48), (32, 1600)])
def test_they_go_on_from_earlier_calls(chunked, inputs, positions):
    kept = numpy.array([[8, 3, 1], [6, -1, 7]], numpy.int32)
    given, pool = take(inputs, 0, 66), {"S": numpy.ascontiguousarray(draw_pool(chunked, POOL).swapaxes(2, 3))}
    want, after = expect(chunked, given, pool, kept, 32, positions, states_transposed=True)
    got = chunked(
        **given, pool=pool, state_indices=ROWS, interval=32, interval_indices=kept, positions=numpy.array(positions, numpy.int32), states_transposed=True
    )
    assert numpy.array_equal(got, want) and numpy.array_equal(pool["S"], after["S"])


def test_packed_prompts_leave_them(chunked, inputs):
    packed, offsets = {name: array[:1] for name, array in inputs.items()}, numpy.array([0, 37, 37, 70])
    rows, kept = numpy.array([5, 6, 0], numpy.int32), numpy.array([[8, 3], [99, 99], [1, -1]], numpy.int32)
    pool = draw_pool(chunked, POOL)
    after = pool.copy()
    for row, places, begin, end in zip(rows, kept, offsets, offsets[1:]):
        for place, count in [(row, end - begin), *((place, 16 * (i + 1)) for i, place in enumerate(places) if 16 * (i + 1) <= end - begin)]:
            if place >= 0:
                after[place] = chunked(**take(packed, begin, begin + count), initial=pool[[row]], final=True)[1]
    chunked(**packed, offsets=offsets, pool=pool, state_indices=rows, interval=16, interval_indices=kept)
    assert numpy.array_equal(pool, after)


def test_lines_of_delays_are_kept_too():
    layer = recur.library.qwen3_next_layer.with_options(plan="chunk", chunk=16, quick=True)
    random, sizes = numpy.random.default_rng(1), {"K": 16, "V": 16, "W": 4}

    def draw_of(value, *leading):
        shape = [side if isinstance(side, int) else sizes[side] for side in value.shape or ()]
        return random.standard_normal((*leading, *shape), dtype=FLOAT) / 2

    given = {value.name: draw_of(value, 2, 40, 2) for value in layer.declaration.inputs}
    params = {value.name: draw_of(value, 2) for value in layer.declaration.params}
    *_, states = layer(**given, **params, final=True)
    pool = {name: numpy.concatenate([state] * 6) for name, state in states.items()}
    kept = numpy.array([[8, 3], [1, 2]], numpy.int32)
    want, after = expect(layer, given, pool, kept, 16, **params)
    got = layer(**given, **params, pool=pool, state_indices=ROWS, interval=16, interval_indices=kept)
    assert len(pool) > 1 and numpy.array_equal(got, want)
    for name, array in after.items():
        assert numpy.array_equal(pool[name], array), name


def test_what_is_refused(chunked, inputs):
    pool, given = draw_pool(chunked, POOL), take(inputs, 0, 32)
    kept = numpy.array([[8, 3], [1, 2]], numpy.int32)
    rows = {"pool": pool, "state_indices": ROWS}

    def refuse(match, **options):
        before = pool.copy()
        with pytest.raises(recur.ArgumentError, match=match):
            chunked(**given, **options)
        assert numpy.array_equal(pool, before)

    refuse("interval_indices is of calls with interval=, which is left out", **rows, interval_indices=kept)
    refuse("positions is of calls with interval=, which is left out", **rows, positions=ROWS)
    refuse("interval is 0; it is a number of tokens, at least 1", **rows, interval=0, interval_indices=kept)
    refuse("say by interval_indices= to which rows", **rows, interval=16)
    refuse("without pool= there are no rows; give it, or leave interval_indices out", interval=16, interval_indices=kept)
    refuse("interval is 24; it must be a multiple of 16, the tokens in a chunk of plan 'chunk'", **rows, interval=24, interval_indices=kept)
    refuse("sequences come to 2 multiples of 16 tokens, and interval_indices has rows for 1", **rows, interval=16, interval_indices=kept[:, :1].copy())
    refuse(r"interval_indices has the shape \[2\]; it is \[sequences, multiples\]", **rows, interval=16, interval_indices=ROWS)
    refuse(r"interval_indices\[0\]\[1\] is 12, and the pools have 12 rows", **rows, interval=16, interval_indices=kept + [[0, 9], [0, 0]])
    refuse(r"interval_indices\[1\]\[0\] is 3, and so is \[0\]\[1\]; no row is written twice", **rows, interval=16, interval_indices=kept + [[0, 0], [2, 0]])
    refuse(r"interval_indices\[1\]\[1\] is 5, and so is state_indices\[0\]; no row is read", **rows, interval=16, interval_indices=kept + [[0, 0], [0, 3]])
    refuse(r"positions\[0\] is 5; with interval it must be a multiple", **rows, interval=16, interval_indices=kept, positions=ROWS)


def test_tensors(chunked, inputs):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    given = {name: torch.tensor(array) for name, array in take(inputs, 0, 48).items()}
    start, kept = {"S": draw_pool(chunked, POOL)}, numpy.array([[8, 3, 4], [1, 2, -1]], numpy.int32)
    for positions in (None, (16, 32)):
        for interval in (16, 48):
            want, after = expect(chunked, take(inputs, 0, 48), start, kept, interval, positions or (0, 0))
            for _ in range(2):  # the later ones as calls that were made before
                pool = torch.tensor(start["S"])
                got = chunked(
                    **given, pool=pool, state_indices=torch.tensor(ROWS), interval=interval, interval_indices=torch.tensor(kept),
                    positions=None if positions is None else torch.tensor(positions, dtype=torch.int32),
                )  # fmt: skip
                assert numpy.array_equal(got.numpy(), want) and numpy.array_equal(pool.numpy(), after["S"])


def test_a_compiled_model(chunked):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    given, rows = [torch.tensor(array) for array in draw(T=32).values()], torch.tensor(ROWS)
    start, kept = torch.tensor(draw_pool(chunked, POOL)), torch.tensor([[8, 3], [1, 2]], dtype=torch.int32)

    def model(pool, q, *others):
        return chunked(2 * q, *others, pool=pool, state_indices=rows, interval=16, interval_indices=kept) + 1

    own, pool = start.clone(), start.clone()
    want = model(own, *given)
    got = torch.compile(model, fullgraph=True)(pool, *given)
    assert torch.equal(got, want) and torch.equal(pool, own) and not torch.equal(own[8], start[8])


def test_calls_of_servers_leave_them(inputs):
    from recur import serving

    given = take(inputs, 0, 70)
    pool = numpy.zeros((POOL, 4, 16, 8), FLOAT)
    plain, kept = pool.copy(), numpy.array([[8], [3]], numpy.int32)
    want, _ = serving.fused_recurrent_gated_delta_rule(**given, initial_state=plain, ssm_state_indices=ROWS)
    got, _ = serving.fused_recurrent_gated_delta_rule(
        **given, initial_state=pool, ssm_state_indices=ROWS, interval=64, interval_indices=kept
    )  # fmt: skip
    assert numpy.array_equal(got, want) and numpy.array_equal(pool[ROWS], plain[ROWS])
    other = numpy.zeros((POOL, 4, 16, 8), FLOAT)
    serving.fused_recurrent_gated_delta_rule(**take(given, 0, 64), initial_state=other, ssm_state_indices=ROWS)
    assert numpy.allclose(pool[kept[:, 0]], other[ROWS], rtol=1e-5, atol=1e-6) and pool[8].any()
    pool[:] = 0
    q, k, v, g = (given[name] for name in "qkvg")
    serving.fused_recurrent_simple_gla(
        q.repeat(2, 2), k.repeat(2, 2), v, g=g, initial_state=pool, ssm_state_indices=ROWS, interval=64, interval_indices=kept
    )  # fmt: skip
    assert pool[kept[:, 0]].any()
