"""The commands ``recurc`` and ``recur-lsp-server``: they start the programs that lie in the package ``recur``, without importing it."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import NoReturn


def start(tool: str) -> NoReturn:
    """Goes on as that program, with the arguments of this one."""
    found = importlib.util.find_spec("recur")
    folders = list(found.submodule_search_locations or ()) if found else []
    for folder in folders:
        path = os.path.join(folder, "bin", tool)
        if os.path.exists(path):
            sys.stdout.flush()
            os.execv(path, [tool, *sys.argv[1:]])
    sys.exit(f"{tool}: error: the package 'recur' has no program of this name; install its wheel")


def recurc() -> NoReturn:
    """The compiler's command line."""
    start("recurc")


def recur_lsp_server() -> NoReturn:
    """What editors start."""
    start("recur-lsp-server")
