#!/usr/bin/env python3
"""Draws what bench_kernels measured as one page of panels: PAGE.svg and PAGE.png.

Reads the JSON that `bench_kernels --benchmark_out=FILE` writes, or the CSV that --csv makes of it: a line for each
benchmark, with its flops, bytes and error, and the nanoseconds of each round. Every ratio is the median of the rounds'
ratios. Needs matplotlib (Debian: python3-matplotlib).
"""

import argparse
import csv
import json
import re
import statistics

PEAK = "peak/multiply_adds"
COPY = "peak/copy"
UPDATE = "peak/update"
COUNTERS = ("flops", "bytes", "error", "difference")
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


class Results:
    def __init__(self, path):
        self.context, self.core, self.wall, self.counters = {}, {}, {}, {}
        (self.read_csv if path.endswith(".csv") else self.read_json)(path)

    def read_json(self, path):
        with open(path) as file:
            data = json.load(file)
        self.context = {key: data["context"][key] for key in ("cpu", "cores", "date", "rounds", "mode")}
        for run in data["benchmarks"]:
            if run.get("run_type") != "iteration" or run.get("error_occurred"):
                continue
            name = run["name"].removesuffix("/real_time")
            self.core.setdefault(name, []).append(run["cpu_time"] * UNITS[run["time_unit"]])
            self.wall.setdefault(name, []).append(run["real_time"] * UNITS[run["time_unit"]])
            self.counters[name] = {key: run[key] for key in COUNTERS if key in run}

    def read_csv(self, path):
        with open(path) as file:
            for row in csv.reader(file):
                if row[0].startswith("# "):
                    self.context[row[0][2:]] = row[1]
                elif row[0] != "name":
                    times = [float(cell) for cell in row[1 + len(COUNTERS) :]]
                    self.core[row[0]], self.wall[row[0]] = times[: len(times) // 2], times[len(times) // 2 :]
                    cells = zip(COUNTERS, row[1 : 1 + len(COUNTERS)])
                    self.counters[row[0]] = {key: float(cell) for key, cell in cells if cell}

    def write_csv(self, path):
        with open(path, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([f"# {key}", value] for key, value in self.context.items())
            writer.writerow(["name", *COUNTERS, "core time of each round in ns", "then wall time of each round in ns"])
            for name, times in self.core.items():
                counters = self.counters[name]
                cells = [f"{counters[key]:.6g}" if key in counters else "" for key in COUNTERS]
                writer.writerow([name, *cells, *(f"{time:.5g}" for time in times + self.wall[name])])

    def ratio(self, name, over):
        """The first's time over the second's, of several threads by the wall clock; None if one was not measured."""
        if name not in self.core or over not in self.core:
            return None
        threads = re.compile(r"/threads:(?!1(/|$))")
        times = self.wall if threads.search(name) or threads.search(over) else self.core
        return statistics.median(a / b for a, b in zip(times[name], times[over]))

    def peak_share(self, name):
        if name not in self.core or PEAK not in self.core:
            return None
        peak = self.counters[PEAK]["flops"] / min(self.core[PEAK])
        return 100 * self.counters[name]["flops"] / statistics.median(self.core[name]) / peak

    def bandwidth_share(self, name, peak):
        ratio = self.ratio(peak, name)
        return ratio and 100 * ratio * self.counters[name]["bytes"] / self.counters[peak]["bytes"]


def kernel(spec, K=128, V=128, T=None, H=4, B=1, dtype="f32", target="host", plan="chunk", threads=1):
    return f"kernel/{spec}/{dtype}/K:{K}/V:{V}/{target}/{plan}/B:{B}/H:{H}/T:{T}/threads:{threads}"


def peer(kind, spec, K=128, V=128, T=None, H=4):
    return f"{kind}/{spec}/K:{K}/V:{V}/H:{H}/T:{T}"


def results_are_disturbed(results):
    """Whether one thread was often kept waiting for its core."""
    return PEAK in results.core and statistics.median(results.wall[PEAK]) > 1.1 * statistics.median(results.core[PEAK])


class Page:
    """One figure; each panel is a method."""

    COLORS = {"": "#1f5fa8", "Recur": "#1f5fa8", "OpenBLAS": "#d9822b", "-ffast-math": "#8a8a8a", "-O3": "#c9c9c9"}

    def __init__(self, results):
        import matplotlib

        matplotlib.use("Agg")
        matplotlib.rcParams.update({"font.size": 8.5, "axes.spines.top": False, "axes.spines.right": False})
        matplotlib.rcParams.update({"svg.hashsalt": "recur", "axes.titlesize": 9.5, "legend.frameon": False})
        from matplotlib import pyplot

        self.results = results
        # What strict peers ran at is what recurrences are compared at.
        parts = [name.split("/") for name in results.core if name.startswith("strict/")]
        self.specs = [part[1] for part in parts]
        self.T = int(parts[0][5][2:])
        self.figure = pyplot.figure(figsize=(15, 17))
        self.grid = self.figure.add_gridspec(
            4, 3, hspace=0.6, wspace=0.2, left=0.05, right=0.985, top=0.935, bottom=0.075)

    def panel(self, row, column, title, ylabel, span=1, legend_rows=1):
        axes = self.figure.add_subplot(self.grid[row, column : column + span])
        axes.set_title(title, loc="left", pad=5 + 11 * legend_rows)
        axes.set_ylabel(ylabel)
        axes.set_axisbelow(True)
        axes.grid(axis="y", color="#e6e6e6")
        return axes

    def finish(self, axes, legend=True, columns=4):
        axes.set_ylim(bottom=0)
        if legend:
            axes.legend(ncol=columns, loc="lower left", bbox_to_anchor=(-0.012, 1.0), borderaxespad=0,
                        fontsize=7.5, handlelength=1.2, columnspacing=1)

    def bars(self, axes, labels, series, digits=None, line=None):
        """Groups of bars: series is {name: one number or None a label}."""
        from matplotlib import pyplot

        width = 0.8 / len(series)
        palette = pyplot.get_cmap("tab10").colors
        for i, (name, values) in enumerate(series.items()):
            places = [x - 0.4 + width * (i + 0.5) for x in range(len(labels))]
            color = self.COLORS.get(name, palette[i])
            axes.bar(places, [value or 0 for value in values], width * 0.92, label=name, color=color)
            for x, value in zip(places, values):
                if value is not None and digits is not None:
                    axes.text(x, value, f"{value:.{digits}f}", ha="center", va="bottom", fontsize=6.5)
        axes.set_xticks(range(len(labels)), labels, rotation=30, ha="right", rotation_mode="anchor")
        axes.margins(x=0.01, y=0.1)
        if line is not None:
            axes.axhline(line, color="#b03030", linewidth=0.9, linestyle="--")
        self.finish(axes, legend=all(series))

    def lines(self, axes, xs, series, columns=3):
        """Lines over xs, evenly spaced: series is {name: (numbers or None, line style)}."""
        for name, (values, style) in series.items():
            points = [(i, value) for i, value in enumerate(values) if value is not None]
            if points:
                axes.plot(*zip(*points), style, label=name, markersize=3.5, linewidth=1.3)
        axes.set_xticks(range(len(xs)), xs)
        self.finish(axes, columns=columns)

    def sizes(self):
        pattern = re.compile(f"kernel/gated_delta_net/f32/K:(\\d+)/V:(\\d+)/host/chunk/B:1/H:4/T:{self.T}/threads:1")
        found = [pattern.fullmatch(name) for name in self.results.core]
        return sorted((int(match[1]), int(match[2])) for match in found if match)

    def tokens(self):
        pattern = re.compile("kernel/kda/f32/K:128/V:128/host/.*/B:1/H:4/T:(\\d+)/threads:1")
        found = [pattern.fullmatch(name) for name in self.results.core]
        return sorted(int(match[1]) for match in found if match)

    def draw(self):
        self.recurrences()
        self.shapes()
        self.lengths()
        self.machine()
        context = self.results.context
        title = "Recur: compiled kernels of one core, as ratios within one run"
        self.figure.suptitle(title, x=0.05, ha="left", fontsize=14, y=0.985)
        caption = (f"{context['cpu']}, {context['cores']} cores; {context['date'][:10]}; bench/run; medians of "
                   f"{context['rounds']} interleaved rounds. B = 1, H = 4, T = {self.T}, K = V = 128, float32, "
                   "one thread, unless said otherwise.")
        if results_are_disturbed(self.results):
            caption += "\nOther programs ran meanwhile: what is said of threads is uncertain."
        self.figure.text(0.05, 0.972, caption, va="top", fontsize=9, color="#444444")

    def recurrences(self):
        results, specs = self.results, self.specs
        own = [kernel(spec, T=self.T) for spec in specs]
        axes = self.panel(0, 0, "Share of the core's peak of multiply-adds", "%, by the chunk form's flops", span=2)
        shares = {"Recur": own}
        for label, kind in (("OpenBLAS", "blas"), ("-ffast-math", "fast"), ("-O3", "strict")):
            shares[label] = [peer(kind, spec, T=self.T) for spec in specs]
        self.bars(axes, specs, {label: [results.peak_share(name) for name in names] for label, names in shares.items()},
                  digits=0)
        axes.set_ylim(0, 100)
        axes = self.panel(0, 2, "Times as fast as a token loop in C, -O3 -march=native", "times")
        over = [results.ratio(peer("strict", spec, T=self.T), name) for spec, name in zip(specs, own)]
        self.bars(axes, specs, {"": over}, digits=0)
        axes = self.panel(1, 0, "Times as fast as that loop with -ffast-math, and as OpenBLAS", "times")
        series = {label: [results.ratio(peer(kind, spec, T=self.T), name) for spec, name in zip(specs, own)]
                  for label, kind in (("-ffast-math", "fast"), ("OpenBLAS", "blas"))}
        self.bars(axes, specs, series, digits=1, line=1)

    def shapes(self):
        results, sizes = self.results, self.sizes()
        square = [(K, V) for K, V in sizes if K == V]
        oblong = [(K, V) for K, V in sizes if K != V]

        def shares(spec, where, kind=None):
            names = [peer(kind, spec, K, V, self.T) if kind else kernel(spec, K, V, self.T) for K, V in where]
            return [results.peak_share(name) for name in names]

        axes = self.panel(1, 1, "Share of the peak by K = V", "%")
        self.lines(axes, [K for K, _ in square], {
            "gated_delta_net": (shares("gated_delta_net", square), "o-"), "kda": (shares("kda", square), "s-"),
            "gated_delta_net, OpenBLAS": (shares("gated_delta_net", square, "blas"), "x--")})
        axes.set_ylim(0, 100)
        axes.set_xlabel("K = V")
        axes = self.panel(1, 2, "Share of the peak where K is not V", "%")
        labels = [f"K {K}, V {V}" for K, V in oblong]
        self.bars(axes, labels, {
            "gated_delta_net": shares("gated_delta_net", oblong), "kda": shares("kda", oblong),
            "gated_delta_net, OpenBLAS": shares("gated_delta_net", oblong, "blas")}, digits=0)
        axes.set_ylim(0, 100)

    def lengths(self):
        results, tokens = self.results, self.tokens()
        base = kernel("gated_delta_net", T=self.T)
        said = f"over gated_delta_net's at T {self.T}"

        def times(name_of, H):
            found = []
            for T in tokens:
                ratio = results.ratio(name_of(T), base)
                found.append(ratio and ratio * 4 * self.T / (H * T))
            return found

        def own(spec, H=4):
            return times(lambda T: kernel(spec, T=T, H=H, plan="step" if T == 1 else "chunk"), H)

        axes = self.panel(2, 0, "Time a token of a head, by T (plan step at T = 1)", said, legend_rows=2)
        styles = ["o-", "s-", "^-", "v-", "D-", "o--", "s--", "^--", "v--"]
        self.lines(axes, tokens, {spec: (own(spec), style) for spec, style in zip(self.specs, styles)}, columns=5)
        axes.set_xlabel("T")
        axes = self.panel(2, 1, "The same of gated_delta_net, by T and H", said)
        series = {f"H {H}": (own("gated_delta_net", H), style) for H, style in ((1, "o-"), (4, "s-"), (16, "^-"))}
        for label, kind in (("OpenBLAS, H 4", "blas"), ("-ffast-math, H 4", "fast")):
            series[label] = (times(lambda T, kind=kind: peer(kind, "gated_delta_net", T=T), 4), "x--")
        self.lines(axes, tokens, series, columns=5)
        axes.set_xlabel("T")
        axes = self.panel(2, 2, "gated_delta_net on few tokens: plan chunk over plan step", "time over plan step's")
        few = [2, 4, 8, 16, 32, 64]
        names = [kernel("gated_delta_net", T=T, plan="{}") for T in few]
        over = [results.ratio(name.format("chunk"), name.format("step")) for name in names]
        self.bars(axes, [f"T {T}" for T in few], {"": over}, digits=2, line=1)

    def machine(self):
        results, specs = self.results, self.specs
        # Of few heads, threads share the segments of a sequence.
        cut = [match for name in results.core
               if (match := re.fullmatch("kernel/(.*)/f32/.*/segment/B:1/H:1/T:(.*)/threads:1", name))]
        title = f"Threads (segment: one head, T {cut[0][2]})" if cut else "Threads"
        axes = self.panel(3, 0, title, "times as fast as one")
        counts = sorted({int(name.rsplit(":", 1)[1]) for name in results.core if name.startswith("kernel/")} - {1})
        cases = [(spec, {"spec": spec}) for spec in specs]
        cases += [(f"gated_delta_net, H {H}", {"spec": "gated_delta_net", "H": H}) for H in (1, 16)]
        pairs = [(label, kernel(T=self.T, **case), kernel(T=self.T, threads="{}", **case)) for label, case in cases]
        pairs += [(f"{match[1]}, segment", match[0].replace("/segment/", "/chunk/"), match[0][:-1] + "{}")
                  for match in cut]
        series = {f"{count} threads": [results.ratio(one, several.format(count)) for _, one, several in pairs]
                  for count in counts}
        if series:
            self.bars(axes, [label for label, _, _ in pairs], series, digits=2)
        steps = [name for name in results.core if re.match("kernel/.*/step/B:(?!1/)", name)]
        heads = {int(part[2:]) for name in steps for part in name.split("/") if part.startswith("B:")}
        labels = [name.split("/")[1] + (", bf16" if "/bf16/" in name else "") for name in steps]
        title = f"Plan step, {4 * max(heads, default=0)} heads: state bytes a second"
        axes = self.panel(3, 1, title, "% of the bandwidth")
        series = {label: [results.bandwidth_share(name, peak) for name in steps]
                  for label, peak in (("of copying", COPY), ("of updating in place", UPDATE))}
        self.bars(axes, labels, series, digits=0, line=100)
        axes = self.panel(3, 2, "Time by data and target", "over float32's on this machine's")
        kinds = {"bf16": {"dtype": "bf16"}, "f16": {"dtype": "f16"}, "float32, x86-64-v3": {"target": "x86-64-v3"}}
        series = {label: [results.ratio(kernel(spec, T=self.T, **kind), kernel(spec, T=self.T)) for spec in specs]
                  for label, kind in kinds.items()}
        self.bars(axes, specs, series, line=1)

    def save(self, base):
        for kind in ("svg", "png"):
            self.figure.savefig(f"{base}.{kind}", dpi=90, metadata={"Date": None} if kind == "svg" else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", help="JSON of --benchmark_out, or CSV of --csv")
    parser.add_argument("page", nargs="?", help="base path of the picture; none is drawn if left out")
    parser.add_argument("--csv", help="also write what was measured here")
    arguments = parser.parse_args()
    results = Results(arguments.results)
    if arguments.csv:
        results.write_csv(arguments.csv)
        results = Results(arguments.csv)  # the picture is of what is kept
    if arguments.page:
        page = Page(results)
        page.draw()
        page.save(arguments.page)


if __name__ == "__main__":
    main()
