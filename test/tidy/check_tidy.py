"""Runs clang-tidy on every source of the compile database that lies in the given folders of the project.

A clean result is remembered in the build folder under a hash of everything that it depends on: the source, the project's
headers that it includes, how it is compiled, and the settings. So a second run looks at what changed only.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import shlex
import subprocess
import sys

SKIPPED = 77  # the exit status


def dependencies(build):
    """Object file -> files it was compiled from, as ninja knows them; nothing for what was not built."""
    listed = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True).stdout
    found, current = {}, None
    for line in listed.splitlines():
        if line.startswith("    "):
            current.append(os.path.normpath(os.path.join(build, line.strip())))
        elif ": #deps" in line:
            current = found.setdefault(line.split(": #deps")[0], [])
    return found


class Hashes:
    def __init__(self):
        self.known = {}

    def of(self, path):
        if path not in self.known:
            try:
                with open(path, "rb") as file:
                    self.known[path] = hashlib.sha256(file.read()).hexdigest()
            except OSError:
                self.known[path] = "absent"
        return self.known[path]


def own_settings(path, root):
    """The .clang-tidy files of the source's folder and those above it, below the root."""
    folder = os.path.dirname(path)
    while folder != root:
        if os.path.exists(settings := os.path.join(folder, ".clang-tidy")):
            yield settings
        folder = os.path.dirname(folder)


def key(entry, deps, root, build, hashes, version):
    """A name for everything that clang-tidy's verdict depends on; None if that is not known."""
    if not deps:
        return None
    own = [d for d in deps if d.startswith((root + os.sep, build + os.sep)) and not d.endswith((".pch", ".gch"))]
    parts = [version, entry["command"], hashes.of(os.path.join(root, ".clang-tidy")), hashes.of(entry["file"])]
    parts += [hashes.of(d) for d in sorted(own)] + [hashes.of(s) for s in own_settings(entry["file"], root)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def object_of(entry):
    words = shlex.split(entry["command"])
    return words[words.index("-o") + 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tidy", default="clang-tidy-22", help="the clang-tidy to run")
    parser.add_argument("--root", required=True, help="the repository's root")
    parser.add_argument("--build", required=True, help="the build folder, with compile_commands.json")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--part", default="1/1", help="2/3: of the sources in order, the second of every three")
    parser.add_argument("--skip-absent", action="store_true", help=f"exit with {SKIPPED} where the folder has no compile_commands.json")
    parser.add_argument("folders", nargs="+", help="folders below the root whose sources are checked")
    arguments = parser.parse_args()
    root, build = os.path.abspath(arguments.root), os.path.abspath(arguments.build)
    database = os.path.join(build, "compile_commands.json")
    if arguments.skip_absent and not os.path.exists(database):
        print(f"nothing was built in {build}")
        return SKIPPED
    with open(database, encoding="utf-8") as file:
        entries = {e["file"]: e for e in json.load(file)}
    folders = tuple(os.path.join(root, f) + os.sep for f in arguments.folders)
    part, parts = map(int, arguments.part.split("/"))
    chosen = sorted(f for f in entries if f.startswith(folders))[part - 1 :: parts]
    entries = {f: entries[f] for f in chosen}
    version = subprocess.run([arguments.tidy, "--version"], capture_output=True, text=True, check=True).stdout
    cache = os.path.join(build, "tidy-cache")
    os.makedirs(cache, exist_ok=True)
    deps, hashes = dependencies(build), Hashes()
    # What is generated counts as headers of the system, which are not looked at: they are most of what a source includes.
    generated = [f"--extra-arg=-isystem{os.path.join(build, folder)}" for folder in ("", "lib", "include")]

    def check(path):
        entry = entries[path]
        name = key(entry, deps.get(object_of(entry), []), root, build, hashes, version)
        mark = name and os.path.join(cache, name)
        if mark and os.path.exists(mark):
            return path, None, ""
        ran = subprocess.run([arguments.tidy, "--quiet", "-p", build, *generated, path], capture_output=True, text=True)
        clean = ran.returncode == 0
        if clean and mark:
            with open(mark, "w", encoding="utf-8"):
                pass
        return path, clean, "" if clean else ran.stdout + ran.stderr

    faulty = looked_at = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for path, clean, output in pool.map(check, sorted(entries)):
            looked_at += clean is not None
            if clean is False:
                faulty += 1
                print(output)
    print(f"{len(entries)} sources, {looked_at} looked at, {faulty} with findings")
    return 1 if faulty or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
