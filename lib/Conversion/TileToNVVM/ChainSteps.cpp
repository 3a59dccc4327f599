// The steps of a chain, in the registers of a warpgroup. A thread has of each value the numbers that the matrix units
// leave it as sums: rows of channels, columns of tokens. Two neighbours of them, rounded, are one register of the left
// factor of the next product.
//
// A matrix of the tokens is zero where a row does not see a value. The matrix units multiply these too, so where values
// are no numbers the rows that see nothing of them would become none either. Such a product is done again, with zeros
// for what is no number, and the rows that see it become none by themselves.
//
// Rows of f16 that stay so meet the state and values rounded to f16 (HalfFactors.h). Where a guarded product ends
// behind all that reads the state, the whole chunk is done again from there where f16 lacks digits of the state: nobody
// waits or branches between what reads the state and what is made of it.
//
// A precise product takes values of f32 as a left factor of tf32, and the matrix's columns lie exchanged for that
// (dialects/Tile/FragmentLayout.h).
#include "Conversion/TileToNVVM/ChainSteps.h"
#include "Conversion/TileToNVVM/HalfFactors.h"
#include <limits>

using namespace mlir;
using namespace recur::conversion;
using namespace recur::conversion::nvvm;
using namespace recur::tile;
using recur::analysis::StateChain;
using Step = StateChain::Step;
using StepKind = StateChain::StepKind;
using Operand = StateChain::Operand;
using Action = StateChain::Action;

static constexpr int64_t panelRowBytes = PanelLayout::rowBytes, unit = FactorLayout::ofHalves().inner;

namespace {

class StepsCode {
public:
  StepsCode(TeamCode &team, const StateChain &chain, const ChainSurroundings &around, ValueRange state)
      : t(team), code(team), chain(chain), around(around), state(state), values(chain.values.size()) {}
  SmallVector<Value> emit();

private:
  /// What is known of a value or of what a load brought: its numbers, and two of them in a register each.
  struct Known {
    SmallVector<Value> numbers, packed, halves;
    Value lacksDigits; // whether f16 does, of the lane's rows; null of data, and where nobody has asked
  };
  void take(size_t index);
  void begin(unsigned number);
  void settle(const Action &action);
  void map(const Step &step);
  void store(const Step &step);
  void keepState();
  bool takesStateBesideProducts() const;

  SmallVector<Value> pack(ValueRange numbers, Type element = {});
  Known &known(const Operand &operand);
  SmallVector<Value> &packedOf(const Operand &operand);
  SmallVector<Value> &numbersOf(const Operand &operand);
  SmallVector<Value> loadFragments(const StateChain::Load &load);
  /// Where each of a thread's numbers of a value lies in a tile of f32 that has a row for each token.
  void forPlacesInTile(RightFactor32 tile, int64_t rows, llvm::function_ref<void(size_t index, Value place)> visit);
  SmallVector<Value> loadNumbersOfRows(const StateChain::Load &load);
  /// One for each number of a value, or of the state.
  SmallVector<Value> loadRowNumbers(const Operand &operand, int64_t count);
  SmallVector<Value> loadColumnNumbers(const Operand &operand);
  SmallVector<Value> loadNumbers(const StateChain::Load &load, int64_t groups);
  void fetchFor(unsigned value);

