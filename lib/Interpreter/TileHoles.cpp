#include "Interpreter/TileHoles.h"
#include "Data/Array.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;
using namespace recur;
using namespace recur::interpreter;

// Sign, exponent and the quiet bit are set, as the mark's last two bits are 01. No processor makes those of a wrong
// sum.
static constexpr uint64_t mark = uint64_t(0xFFFD) << 48;
static constexpr unsigned elementBits = 28;
static constexpr uint64_t largestElement = (1 << elementBits) - 1;

uint64_t Holes::add(const HoleRecord &record) {
  auto [entry, isNew] = numbers.try_emplace(record, records.size());
  if (isNew)
    records.push_back(record);
  return entry->second;
}

double Holes::make(uint64_t record, int64_t element) {
  return bit_cast<double>(mark | record << elementBits | std::min<uint64_t>(element, largestElement));
}

std::string interpreter::describeElement(ArrayRef<int64_t> shape, int64_t element) {
  std::vector<int64_t> indices(shape.size());
  for (size_t dim = shape.size(); dim-- > 0;) {
    indices[dim] = dim ? element % shape[dim] : element;
    element /= shape[dim];
  }
  return printShape(indices);
}

std::string interpreter::describeOp(mlir::Operation *op) {
  std::string text = op->getName().getStringRef().str();
  if (auto location = op->getLoc()->findInstanceOf<mlir::FileLineColLoc>())
    text += (" (" + location.getFilename().getValue() + ":" + Twine(location.getLine()) + ":" +
             Twine(location.getColumn()) + ")")
                .str();
  return text;
}

std::string Holes::describe(double hole) const {
  uint64_t bits = bit_cast<uint64_t>(hole) & ~(uint64_t(0xFFFF) << 48);
  const HoleRecord &record = records[bits >> elementBits];
  std::string element = "element " + describeElement(record.type.getShape(), bits & largestElement);
  std::string op = describeOp(record.op);
  switch (record.kind) {
  case HoleRecord::Unwritten:
    return op + " read " + element + " of a tile, which nothing had written";
  case HoleRecord::Overwritten:
    return op + " read " + element + " of a tile, where the tile of " + describeOp(record.other) +
           " had been written last";
  case HoleRecord::BeyondRows:
    return op + " left " + element + " of its result behind its last row";
  case HoleRecord::LeftOut:
    return op + " left " + element + " out of its result, which is a triangle";
  }
  llvm_unreachable("a kind of hole");
}
