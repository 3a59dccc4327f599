"""Which files of the tree the structural tests read."""

import os
import subprocess

SKIPPED_FOLDERS = {".git", "build", "out", "__pycache__"}


def tracked_files(root):
    """Every file that git tracks or would track, as paths relative to root; every file below root where git knows nothing."""
    command = ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        top = subprocess.run(["git", "-C", root, "rev-parse", "--show-toplevel"], capture_output=True, text=True)
        if top.returncode == 0 and os.path.realpath(top.stdout.strip()) == os.path.realpath(root):
            listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
            return sorted({f for f in listed if f and os.path.isfile(os.path.join(root, f))})
    except (OSError, subprocess.CalledProcessError):
        pass
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f not in SKIPPED_FOLDERS]
        found += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()