  SmallVector<Value> multiply(const Step &step, ArrayRef<Value> left, ValueRange sums);
  PlacedFactor rightOf(const Step &step);
  SmallVector<Value> multiply32(const Step &step, ArrayRef<Value> left, ValueRange sums);
  /// Sums of products, once all have ended but so many.
  SmallVector<Value> ended(ValueRange sums, int64_t running) {
    return chain.tf32 ? llvm::to_vector_of<Value>(sums) : code.settle(sums, running);
  }
  SmallVector<Value> guard(const Step &step, SmallVector<Value> sums);
  Value isNoNumber(Value half);
  /// Values as a left factor with their bad numbers left out, and the first rows of the thread's two channels that have
  /// any.
  SmallVector<Value> clean(ArrayRef<Value> left, MutableArrayRef<Value> firsts);
  SmallVector<Value> cleanPrecise(ArrayRef<Value> left, MutableArrayRef<Value> firsts);
  SmallVector<Value> &leftOf(const Step &step);
  FactorKind kindOf(const Step &step) const { return chain.takesHalves(step) ? FactorKind::F16 : FactorKind::BF16; }
  /// What a product of f16 multiplies.
  Known &halvesOf(const Step &step);
  /// Of a product of f16 that has begun, for sums of sizes take as long as several of its instructions.
  void askForDigits(const Step &step);
  /// Adds what rounding left out of products of f16, once no product runs.
  void finish(const Action &action);
  void addRests();
  /// The product behind which the chunk is done again where it has to be.
  bool isDoneAgain(const Step &step) const {
    return chain.doneAgain && chain.order[*chain.doneAgain].step == unsigned(&step - chain.steps.data());
  }
  bool readsAhead() const { return chain.readsAhead && !isAgain; }
  SmallVector<Value> doAgain(size_t next);
  SmallVector<Value> emitFrom(size_t index);

  const StateChain::Load &loadOf(const Operand &operand) { return chain.loads[operand.number]; }
  Value pointerTo(Value address) {
    return LLVM::IntToPtrOp::create(t.builder, t.loc, LLVM::LLVMPointerType::get(t.builder.getContext(), sharedSpace),
                                    address);
  }
  /// Where the lane's piece of the tokens' first rows lies, of the warp's channels.
  Value findOwnPiece() {
    auto own = addressedPiece(t, t.lane, BlockOrder::UpperFirst);
    Value piece = t.add(t.multiply(t.warp, SumsLayout::unitRows / pieceHalves), own.piece);
    return PanelLayout::byteInPanel(t, own.row, PanelLayout::permute(t, own.line, piece));
  }
  /// The row of a value that a thread's number belongs to.
  Value tokenOf(int64_t index) {
    Value column = t.add(pairOfLane(t, t.lane), SumsLayout::secondOf(index));
    return t.add(chain.tf32 ? tokenOfColumn(t, column) : column,
                 warpSums.columnEightOf(index) * SumsLayout::unitColumns);
  }

  TeamCode &t;
  WarpgroupCode code;
  const StateChain &chain;
  const ChainSurroundings &around;
  SmallVector<Value> state, rounded;
  Known ofState;                        // as products of f16 take it
  SmallVector<const Step *> unfinished; // that have ended, but for what rounding left out
  std::vector<Known> values;
  llvm::DenseMap<unsigned, Known> loaded;
  llvm::DenseMap<unsigned, SmallVector<Value>> numbers; // that loads bring, by load
  /// What a guarded product begins with, and whether what it multiplies is a number everywhere, if that is known.
  struct Guarded {
    SmallVector<Value> start;
    Value isBad;
  };
  llvm::DenseMap<unsigned, Guarded> guarded; // by the value that is made
  bool isRead = false, isKept = false;
  bool isAgain = false; // steps are done again, one behind another
};

} // namespace

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

SmallVector<Value> StepsCode::pack(ValueRange numbers, Type element) {
  SmallVector<Value> packed;
  for (size_t i = 0; i < numbers.size(); i += 2)
    packed.push_back(code.pack(numbers[i], numbers[i + 1], element));
  return packed;
}

/// Rows of the tokens as the left factor of a product whose rows are the channels.
SmallVector<Value> StepsCode::loadFragments(const StateChain::Load &load) {
  Value own = t.add(around.stage, findOwnPiece());
  SmallVector<Value> fragments;
  for (int64_t first = 0; first < load.type().getSize(0); first += unit)
    llvm::append_range(fragments, code.loadMatricesAcross(t.add(own, load.offset + first * panelRowBytes)));
  return fragments;
}

