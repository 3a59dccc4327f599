// The arrays of the phases of a plan (`chunk-phases`, `chunk-parts`): which of the program's each phase has, how it is
// cut into parts, and what phases leave to each other.
#pragma once
#include "dialects/Chunk/Chunk.h"
#include <optional>
#include <string>
#include <vector>

namespace recur::chunk {

/// What a phase leaves of each chunk: some rows of numbers.
struct LeftArray {
  std::string name;
  int64_t rows;                     // of a chunk: some for each of its tokens, or one
  llvm::SmallVector<int64_t> shape; // of a row
  bool isRounded;                   // to the type of the data; else f32
  uint64_t meaning = 0;             // the same number for the same values, of other phases too; 0: not known
  bool isHanded = false;            // another call's phases left it
};

/// An array of a phase's kernel.
struct PhaseArray {
  unsigned number;                  // among the program's (inputs, params, initial states, outputs, final states, kept
                                    // ones), and behind them what phases leave
  llvm::SmallVector<int64_t> shape; // of a row as the caller has it, of one part
  int partDim = -1;                 // of the shape, in which parts lie one behind another; -1: the same for every part
  int64_t channels = 0;             // that all parts have together, of which the last part may have fewer than others
};

struct Phase {
  std::string name;
  bool isParallel; // its chunks go in any order
  bool bounds;     // all that it leaves is for chains that begin within a sequence
  int64_t parts;
  std::vector<PhaseArray> arrays; // in the order of its kernel's
};

struct Phases {
  std::vector<LeftArray> left;
  std::vector<Phase> phases;
};

/// Describes the phases that a program became. Null where one that goes from chunk to chunk in parts leaves something
/// to another such: nobody has the whole of it.
/// Of what the phases take others left the arrays that are `handed`.
std::optional<Phases> describePhases(ProgramOp program, llvm::ArrayRef<ProgramOp> phases,
                                     llvm::ArrayRef<LeftArray> handed = {});

/// Drops what the program says of what remains of states, where no earlier phase has found it, and what only that
/// needs.
void dropRemains(ProgramOp program);

/// Whether the program does nothing but hold rows of the last tokens, fewer than a chunk has: then whatever its states
/// were before a whole chunk, behind it they are that chunk's.
bool holdsLastTokens(ProgramOp program);

/// Whether a team's factors stay float32: a system is solved with float32, and where a chunk may replace all of a
/// state, large numbers cancel.
bool cancels(ProgramOp program);

} // namespace recur::chunk
