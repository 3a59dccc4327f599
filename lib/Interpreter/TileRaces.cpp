// What a team of a CTA may read and write: what it knows of.
#include "Interpreter/TileTeams.h"

using namespace llvm;
using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;
using tile::Memory;

static bool isOnMatrixUnits(mlir::Operation *op) {
  auto product = dyn_cast<tile::ProductOp>(op);
  return product && product.getResult().getType().getMemory() == Memory::Registers;
}

void TileTeams::complain(mlir::Operation *op, StringRef does, const Tile &tile, int64_t element, const Twine &what) {
  if (trouble.empty())
    trouble = (describeOp(op) + ": " + describe(running()) + " " + does + " element " +
               describeElement(tile.type.getShape(), element) + " of a tile that " + what)
                  .str();
}

Error TileTeams::takeTrouble() {
  if (trouble.empty())
    return Error::success();
  return createStringError(inconvertibleErrorCode(), trouble);
}

void TileTeams::reserve(int64_t cell) {
  if (cell >= int64_t(places.size())) {
    places.resize(cell + 1);
    lastReads.resize(places.size() * teams.size());
  }
}

void TileTeams::read(mlir::Operation *op, const Tile &tile, int64_t rows) {
  if (tile.type.getMemory() == Memory::Registers)
    return touchRegisters(op, tile, /*writes=*/false);
  if (tile.type.getMemory() != Memory::Shared)
    return;
  Team &team = running();
  bool isSend = isa<tile::SendOp>(op), pastThreads = isSend || isOnMatrixUnits(op);
  Pending *pending = nullptr;
  if (isSend)
    pending = &team.sends.back();
  else if (pastThreads && cast<tile::ProductOp>(op).getAsync())
    pending = &team.products.back();
  for (auto [element, cell] : enumerate(machine.listCells(tile, rows))) {
    reserve(cell);
    Place &place = places[cell];
    if (place.fills)
      return complain(op, "reads", tile, element,
                      describeOp(place.fills) + " is still filling: wait for its barrier first");
    if (place.writer >= 0 && team.knows.done[place.writer] < place.written)
      return complain(op, "reads", tile, element,
                      describeClock(place.writer) + " has filled by " + describeOp(place.writeOp) +
                          ", and no barrier orders that before");
    if (pastThreads && place.writer >= 0 && team.knows.fenced[place.writer] < place.written)
      return complain(op, "reads", tile, element,
                      describeClock(place.writer) + " has written by " + describeOp(place.writeOp) +
                          ": it needs a tile.fence before it is told of");
    if (!pending) {
      lastReads[cell * teams.size() + current] = {team.knows.done[current], op};
      continue;
    }
    place.reads = op;
    ++place.readers;
    pending->cells.push_back(cell);
  }
}

void TileTeams::write(mlir::Operation *op, const Tile &tile, ArrayRef<int64_t> elements) {
  if (tile.type.getMemory() == Memory::Registers)
    return touchRegisters(op, tile, /*writes=*/true);
  if (tile.type.getMemory() != Memory::Shared)
    return;
  const Team &team = running();
  std::vector<int64_t> cells = machine.listCells(tile, tile.type.getSize(0));
  for (int64_t element : elements) {
    int64_t cell = cells[element];
    reserve(cell);
    Place &place = places[cell];
    if (place.fills)
      return complain(op, "overwrites", tile, element,
                      describeOp(place.fills) + " is still filling: wait for its barrier first");
    if (place.readers)
      return complain(op, "overwrites", tile, element,
                      describeOp(place.reads) + " is still reading: it ends by " +
                          (isa<tile::SendOp>(place.reads) ? "tile.sent" : "tile.settle"));
    if (place.writer >= 0 && team.knows.done[place.writer] < place.written)
      return complain(op, "overwrites", tile, element,
                      describeClock(place.writer) + " has filled by " + describeOp(place.writeOp) +
                          ", and no barrier orders that before");
    for (size_t reader = 0; reader < teams.size(); ++reader) {
      const LastRead &last = lastReads[cell * teams.size() + reader];
      if (team.knows.done[reader] < last.when)
        return complain(op, "overwrites", tile, element,
                        describe(teams[reader]) + " reads in " + describeOp(last.op) +
                            ", and no barrier says that it has ended");
    }
    place.writer = current;
    place.written = team.knows.done[current];
    place.writeOp = op;
  }
}

