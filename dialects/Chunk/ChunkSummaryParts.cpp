#include "dialects/Chunk/ChunkSummaryParts.h"

using namespace recur::chunk;

std::string recur::chunk::nameScales(llvm::StringRef state) { return (state + ".scales").str(); }

llvm::SmallVector<StateOp, 3> SummaryParts::list() const {
  if (scales)
    return {scales, map, offset};
  return {map, offset};
}

SummaryParts recur::chunk::getSummaryParts(ProgramOp summary) {
  SummaryParts parts;
  parts.known = summary.getStates();
  parts.offset = parts.known.pop_back_val();
  parts.map = parts.known.pop_back_val();
  if (!parts.known.empty() && parts.known.back().getName() == nameScales(*summary.getSummaryOf()))
    parts.scales = parts.known.pop_back_val();
  return parts;
}
