#include "Analysis/StateChain.h"
#include "Analysis/KernelGPU.h"
#include "Analysis/RunningNumbers.h"
#include "Analysis/WholeTile.h"
#include "dialects/Tile/FragmentLayout.h"
#include "dialects/Tile/Halves.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace recur::tile;
using namespace recur::analysis;
using Operand = StateChain::Operand;
using Step = StateChain::Step;
using StepKind = StateChain::StepKind;

namespace {

/// Goes through the ops of a kernel in their order, and keeps in mind what each tile holds.
class ChainFinder {
public:
  explicit ChainFinder(KernelOp kernel) : kernel(kernel) { chain.gpu = &gpuOf(kernel); }
  std::optional<StateChain> find();

private:
  enum class Kind { State, RoundedState, Loaded, Interaction, Value, Constant };
  struct Content {
    Kind kind;
    unsigned number; // of the load, interaction or value; of a state, how many advances made it
    double constant = 0;
  };
  const Content *contentOf(Value tile) const {
    auto found = contents.find(getWholeTile(tile));
    return found != contents.end() ? &found->second : nullptr;
  }
  const Content *contentOf(Value tile, Kind kind) const {
    const Content *content = contentOf(tile);
    return content && content->kind == kind ? content : nullptr;
  }
  static bool isBF16(Value tile, ArrayRef<int64_t> shape) {
    return tileOf(tile).getElementType().isBF16() && tileOf(tile).getShape() == shape;
  }
  /// Whether products take the tile as a factor as it is.
  bool isFactor(Value tile) const {
    Type element = tileOf(tile).getElementType();
    return chain.tf32 ? element.isF32() : element.isBF16();
  }
  /// Whether the tile has all rows that the load brings, or makes of them.
  bool isAsLoaded(Value tile, const Content &content) const {
    auto view = tile.getDefiningOp<ViewOp>();
    return tileOf(tile) == tileOf(chain.loads[content.number].tile) &&
           (!view || (!view.getRow() && view.getOffset() == 0));
  }
  /// Rows that a load brings, and that products take.
  const Content *inputOf(Value tile, ArrayRef<int64_t> shape) const {
    bool isWhole = isFactor(tile) && tileOf(tile).getShape() == shape;
    const Content *content = isWhole ? contentOf(tile, Kind::Loaded) : nullptr;
    return content && (chain.loads[content->number].steps == 1 || isAsLoaded(tile, *content)) ? content : nullptr;
  }
  /// The same of f32.
  const Content *preciseOf(Value tile, ArrayRef<int64_t> shape) const {
    TileType type = tileOf(tile);
    return type.getElementType().isF32() && type.getShape() == shape ? contentOf(tile, Kind::Loaded) : nullptr;
  }
  bool isState(Value tile) const {
    TileType type = tileOf(tile);
    return type.getElementType().isF32() && type.getShape() == ArrayRef<int64_t>{StateChain::channels, chain.keys};
  }
  static bool isNumber(TileType type) {
    return type.getElementType().isF32() && type.getShape() == ArrayRef<int64_t>{1};
  }
  /// Of a channel each, in rows.
  static bool isOfValues(Value tile) {
    TileType type = tileOf(tile);
    return type.getRank() == 2 && type.getSize(1) == StateChain::channels && type.getSize(0) % 16 == 0;
  }
  std::optional<Operand> valuesOf(Value tile);
  std::optional<Operand> numberOfRow(Value tile, int64_t rows);
  /// A value, in a tile of its own, that this step makes.
  bool make(Value tile, Step step);
  bool takeAround(Operation &op);
  bool take(Operation &op);
  bool take(LoadOp op);
  bool take(scf::IfOp op);
  bool takeSteps(LoadOp op);
  const Content *numberOf(Value tile) const;
  bool makeNumber(Value tile);
  bool takeNumbers(MapOp op);
  bool take(ScanOp op);
  bool takeInteraction(ProductOp op);
  bool takeOfInteraction(MapOp op);
  bool take(MapOp op);
  bool takeOfState(MapOp op);
  bool takeConstant(MapOp op);
  bool take(ProductOp op);
  bool takeAdvance(ProductOp op);
  bool takeTransposed(ProductOp op);
  bool take(StoreOp op);
  void findHalves();
  bool fitsRegisters() const;
  bool chooseThreads();
  bool place();

