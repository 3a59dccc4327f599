"""Servers' calls on pools, against the same calls whose states are their own."""

import inspect

import numpy
import pytest
from conftest import FLOAT, ROOT, error_of

import recur
from recur import fla, serving

N, T, H, K, V, ROWS = 3, 5, 4, 8, 6, 9
ROW = numpy.array([7, 0, 4], numpy.int32)
random = numpy.random.default_rng(3)


def normal(*shape):
    return random.standard_normal(shape).astype(FLOAT)


def unit(*shape):
    drawn = normal(*shape)
    return drawn / numpy.linalg.norm(drawn, axis=-1, keepdims=True)


def gate(*shape):
    return -abs(normal(*shape)) / 4


def share(*shape):
    return random.uniform(0.2, 0.8, shape).astype(FLOAT)


def draw(tokens=T):
    return {
        "q": unit(N, tokens, 2, K), "k": unit(N, tokens, 2, K), "v": normal(N, tokens, H, V), "g": gate(N, tokens, H), "beta": share(N, tokens, H),
    }  # fmt: skip


def expect(call, given, pool, own, **options):
    """What the call gives and leaves, where `own` is the same of states of the sequences' own."""
    start = pool.copy()
    o, S = own(**given, initial_state=start[ROW], output_final_state=True)[:2]
    got = call(**given, **options)
    output = got[0] if isinstance(got, tuple) else got
    assert error_of(output, o) < 1e-6
    start[ROW] = S
    assert error_of(pool, start) < 1e-6
    return got


def test_the_gated_delta_rule():
    pool = normal(ROWS, H, K, V)
    got = expect(
        lambda **given: serving.fused_recurrent_gated_delta_rule(**given, initial_state=pool, ssm_state_indices=ROW, use_qk_l2norm_in_kernel=True),
        draw(), pool, lambda **given: fla.fused_recurrent_gated_delta_rule(**given, use_qk_l2norm_in_kernel=True),
    )  # fmt: skip
    assert got[1] is pool


def test_states_with_values_first():
    pool = normal(ROWS, H, V, K)
    expect(
        lambda **given: serving.fused_recurrent_gated_delta_rule(**given, initial_state=pool, ssm_state_indices=ROW, state_v_first=True),
        draw(), pool, lambda **given: fla.fused_recurrent_gated_delta_rule(**given, state_v_first=True),
    )  # fmt: skip


def test_packed_prompts():
    pool, offsets = normal(ROWS, H, K, V), numpy.array([0, 2, 2, T])
    given = {name: array[:1] for name, array in draw().items()}
    expect(
        lambda **given: serving.fused_recurrent_gated_delta_rule(**given, initial_state=pool, ssm_state_indices=ROW, cu_seqlens=offsets),
        given, pool, lambda **given: fla.fused_recurrent_gated_delta_rule(**given, cu_seqlens=offsets),
    )  # fmt: skip


def test_without_indices_the_rows_are_the_sequences():
    given, states = draw(), normal(N, H, K, V)
    o, S = fla.fused_recurrent_gated_delta_rule(**given, initial_state=states, output_final_state=True)
    got, pool = serving.fused_recurrent_gated_delta_rule(**given, initial_state=states)
    assert pool is states and numpy.array_equal(got, o) and numpy.array_equal(states, S)


def test_the_update_of_another_server():
    pool = normal(ROWS, H, K, V)
    before = pool.copy()
    given = draw(1)
    tried = serving.fused_recurrent_gated_delta_rule_update(
        **given, initial_state_source=pool, initial_state_indices=ROW, disable_state_update=True
    )
    assert numpy.array_equal(pool, before)
    o = expect(
        lambda **given: serving.fused_recurrent_gated_delta_rule_update(**given, initial_state_source=pool, initial_state_indices=ROW),
        given, pool, fla.fused_recurrent_gated_delta_rule,
    )  # fmt: skip
    assert numpy.array_equal(o, tried)


