"""Parts of a sequence one behind another on one device: that they compute what the whole does, and what making summaries takes.

    python bench/python/parts.py bench/results/parts.csv                 # all of the library, and times, on a GPU
    python bench/python/parts.py /tmp/parts.csv --device cpu --check gla,kda --names gla --tokens 256 --heads 2 --dim 16

Each part is computed as a process of a group would, but that all are here: the time over that of the whole call is what efficiency
is without any exchange.
"""

import argparse
import csv
import itertools
import os
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass

import torch

import recur
from recur import distributed, part_run, shares, torch as tensors
from recur.summary_calls import PartCall, obtain

NAMES = ["gated_delta_net", "kda", "mamba2", "pgdn"]
FIELDS = ["recurrence", "gates", "direction", "tokens", "heads", "dim", "parts", "ms whole", "ms parts", "ratio"]


def draw(recurrence, tokens, heads, dtype, device, seed=0, gates=0.1):
    """Inputs and params of moderate size, and scalars that are gates never grow: log decays are about as large as `gates` says, or for
    some heads zero."""
    declared = recurrence.explain_json()
    random = torch.Generator().manual_seed(seed)
    arrays = []
    for kind in ("inputs", "params"):
        for one in declared[kind]:
            leading = (1, tokens, heads) if kind == "inputs" else (heads,)
            array = torch.randn((*leading, *one["shape"]), generator=random)
            if one["name"][0] in "agfw" or one["name"].startswith(("log", "decay")):
                array = -(0.1 if gates == "mixed" else gates) * array.abs()
                if gates == "mixed" and kind == "inputs":
                    array[:, :, ::2] = 0
            elif not one["shape"]:
                array = array.sigmoid()
            else:
                array /= max(1, *one["shape"]) ** 0.5
            is_gate = not one["shape"] or one["name"][0] in "agfw"
            arrays.append(array.to(device, torch.float32 if is_gate or kind == "params" else dtype))
    return arrays


