// Products of pairs of bf16 by AMX: blocks of up to 32 x 32 sums in four tiles, for which each step of 32 inner indices
// loads two tiles of rows of the left factor and two of pairs of the right one.
//
// Every product configures the tiles for itself and releases them, so that neither the caller nor other code of the
// kernel notices. What is left of the inner indices behind the whole steps is a pass of its own, whose tiles are as
// narrow as that.
#include "Conversion/TileToLLVM/Emitter.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

namespace {

constexpr int64_t tileRows = 16, tileWords = 16, blockRows = 2 * tileRows, blockColumns = 2 * tileWords;
constexpr int64_t stepPairs = 16, stepInner = 2 * stepPairs;
// The numbers of the tiles: sums [i, j] in 2 i + j, left ones and right ones.
constexpr int64_t leftTile = 4, rightTile = 6;

/// A block of the result: its tiles of rows and columns, of which the last one of rows may be short.
struct Block {
  Value row;
  Index column;
  int64_t rows, columnTiles;
  int64_t rowTiles() const { return llvm::divideCeil(rows, tileRows); }
};

class AMXProduct {
public:
  AMXProduct(Emitter &e, const Product &product)
      : e(e), builder(e.builder), loc(e.loc), product(product), result(product.result), size(result.type.getSize(0)),
        columnTiles(llvm::divideCeil(result.type.getSize(1), tileWords)) {}

  void emit();

private:
  void call(StringRef name, ValueRange operands) {
    LLVM::CallIntrinsicOp::create(builder, loc, builder.getStringAttr("llvm.x86." + name), operands);
  }
  Value number(int64_t value, unsigned bits) { return arith::ConstantIntOp::create(builder, loc, value, bits); }
  Value tile(int64_t index) { return number(index, 8); }
  void load(int64_t index, Value pointer, Value bytes) { call("tileloadd64", {tile(index), pointer, bytes}); }
  Value rowBytes(const Place &place) {
    return e.constant(place.type.getStride(0) * (place.type.getElementType().getIntOrFloatBitWidth() / 8));
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  void when(Value condition, llvm::function_ref<void()> then) {
    auto choice = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(choice.thenBlock()->getTerminator());
    then();
  }
  Value makeMemory(int64_t bytes);

  void configure(int64_t rows, Value pairs);
  void overBlocks(Value pairs, llvm::function_ref<void(const Block &)> body);
  void emitSteps(bool isFirst, Value pairs, llvm::function_ref<void(const Block &)> multiply);
  void loadSums(const Block &block);
  void startSums(const Block &block);
  void storeSums(const Block &block);
  void addStep(const Block &block, Value step, Value rightPointer, int64_t rightColumn, Value rightBytes);
  void addWholeSteps(const Block &block, Value end);
  void fetch(Value part);

  // Causal products: what a triangle of the left factor leaves out is not multiplied.
  void emitCausal();
  Value endOf(Value row) {
    auto [rowsPerToken, perToken] = *product.leftTriangle;
    return e.smaller(product.inner, e.multiply(e.add(e.divide(row, rowsPerToken), 1), perToken));
  }
  Value addCareful(const Block &block, Value step, Value unclean);
  void addUnclean(const Block &block, Value begin, Value unclean);

  Emitter &e;
  OpBuilder &builder;
  Location loc;
  const Product &product;
  const Place &result;
  int64_t size, columnTiles;
  Value configuration, cleaned;
};

} // namespace

/// Memory on the stack, of the whole kernel.
Value AMXProduct::makeMemory(int64_t bytes) {
  auto function = builder.getInsertionBlock()->getParentOp()->getParentOfType<LLVM::LLVMFuncOp>();
  if (!function)
    function = cast<LLVM::LLVMFuncOp>(builder.getInsertionBlock()->getParentOp());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getBody().front());
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  return LLVM::AllocaOp::create(builder, loc, pointer, builder.getI8Type(), e.constant(bytes), /*alignment=*/64);
}

