"""The benchmarks of the package run, on the processor, in a small size."""

import importlib.util
import os
import subprocess
import sys

import pytest
from conftest import ROOT

from recur import fla


def test_each_known_name():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    path = ROOT / "bench" / "python" / "fla.py"
    done = subprocess.run([sys.executable, path, "--all", "--device", "cpu"], capture_output=True, text=True, env=os.environ, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location("bench_fla", path))
    sys.modules["bench_fla"] = module
    module.__spec__.loader.exec_module(module)
    rows = [line.split() for line in done.stdout.splitlines()[4:]]
    assert [row[0] for row in rows] == [case.name for case in module.CASES]
    assert all(float(ours) > 0 and float(library) > 0 for *_, ours, library, _ in rows)
    # A name that is another's sibling is measured by that.
    measured = {getattr(fla, case.name) for case in module.CASES}
    assert {getattr(fla, name) for name in fla.__all__} - measured == {fla.install, fla.uninstall}


def test_the_picture_of_calls_on_a_gpu():
    """It is what is drawn of the numbers."""
    spec = importlib.util.spec_from_file_location("plot_gpu", ROOT / "bench" / "plot_gpu.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    groups, picture = module.read(ROOT / "bench" / "results" / "gpu.csv"), (ROOT / "bench" / "results" / "gpu.svg").read_text()
    assert picture == module.draw(groups)
    assert all(rows[0]["implementation"] == "Recur" and len(rows) > 1 for rows in groups.values())
    assert {row["type of gates"] for rows in groups.values() for row in rows} == {"bf16", "float32", "none"}  # as the picture says
