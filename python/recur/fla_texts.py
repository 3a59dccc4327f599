"""The recurrences behind :mod:`recur.fla`, one text each.

A line that ends in ``# with X`` is there where the call has ``X``, which is an array that may be left out or an option that is on; one
that ends in ``# without X`` is there where it has not. Several are separated by commas, and all of them must hold.
"""

from __future__ import annotations

from collections.abc import Collection

TEXTS = {
    "gated_delta_rule": """
recurrence gated_delta_rule {
  dim K, V
  const scale = 1 / sqrt(K)
  shared input q: [K], k: [K]
  input v: [V]
  input g                                               # with g
  input gk: [K]                                         # with gk
  input gv: [V]                                         # with gv
  input beta                                            # with beta
  param A_log                                           # with A_log
  param dt_bias                                         # with dt_bias
  state S: [K, V]
  let query = l2norm(q)                                 # with l2norm
  let query = q                                         # without l2norm
  let key = l2norm(k)                                   # with l2norm
  let key = k                                           # without l2norm
  let decay = g                                         # with g, without A_log
  let decay = -exp(A_log) * softplus(g)                 # with g, A_log, without dt_bias
  let decay = -exp(A_log) * softplus(g + dt_bias)       # with g, A_log, dt_bias
  let strength = beta                                   # with beta, without beta_sigmoid
  let strength = sigmoid(beta)                          # with beta, beta_sigmoid, without negative
  let strength = 2 * sigmoid(beta)                      # with beta, beta_sigmoid, negative
  S = exp(decay) * S                                    # with g
  S = diag(exp(gk)) @ S                                 # with gk
  S = S @ diag(exp(gv))                                 # with gv
  S = S + strength * outer(key, v - key @ S)            # with beta
  S = S + outer(key, v - key @ S)                       # without beta
  output o: [V] = scale * (query @ S)
}
""",
    "delta_rule": """
recurrence delta_rule {
  dim K, V
  const scale = 1 / sqrt(K)
  shared input q: [K], k: [K]
  input v: [V], beta
  state S: [K, V]
  let query = l2norm(q)                                 # with l2norm
  let query = q                                         # without l2norm
  let key = l2norm(k)                                   # with l2norm
  let key = k                                           # without l2norm
  S = S + beta * outer(key, v - key @ S)
  output o: [V] = scale * (query @ S)
}
""",
    "kda": """
recurrence kda {
  dim K, V
  const scale = 1 / sqrt(K)
  const lower_bound = -5                                # with lower_bound
  shared input q: [K], k: [K]
  input v: [V], g: [K], beta
  param A_log                                           # with A_log
  param dt_bias: [K]                                    # with dt_bias
  state S: [K, V]
  let query = l2norm(q)                                 # with l2norm
  let query = q                                         # without l2norm
  let key = l2norm(k)                                   # with l2norm
  let key = k                                           # without l2norm
  let gate = g + dt_bias                                # with dt_bias
  let gate = g                                          # without dt_bias
  let decay = gate                                      # without A_log, lower_bound
  let decay = -exp(A_log) * softplus(gate)              # with A_log, without lower_bound
  let decay = lower_bound * sigmoid(exp(A_log) * gate)  # with A_log, lower_bound
  let decay = lower_bound * sigmoid(gate)               # with lower_bound, without A_log
  let strength = beta                                   # without beta_sigmoid
  let strength = sigmoid(beta)                          # with beta_sigmoid, without negative
  let strength = 2 * sigmoid(beta)                      # with beta_sigmoid, negative
  S = diag(exp(decay)) @ S
  S = S + strength * outer(key, v - key @ S)
  output o: [V] = scale * (query @ S)
}
""",
    "diag_kdn": """
recurrence diag_kdn {
  dim K, V
  const scale = 1 / sqrt(K)
  const info_scale = K
  shared input q: [K], k: [K]
  input v: [V], g: [K], omega: [K], r
  param A_log                                           # with A_log
  param dt_bias: [K]                                    # with dt_bias
  state S: [K, V], c: [K] at start 1
  let query = l2norm(q)                                 # with l2norm
  let query = q                                         # without l2norm
  let key = l2norm(k)                                   # with l2norm
  let key = k                                           # without l2norm
  let gate = g + dt_bias                                # with dt_bias
  let gate = g                                          # without dt_bias
  let decay = gate                                      # without A_log
  let decay = -exp(A_log) * softplus(gate)              # with A_log
  let variance = exp(2 * decay) / c + omega
  let gain = variance * key / (r + dot(variance, key * key))
  c = 1 / variance + info_scale / r * key * key
  S = diag(exp(decay)) @ S
  S = S + outer(gain, v - key @ S)
  output o: [V] = scale * (query @ S)
}
""",
    "gla": """
recurrence gla {
  dim K, V
  const scale = 1 / sqrt(K)
  shared input q: [K], k: [K]
  input v: [V]
  input g: [K]                                          # with g
  input gk: [K]                                         # with gk
  input gv: [V]                                         # with gv
  state S: [K, V]
  S = diag(exp(g)) @ S                                  # with g
  S = diag(exp(gk)) @ S                                 # with gk
  S = S @ diag(exp(gv))                                 # with gv
  S = S + outer(k, v)
  output o: [V] = scale * (q @ S)
}
""",
    "simple_gla": """
recurrence simple_gla {
  dim K, V
  const scale = 1 / sqrt(K)
  shared input q: [K], k: [K]
  input v: [V]
  input g                                               # with g
  param g_gamma                                         # with g_gamma
  state S: [K, V]
  S = exp(g) * S + outer(k, v)                          # with g, without g_gamma
  S = exp(g_gamma) * S + outer(k, v)                    # with g_gamma, without g
  S = exp(g + g_gamma) * S + outer(k, v)                # with g, g_gamma
  S = S + outer(k, v)                                   # without g, g_gamma
  output o: [V] = scale * (q @ S)
}
""",
    "linear_attn": """
recurrence linear_attn {
  dim K, V
  const scale = 1 / sqrt(K)
  shared input q: [K], k: [K]
  input v: [V]
  state S: [K, V]
  state z: [K]                                          # with normalize
  S = S + outer(k, v)
  z = z + k                                             # with normalize
  output o: [V] = scale * (q @ S)                       # without normalize
  output o: [V] = (scale * (q @ S)) / (scale * dot(z, q) + 1e-10)  # with normalize
}
""",
    "rwkv7": """
recurrence rwkv7 {
  dim K, V
  const scale = 1 / sqrt(K)
  input r: [K], w: [K], k: [K], v: [V], a: [K], b: [K]
  state S: [K, V]
  S = diag(exp(w)) @ S + outer(b, a @ S) + outer(k, v)
  output o: [V] = scale * (r @ S)
}
""",
    "gated_delta_product": """
recurrence gated_delta_product {
  dim K, V, N
  const scale = 1 / sqrt(K)
  input q: [K], k: [N, K], v: [N, V], beta: [N]
  input g                                               # with g
  state S: [K, V]
  let query = l2norm(q)                                 # with l2norm
  let query = q                                         # without l2norm
  S = exp(g) * S                                        # with g
  for j in 0..N {
    let key = l2norm(k[j])                              # with l2norm
    let key = k[j]                                      # without l2norm
    S = S + beta[j] * outer(key, v[j] - key @ S)
  }
  output o: [V] = scale * (query @ S)
}
""",
    "comba": """
recurrence comba {
  dim K, V
  const scale = 1 / sqrt(K)
  shared input q: [K], k: [K]
  input v: [V], p: [K], g
  input beta                                            # with beta
  state S: [K, V]
  let query = l2norm(q)                                 # with l2norm
  let query = q                                         # without l2norm
  let key = l2norm(k)                                   # with l2norm
  let key = k                                           # without l2norm
  let reader = l2norm(p)                                # with l2norm
  let reader = p                                        # without l2norm
  S = exp(g) * S + beta * outer(key, v - reader @ S)    # with beta
  S = exp(g) * S + outer(key, v - reader @ S)           # without beta
  output o: [V] = scale * (query @ S)
}
""",
    "gdn2": """
recurrence gdn2 {
  dim K, V
  const scale = 1 / sqrt(K)
  const lower_bound = -5                                # with lower_bound
  shared input q: [K], k: [K]
  input v: [V], g: [K], b: [K], w: [V]
  param A_log                                           # with A_log
  param dt_bias: [K]                                    # with dt_bias
  state S: [K, V]
  let query = l2norm(q)                                 # with l2norm
  let query = q                                         # without l2norm
  let key = l2norm(k)                                   # with l2norm
  let key = k                                           # without l2norm
  let gate = g + dt_bias                                # with dt_bias
  let gate = g                                          # without dt_bias
  let decay = gate                                      # without A_log, lower_bound
  let decay = -exp(A_log) * softplus(gate)              # with A_log, without lower_bound
  let decay = lower_bound * sigmoid(exp(A_log) * gate)  # with A_log, lower_bound
  let decay = lower_bound * sigmoid(gate)               # with lower_bound, without A_log
  S = diag(exp(decay)) @ S
  S = S + outer(key, w * v - (b * key) @ S)
  output o: [V] = scale * (query @ S)
}
""",
    "precond_gated_delta_rule": """
recurrence precond_gated_delta_rule {
  dim K, V
  const scale = 1 / sqrt(K)
  const x = 1.5
  const eps = 1e-6
  const center = -0.2
  shared input q: [K], k: [K], g_atk, beta_atk
  input v: [V], g, beta
  param log_atk_scale                                   # with log_atk_scale
  state A: [K], S: [K, V]
  let query = l2norm(q)                                 # with l2norm
  let query = q                                         # without l2norm
  let key = l2norm(k)                                   # with l2norm
  let key = k                                           # without l2norm
  A = exp(g_atk) * A + beta_atk * key * key
  let distance = log(A + eps) - log_atk_scale           # with log_atk_scale
  let distance = log(A + eps) - center                  # without log_atk_scale
  let written = exp(-log(x) * distance / (1 + abs(distance))) * key
  S = exp(g) * S
  S = S + beta * outer(written, v - key @ S)
  output o: [V] = scale * (query @ S)
}
""",
    "precond_kda": """
recurrence precond_kda {
  dim K, V
  const scale = 1 / sqrt(K)
  const x = 1.5
  const eps = 1e-6
  const center = -0.2
  const lower_bound = -5                                # with lower_bound
  shared input q: [K], k: [K], g_atk, beta_atk
  input v: [V], g: [K], beta
  param A_log                                           # with A_log
  param dt_bias: [K]                                    # with dt_bias
  param log_atk_scale                                   # with log_atk_scale
  state A: [K], S: [K, V]
  let gate = g + dt_bias                                # with dt_bias
  let gate = g                                          # without dt_bias
  let decay = gate                                      # without A_log, lower_bound
  let decay = -exp(A_log) * softplus(gate)              # with A_log, without lower_bound
  let decay = lower_bound * sigmoid(exp(A_log) * gate)  # with A_log, lower_bound
  let decay = lower_bound * sigmoid(gate)               # with lower_bound, without A_log
  A = exp(g_atk) * A + beta_atk * k * k
  let distance = log(A + eps) - log_atk_scale           # with log_atk_scale
  let distance = log(A + eps) - center                  # without log_atk_scale
  let written = exp(-log(x) * distance / (1 + abs(distance))) * k
  S = diag(exp(decay)) @ S
  S = S + beta * outer(written, v - k @ S)
  output o: [V] = scale * (q @ S)
}
""",
    "momentum_delta_rule": """
recurrence momentum_delta_rule {
  dim K, V
  const scale = 1 / sqrt(K)
  input q: [K], k: [K], v: [V], log_alpha, log_mu
  input p: [K]                                          # with p
  input beta                                            # with beta
  input eta                                             # with eta
  state S: [K, V], M: [K, V]
  let query = l2norm(q)                                 # with l2norm
  let query = q                                         # without l2norm
  let key = l2norm(k)                                   # with l2norm
  let key = k                                           # without l2norm
  let reader = l2norm(p)                                # with p, l2norm
  let reader = p                                        # with p, without l2norm
  let reader = key                                      # without p
  let read = exp(log_alpha) * (reader @ S)              # with decayed
  let read = reader @ S                                 # without decayed
  let written = eta * key                               # with eta
  let written = key                                     # without eta
  M = exp(log_mu) * M + outer(written, read - v)
  S = exp(log_alpha) * S - beta * M                     # with beta
  S = exp(log_alpha) * S - M                            # without beta
  output o: [V] = scale * (query @ S)
}
""",
    "lightnet": """
recurrence lightnet {
  dim K, V
  const scale = 1 / sqrt(K)
  shared input q: [K], k: [K]
  input v: [V]
  state z: [K] at start -1e30 * ones(K)
  state S: [K, V]
  let before = z
  z = logaddexp(before, k)
  S = diag(exp(before - z)) @ S + outer(exp(k - z), v)
  output o: [V] = scale * (q @ S)
}
""",
    "gsa": """
recurrence gsa {
  dim K, V, M
  const scale = 1 / sqrt(K)
  input q: [K]
  shared input k: [K], v: [V], s: [M]
  shared input g: [M]                                   # with g
  state z: [M] at start -1e30 * ones(M)                 # without g
  state hk: [K, M], hv: [M, V]
  let before = z                                        # without g
  z = logaddexp(before, s)                              # without g
  let decay = before - z                                # without g
  let written = exp(s - z)                              # without g
  let decay = g                                         # with g
  let written = s                                       # with g
  hk = hk @ diag(exp(decay)) + outer(k, written)
  hv = diag(exp(decay)) @ hv + outer(written, v)
  output o: [V] = softmax(scale * (q @ hk)) @ hv
}
""",
    "mesa_net": """
recurrence mesa_net {
  dim K, V
  const iterations = 30
  input q: [K], k: [K], v: [V], g, beta
  param lamb: [K]
  state G: [K, K], S: [K, V]
  let query = l2norm(q)                                 # with l2norm
  let query = q                                         # without l2norm
  let key = l2norm(k)                                   # with l2norm
  let key = k                                           # without l2norm
  G = exp(g) * G + beta * outer(key, key)
  S = exp(g) * S + beta * outer(key, v)
  output o: [V] = cg(G, query, ridge = lamb, iterations = iterations) @ S
}
""",
    "selective_state": """
recurrence selective_state {
  dim P, N
  shared input B: [N], C: [N]
  input x: [P], dt: [P]
  input z: [P]                                          # with z
  param A: [P, N]
  param dt_bias: [P]                                    # with dt_bias
  param D: [P]                                          # with D
  state S: [P, N]
  let given = dt + dt_bias                              # with dt_bias
  let given = dt                                        # without dt_bias
  let step = softplus(given)                            # with softplus
  let step = given                                      # without softplus
  S = exp(outer(step, ones(N)) * A) * S + outer(step * x, B)
  let read = S @ C + D * x                              # with D
  let read = S @ C                                      # without D
  output y: [P] = read * silu(z)                        # with z
  output y: [P] = read                                  # without z
}
""",
    "mamba_scan": """
recurrence mamba_scan {
  dim K, V
  const lowest = 0                                      # with lowest
  const highest = 0                                     # with highest
  shared input B: [K], C: [K]
  input x: [V], dt
  input z: [V]                                          # with z
  param A
  param dt_bias                                         # with dt_bias
  param D                                               # with D, without channels
  param D: [V]                                          # with D, channels
  state S: [V, K]
  let given = dt + dt_bias                              # with dt_bias
  let given = dt                                        # without dt_bias
  let positive = softplus(given)                        # with softplus
  let positive = given                                  # without softplus
  let large = max(positive, lowest)                     # with lowest
  let large = positive                                  # without lowest
  let step = min(large, highest)                        # with highest
  let step = large                                      # without highest
  S = exp(step * A) * S + outer(step * x, B)
  let read = S @ C + D * x                              # with D
  let read = S @ C                                      # without D
  output y: [V] = read * silu(z)                        # with z
  output y: [V] = read                                  # without z
}
""",
}


def _holds(condition: str, there: Collection[str]) -> bool:
    wanted = True
    for word in condition.replace(",", " ").split():
        if word in ("with", "without"):
            wanted = word == "with"
        elif (word in there) != wanted:
            return False
    return True


def choose(name: str, there: tuple[str, ...]) -> str:
    """The recurrence of that name as a call has it, in which there are these arrays and options."""
    return choose_lines(TEXTS[name], there)


def choose_lines(text: str, there: Collection[str]) -> str:
    """The lines of a text that are there with these arrays and options."""
    lines = []
    for line in text.strip("\n").split("\n"):
        code, mark, condition = line.partition("  # ")
        if not mark or _holds(condition, there):
            lines.append(code.rstrip())
    return "\n".join(lines) + "\n"
