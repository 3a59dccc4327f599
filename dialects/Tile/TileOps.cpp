#include "dialects/Tile/RegisterTiles.h"
#include "dialects/Tile/Tile.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace recur::tile;

/// Whether a sum takes the elements of a matrix in registers where they are: along rows, of which each warp of the team
/// has whole parts, in whole units of columns.
static bool reducesRows(ReduceOp op, KernelOp kernel) {
  constexpr int64_t unitColumns = SumsLayout::unitColumns;
  if (op.getSizes().size() != 2 || op.getOver() != ArrayRef<int64_t>(1))
    return false;
  for (auto [input, dims] : llvm::zip(op.getInputs(), op.getDims())) {
    bool isInRegisters = tileOf(input).getMemory() == Memory::Registers;
    if (isInRegisters && (cast<DenseI64ArrayAttr>(dims).asArrayRef() != ArrayRef<int64_t>({0, 1}) ||
                          tileOf(input).getShape() != op.getSizes()))
      return false;
  }
  TileType result = op.getResult().getType();
  int64_t parts = result.getRank() == 2 ? result.getSize(1) : 1, columns = op.getSizes()[1];
  std::optional<WarpBlock> block = spreadOverWarps(op.getSizes()[0], columns, int64_t(*kernel.getThreads()) / 32);
  return result.getMemory() != Memory::Registers && block && parts % block->across == 0 && columns % parts == 0 &&
         columns / parts % unitColumns == 0;
}

