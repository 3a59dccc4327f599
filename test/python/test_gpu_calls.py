"""What a call puts into a GPU's stream, as a driver sees it that only remembers what it is told: the runtime's unit tests have it."""

import json
import os
import pathlib

import pytest
from conftest import run_python

FAKE = pathlib.Path(os.environ.get("RECUR_RECURC", ".")).resolve().parent.parent / "test/unit/CUDARuntime/libcuda.so.1"
pytestmark = pytest.mark.skipif(not FAKE.exists(), reason="the runtime's unit tests, which have the driver, are not built")

START = """
import ctypes, json, numpy, recur
from recur import _native

class Fake(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("context", "host_memory")]
    _fields_ += [(name, ctypes.c_int) for name in ("loads", "unloads", "launches", "capability", "multiprocessors", "most_shared_bytes", "shared_bytes", "error_of_load")]
    _fields_ += [(name, ctypes.c_uint) for name in ("grid", "threads", "launch_shared")] + [("stream", ctypes.c_void_p)]

library = ctypes.CDLL({path!r})
fake = Fake.in_dll(library, "fakeCUDA")
fake.context = 7
gdn = recur.library.gated_delta_net.with_options(target="sm_90a", plan="step")
sides = {{"q": (2, 4), "k": (2, 4), "v": (2, 4), "g": (2,), "beta": (2,)}}
arrays = {{name: numpy.ones((1, 5, *side), numpy.float32) for name, side in sides.items()}}

def show(array, gpu=3):
    strides = [stride // array.itemsize for stride in array.strides]
    return _native.View.from_pointer(array.ctypes.data, array.dtype.name, array.shape, strides, array, gpu)

def read(gpu=3, **changed):
    return _native.Call(gdn.signature, [show(array) if not isinstance(array, _native.View) else array for array in {{**arrays, **changed}}.values()], None, None, False, None, gpu)

def message(function):
    try:
        function()
    except recur.Error as error:
        return type(error).__name__ + ": " + str(error)

call = read()
loaded = gdn.obtain(call.key, "sm_90a")
out, workspace = numpy.ones((1, 5, 2, 4), numpy.float32), numpy.zeros(1 << 20, numpy.uint8)
aligned = (workspace.ctypes.data + 255) // 256 * 256

def run(call, out=out, size=None, stream=77):
    call.run_on_gpu(loaded.kernel, [show(out)], [None], aligned, call.count_workspace_bytes(loaded.kernel) if size is None else size, stream)
"""


def run(code):
    return json.loads(run_python(START.format(path=str(FAKE)) + code))


def test_a_call_is_launched_in_its_stream():
    facts = run("""
kinds = [loaded.kernel.is_for_cpu, loaded.kernel.is_for_gpu, loaded.kernel.runs_here]
loaded.kernel.load_on_gpu()
before = [fake.loads, fake.launches]
run(call)
assert call.count_workspace_bytes(loaded.kernel) == 0
call.run_on_gpu(loaded.kernel, [show(out)], [None], 0, 0, 78)
print(json.dumps({"kinds": kinds, "before": before, "loads": fake.loads, "launches": fake.launches, "stream": fake.stream, "heads": fake.grid}))
""")
    assert facts == {"kinds": [False, True, False], "before": [1, 0], "loads": 1, "launches": 2, "stream": 78, "heads": 2}


def test_kernels_for_trees_are_there_where_they_are_asked_for():
    facts = run("""
gdn.obtain(call.key, "sm_90a", trees=True).kernel.load_on_gpu()
print(json.dumps([fake.loads, gdn.obtain(call.key, "sm_90a") is loaded]))
""")
    assert facts == [2, True]


def test_messages():
    facts = run("""
turned = arrays["k"].reshape(1, 5, 4, 2).transpose(0, 1, 3, 2)
messages = [
    message(lambda: read(k=show(arrays["k"], 2))),
    message(lambda: read(k=show(arrays["k"], -1))),
    message(lambda: read(k=show(turned))),
    message(lambda: read(gpu=-1)),
    message(lambda: run(call, out=arrays["v"])),
    message(lambda: gdn(*arrays.values())),
]
fake.capability = 80
messages.append(message(loaded.kernel.load_on_gpu))
print(json.dumps(messages))
""")
    name = "ArgumentError: gated_delta_net: "
    assert facts == [
        name + "the input 'k' is on cuda:2, and others are on cuda:3",
        name + "the input 'k' is in the processor's memory, and others are on cuda:3",
        name + "'k' would have to be copied, which is not done in memory of a GPU: the elements of one token are not one after another",
        name + "the input 'q' is not in the processor's memory; its kernels are for the processor",
        name + "the output 'o' shares memory with the input 'v'",
        name + "the kernels are for 'sm_90a', and the arrays are in the processor's memory",
        "LoadError: gated_delta_net was compiled for 'sm_90a', a GPU of compute capability 9.0, and the current context's has 8.0",
    ]


