"""Tokens that are only tried: the numbers of calls of one token each, with the state after every token in its row of a pool."""

import numpy
import pytest
from conftest import FLOAT, draw_layer
from test_pools import draw_pool, take

import recur

ROWS = numpy.array([5, 0], numpy.int32)
TRIED = numpy.array([[8, 3, 1], [2, -1, 7]], numpy.int32)
POOL = 9


def go_one_by_one(recurrence, given, pool, begin, tried, counts=None, **options):
    """Calls of one token each. Gives the output, and the pools afterwards; states are those of sequences on their way."""
    tokens = tried.shape[1] if counts is None else max(counts)
    after = {name: array.copy() for name, array in pool.items()}
    states = {name: array[begin].astype(FLOAT) for name, array in pool.items()}
    outputs = []
    for token in range(tokens):
        o, last = recurrence(**take(given, token, token + 1), initial=states, final=True, **options)
        last = last if isinstance(last, dict) else dict(zip(states, [last]))
        for i, row in enumerate(tried[:, token]):
            if row >= 0 and (counts is None or token < counts[i]):
                for name, state in last.items():
                    after[name][row] = state[i].astype(after[name].dtype)
        states = last
        outputs.append(o)
    return numpy.concatenate(outputs, 1), after


def expect_same(got, pool, want, after):
    assert numpy.array_equal(got, want)
    for name, array in after.items():
        assert numpy.array_equal(pool[name], array), name


@pytest.mark.parametrize("tokens", [1, 2, 3])
@pytest.mark.parametrize("kind", [FLOAT, numpy.float16])
def test_tokens_have_the_bits_of_calls_of_one_each(gdn, inputs, tokens, kind):
    """States of 16 bits are rounded where they are kept, and not on the way."""
    given, pool = take(inputs, 0, tokens), {"S": draw_pool(gdn, POOL).astype(kind)}
    for plan in ("auto", "step", "chunk"):
        own, chosen = {"S": pool["S"].copy()}, gdn.with_options(plan=plan, quick=True)
        got = chosen(**given, pool=own, state_indices=ROWS, token_indices=TRIED[:, :tokens].copy())
        expect_same(got, own, *go_one_by_one(chosen, given, pool, ROWS, TRIED[:, :tokens]))


def test_in_either_orientation(gdn, inputs):
    given = take(inputs, 0, 3)
    pool = {"S": numpy.ascontiguousarray(draw_pool(gdn, POOL).swapaxes(2, 3))}
    want, after = go_one_by_one(gdn, given, pool, ROWS, TRIED, states_transposed=True)
    got = gdn(**given, pool=pool, state_indices=ROWS, token_indices=TRIED, states_transposed=True)
    expect_same(got, pool, want, after)


@pytest.mark.parametrize("accepted", [(1, 1), (3, 1), (2, 3)])
def test_a_call_begins_behind_the_tokens_that_were_accepted(gdn, inputs, accepted):
    """And has its own states in the same rows."""
    tried = numpy.array([[8, 3, 1], [2, 6, 7]], numpy.int32)
    pool = {"S": draw_pool(gdn, POOL)}
    gdn(**take(inputs, 0, 3), pool=pool, state_indices=ROWS, token_indices=tried)
    counts = numpy.array(accepted, numpy.int32)
    begin = tried[numpy.arange(2), counts - 1]
    given = take(inputs, 10, 13)
    want, after = go_one_by_one(gdn, given, pool, begin, tried)
    got = gdn(**given, pool=pool, state_indices=tried, accepted=counts, token_indices=tried)
    expect_same(got, pool, want, after)
    # Without rows of tokens the state goes to where it came from.
    o, S = gdn(**given, initial=pool["S"][begin], final=True)
    assert numpy.array_equal(gdn(**given, pool=pool, state_indices=tried, accepted=counts), o)
    assert numpy.array_equal(pool["S"][begin], S)


def test_packed_sequences_have_as_many_tokens_as_they_like(gdn, inputs):
    packed = {name: array[:1, :6] for name, array in inputs.items()}
    offsets = numpy.array([0, 1, 1, 4, 6])
    tried = numpy.array([[8, 99, 99], [99, 99, 99], [3, -2, 1], [2, 7, 8]], numpy.int64)
    begin = numpy.array([5, 4, 0, -1])
    pool = {"S": draw_pool(gdn, POOL)}
    after, outputs = {"S": pool["S"].copy()}, []
    for i, (first, end) in enumerate(zip(offsets[:-1], offsets[1:])):
        if first < end:
            start = pool["S"][begin[i : i + 1]] if begin[i] >= 0 else numpy.zeros_like(pool["S"][:1])
            o, own = go_one_by_one(gdn, take(packed, first, end), {"S": numpy.concatenate([after["S"], start])}, [POOL], tried[i : i + 1, : end - first])
            after, outputs = {"S": own["S"][:POOL]}, [*outputs, o]
    got = gdn(**packed, offsets=offsets, pool=pool, state_indices=begin, token_indices=tried)
    expect_same(got, pool, numpy.concatenate(outputs, 1), after)


def test_lines_of_delays_are_states_like_others():
    layer = recur.library.qwen3_next_layer.with_options(quick=True)
    given, params = draw_layer(layer, 2, 3)
    *_, states = layer(**given, **params, final=True)
    pool = {name: numpy.concatenate([state] * 5)[:POOL] for name, state in states.items()}
    want, after = go_one_by_one(lambda **rest: layer(**params, **rest), given, pool, ROWS, TRIED)
    got = layer(**given, **params, pool=pool, state_indices=ROWS, token_indices=TRIED)
    expect_same(got, pool, want, after)