void StepsCode::forPlacesInTile(RightFactor32 tile, int64_t rows, llvm::function_ref<void(size_t, Value)> visit) {
  Value first[SumsLayout::numbersOfUnit];
  for (int64_t i = 0; i < SumsLayout::numbersOfUnit; ++i)
    first[i] = code.placeInPanels32(tile, tokenOf(i), t.add(rowOfWarp(t, t.warp, t.lane), warpSums.offsetOf(i).row));
  for (int64_t index = 0; index < rows / 2; ++index) {
    int64_t above = warpSums.columnEightOf(index) * SumsLayout::unitColumns;
    visit(size_t(index), t.add(first[index % SumsLayout::numbersOfUnit], above * panelRowBytes));
  }
}

SmallVector<Value> StepsCode::loadNumbersOfRows(const StateChain::Load &load) {
  SmallVector<Value> all;
  int64_t rows = load.type().getSize(0);
  forPlacesInTile({t.add(around.stage, load.offset), rows}, rows,
                  [&](size_t, Value place) { all.push_back(t.load(pointerTo(place), t.builder.getF32Type())); });
  return all;
}

StepsCode::Known &StepsCode::known(const Operand &operand) {
  if (operand.kind == Operand::Value)
    return values[operand.number];
  Known &known = loaded[operand.number];
  if (!known.packed.empty() || !known.numbers.empty() || !known.halves.empty())
    return known;
  const StateChain::Load &load = loadOf(operand);
  if (chain.tf32)
    known.numbers = loadNumbersOfRows(load);
  else
    (load.staysHalf ? known.halves : known.packed) = loadFragments(load);
  return known;
}

SmallVector<Value> &StepsCode::packedOf(const Operand &operand) {
  Known &known = this->known(operand);
  if (known.packed.empty())
    known.packed = pack(numbersOf(operand));
  return known.packed;
}

SmallVector<Value> &StepsCode::numbersOf(const Operand &operand) {
  Known &known = this->known(operand);
  if (known.numbers.empty() && known.packed.empty())
    known.numbers = unpackHalves(t, known.halves);
  else if (known.numbers.empty())
    for (Value both : known.packed) {
      auto [first, second] = code.unpack(both);
      known.numbers.push_back(first);
      known.numbers.push_back(second);
    }
  return known.numbers;
}

/// Numbers that lie side by side, for each of a thread's: it has two neighbours of each eight columns.
SmallVector<Value> StepsCode::loadNumbers(const StateChain::Load &load, int64_t groups) {
  Type f32 = t.builder.getF32Type();
  Value own = t.add(around.numbers, load.offset);
  if (load.type().getShape().back() == 1)
    return SmallVector<Value>(SumsLayout::numbersOfUnit * groups, t.load(pointerTo(own), f32));
  if (chain.tf32 && load.isOfRows()) {
    SmallVector<Value> ofRows(SumsLayout::numbersOfUnit * groups);
    for (int64_t group = 0; group < groups; ++group)
      for (int64_t i : {0, 1}) {
        int64_t upper = warpSums.numberAt(0, group, i), lower = warpSums.numberAt(1, group, i);
        ofRows[size_t(upper)] = ofRows[size_t(lower)] =
            t.load(pointerTo(t.add(own, t.multiply(tokenOf(upper), wordBytes))), f32);
      }
    return ofRows;
  }
  own = t.add(own, t.multiply(wordOfLane(t, t.lane), 2 * wordBytes));
  SmallVector<Value> all(SumsLayout::numbersOfUnit * groups);
  for (int64_t group = 0; group < groups; ++group) {
    Value two = t.load(pointerTo(t.add(own, group * SumsLayout::unitColumns * wordBytes)), VectorType::get(2, f32));
    for (int64_t i : {0, 1})
      all[size_t(warpSums.numberAt(0, group, i))] = all[size_t(warpSums.numberAt(1, group, i))] =
          LLVM::ExtractElementOp::create(t.builder, t.loc, two, t.constant(i));
  }
  return all;
}

SmallVector<Value> StepsCode::loadRowNumbers(const Operand &operand, int64_t count) {
  if (operand.kind == Operand::Constant)
    return SmallVector<Value>(count / 2, t.number(operand.constant));
  SmallVector<Value> &known = numbers[operand.number];
  if (known.empty() || !readsAhead()) // else they would be kept from pass to pass
    known = loadNumbers(loadOf(operand), count / SumsLayout::unitColumns);
  return known;
}

