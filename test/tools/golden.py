#!/usr/bin/env python3
"""Inputs and results of the whole layers in examples/, computed in plain Python with nothing of Recur: each layer is written
as its paper or its reference code has it, token by token. Usage: golden.py FOLDER [NAME ...] writes FOLDER/NAME/*.npy."""

import cmath
import json
import math
import os
import random
import struct
import sys

from golden_arithmetic import convolved, delta_rule, dot, each, l2norm, read, rmsnorm, sigmoid, silu, softplus, solved, zeros

T = 70


def short_convolutions(x, p, t):
    """Queries and keys of unit length, and values, behind their convolutions."""
    q, k, v = (each(silu, convolved(x[n], t, p["w" + n])) for n in "qkv")
    return l2norm(q), l2norm(k), v


# --- the layers: inputs of one head, a list over tokens each -> outputs and final states -----------------------------------
def qwen3_next_layer(x, p, sizes):
    K, V = sizes["K"], sizes["V"]
    S, out = zeros(V, K), []
    for t in range(T):
        q, k, v = short_convolutions(x, p, t)
        decay = math.exp(-math.exp(p["A_log"]) * softplus(x["a"][t] + p["dt_bias"]))
        S = [[decay * s for s in row] for row in S]
        delta_rule(S, k, v, sigmoid(x["b"][t]))
        o = rmsnorm([s / math.sqrt(K) for s in read(S, q)])
        out.append(each(lambda y, n, z: y * n * silu(z), o, p["norm"], x["z"][t]))
    return {"o": out}, {"S": S}


def kimi_delta_attention_layer(x, p, sizes):
    K, V = sizes["K"], sizes["V"]
    S, out = zeros(V, K), []
    for t in range(T):
        q, k, v = short_convolutions(x, p, t)
        log = [-5 * sigmoid(math.exp(p["A_log"]) * (f + b)) for f, b in zip(x["f"][t], p["bias"])]
        S = [[s * math.exp(g) for s, g in zip(row, log)] for row in S]
        delta_rule(S, k, v, sigmoid(x["b"][t]))
        o = rmsnorm([s / math.sqrt(K) for s in read(S, q)])
        out.append(each(lambda y, n, z: y * n * sigmoid(z), o, p["norm"], x["z"][t]))
    return {"o": out}, {"S": S}


def mamba2_layer(x, p, sizes):
    N, P = sizes["N"], sizes["P"]
    S, out = zeros(P, N), []
    for t in range(T):
        projected = [a + b + c for a, b, c in zip(x["x"], x["B"], x["C"])]
        xBC = [silu(m + b) for m, b in zip(convolved(projected, t, p["w"]), p["bias"])]
        u, B, C = xBC[:P], xBC[P : P + N], xBC[P + N :]
        step = softplus(x["dt"][t] + p["dt_bias"])
        decay = math.exp(-math.exp(p["A_log"]) * step)
        S = [[decay * s + step * ui * b for s, b in zip(row, B)] for row, ui in zip(S, u)]
        y = [(s + p["D"] * ui) * silu(z) for s, ui, z in zip(read(S, C), u, x["z"][t])]
        out.append(each(lambda a, n: a * n, rmsnorm(y), p["norm"]))
    return {"y": out}, {"S": S}


def rotary_retention(x, p, sizes):
    half, V = sizes["half"], sizes["V"]
    S, out = zeros(V, 2 * half), []

    def turned(a, t):
        pairs = [complex(a[i], a[i + half]) * complex(math.cos(w * t), math.sin(w * t)) for i, w in enumerate(p["speed"])]
        return [z.real for z in pairs] + [z.imag for z in pairs]

    for t in range(T):
        k, q = turned(x["k"][t], t), turned(x["q"][t], t)
        S = [[p["gamma"] * s + v * kj for s, kj in zip(row, k)] for row, v in zip(S, x["v"][t])]
        out.append(read(S, q))
    return {"o": out}, {"S": S, "token": float(T)}


