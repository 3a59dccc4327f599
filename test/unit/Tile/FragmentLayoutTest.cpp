// Laws of where elements lie (dialects/Tile/FragmentLayout.h). What the instructions do is written down here once more,
// as PTX's manual has it, and by no formula of the header.
#include "dialects/Tile/FragmentLayout.h"
#include "gtest/gtest.h"
#include <map>
#include <set>
#include <vector>

using namespace recur::tile;

namespace {

constexpr int64_t lanes = 32, warps = 4, banks = 32;
constexpr KnownNumbers known;

using Element = std::pair<int64_t, int64_t>; // row and column
/// Of a lane, by register, the elements that it has of 16-bit numbers, or the one that it has of 32 bits.
using Words = std::vector<std::vector<Element>>;

/// Each element of a matrix, once.
void expectWhole(const std::multiset<Element> &found, int64_t rows, int64_t columns) {
  std::multiset<Element> all;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      all.insert({row, column});
  EXPECT_EQ(found, all);
}

Element elementOfSum(int64_t lane, KnownPosition offset) {
  return {rowOfLane(known, lane) + offset.row, pairOfLane(known, lane) + offset.column};
}

/// A left factor's words: rows, and inner indices as columns.
Words leftFactor(int64_t lane, FactorLayout layout) {
  Words words;
  for (int64_t word = 0; word < FactorLayout::leftWords; ++word) {
    KnownPosition offset = layout.offsetOfLeft(word);
    std::vector<Element> &own = words.emplace_back();
    for (int64_t i = 0; i < layout.perWord(); ++i)
      own.push_back(
          {rowOfLane(known, lane) + offset.row, wordOfLane(known, lane) * layout.perWord() + offset.column + i});
  }
  return words;
}

/// A right factor's words: inner indices as rows, and 8 columns.
Words rightFactor(int64_t lane, FactorLayout layout) {
  Words words;
  for (int64_t word = 0; word < FactorLayout::rightWords; ++word) {
    std::vector<Element> &own = words.emplace_back();
    for (int64_t i = 0; i < layout.perWord(); ++i)
      own.push_back(
          {wordOfLane(known, lane) * layout.perWord() + layout.offsetOfRight(word) + i, rowOfLane(known, lane)});
  }
  return words;
}

/// What `ldmatrix` gives a lane of four matrices, where each row's 16 bytes are the elements from one on: of matrix m,
/// whose rows lanes 8 m to 8 m + 7 give the addresses of, word l mod 4 of row l / 4; transposed, the column l / 4 of
/// the rows 2 (l mod 4) and the next.
Words loadMatrices(const std::vector<Element> &addressed, int64_t lane, bool isAcross) {
  Words words;
  for (int64_t matrix = 0; matrix < 4; ++matrix) {
    std::vector<Element> &own = words.emplace_back();
    for (int64_t i = 0; i < 2; ++i) {
      int64_t row = isAcross ? lane % 4 * 2 + i : lane / 4, column = isAcross ? lane / 4 : lane % 4 * 2 + i;
      Element begin = addressed[size_t(8 * matrix + row)];
      own.push_back({begin.first, begin.second + column});
    }
  }
  return words;
}

std::vector<Element> addressedPieces(BlockOrder order) {
  std::vector<Element> pieces;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    auto [row, piece, line] = addressedPiece(known, lane, order);
    pieces.push_back({row, piece * pieceHalves});
  }
  return pieces;
}

Words transposed(Words words) {
  for (std::vector<Element> &own : words)
    for (auto &[row, column] : own)
      std::swap(row, column);
  return words;
}

