"""What the compiler says, as Python sees it: its errors are those of recurc, to the letter."""

import pathlib
import pickle
import shlex
import subprocess
import warnings
import xml.etree.ElementTree
import zlib

import pytest
from conftest import ROOT, run_python

import recur

EXAMPLES = sorted((ROOT / "test" / "errors").glob("*.recur"))


def compile_example(path):
    """With the options of its first line."""
    text = path.read_bytes().decode(errors="surrogateescape")
    options = {"dims": {}, "consts": {}, "source_name": path.name, "recurrence": None}
    first = text.split("\n", 1)[0]
    words = shlex.split(first[len("# options: ") :]) if first.startswith("# options: ") else []
    while words:
        word = words.pop(0)
        if word.startswith("--recurrence="):
            options["recurrence"] = word.split("=")[1]
            continue
        name, value = words.pop(0).split("=")
        options["dims" if word == "--dim" else "consts"][name] = int(value) if word == "--dim" else float(value)
    recur.compiler.perform("compile", text, **options)


def is_text(path):
    try:
        path.read_bytes().decode()
        return b"\0" not in path.read_bytes()
    except UnicodeDecodeError:
        return False


def test_errors_are_the_compilers():
    refused = 0
    for path in filter(is_text, EXAMPLES):
        expected = path.with_suffix(".expected").read_text()
        try:
            compile_example(path)
        except recur.CompileError as error:
            # What cannot be instantiated at all is said about the options, and not about the source.
            if error.diagnostics[0].place.line:
                assert str(error) + "\n" == expected, path.name
                assert error.code in expected
                refused += 1
    assert refused > 150


def test_an_error_is_data():
    with pytest.raises(recur.CompileError) as raised:
        recur.define("recurrence a {\n  input beta: scalar\n  output y = betta\n}\n", source_name="a.recur").explain()
    (diagnostic,) = raised.value.diagnostics
    assert raised.value.code == diagnostic.code == "R0201"
    assert diagnostic.message == "'betta' is not declared"
    assert (diagnostic.place.line, diagnostic.place.column, diagnostic.place.end_column) == (3, 14, 19)
    assert diagnostic.remarks[0].message == "did you mean 'beta'?"
    assert diagnostic.remarks[0].replacement == "beta"


def test_a_mistake_is_found_at_once():
    for text in ("recurrence {", "recurrence x { input a output b = c }", "recurrence x { dim K\n input a: [K]\n state S\n S = a\n output b = S }"):
        with pytest.raises(recur.CompileError, match=r"R0\d\d\d"):
            recur.define(text)


@pytest.mark.filterwarnings("ignore::recur.CompileWarning")
@pytest.mark.parametrize(
    "body",
    [
        "input x: [K]\n output o = x[100]",  # of a K of at least 101
        "const third = K / 3\n input x: [K]\n output o: [third] = x[0..third]",
        "input x: [K]\n output o = sum(x[0..K - N])",
        "input x: [K], w: [N]\n output o = sum(w[0..N - K]) + sum(x)",
        "param M: [K, N], A: [N, K]\n input x: [N, N], y: [K]\n output o = M @ x @ A @ y",  # products of at most 256 rows
    ],
)
def test_what_depends_on_sizes_is_no_mistake(body):
    recur.define(f"recurrence x {{\n dim K, N\n {body}\n}}")


def test_options_are_checked_at_once(gdn):
    for options, message in [
        ({"target": "sm_90b"}, "error: target: unknown value 'sm_90b'; did you mean 'sm_90'?"),
        ({"chunk": 17}, "error: chunk: unknown value '17'; did you mean '16'?"),
        ({"plan": "foo"}, "error: plan: unknown value 'foo'; known are auto"),
    ]:
        for make in (gdn.with_options, lambda **options: recur.define(gdn.source, **options)):
            with pytest.raises(recur.CompileError) as raised:
                make(**options)
            assert str(raised.value).startswith(message)


def test_warnings_are_pythons():
    text = "recurrence x { input a, b state s s = s + a output o = s }"
    with pytest.warns(recur.CompileWarning, match=r"source:1:25: warning: the input 'b' is never used \[R0601\]") as warned:
        defined = recur.define(text)
    assert len(warned) == 1 and warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        defined.with_options(quick=True)
        defined.explain()
        pickle.loads(pickle.dumps(defined))


def test_the_library_has_no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", recur.CompileWarning)
        for name in recur.library.names():
            recur.load(recur.library.__getattr__(name).source_name)


def test_a_side_that_is_no_dim_is_found_at_once():
    """For the arguments of a call depend on it."""
    with pytest.raises(recur.CompileError) as raised:
        recur.define("recurrence a {\n  dim V\n  input x: [K]\n  output o: [V] = x\n}\n", source_name="a.recur")
    assert raised.value.diagnostics[0].place.line == 3 and "K" in raised.value.diagnostics[0].message


def test_files(tmp_path):
    path = tmp_path / "two.recur"
    path.write_text("recurrence a {\n  output o = 1\n}\nrecurrence b {\n  output o = 2\n}\n")
    with pytest.raises(recur.ArgumentError) as raised:
        recur.load(path)
    assert str(raised.value) == f"{path} has 2 recurrences (a, b); name one of them by recurrence="
    assert recur.load(path, recurrence="b").name == "b"
    with pytest.raises(recur.CompileError) as refused:
        recur.load(path, recurrence="c")
    assert str(refused.value).startswith("error: recurrence: the file has no recurrence 'c'")
    with pytest.raises(recur.LoadError) as missing:
        recur.load(tmp_path / "none.recur")
    assert str(missing.value) == f"{tmp_path / 'none.recur'} cannot be read: No such file or directory"


