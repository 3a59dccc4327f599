"""Kernels on disk."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy
import pytest
from conftest import draw, run_python

import recur
from recur import cache, kernels

SMALL = "recurrence r {\n  input x: scalar\n  state S\n  S = S + NUMBER * x\n  output o = S\n}\n"
CALL = """
import numpy, recur
r = recur.define('''%s''')
print(float(r(numpy.ones((1, 10, 1), numpy.float32))[0, -1, 0]))
"""


def small(number):
    return SMALL.replace("NUMBER", str(number))


def call_small(number):
    return float(recur.define(small(number))(numpy.ones((1, 10, 1), numpy.float32))[0, -1, 0])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RECUR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kernels, "_loaded", {})
    return tmp_path / "cache"


def kernels_in(folder):
    return sorted(folder.glob("*.recur.so"))


def test_a_kernel_is_compiled_once(folder, monkeypatch):
    assert call_small(3) == 30
    assert len(kernels_in(folder)) == 1
    monkeypatch.setattr(kernels, "_loaded", {})
    monkeypatch.setattr(kernels, "_compile", None)
    assert call_small(3) == 30
    with pytest.raises(TypeError):  # None is called: another text is another kernel
        call_small(4)


def test_it_survives_the_process(folder):
    assert run_python(CALL % small(5)) == "50.0\n"
    before = [(path, path.stat().st_ino) for path in kernels_in(folder)]
    assert run_python(CALL % small(5)) == "50.0\n"
    assert [(path, path.stat().st_ino) for path in kernels_in(folder)] == before and len(before) == 1


def test_what_a_kernel_depends_on_is_in_its_key():
    gdn = recur.library.gated_delta_net
    sizes = {"K": 16, "V": 8}
    usual = gdn.request(sizes, "float32")
    keys = {
        str(sorted(request.to_key().items()))
        for request in (
            usual,
            gdn.request({"K": 16, "V": 16}, "float32"),
            gdn.request(sizes, "float16"),
            gdn.with_options(target="x86-64-v3").request(sizes, "float32"),
            gdn.with_options(plan="step").request(sizes, "float32"),
            gdn.with_options(chunk=32).request(sizes, "float32"),
            gdn.with_options(consts={"scale": 1.0}).request(sizes, "float32"),
            gdn.with_options(precision="tf32").request(sizes, "float32"),  # to a processor, as before
            gdn.with_options(target="sm_90a").request(sizes, "float32"),
            gdn.with_options(target="sm_90a", precision="exact").request(sizes, "float32"),
            gdn.with_options(target="sm_90a", precision="tf32").request(sizes, "float32"),
        )
    }
    assert len(keys) == 9
    assert "host" in usual.to_key() and "avx" in usual.to_key()["host"]
    assert "host" not in gdn.with_options(target="x86-64-v3").request(sizes, "float32").to_key()


def test_processors_have_names():
    """A folder that machines share has kernels of each."""
    arm = "processor\t: 0\nBogoMIPS\t: 2100.00\nFeatures\t: fp asimd bf16\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd40\nCPU revision\t: 1\n\nprocessor\t: 1\n"
    assert kernels.describe_processor(arm) == "0x41; 0x1; 0xd40; 1; fp asimd bf16"
    assert kernels.describe_processor(arm.replace(" bf16", "")) != kernels.describe_processor(arm)
    x86 = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nstepping\t: 1\nflags\t\t: avx avx2\n\n"
    assert kernels.describe_processor(x86) == "AuthenticAMD; 25; 17; 1; avx avx2"


def test_writers_at_once(folder):
    code = CALL % small(7)
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=dict(os.environ)) for _ in range(4)
    ]
    assert [process.communicate(timeout=300)[0] for process in started] == ["70.0\n"] * 4
    assert len(kernels_in(folder)) == 1
    assert not list(folder.glob(".*.part"))


def test_a_process_that_is_killed_while_it_compiles(folder):
    """It holds the lock and has a half-written file; whoever comes next is not kept waiting."""
    code = f"""
import os, recur, time
from recur import cache, kernels
def hang(request):
    open(os.path.join(cache.get_folder(), ".half.part"), "w").write("half")
    print("compiling", flush=True)
    time.sleep(600)
kernels._compile = hang
{CALL % small(9)}
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    assert process.stdout.readline() == "compiling\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert call_small(9) == 90
    half = folder / ".half.part"
    assert half.exists()  # it could be of a writer that lives
    os.utime(half, (time.time() - 7200,) * 2)
    assert call_small(10) == 100
    assert not half.exists()


@pytest.mark.parametrize("damage", [b"", b"\x7fELF", None])
def test_a_damaged_file_is_made_anew(folder, damage, monkeypatch):
    call_small(11)
    (path,) = kernels_in(folder)
    whole = path.read_bytes()
    if damage is None:
        damage = bytearray(whole)
        damage[1000] ^= 1
    path.unlink()  # the loaded one lies in the old file
    path.write_bytes(damage)
    monkeypatch.setattr(kernels, "_loaded", {})
    assert call_small(11) == 110
    assert path.read_bytes() == whole


