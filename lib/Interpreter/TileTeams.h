// The teams of a CTA take turns, one op at a time, and what each does is judged by what happened before it: not in the
// order in which this interpreter ran the ops, but in every order that the barriers allow. So a race is an error
// whether or not it did harm this time.
//
// Each team has a clock, which goes on when the team tells others what it has done: at an arrival. A barrier collects
// what the arriving teams know, and who waits for its phase knows it too. Bytes that land at a barrier count as done by
// a clock of the barrier's own. For each place of shared memory the judge knows who wrote it last and who read it
// since, when on their clocks: an access is right if its team knows of all that.
#pragma once
#include "Interpreter/TileExecutor.h"
#include <deque>
#include <random>

namespace recur::interpreter {

/// How far each clock is known to have come: in all that was done, and in what is fenced too.
struct Knowledge {
  llvm::SmallVector<uint32_t, 12> done, fenced;
  void join(const Knowledge &other);
};

class TileTeams : public MemoryWatch {
public:
  TileTeams(TileMachine &machine, tile::RolesOp roles, const TileExecutor &outside, uint64_t schedule);

  /// Runs all teams to their ends.
  llvm::Error run();

  // These are the ops of the team that runs.
  llvm::Error arrive(tile::ArriveOp op);
  llvm::Error wait(tile::WaitOp op);
  llvm::Error fetch(tile::FetchOp op);
  llvm::Error send(tile::SendOp op);
  llvm::Error settle(tile::SettleOp op);
  llvm::Error sent(tile::SentOp op);
  void fence();

  void read(mlir::Operation *op, const Tile &tile, int64_t rows) override;
  void write(mlir::Operation *op, const Tile &tile, llvm::ArrayRef<int64_t> elements) override;

private:
  struct Barrier {
    tile::BarriersOp op;
    int64_t number;    // among those of the op
    int64_t arrivals;  // that complete a phase
    int64_t phase = 0; // the current one
    int64_t arrived = 0, expected = 0, landed = 0;
    Knowledge collected, complete; // in the current phase, by the end of the one before
  };
  /// A fetch that has not landed.
  struct Copy {
    tile::FetchOp op;
    Tile tile;
    size_t barrier;
    Contents contents;
    Knowledge knows; // of the team that issued it
  };
  /// A product or send under way.
  struct Pending {
    mlir::Operation *op;
    std::vector<int64_t> cells;    // of shared memory that it reads
    uint32_t result = 0, left = 0; // owners of tiles in registers
  };
  struct Team {
    tile::RoleOp role;
    int64_t copy;
    std::unique_ptr<TileExecutor> executor;
    Knowledge knows;
    std::deque<Pending> products, sends;
    tile::WaitOp waitsIn; // null: it can go on
    size_t barrier = 0;
    int64_t phase = 0;
    bool finished = false;
  };
  /// A place of shared memory.
  struct Place {
    int writer = -1; // a clock
    uint32_t written = 0;
    mlir::Operation *writeOp = nullptr;
    mlir::Operation *fills = nullptr; // a fetch that has not landed
    mlir::Operation *reads = nullptr; // a product or send that has not ended
    uint32_t readers = 0;             // how many of them
  };
  struct LastRead {
    uint32_t when = 0;
    mlir::Operation *op = nullptr;
  };

  // The turns.
  bool canGoOn(const Team &team) const;
  llvm::Error takeTurn(size_t number);
  llvm::Error finish(Team &team);
  llvm::Error land(size_t number);
  llvm::Error completePhase(size_t number, mlir::Operation *op);
  llvm::Error describeDeadlock() const;

  // These say what a team or a copy does wrong.
  void reserve(int64_t cell);
  /// Says what an access does wrong, if nothing has been wrong before.
  void complain(mlir::Operation *op, llvm::StringRef does, const Tile &tile, int64_t element, const llvm::Twine &what);
  void touchRegisters(mlir::Operation *op, const Tile &tile, bool writes);
  void endReads(Pending &pending);
  llvm::Error takeTrouble();

  llvm::Expected<size_t> findBarrier(mlir::Operation *op, mlir::Value barriers, mlir::Value index);
  std::string describe(const Team &team) const;
  std::string describe(const Barrier &barrier) const;
  std::string describeClock(int clock) const;
  Team &running() { return teams[current]; }

  TileMachine &machine;
  tile::RolesOp roles;
  uint64_t schedule;
  std::mt19937_64 random;
  std::vector<Team> teams;
  size_t current = 0;
  std::vector<Barrier> barriers;
  llvm::DenseMap<mlir::Value, size_t> firstBarrier; // of a value
  std::vector<Copy> copies;
  std::vector<Place> places;
  std::vector<LastRead> lastReads; // of each place by each team
  std::string trouble;
};

} // namespace recur::interpreter
