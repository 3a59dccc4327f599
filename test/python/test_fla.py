"""flash-linear-attention's calls, against loops over tokens in float64."""

import itertools
import math
import re
import sys
import types

import numpy
import pytest
from conftest import FLOAT, error_of

import recur
from recur import fla, fla_texts

B, T, H, K, V = 2, 37, 4, 8, 6
random = numpy.random.default_rng(3)


def normal(*shape):
    return random.standard_normal(shape).astype(FLOAT)


def unit(array):
    return array / numpy.sqrt((array.astype(float) ** 2).sum(-1, keepdims=True) + 1e-6)


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def softplus(x):
    return numpy.log1p(numpy.exp(x))


def loop(step, arrays, initial=None, heads=H):
    """Goes over the tokens: `step(S, token)` gives the state [K, V] and the output, of one head."""
    arrays = {name: numpy.asarray(array, float) for name, array in arrays.items()}
    batch, tokens = arrays["v"].shape[:2]
    states = numpy.zeros((batch, heads, K, V)) if initial is None else initial.astype(float)
    o = numpy.zeros((batch, tokens, heads, V))
    for b in range(batch):
        for h in range(heads):
            for t in range(tokens):
                token = {n: a[b, t, h * a.shape[2] // heads] for n, a in arrays.items()}
                states[b, h], o[b, t, h] = step(states[b, h], token, h)
    return o, states


def agrees(result, want, limit=2e-5):
    for array, reference in zip(result, want):
        assert array.shape == reference.shape and error_of(array, reference) < limit


def delta(S, k, v, beta=1.0, read=None):
    return S + beta * numpy.outer(k, v - (k if read is None else read) @ S)


def draw_data():
    return {
        "q": normal(B, T, H, K), "k": unit(normal(B, T, H, K)).astype(FLOAT), "v": normal(B, T, H, V), "g": -abs(normal(B, T, H)),
        "beta": random.uniform(0, 1, (B, T, H)).astype(FLOAT),
    }  # fmt: skip


@pytest.fixture
def data():
    return draw_data()


H0 = normal(B, H, K, V)


@pytest.mark.parametrize("normalize, scale, initial", [(False, None, None), (True, 0.7, H0)])
def test_gated_delta_rule(data, normalize, scale, initial):
    prepare = unit if normalize else (lambda x: x)
    factor = K**-0.5 if scale is None else scale

    def step(S, x, h):
        S = delta(numpy.exp(x["g"]) * S, prepare(x["k"]), x["v"], x["beta"])
        return S, factor * prepare(x["q"]) @ S

    want = loop(step, data, initial)
    options = {"scale": scale, "initial_state": initial, "output_final_state": True, "use_qk_l2norm_in_kernel": normalize}
    agrees(fla.chunk_gated_delta_rule(**data, **options), want)
    agrees(fla.fused_recurrent_gated_delta_rule(**data, **options), want)
    assert fla.chunk_gated_delta_rule(**data)[1] is None


@pytest.mark.parametrize("negative", [False, True])
def test_gates_inside(data, negative):
    """The decay of a param, and a strength that a sigmoid gives."""
    A_log, dt_bias = normal(H), normal(H)
    data["beta"] = normal(B, T, H)
    options = {"use_beta_sigmoid_in_kernel": True, "allow_neg_eigval": negative, "output_final_state": True}

    def step(S, x, h):
        decay = -numpy.exp(A_log[h]) * softplus(x["g"] + dt_bias[h])
        S = delta(numpy.exp(decay) * S, x["k"], x["v"], (1 + negative) * sigmoid(x["beta"]))
        return S, K**-0.5 * x["q"] @ S

    want = loop(step, data)
    inside = fla.fused_recurrent_gated_delta_rule(**data, **options, use_gate_in_kernel=True, A_log=A_log, dt_bias=dt_bias)
    agrees(inside, want, 5e-5)
    data["g"] = (-numpy.exp(A_log) * softplus(data["g"] + dt_bias)).astype(FLOAT)
    agrees(fla.chunk_gated_delta_rule(**data, **options), want, 5e-5)


def test_grouped_values_and_decays_of_channels(data):
    data = {**data, "q": data["q"][:, :, :2], "k": data["k"][:, :, :2], "gk": -abs(normal(B, T, H, K)), "gv": -abs(normal(B, T, H, V))}

    def step(S, x, h):
        S = numpy.exp(x["g"]) * numpy.exp(x["gk"])[:, None] * S * numpy.exp(x["gv"])
        S = delta(S, x["k"], x["v"], x["beta"])
        return S, K**-0.5 * x["q"] @ S

    agrees(fla.fused_recurrent_gated_delta_rule(**data, output_final_state=True), loop(step, data))
    del data["beta"], data["g"], data["gv"]
    step = lambda S, x, h: ((S := delta(numpy.exp(x["gk"])[:, None] * S, x["k"], x["v"])), K**-0.5 * x["q"] @ S)
    agrees(fla.fused_recurrent_gated_delta_rule(**data, output_final_state=True), loop(step, data))


def test_delta_rule(data):
    del data["g"]
    step = lambda S, x, h: ((S := delta(S, x["k"], x["v"], x["beta"])), K**-0.5 * x["q"] @ S)
    agrees(fla.chunk_delta_rule(**data, output_final_state=True), loop(step, data))


def test_packed_sequences(data):
    one = {name: array[:1] for name, array in data.items()}
    offsets = numpy.array([0, 10, T])
    o, S = fla.chunk_gated_delta_rule(**one, initial_state=H0, output_final_state=True, cu_seqlens=offsets)
    for i in range(2):
        part = {name: array[:, offsets[i] : offsets[i + 1]] for name, array in one.items()}
        want = fla.chunk_gated_delta_rule(**part, initial_state=H0[i : i + 1], output_final_state=True)
        agrees((o[:, offsets[i] : offsets[i + 1]], S[i : i + 1]), want, 1e-6)


def test_states_with_values_first(data):
    turned = {"initial_state": H0.swapaxes(2, 3), "output_final_state": True, "state_v_first": True}
    gk = -abs(normal(B, T, H, K))
    calls = [
        lambda **options: fla.chunk_gated_delta_rule(**data, **options),
        lambda **options: fla.fused_recurrent_gated_delta_rule(**data, **options),
        lambda **options: fla.chunk_gla(data["q"], data["k"], data["v"], gk, **options),
        lambda **options: fla.fused_recurrent_gla(data["q"], data["k"], data["v"], gk, **options),
        lambda **options: fla.chunk_simple_gla(data["q"], data["k"], data["v"], data["g"], **options),
    ]
    for call in calls:
        o, S = call(**turned)
        agrees((o, S.swapaxes(2, 3)), call(initial_state=H0, output_final_state=True), 1e-6)


@pytest.mark.parametrize("kind", ["numpy", "torch", "jax"])
def test_offsets_on_the_processor_too(data, kind):
    library = pytest.importorskip({"numpy": "numpy", "torch": "torch", "jax": "jax.numpy"}[kind])
    one = {name: library.asarray(array[:1]) for name, array in data.items()}
    offsets = numpy.array([0, 10, T], numpy.int32)
    want = fla.chunk_gated_delta_rule(**one, cu_seqlens=library.asarray(offsets))[0]
    both = fla.chunk_gated_delta_rule(**one, cu_seqlens=library.asarray(offsets), cu_seqlens_cpu=library.asarray(offsets))[0]
    assert (both == want).all() and (fla.chunk_gated_delta_rule(**one, cu_seqlens_cpu=library.asarray(offsets))[0] == want).all()


@pytest.mark.parametrize("gate", ["given", "softplus", "bounded", "bounded without A_log"])
def test_kda(data, gate):
    data["g"] = -abs(normal(B, T, H, K))
    A_log, dt_bias = normal(H), normal(H * K)
    options = {} if gate == "given" else {"use_gate_in_kernel": True, "A_log": A_log, "dt_bias": dt_bias}
    if gate == "bounded":
        options |= {"safe_gate": True, "lower_bound": -5.0, "use_beta_sigmoid_in_kernel": True, "allow_neg_eigval": True}
    elif gate != "given" and gate != "softplus":
        options |= {"A_log": None, "lower_bound": -4.0}

    def step(S, x, h):
        g, beta = x["g"], x["beta"]
        moved = g + dt_bias.reshape(H, K)[h]
        if gate == "softplus":
            g = -numpy.exp(A_log[h]) * softplus(moved)
        elif gate == "bounded":
            g, beta = -5 * sigmoid(numpy.exp(A_log[h]) * moved), 2 * sigmoid(beta)
        elif gate != "given":
            g = -4 * sigmoid(moved)
        S = delta(numpy.exp(g)[:, None] * S, x["k"], x["v"], beta)
        return S, K**-0.5 * x["q"] @ S

    want = loop(step, data, H0)
    agrees(fla.chunk_kda(**data, **options, initial_state=H0, output_final_state=True), want, 5e-5)
    turned = fla.chunk_kda(**data, **options, initial_state=H0.swapaxes(2, 3), output_final_state=True, state_v_first=True)
    agrees((turned[0], turned[1].swapaxes(2, 3)), want, 5e-5)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_states_on_the_way(packed, turned):
    """Before each 64 tokens of each sequence."""
    tokens, turn = 150, (lambda state: state.swapaxes(-1, -2)) if turned else (lambda state: state)
    data = {"q": normal(1, tokens, H, K), "k": unit(normal(1, tokens, H, K)).astype(FLOAT), "v": normal(1, tokens, H, V)}
    data |= {"g": -abs(normal(1, tokens, H, K)), "beta": random.uniform(0, 1, (1, tokens, H)).astype(FLOAT)}
    bounds = [0, 70, tokens] if packed else [0, tokens]
    S0 = H0[: len(bounds) - 1]
    options = {"initial_state": turn(S0), "output_final_state": True, "state_v_first": turned}
    o, S, rows = fla.chunk_kda(**data, **options, return_intermediate_states=True, cu_seqlens=numpy.array(bounds) if packed else None)
    want = []
    for i, (begin, end) in enumerate(zip(bounds, bounds[1:])):
        for at in range(begin, end, 64):
            part = {name: array[:, begin:at] for name, array in data.items()}
            want.append(fla.chunk_kda(**part, initial_state=S0[i : i + 1], output_final_state=True)[1])
    agrees((o, S), fla.chunk_kda(**data, **options, cu_seqlens=numpy.array(bounds) if packed else None), 1e-5)
    agrees((turn(rows),), (numpy.stack(want, 1),), 1e-5)


def test_gdn2(data):
    data |= {"g": -abs(normal(B, T, H, K)), "b": random.uniform(0, 1, (B, T, H, K)).astype(FLOAT), "w": random.uniform(0, 1, (B, T, H, V)).astype(FLOAT)}
    del data["beta"]

    def step(S, x, h):
        S = numpy.exp(x["g"])[:, None] * S
        return (S := S + numpy.outer(x["k"], x["w"] * x["v"] - (x["b"] * x["k"]) @ S)), K**-0.5 * x["q"] @ S

    want = loop(step, data, H0)
    agrees(fla.chunk_gdn2(**data, initial_state=H0, output_final_state=True), want)
    bounded = fla.chunk_gdn2(**data, use_gate_in_kernel=True, lower_bound=-5.0, output_final_state=True)
    data["g"] = (-5 * sigmoid(data["g"])).astype(FLOAT)
    agrees(bounded, loop(step, data))


@pytest.mark.parametrize("center", [None, -0.5, "heads"])
@pytest.mark.parametrize("name", ["gated_delta_rule", "kda"])
def test_preconditioned(data, name, center):
    """Values share keys, and the state of the preconditioner with them."""
    groups, centers = 2, {None: numpy.full(2, -0.2), -0.5: numpy.full(2, -0.5), "heads": normal(2)}[center]
    data |= {"q": data["q"][:, :, :groups], "k": unit(normal(B, T, groups, K)).astype(FLOAT)}
    data |= {"g_atk": -abs(normal(B, T, groups)), "beta_atk": random.uniform(0, 1, (B, T, groups)).astype(FLOAT)}
    if name == "kda":
        data["g"] = -abs(normal(B, T, H, K))
    A0 = abs(normal(B, groups, K))
    sums = numpy.zeros((B, groups, K))

    def step(state, x, h):
        S, A = state
        A = numpy.exp(x["g_atk"]) * A + x["beta_atk"] * x["k"] ** 2
        distance = numpy.log(A + 1e-6) - centers[h // 2]
        S = delta(numpy.exp(x["g"])[..., None] * S if name == "kda" else numpy.exp(x["g"]) * S, x["k"], x["v"], 0)
        S = S + x["beta"] * numpy.outer(x["k"] * 1.5 ** (-distance / (1 + abs(distance))), x["v"] - x["k"] @ S)
        return (S, A), K**-0.5 * (unit(x["q"]) if name != "kda" else x["q"]) @ S

    o, S = numpy.zeros((B, T, H, V)), numpy.zeros((B, H, K, V))
    for b in range(B):
        for h in range(H):
            state = H0[b, h].astype(float), A0[b, h // 2].astype(float)
            for t in range(T):
                state, o[b, t, h] = step(state, {n: a[b, t, h * a.shape[2] // H].astype(float) for n, a in data.items()}, h)
            S[b, h], sums[b, h // 2] = state
    options = {} if center is None else {"log_atk_scale": centers.astype(FLOAT) if center == "heads" else center}
    function = getattr(fla, "chunk_precond_" + name)
    result = function(**data, **options, initial_state=H0, initial_A_state=A0, output_final_state=True)
    agrees(result, (o, S, sums), 5e-5)
    assert function(**data, **options)[1:] == (None, None)


@pytest.mark.parametrize("full", [False, True])
def test_momentum(data, full):
    alpha, mu = -abs(normal(B, T, H)), -abs(normal(B, T, H))
    given = {"q": data["q"], "k": data["k"], "v": data["v"], "log_alpha": alpha, "log_mu": mu}
    if full:
        given |= {"p": normal(B, T, H, K), "beta": data["beta"], "eta": random.uniform(0, 1, (B, T, H)).astype(FLOAT)}
    starts = (H0, normal(B, H, K, V))
    o, S, M = numpy.zeros((B, T, H, V)), *(state.astype(float) for state in starts)
    for t in range(T):
        x = {name: array[:, t].astype(float) for name, array in given.items()}
        q, k, p = (unit(x.get(name, x["k"])) if full else x.get(name, x["k"]) for name in "qkp")
        decay = numpy.exp(x["log_alpha"])[..., None]
        read = numpy.einsum("bhk,bhkv->bhv", p, S) * (decay if full else 1)
        M = numpy.exp(x["log_mu"])[..., None, None] * M + numpy.einsum("bhk,bhv->bhkv", x.get("eta", numpy.ones((B, H)))[..., None] * k, read - x["v"])
        S = decay[..., None] * S - x.get("beta", numpy.ones((B, H)))[..., None, None] * M
        o[:, t] = K**-0.5 * numpy.einsum("bhk,bhkv->bhv", q, S)
    options = {"use_qk_l2norm_in_kernel": full, "use_p_times_alpha": full, "output_final_state": True}
    result, states = fla.chunk_momentum_delta_rule(**given, **options, initial_state=starts)
    agrees((result, *states), (o, S, M), 5e-5)


@pytest.mark.parametrize("info", [None, 2.0])
@pytest.mark.parametrize("is_raw", [False, True])
def test_diag_kdn(data, info, is_raw):
    """From a precision of one, and from where a call before has left it."""
    A_log, dt_bias, raw = normal(H), normal(H * K), normal(B, T, H, K)
    gates = (-numpy.exp(A_log)[:, None] * softplus(raw + dt_bias.reshape(H, K))).astype(FLOAT)
    noise = {"omega": abs(normal(B, T, H, K)), "r": 0.1 + abs(normal(B, T, H))}
    given = {**{name: data[name] for name in ("q", "k", "v")}, "g": raw if is_raw else gates, **noise}
    options = {"info_scale": info, "output_final_state": True, "use_qk_l2norm_in_kernel": is_raw, "use_gate_in_kernel": is_raw}
    options |= {"A_log": A_log, "dt_bias": dt_bias} if is_raw else {}
    prepare, precision = (unit if is_raw else lambda x: x), numpy.ones((B, H, K))
    heads = iter([(b, h) for b in range(B) for h in range(H) for _ in range(T)])

    def step(S, x, h):
        at, key = next(heads), prepare(x["k"])
        variance = numpy.exp(2 * x["g"]) / precision[at] + x["omega"]
        gain = variance * key / (x["r"] + (variance * key**2).sum())
        precision[at] = 1 / variance + (K if info is None else info) / x["r"] * key**2
        S = numpy.exp(x["g"])[:, None] * S
        S = S + numpy.outer(gain, x["v"] - key @ S)
        return S, K**-0.5 * prepare(x["q"]) @ S

    o, S = loop(step, {**given, "g": gates})
    result, states = fla.chunk_diag_kdn(**given, **options)
    agrees((result, *states), (o, S, precision), 5e-5)
    first = fla.chunk_diag_kdn(**{name: array[:, :20] for name, array in given.items()}, **options)
    rest = fla.fused_recurrent_diag_kdn(**{name: array[:, 20:] for name, array in given.items()}, **options, initial_state=first[1])
    agrees((rest[0], *rest[1]), (o[:, 20:], S, precision), 5e-5)
    assert fla.chunk_diag_kdn(**{**given, "g": gates})[1] is None


def test_lightnet(data):
    given = {"q": data["q"], "k": normal(B, T, H, K), "v": data["v"]}
    weights = numpy.exp(given["k"].astype(float))
    S = numpy.einsum("bthk,bthv->bthkv", weights, given["v"]).cumsum(1) / weights.cumsum(1)[..., None]
    o = K**-0.5 * numpy.einsum("bthk,bthkv->bthv", given["q"], S)
    result, (state, z) = fla.chunk_lightnet(**given, output_final_state=True)
    agrees((result, state, z), (o, S[:, -1], numpy.log(weights.sum(1, keepdims=True))))
    first = fla.chunk_lightnet(**{name: array[:, :20] for name, array in given.items()}, output_final_state=True)
    rest = fla.chunk_lightnet(**{name: array[:, 20:] for name, array in given.items()}, initial_state=first[1])
    agrees((rest[0],), (o[:, 20:],))
    assert rest[1][0] is None and error_of(rest[1][1], z) < 2e-5


@pytest.mark.parametrize("is_gated", [True, False])
@pytest.mark.parametrize("groups", [1, 2])
def test_gsa(data, groups, is_gated):
    """With and without gates, and with fewer heads of keys than of queries."""
    slots, heads = 5, H // groups
    given = {"q": data["q"], "k": data["k"][:, :, :heads], "v": data["v"][:, :, :heads], "s": normal(B, T, heads, slots)}
    starts = None
    if is_gated:
        given["g"] = -abs(normal(B, T, heads, slots))
        starts = (normal(B, heads, K, slots), normal(B, heads, slots, V))
    q, k, v, s = ((array if name == "q" else array.repeat(groups, 2)).astype(float) for name, array in list(given.items())[:4])
    if is_gated:
        decay, written = numpy.exp(given["g"].repeat(groups, 2).astype(float)), s
    else:
        total = numpy.logaddexp.accumulate(s, 1)
        written, decay = numpy.exp(s - total), numpy.exp(numpy.concatenate([total[:, :1], total[:, :-1]], 1) - total)
    hk, hv = (state.repeat(groups, 1).astype(float) for state in starts or (numpy.zeros((B, heads, K, slots)), numpy.zeros((B, heads, slots, V))))
    o = numpy.zeros((B, T, H, V))
    for t in range(T):
        hk = hk * decay[:, t, :, None, :] + k[:, t, :, :, None] * written[:, t, :, None, :]
        hv = hv * decay[:, t, :, :, None] + written[:, t, :, :, None] * v[:, t, :, None, :]
        scores = numpy.exp(K**-0.5 * numpy.einsum("bhk,bhkm->bhm", q[:, t], hk))
        o[:, t] = numpy.einsum("bhm,bhmv->bhv", scores / scores.sum(-1, keepdims=True), hv)
    result, states = fla.chunk_gsa(**given, initial_state=starts, output_final_state=True)
    agrees((result, *states), (o, hk[:, ::groups], hv[:, ::groups]))
    assert fla.fused_recurrent_gsa(**given)[1] == (None, None)
    torch = pytest.importorskip("torch")
    tensors = {name: torch.from_numpy(array.copy()) for name, array in given.items()}
    again, _ = fla.chunk_gsa(**tensors, initial_state=starts and tuple(map(torch.from_numpy, starts)))
    agrees((again.numpy(),), (o,))


def test_gsa_goes_on_from_gated_states_alone(data):
    with pytest.raises(recur.ArgumentError, match="give g"):
        fla.chunk_gsa(data["q"], data["k"], data["v"], data["k"], initial_state=(H0, H0))


def test_gsa_has_no_fewer_heads_of_queries_than_of_keys(data):
    with pytest.raises(recur.ArgumentError, match="q has 1 heads, but k has 2; queries have as many as keys"):
        fla.chunk_gsa(data["q"][:, :, :1], data["k"][:, :, :2], data["v"][:, :, :2], data["k"][:, :, :2], -abs(data["k"][:, :, :2]))


def test_gla(data):
    del data["beta"]
    data["g"] = -abs(normal(B, T, H, K))
    step = lambda S, x, h: ((S := numpy.exp(x["g"])[:, None] * S + numpy.outer(x["k"], x["v"])), K**-0.5 * x["q"] @ S)
    want = loop(step, data, H0)
    agrees(fla.chunk_gla(**data, initial_state=H0, output_final_state=True), want)
    data["gk"] = data.pop("g")
    agrees(fla.fused_recurrent_gla(**data, initial_state=H0, output_final_state=True), want)
    data["gv"] = -abs(normal(B, T, H, V))
    step = lambda S, x, h: ((S := numpy.exp(x["gk"])[:, None] * S * numpy.exp(x["gv"]) + numpy.outer(x["k"], x["v"])), K**-0.5 * x["q"] @ S)
    agrees(fla.fused_recurrent_gla(**data, output_final_state=True), loop(step, data))


@pytest.mark.parametrize("gates", ["", "g", "gamma", "g gamma"])
def test_simple_gla(data, gates):
    gamma = -abs(normal(H))
    g = data.pop("g")
    del data["beta"]
    given = {**data, **({"g": g} if "g" in gates.split() else {})}

    def step(S, x, h):
        S = numpy.exp(x.get("g", 0) + (gamma[h] if "gamma" in gates else 0)) * S + numpy.outer(x["k"], x["v"])
        return S, K**-0.5 * x["q"] @ S

    options = {"g_gamma": gamma} if "gamma" in gates else {}
    agrees(fla.chunk_simple_gla(**given, **options, output_final_state=True), loop(step, given))


def test_linear_attention(data):
    data = {"q": abs(data["q"]), "k": abs(data["k"]), "v": data["v"]}
    step = lambda S, x, h: ((S := S + numpy.outer(x["k"], x["v"])), K**-0.5 * x["q"] @ S)
    o, S = loop(step, data)
    agrees(fla.chunk_linear_attn(**data, normalize=False, output_final_state=True), (o, S))
    sums = (K**-0.5 * data["q"] * data["k"].cumsum(1)).sum(-1, keepdims=True)
    normalized = o / (sums + 1e-10)
    result, (state, z) = fla.chunk_linear_attn(**data, output_final_state=True)
    agrees((result, state, z), (normalized, S, data["k"].astype(float).sum(1, keepdims=True)))
    _, states = fla.chunk_linear_attn(**{name: array[:, :20] for name, array in data.items()}, output_final_state=True)
    rest = fla.chunk_linear_attn(**{name: array[:, 20:] for name, array in data.items()}, initial_state=states)
    agrees((rest[0],), (normalized[:, 20:],))
    assert rest[1] is None


def test_rwkv7(data):
    kappa = data["k"]
    given = {"k": normal(B, T, H, K), "v": data["v"], "a": -kappa, "b": kappa * random.uniform(0, 1, (B, T, H, K)).astype(FLOAT), "w": -abs(normal(B, T, H, K))}

    def step(S, x, h):
        S = numpy.exp(x["w"])[:, None] * S + numpy.outer(x["b"], x["a"] @ S) + numpy.outer(x["k"], x["v"])
        return S, x["r"] @ S

    want = loop(step, {**given, "r": data["q"]})
    agrees(fla.chunk_rwkv7(r=data["q"], **given, output_final_state=True), want)
    by_place = [data["q"], *(given[name] for name in ("w", "k", "v", "a", "b"))]
    agrees(fla.chunk_rwkv7(*by_place, 1.0, None, True), want)
    o, state = fla.fused_recurrent_rwkv7(*by_place)
    agrees((o * K**0.5, state), want)
    given["log_w"] = given.pop("w")
    agrees(fla.chunk_rwkv7(r=data["q"], **given, output_final_state=True), want)


def test_an_older_decay_of_rwkv7_is_refused(data, monkeypatch):
    """In the first versions of that library `w` meant something else: it is not known by its name which of the two a caller means."""
    older = types.ModuleType("fla.ops.rwkv7")
    exec("def chunk_rwkv7(r, k, v, a, b, w=None, log_w=None):\n    pass", vars(older))
    monkeypatch.setitem(sys.modules, "fla.ops.rwkv7", older)
    x = data["k"]
    with pytest.raises(recur.ArgumentError, match=re.escape("w is the decay's logarithm here, and in the flash-linear-attention that is loaded it is something")):
        fla.chunk_rwkv7(r=x, w=-abs(x), k=x, v=data["v"], a=-x, b=x)
    fla.chunk_rwkv7(r=x, log_w=-abs(x), k=x, v=data["v"], a=-x, b=x)


@pytest.mark.parametrize("decays", [True, False])
def test_gated_delta_product(data, decays):
    N = 3
    k, v, beta = unit(normal(B, T * N, H, K)).astype(FLOAT), normal(B, T * N, H, V), random.uniform(0, 1, (B, T * N, H)).astype(FLOAT)
    g = data["g"] if decays else None
    split = lambda a: a.reshape(B, T, N, H, *a.shape[3:]).swapaxes(2, 3)

    def step(S, x, h):
        S = numpy.exp(x["g"]) * S if decays else S
        for j in range(N):
            S = delta(S, x["k"][j], x["v"][j], x["beta"][j])
        return S, K**-0.5 * x["q"] @ S

    want = loop(step, {"q": data["q"], "k": split(k), "v": split(v), "beta": split(beta), "g": data["g"]})
    agrees(fla.chunk_gated_delta_product(data["q"], k, v, g, beta, N, output_final_state=True), want)
    with pytest.raises(recur.ArgumentError, match="T is 37 in 'q', so that keys, values and strengths of 2 steps have 74 places along T, not 111"):
        fla.chunk_gated_delta_product(data["q"], k, v, g, beta, 2)


def test_comba(data):
    p = 0.5 * data["k"]
    step = lambda S, x, h: ((S := numpy.exp(x["g"]) * S + x["beta"] * numpy.outer(x["k"], x["v"] - x["p"] @ S)), K**-0.5 * x["q"] @ S)
    want = loop(step, {**data, "p": p})
    agrees(fla.chunk_comba(**data, p=p, output_final_state=True), want)
    agrees(fla.fused_recurrent_comba(data["q"], data["k"], p, data["v"], data["g"], data["beta"], output_final_state=True), want)


def test_keys_of_length_one_in_mesa_net(data):
    options = {"lamb": numpy.ones((H, K), FLOAT), "output_final_state": True}
    data["k"] *= 3
    unit_data = {**data, "q": unit(data["q"]).astype(FLOAT), "k": unit(data["k"]).astype(FLOAT)}
    agrees(fla.chunk_mesa_net(**data, **options, use_qk_l2norm_in_kernel=True), fla.chunk_mesa_net(**unit_data, **options))


def test_mesa_net(data):
    lamb = numpy.full((H, K), 0.5, FLOAT) + random.uniform(0, 1, (H, K)).astype(FLOAT)
    o, G, S = fla.chunk_mesa_net(**data, lamb=lamb, output_final_state=True)
    grams = numpy.zeros((B, H, K, K))

    def step(S, x, h):
        gram = step.gram = numpy.exp(x["g"]) * step.gram + x["beta"] * numpy.outer(x["k"], x["k"])
        S = numpy.exp(x["g"]) * S + x["beta"] * numpy.outer(x["k"], x["v"])
        return S, numpy.linalg.solve(gram + numpy.diag(lamb[h]), x["q"]) @ S

    for b in range(B):
        for h in range(H):
            step.gram = numpy.zeros((K, K))
            one = {n: a[b : b + 1, :, h : h + 1] for n, a in data.items()}
            want, state = loop(lambda S, x, _, h=h: step(S, x, h), one, heads=1)
            assert error_of(o[b : b + 1, :, h : h + 1], want) < 1e-4
            assert error_of(S[b, h], state[0, 0]) < 1e-5
            grams[b, h] = step.gram
    assert error_of(G, grams) < 1e-5
    again = fla.chunk_mesa_net(**data, lamb=lamb, h_kk_init=G, h_kv_init=S, output_final_state=True)
    assert not numpy.allclose(again[0], o)


@pytest.mark.parametrize("full", [False, True])
def test_mamba(full):
    x, dt, A, states = normal(B, T, H, V), normal(B, T, H), -abs(normal(H)), normal(B, H, V, K)
    Bs, C = normal(B, T, 2, K), normal(B, T, 2, K)
    D, z, bias = normal(H, V), normal(B, T, H, V), normal(H)
    options = {"D": D, "z": z, "dt_bias": bias, "dt_softplus": True, "dt_limit": (0.1, 1.5), "initial_states": states} if full else {}
    if not full:
        dt = abs(dt)

    def step(S, t, h):
        size = numpy.clip(softplus(t["dt"] + bias[h]), 0.1, 1.5) if full else t["dt"]
        S = numpy.exp(size * A[h]) * S + size * numpy.outer(t["B"], t["v"])
        y = t["C"] @ S
        return S, (y + D[h] * t["v"]) * t["z"] * sigmoid(t["z"]) if full else y

    want = loop(step, {"v": x, "dt": dt, "B": Bs, "C": C, "z": z}, states.swapaxes(2, 3) if full else None)
    y, last = fla.mamba_chunk_scan_combined(x, dt, A, Bs, C, 64, **options, return_final_states=True)
    agrees((y, last.swapaxes(2, 3)), want)
    assert numpy.array_equal(fla.mamba_chunk_scan_combined(x, dt, A, Bs, C, 64, **options), y)


def test_texts_say_each_thing_once():
    """Whatever a call has, a name is given one meaning at most; and what lines are there with is known."""
    options = {"decayed", "l2norm", "beta_sigmoid", "negative", "softplus", "channels", "normalize", "lowest", "highest", "lower_bound"}
    for name, text in fla_texts.TEXTS.items():
        marks = [re.split(r"[ ,]+", line.split("  # ")[1]) for line in text.split("\n") if "  # " in line]
        words = sorted({word for mark in marks for word in mark} - {"with", "without"})
        declared = set(re.findall(r"\w+", " ".join(re.findall(r"(?:input|param) ([^#\n]*)", text))))
        assert set(words) <= declared | options, name
        for there in itertools.chain.from_iterable(itertools.combinations(words, count) for count in range(len(words) + 1)):
            chosen = fla_texts.choose(name, there)
            names = re.findall(r"(?:let|input|param|output) (\w+)", chosen)
            assert len(names) == len(set(names)) and "# " not in chosen, (name, there)


MISTAKES = [
    (lambda d: fla.chunk_gated_delta_rule(**d, head_first=True), "head_first=True is not taken: transpose to [B, T, H, ...]"),
    (lambda d: fla.chunk_kda(**d, use_gate_in_kernel=True), "chunk_kda: use_gate_in_kernel needs A_log"),
    (
        lambda d: fla.chunk_kda(**d, use_gate_in_kernel=True, A_log=normal(H), safe_gate=True),
        "chunk_kda: safe_gate needs a lower_bound",
    ),
    (
        lambda d: fla.chunk_kda(**d, allow_neg_eigval=True),
        "chunk_kda: allow_neg_eigval needs use_beta_sigmoid_in_kernel, for it doubles what the sigmoid gives",
    ),
    (
        lambda d: fla.fused_recurrent_gated_delta_rule(**d, use_gate_in_kernel=True),
        "fused_recurrent_gated_delta_rule: use_gate_in_kernel needs A_log",
    ),
    (lambda d: fla.chunk_gla(d["q"], d["k"], d["v"], None), "chunk_gla needs g"),
    (lambda d: fla.chunk_rwkv7(d["q"], k=d["k"], v=d["v"], a=d["k"], b=d["k"]), "chunk_rwkv7: give w, the decay's logarithm, or log_w, which is the same"),
    (lambda d: fla.chunk_rwkv7(d["q"], -d["k"], d["k"], d["v"], d["k"]), "chunk_rwkv7 needs b"),
    (lambda d: fla.fused_recurrent_gla(d["q"], d["k"], d["v"], reverse=True), "fused_recurrent_gla: reverse=True is not taken: turn the tokens around"),
    (
        lambda d: fla.mamba_chunk_scan_combined(d["v"], d["g"], normal(H), d["k"], d["q"], 64, seq_idx=d["g"]),
        "mamba_chunk_scan_combined: seq_idx is not taken: give cu_seqlens",
    ),
    (lambda d: fla.chunk_delta_rule(d["q"], d["k"], d["v"], None), "delta_rule: the input 'beta' is missing"),
]


@pytest.mark.parametrize("mistake, message", MISTAKES, ids=range(len(MISTAKES)))
def test_message(data, mistake, message):
    with pytest.raises(recur.ArgumentError) as raised:
        mistake(data)
    assert str(raised.value) == message


def test_on_tensors(data):
    torch = pytest.importorskip("torch")
    tensors = {name: torch.from_numpy(array) for name, array in data.items()}
    narrow = {name: tensors[name].bfloat16() for name in "qkv"}
    o, S = fla.chunk_gated_delta_rule(**{**tensors, **narrow}, initial_state=torch.from_numpy(H0).bfloat16(), output_final_state=True)
    want, _ = fla.chunk_gated_delta_rule(**data, initial_state=H0)
    assert o.dtype == torch.bfloat16 and S.dtype == torch.float32
    assert error_of(o.float().numpy(), want) < 1e-2
    assert math.isclose(float(fla.chunk_gated_delta_rule(**tensors, scale=1.0)[0].sum()), K**0.5 * float(fla.chunk_gated_delta_rule(**tensors)[0].sum()), rel_tol=1e-4)


def with_triples(d, torch):
    steps = lambda a: torch.cat([a, a, a], 1)
    return fla.chunk_gated_delta_product(d["q"], steps(d["k"]), steps(d["v"]), d["g"], steps(d["beta"]), 3, output_final_state=True)


TRACED = {
    "gated_delta_rule": lambda d, _: fla.chunk_gated_delta_rule(**d, output_final_state=True, use_qk_l2norm_in_kernel=True),
    "a scale": lambda d, _: fla.chunk_gated_delta_rule(**d, scale=0.25, initial_state=d["v"].new_ones(B, H, K, V)),
    "fused_recurrent_gated_delta_rule": lambda d, _: fla.fused_recurrent_gated_delta_rule(**d, output_final_state=True),
    "delta_rule": lambda d, _: fla.chunk_delta_rule(d["q"], d["k"], d["v"], d["beta"]),
    "kda": lambda d, _: fla.chunk_kda(d["q"], d["k"], d["v"], -d["k"].abs(), d["beta"], output_final_state=True),
    "gla": lambda d, _: fla.chunk_gla(d["q"], d["k"], d["v"], -d["k"].abs()),
    "simple_gla": lambda d, _: fla.chunk_simple_gla(d["q"], d["k"], d["v"], d["g"]),
    "linear_attn": lambda d, _: fla.chunk_linear_attn(d["q"].abs(), d["k"].abs(), d["v"]),  # a sum of scores near zero says nothing
    "rwkv7": lambda d, _: fla.chunk_rwkv7(r=d["q"], w=d["q"], k=d["k"], v=d["v"], a=-d["k"], b=d["k"]),
    "gdn2": lambda d, _: fla.chunk_gdn2(d["q"], d["k"], d["v"], -d["k"].abs(), d["k"].abs(), d["v"].abs(), output_final_state=True),
    "diag_kdn": lambda d, _: fla.chunk_diag_kdn(d["q"], d["k"], d["v"], -d["k"].abs(), d["k"].abs(), 0.1 + d["beta"], output_final_state=True)[0],
    "precond_gated_delta_rule": lambda d, _: fla.chunk_precond_gated_delta_rule(d["q"], d["k"], d["v"], d["g"], d["g"], d["beta"], d["beta"]),
    "precond_kda": lambda d, _: fla.chunk_precond_kda(d["q"], d["k"], d["v"], -d["k"].abs(), d["g"], d["beta"], d["beta"]),
    "gsa": lambda d, _: fla.chunk_gsa(d["q"], d["k"], d["v"], d["k"].abs(), -d["k"].abs(), output_final_state=True)[0],
    "momentum": lambda d, _: fla.chunk_momentum_delta_rule(d["q"], d["k"], d["v"], d["g"], d["g"]),
    "gated_delta_product": with_triples,
    "comba": lambda d, _: fla.chunk_comba(**d, p=0.5 * d["k"], output_final_state=True),
    "mesa_net": lambda d, torch: fla.chunk_mesa_net(**d, lamb=torch.ones(H, K), output_final_state=True),
    "mamba": lambda d, torch: fla.mamba_chunk_scan_combined(d["v"], d["beta"], -torch.ones(H), d["q"][:, :, :2], d["k"][:, :, :2], 64, D=torch.ones(H)),
}


@pytest.mark.parametrize("name", TRACED)
def test_each_is_one_graph(data, name):
    torch = pytest.importorskip("torch")
    tensors = {name: torch.from_numpy(array) for name, array in data.items()}
    torch._dynamo.reset()
    results = torch.compile(lambda d: TRACED[name](d, torch), fullgraph=True, backend="aot_eager")(tensors)
    wanted = TRACED[name](tensors, torch)
    pairs = zip(results, wanted) if isinstance(wanted, tuple) else [(results, wanted)]
    assert all(result is want is None or torch.equal(result, want) for result, want in pairs)


LAYERS = {
    "qwen3_next": {"torch_chunk_gated_delta_rule": fla.chunk_gated_delta_rule, "torch_recurrent_gated_delta_rule": fla.fused_recurrent_gated_delta_rule},
    "kimi_linear": {"chunk_kimi_delta_attention": fla.chunk_kda, "recurrent_kimi_delta_attention": fla.fused_recurrent_kda},
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_transformers(name, monkeypatch):
    """For a prompt and for tokens after it, with their two calls from here instead."""
    torch = pytest.importorskip("torch")
    library = pytest.importorskip(f"transformers.models.{name}.modeling_{name}")
    import test_transformers
    from transformers import DynamicCache

    torch.manual_seed(0)
    config, layer = test_transformers.make_qwen() if name == "qwen3_next" else test_transformers.make_kimi()
    layer, hidden = layer.eval(), torch.randn(2, 75, test_transformers.HIDDEN)

    def run():
        cache = DynamicCache(config=config)
        with torch.no_grad():
            return torch.cat([layer(part, cache_params=cache) for part in hidden.split([70, 1, 1, 1, 1, 1], 1)], 1)

    want, calls = run(), []

    def note(call, function):
        return lambda *given, **options: calls.append(call) or function(*given, **options)

    for call, function in LAYERS[name].items():
        monkeypatch.setattr(library, call, note(call, function))
    assert error_of(run().numpy(), want.numpy()) < 1e-5
    assert [calls.count(call) for call in LAYERS[name]] == [1, 5]


def make_library():
    """A package as flash-linear-attention is built: functions in modules of their own, which others import."""
    code = """
def chunk_gated_delta_rule(q, k, v, g, beta, scale=None, initial_state=None, output_final_state=False, use_qk_l2norm_in_kernel=False,
                           use_beta_sigmoid_in_kernel=False, allow_neg_eigval=False, state_v_first=False, cu_seqlens=None, cu_seqlens_cpu=None,
                           chunk_indices=None, cp_context=None, **others):
    return "the library's"

def chunk_rwkv7(r, w, k, v, a, b, scale=1.0, initial_state=None, output_final_state=False, cu_seqlens=None, cu_seqlens_cpu=None,
                safe_gate=False, chunk_size=None):
    return "the library's"

def chunk_nsa(q):
    return "the library's"
"""
    modules = {name: types.ModuleType(name) for name in ("fla", "fla.ops", "fla.ops.rules", "fla.layers", "flask")}
    exec(code, vars(modules["fla.ops.rules"]))
    for name in ("fla.ops", "fla.layers", "flask"):
        vars(modules[name]).update({key: value for key, value in vars(modules["fla.ops.rules"]).items() if key.startswith("chunk")})
    modules["fla"].ops = modules["fla.ops"]
    return modules


def test_installed_in_the_library_itself(data, monkeypatch):
    torch = pytest.importorskip("torch")
    modules = make_library()
    for name in [name for name in sys.modules if name.partition(".")[0] == "fla"]:
        monkeypatch.delitem(sys.modules, name)  # of the library itself, where it is installed
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    tensors = {name: torch.from_numpy(array) for name, array in data.items()}
    layers, own = modules["fla.layers"], dict(vars(modules["fla.ops.rules"]))
    for _ in "twice":
        assert fla.install() == ["chunk_gated_delta_rule", "chunk_rwkv7"]
    try:
        want = fla.chunk_gated_delta_rule(**tensors, output_final_state=True)
        for module in (layers, modules["fla.ops"], modules["fla.ops.rules"]):
            result = module.chunk_gated_delta_rule(*tensors.values(), output_final_state=True, chunk_indices=torch.zeros(1))
            assert all(map(torch.equal, result, want))
        assert layers.chunk_gated_delta_rule(**tensors, cp_context=1) == "the library's"
        assert layers.chunk_gated_delta_rule(**tensors, cp_context=None)[1] is None
        assert modules["flask"].chunk_gated_delta_rule(**tensors) == layers.chunk_nsa(1) == "the library's"
        r, k, v = (tensors[name] for name in "qkv")
        decays = -k.abs()
        result = layers.chunk_rwkv7(r, decays, k, v, -k, k, safe_gate=True)
        assert torch.equal(result[0], fla.chunk_rwkv7(r=r, k=k, v=v, a=-k, b=k, log_w=decays)[0]) and result[1] is None
    finally:
        fla.uninstall()
    assert all(vars(modules["fla.ops.rules"])[name] is value for name, value in own.items())
    assert layers.chunk_gated_delta_rule is own["chunk_gated_delta_rule"]


def test_there_is_no_library_to_install_in(monkeypatch):
    monkeypatch.setitem(sys.modules, "fla", None)
    monkeypatch.delitem(sys.modules, "fla.ops", raising=False)
    with pytest.raises(recur.LoadError, match="^recur.fla.install replaces calls of flash-linear-attention, which is not installed here "):
        fla.install()
