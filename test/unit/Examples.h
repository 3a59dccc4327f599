// The recurrences of examples/.
#pragma once
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
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
