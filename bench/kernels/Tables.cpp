#include "Report.h"
#include <fmt/format.h>

using namespace recur::bench;

namespace {

using Figure = std::optional<double>;

std::string print(Figure figure, int digits = 2) { return figure ? fmt::format("{:.{}f}", *figure, digits) : "-"; }
std::string percent(Figure figure) { return figure ? fmt::format("{:.1f}%", 100 * *figure) : "-"; }
std::string small(Figure figure) { return figure ? fmt::format("{:.1e}", *figure) : "-"; }

class Tables {
public:
  Tables(const Plan &plan, const Measurements &measured, std::FILE *to) : plan(plan), measured(measured), to(to) {}

  void printAll() {
    printMachine();
    printRecurrences();
    printKinds();
    printSizes();
    printTokens();
    printShort();
    printLong();
    printDecays();
  }

private:
  Figure getTimeOver(const Shape &shape, const Shape &base) {
    Clock clock = shape.threads == 1 && base.threads == 1 ? Clock::Core : Clock::Wall;
    return measured.getRatio(shape.getName(), base.getName(), clock);
  }
  Figure getSpeedup(const std::string &peer, const Shape &shape) {
    return measured.getRatio(getPeerName(peer, shape), shape.getName());
  }
  void heading(const std::string &text) { fmt::print(to, "\n{}\n", text); }

  void printMachine() {
    Figure peak = measured.getBest(peakName), copy = measured.getMedian(copyName);
    Figure core = measured.getMedian(peakName), wall = measured.getMedian(peakName, Clock::Wall);
    if (peak && (*wall > 1.1 * *core || *core > 1.1 * *peak))
      heading(fmt::format(
          "Other programs ran meanwhile: the multiply-adds took {:.2f} times their processor time, and that {:.2f} "
          "times their best. What is said of threads and of recurc is uncertain, and all else less exact.",
          *wall / *core, *core / *peak));
    if (peak)
      peak = *measured.getCounter(peakName, "flops") / *peak * 1e-9;
    if (copy)
      copy = *measured.getCounter(copyName, "bytes") / *copy * 1e-9;
    heading(fmt::format(
        "One core: {} Gflop/s of multiply-adds, {} GB/s of copying. B 1, H 4, T {}, K and V 128, float32, one "
        "thread, plan chunk, unless said otherwise; medians.",
        print(peak, 0), print(copy, 1), plan.T));
  }

  void printRecurrences() {
    heading("Over peers on the same data: how many times as fast, and how much the peers' outputs differ");
    fmt::print(to, "{:<18}{:>8}{:>9}{:>9}{:>12}{:>10}{:>10}{:>12}\n", "", "ms", "of peak", "-O3", "-ffast-math",
               "OpenBLAS", "error", "difference");
    for (const bench_form &form : getForms()) {
      Shape shape = plan.getBase(form.name);
      Figure seconds = measured.getMedian(shape.getName()), difference;
      for (const char *peer : {"strict", "fast", "blas"})
        if (Figure found = measured.getCounter(getPeerName(peer, shape), "difference"))
          difference = std::max(difference.value_or(0), *found);
      if (seconds)
        seconds = *seconds * 1e3;
      fmt::print(to, "{:<18}{:>8}{:>9}{:>9}{:>12}{:>10}{:>10}{:>12}\n", form.name, print(seconds),
                 percent(getPeakShare(measured, shape)), print(getSpeedup("strict", shape), 1),
                 print(getSpeedup("fast", shape)), print(getSpeedup("blas", shape)),
                 small(measured.getCounter(shape.getName(), "error")), small(difference));
    }
  }

  void printKinds() {
    heading("Time over float32's; over this machine's; over one thread's; and the plan step of " +
            fmt::format("{} heads over the bandwidth of copying, of updating in place", 4 * plan.stepBatch));
    fmt::print(to, "{:<18}{:>8}{:>8}{:>11}", "", "bf16", "f16", "x86-64-v3");
    for (int32_t threads : plan.getThreads())
      fmt::print(to, "{:>11}", fmt::format("{} threads", threads));
    fmt::print(to, "{:>8}{:>12}\n", "step", "of update");
    for (const bench_form &form : getForms()) {
      Shape base = plan.getBase(form.name);
      auto timeOf = [&](const char *dtype, const char *target) {
        return plan.isQuick && (target != base.kernel->target || dtype == std::string("f16"))
                   ? std::nullopt
                   : getTimeOver(plan.getBase(form.name, dtype, target), base);
      };
      fmt::print(to, "{:<18}{:>8}{:>8}{:>11}", form.name, print(timeOf("bf16", "host")), print(timeOf("f16", "host")),
                 print(timeOf("f32", "x86-64-v3")));
      for (int32_t threads : plan.getThreads()) {
        Shape several = base;
        several.threads = threads;
        fmt::print(to, "{:>11}", print(getTimeOver(several, base)));
      }
      fmt::print(to, "{:>8}{:>12}\n", percent(getBandwidthShare(measured, plan.getStep(form.name))),
                 percent(getBandwidthShare(measured, plan.getStep(form.name), updateName)));
    }
  }