/// A product under way has its result and its left factor for itself; but another may go on adding to the result.
void TileTeams::touchRegisters(mlir::Operation *op, const Tile &tile, bool writes) {
  auto product = dyn_cast<tile::ProductOp>(op);
  Team &team = running();
  Pending *own = product && product.getAsync() ? &team.products.back() : nullptr;
  bool isResult = product && team.executor->getTile(product.getResult()).owner == tile.owner;
  for (Pending &other : team.products) {
    if (&other == own)
      continue;
    if (other.result == tile.owner && !(own && isResult))
      return complain(op, writes ? "overwrites" : "reads", tile, 0,
                      describeOp(other.op) + " has as its result: it ends by tile.settle");
    if (other.left == tile.owner && writes)
      return complain(op, writes ? "overwrites" : "reads", tile, 0,
                      describeOp(other.op) + " has as its left factor: it ends by tile.settle");
  }
  if (own)
    (isResult ? own->result : own->left) = tile.owner;
}

//===----------------------------------------------------------------------===//
// The ends of what is asynchronous
//===----------------------------------------------------------------------===//

void TileTeams::endReads(Pending &pending) {
  for (int64_t cell : pending.cells) {
    --places[cell].readers;
    lastReads[cell * teams.size() + current] = {running().knows.done[current], pending.op};
  }
}

Error TileTeams::settle(tile::SettleOp op) {
  for (std::deque<Pending> &products = running().products; products.size() > op.getPending(); products.pop_front())
    endReads(products.front());
  return Error::success();
}

Error TileTeams::sent(tile::SentOp op) {
  for (std::deque<Pending> &sends = running().sends; sends.size() > op.getPending(); sends.pop_front())
    endReads(sends.front());
  return Error::success();
}

void TileTeams::fence() {
  Knowledge &knows = running().knows;
  knows.fenced[current] = knows.done[current]++;
}

//===----------------------------------------------------------------------===//
// The ops
//===----------------------------------------------------------------------===//

template <typename Op, Error (TileTeams::*function)(Op)> static Error runInTeam(TileExecutor &e, Op op) {
  return (static_cast<TileTeams *>(e.machine.watch)->*function)(op);
}

static Error runFence(TileExecutor &e, tile::FenceOp) {
  static_cast<TileTeams *>(e.machine.watch)->fence();
  return Error::success();
}

static Error runBarriers(TileExecutor &, tile::BarriersOp) { return Error::success(); }

static Error runRoles(TileExecutor &e, tile::RolesOp op) {
  return TileTeams(e.machine, op, e, e.machine.schedule).run();
}

void interpreter::addRoleMeanings(TileMeanings &meanings) {
  meanings.add<tile::RolesOp, runRoles>();
  meanings.add<tile::BarriersOp, runBarriers>();
  meanings.add<tile::ArriveOp, runInTeam<tile::ArriveOp, &TileTeams::arrive>>();
  meanings.add<tile::WaitOp, runInTeam<tile::WaitOp, &TileTeams::wait>>();
  meanings.add<tile::FetchOp, runInTeam<tile::FetchOp, &TileTeams::fetch>>();
  meanings.add<tile::SendOp, runInTeam<tile::SendOp, &TileTeams::send>>();
  meanings.add<tile::SettleOp, runInTeam<tile::SettleOp, &TileTeams::settle>>();
  meanings.add<tile::SentOp, runInTeam<tile::SentOp, &TileTeams::sent>>();
  meanings.add<tile::FenceOp, runFence>();
}
