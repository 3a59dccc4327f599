"""Options of a wrong kind, names that a call has too, arrays that lie otherwise than they seem: each is refused with the way out."""

import inspect
import os
import stat
import subprocess
import sys

import numpy
import pytest
from conftest import FLOAT, draw, run_python

import recur
from recur import kernels

TEXT = recur.library.gated_delta_net.source
KINDS = [
    ("define", lambda gdn: recur.define(5), "define takes the text of a recurrence, not 5"),
    ("define a path", lambda gdn: recur.define("gdn.recur"), "define takes the text of a recurrence, and 'gdn.recur' is a path; recur.load reads files"),
    ("load", lambda gdn: recur.load(5), "load takes the path of a file, not 5"),
    ("chunk", lambda gdn: gdn.with_options(chunk="16"), "gated_delta_net: chunk is a whole number, not '16'"),
    ("large chunk", lambda gdn: gdn.with_options(chunk=2**40), "gated_delta_net: chunk is a whole number of at most 2147483647, not 1099511627776"),
    ("chunk of a definition", lambda gdn: recur.define(TEXT, chunk=1.5), "define: chunk is a whole number, not 1.5"),
    ("quick", lambda gdn: gdn.with_options(quick="yes"), "gated_delta_net: quick is True or False, not 'yes'"),
    ("plan", lambda gdn: gdn.with_options(plan=5), "gated_delta_net: plan is a string, not 5"),
    ("target", lambda gdn: gdn.explain(target=5), "gated_delta_net: target is a string, not 5"),
    ("dims", lambda gdn: gdn.with_options(dims=["K"]), 'gated_delta_net: dims is a mapping such as {"K": 64}, not [\'K\']'),
    ("size", lambda gdn: gdn.with_options(dims={"K": 16.5}), "gated_delta_net: the size of the dim 'K' is a whole number, not 16.5"),
    ("size of nothing", lambda gdn: gdn.check(K=0), "gated_delta_net: the size of the dim 'K' is a whole number of at least 1, not 0"),
    ("size of too much", lambda gdn: gdn.explain(K=100000), "gated_delta_net: the size of the dim 'K' is a whole number of at most 65536, not 100000"),
    ("const", lambda gdn: gdn.with_options(consts={"scale": "1"}), "gated_delta_net: the const 'scale' is a number, not '1'"),
    ("misspelt dim", lambda gdn: gdn.check(k=4), "gated_delta_net: there is no dim 'k'; did you mean 'K'?"),
    ("tokens", lambda gdn: gdn.check(tokens=5), "gated_delta_net: tokens is a list of lengths such as [0, 1, 65], not 5"),
    ("no tokens", lambda gdn: gdn.check(tokens=[]), "gated_delta_net: tokens has no length to check"),
    ("a length", lambda gdn: gdn.check(tokens=[-1]), "gated_delta_net: a length in tokens is a whole number of at least 0, not -1"),
    ("seed", lambda gdn: gdn.check(seed=-1), "gated_delta_net: seed is a whole number of at least 0, not -1"),
    ("dtype", lambda gdn: gdn.check(dtype="int8"), "gated_delta_net: there are no kernels for int8, only for float32, bfloat16, float16"),
    ("threads", lambda gdn: recur.set_threads("4"), "set_threads: the number of threads is a whole number, not '4'"),
    ("ahead", lambda gdn: recur.compile(gdn, ahead={"K": 4}), "ahead is a list of mappings, one for each kernel, such as [{\"K\": 128, \"V\": 128}], not {'K': 4}"),
    ("ahead of numbers", lambda gdn: recur.compile(gdn, ahead=[5]), "ahead is a list of mappings, one for each kernel, such as [{\"K\": 128, \"V\": 128}], not [5]"),
    ("no recurrence", lambda gdn: recur.compile(5, ahead=[{}]), "a recurrence is compiled, not 5"),
    ("transposed", lambda gdn: gdn(**draw(), states_transposed="no"), "gated_delta_net: states_transposed is True or False, not 'no'"),
    ("offsets", lambda gdn: gdn(**draw(B=1), offsets=[0, 70]), "gated_delta_net: the offsets are no array: a list; write numpy.array(offsets)"),
]