def rwkv7_layer(x, p, sizes):
    K, V = sizes["K"], sizes["V"]
    S, out = zeros(V, K), []

    def mixed(name, t):
        now = x[name][t]
        before = x[name][t - 1] if t else [0.0] * len(now)
        return [a + m * (b - a) for a, b, m in zip(now, before, p["mu_" + name])]

    for t in range(T):
        r, k, v = mixed("r", t), mixed("k", t), mixed("v", t)
        decay = [math.exp(-0.606531 * sigmoid(w)) for w in mixed("w", t)]
        a = each(sigmoid, mixed("a", t))
        kappa = l2norm(each(lambda s, m: s * m, k, p["k_k"]))
        write = [s * (1 + (rate - 1) * m) for s, rate, m in zip(k, a, p["k_a"])]
        held = read(S, kappa)
        S = [
            [s * d - h * rate * e + vi * w for s, d, rate, e, w in zip(row, decay, a, kappa, write)]
            for row, h, vi in zip(S, held, v)
        ]
        bonus = math.fsum(ri * m * w for ri, m, w in zip(r, p["r_k"], write))
        out.append([o + bonus * vi for o, vi in zip(read(S, r), v)])
    return {"o": out}, {"S": S}


def sums_of_exponentials(x, p, sizes, nothing):
    """RWKV-4's outputs, and its two sums as the paper has them; before the first token there is a weight on nothing."""
    C = sizes["C"]
    a, b, out = [0.0] * C, [nothing] * C, []
    for t in range(T):
        row = []
        for c in range(C):
            k, v, w, u = x["k"][t][c], x["v"][t][c], math.exp(p["w"][c]), p["u"][c]
            row.append(sigmoid(x["r"][t][c]) * (a[c] + math.exp(k + u) * v) / (b[c] + math.exp(k + u)))
            a[c] = math.exp(-w) * a[c] + math.exp(k) * v
            b[c] = math.exp(-w) * b[c] + math.exp(k)
        out.append(row)
    return out, a, b


def rwkv4(x, p, sizes):
    """Without a stabiliser, whose last value scales what the states are."""
    out, a, b = sums_of_exponentials(x, p, sizes, 0.0)
    top = [0.0] * sizes["C"]
    for t in range(T):
        top = [max(m - math.exp(w), k) for m, w, k in zip(top, p["w"], x["k"][t])]
    scale = [math.exp(-m) for m in top]
    final = {"top": top, "sum_v": each(lambda s, m: s * m, a, scale), "sum_1": each(lambda s, m: s * m, b, scale)}
    return {"o": out}, final


def rwkv4_logaddexp(x, p, sizes):
    out, a, b = sums_of_exponentials(x, p, sizes, 1.0)
    return {"o": out}, {"weight": [math.log(y) for y in b], "mean": each(lambda s, y: s / y, a, b)}


def longhorn_channels(x, p, sizes):
    """Each row of the state minimises |s - s_old|^2 + rate (s k - v)^2: it is the solution of that channel's own normal equations."""
    K, V = sizes["K"], sizes["V"]
    S, out = zeros(V, K), []
    for t in range(T):
        k, v = x["k"][t], x["v"][t]
        for i in range(V):
            rate = sigmoid(x["beta"][t][i])
            A = [[(a == b) + rate * k[a] * k[b] for b in range(K)] for a in range(K)]
            [S[i]] = solved(A, [[s + rate * v[i] * kj for s, kj in zip(S[i], k)]])
        out.append(read(S, x["q"][t]))
    return {"o": out}, {"S": S}


def mamba3(x, p, sizes):
    """With complex numbers, as the sum over all earlier tokens: each has decayed and turned by all angles in between."""
    N, P = sizes["N"], sizes["P"]
    rate = math.exp(p["A"])
    dt = [softplus(x["dt"][t]) for t in range(T)]
    steps = [[cmath.exp(complex(-rate, speed) * dt[t]) for speed in x["theta"][t]] for t in range(T)]
    keys = [each(complex, x["B"][t], x["B_im"][t]) for t in range(T)]
    out = []
    for t in range(T):
        query = each(complex, x["C"][t], x["C_im"][t])
        row = [p["D"] * v for v in x["x"][t]]
        carried = query
        for s in range(t, -1, -1):
            weight = math.fsum((c * k).real for c, k in zip(carried, keys[s]))
            row = [y + dt[s] * weight * v for y, v in zip(row, x["x"][s])]
            carried = each(lambda c, a: c * a, carried, steps[s])
        out.append(row)
    state = [[0j] * N for _ in range(P)]
    for t in range(T):
        state = [[a * s + dt[t] * v * k for s, a, k in zip(row, steps[t], keys[t])] for row, v in zip(state, x["x"][t])]
    return {"y": out}, {"S": [[s.real for s in row] for row in state], "S_im": [[s.imag for s in row] for row in state]}


