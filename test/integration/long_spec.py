"""long_spec.py N: prints a recurrence of N lines, with several states that feed one another."""

import sys

lines = ["recurrence long {", "  dim K, V", "  input q: [K], k: [K], v: [V], g: scalar, beta: scalar"]
tail = ["  output o: [V] = S0 @ q", "}"]
steps = (int(sys.argv[1]) - len(lines) - len(tail)) // 3
for i in range(steps):
    value = f"S{i - 1} @ k" if i else "v"
    lines += [f"  state S{i}: [V, K]", f"  S{i} = exp(g) * S{i}", f"  S{i} = S{i} + beta * outer({value} - S{i} @ k, k)"]
tail[0] = f"  output o: [V] = S{steps - 1} @ q"
lines += ["  # padding"] * (int(sys.argv[1]) - len(lines) - len(tail)) + tail
print("\n".join(lines))
