#include "Conversion/TileToNVVM/Warpgroup.h"
#include "Conversion/TileToNVVM/InlinePTX.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

static constexpr unsigned clusterSpace = 7; // of NVVM

Value WarpgroupCode::run(StringRef text, StringRef constraints, ValueRange operands, Type result) {
  return emitText(t, text, constraints, operands, result);
}

Value WarpgroupCode::addressOf(Value sharedPointer) {
  return LLVM::PtrToIntOp::create(t.builder, t.loc, t.builder.getI32Type(), sharedPointer);
}

Value WarpgroupCode::pointerTo(Value address) {
  return LLVM::IntToPtrOp::create(t.builder, t.loc, LLVM::LLVMPointerType::get(t.builder.getContext(), sharedSpace),
                                  address);
}

Value WarpgroupCode::forget(Value number) { return nvvm::forget(t, number, TextReach::Memory); }

void WarpgroupCode::call(StringRef intrinsic, ValueRange operands) {
  LLVM::CallIntrinsicOp::create(t.builder, t.loc, t.builder.getStringAttr(intrinsic), operands);
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void WarpgroupCode::makeBarrier(Value address, int64_t arrivals) {
  NVVM::MBarrierInitOp::create(t.builder, t.loc, pointerTo(address), t.constant(arrivals), /*predicate=*/Value());
}

void WarpgroupCode::arrive(Value address, int64_t times) {
  NVVM::MBarrierArriveOp::create(t.builder, t.loc, t.builder.getI64Type(), pointerTo(address),
                                 /*count=*/times == 1 ? Value() : t.constant(times));
}

// NVVM's waiting loop is a text of which LLVM believes that it leaves memory as it is, so that it may read what is
// waited for before; a loop of LLVM's own around one try would be copied and turned.
void WarpgroupCode::wait(Value address, Value parity) {
  StringRef sleeping = "{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1;\n@p bra done;\n"
                       "bra again;\ndone:\n}",
            asking = "{\n.reg .pred p;\nagain:\nmbarrier.test_wait.parity.shared.b64 p, [$0], $1;\n@p bra done;\n"
                     "nanosleep.u32 20;\nbra again;\ndone:\n}";
  run(t.gpu.waitsAtBarriers ? sleeping : asking, "r,r", {address, parity});
}

void WarpgroupCode::fence() {
  if (unit.getRightSource() == FactorSource::SharedMemory || t.gpu.hasCopyUnit)
    NVVM::FenceProxyOp::create(t.builder, t.loc, NVVM::ProxyKind::async_shared,
                               NVVM::SharedSpaceAttr::get(t.builder.getContext(), NVVM::SharedSpace::shared_cta));
}

void WarpgroupCode::syncWarp() { NVVM::SyncWarpOp::create(t.builder, t.loc, t.constant(-1)); }

// Numbers stay constants: LLVM puts no two barriers in one (TeamCode::barrier says what else would be).
void WarpgroupCode::meet(int64_t number, int64_t threads) {
  NVVM::BarrierOp::create(t.builder, t.loc, /*res=*/Type(), t.constant(number), t.constant(threads),
                          /*reductionOp=*/NVVM::BarrierReductionAttr(), /*reductionPredicate=*/Value());
}

// NVVM's own op becomes a text of which LLVM believes that it leaves memory as it is.
void WarpgroupCode::arriveAndGoOn(int64_t number, int64_t threads) {
  call("llvm.nvvm.barrier.cta.arrive.aligned.count", {t.constant(number), t.constant(threads)});
}

void WarpgroupCode::takeRegisters(int64_t count) {
  NVVM::SetMaxRegisterOp::create(t.builder, t.loc, uint32_t(count), NVVM::SetMaxRegisterAction::increase);
}

void WarpgroupCode::giveRegisters(int64_t count) {
  NVVM::SetMaxRegisterOp::create(t.builder, t.loc, uint32_t(count), NVVM::SetMaxRegisterAction::decrease);
}

// As text: LLVM would make a number of the flag first, which the instruction takes and gives as a predicate.
Value WarpgroupCode::anyOfWarpgroup(Value condition) {
  Value flag = arith::ExtUIOp::create(t.builder, t.loc, t.builder.getI32Type(), condition);
  // The kernel's own barrier is number 0.
  Value any = run("{\n.reg .pred own, all;\nsetp.ne.b32 own, $1, 0;\nbar.red.or.pred all, 1, 128, own;\n"
                  "selp.b32 $0, 1, 0, all;\n}",
                  "=r,r", flag, t.builder.getI32Type());
  return arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::ne, any, t.constant(0));
}

