"""Runs the kernels that the test CUDAKernels left in a folder (RECUR_GPU_CASES), on a machine with an NVIDIA GPU.

Needs Python with numpy, the runtime as a shared library, and ptxas or a driver that compiles PTX. Each kernel runs on its
data and is compared with the token-by-token interpreter's results; also twice, for the same bits, and with NaN in later
tokens, which must not reach earlier ones.
"""

import argparse
import ctypes
import glob
import json
import os
import sys

import numpy as np

DEVICE_TYPES = {"f32": (0, 4), "bf16": (1, 2)}
LIMITS = {"f32": 1e-5, "bf16": 4e-3}
KINDS = {"input": 0, "param": 1, "initial": 2, "output": 3, "final": 2}


class ArrayInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_int32), ("dtype", ctypes.c_int32), ("shared", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("shape", ctypes.c_int64 * 2)]


class KernelInfo(ctypes.Structure):
    _fields_ = [("run", ctypes.c_void_p), ("workspace_bytes", ctypes.c_int64), ("tokens_from", ctypes.c_int64),
                ("plan", ctypes.c_int32), ("chunk", ctypes.c_int32), ("summaries", ctypes.c_void_p),
                ("summary_count", ctypes.c_int32), ("launch_count", ctypes.c_int32), ("launches", ctypes.c_void_p),
                ("left", ctypes.c_void_p), ("left_count", ctypes.c_int32), ("listing", ctypes.c_void_p),
                ("trees", ctypes.c_void_p)]


class LaunchArray(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int32), ("part_dim", ctypes.c_int32), ("part_size", ctypes.c_int64),
                ("copied_rows", ctypes.c_int64)]


class LaunchInfo(ctypes.Structure):
    _fields_ = [("symbol", ctypes.c_char_p), ("threads", ctypes.c_int32), ("shared_bytes", ctypes.c_int32),
                ("workspace_bytes", ctypes.c_int64), ("parts", ctypes.c_int32), ("chunks_are_apart", ctypes.c_int32),
                ("arrays", ctypes.POINTER(LaunchArray)), ("array_count", ctypes.c_int32), ("teams", ctypes.c_int32),
                ("awaits", ctypes.c_int32), ("cost", ctypes.c_float), ("cuts", ctypes.c_int32), ("bounds", ctypes.c_int32),
                ("listed", ctypes.c_char_p), ("state_parts", ctypes.c_int32)]


class LeftInfo(ctypes.Structure):
    _fields_ = [("rows", ctypes.c_int64), ("element_bytes", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.c_int64 * 2)]


class Recurrence(ctypes.Structure):
    _fields_ = [("abi_version", ctypes.c_uint32), ("features", ctypes.c_uint32), ("array_count", ctypes.c_int32),
                ("kernel_count", ctypes.c_int32), ("arrays", ctypes.POINTER(ArrayInfo)),
                ("kernels", ctypes.POINTER(KernelInfo)), ("name", ctypes.c_char_p), ("target", ctypes.c_char_p),
                ("compiler", ctypes.c_char_p), ("next", ctypes.c_void_p), ("image", ctypes.c_char_p),
                ("device", ctypes.c_int32), ("gradient", ctypes.c_void_p), ("start", ctypes.c_void_p),
                ("parts", ctypes.c_void_p)]


class Argument(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("b", ctypes.c_int64), ("t", ctypes.c_int64), ("h", ctypes.c_int64)]


class Call(ctypes.Structure):
    _fields_ = [("B", ctypes.c_int64), ("T", ctypes.c_int64), ("H", ctypes.c_int64), ("Hq", ctypes.c_int64),
                ("arguments", ctypes.POINTER(Argument)), ("argument_count", ctypes.c_int64),
                ("states_transposed", ctypes.c_int32), ("plan", ctypes.c_int32), ("sequence_offsets", ctypes.c_void_p),
                ("sequence_count", ctypes.c_int64), ("threads", ctypes.c_int32), ("parallel_for", ctypes.c_void_p),
                ("parallel_context", ctypes.c_void_p), ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_int64),
                ("stream", ctypes.c_void_p), ("device_offsets", ctypes.c_void_p), ("device", ctypes.c_int32),
                ("kept_interval", ctypes.c_int64), ("kept_states", ctypes.c_void_p), ("state_indices", ctypes.c_void_p),
                ("final_indices", ctypes.c_void_p), ("pool_rows", ctypes.c_int64), ("check_indices", ctypes.c_int32),
                ("token_indices", ctypes.c_void_p), ("token_columns", ctypes.c_int64), ("accepted", ctypes.c_void_p),
                ("state_columns", ctypes.c_int64), ("replayed", ctypes.c_int64), ("parents", ctypes.c_void_p),
                ("parent_columns", ctypes.c_int64), ("parent_stride", ctypes.c_int64), ("interval", ctypes.c_int64),
                ("interval_indices", ctypes.c_void_p),
                ("interval_columns", ctypes.c_int64), ("positions", ctypes.c_void_p),
                ("handed_states", ctypes.c_void_p), ("handed_values", ctypes.c_void_p)]


