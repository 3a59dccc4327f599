"""Graphs of CUDA that hold a call, and what calls cost whoever makes them: for the benchmarks and the tests of GPUs."""

import time

import torch


class Nothing(torch.autograd.Function):
    """What autograd itself costs."""

    @staticmethod
    def forward(ctx, *tensors):
        ctx.save_for_backward(*tensors)
        return tensors[2].new_empty(tensors[2].shape)

    @staticmethod
    def backward(ctx, cotangent):
        return ctx.saved_tensors


def capture(work):
    """A graph of the work, which is done some times before, and what the work gave in it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = work()
    return graph, results


def time_replays(work, count):
    """Milliseconds of each of so many replays of a graph of the work. 256 MiB were written before each, so that caches are cold."""
    graph, kept = capture(work)
    flushed = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    times = []
    for _ in range(count):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        flushed.zero_()
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    del kept
    return times


def measure_callers(*functions, rounds=60, calls=100):
    """Microseconds of the caller, who does not wait for the GPU: of each the least of many rounds, by turns."""
    least = [float("inf")] * len(functions)
    for _ in range(rounds):
        for place, function in enumerate(functions):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(calls):
                function()
            least[place] = min(least[place], (time.perf_counter() - start) / calls)
    return [1e6 * seconds for seconds in least]
