#include "Codegen/NVPTX/Image.h"
#include "ABI/GPUImage.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"
#include <cassert>

using namespace llvm;
using namespace recur;

std::string codegen::joinPTX(ArrayRef<std::string> kernels) {
  // Each text begins with the version, the target, and this.
  constexpr StringLiteral endOfHead = ".address_size 64\n";
  std::string joined;
  for (StringRef kernel : kernels) {
    size_t end = kernel.find(endOfHead);
    assert(end != StringRef::npos && "PTX of 64 bits");
    joined += joined.empty() ? kernel : kernel.substr(end + endOfHead.size());
  }
  return joined;
}

namespace {
/// Bytes one behind another, from a place of the image on.
class Section {
public:
  explicit Section(uint64_t begin) : begin(begin) {}
  /// Where these are: each bytes are there once.
  uint64_t add(StringRef added) {
    auto [place, isNew] = places.try_emplace(added, begin + bytes.size());
    if (isNew)
      bytes += added;
    return place->second;
  }
  void align(uint64_t alignment) { bytes.resize(alignTo(begin + bytes.size(), alignment) - begin); }
  uint64_t getEnd() const { return begin + bytes.size(); }
  const std::string &get() const { return bytes; }

private:
  uint64_t begin;
  std::string bytes;
  StringMap<uint64_t> places;
};
} // namespace

template <class Data> static std::string toBytes(ArrayRef<Data> data) {
  return std::string(reinterpret_cast<const char *>(data.data()), data.size() * sizeof(Data));
}

std::string codegen::joinCubins(ArrayRef<KernelCubin> kernels) {
  abi::ImageTable table = {{}, kernels.size()};
  copy(abi::imageMagic, table.magic);
  std::vector<abi::ImageTable::Kernel> entries(kernels.size());
  Section names(sizeof(table) + entries.size() * sizeof(entries[0]));
  auto addName = [&](StringRef name) { return names.add(std::string(name) + '\0'); };
  for (auto [entry, kernel] : zip(entries, kernels)) {
    entry.symbol = addName(kernel.symbol);
    entry.function = addName(kernel.function);
  }
  names.align(abi::imageAlignment);
  Section code(names.getEnd());
  for (auto [entry, kernel] : zip(entries, kernels)) {
    entry.code = code.add(kernel.code);
    code.align(abi::imageAlignment);
  }
  return toBytes(ArrayRef(table)) + toBytes(ArrayRef(entries)) + names.get() + code.get();
}
