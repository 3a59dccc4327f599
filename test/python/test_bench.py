"""The benchmarks of the package run, on the processor, in a small size."""

import csv
import importlib.util
import os
import subprocess
import sys

import pytest
from conftest import ROOT

from recur import fla


def test_known_names():
    """Those that layers use most; RECUR_TEST_ALL=1 runs all, of which each compiles two kernels. That each gives what it should is the
    matter of test_fla."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    path = ROOT / "bench" / "python" / "fla.py"
    takes_all = os.environ.get("RECUR_TEST_ALL") == "1"
    words = [sys.executable, path, *(["--all"] if takes_all else []), "--device", "cpu"]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location("bench_fla", path))
    sys.modules["bench_fla"] = module
    module.__spec__.loader.exec_module(module)
    rows = [line.split() for line in done.stdout.splitlines()[4:]]
    assert [row[0] for row in rows] == [case.name for case in module.CASES if takes_all or case.is_usual]
    assert all(float(ours) > 0 and float(library) > 0 for *_, ours, library, _ in rows)
    # A name that is another's sibling is measured by that.
    measured = {getattr(fla, case.name) for case in module.CASES}
    assert {getattr(fla, name) for name in fla.__all__} - measured == {fla.build_cp_context, fla.install, fla.uninstall}


def test_the_picture_of_calls_on_a_gpu():
    """It is what is drawn of the numbers."""
    spec = importlib.util.spec_from_file_location("plot_gpu", ROOT / "bench" / "plot_gpu.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    groups, picture = module.read(ROOT / "bench" / "results" / "gpu.csv"), (ROOT / "bench" / "results" / "gpu.svg").read_text()
    assert picture == module.draw(groups)
    assert all(rows[0]["implementation"] == "Recur" and len(rows) > 1 for rows in groups.values())
    assert {row["type of gates"] for rows in groups.values() for row in rows} == {"bf16", "float32", "none"}  # as the picture says


def test_several_processes(tmp_path):
    """The script of several GPUs, as a dry run on the processor; what is sent is what the model says."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.distributed.is_available():
        pytest.skip("PyTorch has no torch.distributed")
    words = ["--device", "cpu", "--ranks", "1,3", "--tokens", "60", "--heads", "4", "--dim", "8", "--repeats", "1", "--quick"]
    words += ["--names", "gated_delta_net", "--check", "gated_delta_net,rls"]  # which takes the kernels of the times
    path = ROOT / "bench" / "python" / "several.py"
    done = subprocess.run([sys.executable, path, tmp_path / "several", *words], capture_output=True, text=True, env=os.environ, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rls on 3: no summaries" in done.stdout and "gated_delta_net on 3: " in done.stdout
    rows = list(csv.DictReader((tmp_path / "several.csv").open()))
    assert [(row["ranks"], row["direction"]) for row in rows] == [(n, way) for n in "13" for way in ("forward", "with gradients")]
    assert all(row["sent bytes"] == row["predicted bytes"] for row in rows) and int(rows[2]["sent bytes"]) > 0
    assert rows[2]["exchange"] == "all-gather" and rows[0]["efficiency"] == "1"
    assert (tmp_path / "several.svg").read_text().count("<polyline") == 2


def test_the_page_of_scale():
    """Its tables are those of the script."""
    path = ROOT / "bench" / "python" / "scale.py"
    spec = importlib.util.spec_from_file_location("bench_scale", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (ROOT / "docs" / "scale.md").read_text()
    for table in (module.print_exchanges(), module.print_efficiencies()):
        assert "\n".join(table) in page
