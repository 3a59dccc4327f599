// What is measured.
#pragma once
#include "Kernels.h"

namespace recur::bench {

/// Where the full run's sizes and the quick run's differ.
struct Plan {
  bool isQuick = false;
  bool hasBlas = false;
  int64_t T = 4096;        // of what recurrences are compared at
  int64_t stepBatch = 512; // times 4 heads: their states lie far beyond the caches

  Shape getBase(const std::string &spec, const std::string &dtype = "f32", const std::string &target = "host") const;
  Shape getStep(const std::string &spec, const std::string &dtype = "f32") const;
  /// One head of very many tokens.
  Shape getLong(const std::string &spec, recur_plan plan, int32_t threads) const;
  /// Where the logarithms of decays have this mean.
  Shape getDecayed(const std::string &spec, double decay) const;
  Shape getSized(const std::string &spec, int64_t K, int64_t V) const;

  /// What is measured at all: rows and columns of the tables.
  std::vector<int32_t> getThreads() const; // more than one
  std::vector<int64_t> getTokens() const;
  std::vector<int64_t> getHeads() const;
  std::vector<std::pair<int64_t, int64_t>> getSizes() const;
  std::vector<std::string> getSizedSpecs() const;
  std::vector<std::string> getOtherTargets() const;
  std::vector<std::string> getLongSpecs() const; // those with the plan segment
  std::vector<double> getDecays() const;         // weak to strong
  std::vector<std::string> getDecayedSpecs() const;
};

inline constexpr const char *peakName = "peak/multiply_adds";
inline constexpr const char *copyName = "peak/copy";
inline constexpr const char *updateName = "peak/update";
inline constexpr const char *buildName = "recurc/build/gated_delta_net";

/// Largest relative differences: of float32 and of half-precision kernels from float64, and of peers from kernels.
inline constexpr double floatLimit = 1e-5, halfLimit = 4e-3, peerLimit = 1e-4;

/// Registers every benchmark once for each round, round by round, so that what is compared runs in turn and a change of
/// the machine's speed meets all alike.
void registerCases(const Plan &plan, int rounds);

} // namespace recur::bench
