// How the step kernel of a recurrence is built: what its values are, and where they lie.
#pragma once
#include "ABI/KernelSignature.h"
#include "Conversion/DGPSToLLVM/ScalarCode.h"
#include "dialects/DGPS/DGPS.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace recur::conversion {

/// Builds an element of a value: `i` is the row of a matrix, `j` the column or the index in a vector. Unused ones are
/// null.
using Element = std::function<mlir::Value(mlir::Value i, mlir::Value j)>;

struct Item {
  int64_t rows = 1, columns = 1;
  int rank = 0;
  Element element;
  int cost = 0; // of computing an element again
  int64_t count() const { return rows * columns; }
};

/// A loop over the elements of vectors, which takes more of them while nothing stands behind it.
struct VectorLoop {
  mlir::Operation *loop = nullptr;
  mlir::Value index;
  int64_t count = 0;
  llvm::DenseMap<mlir::Value, mlir::Value> numbers; // element `index` of each vector that it computes
};

struct StatePlace {
  dgps::StateOp op;
  mlir::Value pointer;
  mlir::Value next = {}; // a buffer that is copied to `pointer` at the token's end; null: updated in place
};

/// An array of the caller's; its tokens are `stride` elements apart.
struct TokenArray {
  mlir::Value pointer;
  mlir::Value stride;
  DataType type;
};

class StepBuilder {
public:
  StepBuilder(dgps::RecurrenceOp recurrence, mlir::LLVM::LLVMFuncOp function, mlir::OpBuilder &builder)
      : recurrence(recurrence), function(function), b(builder, recurrence.getLoc()) {}
  /// Fills the function, which is empty; an op without a meaning here is named in a diagnostic.
  mlir::LogicalResult build();
  /// What the kernel needs of its caller, once it is built.
  int64_t getWorkspaceBytes() const { return workspaceBytes; }

private:
  void readArrays();
  void loadInitialStates();
  void storeFinalStates();
  mlir::LogicalResult buildToken(mlir::Value token);
  mlir::LogicalResult buildOp(mlir::Operation *op);
  void buildOutput(dgps::OutputOp output, mlir::Value token);
  void finishToken();

  llvm::ArrayRef<TokenArray> placesOf(abi::Role role) const { return arrays[int(role)]; }
  Item shapeOf(mlir::Value value);
  mlir::Value allocateVector(int64_t count);
  mlir::Value allocateMatrix(int64_t count);
  Element readFrom(const Item &item, mlir::Value buffer);
  void forEach(const Item &item, llvm::function_ref<void(mlir::Value i, mlir::Value j, mlir::Value flat)> body);
  /// Computes every element into the buffer, which the item then is.
  void place(Item &item, mlir::Value buffer);
  mlir::Value placeAnywhere(Item &item);
  mlir::Value placeInVectorLoop(mlir::Value vector, Item &item);
  mlir::Value placeAtStart(llvm::function_ref<mlir::Value()> build);
  mlir::Value startOfToken(TokenArray array, mlir::Value token);
  void copyFromMemory(mlir::Value value, TokenArray from, mlir::Value token);

  Item makeElementwise(mlir::Operation *op);
  mlir::Value applyFunction(mlir::Operation *op, llvm::ArrayRef<mlir::Value> x);
  Item makeSoftmax(dgps::SoftmaxOp op);
  Item makeCg(dgps::CgOp op);
  mlir::LogicalResult makeLoop(dgps::LoopOp op, Item &item);
  void makeConcat(dgps::ConcatOp op, Item &item);
  bool isLazy(mlir::Operation *op, const Item &item);
  StatePlace *findStateToUpdateInPlace(mlir::Operation *op);

  dgps::RecurrenceOp recurrence;
  mlir::LLVM::LLVMFuncOp function;
  ScalarCode b;
  mlir::Operation *lastPlaced = nullptr; // of the places, at the function's start
  int64_t workspaceBytes = 0;
  llvm::DenseMap<mlir::Value, Item> items;
  using StateSet = llvm::SmallPtrSet<mlir::Operation *, 4>;
  llvm::DenseMap<mlir::Value, StateSet> lazyReads;        // states whose places a value without place reads
  llvm::DenseMap<mlir::Operation *, mlir::Value> buffers; // allocated once, before the loop over tokens
  llvm::SmallVector<TokenArray> arrays[abi::roleCount];
  llvm::SmallVector<StatePlace> states;
  VectorLoop vectorLoop;
};

} // namespace recur::conversion