@pytest.mark.parametrize("what, call, message", KINDS, ids=[what for what, _, _ in KINDS])
def test_a_wrong_kind(gdn, what, call, message):
    with pytest.raises(recur.ArgumentError) as raised:
        call(gdn)
    assert str(raised.value) == message


def test_numbers_of_numpy_are_numbers(gdn, inputs):
    same = gdn.with_options(dims={"K": numpy.int64(16)}, consts={"scale": FLOAT(0.5)}, quick=numpy.bool_(True))
    assert same.dims == {"K": 16} and same.quick is True
    assert numpy.array_equal(same(**inputs), same(**inputs, states_transposed=numpy.bool_(False)))


# ---- Names ----

TAKEN = "recurrence taken {\n input self, out, initial, lambda\n state S\n S = S + self\n output o = S + 2 * out + 4 * initial + 8 * lambda\n}"


def test_names_that_a_call_has_too():
    taken = recur.define(TAKEN)
    ones = numpy.ones((1, 1, 1), FLOAT)
    assert list(inspect.signature(taken).parameters)[:4] == ["self", "out_", "initial_", "lambda_"]
    assert "self, out_, initial_, lambda_" in repr(taken) and "lambda_: _Array" in taken.stub()
    for result in (taken(ones, ones, ones, ones), taken(self=ones, out_=ones, initial_=ones, lambda_=ones), taken(ones, ones, ones, **{"lambda": ones})):
        assert result == 15
    assert taken.bind(self=ones, out_=ones, initial_=ones, lambda_=ones)() == 15
    assert taken.keep(self=ones, out_=ones, initial_=ones, lambda_=ones)[0] == 15
    with pytest.raises(recur.ArgumentError) as raised:
        taken(ones, ones, initial=ones, lambda_=ones)
    assert str(raised.value) == "taken: 'initial' is missing; by keyword it is initial_=, for initial is a word of the call's or of Python's"


def test_names_that_leave_none():
    with pytest.raises(recur.ArgumentError) as raised:
        recur.define("recurrence x {\n input out, out_\n output o = out + out_\n}")
    assert str(raised.value) == (
        "x: 'out' would be given as 'out_', for a call has a 'out' of its own, and 'out_' is another input or param; give 'out' another name in the text"
    )


def test_completion_shows_what_users_call(gdn):
    shown = [name for name in dir(gdn) if not name.startswith("__")]
    assert shown == sorted(shown) and {"explain", "check", "bind", "with_options", "dims"} <= set(shown)
    assert not {"signature", "repeats", "obtain", "handle", "request", "_bind", "learn"} & set(shown)
    assert all(hasattr(gdn, name) for name in dir(gdn))
    assert {name for name in dir(recur) if not name.startswith("__")} == {*recur.__all__, *recur.functions.__all__, "fla", "jax", "torch", "transformers"}
    with pytest.raises(AttributeError, match="^module 'recur' has no attribute 'tourch'$"):
        recur.tourch  # noqa: B018
    code = "import sys; sys.modules['torch'] = None\nimport recur\ntry: recur.torch\nexcept AttributeError as error: print(error)"
    assert run_python(code).startswith("recur.torch needs PyTorch, which is not installed: ")


# ---- Arrays ----


def test_a_masked_array_is_refused(gdn, inputs):
    def message_of(**given):
        with pytest.raises(recur.ArgumentError) as raised:
            gdn(**{**inputs, **given})
        return str(raised.value)

    assert message_of(v=numpy.ma.masked_less(inputs["v"], 0)) == (
        "gated_delta_net: 'v' is a masked array, and kernels read what its mask hides; give v.filled(0), or another filling"
    )
    state = numpy.ma.masked_less(numpy.zeros((2, 4, 8, 16), FLOAT), 0)
    assert "'S' is a masked array" in message_of(initial=state) and "'S' is a masked array" in message_of(initial={"S": state})