/// Tiles for blocks of so many rows, and steps of so many pairs of inner indices.
void AMXProduct::configure(int64_t rows, Value pairs) {
  SmallVector<int8_t> bytes(64, 0);
  bytes[0] = 1; // the palette
  auto setTile = [&](int64_t tile, int64_t rows) {
    bytes[16 + 2 * tile] = 64; // bytes in a row
    bytes[48 + tile] = int8_t(rows);
  };
  for (int64_t i = 0; i < 2; ++i) {
    int64_t own = std::clamp<int64_t>(rows - i * tileRows, 1, tileRows);
    setTile(2 * i, own);
    setTile(2 * i + 1, own);
    setTile(leftTile + i, own);
    setTile(rightTile + i, tileRows);
  }
  auto type = VectorType::get(64, builder.getI8Type());
  e.store(arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, ArrayRef<int8_t>(bytes))),
          configuration);
  if (pairs)
    for (int64_t i = 0; i < 2; ++i) {
      Type i8 = builder.getI8Type(), i16 = builder.getI16Type();
      e.store(arith::TruncIOp::create(builder, loc, i16, e.multiply(pairs, 4)),
              e.offset(configuration, 16 + 2 * (leftTile + i), i8));
      e.store(arith::TruncIOp::create(builder, loc, i8, pairs), e.offset(configuration, 48 + rightTile + i, i8));
    }
  call("ldtilecfg", configuration);
}

/// All blocks that are looked at; the tiles are configured for steps of so many pairs, whole ones if that is null.
void AMXProduct::overBlocks(Value pairs, llvm::function_ref<void(const Block &)> body) {
  int64_t whole = size / blockRows * blockRows;
  auto over = [&](int64_t rows, llvm::function_ref<void(Index, int64_t)> rowsOf) {
    configure(rows, pairs);
    e.panels(columnTiles * tileWords, 2, rowsOf);
  };
  if (whole)
    over(blockRows, [&](Index column, int64_t tiles) {
      Index begin = 0;
      if (product.resultTriangle) { // rows above see none of these columns
        auto [r, w] = *product.resultTriangle;
        Value firstRow = e.multiply(e.divide(e.toValue(column), w), r);
        begin = e.multiply(e.divide(firstRow, blockRows), blockRows);
      }
      e.loop(begin, e.smaller(product.rows, e.constant(whole)), blockRows,
             [&](Value row) { body({row, column, blockRows, tiles}); });
    });
  if (whole < size)
    when(compare(arith::CmpIPredicate::slt, e.constant(whole), product.rows), [&] {
      over(size - whole, [&](Index column, int64_t tiles) { body({e.constant(whole), column, size - whole, tiles}); });
    });
}

void AMXProduct::loadSums(const Block &block) {
  Value bytes = rowBytes(result);
  for (int64_t i = 0; i < block.rowTiles(); ++i)
    for (int64_t j = 0; j < block.columnTiles; ++j)
      load(2 * i + j,
           e.address(result, {Index(block.row, i * tileRows),
                              Index(block.column.value, block.column.constant + j * tileWords)}),
           bytes);
}

void AMXProduct::startSums(const Block &block) {
  if (!product.plus) {
    for (int64_t i = 0; i < block.rowTiles(); ++i)
      for (int64_t j = 0; j < block.columnTiles; ++j)
        call("tilezero", tile(2 * i + j));
    return;
  }
  bool isThere = product.plus->pointer == result.pointer && product.plus->type == result.type;
  if (!isThere || product.rowScale || product.columnScale)
    e.loop(0, block.rows, 1, [&](Value row) {
      Value at = arith::AddIOp::create(builder, loc, block.row, row);
      SmallVector<Value> sums = emitStart(e, product, at, block.column, 1, block.columnTiles);
      for (auto [v, sum] : llvm::enumerate(sums))
        e.store(sum,
                e.address(result, {at, Index(block.column.value, block.column.constant + int64_t(v) * tileWords)}));
    });
  loadSums(block);
}

void AMXProduct::storeSums(const Block &block) {
  Value bytes = rowBytes(result);
  for (int64_t i = 0; i < block.rowTiles(); ++i)
    for (int64_t j = 0; j < block.columnTiles; ++j) {
      Index column(block.column.value, block.column.constant + j * tileWords);
      call("tilestored64", {tile(2 * i + j), e.address(result, {Index(block.row, i * tileRows), column}), bytes});
    }
}

/// A step, whose pairs of the right factor lie at the pointer, tiles of columns so many bf16 numbers apart.
void AMXProduct::addStep(const Block &block, Value step, Value rightPointer, int64_t rightColumn, Value rightBytes) {
  Value leftBytes = rowBytes(product.left), inner = e.multiply(step, stepInner);
  for (int64_t j = 0; j < block.columnTiles; ++j)
    load(rightTile + j, e.offset(rightPointer, j * rightColumn, builder.getBF16Type()), rightBytes);
  for (int64_t i = 0; i < block.rowTiles(); ++i) {
    load(leftTile + i, e.address(product.left, {Index(block.row, i * tileRows), inner}), leftBytes);
    for (int64_t j = 0; j < block.columnTiles; ++j)
      call("tdpbf16ps", {tile(2 * i + j), tile(leftTile + i), tile(rightTile + j)});
  }
}

