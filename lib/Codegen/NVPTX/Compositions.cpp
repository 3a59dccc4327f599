#include "Codegen/NVPTX/Compositions.h"
#include "ABI/LaunchWords.h"
#include "Codegen/NVPTX/ElementKernel.h"

using namespace llvm;
using namespace recur;

namespace {

class CompositionWriter : codegen::ElementKernel {
public:
  explicit CompositionWriter(Module &module) : ElementKernel(module) {}
  void write(StringRef name);

private:
  Value *number(double value) { return ConstantFP::get(builder.getFloatTy(), value); }
  /// Sums up places, each of them an index and the word of its stride; the unit's is always there.
  Value *place(int unitStride, ArrayRef<std::pair<Value *, int>> sides);
  Value *load(Value *array, Value *index) {
    return builder.CreateLoad(builder.getFloatTy(), builder.CreateGEP(builder.getFloatTy(), array, index));
  }
  /// An element of an array that may be null, and counts as `neutral` then.
  Value *loadIfThere(int array, Value *index, double neutral);
  Value *choose(Value *condition, function_ref<Value *()> make, Value *other);
  Value *makeElementwise(abi::ComposeOperation operation);
  Value *makeProduct(Type *type);
  /// Of a row and a column, with scale and add.
  Value *finishProduct(Value *sum);
  Value *make(abi::ComposeOperation operation);
  Value *makeElement();
  void markLarge();
  /// Sums of the rows of a block, of which a thread has a column.
  SmallVector<Value *> sumBlock(Value *firstRow, bool isInnerDense);
  void makeBlock(Value *index);

  Value *unit = nullptr, *row = nullptr, *column = nullptr, *columns = nullptr; // of what a thread has
};

} // namespace

Value *CompositionWriter::place(int unitStride, ArrayRef<std::pair<Value *, int>> sides) {
  Value *sum = builder.CreateMul(unit, word(unitStride));
  for (auto [index, stride] : sides)
    sum = builder.CreateAdd(sum, builder.CreateMul(index, word(stride)));
  return sum;
}

Value *CompositionWriter::choose(Value *condition, function_ref<Value *()> make, Value *other) {
  BasicBlock *before = builder.GetInsertBlock(), *own = block("there"), *end = block("chosen");
  builder.CreateCondBr(condition, own, end);
  builder.SetInsertPoint(own);
  Value *made = make();
  BasicBlock *last = builder.GetInsertBlock();
  builder.CreateBr(end);
  builder.SetInsertPoint(end);
  PHINode *chosen = builder.CreatePHI(other->getType(), 2);
  chosen->addIncoming(other, before);
  chosen->addIncoming(made, last);
  return chosen;
}

Value *CompositionWriter::loadIfThere(int array, Value *index, double neutral) {
  Value *data = pointer(array);
  return choose(builder.CreateIsNotNull(data), [&] { return load(data, index); }, number(neutral));
}

/// The element of the result, or of `add`, which has its shape.
static Value *getOwnPlace(IRBuilder<> &builder, Value *unitPlace, Value *row, Value *columns, Value *column) {
  return builder.CreateAdd(unitPlace, builder.CreateAdd(builder.CreateMul(row, columns), column));
}

Value *CompositionWriter::makeElementwise(abi::ComposeOperation operation) {
  Value *left = load(pointer(abi::ComposeLeftWord), place(abi::ComposeLeftUnitWord, {{row, abi::ComposeLeftRowWord}}));
  bool isProduct = operation == abi::ScaledOperation || operation == abi::KeptOperation;
  Value *right = loadIfThere(abi::ComposeRightWord, place(abi::ComposeRightUnitWord, {{row, abi::ComposeRightRowWord}}),
                             isProduct ? 1 : 0);
  if (operation == abi::SumOperation)
    return builder.CreateFAdd(left, right);
  Value *add = loadIfThere(abi::ComposeAddWord,
                           getOwnPlace(builder, place(abi::ComposeAddUnitWord, {}), row, columns, column), 0);
  Type *type = builder.getFloatTy();
  if (isProduct) {
    Value *sum = builder.CreateIntrinsic(Intrinsic::fma, {type}, {left, right, add});
    return operation == abi::ScaledOperation ? sum
                                             : builder.CreateSelect(builder.CreateFCmpOEQ(left, number(0)), add, sum);
  }
  Value *moved = builder.CreateFAdd(left, right);
  auto larger = [&] { return builder.CreateIntrinsic(Intrinsic::maxnum, {type}, {moved, add}); };
  auto smaller = [&] { return builder.CreateIntrinsic(Intrinsic::minnum, {type}, {moved, add}); };
  if (operation == abi::MaxOperation)
    return larger();
  if (operation == abi::MinOperation)
    return smaller();
  // log(exp(a) + exp(b)) is the larger one and log(1 + exp(-|a - b|)). Where one is not bounded it is the other.
  bool isMax = operation == abi::SoftMaxOperation;
  Value *extremum = isMax ? larger() : smaller();
  Value *apart = builder.CreateUnaryIntrinsic(Intrinsic::fabs, builder.CreateFSub(moved, add));
  constexpr double log2e = 1.4426950408889634, ln2 = 0.6931471805599453;
  Value *power =
      builder.CreateIntrinsic(Intrinsic::nvvm_ex2_approx, {type}, {builder.CreateFMul(apart, number(-log2e))});
  Value *log = builder.CreateFMul(
      builder.CreateIntrinsic(Intrinsic::nvvm_lg2_approx_f, {}, {builder.CreateFAdd(number(1), power)}), number(ln2));
  Value *soft = isMax ? builder.CreateFAdd(extremum, log) : builder.CreateFSub(extremum, log);
  return builder.CreateSelect(builder.CreateFCmpUEQ(apart, number(std::numeric_limits<double>::infinity())), extremum,
                              soft);
}