def test_mistakes(gdn, inputs):
    pool, given = draw_pool(gdn, POOL), take(inputs, 0, 3)

    def refuse(match, tokens=given, **options):
        before = pool.copy()
        with pytest.raises(recur.ArgumentError, match=match):
            gdn(**tokens, **options)
        assert numpy.array_equal(pool, before)

    rows = {"pool": pool, "state_indices": ROWS}
    refuse("without pool= there are no rows; give it, or leave token_indices, accepted out", token_indices=TRIED, accepted=ROWS)
    refuse("say by state_indices= which row is whose", pool=pool, token_indices=TRIED)
    refuse(r"token_indices\[0\]\[2\] is 9, and the pools have 9 rows", **rows, token_indices=TRIED + [0, 0, 8])
    refuse(r"token_indices\[1\]\[0\] is 2, and so is \[0\]\[2\]; no row is written twice", **rows, token_indices=TRIED + [0, 0, 1])
    refuse(r"state_indices\[0\] is 7, and so is token_indices\[1\]\[2\]", pool=pool, state_indices=ROWS + 2, token_indices=TRIED)
    refuse("T is 3, and token_indices has rows for 2 tokens of a sequence", **rows, token_indices=TRIED[:, :2].copy())
    refuse("T is 4, and token_indices has rows for 3 tokens", take(inputs, 0, 4), **rows, token_indices=TRIED)
    many = numpy.arange(34, dtype=numpy.int32).reshape(2, 17)
    refuse("token_columns is 17; the states after 1 to 16 tokens are kept", take(inputs, 0, 17), **rows, token_indices=many)
    refuse(r"token_indices has the shape \[2\]; it is \[sequences, tokens\]", **rows, token_indices=ROWS)
    refuse(r"state_indices has the shape \[2\]; it is \[sequences, tokens\]", **rows, accepted=ROWS)
    refuse(r"state_indices has the shape \[2, 3\]; it is \[sequences\]", pool=pool, state_indices=TRIED, token_indices=TRIED)
    refuse("accepted is of 3 sequences, and the call has 2", pool=pool, state_indices=TRIED, accepted=numpy.ones(3, numpy.int32))
    for count in (0, 4):
        counts = numpy.array([1, count], numpy.int32)
        refuse(rf"accepted\[1\] is {count}; it counts along the rows of state_indices, from 1 to 3", pool=pool, state_indices=TRIED, accepted=counts)
    refuse("token_indices and final_indices are given", **rows, token_indices=TRIED, final_indices=ROWS)


def test_tensors(gdn, inputs):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    given = {name: torch.tensor(array) for name, array in take(inputs, 0, 3).items()}
    start = {"S": draw_pool(gdn, POOL)}
    tried, counts = numpy.array([[8, 3, 1], [2, 6, 7]], numpy.int32), numpy.array([3, 2], numpy.int32)
    want, after = go_one_by_one(gdn, take(inputs, 0, 3), start, tried[[0, 1], counts - 1], tried)
    for kind in (torch.int32, torch.int64):
        rows, accepted = torch.tensor(tried, dtype=kind), torch.tensor(counts, dtype=kind)
        for _ in range(3):  # the later ones as calls that were made before
            pool = torch.tensor(start["S"])
            got = gdn(**given, pool=pool, state_indices=rows, accepted=accepted, token_indices=rows)
            expect_same(got.numpy(), {"S": pool.numpy()}, want, after)
    plain = torch.tensor(ROWS)
    want, after = go_one_by_one(gdn, take(inputs, 0, 3), start, ROWS, tried)
    for _ in range(2):  # which is another call than the ones above
        pool = torch.tensor(start["S"])
        got = gdn(**given, pool=pool, state_indices=plain, token_indices=torch.tensor(tried))
        expect_same(got.numpy(), {"S": pool.numpy()}, want, after)
        gdn(**given, pool=pool, state_indices=plain)


def test_a_compiled_model(gdn, inputs):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    given = {name: torch.tensor(array) for name, array in take(inputs, 0, 3).items()}
    start, tried = torch.tensor(draw_pool(gdn, POOL)), torch.tensor([[8, 3, 1], [2, 6, 7]], dtype=torch.int32)

    def model(pool, counts, q, k, v, g, beta):
        return gdn(2 * q, k, v, g, beta, pool=pool, state_indices=tried, accepted=counts, token_indices=tried) + 1

    for counts in (torch.tensor([1, 2], dtype=torch.int32), torch.tensor([3, 1], dtype=torch.int32)):
        own, pool = start.clone(), start.clone()
        want = model(own, counts, **given)
        got = torch.compile(model, fullgraph=True)(pool, counts, **given)
        assert torch.equal(got, want) and torch.equal(pool, own) and not torch.equal(own, start)
    pools = [start.clone()]
    outputs = [torch.empty_like(given["v"])]
    torch.library.opcheck(
        torch.ops.recur.serve.default,
        (list(given.values()), pools, outputs, tried, None, tried, torch.tensor([1, 2], dtype=torch.int32), None, None, None, 0, 0, None, gdn.handle, False),
    )
