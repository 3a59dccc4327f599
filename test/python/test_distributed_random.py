"""Random recurrences whose sequences are shared out over four processes: everything is that of one process."""

import os
import random
import warnings

import numpy
import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("PyTorch has no torch.distributed", allow_module_level=True)

import recur  # noqa: E402
from test_distributed import run_processes  # noqa: E402

#: In the ordinary run; RECUR_TEST_ALL=1 takes 200, and RECUR_TEST_DRAWN says how many.
COUNT = int(os.environ.get("RECUR_TEST_DRAWN", "200" if os.environ.get("RECUR_TEST_ALL") == "1" else "4"))
RANKS = 4
H, K, V = 2, 4, 3


def write(seed):
    """A recurrence: a memory with decays and writes of some kind, and other states beside it or behind it."""
    draw = random.Random(seed)
    key = draw.choice(["k", "l2norm(k)", "l2norm(k + delay(k, 1))", "l2norm(k) + 0.5 * delay(k, 2)", "sigmoid(k)"])
    decay = draw.choice(["S", "0.9 * S", "exp(-a * a) * S", "sigmoid(a) * S", "S @ diag(exp(-w * w))", "diag(sigmoid(u)) @ S", "a * S"])
    error = draw.choice(["v", "v", "v - S @ key", "0.5 * v - sigmoid(b) * (S @ key)"])
    strength = draw.choice(["", "sigmoid(b) * ", "0.7 * "])
    if error != "v":
        key, strength = "l2norm(k)", strength or "sigmoid(a) * "
    states, lines, output = ["S: [V, K]"], [f"let key = {key}", f"S = {decay}", f"S = S + {strength}outer({error}, key)"], ["S @ q"]
    beside = {
        "z": ("z: [K]", ["z = sigmoid(a) * z + 0.3 * key"], "dot(z, q) * v"),
        "y": ("y: [V]", ["y = sigmoid(b) * y + 0.3 * (S @ key)"], "y"),
        "m": ("m: scalar", ["m = max(m - a * a, b)"], "tanh(m) * v"),
        "n": ("n: [V]", ["n = sigmoid(u) * n + d * u"], "n"),
        "r": ("r: [V, K]", ["r = 0.8 * r + 0.1 * outer(S @ q, k)"], "r @ q"),
    }
    for name in draw.sample(sorted(beside), draw.randint(0, 2)):
        state, updates, result = beside[name]
        states.append(state)
        lines += updates
        output.append(result)
    body = "\n  ".join([*(f"state {state}" for state in states), *lines, "output o: [V] = " + " + ".join(output)])
    return f"recurrence drawn {{\n  dim K, V\n  input q: [K], k: [K], v: [V], w: [K], u: [V], a, b\n  param d\n  {body}\n}}\n"


