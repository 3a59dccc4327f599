"""Fails on what the house does not allow in a file, whatever it includes: work left for later, and compiler code that knows a recurrence of examples/ by its name."""

import argparse
import os
import re
import sys

from sources import read, tracked_files

TEXT = (".cpp", ".h", ".c", ".td", ".py", ".cmake", ".txt", ".md", ".json", ".recur", ".mlir", ".test", ".in", ".cfg")
LATER = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b")
COMPILER = ("lib/", "dialects/", "include/")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def without_comments(text):
    """C++ text with its comments blanked, so that only code is searched for literals."""
    pattern = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
    return pattern.sub(lambda m: m[0] if m[0][0] == '"' else re.sub(r"[^\n]", " ", m[0]), text)


def check(root):
    files, errors = tracked_files(root), []
    models = sorted(os.path.basename(f)[: -len(".recur")] for f in files if f.startswith("examples/") and f.endswith(".recur"))
    model = re.compile(r"\b(" + "|".join(models) + r")\b") if models else None
    for path in files:
        if not path.endswith(TEXT) and not path.startswith("tools/"):
            continue
        text = read(root, path)
        for number, line in enumerate(text.split("\n"), 1):
            if LATER.search(line):
                errors.append(f"{path}:{number}: '{LATER.search(line)[0]}' leaves work for later; do it, or open an issue")
        if model and path.startswith(COMPILER) and path.endswith((".cpp", ".h", ".c")):
            for number, line in enumerate(without_comments(text).split("\n"), 1):
                if line.lstrip().startswith("#"):
                    continue
                for literal in LITERAL.findall(line):
                    if model.search(literal):
                        errors.append(f"{path}:{number}: the compiler names the recurrence '{model.search(literal)[0]}'; "
                                      "decide by structure, never by name")
    return errors, len(files)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", help="the repository's root")
    errors, count = check(parser.parse_args().root)
    print("\n".join(errors))
    print(f"{count} files read, {len(errors)} faults")
    return 1 if errors or not count else 0


if __name__ == "__main__":
    sys.exit(main())
