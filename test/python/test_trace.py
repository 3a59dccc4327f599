"""Recurrences written in Python: what they stand for, and what is said of mistakes."""

import pathlib
import pickle
import warnings

import numpy
import pytest
from conftest import FLOAT

import recur
from recur import Const, Dim, Input, Param, Shared, State, exp, outer

HERE = pathlib.Path(__file__)


@recur.recurrence
def gdn(S: State["V", "K"], q: Shared["K"], k: Shared["K"], v: Input["V"], g: Input, beta: Input, K: Dim):
    """Gated DeltaNet."""
    S = exp(g) * S
    S = S + beta * outer(v - S @ k, k)
    return S, S @ q / recur.sqrt(K)


@recur.recurrence
def rwkv6(S: State["V", "K"], r: Input["K"], k: Input["K"], v: Input["V"], w: Input["K"], u: Param["K"]):
    o = S @ r + recur.dot(r, u * k) * v  # reads the state before this token
    return S @ recur.diag(exp(w)) + outer(v, k), o


@recur.recurrence
def mlstm(m: State, n: State["K"], C: State["V", "K"], q: Input["K"], k: Input["K"], v: Input["V"], i: Input, f: Input):
    lf = recur.logsigmoid(f)
    now = recur.max(lf + m, i)
    keep, add = exp(lf + m - now), exp(i - now)
    C, n = keep * C + add * outer(v, k), keep * n + add * k
    return now, n, C, {"h": (C @ q) / recur.max(abs(recur.dot(n, q)), exp(-now))}


class Steps:
    """Several steps of any rule, as a module with settings."""

    def __init__(self, rule, count):
        self.rule, self.count = rule, count

    def token(self, S: State["V", "K"], q: Input["K"], k: Input[2, "K"], v: Input[2, "V"], beta: Input[2], g: Input, K: Dim):
        S = exp(g) * S
        for j in range(self.count):
            S = self.rule(S, k[j], v[j], beta[j])
        return S, S @ q / recur.sqrt(K)


def delta(S, k, v, beta):
    return S + beta * outer(v - S @ k, k)


@recur.recurrence
def turned(S: State["V", "K"], Z: State["V", "K"], q: Input["K"], p: Input["K"], k: Input["K"], v: Input["V"], g: Input, t: Input["K"]):
    c, s = recur.diag(recur.cos(t)), recur.diag(recur.sin(t))
    S, Z = exp(g) * (S @ c - Z @ s) + outer(v, k), exp(g) * (S @ s + Z @ c)
    return S, Z, S @ q - Z @ p


@recur.recurrence
def learnt_start(
    q: Input["K"], k: Input["K"], v: Input["V"], beta: Input, W: Param["V", "K"], ridge: Param, K: Dim,
    S: State["V", "K"] = lambda W: W, P: State["K", "K"] = lambda ridge, K: recur.diag(exp(ridge) * recur.ones(K)), largest: State = -1000,
):  # fmt: skip
    P = P + outer(k, k)
    S = S + recur.sigmoid(beta) * outer(v - S @ k, k)
    most = recur.max(largest, recur.dot(k, P @ k))
    return S, P, most, S @ q, most


@recur.recurrence
def packed(S: State["V", "K"], q: Input["K"], k: Input["K"], v: Input["V"], g: Input, first: Input):
    recur.restart(first)
    S = exp(g) * S + outer(v, k + recur.delay(k, 1))
    return S, S @ q + recur.cos(0.1 * recur.token()) * v


@recur.recurrence
def lru(h: State["N", complex], x: Input["P"], nu: Param["N"], theta: Param["N"], C: Param["P", "N", complex], B: Param["N", "P"]):
    h = exp(-exp(nu)) * recur.cis(exp(theta)) * h + recur.complex(B @ x, 2 * (B @ x))
    return h, recur.re(C @ h)


@recur.recurrence
def axes(S: State["V", "K"], q: Input["K"], k: Input["K"], v: Input["V"], g: Input, a: Input["K"], scale: Const = 0.25, N: Dim = 2):
    S = recur.dgps(S, read=k, value=v, decay=exp(g), atk=a, solve="online")
    return S, scale * (S @ q)[0:N] + recur.concat(v[0], v[1])


@recur.recurrence
def swapped(A: State["K"], B: State["K"], x: Input["K"]):
    return B, 0.5 * A + x, A


