#include "Check/RoundedTypes.h"
#include "Analysis/StoredTypes.h"
#include "Check/CheckStages.h"
#include "Compile/KernelPlans.h"
#include "dialects/Chunk/Chunk.h"

using namespace llvm;
using namespace recur;
using namespace recur::check;

Expected<RoundedTypes> check::findRoundedTypes(dgps::RecurrenceOp recurrence, const PipelineOptions &options,
                                               bool backward) {
  auto module = compile::copyTo("chunk", recurrence, options);
  if (!module)
    return module.takeError();
  auto program = *(**module).getOps<chunk::ProgramOp>().begin();
  DataType factors = program.hasTF32Factors() ? DataType::F16 : analysis::getStoredDataType(program.getFactors());
  // Plans of f16 alone round nothing on their way, but might.
  auto isF16 = [](chunk::InputOp input) { return analysis::getStoredDataType(input.getStored()) == DataType::F16; };
  if (!program.getFactors() && !program.getInputs().empty() && all_of(program.getInputs(), isF16))
    factors = DataType::F16;
  RoundedTypes types{factors, factors, false, program.hasTF32Factors()};
  auto add = [&](auto arrays, bool isWritten) {
    for (auto array : arrays) {
      DataType type = analysis::getStoredDataType(array.getStored());
      types.hasF16 |= type == DataType::F16;
      if (isWritten && unitRoundoff(type) > unitRoundoff(types.coarsest))
        types.coarsest = type;
    }
  };
  add(program.getInputs(), backward);
  add(program.getParams(), backward);
  // Forward, a final state is held to its own type besides, and what goes on from a state is not rounded with it.
  add(program.getStates(), backward);
  add(program.getOutputs(), !backward);
  return types;
}
