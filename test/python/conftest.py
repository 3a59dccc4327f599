"""What the tests share: a cache of their own, drawn arrays, and the repository's files."""

import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("RECUR_CACHE", tempfile.mkdtemp(prefix="recur-test-cache-"))

import recur  # noqa: E402  (after the cache is set)

FLOAT = numpy.float32


@pytest.fixture
def gdn():
    return recur.library.gated_delta_net


def draw(seed=0, B=2, T=70, H=4, Hq=2, K=16, V=8):
    """Inputs of gated_delta_net, with keys of length one."""
    random = numpy.random.default_rng(seed)

    def normal(*shape):
        return random.standard_normal(shape).astype(FLOAT)

    k = normal(B, T, Hq, K)
    k /= numpy.linalg.norm(k, axis=-1, keepdims=True)
    beta = random.uniform(0, 1, (B, T, H)).astype(FLOAT)
    return {"q": normal(B, T, Hq, K), "k": k, "v": normal(B, T, H, V), "g": -abs(normal(B, T, H)), "beta": beta}


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