def kalman(x, p, sizes):
    """What the measurements so far say of each channel, all at once: the mean and the variance of a number beside others of known
    covariance."""
    C = sizes["C"]
    out, variances = [[0.0] * C for _ in range(T)], [0.0] * C
    for c in range(C):
        keep = [sigmoid(x["a"][t][c]) for t in range(T)]
        covariance = []  # of the hidden numbers
        for t in range(T):
            column = [keep[t] * covariance[s][-1] for s in range(t)]
            own = keep[t] ** 2 * covariance[-1][-1] + math.exp(p["drift"][c]) if t else math.exp(p["drift"][c])
            for s in range(t):
                covariance[s].append(column[s])
            covariance.append([row[t] for row in covariance] + [own])
        for t in range(T):
            seen = [[covariance[i][j] + (i == j) * math.exp(x["noise"][i][c]) for j in range(t + 1)] for i in range(t + 1)]
            [weights] = solved(seen, [[covariance[i][t] for i in range(t + 1)]])
            out[t][c] = math.fsum(w * x["z"][i][c] for i, w in enumerate(weights))
        variances[c] = covariance[-1][-1] - math.fsum(w * covariance[i][-1] for i, w in enumerate(weights))
    return {"y": out}, {"P": variances, "x": out[-1]}


def titans(x, p, sizes):
    """The paper's order: the surprise is the momentum plus a step down the gradient of |S k - v|^2 / 2, at the old memory."""
    K, V = sizes["K"], sizes["V"]
    S, Z, out = zeros(V, K), zeros(V, K), []
    for t in range(T):
        k = l2norm(x["k"][t])
        kept, momentum, step = (sigmoid(x[n][t]) for n in ("alpha", "eta", "theta"))
        slope = each(lambda a, b: a - b, read(S, k), x["v"][t])
        Z = [[momentum * z - step * s * kj for z, kj in zip(row, k)] for row, s in zip(Z, slope)]
        S = [[kept * s + z for s, z in zip(row, surprise)] for row, surprise in zip(S, Z)]
        out.append([y / math.sqrt(K) for y in read(S, x["q"][t])])
    return {"o": out}, {"S": S, "Z": Z}


def lru(x, p, sizes):
    """In complex numbers, as the paper writes it."""
    P = sizes["P"]
    h, out = [0j] * sizes["N"], []
    poles = [math.exp(-math.exp(n)) * complex(math.cos(a), math.sin(a)) for n, a in zip(p["nu"], p["theta"])]
    for t in range(T):
        u = [complex(a, b) for a, b in zip(read(p["B_re"], x["x"][t]), read(p["B_im"], x["x"][t]))]
        h = [pole * s + math.sqrt(1 - abs(pole) ** 2) * b for pole, s, b in zip(poles, h, u)]
        rows = [[complex(a, b) for a, b in zip(*row)] for row in zip(p["C_re"], p["C_im"])]
        out.append([sum(c * s for c, s in zip(rows[i], h)).real + p["D"][i] * x["x"][t][i] for i in range(P)])
    return {"y": out}, {"re": [s.real for s in h], "im": [s.imag for s in h]}


def gateloop(x, p, sizes):
    """The complex state of the paper, whose real part the outputs read; and that of the turned keys."""
    K, V = sizes["K"], sizes["V"]
    H, angle, out = [[0j] * K for _ in range(V)], [0.0] * K, []
    for t in range(T):
        angle = each(lambda a, b: a + b, angle, x["turn"][t])
        pole = [sigmoid(g) * complex(math.cos(w), math.sin(w)) for g, w in zip(x["g"][t], x["turn"][t])]
        H = [[a * s + v * k for a, s, k in zip(pole, row, x["k"][t])] for row, v in zip(H, x["v"][t])]
        out.append([math.fsum((s * q).real for s, q in zip(row, x["q"][t])) for row in H])
    still = [[s * complex(math.cos(a), -math.sin(a)) for s, a in zip(row, angle)] for row in H]
    S = [[s.real for s in row] + [-s.imag for s in row] for row in still]
    return {"o": out}, {"S": S, "angle": angle}


