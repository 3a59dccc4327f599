"""Calls on PyTorch's tensors in memory of a GPU. `tools/test-gpu` runs these where there is one; elsewhere they are skipped."""

import concurrent.futures
import os
import pathlib
import tempfile

import numpy
import pytest
import test_fla
import test_starts
from conftest import draw, draw_layer, error_of, run_python
from test_golden import GOLDEN, NAMES, call, read, read_dims

import recur

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from replays import capture, measure_callers  # noqa: E402  (where PyTorch is)
import recur.transformers  # noqa: E402  (where PyTorch is)

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no GPU")

# Factors of float16 data are bfloat16 on a GPU: 3.9e-3 to 4.5e-3 at 5 to 200 tokens.
BOUND = {torch.float32: 2e-5, torch.bfloat16: 1e-2, torch.float16: 5e-3}


def put(arrays, dtype=torch.float32):
    return {name: torch.tensor(numpy.asarray(array)).to("cuda", dtype) for name, array in arrays.items()}


def host(tensor):
    return tensor.detach().float().cpu().numpy()


@pytest.fixture(scope="module")
def compiled():
    """The kernels of the golden data, several at a time. What cannot be compiled is found by the test of it."""

    def compile_one(job):
        try:
            recurrence, sizes = job
            recur.compile(recurrence, ahead=[sizes])
        except recur.Error:
            pass

    jobs = [(recur.library.__getattr__(name).with_options(target="sm_90a"), read_dims(name)) for name in NAMES]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, jobs))


@pytest.mark.parametrize("name", NAMES)
def test_results_are_those_of_the_golden_data(name, compiled):
    _, given, initial = call(name)
    recurrence = recur.library.__getattr__(name)
    *outputs, states = recurrence(initial=None if initial is None else put(initial), final=True, **put(given))
    if not isinstance(states, dict):
        states = {recurrence.declaration.states[0].name: states}
    want_outputs, want_states = read(GOLDEN / name, "output"), read(GOLDEN / name, "final")
    for value, tensor in zip(recurrence.declaration.outputs, outputs):
        assert tensor.is_cuda and error_of(host(tensor), want_outputs[value.name]) < BOUND[torch.float32], value.name
    for state, want in want_states.items():
        assert error_of(host(states[state]), want) < BOUND[torch.float32], state


@pytest.mark.parametrize("dtype", BOUND, ids=str)
@pytest.mark.parametrize("tokens", [0, 1, 5, 64, 65, 200])
def test_types_and_lengths(gdn, dtype, tokens):
    given = put(draw(T=tokens), dtype)
    o, S = gdn(**given, final=True)
    want_o, want_S = gdn(**{name: host(tensor) for name, tensor in given.items()}, final=True)
    assert o.dtype == dtype and S.dtype == torch.float32 and o.shape == want_o.shape
    assert error_of(host(o), want_o) < BOUND[dtype] and error_of(host(S), want_S) < BOUND[dtype]


def test_float32_gates_beside_16_bits(gdn, inputs):
    given = {name: tensor.bfloat16() if name in "qkv" else tensor for name, tensor in put(inputs).items()}
    o = gdn(**given)
    assert o.dtype == torch.bfloat16
    assert error_of(host(o), gdn(**{name: host(tensor) for name, tensor in given.items()})) < 4e-3


def test_each_array_is_read_in_its_type(gdn, inputs):
    """Params too; and a call like one before is made without a conversion."""
    given = {name: tensor.bfloat16() if name in "qkv" else tensor for name, tensor in put(inputs).items()}
    state = torch.randn(2, 4, 8, 16, device="cuda")
    want, last = gdn(**{name: host(tensor) for name, tensor in given.items()}, initial=host(state), final=True)
    results = [gdn(**given, initial=state, final=True) for _ in "twice"]
    for o, S in results:
        assert o.dtype == torch.bfloat16 and S.dtype == torch.float32 and error_of(host(o), want) < 4e-3 and error_of(host(S), last) < 4e-3
    scan = {"x": torch.randn(1, 80, 2, 16), "dt": torch.rand(1, 80, 2), "A": -torch.rand(2), "B": torch.randn(1, 80, 2, 8), "C": torch.randn(1, 80, 2, 8)}
    there = {name: tensor.cuda() if name in "A" else tensor.cuda().bfloat16() for name, tensor in scan.items()}
    y = test_fla.fla.mamba_chunk_scan_combined(**there, chunk_size=64)
    assert y.dtype == torch.bfloat16
    assert error_of(host(y), test_fla.fla.mamba_chunk_scan_combined(**{name: host(tensor) for name, tensor in there.items()}, chunk_size=64)) < 1e-2


