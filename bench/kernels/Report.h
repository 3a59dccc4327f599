// The tables of ratios after a run.
#pragma once
#include "Cases.h"
#include "Measurements.h"
#include <cstdio>

namespace recur::bench {

/// What is asked of the kernels, each line with what was found: met, missed, or not measured.
struct Demand {
  std::string what, figure, threshold;
  enum { Met, Missed, NotMeasured } outcome;
};
std::vector<Demand> judgeDemands(const Plan &plan, const Measurements &measured);
/// What is not met may be for want of the processor, where other programs had part of it.
void printDemands(const std::vector<Demand> &demands, bool hasOtherWork, std::FILE *to);

/// Everything else, as ratios. What was not measured is a dash.
void printTables(const Plan &plan, const Measurements &measured, std::FILE *to);

/// A share of the best multiply-add rate; of the median bandwidth of copying or of updating in place.
std::optional<double> getPeakShare(const Measurements &measured, const Shape &shape);
std::optional<double> getBandwidthShare(const Measurements &measured, const Shape &step, const char *peak = copyName);

} // namespace recur::bench
