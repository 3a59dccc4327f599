#include "Analysis/FactorType.h"
#include "Transforms/Chunk/Passes.h"

namespace recur::chunk {
#define GEN_PASS_DEF_CHOOSEFACTORSPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {
struct ChooseFactorsPass : recur::chunk::impl::ChooseFactorsPassBase<ChooseFactorsPass> {
  using ChooseFactorsPassBase::ChooseFactorsPassBase;
  void runOnOperation() override {
    if (getOperation().getFactors())
      return;
    if (FloatType type = recur::analysis::findFactorType(getOperation(), f16))
      getOperation().setFactors(type);
    else if (tf32)
      getOperation().setFactors(FloatTF32Type::get(&getContext()));
  }
};
} // namespace