def test_options_that_are_refused(gdn, inputs):
    with pytest.raises(recur.ArgumentError) as raised:
        gdn.with_options(consts={"scal": 1.0})
    assert str(raised.value) == "gated_delta_net: there is no const 'scal'; did you mean 'scale'?"
    with pytest.raises(recur.ArgumentError) as raised:
        gdn.with_options(dims={"Q": 1})
    assert str(raised.value) == "gated_delta_net: there is no dim 'Q'; there are K, V"
    with pytest.raises(recur.CompileError, match="target: unknown value 'z80'; known are host, "):
        gdn.with_options(target="z80")
    with pytest.raises(recur.CompileError, match="^error: plan: 'gated_delta_net' has no kernel of plan 'scan'"):
        gdn.with_options(plan="scan")(**inputs)


def test_explain(gdn):
    report = gdn.explain(K=128, V=64)
    assert "dims           K = 128, V = 64" in report and "is delta" in report
    assert repr(report) == str(report)
    assert len(gdn.explain(K=128, V=64, target="x86-64-v3")) > len(report)
    assert gdn.explain_json(K=128, V=64)["recurrence"] == "gated_delta_net"
    with pytest.raises(recur.ArgumentError) as raised:
        gdn.explain(k=3)
    assert str(raised.value) == "gated_delta_net: there is no dim 'k'; did you mean 'K'?"
    assert "gradient" not in report and "gradient" in gdn.explain(K=128, V=64, backward=True)
    assert "gradient" in gdn.explain_json(K=128, V=64, backward=True)


def test_reports_in_a_notebook(gdn):
    """Each word of a report is in its HTML, in a table's cell or a title, and what has a meaning in HTML is not taken for it."""
    shown = gdn.explain(K=128, V=64)._repr_html_()
    elements = xml.etree.ElementTree.fromstring(f"<div>{shown}</div>")
    cells = {row[0].text: row[1][0].text for row in elements.iter("tr") if len(row) > 1}
    assert [title.text for title in elements.iter("strong")][:2] == ["recurrence gated_delta_net", "state S: [64, 128] is delta"]
    assert cells["dims"] == "K = 128, V = 64" and cells["interactions"] == "2: <k, k>, <q, k>"
    assert cells["step 1"].endswith("write key: tied")  # of its second line
    report = recur.Explanation("x: K = 1\n  stage   error  limit\n  host    2.0e+00   1.0e-05  FAIL at T = 5 in <o>\n")
    elements = xml.etree.ElementTree.fromstring(f"<div>{report._repr_html_()}</div>")
    assert [cell[0].text for cell in elements.findall("table/tr")[1][1:]] == ["2.0e+00", "1.0e-05", "FAIL at T = 5 in <o>"]
    assert elements.findall("table/tr")[1][3][0].tag == "strong"


def test_check(gdn, monkeypatch):
    table = gdn.check(K=16, V=8)
    assert table.startswith("gated_delta_net: K = 16, V = 8, B = 2, H = 4, Hq = 2, T = 0, 1, 5, 64, 65, 200, seed 0\n")
    assert "host step" in table and "FAIL" not in table
    assert gdn.check(dtype="bfloat16", K=16, V=8) != table
    assert "T = 3, 70, seed 5" in gdn.check(K=16, V=8, seed=5, tokens=[3, 70], hard=True)
    assert "gradient" in gdn.check(K=16, V=8, tokens=(3,), backward=True)
    outcome = recur.compiler.Outcome({"text": b"the table", "json": b'[{"pass": true}, {"pass": false}]'}, [], "")
    monkeypatch.setattr(recur.compiler, "perform", lambda *_, **__: outcome)
    with pytest.raises(recur.CheckError, match="^the table$"):
        gdn.check()


def test_a_compiler_that_is_not_there(tmp_path):
    message = run_python(
        "import recur\ntry: recur.define('')\nexcept recur.LoadError as error: print(error)", RECUR_COMPILER=str(tmp_path / "no")
    )
    assert message == (
        f"{tmp_path / 'no'}: cannot open shared object file: No such file or directory (RECUR_COMPILER names it; unset, the package's own compiler is loaded)\n"
    )


def test_the_library_is_the_examples(gdn):
    assert recur.library.names() == sorted(path.stem for path in (ROOT / "examples").glob("*.recur"))
    assert set(recur.library.names()) <= set(dir(recur.library))
    with pytest.raises(AttributeError) as raised:
        recur.library.gated_delta_nets
    assert str(raised.value) == "recur.library has no recurrence 'gated_delta_nets'; dir(recur.library) lists them"


def test_nothing_is_printed(gdn, inputs, capfd):
    gdn(**inputs)
    gdn.explain()
    with pytest.raises(recur.CompileError):
        recur.define("recurrence")
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_the_compiler_has_a_number():
    assert len(recur.compiler.identify()) == 40
    assert pathlib.Path(recur.compiler._PATH).exists()


def test_the_compiler_needs_nothing_but_the_c_library():
    done = subprocess.run(["ldd", recur.compiler._PATH], capture_output=True, text=True, check=True)
    needed = {line.split()[0].split("/")[-1].split(".")[0] for line in done.stdout.splitlines()}
    assert needed <= {"linux-vdso", "libm", "libc", "libdl", "libpthread", "ld-linux-x86-64"}


def test_a_wheel_of_it_is_small():
    content = pathlib.Path(recur.compiler._PATH).read_bytes()
    assert len(zlib.compress(content, 1)) < 60 << 20