@pytest.mark.parametrize("words", [
    {"pool": "initial_state", "rows": "ssm_state_indices"}, {"pool": "initial_state_source", "rows": "initial_state_indices"},
])  # fmt: skip
def test_gates_in_the_kernel_and_what_a_projection_leaves(words):
    given, A_log, dt_bias = draw(1), normal(H) / 4, normal(H)
    a, b = normal(N, H), normal(N, H)
    qkv = {name: given[name] for name in ("q", "k", "v")}
    decay = -numpy.exp(A_log) * numpy.log1p(numpy.exp(a + dt_bias))
    own = {**qkv, "g": decay[:, None], "beta": (1 / (1 + numpy.exp(-b)))[:, None]}
    start = normal(ROWS, H, K, V)
    o, S = fla.fused_recurrent_gated_delta_rule(**own, initial_state=start[ROW], output_final_state=True)
    pool = start.copy()
    got = serving.fused_sigmoid_gating_delta_rule_update(
        A_log=A_log, a=a, b=b, dt_bias=dt_bias, **qkv, **{words["pool"]: pool, words["rows"]: ROW}
    )
    got = got[0] if isinstance(got, tuple) else got
    assert error_of(got, o) < 1e-5 and error_of(pool[ROW], S) < 1e-5
    pool, out = start.copy(), numpy.zeros((N, 1, H, V), FLOAT)
    mixed = numpy.concatenate([array.reshape(N, -1) for array in qkv.values()], 1)
    got, same = serving.fused_recurrent_gated_delta_rule_packed_decode(mixed, a, b, A_log, dt_bias, K**-0.5, pool, out, ROW)
    assert got is out and same is pool and error_of(out, o) < 1e-5 and error_of(pool[ROW], S) < 1e-5
    with pytest.raises(recur.ArgumentError, match="mixed_qkv has 55 numbers a token"):
        serving.fused_recurrent_gated_delta_rule_packed_decode(mixed[:, :55], a, b, A_log, dt_bias, 1.0, pool, out, ROW)


FAMILY = {
    "delta_rule": lambda: {"q": unit(N, T, 2, K), "k": unit(N, T, 2, K), "v": normal(N, T, H, V), "beta": share(N, T, H)},
    "kda": lambda: {"q": unit(N, T, H, K), "k": unit(N, T, H, K), "v": normal(N, T, H, V), "g": gate(N, T, H, K), "beta": share(N, T, H)},
    "gdn2": lambda: {
        "q": unit(N, T, H, K), "k": unit(N, T, H, K), "v": normal(N, T, H, V), "g": gate(N, T, H, K), "b": share(N, T, H, K), "w": share(N, T, H, V),
    },
    "gla": lambda: {"q": unit(N, T, 2, K), "k": unit(N, T, 2, K), "v": normal(N, T, H, V), "gk": gate(N, T, H, K)},
    "simple_gla": lambda: {"q": unit(N, T, 2, K), "k": unit(N, T, 2, K), "v": normal(N, T, H, V), "g": gate(N, T, H)},
    "rwkv7": lambda: {
        "r": unit(N, T, H, K), "w": gate(N, T, H, K), "k": unit(N, T, H, K), "v": normal(N, T, H, V), "a": -unit(N, T, H, K), "b": unit(N, T, H, K) / 2,
    },
    "comba": lambda: {
        "q": unit(N, T, H, K), "k": unit(N, T, H, K), "p": unit(N, T, H, K), "v": normal(N, T, H, V), "g": gate(N, T, H), "beta": share(N, T, H),
    },
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILY)
def test_each_recurrence_of_the_family(name):
    pool = normal(ROWS, H, K, V)
    served, own = (getattr(module, f"fused_recurrent_{name}") for module in (serving, fla))
    got = expect(lambda **given: served(**given, initial_state=pool, ssm_state_indices=ROW), FAMILY[name](), pool, own)
    assert got[1] is pool


@pytest.mark.parametrize("indices", [ROW, None])
def test_a_preconditioner_has_a_pool_of_its_own(indices):
    name = "fused_recurrent_precond_gated_delta_rule"
    given = {"q": unit(N, T, H, K), "k": unit(N, T, H, K), "v": normal(N, T, H, V)}
    given |= {"g_atk": gate(N, T, H), "g": gate(N, T, H), "beta_atk": share(N, T, H), "beta": share(N, T, H)}
    rows = numpy.arange(N) if indices is None else indices
    S, A = (array[:N] if indices is None else array for array in (normal(ROWS, H, K, V), share(ROWS, H, K)))
    with pytest.raises(recur.ArgumentError, match="the pool of the state 'A' is missing"):
        getattr(serving, name)(**given, initial_state=S, ssm_state_indices=indices)
    o, *last = getattr(fla, name)(**given, initial_state=S[rows], initial_A_state=A[rows], output_final_state=True)
    got, *pools = getattr(serving, name)(**given, initial_state=S, initial_A_state=A, ssm_state_indices=indices)
    assert pools[0] is S and pools[1] is A
    assert error_of(got, o) < 1e-6 and all(error_of(pool[rows], state) < 1e-6 for pool, state in zip(pools, last))