def test_offsets_on_the_gpu_alone():
    """Nothing of them is read by the processor, which knows their number."""
    facts = run("""
before = fake.launches
offsets = numpy.array([0, 2, 5, 9999], numpy.int64)  # nobody looks at them
given = [show(array) for array in arrays.values()]
packed = lambda host, device: _native.Call(gdn.signature, given, None, host, False, None, 3, device)
call = packed(None, show(offsets))
shapes = call.shapes(loaded.kernel)
states = numpy.ones((3, 2, 4, 4), numpy.float32)
run_packed = lambda call: call.run_on_gpu(loaded.kernel, [show(out)], [show(states)], aligned, call.count_workspace_bytes(loaded.kernel), 77)
run_packed(call)
launched = fake.launches - before
messages = [
    message(lambda: packed(None, show(offsets.astype(numpy.int32)))),
    message(lambda: packed(None, show(offsets, 2))),
    message(lambda: packed(numpy.array([0, 5]), show(offsets))),
    message(lambda: run_packed(packed(numpy.array([0, 3, 2, 5]), show(offsets)))),
    message(lambda: run_packed(packed(numpy.array([0, 3, 4, 5]), None))),
]
print(json.dumps({"shapes": shapes, "launched": launched, "messages": messages}))
""")
    name = "ArgumentError: gated_delta_net: "
    assert facts["shapes"] == [[[1, 5, 2, 4]], [[3, 2, 4, 4]]] and facts["launched"] >= 1
    assert facts["messages"] == [
        name + "the offsets in the GPU's memory are no dense array [sequences + 1] of int64",
        name + "an array of offsets is on cuda:2, and others are on cuda:3",
        name + "there are 2 offsets in the processor's memory, and 4 in the GPU's",
        name + "sequence_offsets decrease: [2] is 2, after 3",
        name + "a GPU reads offsets in its own memory, as device_offsets; they are given as sequence_offsets alone",
    ]


def test_states_that_are_handed_over():
    """The call forward stores them by launches of its own, and the one backward needs none that find them again."""
    facts = run("""
attention = recur.library.linear_attention.with_options(quick=True)
side, tokens, heads = 16, 130, 2
half = lambda *shape: numpy.ones(shape, numpy.uint16)
def view(array, dtype="bfloat16"):
    return _native.View.from_pointer(array.ctypes.data, dtype, array.shape, [stride // array.itemsize for stride in array.strides], array, 3)
given = [half(1, tokens, heads, side) for _ in range(3)]
call = _native.Call(attention.signature, [view(x) for x in given], None, None, False, None, 3)
kernel = attention.obtain_gradient({"K": side, "V": side}, call.key[1], (), "sm_90a").kernel
chunk, states = kernel.handed
rows = -(-tokens // chunk)
handed, out = half(rows, heads, side, side), half(1, tokens, heads, side)
kernel.load_on_gpu()

def forward(handed):
    before, size = fake.launches, call.count_workspace_bytes(kernel, hands_over=bool(handed))
    call.run_on_gpu(kernel, [view(out)], [None], aligned, size, 77, handed=handed)
    return fake.launches - before

def backward(handed):
    before, size = fake.launches, call.count_workspace_bytes(kernel, backward=True, hands_over=bool(handed))
    made = [numpy.ones_like(x) for x in given]
    call.run_backward_on_gpu(kernel, [view(out)], [None], [view(x) for x in made], [None], aligned, size, 77, handed=handed)
    return fake.launches - before

workspace = numpy.zeros(1 << 24, numpy.uint8)
aligned = (workspace.ctypes.data + 255) // 256 * 256
counts = [forward([]), backward([]), forward([view(handed)]), backward([view(handed)])]
messages = [message(lambda one=one: forward(one)) for one in (
    [view(handed[1:])], [view(handed.view(numpy.float32), "float32")], [view(handed), view(handed)], [view(half(rows, heads, 2 * side, side)[:, :, ::2])],
)]
none = [other.handed for other in (recur.library.gated_delta_net.with_options(quick=True).obtain((
    (2, 4), "float32"), None).kernel,)]
print(json.dumps({"states": states, "rows": rows, "counts": counts, "messages": messages, "none": none}))
""")
    assert facts["states"] == [[0, "bfloat16"]] and facts["none"] == [None]
    without, again, handing, taking = facts["counts"]
    assert without >= 1 and handing >= 1 and taking < again
    shape = f"it is dense, bfloat16 and of at least {facts['rows']} rows"
    name = "ArgumentError: linear_attention: the state 'S' that is handed over has the shape "
    rows = facts["rows"]
    assert facts["messages"] == [
        f"{name}[{rows - 1}, 2, 16, 16]; {shape}",
        f"{name}[{rows}, 2, 16, 8]; {shape}",
        "ArgumentError: linear_attention: there are 2 arrays for 1 states that are handed over",
        f"{name}[{rows}, 2, 16, 16]; {shape}",
    ]
