"""The wheel, as people install it: what it needs of their system, what it brings, and that it works in an empty environment."""

import email
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest
import symbols
from conftest import ROOT

import recur

BUILD = os.environ.get("RECUR_BUILD")
pytestmark = pytest.mark.skipif(not BUILD, reason="RECUR_BUILD names no build to make a wheel of")


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("scikit_build_core.build", reason="scikit-build-core is not installed")
    pytest.importorskip("build", reason="the package build is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    environment = {**os.environ, "PATH": f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    run(
        sys.executable, "-m", "build", "--wheel", "--no-isolation", "--skip-dependency-check", "--outdir", folder,
        f"--config-setting=build-dir={BUILD}/python/package-build", f"--config-setting=cmake.define.RECUR_BUILD={BUILD}", ROOT, env=environment,
    )  # fmt: skip
    (path,) = folder.glob("recur-*.whl")
    return path


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(folder)
    return folder


def test_it_runs_with_an_old_c_library(unpacked):
    programs = [path for path in unpacked.rglob("*") if path.is_file() and path.open("rb").read(4) == b"\x7fELF"]
    assert sorted(path.name.split(".")[0] for path in programs) == ["_native", "librecur_compiler", "recur-lsp-server", "recurc"]
    assert {path.name: symbols.list_faults(path) for path in programs} == {path.name: [] for path in programs}


def test_the_check_of_symbols_finds_what_is_too_new():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(symbols, "NEWEST", (2, 2, 5))
        assert "memcpy@GLIBC_2.14" in symbols.list_faults(recur._native.__file__)


def test_auditwheel_takes_it(wheel):
    pytest.importorskip("auditwheel", reason="auditwheel is not installed")
    said = " ".join(run(sys.executable, "-m", "auditwheel", "show", wheel).split())
    (found,) = re.findall(r'consistent with the following platform tag: "manylinux_2_(\d+)_x86_64"', said)
    assert int(found) <= 28


def test_what_it_brings(wheel, unpacked):
    (facts,) = unpacked.glob("recur-*.dist-info")
    metadata = email.message_from_string((facts / "METADATA").read_text())
    assert metadata["License-Expression"] == "Apache-2.0 WITH LLVM-exception"
    assert metadata["Version"] == recur.__version__ and re.fullmatch(r"\d+\.\d+\.\d+", recur.__version__)
    licenses = {path.name: path.read_text() for path in (facts / "licenses").iterdir()}
    assert licenses == {name: (ROOT / name).read_text() for name in ("LICENSE", "NOTICE")}
    for work in ("LLVM", "fmt", "zlib", "nanobind", "robin-map"):
        assert work in licenses["NOTICE"]
    assert "recurc = recur_tools:recurc" in (facts / "entry_points.txt").read_text()
    assert (unpacked / "recur" / "py.typed").exists() and len(list((unpacked / "recur" / "library").glob("*.recur"))) > 60
    assert wheel.stat().st_size < 40 << 20


GRADIENTS = """
import numpy, jax, recur
assert recur.__version__
gdn = recur.library.gated_delta_net
random = numpy.random.default_rng(0)
given = [random.standard_normal((1, 9, 2, *shape)).astype("float32") / 2 for shape in ((4,), (4,), (3,), (), ())]
given[3] = -abs(given[3])
def loss(v): return float((gdn(given[0], given[1], v, *given[3:]).astype("float64") ** 2).sum())
direction = random.standard_normal(given[2].shape).astype("float32")
step = 2.0 ** -7
by_numpy = (loss(given[2] + step * direction) - loss(given[2] - step * direction)) / (2 * step)
gradient = jax.grad(lambda v: (gdn(*map(jax.numpy.asarray, given[:2]), v, *map(jax.numpy.asarray, given[3:])) ** 2).sum())(jax.numpy.asarray(given[2]))
by_jax = float((numpy.asarray(gradient, "float64") * direction).sum())
assert abs(by_numpy - by_jax) < 1e-3 * max(1, abs(by_jax)), (by_numpy, by_jax)
own = gdn.gradient(*given, cotangents=2 * gdn(*given))["v"]
assert numpy.allclose(own, gradient, atol=1e-6), abs(own - gradient).max()
print("agree")
"""


def test_an_empty_environment(wheel, tmp_path):
    """As a user has it: installed with nothing beside it, the commands, the errors' pages, and gradients."""
    run(sys.executable, "-m", "venv", tmp_path / "empty")
    bin = tmp_path / "empty" / "bin"
    fetched = subprocess.run([bin / "pip", "install", "--quiet", f"{wheel}[jax]"], capture_output=True, text=True)
    if fetched.returncode:
        pytest.skip(f"NumPy and JAX cannot be fetched: {(fetched.stderr.strip().splitlines() or ['pip fails'])[-1]}")
    environment = {"PATH": f"{bin}:/usr/bin:/bin", "HOME": str(tmp_path), "RECUR_CACHE": str(tmp_path / "cache"), "JAX_PLATFORMS": "cpu"}
    (tmp_path / "gdn.recur").write_text(recur.library.gated_delta_net.text)

    def call(*command):
        return run(*command, cwd=tmp_path, env=environment)

    assert "state S: [128, 128] is delta" in call(bin / "recurc", "explain", "gdn.recur", "--dim", "K=128,V=128")
    assert "host chunks" in call(bin / "python", "-m", "recur", "check", "gdn.recur", "--dim", "K=8,V=6", "--target=host", "--tokens=0,5,65")
    assert "R0107" in call(bin / "recurc", "explain", "R0107") and call(bin / "recurc", "--version").strip().endswith(recur.__version__)
    call(bin / "recurc", "build", "gdn.recur", "--dim", "K=8,V=6", "--emit=so,header", "-o", "gdn")
    assert (tmp_path / "gdn.so").exists() and (tmp_path / "gdn.h").exists()
    assert "--stdio" in call(bin / "recur-lsp-server", "--help")
    assert call(bin / "python", "-c", GRADIENTS) == "agree\n"
    wrong = subprocess.run([bin / "recurc", "explain", "none.recur"], capture_output=True, text=True, env=environment)
    assert wrong.returncode == 1 and "none.recur" in wrong.stderr
