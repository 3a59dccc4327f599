#include "Runtime/CUDA/HandOver.h"
#include "Runtime/CUDA/InPlace.h"
#include "Runtime/CUDA/Phases.h"
#include "Runtime/Common/Gradients.h"
#include "Runtime/Common/Message.h"

using namespace recur::runtime;

static const recur_kernel_info &getKernel(const Call &resolved) {
  return *resolved.recurrence->gradient->handing_launches;
}

void recur::runtime::planHandOver(Call &resolved) {
  const recur_kernel_info &kernel = getKernel(resolved);
  resolved.slots = resolved.sequences * resolved.heads;
  resolved.slotBytes = roundUp(kernel.workspace_bytes);
  int64_t bytes = isInPhases(kernel) ? arrangePhases(resolved, kernel).bytes : 0;
  resolved.records = 1;
  resolved.recordBytes = bytes < 0 ? INT64_MAX : bytes; // too much is refused
}

/// As its kernel has it: a row for each chunk, of one sequence behind another.
static Argument toRows(const Argument &handed, const Call &resolved) {
  Argument rows = handed;
  int64_t row = handed.elements * resolved.heads;
  rows.strides[2] = handed.elements;
  rows.strides[1] = row;
  rows.strides[0] =
      isPacked(*resolved.call) || !resolved.sequences ? row : countHandedRows(resolved) / resolved.sequences * row;
  return rows;
}

recur_status recur::runtime::runHandingOver(const Device &device, const Call &resolved) {
  const recur_kernel_info &kernel = getKernel(resolved);
  if (Staged(resolved).isNeeded(kernel))
    return fail(RECUR_OVERLAP,
                "%s: a call that hands states over writes final states before it has read all initial ones; give final "
                "states memory of their own",
                resolved.recurrence->name);
  Call piece = resolved;
  for (int32_t i = 0; i < resolved.keptCount; ++i) {
    Argument &handed = piece.arguments[piece.argumentCount++];
    handed = toRows(handed, resolved);
  }
  piece.keptCount = 0;
  return launchKernel(device, piece, kernel);
}
