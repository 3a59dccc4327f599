#include "Conversion/TileToLLVM/Emitter.h"
#include "Conversion/ToLLVM/MathFunctions.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace recur::conversion;
using namespace recur::tile;

//===----------------------------------------------------------------------===//
// Types, constants and integers
//===----------------------------------------------------------------------===//

Type Emitter::vectorOf(Type element, int64_t lanes) {
  return lanes == 1 ? element : Type(VectorType::get(lanes, element));
}

Value Emitter::constant(int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 64); }

Value Emitter::splat(Type type, double value) { return buildSplat(builder, loc, type, value); }

Value Emitter::splat(Value scalar, int64_t lanes) {
  if (lanes == 1)
    return scalar;
  return vector::BroadcastOp::create(builder, loc, vectorOf(scalar.getType(), lanes), scalar);
}

Value Emitter::iota(Value base, int64_t lanes) {
  if (lanes == 1)
    return base;
  SmallVector<int32_t> numbers;
  for (int64_t i = 0; i < lanes; ++i)
    numbers.push_back(i);
  auto type = VectorType::get(lanes, builder.getI32Type());
  Value steps = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, ArrayRef(numbers)));
  return arith::AddIOp::create(builder, loc, splat(base, lanes), steps);
}

Value Emitter::add(Value a, int64_t b) {
  return b ? arith::AddIOp::create(builder, loc, a, constant(b)).getResult() : a;
}
Value Emitter::multiply(Value a, int64_t b) {
  return b == 1 ? a : arith::MulIOp::create(builder, loc, a, constant(b)).getResult();
}
Value Emitter::divide(Value a, int64_t b) {
  return b == 1 ? a : arith::DivUIOp::create(builder, loc, a, constant(b)).getResult();
}
Value Emitter::smaller(Value a, Value b) { return arith::MinSIOp::create(builder, loc, a, b); }
Value Emitter::toValue(Index index) {
  return index.value ? add(index.value, index.constant) : constant(index.constant);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value Emitter::offset(Value pointer, Index index, Type element) {
  if (!element)
    element = builder.getF32Type();
  auto type = LLVM::LLVMPointerType::get(builder.getContext());
  if (index.value)
    pointer = LLVM::GEPOp::create(builder, loc, type, element, pointer, ArrayRef<LLVM::GEPArg>{index.value});
  if (index.constant)
    pointer =
        LLVM::GEPOp::create(builder, loc, type, element, pointer, ArrayRef<LLVM::GEPArg>{int32_t(index.constant)});
  return pointer;
}

Value Emitter::address(const Place &place, ArrayRef<Index> indices) {
  Value sum;
  int64_t known = 0;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    int64_t stride = place.type.getStride(dim);
    known += index.constant * stride;
    if (!index.value)
      continue;
    Value term = multiply(index.value, stride);
    sum = sum ? arith::AddIOp::create(builder, loc, sum, term).getResult() : term;
  }
  return offset(place.pointer, Index(sum, known), place.type.getElementType());
}

Value Emitter::load(Value pointer, Type type) {
  Type element = getElementTypeOrSelf(type);
  unsigned bytes = element.getIntOrFloatBitWidth() / 8;
  if (!element.isBF16() || shape.hasBF16)
    return LLVM::LoadOp::create(builder, loc, type, pointer, bytes);
  Value bits = LLVM::LoadOp::create(builder, loc, getTypeLike(type, builder.getI16Type()), pointer, bytes);
  return arith::BitcastOp::create(builder, loc, type, bits);
}
void Emitter::store(Value value, Value pointer) {
  unsigned bytes = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth() / 8;
  LLVM::StoreOp::create(builder, loc, value, pointer, bytes);
}
Value Emitter::convert(Value value, Type element) {
  Type from = getElementTypeOrSelf(value.getType());
  if (from == element)
    return value;
  auto shape = dyn_cast<VectorType>(value.getType());
  int64_t lanes = shape ? shape.getDimSize(0) : 1;
  if (from.isInteger())
    return convert(arith::SIToFPOp::create(builder, loc, vectorOf(builder.getF32Type(), lanes), value), element);
  // LLVM has no registers for bf16 on such processors: a number of it that goes from block to block would be rounded
  // again there, by a function of a library.
  if (from.isBF16() && !this->shape.hasBF16) {
    Value bits = arith::BitcastOp::create(builder, loc, vectorOf(builder.getI16Type(), lanes), value);
    return convert(buildFromBF16Bits(builder, loc, bits), element);
  }
  if (element.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, vectorOf(element, lanes), value);
  if (!element.isBF16() || this->shape.hasBF16)
    return arith::TruncFOp::create(builder, loc, vectorOf(element, lanes), value);
  Value bits = buildToBF16Bits(builder, loc, value);
  return arith::BitcastOp::create(builder, loc, vectorOf(element, lanes), bits);
}
void Emitter::prefetch(Value pointer, bool forWriting) {
  LLVM::Prefetch::create(builder, loc, pointer, /*rw=*/forWriting, /*hint=*/2, /*cache=*/1);
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

Value Emitter::fma(Value a, Value b, Value c) {
  return LLVM::FMAOp::create(builder, loc, c.getType(), ValueRange{a, b, c});
}
Value Emitter::dot(Value a, Value b, Value c) {
  StringAttr name = builder.getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512");
  return LLVM::CallIntrinsicOp::create(builder, loc, c.getType(), name, ValueRange{c, a, b}).getResult(0);
}
Value Emitter::mul(Value a, Value b) { return arith::MulFOp::create(builder, loc, a, b); }
Value Emitter::plus(Value a, Value b) { return arith::AddFOp::create(builder, loc, a, b); }
Value Emitter::minus(Value a, Value b) { return arith::SubFOp::create(builder, loc, a, b); }

Value Emitter::keepLanes(Value value, int64_t count, Value other) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type || count >= type.getDimSize(0))
    return value;
  SmallVector<int64_t> from;
  for (int64_t i = 0; i < type.getDimSize(0); ++i)
    from.push_back(i < count ? i : i + type.getDimSize(0));
  return vector::ShuffleOp::create(builder, loc, value, other, from);
}

