"""Runs the tests of the Python package in an environment of their own, which is made where it is not there yet.

The environment has NumPy, JAX and what building the package takes, from the registry that pip is set up for, and the
package itself, built here around the compiler of a build folder. Where this Python's own packages have PyTorch, its tests
run too, with it; `--torch` installs it, and transformers, in the environment where it is not there. What was skipped is
named at the end. Options that are none of these go to pytest.
"""

import argparse
import hashlib
import importlib.util
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEEDED = ["nanobind>=2.4", "scikit-build-core>=0.11", "ninja", "numpy", "jax", "ml_dtypes", "pytest", "mypy"]
#: With what they need 5.4 GB, so that they are installed only where they are asked for.
TORCH = ["torch", "transformers"]


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


def report_skipped(path, reason):
    """Results in which all tests were skipped."""
    suite = ElementTree.Element("testsuite")
    case = ElementTree.SubElement(suite, "testcase", classname="python", name="all")
    ElementTree.SubElement(case, "skipped", message=reason)
    ElementTree.ElementTree(suite).write(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a build folder with recurc, RecurBundle and RecurRuntime")
    parser.add_argument("--junit", help="where to leave the counts")
    parser.add_argument(
        "--torch", action="store_true", default=os.environ.get("RECUR_TEST_TORCH") == "1",
        help="install PyTorch and transformers where this Python's own packages have no PyTorch (5.4 GB); RECUR_TEST_TORCH=1 says so too",
    )  # fmt: skip
    arguments, rest = parser.parse_known_args()
    has_torch = importlib.util.find_spec("torch") is not None
    folder = arguments.build.resolve() / ("python-torch" if has_torch or arguments.torch else "python")
    try:
        python = make_environment(folder, has_torch, NEEDED + (TORCH if arguments.torch and not has_torch else []))
    except RegistryError as error:  # a machine without a network still has the other tests
        reason = f"{'PyTorch, ' if arguments.torch and not has_torch else ''}NumPy, JAX and what else these tests need cannot be installed: {error}"
        print(reason, file=sys.stderr)
        if not arguments.junit:
            return 1
        report_skipped(arguments.junit, reason)
        return 0
    install_package(python, arguments.build.resolve(), folder)
    environment = {**os.environ, "RECUR_CACHE": str(folder / "cache")}
    environment["RECUR_BUILD"] = str(arguments.build.resolve())
    environment["RECUR_RECURC"] = str(arguments.build.resolve() / "bin" / "recurc")
    environment.pop("PYTHONPATH", None)
    command = [python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--durations=10", "test/python"]
    if arguments.junit:
        command.append(f"--junit-xml={arguments.junit}")
    return subprocess.run([*map(str, command), *rest], cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
