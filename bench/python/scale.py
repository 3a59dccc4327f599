"""Prints the tables of docs/scale.md: what `recur.scale` predicts from one GPU's times and the figures of links.

    python bench/python/scale.py

`bench/python/several.py` measures the same on processes, and has the predictions beside it.
"""

from recur import scale

#: ns of one H200 for a token of one head, K = V = 128, bf16: the first shape of bench/results/gpu.csv, which fills the GPU.
FORWARD = {"gated_delta_net": 0.107e6 / (2 * 4096 * 16), "kda": 0.214e6 / (2 * 4096 * 16)}
#: A call with gradients over one forward, as measured on one H200 with 32,768 tokens of 64 heads, bench/results/several-2-gpus.csv.
WITH_GRADIENTS = {"gated_delta_net": 8.05 / 1.53, "kda": 23.9 / 2.93}
#: Products of maps and states, in TF32 on matrix units, of what a GPU has printed on it two fifths.
FLOPS = 0.4 * 495e12
RANKS = (2, 4, 8, 16, 64, 256, 1024)
TOKENS = (32768, 131072, 1048576)


def find_link(ranks):
    """Eight GPUs of a host have NVLink."""
    return scale.NVLINK if ranks <= 8 else scale.INFINIBAND


def predict(name, tokens, heads, ranks, backward):
    work = scale.Work(tokens, heads, 128, 128)
    seconds = FORWARD[name] * 1e-9 * tokens * heads
    seconds *= WITH_GRADIENTS[name] if backward else 1
    return scale.predict_efficiency(work, ranks, seconds, find_link(ranks), FLOPS, backward)


def print_efficiencies():
    yield "| recurrence | tokens | direction | " + " | ".join(f"{ranks} GPUs" for ranks in RANKS) + " |"
    yield "|---|---|---|" + "---|" * len(RANKS)
    for name in FORWARD:
        for tokens in TOKENS:
            for backward in (False, True):
                cells = [f"{100 * predict(name, tokens, 64, ranks, backward):.0f}%" for ranks in RANKS]
                yield f"| {name} | {tokens:,} | {'with gradients' if backward else 'forward'} | " + " | ".join(cells) + " |"


def print_exchanges():
    yield "| GPUs | exchange | waits | MB sent forward | MB sent backward | µs forward | MB of all-to-all over heads |"
    yield "|---|---|---|---|---|---|---|"
    work = scale.Work(32768, 64, 128, 128)
    for ranks in RANKS:
        link = find_link(ranks)
        forward, backward = (scale.choose(work, ranks, link, FLOPS, side) for side in (False, True))
        other = f"{scale.all_to_all(work, ranks, False).sent_bytes / 1e6:.0f}" if work.heads % ranks == 0 else "too few heads"
        yield (
            f"| {ranks} | {forward.kind} | {forward.steps} | {forward.sent_bytes / 1e6:.1f} | {backward.sent_bytes / 1e6:.1f} | "
            f"{1e6 * forward.count_seconds(link, FLOPS):.0f} | {other} |"
        )


def main():
    print("\n".join([*print_exchanges(), "", *print_efficiencies()]))


if __name__ == "__main__":
    main()