/// The elements that lanes have of numbers of 16 bits at these bytes: pairs of neighbours.
void expectNoConflict(const std::vector<int64_t> &bytes, int64_t width) {
  std::set<int64_t> taken;
  for (int64_t byte : bytes)
    for (int64_t word = 0; word < width / wordBytes; ++word)
      EXPECT_TRUE(taken.insert((byte / wordBytes + word) % banks).second) << "byte " << byte;
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

TEST(FragmentLayout, EachSumIsInOnePlace) {
  for (int64_t columns : {8, 16, 64, 256}) {
    std::multiset<Element> found;
    for (int64_t lane = 0; lane < lanes; ++lane)
      for (int64_t number = 0; number < columns / 2; ++number)
        found.insert(elementOfSum(lane, warpSums.offsetOf(number)));
    expectWhole(found, 16, columns);
  }
}

TEST(FragmentLayout, EachSumOfUnitsIsInOnePlace) {
  for (auto [rowUnits, columnUnits] : {std::pair<int64_t, int64_t>{1, 1}, {2, 4}, {4, 2}, {3, 5}}) {
    SumsLayout layout{columnUnits};
    std::multiset<Element> found;
    for (int64_t lane = 0; lane < lanes; ++lane)
      for (int64_t number = 0; number < SumsLayout::numbersOfUnit * rowUnits * columnUnits; ++number) {
        found.insert(elementOfSum(lane, layout.offsetOf(number)));
        EXPECT_EQ(layout.numberAt(layout.rowEightOf(number), layout.columnEightOf(number), layout.secondOf(number)),
                  number);
      }
    expectWhole(found, 16 * rowUnits, 8 * columnUnits);
  }
}

TEST(FragmentLayout, WarpsOfAWarpgroupHaveTheRowsOfItsSums) {
  std::multiset<Element> found;
  for (int64_t warp = 0; warp < warps; ++warp)
    for (int64_t lane = 0; lane < lanes; ++lane)
      for (int64_t number = 0; number < 16; ++number) {
        KnownPosition offset = warpSums.offsetOf(number);
        found.insert({rowOfWarp(known, warp, lane) + offset.row, pairOfLane(known, lane) + offset.column});
      }
  expectWhole(found, 64, 32);
}

TEST(FragmentLayout, EachElementOfAFactorIsInOnePlace) {
  for (FactorLayout layout : {FactorLayout::ofHalves(), FactorLayout::ofTF32()}) {
    std::multiset<Element> left, right;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      for (const std::vector<Element> &word : leftFactor(lane, layout))
        left.insert(word.begin(), word.end());
      for (const std::vector<Element> &word : rightFactor(lane, layout))
        right.insert(word.begin(), word.end());
    }
    expectWhole(left, 16, layout.inner);
    expectWhole(right, layout.inner, 8);
  }
}

/// A warp's product as PTX's manual has the fragments: of what words have, rows and columns of sums, and each product
/// of a row and a column takes all inner indices.
TEST(FragmentLayout, FactorsAreThoseOfTheManual) {
  for (int64_t lane = 0; lane < lanes; ++lane) {
    int64_t group = lane / 4, inGroup = lane % 4;
    EXPECT_EQ(leftFactor(lane, FactorLayout::ofTF32()),
              (Words{{{group, inGroup}}, {{group + 8, inGroup}}, {{group, inGroup + 4}}, {{group + 8, inGroup + 4}}}));
    EXPECT_EQ(rightFactor(lane, FactorLayout::ofTF32()), (Words{{{inGroup, group}}, {{inGroup + 4, group}}}));
    int64_t pair = 2 * inGroup;
    EXPECT_EQ(leftFactor(lane, FactorLayout::ofHalves()), (Words{{{group, pair}, {group, pair + 1}},
                                                                 {{group + 8, pair}, {group + 8, pair + 1}},
                                                                 {{group, pair + 8}, {group, pair + 9}},
                                                                 {{group + 8, pair + 8}, {group + 8, pair + 9}}}));
    EXPECT_EQ(rightFactor(lane, FactorLayout::ofHalves()),
              (Words{{{pair, group}, {pair + 1, group}}, {{pair + 8, group}, {pair + 9, group}}}));
  }
}

