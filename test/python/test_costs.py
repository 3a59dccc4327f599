"""What a call costs beside its kernel: how many functions it calls, in Python and beneath, which no other program on the machine changes.
bench/python/overhead.py says what that is in microseconds."""

import sys
import tempfile

import numpy
import pytest
from conftest import draw, run_python


def count_calls(function):
    """The functions that it calls, once it was called before."""
    for _ in range(2):
        function()
    calls = []

    def note(_, event, __):
        if event in ("call", "c_call"):
            calls.append(event)

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return len(calls)


def test_a_call_of_one_token_on_numpys_arrays(gdn):
    given = draw(B=1, T=1)
    state = numpy.zeros((1, 4, 8, 16), numpy.float32)
    out = numpy.zeros((1, 1, 4, 8), numpy.float32)
    assert count_calls(lambda: gdn(**given, initial=state, final=state, out=out)) < 130
    assert count_calls(lambda: gdn(**given, initial=state, final=state)) < 130
    assert count_calls(gdn.bind(**given, initial=state, final=state, out=out)) < 5


def test_a_call_of_one_token_on_tensors(gdn):
    """The second call that is like one before goes a shorter way."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    given = {name: torch.from_numpy(array) for name, array in draw(B=1, T=1).items()}
    state, out = torch.zeros(1, 4, 8, 16), torch.zeros(1, 1, 4, 8)
    assert count_calls(lambda: gdn(**given, initial=state, final=state, out=out)) < 20
    assert count_calls(lambda: gdn(**given, initial=state, final=True)) < 20


FIRST_CALL = """
import time, numpy, recur
ones = [numpy.ones((1, 16, 2, *side), numpy.float32) for side in [(64,), (64,), (64,), (), ()]]
start = time.process_time()
recur.library.gated_delta_net(*ones)
print(time.process_time() - start)
"""


def test_the_first_call_of_a_process():
    """The processor's time, of a call that compiles and of one that finds what was compiled."""
    with tempfile.TemporaryDirectory() as folder:
        compiled, cached = (float(run_python(FIRST_CALL, RECUR_CACHE=folder)) for _ in range(2))
    assert cached < compiled / 4
