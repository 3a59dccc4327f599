"""Measures a token of every recurrence of the library, for the table in docs/library.md:

    RECUR_PROCESSORS=1 python bench/python/library.py bench/results/library.csv [NAME ...]

One head on one thread, 4,096 tokens of float32, each dim 64 where the recurrence does not say otherwise: the least processor time
of a call. All are called in turn, so many times each, and that in several rounds, since other programs of a machine make it slow for
seconds: a round that they disturb is not what is left of any line. With names, only their lines are measured anew.
"""

import itertools
import pathlib
import platform
import sys
import time

import numpy

import recur

TOKENS, ROUNDS, CALLS = 4096, 9, 4


def draw(declared, scale, random, positive):
    """Numbers of moderate size; gates never grow. What is a sum of squares in a model must be positive."""
    arrays = {}
    for kind in ("inputs", "params"):
        for one in declared[kind]:
            leading = (1, TOKENS, 1) if kind == "inputs" else (1,)
            array = scale * random.standard_normal((*leading, *one["shape"]), dtype=numpy.float32)
            is_gate = one["name"][0] in "agfw" or one["name"].startswith(("log", "decay"))
            arrays[one["name"]] = -abs(array) if is_gate else abs(array) if positive else array
    return arrays


def prepare(name):
    """The recurrence and arrays for it with which its results are finite."""
    recurrence = getattr(recur.library, name)
    declared = recurrence.explain_json()
    random = numpy.random.default_rng(0)
    for scale, positive in itertools.product((0.3, 0.1, 0.01), (False, True)):
        arrays = draw(declared, scale, random, positive)
        given = recurrence(**arrays)
        if all(numpy.isfinite(array).all() for array in (given if isinstance(given, tuple) else (given,))):
            return recurrence, arrays
    raise ValueError(f"{name}: its results are not finite")


def measure(recurrence, arrays):
    """Nanoseconds a token."""
    best = float("inf")
    for _ in range(CALLS):
        start = time.process_time_ns()
        recurrence(**arrays)
        best = min(best, time.process_time_ns() - start)
    return best / TOKENS


def read_processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(": ", 1)[1]
    return platform.processor()


def main():
    path, only = pathlib.Path(sys.argv[1]), sys.argv[2:]
    lines = path.read_text().splitlines() if only and path.exists() else []
    measured = dict(line.split(",") for line in lines if line and line[0] not in "#" and not line.startswith("name,"))
    prepared = {name: prepare(name) for name in only or dir(recur.library) if only or not name.startswith("_")}
    rounds = [{name: measure(*of) for name, of in prepared.items()} for _ in range(ROUNDS)]
    for name in prepared:
        measured[name] = f"{min(times[name] for times in rounds):.1f}"
        print(name, measured[name])
    rows = "".join(f"{name},{measured[name]}\n" for name in sorted(measured))
    path.write_text(f"# cpu,{read_processor()}\nname,nanoseconds\n{rows}")


if __name__ == "__main__":
    main()
