"""What a step of training costs through PyTorch on a GPU: forward and backward of recurrences, in memory of the GPU with bfloat16
data and float32 gates. The GPU's time is that of a graph of both calls, of which the least of many replays counts, each after
256 MiB were written (cold caches). The caller's time is that of calls that are not waited for, beside a function of autograd's
that does nothing. Each where states may be handed
over to the gradient, and where they may not.

    python bench/python/training.py [--sizes 2x4096x16] [--side 128] [name...]
"""

import argparse
import time

import torch

import recur

NAMES = ["gated_delta_net", "delta_net", "kda", "gla"]


def draw(recurrence, B, T, H, side):
    """Inputs by their shapes: vectors are data with keys of length one, except decays; log decays are about -.07."""
    random = torch.Generator("cuda").manual_seed(0)
    given = []
    for value in recurrence.declaration.inputs:
        x = torch.randn(B, T, H, *[side] * len(value.shape), generator=random, device="cuda")
        if value.name == "g":
            x = -0.07 * x.abs()
        elif value.shape:
            x = (torch.nn.functional.normalize(x, dim=-1) if value.name in ("q", "k") else x).bfloat16()
        else:
            x = torch.sigmoid(x)
        given.append(x.requires_grad_())
    return given


class Nothing(torch.autograd.Function):
    """What autograd itself costs."""

    @staticmethod
    def forward(ctx, *tensors):
        ctx.save_for_backward(*tensors)
        return tensors[2].new_empty(tensors[2].shape)

    @staticmethod
    def backward(ctx, cotangent):
        return ctx.saved_tensors


def measure_caller(function, rounds=40, calls=25):
    """Microseconds, the least of many rounds."""
    least = float("inf")
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            function()
        least = min(least, (time.perf_counter() - start) / calls)
    return 1e6 * least


def measure_gpu(function, rounds=30):
    """Milliseconds of a graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            function()
    torch.cuda.current_stream().wait_stream(side)
    graph, flushed = torch.cuda.CUDAGraph(), torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    with torch.cuda.graph(graph):
        function()
    least = float("inf")
    for _ in range(rounds):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        flushed.zero_()
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        least = min(least, begin.elapsed_time(end))
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--sizes", default="2x4096x16", help="BxTxH")
    parser.add_argument("--side", type=int, default=128, help="of keys and values")
    options = parser.parse_args()
    B, T, H = map(int, options.sizes.split("x"))
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, {B} x {T} x {H}, {options.side} x {options.side}")
    print("recurrence,handing over,forward ms,both ms,caller's us forward,caller's us both,of nothing us both")
    for name in options.names:
        recurrence = recur.library.__getattr__(name)
        given, few = draw(recurrence, B, T, H, options.side), draw(recurrence, 1, 256, H, options.side)
        weight, short = (torch.randn(b, t, H, options.side, device="cuda").bfloat16() for b, t in ((B, T), (1, 256)))
        for kept_bytes in (None, 0):
            forward = lambda given=given: recurrence(*given, kept_bytes=kept_bytes)
            both = lambda given=given, weight=weight: torch.autograd.grad(forward(given), given, weight)
            nothing = lambda: torch.autograd.grad(Nothing.apply(*few), few, short)
            gpu = measure_gpu(forward), measure_gpu(both)
            caller = measure_caller(lambda: forward(few)), measure_caller(lambda: both(few, short)), measure_caller(nothing)
            print(f"{name},{'no' if kept_bytes == 0 else 'if it saves time'},{gpu[0]:.3f},{gpu[1]:.3f},{caller[0]:.1f},{caller[1]:.1f},{caller[2]:.1f}", flush=True)


if __name__ == "__main__":
    main()
