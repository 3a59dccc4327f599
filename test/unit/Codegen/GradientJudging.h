// How near the gradients of kernels must be.
#pragma once
#include "Check/GradientStages.h"
#include "Engine/HostEngine.h"
#include "gtest/gtest.h"

namespace recur {

inline void expectNearDualNumbers(dgps::RecurrenceOp recurrence, const check::PreparedGradient &prepared,
                                  const check::JudgedGradient &drawn, const data::Data &gradient) {
  auto comparison = check::compareGradient(recurrence, prepared, drawn, gradient);
  ASSERT_TRUE(bool(comparison)) << llvm::toString(comparison.takeError());
  EXPECT_LE(comparison->error, comparison->limit)
      << "along " << comparison->array << ", T = " << drawn.data.sizes.tokens;
}

/// Kernels of 16 bits on tame data, each gradient by itself against that of the program in float64 on the same numbers.
/// Little may be left of a sum whose terms are rounded. The gradient of an angle is the difference of two such sums at
/// each token: it may be off by as much as the largest errors of rounding make in the program, by the same share of
/// them as outputs may (0.95). That of a param, or of a state before the first token, is a single sum over all tokens,
/// and not many numbers to take a mean of: it may be off by a few times as much (four, as in check).
inline void expectNearOfSixteenBits(const check::PreparedGradient &prepared, const check::JudgedGradient &drawn,
                                    const data::Data &got, DataType type) {
  data::Data want = llvm::cantFail(prepared.runExact(drawn.data, drawn.cotangents));
  data::Data disturbed = llvm::cantFail(prepared.runDisturbed(drawn.data, drawn.cotangents));
  for (auto arrays : {&data::Data::inputs, &data::Data::params, &data::Data::initial})
    for (const auto &[name, array] : want.*arrays) {
      double share = arrays == &data::Data::inputs ? 0.95 : 4;
      double limit = std::max(1e-2, share * data::relativeRms((disturbed.*arrays).at(name), array));
      EXPECT_LE(data::relativeRms((got.*arrays).at(name), array), limit) << name << ", " << getName(type).str();
    }
}

} // namespace recur
