"""What a step of training costs through PyTorch on a GPU: forward and backward of recurrences, in memory of the GPU with bfloat16
data and float32 gates. The GPU's time is that of a graph of both calls, of which the least of many replays counts, each after
256 MiB were written (cold caches). The caller's time is that of calls that are not waited for, beside a function of autograd's
that does nothing. Each where states may be handed
over to the gradient, and where they may not.

    python bench/python/training.py [--sizes 2x4096x16] [--side 128] [name...]
"""

import argparse

import torch
from replays import Nothing, measure_callers, time_replays

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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--sizes", default="2x4096x16", help="BxTxH")
    parser.add_argument("--side", type=int, default=128, help="of keys and values")
    parser.add_argument("--one-thread", action="store_true", help="gradients in the caller's thread, and not in PyTorch's own for a GPU")
    options = parser.parse_args()
    torch.autograd.set_multithreading_enabled(not options.one_thread)
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
            gpu = [min(time_replays(work, 30)) for work in (forward, both)]
            caller = measure_callers(lambda: forward(few), lambda: both(few, short), nothing, rounds=40, calls=25)
            print(f"{name},{'no' if kept_bytes == 0 else 'if it saves time'},{gpu[0]:.3f},{gpu[1]:.3f},{caller[0]:.1f},{caller[1]:.1f},{caller[2]:.1f}", flush=True)


if __name__ == "__main__":
    main()
