"""Compares packed sequences with each by itself, bit for bit, on a machine with an NVIDIA GPU.

Needs Python with numpy, and shared objects that `recurc build --emit=so --target=sm_90a` made, each given as NAME=FILE. A
sequence must have the same bits whether its offsets are known to the host or to the GPU alone, however many others are in
the call and how long they are, and when a graph that holds the call is replayed with other offsets in their place. Offsets
that make no sense must touch nothing beside the arrays, which compute-sanitizer sees.
"""

import argparse
import ctypes
import sys

import numpy as np

from check import Argument, ArrayInfo, Call, Device, KernelInfo

INPUT, PARAM, STATE, OUTPUT = range(4)
AUTO, STEP, CHUNK, SEGMENT, SCAN, TOKEN_LOOP = range(6)


class Head(ctypes.Structure):
    """Of a recur_recurrence."""

    _fields_ = [("abi_version", ctypes.c_uint32), ("features", ctypes.c_uint32), ("array_count", ctypes.c_int32),
                ("kernel_count", ctypes.c_int32), ("arrays", ctypes.POINTER(ArrayInfo)), ("kernels", ctypes.POINTER(KernelInfo))]


class Library:
    def __init__(self, name, path, device):
        self.name, self.device, self.handle = name, device, ctypes.CDLL(path)
        self.handle.recur_message.restype = ctypes.c_char_p
        self.handle.recur_workspace_size.restype = ctypes.c_int64
        self.recurrence = ctypes.c_void_p(ctypes.addressof(Head.in_dll(self.handle, f"{name}_recurrence")))
        head = Head.in_dll(self.handle, f"{name}_recurrence")
        infos = [head.arrays[i] for i in range(head.array_count)]
        order = [(kind, False) for kind in (INPUT, PARAM, STATE, OUTPUT)] + [(STATE, True)]
        self.arrays = [(info, final) for kind, final in order for info in infos if info.kind == kind]
        plans = [head.kernels[i].plan for i in range(head.kernel_count)]
        self.main = next((plan for plan in (CHUNK, SCAN, TOKEN_LOOP) if plan in plans), STEP)
        self.check(self.handle.recur_load(self.recurrence, 1))

    def count_chunk(self):
        """The most tokens of a chunk of a kernel, of which those of the others are a part."""
        head = Head.in_dll(self.handle, f"{self.name}_recurrence")
        return max(1, *(head.kernels[i].chunk for i in range(head.kernel_count)))

    def check(self, status):
        if status:
            raise RuntimeError(self.handle.recur_message().decode())

    def call(self, pointers, T, H, plan, offsets=None, known=None, stream=None, batch=1):
        arguments = (Argument * len(pointers))(*(Argument(pointer, 0, 0, 0) for pointer in pointers))
        call = Call(B=batch, T=T, H=H, Hq=H, arguments=arguments, argument_count=len(pointers), device=1, plan=plan,
                    stream=stream)
        if offsets is not None:
            call.device_offsets, call.sequence_count = offsets
            if known is not None:
                call.sequence_offsets = known.ctypes.data
        size = self.handle.recur_workspace_size(self.recurrence, ctypes.byref(call))
        if size < 0:
            raise RuntimeError(self.handle.recur_message().decode())
        call.workspace, call.workspace_bytes = self.device.allocate(size), size
        self.check(self.handle.recur_forward(self.recurrence, ctypes.byref(call)))
        return call.workspace

    def run(self, *arguments, **named):
        workspace = self.call(*arguments, **named)
        self.device.check(self.device.cuda.cuCtxSynchronize())
        self.device.free([workspace])