void AMXProduct::addWholeSteps(const Block &block, Value end) {
  // The blocks' loops ask for what lies ahead where all have as many steps.
  int64_t steps = product.right.type.getSize(0) / stepPairs;
  int64_t rowBlocks = llvm::divideCeil(size, blockRows), panels = llvm::divideCeil(columnTiles, 2);
  bool everyStep = !product.leftTriangle && !product.resultTriangle && steps > 0;
  Fetches fetches(e, product.ahead, rowBlocks * panels * (everyStep ? steps : 1));
  Value panel = e.multiply(e.divide(e.toValue(block.column), blockColumns), rowBlocks);
  Value unit = arith::AddIOp::create(builder, loc, panel, e.divide(block.row, blockRows));
  if (!everyStep)
    fetches.emit(unit);
  e.loop(0, end, 1, [&](Value step) {
    if (everyStep)
      fetches.emit(arith::AddIOp::create(builder, loc, e.multiply(unit, steps), step));
    Value pairs = e.multiply(step, stepPairs);
    addStep(block, step, e.address(product.right, {pairs, block.column, 0}), 2 * tileWords, rowBytes(product.right));
  });
}

//===----------------------------------------------------------------------===//
// Causal products
//===----------------------------------------------------------------------===//

/// A step in which rows differ in how many inner indices they take. The left factor has zeros behind those, and zero
/// times anything that is a number adds nothing: so the step takes a copy of the right factor with zeros instead of
/// what is no number. Gives whether there was any, or before.
Value AMXProduct::addCareful(const Block &block, Value step, Value unclean) {
  Type words = e.vectorOf(builder.getI32Type(), tileWords), halves = e.vectorOf(builder.getI16Type(), 2 * tileWords);
  Type bf16 = builder.getBF16Type();
  Value first = e.multiply(step, stepPairs), end = e.divide(e.add(product.inner, 1), 2);
  Value zeros = e.splat(halves, 0), exponent = e.splat(halves, 0x7f80);
  Value seen = e.loop(0, stepPairs, 1, unclean, [&](Value pair, ValueRange seen) {
    Value place = arith::AddIOp::create(builder, loc, first, pair);
    Value isThere = compare(arith::CmpIPredicate::slt, place, end);
    Value from = e.smaller(place, e.add(end, -1)), all = seen[0];
    for (int64_t j = 0; j < block.columnTiles; ++j) {
      Index column(block.column.value, block.column.constant + j * tileWords);
      Value numbers = e.load(e.address(product.right, {from, column, 0}), halves);
      Value bits = arith::AndIOp::create(builder, loc, numbers, exponent);
      Value isNone = compare(arith::CmpIPredicate::eq, bits, exponent);
      Value clean = arith::SelectOp::create(builder, loc, isNone, zeros, numbers);
      clean = arith::SelectOp::create(builder, loc, isThere, clean, zeros);
      all = arith::OrIOp::create(builder, loc, all, arith::SelectOp::create(builder, loc, isNone, exponent, zeros));
      Value to = e.offset(cleaned, e.multiply(pair, 2 * blockColumns), bf16);
      e.store(LLVM::BitcastOp::create(builder, loc, words, clean), e.offset(to, j * 2 * tileWords, bf16));
    }
    return SmallVector<Value>{all};
  })[0];
  addStep(block, step, cleaned, 2 * tileWords, e.constant(2 * blockColumns * 2));
  return seen;
}

