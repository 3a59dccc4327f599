"""Fails on a dialect, op, type, interface or pass of the project that does not say what it does.

Reads the records themselves (llvm-tblgen --dump-json), so that inherited and computed descriptions count.
"""

import argparse
import json
import os
import subprocess
import sys

from sources import tracked_files

# TableGen class -> (what to call it, does it need an example in a fenced block as well)
DESCRIBED = {
    "Dialect": ("dialect", False),
    "Op": ("op", False),
    "TypeDef": ("type", False),
    "AttrDef": ("attribute", False),
    "Interface": ("interface", False),
    "PassBase": ("pass", True),
}


def name_of(kind, record, records):
    if kind == "Op":
        return records[record["opDialect"]["def"]]["name"] + "." + record["opName"]
    return record.get("argument") or record.get("mnemonic") or record.get("name") or record["!name"]


def check_file(root, path, tblgen, includes):
    command = [tblgen, "--dump-json", f"{root}/{path}", f"-I{root}"] + [f"-I{i}" for i in includes]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        return [f"{path}: llvm-tblgen fails: {ran.stderr.strip()}"], 0
    records, errors, count = json.loads(ran.stdout), [], 0
    for tablegen_class, (kind, needs_example) in DESCRIBED.items():
        for definition in records["!instanceof"].get(tablegen_class, []):
            record = records[definition]
            # "!locs" holds base names: what is included is checked where it is defined.
            if record["!anonymous"] or not any(os.path.basename(path) == loc.split(":")[0] for loc in record["!locs"]):
                continue
            count += 1
            name, description = name_of(tablegen_class, record, records), (record.get("description") or "").strip()
            if not description:
                errors.append(f"{path}: {kind} '{name}' has no description; say what it does")
            elif needs_example and "```" not in description:
                errors.append(f"{path}: {kind} '{name}' shows no example; add a fenced before and after from a test")
            if not (record.get("summary") or "x").strip():
                errors.append(f"{path}: {kind} '{name}' has no summary")
    return errors, count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", help="the repository's root")
    parser.add_argument("--tblgen", default="llvm-tblgen", help="the llvm-tblgen to run")
    parser.add_argument("--include", action="append", default=[], help="a folder with MLIR's .td files")
    arguments = parser.parse_args()
    errors, count = [], 0
    for path in tracked_files(arguments.root):
        if path.endswith(".td") and not path.startswith("test/"):
            more, seen = check_file(arguments.root, path, arguments.tblgen, arguments.include)
            errors, count = errors + more, count + seen
    print("\n".join(errors))
    print(f"{count} definitions read, {len(errors)} faults")
    return 1 if errors or not count else 0


if __name__ == "__main__":
    sys.exit(main())