class Data:
    """Arrays of a packed call; results are poisoned, and tokens behind the last sequence must stay so."""

    def __init__(self, library, T, N, H, seed):
        random, self.library, self.sizes = np.random.default_rng(seed), library, (T, N, H)
        self.given, self.strides, self.bytes = [], [], []
        for info, final in library.arrays:
            own = int(np.prod(info.shape[: info.rank])) if info.rank else 1
            width = 4 if info.dtype == 0 else 2
            rows = {PARAM: 1, STATE: N}.get(info.kind, T)
            self.strides.append(0 if info.kind == PARAM else own * H * width)
            self.bytes.append(rows * H * own * width)
            if info.kind == OUTPUT or final:
                self.given.append(None)
                continue
            drawn = random.uniform(-0.15, 0.15, rows * H * own).astype(np.float32)
            if info.rank == 0 and info.name.startswith(b"beta"):
                drawn = 0.75 + drawn
            elif info.rank == 0 or info.name == b"g":
                drawn = -abs(drawn)
            if width == 2:
                drawn = drawn.astype(np.float16).view(np.uint16) if info.dtype == 2 else \
                    (drawn.view(np.uint32) >> 16).astype(np.uint16)
            self.given.append(library.device.upload(drawn))

    def results(self):
        return [given or self.library.device.allocate(size) for given, size in zip(self.given, self.bytes)]

    def at(self, pointers, token, sequence):
        places = zip(pointers, self.strides, self.library.arrays)
        return [pointer + stride * (sequence if info.kind == STATE else token) for pointer, stride, (info, _) in places]

    def download(self, pointers):
        wanted = [i for i, given in enumerate(self.given) if given is None]
        return [self.library.device.download(pointers[i], self.bytes[i], np.uint8) for i in wanted]

    def free(self, pointers):
        self.library.device.free([p for p, given in zip(pointers, self.given) if given is None])

    def close(self):
        self.library.device.free([given for given in self.given if given])


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b))


class Graph:
    def __init__(self, device, work):
        self.cuda, self.device, self.stream = device.cuda, device, ctypes.c_void_p()
        device.check(self.cuda.cuStreamCreate(ctypes.byref(self.stream), 1))
        device.check(self.cuda.cuStreamBeginCapture_v2(self.stream, 2))
        graph, self.replay = ctypes.c_void_p(), ctypes.c_void_p()
        work(self.stream)
        device.check(self.cuda.cuStreamEndCapture(self.stream, ctypes.byref(graph)))
        device.check(self.cuda.cuGraphInstantiateWithFlags(ctypes.byref(self.replay), graph, ctypes.c_ulonglong(0)))

    def run(self):
        self.device.check(self.cuda.cuGraphLaunch(self.replay, self.stream))
        self.device.check(self.cuda.cuStreamSynchronize(self.stream))


def cut(random, T, N, kind):
    if kind == "tail":  # some are empty, one is long, and tokens are left over
        lengths = random.integers(0, 130, N - 1) * (np.arange(N - 1) > 1)
        offsets = np.minimum(np.concatenate([[5], 5 + np.cumsum(lengths), [T]]), T - 7)
        return offsets.astype(np.int64)
    return np.sort(np.concatenate([[0, T], random.integers(0, T + 1, N - 1)])).astype(np.int64)


