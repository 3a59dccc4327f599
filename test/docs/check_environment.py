"""Fails on an environment variable that is read and is not in the table of docs/environment.md, and on a row of it that nobody reads."""

import argparse
import pathlib
import re
import sys

FOLDERS = ("lib", "include", "dialects", "python", "tools")
SUFFIXES = (".cpp", ".h", ".c", ".py", ".in")
# In C++ a name is a literal given to whatever reads it; in Python it goes to os.environ.
READ = re.compile(r"""(?:getenv|GetEnv|readCount|environ\.get)\("([A-Z][A-Z0-9_]+)"|environ\["([A-Z][A-Z0-9_]+)"\]""")
ROW = re.compile(r"^\| `([A-Z][A-Z0-9_]+)` \|", re.MULTILINE)


def find_read(root):
    """Variable -> the first file that reads it."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and path.suffix in SUFFIXES:
                for match in READ.finditer(path.read_text(encoding="utf-8", errors="replace")):
                    found.setdefault(match[1] or match[2], path.relative_to(root))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=pathlib.Path, help="the repository's root")
    root = parser.parse_args().root
    found, rows = find_read(root), set(ROW.findall((root / "docs/environment.md").read_text(encoding="utf-8")))
    errors = [f"{found[name]}: {name} is not in the table of docs/environment.md" for name in sorted(found.keys() - rows)]
    errors += [f"docs/environment.md: nobody reads {name}" for name in sorted(rows - found.keys())]
    print("\n".join([*errors, f"{len(found)} variables, {len(errors)} faults"]))
    return 1 if errors or not found else 0


if __name__ == "__main__":
    sys.exit(main())