Value WarpgroupCode::anyOfWarp(Value condition) {
  return LLVM::CallIntrinsicOp::create(t.builder, t.loc, t.builder.getI1Type(),
                                       t.builder.getStringAttr("llvm.nvvm.vote.any.sync"),
                                       ValueRange{t.constant(-1), condition})
      .getResult(0);
}

Value WarpgroupCode::isAnyInfinite(ArrayRef<Value> all, bool areF32) {
  // Zero times each, in sums that do not wait for each other.
  std::string text = "{\n.reg .b32 zero, sum<4>;\nmov.b32 zero, 0;\n", constraints = "=r";
  for (int i = 0; i < 4; ++i)
    text += llvm::formatv("mov.b32 sum{0}, zero;\n", i);
  for (size_t i = 0; i < all.size(); ++i) {
    text += llvm::formatv("fma.rn.{2} sum{0}, ${1}, zero, sum{0};\n", i % 4, i + 1, areF32 ? "f32" : "bf16x2");
    constraints += areF32 ? ",f" : ",r";
  }
  text += "or.b32 sum0, sum0, sum1;\nor.b32 sum2, sum2, sum3;\nor.b32 $0, sum0, sum2;\n}";
  Value sum = run(text, constraints, all, t.builder.getI32Type());
  return arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::ne, sum, t.constant(0));
}

Value WarpgroupCode::exchange(Value value, int64_t distance) {
  return NVVM::ShflOp::create(t.builder, t.loc, value.getType(), t.constant(-1), value, t.constant(distance),
                              t.constant(31), NVVM::ShflKind::bfly, UnitAttr());
}

//===----------------------------------------------------------------------===//
// Copies and matrices
//===----------------------------------------------------------------------===//

void WarpgroupCode::copy(Value to, Value from, int64_t bytes, Value counted) {
  // Pieces of 16 bytes go past the L1 cache, which nobody reads them from.
  NVVM::CpAsyncOp::create(t.builder, t.loc, pointerTo(to), from, int32_t(bytes),
                          bytes == 16 ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA, counted);
}

void WarpgroupCode::copyBox(Value to, Value map, ArrayRef<Value> coordinates, Value barrier) {
  MLIRContext *context = t.builder.getContext();
  Value place = LLVM::IntToPtrOp::create(t.builder, t.loc, LLVM::LLVMPointerType::get(context, clusterSpace), to);
  Value box = LLVM::IntToPtrOp::create(t.builder, t.loc, LLVM::LLVMPointerType::get(context), map);
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      t.builder, t.loc, place, box, coordinates, pointerTo(barrier), /*im2colOffsets=*/ValueRange(),
      /*multicastMask=*/Value(), /*l2CacheHint=*/Value(), NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false,
      NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
}

void WarpgroupCode::expectBytes(Value barrier, int64_t bytes) {
  NVVM::MBarrierExpectTxOp::create(t.builder, t.loc, pointerTo(barrier), t.constant(bytes));
}

void WarpgroupCode::arriveWithCopies(Value address) {
  NVVM::CpAsyncMBarrierArriveOp::create(t.builder, t.loc, pointerTo(address), /*noinc=*/true);
}

// NVVM has this for groups of copies alone.
void WarpgroupCode::waitForCopies() { call("llvm.nvvm.cp.async.wait.all", {}); }

void WarpgroupCode::copyOut(Value to, Value from, Value bytes) {
  NVVM::CpAsyncBulkSharedCTAToGlobalOp::create(t.builder, t.loc, to, pointerTo(from), bytes, /*l2CacheHint=*/Value(),
                                               /*byteMask=*/Value());
}

void WarpgroupCode::waitForCopiesOut() {
  NVVM::CpAsyncBulkCommitGroupOp::create(t.builder, t.loc);
  NVVM::CpAsyncBulkWaitGroupOp::create(t.builder, t.loc, /*group=*/0U, t.builder.getUnitAttr());
}

SmallVector<Value> WarpgroupCode::loadMatricesAcross(Value address) { return loadMatrices(address, true); }

