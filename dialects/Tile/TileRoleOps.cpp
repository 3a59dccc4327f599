// What the hardware allows of the plan of a CTA: roles, barriers and asynchronous copies.
#include "dialects/Tile/Tile.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace recur::tile;

// Limits of compute capability 9.0.
static constexpr int64_t registersOfThreads = 512, warpgroups = 8, warpsOfGroup = 4, tileAlignment = 128, boxSize = 256,
                         boxBytes = 16, barrierBytes = 8;

static LogicalResult checkInRole(Operation *op) {
  if (!op->getParentOfType<RoleOp>())
    return op->emitOpError("stands in a tile.role only");
  return success();
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

namespace {
/// A part of shared memory that the kernel's plan has placed.
struct Placed {
  int64_t begin, end;
  Operation *op;
};
} // namespace

/// What stands before the roles, and where it lies.
static LogicalResult checkKernel(RolesOp roles) {
  auto kernel = cast<KernelOp>(roles->getParentOp());
  auto workspace = int64_t(kernel.getWorkspace());
  if (workspace > mostSharedBytes)
    return kernel.emitOpError("has a workspace of ")
           << workspace << " bytes, but a CTA has " << mostSharedBytes << " bytes of shared memory";
  SmallVector<Placed> placed;
  auto place = [&](Operation *op, std::optional<int64_t> offset, int64_t bytes, int64_t alignment) -> LogicalResult {
    if (!offset)
      return success();
    if (*offset < 0 || *offset % alignment)
      return op->emitOpError("lies at a multiple of ") << alignment << ", not at " << *offset;
    if (*offset + bytes > workspace)
      return op->emitOpError("ends at ") << *offset + bytes << ", behind the workspace of " << workspace << " bytes";
    for (const Placed &other : placed)
      if (*offset < other.end && other.begin < *offset + bytes) {
        InFlightDiagnostic error = op->emitOpError("lies where something else does; roles run at the same time");
        error.attachNote(other.op->getLoc()) << "this lies at " << other.begin << " to " << other.end;
        return error;
      }
    placed.push_back({*offset, *offset + bytes, op});
    return success();
  };
  for (Operation &op : *roles->getBlock()) {
    if (&op == roles)
      break;
    if (auto alloc = dyn_cast<AllocOp>(op)) {
      TileType type = alloc.getType();
      if (type.getMemory() != Memory::Shared)
        return alloc.emitOpError("makes shared tiles before roles, not ") << type;
      if (failed(place(alloc, alloc.getOffset(), type.getExtent() * type.getElementBytes(),
                       std::max(tileAlignment, 8 * type.getSwizzle()))))
        return failure();
    } else if (auto barriers = dyn_cast<BarriersOp>(op)) {
      if (failed(place(barriers, barriers.getOffset(), barriers.getType().getCount() * barrierBytes, barrierBytes)))
        return failure();
    } else if (!op.hasTrait<OpTrait::ConstantLike>()) {
      return op.emitOpError("stands before roles, where only tiles, barriers and constants do");
    }
  }
  if (&roles->getBlock()->back() != roles)
    return roles.emitOpError("is the last op of a kernel");
  return success();
}

LogicalResult RolesOp::verifyRegions() {
  llvm::StringSet<> names;
  int64_t groups = 0, registers = 0;
  for (Operation &op : getBody().front()) {
    auto role = dyn_cast<RoleOp>(op);
    if (!role)
      return op.emitOpError("stands among roles, where only tile.role does");
    if (!names.insert(role.getName()).second)
      return role.emitOpError("is called \"") << role.getName() << "\", as another one is";
    int64_t copies = role.getCopies();
    int64_t filled = role.getTeam() == Team::Warp ? llvm::divideCeil(copies, warpsOfGroup) : copies;
    groups += filled;
    registers += filled * int64_t(role.getRegisters());
  }
  if (groups < 1 || groups > warpgroups)
    return emitOpError("fills ") << groups << " warpgroups, but a CTA has 1 to " << warpgroups;
  if (registers > registersOfThreads)
    return emitOpError("gives ") << registers << " registers to a thread of each warpgroup together, but there are "
                                 << registersOfThreads;
  return checkKernel(*this);
}

/// Along which dimensions of a nest the operand lies.
static SmallVector<int64_t> dimsOf(ArrayAttr dims, unsigned input) {
  return SmallVector<int64_t>(cast<DenseI64ArrayAttr>(dims[input]).asArrayRef());
}

/// An element of a register tile is where one thread can reach it: all register tiles of a nest lie alike.
static LogicalResult checkNestOfRegisters(Operation *op, ValueRange inputs, ArrayAttr dims, Value result) {
  std::optional<SmallVector<int64_t>> walked;
  auto isAlike = [&](TileType type, SmallVector<int64_t> dims) {
    if (type.getMemory() != Memory::Registers)
      return true;
    if (!walked)
      walked = dims;
    return *walked == dims && dims.size() == 2 && dims[0] != dims[1];
  };
  bool alike = isAlike(tileOf(result), {0, 1});
  for (auto [i, input] : llvm::enumerate(inputs))
    alike &= isAlike(tileOf(input), dimsOf(dims, i));
  if (!alike)
    return op->emitOpError("walks tiles in registers along different dimensions, which are in different threads");
  return success();
}

LogicalResult RoleOp::verifyRegions() {
  if (getCopies() < 1)
    return emitOpError("has 1 copy or more, not ") << getCopies();
  if (getRegisters() % 8 || getRegisters() < 24 || getRegisters() > 256)
    return emitOpError("gives a thread 24 to 256 registers in eights, not ") << getRegisters();
  Block &block = getBody().front();
  if (block.getNumArguments() != 1 || !block.getArgument(0).getType().isInteger(64))
    return emitOpError("needs the index of its copy, an i64, as its argument");
  WalkResult walked = getBody().walk([&](Operation *op) -> WalkResult {
    if (auto alloc = dyn_cast<AllocOp>(op)) {
      TileType type = alloc.getType();
      if (type.getMemory() != Memory::Registers)
        return alloc.emitOpError("makes tiles in registers in a role, not ") << type;
      if (getTeam() != Team::Warpgroup)
        return alloc.emitOpError("makes tiles in registers in a warpgroup, but the role has teams of one warp");
      if (type.getRank() != 2 || type.getSize(0) != 64 || type.getSize(1) % 8 || type.getStride(1) != 1 ||
          type.getStride(0) != type.getSize(1))
        return alloc.emitOpError("spreads 64 dense rows of a multiple of 8 columns over a warpgroup, not ") << type;
      return WalkResult::advance();
    }
    auto isRegisters = [](Value value) {
      auto type = dyn_cast<TileType>(value.getType());
      return type && type.getMemory() == Memory::Registers;
    };
    if (llvm::none_of(op->getOperands(), isRegisters))
      return WalkResult::advance();
    if (auto map = dyn_cast<MapOp>(op))
      return checkNestOfRegisters(map, map.getInputs(), map.getDims(), map.getResult());
    if (isa<ProductOp, TransposeOp, LoadOp, StoreOp>(op))
      return WalkResult::advance();
    return op->emitOpError("cannot take tiles in registers, which lie in many threads");
  });
  return failure(walked.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

LogicalResult BarriersOp::verify() {
  if (getArrivals() < 1)
    return emitOpError("waits for 1 arrival or more, not ") << getArrivals();
  if (!isa<KernelOp>((*this)->getParentOp()))
    return emitOpError("stands before tile.roles, so that all roles share the barriers");
  return success();
}

LogicalResult ArriveOp::verify() {
  if (getBytes() && (*getBytes() < 1 || *getBytes() >= (1 << 20)))
    return emitOpError("expects 1 to ") << (1 << 20) - 1 << " bytes, not " << *getBytes();
  return checkInRole(*this);
}

LogicalResult WaitOp::verify() { return checkInRole(*this); }
LogicalResult FenceOp::verify() { return checkInRole(*this); }

static LogicalResult checkPending(Operation *op, int64_t pending) {
  if (pending < 0 || pending > 7)
    return op->emitOpError("leaves 0 to 7 under way, not ") << pending;
  return checkInRole(op);
}
LogicalResult SentOp::verify() { return checkPending(*this, getPending()); }
LogicalResult SettleOp::verify() { return checkPending(*this, getPending()); }

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// What the copy engine moves as one box; `of` says how many rows the array has.
static LogicalResult checkBox(Operation *op, TileType array, TileType tile, Value of) {
  if (failed(checkInRole(op)))
    return failure();
  auto argument = dyn_cast<BlockArgument>(of);
  bool isTokens = argument && isa<KernelOp>(argument.getOwner()->getParentOp());
  if (!isTokens && !matchPattern(of, m_Constant()))
    return op->emitOpError(
        "needs the kernel's number of tokens or a constant for the rows of the array, since boxes are "
        "described before the kernel starts");
  if (array.getRank() != 2 || tile.getRank() != 2)
    return op->emitOpError("moves tiles of two dimensions, not between ") << array << " and " << tile;
  if (array.getElementType() != tile.getElementType())
    return op->emitOpError("keeps the type of elements, but moves between ") << array << " and " << tile;
  if (tile.getMemory() != Memory::Shared)
    return op->emitOpError("moves shared tiles, not ") << tile;
  if (tile.getSize(0) > boxSize)
    return op->emitOpError("moves at most ") << boxSize << " rows, not " << tile;
  int64_t bytes = tile.getElementBytes();
  if (!tile.getSwizzle() && (tile.getStride(1) != 1 || tile.getStride(0) != tile.getSize(1) ||
                             tile.getSize(1) > boxSize || tile.getSize(1) * bytes % boxBytes))
    return op->emitOpError("moves a tile that is swizzled, or has dense rows of at most ")
           << boxSize << " columns and of a multiple of " << boxBytes << " bytes, not " << tile;
  if (array.getSize(1) * bytes % boxBytes)
    return op->emitOpError("moves between arrays whose rows are a multiple of ") << boxBytes << " bytes, not " << array;
  return success();
}

LogicalResult FetchOp::verify() { return checkBox(*this, getArray().getType(), getTile().getType(), getOf()); }
LogicalResult SendOp::verify() { return checkBox(*this, getArray().getType(), getTile().getType(), getOf()); }
