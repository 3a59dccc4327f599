// What headers and manifests say of summaries of a sequence's parts.
#pragma once
#include "Codegen/Embed/KernelInterface.h"
#include "llvm/Support/raw_ostream.h"

namespace recur::codegen {

/// Prints the calls of an entry whose names begin with `name`, forward or backward; nothing where there are no
/// summaries.
void printSummaryCalls(llvm::raw_ostream &os, const KernelInterface &interface, llvm::StringRef name, bool isBackward);

/// Those that calls use, on processors or on a GPU; none where there are none.
llvm::ArrayRef<InterfaceSummary> findSummaries(const KernelInterface &interface);

/// The float32 numbers that the map and the offset of a head have, and the state's name.
int64_t countMapNumbers(const KernelInterface &interface, const InterfaceSummary &summary);
int64_t countStateNumbers(const KernelInterface &interface, const InterfaceSummary &summary);
llvm::StringRef getStateName(const KernelInterface &interface, const InterfaceSummary &summary);

} // namespace recur::codegen