def gated_oja(x, p, sizes):
    K, V = sizes["K"], sizes["V"]
    S, out = zeros(V, K), []
    for t in range(T):
        S = [[math.exp(g) * s for s in row] for row, g in zip(S, x["g"][t])]
        held = [math.fsum(v * row[j] for v, row in zip(x["v"][t], S)) for j in range(K)]
        step = [x["beta"][t] * (k - h) for k, h in zip(x["k"][t], held)]
        S = [[s + v * d for s, d in zip(row, step)] for row, v in zip(S, x["v"][t])]
        out.append([y / math.sqrt(K) for y in read(S, x["q"][t])])
    return {"o": out}, {"S": S}


def path_linear(x, p, sizes):
    """With the matrices I - beta w w^T formed."""
    K, V = sizes["K"], sizes["V"]
    S, out = zeros(V, K), []
    for t in range(T):
        w, beta = l2norm(x["w"][t]), 2 * sigmoid(x["b"][t])
        H = [[(i == j) - beta * w[i] * w[j] for j in range(K)] for i in range(K)]
        S = [[dot(row, [H[i][j] for i in range(K)]) + v * x["k"][t][j] for j in range(K)] for row, v in zip(S, x["v"][t])]
        out.append([y / math.sqrt(K) for y in read(S, x["q"][t])])
    return {"o": out}, {"S": S}


def mamba3_siso(x, p, sizes):
    """The rotation by complex numbers, a pair of channels each."""
    half, P = sizes["half"], sizes["P"]
    S, angle, out = zeros(P, 2 * half), [0.0] * half, []
    key, before = [0.0] * (2 * half), [0.0] * P

    def turned(a):
        pairs = [complex(a[i], a[i + half]) * complex(math.cos(w), math.sin(w)) for i, w in enumerate(angle)]
        return [z.real for z in pairs] + [z.imag for z in pairs]

    for t in range(T):
        step = softplus(x["dt"][t] + p["dt_bias"])
        decay, now = math.exp(-math.exp(p["A_log"]) * step), sigmoid(x["mix"][t])
        angle = [a + step * w for a, w in zip(angle, x["turn"][t])]
        last, key = key, turned(x["B"][t])
        S = [
            [decay * s + (1 - now) * step * decay * b * l + now * step * u * k for s, l, k in zip(row, last, key)]
            for row, b, u in zip(S, before, x["x"][t])
        ]
        before = x["x"][t]
        out.append([y + p["D"] * u for y, u in zip(read(S, turned(x["C"][t])), before)])
    return {"y": out}, {"S": S, "angle": angle, "x_back1": before, "key_back1": key}


def slstm(x, p, sizes):
    """Without the stabiliser, which only keeps the exponentials small."""
    K = sizes["K"]
    c, n, h, top, out = [0.0] * K, [0.0] * K, [0.0] * K, [0.0] * K, []
    for t in range(T):
        z, i, f, o = ([a + b for a, b in zip(x[g][t], read(p["R_" + g], h))] for g in "zifo")
        keep = each(sigmoid, f)
        c = [k * s + math.exp(a) * math.tanh(b) for k, s, a, b in zip(keep, c, i, z)]
        n = [k * s + math.exp(a) for k, s, a in zip(keep, n, i)]
        h = [sigmoid(g) * a / b for g, a, b in zip(o, c, n)]
        top = [max(math.log(k) + m, a) for k, m, a in zip(keep, top, i)]
        out.append(h)
    scale = [math.exp(-m) for m in top]
    return {"y": out}, {"c": each(lambda a, b: a * b, c, scale), "n": each(lambda a, b: a * b, n, scale), "m": top, "h": h}


