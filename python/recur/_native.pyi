"""The compiled part of the package: memory of arrays, kernels, the compiler's library."""

from collections.abc import Callable, Sequence
from typing import Any

abi_version: int
version: str
jax_call: Any
jax_call_on_gpu: Any
jax_summary: Any

def thread_count() -> int: ...
def set_thread_count(count: int) -> bool: ...
def use_torchs_threads(library: str, count_threads: Callable[[], int]) -> bool: ...
def use_torch(found: dict[str, Any]) -> None: ...
def has_cuda_context() -> bool: ...
def keep_for_jax(key: str, kernel: Kernel) -> None: ...

class View:
    @property
    def dtype(self) -> str: ...
    @staticmethod
    def from_pointer(data: int, type: str, shape: Sequence[int], strides: Sequence[int], owner: object, gpu: int = -1) -> View: ...

class Compiler:
    def __init__(self, path: str) -> None: ...
    def perform(self, what: str, source: str, options: dict[str, Any]) -> tuple[int, str, list[Any], dict[str, bytes]]: ...
    @property
    def version(self) -> str: ...

class Kernel:
    def __init__(self, code: bytes, name: str, descriptor: str) -> None: ...
    @property
    def arrays(self) -> list[tuple[str, str, str, bool, tuple[int, ...]]]: ...
    @property
    def name(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def has_gradient(self) -> bool: ...
    @property
    def gradient_chunk(self) -> int: ...
    @property
    def handed(self) -> tuple[int, tuple[tuple[int, str], ...]] | None: ...
    @property
    def handed_values(self) -> tuple[int, int] | None: ...
    @property
    def runs_here(self) -> bool: ...
    @property
    def is_for_cpu(self) -> bool: ...
    @property
    def is_for_gpu(self) -> bool: ...
    @property
    def summaries(self) -> list[tuple[int, int, int, tuple[int, ...], bool]] | None: ...
    def load_on_gpu(self) -> None: ...

class Signature:
    def __init__(
        self,
        name: str,
        dims: list[str],
        inputs: list[tuple[str, bool, tuple[int | str, ...], bool]],
        params: list[tuple[str, bool, tuple[int | str, ...], bool]],
        states: list[tuple[str, bool, tuple[int | str, ...], bool]],
    ) -> None: ...
    def name_types(self, given: list[str | None], states: list[str | None] | None) -> str: ...

class Call:
    def __init__(
        self,
        signature: Signature,
        given: Sequence[Any],
        initial: list[Any] | None,
        offsets: Any,
        states_transposed: bool,
        notice: Callable[[str], None] | None,
        gpu: int = -1,
        device_offsets: Any = None,
        finals: Sequence[Any] | None = None,
        state_indices: Any = None,
        final_indices: Any = None,
        token_indices: Any = None,
        accepted: Any = None,
        interval_indices: Any = None,
        positions: Any = None,
        parents: Any = None,
        interval: int = 0,
        replayed: int = 0,
    ) -> None: ...
    @property
    def key(self) -> tuple[tuple[int | None, ...], str]: ...
    @property
    def heads(self) -> tuple[int, int]: ...
    def shapes(self, kernel: Kernel) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]: ...
    def run(
        self,
        kernel: Kernel,
        outputs: Sequence[Any],
        finals: Sequence[Any],
        plan: int = 0,
        threads: int = 0,
        kept: Sequence[Any] = ...,
        kept_interval: int = 0,
    ) -> None: ...
    def bind(self, kernel: Kernel, outputs: Sequence[Any], finals: Sequence[Any]) -> None: ...
    def repeat(self) -> None: ...
    def run_on_torchs_threads(self) -> None: ...
    def check_indices(self) -> None: ...
    def count_workspace_bytes(
        self, kernel: Kernel, plan: int = 0, kept_interval: int = 0, backward: bool = False, hands_over: bool = False,
        hands_values: bool = False,
    ) -> int: ...
    def run_on_gpu(
        self,
        kernel: Kernel,
        outputs: Sequence[Any],
        finals: Sequence[Any],
        workspace: int,
        workspace_bytes: int,
        stream: int,
        plan: int = 0,
        kept: Sequence[Any] = ...,
        kept_interval: int = 0,
        handed: Sequence[Any] = ...,
    ) -> None: ...
    def run_backward(
        self,
        kernel: Kernel,
        outputs: Sequence[Any],
        finals: Sequence[Any],
        gradients: Sequence[Any],
        initials: Sequence[Any],
        threads: int = 0,
        kept: Sequence[Any] = ...,
        kept_interval: int = 0,
    ) -> None: ...
    def run_backward_on_gpu(
        self,
        kernel: Kernel,
        outputs: Sequence[Any],
        finals: Sequence[Any],
        gradients: Sequence[Any],
        initials: Sequence[Any],
        workspace: int,
        workspace_bytes: int,
        stream: int,
        handed: Sequence[Any] = ...,
    ) -> None: ...
    def use_space(self, workspace: int, workspace_bytes: int, stream: int) -> None: ...
    def count_summary_bytes(self, kernel: Kernel, backward: bool) -> int: ...
    def summarise(self, kernel: Kernel, summary: int, maps: Any, offsets: Any) -> None: ...
    def summarise_backward(
        self, kernel: Kernel, summary: int, outputs: Sequence[Any], finals: Sequence[Any], maps: Any, offsets: Any
    ) -> None: ...
    def combine_summaries(
        self, kernel: Kernel, summary: int, backward: bool, first: tuple[Any, Any], second: tuple[Any, Any], result: tuple[Any, Any]
    ) -> None: ...
    def apply_summary(self, kernel: Kernel, summary: int, backward: bool, given: tuple[Any, Any], states: Any, result: Any) -> None: ...
    def apply_summaries(self, kernel: Kernel, summary: int, backward: bool, parts: list[tuple[Any, Any]], result: Any) -> None: ...

class Gather:
    def __init__(self, sources: list[Any], pieces: list[tuple[int, Any, Any]]) -> None: ...
    def copy(self, *arrays: Any) -> bool: ...

class Repeats:
    def __init__(self, given: list[str]) -> None: ...
    def call(
        self,
        arrays: tuple[Any, ...],
        named: dict[str, Any],
        initial: Any,
        final: Any,
        out: Any,
        offsets: Any,
        states_transposed: bool,
        indices: tuple[Any, ...] | None = None,
        kept_bytes: int | None = None,
    ) -> Any: ...
    def learn(
        self,
        call: Call,
        kernel: Kernel,
        given: list[Any],
        initials: list[Any] | None,
        wanted: list[Any] | None,
        finals: list[Any] | bool,
        offsets: Any,
        results: list[Any],
        states: list[Any],
        workspace_bytes: int,
        indices: tuple[Any, ...] | None = None,
        training: tuple[Any, ...] | None = None,
    ) -> Training | None: ...

class Training:
    @property
    def facts(self) -> Any: ...
    def run(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]: ...
    def derive(self, saved: Sequence[Any], cotangents: Sequence[Any], wanted: Sequence[bool]) -> Any: ...
    def learn(
        self,
        call: Call,
        kernel: Kernel,
        saved: Sequence[Any],
        cotangents: Sequence[Any],
        wanted: Sequence[bool],
        gradients: list[Any],
        workspace_bytes: int,
        taken: int,
    ) -> None: ...