@dataclass(frozen=True)
class AllHere(shares.Layout):
    """All parts are of one process, in order."""

    parts: int = 1

    @property
    def pieces(self):
        return self.parts

    def list_parts(self, rank):
        return list(range(self.parts))

    def order(self, of_processes):
        return of_processes[0]

    def count_tokens(self, of_processes):
        return [of_processes[0] // self.parts] * self.parts


class NoExchange:
    """A group of one process."""

    rank, count = 0, 1

    def begin(self):
        pass

    def gather(self, own):
        return own[None]


def plan_parts(recurrence, arrays, parts):
    """The recurrence with all its states, and a plan of so many parts."""
    whole = recurrence
    if recurrence.declaration.has_implicit_states:
        whole = tensors.find_whole(recurrence, arrays)
    layout = AllHere("parts", 1, parts)
    everyone = tuple(shares.share_out(layout.count_tokens([arrays[0].shape[1]]), None))
    return whole, part_run.Plan(NoExchange(), layout, tuple(shares.Part(i, everyone, False) for i in range(parts)))


def compute_parts(recurrence, arrays, parts):
    """Outputs of a sequence in so many parts, each computed by itself."""
    whole, plan = plan_parts(recurrence, arrays, parts)
    has_initial = [False] * len(whole.declaration.states)
    results = distributed._Shared.apply(whole.handle, plan, has_initial, *arrays)
    return list(results[: len(whole.declaration.outputs)])


def make_parts(recurrence, arrays, parts, is_derived):
    """What computes the parts one behind another, with their gradients or without. Unlike `compute_parts` it does not put their results
    together, which no process does."""
    whole, plan = plan_parts(recurrence, arrays, parts)
    arrays, inputs = [x.detach() for x in arrays], len(whole.declaration.inputs)
    cuts, none = plan.cut(arrays[0].shape[1]), [None] * len(whole.declaration.states)

    def run():
        runs = []
        for part, cut in zip(plan.parts, cuts):
            runs.append(part_run.Run(whole, plan, part, distributed._cut(arrays, inputs, cut), is_derived))
            runs[-1].wanted = [True] * len(arrays) if is_derived else None
        with torch.no_grad():
            made = part_run.exchange_together(plan.processes, plan.layout, [one.forward(none) for one in runs])
            if is_derived:
                asked = [
                    one.backward(none, [torch.ones_like(x) for x in outputs], none, [True] * len(arrays))
                    for one, (outputs, _) in zip(runs, made)
                ]
                part_run.exchange_together(plan.processes, plan.layout, asked)

    return run


def as_list(results):
    return list(results) if isinstance(results, tuple) else [results]


def check(recurrence, tokens, parts, heads, dtype, device, gates=0.1):
    """The largest relative error of outputs and gradients against the whole; None where it has no summaries."""
    whole = [x.requires_grad_() for x in draw(recurrence, tokens, heads, dtype, device, gates=gates)]
    own = [x.detach().clone().requires_grad_() for x in whole]
    try:
        got = compute_parts(recurrence, own, parts)
    except recur.ArgumentError as error:
        if "cannot be shared out" in str(error):
            return None
        raise
    wanted = as_list(recurrence(*whole))
    sum(x.float().sum() for x in got).backward()
    sum(x.float().sum() for x in wanted).backward()
    pairs = [*zip(got, wanted), *((x.grad, y.grad) for x, y in zip(own, whole))]
    errors = []
    for x, y in pairs:
        x, y = (torch.zeros(()) if z is None else z.detach().double().cpu() for z in (x, y))
        errors.append(float((x - y).norm()) / max(float(y.norm()), 1e-3))
    return max(errors) if all(error == error for error in errors) else float("nan")


def check_combined(recurrence, parts, device):
    """The error of a state that goes through one summary of so many parts, joined one after another."""
    arrays = draw(recurrence, 32 * parts, 2, torch.float32, device)
    inputs = len(recurrence.declaration.inputs)
    loaded, heads, (shape,) = obtain(recurrence, arrays, False)
    total = None
    for part in range(parts):
        own = [x[:, 32 * part : 32 * (part + 1)] if i < inputs else x for i, x in enumerate(arrays)]
        call = PartCall(recurrence, loaded, own, None, None)
        made = tuple(torch.empty((1, heads, size), device=device) for size in (shape.map_size, shape.offset_size))
        call.summarise(0, *made)
        if total:
            call.combine(0, False, total, made, total)
        total = total or made
    (state_shape,) = [shape for _, kind, _, _, shape in loaded.kernel.arrays if kind == "state"]
    state = torch.randn((1, heads, *state_shape), generator=torch.Generator().manual_seed(1)).to(device)
    *_, wanted = recurrence(*arrays, initial=state, final=True)
    call.apply(0, False, *total, state, state)
    return float((state - wanted).norm() / wanted.norm())


def measure(compute, repeats, device):
    """The median of seconds of a call. On a GPU calls follow each other as those of a model's layers do: the processor goes ahead."""
    calls = 5 if device.type == "cuda" else 1
    times = []
    for _ in range(repeats + 2):
        if device.type == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            compute()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) / calls)
    return statistics.median(times[2:])  # the first ones load


def fix(name, dim, device, quick=False, plan="auto"):
    """A recurrence of the library with sizes for what it leaves open."""
    options = {"quick": quick, "plan": plan} | ({"target": "sm_90a"} if device.type == "cuda" else {})
    recurrence = getattr(recur.library, name).with_options(**options)
    return recurrence.with_options(dims={key: dim for key, size in recurrence.declaration.dims.items() if size is None})


def compile_one(job):
    """Into the cache, where others find it. What is wrong with it, or None."""
    name, dim, dtype, plan = job
    try:
        recurrence = fix(name, dim, torch.device("cuda"), plan=plan)
        dims, types = recurrence.read_key(draw(recurrence, 1, 2, dtype, "cpu"))
        recurrence.obtain_for(dict(dims), types, backward=True, summaries=True)
    except Exception as error:  # of one recurrence, which the others have nothing to do with
        return f"{name}: {str(error).strip().splitlines()[0]}"
    return None


