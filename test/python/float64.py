"""What every recurrence of the library computes, and its gradients, in float64: by the token-by-token interpreter behind
`recurc run`, which knows no form but the text's.

A gradient is held against differences: where one array moves along a random direction of +1 and -1, what comes out changes by the
product of the direction with the array's gradient. All these runs lie side by side, as heads of one run of the interpreter.
"""

import concurrent.futures
import functools
import os
import subprocess
import tempfile

import numpy
from conftest import FLOAT, ROOT, error_of
from test_golden import call, read_dims

import recur

DIRECTIONS, STEP = 3, 2e-6
#: The axis of heads in inputs [B, T, H, ...], params [H, ...] and initial states [B, H, ...].
AXES = {"input": 2, "param": 0, "initial": 1}


def compile_all(names):
    """Kernels with gradients, by as many threads as there are processors."""

    def compile_one(name):
        recur.compile(call(name)[0].with_options(quick=True), ahead=[{**read_dims(name), "backward": True}])

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, names))


class Case:
    """Data of one recurrence, weights for all that it gives, and what the interpreter makes of both."""

    def __init__(self, name):
        recurrence, given, initial = call(name)
        dims = read_dims(name)
        self.recurrence = recurrence.with_options(quick=True).with_all_states(tuple(dims.items()), "float32")
        declaration = self.recurrence.declaration
        B, _, H = next(given[v.name].shape[:3] for v in declaration.inputs if not v.shared)
        random = numpy.random.default_rng(0)
        self.arrays = {("input", v.name): given[v.name] for v in declaration.inputs}
        self.arrays |= {("param", v.name): given[v.name] for v in declaration.params}
        for state in declaration.states:
            start = (initial or {}).get(state.name)
            shape = (B, H, *(dims.get(side, side) for side in state.shape))
            self.arrays["initial", state.name] = numpy.zeros(shape, FLOAT) if start is None else start
        self.directions = {key: random.choice([-1.0, 1.0], (DIRECTIONS, *array.shape)) for key, array in self.arrays.items()}
        copies = 1 + 2 * DIRECTIONS * len(self.arrays)
        results = self._interpret(name, dims, copies)
        self.weights = {key: random.standard_normal((B, *result.shape[2:])).astype(FLOAT) for key, result in results.items()}
        self.results = {key: result[0] for key, result in results.items()}
        losses = sum((result * self.weights[key]).reshape(copies, -1).sum(1) for key, result in results.items())
        slopes = (losses[1::2] - losses[2::2]) / (2 * STEP)
        self.slopes = dict(zip(self.arrays, slopes.reshape(-1, DIRECTIONS)))

    def _interpret(self, name, dims, copies):
        """Each result of each copy, with the copies first."""
        with tempfile.TemporaryDirectory() as folder:
            for place, (key, array) in enumerate(self.arrays.items()):
                parts = [array.astype(float)] * copies
                for direction in range(DIRECTIONS):
                    at, move = 1 + 2 * (place * DIRECTIONS + direction), STEP * self.directions[key][direction]
                    parts[at], parts[at + 1] = parts[at] + move, parts[at] - move
                numpy.save(f"{folder}/{'.'.join(key)}.npy", numpy.concatenate(parts, AXES[key[0]]))
            command = [os.environ["RECUR_RECURC"], "run", ROOT / "examples" / f"{name}.recur", f"--in={folder}", f"--out={folder}/out"]
            done = subprocess.run([*command, f"--dim={','.join(f'{n}={size}' for n, size in dims.items())}"], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            results = {}
            for kind, axis, values in (("output", 2, self.recurrence.declaration.outputs), ("final", 1, self.recurrence.declaration.states)):
                for value in values:
                    array = numpy.load(f"{folder}/out/{kind}.{value.name}.npy")
                    results[kind, value.name] = numpy.stack(numpy.split(array, copies, axis))
        return results

    def compute(self, arrays):
        """The results, in order, of arrays of any library, in the order of `arrays`."""
        named = dict(zip(self.arrays, arrays))
        given = {name: array for (kind, name), array in named.items() if kind != "initial"}
        initial = {name: array for (kind, name), array in named.items() if kind == "initial"}
        *outputs, states = self.recurrence(**given, initial=initial, final=True)
        return [*outputs, *(states.values() if isinstance(states, dict) else [states])]

    def judge(self, results, gradients, limit=2e-5, gradient_limit=1e-4):
        """Holds NumPy's arrays, in order, against float64."""
        for (key, want), result in zip(self.results.items(), results, strict=True):
            assert result.shape == want.shape
            assert error_of(result, want) < limit, key
        # What hardly matters is as exact as what matters most is to float32.
        least = 1e-3 * max(numpy.linalg.norm(gradient) for gradient in gradients)
        for (key, array), gradient in zip(self.arrays.items(), gradients, strict=True):
            assert gradient.shape == array.shape
            products = (self.directions[key] * gradient).reshape(DIRECTIONS, -1).sum(1)
            scale = max(numpy.linalg.norm(gradient), least)
            error = numpy.sqrt(numpy.mean((products - self.slopes[key]) ** 2)) / scale
            assert error < gradient_limit, (key, error)


@functools.cache
def get_case(name):
    """Made once, for whatever libraries are tested."""
    return Case(name)