def test_a_square_state_the_other_way_round(gdn):
    """Its shape says nothing, but the call that gave it did."""
    given = draw(K=16, V=16, T=3)
    o, transposed = gdn(**given, final=True, states_transposed=True)
    with pytest.raises(recur.ArgumentError) as raised:
        gdn(**given, initial=transposed)
    assert str(raised.value) == (
        "gated_delta_net: the initial state 'S' was given by a call as [B, H, K, V], and is expected as [B, H, V, K]; states_transposed=True "
        "takes it as it lies. States of recur.fla are [K, V], those of recur.library [V, K]"
    )
    expected = gdn(**given, initial=transposed, states_transposed=True)
    state = transposed.swapaxes(-1, -2)
    assert numpy.array_equal(gdn(**given, initial={"S": state}), expected)
    transposed[:] = state.copy()  # what the caller writes is the caller's
    assert numpy.array_equal(gdn(**given, initial=transposed), expected)
    o, state = recur.fla.chunk_gated_delta_rule(*given.values(), output_final_state=True)
    with pytest.raises(recur.ArgumentError, match="was given by a call as"):
        gdn(**given, initial=state)
    recur.fla.chunk_gated_delta_rule(*given.values(), initial_state=state)


def test_square_states_in_inference_mode(gdn):
    """PyTorch does not count what is written to them, so that nothing is known of them."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    gdn = gdn.with_options()
    with torch.inference_mode():
        given = {name: torch.from_numpy(array) for name, array in draw(K=8, V=8).items()}
        o, S = gdn(**given, final=True)
        again, _ = gdn(**given, initial=S, final=True, states_transposed=True)
    assert S.is_inference() and o.shape == again.shape


def test_a_square_state_of_pytorch(gdn):
    torch = pytest.importorskip("torch")
    given = {name: torch.from_numpy(array) for name, array in draw(K=16, V=16, T=3).items()}
    o, state = recur.fla.chunk_gated_delta_rule(*given.values(), output_final_state=True)
    with pytest.raises(recur.ArgumentError, match="was given by a call as"):
        gdn(**given, initial=state)
    state.copy_(state.mT.clone())
    gdn(**given, initial=state)


# ---- Kernels on disk ----

SMALL = "recurrence r {\n  input x: scalar\n  state S\n  S = S + 61 * x\n  output o = S\n}\n"


@pytest.fixture
def call_anew(tmp_path, monkeypatch):
    """A call in an empty cache's folder, and nothing in memory."""
    monkeypatch.setenv("RECUR_CACHE", str(tmp_path / "cache"))

    def call():
        monkeypatch.setattr(recur.kernels, "_loaded", {})
        monkeypatch.setattr(recur.cache, "_warned", set())
        return float(recur.define(SMALL)(numpy.ones((1, 2, 1), FLOAT))[0, -1, 0])

    return call


def test_the_folder_is_the_users_alone(tmp_path, call_anew):
    assert call_anew() == 122
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700


@pytest.mark.parametrize("place", ["folder", "file"])
def test_a_kernel_that_others_may_write_is_not_loaded(tmp_path, call_anew, monkeypatch, place):
    assert call_anew() == 122
    (kernel,) = (tmp_path / "cache").glob("*.recur.so")
    path = tmp_path / "cache" if place == "folder" else kernel
    path.chmod(path.stat().st_mode | stat.S_IWGRP)
    monkeypatch.setattr(recur.cache, "unpack", None)  # it is not even read
    with pytest.warns(recur.CacheWarning) as warned:
        monkeypatch.setattr(recur.kernels, "_load", lambda content, name, load=recur.kernels._load: pytest.fail("loaded") if content is None else load(content, name))
        with pytest.raises(TypeError):  # what was compiled in memory is unpacked, and that is None here
            call_anew()
    assert [str(w.message) for w in warned] == [
        f"recur: compiled kernels cannot be kept in {tmp_path / 'cache'}: others may write {path}, and what they write would run: chmod go-w {path}"
    ]
    monkeypatch.undo()
    path.chmod(path.stat().st_mode & ~stat.S_IWGRP)


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's file is made by root alone")
def test_a_kernel_of_another_user_is_not_loaded(tmp_path, call_anew):
    assert call_anew() == 122
    (kernel,) = (tmp_path / "cache").glob("*.recur.so")
    os.chown(kernel, 12345, -1)
    with pytest.warns(recur.CacheWarning, match=f"{kernel} belongs to another user$"):
        assert call_anew() == 122
    assert kernel.stat().st_uid == 12345
    os.chown(kernel, 0, -1)
    os.chown(tmp_path / "cache", 12345, -1)
    with pytest.warns(recur.CacheWarning, match="cache belongs to another user$"):
        assert call_anew() == 122


