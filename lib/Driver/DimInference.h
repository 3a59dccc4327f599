// Finds the sizes of dims in the shapes of arrays, so that `recurc run` needs no --dim.
#pragma once
#include "Data/ArrayFolder.h"
#include "Frontend/Frontend.h"

namespace recur::driver {

/// What the recurrence reads and writes, for openFolder. The program has states beside those that its text declares,
/// where it counts tokens or delays values.
std::vector<data::ArrayDeclaration> getArrayDeclarations(dgps::RecurrenceOp recurrence);
std::vector<data::ArrayDeclaration> getArrayDeclarations(const frontend::RecurrenceInfo &recurrence);

/// Adds to `dims` each dim that is the side of an array. Where two files disagree, or a file and `dims`, the message
/// names both.
llvm::Error inferDims(const frontend::RecurrenceInfo &recurrence, llvm::ArrayRef<data::ArrayFile> files,
                      std::map<std::string, int64_t> &dims);

} // namespace recur::driver
