// Rows of tokens before the chunk, which lie before the chunk's own in the caller's array.
#include "Conversion/ChunkToTile/Planner.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

/// How many rows there are of what only a sequence's first chunk has: one there, and none elsewhere.
Value Planner::countIfFirst() {
  Value one = constant(1);
  return arith::SubIOp::create(builder, loc, one, arith::MinSIOp::create(builder, loc, firstToken, one));
}

void Planner::load(chunk::InitialOp initial) {
  Value tile = make(initial);
  bool isNumber = chunk::tensorOf(initial).getRank() == 0;
  bool isReadByFirst = llvm::all_of(initial->getUsers(), llvm::IsaPred<chunk::HeldOp>);
  loadInPlace([&] {
    return LoadOp::create(builder, loc, initialArrays.lookup(initial), constant(0),
                          isReadByFirst ? countIfFirst() : constant(1), isNumber ? tile : withTokens(tile));
  });
}

/// The row is in the array of the input; of a chunk with which the sequence begins it is what the caller gave.
void Planner::plan(chunk::HeldOp op) {
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

int64_t Planner::countHeldRows(Value input) {
  if (!machine.isCTA() || !input.getDefiningOp<chunk::InputOp>())
    return 0;
  int64_t count = countRowsBefore(input);
  Value rows = input;
  for (int64_t back = 1; back <= count; ++back) {
    auto isPrevious = [&](OpOperand &use) {
      auto previous = dyn_cast<chunk::PreviousOp>(use.getOwner());
      return previous && use.get() == previous.getAll();
    };
    auto found = llvm::find_if(rows.getUses(), isPrevious);
    auto previous = cast<chunk::PreviousOp>(found->getOwner());
    auto held = previous.getState().getDefiningOp<chunk::HeldOp>();
    if (!held || held.getInput() != input || int64_t(held.getBack()) != back || !held->hasOneUse() ||
        !findInitial(held.getFirst()).first)
      return 0;
    rows = previous;
  }
  return count;
}

/// Whether the row is loaded with the input whose row it is, or is a part of a state that nothing else takes.
bool Planner::isLoadedHeld(Value state) {
  if (auto held = state.getDefiningOp<chunk::HeldOp>())
    return countHeldRows(held.getInput()) > 0;
  return findInitial(state).first && llvm::all_of(state.getUsers(), [&](Operation *user) {
           return isa<chunk::HeldOp, chunk::ReshapeStateOp, chunk::SliceOp>(user) && isLoadedHeld(user->getResult(0));
         });
}

/// The oldest comes first. Where the sequence begins with the chunk the caller's states are loaded, one by one.
void Planner::loadHeld(Value input, Value whole, int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  bool isLate = machine.loadsLate && builder.getBlock() == lastLoad->getBlock();
  if (!isLate)
    builder.setInsertionPointAfter(lastLoad);
  TileType type = tileOf(whole);
  SmallVector<int64_t> shape(type.getShape());
  auto rowsFrom = [&](int64_t first, int64_t rows) {
    shape[0] = rows;
    return view(whole, shape, type.getStrides(), first * type.getStride(0));
  };
  Value zero = constant(0);
  Value place =
      arith::MaxSIOp::create(builder, loc, arith::SubIOp::create(builder, loc, firstToken, constant(count)), zero);
  LoadOp::create(builder, loc, inputArrays.lookup(input), place,
                 arith::MinSIOp::create(builder, loc, firstToken, constant(count)), rowsFrom(0, count));
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, firstToken, zero);
  auto choice = scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false);
  if (!isLate)
    lastLoad = choice;
  builder.setInsertionPointToStart(choice.thenBlock());
  Value one = constant(1), rows = input;
  for (int64_t back = 1; back <= count; ++back) {
    for (Operation *user : rows.getUsers())
      if (auto previous = dyn_cast<chunk::PreviousOp>(user); previous && previous.getAll() == rows) {
        auto held = previous.getState().getDefiningOp<chunk::HeldOp>();
        auto [initial, begin] = findInitial(held.getFirst());
        Value row = rowsFrom(count - back, 1);
        if (chunk::tensorOf(initial).getShape() == chunk::tensorOf(held).getShape()) {
          LoadOp::create(builder, loc, initialArrays.lookup(initial), constant(0), one, row);
        } else {
          Value state = withTokens(alloc(chunk::tensorOf(initial).getShape()));
          LoadOp::create(builder, loc, initialArrays.lookup(initial), constant(0), one, state);
          copy(view(state, {1, shape[1]}, tileOf(state).getStrides(), begin), row, one);
        }
        rows = previous;
        break;
      }
  }
}
