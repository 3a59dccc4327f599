// Commuted, distributed, re-associated, renamed and split forms of one update have one normal form.
#include "Understand.h"

using recur::test::Understood;

namespace {

struct Disguises {
  const char *name;
  std::string declarations;
  std::vector<std::string> updates; ///< the first is the plain form
};

const std::vector<Disguises> &families() {
  static const std::string vectors =
      "dim K, V\ninput q: [K], k: [K], v: [V], g: scalar, beta: scalar\nstate S: [V, K]\n";
  static const std::string channels = "dim K, V\ninput q: [K], k: [K], v: [V], g: [K], beta: scalar\nstate S: [V, K]\n";
  static const std::vector<Disguises> all = {
      {"gated_delta_rule",
       vectors,
       {"S = exp(g) * S\nS = S + beta * outer(v - S @ k, k)\noutput o = S @ q",
        "S = dgps(S, read = k, value = v, decay = exp(g), gain = beta, solve = online)\noutput o = S @ q",
        "S = exp(g) * S + outer(beta * v - beta * exp(g) * (S @ k), k)\noutput o = S @ q",
        "S = outer(v, beta * k) + exp(g) * S - outer(S @ (exp(g) * k), k) * beta\noutput o = S @ q",
        "let r = S @ k\nlet e = v - exp(g) * r\nS = beta * outer(e, k) + S * exp(g)\noutput o = S @ q",
        "S = exp(g) * (S - beta * outer(S @ k, k)) + beta * outer(v, k)\noutput o = S @ q",
        "let a = exp(g)\nlet P = a * S\nlet w = outer(beta * k, k)\nS = P - outer(beta * (P @ k), k) + outer(v * beta, "
        "k)\n"
        "output o = S @ q",
        "S = exp(g / 2) * S\nS = S * exp(g / 2)\nS = S + outer((v - S @ k) * beta, k)\noutput o = S @ q",
        "let a = exp(g)\noutput o = a * (S @ q) + beta * dot(k, q) * (v - a * (S @ k))\n"
        "S = a * S + beta * outer(v - a * (S @ k), k)"}},
      {"delta_rule_per_channel",
       channels,
       {"S = S @ diag(exp(g))\nS = S + beta * outer(v - S @ k, k)\noutput o = S @ q",
        "S = dgps(S, read = k, value = v, decay = exp(g), gain = beta, solve = online)\noutput o = S @ q",
        "let d = exp(g)\nS = S @ diag(d) - beta * outer(S @ (k * d), k) + outer(v, beta * k)\noutput o = S @ q",
        "let d = exp(g)\nlet e = v - S @ (d * k)\nS = outer(beta * e, k) + S @ diag(d)\noutput o = S @ q"}},
      {"undecayed_read",
       vectors,
       {"S = exp(g) * S + outer(v - beta * (S @ k), k)\noutput o = S @ (q - beta * k)",
        "let r = S @ k\nS = exp(g) * S + outer(v, k) - outer(r, beta * k)\noutput o = S @ q - beta * (S @ k)",
        "let r = beta * (S @ k)\nS = outer(v - r, k) + exp(g) * S\noutput o = S @ q - S @ (k * beta)"}},
      {"outer_product_decay",
       "dim K, V\ninput q: [K], k: [K], v: [V], a: [K], b: [V]\nstate S: [V, K]\n",
       {"S = diag(sigmoid(b)) @ S @ diag(sigmoid(a)) + outer(v, k)\noutput o = S @ q",
        "S = outer(sigmoid(b), sigmoid(a)) * S + outer(v, k)\noutput o = S @ q",
        "S = S @ diag(sigmoid(a))\nS = diag(sigmoid(b)) @ S\nS = S + outer(v, k)\noutput o = S @ q"}},
      {"gated_feature",
       "dim K, V\ninput q: [K], v: [V], f: [K]\nstate S: [V, K]\n",
       {"let a = sigmoid(f)\nS = S @ diag(a) + outer(v, 1 - a)\noutput o = S @ q",
        "let a = sigmoid(f)\nS = S @ diag(a) + outer(v, ones(K)) - outer(v, a)\noutput o = S @ q",
        "let a = 1 / (1 + exp(-f))\nS = outer(v, ones(K) - a) + S @ diag(a)\noutput o = S @ q"}},
      {"two_steps",
       "dim K, V\ninput q: [K], k: [K], l: [K], v: [V], u: [V], beta: scalar\nstate S: [V, K]\n",
       {"S = S + beta * outer(v - S @ k, k)\nS = S + outer(u - S @ l, l)\noutput o = S @ q",
        "let e = beta * (v - S @ k)\nlet f = u - S @ l - dot(k, l) * e\nS = S + outer(e, k) + outer(f, l)\noutput o = "
        "S @ q",
        "let e = beta * v - beta * (S @ k)\nlet P = S + outer(e, k)\nS = P + outer(u, l) - outer(P @ l, l)\noutput o = "
        "S @ q"}},
      {"unit_keys",
       "dim K, V\ninput q: [K], k: [K], v: [V], beta: scalar\nstate S: [V, K]\n",
       {"let n = l2norm(k)\nS = S + beta * outer(v - S @ n, n)\noutput o = S @ q",
        "let s = sqrt(dot(k, k) + 1e-6)\nS = S + beta * outer(v - (S @ k) / s, k / s)\noutput o = S @ q",
        "let s = 1 / sqrt(1e-6 + dot(k, k))\nS = S + beta * s * outer(v, k) - (beta * s) * s * outer(S @ k, k)\n"
        "output o = S @ q"}},
      {"left_reads",
       "dim K, V\ninput q: [K], k: [K], v: [V], g: scalar, beta: scalar\nstate S: [K, V]\n",
       {"S = exp(g) * S\nS = S + beta * outer(k, v - k @ S)\noutput o = q @ S",
        "S = exp(g) * S + outer(beta * k, v) - outer(k, (exp(g) * beta) * (k @ S))\noutput o = q @ S"}},
      {"least_mean_squares",
       "dim K\ninput x: [K], y: scalar, beta: scalar\nstate w: [K]\n",
       {"output p = dot(w, x)\nw = w + beta * (y - dot(w, x)) * x",
        "let e = y - dot(x, w)\noutput p = dot(x, w)\nw = w + x * (e * beta)",
        "output p = dot(w, x)\nw = beta * y * x + w - beta * dot(x, w) * x"}},
      {"diagonal",
       "dim K\ninput k: [K], g: scalar\nstate A: [K]\n",
       {"A = exp(g) * A + k * k\noutput o = A", "let a = exp(g)\nA = k * k + A * a\noutput o = A",
        "A = exp(g) * (A + exp(-g) * k * k)\noutput o = A"}},
      {"tropical",
       "input f: scalar, i: scalar\nstate m: scalar\n",
       {"m = max(m + f, i)\noutput o = m", "m = max(i, f + m)\noutput o = m",
        "m = max(m, i - f) + f - f + f - f\nm = max(m + f, max(i, i))\noutput o = m"}},
      {"minimum",
       "input f: scalar, i: scalar\nstate m: scalar\n",
       {"m = min(m + f, i)\noutput o = m", "m = -max(-i, -m - f)\noutput o = m"}},
      {"logarithm_of_a_sum",
       "input f: scalar, i: scalar\nstate m: scalar\n",
       {"m = logaddexp(m + f, i)\noutput o = m", "m = log(exp(i) + exp(f) * exp(m))\noutput o = m",
        "m = i + softplus(f - i + m)\noutput o = m", "m = f + logaddexp(i - f, m)\noutput o = m",
        "let a = m + f\nm = max(i, a) + log(1 + exp(-abs(i - a)))\noutput o = m"}},
      {"variance",
       "input q: scalar, r: scalar\nstate m: scalar\n",
       {"m = m + q\nm = m - m * m / (m + r)\noutput o = m", "let p = m + q\nm = r * p / (r + p)\noutput o = m",
        "m = q + m\nlet k = m / (r + m)\nm = (1 - k) * m\noutput o = m",
        "let p = q + m\nlet k = p / (p + r)\nm = (1 - k) * p * (1 - k) + k * r * k\noutput o = m"}},
      {"three_in_a_logarithm",
       "input f: scalar, i: scalar, j: scalar\nstate m: scalar\n",
       {"m = logaddexp(logaddexp(m + f, i), j)\noutput o = m", "m = logaddexp(m + f, logaddexp(j, i))\noutput o = m",
        "m = logaddexp(j, m + f)\nm = logaddexp(i, m)\noutput o = m"}},
  };
  return all;
}

class Disguise : public testing::TestWithParam<Disguises> {};

TEST_P(Disguise, HasOneNormalForm) {
  const Disguises &family = GetParam();
  std::string plain = Understood(family.declarations + family.updates[0]).report();
  for (size_t i = 1; i < family.updates.size(); ++i)
    EXPECT_EQ(Understood(family.declarations + family.updates[i]).report(), plain) << family.updates[i];
}

INSTANTIATE_TEST_SUITE_P(Families, Disguise, testing::ValuesIn(families()),
                         [](const auto &family) { return family.param.name; });

} // namespace