TEXTS = {
    "mlstm": """recurrence mlstm {
  dim K, V
  input q: [K], k: [K], v: [V], i, f
  state m, n: [K], C: [V, K]
  let lf = logsigmoid(f)
  let m_before = m
  m = max(lf + m, i)
  let keep = exp(lf + m_before - m)
  let add = exp(i - m)
  C = keep * C + add * outer(v, k)
  n = keep * n + add * k
  output h: [V] = (C @ q) / max(abs(dot(n, q)), exp(-m))
}""",
    "packed": """recurrence packed {
  dim V, K
  input q: [K], k: [K], v: [V], g, first
  state S: [V, K]
  restart first
  S = exp(g) * S + outer(v, k + delay(k, 1))
  output o = S @ q + cos(0.1 * token) * v
}""",
    "lru": """recurrence lru {
  dim N, P
  input x: [P]
  param nu: [N], theta: [N]
  complex param C: [P, N]
  param B: [N, P]
  complex state h: [N]
  h = exp(-exp(nu)) * cis(exp(theta)) * h + complex(B @ x, 2 * (B @ x))
  output o = re(C @ h)
}""",
    "axes": """recurrence axes {
  dim V, K, N = 2
  input q: [K], k: [K], v: [V], g, a: [K]
  state S: [V, K]
  S = exp(g) * S
  S = S + outer(v - S @ k, a * k)
  output o = 0.25 * (S @ q)[0..N] + concat(v[0], v[1])
}""",
    "swapped": """recurrence swapped {
  dim K
  input x: [K]
  state A: [K], B: [K]
  let old = A
  A = B
  B = 0.5 * old + x
  output o = old
}""",
    "turned": """recurrence turned {
  dim K, V
  input q: [K], p: [K], k: [K], v: [V], g, t: [K]
  state S: [V, K], Z: [V, K]
  let old = S
  S = exp(g) * (S @ diag(cos(t)) - Z @ diag(sin(t))) + outer(v, k)
  Z = exp(g) * (old @ diag(sin(t)) + Z @ diag(cos(t)))
  output o = S @ q - Z @ p
}""",
    "learnt_start": """recurrence learnt_start {
  dim K, V
  input q: [K], k: [K], v: [V], beta
  param W: [V, K], ridge
  state S: [V, K] at start W
  state P: [K, K] at start diag(exp(ridge) * ones(K)), largest at start -1000
  P = P + outer(k, k)
  S = S + sigmoid(beta) * outer(v - S @ k, k)
  largest = max(largest, dot(k, P @ k))
  output o1: [V] = S @ q
  output most = largest
}""",
}
PAIRS = {
    "gdn": (gdn, recur.library.gated_delta_net),
    "rwkv6": (rwkv6, recur.library.rwkv6),
    "mlstm": (mlstm, recur.define(TEXTS["mlstm"])),
    "steps": (recur.recurrence(Steps(delta, 2).token), recur.library.gated_delta_product.with_options(dims={"N": 2})),
    **{made.name: (made, recur.define(TEXTS[made.name])) for made in (packed, lru, axes, swapped, turned, learnt_start)},
}


def draw_for(recurrence, sizes, seed=3):
    random = numpy.random.default_rng(seed)
    drawn = {}
    for leading, values in (((2, 9, 2), recurrence.declaration.inputs), ((2,), recurrence.declaration.params)):
        for value in values:
            shape = [side if isinstance(side, int) else sizes[side] for side in value.shape]
            drawn[value.name] = (random.standard_normal((*leading, *shape)) / 3).astype(FLOAT)
    if "first" in drawn:
        drawn["first"] = (drawn["first"] > 0.3).astype(FLOAT)
    return drawn


@pytest.mark.parametrize("name", PAIRS)
def test_it_is_the_recurrence_of_the_text(name):
    traced, written = PAIRS[name]
    sizes = {"K": 4, "V": 3, "N": 2, "P": 3}
    given = draw_for(written, sizes)
    assert set(given) == {v.name for v in (*traced.declaration.inputs, *traced.declaration.params)}
    for got, want in zip(flatten(traced(**given, final=True)), flatten(written(**given, final=True)), strict=True):
        assert numpy.allclose(got, want, atol=2e-6)
    classes = [[state["class"] for state in one.explain_json()["states"]] for one in (traced, written)]
    assert sorted(classes[0]) == sorted(classes[1])


def flatten(results):
    for result in results:
        yield from [result[name] for name in sorted(result)] if isinstance(result, dict) else [result]


