"""Which C library a program or a library needs: fails where that is newer than glibc 2.28, or where the C++ library is not inside.

    python3 test/python/symbols.py FILE...
"""

import re
import subprocess
import sys

NEWEST = (2, 28)
NEEDED = re.compile(r" UND (\w+)@(\w+)_([\d.]+)")


def list_faults(path):
    """`name@VERSION` of each symbol that an older system does not have."""
    shown = subprocess.run(["readelf", "-W", "--dyn-syms", str(path)], capture_output=True, text=True, check=True).stdout
    found = NEEDED.findall(shown)
    assert found, f"{path} needs nothing of any version"
    return [
        f"{name}@{library}_{version}"
        for name, library, version in found
        if library != "GLIBC" or tuple(int(number) for number in version.split(".")) > NEWEST
    ]


def main():
    faults = [f"{path}: {fault}" for path in sys.argv[1:] for fault in list_faults(path)]
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
