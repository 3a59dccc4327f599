"""Runs the benchmark of kernels once, quickly, and reads what it writes: check_bench.py BENCH_KERNELS PLOT_PY."""

import csv
import json
import os
import subprocess
import sys
import tempfile

RECURRENCES = ["gated_delta_net", "kda", "pgdn", "pkda", "delta_net", "mamba2", "gla", "linear_attention", "retnet"]


def fail(message):
    sys.exit(f"check_bench: error: {message}")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"{' '.join(command)} exited with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def check_runs(runs):
    for name, run in runs.items():
        if run.get("error_occurred"):
            fail(f"{name}: {run['error_message']}")
        if run["iterations"] != 1 or not run["real_time"] > 0:
            fail(f"{name} ran {run['iterations']} times in {run['real_time']}")
    kinds = ["kernel", "strict", "fast"] + (["blas"] if any(name.startswith("blas/") for name in runs) else [])
    for recurrence in RECURRENCES:
        for kind in kinds:
            found = [run for name, run in runs.items() if name.startswith(f"{kind}/{recurrence}/")]
            counter, limit = ("error", 4e-3) if kind == "kernel" else ("difference", 1e-4)
            if not found:
                fail(f"nothing called {kind}/{recurrence} was measured")
            for run in found:
                if not 0 < run[counter] <= limit:
                    fail(f"{run['name']}: {counter} {run[counter]}")


def main():
    program, plot = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        out, table = os.path.join(folder, "out.json"), os.path.join(folder, "out.csv")
        once = ["--quick", "--rounds=1", "--benchmark_min_time=0"]
        report = run(program, *once, "--benchmark_out_format=json", f"--benchmark_out={out}")
        lacking = [line for line in report.splitlines() if line.endswith("not measured")]
        lacking = [line for line in lacking if "OpenBLAS" not in line and "2 threads" not in line]  # what machines lack
        if "flops of the fused chunk form over the FMA peak" not in report or lacking:
            fail(f"the report lacks figures:\n{report}")
        with open(out) as file:
            data = json.load(file)
        runs = {run["name"]: run for run in data["benchmarks"]}
        check_runs(runs)

        run(sys.executable, plot, out, "--csv", table)
        with open(table) as file:
            names = {name.removesuffix("/real_time") for name in runs}
            rows = [row for row in csv.reader(file) if row[0] in names]
        if not rows or len(rows) != len(runs):
            fail(f"{len(rows)} benchmarks in the CSV, {len(runs)} in the JSON")

    # A filter is Google Benchmark's, and standard output is JSON alone.
    twice = ["--quick", "--rounds=2", "--benchmark_min_time=0", "--benchmark_filter=^strict/gla/"]
    names = [each["name"] for each in json.loads(run(program, *twice, "--benchmark_format=json"))["benchmarks"]]
    if len(names) != 2 or len(set(names)) != 1:
        fail(f"two rounds of one benchmark gave {names}")
    wrong = subprocess.run([program, "--rounds=0"], capture_output=True, text=True)
    if wrong.returncode != 1 or "--rounds=N" not in wrong.stderr:
        fail(f"--rounds=0 exited with {wrong.returncode}: {wrong.stderr}")


if __name__ == "__main__":
    main()
