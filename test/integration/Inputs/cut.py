"""Runs a recurrence on a sequence as a whole, and cut in two with the second part going on from the final states of the
first. Usage: cut.py RECURC FILE FOLDER STATES; the last are the names of all states, in the order of the alphabet"""

import os
import subprocess
import sys

import numpy

recurc, file, folder, names = sys.argv[1:]
K, V, W, tokens, at = 5, 4, 3, 11, 6
random = numpy.random.default_rng(7)
inputs = {n: random.normal(size=(2, tokens, 3) + s) for n, s in {"q": (K,), "k": (K,), "v": (V,), "g": ()}.items()}
params = {n: random.normal(size=(3,) + s) for n, s in {"w": (W, K), "u": (2,), "mu": (V,), "speed": ()}.items()}


def run(name, part, initial):
    source, out = os.path.join(folder, name), os.path.join(folder, name + "-out")
    os.makedirs(source)
    for n, x in inputs.items():
        numpy.save(f"{source}/input.{n}.npy", x[:, part])
    for n, x in params.items():
        numpy.save(f"{source}/param.{n}.npy", x)
    for n, x in initial.items():
        numpy.save(f"{source}/initial.{n}.npy", x)
    subprocess.run([recurc, "run", file, "--in", source, "--out", out], check=True)
    arrays = {n[: -len(".npy")]: numpy.load(os.path.join(out, n)) for n in os.listdir(out)}
    return arrays["output.o"], {n[len("final.") :]: x for n, x in arrays.items() if n.startswith("final.")}


whole, final = run("whole", slice(None), {})
first, states = run("first", slice(0, at), {})
second, end = run("second", slice(at, None), states)
assert sorted(states) == names.split(","), sorted(states)
same = (numpy.concatenate([first, second], axis=1) == whole).all() and all((end[n] == final[n]).all() for n in final)
print("the parts are the whole" if same and (end["token"] == tokens).all() else "the parts differ from the whole")
