// Where an element of a matrix lies: in which register of which lane, and at which byte of shared memory.
//
// THE ONE IDEA. NVIDIA's matrix units know one piece of data: a *matrix* of 8 rows of 16 bytes, that is of 8 columns of
// 16 bits or of 4 columns of 32 bits. A warp has it as one word of 4 bytes in each lane: lane l has word l mod 4 of row
// l / 4. Nothing else has to be remembered, for all else is made of such matrices:
//
//       word   0    1    2    3
//     row 0    L0   L1   L2   L3        A row of 16 bytes is called a *piece*. It is also what one lane gives the
//     row 1    L4   L5   L6   L7        address of in `ldmatrix` and `stmatrix`, what the widest asynchronous copy
//      ...                              brings, and what swizzled memory moves as a whole.
//     row 7    L28  L29  L30  L31
//
// - *Factors* are matrices one behind another. A left factor of 16 rows has four: those of its upper 8 rows and of its
//   lower ones, and behind them the same of the other half of its inner indices. A right factor of 8 columns has two,
//   whose rows are the columns and whose columns are the inner indices. An instruction takes 16 inner indices of 16
//   bits, or 8 of tf32.
// - *Sums* are of f32, in units of 16 rows and 8 columns. As two numbers of 32 bits are one pair of neighbours, a lane
//   has of the rows l / 4 and l / 4 + 8 the columns 2 (l mod 4) and the next: the places that its words of 16-bit
//   numbers have in a matrix. So two neighbouring sums, rounded and packed, are a word of a left factor, and a
//   product's sums become the next product's left factor with nothing passed between lanes.
// - *A warp's part* of a larger result is units side by side, row of units by row of units. Warp w of a warpgroup has
//   the rows from 16 w on, whether its warps multiply by themselves (`mma.sync`) or together (`wgmma`).
// - *Panels* are how factors lie in shared memory: 128 bytes of each row, one row behind another, and then the same of
//   the next 128 bytes. The banks of shared memory are 128 bytes wide too, so the pieces of a matrix, one below
//   another, would all lie in the same four banks. They are permuted: the piece that would be at place p of row r is at
//   place p xor (r mod 8). Then the pieces of a matrix lie in different banks, and so do those of a row.
//
// Every function here takes the arithmetic that it computes with. `KnownNumbers` computes with numbers; a lowering
// gives what writes instructions, and its numbers are those of a running thread. So interpreter, plans, code and tests
// have the same formulas. What is the same in all lanes, such as how far a lane's numbers are apart, is a plain number.
//
// The laws are tested (test/unit/Tile/FragmentLayoutTest.cpp): each element is in one place and each place has one
// element; sums are factors; matrices that are loaded are factors; stores leave what loads expect; no two lanes that
// are served at once meet in a bank.
#pragma once
#include <cstdint>

