// Rows of tokens before the chunk, which lie before the chunk's own in the caller's array.
#include "Conversion/ChunkToTile/Planner.h"
#include "dialects/Chunk/ChunkWindow.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

/// How many rows there are of what only chunks have that begin before this token: one there, and none elsewhere.
Value Planner::countIfBefore(int64_t token) {
  Value left = arith::SubIOp::create(builder, loc, constant(token),
                                     arith::MinSIOp::create(builder, loc, firstToken, constant(token)));
  return token == 1 ? left : arith::MinSIOp::create(builder, loc, left, constant(1)).getResult();
}

void Planner::load(chunk::InitialOp initial) {
  Value tile = make(initial);
  bool isNumber = chunk::tensorOf(initial).getRank() == 0;
  bool isReadByFirst = llvm::all_of(initial->getUsers(), llvm::IsaPred<chunk::HeldOp>);
  int64_t reach = 1; // so many of the sequence's first tokens have chunks that read it
  for (Operation *user : initial->getUsers())
    if (auto held = dyn_cast<chunk::HeldOp>(user); held && chunk::isHeldWindow(held))
      reach = std::max<int64_t>(reach, held.getBack());
  loadInPlace([&] {
    return LoadOp::create(builder, loc, initialArrays.lookup(initial), constant(0),
                          isReadByFirst ? countIfBefore(reach) : constant(1), isNumber ? tile : withTokens(tile));
  });
}

/// The row is in the array of the input; of a chunk with which the sequence begins it is what the caller gave.
void Planner::plan(chunk::HeldOp op) {
  if (chunk::isHeldWindow(op))
    return planHeldWindow(op);
  if (isLoadedHeld(op))
    return;
  Value first = get(op.getFirst()), tile = make(op);
  auto asRow = [&](Value of) { return chunk::tensorOf(op).getRank() == 0 ? of : withTokens(of); };
  loadInPlace([&] {
    Value isLater = arith::MinSIOp::create(builder, loc, firstToken, constant(1));
    Value place = arith::SubIOp::create(builder, loc, firstToken, constant(op.getBack()));
    return LoadOp::create(builder, loc, inputArrays.lookup(op.getInput()),
                          arith::MaxSIOp::create(builder, loc, place, constant(0)), isLater, asRow(tile));
  });
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, firstToken, constant(0));
  auto choice = scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  copy(asRow(first), asRow(tile), constant(1));
}

//===----------------------------------------------------------------------===//
// All rows that an input's tile has before its own, at once
//===----------------------------------------------------------------------===//

/// What of a state as the sequence begins with it is in the row.
static std::pair<chunk::InitialOp, int64_t> findInitial(Value row) {
  int64_t place = 0;
  while (Operation *maker = row.getDefiningOp()) {
    if (auto initial = dyn_cast<chunk::InitialOp>(maker))
      return {initial, place};
    if (!isa<chunk::ReshapeStateOp, chunk::SliceOp>(maker))
      break;
    if (auto slice = dyn_cast<chunk::SliceOp>(maker))
      place += int64_t(slice.getBegin());
    row = maker->getOperand(0);
  }
  return {};
}

SmallVector<chunk::HeldOp> Planner::findHeldRows(Value input) {
  if (!machine.isCTA() || !input.getDefiningOp<chunk::InputOp>())
    return {};
  SmallVector<chunk::HeldOp> all;
  Value rows = input;
  for (int64_t back = 1, count = countRowsBefore(input); back <= count; ++back) {
    auto isPrevious = [&](OpOperand &use) {
      auto previous = dyn_cast<chunk::PreviousOp>(use.getOwner());
      return previous && use.get() == previous.getAll();
    };
    auto found = llvm::find_if(rows.getUses(), isPrevious);
    auto previous = cast<chunk::PreviousOp>(found->getOwner());
    auto held = previous.getState().getDefiningOp<chunk::HeldOp>();
    if (!held || held.getInput() != input || int64_t(held.getBack()) != back || !held->hasOneUse() ||
        !findInitial(held.getFirst()).first)
      return {};
    all.push_back(held);
    rows = previous;
  }
  return all;
}

/// Whether the row is loaded with the input whose row it is, or is a part of a state that nothing else takes.
bool Planner::isLoadedHeld(Value state) {
  if (auto held = state.getDefiningOp<chunk::HeldOp>())
    return !findHeldRows(held.getInput()).empty();
  return findInitial(state).first && llvm::all_of(state.getUsers(), [&](Operation *user) {
           return isa<chunk::HeldOp, chunk::ReshapeStateOp, chunk::SliceOp>(user) && isLoadedHeld(user->getResult(0));
         });
}

/// The oldest comes first. Where the sequence begins with the chunk the caller's states are loaded, one by one.
void Planner::loadHeld(Value input, Value whole, ArrayRef<chunk::HeldOp> held) {
  OpBuilder::InsertionGuard guard(builder);
  bool isLate = machine.loadsLate && builder.getBlock() == lastLoad->getBlock();
  if (!isLate)
    builder.setInsertionPointAfter(lastLoad);
  Value zero = constant(0);
  auto count = int64_t(held.size());
  Value place =
      arith::MaxSIOp::create(builder, loc, arith::SubIOp::create(builder, loc, firstToken, constant(count)), zero);
  LoadOp::create(builder, loc, inputArrays.lookup(input), place,
                 arith::MinSIOp::create(builder, loc, firstToken, constant(count)), partOf(whole, 0, count));
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, firstToken, zero);
  auto choice = scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false);
  if (!isLate)
    lastLoad = choice;
  builder.setInsertionPointToStart(choice.thenBlock());
  Value one = constant(1);
  for (chunk::HeldOp own : held) {
    auto [initial, begin] = findInitial(own.getFirst());
    Value row = partOf(whole, count - int64_t(own.getBack()), 1);
    if (initial.getType() == own.getType()) {
      LoadOp::create(builder, loc, initialArrays.lookup(initial), constant(0), one, row);
    } else {
      Value state = withTokens(alloc(chunk::tensorOf(initial).getShape()));
      LoadOp::create(builder, loc, initialArrays.lookup(initial), constant(0), one, state);
      copy(view(state, {1, tileOf(whole).getSize(1)}, tileOf(state).getStrides(), begin), row, one);
    }
  }
}
