"""Pools of states in memory of a GPU. `tools/test-gpu` runs these where there is one; elsewhere they are skipped."""

import numpy
import pytest
from conftest import draw

import recur

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from replays import capture  # noqa: E402  (where PyTorch is)
from recur import debug  # noqa: E402  (where PyTorch is)

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no GPU")


def put(arrays):
    return {name: torch.tensor(array).cuda() for name, array in arrays.items()}


def rows_of(*rows):
    return torch.tensor(rows, dtype=torch.int32, device="cuda")


@pytest.fixture
def pool(gdn):
    return gdn(**put(draw(seed=3, B=7, T=9)), final=True)[1]


@pytest.mark.parametrize("tokens", [1, 4, 70])
def test_a_call_has_the_bits_of_one_whose_states_are_its_own(gdn, pool, tokens):
    given, rows = put(draw(T=tokens)), rows_of(5, 0)
    own = pool[rows.long()].clone()
    o, S = gdn(**given, initial=own, final=own)
    for own_rows in (rows, rows.long(), rows.cpu()):  # those of 64 bits are converted, and others brought to the GPU
        for _ in range(2):  # the later ones as calls that were made before
            states = pool.clone()
            assert torch.equal(gdn(**given, pool=states, state_indices=own_rows), o)
            assert torch.equal(states[rows.long()], S) and torch.equal(states[1:5], pool[1:5])


def test_a_graph_goes_by_the_rows_that_are_there_when_it_is_replayed(gdn, pool):
    given, rows = put(draw(T=1)), rows_of(5, 0)
    states = pool.clone()
    graph, o = capture(lambda: gdn(**given, pool=states, state_indices=rows))
    for chosen in ((2, 6), (3, -1), (1, 700)):  # the last of which lies beyond the pool
        states.copy_(pool)
        rows.copy_(rows_of(*chosen))
        graph.replay()
        start = torch.stack([pool[row] if 0 <= row < 7 else torch.zeros_like(pool[0]) for row in chosen])
        want, S = gdn(**given, initial=start, final=start)
        assert torch.equal(o, want)
        for sequence, row in enumerate(chosen):
            if 0 <= row < 7:
                assert torch.equal(states[row], S[sequence])
        untouched = [row for row in range(7) if row not in chosen]
        assert torch.equal(states[untouched], pool[untouched])


def test_rows_are_checked_where_that_is_wanted(gdn, pool, monkeypatch):
    given = put(draw(T=1))
    gdn(**given, pool=pool, state_indices=rows_of(0, 7))  # which nobody checks
    monkeypatch.setattr(debug, "indices", True)
    gdn(**given, pool=pool, state_indices=rows_of(0, -7))
    for rows, match in ((rows_of(0, 7), r"state_indices\[1\] is 7, and the pools have 7 rows"), (rows_of(3, 3), "no row is written for two sequences")):
        before = pool.clone()
        with pytest.raises(recur.ArgumentError, match=match):
            gdn(**given, pool=pool, state_indices=rows)
        assert torch.equal(pool, before)
    others = put(draw(T=3))  # such a call is made for the first time while rows are checked, and then without
    gdn(**others, pool=pool, state_indices=rows_of(0, 1))
    monkeypatch.setattr(debug, "indices", False)
    gdn(**others, pool=pool, state_indices=rows_of(0, 7))


def test_lines_of_delays_in_place():
    """A layer's prompt in place has the numbers of one whose final states are apart."""
    layer = recur.library.qwen3_next_layer
    random = numpy.random.default_rng(1)
    sizes = {"K": 16, "V": 16, "W": 4}

    def draw_of(value, *leading):
        shape = [side if isinstance(side, int) else sizes[side] for side in value.shape or ()]
        return torch.tensor(random.standard_normal((*leading, *shape), dtype=numpy.float32) / 2).cuda()

    given = {value.name: draw_of(value, 2, 70, 2) for value in layer.declaration.inputs}
    params = {value.name: draw_of(value, 2) for value in layer.declaration.params}
    *_, states = layer(**given, **params, final=True)
    o, last = layer(**given, **params, initial=states, final=True)
    pools = {name: torch.cat([state] * 3) for name, state in states.items()}
    got = layer(**given, **params, pool=pools, state_indices=rows_of(4, 1))
    assert torch.equal(got, o)
    for name, state in last.items():
        assert torch.equal(pools[name][[4, 1]], state), name


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_tokens_that_are_tried_are_kept_and_accepted(gdn, pool, kind):
    """As by calls of one token each, with states in float32 between them. For other types of states these are calls of another kernel,
    which may add in another order."""

    def same(got, want):
        return torch.equal(got, want) if kind == torch.float32 else torch.allclose(got, want, rtol=1e-5 if got.dtype == torch.float32 else 2**-7, atol=1e-6)

    tried, counts, given = rows_of(5, 2, 3, 0, 1, 6).reshape(2, 3), rows_of(3, 1), draw(T=3)
    states, begin = pool.to(kind), tried[[0, 1], (counts - 1).long()].long()
    before, own = states.clone(), states[begin].float()
    for _ in range(2):  # the later one as a call that was made before
        states.copy_(before)
        o = gdn(**put(given), pool=states, state_indices=tried, accepted=counts, token_indices=tried)
        S, after = own.clone(), before.clone()
        for token in range(3):
            one = {name: array[:, token : token + 1] for name, array in given.items()}
            want, S = gdn(**put(one), initial=S, final=True)
            assert same(o[:, token : token + 1], want)
            after[tried[:, token].long()] = S.to(kind)
        assert same(states, after)


