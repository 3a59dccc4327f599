"""Fails on C++ that clang-format would write differently."""

import argparse
import os
import subprocess
import sys

from sources import tracked_files


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clang-format", default="clang-format-22", help="the clang-format to run")
    parser.add_argument("root", help="the repository's root")
    arguments = parser.parse_args()
    files = [os.path.join(arguments.root, f) for f in tracked_files(arguments.root) if f.endswith((".cpp", ".h", ".c"))]
    if not files:
        print("no C++ files found")
        return 1
    ran = subprocess.run([arguments.clang_format, "--dry-run", "--Werror"] + files, capture_output=True, text=True)
    print(ran.stderr)
    faulty = sorted({line.split(":")[0] for line in ran.stderr.splitlines() if ": error:" in line})
    if faulty:
        print("to repair: clang-format-22 -i " + " ".join(os.path.relpath(f, arguments.root) for f in faulty))
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