/// Tiles in the registers of one team: which there are, and what takes them.
static LogicalResult checkRegistersOfTeam(KernelOp kernel) {
  auto isInRegisters = [](Value value) {
    auto type = dyn_cast<TileType>(value.getType());
    return type && type.getMemory() == Memory::Registers;
  };
  WalkResult walked = kernel.getBody().walk([&](Operation *op) -> WalkResult {
    if (auto alloc = dyn_cast<AllocOp>(op); alloc && isInRegisters(alloc)) {
      TileType type = alloc.getType();
      if (type.getRank() != 2 || !type.getElementType().isF32() ||
          !spreadOverWarps(type.getSize(0), type.getSize(1), int64_t(*kernel.getThreads()) / 32))
        return alloc.emitOpError(
                   "deals out f32 to the warps of a team, as many rows in sixteens and columns in eights to "
                   "each, not ")
               << type;
      return WalkResult::advance();
    }
    if (llvm::none_of(op->getOperands(), isInRegisters))
      return WalkResult::advance();
    auto map = dyn_cast<MapOp>(op);
    auto reduce = dyn_cast<ReduceOp>(op);
    if (!map && !reduce && !isa<ProductOp>(op))
      return op->emitOpError("cannot take tiles in registers, which lie in many threads");
    if (reduce && !reducesRows(reduce, kernel))
      return reduce.emitOpError("takes tiles in the registers of a team where it sums up rows, each warp whole parts");
    if (!map)
      return WalkResult::advance();
    if (map.getBlocks())
      return map.emitOpError("takes tiles in the registers of a team whole, not in blocks");
    for (auto [input, dims] : llvm::zip(map.getInputs(), map.getDims()))
      if (isInRegisters(input) && cast<DenseI64ArrayAttr>(dims).asArrayRef() != ArrayRef<int64_t>({0, 1}))
        return map.emitOpError("walks tiles in registers along different dimensions, which are in different threads");
    if (map.getResult().getType().getRank() != 2)
      return map.emitOpError("walks rows and columns of tiles in registers, not ") << map.getResult().getType();
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

/// What runs side by side with another kernel.
static LogicalResult checkNeighbours(KernelOp kernel) {
  Block &block = kernel.getBody().front();
  int64_t arrays = int64_t(block.getNumArguments()) - 1;
  for (int64_t array : kernel.getAwaits().value_or(ArrayRef<int64_t>()))
    if (array < 0 || array >= arrays)
      return kernel.emitOpError("awaits chunks of array ") << array << ", but has " << arrays << " arrays";
  if (std::optional<ArrayRef<int64_t>> channels = kernel.getChannels();
      channels && (int64_t(channels->size()) != arrays || llvm::any_of(*channels, [](int64_t own) { return own < 0; })))
    return kernel.emitOpError("says of each of its ") << arrays << " arrays how many channels it has, or 0";
  constexpr uint64_t mostNeighbours = 32; // CTAs of a multiprocessor
  if (kernel.getOccupancy() && (*kernel.getOccupancy() < 1 || *kernel.getOccupancy() > mostNeighbours))
    return kernel.emitOpError("has an occupancy of 1 to ") << mostNeighbours << " CTAs, not " << *kernel.getOccupancy();
  if (kernel.getOccupancy() && !kernel.getThreads())
    return kernel.emitOpError("has an occupancy, but no threads of a team");
  if (kernel.getOccupancy() && kernel.getTeams() && *kernel.getOccupancy() > *kernel.getTeams())
    return kernel.emitOpError("has an occupancy of ")
           << *kernel.getOccupancy() << " of its " << *kernel.getTeams() << " teams";
  if (!kernel.getTeams())
    return success();
  constexpr int64_t mostTeams = 15, mostThreads = 1024; // a barrier each, and one of all of them
  auto teams = int64_t(*kernel.getTeams());
  if (teams < 1 || teams > mostTeams)
    return kernel.emitOpError("has 1 to ") << mostTeams << " teams in a CTA, not " << teams;
  if (!kernel.getThreads())
    return kernel.emitOpError("has teams, but no threads of one team");
  if (teams * int64_t(*kernel.getThreads()) > mostThreads)
    return kernel.emitOpError("has ") << teams << " teams of " << *kernel.getThreads()
                                      << " threads in a CTA of at most " << mostThreads;
  auto own = int64_t(*kernel.getShared()), bytes = teams * own;
  if (own % teamAlignment)
    return kernel.emitOpError("has teams that take a multiple of ")
           << teamAlignment << " bytes of shared memory each, not " << own;
  if (bytes > mostSharedBytes)
    return kernel.emitOpError("has teams that take ")
           << bytes << " bytes of shared memory together, but a CTA has " << mostSharedBytes;
  if (kernel.getWorkspace())
    return kernel.emitOpError("has teams that would share their local tiles");
  if (!llvm::hasSingleElement(block.getOps<scf::ParallelOp>()))
    return kernel.emitOpError("announces the chunks of one parallel loop, and needs it");
  return success();
}

int64_t KernelOp::getChannelsOf(Value array) {
  auto argument = dyn_cast<BlockArgument>(array);
  if (!getChannels() || !argument)
    return 0;
  return (*getChannels())[argument.getArgNumber()];
}

LogicalResult KernelOp::verifyRegions() {
  Block &block = getBody().front();
  unsigned count = block.getNumArguments();
  if (count == 0 || !block.getArguments().back().getType().isInteger(64))
    return emitOpError("needs the number of tokens, an i64, as its last argument");
  for (BlockArgument argument : block.getArguments().drop_back())
    if (auto type = dyn_cast<TileType>(argument.getType()); !type || type.getMemory() != Memory::Global)
      return emitOpError("takes tiles in global memory, but argument ")
             << argument.getArgNumber() << " is " << argument.getType();
  auto required = int64_t(getRequired()), workspace = int64_t(getWorkspace());
  if (required < 0 || required > count - 1)
    return emitOpError("requires ") << required << " arrays, but has " << count - 1;
  if (workspace < 0)
    return emitOpError("needs a workspace of zero or more bytes, not of ") << workspace;
  if (getThreads().has_value() != getShared().has_value())
    return emitOpError("has threads and bytes of shared memory, or neither");
  if (failed(checkNeighbours(*this)))
    return failure();
  if (!getThreads())
    return success();
  auto threads = int64_t(*getThreads()), shared = int64_t(*getShared());
  if (threads < 32 || threads > 1024 || threads % 32)
    return emitOpError("has 32 to 1024 threads, in warps of 32, not ") << threads;
  if (shared < 0 || shared > mostSharedBytes)
    return emitOpError("takes 0 to ") << mostSharedBytes << " bytes of shared memory, not " << shared;
  if (!block.getOps<RolesOp>().empty())
    return emitOpError("has either roles or one team of threads");
  return checkRegistersOfTeam(*this);
}

LogicalResult SegmentOp::verify() {
  auto kernel = cast<KernelOp>((*this)->getParentOp());
  if (!kernel.getThreads())
    return emitOpError("stands in the plan of one team of threads");
  if (!llvm::hasSingleElement(kernel.getBody().front().getOps<SegmentOp>()))
    return emitOpError("stands in a kernel once, which has one part of a sequence");
  if (bool(getRemains()) == getSummaries().has_value())
    return emitOpError("has either what remains of the state, or summaries");
  if (getRemains()) {
    TileType remains = getRemains().getType();
    if (!remains.getElementType().isF32() || remains.getRank() > 2)
      return emitOpError("needs one number or vector of f32 for each chunk, not ") << remains;
  }
  if (getParts().has_value() != makesSummaries() || (getParts() && int64_t(*getParts()) < 1))
    return emitOpError("says of how many parts, 1 or more, it makes summaries, and of none where it makes none");
  auto arrays = int64_t(kernel.getBody().getNumArguments()) - 1;
  auto isNoArray = [&](int64_t number) { return number < 0 || number >= arrays; };
  if (getMaps() && (!getSummaries() || llvm::any_of(*getMaps(), isNoArray)))
    return emitOpError("has maps among its summaries, if any, and for these some of the kernel's ")
           << arrays << " arrays";
  if (getForgets() && !getMaps())
    return emitOpError("forgets maps, and has none");
  if (int64_t(getSize()) < 1)
    return emitOpError("needs chunks of 1 token or more, not of ") << int64_t(getSize());
  return success();
}

static LogicalResult checkTransfer(Operation *op, TileType array, TileType tile) {
  if (array.getRank() != tile.getRank() ||
      llvm::any_of(llvm::zip(array.getShape().drop_front(), tile.getShape().drop_front()),
                   [](auto sizes) { return std::get<0>(sizes) > std::get<1>(sizes); }))
    return op->emitOpError("needs room for a row of the array, but the array is ") << array << " and the tile " << tile;
  return success();
}
LogicalResult LoadOp::verify() { return checkTransfer(*this, getArray().getType(), getTile().getType()); }
LogicalResult StoreOp::verify() { return checkTransfer(*this, getArray().getType(), getTile().getType()); }

LogicalResult ViewOp::verify() {
  TileType source = getSource().getType(), view = getResult().getType();
  if (source.getMemory() != view.getMemory() || source.getElementType() != view.getElementType())
    return emitOpError("keeps memory and type of elements, but ") << source << " becomes " << view;
  if (source.getMemory() == Memory::Registers)
    return emitOpError("cannot cut a tile in registers: ") << source;
  if (!source.getSwizzle() && !view.getSwizzle())
    return success();
  bool picks = getRow() && getOffset() == 0 && source.getRank() > 2 && view.getSwizzle() == source.getSwizzle() &&
               view.getShape() == source.getShape().drop_front() &&
               view.getStrides() == source.getStrides().drop_front();
  if (!picks)
    return emitOpError("of a swizzled tile is one element of its first dimension, with the same swizzle, but ")
           << source << " becomes " << view;
  return success();
}

/// Inputs of a loop nest fit it, and the body takes and gives what the nest needs.
static LogicalResult checkNest(Operation *op, ValueRange inputs, ArrayAttr dims, ArrayRef<int64_t> sizes, Region &body,
                               unsigned carried, unsigned yielded) {
  if (dims.size() != inputs.size())
    return op->emitOpError("has ") << inputs.size() << " inputs, but dimensions for " << dims.size();
  for (auto [input, attribute] : llvm::zip(inputs, dims)) {
    TileType type = tileOf(input);
    ArrayRef<int64_t> list = cast<DenseI64ArrayAttr>(attribute);
    if (int64_t(list.size()) != type.getRank())
      return op->emitOpError("names ") << list.size() << " dimensions of an input that is " << type;
    for (auto [i, dim] : llvm::enumerate(list)) {
      if (dim < 0 || dim >= int64_t(sizes.size()))
        return op->emitOpError("has no dimension ") << dim;
      if (type.getSize(i) != 1 && type.getSize(i) != sizes[dim])
        return op->emitOpError("needs size 1 or ")
               << sizes[dim] << " for dimension " << dim << ", but an input is " << type;
      bool last = dim + 1 == int64_t(sizes.size()) && type.getSize(i) != 1;
      if (last && type.getMemory() == Memory::Local && sizes.size() > 1 && type.getStride(i) != 1)
        return op->emitOpError("needs neighbours of the last dimension side by side, but an input is ") << type;
    }
  }
  Block &block = body.front();
  if (block.getNumArguments() != inputs.size() + carried ||
      llvm::any_of(block.getArgumentTypes(), [](Type type) { return !type.isF32(); }))
    return op->emitOpError("needs a body of ") << inputs.size() + carried << " f32 arguments";
  if (block.getTerminator()->getNumOperands() != yielded)
    return op->emitOpError("needs a body that yields ") << yielded << (yielded == 1 ? " number" : " numbers");
  return success();
}

LogicalResult MapOp::verifyRegions() {
  if (getBlocks().has_value() != getBlockSize().has_value())
    return emitOpError("needs the size of its blocks and which they are, or neither");
  if (getBlocks()) {
    ArrayRef<int64_t> shape = getResult().getType().getShape();
    int64_t size = *getBlockSize();
    if (size < 1 || shape.size() != 2 || shape[0] % size || shape[1] % size)
      return emitOpError("cannot take blocks of ") << size << " rows and columns of " << getResult().getType();
    auto isRegisters = [](Value tile) { return tileOf(tile).getMemory() == Memory::Registers; };
    if (size != 16 && llvm::any_of(getOperands().drop_back(), isRegisters))
      return emitOpError("takes blocks of 16 rows and columns of tiles in registers, not of ") << size;
  }
  return checkNest(*this, getInputs(), getDims(), getResult().getType().getShape(), getBody(), 0, 1);
}

LogicalResult ScanOp::verifyRegions() {
  if (!getAll() && !getLast())
    return emitOpError("gives neither all values nor the last");
  SmallVector<int64_t> sizes;
  if (getAll()) {
    sizes = llvm::to_vector(getAll().getType().getShape());
  } else {
    sizes.push_back(1);
    for (Value input : getInputs()) // the rows are the inputs'
      sizes[0] = std::max(sizes[0], tileOf(input).getSize(0));
    if (getLast().getType().getShape() != ArrayRef<int64_t>(1) ||
        (!getInputs().empty() && tileOf(getInputs()[0]).getRank() > 1))
      llvm::append_range(sizes, getLast().getType().getShape());
  }
  return checkNest(*this, getInputs(), getDims(), sizes, getBody(), 1, 2);
}

LogicalResult ReduceOp::verifyRegions() {
  SmallVector<int64_t> left;
  for (auto [dim, size] : llvm::enumerate(getSizes()))
    if (!llvm::is_contained(getOver(), int64_t(dim)))
      left.push_back(size);
  if (llvm::is_contained(getOver(), 0))
    return emitOpError("reduces the rows; use a scan");
  ArrayRef<int64_t> given = getResult().getType().getShape();
  bool isInParts = getSizes().size() == 2 && getOver() == ArrayRef<int64_t>(1) && given.size() == 2 &&
                   given[0] == getSizes()[0] && getSizes()[1] % given[1] == 0;
  if (given != ArrayRef(left) && !isInParts)
    return emitOpError("leaves other sizes than those of ") << getResult().getType();
  return checkNest(*this, getInputs(), getDims(), getSizes(), getBody(), 0, 1);
}

static LogicalResult checkRank2(Operation *op, ValueRange tiles) {
  for (Value tile : tiles)
    if (tileOf(tile).getRank() != 2)
      return op->emitOpError("works on tiles of two dimensions, but one is ") << tile.getType();
  return success();
}

void ProductOp::build(OpBuilder &, OperationState &state, Value left, Value right, Value result, Value rows,
                      Value inner) {
  state.addOperands({left, right, result, rows, inner});
  state.getOrAddProperties<Properties>().operandSegmentSizes = {1, 1, 1, 1, 1};
}

/// What holds for products of one team, whose warps have a block of the result each.
static LogicalResult checkOfTeam(ProductOp op) {
  TileType result = op.getResult().getType();
  bool isInRegisters = result.getMemory() == Memory::Registers;
  if (op.getAsync())
    return op.emitOpError("is asynchronous only in a role");
  for (Value operand : {op.getLeft(), op.getRight(), op.getPlus(), op.getRowScale(), op.getColumnScale()})
    if (operand && tileOf(operand).getMemory() == Memory::Registers && operand != op.getResult())
      return op.emitOpError("takes no tile in registers of its team but its own result, not ") << operand.getType();
  if (!isInRegisters)
    return success();
  if (op.getPlus() && (op.getPlus() != op.getResult() || op.getColumnScale()))
    return op.emitOpError("adds to its own result in registers, and does not scale its columns");
  return success();
}

/// What the matrix units of a GPU can do; see the op's description.
static LogicalResult checkOnMatrixUnits(ProductOp op) {
  if (auto kernel = op->getParentOfType<KernelOp>(); kernel && kernel.getThreads())
    return checkOfTeam(op);
  TileType left = op.getLeft().getType(), right = op.getRight().getType(), result = op.getResult().getType();
  bool inRole = op->getParentOfType<RoleOp>() != nullptr;
  auto isSwizzled = [](TileType type) { return type.getMemory() == Memory::Shared && type.getSwizzle(); };
  if (result.getMemory() != Memory::Registers) {
    if (op.getAsync())
      return op.emitOpError("is asynchronous only with a result in registers, not ") << result;
    if (inRole && (left.getMemory() == Memory::Registers || right.getMemory() == Memory::Registers))
      return op.emitOpError("has factors in registers only with a result in registers, not ") << result;
    return success();
  }
  if (!result.getElementType().isF32() || result.getSize(0) != 64 || result.getSize(1) % 8 || result.getSize(1) > 256)
    return op.emitOpError("gives 64 rows of f32 and 8 to 256 columns in eights in registers, not ") << result;
  if (left.getElementType() != right.getElementType() || left.getElementType().isF32())
    return op.emitOpError("multiplies two bf16 or two f16 tiles into registers, not ") << left << " and " << right;
  if (left.getMemory() == Memory::Registers ? op.getTransposed() : !isSwizzled(left))
    return op.emitOpError("has a left factor that is swizzled in shared memory, or not transposed in registers, not ")
           << left;
  if (!isSwizzled(right))
    return op.emitOpError("has a right factor that is swizzled in shared memory, not ") << right;
  int64_t inner = right.getSize(op.getRightTransposed() ? 1 : 0);
  if (inner % 16)
    return op.emitOpError("has an inner size that is a multiple of 16, not ") << inner;
  IntegerAttr rows, count;
  if (!matchPattern(op.getRows(), m_Constant(&rows)) || rows.getInt() != 64 ||
      !matchPattern(op.getInner(), m_Constant(&count)) || count.getInt() != inner)
    return op.emitOpError("takes whole tiles into registers: rows must be the constant 64, and inner ") << inner;
  if (op.getPlus() && (op.getPlus() != op.getResult() || op.getRowScale() || op.getColumnScale()))
    return op.emitOpError("adds to its own result in registers, and does not scale it");
  if (op.getLeftTriangle() || op.getResultTriangle() || op.getAhead() || op.getWritten())
    return op.emitOpError("takes whole tiles into registers, no triangles, and brings nothing ahead");
  return success();
}

/// The sizes of a factor, whose rows may lie in pairs.
static std::optional<std::pair<int64_t, int64_t>> factorSizes(TileType type) {
  if (type.getRank() == 2)
    return std::pair(type.getSize(0), type.getSize(1));
  if (type.getRank() == 3 && type.getSize(2) == 2 && type.getElementType().isBF16())
    return std::pair(2 * type.getSize(0), type.getSize(1));
  return std::nullopt;
}

LogicalResult ProductOp::verify() {
  TileType left = getLeft().getType(), right = getRight().getType(), result = getResult().getType();
  auto leftSizes = factorSizes(left), rightSizes = factorSizes(right);
  if (!leftSizes || !rightSizes)
    return emitOpError("multiplies matrices, not ") << left << " and " << right;
  if (failed(checkRank2(*this, {getResult()})))
    return failure();
  auto [rows, inner] = *leftSizes;
  auto [rightInner, columns] = *rightSizes;
  if (getTransposed())
    std::swap(rows, inner);
  if (getRightTransposed())
    std::swap(rightInner, columns);
  if (inner != rightInner || rows != result.getSize(0) || columns != result.getSize(1))
    return emitOpError("cannot multiply ") << left << " and " << right << " into " << result;
  if (left.getElementType() != right.getElementType() && result.getMemory() == Memory::Local)
    return emitOpError("multiplies numbers of one type, not those of ") << left << " and " << right;
  auto kernel = (*this)->getParentOfType<KernelOp>();
  bool onCore = left.getMemory() == Memory::Local && !(kernel && kernel.getThreads());
  bool inPairs = onCore && left.getElementType().isBF16();
  if (inPairs ? right.getRank() != 3 || (left.getRank() == 3) != getTransposed() || getRightTransposed() || inner % 2
              : left.getRank() == 3 || right.getRank() == 3)
    return emitOpError("takes bf16 in pairs of inner indices in a core's memory, not as in ")
           << left << " and " << right;
  if (getLeftExchanged() && (getTransposed() || getRightTransposed() || onCore || !left.getElementType().isF32() ||
                             !right.getElementType().isF32() || inner % 8))
    return emitOpError("has exchanged columns of f32, whole eights of them, and no transposed factor, not ")
           << left << " and " << right;
  if (getTf32() && (onCore || !left.getElementType().isF32() || !right.getElementType().isF32()))
    return emitOpError("rounds factors of f32 to tf32 in a kernel with threads, not ") << left << " and " << right;
  if (getPlus() && getPlus().getType().getShape() != result.getShape())
    return emitOpError("adds ") << getPlus().getType() << " to " << result;
  for (std::optional<ArrayRef<int64_t>> triangle : {getLeftTriangle(), getResultTriangle()})
    if (triangle && (triangle->size() != 2 || (*triangle)[0] < 1 || (*triangle)[1] < 1))
      return emitOpError("needs two positive numbers for a triangle");
  if (bool(getAhead()) != bool(getAheadFirst()) || bool(getAhead()) != getAheadRows().has_value())
    return emitOpError("needs an array, a first row and a number of rows to fetch ahead");
  if (bool(getWritten()) != bool(getWrittenFirst()) || bool(getWritten()) != getWrittenRows().has_value())
    return emitOpError("needs an array, a first row and a number of rows that are about to be written");
  return checkOnMatrixUnits(*this);
}

LogicalResult PairOp::verify() {
  TileType source = getSource().getType(), result = getResult().getType();
  if (failed(checkRank2(*this, {getSource()})))
    return failure();
  int64_t rows = source.getSize(getTransposed() ? 1 : 0), columns = source.getSize(getTransposed() ? 0 : 1);
  if (result.getShape() != ArrayRef<int64_t>({(rows + 1) / 2, columns, 2}))
    return emitOpError("cannot pair rows of ") << source << " into " << result;
  if (!result.getElementType().isBF16())
    return emitOpError("gives bf16, not ") << result;
  if (getTransposed() && (!source.getElementType().isBF16() || rows % 2 != 0 || getRowScale()))
    return emitOpError("transposes whole pairs of bf16 as they are, not ") << source;
  if (getRowScale() && getRowScale().getType().getShape() != ArrayRef<int64_t>(rows))
    return emitOpError("needs a number for each of ") << rows << " rows, not " << getRowScale().getType();
  return success();
}

LogicalResult TransposeOp::verify() {
  if (failed(checkRank2(*this, {getSource(), getResult()})))
    return failure();
  TileType source = getSource().getType(), result = getResult().getType();
  if (source.getSize(0) != result.getSize(1) || source.getSize(1) != result.getSize(0))
    return emitOpError("cannot transpose ") << source << " into " << result;
  if (result.getElementType().isBF16() && result.getSize(1) % 2 != 0)
    return emitOpError("gives whole pairs of bf16 columns, not ") << result;
  return success();
}

LogicalResult SolveOp::verify() {
  if (failed(checkRank2(*this, {getMatrix(), getValues()})))
    return failure();
  TileType matrix = getMatrix().getType();
  if (matrix.getSize(0) != matrix.getSize(1) || matrix.getSize(0) != getValues().getType().getSize(0))
    return emitOpError("cannot solve ") << matrix << " for " << getValues().getType();
  return success();
}

LogicalResult ScaledSolveOp::verify() {
  if (failed(checkRank2(*this, {getMatrix(), getValues(), getScales(), getResult()})))
    return failure();
  TileType matrix = getMatrix().getType(), values = getValues().getType();
  if (matrix.getSize(0) != matrix.getSize(1) || matrix.getSize(0) != values.getSize(0))
    return emitOpError("cannot solve ") << matrix << " for " << values;
  for (TileType other : {getScales().getType(), getResult().getType()})
    if (other.getShape() != values.getShape())
      return emitOpError("has values of ") << values << ", but scales or a result of " << other;
  return success();
}

LogicalResult EliminateOp::verify() {
  if (failed(checkRank2(*this, {getMatrix()})))
    return failure();
  TileType matrix = getMatrix().getType();
  if (matrix.getSize(0) != matrix.getSize(1))
    return emitOpError("needs a square matrix, not ") << matrix;
  return success();
}

LogicalResult InvertOp::verify() {
  if (failed(checkRank2(*this, {getMatrix(), getResult()})))
    return failure();
  TileType matrix = getMatrix().getType(), result = getResult().getType();
  if (matrix.getSize(0) != matrix.getSize(1) || matrix.getShape() != result.getShape())
    return emitOpError("cannot invert ") << matrix << " into " << result;
  if (getExchanged() && (!result.getElementType().isF32() || result.getSize(1) % 8 || getColumnScale()))
    return emitOpError("exchanges whole eights of columns of f32 that are not scaled, not those of ") << result;
  if (!getColumnScale())
    return success();
  TileType scale = getColumnScale().getType();
  if (scale.getRank() != 1 || scale.getSize(0) != result.getSize(1))
    return emitOpError("has ") << result.getSize(1) << " columns, and cannot scale them by " << scale;
  return success();
}

LogicalResult ConjugateGradientsOp::verify() {
  if (failed(checkRank2(*this, {getVectors(), getKeys(), getRidge(), getResult()})))
    return failure();
  int64_t tokens = getResult().getType().getSize(0), channels = getResult().getType().getSize(1);
  for (TileType array : {getVectors().getType(), getKeys().getType()})
    if (array.getSize(1) != channels)
      return emitOpError("has ") << channels << " channels, and rows of " << array;
  TileType state = getState().getType(), ridge = getRidge().getType();
  if (state.getRank() != 3 || state.getSize(1) != channels || state.getSize(2) != channels)
    return emitOpError("has ") << channels << " channels, and matrices of " << state;
  if (ridge.getSize(0) != 1 || ridge.getSize(1) != channels)
    return emitOpError("has ") << channels << " channels, and a ridge of " << ridge;
  for (Value numbers : {getGains(), getDecays()})
    if (numbers && (tileOf(numbers).getRank() != 1 || tileOf(numbers).getSize(0) != tokens))
      return emitOpError("has ") << tokens << " tokens, and numbers of them in " << tileOf(numbers);
  TileType work = getWork().getType();
  if (work.getRank() != 1 || !work.getElementType().isF32() || work.getSize(0) < countWork(channels))
    return emitOpError("needs room for ") << countWork(channels) << " numbers of f32, not " << work;
  if (getIterations() < 1)
    return emitOpError("takes ") << getIterations() << " steps";
  return success();
}

LogicalResult ScaledDotsOp::verify() {
  if (failed(checkRank2(*this, {getLeft(), getRight(), getScales(), getResult()})))
    return failure();
  int64_t indices = getScales().getType().getSize(0), rows = getLeft().getType().getSize(0),
          columns = getRight().getType().getSize(0);
  if (rows != indices * int64_t(getPoints().size()) || columns != indices * int64_t(getSteps().size()))
    return emitOpError("has ") << indices << " indices, but " << rows << " rows and " << columns << " columns";
  if (getResult().getType().getSize(0) != rows || getResult().getType().getSize(1) != columns)
    return emitOpError("gives ") << rows << " by " << columns << " numbers, not " << getResult().getType();
  if (!getRounded())
    return getWork() || getLogarithms() ? emitOpError("has work or logarithms, but rounds nothing") : success();
  auto block = int64_t(getBlock()), channels = getScales().getType().getSize(1);
  if (block % unitIndices != 0 || !llvm::isPowerOf2_64(uint64_t(block)) || indices % block != 0)
    return emitOpError("rounds blocks of 16 indices times a power of two, whole ones, not of ")
           << block << " of " << indices;
  if (channels % 16 != 0)
    return emitOpError("rounds channels by 16, not ") << channels;
  int64_t workRows =
      countWorkRows(indices, block, int64_t(getPoints().size()), int64_t(getSteps().size()), getLogarithms());
  if (bool(getWork()) != (workRows > 0))
    return emitOpError("needs work of ") << workRows << " rows";
  if (getWork() && getWork().getType().getShape() != ArrayRef<int64_t>{workRows, channels})
    return emitOpError("needs work of ") << workRows << " by " << channels << " numbers, not " << getWork().getType();
  return success();
}

LogicalResult ScaledSumsOp::verify() {
  if (failed(checkRank2(*this, {getMatrix(), getValues(), getResult()})))
    return failure();
  TileType matrix = getMatrix().getType();
  if (matrix.getSize(0) != getResult().getType().getSize(0) || matrix.getSize(1) != getValues().getType().getSize(0))
    return emitOpError("cannot apply ") << matrix << " to " << getValues().getType();
  return success();
}

LogicalResult ScaledCotangentsOp::verify() {
  if (failed(checkRank2(*this, {getMatrix(), getLeft(), getRight(), getScales(), getLeftResult(), getRightResult(),
                                getScalesResult(), getWork()})))
    return failure();
  ArrayRef<int64_t> matrix = getMatrix().getType().getShape(), left = getLeft().getType().getShape(),
                    right = getRight().getType().getShape(), scales = getScales().getType().getShape();
  int64_t indices = scales[0], channels = scales[1];
  if (left[0] != indices * int64_t(getPoints().size()) || right[0] != indices * int64_t(getSteps().size()))
    return emitOpError("has ") << indices << " indices, but " << left[0] << " rows and " << right[0] << " columns";
  if (matrix[0] != left[0] || matrix[1] != right[0])
    return emitOpError("takes ") << left[0] << " by " << right[0] << " numbers, not " << getMatrix().getType();
  if (left[1] != channels || right[1] != channels)
    return emitOpError("scales ") << channels << " channels, but has " << getLeft().getType() << " and "
                                  << getRight().getType();
  for (auto [result, operand] :
       {std::pair(getLeftResult(), getLeft()), {getRightResult(), getRight()}, {getScalesResult(), getScales()}})
    if (result.getType().getShape() != operand.getType().getShape())
      return emitOpError("gives what ") << operand.getType() << " matters to " << result.getType();
  ArrayRef<int64_t> work = getWork().getType().getShape();
  int64_t block = int64_t(getBlock());
  if (block < 1)
    return emitOpError("has a block of ") << block << " indices";
  if (work[0] < std::min(block, indices) || work[1] != channels)
    return emitOpError("works on ") << std::min(block, indices) << " by " << channels << " numbers, in "
                                    << getWork().getType();
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.cpp.inc"
