"""Runs every example on its golden folder with --engine=host, and compares with the golden results."""

import os
import subprocess
import sys

import numpy

recurc, examples, golden, out = sys.argv[1:]
LIMIT = 1e-5
differ = []
for name in sorted(os.listdir(golden)):
    source, into = os.path.join(golden, name), os.path.join(out, name)
    spec = os.path.join(examples, name + ".recur")
    command = [recurc, "run", spec, "--engine=host", "--effort=quick", "--in", source, "--out", into]
    subprocess.run(command, check=True)
    for file in os.listdir(into):
        got = numpy.load(os.path.join(into, file))
        want = numpy.load(os.path.join(source, file))
        if got.dtype != numpy.float32 or got.shape != want.shape:
            differ.append(f"{name}/{file}: {got.dtype} {got.shape}")
        error = numpy.sqrt(((got - want) ** 2).sum() / max((want**2).sum(), 1e-300))
        if not error <= LIMIT:
            differ.append(f"{name}/{file}: {error:.1e}")
print("\n".join(differ) or "all examples agree")
