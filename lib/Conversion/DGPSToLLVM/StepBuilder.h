// How the step kernel of a recurrence is built: what its values are, and where they lie.
#pragma once
#include "ABI/KernelSignature.h"
#include "Conversion/DGPSToLLVM/LoopBuilder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace recur::conversion {

using IR = llvm::Value;

/// An element of a value: `i` is the row of a matrix, `j` the column or the index in a vector. Unused ones are null.
using Element = std::function<IR *(IR *i, IR *j)>;

struct Item {
  int64_t rows = 1, columns = 1;
  int rank = 0;
  Element element;
  int cost = 0; // of computing an element again
  int64_t count() const { return rows * columns; }
};

struct StatePlace {
  dgps::StateOp op;
  IR *pointer;
  IR *next = nullptr; // a buffer that is copied to `pointer` at the token's end; null: updated in place
};

struct Place {
  IR *pointer;
  IR *stride;
};

class StepBuilder {
public:
  StepBuilder(dgps::RecurrenceOp recurrence, DataType storage, llvm::Function *function)
      : recurrence(recurrence), storage(storage), function(function),
        b(llvm::BasicBlock::Create(function->getContext(), "entry", function)) {}
  llvm::Error build();
  int64_t getWorkspaceBytes() const { return workspaceBytes; }

private:
  void readArrays();
  void loadInitialStates();
  void storeFinalStates();
  llvm::Error buildToken(IR *token);
  llvm::Error buildOp(mlir::Operation *op);
  void buildOutput(dgps::OutputOp output, IR *token);
  void finishToken();

  llvm::ArrayRef<Place> placesOf(abi::Role role) const { return arrays[int(role)]; }
  Item shapeOf(mlir::Value value);
  IR *allocateVector(int64_t count);
  IR *allocateMatrix(int64_t count);
  Element readFrom(const Item &item, IR *buffer);
  void forEach(const Item &item, llvm::function_ref<void(IR *i, IR *j, IR *flat)> body);
  /// Computes every element into the buffer, which the item then is.
  void place(Item &item, IR *buffer);
  IR *placeAnywhere(Item &item);
  void copyFromMemory(mlir::Value value, Place from, IR *token);

  Item makeElementwise(mlir::Operation *op);
  IR *applyFunction(mlir::Operation *op, llvm::ArrayRef<IR *> x);
  Item makeSoftmax(dgps::SoftmaxOp op);
  Item makeCg(dgps::CgOp op);
  void makeConcat(dgps::ConcatOp op, Item &item);
  bool isLazy(mlir::Operation *op, const Item &item);
  StatePlace *findStateToUpdateInPlace(mlir::Operation *op);

  dgps::RecurrenceOp recurrence;
  DataType storage;
  llvm::Function *function;
  LoopBuilder b;
  int64_t workspaceBytes = 0;
  llvm::DenseMap<mlir::Value, Item> items;
  using StateSet = llvm::SmallPtrSet<mlir::Operation *, 4>;
  llvm::DenseMap<mlir::Value, StateSet> lazyReads; // states whose places a value without place reads
  llvm::DenseMap<mlir::Operation *, IR *> buffers; // allocated once, before the loop over tokens
  llvm::SmallVector<Place> arrays[abi::roleCount];
  llvm::SmallVector<StatePlace> states;
};

} // namespace recur::conversion
