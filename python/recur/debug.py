"""Switches that say what happens inside. They start as the environment variable ``RECUR_DEBUG`` lists them."""

import os

from .errors import CopyWarning, EnvironmentWarning, warn

_SWITCHES = ("copies", "indices")


def _read() -> set[str]:
    written = os.environ.get("RECUR_DEBUG", "")
    words = {word.strip() for word in written.split(",")} - {""}
    for word in sorted(words.difference(_SWITCHES)):
        warn(
            f"recur: RECUR_DEBUG is '{written}', and '{word}' is ignored: it may list {' and '.join(_SWITCHES)}, separated by commas",
            EnvironmentWarning,
        )
    return words


_asked = _read()

#: Whether a :class:`recur.CopyWarning` is given before an array is copied (``RECUR_DEBUG=copies``).
copies: bool = "copies" in _asked

#: Whether the indices of pools in a GPU's memory are checked, for which each call waits (``RECUR_DEBUG=indices``).
indices: bool = "indices" in _asked


def warn_of_copy(message: str) -> None:
    """Called before an array is copied."""
    warn(message, CopyWarning)