/// A row times a column, summed in the type; of float32 with scale and add.
Value *CompositionWriter::makeProduct(Type *type) {
  Value *left = pointer(abi::ComposeLeftWord), *right = pointer(abi::ComposeRightWord);
  Value *firstLeft = place(abi::ComposeLeftUnitWord, {{row, abi::ComposeLeftRowWord}});
  Value *firstRight = place(abi::ComposeRightUnitWord, {{column, abi::ComposeRightColumnWord}});
  Value *leftInner = word(abi::ComposeLeftInnerWord), *rightInner = word(abi::ComposeRightInnerWord),
        *count = word(abi::ComposeInnerWord);
  BasicBlock *before = builder.GetInsertBlock(), *test = block("inner"), *body = block("step"), *end = block("summed");
  builder.CreateBr(test);
  builder.SetInsertPoint(test);
  PHINode *step = builder.CreatePHI(builder.getInt64Ty(), 2), *sum = builder.CreatePHI(type, 2);
  builder.CreateCondBr(builder.CreateICmpSLT(step, count), body, end);
  builder.SetInsertPoint(body);
  auto take = [&](Value *array, Value *first, Value *stride) {
    Value *one = load(array, builder.CreateAdd(first, builder.CreateMul(step, stride)));
    return type->isFloatTy() ? one : builder.CreateFPExt(one, type);
  };
  Value *next = builder.CreateIntrinsic(Intrinsic::fma, {type},
                                        {take(left, firstLeft, leftInner), take(right, firstRight, rightInner), sum});
  step->addIncoming(builder.getInt64(0), before);
  step->addIncoming(builder.CreateAdd(step, builder.getInt64(1)), body);
  sum->addIncoming(ConstantFP::get(type, 0), before);
  sum->addIncoming(next, body);
  builder.CreateBr(test);
  builder.SetInsertPoint(end);
  return type->isFloatTy() ? finishProduct(sum) : builder.CreateFPTrunc(sum, builder.getFloatTy());
}

Value *CompositionWriter::finishProduct(Value *sum) {
  Value *scale = loadIfThere(
      abi::ComposeScaleWord,
      place(abi::ComposeScaleUnitWord, {{row, abi::ComposeScaleRowWord}, {column, abi::ComposeScaleColumnWord}}), 1);
  Value *add = loadIfThere(abi::ComposeAddWord,
                           getOwnPlace(builder, place(abi::ComposeAddUnitWord, {}), row, columns, column), 0);
  return builder.CreateIntrinsic(Intrinsic::fma, {builder.getFloatTy()}, {scale, sum, add});
}

Value *CompositionWriter::make(abi::ComposeOperation operation) {
  switch (operation) {
  case abi::FillOperation:
  case abi::IdentityOperation: {
    Value *bits = builder.CreateTrunc(word(abi::ComposeValueWord), builder.getInt32Ty());
    Value *value = builder.CreateBitCast(bits, builder.getFloatTy());
    return operation == abi::FillOperation ? value
                                           : builder.CreateSelect(builder.CreateICmpEQ(row, column), value, number(0));
  }
  case abi::ProductOperation:
    return makeProduct(builder.getFloatTy());
  case abi::PreciseProductOperation:
    return makeProduct(builder.getDoubleTy());
  default:
    return makeElementwise(operation);
  }
}