// As text, which stays where it is: LLVM brings what NVVM's op reads together with what multiplies it, and chains of
// mma.sync that have nearly all registers spill then.
SmallVector<Value> WarpgroupCode::loadMatrices(Value address, bool isAcross) {
  std::string text =
      llvm::formatv("ldmatrix.sync.aligned.m8n8.x4{0}.shared.b16 {{$0, $1, $2, $3}, [$4];", isAcross ? ".trans" : "");
  return takeApart(t, run(text, "=r,=r,=r,=r,r", address, structOf(t, t.builder.getI32Type(), 4)), 4);
}

void WarpgroupCode::storeMatrices(Value address, ArrayRef<Value> four, bool isAcross) {
  if (!t.gpu.storesMatrices)
    return storeMatricesByLanes(address, four, isAcross);
  NVVM::StMatrixOp::create(
      t.builder, t.loc, pointerTo(address), four, isAcross ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      NVVM::LdStMatrixShapeAttr::get(t.builder.getContext(), matrixRows, matrixRows), NVVM::LdStMatrixEltType::B16);
}

/// A lane has two neighbours of a row of each matrix. Where their row begins, another lane was told.
void WarpgroupCode::storeMatricesByLanes(Value address, ArrayRef<Value> four, bool isAcross) {
  Value row = rowOfLane(t, t.lane), inRow = t.multiply(wordOfLane(t, t.lane), wordBytes);
  for (auto [number, pair] : llvm::enumerate(four)) {
    Value begin = t.fromLane(address, t.add(row, int64_t(number) * matrixRows));
    Value stored = isAcross ? run("movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r", pair, pair.getType()) : pair;
    run("st.shared.b32 [$0], $1;", "r,r", {t.add(begin, inRow), stored});
  }
}

Value WarpgroupCode::pack(Value low, Value high, Type element) {
  Type pair = VectorType::get(2, element ? element : t.builder.getBF16Type());
  Value both = LLVM::UndefOp::create(t.builder, t.loc, VectorType::get(2, t.builder.getF32Type()));
  both = LLVM::InsertElementOp::create(t.builder, t.loc, both, low, t.constant(0));
  both = LLVM::InsertElementOp::create(t.builder, t.loc, both, high, t.constant(1));
  both = LLVM::FPTruncOp::create(t.builder, t.loc, pair, both);
  return LLVM::BitcastOp::create(t.builder, t.loc, t.builder.getI32Type(), both);
}

std::pair<Value, Value> WarpgroupCode::unpack(Value both) {
  SmallVector<Value> numbers = t.takeWordsApart(both, t.builder.getBF16Type(), 2);
  return {numbers[0], numbers[1]};
}

WarpgroupCode::Split WarpgroupCode::split(ArrayRef<Value> numbers) {
  Split parts;
  for (size_t i = 0; i < numbers.size(); i += 2) {
    parts.upper.push_back(pack(numbers[i], numbers[i + 1]));
    auto [low, high] = unpack(parts.upper.back());
    parts.lower.push_back(pack(t.minus(numbers[i], low), t.minus(numbers[i + 1], high)));
  }
  return parts;
}

//===----------------------------------------------------------------------===//
// Products of a warpgroup
//===----------------------------------------------------------------------===//

Value WarpgroupCode::placeInPanels(Value tile, int64_t rows, Value row, Value piece) {
  return t.add(tile, PanelLayout{rows, /*elementBytes=*/2}.byteOfPiece(t, row, piece));
}

SmallVector<Value> WarpgroupCode::multiply(FactorKind kind, ArrayRef<Value> left, RightFactor right,
                                           ArrayRef<int64_t> places, int64_t columns, bool isAcross, ValueRange sums) {
  return begin({kind, left, right, places, columns, isAcross, sums});
}

SmallVector<Value> WarpgroupCode::multiplyPrecise(ArrayRef<Value> left, RightFactor right, ArrayRef<int64_t> places,
                                                  int64_t columns, ValueRange sums) {
  SmallVector<Value> factor;
  for (size_t eight = 0; eight < left.size(); eight += 4)
    for (int64_t word = 0; word < FactorLayout::leftWords; ++word)
      factor.push_back(LLVM::BitcastOp::create(t.builder, t.loc, t.builder.getI32Type(),
                                               left[eight + size_t(exchangedNumber(word))]));
  return begin({FactorKind::TF32, factor, right, places, columns, /*isAcross=*/false, sums});
}

SmallVector<Value> WarpgroupCode::begin(const UnitProduct &product) {
  assert(takesProduct(unit, product) && "plans ask for what the unit takes");
  return unit.begin(t, product);
}

SmallVector<Value> WarpgroupCode::settle(ValueRange sums, int64_t running) { return unit.settle(t, sums, running); }