  KernelOp kernel;
  StateChain chain;
  Value state; // the tile that has it between chunks
  unsigned advances = 0;
  llvm::DenseMap<Value, Content> contents;
  llvm::DenseSet<Value> used; // tiles that others than numbers take
};

} // namespace

bool ChainFinder::takeAround(Operation &op) {
  if (isa<AllocOp, ViewOp>(op) || isa<arith::ArithDialect>(op.getDialect()))
    return true;
  if (auto segment = dyn_cast<SegmentOp>(op)) {
    chain.segment = segment;
    return true;
  }
  if (auto load = dyn_cast<LoadOp>(op)) {
    if (isNumber(load.getTile().getType()) && !chain.loop)
      return take(load); // a param: each chunk has it in its stage
    bool isOnly = !chain.initial && !chain.loop;
    chain.initial = load;
    state = getWholeTile(load.getTile());
    chain.keys = tileOf(state).getShape().back();
    return isOnly && tileOf(state).getRank() == 2 && isState(state);
  }
  if (auto store = dyn_cast<StoreOp>(op)) {
    bool isOnly = !chain.final && chain.loop && getWholeTile(store.getTile()) == state;
    chain.final = store;
    return isOnly;
  }
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop || chain.loop || !state || loop.getNumResults())
    return false;
  chain.loop = loop;
  contents[state] = {Kind::State, 0};
  return llvm::all_of(loop.getBody()->without_terminator(), [&](Operation &inner) { return take(inner); });
}

bool ChainFinder::take(Operation &op) {
  if (isa<ViewOp>(op) || isa<arith::ArithDialect>(op.getDialect()))
    return true;
  if (auto load = dyn_cast<LoadOp>(op))
    return take(load);
  if (auto choice = dyn_cast<scf::IfOp>(op))
    return take(choice);
  if (auto scan = dyn_cast<ScanOp>(op))
    return take(scan);
  if (auto map = dyn_cast<MapOp>(op))
    return takeOfState(map) || takeConstant(map) || takeNumbers(map) || takeOfInteraction(map) || take(map);
  if (auto product = dyn_cast<ProductOp>(op))
    return product.getTransposed() ? takeAdvance(product) || takeTransposed(product)
                                   : takeInteraction(product) || take(product);
  if (auto store = dyn_cast<StoreOp>(op))
    return take(store);
  return false;
}

/// Whether it makes bf16 of f16.
static bool isNarrowed(LoadOp op) {
  return op.getTile().getType().getElementType().isBF16() && op.getArray().getType().getElementType().isF16();
}

/// Rows of 16 bits whose pieces of 16 bytes can be copied as they lie, or of f32 in whole panels, which nothing but
/// products of tf32 take; or numbers for a chunk, or for each of its rows.
bool ChainFinder::take(LoadOp op) {
  TileType type = op.getTile().getType(), array = op.getArray().getType();
  bool isConverted = type.getElementType() != array.getElementType();
  if (!op.getTile().getDefiningOp<AllocOp>() || contents.contains(op.getTile()))
    return false;
  if (type.getRank() == 3)
    return takeSteps(op);
  bool isRows = type.getRank() == 2 && type.getSize(0) % 16 == 0 &&
                (type.getElementType().isBF16() ? type.getSize(1) % 16 == 0
                                                : type.getElementType().isF32() && type.getSize(1) % 32 == 0);
  bool isNumbers = type.getElementType().isF32() &&
                   (type.getRank() == 1 ? array.getRank() == 1 : type.getRank() == 2 && type.getSize(0) == 1);
  bool isHalf = isRows && isNarrowed(op);
  isConverted &= !isHalf;
  contents[op.getTile()] = {Kind::Loaded, unsigned(chain.loads.size())};
  chain.loads.push_back({op, op.getTile(), isConverted, isHalf});
  return isConverted ? isNumbers && type.getRank() == 1 : isRows || isNumbers;
}

