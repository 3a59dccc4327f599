// Folders of .npy files: `input.q.npy`, `param.mu.npy` and `initial.S.npy` are read, `output.o.npy` and `final.S.npy`
// written.
#pragma once
#include "Data/Data.h"
#include "Data/Npy.h"
#include "Support/OutputFiles.h"

namespace recur::data {

struct ArrayFile {
  interpreter::Role role;
  std::string name; // of the input, param, state or output
  std::string path;
  std::vector<int64_t> shape;
};

/// A name that a recurrence declares, and what its file is called.
struct ArrayDeclaration {
  interpreter::Role role;
  std::string name;
  std::string getFileName() const;
};

/// Finds the files of `declarations` in the folder and reads their headers. Files that are not .npy are left alone, and
/// so are those of outputs and final states; any other .npy is an error, and so is a missing input or param.
llvm::Expected<std::vector<ArrayFile>> openFolder(llvm::StringRef folder,
                                                  llvm::ArrayRef<ArrayDeclaration> declarations);

/// Reads the files' elements.
llvm::Expected<interpreter::Data> readArrays(llvm::ArrayRef<ArrayFile> files, const interpreter::Sizes &sizes);

std::vector<OutputFile> printResults(llvm::StringRef folder, const interpreter::Results &results, DataType type);

} // namespace recur::data
