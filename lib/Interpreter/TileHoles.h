// Elements without meaning. A hole is a number that is not a number, of a kind that no arithmetic makes; its bits name
// the record of how it came to be and an element, so that a message can tell.
#pragma once
#include "dialects/Tile/Tile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/bit.h"
#include <map>
#include <tuple>
#include <vector>

namespace recur::interpreter {

inline bool isHole(double x) { return (llvm::bit_cast<uint64_t>(x) >> 48) == 0xFFFD; }

/// What is computed is without meaning if one of the operands is: which one a processor lets through is its own affair.
inline double keepHoles(double result, std::initializer_list<double> operands) {
  if (result != result)
    for (double operand : operands)
      if (isHole(operand))
        return operand;
  return result;
}

/// How a hole came to be.
struct HoleRecord {
  enum Kind {
    Unwritten,   // `op` read what nothing had written
    Overwritten, // `op` read where the tile of `other` had been written last
    BeyondRows,  // `op` computed fewer rows
    LeftOut,     // `op` has a triangle
  } kind;
  mlir::Operation *op;
  tile::TileType type;              // of the tile that has the element
  mlir::Operation *other = nullptr; // an alloc
  bool operator<(const HoleRecord &right) const {
    return std::tuple(kind, op, type.getAsOpaquePointer(), other) <
           std::tuple(right.kind, right.op, right.type.getAsOpaquePointer(), right.other);
  }
};

class Holes {
public:
  /// The number of a record, new or known.
  uint64_t add(const HoleRecord &record);
  /// The hole for the element that is number `element` of the record's tile, row by row.
  static double make(uint64_t record, int64_t element);
  /// The hole's story, as the end of a sentence.
  std::string describe(double hole) const;

private:
  std::map<HoleRecord, uint64_t> numbers;
  std::vector<HoleRecord> records;
};

/// An op, for a message: `tile.map (plan.mlir:3:5)`.
std::string describeOp(mlir::Operation *op);
/// `[2, 0]`: element number `element` of a tile of the shape.
std::string describeElement(llvm::ArrayRef<int64_t> shape, int64_t element);

} // namespace recur::interpreter
