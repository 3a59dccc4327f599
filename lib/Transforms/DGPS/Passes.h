// Passes that rewrite dgps to dgps.
#pragma once

#include "dialects/DGPS/DGPS.h"
#include "mlir/Pass/Pass.h"

namespace recur::dgps {

#define GEN_PASS_DECL
#include "Transforms/DGPS/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Transforms/DGPS/Passes.h.inc"

} // namespace recur::dgps
