// Where tiles lie in the scratch memory.
#include "Conversion/ChunkToTile/Planner.h"
#include <limits>

using namespace mlir;
using namespace recur;
using namespace recur::tile;

namespace {
/// A tile, the ops of the loop over chunks between which it is in use, and where it lies.
struct Placed {
  AllocOp tile;
  int64_t first, last, bytes, offset;
};
} // namespace

/// Room for whole register tiles of rows and whole vectors of columns.
static int64_t countBytes(TileType type) {
  int64_t rows = type.getSize(0), elements;
  if (type.getRank() == 1) {
    elements = llvm::alignTo(rows, 16);
  } else {
    int64_t padded = rows >= 16 ? llvm::alignTo(rows, 16) : int64_t(llvm::PowerOf2Ceil(rows));
    elements = (type.getRank() == 2 ? padded : rows) * type.getStride(0) + 16;
  }
  return llvm::alignTo(elements * 4, 64);
}

static void collectUsers(Value tile, SmallVectorImpl<Operation *> &users) {
  for (Operation *user : tile.getUsers()) {
    users.push_back(user);
    if (auto view = dyn_cast<ViewOp>(user))
      collectUsers(view, users);
  }
}

void tile::placeTiles(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  scf::ForOp chunks;
  for (auto loop : body.getOps<scf::ForOp>())
    chunks = loop;
  llvm::DenseMap<Operation *, int64_t> positions;
  if (chunks)
    for (auto [position, op] : llvm::enumerate(*chunks.getBody()))
      positions[&op] = position;
  SmallVector<Placed> placed;
  int64_t widest = 0, end = 0;
  Builder builder(kernel.getContext());
  for (AllocOp tile : body.getOps<AllocOp>()) {
    SmallVector<Operation *> users;
    collectUsers(tile, users);
    Placed place{tile, std::numeric_limits<int64_t>::max(), -1, countBytes(tile.getType()), 0};
    for (Operation *user : users) {
      Operation *inLoop = chunks ? chunks.getBody()->findAncestorOpInBlock(*user) : nullptr;
      if (!inLoop) { // in use around the loop: all the time
        place.first = -1;
        place.last = std::numeric_limits<int64_t>::max();
        break;
      }
      place.first = std::min(place.first, positions[inLoop]);
      place.last = std::max(place.last, positions[inLoop]);
    }
    widest = std::max(widest, tile.getType().getStride(0));
    for (Operation *user : users)
      if (auto view = dyn_cast<ViewOp>(user))
        widest = std::max(widest, view.getType().getStride(0));
    // The lowest place that no tile in use at the same time overlaps.
    for (bool moved = true; moved;) {
      moved = false;
      for (const Placed &other : placed)
        if (other.first <= place.last && place.first <= other.last && other.offset < place.offset + place.bytes &&
            place.offset < other.offset + other.bytes) {
          place.offset = other.offset + other.bytes;
          moved = true;
        }
    }
    end = std::max(end, place.offset + place.bytes);
    tile.setOffsetAttr(builder.getI64IntegerAttr(place.offset));
    placed.push_back(place);
  }
  // Blocks of rows are read whole, so up to 15 rows beyond the last one, whatever is there.
  kernel.setWorkspace(end + 16 * widest * 4 + 64);
}