/// Rows that a sequence's first chunks have from another array.
bool ChainFinder::take(scf::IfOp op) {
  std::optional<EarlierRows> earlier = matchEarlierRows(op);
  const Content *content = earlier ? contentOf(earlier->tile, Kind::Loaded) : nullptr;
  if (!content || used.contains(earlier->tile))
    return false;
  StateChain::Load &load = chain.loads[content->number];
  bool isKnown = load.isRows() && load.isCopied() && load.steps == 1 && !load.earlier &&
                 load.op.getTile() == load.tile && load.op.getRows() == earlier->there &&
                 isa<BlockArgument>(earlier->given.getArray()) && earlier->given.getArray().getType().getRank() == 3;
  auto isAround = [&](Value number) { // what each role finds anew
    Operation *maker = number.getDefiningOp();
    return !maker || maker->getBlock() != op.thenBlock();
  };
  if (!isKnown || !isAround(earlier->missing) || !isAround(earlier->first))
    return false;
  load.earlier = earlier;
  return true;
}

/// Rows of several micro-steps of each token, which all that takes them takes as rows one below another.
bool ChainFinder::takeSteps(LoadOp op) {
  TileType type = op.getTile().getType(), array = op.getArray().getType();
  Value rows;
  for (Operation *user : op.getTile().getUsers())
    if (auto view = dyn_cast<ViewOp>(user); view && !rows)
      rows = view;
    else if (user != op && !(view && view.getResult().getType() == rows.getType()))
      return false;
  int64_t steps = type.getSize(1);
  bool isBelow = rows && tileOf(rows).getRank() == 2 && tileOf(rows).getSize(0) == type.getSize(0) * steps &&
                 tileOf(rows).getSize(1) == type.getSize(2) && type.getStride(0) == steps * type.getStride(1) &&
                 tileOf(rows).getStride(0) == type.getStride(1);
  bool isHalf = isNarrowed(op);
  if (!isBelow || (type.getElementType() != array.getElementType() && !isHalf) || !type.getElementType().isBF16() ||
      tileOf(rows).getSize(0) % 16 != 0 || tileOf(rows).getSize(1) % 16 != 0)
    return false;
  contents[op.getTile()] = {Kind::Loaded, unsigned(chain.loads.size())};
  chain.loads.push_back({op, rows, /*isConverted=*/false, isHalf, /*staysHalf=*/false, steps});
  return true;
}

//===----------------------------------------------------------------------===//
// Numbers of numbers, and interactions
//===----------------------------------------------------------------------===//

/// Numbers that each chunk has in its stage.
const ChainFinder::Content *ChainFinder::numberOf(Value tile) const {
  TileType type = tileOf(tile);
  return type.getRank() == 1 && type.getElementType().isF32() && getWholeTile(tile) == tile
             ? contentOf(tile, Kind::Loaded)
             : nullptr;
}

/// Numbers in a tile of the stage: a new one, or one that nobody has read but those that make numbers.
bool ChainFinder::makeNumber(Value tile) {
  TileType type = tileOf(tile);
  if (numberOf(tile))
    return !used.contains(tile);
  if (contents.contains(tile) || !tile.getDefiningOp<AllocOp>() || type.getRank() != 1 ||
      !type.getElementType().isF32())
    return false;
  contents[tile] = {Kind::Loaded, unsigned(chain.loads.size())};
  chain.loads.push_back({LoadOp(), tile});
  return true;
}

bool ChainFinder::takeNumbers(MapOp op) {
  if (op.getBlocks() || op.getInputs().empty() || tileOf(op.getResult()).getRank() != 1 ||
      !llvm::all_of(op.getInputs(), [&](Value input) { return numberOf(input); }) || !makeNumber(op.getResult()))
    return false; // inputs of a number for each row, or of one
  chain.numbers.push_back(op);
  return true;
}

