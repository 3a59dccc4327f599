"""Runs the tests of the Python package in an environment of their own, which is made where it is not there yet.

The environment has NumPy, JAX and what building the package takes, from the registry that pip is set up for, and the
package itself, built here around the compiler of a build folder. PyTorch and transformers are installed too, where this
Python's own packages have none: 5.4 GB with what they need. Where there is no room for them, or they take longer than five
minutes, their tests are skipped, by name and with the reason. What was skipped is named at the end. Several runs at the same
time take parts of the tests in an environment that one before them made (--prepare, --prepared). Options that are none of these
go to pytest.
"""

import argparse
import contextlib
import fcntl
import hashlib
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEEDED = ["nanobind>=2.4", "scikit-build-core>=0.11", "ninja", "numpy", "jax", "ml_dtypes", "pytest", "mypy", "auditwheel", "build"]
TORCH = ["torch", "transformers"]
#: Of which they take 5.4 once they are unpacked.
TORCH_GIGABYTES = 9
TORCH_SECONDS = 300


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} fails:\n{done.stdout}{done.stderr}")


class RegistryError(Exception):
    """The packages that the tests need cannot be had."""


def make_environment(folder, takes_own, needed):
    """A virtual environment, which has this Python's own packages too where it takes them; a file in it says what it was
    made of, so that the next run finds it done."""
    python = folder / "bin" / "python"
    made_of = "\n".join([sys.version, str(takes_own), *needed])
    stamp = folder / "made-of"
    if not stamp.exists() or stamp.read_text() != made_of:
        run(sys.executable, "-m", "venv", "--clear", *(["--system-site-packages"] if takes_own else []), folder)
        fetched = subprocess.run([python, "-m", "pip", "install", "--quiet", *needed], capture_output=True, text=True)
        if fetched.returncode:
            raise RegistryError((fetched.stderr.strip().splitlines() or ["pip fails"])[-1])
        stamp.write_text(made_of)
    return python


def find_no_room(folder):
    """Which place has no room for PyTorch; None where all have."""
    for place in (folder, pathlib.Path(tempfile.gettempdir())):
        free = shutil.disk_usage(place).free
        if free < TORCH_GIGABYTES << 30:
            return f"PyTorch is not installed: {place} has {free / (1 << 30):.1f} GiB left, and it takes {TORCH_GIGABYTES}"
    return None


def install_torch(python, folder):
    """PyTorch and transformers in the environment. Gives why they are not there, or None."""
    stamp = folder / "has-torch"
    if stamp.exists() and stamp.read_text() == " ".join(TORCH):
        return None
    reason = find_no_room(folder)
    if reason:
        return reason
    print("python: installing PyTorch and transformers, of 5.4 GB", flush=True)
    command = [str(python), "-m", "pip", "install", "--quiet", *TORCH]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        _, problem = process.communicate(timeout=TORCH_SECONDS)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        reason = f"PyTorch is not installed: its installation takes longer than {TORCH_SECONDS} s"
    else:
        if process.returncode:
            reason = f"PyTorch cannot be installed: {(problem.strip().splitlines() or ['pip fails'])[-1]}"
    if reason:
        (folder / "made-of").unlink()  # for half of it may be there
        return reason
    stamp.write_text(" ".join(TORCH))
    return None


def get_kind(file):
    """Whether it needs PyTorch as a whole, and starts processes that exchange parts of sequences."""
    if not re.search(r"^torch = pytest\.importorskip", file.read_text(), re.MULTILINE):
        return "rest"
    return "distributed" if file.stem.startswith("test_distributed") else "torch"


def list_files(kind, part=1, parts=1):
    """The files of tests of a kind, or all; of them every so many."""
    files = sorted((ROOT / "test" / "python").glob("test_*.py"))
    return [file for file in files if kind in ("all", get_kind(file))][part - 1 :: parts]


