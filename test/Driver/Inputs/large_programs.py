"""Draws large programs and holds what compiling them takes, by counted work: instructions of LLVM IR, and memory.

    large_programs.py RECURC SEED COUNT [TARGET]...

Each program is drawn twice, once with twice as many statements. Its code may then grow by little more than two, in at most a GiB. A let
reads the lets just before it, and each of these is read by several: a compiler that follows paths and not values does not come to an end.
"""
import os
import random
import resource
import subprocess
import sys
import tempfile

FUNCTIONS = ["tanh", "silu", "sigmoid", "softplus", "abs"]


def draw_chain(draw, first, count, others):
    """So many lets behind a value, and the last one's name."""
    lines, names = [f"  let {others[0]}0 = {first}"], [f"{others[0]}0"]
    for number in range(1, count):
        one, two = names[-1], draw.choice(names[-3:])
        name = f"{others[0]}{number}"
        lines.append(f"  let {name} = {draw.choice(FUNCTIONS)}({one} {draw.choice('+-')} {two} * {draw.choice(others[1])})")
        names.append(name)
    return lines, names[-1]


def draw_program(seed, size):
    draw = random.Random(seed)
    kind = seed % 4
    lines = ["recurrence large {", "  dim K = 16", "  input q: [K], k: [K], v: [K], g", "  param w: [K]"]
    if kind in (0, 1):  # lets that make a key, or that go on from what is read
        lines.append("  state S: [K, K]")
        made, key = draw_chain(draw, "k", size, ("a", "qvw")) if kind == 0 else ([], "k")
        lines += made + [f"  S = exp(g) * S + outer(v, {key})"]
        made, last = draw_chain(draw, "S @ q", size, ("b", "kvw")) if kind == 1 else ([], "S @ q")
        lines += made + [f"  output o = {last}"]
    elif kind == 2:  # states of channels that feed one another
        count, value = max(1, size // 2), "k"
        lines += [f"  state s{number}: [K]" for number in range(count)]
        for number in range(count):
            lines.append(f"  s{number} = sigmoid(w * {draw.choice('qv')}) * s{number} + {value}")
            value = f"{draw.choice(FUNCTIONS)}(s{number})"
        lines.append(f"  output o = {value}")
    else:  # steps of a solver
        lines += ["  state H: [K, K]", "  H = exp(g) * H + outer(k, k)", "  let x = q"]
        lines += [f"  for i in 0..{max(1, size // 8)} {{", "    x = x - w * (H @ x - v)", "  }", "  output o = x"]
    return "\n".join(lines) + "\n}\n"


def count_instructions(recurc, text, target):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "large.recur")
        with open(path, "w") as file:
            file.write(text)
        subprocess.run([recurc, "build", path, f"--target={target}", "--effort=quick", "--emit=llvm", "-o", path], check=True,
                       stderr=subprocess.DEVNULL)
        with open(path + ".ll") as file:
            return sum(line.startswith("  ") for line in file)


def main():
    recurc, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    small, growth, most = 32, 2.3, 1 << 30
    failed = False
    for seed in range(first, first + count):
        for target in sys.argv[4:] or ["host", "sm_90a"]:
            once, twice = (count_instructions(recurc, draw_program(seed, size), target) for size in (small, 2 * small))
            memory = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            isGood = twice <= growth * once and memory <= most
            failed |= not isGood
            print(f"seed {seed}, {target}: {once} instructions, {twice} of twice the program, {memory >> 20} MiB" +
                  ("" if isGood else ": too many"))
            if not isGood:
                print(draw_program(seed, 2 * small))
    sys.exit(failed)


if __name__ == "__main__":
    main()
