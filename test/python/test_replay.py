"""Tokens that a call goes over again, and others that it tries behind them: the numbers of calls of one token each."""

import numpy
import pytest
from conftest import FLOAT, draw_layer
from test_pools import draw_pool, take

import recur

ROWS, POOL = numpy.array([5, 0], numpy.int32), 7
REPLAYED, TOKENS = 3, 5


def go(recurrence, given, states, sequence, tokens, **options):
    """Calls of one token each of one sequence. Gives the outputs, and the states afterwards."""
    outputs = []
    for token in tokens:
        one = {name: array[sequence : sequence + 1, token : token + 1] for name, array in given.items()}
        o, states = recurrence(**one, initial=states, final=True, **options)
        states = states if isinstance(states, dict) else {"S": states}
        outputs.append(o)
    return numpy.concatenate(outputs, 1) if outputs else None, states


def expect(recurrence, given, pool, counts, rows=ROWS, finals=None, **options):
    """The outputs of the tokens that are tried, and the pools afterwards."""
    after, outputs = {name: array.copy() for name, array in pool.items()}, []
    for i, (count, row, final) in enumerate(zip(counts, rows, rows if finals is None else finals)):
        start = {name: array[row : row + 1].astype(FLOAT) for name, array in pool.items()} if row >= 0 else None
        _, states = go(recurrence, given, start, i, range(count), **options)
        if final >= 0:
            for name, state in (states or {}).items():
                after[name][final] = state[0].astype(after[name].dtype)
        outputs.append(go(recurrence, given, states, i, range(REPLAYED, TOKENS), **options)[0])
    return numpy.concatenate(outputs), after


def expect_same(got, pool, want, after):
    assert numpy.array_equal(got, want)
    for name, array in after.items():
        assert numpy.array_equal(pool[name], array), name


@pytest.mark.parametrize("plan", ["auto", "step", "chunk"])
@pytest.mark.parametrize("kind", [FLOAT, numpy.float16])
def test_it_has_the_bits_of_calls_of_one_token_each(gdn, inputs, plan, kind):
    """States of 16 bits are rounded where they are stored, and not on the way."""
    given, start = take(inputs, 0, TOKENS), {"S": draw_pool(gdn, POOL).astype(kind)}
    chosen = gdn.with_options(plan=plan, quick=True)
    for counts in ((2, 0), (3, 1)):
        pool = {"S": start["S"].copy()}
        got = chosen(**given, pool=pool, state_indices=ROWS, accepted=numpy.array(counts), replayed=REPLAYED)
        expect_same(got, pool, *expect(chosen, given, start, counts))


def test_rows_of_their_own_and_none(gdn, inputs):
    given, counts = take(inputs, 0, TOKENS), numpy.array([3, 2])
    for rows, finals in (([4, 4], [1, 2]), ([-1, 6], [3, 6]), ([5, 0], [-1, 2])):
        start = {"S": draw_pool(gdn, POOL)}
        pool = {"S": start["S"].copy()}
        indices = {"state_indices": numpy.array(rows), "final_indices": numpy.array(finals)}
        got = gdn(**given, pool=pool, **indices, accepted=counts, replayed=REPLAYED)
        expect_same(got, pool, *expect(gdn, given, start, counts, rows, finals))


def test_packed_sequences_have_different_numbers_of_tokens(gdn, inputs):
    packed = {name: array[:1, :9] for name, array in inputs.items()}
    offsets, counts = numpy.array([0, 6, 9]), numpy.array([1, 2])
    start = {"S": draw_pool(gdn, POOL)}
    pool, after = {"S": start["S"].copy()}, {"S": start["S"].copy()}
    got = gdn(**packed, offsets=offsets, pool=pool, state_indices=ROWS, accepted=counts, replayed=2)
    for first, end, count, row in zip(offsets[:-1], offsets[1:], counts, ROWS):
        _, states = go(gdn, packed, {"S": start["S"][row : row + 1]}, 0, range(first, first + count))
        after["S"][row] = states["S"][0]
        assert numpy.array_equal(got[:, first + 2 : end], go(gdn, packed, states, 0, range(first + 2, end))[0])
    assert numpy.array_equal(pool["S"], after["S"])


def test_lines_of_delays_are_states_like_others():
    layer = recur.library.qwen3_next_layer.with_options(quick=True)
    given, params = draw_layer(layer, 2, TOKENS)
    *_, states = layer(**given, **params, final=True)
    start = {name: numpy.concatenate([state] * 4)[:POOL] for name, state in states.items()}
    pool, counts = {name: array.copy() for name, array in start.items()}, numpy.array([3, 1])
    want = expect(lambda **rest: layer(**params, **rest), given, start, counts)
    expect_same(layer(**given, **params, pool=pool, state_indices=ROWS, accepted=counts, replayed=REPLAYED), pool, *want)


