#include "Conversion/DGPSToLLVM/ScalarCode.h"
#include "Conversion/ToLLVM/Code.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;

//===----------------------------------------------------------------------===//
// Numbers and indices
//===----------------------------------------------------------------------===//

Value ScalarCode::number(double value) {
  return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(float(value)));
}
Value ScalarCode::neg(Value x) { return arith::NegFOp::create(builder, loc, x, flags); }
Value ScalarCode::abs(Value x) { return math::AbsFOp::create(builder, loc, x, flags); }
Value ScalarCode::sqrt(Value x) { return math::SqrtOp::create(builder, loc, x, flags); }
Value ScalarCode::isAbove(Value a, Value b) {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, a, b, flags);
}
Value ScalarCode::isOther(Value a, Value b) {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, a, b, flags);
}
Value ScalarCode::isNotAtMost(Value a, Value b) {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UGT, a, b, flags);
}
Value ScalarCode::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}

Value ScalarCode::index(int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 64); }
Value ScalarCode::addIndex(Value a, Value b) {
  return arith::AddIOp::create(builder, loc, a, b, arith::IntegerOverflowFlags::nsw);
}
Value ScalarCode::multiplyIndex(Value a, Value b) {
  return arith::MulIOp::create(builder, loc, a, b, arith::IntegerOverflowFlags::nsw);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void ScalarCode::loop(Value count, llvm::function_ref<void(Value)> body) {
  buildLoop(builder, loc, index(0), count, index(1), body);
}

Value ScalarCode::reduce(int64_t count, Value start, llvm::function_ref<Value(Value, Value)> body) {
  return buildLoop(builder, loc, index(0), index(count), index(1), start,
                   [&](Value i, ValueRange soFar) { return SmallVector<Value>{body(i, soFar.front())}; })
      .front();
}

Value ScalarCode::dot(int64_t count, llvm::function_ref<Value(Value)> a, llvm::function_ref<Value(Value)> b) {
  return reduce(count, number(0), [&](Value i, Value sum) { return add(sum, mul(a(i), b(i))); });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value ScalarCode::at(Value pointer, Value index, Type type) {
  return LLVM::GEPOp::create(builder, loc, pointerType(), type, pointer, ArrayRef<LLVM::GEPArg>{index},
                             LLVM::GEPNoWrapFlags::inbounds);
}
Value ScalarCode::atByte(Value pointer, int64_t offset) {
  return offset ? at(pointer, index(offset), builder.getI8Type()) : pointer;
}
Value ScalarCode::load(Value pointer, Type type) { return LLVM::LoadOp::create(builder, loc, type, pointer); }
void ScalarCode::store(Value value, Value pointer) { LLVM::StoreOp::create(builder, loc, value, pointer); }

/// What LLVM is told of the operands of an intrinsic: the first `pointers` of three are places of float32 numbers.
static ArrayAttr alignPointers(OpBuilder &builder, unsigned pointers) {
  DictionaryAttr aligned = builder.getDictionaryAttr(
      builder.getNamedAttr(LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(sizeof(float))));
  SmallVector<Attribute> attributes(3, builder.getDictionaryAttr({}));
  std::fill_n(attributes.begin(), pointers, aligned);
  return builder.getArrayAttr(attributes);
}

void ScalarCode::copy(Value to, Value from, int64_t count, bool mayOverlap) {
  Value bytes = index(count * int64_t(sizeof(float)));
  if (mayOverlap)
    LLVM::MemmoveOp::create(builder, loc, to, from, bytes, /*isVolatile=*/false)
        .setArgAttrsAttr(alignPointers(builder, 2));
  else
    LLVM::MemcpyOp::create(builder, loc, to, from, bytes, /*isVolatile=*/false)
        .setArgAttrsAttr(alignPointers(builder, 2));
}

void ScalarCode::clear(Value to, int64_t count) {
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 8), bytes = index(count * int64_t(sizeof(float)));
  LLVM::MemsetOp::create(builder, loc, to, zero, bytes, /*isVolatile=*/false)
      .setArgAttrsAttr(alignPointers(builder, 1));
}

/// Numbers of bfloat16 go through memory as integers: every processor's vectors have those.
Type ScalarCode::getStoredType(DataType type) {
  return type == DataType::F32   ? floatType()
         : type == DataType::F16 ? Type(builder.getF16Type())
         : type == DataType::I32 ? Type(builder.getI32Type())
                                 : Type(builder.getI16Type());
}

Value ScalarCode::loadStored(DataType type, Value pointer, Value index) {
  Type stored = getStoredType(type);
  Value value = load(at(pointer, index, stored), stored);
  if (type == DataType::F16)
    return arith::ExtFOp::create(builder, loc, floatType(), value);
  if (type == DataType::I32)
    return arith::SIToFPOp::create(builder, loc, floatType(), value);
  return type == DataType::BF16 ? buildFromBF16Bits(builder, loc, value) : value;
}

void ScalarCode::storeRounded(DataType type, Value value, Value pointer, Value index) {
  if (type == DataType::F16)
    value = arith::TruncFOp::create(builder, loc, builder.getF16Type(), value);
  else if (type == DataType::BF16)
    value = buildToBF16Bits(builder, loc, value);
  store(value, at(pointer, index, getStoredType(type)));
}