def compile_all(jobs, seconds):
    """Many at the same time, for none of them needs a GPU. Gives each, as it is there, with what is wrong with it; those that are
    not there in so many seconds are left out."""
    pool = ProcessPoolExecutor(max_workers=os.cpu_count())
    futures = {pool.submit(compile_one, job): job for job in jobs}
    try:
        for future in as_completed(futures, timeout=seconds):
            yield futures[future], future.result()
    except TimeoutError:
        yield from ((job, f"{job[0]}: was not compiled in {seconds:.0f} s") for future, job in futures.items() if not future.done())
    workers = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for worker in workers:
        worker.terminate()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: [part for part in text.split(",") if part]
    parser.add_argument("csv", help="where the times go")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--check", type=words, default=None, help="recurrences to hold against the whole; all, where left out")
    parser.add_argument("--combined", type=words, default=["gated_delta_net", "kda", "mamba2", "hgrn"], help="of one state, whose parts are joined")
    parser.add_argument("--long", type=words, default=[], help="of those checked, these on long parts too, with decays and without")
    parser.add_argument("--gates", type=lambda text: [float(part) for part in words(text)], default=[0.1], help="how large log decays are")
    parser.add_argument("--names", type=words, default=NAMES[:2])
    parser.add_argument("--tokens", type=int, default=32768)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--dim", type=int, default=128, help="each dim that a recurrence leaves open")
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=200, help="after which nothing more is compiled for a GPU")
    parser.add_argument("--quick", action="store_true", help="compile in less time, to slower kernels")
    asked = parser.parse_args()
    device = torch.device(asked.device)
    dtype = torch.float32 if asked.device == "cpu" else torch.bfloat16
    if asked.check is None:
        asked.check = [name for name in dir(recur.library) if not name.startswith("_")]
    checks = [(name, 16, torch.float32, "step") for name in asked.check]
    others = [(name, 16, torch.float32, "auto") for name in asked.combined] + [(name, asked.dim, dtype, "auto") for name in asked.names]
    begin = time.perf_counter()
    compiled = compile_all(others + checks, asked.seconds) if asked.device == "cuda" else ((job, None) for job in checks)
    fails = checked = 0
    for job, problem in compiled:
        name = job[0]
        if problem or job not in checks:
            fails += problem is not None
            print(problem or f"{name} is compiled", flush=True)
            continue
        try:
            recurrence = fix(name, 16, device, asked.quick, "auto" if asked.device == "cpu" else "step")
            sizes = [(128, 4, 0.1), (700, 7, 0.1)]
            if name in asked.long:  # parts of which the last tokens may be all that matters
                sizes += [(7500, 3, gates) for gates in (0.1, "mixed", 0)]
            errors = [check(recurrence, tokens, parts, 2, torch.float32, device, gates) for tokens, parts, gates in sizes]
        except Exception as error:  # of one recurrence
            print(f"{name}: FAIL {type(error).__name__}: {str(error).strip().splitlines()[0]}", flush=True)
            fails += 1
            continue
        if errors[0] is None:
            print(f"{name}: no summaries", flush=True)
            continue
        checked += 1
        fails += not max(errors) <= 1e-5
        print(f"{name}: {max(errors):.1e}{'' if max(errors) <= 1e-5 else ' FAIL'}", flush=True)
    print(f"{checked} checked, {fails} failed in {time.perf_counter() - begin:.0f} s", flush=True)
    for name in asked.combined:
        try:
            error = check_combined(fix(name, 16, device, asked.quick), 64, device)
        except Exception as problem:  # of one recurrence
            print(f"{name}, 64 parts as one: FAIL {str(problem).strip().splitlines()[0]}", flush=True)
            fails += 1
            continue
        fails += not error <= 1e-5
        print(f"{name}, 64 parts as one: {error:.1e}{'' if error <= 1e-5 else ' FAIL'}", flush=True)
    rows = []
    for name, gates in itertools.product(asked.names, asked.gates):
        recurrence = fix(name, asked.dim, device, asked.quick)
        for direction in ("forward", "with gradients"):
            is_derived = direction != "forward"
            arrays = [x.requires_grad_(is_derived) for x in draw(recurrence, asked.tokens, asked.heads, dtype, device, gates=gates)]

            def run(compute):
                outputs = compute()
                if is_derived:
                    torch.autograd.backward(outputs, [torch.ones_like(x) for x in outputs])
                    for array in arrays:
                        array.grad = None

            whole = measure(lambda: run(lambda: as_list(recurrence(*arrays))), asked.repeats, device)
            parts = measure(make_parts(recurrence, arrays, asked.parts, is_derived), asked.repeats, device)
            rows.append(dict(zip(FIELDS, (name, gates, direction, asked.tokens, asked.heads, asked.dim, asked.parts, 1e3 * whole, 1e3 * parts, parts / whole))))
            print(", ".join(f"{key} {x:.4g}" if isinstance(x, float) else f"{x}" for key, x in rows[-1].items()), flush=True)
    with open(asked.csv, "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: f"{x:.5g}" if isinstance(x, float) else x for key, x in row.items()} for row in rows)
    return 1 if fails else 0


if __name__ == "__main__":
    sys.exit(main())
