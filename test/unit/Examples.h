// The recurrences of examples/.
#pragma once
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace recur::test {

/// Their files, in the order of their names.
inline std::vector<std::string> listExamples() {
  std::vector<std::string> paths;
  for (const auto &entry : std::filesystem::directory_iterator(RECUR_SOURCE_DIR "/examples"))
    if (entry.path().extension() == ".recur")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Those whose turn it is among so many, for what takes too long with all of them; each with RECUR_EVERY_EXAMPLE.
inline std::vector<std::string> listExamplesOfTurn(size_t turn, size_t turns) {
  std::vector<std::string> all = listExamples(), some;
  if (std::getenv("RECUR_EVERY_EXAMPLE"))
    return all;
  for (size_t i = turn; i < all.size(); i += turns)
    some.push_back(all[i]);
  return some;
}

inline std::vector<std::string> nameExamples() {
  std::vector<std::string> names;
  for (const std::string &path : listExamples())
    names.push_back(std::filesystem::path(path).stem());
  return names;
}

inline std::string readExample(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

} // namespace recur::test
