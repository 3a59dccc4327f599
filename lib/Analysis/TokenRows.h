// Rows of several tokens that lie in shared memory at once, where a kernel holds its states in registers from token to
// token: a record for each token, with its rows of all arrays, and what is made of these rows alone. Threads meet once
// for so many tokens and not at each of them.
#pragma once
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace recur::analysis {

/// On a kernel, that the rows of one token come at a time: those of several would take too many registers on their way.
constexpr llvm::StringLiteral tokenByTokenAttribute = "tile.token_by_token";

struct TokenRows {
  /// A tile of the loop's token, and that of all tokens in the records.
  struct Row {
    mlir::Operation *op; // a load, or what makes a row of others
    mlir::Value tile;
    int64_t offset; // of the first record's, in shared memory
    tile::TileType all;
    bool isAnother; // lies where one before it does, which is the same
    /// Of a load whose numbers of 16 bits every token would convert anew, for each of its uses: where they come to, and
    /// as what. What reads the row reads what they were converted to. Null where they are read as they come.
    int64_t cameTo = 0;
    tile::TileType came = {};
  };
  int64_t tokens = 0; // at once; none where rows come token by token
  int64_t begin = 0, end = 0;
  std::vector<Row> loads, made;
  std::vector<Row> sums; // over rows of one token, each by eight lanes of a warp; `tile` has the token's
  bool areAll = false;   // nothing else in the loop reads an array
};

/// What lies from an offset of the shared memory on. Some ops are done by threads with their own numbers.
TokenRows findTokenRows(tile::KernelOp kernel, mlir::scf::ForOp loop,
                        const llvm::DenseSet<mlir::Operation *> &ofThreads, int64_t begin);

} // namespace recur::analysis
