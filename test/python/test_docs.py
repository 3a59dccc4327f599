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


def test_a_language_model_is_trained(monkeypatch, capsys, tmp_path):
    """In a small size on a processor: it learns, its curve has the same bits twice, and its gradients are those of loops over tokens."""
    torch = pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    import train_lm

    size = train_lm.Size(width=32, heads=2, side=8, batch=4, tokens=20, steps=30)
    monkeypatch.setattr(train_lm, "EVERY", 10)
    text = train_lm.read_text(ROOT / "LICENSE")
    memory = recur.library.gated_delta_net.with_options(quick=True)
    curves = [train_lm.train(memory, text, size) for _ in range(2)]
    assert curves[0] == curves[1] and curves[0][-1][1] + 1 < curves[0][0][1]
    assert train_lm.compare(memory, text, size, train_lm.delta) < 1e-4
    own = tmp_path / "own.recur"
    own.write_text("""recurrence own {
      dim K, V
      input q: [K], k: [K], v: [V], g
      param u: [K]
      state S: [V, K]
      S = exp(g) * S + outer(v, k)
      output o: [V] = S @ q + dot(u * k, q) * v
    }
    """)
    recurrence = recur.load(own, quick=True)
    assert train_lm.compare(recurrence, text, size, train_lm.walk(recurrence)) < 1e-4
    picture = train_lm.plot({"trained": [row[:2] for row in curves[0]]})
    assert picture.count("<polyline") == 1 and f"trained {curves[0][-1][1]:.2f}" in picture
    monkeypatch.setattr("sys.argv", ["train_lm.py", "--compare", "--device", "cpu", "--text", str(tmp_path)])
    with pytest.raises(SystemExit):
        train_lm.main()
    assert "there should be 2560 at least" in capsys.readouterr().err
    assert not torch.are_deterministic_algorithms_enabled()
