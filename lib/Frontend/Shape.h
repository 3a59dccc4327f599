#pragma once

#include <cassert>
#include <cstdint>

namespace recur::frontend {

/// One side of a shape: a dim of the recurrence, or a number.
///
/// Two dims are the same only by name: K and V differ even when both are 128 at compile time, so that a specification
/// that compiles for one choice of sizes compiles for all. A number is the same as whatever has its value.
class Extent {
public:
  Extent() = default; // unknown, after an error
  static Extent ofDim(uint32_t index) { return Extent(kDimBit | index); }
  static Extent ofNumber(uint32_t value) { return Extent(value); }

  bool isUnknown() const { return code == 0; }
  bool isDim() const { return code & kDimBit; }
  uint32_t getDimIndex() const { return code & ~kDimBit; }
  uint32_t getNumber() const { return code; }
  friend bool operator==(Extent, Extent) = default;

private:
  static constexpr uint32_t kDimBit = 0x80000000;
  explicit Extent(uint32_t code) : code(code) {}
  uint32_t code = 0;
};

/// The shape of an expression. `Diagonal` is what `diag(a)` has: a square matrix that exists only beside '@'.
class Shape {
public:
  enum Kind : uint8_t { Unknown, Scalar, Vector, Matrix, Diagonal };

  Shape() = default; // unknown: an error was reported already, and nothing more is said
  static Shape scalar() { return Shape(Scalar, {}, {}); }
  static Shape vector(Extent size) { return Shape(Vector, size, {}); }
  static Shape matrix(Extent rows, Extent columns) { return Shape(Matrix, rows, columns); }
  static Shape diagonal(Extent size) { return Shape(Diagonal, size, size); }

  Kind getKind() const { return kind; }
  bool isUnknown() const { return kind == Unknown; }
  bool isScalar() const { return kind == Scalar; }
  bool isVector() const { return kind == Vector; }
  bool isMatrix() const { return kind == Matrix; }
  bool isDiagonal() const { return kind == Diagonal; }
  /// Whether the numbers are complex, pairs of real ones. Rules of shapes do not look at it.
  bool isComplex() const { return complexNumbers; }
  Shape ofNumbers(bool areComplex) const {
    Shape result = *this;
    result.complexNumbers = areComplex && !isUnknown();
    return result;
  }
  unsigned getRank() const { return isScalar() ? 0 : isVector() ? 1 : 2; }

  Extent getSize() const {
    assert(isVector() || isDiagonal());
    return extents[0];
  }
  Extent getRows() const { return extents[0]; }
  Extent getColumns() const { return extents[1]; }
  Extent getExtent(unsigned i) const { return extents[i]; }

private:
  Shape(Kind kind, Extent first, Extent second) : extents{first, second}, kind(kind) {}
  Extent extents[2];
  Kind kind = Unknown;
  bool complexNumbers = false;
};

} // namespace recur::frontend