/// Two neighbouring sums, rounded, are a word: nothing passes between lanes.
TEST(FragmentLayout, SumsAreLeftFactors) {
  constexpr int64_t columns = 64;
  FactorLayout halves = FactorLayout::ofHalves();
  for (int64_t lane = 0; lane < lanes; ++lane)
    for (int64_t first = 0; first < columns; first += halves.inner) {
      Words words;
      for (int64_t number = first / 2; number < (first + halves.inner) / 2; number += 2)
        words.push_back(
            {elementOfSum(lane, warpSums.offsetOf(number)), elementOfSum(lane, warpSums.offsetOf(number + 1))});
      Words expected = leftFactor(lane, halves);
      for (std::vector<Element> &word : expected)
        for (Element &element : word)
          element.second += first;
      EXPECT_EQ(words, expected);
    }
}

/// So are sums left factors of tf32, if inner index n is column exchangedColumn(n).
TEST(FragmentLayout, SumsAreExchangedLeftFactors) {
  std::set<int64_t> columns;
  for (int64_t inner = 0; inner < 8; ++inner)
    columns.insert(exchangedColumn(inner));
  EXPECT_EQ(columns.size(), 8u);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Words words = leftFactor(lane, FactorLayout::ofTF32());
    for (size_t word = 0; word < words.size(); ++word) {
      auto [row, inner] = words[word][0];
      EXPECT_EQ(elementOfSum(lane, warpSums.offsetOf(exchangedNumber(int64_t(word)))),
                Element(row, exchangedColumn(inner)));
    }
  }
}

//===----------------------------------------------------------------------===//
// Matrices in memory
//===----------------------------------------------------------------------===//

/// The pieces of a block, each of which one lane gives.
TEST(FragmentLayout, LanesAddressEachPieceOnce) {
  for (BlockOrder order : {BlockOrder::LeftFirst, BlockOrder::UpperFirst}) {
    std::multiset<Element> found;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      auto [row, piece, line] = addressedPiece(known, lane, order);
      found.insert({row, piece});
      EXPECT_EQ(line, row % 8);
    }
    expectWhole(found, 16, 2);
  }
}

TEST(FragmentLayout, LoadedMatricesAreFactors) {
  FactorLayout halves = FactorLayout::ofHalves();
  auto leftFirst = addressedPieces(BlockOrder::LeftFirst), upperFirst = addressedPieces(BlockOrder::UpperFirst);
  auto bothFactors = [&](int64_t lane) { // of columns 0 to 7, and of 8 to 15
    Words both = rightFactor(lane, halves), second = both;
    for (std::vector<Element> &word : second)
      for (Element &element : word)
        element.second += 8;
    both.insert(both.end(), second.begin(), second.end());
    return both;
  };
  for (int64_t lane = 0; lane < lanes; ++lane) {
    // Rows in memory are the factor's rows.
    EXPECT_EQ(loadMatrices(leftFirst, lane, false), leftFactor(lane, halves));
    // Rows in memory are the inner indices.
    EXPECT_EQ(transposed(loadMatrices(upperFirst, lane, true)), leftFactor(lane, halves));
    // Rows in memory are the right factor's columns; or its inner indices.
    EXPECT_EQ(transposed(loadMatrices(upperFirst, lane, false)), bothFactors(lane));
    EXPECT_EQ(loadMatrices(leftFirst, lane, true), bothFactors(lane));
  }
}

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

TEST(PanelLayout, EachElementIsInOnePlace) {
  for (int64_t elementBytes : {2, 4})
    for (int64_t rows : {8, 32, 64})
      for (int64_t columns : {32, 64, 128, 192}) {
        PanelLayout layout{rows, elementBytes};
        std::set<int64_t> bytes;
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t column = 0; column < columns; ++column) {
            int64_t byte = layout.byteOf(known, row, column);
            EXPECT_TRUE(bytes.insert(byte).second);
            EXPECT_EQ(byte % elementBytes, 0);
            EXPECT_LT(byte, layout.bytes(columns));
          }
        EXPECT_EQ(int64_t(bytes.size()), rows * columns);
      }
}

