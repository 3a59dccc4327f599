"""What can go wrong, as exceptions and warnings. Nothing of the package prints."""

from __future__ import annotations

import difflib
import os
import sys
import warnings
from dataclasses import dataclass
from typing import Any


class Error(Exception):
    """Whatever this package raises."""


class ArgumentError(Error, TypeError, ValueError):
    """An argument of a call is missing, unknown, or of the wrong type, shape, place or stride."""


class CheckError(Error):
    """A stage of the compiler, or a kernel, differs from the interpreter. As a string it is the table."""


class LoadError(Error):
    """A shared object could not be loaded, or a file is not of the right kind."""


class CompilerFault(Error):
    """A fault in the compiler itself, not in what it was given."""


class NoGradientError(Error, NotImplementedError):
    """A derivative is needed for which the recurrence has no kernel."""


class TraceError(Error, TypeError, ValueError):
    """The function of a recurrence does something that symbols cannot do: an ``if`` on a value, for instance."""


class CompileWarning(UserWarning):
    """A warning of the compiler: an input that nothing reads, for instance. As a string it is the text that ``recurc`` prints."""


class ExchangeError(Error):
    """The processes of a group make calls that do not fit together, or one of them took no part in an exchange."""


class CacheWarning(UserWarning):
    """Compiled kernels cannot be kept on disk, or the kernels on disk cannot be trusted."""


class EnvironmentWarning(UserWarning):
    """An environment variable of the package has an invalid value, which is ignored."""


class CopyWarning(UserWarning):
    """Under ``recur.debug.copies``: an array was copied, because kernels cannot read it in place."""


@dataclass(frozen=True)
class Place:
    """A stretch of the source. Lines and columns count from 1, columns in bytes; 0 is nowhere."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True)
class Remark:
    """A note at another place, or a suggestion with the text to put there."""

    severity: str
    place: Place
    message: str
    replacement: str | None


@dataclass(frozen=True)
class Diagnostic:
    """What the compiler says of one place of the source."""

    severity: str
    place: Place
    code: str | None
    message: str
    remarks: tuple[Remark, ...]


class CompileError(Error):
    """The compiler refuses a text or an option.

    As a string it is the text that ``recurc`` prints, with the lines of the source and carets.
    """

    def __init__(self, text: str, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__(text.rstrip("\n"))
        self.diagnostics = diagnostics

    @property
    def code(self) -> str | None:
        """The code of the first error, such as ``"R0107"``, which ``recurc explain R0107`` explains."""
        return next((d.code for d in self.diagnostics if d.severity == "error"), None)

    @property
    def is_about_the_text(self) -> bool:
        """Whether it points into the text; what is wrong with an option does not."""
        return any(d.place.line for d in self.diagnostics if d.severity == "error")


def warn(message: str, category: type[Warning]) -> None:
    """Warns whoever called this package, at the line that did."""
    folder, level, frame = os.path.dirname(__file__), 1, sys._getframe(1)
    while frame:
        file = frame.f_code.co_filename
        if os.path.dirname(file).startswith(folder):
            level += 1
        elif not file.startswith("<frozen importlib"):  # which `warnings` does not count either
            break
        frame = frame.f_back  # type: ignore[assignment]
    warnings.warn(message, category, stacklevel=level + 1)


def suggest(name: str, known: Any) -> str:
    """The end of a message that there is no such name."""
    near = [other for other in known if other.casefold() == name.casefold()] or difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean '{near[0]}'?" if near else f"; there are {', '.join(known)}" if known else ""