def test_the_oldest_go_when_there_are_too_many(folder, monkeypatch):
    for number in (21, 22, 23):
        call_small(number)
        time.sleep(0.02)
    oldest = min(kernels_in(folder), key=lambda path: path.stat().st_mtime)
    size = oldest.stat().st_size
    monkeypatch.setenv("RECUR_CACHE_LIMIT", str(int(3.5 * size)))
    assert call_small(24) == 240
    assert len(kernels_in(folder)) == 3 and not oldest.exists()
    monkeypatch.setattr(kernels, "_loaded", {})
    assert call_small(21) == 210


def test_use_makes_a_kernel_young(folder, monkeypatch):
    call_small(31)
    (path,) = kernels_in(folder)
    os.utime(path, (1, 1))
    monkeypatch.setattr(kernels, "_loaded", {})
    call_small(31)
    assert path.stat().st_mtime > 1


def test_a_folder_that_cannot_be_written(monkeypatch):
    monkeypatch.setattr(kernels, "_loaded", {})
    monkeypatch.setattr(cache, "_warned", set())
    monkeypatch.setenv("RECUR_CACHE", "/dev/null/cache")
    with pytest.warns(recur.CacheWarning) as warned:
        assert call_small(41) == 410
        assert call_small(42) == 420
    assert [str(w.message) for w in warned] == [
        "recur: compiled kernels cannot be kept in /dev/null/cache: Not a directory; set RECUR_CACHE to a folder that can be written"
    ]


def test_where_the_folder_is(monkeypatch):
    monkeypatch.delenv("RECUR_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache.get_folder() == "/somewhere/recur"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.get_folder() == str(pathlib.Path.home() / ".cache" / "recur")


def test_compiling_ahead(folder, monkeypatch, gdn):
    fresh = recur.load(gdn.source_name)
    assert recur.compile(fresh, ahead=[{"K": 16, "V": 8}, {"K": 16, "V": 8, "dtype": "float16"}]) is fresh
    assert len(kernels_in(folder)) == 2
    monkeypatch.setattr(kernels, "_compile", None)
    fresh(**draw())
    with pytest.raises(recur.ArgumentError) as raised:
        recur.compile(fresh, ahead=[{"K": 16, "V": 8, "dtype": "int8"}])
    assert str(raised.value) == "gated_delta_net: there are no kernels for int8, only for float32, bfloat16, float16"
    with pytest.raises(recur.ArgumentError, match="the size of the dim 'V' is in no array"):
        recur.compile(fresh, ahead=[{"K": 16}])


def test_a_saved_kernel_needs_no_compiler(tmp_path, gdn, inputs):
    path = tmp_path / "gdn.so"
    recur.save(gdn, path, K=16, V=8)
    want = gdn(**inputs)
    saved = recur.load(path)
    assert numpy.array_equal(saved(**inputs), want)
    code = f"""
import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})
import recur
from conftest import draw
print(float(recur.load({str(path)!r})(**draw()).sum()))
"""
    assert run_python(code, RECUR_COMPILER="/nowhere") == f"{float(want.sum())}\n"
    for mistake, message in [
        (lambda: saved(**draw(K=8)), "gated_delta_net: K is 8 in the arrays, but 16 in the saved kernel"),
        (
            lambda: saved(**{n: a.astype(numpy.float16) for n, a in inputs.items()}),
            "gated_delta_net: the saved kernel has the input 'q' in float32, and the array is float16",
        ),
        (lambda: saved.explain(), "gated_delta_net: a saved kernel has no text to explain; load the text of the recurrence"),
        (lambda: saved.with_options(plan="step"), "gated_delta_net: a saved kernel takes no options; load the text of the recurrence"),
        (lambda: recur.load(path, plan="step"), f"{path} is compiled already; it takes no options"),
    ]:
        with pytest.raises(recur.ArgumentError) as raised:
            mistake()
        assert str(raised.value) == message


def test_another_kernel_in_the_same_file(tmp_path):
    """The system's loader would give the first one again."""
    path = tmp_path / "r.so"
    for number in (51, 52):
        recur.save(recur.define(small(number)), path)
        assert recur.load(path)(numpy.ones((1, 10, 1), numpy.float32))[0, -1, 0] == 10 * number


def test_files_that_are_no_saved_kernels(tmp_path, gdn):
    path = tmp_path / "gdn.so"
    path.write_bytes(b"\x7fELF" + bytes(100))
    with pytest.raises(recur.LoadError) as raised:
        recur.load(path)
    assert str(raised.value) == f"{path} is not a shared object that recur saved"
    recur.save(gdn, path, K=16, V=8)
    path.write_bytes(path.read_bytes().replace(b"gated_delta_net", b"gated_delta_nut"))
    with pytest.raises(recur.LoadError) as raised:
        recur.load(path)
    assert str(raised.value) == f"{path} is damaged"
    with pytest.raises(recur.LoadError) as raised:
        recur.save(gdn, tmp_path / "none" / "gdn.so", K=16, V=8)
    assert str(raised.value) == f"{tmp_path}/none/gdn.so cannot be written: No such file or directory"
