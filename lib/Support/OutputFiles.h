// Files that are written all together or not at all.
#pragma once
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace recur {

struct OutputFile {
  std::string path; // "-" is stdout
  std::string bytes;
  bool makesFolder = true; // where its folder is missing
};

/// Makes the folders that are missing, writes each file beside its place, and only then moves all of them there. On an
/// error, or when a signal ends the program, nothing is left beside them.
llvm::Error writeFiles(const std::vector<OutputFile> &files);

} // namespace recur
