"""Which threads calls on PyTorch's tensors run on: PyTorch's own, unless it was said how many are the package's."""

import pytest
from conftest import ROOT, run_python

pytest.importorskip("torch", reason="PyTorch is not installed")

SETUP = f"""
import os, sys
sys.path.insert(0, {str(ROOT / "test" / "python")!r})
import numpy, recur, torch
from conftest import draw

torch.set_num_threads(3)
given = {{name: torch.from_numpy(array) for name, array in draw(T=300).items()}}
gdn = recur.library.gated_delta_net
torch.ones(1 << 20).exp().sum(), torch.ones(64, 64) @ torch.ones(64, 64)  # PyTorch's threads are there
count = lambda: len(os.listdir("/proc/self/task"))
"""

COUNT = """
before = count()
results = [gdn(**given, final=True) for _ in range(3)]
threads = count() - before
torch.set_num_threads(1)
results.append(gdn(**given, final=True))
assert all(torch.equal(a, b) for result in results for a, b in zip(result, results[0]))
print(threads)
"""


def test_they_are_pytorchs():
    assert int(run_python(SETUP + COUNT)) == 0


@pytest.mark.parametrize("said, environment", [("", {"RECUR_THREADS": "3"}), ("recur.set_threads(3)\n", {})], ids=["environment", "call"])
def test_they_are_the_packages_where_that_is_said(said, environment):
    assert int(run_python(SETUP + said + COUNT, **environment)) == 2


def test_tensors_on_numpys_memory_beside():
    """NumPy's arrays have the package's own threads, in the same process, with the same bits."""
    code = SETUP + """
want = gdn(**given)
assert (gdn(**{name: tensor.numpy() for name, tensor in given.items()}) == want.numpy()).all()
needing = given["v"].clone().requires_grad_()
gdn(**{**given, "v": needing}).sum().backward()
print(float(needing.grad.abs().sum()) > 0)
"""
    assert run_python(code).strip() == "True"


def test_a_forked_process():
    """OpenMP's threads do not survive a fork; the package's own begin anew."""
    code = SETUP + """
want = gdn(**given)
child = os.fork()
if child == 0:
    os._exit(0 if torch.equal(gdn(**given), want) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert int(run_python(code)) == 0


def test_callers_in_several_threads():
    code = SETUP + """
import concurrent.futures
want = gdn(**given)
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    results = list(pool.map(lambda _: gdn(**given), range(40)))
print(all(torch.equal(result, want) for result in results))
"""
    assert run_python(code).strip() == "True"