/// What the launch's operation makes at a place.
Value *CompositionWriter::makeElement() {
  BasicBlock *unknown = block("operations"), *end = block("made");
  SwitchInst *choice = builder.CreateSwitch(word(abi::ComposeOperationWord), unknown);
  SmallVector<std::pair<Value *, BasicBlock *>> made;
  for (int operation = 0; operation < abi::LargeOperation; ++operation) {
    BasicBlock *own = block("operation");
    choice->addCase(builder.getInt64(uint64_t(operation)), own);
    builder.SetInsertPoint(own);
    Value *value = make(abi::ComposeOperation(operation));
    made.push_back({value, builder.GetInsertBlock()});
    builder.CreateBr(end);
  }
  builder.SetInsertPoint(unknown);
  builder.CreateUnreachable();
  builder.SetInsertPoint(end);
  PHINode *value = builder.CreatePHI(builder.getFloatTy(), unsigned(made.size()));
  for (auto [one, own] : made)
    value->addIncoming(one, own);
  return value;
}

/// All threads that find something large store the same.
void CompositionWriter::markLarge() {
  BasicBlock *mark = block("large"), *end = block("marked");
  Value *left = load(pointer(abi::ComposeLeftWord), place(abi::ComposeLeftUnitWord, {{row, abi::ComposeLeftRowWord}}));
  Value *bits = builder.CreateTrunc(word(abi::ComposeValueWord), builder.getInt32Ty());
  Value *most = builder.CreateBitCast(bits, builder.getFloatTy());
  Value *isLittle = builder.CreateFCmpOLE(builder.CreateUnaryIntrinsic(Intrinsic::fabs, left), most);
  builder.CreateCondBr(isLittle, end, mark);
  builder.SetInsertPoint(mark);
  Value *to = place(abi::ComposeResultUnitWord, {});
  builder.CreateStore(number(0), builder.CreateGEP(builder.getFloatTy(), pointer(abi::ComposeResultWord), to));
  builder.CreateBr(end);
  builder.SetInsertPoint(end);
}

SmallVector<Value *> CompositionWriter::sumBlock(Value *firstRow, bool isInnerDense) {
  Type *number = builder.getFloatTy(), *numbers = FixedVectorType::get(number, abi::blockInner);
  Value *left = pointer(abi::ComposeLeftWord), *right = pointer(abi::ComposeRightWord);
  Value *leftUnit = place(abi::ComposeLeftUnitWord, {});
  Value *firstRight = place(abi::ComposeRightUnitWord, {{column, abi::ComposeRightColumnWord}});
  SmallVector<Value *> firstLeft;
  for (int i = 0; i < abi::blockRows; ++i)
    firstLeft.push_back(builder.CreateAdd(
        leftUnit, builder.CreateMul(builder.CreateAdd(firstRow, builder.getInt64(i)), word(abi::ComposeLeftRowWord))));
  auto loadAll = [&](Value *array, Value *index) {
    return builder.CreateAlignedLoad(numbers, builder.CreateGEP(number, array, index),
                                     Align(abi::blockInner * sizeof(float)));
  };
  BasicBlock *before = builder.GetInsertBlock(), *test = block("inner"), *body = block("steps"), *end = block("summed");
  builder.CreateBr(test);
  builder.SetInsertPoint(test);
  PHINode *step = builder.CreatePHI(builder.getInt64Ty(), 2);
  SmallVector<Value *> sums;
  for (int i = 0; i < abi::blockRows; ++i)
    sums.push_back(builder.CreatePHI(number, 2));
  builder.CreateCondBr(builder.CreateICmpSLT(step, word(abi::ComposeInnerWord)), body, end);
  builder.SetInsertPoint(body);
  SmallVector<Value *> factors, rows;
  Value *together = isInnerDense ? loadAll(right, builder.CreateAdd(firstRight, step)) : nullptr;
  for (int i = 0; i < abi::blockInner; ++i) {
    Value *inner = builder.CreateMul(builder.CreateAdd(step, builder.getInt64(i)), word(abi::ComposeRightInnerWord));
    factors.push_back(together ? builder.CreateExtractElement(together, uint64_t(i))
                               : load(right, builder.CreateAdd(firstRight, inner)));
  }
  for (Value *first : firstLeft)
    rows.push_back(loadAll(left, builder.CreateAdd(first, step)));
  for (auto [row, sum] : zip_equal(rows, sums)) {
    Value *next = sum;
    for (int i = 0; i < abi::blockInner; ++i)
      next = builder.CreateIntrinsic(Intrinsic::fma, {number},
                                     {builder.CreateExtractElement(row, uint64_t(i)), factors[size_t(i)], next});
    cast<PHINode>(sum)->addIncoming(ConstantFP::get(number, 0), before);
    cast<PHINode>(sum)->addIncoming(next, body);
  }
  step->addIncoming(builder.getInt64(0), before);
  step->addIncoming(builder.CreateAdd(step, builder.getInt64(abi::blockInner)), body);
  builder.CreateBr(test);
  builder.SetInsertPoint(end);
  return sums;
}

