"""Kernels for sizes, a type and a target: from memory, from the cache on disk, or compiled."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import platform
import threading
from dataclasses import dataclass, replace
from typing import Any

from . import _native, cache, compiler, dtypes
from .declaration import Declaration
from .errors import LoadError

#: What GPUs take of their own, by their compute capability. Others from 8.0 on take what all of them run.
GPU_TARGETS = {
    (8, 0): "sm_80",
    (8, 6): "sm_86",
    (8, 9): "sm_89",
    (9, 0): "sm_90a",
    (10, 0): "sm_100",
    (10, 3): "sm_103",
    (12, 0): "sm_120",
    (12, 1): "sm_121",
}
_LEAST_GPU, _PORTABLE_GPU_TARGET = (8, 0), "sm_80+"


def find_gpu_targets(capability: tuple[int, int]) -> list[str]:
    """The targets whose kernels a GPU runs, the best first: its own, those of earlier GPUs of its generation, and the portable
    one. None where there are no kernels for it."""
    if capability < _LEAST_GPU:
        return []
    earlier = [(own, f"sm_{own[0]}{own[1]}") for own in GPU_TARGETS if own[0] == capability[0] and own <= capability]
    names = [name for _, name in sorted(earlier, reverse=True)]
    own = GPU_TARGETS.get(capability)
    return ([own] if own and own not in names else []) + names + [_PORTABLE_GPU_TARGET]


def is_for_gpus(target: str) -> bool:
    """Whether a target, or all of a list of them, is a GPU."""
    return all(name.startswith("sm_") for name in target.split(","))


@dataclass(frozen=True)
class Request:
    """Everything that the machine code depends on."""

    source: str
    source_name: str
    recurrence: str
    dims: tuple[tuple[str, int], ...]
    consts: tuple[tuple[str, float], ...]
    dtype: str  #: of each array, as in :mod:`recur.dtypes`
    target: str
    plan: str
    chunk: int
    backward: bool = False
    quick: bool = False
    summaries: bool = False  #: of parts of sequences, on a GPU too
    gradients: tuple[str, ...] = ()  #: of which inputs, params and states; none named: of all
    precision: str = "exact"  #: of products of float32 data on a GPU
    trees: bool = False  #: for calls with `parents` on a GPU

    def to_key(self) -> dict[str, Any]:
        """The same for the cache, with the compiler, and this processor where the target is this processor."""
        key = {name: value for name, value in vars(self).items() if name != "source_name"}
        key["compiler"] = compiler.identify()
        key["abi"] = _native.abi_version
        if "host" in self.target.split(","):
            key["host"] = identify_processor()
        return key


@functools.cache
def identify_processor() -> str:
    """The processor's name and what it can do, for kernels of the target `host`."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return describe_processor(file.read(1 << 14)) or platform.processor()
    except OSError:
        return platform.processor()


def describe_processor(cpuinfo: str) -> str:
    """The same of Linux's text on x86-64 and Arm processors, which has a paragraph for each core."""
    facts = dict(line.split(":", 1) for line in cpuinfo.split("\n\n")[0].splitlines() if ":" in line)
    facts = {name.strip(): value.strip() for name, value in facts.items()}
    x86 = ("vendor_id", "cpu family", "model", "stepping", "flags")
    arm = ("CPU implementer", "CPU variant", "CPU part", "CPU revision", "Features")
    return "; ".join(facts[name] for name in x86 + arm if name in facts)


@dataclass(frozen=True)
class Loaded:
    """A kernel, and its key as a text: the same text is the same kernel in any process."""

    kernel: _native.Kernel
    key: str
    declaration: Declaration

    @functools.cached_property
    def output_types(self) -> list[str]:
        """Of outputs, in order."""
        return [dtype for _, kind, dtype, _, _ in self.kernel.arrays if kind == "output"]

    @functools.cached_property
    def state_types(self) -> list[str]:
        """Of initial and final states, in order."""
        return [dtype for _, kind, dtype, _, _ in self.kernel.arrays if kind == "state"]


_loaded: dict[Request, Loaded] = {}
_locks: dict[Request, threading.Lock] = {}


def _compile(request: Request) -> bytes:
    """The shared object of a request, with its facts behind it."""
    artifacts = compiler.perform(
        "compile",
        request.source,
        source_name=request.source_name,
        recurrence=request.recurrence,
        dims=dict(request.dims),
        consts=dict(request.consts),
        target=request.target,
        dtype=dtypes.spell(request.dtype),
        plan=request.plan,
        chunk=request.chunk or None,
        backward=request.backward,
        gradients=",".join(request.gradients) or None,
        summaries=request.summaries,
        trees=request.trees,
        precision=request.precision,
        quick=request.quick,
        emit="so,manifest",
    ).artifacts
    (manifest,) = json.loads(artifacts["manifest"])["recurrences"]
    described = compiler.perform("describe", request.source, recurrence=request.recurrence).artifacts
    return cache.pack(
        artifacts["so"],
        {
            "descriptor": manifest["descriptor"],
            "declaration": json.loads(described["json"])[0],
            "dims": manifest["dims"],
            "dtype": request.dtype,
            "target": request.target,
        },
    )


def _list_covering(request: Request) -> list[Request]:
    """The request, and those whose kernels have its own among them."""
    flags = (request.backward, request.summaries, request.trees)
    chosen = itertools.product(*((True,) if flag else (False, True) for flag in flags))
    return [replace(request, backward=backward, summaries=summaries, trees=trees) for backward, summaries, trees in chosen]


def get(request: Request) -> Loaded:
    """The kernel, compiled where neither this process nor the cache has it. Safe from several threads."""
    for asked in _list_covering(request):
        if found := _loaded.get(asked):
            return found
    with _locks.setdefault(request, threading.Lock()):  # one step under the interpreter's lock
        found = _loaded.get(request)
        if not found:
            key = request.to_key()
            content = cache.obtain(key, lambda: _compile(request))
            found = _loaded[request] = _load(content, request.source_name)[0]
    return found


def _load(content: bytes, name: str) -> tuple[Loaded, dict[str, Any]]:
    facts = cache.unpack(content, name)
    kernel = _native.Kernel(content, name, facts["descriptor"])
    return Loaded(kernel, hashlib.sha256(content).hexdigest(), Declaration.from_json(facts["declaration"])), facts


def save(request: Request, path: str) -> None:
    """Writes the shared object to a file of the caller's."""
    content = cache.obtain(request.to_key(), lambda: _compile(request))
    try:
        cache.write_whole(path, content)
    except OSError as error:
        raise LoadError(f"{path} cannot be written: {error.strerror}") from None


def load_file(path: str) -> tuple[Loaded, dict[str, Any]]:
    """A shared object that :func:`save` wrote, and its facts. The compiler is not needed."""
    try:
        with open(path, "rb") as file:
            loaded, facts = _load(file.read(), path)
    except OSError as error:
        raise LoadError(f"{path} cannot be read: {error.strerror}") from None
    if loaded.kernel.is_for_cpu and not loaded.kernel.is_for_gpu and not loaded.kernel.runs_here:
        raise LoadError(f"{path} is for {loaded.kernel.target}, of which this processor lacks instructions")
    return loaded, facts