def test_the_text(tmp_path):
    assert gdn.text == """recurrence gdn {
  dim V, K
  shared input q: [K], k: [K]
  input v: [V], g, beta
  state S: [V, K]
  let S_1 = exp(g) * S
  S = S_1 + beta * outer(v - S_1 @ k, k)
  output o = S @ q / sqrt(K)
}
"""
    assert gdn.__doc__ == "Gated DeltaNet." and gdn.source_name == str(HERE)
    assert "output h = " in mlstm.text and "let lf = logsigmoid(f)\n" in mlstm.text


def test_both_ways_lead_to_the_same_kernel():
    sizes = {"K": 4, "V": 3}
    written = recur.define(gdn.text)
    assert written.request(sizes, "float32").to_key() == gdn.request(sizes, "float32").to_key()
    assert pickle.loads(pickle.dumps(gdn)).text == gdn.text and gdn.with_options(quick=True).function is gdn.function


def test_functions_call_functions():
    @recur.recurrence
    def twice(S: State["V", "K"], q: Shared["K"], k: Shared["K"], v: Input["V"], g: Input, beta: Input, K: Dim):
        S, _ = gdn.function(S, q, k, v, g, beta, K)
        return gdn.function(S, q, k, v, g, beta, K)

    assert twice.text.count("exp(g)") == 2 and twice.text.count("output") == 1


def test_what_numpy_calls_it():
    @recur.recurrence
    def other(s: State["K"], x: Input["K"], a: Input):
        s = numpy.exp(a) * s + numpy.float64(0.5) * numpy.maximum(x, 0) + sum([x, x])
        return s, numpy.tanh(s) / numpy.float32(2)

    assert "s = exp(a) * s + 0.5 * max(x, 0) + (x + x)\n" in other.text and "output o = tanh(s) / 2\n" in other.text
    with pytest.raises(recur.TraceError, match="^numpy.arctan2 does not take symbols; dir\\(recur.functions\\) lists what does$"):
        recur.recurrence(lambda_of(lambda s, x: numpy.arctan2(s, x)))


def test_what_pytorch_calls_it():
    torch = pytest.importorskip("torch")

    @recur.recurrence
    def other(s: State["K"], x: Input["K"], a: Input):
        s = torch.exp(a) * s + torch.nn.functional.softplus(x) * torch.sigmoid(x)
        return s, torch.maximum(s, x) - torch.tanh(-x)

    assert "s = exp(a) * s + softplus(x) * sigmoid(x)\n" in other.text and "output o = max(s, x) - tanh(-x)\n" in other.text


def test_a_long_sum_is_cut():
    @recur.recurrence
    def long(s: State, x: Input[600]):
        for j in range(600):
            s = s + 0.5 * x[j]
        return s, s

    assert max(map(len, long.text.splitlines())) < 130
    assert long(numpy.ones((1, 1, 1, 600), FLOAT))[0, 0, 0] == 300


# ---- Mistakes ----


def line_of(text):
    return next(number for number, line in enumerate(HERE.read_text().splitlines(), 1) if line.rstrip().endswith(text))


def test_a_mistake_is_shown_in_the_file():
    with pytest.raises(recur.CompileError) as raised:

        @recur.recurrence
        def bad(S: State["V", "K"], k: Input["K"], v: Input["V"]):
            S = S + outer(k, v)  # the wrong way
            return S, S @ k

    line = line_of("# the wrong way")
    shown = str(raised.value).splitlines()
    assert shown[0].startswith(f"{HERE}:{line}") and "error: the operands of '+' differ" in shown[0] and shown[0].endswith("[R0309]")
    assert shown[1] == "              S = S + outer(k, v)  # the wrong way"
    assert "help: outer(a, b) has the rows of a and the columns of b: write outer(v, k)" in shown
    place = raised.value.diagnostics[0].place
    assert place.line == line and raised.value.code == "R0309"
    if place.column:  # Python 3.11 and later know the columns
        assert shown[0].startswith(f"{HERE}:{line}:21: error: ") and shown[2] == "                      ^~~~~~~~~~~"
        assert (place.column, place.end_column) == (21, 32)


def test_a_mistake_in_a_function_that_is_called():
    def helper(S, k):
        return S @ recur.diag(k) @ k[2:3]  # of one element

    with pytest.raises(recur.CompileError) as raised:

        @recur.recurrence
        def bad(S: State["V", "K"], k: Input["K"]):
            return S, helper(S, k)

    assert f"{HERE}:{line_of('# of one element')}:" in str(raised.value)


