// Folders of .npy files: `input.q.npy`, `param.mu.npy` and `initial.S.npy` are read, `output.o.npy` and `final.S.npy`
// written; for a gradient `cotangent.o.npy` and `cotangent.S.npy` are read, `gradient.q.npy`, `gradient.mu.npy` and
// `gradient.initial.S.npy` written.
#pragma once
#include "Data/Data.h"
#include "Data/Npy.h"
#include "Support/OutputFiles.h"
#include "Target/DataTypes.h"

namespace recur::data {

struct ArrayFile {
  data::Role role;
  std::string name; // of the input, param, state or output
  std::string path;
  std::vector<int64_t> shape;
};

/// A name that a recurrence declares, and what its file is called.
struct ArrayDeclaration {
  data::Role role;
  std::string name;
  bool sharesName = false; // a state whose cotangent is told from that of the output of its name: cotangent.final.S.npy
  std::string getFileName() const;
  /// That of the gradient of an input, a param or an initial state; a folder may hold what a run backward left there.
  std::string getGradientFileName() const;
};

/// Finds the files of `declarations` in the folder and reads their headers. Files that are not .npy are left alone, and
/// so are those of outputs and final states, and of cotangents unless they are wanted; any other .npy is an error
/// unless `othersToo`, and so is a missing input or param.
llvm::Expected<std::vector<ArrayFile>> openFolder(llvm::StringRef folder, llvm::ArrayRef<ArrayDeclaration> declarations,
                                                  bool wantsCotangents = false, bool othersToo = false);

/// Reads the elements of the files of inputs, params and initial states.
llvm::Expected<data::Data> readArrays(llvm::ArrayRef<ArrayFile> files, const data::Sizes &sizes);

/// Reads the elements of the files of cotangents.
llvm::Expected<data::Results> readCotangents(llvm::ArrayRef<ArrayFile> files);

/// `gradient.q.npy` of inputs and params, `gradient.initial.S.npy` of states. States that have no type of their own are
/// written as all arrays are.
std::vector<OutputFile> printGradient(llvm::StringRef folder, const data::Data &gradient, const DataTypes &types);

std::vector<OutputFile> printResults(llvm::StringRef folder, const data::Results &results, const DataTypes &types);

} // namespace recur::data
