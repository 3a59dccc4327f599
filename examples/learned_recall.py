"""Trains memories to recall: a sequence of tokens writes pairs of a key and a value, each key twice, and then asks for what
each key was last given. The same small model learns it with recurrences of the library and with one that is written here, by
the gradients that the compiler derives. It takes half a minute on two idle cores, and says how far it is.

    python examples/learned_recall.py [recall.svg]

It needs JAX (pip install jax).
"""

import argparse
import importlib.util
import sys

if importlib.util.find_spec("jax") is None:
    sys.exit("learned_recall.py needs JAX, which differentiates the model: pip install jax")

if importlib.util.find_spec("recur") is None:
    sys.exit("learned_recall.py needs recur: docs/python.md says how to install it")

import jax
import jax.numpy as jnp
import numpy

import recur

#: Gated delta with two decays and a preconditioner: `used` is how much each channel of the keys was used lately. What is wrong is
#: mended where little was written, so that less of the other pairs is lost.
CAREFUL = """
recurrence careful {
  dim K, V
  input q: [K], k: [K], v: [V], g, h, beta
  state used: [K], S: [V, K]
  used = exp(h) * used + k * k
  let where = k / (used + 0.1)
  S = exp(g) * S
  S = S + beta / (dot(k, where) + 1e-6) * outer(v - S @ k, where)
  output o: [V] = S @ q
}
"""

KEYS, VALUES, PAIRS = 32, 16, 16  # as many tokens that are keys and values, and pairs in a sequence
WIDTH, HEADS, SIDE = 48, 2, 16  # of the model, of its memory
BATCH, STEPS, EVERY, RATE = 32, 400, 25, 5e-3


def draw(random):
    """Tokens [B, T], and what the last PAIRS of them ask for."""
    keys = random.permuted(numpy.tile(numpy.arange(KEYS), (BATCH, 1)), axis=1)[:, :PAIRS]
    written = numpy.concatenate([keys, keys], 1)
    values = random.integers(0, VALUES, written.shape)
    wanted = values[:, PAIRS:]
    order = random.permuted(numpy.tile(numpy.arange(PAIRS), (BATCH, 1)), axis=1)
    pairs = numpy.stack([written, values + KEYS], -1).reshape(BATCH, -1)
    return numpy.concatenate([pairs, numpy.take_along_axis(keys, order, 1)], 1), numpy.take_along_axis(wanted, order, 1)


def start(recurrence, random):
    """Parameters: an embedding, a projection of each token and the one before for each input, one of what is read."""
    shape = lambda value: (HEADS, SIDE) if value.shape else (HEADS,)
    weights = {v.name: random.standard_normal((2 * WIDTH, *shape(v))) / WIDTH**0.5 for v in recurrence.declaration.inputs}
    weights["embedding"] = random.standard_normal((KEYS + VALUES, WIDTH))
    weights["out"] = random.standard_normal((HEADS * SIDE, VALUES)) / SIDE**0.5
    return {name: jnp.asarray(array, jnp.float32) for name, array in weights.items()}


def answer(recurrence, weights, tokens):
    """Logits [B, PAIRS, VALUES] for what is asked."""
    now = weights["embedding"][tokens]
    both = jnp.concatenate([now, jnp.pad(now, ((0, 0), (1, 0), (0, 0)))[:, :-1]], -1)
    inputs = {}
    for value in recurrence.declaration.inputs:
        array = jnp.einsum("btw,wh...->bth...", both, weights[value.name])
        if value.name in ("q", "k"):
            array /= jnp.sqrt((array**2).sum(-1, keepdims=True) + 1e-6)
        elif value.name == "beta":
            array = jax.nn.sigmoid(array)
        elif value.name in ("g", "h"):  # decays, which start near one
            array = -jax.nn.softplus(array - (6 if value.name == "g" else 2))
        inputs[value.name] = array
    o = recurrence(**inputs)
    return o[:, -PAIRS:].reshape(*o.shape[:1], PAIRS, HEADS * SIDE) @ weights["out"]


def train(recurrence, steps=STEPS, seed=0, tell=lambda count, right: None):
    """(step, share of right answers on sequences that it has not seen) along the way, which `tell` is told too."""

    def loss_of(weights, tokens, wanted):
        logits = answer(recurrence, weights, tokens)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), wanted[..., None], -1)
        return -chosen.mean(), (logits.argmax(-1) == wanted).mean()

    @jax.jit
    def step(weights, moments, count, tokens, wanted):
        """One of Adam."""
        (_, right), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights, tokens, wanted)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradients)
        second = jax.tree.map(lambda m, g: 0.99 * m + 0.01 * g * g, moments[1], gradients)
        rate = RATE * jnp.sqrt(1 - 0.99**count) / (1 - 0.9**count)
        weights = jax.tree.map(lambda w, m, s: w - rate * m / (jnp.sqrt(s) + 1e-8), weights, first, second)
        return weights, (first, second), right

    random = numpy.random.default_rng(seed)
    weights = start(recurrence, random)
    moments = (jax.tree.map(jnp.zeros_like, weights),) * 2
    curve, lately = [], []
    for count in range(1, steps + 1):
        weights, moments, right = step(weights, moments, count, *draw(random))
        lately.append(right)
        if count % EVERY == 0:
            curve.append((count, float(jnp.stack(lately).mean())))
            tell(*curve[-1])
            lately = []
    return curve


def plot(curves):
    """An SVG of all curves."""
    colors = ("#888888", "#3366cc", "#dd8800", "#cc2233")
    last = max(step for curve in curves.values() for step, _ in curve)
    place = lambda step, right: f"{50 + 420 * step / last:.1f},{260 - 240 * right:.1f}"
    lines = ['<svg xmlns="http://www.w3.org/2000/svg" width="640" height="300" font-family="sans-serif" font-size="12">']
    lines.append('<rect width="640" height="300" fill="white"/><path d="M50,20V260H470" fill="none" stroke="black"/>')
    for right in (0, 0.25, 0.5, 0.75, 1):
        lines.append(f'<text x="44" y="{264 - 240 * right:.0f}" text-anchor="end">{right:.2f}</text>')
    lines.append(f'<text x="470" y="276" text-anchor="end">{last} steps</text><text x="50" y="12">right answers</text>')
    for row, (color, (name, curve)) in enumerate(zip(colors, curves.items())):
        points = " ".join(place(*point) for point in curve)
        lines.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>')
        lines.append(f'<text x="490" y="{40 + 20 * row}" fill="{color}">{name} {curve[-1][1]:.2f}</text>')
    return "\n".join([*lines, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", nargs="?", help="a file for the curves, such as recall.svg")
    picture = parser.parse_args().picture
    careful = recur.define(CAREFUL)
    print(careful.explain(K=SIDE, V=SIDE))
    print(careful.check(K=8, V=6))
    library = recur.library
    curves = {}
    for name, recurrence in {"mamba2": library.mamba2, "delta_net": library.delta_net, "careful": careful}.items():

        def tell(count, right, name=name):
            end = "\n" if count == STEPS else ""
            print(f"\r{name}: step {count} of {STEPS}, {right:.2f} of the answers are right", end=end, file=sys.stderr, flush=True)

        curves[name] = train(recurrence, tell=tell)
        print(f"{name:12}" + "".join(f"{right:6.2f}" for _, right in curves[name]), flush=True)
    print(f"{'step':12}" + "".join(f"{step:6}" for step, _ in curves["careful"]))
    if picture:
        with open(picture, "w", encoding="utf-8") as file:
            file.write(plot(curves))


if __name__ == "__main__":
    main()