def test_a_loop_says_what_single_tokens_say(gdn, inputs):
    """Each call goes over those of the call before that were taken, and the row is always behind them."""
    start = {"S": draw_pool(gdn, POOL)}
    pool, said, kept = {"S": start["S"].copy()}, 0, take(inputs, 0, 2)
    taken = 0
    for count in (1, 2, 2, 1):
        tried = take(inputs, said, said + 2)
        both = {name: numpy.concatenate([kept[name], tried[name]], 1) for name in tried}
        o = gdn(**both, pool=pool, state_indices=ROWS, accepted=numpy.full(2, taken), replayed=2)
        for i, row in enumerate(ROWS):
            want, _ = go(gdn, inputs, {"S": start["S"][row : row + 1]}, i, range(said + 2))
            assert numpy.array_equal(o[i : i + 1], want[:, -2:])
        kept, taken, said = tried, count, said + count


def test_out(gdn, inputs):
    given, pool = take(inputs, 0, TOKENS), {"S": draw_pool(gdn, POOL)}
    want, _ = expect(gdn, given, pool, (1, 1))
    out = numpy.empty_like(want)
    assert gdn(**given, pool=pool, state_indices=ROWS, accepted=numpy.array([1, 1]), replayed=REPLAYED, out=out) is out
    assert numpy.array_equal(out, want)


def test_mistakes(gdn, inputs):
    pool, given = draw_pool(gdn, POOL), take(inputs, 0, TOKENS)

    def refuse(match, **options):
        before = pool.copy()
        with pytest.raises(recur.ArgumentError, match=match):
            gdn(**{**given, "pool": pool, "state_indices": ROWS, "accepted": numpy.array([1, 2]), "replayed": REPLAYED, **options})
        assert numpy.array_equal(pool, before)

    refuse("replayed is -1; it is a number of tokens, at least 0", replayed=-1)
    refuse("replayed is 1.5; it is a number of tokens", replayed=1.5)
    refuse("say by accepted= how many of them were taken", accepted=None)
    refuse("without pool= there are no rows; give it, or leave accepted, replayed out", pool=None, state_indices=None)
    refuse("T is 5 in 'q'; of these tokens the first 6 are replayed", replayed=6)
    refuse(r"accepted\[1\] is 4; of the tokens that are replayed it is 0 to 3", accepted=numpy.array([1, 4]))
    refuse("none for token_indices", token_indices=numpy.zeros((2, 5), numpy.int32))
    refuse("none for interval", interval=64, interval_indices=numpy.zeros((2, 1), numpy.int32))
    refuse(r"state_indices has the shape \[2, 1\]; it is \[sequences\]", state_indices=ROWS[:, None])
    refuse(r"state_indices\[0\] is 7, and the pools have 7 rows", state_indices=ROWS + 2)
    refuse(r"sequence 1 has 2 tokens, of which the first 3 are replayed", offsets=numpy.array([0, 3, 5]), **{n: a[:1] for n, a in given.items()})


def test_tensors(gdn, inputs):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    given = {name: torch.tensor(array) for name, array in take(inputs, 0, TOKENS).items()}
    start, counts = {"S": draw_pool(gdn, POOL)}, numpy.array([3, 2], numpy.int32)
    want, after = expect(gdn, take(inputs, 0, TOKENS), start, counts)
    for kind in (torch.int32, torch.int64):
        rows, accepted = torch.tensor(ROWS, dtype=kind), torch.tensor(counts, dtype=kind)
        for _ in range(3):  # the later ones as calls that were made before
            pool = torch.tensor(start["S"])
            got = gdn(**given, pool=pool, state_indices=rows, accepted=accepted, replayed=REPLAYED)
            expect_same(got.numpy(), {"S": pool.numpy()}, want, after)
    for replayed in (1, 2):  # which are other calls
        pool = torch.tensor(start["S"])
        got = gdn(**given, pool=pool, state_indices=torch.tensor(ROWS), accepted=torch.tensor([1, 1]), replayed=replayed)
        assert got.shape[1] == TOKENS - replayed

    class Look(torch.utils._python_dispatch.TorchDispatchMode):
        """Sees the call as operators, as a compiler does."""

        seen = ()

        def __torch_dispatch__(self, operator, types, arguments=(), named=None):
            self.seen += (str(operator),)
            return operator(*arguments, **(named or {}))

    with Look() as look:
        pool = torch.tensor(start["S"])
        got = gdn(**given, pool=pool, state_indices=rows, accepted=accepted, replayed=REPLAYED)
    expect_same(got.numpy(), {"S": pool.numpy()}, want, after)
    assert "recur.serve.default" in look.seen
