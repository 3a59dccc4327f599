"""The compiler, in this process. Its library is loaded when something is first compiled."""

from __future__ import annotations

import functools
import os
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import _native
from .errors import CompileError, CompilerFault, Diagnostic, LoadError, Place, Remark

_REFUSED, _FAULT = 1, 3
_PATH = os.environ.get("RECUR_COMPILER") or os.path.join(os.path.dirname(__file__), "librecur_compiler.so")


@functools.cache
def load() -> _native.Compiler:
    """The compiler's library; raises :class:`recur.LoadError` where it is not there."""
    try:
        return _native.Compiler(_PATH)
    except LoadError as error:
        if not os.environ.get("RECUR_COMPILER"):
            raise
        raise LoadError(f"{error} (RECUR_COMPILER names it; unset, the package's own compiler is loaded)") from None


@functools.cache
def identify() -> str:
    """What tells this compiler from another, read from its file without loading it: the linker's number of the build."""
    try:
        with open(_PATH, "rb") as file:
            head = file.read(1 << 16)
        return _read_build_id(head)
    except (OSError, struct.error, IndexError) as error:
        raise LoadError(f"the compiler {_PATH} cannot be read: {error}") from None


def _read_build_id(head: bytes) -> str:
    """Of an ELF file: the note of its program headers that is of the kind NT_GNU_BUILD_ID."""
    if head[:5] != b"\x7fELF\x02":
        raise LoadError(f"{_PATH} is no 64-bit ELF file")
    (table,) = struct.unpack_from("<Q", head, 32)
    entry_size, entries = struct.unpack_from("<HH", head, 54)
    for entry in range(entries):
        kind, _, at, _, _, size = struct.unpack_from("<IIQQQQ", head, table + entry * entry_size)
        end = at + size
        while kind == 4 and at + 12 <= end:  # PT_NOTE
            name_size, value_size, note = struct.unpack_from("<III", head, at)
            value = at + 12 + (name_size + 3) // 4 * 4
            if note == 3 and head[at + 12 : at + 16] == b"GNU\0":
                return head[value : value + value_size].hex()
            at = value + (value_size + 3) // 4 * 4
    raise LoadError(f"{_PATH} has no number of its build")


@dataclass(frozen=True)
class Outcome:
    """What the compiler made, and what it said."""

    artifacts: dict[str, bytes]
    diagnostics: list[Diagnostic]
    #: The diagnostics as ``recurc`` prints them.
    text: str


#: The compiler calls options as ``recurc`` does; here they are arguments.
_ARGUMENTS = {"--dim": "dims", "-D": "consts"}


def _name_arguments(message: str) -> str:
    return re.sub(r"^(error: )?(--?[A-Za-z-]+): ", lambda m: f"{m[1] or ''}{_ARGUMENTS.get(m[2], m[2].lstrip('-'))}: ", message)


#: What translates the diagnostics of a text that is not what its user wrote, by the name and the text of the source.
translators: dict[tuple[str, str], Callable[[Sequence[Diagnostic]], tuple[str, list[Diagnostic]]]] = {}


def perform(what: str, source: str, **options: Any) -> Outcome:
    """Calls ``recur_compile``, ``recur_describe``, ``recur_explain`` or ``recur_check``; raises what the compiler refuses."""
    status, text, found, artifacts = load().perform(what, source, options)
    diagnostics = [
        Diagnostic(severity, Place(*place), code, _name_arguments(message), tuple(Remark(s, Place(*p), m, r) for s, p, m, r in remarks))
        for severity, place, code, message, remarks in found
    ]
    translate = translators.get((str(options.get("source_name")), source))
    if translate and diagnostics:
        text, diagnostics = translate(diagnostics)
    if status == _FAULT:
        raise CompilerFault(text.rstrip("\n"))
    if status == _REFUSED:
        raise CompileError(_name_arguments(text), tuple(diagnostics))
    return Outcome(artifacts, diagnostics, text)