/// What a copy leaves, matrix units and the copy unit find: pieces are where the hardware's permutation of a tile's
/// bytes has them.
TEST(PanelLayout, PiecesAreWhereTheHardwareHasThem) {
  for (int64_t elementBytes : {2, 4}) {
    PanelLayout layout{64, elementBytes};
    for (int64_t row = 0; row < layout.rows; ++row)
      for (int64_t column = 0; column < 3 * layout.columns(); ++column) {
        int64_t plain =
            column / layout.columns() * layout.panelBytes() + row * 128 + column % layout.columns() * elementBytes;
        EXPECT_EQ(layout.byteOf(known, row, column), Swizzle{128}.permute(plain));
        EXPECT_EQ(layout.byteOfPiece(known, row, column / layout.pieceColumns()) +
                      column % layout.pieceColumns() * elementBytes,
                  layout.byteOf(known, row, column));
      }
    for (int64_t column = 0; column < 3 * layout.columns(); ++column)
      EXPECT_EQ(layout.byteOfColumn(column), layout.byteOf(known, int64_t(0), column));
  }
}

/// As the manual of CUDA's tensor maps has them: bits 4 and up of an address, exclusive or bits 7 and up.
TEST(Swizzle, IsTheHardwares) {
  for (auto [bytes, bits] : {std::pair<int64_t, int64_t>{32, 1}, {64, 2}, {128, 3}})
    for (int64_t byte = 0; byte < 4096; ++byte) {
      int64_t mask = (1 << bits) - 1;
      EXPECT_EQ(Swizzle{bytes}.permute(byte), byte ^ ((byte >> 7 & mask) << 4));
    }
  EXPECT_EQ(Swizzle{0}.permute(1234), 1234);
}

/// From a piece at column 0 of a row, other pieces of the same row are found by an exclusive or with their place, and
/// rows a multiple of 8 below by a sum: that is what lowerings count on.
TEST(PanelLayout, PlacesDifferByWhatIsKnown) {
  PanelLayout layout{64, 2};
  for (int64_t row = 0; row < 56; ++row) {
    int64_t own = layout.byteOfPiece(known, row, int64_t(0));
    for (int64_t piece = 0; piece < 16; ++piece) {
      int64_t inPanel = piece % PanelLayout::pieces * pieceBytes, panel = piece / PanelLayout::pieces;
      EXPECT_EQ(layout.byteOfPiece(known, row, piece), (own ^ inPanel) + panel * layout.panelBytes());
      EXPECT_EQ(layout.byteOfPiece(known, row + 8, piece),
                layout.byteOfPiece(known, row, piece) + 8 * PanelLayout::rowBytes);
    }
  }
}

/// `stmatrix` leaves sums, as rows or across, where rows of the tile are read from: the element of each lane's word is
/// the one that the tile has at that byte.
TEST(PanelLayout, StoresLeaveWhatReadersExpect) {
  constexpr int64_t columns = 64;
  PanelLayout layout{64, 2};
  std::map<int64_t, Element> tile; // by byte
  for (int64_t row = 0; row < layout.rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      tile[layout.byteOf(known, row, column)] = {row, column};
  for (int64_t warp = 0; warp < warps; ++warp)
    for (int64_t group = 0; group < columns / 16; ++group) {
      // Across: a warp's 16 rows of sums are 16 columns of the tile, and their columns are its rows.
      std::vector<int64_t> across, along;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        auto [row, piece, line] = addressedPiece(known, lane, BlockOrder::UpperFirst);
        across.push_back(layout.byteOfPiece(known, 16 * group + row, 2 * warp + piece));
        auto [ownRow, ownPiece, ownLine] = addressedPiece(known, lane, BlockOrder::LeftFirst);
        along.push_back(layout.byteOfPiece(known, 16 * warp + ownRow, 2 * group + ownPiece));
      }
      for (int64_t lane = 0; lane < lanes; ++lane)
        for (int64_t word = 0; word < 4; ++word)
          for (int64_t i = 0; i < 2; ++i) {
            KnownPosition offset = warpSums.offsetOf(8 * group + 2 * word + i);
            int64_t row = rowOfWarp(known, warp, lane) + offset.row, column = pairOfLane(known, lane) + offset.column;
            // Matrix `word`: as rows the lane's word is word l mod 4 of row l / 4.
            EXPECT_EQ(tile[along[size_t(8 * word + lane / 4)] + lane % 4 * 4 + 2 * i], Element(row, column));
            // Across, it is column l / 4 of the rows 2 (l mod 4) and the next.
            EXPECT_EQ(tile[across[size_t(8 * word + lane % 4 * 2 + i)] + lane / 4 * 2], Element(column, row));
          }
    }
}

