// The judge of tile programs: runs a tile.kernel op by op, in float64 or rounding as a machine does. It judges the plan
// and not just its arithmetic: memories are laid out as the plan says, so tiles that are placed on each other clobber
// each other.
//
// What has no meaning. Memory starts without meaning; an op that computes `rows` rows leaves the rows of its result
// behind them without meaning (a machine may compute whole blocks of them), as it does with what a `result_triangle`
// leaves out. So is an element that another tile in the same place has overwritten. An op may read such elements, for
// rows that do not count are read with the others: what it computes of them has no meaning either, but for a select
// that chooses another number. It is an error where a row that counts is stored with one; the message says where it
// came from.
//
// Errors at once are: rows, views and arrays that are left, scratch memory that is overrun, results that share elements
// with what is still to be read, and factors that are not zero where a triangle promises it.
#pragma once
#include "Data/Data.h"
#include "dialects/Chunk/Chunk.h"
#include "dialects/Tile/Tile.h"

namespace recur::interpreter {

/// An array as a kernel has it: rows, `stride` elements apart. A null pointer is an absent array.
struct CallerArray {
  double *data = nullptr;
  int64_t rows = 0;
  int64_t stride = 0;
};

struct TileOptions {
  /// Rounds each number to float32, and elements of tiles and arrays to their types. Otherwise all is float64, but for
  /// the constants of bodies, which are float32 in the program.
  bool rounds = false;
  /// In which order the teams of a CTA take turns, and its copies land. 0: one team after another for as long as each
  /// can go on, and copies as late as possible; others: at random, the same each time.
  uint64_t schedule = 0;
  /// Of how many segments of a sequence the kernel runs which (`tile.segment`). Where kernels run for all of them, the
  /// number alone counts.
  int64_t segments = 1, segment = 0;
  /// Where segments have summaries: what a segment begins with but the first, and where its summary goes to. One that
  /// `mapsState` goes without values. Where kernels run for all segments, they are found on the way.
  CallerArray start = {}, summary = {};
  bool mapsState = false;
};

/// Runs the kernel once. An error says which op does what it must not.
llvm::Error run(tile::KernelOp kernel, llvm::ArrayRef<CallerArray> arrays, int64_t tokens,
                const TileOptions &options = {});

/// What an array of a kernel stands for.
struct KernelArray {
  data::Role role;
  std::string name;
  llvm::SmallVector<int64_t> shape; // of a token, a head or a state
  bool isKept = false;              // a state at the start of each chunk, which one kernel leaves for another
};

/// The states at the start of each chunk, [B, H, chunks, ...], by their names, and what phases leave to each other that
/// means something to other phases: of each unit, by what it means.
struct KeptArrays {
  int64_t chunk; // its tokens
  data::NamedArrays states;
  std::map<uint64_t, std::vector<std::vector<double>>> left = {};
};

/// The arrays of the kernel that a chunk program becomes, in their order.
std::vector<KernelArray> listKernelArrays(chunk::ProgramOp program);

/// Runs the kernel for each head of each batch entry.
llvm::Expected<data::Results> interpret(tile::KernelOp kernel, llvm::ArrayRef<KernelArray> arrays,
                                        const data::Data &data, const TileOptions &options = {},
                                        KeptArrays *kept = nullptr);

} // namespace recur::interpreter