def rwkv5(x, p, sizes):
    """As a sum over the earlier tokens."""
    K, V = sizes["K"], sizes["V"]
    decay, out = [math.exp(-math.exp(w)) for w in p["w"]], []

    def held(t, r, last):  # what the tokens before `last` left, read by r at token t
        weights = [math.fsum(r[i] * decay[i] ** (t - 1 - s) * x["k"][s][i] for i in range(K)) for s in range(last)]
        return [math.fsum(w * x["v"][s][j] for s, w in enumerate(weights)) for j in range(V)]

    for t in range(T):
        bonus = math.fsum(r * u * k for r, u, k in zip(x["r"][t], p["u"], x["k"][t]))
        out.append([o + bonus * v for o, v in zip(held(t, x["r"][t], t), x["v"][t])])
    unit = [[float(i == j) for j in range(K)] for i in range(K)]
    columns = [held(T, row, T) for row in unit]
    return {"o": out}, {"S": [[column[i] for column in columns] for i in range(V)]}


def hgrn(x, p, sizes):
    h, out = [0.0] * sizes["C"], []
    for t in range(T):
        lowest = each(sigmoid, p["bound"])
        keep = [a + (1 - a) * sigmoid(f) for a, f in zip(lowest, x["f"][t])]
        h = [a * s + (1 - a) * silu(u) for a, s, u in zip(keep, h, x["x"][t])]
        out.append([silu(g) * s for g, s in zip(x["g"][t], h)])
    return {"o": out}, {"h": h}


def min_gru(x, p, sizes):
    h, out = [0.0] * sizes["C"], []
    for t in range(T):
        h = [s + sigmoid(z) * (u - s) for s, z, u in zip(h, x["z"][t], x["x"][t])]
        out.append(h)
    return {"o": out}, {"h": h}


def rg_lru(x, p, sizes):
    h, out = [0.0] * sizes["C"], []
    for t in range(T):
        u = [a + b for a, b in zip(convolved(x["x"], t, p["w"]), p["bias"])]
        a = [sigmoid(-l) ** (8 * sigmoid(r)) for l, r in zip(p["rate"], x["r"][t])]  # the paper's a^(c r)
        h = [d * s + math.sqrt(1 - d * d) * sigmoid(i) * v for d, s, i, v in zip(a, h, x["i"][t], u)]
        out.append(h)
    return {"y": out}, {"h": h}


def sru(x, p, sizes):
    c, out = [0.0] * sizes["C"], []
    for t in range(T):
        c = [sigmoid(f) * s + (1 - sigmoid(f)) * u for f, s, u in zip(x["f"][t], c, x["u"][t])]
        out.append([sigmoid(r) * math.tanh(s) + (1 - sigmoid(r)) * a for r, s, a in zip(x["r"][t], c, x["x"][t])])
    return {"h": out}, {"c": c}


def attention(x, weight):
    """Weighted averages of the values, and what the weights sum up to: weight(t, s) of each earlier token s."""
    out, totals = [], []
    for t in range(T):
        weights = [weight(t, s) for s in range(t + 1)]
        totals.append(math.fsum(weights))
        out.append([math.fsum(w * x["v"][s][j] for s, w in enumerate(weights)) for j in range(len(x["v"][0]))])
    return out, totals


def memory(x, keys):
    """The final states of a normalised linear attention: the sums of v k^T and of k."""
    S = [[math.fsum(v[i] * k[j] for v, k in zip(x["v"], keys)) for j in range(len(keys[0]))] for i in range(len(x["v"][0]))]
    return {"S": S, "z": [math.fsum(k[j] for k in keys) for j in range(len(keys[0]))]}


def cosformer(x, p, sizes):
    relu = lambda a: [max(y, 0.0) for y in a]
    weight = lambda t, s: dot(relu(x["q"][t]), relu(x["k"][s])) * math.cos(math.pi / 2 * (t - s) / 4096)
    out, totals = attention(x, weight)
    angle = [math.pi / 2 * t / 4096 for t in range(T)]
    keys = [[y * f(a) for f in (math.cos, math.sin) for y in relu(k)] for k, a in zip(x["k"], angle)]
    return {"o": [[y / (n + 1e-6) for y in row] for row, n in zip(out, totals)]}, {**memory(x, keys), "token": float(T)}