/// A running number, of which a warp takes all rows at once.
bool ChainFinder::take(ScanOp op) {
  bool areKnown = !op.getInitial() && matchRunning(op) &&
                  llvm::all_of(op.getInputs(), [&](Value input) { return numberOf(input); });
  if (!areKnown || (op.getAll() && !makeNumber(op.getAll())) || (op.getLast() && !makeNumber(op.getLast())))
    return false;
  chain.numbers.push_back(op);
  return true;
}

/// Of rows that each chunk brings: a square of as many tokens as a product of a warpgroup has rows.
bool ChainFinder::takeInteraction(ProductOp op) {
  constexpr int64_t tokens = 64;
  TileType type = op.getResult().getType();
  bool isPlain = !chain.tf32 && op.getRightTransposed() && !op.getPlus() && !op.getRowScale() && !op.getColumnScale() &&
                 !op.getLeftTriangle() && type.getElementType().isF32() &&
                 type.getShape() == ArrayRef<int64_t>{tokens, tokens} && !contents.contains(op.getResult());
  const Content *left = isPlain ? inputOf(op.getLeft(), {tokens, chain.keys}) : nullptr,
                *right = isPlain ? inputOf(op.getRight(), {tokens, chain.keys}) : nullptr;
  if (!left || !right || !chain.loads[left->number].op || !chain.loads[right->number].op)
    return false;
  chain.interactions.push_back({op, left->number, right->number, {}, {}});
  contents[op.getResult()] = {Kind::Interaction, unsigned(chain.interactions.size()) - 1};
  return true;
}

