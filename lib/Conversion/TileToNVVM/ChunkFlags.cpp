#include "Conversion/TileToNVVM/ChunkFlags.h"
#include "Conversion/TileToNVVM/InlinePTX.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace recur::conversion::nvvm;

ChunkFlags::ChunkFlags(TeamCode &team, Value pointer)
    : first(LLVM::PtrToIntOp::create(team.builder, team.loc, team.builder.getI64Type(), pointer)) {
  Value none = arith::ConstantIntOp::create(team.builder, team.loc, 0, 64);
  areUsed = arith::CmpIOp::create(team.builder, team.loc, arith::CmpIPredicate::ne, first, none);
}

void ChunkFlags::clear(TeamCode &team, Value rounds, llvm::function_ref<void(Value round)> clearOne) const {
  team.when(areUsed, [&] {
    team.deal(rounds, clearOne);
    // Whoever starts later finds them cleared.
    emitText(team, "fence.acq_rel.gpu;", "", {});
    NVVM::Barrier0Op::create(team.builder, team.loc); // of all teams
  });
}

void ChunkFlags::clearAt(TeamCode &team, Value place) {
  emitText(team, "st.relaxed.gpu.global.u32 [$0], 0;", "l", place);
}

void ChunkFlags::letOthersStart(TeamCode &team, Value isTime) const {
  team.when(arith::AndIOp::create(team.builder, team.loc, areUsed, isTime), [&] {
    NVVM::GriddepcontrolOp::create(team.builder, team.loc, NVVM::GridDepActionKind::launch_dependents);
  });
}

void ChunkFlags::announce(TeamCode &team, Value isThere, llvm::function_ref<Value()> findPlace) const {
  Value isFirst = team.below(team.thread, team.constant(1));
  Value tells = arith::AndIOp::create(team.builder, team.loc, areUsed, isFirst);
  team.when(arith::AndIOp::create(team.builder, team.loc, tells, isThere),
            [&] { emitText(team, "fence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [$0], 1;", "l", findPlace()); });
}

Value ChunkFlags::countAtStart(TeamCode &team) const {
  constexpr int64_t all = INT32_MAX;
  return team.select(areUsed, team.constant(0), team.constant(all));
}

Value ChunkFlags::await(TeamCode &team, Value known, Value chunk, Value count) const {
  // Flags behind the last chunk count as set. What follows the last set flag in a row shows as the lowest bit.
  return emitText(team,
                  "{\n.reg .pred enough, inside, clear;\n.reg .b32 at, flag, bits;\n.reg .b64 place;\n"
                  "mov.b32 $0, $1;\n"
                  "setp.gt.s32 enough, $0, $2;\n"
                  "@enough bra done;\n"
                  "again:\n"
                  "add.s32 at, $0, $4;\n"
                  "setp.lt.s32 inside, at, $3;\n"
                  "mul.wide.s32 place, at, 4;\n"
                  "add.s64 place, place, $5;\n"
                  "mov.b32 flag, 1;\n"
                  "@inside ld.acquire.gpu.global.u32 flag, [place];\n"
                  "setp.eq.u32 clear, flag, 0;\n"
                  "vote.sync.ballot.b32 bits, clear, -1;\n"
                  "brev.b32 bits, bits;\n"
                  "clz.b32 bits, bits;\n"
                  "add.s32 $0, $0, bits;\n"
                  "setp.gt.s32 enough, $0, $2;\n"
                  "@enough bra found;\n"
                  "nanosleep.u32 40;\n"
                  "bra again;\n"
                  "found:\n"
                  "bar.warp.sync -1;\n" // what one lane has acquired is there for all
                  "done:\n}",
                  "=&r,r,r,r,r,l", {known, chunk, count, team.lane, first}, team.builder.getI32Type());
}

void ChunkFlags::awaitEnd(TeamCode &team) const {
  NVVM::GriddepcontrolOp::create(team.builder, team.loc, NVVM::GridDepActionKind::wait);
}