SmallVector<Value> StepsCode::loadColumnNumbers(const Operand &operand) {
  return loadNumbers(loadOf(operand), chain.keys / SumsLayout::unitColumns);
}

/// What passes over a product's sums take besides them, before it begins: then it is there when the product has ended.
void StepsCode::fetchFor(unsigned value) {
  for (const Step &step : chain.steps) {
    if (step.kind != StepKind::Map || !step.takes(value))
      continue;
    for (const Operand &operand : step.operands)
      if (operand.kind == Operand::Load) {
        if (loadOf(operand).isRows())
          known(operand);
        else
          loadRowNumbers(operand, chain.values[*step.value].rows);
      }
  }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

SmallVector<Value> StepsCode::multiply32(const Step &step, ArrayRef<Value> left, ValueRange sums) {
  const StateChain::Load &right = chain.loads[*step.right];
  int64_t rows = right.type().getSize(0), columns = right.type().getSize(1);
  bool isAcross = step.kind == StepKind::Advance || step.isTransposed();
  auto kind = step.kind == StepKind::Read ? Inner32::Channels : Inner32::Tokens;
  std::optional<ArrayRef<int64_t>> triangle =
      step.kind == StepKind::Apply && !isAcross ? cast<ProductOp>(step.op).getLeftTriangle() : std::nullopt;
  auto isZero = [&](int64_t column, int64_t inner) {
    return triangle && inner >= ((column + 7) / (*triangle)[0] + 1) * (*triangle)[1];
  };
  return code.multiply32({left,
                          {t.add(around.stage, right.offset), rows},
                          isAcross ? rows : columns,
                          isAcross ? columns : rows,
                          kind,
                          isAcross,
                          step.kind != StepKind::Advance,
                          isZero},
                         sums);
}

PlacedFactor StepsCode::rightOf(const Step &step) {
  const StateChain::Load &right = chain.loads[*step.right];
  PanelLayout layout{right.type().getSize(0), right.type().getElementBytes()};
  PlacedFactor placed;
  Value address = t.add(around.stage, right.offset);
  if (step.kind == StepKind::Advance || step.isTransposed()) { // rows of the right factor are the inner dimension
    for (int64_t row = 0; row < layout.rows; row += unit)
      placed.places.push_back(row * panelRowBytes);
    placed.factor = {address, layout.panelBytes()};
    return placed;
  }
  FactorLayout factors = step.isPrecise() ? FactorLayout::ofTF32() : FactorLayout::ofHalves();
  for (int64_t column = 0; column < right.type().getSize(1); column += factors.inner)
    placed.places.push_back(layout.byteOfColumn(column));
  placed.factor = {address, unit};
  return placed;
}

SmallVector<Value> StepsCode::multiply(const Step &step, ArrayRef<Value> left, ValueRange sums) {
  if (chain.tf32)
    return multiply32(step, left, sums);
  TileType type = chain.loads[*step.right].type();
  auto [factor, places] = rightOf(step);
  if (step.kind == StepKind::Advance || step.isTransposed())
    return code.multiply(kindOf(step), left, factor, places, type.getSize(1), true, sums);
  if (step.isPrecise())
    return code.multiplyPrecise(left, factor, places, type.getSize(0), sums);
  return code.multiply(kindOf(step), left, factor, places, type.getSize(0), false, sums);
}

StepsCode::Known &StepsCode::halvesOf(const Step &step) {
  bool isRead = step.kind == StepKind::Read;
  Known &own = isRead ? ofState : known(step.operands.front());
  if (own.halves.empty())
    own.halves = roundToHalves(t, isRead ? state : numbersOf(step.operands.front()));
  return own;
}

void StepsCode::addRests() {
  while (!unfinished.empty()) {
    // Those that read the state, together.
    Known &left = halvesOf(*unfinished.front());
    SmallVector<const Step *> steps =
        llvm::filter_to_vector(unfinished, [&](const Step *step) { return &halvesOf(*step) == &left; });
    llvm::erase_if(unfinished, [&](const Step *step) { return llvm::is_contained(steps, step); });
    auto sumsOf = [&](const Step &step) -> SmallVector<Value> & {
      return step.kind == StepKind::Advance ? state : values[*step.value].numbers;
    };
    SmallVector<Value> all;
    for (const Step *step : steps)
      llvm::append_range(all, sumsOf(*step));
    auto choice = scf::IfOp::create(t.builder, t.loc, ValueRange(all).getTypes(), left.lacksDigits,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(t.builder);
    t.builder.setInsertionPointToEnd(choice.elseBlock());
    scf::YieldOp::create(t.builder, t.loc, all);
    t.builder.setInsertionPointToEnd(choice.thenBlock());
    MutableArrayRef<Value> rest = all;
    for (const Step *step : steps) {
      bool isRead = step->kind == StepKind::Read;
      size_t count = sumsOf(*step).size();
      addProductOfRest(t, isRead ? state : numbersOf(step->operands.front()), rightOf(*step), !isRead,
                       rest.take_front(count));
      rest = rest.drop_front(count);
    }
    scf::YieldOp::create(t.builder, t.loc, all);
    ValueRange made = choice.getResults();
    for (const Step *step : steps) {
      SmallVector<Value> &sums = sumsOf(*step);
      llvm::copy(made.take_front(sums.size()), sums.begin());
      made = made.drop_front(sums.size());
    }
  }
}

SmallVector<Value> &StepsCode::leftOf(const Step &step) {
  if (chain.takesHalves(step))
    return halvesOf(step).halves;
  if (step.kind == StepKind::Read)
    return rounded;
  return step.isPrecise() || chain.tf32 ? numbersOf(step.operands.front()) : packedOf(step.operands.front());
}

void StepsCode::askForDigits(const Step &step) {
  if (!chain.roundsToHalves(step))
    return;
  Known &left = halvesOf(step);
  bool isRead = step.kind == StepKind::Read;
  if (!left.lacksDigits) {
    left.lacksDigits = lackDigits(t, isRead ? state : numbersOf(step.operands.front()));
    if (!isRead || !chain.doneAgain || isAgain) // else the warpgroup votes
      left.lacksDigits = code.anyOfWarp(left.lacksDigits);
  }
}

void StepsCode::begin(unsigned number) {
  const Step &step = chain.steps[number];
  if (step.kind == StepKind::Advance) {
    SmallVector<Value> &left = leftOf(step);
    if (step.scale)
      for (auto [number, scale] : llvm::zip(state, loadColumnNumbers(*step.scale)))
        number = t.mul(number, scale);
    state = multiply(step, left, state);
    askForDigits(step);
    return;
  }
  if (readsAhead())
    fetchFor(*step.value);
  SmallVector<Value> start;
  if (step.plus) {
    start = numbersOf(*step.plus);
    if (step.scale)
      for (auto [number, scale] : llvm::zip(start, loadRowNumbers(*step.scale, chain.values[*step.value].rows)))
        number = t.mul(number, scale);
  }
  SmallVector<Value> left = leftOf(step);
  values[*step.value] = {multiply(step, left, start), {}, {}, {}};
  askForDigits(step);
  if (!step.isGuarded())
    return;
  // A vote takes as long as three of the product's instructions, and is had while they run; but not of a product that
  // goes on from another's sums, with which that was slower.
  // Products of tf32 leave zeros out, so that the first row does not show what is no number.
  bool showsBad = step.plus && !chain.tf32, isFirst = isDoneAgain(step) && !isAgain;
  Value isBad;
  if (!showsBad || isFirst) {
    isBad = code.isAnyInfinite(left, step.isPrecise() || chain.tf32);
    if (isFirst)
      isBad = arith::OrIOp::create(t.builder, t.loc, isBad, ofState.lacksDigits);
    isBad = code.anyOfWarpgroup(isBad);
  }
  guarded[*step.value] = {start, isBad};
}

void StepsCode::finish(const Action &action) {
  const Step &step = chain.steps[action.step];
  bool isLeft = step.kind == StepKind::Read && chain.doneAgain && !isAgain;
  if (chain.roundsToHalves(step) && !isLeft)
    unfinished.push_back(&step);
  if (action.running == 0)
    addRests();
}

void StepsCode::settle(const Action &action) {
  const Step &step = chain.steps[action.step];
  if (step.kind == StepKind::Advance) {
    state = ended(state, action.running);
    finish(action);
    return;
  }
  Known &value = values[*step.value];
  value.numbers = ended(value.numbers, action.running);
  finish(action);
  if (step.isGuarded() && (isAgain || !isDoneAgain(step))) // else the chunk is done again
    value.numbers = guard(step, value.numbers);
}

Value StepsCode::isNoNumber(Value half) {
  Value exponent = arith::AndIOp::create(t.builder, t.loc, half, t.constant(0x7F80));
  return arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, exponent, t.constant(0x7F80));
}

SmallVector<Value> StepsCode::clean(ArrayRef<Value> left, MutableArrayRef<Value> firsts) {
  SmallVector<Value> cleaned;
  for (auto [index, both] : llvm::enumerate(left)) {
    int64_t number = 2 * int64_t(index);
    Value clean = both, &first = firsts[SumsLayout::lowerOf(number)];
    for (int64_t half : {0, 1}) {
      Value own = half ? arith::ShRUIOp::create(t.builder, t.loc, both, t.constant(16)).getResult() : both;
      Value bad = isNoNumber(own);
      Value other =
          arith::AndIOp::create(t.builder, t.loc, clean, t.constant(half ? int64_t(0xFFFF) : int64_t(0xFFFF0000)));
      clean = t.select(bad, other, clean);
      first = t.smaller(first, t.select(bad, tokenOf(number + half), first));
    }
    cleaned.push_back(clean);
  }
  return cleaned;
}

SmallVector<Value> StepsCode::cleanPrecise(ArrayRef<Value> left, MutableArrayRef<Value> firsts) {
  SmallVector<Value> cleaned;
  Value infinite = t.number(std::numeric_limits<double>::infinity());
  for (auto [index, number] : llvm::enumerate(left)) {
    Value size = math::AbsFOp::create(t.builder, t.loc, number), &first = firsts[SumsLayout::lowerOf(int64_t(index))];
    Value good = arith::CmpFOp::create(t.builder, t.loc, arith::CmpFPredicate::OLT, size, infinite);
    cleaned.push_back(t.select(good, number, t.number(0)));
    first = t.smaller(first, t.select(good, first, tokenOf(int64_t(index))));
  }
  return cleaned;
}

/// The sums, or other ones where what is multiplied is no number somewhere, for then a row would not be a number for
/// what it does not see. The first row shows that as well.
SmallVector<Value> StepsCode::guard(const Step &step, SmallVector<Value> sums) {
  auto isNaN = [&](Value number) {
    return arith::CmpFOp::create(t.builder, t.loc, arith::CmpFPredicate::UNO, number, number).getResult();
  };
  auto &[start, isBad] = guarded[*step.value];
  if (!isBad)
    isBad = code.anyOfWarpgroup(arith::OrIOp::create(t.builder, t.loc, isNaN(sums[0]), isNaN(sums[2])));
  auto again = scf::IfOp::create(t.builder, t.loc, SmallVector<Type>(sums.size(), t.builder.getF32Type()), isBad,
                                 /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(t.builder);
  t.builder.setInsertionPointToEnd(again.elseBlock());
  scf::YieldOp::create(t.builder, t.loc, sums);
  t.builder.setInsertionPointToEnd(again.thenBlock());
  // Of the thread's two channels, the first row that is no number.
  constexpr int64_t none = 1 << 20;
  Value firsts[2] = {t.constant(none), t.constant(none)};
  SmallVector<Value> cleaned =
      step.isPrecise() || chain.tf32 ? cleanPrecise(leftOf(step), firsts) : clean(leftOf(step), firsts);
  for (Value &first : firsts)
    for (int64_t distance : {1, 2})
      first = t.smaller(first, code.exchange(first, distance));
  SmallVector<Value> sum = ended(multiply(step, cleaned, start), 0);
  ArrayRef<int64_t> triangle = *cast<ProductOp>(step.op).getLeftTriangle();
  for (Value &first : firsts)
    first = t.multiply(t.divide(first, triangle[1]), triangle[0]);
  Value no = t.number(std::numeric_limits<double>::quiet_NaN());
  for (auto [index, number] : llvm::enumerate(sum)) {
    Value seesNothing = t.below(tokenOf(int64_t(index)), firsts[SumsLayout::lowerOf(int64_t(index))]);
    number = t.select(seesNothing, number, no);
  }
  scf::YieldOp::create(t.builder, t.loc, sum);
  return llvm::to_vector_of<Value>(again.getResults());
}

//===----------------------------------------------------------------------===//
// Other steps
//===----------------------------------------------------------------------===//

/// Whether the function gives a number for whatever numbers.
static bool isAlwaysFinite(MapOp map) {
  return llvm::all_of(map.getBody().front(), [](Operation &op) {
    return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp, arith::ConstantOp, arith::MaximumFOp,
               arith::MinimumFOp, YieldOp>(op);
  });
}

void StepsCode::map(const Step &step) {
  auto map = cast<MapOp>(step.op);
  int64_t rows = chain.values[*step.value].rows;
  SmallVector<SmallVector<Value>> inputs;
  Value count;
  for (const Operand &operand : step.operands) {
    bool isOfRow = operand.kind == Operand::Constant || (operand.kind == Operand::Load && !loadOf(operand).isRows());
    inputs.push_back(isOfRow ? loadRowNumbers(operand, rows) : numbersOf(operand));
  }
  // Rows beyond the last token are zeros, of which other functions make what is no number.
  if (!isAlwaysFinite(map))
    count = around.narrow(map.getRows());
  Known &result = values[*step.value];
  for (int64_t i = 0; i < rows / 2; ++i) {
    SmallVector<Value> arguments = llvm::map_to_vector(inputs, [&](ArrayRef<Value> input) { return input[i]; });
    Value number = t.body(map.getBody(), arguments, {}).front();
    if (count)
      number = t.select(t.below(tokenOf(i), count), number, t.number(0));
    result.numbers.push_back(number);
  }
  // A product of f16 has more digits of a value than bf16, where registers have room for its numbers until it ends.
  bool meetsHalves = chain.doneAgain && llvm::any_of(chain.steps, [&](const Step &other) {
                       return chain.takesHalves(other) && other.takes(*step.value);
                     });
  if (!chain.values[*step.value].isRounded || meetsHalves)
    return;
  result.packed = pack(result.numbers);
  result.numbers.clear();
}

/// stmatrix leaves the tokens in rows.
void StepsCode::store(const Step &step) {
  const Operand &operand = step.operands.front();
  unsigned number = *chain.values[operand.number].stored;
  const StateChain::Stored &stored = chain.stored[number];
  Type element = StoreOp(stored.op).getArray().getType().getElementType();
  if (chain.tf32)
    return around.leave(int64_t(number) + 1, [&] {
      ArrayRef<Value> numbers = numbersOf(operand);
      forPlacesInTile({t.add(around.base, stored.offset), stored.rows}, stored.rows,
                      [&](size_t index, Value place) { t.store(numbers[index], pointerTo(place)); });
    });
  SmallVector<Value> packed = element.isBF16() ? packedOf(operand) : pack(numbersOf(operand), element);
  Value inTile = findOwnPiece();
  around.leave(int64_t(number) + 1, [&] {
    Value own = t.add(t.add(around.base, inTile), stored.offset);
    for (int64_t i = 0; i < stored.rows / unit; ++i)
      code.storeMatrices(t.add(own, i * unit * panelRowBytes), ArrayRef(packed).slice(4 * i, 4), true);
  });
}

void StepsCode::keepState() {
  auto piece = addressedPiece(t, t.lane, BlockOrder::LeftFirst);
  around.leave(0, [&] {
    int64_t stride = 2 * chain.paddedRow();
    Value row = t.add(t.multiply(t.warp, SumsLayout::unitRows), piece.row);
    Value own = t.add(t.add(around.base, t.multiply(row, stride)),
                      t.add(t.multiply(piece.piece, pieceBytes), chain.keptOffset));
    for (int64_t i = 0; i < chain.keys / unit; ++i) {
      SmallVector<Value> packed = rounded.empty() || chain.tf32 ? pack(ArrayRef(state).slice(8 * i, 8))
                                                                : llvm::to_vector(ArrayRef(rounded).slice(4 * i, 4));
      code.storeMatrices(t.add(own, i * unit * 2), packed, false);
    }
  });
}

/// Does the chunk again where it has to be, or goes on, and gives the state. Of the warpgroup's products none runs, and
/// all of its threads take the same way. Both ways end with the chunk: they share no registers but the state's.
SmallVector<Value> StepsCode::doAgain(size_t next) {
  unsigned last = chain.order[*chain.doneAgain].step;
  auto choice = scf::IfOp::create(t.builder, t.loc, ValueRange(state).getTypes(),
                                  guarded[*chain.steps[last].value].isBad, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(t.builder);
  t.builder.setInsertionPointToEnd(choice.thenBlock());
  StepsCode again(t, chain, around, state);
  again.isAgain = again.isKept = true;
  again.rounded = rounded;
  scf::YieldOp::create(t.builder, t.loc, again.emitFrom(0));
  t.builder.setInsertionPointToEnd(choice.elseBlock());
  scf::YieldOp::create(t.builder, t.loc, emitFrom(next));
  return llvm::to_vector_of<Value>(choice.getResults());
}

/// Whether the state's numbers are first changed, or looked at, while a product runs that this chunk has begun.
bool StepsCode::takesStateBesideProducts() const {
  bool isRunning = false;
  if (llvm::any_of(chain.steps,
                   [&](const Step &step) { return step.kind == StepKind::Read && chain.roundsToHalves(step); }))
    return true;
  for (const Action &action : chain.order) {
    if (action.kind == Action::Begin && chain.steps[action.step].kind == StepKind::Advance)
      return isRunning;
    if (action.kind != Action::Do)
      isRunning = action.kind == Action::Begin || action.running > 0;
  }
  return false;
}

void StepsCode::take(size_t index) {
  const Action &action = chain.order[index];
  const Step &step = chain.steps[action.step];
  switch (action.kind) {
  case Action::Begin:
    begin(action.step);
    if (isAgain)
      settle({Action::Settle, action.step});
    break;
  case Action::Settle:
    if (!isAgain)
      settle(action);
    break;
  case Action::Do:
    step.kind == StepKind::Map ? map(step) : store(step);
    break;
  }
}

SmallVector<Value> StepsCode::emitFrom(size_t index) {
  for (; index < chain.order.size(); ++index) {
    take(index);
    // The state is left while the first product runs.
    if (chain.order[index].kind == Action::Begin && chain.keepsRounded() && isRead && !std::exchange(isKept, true))
      keepState();
    if (index == chain.doneAgain && !isAgain)
      return doAgain(index + 1);
  }
  return state;
}

SmallVector<Value> StepsCode::emit() {
  // The chunk before has waited for its products, but ptxas does not see that past the beginning of a loop that it
  // takes for divergent, and would wait where the state is changed, for this chunk's products as well.
  if (!chain.tf32 && takesStateBesideProducts())
    state = code.settle(state, 0);
  bool isReadRounded = false;
  for (const Step &step : chain.steps)
    if (step.kind == StepKind::Read) {
      isRead = true;
      if (chain.takesHalves(step))
        halvesOf(step);
      else
        isReadRounded = true;
    }
  if (isReadRounded)
    rounded = chain.tf32 ? state : pack(state); // as products take it
  if (!isRead && chain.keepsRounded())
    keepState(); // whose rounded numbers nothing else needs
  around.waitForLoads();
  return emitFrom(0);
}

SmallVector<Value> nvvm::emitChainSteps(TeamCode &team, const StateChain &chain, const ChainSurroundings &around,
                                        ValueRange state) {
  return StepsCode(team, chain, around, state).emit();
}
