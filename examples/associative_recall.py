"""What memories hold: a sequence writes pairs of a key and a value, then is asked for the value of each key.

Prints how many answers are right for recurrences of the library, and for one that is written on the spot, the more pairs there
are; every third key is written a second time, with another value, and the last one counts. Nothing is learned: keys are random,
so that what is seen is the memory alone. It takes some seconds, and half a minute the first time, when kernels are compiled.

    python examples/associative_recall.py [recall.png]

A picture of the curves needs matplotlib; the numbers need NumPy alone.
"""

import argparse
import importlib.util
import sys

for name in ("numpy", "recur"):
    if importlib.util.find_spec(name) is None:
        sys.exit(f"associative_recall.py needs {name}: " + ("pip install numpy" if name == "numpy" else "docs/python.md says how to install it"))

import numpy

import recur

#: The delta rule, and a second memory for what it still gets wrong, under the squares of the key.
SQUARES = """
recurrence squares {
  dim K, V
  shared input q: [K], k: [K]
  input v: [V], beta
  state S: [V, K], F: [V, K]
  let key = l2norm(k * k - 1 / K * ones(K))
  let query = l2norm(q * q - 1 / K * ones(K))
  S = S + 0.5 * beta * outer(v - S @ k, k)
  F = F + beta * outer(v - S @ k - F @ key, key)
  output o: [V] = S @ q + F @ query
}
"""

KEY, VALUE, HEADS = 32, 32, 16


def draw(pairs, seed):
    """Keys of length one, values of +1 and -1, in the order in which they are written, and what is asked for."""
    random = numpy.random.default_rng(seed)
    keys = random.standard_normal((HEADS, pairs, KEY))
    keys /= numpy.linalg.norm(keys, axis=-1, keepdims=True)
    values = numpy.sign(random.standard_normal((HEADS, pairs, VALUE)))
    again = numpy.arange(0, pairs, 3)
    newer = numpy.sign(random.standard_normal((HEADS, len(again), VALUE)))
    written = numpy.concatenate([keys, keys[:, again]], 1), numpy.concatenate([values, newer], 1)
    wanted = values.copy()
    wanted[:, again] = newer
    return written, keys, wanted


def recall(recurrence, pairs, seed=0):
    """The share of values, of all keys and heads, whose every sign is right."""
    (keys, values), asked, wanted = draw(pairs, seed)
    tokens = keys.shape[1] + pairs
    q, k, v = (numpy.zeros((1, tokens, HEADS, size), numpy.float32) for size in (KEY, KEY, VALUE))
    k[0, : keys.shape[1]] = keys.swapaxes(0, 1)
    v[0, : keys.shape[1]] = values.swapaxes(0, 1)
    q[0, keys.shape[1] :] = asked.swapaxes(0, 1)
    scalars = {"g": numpy.zeros((1, tokens, HEADS), numpy.float32), "beta": numpy.ones((1, tokens, HEADS), numpy.float32)}
    names = {value.name for value in recurrence.declaration.inputs}
    o = recurrence(q=q, k=k, v=v, **{name: array for name, array in scalars.items() if name in names})
    return float((numpy.sign(o[0, keys.shape[1] :].swapaxes(0, 1)) == wanted).all(-1).mean())


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", nargs="?", help="a file for the curves, such as recall.png")
    chosen = parser.parse_args()
    if chosen.picture and importlib.util.find_spec("matplotlib") is None:
        parser.error("a picture needs matplotlib (pip install matplotlib); without the file's name the numbers are printed")
    return chosen


def tell(what):
    """How far it is, beside what is printed as the result."""
    print(what, file=sys.stderr, flush=True)


def main():
    chosen = read_arguments()
    library = recur.library
    memories = {
        "linear_attention": library.linear_attention,
        "mamba2": library.mamba2,
        "delta_net": library.delta_net,
        "gated_delta_net": library.gated_delta_net,
        "squares": recur.define(SQUARES),
    }
    print(memories["squares"].explain(K=KEY, V=VALUE))
    tell("checking every stage of it against the interpreter")
    print(memories["squares"].check(K=8, V=6))
    counts = (4, 8, 12, 16, 20, 24, 28, 32, 40, 48)
    curves = {}
    for number, (name, memory) in enumerate(memories.items(), 1):
        tell(f"{number} of {len(memories)}: {name}, with {counts[0]} to {counts[-1]} pairs")
        curves[name] = [recall(memory, pairs) for pairs in counts]
    print(f"{'pairs':18}" + "".join(f"{pairs:6}" for pairs in counts))
    for name, curve in curves.items():
        print(f"{name:18}" + "".join(f"{right:6.2f}" for right in curve))
    if chosen.picture:
        from matplotlib import pyplot

        for name, curve in curves.items():
            pyplot.plot(counts, curve, marker="o", label=name)
        pyplot.xlabel("pairs")
        pyplot.ylabel("answers that are right")
        pyplot.legend()
        pyplot.savefig(chosen.picture)


if __name__ == "__main__":
    main()