@pytest.mark.parametrize("name", ["processor", "GPU", "both"])
def test_nothing_waits_for_the_gpu(gdn, inputs, name):
    """Neither with float32 gates nor with packed sequences, wherever the offsets are."""
    given = {n: tensor[:1].bfloat16() if n in "qkv" else tensor[:1] for n, tensor in put(inputs).items()}
    bounds = torch.tensor([0, 30, 30, 70], dtype=torch.int32)
    offsets = {"processor": bounds, "GPU": bounds.cuda(), "both": (bounds, bounds.cuda())}[name]
    want = gdn(**given, offsets=offsets)
    torch.cuda.set_sync_debug_mode("error")
    try:
        results = [gdn(**given, offsets=offsets), gdn.with_options()(**given, offsets=offsets)] if name != "processor" else [gdn(**given, offsets=offsets)]
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert all(torch.equal(result, want) for result in results)


def test_strides(gdn, inputs, monkeypatch):
    """What kernels read where it lies is not copied; the rest is, once."""
    copies = []
    monkeypatch.setattr(recur.debug, "copies", True)
    monkeypatch.setattr(recur.debug, "warn_of_copy", copies.append)
    given = put(inputs)
    want = gdn(**given)
    B, T, _, K = given["q"].shape
    wide = torch.zeros(B, T, 7, 3 * K, device="cuda")
    wide[:, :, 1:3, K : 2 * K] = given["q"]
    moved = given["v"].transpose(1, 2).contiguous().transpose(1, 2)
    assert torch.equal(gdn(**{**given, "q": wide[:, :, 1:3, K : 2 * K], "v": moved}), want) and not copies
    turned = given["k"].transpose(2, 3).contiguous().transpose(2, 3)
    assert torch.equal(gdn(**{**given, "k": turned}), want) and len(copies) == 1
    odd = torch.zeros(given["q"].numel() + 1, device="cuda")[1:].view(given["q"].shape)
    odd.copy_(given["q"])
    assert torch.equal(gdn(**{**given, "q": odd}), want)


@pytest.mark.parametrize("transposed", [False, True])
def test_states_go_in_and_out(gdn, inputs, transposed):
    given, options = put(inputs), {"states_transposed": transposed}
    o, S = gdn(**given, final=True, **options)
    first, state = gdn(**{n: x[:, :33] for n, x in given.items()}, final=True, **options)
    out = torch.empty_like(o[:, 33:])
    again = gdn(**{n: x[:, 33:] for n, x in given.items()}, initial=state, final=state, out=out, **options)
    assert again[0] is out and again[1] is state
    assert error_of(host(torch.cat([first, out], 1)), host(o)) < 1e-5 and error_of(host(state), host(S)) < 1e-5
    assert S.shape == (2, 4, 16, 8) if transposed else (2, 4, 8, 16)


def test_delays(inputs):
    layer = recur.library.qwen3_next_layer
    given, params = draw_layer(layer, 1, 9)
    params = put(params)
    given = put(given)
    _, states = layer(**{n: x[:, :5] for n, x in given.items()}, **params, final=True)
    rest, states = layer(**{n: x[:, 5:] for n, x in given.items()}, **params, initial=states, final=True)
    assert error_of(host(rest), host(layer(**given, **params)[:, 5:])) < 1e-5 and "k_back3" in states


def test_states_that_do_not_start_as_zero():
    memory, arrays = recur.define(test_starts.TEXT), test_starts.draw_given()
    given, starts = put(arrays), put(test_starts.starts(arrays))
    for initial in (None, {"S": starts["S"]}, {"P": 2 * starts["P"]}):
        want, want_states = memory(**arrays, initial=initial and {n: host(x) for n, x in initial.items()}, final=True)
        o, states = memory(**given, initial=initial, final=True)
        assert error_of(host(o), want) < BOUND[torch.float32]
        for name, state in states.items():
            assert error_of(host(state), want_states[name]) < BOUND[torch.float32], name


