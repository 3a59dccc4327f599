"""What a call from Python costs: microseconds, the least of many rounds, and of a first call in a fresh process."""

import os
import subprocess
import sys
import tempfile
import time

import numpy

import recur


def measure(function, rounds=2000, calls=20):
    function()
    least = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            function()
        least = min(least, (time.perf_counter() - start) / calls)
    return least * 1e6


FIRST = """
import time
start = time.perf_counter()
import recur, numpy
imported = time.perf_counter()
ones = [numpy.ones((1, 16, 2, *side), numpy.float32) for side in [(64,), (64,), (64,), (), ()]]
recur.library.gated_delta_net(*ones)
print(f"{imported - start:.3f} s to import, {time.perf_counter() - imported:.3f} s for the first call")
"""


def measure_torch(gdn, arrays):
    """The same on PyTorch's tensors, where it is installed, and the kernel with next to nothing around it."""
    try:
        import torch
    except ImportError:
        return
    tensors = [torch.from_numpy(array) for array in arrays]
    state, out = torch.zeros(1, 4, 8, 16), torch.zeros(1, 1, 4, 8)
    print(f"PyTorch: a bound call              {measure(gdn.bind(*tensors, initial=state, final=state, out=out)):7.2f} us")
    print(f"PyTorch: state in place, into out  {measure(lambda: gdn(*tensors, initial=state, final=state, out=out)):7.2f} us")
    print(f"PyTorch: state in place            {measure(lambda: gdn(*tensors, initial=state, final=state)):7.2f} us")
    print(f"PyTorch: new output and state      {measure(lambda: gdn(*tensors, initial=state, final=True)):7.2f} us")


def main():
    gdn = recur.library.gated_delta_net
    random = numpy.random.default_rng(0)
    shapes = [(1, 1, 2, 16), (1, 1, 2, 16), (1, 1, 4, 8), (1, 1, 4), (1, 1, 4)]
    arrays = [random.standard_normal(shape, dtype=numpy.float32) for shape in shapes]
    state, out = numpy.zeros((1, 4, 8, 16), numpy.float32), numpy.zeros((1, 1, 4, 8), numpy.float32)
    none = [array[:, :0] for array in arrays]
    print(f"one token, state in place          {measure(lambda: gdn(*arrays, initial=state, final=state)):7.2f} us")
    print(f"the same into an array             {measure(lambda: gdn(*arrays, initial=state, final=state, out=out)):7.2f} us")
    print(f"no token                           {measure(lambda: gdn(*none)):7.2f} us")
    call = lambda: recur._native.Call(gdn.signature, arrays, [state], None, False, None)
    print(f"reading and checking the arrays    {measure(call):7.2f} us")
    measure_torch(gdn, arrays)
    with tempfile.TemporaryDirectory() as folder:
        for what in ("compiled", "from the cache"):
            done = subprocess.run([sys.executable, "-c", FIRST], env={**os.environ, "RECUR_CACHE": folder}, capture_output=True, text=True)
            print(f"{what:14}: {done.stdout.strip()}")


if __name__ == "__main__":
    main()
