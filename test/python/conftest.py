"""What the tests share: a cache of their own, drawn arrays, and the repository's files."""

import functools
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("RECUR_CACHE", tempfile.mkdtemp(prefix="recur-test-cache-"))
# Devices to share sequences out over; and no optimisation of what XLA compiles around kernels, which takes most of the time of these tests.
XLA_FLAGS = {"xla_force_host_platform_device_count": "4", "xla_backend_optimization_level": "0", "xla_llvm_disable_expensive_passes": "true"}
for flag, value in XLA_FLAGS.items():
    if flag not in os.environ.get("XLA_FLAGS", ""):
        os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + f" --{flag}={value}"

sys.path.append(str(ROOT / "bench" / "python"))  # for what tests share with benchmarks

import recur  # noqa: E402  (after the cache is set)

FLOAT = numpy.float32


@pytest.fixture
def gdn():
    return recur.library.gated_delta_net


@pytest.fixture(scope="session")
def in_chunks():
    """That recurrence in chunks of so many tokens."""
    return functools.cache(lambda tokens: recur.define(recur.library.gated_delta_net.source, chunk=tokens))


# The tokens of a chunk, a budget for 150 tokens of two sequences, and the tokens between the states that it has room for: those of
# one place in both sequences take 2 * 2048 bytes.
KEPT_INTERVALS = [
    (64, None, 64),
    (16, None, 16),
    (64, 0, 0),
    (64, 1 << 20, 64),
    (64, 2 * 2 * 2048, 128),
    (16, 2 * 2 * 2048, 80),
    (64, 2 * 2048, 192),
    (64, 100, 0),
]


def draw(seed=0, B=2, T=70, H=4, Hq=2, K=16, V=8):
    """Inputs of gated_delta_net, with keys of length one."""
    random = numpy.random.default_rng(seed)

    def normal(*shape):
        return random.standard_normal(shape).astype(FLOAT)

    k = normal(B, T, Hq, K)
    k /= numpy.linalg.norm(k, axis=-1, keepdims=True)
    beta = random.uniform(0, 1, (B, T, H)).astype(FLOAT)
    return {"q": normal(B, T, Hq, K), "k": k, "v": normal(B, T, H, V), "g": -abs(normal(B, T, H)), "beta": beta}


def draw_layer(layer, B, T):
    """Inputs and params of a recurrence for two heads, of which each side that is left open has four channels, by their names."""
    random = numpy.random.default_rng(1)
    inputs = {v.name: random.standard_normal((B, T, 2, *[4] * len(v.shape)), dtype=FLOAT) for v in layer.declaration.inputs}
    return inputs, {v.name: random.standard_normal((2, *[4] * len(v.shape)), dtype=FLOAT) for v in layer.declaration.params}


@pytest.fixture
def inputs():
    return draw()


def run_python(code, **environment):
    """A process of its own; what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def error_of(value, reference):
    """Relative RMS."""
    reference = numpy.asarray(reference, numpy.float64)
    difference = numpy.asarray(value, numpy.float64) - reference
    return float(numpy.sqrt(numpy.mean(difference**2) / max(numpy.mean(reference**2), 1e-30))) if reference.size else 0.0