//===----------------------------------------------------------------------===//
// Banks
//===----------------------------------------------------------------------===//

/// Eight lanes are served at once where each reads or writes 16 bytes.
TEST(Banks, MatricesOfPanelsHaveNoConflicts) {
  PanelLayout layout{64, 2};
  for (BlockOrder order : {BlockOrder::LeftFirst, BlockOrder::UpperFirst})
    for (int64_t firstPiece = 0; firstPiece < 8; firstPiece += 2)
      for (int64_t matrix = 0; matrix < 4; ++matrix) {
        std::vector<int64_t> bytes;
        for (int64_t lane = 8 * matrix; lane < 8 * matrix + 8; ++lane) {
          auto [row, piece, line] = addressedPiece(known, lane, order);
          bytes.push_back(layout.byteOfPiece(known, row, firstPiece + piece));
        }
        expectNoConflict(bytes, pieceBytes);
      }
}

TEST(Banks, RowsOfPanelsHaveNoConflicts) {
  PanelLayout layout{64, 2};
  for (int64_t row = 0; row < 16; ++row) {
    std::vector<int64_t> bytes;
    for (int64_t piece = 0; piece < 8; ++piece)
      bytes.push_back(layout.byteOfPiece(known, row, piece));
    expectNoConflict(bytes, pieceBytes);
  }
}

TEST(Banks, PaddedRowsHaveNoConflicts) {
  for (int64_t columns = 16; columns <= 256; columns += 16)
    for (int64_t column = 0; column < columns; column += pieceHalves) {
      std::vector<int64_t> bytes;
      for (int64_t row = 0; row < 8; ++row)
        bytes.push_back(2 * (row * padRow(columns) + column));
      expectNoConflict(bytes, pieceBytes);
    }
}

/// Rows that are not permuted and not padded do have conflicts: the test would see them.
TEST(Banks, PlainRowsHaveConflicts) {
  std::set<int64_t> taken;
  for (int64_t row = 0; row < 8; ++row)
    taken.insert(row * PanelLayout::rowBytes / wordBytes % banks);
  EXPECT_EQ(taken.size(), 1u);
}

TEST(Banks, TokensAreAPermutationOfEachEight) {
  std::vector<int64_t> tokens;
  for (int64_t column = 0; column < 8; ++column)
    tokens.push_back(tokenOfColumn(known, column));
  EXPECT_EQ(tokens, (std::vector<int64_t>{0, 4, 2, 6, 5, 1, 7, 3}));
}

/// Products of f32 read tiles word by word. A row of a right factor is a token in all of them: along it lie two
/// neighbouring channels, or the token's number is one of two inner indices, or of a column. All lanes are served at
/// once, or half of them where each reads two words.
TEST(Banks, ProductsOfFloatsHaveNoConflicts) {
  PanelLayout layout{32, 4};
  auto tokenOfRow = [](int64_t lane) { return tokenOfColumn(known, rowOfLane(known, lane)); };
  for (int64_t first = 0; first < 32; first += 8)
    for (int64_t i : {0, 1}) {
      std::vector<int64_t> read[2], advance, apply, applyAcross;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        int64_t inner = pairOfLane(known, lane), token = tokenOfColumn(known, inner + i);
        read[lane / 16].push_back(layout.byteOf(known, tokenOfRow(lane), first + inner));
        advance.push_back(layout.byteOf(known, token, first + rowOfLane(known, lane)));
        apply.push_back(layout.byteOf(known, tokenOfRow(lane), first + token));
        applyAcross.push_back(layout.byteOf(known, token, first + tokenOfRow(lane)));
      }
      for (const std::vector<int64_t> &half : read)
        expectNoConflict(half, 2 * wordBytes);
      expectNoConflict(advance, wordBytes);
      expectNoConflict(apply, wordBytes);
      expectNoConflict(applyAcross, wordBytes);
    }
}

} // namespace