namespace recur::tile {

/// Arithmetic of numbers that are known.
struct KnownNumbers {
  static constexpr int64_t add(int64_t a, int64_t b) { return a + b; }
  static constexpr int64_t multiply(int64_t a, int64_t b) { return a * b; }
  static constexpr int64_t divide(int64_t a, int64_t b) { return a / b; }
  static constexpr int64_t remainder(int64_t a, int64_t b) { return a % b; }
  static constexpr int64_t exclusiveOr(int64_t a, int64_t b) { return a ^ b; }
};

/// A place in a matrix.
template <typename Number> struct Position {
  Number row, column;
};
using KnownPosition = Position<int64_t>;

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

inline constexpr int64_t matrixRows = 8, pieceBytes = 16, wordBytes = 4;
inline constexpr int64_t wordsOfPiece = pieceBytes / wordBytes; // and so many lanes have a row of a matrix
inline constexpr int64_t pieceHalves = pieceBytes / 2;          // numbers of 16 bits

/// The row of a matrix that a lane has a word of.
template <typename Arithmetic, typename Number> Number rowOfLane(Arithmetic &&t, Number lane) {
  return t.divide(lane, wordsOfPiece);
}
/// Which of the row's words that is: the column, where columns have 32 bits.
template <typename Arithmetic, typename Number> Number wordOfLane(Arithmetic &&t, Number lane) {
  return t.remainder(lane, wordsOfPiece);
}
/// The first of the two columns of 16 bits that the lane's word has; also of sums.
template <typename Arithmetic, typename Number> Number pairOfLane(Arithmetic &&t, Number lane) {
  return t.multiply(wordOfLane(t, lane), 2);
}

/// Four matrices that are a block of 16 rows of two pieces, in the order in which they become words: those of the left
/// pieces first, as a left factor has them, or those of the upper rows first, as two right factors have them.
enum class BlockOrder { LeftFirst, UpperFirst };

/// A piece of a block, and the line of its matrix that it is: the row modulo 8.
template <typename Number> struct BlockPiece {
  Number row, piece, line;
};

/// The piece whose address a lane gives for `ldmatrix` and `stmatrix`: of row l mod 8 of matrix l / 8.
template <typename Arithmetic, typename Number>
BlockPiece<Number> addressedPiece(Arithmetic &&t, Number lane, BlockOrder order) {
  Number line = t.remainder(lane, matrixRows), matrix = t.divide(lane, matrixRows);
  Number fast = t.remainder(matrix, 2), slow = t.divide(matrix, 2);
  bool isLeftFirst = order == BlockOrder::LeftFirst;
  return {t.add(line, t.multiply(isLeftFirst ? fast : slow, matrixRows)), isLeftFirst ? slow : fast, line};
}

//===----------------------------------------------------------------------===//
// Factors and sums
//===----------------------------------------------------------------------===//

/// The factors of an instruction. How far the elements of a lane's words are from the element at the lane's row and
/// word: a word has `perWord` neighbours.
struct FactorLayout {
  int64_t inner; // indices of an instruction
  static constexpr FactorLayout ofHalves() { return {16}; }
  static constexpr FactorLayout ofTF32() { return {8}; }
  constexpr int64_t perWord() const { return inner / (2 * wordsOfPiece); }

  static constexpr int64_t leftWords = 4, rightWords = 2;
  /// Of a left factor: rows, and inner indices as columns.
  constexpr KnownPosition offsetOfLeft(int64_t word) const { return {word % 2 * matrixRows, word / 2 * inner / 2}; }
  /// Of a right factor: inner indices. The lane's row is the column.
  constexpr int64_t offsetOfRight(int64_t word) const { return word * inner / 2; }
};

/// A warp's sums: units of 16 rows and 8 columns, row of units by row of units.
struct SumsLayout {
  static constexpr int64_t unitRows = 2 * matrixRows, unitColumns = 8, numbersOfUnit = 4;
  int64_t columnUnits = INT64_MAX; // in a row of units; else all are in one