/// A function of its elements and of numbers of its rows and columns; where that is rounded it is what the chain has of
/// it.
bool ChainFinder::takeOfInteraction(MapOp op) {
  const Content *from = op.getInputs().empty() ? nullptr : contentOf(op.getInputs()[0], Kind::Interaction);
  if (!from || op.getBlocks() || getWholeTile(op.getResult()) != op.getResult())
    return false;
  unsigned number = from->number;
  StateChain::Interaction &interaction = chain.interactions[number];
  ArrayRef<int64_t> shape = tileOf(op.getInputs()[0]).getShape();
  TileType type = tileOf(op.getResult());
  bool isRounded = type.getElementType().isBF16(), isOwn = op.getResult() == op.getInputs()[0];
  if (interaction.result || getWholeTile(op.getInputs()[0]) != op.getInputs()[0] || type.getShape() != shape ||
      (!isRounded && !type.getElementType().isF32()) || (!isOwn && contents.contains(op.getResult())))
    return false;
  for (auto [input, dims] : llvm::drop_begin(llvm::zip(op.getInputs(), op.getDims()))) {
    ArrayRef<int64_t> places = cast<DenseI64ArrayAttr>(dims).asArrayRef();
    if (!numberOf(input) || tileOf(input).getSize(0) != shape[0] || places.size() != 1)
      return false;
    used.insert(input);
  }
  if (cast<DenseI64ArrayAttr>(op.getDims()[0]).asArrayRef() != ArrayRef<int64_t>{0, 1})
    return false;
  interaction.maps.push_back(op);
  contents.erase(op.getInputs()[0]);
  contents[op.getResult()] = {Kind::Interaction, number};
  if (isRounded) {
    interaction.result = unsigned(chain.loads.size());
    contents[op.getResult()] = {Kind::Loaded, *interaction.result};
    chain.loads.push_back({LoadOp(), op.getResult()});
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Passes over elements
//===----------------------------------------------------------------------===//

/// The state rounded, or moved to where it lies between chunks.
bool ChainFinder::takeOfState(MapOp op) {
  auto yield = cast<YieldOp>(op.getBody().front().getTerminator());
  bool isCopy = op.getInputs().size() == 1 && !op.getBlocks() && op.getDims().size() == 1 &&
                yield.getValues()[0] == op.getBody().getArgument(0) &&
                cast<DenseI64ArrayAttr>(op.getDims()[0]).asArrayRef() == ArrayRef<int64_t>{0, 1};
  if (!isCopy || getWholeTile(op.getResult()) != op.getResult())
    return false;
  const Content *from = contentOf(op.getInputs()[0], Kind::State);
  if (!from || !isState(op.getInputs()[0]))
    return false;
  Content known = *from;
  bool isMoved = isState(op.getResult()),
       isRounded = known.number == 0 && isBF16(op.getResult(), {StateChain::channels, chain.keys});
  if (isMoved)
    contents[op.getResult()] = known;
  else if (isRounded)
    contents[op.getResult()] = {Kind::RoundedState, 0};
  return isMoved || isRounded;
}

/// One number, which is known.
bool ChainFinder::takeConstant(MapOp op) {
  auto yield = cast<YieldOp>(op.getBody().front().getTerminator());
  FloatAttr number;
  if (!op.getInputs().empty() || getWholeTile(op.getResult()) != op.getResult() ||
      tileOf(op.getResult()).getExtent() != 1 || !matchPattern(yield.getValues()[0], m_Constant(&number)))
    return false;
  contents[op.getResult()] = {Kind::Constant, 0, number.getValueAsDouble()};
  return true;
}

std::optional<Operand> ChainFinder::valuesOf(Value tile) {
  const Content *content = contentOf(tile);
  if (!content || !isOfValues(tile))
    return std::nullopt;
  if (content->kind == Kind::Value && getWholeTile(tile) == tile)
    return Operand{Operand::Value, content->number};
  if (content->kind != Kind::Loaded || !isFactor(tile) || !isAsLoaded(tile, *content))
    return std::nullopt;
  chain.loads[content->number].isOfChannels = true;
  return Operand{Operand::Load, content->number};
}

/// One for each row, or one for all.
std::optional<Operand> ChainFinder::numberOfRow(Value tile, int64_t rows) {
  const Content *content = contentOf(tile);
  if (!content)
    return std::nullopt;
  if (content->kind == Kind::Constant)
    return Operand{Operand::Constant, 0, content->constant};
  TileType type = tileOf(getWholeTile(tile));
  bool isOfRows = type.getRank() == 1 && type.getSize(0) == rows, isOne = type.getExtent() == 1;
  if (content->kind != Kind::Loaded || !type.getElementType().isF32() || (!isOfRows && !isOne))
    return std::nullopt;
  used.insert(getWholeTile(tile));
  return Operand{Operand::Load, content->number};
}

bool ChainFinder::make(Value tile, Step step) {
  TileType type = tileOf(tile);
  const Content *before = contentOf(tile);
  if (getWholeTile(tile) != tile || !isOfValues(tile) || (before && before->kind != Kind::Value) ||
      !(type.getElementType().isBF16() || type.getElementType().isF32()))
    return false;
  step.value = unsigned(chain.values.size());
  contents[tile] = {Kind::Value, *step.value};
  chain.values.push_back({type.getSize(0), type.getElementType().isBF16(), std::nullopt});
  chain.steps.push_back(std::move(step));
  return true;
}

bool ChainFinder::take(MapOp op) {
  if (op.getBlocks() || !isOfValues(op.getResult()) ||
      llvm::any_of(op.getBody().front(), [](Operation &inner) { return isa<IndexOp>(inner); }))
    return false;
  int64_t rows = tileOf(op.getResult()).getSize(0);
  Step step{StepKind::Map, op, {}, {}, {}, {}, {}};
  for (auto [input, dims] : llvm::zip(op.getInputs(), op.getDims())) {
    ArrayRef<int64_t> places = cast<DenseI64ArrayAttr>(dims).asArrayRef();
    std::optional<Operand> operand;
    if (places == ArrayRef<int64_t>{0, 1} && tileOf(input).getSize(0) == rows)
      operand = valuesOf(input);
    else if (places == ArrayRef<int64_t>{0})
      operand = numberOfRow(input, rows);
    if (!operand)
      return false;
    step.operands.push_back(*operand);
  }
  return make(op.getResult(), std::move(step));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Rows that read the state, or a matrix of the tokens that is applied to values.
bool ChainFinder::take(ProductOp op) {
  int64_t count = op.getResult().getType().getSize(0);
  if (op.getColumnScale() || op.getResultTriangle() || !isOfValues(op.getResult()))
    return false;
  Step step{StepKind::Read, op, {}, {}, {}, {}, {}};
  if (op.getRightTransposed()) {
    const Content *rows = inputOf(op.getLeft(), {count, chain.keys});
    const Content *before = contentOf(op.getRight(), Kind::State);
    bool isRead = chain.tf32 ? before && before->number == 0 && isState(op.getRight())
                             : contentOf(op.getRight(), Kind::RoundedState) != nullptr;
    if (!rows || !isRead || op.getLeftTriangle())
      return false;
    step.right = rows->number;
  } else {
    std::optional<Operand> values = valuesOf(op.getRight());
    int64_t inner = tileOf(op.getRight()).getSize(0);
    bool isPrecise = op.getLeftExchanged();
    const Content *matrix = isPrecise ? preciseOf(op.getLeft(), {count, inner}) : inputOf(op.getLeft(), {count, inner});
    if (!values || !matrix || inner > 64 || (!isPrecise && !isFactor(op.getRight())) ||
        (isPrecise && (!tileOf(op.getRight()).getElementType().isF32() || values->kind != Operand::Value)))
      return false;
    step.kind = StepKind::Apply;
    step.right = matrix->number;
    step.operands.push_back(*values);
  }
  if (Value plus = op.getPlus()) {
    step.plus = valuesOf(plus);
    if (!step.plus || tileOf(plus).getSize(0) != count)
      return false;
  }
  if (Value scale = op.getRowScale()) {
    step.scale = numberOfRow(scale, count);
    if (!step.scale)
      return false;
  }
  return make(op.getResult(), std::move(step));
}

/// A matrix of the tokens that is applied transposed.
bool ChainFinder::takeTransposed(ProductOp op) {
  TileType matrix = op.getLeft().getType();
  int64_t inner = matrix.getSize(0), count = op.getResult().getType().getSize(0);
  bool isPlain = !op.getRightTransposed() && !op.getRowScale() && !op.getColumnScale() && !op.getResultTriangle() &&
                 !op.getLeftExchanged() && isOfValues(op.getResult());
  if (!isPlain || inner > 64 || !isFactor(op.getRight()))
    return false;
  const Content *loaded = inputOf(op.getLeft(), {inner, count});
  std::optional<Operand> values = loaded ? valuesOf(op.getRight()) : std::nullopt;
  if (!values)
    return false;
  Step step{StepKind::Apply, op, {}, loaded->number, {*values}, {}, {}};
  if (Value plus = op.getPlus()) {
    step.plus = valuesOf(plus);
    if (!step.plus || tileOf(plus).getSize(0) != count)
      return false;
  }
  return make(op.getResult(), std::move(step));
}

bool ChainFinder::takeAdvance(ProductOp op) {
  const Content *before = op.getPlus() ? contentOf(op.getPlus(), Kind::State) : nullptr;
  bool isPlain = before && before->number == advances && !op.getRightTransposed() && !op.getRowScale() &&
                 !op.getLeftTriangle() && !op.getResultTriangle() && isState(op.getResult()) &&
                 getWholeTile(op.getResult()) == op.getResult();
  if (!isPlain)
    return false;
  int64_t rows = op.getLeft().getType().getSize(0);
  std::optional<Operand> values = valuesOf(op.getLeft());
  const Content *keys = inputOf(op.getRight(), {rows, chain.keys});
  if (!values || !keys || !isFactor(op.getLeft()))
    return false;
  Step step{StepKind::Advance, op, {}, keys->number, {*values}, {}, {}};
  if (Value scale = op.getColumnScale()) {
    const Content *loaded = contentOf(scale, Kind::Loaded);
    int64_t count = tileOf(getWholeTile(scale)).getShape().back();
    if (!loaded || !tileOf(scale).getElementType().isF32() || chain.loads[loaded->number].isOfRows() ||
        chain.loads[loaded->number].isRows() || (count != 1 && count != chain.keys))
      return false;
    used.insert(getWholeTile(scale));
    step.scale = Operand{Operand::Load, loaded->number};
  }
  chain.steps.push_back(std::move(step));
  contents[op.getResult()] = {Kind::State, ++advances};
  return true;
}

//===----------------------------------------------------------------------===//
// Stores, and what there is room for
//===----------------------------------------------------------------------===//

/// The state as it was when the chunk began, or a value.
bool ChainFinder::take(StoreOp op) {
  const Content *now = contentOf(op.getTile(), Kind::State);
  if (contentOf(op.getTile(), Kind::RoundedState) || (now && now->number == 0)) {
    bool isOnly = !chain.kept;
    chain.kept = op;
    return isOnly;
  }
  if (op.getArray().getType().getElementType().isF32() != chain.tf32)
    return false;
  const Content *value = contentOf(op.getTile(), Kind::Value);
  if (!value || getWholeTile(op.getTile()) != op.getTile() || chain.values[value->number].stored)
    return false;
  chain.values[value->number].stored = unsigned(chain.stored.size());
  chain.stored.push_back({op, chain.values[value->number].rows});
  chain.steps.push_back({StepKind::Store, op, {}, {}, {Operand{Operand::Value, value->number}}, {}, {}});
  return true;
}

/// Rows of f16 that read or advance the state, or meet others of f16. Matrices of the tokens meet values, which stay
/// bf16 then: a thread would have them in both types.
void ChainFinder::findHalves() {
  for (StateChain::Load &load : chain.loads)
    load.staysHalf = load.isHalf && !kernel->hasAttr(convertsHalvesAttribute);
  for (const Step &step : chain.steps)
    if (step.kind == StepKind::Apply)
      chain.loads[*step.right].staysHalf = false;
  for (bool changes = true; std::exchange(changes, false);)
    for (const StateChain::Interaction &interaction : chain.interactions) {
      StateChain::Load &left = chain.loads[interaction.left], &right = chain.loads[interaction.right];
      changes |= left.staysHalf != right.staysHalf;
      left.staysHalf = right.staysHalf = left.staysHalf && right.staysHalf;
    }
}

/// Of a thread that has a state, the state rounded where rows read it, and the values that are there at the same time.
/// The rest of what a thread of so many can have is for addresses.
bool ChainFinder::fitsRegisters() const {
  int64_t largest = 0;
  for (const Step &step : chain.steps)
    if (step.isProduct()) {
      int64_t own = step.value ? chain.values[*step.value].rows / 2 : 0;
      for (const Operand &operand : step.operands)
        own += (operand.kind == Operand::Value ? chain.values[operand.number].rows
                                               : chain.loads[operand.number].type().getSize(0)) /
               (step.isPrecise() || chain.tf32 ? 2 : 4);
      largest = std::max(largest, own);
    }
  bool isRead = llvm::any_of(chain.steps, [](const Step &step) { return step.kind == StepKind::Read; });
  int64_t rounded = !isRead ? 0 : chain.tf32 ? chain.keys / 2 : chain.keys / 4;
  return chain.keys % 16 == 0 && chain.keys <= StateChain::mostKeys &&
         chain.keys / 2 + rounded + largest + StateChain::forAddresses <= chain.registers();
}

/// A state is more to store than some values: one warp takes as long for it as two chunks' products. So a warpgroup
/// does it that gives registers away, or two warps; or one, where they leave too few registers. ptxas makes products
/// wait for each other where it runs out of them.
bool ChainFinder::chooseThreads() {
  if (!chain.interactions.empty()) { // all roles are three warpgroups
    chain.storeThreads = 32;
    return !chain.kept && fitsRegisters();
  }
  auto fits = [&](int64_t threads, int64_t others) {
    chain.storeThreads = threads;
    return fitsRegisters() && chain.countLiveRegisters() + others <= chain.registers();
  };
  if (chain.keepsRounded()) {
    bool isAlone = 2 * chain.sharedBytes > chain.gpu->sharedBytes; // on its multiprocessor
    if (isAlone && chain.gpu->hasWarpgroupProducts && fits(StateChain::manyStoreThreads, StateChain::forAddresses))
      return true;
    if (fits(64, 2 * StateChain::forAddresses))
      return true;
  }
  chain.storeThreads = 32;
  return fitsRegisters();
}

/// Tiles of a stage, and as many stages as there is room for; then what is stored, the numbers of the stages, and the
/// barriers.
bool ChainFinder::place() {
  constexpr int64_t numberAlignment = 16, mostStages = 4;
  for (StateChain::Load &load : chain.loads) {
    TileType type = load.type();
    int64_t &bytes = load.isRows() ? chain.stageBytes : chain.numberBytes;
    load.offset = bytes;
    PanelLayout layout{type.getSize(0), type.getElementBytes()};
    bytes += load.isRows() ? llvm::alignTo(layout.bytes(type.getShape().back()), PanelLayout::alignment)
                           : llvm::alignTo(4 * type.getShape().back(), numberAlignment);
  }
  int64_t stored =
      chain.keepsRounded() ? llvm::alignTo(2 * StateChain::channels * chain.paddedRow(), PanelLayout::rowBytes) : 0;
  for (StateChain::Stored &one : chain.stored) {
    one.offset = stored;
    stored += one.rows * StateChain::channels * StoreOp(one.op).getArray().getType().getElementBytes();
  }
  constexpr int64_t barrierBytes = 256; // of at most 4 stages
  constexpr size_t mostStored = 6;      // with two of the CTA's 16 barriers each, and the state
  if (chain.stored.size() > mostStored)
    return false;
  for (chain.stages = mostStages; chain.stages > 1; --chain.stages) {
    int64_t begin = chain.stages * chain.stageBytes;
    chain.numbersOffset = begin + stored;
    chain.barrierOffset = chain.numbersOffset + chain.stages * chain.numberBytes;
    chain.sharedBytes = chain.barrierOffset + barrierBytes;
    if (chain.sharedBytes > chain.gpu->sharedBytes)
      continue;
    chain.keptOffset = begin;
    for (StateChain::Stored &one : chain.stored)
      one.offset += begin;
    return true;
  }
  return false;
}

std::optional<StateChain> ChainFinder::find() {
  if (!kernel.getThreads())
    return std::nullopt;
  bool mixes = false;
  kernel.walk([&](ProductOp product) {
    chain.tf32 |= product.getTf32();
    mixes |= !product.getTf32();
  });
  if (chain.tf32 && mixes)
    return std::nullopt;
  for (Operation &op : kernel.getBody().front())
    if (!takeAround(op))
      return std::nullopt;
  // What the next chunk begins with lies where this one has begun.
  const Content *last = state ? contentOf(state, Kind::State) : nullptr;
  auto isFinished = [](const StateChain::Interaction &interaction) { return interaction.result.has_value(); };
  bool isWhole = chain.final && chain.loop && advances && last && last->number == advances &&
                 llvm::all_of(chain.interactions, isFinished);
  if (!isWhole)
    return std::nullopt;
  findHalves();
  orderSteps(chain, !kernel->hasAttr(addsRestsAttribute));
  if (!place() || !chooseThreads())
    return std::nullopt;
  chain.readsAhead = !kernel->hasAttr(readsLateAttribute) && chain.hasRoomToReadAhead();
  return chain;
}

std::optional<StateChain> recur::analysis::findStateChain(KernelOp kernel) { return ChainFinder(kernel).find(); }
