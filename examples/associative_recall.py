"""What memories hold: a sequence writes pairs of a key and a value, then is asked for the value of each key.

Prints how many answers are right for recurrences of the library, and for one that is written on the spot, the more pairs there
are; every third key is written a second time, with another value, and the last one counts. With matplotlib there it draws
the curves too. Nothing is learned: keys are random, so that what is seen is the memory alone.

    python examples/associative_recall.py [recall.png]
"""

import sys

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


def main():
    library = recur.library
    memories = {
        "linear_attention": library.linear_attention,
        "mamba2": library.mamba2,
        "delta_net": library.delta_net,
        "gated_delta_net": library.gated_delta_net,
        "squares": recur.define(SQUARES),
    }
    print(memories["squares"].explain(K=KEY, V=VALUE))
    print(memories["squares"].check(K=8, V=6))
    counts = (4, 8, 12, 16, 20, 24, 28, 32, 40, 48)
    curves = {name: [recall(memory, pairs) for pairs in counts] for name, memory in memories.items()}
    print(f"{'pairs':18}" + "".join(f"{pairs:6}" for pairs in counts))
    for name, curve in curves.items():
        print(f"{name:18}" + "".join(f"{right:6.2f}" for right in curve))
    if len(sys.argv) > 1:
        from matplotlib import pyplot

        for name, curve in curves.items():
            pyplot.plot(counts, curve, marker="o", label=name)
        pyplot.xlabel("pairs")
        pyplot.ylabel("answers that are right")
        pyplot.legend()
        pyplot.savefig(sys.argv[1])


if __name__ == "__main__":
    main()
