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
        if text[: block.start()].rstrip().rpartition("\n")[2].startswith("<!-- not run"):
            continue  # as test/docs/run_blocks.py has it
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


def test_the_trained_gallery(monkeypatch):
    """The script's recurrence is the page's, and learns in a shorter time more than guessing, which is right once in sixteen."""
    pytest.importorskip("jax")
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    import learned_recall

    assert learned_recall.CAREFUL in (ROOT / "docs" / "gallery.md").read_text()
    curve = learned_recall.train(recur.define(learned_recall.CAREFUL, quick=True), steps=175)
    assert curve[0][1] < 0.15 and curve[-1][1] > 0.6
    picture = learned_recall.plot({"careful": curve})
    assert picture.count("<polyline") == 1 and f"careful {curve[-1][1]:.2f}" in picture
