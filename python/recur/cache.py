"""Compiled kernels on disk: one file each, named after everything that it depends on.

A file is a shared object, and behind it, where the loader does not look, what the package needs to know of it:
JSON, a SHA-256 of all before, the length of the JSON, and eight letters. ``recur.save`` writes the same.

A file is loaded only where nobody else can have written it: it and its folder belong to the user or to root, and only the owner may
write them. The folder is made so.

Writers write beside and rename, so that a reader finds a whole file or none; a lock keeps two processes from
compiling the same. The system lets go of the lock of a process that is killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import stat
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from .errors import CacheWarning, EnvironmentWarning, LoadError, warn

_MAGIC = b"RECURPY1"
_TRAILER = struct.Struct("<32sQ8s")
_SUFFIX = ".recur.so"
_ABANDONED = 3600  # seconds after which what a killed writer left is removed
_warned: set[str] = set()


def get_folder() -> str:
    """``RECUR_CACHE``, or ``recur`` in the user's folder for caches."""
    folder = os.environ.get("RECUR_CACHE")
    if folder:
        return folder
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "recur")


def get_limit() -> int:
    """How many bytes the folder may hold: ``RECUR_CACHE_LIMIT``, or 512 MiB."""
    written = os.environ.get("RECUR_CACHE_LIMIT")
    if not written:
        return 512 << 20
    try:
        limit = int(written)
    except ValueError:
        limit = -1
    if limit < 0:
        _warn_once(written, f"recur: RECUR_CACHE_LIMIT is a number of bytes, not '{written}'; the limit is 512 MiB", EnvironmentWarning)
        return 512 << 20
    return limit


def pack(code: bytes, facts: dict[str, Any]) -> bytes:
    """A shared object with what the package knows of it."""
    text = json.dumps(facts, sort_keys=True).encode()
    return code + text + _TRAILER.pack(hashlib.sha256(code + text).digest(), len(text), _MAGIC)


def unpack(content: bytes, path: str) -> dict[str, Any]:
    """What :func:`pack` was given; raises :class:`recur.LoadError` for anything else."""
    if len(content) < _TRAILER.size:
        raise LoadError(f"{path} is not a shared object that recur saved")
    digest, length, magic = _TRAILER.unpack(content[-_TRAILER.size :])
    body = content[: -_TRAILER.size]
    if magic != _MAGIC:
        raise LoadError(f"{path} is not a shared object that recur saved")
    if hashlib.sha256(body).digest() != digest:
        raise LoadError(f"{path} is damaged")
    facts = json.loads(body[len(body) - length :])
    assert isinstance(facts, dict)
    return facts


def write_whole(path: str, content: bytes) -> None:
    """Puts a file in its place at once, so that nobody reads a part of it."""
    handle, temporary = tempfile.mkstemp(prefix=".", suffix=".part", dir=os.path.dirname(path) or ".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def _locked(path: str) -> Iterator[None]:
    """One process at a time. The lock's file stays: were it removed, two processes could hold two locks of one name. So
    that there are few of them, several kernels share one."""
    with open(path, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _list_kernels(folder: str) -> list[tuple[float, int, str]]:
    """(time of last use, bytes, path), the oldest first."""
    found = []
    for entry in os.scandir(folder):
        with contextlib.suppress(FileNotFoundError):
            if entry.name.endswith(".part") and time.time() - entry.stat().st_mtime > _ABANDONED:
                os.unlink(entry.path)
            elif entry.name.endswith(_SUFFIX):
                found.append((entry.stat().st_mtime, entry.stat().st_size, entry.path))
    return sorted(found)


def trim(folder: str, limit: int) -> None:
    """Removes what was used longest ago until the rest is within the limit. Loaded kernels go on working."""
    kernels = _list_kernels(folder)
    total = sum(size for _, size, _ in kernels)
    for _, size, path in kernels:
        if total <= limit:
            break
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        total -= size


class _UntrustedError(OSError):
    """Others may have written a file or its folder. The message says how to change that."""


def _check_trusted(path: str, facts: os.stat_result) -> None:
    if facts.st_uid not in (os.geteuid(), 0):
        raise _UntrustedError(0, f"{path} belongs to another user")
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _UntrustedError(0, f"others may write {path}, and what they write would run: chmod go-w {path}")


def _warn_once(about: str, message: str, category: type[Warning] = CacheWarning) -> None:
    if about not in _warned:
        _warned.add(about)
        warn(message, category)


def _find(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            _check_trusted(path, os.fstat(file.fileno()))
            content = file.read()
        unpack(content, path)
        with contextlib.suppress(OSError):  # of a file of root's
            os.utime(path)
    except _UntrustedError:
        raise
    except (OSError, LoadError):  # not there, or damaged: it is made anew
        return None
    return content


def obtain(key: dict[str, Any], make: Callable[[], bytes]) -> bytes:
    """The content of the file with this key, which ``make`` gives where there is none yet.

    Where the folder cannot be written or others can write it, a :class:`recur.CacheWarning` says so once, and the kernel stays in
    memory.
    """
    name = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:40]
    folder = get_folder()
    path = os.path.join(folder, name + _SUFFIX)
    content = None
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _check_trusted(folder, os.stat(folder))
        content = _find(path)
        if content is not None:
            return content
        with _locked(os.path.join(folder, f"lock-{name[:2]}")):
            content = _find(path)  # of whoever had the lock before
            if content is None:
                content = make()
                trim(folder, get_limit() - len(content))
                write_whole(path, content)
    except OSError as error:
        advice = "" if isinstance(error, _UntrustedError) else "; set RECUR_CACHE to a folder that can be written"
        _warn_once(folder, f"recur: compiled kernels cannot be kept in {folder}: {error.strerror}{advice}")
        if content is None:
            content = make()
    return content
