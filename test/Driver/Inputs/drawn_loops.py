"""Draws recurrences with long loops over steps, and has recurc check them against the token-by-token interpreter.

    drawn_loops.py RECURC SEED COUNT [CHECK OPTION]...

What goes from step to step is drawn (one vector, two, a vector and a number), and so are the products in a step (a state from either side, a
param, an input), their order, and what the states are. The steps shrink what they find, so that long loops stay small.
"""
import json
import os
import random
import subprocess
import sys
import tempfile


def draw_recurrence(seed):
    draw = random.Random(seed)
    lines = ["recurrence drawn {", "  dim K = 5", "  input q: [K], k: [K], v: [K], g, b", "  param w: [K], W: [K, K]", "  state H: [K, K]"]
    looped = draw.random() < 0.25  # a state that goes token by token
    key = "k / (1 + sqrt(dot(k, k)))"
    lines.append(f"  H = 0.5 * sigmoid(g) * {'tanh(H)' if looped else 'H'} + outer({draw.choice(['v / (1 + sqrt(dot(v, v)))', key])}, {key})")
    products = draw.sample(["H @ x", "x @ H", "(exp(-abs(b)) * H) @ x", "x @ W / 8", "W @ x / 8", "sigmoid(w) * x"], draw.randint(1, 3))
    if not any("@" in product for product in products):
        products.append("H @ x")
    kinds = draw.choice(["one", "momentum", "number"])
    image = " + ".join(f"0.{draw.randint(1, 3)} * {product if product[0] != 'x' else f'({product})'}" for product in products)
    step = draw.choice([f"0.5 * x - 0.3 * ({image} - q)", f"0.4 * tanh({image} + v)", f"({image} + q) / (1 + sqrt(dot(x, x)))"])
    lines.append("  let x = q")
    if kinds == "momentum":
        lines.append("  let d = 0.5 * v")
    elif kinds == "number":
        lines.append("  let r = 1")
    lines.append(f"  for i in 0..{draw.randint(7, 12)} {{")
    if kinds == "momentum":
        lines += [f"    d = 0.3 * d + {step} - x", "    x = x + 0.5 * d"]
    elif kinds == "number":
        lines += ["    r = 1 / (2 + 0.1 * r)", f"    x = {step} + r * w"]
    else:
        lines.append(f"    x = {step}")
    lines += ["  }", f"  output o = {draw.choice(['x', 'H @ x', 'x + q'])}" + (" * r" if kinds == "number" else "")]
    return "\n".join(lines) + "\n}\n"


def main():
    recurc, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    failed = False
    for seed in range(first, first + count):
        text = draw_recurrence(seed)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "drawn.recur")
            with open(path, "w") as file:
                file.write(text)
            run = subprocess.run([recurc, "check", path, "--json", *sys.argv[4:]], capture_output=True, text=True)
        good = run.returncode == 0 and all(stage["pass"] for stage in json.loads(run.stdout)["stages"])
        failed |= not good
        print(f"seed {seed}: {'good' if good else 'wrong'}")
        if not good:
            print(text, run.stdout[-2000:], run.stderr[-2000:])
    sys.exit(failed)


if __name__ == "__main__":
    main()
