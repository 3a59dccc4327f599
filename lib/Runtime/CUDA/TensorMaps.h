// What the copy unit of a multiprocessor knows of the arrays that it brings rows of.
#pragma once
#include "Runtime/CUDA/Library.h"
#include "Runtime/CUDA/Phases.h"

namespace recur::runtime {

/// Puts the maps of a launch behind its words, which say where arrays lie and have been filled; `arrays` counts them,
/// with flags. Whether all maps are there: those of packed sequences, of arrays that are absent, or that begin or go on
/// elsewhere than at multiples of 16 bytes cannot be made, and threads copy then.
bool fillMaps(int64_t *words, const CUDALibrary &cuda, const recur_launch_info &launch, int arrays,
              const Call &resolved, const recur_kernel_info &kernel);

} // namespace recur::runtime