def performer(x, p, sizes):
    root = sizes["K"] ** -0.25
    features = lambda a: [math.exp(root * y - 0.5 * root * root * dot(a, a)) for y in read(p["W"], a)]
    keys, queries = [features(k) for k in x["k"]], [features(q) for q in x["q"]]
    out, totals = attention(x, lambda t, s: dot(queries[t], keys[s]))
    return {"o": [[y / n for y in row] for row, n in zip(out, totals)]}, memory(x, keys)


def hedgehog(x, p, sizes):
    def softmax(a):
        exps = [math.exp(y) for y in a]
        return [y / math.fsum(exps) for y in exps]

    features = lambda a, W: softmax(read(W, a)) + softmax([-y for y in read(W, a)])
    keys, queries = [features(k, p["W_k"]) for k in x["k"]], [features(q, p["W_q"]) for q in x["q"]]
    out, totals = attention(x, lambda t, s: dot(queries[t], keys[s]))
    return {"o": [[y / n for y in row] for row, n in zip(out, totals)]}, memory(x, keys)


def delta_net_negative(x, p, sizes):
    S, out = zeros(sizes["V"], sizes["K"]), []
    for t in range(T):
        delta_rule(S, l2norm(each(silu, x["k"][t])), x["v"][t], 2 * sigmoid(x["b"][t]))
        out.append(read(S, l2norm(each(silu, x["q"][t]))))
    return {"o": out}, {"S": S}


def rls(x, p, sizes):
    """The weighted least squares problem solved anew for each token, from P = I / 2: its Gram matrix starts as 2 I."""
    K, V, out = sizes["K"], sizes["V"], []
    G, R = [[2.0 * (i == j) for j in range(K)] for i in range(K)], zeros(V, K)
    for t in range(T):
        k, v = x["k"][t], x["v"][t]
        G = [[0.99 * g + a * b for g, b in zip(row, k)] for row, a in zip(G, k)]
        R = [[0.99 * r + a * b for r, b in zip(row, k)] for row, a in zip(R, v)]
        out.append(read(solved(G, R), x["q"][t]))
    unit = [[float(i == j) for j in range(K)] for i in range(K)]
    return {"o": out}, {"W": solved(G, R), "P": solved(G, unit)}


def qrnn(x, p, sizes):
    """Its gates for all tokens at first, and then the pooling, as the paper has it."""
    padded = [[0.0] * sizes["P"]] + x["x"]
    gates = {
        n: [each(lambda a, b: f(a + b), read(p[n + "_0"], padded[t]), read(p[n + "_1"], padded[t + 1])) for t in range(T)]
        for n, f in (("Z", math.tanh), ("F", sigmoid), ("O", sigmoid))
    }
    c, out = [0.0] * sizes["C"], []
    for z, f, o in zip(gates["Z"], gates["F"], gates["O"]):
        c = [a * s + (1 - a) * b for a, s, b in zip(f, c, z)]
        out.append(each(lambda a, b: a * b, o, c))
    return {"h": out}, {"c": c, "x_back1": x["x"][-1]}


