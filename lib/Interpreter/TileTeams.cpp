// Turns, barriers and asynchronous copies of the teams of a CTA.
#include "Interpreter/TileTeams.h"
#include "llvm/ADT/ScopeExit.h"

using namespace llvm;
using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

void Knowledge::join(const Knowledge &other) {
  for (size_t i = 0; i < done.size(); ++i) {
    done[i] = std::max(done[i], other.done[i]);
    fenced[i] = std::max(fenced[i], other.fenced[i]);
  }
}

TileTeams::TileTeams(TileMachine &machine, tile::RolesOp roles, const TileExecutor &outside, uint64_t schedule)
    : machine(machine), roles(roles), schedule(schedule), random(schedule) {
  for (auto op : roles->getBlock()->getOps<tile::BarriersOp>()) {
    firstBarrier[op] = barriers.size();
    for (int64_t number = 0; number < op.getType().getCount(); ++number)
      barriers.push_back({op, number, int64_t(op.getArrivals()), 0, 0, 0, 0, {}, {}});
  }
  for (auto role : roles.getBody().getOps<tile::RoleOp>())
    for (int64_t copy = 0; copy < int64_t(role.getCopies()); ++copy) {
      auto executor = std::make_unique<TileExecutor>(machine);
      executor->copyValues(outside);
      executor->setNumber(role.getBody().getArgument(0), copy);
      executor->start(role.getBody().front());
      teams.push_back({role, copy, std::move(executor), {}, {}, {}, {}});
    }
  // Clocks begin at 1: nothing that nobody did is unknown.
  Knowledge nothing;
  nothing.done.assign(teams.size() + barriers.size(), 0);
  nothing.fenced = nothing.done;
  for (auto [i, team] : enumerate(teams)) {
    team.knows = nothing;
    team.knows.done[i] = 1;
  }
  for (Barrier &barrier : barriers)
    barrier.collected = barrier.complete = nothing;
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

bool TileTeams::canGoOn(const Team &team) const {
  return !team.finished && (!team.waitsIn || barriers[team.barrier].phase != team.phase);
}

Error TileTeams::run() {
  machine.watch = this;
  scope_exit leave([&] { machine.watch = nullptr; });
  while (true) {
    SmallVector<size_t> able;
    for (size_t i = 0; i < teams.size(); ++i)
      if (canGoOn(teams[i]))
        able.push_back(i);
    if (able.empty() && copies.empty())
      break;
    // Landed bytes are a choice too; without chance they come when nothing else can happen.
    size_t choices = able.size() + (schedule || able.empty() ? copies.size() : 0);
    size_t choice = schedule ? random() % choices : 0;
    if (Error error = choice < able.size() ? takeTurn(able[choice]) : land(choice - able.size()))
      return error;
  }
  if (any_of(teams, [](const Team &team) { return !team.finished; }))
    return describeDeadlock();
  return Error::success();
}

/// Ops between which other teams may take their turn.
static bool isMeetingPoint(mlir::Operation *op) {
  return isa_and_nonnull<tile::ArriveOp, tile::WaitOp, tile::FetchOp, tile::SendOp, tile::SettleOp, tile::SentOp>(op);
}

Error TileTeams::takeTurn(size_t number) {
  current = number;
  Team &team = teams[number];
  team.waitsIn = {};
  while (true) {
    mlir::Operation *op = team.executor->peek();
    if (auto product = dyn_cast_or_null<tile::ProductOp>(op); product && product.getAsync())
      team.products.push_back({op, {}});
    if (isa_and_nonnull<tile::SendOp>(op))
      team.sends.push_back({op, {}});
    Expected<TileExecutor::Progress> progress = team.executor->step();
    // A race says more than what came of it.
    if (Error error = takeTrouble()) {
      consumeError(progress.takeError());
      return error;
    }
    if (!progress)
      return progress.takeError();
    if (*progress == TileExecutor::Progress::Finished)
      return finish(team);
    if (*progress == TileExecutor::Progress::Waits || (schedule && isMeetingPoint(op)))
      return Error::success();
  }
}

Error TileTeams::finish(Team &team) {
  team.finished = true;
  for (std::deque<Pending> *pending : {&team.products, &team.sends})
    if (!pending->empty())
      return makeTileError(team.role, describe(team) + " ends while " + describeOp(pending->front().op) +
                                          " is under way: end it by " +
                                          (pending == &team.sends ? "tile.sent" : "tile.settle"));
  bool all = all_of(teams, [](const Team &team) { return team.finished; });
  if (all && !copies.empty())
    return makeTileError(roles, "all roles have ended, but " + describeOp(copies[0].op) +
                                    " is under way: somebody must wait for it");
  return Error::success();
}

Error TileTeams::describeDeadlock() const {
  std::string text = "nobody can go on";
  for (const Team &team : teams)
    if (!team.finished) {
      const Barrier &barrier = barriers[team.barrier];
      text += "; " + describe(team) + " waits in " + describeOp(team.waitsIn) + " for phase " +
              std::to_string(team.phase) + " of " + describe(barrier) + ", at which " +
              std::to_string(barrier.arrived) + " of " + std::to_string(barrier.arrivals) + " teams have arrived and " +
              std::to_string(barrier.landed) + " of " + std::to_string(barrier.expected) + " bytes";
    }
  return makeTileError(roles, text);
}

std::string TileTeams::describe(const Team &team) const {
  return ("role \"" + tile::RoleOp(team.role).getName() + "\" " + Twine(team.copy)).str();
}

std::string TileTeams::describe(const Barrier &barrier) const {
  return "barrier " + std::to_string(barrier.number) + " of " + describeOp(barrier.op);
}

std::string TileTeams::describeClock(int clock) const {
  return clock < int(teams.size()) ? describe(teams[clock]) : describe(barriers[clock - teams.size()]);
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

Expected<size_t> TileTeams::findBarrier(mlir::Operation *op, mlir::Value value, mlir::Value index) {
  int64_t number = running().executor->getNumber(index);
  int64_t count = cast<tile::BarriersType>(value.getType()).getCount();
  if (number < 0 || number >= count)
    return makeTileError(op, "barrier " + Twine(number) + " of " + Twine(count));
  return firstBarrier[value] + number;
}

Error TileTeams::arrive(tile::ArriveOp op) {
  Expected<size_t> number = findBarrier(op, op.getBarriers(), op.getIndex());
  if (!number)
    return number.takeError();
  Barrier &barrier = barriers[*number];
  Knowledge &knows = running().knows;
  if (barrier.arrived == barrier.arrivals)
    return makeTileError(op, describe(running()) + " is one team too many at " + describe(barrier) + " in phase " +
                                 Twine(barrier.phase) + ", at which " + Twine(barrier.arrived) + " have arrived");
  ++barrier.arrived;
  barrier.expected += op.getBytes().value_or(0);
  barrier.collected.join(knows);
  ++knows.done[current];
  return completePhase(*number, op);
}

Error TileTeams::completePhase(size_t number, mlir::Operation *op) {
  Barrier &barrier = barriers[number];
  if (barrier.arrived < barrier.arrivals)
    return Error::success();
  if (barrier.landed > barrier.expected)
    return makeTileError(op, Twine(barrier.landed) + " bytes have come to " + describe(barrier) + " in phase " +
                                 Twine(barrier.phase) + ", which expects " + Twine(barrier.expected));
  if (barrier.landed < barrier.expected)
    return Error::success();
  ++barrier.phase;
  barrier.arrived = barrier.expected = barrier.landed = 0;
  barrier.complete = barrier.collected;
  return Error::success();
}

Error TileTeams::wait(tile::WaitOp op) {
  Expected<size_t> number = findBarrier(op, op.getBarriers(), op.getIndex());
  if (!number)
    return number.takeError();
  Team &team = running();
  const Barrier &barrier = barriers[*number];
  int64_t phase = team.executor->getNumber(op.getPhase());
  if (phase != barrier.phase && phase != barrier.phase - 1)
    return makeTileError(op, describe(team) + " waits for phase " + Twine(phase) + " of " + describe(barrier) +
                                 ", which is in phase " + Twine(barrier.phase) +
                                 ": by their parity only this one and the one before can be told apart");
  if (phase == barrier.phase) {
    team.waitsIn = op;
    team.barrier = *number;
    team.phase = phase;
    team.executor->wait();
    return Error::success();
  }
  team.knows.join(barrier.complete);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

static Error checkAligned(mlir::Operation *op, const Tile &tile) {
  if (tile.begin % 128)
    return makeTileError(op, "the tile begins at byte " + Twine(tile.begin) + ", but copies need a multiple of 128");
  return Error::success();
}

/// Where a box lies in its array.
struct Box {
  CallerArray array;
  int64_t first, column, rows, columns; // of the array
  double *find(int64_t row, int64_t at) const {
    row += first, at += column;
    bool inside = array.data && row >= 0 && row < rows && at >= 0 && at < columns;
    return inside ? array.data + row * array.stride + at : nullptr;
  }
};

template <typename Op> static Expected<Box> findBox(const TileMachine &machine, const TileExecutor &e, Op op) {
  Box box{machine.arrays.lookup(op.getArray()), e.getNumber(op.getFirst()),
          op.getColumn() ? e.getNumber(op.getColumn()) : 0, e.getNumber(op.getOf()),
          op.getArray().getType().getSize(1)};
  if (box.array.data && box.rows > box.array.rows)
    return makeTileError(op, Twine(box.rows) + " rows of an array that has " + Twine(box.array.rows));
  return box;
}

Error TileTeams::fetch(tile::FetchOp op) {
  Expected<size_t> number = findBarrier(op, op.getBarriers(), op.getIndex());
  if (!number)
    return number.takeError();
  Tile tile = running().executor->getTile(op.getTile());
  if (Error error = checkAligned(op, tile))
    return error;
  Expected<Box> box = findBox(machine, *running().executor, op);
  if (!box)
    return box.takeError();
  Copy copy{op, tile, *number, {SmallVector<int64_t>(tile.type.getShape()), {}}, running().knows};
  for (int64_t row = 0; row < tile.type.getSize(0); ++row)
    for (int64_t column = 0; column < tile.type.getSize(1); ++column) {
      const double *element = box->find(row, column);
      copy.contents.values.push_back(element ? *element : 0);
    }
  // From now on the bytes may land: whoever used the place must have ended.
  write(op, tile, to_vector(seq(tile.type.getNumElements())));
  if (!trouble.empty())
    return Error::success(); // the turn ends with it
  machine.forget(tile);
  for (int64_t cell : machine.listCells(tile, tile.type.getSize(0)))
    places[cell].fills = op;
  copies.push_back(std::move(copy));
  return Error::success();
}

Error TileTeams::land(size_t number) {
  Copy copy = std::move(copies[number]);
  copies.erase(copies.begin() + number);
  machine.watch = nullptr;
  machine.write(copy.op, copy.tile, copy.contents);
  machine.watch = this;
  Barrier &barrier = barriers[copy.barrier];
  size_t clock = teams.size() + copy.barrier;
  barrier.collected.join(copy.knows);
  uint32_t now = ++barrier.collected.done[clock];
  barrier.collected.fenced[clock] = now;
  for (int64_t cell : machine.listCells(copy.tile, copy.tile.type.getSize(0))) {
    places[cell].fills = nullptr;
    places[cell].writer = clock;
    places[cell].written = now;
    places[cell].writeOp = copy.op;
  }
  barrier.landed += copy.tile.type.getNumElements() * copy.tile.type.getElementBytes();
  return completePhase(copy.barrier, copy.op);
}

Error TileTeams::send(tile::SendOp op) {
  Tile tile = running().executor->getTile(op.getTile());
  if (Error error = checkAligned(op, tile))
    return error;
  Expected<Box> box = findBox(machine, *running().executor, op);
  if (!box)
    return box.takeError();
  Contents contents = machine.read(op, tile);
  mlir::Type type = op.getArray().getType().getElementType();
  for (int64_t row = 0; row < contents.shape[0]; ++row)
    for (int64_t column = 0; column < contents.shape[1]; ++column) {
      double value = contents.at(row, column), *element = box->find(row, column);
      if (element && isHole(value) && trouble.empty())
        return makeTileError(op, "element " + printShape({row, column}) +
                                     " has no meaning: " + machine.holes.describe(value));
      if (element)
        *element = machine.roundTo(type, value);
    }
  return Error::success();
}
