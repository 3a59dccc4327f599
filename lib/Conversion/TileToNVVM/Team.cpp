#include "Conversion/TileToNVVM/Team.h"
#include "Conversion/TileToNVVM/InlinePTX.h"
#include "Conversion/ToLLVM/Code.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace recur::conversion;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

void TeamCode::begin() {
  Type word = builder.getI32Type();
  thread = NVVM::ThreadIdXOp::create(builder, loc, word);
  lane = remainder(thread, warpThreads);
  warp = divide(thread, warpThreads);
}

void TeamCode::beginAmongTeams(int64_t count) {
  teams = count;
  ownTeam = NVVM::ThreadIdYOp::create(builder, loc, builder.getI32Type());
}

void TeamCode::barrier() {
  known.clear();
  if (!ownTeam) {
    NVVM::Barrier0Op::create(builder, loc);
    return;
  }
  // Number 0 is that of the whole CTA. Numbers are constants: where one is computed, ptxas takes all 16 that a CTA can
  // have, and fewer CTAs have room on a multiprocessor. LLVM would compute one from conditions.
  std::string text = "{\n.reg .pred own;\n";
  for (int64_t number = 0; number < teams; ++number)
    text += llvm::formatv("setp.eq.u32 own, $0, {0};\n@own bar.sync {1}, {2};\n", number, number + 1, threads);
  text += "}";
  LLVM::InlineAsmOp::create(builder, loc, TypeRange(), ownTeam, text, "r,~{memory}", /*has_side_effects=*/true,
                            /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(),
                            ArrayAttr());
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

Value TeamCode::constant(int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 32); }
Value TeamCode::number(double value) {
  return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(float(value)));
}
Value TeamCode::add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
Value TeamCode::add(Value a, int64_t b) { return b ? add(a, constant(b)) : a; }
Value TeamCode::subtract(Value a, Value b) { return arith::SubIOp::create(builder, loc, a, b); }
Value TeamCode::multiply(Value a, int64_t b) {
  return b == 1 ? a : builder.createOrFold<arith::MulIOp>(loc, a, constant(b));
}
Value TeamCode::divide(Value a, int64_t b) {
  return b == 1 ? a : arith::DivUIOp::create(builder, loc, a, constant(b)).getResult();
}
Value TeamCode::remainder(Value a, int64_t b) { return arith::RemUIOp::create(builder, loc, a, constant(b)); }
Value TeamCode::exclusiveOr(Value a, Value b) { return arith::XOrIOp::create(builder, loc, a, b); }
Value TeamCode::smaller(Value a, Value b) { return arith::MinSIOp::create(builder, loc, a, b); }
Value TeamCode::below(Value a, Value b) { return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b); }
Value TeamCode::toValue(Index index) {
  return index.value ? add(index.value, index.constant) : constant(index.constant);
}
Value TeamCode::narrow(Value wide) { return builder.createOrFold<arith::TruncIOp>(loc, builder.getI32Type(), wide); }
Value TeamCode::widen(Value narrow) { return arith::ExtSIOp::create(builder, loc, builder.getI64Type(), narrow); }
Value TeamCode::multiplyWide(Value a, Value b) { return arith::MulIOp::create(builder, loc, a, b); }
Value TeamCode::addWide(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value TeamCode::offset(Value pointer, Value index, Type element) {
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), element, pointer, ArrayRef<LLVM::GEPArg>{index});
}

Value TeamCode::address(const Place &place, ArrayRef<Index> indices) {
  Value sum;
  int64_t known = 0;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    int64_t stride = place.type.getStride(dim);
    known += index.constant * stride;
    if (!index.value)
      continue;
    Value term = multiply(index.value, stride);
    sum = sum ? add(sum, term) : term;
  }
  Type element = place.type.getElementType();
  Value pointer = sum ? offset(place.pointer, sum, element) : place.pointer;
  if (known)
    pointer =
        LLVM::GEPOp::create(builder, loc, pointer.getType(), element, pointer, ArrayRef<LLVM::GEPArg>{int32_t(known)});
  return pointer;
}

