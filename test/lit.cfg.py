"""The lit suites: every .mlir, .recur and .test file below test/ that no folder of inputs holds."""

import importlib.util
import os
import shutil

import lit.formats
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "Recur"
config.test_format = lit.formats.ShTest(not llvm_config.use_lit_shell)
config.suffixes = [".mlir", ".recur", ".test"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
# Parts that run at the same time keep what they write apart, lit's own notes too.
config.test_exec_root = os.path.join(config.recur_build_root, "test")
if "part" in lit_config.params:
    config.test_exec_root = os.path.join(config.test_exec_root, "part-" + lit_config.params["part"])
# golden/ and Inputs/ hold data; unit/ and fuzz/ are built by CMake; python/ is pytest's.
config.excludes = ["Inputs", "golden", "unit", "fuzz", "python"]
if importlib.util.find_spec("psutil"):  # lit can only stop a hanging test with its help
    lit_config.maxIndividualTestTime = config.recur_timeout

llvm_config.use_default_substitutions()  # FileCheck, not, count, %python is added below

# `recurc` and `%recurc` both name the tool of this build.
tool_dirs = [config.recur_tools_dir, config.llvm_tools_dir]
for tool in config.recur_test_tools:
    path = os.path.join(config.recur_tools_dir, tool)
    config.substitutions.append(("%" + tool, path))
    config.available_features.add(tool) if os.path.exists(path) else None
llvm_config.add_tool_substitutions(
    [ToolSubst(tool, unresolved="ignore") for tool in config.recur_test_tools] + ["split-file"], tool_dirs
)
for directory in reversed(tool_dirs):
    llvm_config.with_environment("PATH", directory, append_path=True)

for name, value in [
    ("%root", config.recur_source_root),
    ("%build", config.recur_build_root),
    ("%examples", os.path.join(config.recur_source_root, "examples")),
    ("%golden", os.path.join(config.recur_source_root, "test", "golden")),
    ("%mlir_include", config.mlir_include_dir),
    ("%cmake", config.cmake_executable),
    ("%host_cc", config.host_cc),
    ("%host_cxx", config.host_cxx),
]:
    config.substitutions.append((name, value))
if not any(name == "%python" for name, _ in config.substitutions):
    config.substitutions.append(("%python", config.python_executable))

# Programs for Arm processors are made here, and run under an emulator.
if config.recur_qemu:
    config.available_features.add("arm")
    config.substitutions.append(("%qemu", config.recur_qemu + " -L /usr/aarch64-linux-gnu"))

if shutil.which("pkg-config"):
    config.available_features.add("pkg-config")

# A test may ask for a plain build or for a sanitizer: `REQUIRES: asan`, `UNSUPPORTED: asan`.
if "address" in config.recur_sanitize:
    config.available_features.add("asan")