# sizes; inputs, shared inputs and params by name, with their shapes
LAYERS = {
    "qwen3_next_layer": (
        {"K": 8, "V": 6, "W": 4},
        {"v": "V", "z": "V", "a": "", "b": ""},
        {"q": "K", "k": "K"},
        {"wq": "WK", "wk": "WK", "wv": "WV", "norm": "V", "A_log": "", "dt_bias": ""},
    ),
    "kimi_delta_attention_layer": (
        {"K": 8, "V": 6, "W": 4},
        {"q": "K", "k": "K", "v": "V", "f": "K", "z": "V", "b": ""},
        {},
        {"wq": "WK", "wk": "WK", "wv": "WV", "norm": "V", "A_log": "", "bias": "K"},
    ),
    "mamba2_layer": (
        {"N": 5, "P": 6, "W": 4, "X": 16},
        {"x": "P", "B": "N", "C": "N", "z": "P", "dt": ""},
        {},
        {"w": "WX", "bias": "X", "A_log": "", "dt_bias": "", "D": "", "norm": "P"},
    ),
    "rotary_retention": ({"V": 6, "half": 4, "h": 4, "X": 8}, {"q": "X", "k": "X", "v": "V"}, {}, {"speed": "h", "gamma": ""}),
    "rwkv7_layer": (
        {"K": 8, "V": 6},
        {"r": "K", "w": "K", "k": "K", "v": "V", "a": "K"},
        {},
        {"mu_r": "K", "mu_w": "K", "mu_k": "K", "mu_v": "V", "mu_a": "K", "k_k": "K", "k_a": "K", "r_k": "K"},
    ),
    "titans": ({"K": 8, "V": 6}, {"q": "K", "k": "K", "v": "V", "alpha": "", "eta": "", "theta": ""}, {}, {}),
    "lru": (
        {"N": 5, "P": 6},
        {"x": "P"},
        {},
        {"nu": "N", "theta": "N", "B_re": "NP", "B_im": "NP", "C_re": "PN", "C_im": "PN", "D": "P"},
    ),
    "gateloop": ({"K": 6, "V": 5}, {"q": "K", "k": "K", "v": "V", "g": "K", "turn": "K"}, {}, {}),
    "gated_oja": ({"K": 8, "V": 6}, {"q": "K", "k": "K", "v": "V", "g": "V", "beta": ""}, {}, {}),
    "path_linear": ({"K": 8, "V": 6}, {"q": "K", "k": "K", "v": "V", "w": "K", "b": ""}, {}, {}),
    "mamba3_siso": (
        {"P": 6, "half": 4, "h": 4, "X": 8},
        {"x": "P", "B": "X", "C": "X", "dt": "", "mix": "", "turn": "h"},
        {},
        {"A_log": "", "dt_bias": "", "D": ""},
    ),
    "slstm": (
        {"K": 5},
        {"z": "K", "i": "K", "f": "K", "o": "K"},
        {},
        {"R_z": "KK", "R_i": "KK", "R_f": "KK", "R_o": "KK"},
    ),
    "rwkv5": ({"K": 8, "V": 6}, {"r": "K", "k": "K", "v": "V"}, {}, {"w": "K", "u": "K"}),
    "hgrn": ({"C": 6}, {"x": "C", "f": "C", "g": "C"}, {}, {"bound": "C"}),
    "min_gru": ({"C": 6}, {"x": "C", "z": "C"}, {}, {}),
    "rg_lru": ({"C": 6, "W": 4}, {"x": "C", "r": "C", "i": "C"}, {}, {"w": "WC", "bias": "C", "rate": "C"}),
    "sru": ({"C": 6}, {"x": "C", "u": "C", "f": "C", "r": "C"}, {}, {}),
    "cosformer": ({"K": 8, "V": 6}, {"q": "K", "k": "K", "v": "V"}, {}, {}),
    "performer": ({"K": 6, "V": 5, "F": 7}, {"q": "K", "k": "K", "v": "V"}, {}, {"W": "FK"}),
    "hedgehog": ({"K": 6, "V": 5}, {"q": "K", "k": "K", "v": "V"}, {}, {"W_q": "KK", "W_k": "KK"}),
    "delta_net_negative": ({"K": 8, "V": 6}, {"q": "K", "k": "K", "v": "V", "b": ""}, {}, {}),
    "rls": ({"K": 6, "V": 5}, {"q": "K", "k": "K", "v": "V"}, {}, {}),
    "qrnn": ({"C": 5, "P": 6}, {"x": "P"}, {}, {g + i: "CP" for g in "ZFO" for i in ("_0", "_1")}),
    "mamba3": (
        {"N": 8, "P": 6},
        {"x": "P", "dt": "", "theta": "N"},
        {"B": "N", "B_im": "N", "C": "N", "C_im": "N"},
        {"A": "", "D": ""},
    ),
    "kalman": ({"C": 6}, {"z": "C", "a": "C", "noise": "C"}, {}, {"drift": "C"}),
    "longhorn_channels": ({"K": 8, "V": 6}, {"q": "K", "k": "K", "v": "V", "beta": "V"}, {}, {}),
    "rwkv4_logaddexp": ({"C": 6}, {"r": "C", "k": "C", "v": "C"}, {}, {"w": "C", "u": "C"}),
    "rwkv4": ({"C": 6}, {"r": "C", "k": "C", "v": "C"}, {}, {"w": "C", "u": "C"}),
}


