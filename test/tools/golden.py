#!/usr/bin/env python3
"""Inputs and results of the whole layers in examples/, computed in plain Python with nothing of Recur: each layer is written
as its paper or its reference code has it, token by token. Usage: golden.py FOLDER [NAME ...] writes FOLDER/NAME/*.npy."""

import json
import math
import os
import random
import struct
import sys

T = 70


# --- arithmetic of lists -------------------------------------------------------------------------------------------------
def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def softplus(x):
    return max(x, 0) + math.log1p(math.exp(-abs(x)))


def silu(x):
    return x * sigmoid(x)


def each(f, *lists):
    return [f(*values) for values in zip(*lists)]


def dot(a, b):
    return math.fsum(each(lambda x, y: x * y, a, b))


def read(S, x):
    return [dot(row, x) for row in S]


def l2norm(a):
    return [x / math.sqrt(dot(a, a) + 1e-6) for x in a]


def rmsnorm(a):
    return [x / math.sqrt(dot(a, a) / len(a) + 1e-6) for x in a]


def zeros(rows, columns):
    return [[0.0] * columns for _ in range(rows)]


def convolved(sequence, t, weights):
    """weights[-1] belongs to token t, weights[0] to the oldest one; before the first token there is nothing."""
    total = [0.0] * len(sequence[t])
    for back in range(len(weights)):
        if t >= back:
            total = each(lambda s, w, x: s + w * x, total, weights[len(weights) - 1 - back], sequence[t - back])
    return total


def delta_rule(S, key, value, gain):
    for row, v in zip(S, value):
        missing = gain * (v - dot(row, key))
        for j, k in enumerate(key):
            row[j] += missing * k


# --- the layers: inputs of one head, a list over tokens each -> outputs and final states -----------------------------------
def qwen3_next_layer(x, p, sizes):
    K, V = sizes["K"], sizes["V"]
    S, out = zeros(V, K), []
    for t in range(T):
        q = l2norm(each(silu, convolved(x["q"], t, p["wq"])))
        k = l2norm(each(silu, convolved(x["k"], t, p["wk"])))
        v = each(silu, convolved(x["v"], t, p["wv"]))
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
        q = l2norm(each(silu, convolved(x["q"], t, p["wq"])))
        k = l2norm(each(silu, convolved(x["k"], t, p["wk"])))
        v = each(silu, convolved(x["v"], t, p["wv"]))
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


def rwkv4(x, p, sizes):
    """Without a stabiliser: sums of exponentials as the paper has them, with what the state starts from."""
    C = sizes["C"]
    a, b, top = [0.0] * C, [0.0] * C, [0.0] * C
    out = []
    for t in range(T):
        row = []
        for c in range(C):
            k, v, w, u = x["k"][t][c], x["v"][t][c], math.exp(p["w"][c]), p["u"][c]
            row.append(sigmoid(x["r"][t][c]) * (a[c] + math.exp(k + u) * v) / (b[c] + math.exp(k + u)))
            a[c] = math.exp(-w) * a[c] + math.exp(k) * v
            b[c] = math.exp(-w) * b[c] + math.exp(k)
            top[c] = max(top[c] - w, k)
        out.append(row)
    scale = [math.exp(-m) for m in top]
    final = {"top": top, "sum_v": each(lambda s, m: s * m, a, scale), "sum_1": each(lambda s, m: s * m, b, scale)}
    return {"o": out}, final


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


def make(folder, name):
    sizes, inputs, shared, params = LAYERS[name]
    heads, source = 2, random.Random(name)
    shape = lambda letters: [sizes[letter] for letter in letters]
    x = {n: draw(source, [1, T, heads] + shape(s), 1) for n, s in inputs.items()}
    x.update({n: draw(source, [1, T, 1] + shape(s), 1) for n, s in shared.items()})
    p = {n: draw(source, [heads] + shape(s), 0.5) for n, s in params.items()}
    if "gamma" in p:
        p["gamma"] = [0.9, 0.97]
    results = []
    for head in range(heads):
        own = {n: [x[n][0][t][0 if n in shared else head] for t in range(T)] for n in x}
        results.append(globals()[name](own, {n: p[n][head] for n in p}, sizes))
    os.makedirs(folder, exist_ok=True)
    for n in x:
        write_npy(f"{folder}/input.{n}.npy", x[n])
    for n in p:
        write_npy(f"{folder}/param.{n}.npy", p[n])
    for n in results[0][0]:
        write_npy(f"{folder}/output.{n}.npy", [[[results[h][0][n][t] for h in range(heads)] for t in range(T)]])
    final = dict(results[0][1])
    for n in final:
        write_npy(f"{folder}/final.{n}.npy", [[results[h][1][n] for h in range(heads)]])
    # What delays keep is what the last tokens brought.
    backs = {"qwen3_next_layer": 3, "kimi_delta_attention_layer": 3, "mamba2_layer": 3, "rwkv7_layer": 1}.get(name, 0)
    delayed = {"mamba2_layer": "value", "rwkv7_layer": "r w k v a"}.get(name, "q k v").split()
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