def test_two_states_are_two_pools():
    given = {"q": unit(N, T, H, K), "k": unit(N, T, H, K), "v": normal(N, T, H, V), "log_alpha": gate(N, T, H), "log_mu": gate(N, T, H), "beta": share(N, T, H)}
    pools = normal(ROWS, H, K, V), normal(ROWS, H, K, V)
    start = tuple(pool[ROW] for pool in pools)
    o, last = fla.fused_recurrent_momentum_delta_rule(**given, initial_state=start, output_final_state=True)
    got, _ = serving.fused_recurrent_momentum_delta_rule(**given, initial_state=pools, ssm_state_indices=ROW)
    assert error_of(got, o) < 1e-6 and all(error_of(pool[ROW], state) < 1e-6 for pool, state in zip(pools, last))


def loop_over_channels(state, x, dt, A, B, C, D, z, dt_bias):
    step = numpy.log1p(numpy.exp((dt + dt_bias).astype(float)))
    group = numpy.repeat(B, x.shape[1] // B.shape[1], 1), numpy.repeat(C, x.shape[1] // C.shape[1], 1)
    state = numpy.exp(step[..., None] * A) * state + (step * x)[..., None] * group[0][:, :, None]
    y = (state * group[1][:, :, None]).sum(-1) + D * x
    return y * z / (1 + numpy.exp(-z)), state


@pytest.mark.parametrize("tied", [False, True])
def test_the_update_of_mamba(tied):
    P, S = 6, 8
    x, z, B, C = normal(N, H, P), normal(N, H, P), normal(N, 2, S), normal(N, 2, S)

    def spread(array, *sides):
        return numpy.broadcast_to(array[(...,) + (None,) * len(sides)], (*array.shape, *sides))

    if tied:
        dt, A, D, dt_bias = spread(normal(N, H), P), spread(-share(H), P, S), spread(normal(H), P), spread(normal(H), P)
    else:
        dt, A, D, dt_bias = normal(N, H, P), -share(H, P, S), normal(H, P), normal(H, P)
    pool = normal(ROWS, H, P, S)
    y, last = loop_over_channels(pool[ROW], x, dt, A, B, C, D, z, dt_bias)
    for finals in (None, numpy.array([1, 2, 3], numpy.int32)):
        own, out = pool.copy(), numpy.zeros_like(x)
        got = serving.selective_state_update(
            own, x, dt, A, B, C, D, z, dt_bias, dt_softplus=True, state_batch_indices=ROW, dst_state_batch_indices=finals, out=out
        )
        assert error_of(got, y) < 2e-5 and error_of(out, y) < 2e-5
        assert error_of(own[ROW if finals is None else finals], last) < 2e-5


@pytest.mark.parametrize("tied", [False, True])
def test_tokens_of_mamba_that_are_tried(tied):
    """Of packed sequences, each of which begins behind the tokens that it accepted, against calls of one token each."""
    P, S, offsets, counts = 6, 8, numpy.array([0, 2, 3, 6]), numpy.array([2, 1, 3], numpy.int32)
    total = int(offsets[-1])
    x, z, B, C = normal(total, H, P), normal(total, H, P), normal(total, 2, S), normal(total, 2, S)

    def spread(array, *sides):
        return numpy.broadcast_to(array[(...,) + (None,) * len(sides)], (*array.shape, *sides))

    dt, A, D, dt_bias = normal(total, H, P), -share(H, P, S), normal(H, P), normal(H, P)
    if tied:
        dt, A, dt_bias = spread(dt[..., 0], P), spread(A[:, 0, 0], P, S), spread(dt_bias[:, 0], P)
    pool = normal(ROWS, H, P, S)
    before, states = pool.copy(), pool[TRIED[range(N), counts - 1]]
    got = serving.selective_state_update(
        pool, x, dt, A, B, C, D, z, dt_bias, dt_softplus=True, state_batch_indices=TRIED, num_accepted_tokens=counts, cu_seqlens=offsets
    )
    for sequence, (first, end) in enumerate(zip(offsets[:-1], offsets[1:])):
        state = states[sequence : sequence + 1]
        for token in range(first, end):
            own = slice(token, token + 1)
            y, state = loop_over_channels(state, x[own], dt[own], A, B[own], C[own], D, z[own], dt_bias)
            assert error_of(got[own], y) < 2e-5
            before[TRIED[sequence, token - first]] = state[0]
    assert error_of(pool, before) < 2e-5
    with pytest.raises(recur.ArgumentError, match="num_accepted_tokens counts along state_batch_indices, which is .sequences, tokens. then"):
        serving.selective_state_update(pool, x, dt, A, B, C, state_batch_indices=ROW, num_accepted_tokens=counts)


def test_prompts_of_mamba():
    """One row each, and the state after the last token."""
    P, S, offsets = 6, 8, numpy.array([0, 2, 3, 6])
    x, dt, B, C, A, D = normal(6, H, P), normal(6, H, P), normal(6, 2, S), normal(6, 2, S), -share(H, P, S), normal(H, P)
    pool = normal(ROWS, H, P, S)
    own = pool.copy()
    got = serving.selective_state_update(pool, x, dt, A, B, C, D, state_batch_indices=ROW, cu_seqlens=offsets)
    for row, first, end in zip(ROW, offsets[:-1], offsets[1:]):
        for token in range(first, end):
            one = slice(token, token + 1)
            y = serving.selective_state_update(own, x[one], dt[one], A, B[one], C[one], D, state_batch_indices=ROW[ROW == row])
            assert error_of(got[one], y) < 1e-5
    assert error_of(pool, own) < 1e-5


def test_the_update_of_mamba_without_heads():
    P, S = 6, 8
    x, dt, B, C, A, D = normal(N, P), normal(N, P), normal(N, S), normal(N, S), -share(P, S), normal(P)
    pool = normal(ROWS, P, S)
    state = numpy.exp(dt[..., None] * A) * pool[ROW] + (dt * x)[..., None] * B[:, None]
    y = (state * C[:, None]).sum(-1) + D * x
    assert error_of(serving.selective_state_update(pool, x, dt, A, B, C, D, state_batch_indices=ROW), y) < 1e-5
    assert error_of(pool[ROW], state) < 1e-5


TRIED = numpy.array([[7, 1, 5], [0, 2, 3], [4, 6, 8]], numpy.int32)


@pytest.mark.parametrize("name", ["gated_delta_rule", *FAMILY])
@pytest.mark.parametrize("accepted", [None, numpy.array([2, 3, 1], numpy.int32)])
def test_tokens_that_are_only_tried(name, accepted):
    """The state after each is in its row, and the next call begins with that of the last one that was accepted."""
    pool = normal(ROWS, H, K, V)
    start = pool.copy()
    given = {word: array[:, :3] for word, array in (draw() if name == "gated_delta_rule" else FAMILY[name]()).items()}
    served, own = (getattr(module, f"fused_recurrent_{name}") for module in (serving, fla))
    got, same = served(**given, initial_state=pool, ssm_state_indices=TRIED, num_accepted_tokens=accepted)
    S = start[TRIED[:, 0] if accepted is None else TRIED[range(N), accepted - 1]]
    for token in range(3):
        o, S = own(**{word: array[:, token : token + 1] for word, array in given.items()}, initial_state=S, output_final_state=True)
        assert error_of(got[:, token : token + 1], o) < 1e-6
        start[TRIED[:, token]] = S
    assert same is pool and error_of(pool, start) < 1e-6


@pytest.mark.parametrize("name", ["gated_delta_rule", *FAMILY])
def test_tokens_that_are_replayed(name):
    """Of the first three tokens those that were taken lead to the state that is stored, and the last two are tried."""
    pool, counts = normal(ROWS, H, K, V), numpy.array([2, 0, 3], numpy.int32)
    start, given = pool.copy(), draw() if name == "gated_delta_rule" else FAMILY[name]()
    served, own = (getattr(module, f"fused_recurrent_{name}") for module in (serving, fla))
    got, same = served(**given, initial_state=pool, ssm_state_indices=ROW, num_accepted_tokens=counts, num_replayed_tokens=3)
    for i, count in enumerate(counts):

        def run(first, end, S, i=i):
            return own(**{word: array[i : i + 1, first:end] for word, array in given.items()}, initial_state=S, output_final_state=True)[:2]

        S = start[ROW[i : i + 1]]
        S = run(0, count, S)[1] if count else S
        assert error_of(got[i : i + 1], run(3, T, S)[0]) < 1e-6
        start[ROW[i]] = S[0]
    assert same is pool and error_of(pool, start) < 1e-6


@pytest.mark.parametrize("name", ["gated_delta_rule", *FAMILY])
def test_tokens_that_are_tried_as_trees(name):
    """Two tokens follow the first one."""
    pool = normal(ROWS, H, K, V)
    start = pool.copy()
    given = {word: array[:, :3] for word, array in (draw() if name == "gated_delta_rule" else FAMILY[name]()).items()}
    served, own = (getattr(module, f"fused_recurrent_{name}") for module in (serving, fla))
    got, same = served(**given, initial_state=pool, ssm_state_indices=TRIED, retrieve_parent_token=numpy.array([-1, 0, 0], numpy.int32))
    after = [start[TRIED[:, 0]]]
    for token, parent in enumerate((-1, 0, 0)):
        one = {word: array[:, token : token + 1] for word, array in given.items()}
        o, S = own(**one, initial_state=after[parent + 1], output_final_state=True)
        assert error_of(got[:, token : token + 1], o) < 1e-6
        start[TRIED[:, token]] = S
        after.append(S)
    assert same is pool and error_of(pool, start) < 1e-6


def test_tokens_that_are_tried_as_trees_by_the_other_calls():
    """Against the same tokens of each path as a chain."""
    P, S, offsets, parents, path = 6, 8, numpy.arange(N + 1) * 3, numpy.array([[-1, 0, 0]] * N, numpy.int32), [0, 2]
    rows, short = numpy.ascontiguousarray(TRIED[:, path]), numpy.arange(N + 1) * 2
    x, dt, B, C, A = normal(N * 3, H, P), normal(N * 3, H, P), normal(N * 3, 2, S), normal(N * 3, 2, S), -share(H, P, S)
    pool = normal(ROWS, H, P, S)
    chain, taken = pool.copy(), [3 * i + token for i in range(N) for token in path]
    got = serving.selective_state_update(
        pool, x, dt, A, B, C, state_batch_indices=TRIED, cu_seqlens=offsets, retrieve_parent_token=parents
    )  # fmt: skip
    want = serving.selective_state_update(
        chain, x[taken], dt[taken], A, B[taken], C[taken], state_batch_indices=rows, cu_seqlens=short, num_accepted_tokens=numpy.ones(N, numpy.int32)
    )
    assert error_of(got[taken], want) < 1e-6 and error_of(pool[rows], chain[rows]) < 1e-6
    with pytest.raises(recur.ArgumentError, match="retrieve_parent_token is of tokens with rows in state_batch_indices, which is .sequences, tokens. then"):
        serving.selective_state_update(pool, x, dt, A, B, C, state_batch_indices=ROW, retrieve_parent_token=parents)
    A_log, dt_bias, a, b, states, given = normal(H) / 4, normal(H), normal(N, T, H), normal(N, T, H), normal(ROWS, H, K, V), draw()
    given, before = {word: given[word][:, :3] for word in ("q", "k", "v")} | {"a": a[:, :3], "b": b[:, :3]}, states.copy()
    run = serving.fused_sigmoid_gating_delta_rule_update
    got, _ = run(**given, A_log=A_log, dt_bias=dt_bias, initial_state=states, ssm_state_indices=TRIED, retrieve_parent_token=parents)
    given = {word: numpy.ascontiguousarray(array[:, path]) for word, array in given.items()}
    want, _ = run(**given, A_log=A_log, dt_bias=dt_bias, initial_state=before, ssm_state_indices=rows)
    assert error_of(got[:, path], want) < 1e-6 and error_of(states[rows], before[rows]) < 1e-6


def test_tokens_that_are_tried_by_the_other_calls():
    A_log, dt_bias, a, b, pool, given = normal(H) / 4, normal(H), normal(N, T, H), normal(N, T, H), normal(ROWS, H, K, V), draw()
    given = {word: given[word] for word in ("q", "k", "v")}
    parts = [{word: array[:, first : first + 1] for word, array in {**given, "a": a, "b": b}.items()} for first in range(3)]
    many = {word: array[:, :3] for word, array in {**given, "a": a, "b": b}.items()}
    own, counts = pool.copy(), numpy.array([1, 2, 3], numpy.int32)
    got, _ = serving.fused_sigmoid_gating_delta_rule_update(
        **many, A_log=A_log, dt_bias=dt_bias, initial_state=own, ssm_state_indices=TRIED, num_accepted_tokens=counts
    )
    row, before = TRIED[range(N), counts - 1], pool.copy()
    for token, part in enumerate(parts):
        o, _ = serving.fused_sigmoid_gating_delta_rule_update(**part, A_log=A_log, dt_bias=dt_bias, initial_state=before, ssm_state_indices=row)
        assert error_of(got[:, token : token + 1], o) < 1e-6 and error_of(own[TRIED[:, token]], before[row]) < 1e-6
    update = serving.fused_recurrent_gated_delta_rule_update
    given = {word: array[:, :3] for word, array in draw().items()}
    before = own.copy()
    tried = update(**given, initial_state_source=own, initial_state_indices=TRIED, disable_state_update=True)
    assert numpy.array_equal(own, before)
    assert numpy.array_equal(update(**given, initial_state_source=own, initial_state_indices=TRIED), tried) and not numpy.array_equal(own, before)


def test_a_negative_index_has_no_row():
    pool, given = normal(ROWS, H, K, V), draw(1)
    before = pool.copy()
    o, _ = serving.fused_recurrent_gated_delta_rule(**given, initial_state=pool, ssm_state_indices=numpy.full(N, -1, numpy.int32))
    assert numpy.array_equal(pool, before) and error_of(o, fla.fused_recurrent_gated_delta_rule(**given)[0]) < 1e-6


def test_mistakes():
    pool, given = normal(ROWS, H, K, V), draw(1)

    def refuse(match, call=serving.fused_recurrent_gated_delta_rule, **options):
        with pytest.raises(recur.ArgumentError, match=match):
            call(**{**given, "initial_state": pool, "ssm_state_indices": ROW, **options})

    refuse("reads and writes states in a pool: give it as initial_state; ", initial_state=None)
    refuse("states are written in place; for others gather the rows", inplace_final_state=False)
    refuse("num_accepted_tokens counts along ssm_state_indices, which is .sequences, tokens. then", num_accepted_tokens=ROW)
    refuse("accepted.0. is 7; of the tokens that are replayed it is 0 to 1", num_accepted_tokens=ROW, num_replayed_tokens=1)
    refuse("say by accepted= how many of them were taken", num_replayed_tokens=1)
    refuse("accepted.0. is 7; it counts along", num_accepted_tokens=ROW, ssm_state_indices=ROW[:, None])
    refuse("state_indices.2. is 9, and the pools have 9 rows", ssm_state_indices=numpy.array([0, 1, 9], numpy.int32))
    refuse(r"state_indices is no array: a list; write numpy.array\(state_indices, 'int32'\)", ssm_state_indices=[0, 1, 2])
    with pytest.raises(recur.ArgumentError, match="give it as initial_state_source"):
        serving.fused_recurrent_gated_delta_rule_update(**given, initial_state_indices=ROW)
    kda = FAMILY["kda"]()
    for word in ("output_final_state", "return_intermediate_states", "cp_context"):
        with pytest.raises(recur.ArgumentError, match=f"leave {word} out"):
            serving.fused_recurrent_kda(**kda, initial_state=pool, ssm_state_indices=ROW, **{word: True})
        assert word not in inspect.signature(serving.fused_recurrent_kda).parameters
    with pytest.raises(recur.ArgumentError, match="a negative index has no row, and pad_slot_id is 0"):
        serving.selective_state_update(pool, *[None] * 5, pad_slot_id=0)
    assert "ssm_state_indices" in inspect.signature(serving.fused_recurrent_kda).parameters


@pytest.mark.parametrize("rows, quantum, tries, trees", [(2, 3, 0, 1), (4, 2, 0, 1), (9, 8, 0, 1), (4, 2, 3, 1), (9, 8, 7, 1), (4, 2, 5, 2), (9, 8, 15, 4)])
def test_a_server_gives_each_request_the_answer_that_it_has_alone(monkeypatch, rows, quantum, tries, trees):
    """Of examples/serve.py: whatever else is in its batches, however often it gives its row back, and whether words are guessed, as a chain or a tree."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    import serve

    prefix, requests = [5, 3, 8], serve.draw_requests(7, seed=3)
    server = serve.Server(rows, prefix, quantum, tries, trees)
    server.serve([requests[:4], [], requests[4:]])
    assert (server.evictions > 0) == (rows < 9) and sorted(server.free) == list(range(1, rows))
    assert (0 < server.taken < server.guesses) == (tries > 0)
    for request in requests:
        assert len(request.answer) == request.wanted and request.answer == serve.answer_alone(request, prefix)
