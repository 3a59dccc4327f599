#include "Conversion/TileToNVVM/PassedState.h"
#include "Conversion/TileToNVVM/ChainStores.h"
#include "Conversion/TileToNVVM/Warpgroup.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace recur::conversion;
using namespace recur::conversion::nvvm;
using namespace recur::tile;
using recur::analysis::StateChain;

static constexpr int64_t copiedBytes = 16; // of which the copy unit takes a multiple

static TileType arrayOf(const StateChain &chain) { return StoreOp(chain.final).getArray().getType(); }

/// Of numbers of 32 bits each thread stores whole sectors by itself, as fast as the copy unit does.
bool nvvm::isStatePassed(const GPUProfile &gpu, const StateChain &chain) {
  TileType array = arrayOf(chain);
  int64_t bytes = array.getElementBytes();
  return gpu.hasCopyUnit && !chain.stored.empty() && bytes == 2 && array.getShape().back() * bytes % copiedBytes == 0 &&
         chain.stageBytes >= StateChain::channels * chain.keys * bytes;
}

Value nvvm::takesPassedState(TeamCode &t, const CallerArray &array) {
  return arith::AndIOp::create(t.builder, t.loc, isPresent(t, array), isAligned(t, array, copiedBytes));
}

/// Rows lie one behind another, so that the copy unit takes them all at once and the stage is free soon. But lanes with
/// the same columns of different rows would write to the same banks: each row's lanes write its units of columns in
/// another order, for which they exchange what they have.
void nvvm::passState(TeamCode &t, const StateChain &chain, ValueRange state, Value stage) {
  WarpgroupCode code(t);
  Type element = arrayOf(chain).getElementType();
  const int64_t bytes = arrayOf(chain).getElementBytes(), rowBytes = chain.keys * bytes;
  const int64_t units = chain.keys / SumsLayout::unitColumns, unitBytes = SumsLayout::unitColumns * bytes;
  int64_t orders = 32 * wordBytes / unitBytes; // of 32 banks
  while (units % orders)
    orders /= 2;
  Value lane = code.forget(t.lane), row = rowOfWarp(t, code.forget(t.warp), lane);
  Value order = t.remainder(row, orders);
  Value own = t.add(t.add(stage, t.multiply(row, rowBytes)), t.multiply(pairOfLane(t, lane), bytes));
  SmallVector<Value> places;
  for (int64_t i = 0; i < orders; ++i)
    places.push_back(t.add(own, t.multiply(t.exclusiveOr(order, t.constant(i)), unitBytes)));
  SmallVector<Value> isExchanged;
  for (int64_t distance = 1; distance < orders; distance *= 2)
    isExchanged.push_back(arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::ne,
                                                arith::AndIOp::create(t.builder, t.loc, order, t.constant(distance)),
                                                t.constant(0)));
  for (int64_t half : {0, 1}) {
    SmallVector<Value> pairs; // of each unit
    for (int64_t unit = 0; unit < units; ++unit) {
      auto first = size_t(unit * SumsLayout::numbersOfUnit + 2 * half);
      pairs.push_back(code.pack(state[first], state[first + 1], element));
    }
    for (auto [bit, condition] : llvm::enumerate(isExchanged))
      for (int64_t unit = 0; unit < units; ++unit) {
        int64_t other = unit | int64_t(1) << bit;
        if (other == unit)
          continue;
        Value &a = pairs[size_t(unit)], &b = pairs[size_t(other)];
        Value held = t.select(condition, b, a);
        b = t.select(condition, a, b);
        a = held;
      }
    for (int64_t unit = 0; unit < units; ++unit) {
      int64_t behind = unit / orders * orders * unitBytes + half * matrixRows * rowBytes;
      t.store(pairs[size_t(unit)], code.pointerTo(t.add(places[size_t(unit % orders)], behind)));
    }
  }
}

void nvvm::takePassedState(TeamCode &t, const StateChain &chain, const CallerArray &array, Value part, Value stage) {
  WarpgroupCode code(t);
  const int64_t bytes = array.type.getElementBytes(), rowBytes = chain.keys * bytes;
  Value rows = array.channels ? countOwnChannels(t, array, part) : t.constant(StateChain::channels);
  auto copyRow = [&](Value row) {
    Value offset = t.multiplyWide(t.widen(row), array.innerStrides[0]);
    Value to = t.offset(array.pointer, offset, array.type.getElementType());
    code.copyOut(to, t.add(stage, t.multiply(row, rowBytes)), t.constant(array.columns() * bytes));
  };
  auto byRows = [&] { t.loop(t.thread, rows, t.threads, copyRow); };
  if (array.columns() < chain.keys) {
    byRows();
  } else {
    Value isDense = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, array.innerStrides[0],
                                          arith::ConstantIntOp::create(t.builder, t.loc, chain.keys, 64));
    auto atOnce = [&] {
      t.when(t.below(t.thread, t.constant(1)), [&] { code.copyOut(array.pointer, stage, t.multiply(rows, rowBytes)); });
    };
    t.either(isDense, atOnce, byRows);
  }
  code.waitForCopiesOut();
}