/// Adds the products with what is no number to the rows that take it, from this inner index on.
void AMXProduct::addUnclean(const Block &block, Value begin, Value unclean) {
  Value any = vector::ReductionOp::create(builder, loc, vector::CombiningKind::OR, unclean);
  Type f32 = builder.getF32Type(), halves = e.vectorOf(builder.getI16Type(), tileWords);
  when(compare(arith::CmpIPredicate::ne, any, number(0, 16)), [&] {
    Value lastRow = e.smaller(product.rows, e.add(block.row, block.rows));
    e.loop(block.row, lastRow, 1, [&](Value row) {
      e.loop(begin, endOf(row), 1, [&](Value k) {
        Value left = e.convert(e.load(e.address(product.left, {row, k}), builder.getBF16Type()), f32);
        Value pair = e.divide(k, 2), half = arith::RemUIOp::create(builder, loc, k, e.constant(2));
        for (int64_t j = 0; j < block.columnTiles; ++j) {
          Index column(block.column.value, block.column.constant + j * tileWords);
          Type words = e.vectorOf(builder.getI32Type(), tileWords);
          Value both = e.load(e.address(product.right, {pair, column, 0}), words);
          Value shift = arith::TruncIOp::create(builder, loc, builder.getI32Type(), e.multiply(half, 16));
          Value bits = arith::ShRUIOp::create(builder, loc, both, e.splat(shift, tileWords));
          bits = arith::TruncIOp::create(builder, loc, halves, bits);
          Value exponent = e.splat(halves, 0x7f80);
          Value isNone =
              compare(arith::CmpIPredicate::eq, arith::AndIOp::create(builder, loc, bits, exponent), exponent);
          Value right = LLVM::BitcastOp::create(builder, loc, e.vectorOf(builder.getBF16Type(), tileWords), bits);
          Value place = e.address(result, {row, column}), sum = e.load(place, e.floats(tileWords));
          Value more = e.fma(e.splat(left, tileWords), e.convert(right, f32), sum);
          e.store(arith::SelectOp::create(builder, loc, isNone, more, sum), place);
        }
      });
    });
  });
}

void AMXProduct::emitCausal() {
  auto [rowsPerToken, perToken] = *product.leftTriangle;
  int64_t inner = product.left.type.getSize(1), whole = inner / stepInner, tail = inner % stepInner / 2;
  Type halves = e.vectorOf(builder.getI16Type(), 2 * tileWords);
  Value none = e.splat(halves, 0);
  cleaned = makeMemory(stepPairs * blockColumns * 4);
  auto endOfBlock = [&](const Block &block) { return endOf(e.add(block.row, block.rows - 1)); };
  overBlocks({}, [&](const Block &block) {
    startSums(block);
    // All rows take what the tokens before the first row's have.
    Value before = e.multiply(e.divide(block.row, rowsPerToken), perToken);
    Value plain = e.divide(e.smaller(product.inner, before), stepInner);
    plain = e.smaller(plain, e.constant(whole));
    addWholeSteps(block, plain);
    Value steps = e.divide(e.add(endOfBlock(block), stepInner - 1), stepInner);
    Value unclean = e.loop(plain, e.smaller(steps, e.constant(whole)), 1, none, [&](Value step, ValueRange seen) {
      return SmallVector<Value>{addCareful(block, step, seen[0])};
    })[0];
    storeSums(block);
    addUnclean(block, e.multiply(plain, stepInner), unclean);
  });
  if (tail == 0)
    return;
  overBlocks(e.constant(tail), [&](const Block &block) {
    Value begin = e.constant(whole * stepInner);
    when(compare(arith::CmpIPredicate::slt, begin, endOfBlock(block)), [&] {
      loadSums(block);
      Value unclean = addCareful(block, e.constant(whole), none);
      storeSums(block);
      addUnclean(block, begin, unclean);
    });
  });
}

//===----------------------------------------------------------------------===//
// All products
//===----------------------------------------------------------------------===//

void AMXProduct::emit() {
  configuration = makeMemory(64);
  if (product.leftTriangle) {
    emitCausal();
  } else {
    Value pairs = e.divide(e.add(product.inner, 1), 2), whole = e.divide(pairs, stepPairs);
    overBlocks({}, [&](const Block &block) {
      startSums(block);
      addWholeSteps(block, whole);
      storeSums(block);
    });
    Value rest = arith::RemUIOp::create(builder, loc, pairs, e.constant(stepPairs));
    auto emitRest = [&] {
      overBlocks(rest, [&](const Block &block) {
        loadSums(block);
        Value right = e.address(product.right, {e.multiply(whole, stepPairs), block.column, 0});
        addStep(block, whole, right, 2 * tileWords, rowBytes(product.right));
        storeSums(block);
      });
    };
    APInt inner;
    if (!matchPattern(product.inner, m_ConstantInt(&inner)))
      when(compare(arith::CmpIPredicate::ne, rest, e.constant(0)), emitRest);
    else if (inner.getSExtValue() % stepInner != 0)
      emitRest();
  }
  call("tilerelease", {});
}

bool conversion::isAMXProduct(const Emitter &e, const Product &product) {
  return e.shape.hasAMX && e.lanes() == tileWords && product.right.type.getRank() == 3 && !product.transposed;
}
void conversion::emitAMXProduct(Emitter &e, const Product &product) { AMXProduct(e, product).emit(); }
