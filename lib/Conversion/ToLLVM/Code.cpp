#include "Conversion/ToLLVM/Code.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace recur;

//===----------------------------------------------------------------------===//
// Loops and conditions
//===----------------------------------------------------------------------===//

SmallVector<Value> conversion::buildLoop(OpBuilder &builder, Location loc, Value begin, Value end, Value step,
                                         ValueRange initial, CarryBody body) {
  auto op = scf::ForOp::create(builder, loc, begin, end, step, initial);
  OpBuilder::InsertionGuard guard(builder);
  if (initial.empty())
    builder.setInsertionPoint(op.getBody()->getTerminator());
  else
    builder.setInsertionPointToEnd(op.getBody());
  SmallVector<Value> next = body(op.getInductionVar(), op.getRegionIterArgs());
  if (!initial.empty())
    scf::YieldOp::create(builder, loc, next);
  return llvm::to_vector_of<Value>(op.getResults());
}

void conversion::buildLoop(OpBuilder &builder, Location loc, Value begin, Value end, Value step, LoopBody body) {
  buildLoop(builder, loc, begin, end, step, {}, [&](Value index, ValueRange) {
    body(index);
    return SmallVector<Value>();
  });
}

void conversion::buildChoice(OpBuilder &builder, Location loc, Value condition, llvm::function_ref<void()> first,
                             llvm::function_ref<void()> second) {
  auto choice = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/bool(second));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(choice.thenBlock()->getTerminator());
  first();
  if (!second)
    return;
  builder.setInsertionPoint(choice.elseBlock()->getTerminator());
  second();
}

Value conversion::buildIsPresent(OpBuilder &builder, Location loc, Value pointer) {
  Value null = LLVM::ZeroOp::create(builder, loc, pointer.getType());
  return LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, pointer, null);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Type conversion::getTypeLike(Type shaped, Type element) {
  auto vector = dyn_cast<VectorType>(shaped);
  return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
}

Value conversion::buildSplat(OpBuilder &builder, Location loc, Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attribute = isa<FloatType>(element) ? TypedAttr(builder.getFloatAttr(element, value))
                                                : TypedAttr(builder.getIntegerAttr(element, int64_t(value)));
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, ArrayRef<Attribute>(attribute));
  return arith::ConstantOp::create(builder, loc, attribute);
}

Value conversion::buildFromBF16Bits(OpBuilder &builder, Location loc, Value bits) {
  Type words = getTypeLike(bits.getType(), builder.getI32Type());
  Value wide = arith::ExtUIOp::create(builder, loc, words, bits);
  wide = arith::ShLIOp::create(builder, loc, wide, buildSplat(builder, loc, words, 16));
  return arith::BitcastOp::create(builder, loc, getTypeLike(words, builder.getF32Type()), wide);
}

Value conversion::buildToBF16Bits(OpBuilder &builder, Location loc, Value value) {
  Type words = getTypeLike(value.getType(), builder.getI32Type()), halves = getTypeLike(words, builder.getI16Type());
  auto integer = [&](int64_t number) { return buildSplat(builder, loc, words, double(number)); };
  Value bits = arith::BitcastOp::create(builder, loc, words, value);
  Value odd = arith::ShRUIOp::create(builder, loc, bits, integer(16));
  odd = arith::AndIOp::create(builder, loc, odd, integer(1));
  Value sum = arith::AddIOp::create(builder, loc, bits, integer(0x7fff));
  sum = arith::AddIOp::create(builder, loc, sum, odd);
  Value rounded = arith::ShRUIOp::create(builder, loc, sum, integer(16));
  Value isNaN = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, value, value);
  rounded = arith::SelectOp::create(builder, loc, isNaN, integer(0x7fc0), rounded);
  return arith::TruncIOp::create(builder, loc, halves, rounded);
}
