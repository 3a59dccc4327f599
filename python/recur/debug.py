"""Switches that say what happens inside. They start as the environment variable ``RECUR_DEBUG`` lists them."""

import os

from .errors import CopyWarning, warn

#: Whether a :class:`recur.CopyWarning` is given before an array is copied (``RECUR_DEBUG=copies``).
copies: bool = "copies" in os.environ.get("RECUR_DEBUG", "").split(",")

#: Whether the indices of pools in a GPU's memory are checked, for which each call waits (``RECUR_DEBUG=indices``).
indices: bool = "indices" in os.environ.get("RECUR_DEBUG", "").split(",")


def warn_of_copy(message: str) -> None:
    """Called before an array is copied."""
    warn(message, CopyWarning)
