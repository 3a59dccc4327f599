"""Where PyTorch cannot be installed for these tests, they say so; half of it is never left."""

import collections
import xml.etree.ElementTree as ElementTree

import pytest
import run_tests


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "made-of").write_text("all")
    return tmp_path


def make_pip(folder, body):
    python = folder / "python"
    python.write_text(f"#!/bin/sh\n{body}\n")
    python.chmod(0o755)
    return python


def test_no_room(folder, monkeypatch):
    usage = collections.namedtuple("usage", "total used free")
    monkeypatch.setattr(run_tests.shutil, "disk_usage", lambda place: usage(0, 0, 3 << 30))
    reason = run_tests.install_torch(make_pip(folder, "touch $0.called"), folder)
    assert reason == f"PyTorch is not installed: {folder} has 3.0 GiB left, and it takes 9"
    assert not (folder / "python.called").exists() and (folder / "made-of").exists()


@pytest.mark.parametrize(
    "body, reason",
    [
        ("sleep 60", "PyTorch is not installed: its installation takes longer than 0.5 s"),
        ("echo 'no such package' >&2; exit 1", "PyTorch cannot be installed: no such package"),
    ],
)
def test_it_cannot_be_had(folder, monkeypatch, body, reason):
    monkeypatch.setattr(run_tests, "find_no_room", lambda place: None)
    monkeypatch.setattr(run_tests, "TORCH_SECONDS", 0.5)
    assert run_tests.install_torch(make_pip(folder, body), folder) == reason
    assert not (folder / "made-of").exists() and not (folder / "has-torch").exists()


def test_it_is_installed_once(folder, monkeypatch):
    monkeypatch.setattr(run_tests, "find_no_room", lambda place: None)
    python = make_pip(folder, 'echo "$@" >> $0.called')
    assert run_tests.install_torch(python, folder) is run_tests.install_torch(python, folder) is None
    assert (folder / "python.called").read_text() == "-m pip install --quiet torch transformers\n"


def test_what_is_skipped_has_a_name(tmp_path):
    path = tmp_path / "results.xml"
    path.write_text("<testsuites><testsuite><testcase name='a'/></testsuite></testsuites>")
    for file in (path, tmp_path / "none.xml"):
        run_tests.report_skipped(file, "PyTorch", "no room")
        case = next(case for case in ElementTree.parse(file).iter("testcase") if case.get("name") == "PyTorch")
        assert case.find("skipped").get("message") == "no room"


def test_every_file_is_of_one_kind_and_part():
    kinds = {kind: run_tests.list_files(kind) for kind in ("distributed", "torch", "rest")}
    assert sorted(sum(kinds.values(), [])) == run_tests.list_files("all")
    assert {"test_torch.py", "test_transformers.py"} <= {file.name for file in kinds["torch"]}
    assert "test_distributed.py" in {file.name for file in kinds["distributed"]}
    assert sorted(sum((run_tests.list_files("rest", part, 3) for part in (1, 2, 3)), [])) == kinds["rest"]


def test_what_a_run_before_found_missing(tmp_path, monkeypatch):
    """It is not looked for again by the runs that take the environment as it is."""
    (tmp_path / "python").mkdir()
    asked = []

    def prepare(build, wants_torch):
        asked.append(build)
        if len(asked) == 1:
            raise run_tests.RegistryError("no network")
        return "PyTorch has no room"

    monkeypatch.setattr(run_tests, "prepare", prepare)
    place = (tmp_path / "python" / "bin" / "python", tmp_path / "python")
    reason = "NumPy, JAX and what else these tests need cannot be installed: no network"
    assert run_tests.find_environment(tmp_path, True, False) == (*place, None, reason) == run_tests.find_environment(tmp_path, True, True)
    found = (*place, "PyTorch has no room", None)
    assert run_tests.find_environment(tmp_path, True, False) == found == run_tests.find_environment(tmp_path, True, True)
    assert len(asked) == 2