Value Emitter::sumLanes(Value vector) {
  if (!isa<VectorType>(vector.getType()))
    return vector;
  auto flags = arith::FastMathFlags::reassoc; // in the order that is quickest, which is always the same
  return vector::ReductionOp::create(builder, loc, vector::CombiningKind::ADD, vector, flags);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<Value> Emitter::loop(Index begin, Index end, int64_t step, ValueRange initial, CarryBody body) {
  return buildLoop(builder, loc, toValue(begin), toValue(end), constant(step), initial, body);
}

void Emitter::loop(Index begin, Index end, int64_t step, LoopBody body) {
  if (!begin.value && !end.value && begin.constant + step >= end.constant) { // at most once
    if (begin.constant < end.constant)
      body(constant(begin.constant));
    return;
  }
  loop(begin, end, step, {}, [&](Value index, ValueRange) {
    body(index);
    return SmallVector<Value>();
  });
}

void Emitter::panels(int64_t columns, int64_t vectors, function_ref<void(Index, int64_t)> body) {
  int64_t blocks = (columns + lanes() - 1) / lanes(), full = blocks / vectors * vectors;
  if (full == vectors)
    body(0, vectors);
  else if (full)
    loop(0, full * lanes(), vectors * lanes(), [&](Value column) { body(column, vectors); });
  if (blocks > full)
    body(full * lanes(), blocks - full);
}

//===----------------------------------------------------------------------===//
// Bodies of loop nests
//===----------------------------------------------------------------------===//

SmallVector<Value> Emitter::body(Region &region, ValueRange arguments, ArrayRef<Index> at, int64_t lanes) {
  IRMapping map;
  Block &block = region.front();
  // Vectors of 16 numbers are those of AVX-512.
  MathFunctions functions(builder, loc, /*hasFMA=*/true, /*scalesByPowers=*/this->lanes() == 16);
  map.map(block.getArguments(), arguments);
  for (Operation &op : block.without_terminator()) {
    auto operand = [&](unsigned i) { return map.lookup(op.getOperand(i)); };
    Value result;
    if (auto index = dyn_cast<IndexOp>(op)) {
      bool last = index.getDim() + 1 == at.size();
      Value value = arith::TruncIOp::create(builder, loc, builder.getI32Type(), toValue(at[index.getDim()]));
      result = last ? iota(value, lanes) : splat(value, lanes);
    } else if (auto number = dyn_cast<arith::ConstantOp>(op)) {
      double value = isa<FloatType>(number.getType()) ? cast<FloatAttr>(number.getValue()).getValueAsDouble()
                                                      : double(cast<IntegerAttr>(number.getValue()).getInt());
      result = splat(vectorOf(number.getType(), lanes), value);
    } else if (isa<math::ExpOp>(op)) {
      result = functions.exp(operand(0));
    } else if (isa<math::ExpM1Op>(op)) {
      result = functions.expm1(operand(0));
    } else if (isa<math::LogOp>(op)) {
      result = functions.log(operand(0));
    } else if (isa<math::Log1pOp>(op)) {
      result = functions.log1p(operand(0));
    } else if (isa<math::SinOp>(op)) {
      result = functions.sin(operand(0));
    } else if (isa<math::CosOp>(op)) {
      result = functions.cos(operand(0));
    } else if (isa<math::TanhOp>(op)) {
      result = functions.tanh(operand(0));
    } else if (isa<math::ErfOp>(op)) {
      result = functions.erf(operand(0));
    } else if (isa<math::FloorOp>(op)) {
      result = functions.floor(operand(0));
    } else { // an elementwise op of arith or math, on vectors
      OperationState state(loc, op.getName());
      for (Value value : op.getOperands())
        state.operands.push_back(map.lookup(value));
      state.addTypes(vectorOf(op.getResult(0).getType(), lanes));
      state.addAttributes(op.getAttrs());
      Operation *made = builder.create(state);
      if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(made)) // a sum of products rounds once
        made->setAttr("fastmath", arith::FastMathFlagsAttr::get(builder.getContext(), arith::FastMathFlags::contract));
      result = made->getResult(0);
    }
    map.map(op.getResult(0), result);
  }
  return llvm::map_to_vector(block.getTerminator()->getOperands(), [&](Value value) { return map.lookup(value); });
}