def test_a_graph_goes_over_as_many_tokens_again_as_were_taken(gdn, pool):
    """Counts outside of those that there are count as the nearest."""
    given, rows, counts, states = draw(T=5), rows_of(5, 2), rows_of(0, 0), pool.clone()
    on_gpu = put(given)
    graph, o = capture(lambda: gdn(**on_gpu, pool=states, state_indices=rows, accepted=counts, replayed=3))
    for chosen in ((2, 0), (3, 1), (-4, 9)):
        states.copy_(pool)
        counts.copy_(rows_of(*chosen))
        graph.replay()
        after = pool.clone()
        for i, (count, row) in enumerate(zip(chosen, (5, 2))):
            S = pool[row : row + 1]
            for token in (*range(max(0, min(count, 3))), None, 3, 4):
                if token is None:
                    after[row] = S[0]
                    continue
                one = {name: array[i : i + 1, token : token + 1] for name, array in given.items()}
                want, S = gdn(**put(one), initial=S, final=True)
                if token >= 3:
                    assert torch.equal(o[i : i + 1, token - 3 : token - 2], want)
        assert torch.equal(states, after)


def test_a_graph_goes_by_the_counts_that_are_there_when_it_is_replayed(gdn, pool):
    given, tried, counts = put(draw(T=3)), rows_of(5, 2, 3, 0, 1, 6).reshape(2, 3), rows_of(1, 1)
    states = pool.clone()
    graph, o = capture(lambda: gdn(**given, pool=states, state_indices=tried, accepted=counts, token_indices=tried))
    for chosen in ((2, 3), (1, 0), (4, 2)):  # the later ones count beyond the rows of a sequence: it begins anew
        states.copy_(pool)
        counts.copy_(rows_of(*chosen))
        graph.replay()
        places = [tried[i, count - 1] if 0 < count < 4 else -1 for i, count in enumerate(chosen)]
        own = pool.clone()
        want = gdn(**given, pool=own, state_indices=rows_of(*map(int, places)), token_indices=tried)
        assert torch.equal(o, want) and torch.equal(states, own)


def test_bad_rows_of_tokens_are_found_where_that_is_asked_for(gdn, pool, monkeypatch):
    given, rows = put(draw(T=2)), rows_of(5, 0)
    for wrong in (rows_of(1, 2, 2, 3), rows_of(1, 2, 3, 7)):
        gdn(**given, pool=pool.clone(), state_indices=rows, token_indices=rows_of(1, 2, 3, 4).reshape(2, 2))
        with monkeypatch.context() as patch:
            patch.setattr(debug, "indices", True)
            with pytest.raises(recur.ArgumentError, match=r"token_indices\[1\]"):
                gdn(**given, pool=pool.clone(), state_indices=rows, token_indices=wrong.reshape(2, 2))


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_states_after_multiples_are_those_of_calls_that_end_there(gdn, kind):
    chunked = gdn.with_options(plan="chunk")
    given, pool = draw(T=256), chunked(**put(draw(seed=3, B=9, T=9)), final=True)[1].to(kind)
    rows, kept, positions = rows_of(5, 0), rows_of(7, 8, 2, 3, -1, 1).reshape(2, 3), rows_of(64, 128)
    want = pool.clone()
    for tokens, sequence, row in ((64, 0, 7), (192, 0, 8), (128, 1, 3), (256, 0, 5), (256, 1, 0)):
        own = pool.clone()
        chunked(**put({name: array[:, :tokens] for name, array in given.items()}), pool=own, state_indices=rows)
        want[row] = own[rows[sequence].long()]
    states = pool.clone()
    o = chunked(**put(given), pool=states, state_indices=rows)
    for _ in range(2):  # the later one as a call that was made before
        states = pool.clone()
        got = chunked(**put(given), pool=states, state_indices=rows, interval=128, interval_indices=kept, positions=positions)
        assert torch.equal(got, o) and torch.equal(states, want)
