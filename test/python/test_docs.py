"""The Python blocks of the documentation run, those of a page one after another."""

import re

import pytest
from conftest import ROOT

import recur

PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if "\n```python\nimport" in page.read_text() and "import recur\n" in page.read_text()]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_there_are_pages():
    assert ROOT / "docs" / "python.md" in PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, names = page.read_text(), {}
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        exec(compile("\n" * line + block[1], str(page), "exec"), names)


def test_the_gallery(monkeypatch):
    """The memory that is written on the spot holds more than the delta rule, and that more than a sum."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    import associative_recall

    memories = [recur.library.linear_attention, recur.library.delta_net, recur.define(associative_recall.SQUARES)]
    summed, delta, squares = (associative_recall.recall(memory, 12) for memory in memories)
    assert summed + 0.1 < delta and delta + 0.1 < squares
    assert [state["class"] for state in memories[2].explain_json(K=32, V=32)["states"]] == ["delta", "delta"]
