"""Tokens that are tried as a tree: the numbers of calls of one token each along every path, and of the pools nothing else is touched."""

import numpy
import pytest
from conftest import FLOAT, draw_layer
from test_pools import draw_pool, take

import recur

ROWS, POOL = numpy.array([5, 0], numpy.int32), 12
TREES = numpy.array([[-1, 0, 0, 2], [-1, -1, 1, 0]], numpy.int32)
TRIED = numpy.array([[8, 3, 1, 10], [2, -1, 7, 11]], numpy.int32)


def find_path(parents, token):
    return [*find_path(parents, parents[token]), token] if token >= 0 else []


def go_along(recurrence, given, states, sequence, path, **options):
    """Calls of one token each of one sequence. Gives the last one's output, and the states afterwards."""
    o = None
    for token in path:
        one = {name: array[sequence : sequence + 1, token : token + 1] for name, array in given.items()}
        o, states = recurrence(**one, initial=states, final=True, **options)
        states = states if isinstance(states, dict) else {"S": states}
    return o, states


def expect(recurrence, given, pool, trees, tried=None, counts=None, first=0, **options):
    """Outputs of the tokens from the first on, and the pools afterwards. `counts` say of which of the tokens before it the path was taken."""
    after, outputs = {name: array.copy() for name, array in pool.items()}, []
    for i, (row, parents) in enumerate(zip(ROWS, trees)):
        start = {name: array[row : row + 1].astype(FLOAT) for name, array in pool.items()}
        if counts is not None:
            _, start = go_along(recurrence, given, start, i, find_path(parents, counts[i] - 1), **options)
            for name, state in start.items():
                after[name][row] = state[0].astype(after[name].dtype)
        own = []
        for token in range(first, len(parents)):
            path = [first + t for t in find_path(parents[first:], token - first)]
            o, states = go_along(recurrence, given, start, i, path, **options)
            own.append(o)
            if tried is not None and tried[i, token] >= 0:
                for name, state in states.items():
                    after[name][tried[i, token]] = state[0].astype(after[name].dtype)
        outputs.append(numpy.concatenate(own, 1))
    return numpy.concatenate(outputs), after


def expect_same(got, pool, want, after):
    assert numpy.array_equal(got, want)
    for name, array in after.items():
        assert numpy.array_equal(pool[name], array), name


@pytest.mark.parametrize("kind", [FLOAT, numpy.float16])
def test_each_token_has_the_bits_of_its_path(gdn, inputs, kind):
    """States of 16 bits are rounded where they are kept, and not on the way."""
    given, start = take(inputs, 0, 4), {"S": draw_pool(gdn, POOL).astype(kind)}
    for plan, trees in (("auto", TREES), ("step", TREES), ("auto", TREES[0])):
        chosen, pool = gdn.with_options(plan=plan, quick=True), {"S": start["S"].copy()}
        got = chosen(**given, pool=pool, state_indices=ROWS, token_indices=TRIED, parents=trees)
        expect_same(got, pool, *expect(chosen, given, start, numpy.broadcast_to(trees, (2, 4)), TRIED))


@pytest.mark.parametrize("counts", [(4, 3), (0, 1)])
def test_the_path_that_was_taken_is_replayed(gdn, inputs, counts):
    both = numpy.concatenate([TREES, [[-1, 0, 0], [-1, 0, -1]]], 1).astype(numpy.int64)
    given, start = take(inputs, 0, 7), {"S": draw_pool(gdn, POOL)}
    pool = {"S": start["S"].copy()}
    got = gdn(**given, pool=pool, state_indices=ROWS, accepted=numpy.array(counts), replayed=4, parents=both)
    expect_same(got, pool, *expect(gdn, given, start, both, counts=counts, first=4))


def test_the_next_call_begins_with_any_of_them(gdn, inputs):
    pool, counts = draw_pool(gdn, POOL), numpy.array([4, 1], numpy.int32)
    gdn(**take(inputs, 0, 4), pool=pool, state_indices=ROWS, token_indices=TRIED, parents=TREES)
    given, begin = take(inputs, 4, 5), TRIED[[0, 1], counts - 1]
    want, S = gdn(**given, initial=pool[begin], final=True)
    got = gdn(**given, pool=pool, state_indices=TRIED, accepted=counts)
    assert numpy.array_equal(got, want) and numpy.array_equal(pool[begin], S)


def test_lines_of_delays_are_states_like_others():
    layer = recur.library.qwen3_next_layer.with_options(quick=True)
    given, params = draw_layer(layer, 2, 4)
    *_, states = layer(**given, **params, final=True)
    start = {name: numpy.concatenate([state] * 6)[:POOL] for name, state in states.items()}
    pool = {name: array.copy() for name, array in start.items()}
    got = layer(**given, **params, pool=pool, state_indices=ROWS, token_indices=TRIED, parents=TREES)
    expect_same(got, pool, *expect(layer, given, start, TREES, TRIED, **params))


def test_torch_has_the_same_bits_again_and_again(gdn, inputs):
    torch = pytest.importorskip("torch")
    given, start = take(inputs, 0, 4), draw_pool(gdn, POOL)
    want, after = expect(gdn, given, {"S": start}, TREES, TRIED)
    chain, after_chain = expect(gdn, given, {"S": start}, numpy.broadcast_to([-1, 0, 1, 2], (2, 4)), TRIED)
    tensors = {name: torch.tensor(array) for name, array in given.items()}
    rows = {"state_indices": torch.tensor(ROWS), "token_indices": torch.tensor(TRIED)}
    for parents, outputs, pools in ((torch.tensor(TREES), want, after), (None, chain, after_chain)) * 3:
        pool = torch.tensor(start)
        got = gdn(**tensors, pool=pool, **rows, parents=parents)
        expect_same(got.numpy(), {"S": pool.numpy()}, outputs, pools)


def test_mistakes(gdn, inputs):
    pool, given = draw_pool(gdn, POOL), take(inputs, 0, 4)

    def refuse(match, **options):
        with pytest.raises(recur.ArgumentError, match=match):
            gdn(**given, **options)

    rows = {"pool": pool, "state_indices": ROWS}
    refuse("without pool= there are no rows; give it, or leave parents out", parents=TREES)
    refuse(r"parents\[0\]\[2\] is 2; it is the number of an earlier token of its tree, of which this one is 2, or -1", **rows, parents=TREES + [0, 0, 2, 0])
    refuse(r"parents\[3\] is -2; it is the number of an earlier token", **rows, parents=TREES[0] - [0, 0, 0, 4])
    refuse(r"sequence 0 has 4 tokens, and parents has numbers for 3", **rows, parents=TREES[:, :3])
    refuse(r"parents has the shape \[1, 2, 4\]; it is \[tokens\] or \[sequences, tokens\]", **rows, parents=TREES[None])
    refuse("parents is of 1 sequences, and the call has 2", **rows, parents=TREES[:1])
    refuse("no states of a tree are kept for interval", **rows, parents=TREES, interval=64, interval_indices=TRIED)