def test_packed_sequences(gdn):
    given = put(draw(B=1, T=100))
    bounds = [0, 30, 30, 100]
    on_cpu, on_gpu = torch.tensor(bounds), torch.tensor(bounds, device="cuda")
    ways = (bounds, on_cpu, on_cpu.int(), on_gpu, on_gpu.int(), (on_cpu, on_gpu), (on_cpu, on_gpu.int()))
    results = [gdn(**given, offsets=offsets, final=True) for offsets in ways for _ in "twice"]
    for o, S in results:
        assert torch.equal(o, results[0][0]) and torch.equal(S, results[0][1]) and S.shape[0] == 3
    for i, (begin, end) in enumerate(zip(bounds, bounds[1:])):
        alone, last = gdn(**{n: x[:, begin:end] for n, x in given.items()}, final=True)
        assert torch.equal(results[0][0][:, begin:end], alone) and torch.equal(results[0][1][i : i + 1], last)
    for wrong in ((on_gpu, on_cpu), (on_cpu, on_cpu), (on_cpu, on_gpu[1:])):
        with pytest.raises(recur.ArgumentError, match="of two offsets the first lies in the processor's memory, and the second on cuda:0"):
            gdn(**given, offsets=wrong)


def test_streams_at_once(gdn):
    """Calls in several streams, and of several threads, have a workspace each."""
    gdn = gdn.with_options(plan="chunk")
    jobs = [put(draw(seed, B=1, T=1000 + 64 * seed, K=64, V=64)) for seed in range(4)]
    wanted = [gdn(**given, final=True) for given in jobs]
    streams = [torch.cuda.Stream() for _ in jobs]
    torch.cuda.synchronize()

    def compute(number):
        with torch.cuda.stream(streams[number]):
            return [gdn(**jobs[number], final=True) for _ in range(25)]

    one_caller = [compute(number) for number in range(len(jobs))]
    with concurrent.futures.ThreadPoolExecutor(len(jobs)) as pool:
        several = list(pool.map(compute, range(len(jobs))))
    torch.cuda.synchronize()
    for results in (one_caller, several):
        for (want_o, want_S), computed in zip(wanted, results):
            assert all(torch.equal(o, want_o) and torch.equal(S, want_S) for o, S in computed)


def test_decoding_by_a_graph(gdn):
    """A prompt, then one graph of a token that is replayed, with the state in place."""
    given = put(draw(B=1, T=90))
    want, last = gdn(**given, final=True)
    prompt, state = gdn(**{name: x[:, :70] for name, x in given.items()}, final=True)
    token = {name: x[:, 70:71].clone() for name, x in given.items()}
    out, kept = torch.empty_like(want[:, :1]), state.clone()
    gdn(**token, initial=state, final=state, out=out)
    graph, _ = capture(lambda: gdn(**token, initial=state, final=state, out=out))
    state.copy_(kept)
    tokens = []
    for place in range(70, 90):
        for name, tensor in token.items():
            tensor.copy_(given[name][:, place : place + 1])
        graph.replay()
        tokens.append(out.clone())
    assert error_of(host(torch.cat([prompt, *tokens], 1)), host(want)) < 1e-5 and error_of(host(state), host(last)) < 1e-5


def test_calls_are_repeatable_on_any_stream(gdn):
    given = put(draw(T=500))
    want, side = gdn(**given), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        results = [gdn(**given) for _ in range(20)]
    torch.cuda.current_stream().wait_stream(side)
    assert all(torch.equal(result, want) for result in results)


@pytest.mark.filterwarnings("ignore:The CUDA Graph is empty")  # a capture that is refused
def test_a_graph_replays_a_call(gdn):
    given = put(draw(B=1, T=100))
    bounds = torch.tensor([0, 30, 100])
    for offsets in ((bounds, bounds.cuda()), bounds.cuda(), bounds.int().cuda()):
        graph, (o, S) = capture(lambda: gdn(**given, offsets=offsets, final=True))
        for tensor in given.values():
            tensor.mul_(0.5)
        if not isinstance(offsets, tuple):
            offsets[1] = 64  # a replay reads what is there then
        graph.replay()
        want_o, want_S = gdn(**given, offsets=offsets if isinstance(offsets, tuple) else offsets.cpu(), final=True)
        assert torch.equal(o, want_o) and torch.equal(S, want_S)
    with pytest.raises(recur.ArgumentError, match="a graph is being captured, and offsets in the processor's memory would have to be copied"):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            gdn(**given, offsets=bounds)


