"""Every recurrence of the library on data whose results were made by something else than Recur."""

import concurrent.futures
import json
import os

import numpy
import pytest
from conftest import FLOAT, ROOT, error_of

import recur

GOLDEN = ROOT / "test" / "golden"
NAMES = sorted(folder.name for folder in GOLDEN.iterdir() if (ROOT / "examples" / f"{folder.name}.recur").exists())


def read(folder, kind):
    return {path.name.split(".")[1]: numpy.load(path) for path in sorted(folder.glob(f"{kind}.*.npy"))}


@pytest.fixture(scope="session", autouse=True)
def compiled():
    """All kernels of these sizes, by as many threads as there are processors: a compilation lets other threads run."""

    def compile_one(name):
        dims = json.loads((GOLDEN / name / "meta.json").read_text())["dims"]
        recur.compile(recur.library.__getattr__(name), ahead=[dims])

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, NAMES))


def call(name):
    folder = GOLDEN / name
    given = {n: a.astype(FLOAT) for n, a in {**read(folder, "input"), **read(folder, "param")}.items()}
    initial = {n: a.astype(FLOAT) for n, a in read(folder, "initial").items()} or None
    return recur.library.__getattr__(name), given, initial


def test_there_are_as_many_as_the_library_has():
    assert set(NAMES) <= set(recur.library.names())
    assert len(NAMES) >= 35


@pytest.mark.parametrize("name", NAMES)
def test_results(name):
    recurrence, given, initial = call(name)
    if recurrence.declaration.has_implicit_states:
        outputs = recurrence(**given)
        outputs, states = outputs if isinstance(outputs, tuple) else (outputs,), {}
    else:
        *outputs, states = recurrence(initial=initial, final=True, **given)
    if not isinstance(states, dict):
        states = {recurrence.declaration.states[0].name: states}
    want_outputs, want_states = read(GOLDEN / name, "output"), read(GOLDEN / name, "final")
    for value, array in zip(recurrence.declaration.outputs, outputs):
        assert array.shape == want_outputs[value.name].shape
        assert error_of(array, want_outputs[value.name]) < 2e-5, value.name
    for state in states:
        assert error_of(states[state], want_states[state]) < 2e-5, state