def digest(build):
    """Of everything that the package is made of."""
    hashed = hashlib.sha256()
    parts = [build / "lib/API/librecur_compiler_bundle.so", build / "lib/Runtime/librecur_runtime.a", ROOT / "pyproject.toml"]
    for folder in ("python", "examples", "include"):
        parts += [path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    for path in sorted(parts):
        hashed.update(str(path).encode() + path.read_bytes())
    return hashed.hexdigest()


def install_package(python, build, folder):
    stamp, wanted = folder / "package", digest(build)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    environment = {**os.environ, "PATH": f"{folder}/bin{os.pathsep}{os.environ['PATH']}"}
    run(
        python, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--force-reinstall",
        f"--config-settings=build-dir={build}/python/package-build", f"--config-settings=cmake.define.RECUR_BUILD={build}", ROOT, env=environment,
    )  # fmt: skip
    stamp.write_text(wanted)


def report_skipped(path, name, reason):
    """Adds to the results that tests were skipped."""
    there = os.path.exists(path)
    tree = ElementTree.parse(path) if there else ElementTree.ElementTree(ElementTree.Element("testsuite"))
    suite = next(tree.iter("testsuite"))
    case = ElementTree.SubElement(suite, "testcase", classname="python", name=name)
    ElementTree.SubElement(case, "skipped", message=reason)
    tree.write(path)


def prepare(build, wants_torch):
    """Makes the environment with the package in it. Gives why there is no PyTorch, or None."""
    has_torch = importlib.util.find_spec("torch") is not None
    folder = build / "python"
    folder.mkdir(parents=True, exist_ok=True)
    missing = None if has_torch or wants_torch else "PyTorch was not wanted (--no-torch, or RECUR_TEST_TORCH=0)"
    with open(build / "python.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other parts of the tests use it too
        python = make_environment(folder, has_torch, NEEDED)
        if wants_torch and not has_torch:
            missing = install_torch(python, folder)
            python = make_environment(folder, has_torch, NEEDED)
        install_package(python, build, folder)
    return missing


def find_environment(build, wants_torch, is_prepared):
    """What `prepare` gives, and why nothing could be had, or None. Where the environment is prepared, as a run before says."""
    folder = build / "python"
    python, note = folder / "bin" / "python", folder / "prepared.json"
    if is_prepared and note.exists():
        missing, reason = json.loads(note.read_text())
        return python, folder, missing, reason
    try:
        missing, reason = prepare(build, wants_torch), None
    except RegistryError as error:  # a machine without a network still has the other tests
        missing, reason = None, f"NumPy, JAX and what else these tests need cannot be installed: {error}"
    note.write_text(json.dumps([missing, reason]))
    return python, folder, missing, reason


def parse_part(text):
    part, _, parts = text.partition("/")
    if not (part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        raise argparse.ArgumentTypeError(f"'{text}' is no part, as 1/3 is")
    return int(part), int(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a build folder with recurc, RecurBundle and RecurRuntime")
    parser.add_argument("--junit", help="where to leave the counts")
    parser.add_argument(
        "--no-torch", action="store_true", default=os.environ.get("RECUR_TEST_TORCH") == "0",
        help="do not install PyTorch and transformers (5.4 GB); RECUR_TEST_TORCH=0 says so too",
    )  # fmt: skip
    parser.add_argument(
        "--only", choices=["all", "distributed", "torch", "rest"], default="all",
        help="the tests that need PyTorch as a whole and start processes, the others that need it, or the rest",
    )  # fmt: skip
    parser.add_argument("--part", type=parse_part, default=(1, 1), metavar="N/PARTS", help="of the files of tests every so many")
    when = parser.add_mutually_exclusive_group()
    when.add_argument("--prepare", action="store_true", help="make the environment, and run no tests")
    when.add_argument("--prepared", action="store_true", help="take the environment as a run with --prepare left it")
    arguments, rest = parser.parse_known_args()
    if os.environ.get("RECUR_TEST_TORCH", "") not in ("", "0", "1"):
        parser.error(f"RECUR_TEST_TORCH is '{os.environ['RECUR_TEST_TORCH']}'; it may be 0, which leaves PyTorch out, or 1")
    started = time.monotonic()
    python, folder, without_torch, reason = find_environment(arguments.build.resolve(), not arguments.no_torch, arguments.prepared)
    if reason:
        print(reason, file=sys.stderr)
        if not arguments.junit:
            return 1
        report_skipped(arguments.junit, arguments.only, reason)
        return 0
    print(f"python: the environment took {time.monotonic() - started:.0f} s", flush=True)
    if arguments.prepare:
        return 0
    environment = {**os.environ, "RECUR_CACHE": str(folder / "cache")}
    environment["RECUR_BUILD"] = str(arguments.build.resolve())
    environment["RECUR_RECURC"] = str(arguments.build.resolve() / "bin" / "recurc")
    environment.pop("PYTHONPATH", None)
    command = [python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--durations=10", *list_files(arguments.only, *arguments.part)]
    if arguments.junit:
        command.append(f"--junit-xml={arguments.junit}")
    status = subprocess.run([*map(str, command), *rest], cwd=ROOT, env=environment).returncode
    if without_torch:
        print(f"skipped: PyTorch's tests: {without_torch}")
        if arguments.junit:
            report_skipped(arguments.junit, "PyTorch", without_torch)
    return 0 if status == 5 and without_torch else status  # 5: every file needs PyTorch


if __name__ == "__main__":
    sys.exit(main())