/// Loads of right are those of neighbours, and are used for all rows of the block; those of left are the same for all
/// threads of a warp.
void CompositionWriter::makeBlock(Value *index) {
  Value *blocks = builder.CreateUDiv(word(abi::ComposeRowsWord), builder.getInt64(abi::blockRows));
  Value *ofUnit = builder.CreateMul(blocks, columns), *rest = builder.CreateURem(index, ofUnit);
  unit = builder.CreateUDiv(index, ofUnit);
  column = builder.CreateURem(rest, columns);
  Value *firstRow = builder.CreateMul(builder.CreateUDiv(rest, columns), builder.getInt64(abi::blockRows));
  BasicBlock *dense = block("dense"), *apart = block("apart"), *end = block("sums");
  Value *isDense = builder.CreateICmpEQ(word(abi::ComposeRightInnerWord), builder.getInt64(1));
  builder.CreateCondBr(isDense, dense, apart);
  SmallVector<SmallVector<Value *>> found;
  SmallVector<BasicBlock *> from;
  for (BasicBlock *way : {dense, apart}) {
    builder.SetInsertPoint(way);
    found.push_back(sumBlock(firstRow, way == dense));
    from.push_back(builder.GetInsertBlock());
    builder.CreateBr(end);
  }
  builder.SetInsertPoint(end);
  SmallVector<PHINode *> sums;
  for (int i = 0; i < abi::blockRows; ++i) {
    sums.push_back(builder.CreatePHI(builder.getFloatTy(), 2));
    for (size_t way = 0; way < from.size(); ++way)
      sums.back()->addIncoming(found[way][size_t(i)], from[way]);
  }
  for (auto [i, sum] : enumerate(sums)) {
    row = builder.CreateAdd(firstRow, builder.getInt64(i));
    Value *value = finishProduct(sum);
    Value *to = getOwnPlace(builder, place(abi::ComposeResultUnitWord, {}), row, columns, column);
    builder.CreateStore(value, builder.CreateGEP(builder.getFloatTy(), pointer(abi::ComposeResultWord), to));
  }
}

void CompositionWriter::write(StringRef name) {
  begin(name, codegen::compositionThreads, abi::composeWords);
  columns = word(abi::ComposeColumnsWord);
  BasicBlock *inBlocks = block("blocks"), *oneByOne = block("elements");
  Value *operation = word(abi::ComposeOperationWord);
  builder.CreateCondBr(builder.CreateICmpEQ(operation, builder.getInt64(abi::BlockProductOperation)), inBlocks,
                       oneByOne);
  builder.SetInsertPoint(inBlocks);
  Value *all = builder.CreateMul(word(abi::ComposeUnitsWord), builder.CreateMul(word(abi::ComposeRowsWord), columns));
  shareOut(builder.CreateUDiv(all, builder.getInt64(abi::blockRows)), [&](Value *index) { makeBlock(index); });
  builder.SetInsertPoint(oneByOne);
  Value *rows = word(abi::ComposeRowsWord), *ofUnit = builder.CreateMul(rows, columns);
  shareOut(builder.CreateMul(word(abi::ComposeUnitsWord), ofUnit), [&](Value *index) {
    unit = builder.CreateUDiv(index, ofUnit);
    Value *rest = builder.CreateURem(index, ofUnit);
    row = builder.CreateUDiv(rest, columns), column = builder.CreateURem(rest, columns);
    BasicBlock *judged = block("judged"), *made = block("element"), *end = block("given");
    Value *judges = builder.CreateICmpEQ(operation, builder.getInt64(abi::LargeOperation));
    builder.CreateCondBr(judges, judged, made);
    builder.SetInsertPoint(judged);
    markLarge();
    builder.CreateBr(end);
    builder.SetInsertPoint(made);
    Value *value = makeElement();
    Value *to = getOwnPlace(builder, place(abi::ComposeResultUnitWord, {}), row, columns, column);
    builder.CreateStore(value, builder.CreateGEP(builder.getFloatTy(), pointer(abi::ComposeResultWord), to));
    builder.CreateBr(end);
    builder.SetInsertPoint(end);
  });
}

std::unique_ptr<Module> codegen::makeCompositions(LLVMContext &context, StringRef name) {
  auto module = std::make_unique<Module>(name, context);
  CompositionWriter(*module).write(name);
  return module;
}
