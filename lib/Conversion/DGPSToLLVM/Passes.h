// The step from recurrences to the LLVM dialect, token by token.
#pragma once
#include "dialects/DGPS/DGPS.h"
#include "mlir/Pass/Pass.h"

namespace recur::conversion {

#define GEN_PASS_DECL
#include "Conversion/DGPSToLLVM/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Conversion/DGPSToLLVM/Passes.h.inc"

} // namespace recur::conversion