class Device:
    """Memory of the GPU, through the driver."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.check(self.cuda.cuInit(0))
        context = ctypes.c_void_p()
        self.check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        self.check(self.cuda.cuCtxSetCurrent(context))

    def check(self, error):
        if error:
            raise RuntimeError(f"the driver returned error {error}")

    def allocate(self, size, byte=0xFF):
        pointer = ctypes.c_uint64()
        self.check(self.cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(max(size, 1))))
        self.check(self.cuda.cuMemsetD8_v2(pointer, ctypes.c_ubyte(byte), ctypes.c_size_t(max(size, 1))))
        return pointer.value

    def upload(self, array):
        array = np.ascontiguousarray(array)
        pointer = self.allocate(array.nbytes)
        self.write(pointer, array)
        return pointer

    def write(self, pointer, array):
        if array.nbytes:
            self.check(self.cuda.cuMemcpyHtoD_v2(ctypes.c_uint64(pointer), array.ctypes.data_as(ctypes.c_void_p),
                                                 ctypes.c_size_t(array.nbytes)))

    def download(self, pointer, shape, dtype):
        array = np.empty(shape, dtype)
        if array.nbytes:
            self.check(self.cuda.cuMemcpyDtoH_v2(array.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(pointer),
                                                 ctypes.c_size_t(array.nbytes)))
        return array

    def free(self, pointers):
        for pointer in pointers:
            self.check(self.cuda.cuMemFree_v2(ctypes.c_uint64(pointer)))


def to_words(values, type_name):
    values = np.ascontiguousarray(values, np.float32)
    if type_name == "f32":
        return values
    bits = values.view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded)


def from_words(words):
    return words if words.dtype == np.float32 else (words.astype(np.uint32) << 16).view(np.float32)


def difference(got, want):
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    if not want.size:
        return 0.0
    if not np.isfinite(got).all():
        return float("inf")
    size = np.sqrt((want**2).sum())
    return float(np.sqrt(((got - want) ** 2).sum()) / (size if size else 1.0))


class Case:
    def __init__(self, description, image, runtime, device):
        self.info, self.runtime, self.device, self.image = description, runtime, device, image
        arrays = [a for a in description["arrays"] if a["role"] != "final"]
        self.arrays = (ArrayInfo * len(arrays))()
        for info, a in zip(self.arrays, arrays):
            dtype = 0 if a["role"] == "initial" else DEVICE_TYPES[description["type"]][0]
            shape = (list(a["shape"]) + [0, 0])[:2]
            info.name, info.kind, info.dtype = a["name"].encode(), KINDS[a["role"]], dtype
            info.shared, info.rank, info.shape = int(a["shared"]), len(a["shape"]), (ctypes.c_int64 * 2)(*shape)
        self.kept = []  # what the kernels' descriptions point to
        self.kernels = (KernelInfo * len(description["kernels"]))(*map(self.describe_kernel, description["kernels"]))
        self.plans = [kernel["plan"] for kernel in description["kernels"]]
        self.recurrence = Recurrence(runtime.abi, 90, len(arrays), len(self.kernels), self.arrays, self.kernels,
                                     description["name"].encode(), b"sm_90a", b"test", None, image, 1)

    def describe_kernel(self, given):
        launches, left = (LaunchInfo * len(given["launches"]))(), (LeftInfo * len(given["left"]))()
        for launch, words in zip(launches, given["launches"]):
            launch.symbol, launch.threads, launch.shared_bytes = words["symbol"].encode(), words["threads"], words["shared"]
            launch.state_parts = words["state_parts"]
            if left:
                own = (LaunchArray * len(words["arrays"]))(*(LaunchArray(*numbers) for numbers in words["arrays"]))
                self.kept.append(own)
                launch.workspace_bytes, launch.parts = words["workspace"], words["parts"]
                launch.chunks_are_apart, launch.arrays, launch.array_count = words["parallel"], own, len(own)
                launch.teams, launch.awaits, launch.cost = words["teams"], words["awaits"], words["cost"]
                launch.cuts, launch.bounds = words["cuts"], words["bounds"]
        for array, words in zip(left, given["left"]):
            array.rows, array.element_bytes, array.rank = words["rows"], words["bytes"], len(words["shape"])
            array.shape = (ctypes.c_int64 * 2)(*(list(words["shape"]) + [0, 0])[:2])
        self.kept += [launches, left]
        return KernelInfo(None, given["workspace"], given["tokens_from"], given["plan"], given["chunk"], None, 0,
                          len(launches), ctypes.cast(launches, ctypes.c_void_p),
                          ctypes.cast(left, ctypes.c_void_p) if left else None, len(left))

    def run(self, data, sizes, transposed=False, plan=0):
        B, T, H, Hq = sizes
        pointers, results = [], []
        arguments = (Argument * len(self.info["arrays"]))()
        for argument, a in zip(arguments, self.info["arrays"]):
            type_name = "f32" if a["role"] in ("initial", "final") else self.info["type"]
            key, heads = f"{a['role']}.{a['name']}", Hq if a["shared"] else H
            leading = (B, T, heads) if a["role"] in ("input", "output") else (H,) if a["role"] == "param" else (B, H)
            if a["role"] in ("output", "final"):
                shape, dtype = leading + tuple(a["shape"]), np.float32 if type_name == "f32" else np.uint16
                swap = transposed and a["role"] == "final" and len(a["shape"]) == 2
                if swap:
                    shape = shape[:-2] + (shape[-1], shape[-2])
                pointer = self.device.allocate(int(np.prod(shape)) * np.dtype(dtype).itemsize)
                results.append((key, pointer, shape, dtype, swap))
            elif key in data:
                values = data[key]
                if transposed and a["role"] == "initial" and len(a["shape"]) == 2:
                    values = values.swapaxes(-1, -2)
                pointer = self.device.upload(to_words(values, type_name))
            else:
                continue
            pointers.append(pointer)
            argument.data = pointer
        call = Call(B=B, T=T, H=H, Hq=Hq, arguments=arguments, argument_count=len(arguments),
                    states_transposed=int(transposed), device=1, plan=plan)
        size = self.runtime.recur_workspace_size(ctypes.byref(self.recurrence), ctypes.byref(call))
        if size < 0:
            raise RuntimeError(self.runtime.recur_message().decode())
        call.workspace, call.workspace_bytes = self.device.allocate(size), size
        pointers.append(call.workspace)
        if self.runtime.recur_forward(ctypes.byref(self.recurrence), ctypes.byref(call)):
            raise RuntimeError(self.runtime.recur_message().decode())
        self.device.check(self.device.cuda.cuCtxSynchronize())
        given = {}
        for key, pointer, shape, dtype, swap in results:
            array = from_words(self.device.download(pointer, shape, dtype))
            given[key] = array.swapaxes(-1, -2) if swap else array
        self.device.free(pointers)
        return given


def load_runtime(path):
    runtime = ctypes.CDLL(path)
    runtime.recur_message.restype = ctypes.c_char_p
    runtime.recur_workspace_size.restype = ctypes.c_int64
    return runtime


def same_bits(a, b):
    return all(np.array_equal(a[key].view(np.uint32), b[key].view(np.uint32)) for key in a)


def check_case(case, folder):
    """Yields what is wrong, and the largest difference by the number of tokens."""
    limit = LIMITS[case.info["type"]]
    for path in sorted(glob.glob(f"{folder}/*"), key=lambda p: int(os.path.basename(p))):
        tokens = int(os.path.basename(path))
        data = {os.path.basename(f)[:-4]: np.load(f) for f in glob.glob(f"{path}/*.npy")}
        sizes = (2, tokens, 2, 1)
        got = case.run(data, sizes)
        worst = max(difference(got[key], data[key]) for key in got)
        yield tokens, worst, f"{worst:.2e} off" if worst > limit else ""
        if not same_bits(got, case.run(data, sizes)):
            yield tokens, worst, "other bits in another run"
        for plan in case.plans:
            off = max(difference(v, data[k]) for k, v in case.run(data, sizes, plan=plan).items())
            yield tokens, off, f"{off:.2e} off by plan {plan}" if off > limit else ""
        if tokens == 65:
            if max(difference(v, data[k]) for k, v in case.run(data, sizes, transposed=True).items()) > limit:
                yield tokens, worst, "wrong with transposed states"
            for late in (3, 40):
                spoiled = {k: v.copy() for k, v in data.items()}
                for key in spoiled:
                    if key.startswith("input."):
                        spoiled[key][:, late] = np.nan
                after = case.run(spoiled, sizes)
                early = {k: np.ascontiguousarray(v[:, :late]) for k, v in got.items() if k.startswith("output.")}
                if not same_bits(early, {k: np.ascontiguousarray(after[k][:, :late]) for k in early}):
                    yield tokens, worst, f"NaN of token {late} reaches earlier ones"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="what RECUR_GPU_CASES named")
    parser.add_argument("--runtime", required=True, help="the runtime as a shared library")
    parser.add_argument("--abi", type=int, required=True, help="RECUR_ABI_VERSION")
    parser.add_argument("--only", default="", help="only cases whose name has this in it")
    arguments = parser.parse_args()
    runtime, device = load_runtime(arguments.runtime), Device()
    runtime.abi = arguments.abi
    faults = runs = 0
    cases = []  # a kernel stays where it is as long as the runtime may know it
    for path in sorted(glob.glob(f"{arguments.folder}/*.json")):
        base = path[:-5]
        if arguments.only not in os.path.basename(base):
            continue
        image = base + (".cubin" if os.path.exists(base + ".cubin") else ".ptx")
        with open(path) as description, open(image, "rb") as code:
            case = Case(json.load(description), code.read() + b"\0", runtime, device)
        cases.append(case)
        off = []
        for tokens, worst, fault in check_case(case, base):
            runs += 1
            off.append(worst)
            if fault:
                faults += 1
                print(f"{case.info['name']}, {tokens} tokens: {fault}")
        chunks = [kernel["chunk"] for kernel in case.info["kernels"]]
        print(f"{case.info['name']}: chunks {chunks}, {max(off):.2e}")
    print(f"{runs} runs, {faults} faults")
    return 1 if faults or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
