// Examples that take turns, for what takes too long with all of them; and the targets that are not Hopper's own, whose
// kernels other tests have.
#pragma once
#include "Examples.h"
#include "Target/GPUProfile.h"
#include "gtest/gtest.h"
#include <cstdlib>

namespace recur::test {

struct NumberedExample {
  std::string path;
  size_t number;
};

inline std::vector<NumberedExample> listNumberedExamples() {
  std::vector<NumberedExample> all;
  for (const std::string &path : listExamples())
    all.push_back({path, all.size()});
  return all;
}

inline std::string nameOfNumbered(const ::testing::TestParamInfo<NumberedExample> &info) {
  return std::filesystem::path(info.param.path).stem().string();
}

/// Whether the example has its turn among so many; each has with RECUR_EVERY_GPU.
inline bool takesTurn(const NumberedExample &example, size_t turn, size_t turns) {
  return std::getenv("RECUR_EVERY_GPU") || example.number % turns == turn;
}

/// All of them for each example with RECUR_EVERY_GPU; else one, another for each example.
inline std::vector<const GPUProfile *> listFamilies(const NumberedExample &example) {
  std::vector<const GPUProfile *> families;
  for (const GPUProfile &gpu : getGPUProfiles())
    if (!gpu.hasWarpgroupProducts)
      families.push_back(&gpu);
  return std::getenv("RECUR_EVERY_GPU") ? families : std::vector{families[example.number / 6 % families.size()]};
}

} // namespace recur::test
