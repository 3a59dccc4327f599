"""Writes libraries to link with in place of this machine's C library, so that what is linked runs with an older one.

They have the names of the C library that glibc VERSION had too, each in the newest form that it had there, and no code. A name that came
later is not among them: `oldGlibc.c` has those that LLVM and the C++ library need.
"""

import argparse
import pathlib
import re
import subprocess

#: Their names at run time. What an older glibc has in libpthread and libdl is in libc today; it has to be found there as well.
LIBRARIES = {"c": "libc.so.6", "m": "libm.so.6", "pthread": "libpthread.so.0", "dl": "libdl.so.2", "rt": "librt.so.1"}
ENTRY = re.compile(r"^ *\d+: [0-9a-f]+ +(\d+|0x[0-9a-f]+) (\S+) +(?:GLOBAL|WEAK) +DEFAULT +(\S+) (\w+)@{1,2}(GLIBC_[\d.]+)$", re.MULTILINE)


def read_version(text):
    return tuple(int(number) for number in text.removeprefix("GLIBC_").split("."))


def find(compiler, name):
    found = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
    return pathlib.Path(found)


def list_names(library, newest):
    """Of each name the newest version that is not too new: (type, size, version)."""
    shown = subprocess.run(["readelf", "-W", "--dyn-syms", library], capture_output=True, text=True, check=True).stdout
    names = {}
    for size, kind, index, name, version in ENTRY.findall(shown):
        number = read_version(version)
        if index in ("UND", "ABS") or kind == "TLS" or number > newest:
            continue
        if name not in names or number > read_version(names[name][2]):
            names[name] = ("object" if kind == "OBJECT" else "function", int(size, 0), version)
    return names


def write(compiler, folder, library, soname, names):
    source, versions = folder / f"lib{library}.s", folder / f"lib{library}.map"
    lines = [".text"]
    for place, (name, (kind, size, version)) in enumerate(sorted(names.items())):
        section = ".data" if kind == "object" else ".text"
        lines += [section, f".globl s{place}", f".type s{place},@{kind}", f"s{place}: .byte 0", f".size s{place},{max(size, 1)}", f".symver s{place},{name}@@{version},remove"]
    source.write_text("\n".join([*lines, '.section .note.GNU-stack,"",@progbits', ""]))
    nodes = sorted({version for _, _, version in names.values()}, key=read_version)
    versions.write_text("".join(f"{node} {{}};\n" for node in nodes))
    target = folder / (soname if library == "c" else f"lib{library}.so")
    script = [f"-Wl,--version-script={versions}"] if nodes else []
    subprocess.run([compiler, "-shared", "-nostdlib", "-fuse-ld=lld", f"-Wl,-soname,{soname}", *script, "-o", target, source], check=True)
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--version", default="2.28")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    newest = read_version(arguments.version)
    for library, soname in LIBRARIES.items():
        names = list_names(find(arguments.compiler, soname), newest) if library in "cm" else {}
        target = write(arguments.compiler, arguments.folder, library, soname, names)
        if library == "c":
            own = find(arguments.compiler, "libc_nonshared.a"), find(arguments.compiler, "ld-linux-x86-64.so.2")
            (arguments.folder / "libc.so").write_text(f"GROUP ( {target} {own[0]} AS_NEEDED ( {own[1]} ) )\n")


if __name__ == "__main__":
    main()