def test_a_mistake_that_sizes_show():
    @recur.recurrence
    def short(s: State, x: Input["K"]):
        s = s + x[6]  # of a K of seven
        return s, s

    for call in (lambda: short(numpy.ones((1, 1, 1, 4), FLOAT)), lambda: short.explain(K=4)):
        with pytest.raises(recur.CompileError) as raised:
            call()
        assert str(raised.value).startswith(f"{HERE}:{line_of('# of a K of seven')}:")


def test_a_warning_is_shown_in_the_file():
    with pytest.warns(recur.CompileWarning) as warned:

        @recur.recurrence
        def unused(s: State, x: Input, nothing: Input):  # reads one
            s = s + x
            return s, s

    assert str(warned[0].message).startswith(f"{HERE}:{line_of('# reads one')}:40: warning: the input 'nothing' is never used [R0601]\n")
    assert warned[0].filename == __file__


def lambda_of(function):
    def other(s: State["K"], x: Input["K"]):
        return s, function(s, x)

    return other


@pytest.mark.parametrize(
    "function, message",
    [
        (lambda s, x: s if x > 0 else x, "an 'if', 'while', 'and', 'or' or 'not' asks for the value of a symbol"),
        (lambda s, x: 0 < x < 1, "an 'if', 'while', 'and', 'or' or 'not' asks for the value of a symbol"),
        (lambda s, x: s if x else x, "an 'if', 'while', 'and', 'or' or 'not' asks for the value of a symbol"),
        (lambda s, x: [y for y in x], "a symbol is not looped over"),
        (lambda s, x: x[:2], "a slice names both of its ends, and no step"),
        (lambda s, x: x[-1], "an index counts from 0, and is a whole number, not -1"),
        (lambda s, x: x.T, "there is no transpose"),
        (lambda s, x: float(x), "a size that comes with the arrays is no number here"),
        (lambda s, x: x + numpy.ones(3), "a recurrence computes with its arguments and with numbers, not with array"),
        (lambda s, x: x + "1", "a recurrence computes with its arguments and with numbers, not with '1'"),
        (lambda s, x: x * float("nan"), "numbers in a recurrence are finite, and this is nan"),
        (lambda s, x: gdn_symbols[0] + x, "other: the value 's' belongs to another recurrence"),
        (lambda s, x: numpy.add.reduce(x), "numpy.add.reduce does not take symbols"),
    ],
)
def test_what_symbols_cannot(function, message):
    with pytest.raises(recur.TraceError) as raised:
        recur.recurrence(lambda_of(function))
    assert str(raised.value).startswith(message)


gdn_symbols = []
recur.recurrence(lambda_of(lambda s, x: gdn_symbols.append(s) or s + x))


def without_annotation(S, k: Input):
    return S, k


def without_value(s: State, c: Const):
    return s + c, s


def with_default(s: State, x: Input = 1.0):
    return s + x, s


def of_stars(s: State, *x: Input):
    return s, s


def too_few(s: State, x: Input):
    return s + x


def nothing(s: State, x: Input):
    pass


@pytest.mark.parametrize(
    "function, message",
    [
        (without_annotation, "without_annotation: the argument 'S' has no annotation; write S: recur.State[\"V\", \"K\"], recur.Input[\"K\"]"),
        (without_value, "without_value: the const 'c' has no value; give it as a default: c: recur.Const = 1.0"),
        (with_default, "with_default: 'x' has a default, and every call brings it"),
        (of_stars, "of_stars: each argument has a name of its own; '*x' has none"),
        (too_few, "too_few returns 1 values; it returns the states after the token and then what goes out: s, and the outputs"),
        (nothing, "nothing returns 0 values"),
        (lambda s: s, "a recurrence has the name of its function, and '<lambda>' is none"),
    ],
)
def test_functions_that_are_none(function, message):
    with pytest.raises(recur.TraceError) as raised:
        recur.recurrence(function)
    assert str(raised.value).startswith(message)


def test_other_mistakes():
    with pytest.raises(recur.ArgumentError, match="^a recurrence is made of a function, not of 5"):
        recur.recurrence(5)
    with pytest.raises(recur.TraceError, match="^a side is the name of a dim or a whole number, not 1.5"):
        State[1.5]
    with pytest.raises(recur.TraceError, match="^restart belongs into the function of a recurrence$"):
        recur.restart(gdn_symbols[0])
    with pytest.raises(AttributeError, match="^the language has no function 'expp'; did you mean 'exp'[?]$"):
        recur.functions.expp  # noqa: B018
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        recur.recurrence(quick=True)(gdn.function)
