#!/usr/bin/env python3
"""Draws bench/results/gpu.csv, calls on a GPU beside published kernels, as one picture:

    python bench/plot_gpu.py bench/results/gpu.csv bench/results/gpu.svg

It needs Python alone.
"""

import csv
import pathlib
import sys

SHAPES = {"A": "2 sequences of 4096 tokens, 16 heads", "B": "1 of 8192, 8 heads", "C": "1 of 8192, 16 heads of keys, 32 of values"}
COLORS = {"Recur": "#cc2233", "FLA": "#3366cc", "FlashInfer": "#118855", "FlashQLA": "#aa7711", "FlashKDA": "#8855bb", "cuDNN": "#444444"}
WIDTH, LEFT, RIGHT, BAR, GAP, TOP = 780, 190, 520, 13, 12, 78


def read(path):
    """Rows by what is computed: a recurrence, a shape and the gates."""
    lines = [line for line in pathlib.Path(path).read_text().splitlines() if not line.startswith("#")]
    groups = {}
    for row in csv.DictReader(lines):
        groups.setdefault((row["recurrence"], row["shape"], row["log decay"]), []).append(row)
    return groups


def draw(groups):
    """An SVG: for each group a bar for each implementation, as long as its time over the longest of all."""
    longest = max(float(row["ms"]) for rows in groups.values() for row in rows)
    lines, y = [], TOP
    for (recurrence, shape, decay), rows in groups.items():
        gates = "no decay" if decay == "none" else f"decays {decay}"
        lines.append(f'<text x="{LEFT - 10}" y="{y + 11}" text-anchor="end">{recurrence}, {shape}</text>')
        if len(rows) > 1:
            lines.append(f'<text x="{LEFT - 10}" y="{y + 11 + BAR}" text-anchor="end" fill="#777777">{gates}</text>')
        own = float(rows[0]["ms"])
        for row in rows:
            length = float(row["ms"]) / longest * (RIGHT - LEFT)
            color = COLORS[row["implementation"].split()[0]]
            ratio = "" if row is rows[0] else f", {float(row['ms']) / own:.1f} times"
            earlier = "*" if row["together"] == "*" else ""
            lines.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 2}" fill="{color}"/>')
            said = f"{row['implementation']} {float(row['ms']):.3f}{earlier}{ratio}"
            lines.append(f'<text x="{LEFT + length + 6:.1f}" y="{y + 10}">{said}</text>')
            y += BAR
        y += GAP
    shapes = "; ".join(f"{name}: {what}" for name, what in SHAPES.items())
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 10}" font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{y + 10}" fill="white"/>',
        '<text x="12" y="20" font-size="14">One call forward on an NVIDIA H200, ms, nothing in the cache: shorter is better</text>',
        f'<text x="12" y="38">{shapes}; K = V = 128</text>',
        '<text x="12" y="53">Data are bf16 for all. Decays and gains are bf16 for Recur, and float32 for the others.'
        " Decays: the mean of their logarithms.</text>",
        '<text x="12" y="68" fill="#777777">* timed three days before the others, the same version;'
        " from linear_attention on with a warm cache, which is to FLA's advantage</text>",
    ]
    return "\n".join([*head, *lines, "</svg>", ""])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    pathlib.Path(sys.argv[2]).write_text(draw(read(sys.argv[1])))