static unsigned bytesOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return (vector ? vector.getNumElements() : 1) * getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8;
}
Value TeamCode::load(Value pointer, Type type) {
  return LLVM::LoadOp::create(builder, loc, type, pointer, bytesOf(type));
}
void TeamCode::store(Value value, Value pointer) {
  LLVM::StoreOp::create(builder, loc, value, pointer, bytesOf(value.getType()));
}
Value TeamCode::get(const Place &place, ArrayRef<Index> indices) {
  return convert(load(address(place, indices), place.type.getElementType()), builder.getF32Type());
}
void TeamCode::put(Value value, const Place &place, ArrayRef<Index> indices) {
  store(convert(value, place.type.getElementType()), address(place, indices));
}

/// How many of so many neighbours one access takes.
static int64_t countAtOnce(const Place &place, int64_t count) {
  TileType type = place.type;
  int64_t last = type.getRank() - 1, bytes = type.getElementBytes(), most = std::min<int64_t>(count, 16 / bytes);
  auto fits = [&](int64_t width) {
    return place.alignment % (width * bytes) == 0 &&
           llvm::all_of(type.getStrides().drop_back(), [&](int64_t stride) { return stride % width == 0; });
  };
  if (type.getStride(last) != 1)
    return 1;
  while (most > 1 && !fits(most))
    most /= 2;
  return most;
}

/// Calls `access` for each access to so many neighbours, with the first of its neighbours and where that one is.
static void forEachAccess(ArrayRef<Index> indices, int64_t count, int64_t width,
                          llvm::function_ref<void(int64_t first, ArrayRef<Index> at)> access) {
  SmallVector<Index> at(indices);
  for (int64_t first = 0; first < count; first += width) {
    at.back() = Index(indices.back().value, indices.back().constant + first);
    access(first, at);
  }
}

SmallVector<Value> TeamCode::getNeighbours(const Place &place, ArrayRef<Index> indices, int64_t count, bool asTheyAre) {
  int64_t width = countAtOnce(place, count);
  Type element = place.type.getElementType();
  SmallVector<Value> values;
  forEachAccess(indices, count, width, [&](int64_t, ArrayRef<Index> at) {
    Value all = load(address(place, at), width > 1 ? Type(VectorType::get(width, element)) : element);
    for (int64_t i = 0; i < width; ++i) {
      Value one = width > 1 ? LLVM::ExtractElementOp::create(builder, loc, all, constant(i)).getResult() : all;
      values.push_back(asTheyAre ? one : convert(one, builder.getF32Type()));
    }
  });
  return values;
}

static bool isInWords(Type element, int64_t count) { return element.isBF16() && count % 2 == 0; }

Type TeamCode::typeOfWords(Type element, int64_t count) const {
  if (isInWords(element, count))
    element = builder.getI32Type(), count /= 2;
  return count > 1 ? Type(VectorType::get(count, element)) : element;
}

SmallVector<Value> TeamCode::takeWordsApart(Value words, Type element, int64_t count) {
  Type f32 = builder.getF32Type();
  auto take = [&](int64_t number) {
    return isa<VectorType>(words.getType())
               ? LLVM::ExtractElementOp::create(builder, loc, words, constant(number)).getResult()
               : words;
  };
  SmallVector<Value> numbers;
  if (!isInWords(element, count)) {
    for (int64_t i = 0; i < count; ++i)
      numbers.push_back(convert(take(i), f32));
    return numbers;
  }
  constexpr int64_t half = 16, upperHalf = -1 << half;
  for (int64_t i = 0; i < count / 2; ++i) {
    Value word = take(i), lower = arith::ShLIOp::create(builder, loc, word, constant(half)),
          upper = arith::AndIOp::create(builder, loc, word, constant(upperHalf));
    for (Value bits : {lower, upper})
      numbers.push_back(arith::BitcastOp::create(builder, loc, f32, bits));
  }
  return numbers;
}

SmallVector<Value> TeamCode::getWords(const Place &place, ArrayRef<Index> indices, int64_t count) {
  int64_t width = countAtOnce(place, count);
  Type element = place.type.getElementType();
  SmallVector<Value> values;
  forEachAccess(indices, count, width, [&](int64_t, ArrayRef<Index> at) {
    llvm::append_range(values, takeWordsApart(load(address(place, at), typeOfWords(element, width)), element, width));
  });
  return values;
}