def test_a_limit_that_is_no_number(call_anew, monkeypatch):
    monkeypatch.setenv("RECUR_CACHE_LIMIT", "much")
    with pytest.warns(recur.EnvironmentWarning, match="^recur: RECUR_CACHE_LIMIT is a number of bytes, not 'much'; the limit is 512 MiB$"):
        assert call_anew() == 122


def test_switches_that_there_are_not(tmp_path):
    code = "import warnings\nwarnings.simplefilter('error')\n"
    code += "try: import recur\nexcept UserWarning as warning: print(type(warning).__name__, warning)"
    message = "EnvironmentWarning recur: RECUR_DEBUG is 'copies,index', and 'index' is ignored: it may list copies and indices, separated by commas\n"
    assert run_python(code, RECUR_DEBUG="copies,index") == message
    code = "import recur\nprint(recur.debug.copies, recur.debug.indices)"
    assert run_python(code, RECUR_DEBUG="copies, index") == "True False\n"
    assert run_python(code, RECUR_DEBUG="indices,copies") == "True True\n"
    script = tmp_path / "script.py"
    script.write_text("pass\nimport recur\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env={**os.environ, "RECUR_DEBUG": "x"}, timeout=300)
    assert done.stderr.startswith(f"{script}:2: EnvironmentWarning: recur: RECUR_DEBUG is 'x', and 'x' is ignored"), done.stderr


def test_jax_says_what_the_package_says(gdn, inputs):
    jax = pytest.importorskip("jax")
    given = {name: jax.numpy.asarray(array) for name, array in inputs.items()}
    for spoiled, message in [
        ({"q": inputs["q"].tolist()}, "the input 'q' is no array: a list; write numpy.asarray(q, 'float32')"),
        ({"q": "text"}, "the input 'q' is no array: a str shows its memory neither as a buffer nor by DLPack"),
        ({"q": object()}, "the input 'q' is no array: a object shows its memory neither as a buffer nor by DLPack"),
        ({"q": given["q"].astype("int32")}, "the input 'q' has elements of int32; there are kernels for float32, bfloat16 and float16; convert it to float32"),
        ({"initial": "text"}, "the initial state 'S' is no array: a str shows its memory neither as a buffer nor by DLPack"),
        ({"offsets": "text"}, "the offsets are no array: a str shows its memory neither as a buffer nor by DLPack"),
        ({"initial": numpy.ma.zeros((2, 4, 8, 16), FLOAT)}, "'S' is a masked array, and kernels read what its mask hides; give S.filled(0), or another filling"),
    ]:
        with pytest.raises(recur.ArgumentError) as raised:
            gdn(**{**given, **spoiled})
        assert str(raised.value) == f"gated_delta_net: {message}"
    assert "jaxlib" in sys.modules


@pytest.mark.parametrize(
    "capability, targets",
    [
        ((7, 5), []),
        ((8, 0), ["sm_80", "sm_80+"]),
        ((8, 7), ["sm_86", "sm_80", "sm_80+"]),
        ((8, 9), ["sm_89", "sm_86", "sm_80", "sm_80+"]),
        ((9, 0), ["sm_90a", "sm_90", "sm_80+"]),
        ((10, 3), ["sm_103", "sm_100", "sm_80+"]),
        ((11, 0), ["sm_80+"]),
        ((12, 1), ["sm_121", "sm_120", "sm_80+"]),
    ],
)
def test_a_gpu_takes_what_is_for_the_fewest_others(capability, targets):
    assert kernels.find_gpu_targets(capability) == targets
    assert all(kernels.is_for_gpus(name) for name in targets)


@pytest.mark.parametrize("target, is_asked", [("host", False), ("x86-64-v3", False), ("sm_90a", True), ("x86-64-v3,sm_90a", True)])
def test_summaries_are_compiled_apart_for_gpus_alone(gdn, target, is_asked):
    """A processor's kernels have them anyway, and need not be compiled again."""
    chosen = gdn.with_options(target=target)
    plain, asked = (chosen.request({"K": 8, "V": 8}, "float32", summaries=summaries) for summaries in (False, True))
    assert asked.summaries == is_asked and (asked == plain) == (not is_asked)