  static constexpr int64_t unitOf(int64_t number) { return number / numbersOfUnit; }
  /// Whether a number is of the lower 8 rows of its unit, and whether it is the second of two neighbours.
  static constexpr int64_t lowerOf(int64_t number) { return number / 2 % 2; }
  static constexpr int64_t secondOf(int64_t number) { return number % 2; }
  /// Which 8 rows, and which 8 columns, a number is of.
  constexpr int64_t rowEightOf(int64_t number) const { return 2 * (unitOf(number) / columnUnits) + lowerOf(number); }
  constexpr int64_t columnEightOf(int64_t number) const { return unitOf(number) % columnUnits; }
  /// The number of those 8 rows and columns.
  constexpr int64_t numberAt(int64_t rowEight, int64_t columnEight, int64_t second) const {
    return numbersOfUnit * (rowEight / 2 * columnUnits + columnEight) + rowEight % 2 * 2 + second;
  }
  /// How far a lane's number is from its first one, which is at the lane's row and pair.
  constexpr KnownPosition offsetOf(int64_t number) const {
    return {rowEightOf(number) * matrixRows, columnEightOf(number) * unitColumns + secondOf(number)};
  }
};

/// Sums of 16 rows: a warp's own, or its part of a warpgroup's. A lane has half as many numbers as there are columns.
inline constexpr SumsLayout warpSums{};

/// The row of a lane's first number, of a warp of a warpgroup.
template <typename Arithmetic, typename Number> Number rowOfWarp(Arithmetic &&t, Number warp, Number lane) {
  return t.add(t.multiply(warp, SumsLayout::unitRows), rowOfLane(t, lane));
}

//===----------------------------------------------------------------------===//
// Inner indices in another order
//===----------------------------------------------------------------------===//

/// Sums as a left factor of tf32, where a lane's words are the columns n and n + 4 of each eight, and not two
/// neighbours: which of a unit's numbers is each word, and which column is inner index n. The right factor's inner
/// indices lie in the same order (`tile.invert ... exchanged`).
inline constexpr int64_t exchangedNumber(int64_t word) { return word % 2 * 2 + word / 2; }
inline constexpr int64_t exchangedColumn(int64_t inner) { return inner % 4 * 2 + inner / 4; }

/// Which token of each eight a column of sums is where products read tiles of f32: 0, 4, 2, 6, 5, 1, 7, 3. In this
/// order lanes read rows of tokens, columns of them and matrices of tokens without conflicts of banks. For halved, the
/// tokens of the first four columns differ, and so do those of the other four, those of even columns and those of odd
/// ones; and those of even columns, and of odd ones, differ modulo 4 too.
template <typename Arithmetic, typename Number> Number tokenOfColumn(Arithmetic &&t, Number column) {
  Number isSecond = t.remainder(column, 2), pair = t.divide(column, 2);
  Number isUpper = t.divide(pair, 2), inHalf = t.remainder(pair, 2);
  Number low = t.add(t.multiply(inHalf, 2), isUpper);
  return t.add(t.multiply(t.exclusiveOr(isSecond, isUpper), 4), low);
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// How the hardware permutes shared memory, by 32, 64 or 128 bytes: which piece of 16 bytes a byte is in changes with
/// which 128 bytes it is in.
struct Swizzle {
  static constexpr int64_t lineBytes = 128;
  int64_t bytes; // 0: it does not
  constexpr int64_t permute(int64_t byte) const {
    return bytes ? byte ^ (byte / lineBytes % (bytes / pieceBytes) * pieceBytes) : byte;
  }
};

/// A tile of shared memory in panels, whose pieces are permuted by 128 bytes: its rows, and the bytes of an element.
struct PanelLayout {
  static constexpr int64_t rowBytes = 128, pieces = rowBytes / pieceBytes; // of a row of a panel
  static constexpr int64_t permutedRows = matrixRows;                      // after so many rows the order comes again
  static constexpr int64_t alignment = permutedRows * rowBytes;            // of where a tile begins
  int64_t rows, elementBytes;

  constexpr int64_t columns() const { return rowBytes / elementBytes; } // of a panel
  constexpr int64_t pieceColumns() const { return pieceBytes / elementBytes; }
  constexpr int64_t panelBytes() const { return rows * rowBytes; }
  constexpr int64_t countPanels(int64_t allColumns) const { return (allColumns + columns() - 1) / columns(); }
  constexpr int64_t bytes(int64_t allColumns) const { return countPanels(allColumns) * panelBytes(); }
  /// Of the first row, whose pieces are where they would be.
  constexpr int64_t byteOfColumn(int64_t column) const {
    return column / columns() * panelBytes() + column % columns() * elementBytes;
  }

  /// Where a piece of a row lies within its panel's row; `row` may be counted from any multiple of 8.
  template <typename Arithmetic, typename Number> static Number permute(Arithmetic &&t, Number row, Number piece) {
    return t.exclusiveOr(piece, row);
  }
  /// The byte of a piece of a row below 8, in the first panel.
  template <typename Arithmetic, typename Number> static Number byteInPanel(Arithmetic &&t, Number row, Number place) {
    return t.add(t.multiply(row, rowBytes), t.multiply(place, pieceBytes));
  }
  /// The byte of a piece, counted over all panels of a row.
  template <typename Arithmetic, typename Number> Number byteOfPiece(Arithmetic &&t, Number row, Number piece) const {
    Number place = permute(t, t.remainder(row, permutedRows), t.remainder(piece, pieces));
    return t.add(byteInPanel(t, row, place), t.multiply(t.divide(piece, pieces), panelBytes()));
  }
  template <typename Arithmetic, typename Number> Number byteOf(Arithmetic &&t, Number row, Number column) const {
    Number inPanel = t.remainder(column, columns()), piece = t.divide(inPanel, pieceColumns());
    Number byte = byteInPanel(t, row, permute(t, t.remainder(row, permutedRows), piece));
    byte = t.add(byte, t.multiply(t.remainder(inPanel, pieceColumns()), elementBytes));
    return t.add(byte, t.multiply(t.divide(column, columns()), panelBytes()));
  }
};

/// Rows of 16-bit numbers that are not permuted: a piece longer than they need be, so that eight rows below each other
/// lie in different banks. `columns` come in whole pieces of an even number.
inline constexpr int64_t padRow(int64_t columns) { return columns + pieceHalves; }

} // namespace recur::tile
