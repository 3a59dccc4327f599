#include "Report.h"
#include <algorithm>
#include <fmt/format.h>

using namespace recur::bench;

std::optional<double> recur::bench::getPeakShare(const Measurements &measured, const Shape &shape) {
  auto seconds = measured.getMedian(shape.getName()), best = measured.getBest(peakName);
  if (!seconds || !best)
    return std::nullopt;
  return shape.countFlops() / *seconds / (*measured.getCounter(peakName, "flops") / *best);
}

std::optional<double> recur::bench::getBandwidthShare(const Measurements &measured, const Shape &step,
                                                      const char *peak) {
  auto ratio = measured.getRatio(peak, step.getName());
  if (!ratio)
    return std::nullopt;
  return step.countStateBytes() / *measured.getCounter(peak, "bytes") * *ratio;
}

namespace {

using Figure = std::optional<double>;

class Demands {
public:
  Demands(const Plan &plan, const Measurements &measured) : plan(plan), measured(measured) {}

  std::vector<Demand> judge() {
    Shape gated = plan.getBase("gated_delta_net");
    atLeast("gated_delta_net, flops of the fused chunk form over the FMA peak", getPeakShare(measured, gated), 0.6,
            true);
    for (const char *spec : {"gated_delta_net", "pgdn", "delta_net", "mamba2", "kda", "gla"}) {
      bool byChannel = std::string(spec) == "kda" || std::string(spec) == "gla";
      Shape shape = plan.getBase(spec);
      atLeast(fmt::format("{} over the plain token loop, -O3 -march=native", spec),
              measured.getRatio(getPeerName("strict", shape), shape.getName()), byChannel ? 3 : 4);
    }
    atLeast("gated_delta_net over the chunk algorithm on OpenBLAS",
            measured.getRatio(getPeerName("blas", gated), gated.getName()), 1.3);
    atMost("pgdn's time over gated_delta_net's", getTimeOver(plan.getBase("pgdn"), gated), 1.1);
    atMost("pkda's time over kda's", getTimeOver(plan.getBase("pkda"), plan.getBase("kda")), 1.1);
    addHalf();
    Shape two = gated;
    two.threads = 2;
    atLeast("gated_delta_net, 2 threads over 1", measured.getRatio(gated.getName(), two.getName(), Clock::Wall), 1.8);
    Shape step = plan.getStep("gated_delta_net");
    atLeast(fmt::format("step at B*H = {}, bytes moved over the copy bandwidth", step.B * step.H),
            getBandwidthShare(measured, step), 0.6, true);
    atMost("recurc build of gated_delta_net, seconds", measured.getMedian(buildName, Clock::Wall), 2);
    addSizes();
    addDecays();
    addError();
    return demands;
  }

private:
  void add(const std::string &what, Figure figure, double threshold, bool isMet, bool isShare, const char *word) {
    auto print = [&](double value) {
      return isShare ? fmt::format("{:.1f}%", 100 * value) : fmt::format("{:.2f}", value);
    };
    demands.push_back({what, figure ? print(*figure) : "-", word + (" " + print(threshold)),
                       !figure ? Demand::NotMeasured
                       : isMet ? Demand::Met
                               : Demand::Missed});
  }
  void atLeast(const std::string &what, Figure figure, double threshold, bool isShare = false) {
    add(what, figure, threshold, figure && *figure >= threshold, isShare, "at least");
  }
  void atMost(const std::string &what, Figure figure, double threshold) {
    add(what, figure, threshold, figure && *figure <= threshold, false, "at most");
  }
  Figure getTimeOver(const Shape &shape, const Shape &other) {
    return measured.getRatio(shape.getName(), other.getName());
  }
  /// The largest of what was measured, and what it belongs to.
  struct Worst {
    Figure value;
    std::string of;
    void add(Figure found, const std::string &name) {
      if (found && (!value || *found > *value)) {
        value = found;
        of = name;
      }
    }
    std::string name() const { return of.empty() ? "" : " (worst: " + of + ")"; }
  };

  void addHalf() {
    Worst time, error;
    for (const bench_form &form : getForms()) {
      Shape half = plan.getBase(form.name, "bf16");
      time.add(getTimeOver(half, plan.getBase(form.name)), form.name);
      error.add(measured.getCounter(half.getName(), "error"), form.name);
    }
    atMost("bf16 data, time over float32 data" + time.name(), time.value, 1);
    addErrorOf("bf16 data, relative error" + error.name(), error.value, halfLimit);
  }

  void addSizes() {
    Worst worst;
    Shape base = plan.getBase("gated_delta_net");
    for (auto [K, V] : plan.getSizes()) {
      Shape sized = plan.getSized("gated_delta_net", K, V);
      auto time = getTimeOver(sized, base);
      if (time && K >= 64 && V >= 64)
        worst.add(*time * base.countFlops() / sized.countFlops(), fmt::format("K {}, V {}", K, V));
    }
    atMost("time per flop over that of K=V=128, sizes of 64 and more" + worst.name(), worst.value, 1.7);
  }

  /// Factors of strong decays are nearly zero, which must not cost time.
  void addDecays() {
    Worst worst;
    for (const std::string &spec : plan.getDecayedSpecs())
      for (double slow : plan.getDecays())
        for (double fast : plan.getDecays())
          worst.add(getTimeOver(plan.getDecayed(spec, slow), plan.getDecayed(spec, fast)),
                    fmt::format("{}, {} over {}", spec, slow, fast));
    atMost("time by log decays of -0.05 to -20 a token, slowest over fastest" + worst.name(), worst.value, 1.15);
  }

  void addError() {
    Worst worst;
    for (const bench_form &form : getForms())
      worst.add(measured.getCounter(plan.getBase(form.name).getName(), "error"), form.name);
    addErrorOf("float32 data, relative error" + worst.name(), worst.value, floatLimit);
  }
  void addErrorOf(const std::string &what, Figure error, double limit) {
    demands.push_back({what, error ? fmt::format("{:.1e}", *error) : "-", fmt::format("at most {:.0e}", limit),
                       !error            ? Demand::NotMeasured
                       : *error <= limit ? Demand::Met
                                         : Demand::Missed});
  }

  const Plan &plan;
  const Measurements &measured;
  std::vector<Demand> demands;
};

} // namespace

std::vector<Demand> recur::bench::judgeDemands(const Plan &plan, const Measurements &measured) {
  return Demands(plan, measured).judge();
}

void recur::bench::printDemands(const std::vector<Demand> &demands, bool hasOtherWork, std::FILE *to) {
  const char *words[] = {"met", hasOtherWork ? "not met, on a busy machine perhaps" : "MISSED", "not measured"};
  fmt::print(to, "{:<92} {:>9}  {:<15} {}\n", "", "found", "asked", "");
  for (const Demand &demand : demands)
    fmt::print(to, "{:<92} {:>9}  {:<15} {}\n", demand.what, demand.figure, demand.threshold, words[demand.outcome]);
}