void TeamCode::putNeighbours(ArrayRef<Value> values, const Place &place, ArrayRef<Index> indices) {
  int64_t count = values.size(), width = countAtOnce(place, count);
  Type element = place.type.getElementType();
  forEachAccess(indices, count, width, [&](int64_t first, ArrayRef<Index> at) {
    Value all = convert(values[first], element);
    if (width > 1) {
      all = LLVM::UndefOp::create(builder, loc, VectorType::get(width, element));
      for (int64_t i = 0; i < width; ++i)
        all = LLVM::InsertElementOp::create(builder, loc, all, convert(values[first + i], element), constant(i));
    }
    store(all, address(place, at));
  });
}

Value TeamCode::convert(Value value, Type element) {
  if (value.getType() == element)
    return value;
  if (value.getType().isInteger())
    return convert(arith::SIToFPOp::create(builder, loc, builder.getF32Type(), value), element);
  if (element.isInteger())
    return arith::FPToSIOp::create(builder, loc, element, convert(value, builder.getF32Type()));
  unsigned from = value.getType().getIntOrFloatBitWidth(), to = element.getIntOrFloatBitWidth();
  if (to > from)
    return arith::ExtFOp::create(builder, loc, element, value);
  if (to < from)
    return arith::TruncFOp::create(builder, loc, element, value);
  return convert(convert(value, builder.getF32Type()), element); // between the types of 16 bits
}

//===----------------------------------------------------------------------===//
// Loops and conditions
//===----------------------------------------------------------------------===//

SmallVector<Value> TeamCode::loop(Value begin, Value end, int64_t step, ValueRange initial, CarryBody body) {
  return buildLoop(builder, loc, begin, end, constant(step), initial, body);
}

void TeamCode::loop(Value begin, Value end, int64_t step, Body body) {
  loop(begin, end, step, {}, [&](Value index, ValueRange) {
    body(index);
    return SmallVector<Value>();
  });
}

void TeamCode::either(Value condition, llvm::function_ref<void()> first, llvm::function_ref<void()> second) {
  buildChoice(builder, loc, condition, first, second);
}

Value TeamCode::choose(Value condition, llvm::function_ref<Value()> make, Value other) {
  auto choice = scf::IfOp::create(builder, loc, TypeRange(other.getType()), condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(choice.thenBlock());
  scf::YieldOp::create(builder, loc, make());
  builder.setInsertionPointToEnd(choice.elseBlock());
  scf::YieldOp::create(builder, loc, other);
  return choice.getResult(0);
}

void TeamCode::when(Value condition, llvm::function_ref<void()> body) { buildChoice(builder, loc, condition, body); }

void TeamCode::loopOverOwn(const Count &count, int64_t atOnce, Body body) {
  bool isOneRound = count.atMost && *count.atMost <= atOnce * threads;
  if (!isOneRound)
    return loop(thread, count.value, atOnce * threads, body);
  Value own = forget(*this, thread);
  if (getConstantIntValue(count.value).value_or(0) >= threads)
    return body(own);
  when(below(own, count.value), [&] { body(own); });
}

void TeamCode::deal(const Count &count, Body body) { loopOverOwn(count, 1, body); }

void TeamCode::dealInStep(const Count &count, int64_t inStep, llvm::function_ref<SmallVector<Value>(Value)> read,
                          llvm::function_ref<void(Value, ArrayRef<Value>)> write) {
  if (count.atMost) // no thread has more than these
    inStep = std::clamp<int64_t>(llvm::divideCeil(*count.atMost, threads), 1, inStep);
  loopOverOwn(count, inStep, [&](Value first) {
    SmallVector<Value> indices{first}, isThere{Value()};
    SmallVector<SmallVector<Value>> known{read(first)};
    for (int64_t i = 1; i < inStep; ++i) {
      indices.push_back(add(first, i * threads));
      isThere.push_back(below(indices[i], count.value));
      known.push_back(read(select(isThere[i], indices[i], first))); // again its own, which no other thread writes
    }
    write(first, known[0]);
    for (int64_t i = 1; i < inStep; ++i)
      when(isThere[i], [&] { write(indices[i], known[i]); });
  });
}

SmallVector<Index> TeamCode::takeApart(Value index, ArrayRef<int64_t> sizes) {
  SmallVector<Index> at(sizes.size(), Index(0));
  int64_t outer = llvm::product_of(sizes);
  for (size_t dim = sizes.size(); dim-- > 0;) {
    outer /= sizes[dim];
    if (sizes[dim] == 1)
      continue;
    if (outer == 1) {
      at[dim] = Index(index);
      break;
    }
    at[dim] = remainder(index, sizes[dim]);
    index = divide(index, sizes[dim]);
  }
  return at;
}

Value TeamCode::combineLanes(Value value, llvm::function_ref<Value(Value, Value)> combine, int64_t lanes) {
  Value everyLane = constant(-1), clamp = constant(warpThreads - 1);
  for (int64_t distance = lanes / 2; distance > 0; distance /= 2)
    value = combine(value, NVVM::ShflOp::create(builder, loc, value.getType(), everyLane, value, constant(distance),
                                                clamp, NVVM::ShflKind::bfly, UnitAttr()));
  return value;
}

static Value shuffle(TeamCode &t, Value value, Value from, Value clamp, NVVM::ShflKind kind) {
  Value everyLane = t.constant(-1);
  return NVVM::ShflOp::create(t.builder, t.loc, value.getType(), everyLane, value, from, clamp, kind, UnitAttr());
}
Value TeamCode::fromLaneBefore(Value value, int64_t distance) {
  return shuffle(*this, value, constant(distance), constant(0), NVVM::ShflKind::up);
}
Value TeamCode::fromLaneAfter(Value value, int64_t distance) {
  return shuffle(*this, value, constant(distance), constant(warpThreads - 1), NVVM::ShflKind::down);
}
Value TeamCode::fromLane(Value value, Value lane) {
  return shuffle(*this, value, lane, constant(warpThreads - 1), NVVM::ShflKind::idx);
}
Value TeamCode::isTurn() {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, warp, constant(turns++ % warps()));
}

