"""What a source archive has: `python -m build` makes a wheel of it, and of nothing else. And what the module shows of itself."""

import ast
import graphlib
import pathlib
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


def list_imports(path):
    """The package's modules that a module imports when it runs, in functions too, but not those that only its types name."""
    found = set()

    def visit(node):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            found.update([node.module.split(".")[0]] if node.module else [alias.name for alias in node.names])
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text()))
    return found


def test_modules_import_one_another_in_one_direction():
    folder = pathlib.Path(recur.__file__).parent
    imports = {path.stem: list_imports(path) for path in folder.glob("*.py") if path.stem != "__init__"}
    assert {"memory", "jax", "torch"} <= imports["array_library"]
    assert "array_library" in imports["recurrence"] and not {"memory", "jax", "torch", "distributed"} & imports["recurrence"]
    # The modules of PyTorch's calls, torch and torch_gpu and so on, are one thing in several files, and so are JAX's.
    library_of = {name: name.partition("_")[0] if name.startswith(("torch_", "jax_")) else name for name in imports}
    others = {}
    for name, imported in imports.items():
        library = library_of[name]
        others.setdefault(library, set()).update(library_of.get(other, other) for other in imported if library_of.get(other) != library)
    graphlib.TopologicalSorter(others).prepare()  # fails at a circle, which it names
