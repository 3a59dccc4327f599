"""What a source archive has: `python -m build` makes a wheel of it, and of nothing else. And what the module shows of itself."""

import re
import shutil
import subprocess
import tarfile

import pytest
from conftest import ROOT

import recur


def test_the_source_archive_has_what_the_build_reads(tmp_path, monkeypatch):
    backend = pytest.importorskip("scikit_build_core.build", reason="scikit-build-core is not installed")
    monkeypatch.chdir(ROOT)
    archive = tmp_path / backend.build_sdist(str(tmp_path))
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    folders = set(re.findall(r"^ *add_subdirectory\((\w+)\)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE))
    wanted = {f"{folder}/CMakeLists.txt" for folder in folders - {"test"}} | {"python/CMakeLists.txt", "README.md", "pyproject.toml"}
    for folder in ("lib", "dialects", "include", "cmake", "python", "examples"):
        wanted |= {str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*") if path.suffix in (".cpp", ".h", ".c", ".td", ".cmake", ".recur", ".in", ".map", ".py")}
    assert len(folders) >= 4 and len(wanted) > 400
    missing = {name for name in wanted - names if "__pycache__" not in name}
    assert not missing
    assert not any(name.startswith(("test/", "build/")) for name in names) and archive.stat().st_size < 8 << 20


def test_the_module_shows_nothing_but_how_it_is_loaded():
    """Parts of the C++ library that are unique in a process would else be taken for those of PyTorch's, which then writes no numbers."""
    if not shutil.which("nm"):
        pytest.skip("there is no nm")
    shown = subprocess.run(["nm", "--dynamic", "--defined-only", "--format=posix", recur._native.__file__], capture_output=True, text=True)
    assert [line.split()[0] for line in shown.stdout.splitlines()] == ["PyInit__native"]