  void printSizes() {
    heading(
        "Share of the peak, and time a flop over that of K = V = 128; gated_delta_net over OpenBLAS in the same size");
    fmt::print(to, "{:<12}", "K, V");
    for (const std::string &spec : plan.getSizedSpecs())
      fmt::print(to, "{:>18}{:>8}", spec, "");
    fmt::print(to, "{:>10}\n", "OpenBLAS");
    for (auto [K, V] : plan.getSizes()) {
      fmt::print(to, "{:<12}", fmt::format("{}, {}", K, V));
      for (const std::string &spec : plan.getSizedSpecs()) {
        Shape shape = plan.getSized(spec, K, V), base = plan.getBase(spec);
        Figure time = getTimeOver(shape, base);
        if (time)
          time = *time * base.countFlops() / shape.countFlops();
        fmt::print(to, "{:>18}{:>8}", percent(getPeakShare(measured, shape)), print(time));
      }
      fmt::print(to, "{:>10}\n", print(getSpeedup("blas", plan.getSized("gated_delta_net", K, V))));
    }
  }

  void printTokens() {
    heading("Time a token of a head, over that at H 4 and T " + std::to_string(plan.T) + "; plan step at T = 1");
    fmt::print(to, "{:<18}{:>4}", "", "H");
    for (int64_t tokens : plan.getTokens())
      fmt::print(to, "{:>9}", fmt::format("T {}", tokens));
    fmt::print(to, "\n");
    for (const bench_form &form : getForms())
      for (int64_t heads : plan.getHeads()) {
        Shape base = plan.getBase(form.name), shape = base;
        if (heads != base.H && base.kernel->spec != "gated_delta_net")
          continue;
        fmt::print(to, "{:<18}{:>4}", form.name, heads);
        for (int64_t tokens : plan.getTokens()) {
          shape.H = heads;
          shape.T = tokens;
          shape.plan = tokens == 1 ? RECUR_PLAN_STEP : RECUR_PLAN_CHUNK;
          Figure time = getTimeOver(shape, base);
          if (time)
            time = *time * double(base.H * base.T) / double(heads * tokens);
          fmt::print(to, "{:>9}", print(time));
        }
        fmt::print(to, "\n");
      }
  }

  void printShort() {
    if (plan.isQuick)
      return;
    heading("gated_delta_net on few tokens: the plan chunk's time over the plan step's");
    for (int64_t tokens : {2, 4, 8, 16, 32, 64}) {
      Shape chunk = plan.getBase("gated_delta_net");
      chunk.T = tokens;
      Shape step = chunk;
      step.plan = RECUR_PLAN_STEP;
      fmt::print(to, "T {:<4}{:>8}\n", tokens, print(getTimeOver(chunk, step)));
    }
  }

  void printDecays() {
    heading("Time by the mean log decay of a token, over that at the first");
    fmt::print(to, "{:<18}", "");
    for (double decay : plan.getDecays())
      fmt::print(to, "{:>8}", decay);
    for (const std::string &spec : plan.getDecayedSpecs()) {
      fmt::print(to, "\n{:<18}", spec);
      for (double decay : plan.getDecays())
        fmt::print(to, "{:>8}",
                   print(getTimeOver(plan.getDecayed(spec, decay), plan.getDecayed(spec, plan.getDecays().front()))));
    }
    fmt::print(to, "\n");
  }

  void printLong() {
    if (plan.getLongSpecs().empty())
      return;
    heading(fmt::format("One head, T {}: how many times as fast the plan segment is as the plan chunk, by threads",
                        16 * plan.T));
    fmt::print(to, "{:<18}{:>8}", "", 1);
    for (int32_t threads : plan.getThreads())
      fmt::print(to, "{:>8}", threads);
    for (const std::string &spec : plan.getLongSpecs()) {
      Shape chunk = plan.getLong(spec, RECUR_PLAN_CHUNK, 1);
      fmt::print(to, "\n{:<18}{:>8}", spec, print(getTimeOver(chunk, plan.getLong(spec, RECUR_PLAN_SEGMENT, 1))));
      for (int32_t threads : plan.getThreads())
        fmt::print(to, "{:>8}", print(getTimeOver(chunk, plan.getLong(spec, RECUR_PLAN_SEGMENT, threads))));
    }
    fmt::print(to, "\n");
  }

  const Plan &plan;
  const Measurements &measured;
  std::FILE *to;
};

} // namespace

void recur::bench::printTables(const Plan &plan, const Measurements &measured, std::FILE *to) {
  Tables(plan, measured, to).printAll();
}
