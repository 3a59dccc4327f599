"""Prints how the editor's grammar reads a .recur file: one line a token, its scope and its text.

Reads the part of the TextMate format that the grammar uses: a list of patterns, the earliest match wins, then the first listed.
"""

import json
import re
import sys


def tokens(line, patterns):
    at = 0
    while at < len(line):
        matches = [(m.start(), i, m, p) for i, (r, p) in enumerate(patterns) for m in [r.search(line, at)] if m and m[0]]
        if not matches:
            return
        _, _, match, pattern = min(matches, key=lambda found: found[:2])
        if "captures" in pattern:
            for group, capture in pattern["captures"].items():
                yield capture["name"], match[int(group)]
        else:
            yield pattern["name"], match[0]
        at = match.end()


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        patterns = [(re.compile(p["match"]), p) for p in json.load(file)["patterns"]]
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            for line in file:
                for scope, text in tokens(line.rstrip("\n"), patterns):
                    print(f"{scope.rsplit('.', 1)[0]}: {text}")


if __name__ == "__main__":
    main()
