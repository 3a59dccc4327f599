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


#: Those whose kernels are compiled as for use; the others are quick.
OPTIMISED = ("gated_delta_net", "kda", "mamba1", "mesa_net", "rwkv7", "qwen3_next_layer")


def read(folder, kind):
    return {path.name.split(".")[1]: numpy.load(path) for path in sorted(folder.glob(f"{kind}.*.npy"))}


def read_dims(name):
    return json.loads((GOLDEN / name / "meta.json").read_text())["dims"]


@pytest.fixture(scope="session", autouse=True)
def compiled():
    """Kernels of these sizes, by as many threads as there are processors: a compilation lets other threads run."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda name: recur.compile(call(name)[0], ahead=[read_dims(name)]), NAMES))


def call(name):
    folder = GOLDEN / name
    given = {n: a.astype(FLOAT) for n, a in {**read(folder, "input"), **read(folder, "param")}.items()}
    initial = {n: a.astype(FLOAT) for n, a in read(folder, "initial").items()} or None
    return recur.library.__getattr__(name).with_options(quick=name not in OPTIMISED), given, initial


def test_there_are_as_many_as_the_library_has():
    assert set(NAMES) <= set(recur.library.names())
    assert len(NAMES) >= 35


@pytest.mark.parametrize("name", NAMES)
def test_results(name):
    recurrence, given, initial = call(name)
    *outputs, states = recurrence(initial=initial, final=True, **given)
    if not isinstance(states, dict):
        states = {recurrence.declaration.states[0].name: states}
    want_outputs, want_states = read(GOLDEN / name, "output"), read(GOLDEN / name, "final")
    for value, array in zip(recurrence.declaration.outputs, outputs):
        assert array.shape == want_outputs[value.name].shape
        assert error_of(array, want_outputs[value.name]) < 2e-5, value.name
    for state, want in want_states.items():
        assert error_of(states[state], want) < 2e-5, state
