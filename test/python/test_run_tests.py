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


def test_every_file_is_of_one_kind():
    torch, rest = run_tests.list_files("torch"), run_tests.list_files("rest")
    assert sorted([*torch, *rest]) == run_tests.list_files("all") and not set(torch) & set(rest)
    assert {"test_torch.py", "test_transformers.py"} <= {file.name for file in torch}
