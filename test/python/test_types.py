"""The package is typed, and says what its arguments are."""

import inspect
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import ROOT

import recur

PACKAGE = pathlib.Path(recur.__file__).parent


def run_mypy(*arguments):
    pytest.importorskip("mypy")
    cache = pathlib.Path(os.environ["RECUR_CACHE"]) / "mypy"
    return subprocess.run(
        [sys.executable, "-m", "mypy", f"--cache-dir={cache}", *arguments], capture_output=True, text=True, cwd=ROOT
    )


def test_mypy_finds_nothing():
    assert (PACKAGE / "py.typed").exists()
    done = run_mypy("--config-file=pyproject.toml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stub_of_a_recurrence(tmp_path, gdn):
    (tmp_path / "gdn.pyi").write_text(gdn.stub())
    (tmp_path / "right.py").write_text("from gdn import gated_delta_net as f\nf(1, 2, 3, 4, beta=5, initial={'S': None}, final=True)\n")
    (tmp_path / "wrong.py").write_text("from gdn import gated_delta_net as f\nf(1, 2, 3, 4, bta=5)\n")
    assert run_mypy("--strict", str(tmp_path / "right.py")).returncode == 0
    done = run_mypy("--strict", str(tmp_path / "wrong.py"))
    assert 'Unexpected keyword argument "bta" for "gated_delta_net"' in done.stdout


def test_a_recurrence_describes_itself(gdn):
    assert str(inspect.signature(gdn)) == (
        "(q, k, v, g, beta, *, initial=None, final=False, out=None, offsets=None, states_transposed=False, kept_bytes=None, group=None, layout=None, pool=None, state_indices=None, final_indices=None, token_indices=None, accepted=None, replayed=None, interval=None, interval_indices=None, positions=None, parents=None)"
    )
    assert gdn.__doc__ == (
        "The recurrence ``gated_delta_net``.\n\nInputs: shared q: [K], shared k: [K], v: [V], g: scalar, beta: scalar.\n"
        "States: S: [V, K].\nOutputs: o: [V]."
    )
    assert repr(gdn) == "<recurrence gated_delta_net(q, k, v, g, beta) for host>"


def test_everything_public_has_a_docstring():
    for name in recur.__all__:
        thing = getattr(recur, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for method, function in vars(thing).items():
                if not method.startswith("_") and callable(function):
                    assert inspect.getdoc(function), f"{name}.{method}"