@pytest.mark.filterwarnings("ignore:The CUDA Graph is empty")  # a capture that is refused
def test_a_graph_needs_a_call_before(inputs):
    other = recur.library.gated_delta_net.with_options(consts={"scale": 0.3125})
    recur.compile(other.with_options(target="sm_90a"), ahead=[{"K": 16, "V": 8}])
    given = put(inputs)
    with pytest.raises(recur.ArgumentError, match="a graph is being captured, and the kernels are not loaded yet"):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            other(**given)


def test_the_operator_is_seen_whole(gdn, inputs):
    given = put(inputs)
    want = gdn(**given)
    compiled = torch.compile(lambda **x: gdn(**x, final=True), fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(**given)[0], want)
    needing = [tensor.requires_grad_() for tensor in given.values()]
    arguments = ([*needing], None, gdn.handle, [], False, True, [], None)
    torch.library.opcheck(torch.ops.recur.forward, arguments, test_utils=("test_schema", "test_faketensor"))


def test_compiled_by_the_usual_backend(gdn, inputs):
    """What is around a call becomes kernels of Triton, in one graph."""
    pytest.importorskip("triton")
    given = put(inputs)

    @torch.compile(fullgraph=True)
    def layer(q, k, v, g, beta):
        return gdn(torch.nn.functional.silu(q), k, v, -g.abs(), torch.sigmoid(beta), final=True)

    o, S = layer(**given)
    wide = {**given, "q": torch.nn.functional.silu(given["q"]), "g": -given["g"].abs(), "beta": torch.sigmoid(given["beta"])}
    want_o, want_S = gdn(**wide, final=True)
    assert error_of(host(o), host(want_o)) < 1e-5 and error_of(host(S), host(want_S)) < 1e-5


def test_saved_kernels(gdn, inputs):
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "gdn.so")
        recur.save(gdn.with_options(target="sm_90a"), path, K=16, V=8)
        saved = recur.load(path)
        assert torch.equal(saved(**put(inputs)), gdn(**put(inputs)))
        with pytest.raises(recur.ArgumentError, match="the kernels are for 'sm_90a', and the arrays are in the processor's memory"):
            saved(**inputs)
        recur.save(gdn, path, K=16, V=8)
        with pytest.raises(recur.ArgumentError, match="a tensor is on cuda:0, and the saved kernel is for 'host'"):
            recur.load(path)(**put(inputs))


@pytest.mark.parametrize("name", test_fla.TRACED)
def test_known_names(name):
    """Each call of recur.fla gives on the GPU what it gives on the processor."""
    given = {n: torch.from_numpy(array) for n, array in test_fla.draw_data().items()}
    want = test_fla.TRACED[name](given, torch)
    with torch.device("cuda"):  # for what a call makes itself
        results = test_fla.TRACED[name](put(given), torch)
    pairs = zip(results, want) if isinstance(want, tuple) else [(results, want)]
    for result, reference in pairs:
        assert (result is None and reference is None) or result.is_cuda and error_of(host(result), reference) < BOUND[torch.float32]


@pytest.mark.parametrize("make", ["make_qwen", "make_kimi"])
def test_fused_layers(make):
    """A prompt and tokens after it, with the library's cache, against the library's own layer."""
    library, layers = pytest.importorskip("transformers"), pytest.importorskip("test_transformers")
    torch.manual_seed(0)
    config, layer = getattr(layers, make)()
    layer = layer.cuda().eval()
    parts = torch.randn(2, 73, layers.HIDDEN, device="cuda").split((70, 1, 1, 1), 1)

    def walk():
        cache = library.DynamicCache(config=config)
        with torch.no_grad():
            return host(torch.cat([layer(part, cache_params=cache) for part in parts], 1))

    want = walk()
    assert recur.transformers.fuse(layer) == 1
    assert error_of(walk(), want) < BOUND[torch.float32]


MISTAKES = [
    ("two devices", lambda i: {**i, "g": i["g"].cpu()}, "a tensor is on cuda:0, and another on cpu; a call has all on one device"),
    ("state", lambda i: {**i, "initial": torch.zeros(2, 4, 8, 16)}, "a tensor is on cuda:0, and another on cpu; a call has all on one device"),
    ("out", lambda i: {**i, "out": torch.zeros(2, 70, 4, 8)}, "out: the output 'o' is in the processor's memory, and others are on cuda:0"),
    ("type", lambda i: {**i, "v": i["v"].double()}, "the input 'v' has elements of float64; there are kernels for float32, bfloat16 and float16"),
    ("dim", lambda i: {**i, "k": i["k"][..., :5]}, "K is 5 in 'k', but 16 in 'q'"),
]