def prepare(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", recur.CompileWarning)  # of inputs that this one does not read
        return recur.define(write(seed), quick=True, dims={"K": K, "V": V})


def draw_call(recurrence, seed):
    """Its length, where it is cut and packed, arrays, and initial states."""
    random = numpy.random.default_rng(seed)
    tokens = int(random.choice([1, 7, 200, 200, 4096 if seed % 16 == 0 else 200]))
    cuts = [0, *sorted(random.integers(0, tokens + 1, RANKS - 1).tolist()), tokens]
    if seed % 3 == 0:
        cuts = [tokens * rank // RANKS for rank in range(RANKS + 1)]
    ends = [0, *sorted(random.integers(0, tokens + 1, 3).tolist()), tokens] if seed % 2 else None
    sides = {"q": (K,), "k": (K,), "v": (V,), "w": (K,), "u": (V,), "a": (), "b": ()}
    draw = lambda *shape: torch.tensor(random.standard_normal(shape), dtype=torch.float32)
    arrays = [0.5 * draw(1, tokens, H, *sides[value.name]) for value in recurrence.declaration.inputs]
    arrays += [0.5 * draw(H) for _ in recurrence.declaration.params]
    _, states = recurrence(*arrays, final=True)
    states = states if isinstance(states, dict) else {recurrence.declaration.states[0].name: states}
    rows = 1 if ends is None else len(ends) - 1
    return arrays, {n: 0.3 * draw(rows, *state.shape[1:]) for n, state in states.items()}, cuts, ends


def call(recurrence, arrays, initial, weights, finals, **options):
    """Outputs, final states, and gradients of everything."""
    leaves = [x.clone().requires_grad_() for x in (*arrays, *initial.values())]
    given, first = leaves[: len(arrays)], dict(zip(initial, leaves[len(arrays) :]))
    output, last = recurrence(*given, initial=first, final=True, **options)
    last = last if isinstance(last, dict) else {next(iter(initial)): last}
    loss = (output * weights).sum()
    for name, state in last.items():
        if state is not None:
            loss = loss + (state * finals[name]).sum()
    gradients = torch.autograd.grad(loss, leaves, allow_unused=True)
    return output.detach(), last, [torch.zeros_like(x) if g is None else g for x, g in zip(leaves, gradients)]


def compare(seed, rank):
    """The largest relative errors of results and of gradients, on all processes."""
    recurrence = prepare(seed)
    arrays, initial, cuts, ends = draw_call(recurrence, seed)
    offsets = {} if ends is None else {"offsets": torch.tensor(ends)}
    weights = torch.cos(torch.arange(arrays[0].shape[1] * H * V, dtype=torch.float32)).reshape(1, -1, H, V)
    finals = {n: torch.cos(torch.arange(x.numel(), dtype=torch.float32)).reshape(x.shape) for n, x in initial.items()}
    output, last, gradients = call(recurrence, arrays, initial, weights, finals, **offsets)

    own = slice(cuts[rank], cuts[rank + 1])
    inputs = len(recurrence.declaration.inputs)
    parts = [x[:, own].contiguous() if i < inputs else x for i, x in enumerate(arrays)]
    got, ended, found = call(recurrence, parts, initial, weights[:, own], finals, group=True, **offsets)
    pairs = [(got, output[:, own], output)]
    for name, state in last.items():
        shared = torch.zeros_like(state) if ended[name] is None else ended[name].detach().clone()
        torch.distributed.all_reduce(shared)
        pairs.append((shared, state.detach(), state.detach()))
    errors = [max(float((x - y).norm()) / max(float(whole.norm()), 1e-3) for x, y, whole in pairs)]
    pairs = []
    for place, (x, whole) in enumerate(zip(found, gradients)):
        if place >= inputs:
            x = x.clone()
            torch.distributed.all_reduce(x)
        pairs.append((x, whole[:, own] if place < inputs else whole, whole))
    errors.append(max(float((x - y).norm()) / max(float(whole.norm()), 1e-2) for x, y, whole in pairs))
    worst = torch.tensor(errors)
    torch.distributed.all_reduce(worst, torch.distributed.ReduceOp.MAX)
    return worst.tolist()


def hold(rank, count, seeds):
    for seed in seeds:
        result, gradient = compare(seed, rank)
        assert result < 1e-5 and gradient < 1e-5, (seed, result, gradient, write(seed))


def test_random_recurrences_are_those_of_one_process():
    seeds = list(range(COUNT))
    for seed in seeds:  # compiled once, and found in the cache by each process
        recurrence = prepare(seed)
        arrays, initial, _, _ = draw_call(recurrence, seed)
        call(recurrence, [x[:, :1] if i < len(recurrence.declaration.inputs) else x for i, x in enumerate(arrays)],
             {n: x[:1] for n, x in initial.items()}, torch.ones(1, 1, H, V), {n: torch.ones(()) for n in initial})  # fmt: skip
    run_processes(RANKS, hold, seeds, seconds=300)