def check_sizes(library, T, N, H, seed):
    """Yields what is wrong."""
    device, random, data = library.device, np.random.default_rng(seed), Data(library, T, N, H, seed)
    for kind in ("random", "tail"):
        offsets = cut(random, T, N, kind)
        place = device.upload(offsets)

        def packed(plan, known=None):
            pointers = data.results()
            library.run(pointers, T, H, plan, offsets=(place, N), known=known)
            got = data.download(pointers)
            data.free(pointers)
            return got

        alone = data.results()
        for i in range(N):
            length = int(offsets[i + 1] - offsets[i])
            library.run(data.at(alone, int(offsets[i]), i), length, H, library.main)
        want = data.download(alone)
        data.free(alone)
        if not same(packed(library.main, offsets), want):
            yield f"{kind}: packed sequences differ from each by itself"
        if not same(packed(library.main), want):
            yield f"{kind}: they do with offsets on the GPU alone"
        auto = packed(AUTO, offsets)
        if not same(packed(AUTO), auto):
            yield f"{kind}: offsets on the GPU alone make a difference to the plan auto"
        # As many sequences of one length each, of which every one has the bits of that length.
        for i in random.choice(N, min(N, 3), replace=False):
            length = int(offsets[i + 1] - offsets[i])
            if N * length > T or not length:
                continue
            copies = Data(library, N * length, N, H, seed)
            for target, source, stride, size, (info, _) in zip(copies.given, data.given, data.strides, copies.bytes,
                                                               library.arrays):
                if target is None:
                    continue
                own = stride * (1 if info.kind == STATE else length) or size
                first = 0 if info.kind == PARAM else stride * (i if info.kind == STATE else int(offsets[i]))
                for copy in range(size // own if own else 0):
                    device.check(device.cuda.cuMemcpyDtoD_v2(ctypes.c_uint64(target + copy * own),
                                                             ctypes.c_uint64(source + first), ctypes.c_size_t(own)))
            pointers = copies.results()
            library.run(pointers, length, H, AUTO, batch=N)
            own = copies.download(pointers)
            copies.free(pointers)
            copies.close()
            wanted = [j for j, given in enumerate(data.given) if given is None]
            for j, got, whole in zip(wanted, own, auto):
                stride, isState = data.strides[j], library.arrays[j][0].kind == STATE
                first, count = (i, 1) if isState else (int(offsets[i]), length)
                if not np.array_equal(got[: count * stride], whole[first * stride: (first + count) * stride]):
                    yield f"{kind}: a sequence of {length} tokens differs from a batch of such"
        # Replayed with other offsets.
        pointers = data.results()
        graph = Graph(device, lambda stream: library.call(pointers, T, H, library.main, offsets=(place, N), stream=stream))
        graph.run()
        if not same(data.download(pointers), want):
            yield f"{kind}: a graph gives something else"
        others = np.sort(random.integers(0, T + 1, N + 1)).astype(np.int64)
        device.write(place, others)
        graph.run()
        outputs = [(j, data.library.arrays[j][0].kind) for j, given in enumerate(data.given) if given is None]
        for (j, kind_of), got, again in zip(outputs, data.download(pointers), packed(library.main, others)):
            first, end = (0, N) if kind_of == STATE else (int(others[0]), int(others[-1]))
            if not np.array_equal(got[first * data.strides[j]: end * data.strides[j]],
                                  again[first * data.strides[j]: end * data.strides[j]]):
                yield f"{kind}: a graph that is replayed with other offsets gives something else"
        senseless = random.integers(-T, 2 * T, N + 1).astype(np.int64)
        device.write(place, senseless)
        graph.run()
        library.run(pointers, T, H, AUTO, offsets=(place, N))
        data.free(pointers)
        device.free([place])
    data.close()


def check_libraries(description, check_sizes, sizes):
    """Checks the libraries and sizes that the command line names; gives the exit code."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("libraries", nargs="+", metavar="NAME=FILE")
    parser.add_argument("--sizes", default=sizes, help="tokens, sequences and heads, of which there may be several")
    arguments = parser.parse_args()
    device, faults, checked = Device(), 0, 0
    for word in arguments.libraries:
        name, path = word.split("=")
        library = Library(name, path, device)
        for sizes in arguments.sizes.split(";"):
            checked += 1
            for fault in check_sizes(library, *map(int, sizes.split(",")), seed=checked):
                faults += 1
                print(f"{name}, {sizes}: {fault}", flush=True)
        print(f"{name}: done", flush=True)
    print(f"{checked} cases, {faults} faults")
    return 1 if faults or not checked else 0


if __name__ == "__main__":
    sys.exit(check_libraries(__doc__, check_sizes, "3000,40,4;9000,300,2;5000,3,2;600,9,3"))