@pytest.mark.parametrize("what, spoil, message", MISTAKES, ids=[what for what, _, _ in MISTAKES])
def test_message(gdn, inputs, what, spoil, message):
    with pytest.raises(recur.ArgumentError) as raised:
        gdn(**spoil(put(inputs)))
    assert str(raised.value) == f"gated_delta_net: {message}"


def test_a_target_of_processors_alone(gdn, inputs):
    with pytest.raises(recur.ArgumentError, match="the kernels are for 'x86-64-v3', and this GPU takes 'sm_90a'"):
        gdn.with_options(target="x86-64-v3")(**put(inputs))


FIRST_CALL = """
import time, torch, recur
ones = [torch.ones(1, 64, 2, *side, device="cuda", dtype=torch.bfloat16) for side in [(64,), (64,), (64,), (), ()]]
torch.cuda.synchronize()
start = time.perf_counter()
recur.library.gated_delta_net(*ones)
torch.cuda.synchronize()
print(time.perf_counter() - start)
"""


def test_the_first_call_of_a_process():
    with tempfile.TemporaryDirectory() as folder:
        cold, cached = (float(run_python(FIRST_CALL, RECUR_CACHE=folder)) for _ in range(2))
    print(f"first call on a GPU: {cold:.2f} s, from the cache {cached:.3f} s")
    assert cold < 15 and cached < 0.1


def test_a_call_like_one_before_gives_the_same(gdn, monkeypatch):
    """On other numbers in other memory, on another stream, in a thread that never used the GPU, and in a graph."""
    import recur.torch

    gdn, long_way = gdn.with_options(), []
    made = recur.torch.call
    monkeypatch.setattr(recur.torch, "call", lambda *arguments: long_way.append(1) or made(*arguments))
    first, second = put(draw(1)), put(draw(2))
    kept = gdn(**first, final=True)
    before = [tensor.clone() for tensor in kept]
    want = recur.library.gated_delta_net.with_options()(**second, final=True)
    assert len(long_way) == 2
    results = [gdn(**second, final=True)]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        results.append(gdn(**second, final=True))
    torch.cuda.current_stream().wait_stream(side)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        results.append(pool.submit(lambda: gdn(**second, final=True)).result())
    given = {name: torch.zeros_like(tensor) for name, tensor in second.items()}
    graph, captured = capture(lambda: gdn(**given, final=True))
    results.append(captured)
    for name, tensor in given.items():
        tensor.copy_(second[name])
    graph.replay()
    assert all(torch.equal(o, want[0]) and torch.equal(S, want[1]) for o, S in results)
    assert all(map(torch.equal, kept, before)) and len(long_way) <= 3  # a thread without a context goes the long way


def test_overhead(gdn):
    """Of a call of one token, the launch included."""
    given = put(draw(B=1, T=1))
    state, out = torch.zeros(1, 4, 8, 16, device="cuda"), torch.zeros(1, 1, 4, 8, device="cuda")
    in_place, new_output, new_state, add = measure_callers(
        lambda: gdn(**given, initial=state, final=state, out=out),
        lambda: gdn(**given, initial=state, final=state),
        lambda: gdn(**given, initial=state, final=True),
        lambda: torch.add(out, out, out=out),
    )
    print(f"one token on a GPU, us of the caller: {in_place:.1f} in place, {new_output:.1f} with a new output, {new_state:.1f} with a new state too; {add:.1f} torch.add")
    assert in_place < 15


@pytest.mark.parametrize("every", [1, 4])
def test_states_on_the_way(every):
    recurrence = recur.library.gated_delta_net
    inputs = draw()
    offsets = numpy.array([0, 30, 30, 70])
    for packed in (False, True):
        given = {name: array[: 1 if packed else 2] for name, array in inputs.items()}
        own = {"offsets": offsets} if packed else {}
        want = recurrence.keep(**given, every=every, **own)
        got = recurrence.keep(**put(given), every=every, **{name: torch.tensor(ends) for name, ends in own.items()})
        for tensor, array in zip(got, want):
            assert tensor.is_cuda and tensor.shape == array.shape and error_of(host(tensor), array) < BOUND[torch.float32]