//===----------------------------------------------------------------------===//
// Scalar code
//===----------------------------------------------------------------------===//

Value TeamCode::fma(Value a, Value b, Value c) {
  return LLVM::FMAOp::create(builder, loc, c.getType(), ValueRange{a, b, c});
}

SmallVector<Value> TeamCode::body(Region &region, ValueRange arguments, ArrayRef<Index> at) {
  IRMapping map;
  bodyInto(map, region, arguments, at);
  return llvm::map_to_vector(region.front().getTerminator()->getOperands(),
                             [&](Value value) { return map.lookup(value); });
}

Value TeamCode::bodyValue(Region &region, Value wanted, ValueRange arguments, ArrayRef<Index> at) {
  IRMapping map;
  bodyInto(map, region, arguments, at);
  return map.lookup(wanted);
}

void TeamCode::bodyInto(IRMapping &map, Region &region, ValueRange arguments, ArrayRef<Index> at) {
  Block &block = region.front();
  map.map(block.getArguments(), arguments);
  for (Operation &op : block.without_terminator()) {
    if (map.contains(op.getResult(0)))
      continue;
    auto operand = [&] { return map.lookup(op.getOperand(0)); };
    Value result = llvm::TypeSwitch<Operation *, Value>(&op)
                       .Case([&](IndexOp index) { return toValue(at[index.getDim()]); })
                       .Case([&](math::ExpOp) { return exp(operand()); })
                       .Case([&](arith::DivFOp) { return div(operand(), map.lookup(op.getOperand(1))); })
                       .Case([&](math::Exp2Op) { return exp2(operand()); })
                       .Case([&](math::ExpM1Op) { return expm1(operand()); })
                       .Case([&](math::LogOp) { return log(operand()); })
                       .Case([&](math::Log1pOp) { return log1p(operand()); })
                       .Case([&](math::SinOp) { return sin(operand()); })
                       .Case([&](math::CosOp) { return cos(operand()); })
                       .Case([&](math::TanhOp) { return tanh(operand()); })
                       .Case([&](math::ErfOp) { return erf(operand()); })
                       .Case([&](math::FloorOp) { return floor(operand()); })
                       .Default([&](Operation *op) { return builder.clone(*op, map)->getResult(0); });
    map.map(op.getResult(0), result);
  }
}
