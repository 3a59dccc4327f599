// The candidates for a plan: which one is taken, what each would cost, and why the others are not.
#pragma once
#include "Compile/Backend.h"
#include "llvm/Support/JSON.h"

namespace recur::explain {

/// Candidates with other chunks are those of the first kernel. Empty where there was no choice.
std::string writeCandidates(const compile::KernelReport &report, const Target &target);
llvm::json::Array listCandidates(const compile::KernelReport &report);

} // namespace recur::explain