# --- files -----------------------------------------------------------------------------------------------------------------
def flat(values):
    return [y for x in values for y in flat(x)] if isinstance(values, list) else [values]


def shape_of(values):
    return [len(values)] + shape_of(values[0]) if isinstance(values, list) else []


def write_npy(path, values):
    shape = ", ".join(map(str, shape_of(values)))
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (%s,), }" % shape
    header += " " * (-(len(header) + 11) % 64) + "\n"
    numbers = flat(values)
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<%dd" % len(numbers), *numbers))


def draw(source, shape, scale):
    return [draw(source, shape[1:], scale) for _ in range(shape[0])] if shape else scale * source.gauss(0, 1)


def mapped(f, values):
    return [mapped(f, one) for one in values] if isinstance(values, list) else f(values)


def make(folder, name):
    sizes, inputs, shared, params = LAYERS[name]
    heads, source = 2, random.Random(name)
    shape = lambda letters: [sizes[letter] for letter in letters]
    x = {n: draw(source, [1, T, heads] + shape(s), 1) for n, s in inputs.items()}
    x.update({n: draw(source, [1, T, 1] + shape(s), 1) for n, s in shared.items()})
    p = {n: draw(source, [heads] + shape(s), 0.5) for n, s in params.items()}
    if "gamma" in p:
        p["gamma"] = [0.9, 0.97]
    if name == "gated_oja":  # decays and gains up to one and values of unit length, so that the state stays small
        x["g"] = mapped(lambda value: -abs(value), x["g"])
        x["beta"] = mapped(sigmoid, x["beta"])
        x["v"] = [[[[v / math.sqrt(dot(row, row)) for v in row] for row in heads] for heads in one] for one in x["v"]]
    results = []
    for head in range(heads):
        own = {n: [x[n][0][t][0 if n in shared else head] for t in range(T)] for n in x}
        results.append(globals()[name](own, {n: p[n][head] for n in p}, sizes))
    os.makedirs(folder, exist_ok=True)
    for n in x:
        write_npy(f"{folder}/input.{n}.npy", x[n])
    for n in p:
        write_npy(f"{folder}/param.{n}.npy", p[n])
    if name == "rls":
        unit = [[0.5 * (i == j) for j in range(sizes["K"])] for i in range(sizes["K"])]
        write_npy(f"{folder}/initial.P.npy", [[unit] * heads])
        write_npy(f"{folder}/initial.W.npy", [[zeros(sizes["V"], sizes["K"])] * heads])
    for n in results[0][0]:
        write_npy(f"{folder}/output.{n}.npy", [[[results[h][0][n][t] for h in range(heads)] for t in range(T)]])
    final = dict(results[0][1])
    for n in final:
        write_npy(f"{folder}/final.{n}.npy", [[results[h][1][n] for h in range(heads)]])
    # What delays keep is what the last tokens brought.
    backs = {"qwen3_next_layer": 3, "kimi_delta_attention_layer": 3, "mamba2_layer": 3, "rwkv7_layer": 1, "rg_lru": 3}.get(name, 0)
    delayed = {"mamba2_layer": "value", "rwkv7_layer": "r w k v a", "rg_lru": "x"}.get(name, "q k v").split()
    for n in delayed if backs else []:
        for back in range(1, backs + 1):
            if n == "value":
                last = [x["x"][0][T - back][h] + x["B"][0][T - back][h] + x["C"][0][T - back][h] for h in range(heads)]
            else:
                last = x[n][0][T - back]
            write_npy(f"{folder}/final.{n}_back{back}.npy", [[last[0 if n in shared else h] for h in range(heads)]])
    dims = {n: s for n, s in sizes.items() if n not in "Xh"}
    meta = {"spec": name, "dims": dims, "B": 1, "T": T, "H": heads, "Hq": 1 if shared else heads}
    with open(f"{folder}/meta.json", "w") as file:
        json.dump(meta, file)


def main():
    for name in sys.argv[2:] or LAYERS:
        make(os.path.join(sys.argv[1], name), name)


if __name__ == "__main__":
    main()
