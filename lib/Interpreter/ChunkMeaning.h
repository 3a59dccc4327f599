// What each chunk op computes, on tensors that hold as many tokens as the chunk at hand has.
#pragma once
#include "Data/Array.h"
#include "Interpreter/ChunkArithmetic.h"
#include "dialects/Chunk/Chunk.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Error.h"

namespace recur::interpreter {

/// Runs the ops of a chunk program on one chunk of `tokens` tokens, which may be fewer than the program's chunk.
class ChunkMachine {
public:
  ChunkMachine(const Arithmetic &arithmetic, int64_t chunk, int64_t tokens)
      : arithmetic(arithmetic), chunk(chunk), tokens(tokens) {}

  /// Runs every op of the block; declarations and what leaves the chunk are the caller's.
  llvm::Error run(mlir::Block &block);

  void set(mlir::Value value, Array array) { values[value] = std::move(array); }
  const Array &get(mlir::Value value) const { return values.find(value)->second; }

private:
  llvm::Error evaluate(mlir::Operation *op);
  llvm::Error evaluateTokenLoop(chunk::TokenLoopOp op);
  llvm::Error evaluateLoop(chunk::LoopOp op);
  llvm::Error evaluateCg(chunk::CgOp op);
  /// The rows that a value of the type has in this chunk.
  int64_t countRows(mlir::RankedTensorType type) const;

  Arithmetic arithmetic;
  int64_t chunk, tokens;
  llvm::DenseMap<mlir::Value, Array> values;
};

/// The decay of an op: its steps, one row a token, and whether they are logarithms. `steps` is null where nothing
/// decays.
struct Decay {
  const Array *steps = nullptr;
  bool linear = false;

  /// One step a token for all channels, or one for each channel.
  int64_t countChannels() const { return steps && steps->shape.size() > 1 ? steps->shape[1] : 1; }
};

/// Which writes a row sees, as in chunk.interaction.
struct Visibility {
  llvm::ArrayRef<int64_t> points;
  llvm::ArrayRef<int64_t> steps;
};

// One function for each family of ops.
Array evaluateMap(const Arithmetic &arithmetic, chunk::Function function, llvm::ArrayRef<const Array *> operands);
Array evaluateCumulativeDecay(const Arithmetic &arithmetic, chunk::DecayRange range, Decay decay);
Array evaluateInteraction(const Arithmetic &arithmetic, const Array &rows, const Array &columns, Visibility visibility,
                          Decay decay);
/// Backward is by the transposed matrix, from what the rows get to what the writes give: the way of gradients.
enum class Direction { Forward, Backward };
Array evaluateApply(const Arithmetic &arithmetic, const Array &matrix, const Array &values, Visibility visibility,
                    Decay decay, Direction direction);
Array evaluateSolve(const Arithmetic &arithmetic, const Array &matrix, const Array &values, Visibility visibility,
                    Decay decay, Direction direction);
/// The way back to the steps of a decay.
Array evaluateDecayCotangent(const Arithmetic &arithmetic, const Array &matrix, const Array &rows, const Array &columns,
                             Visibility visibility, Decay decay);
/// A solve whose sums are scaled, each channel of each row by its own number; by the transposed matrix from the last
/// row to the first with `reverse`.
Array evaluateElimination(const Arithmetic &arithmetic, const Array &lower, const Array &upper, const Array &columns,
                          const Array &diagonal);
Array evaluateScaledSolve(const Arithmetic &arithmetic, const Array &matrix, const Array &values, const Array &scales,
                          bool reverse);
Array evaluateInverse(const Arithmetic &arithmetic, const Array &matrix, const Array *gain);
/// left^T right, left right^T, or left right: `transposeLeft` and `transposeRight` say which operand is turned.
Array multiply(const Arithmetic &arithmetic, const Array &left, bool transposeLeft, const Array &right,
               bool transposeRight, bool roundOperands);
/// All values, and the last; within half a turn of zero where they are `angles`.
std::pair<Array, Array> evaluateScan(const Arithmetic &arithmetic, const Array &state, const Array &additions,
                                     Decay decay, bool angles);
std::pair<Array, Array> evaluateTropicalScan(const Arithmetic &arithmetic, chunk::Extremum extremum, const Array &state,
                                             const Array &shifts, const Array &bounds);
/// `over` and `under`: the factor of the state and what is added to that.
std::pair<Array, Array> evaluateMoebiusScan(const Arithmetic &arithmetic, const Array &state,
                                            std::array<const Array *, 2> over, std::array<const Array *, 2> under);
/// A scan from the last token to the first: all values, and what is before the first.
std::pair<Array, Array> evaluateReverseScan(const Arithmetic &arithmetic, const Array &state, const Array &additions,
                                            Decay decay);
/// The rows one token earlier, and the first.
std::pair<Array, Array> evaluateFollowing(const Array &state, const Array &rows);
Array evaluateSumTokens(const Arithmetic &arithmetic, const Array &operand);
Array evaluateInsert(const Array &operand, int64_t index, int64_t size);
/// The map and offset of two segments in a row.
std::pair<Array, Array> composeSummaries(const Arithmetic &arithmetic, chunk::SummaryKind kind, const Array &firstMap,
                                         const Array &firstOffset, const Array &secondMap, const Array &secondOffset);
/// What a segment makes of a state. With a map from the right the rows may be scaled besides, and the columns with one
/// from the left.
Array applySummary(const Arithmetic &arithmetic, chunk::SummaryKind kind, const Array &state, const Array &map,
                   const Array &offset, const Array *scales = nullptr);

} // namespace recur::interpreter
