// States that go on from one another with a matrix for each key channel, over a chunk.
//
// With the writes u_i, and for each member a key of theirs, member a at a token is
//
//     sum_b X_b diag(P_ab) + sum_i u_i (key_ai)^T
//
// Each token multiplies its matrices onto P, which starts as ones on the diagonal, and onto the keys of all writes
// before it, and then puts its own writes' keys beside them. A loop over the tokens does that to all writes of the
// chunk at once: it costs as much as a state of so many rows as the chunk has writes, and never divides by a factor. On
// its way it gives what rows see of the writes, and these rows as they read the states before the chunk. All that goes
// through the states and what is written stays products of the chunk: the solve, the reads and the advances.
#include "Conversion/DGPSToChunk/Conversion.h"

using namespace mlir;
using namespace recur;
using namespace recur::chunk;
using namespace recur::conversion;

//===----------------------------------------------------------------------===//
// The loop over the tokens
//===----------------------------------------------------------------------===//

/// The loop's streams, and its states: the keys of all writes, by member, and what is left of each member in each.
struct CoupledByChannels::Loop {
  explicit Loop(ProgramBuilder &program) : program(program) {}

  /// Null is none. What is the same for every token is taken as it is.
  void stream(Value tokens) {
    if (tokens && (tensorOf(tokens).getDimSize(0) > 1 || program.getChunk() == 1) &&
        !llvm::is_contained(streams, tokens))
      streams.push_back(tokens);
  }
  void carry(Value state, Value &inBody) {
    states.push_back(state);
    carried.push_back(&inBody);
  }
  /// Gives one row of the result a token, which the body then makes.
  void give(ArrayRef<int64_t> shape, Value &result) {
    types.push_back(makeTokens(program.getBuilder().getContext(), program.getChunk(), shape));
    results.push_back(&result);
  }
  /// What stands for a value of the program in the body.
  Value inside(Value tokens) const {
    const Value *found = llvm::find(streams, tokens);
    TokenLoopOp made = loop;
    return found == streams.end() ? tokens : made.getBody().front().getArgument(found - streams.begin());
  }

  /// Builds the loop around what `body` builds, which returns what it gives and then the next states.
  void build(llvm::function_ref<SmallVector<Value>()> body) {
    OpBuilder &builder = program.getBuilder();
    for (Value state : states)
      types.push_back(state.getType());
    loop = TokenLoopOp::create(builder, program.getLoc(), types, streams, states);
    Block &block = loop.getBody().emplaceBlock();
    auto addArgument = [&](ArrayRef<int64_t> shape) {
      return block.addArgument(makeTokens(builder.getContext(), 1, shape), program.getLoc());
    };
    for (Value tokens : streams)
      addArgument(shapePerToken(tokens));
    for (auto [state, inBody] : llvm::zip(states, carried))
      *inBody = addArgument(tensorOf(state).getShape());
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&block);
      YieldOp::create(builder, program.getLoc(), body());
    }
    for (auto [result, value] : llvm::zip(results, loop.getStreamResults()))
      *result = value;
    for (auto [inBody, value] : llvm::zip(carried, loop.getStateResults()))
      *inBody = value;
  }

  ProgramBuilder &program;
  TokenLoopOp loop;
  SmallVector<Value> streams, states;
  SmallVector<Value *> carried, results;
  SmallVector<Type> types;
};

/// `rows`, of which all have a number or each has one, times what decays them.
static Value scaleColumns(ProgramBuilder &program, Value factor, Value matrix) {
  return tensorOf(factor).getRank() == 1 ? program.mul(factor, matrix)
                                         : program.map(Function::ScaleCols, {matrix, factor});
}

SmallVector<CoupledByChannels::Answer, 2> CoupledByChannels::carry(ArrayRef<Look> looks, bool isLast) {
  int64_t count = countMembers(), writes = countWrites(), slots = writes * program.getChunk();
  Loop loop(program);
  for (ArrayRef<Value> row : factors)
    llvm::for_each(row, [&](Value factor) { loop.stream(factor); });
  for (ArrayRef<Value> row : newKeys)
    llvm::for_each(row, [&](Value key) { loop.stream(key); });
  for (Value place : places)
    loop.stream(place);
  for (const Look &look : looks) {
    llvm::for_each(look.rows, [&](Value rows) { loop.stream(rows); });
    loop.stream(look.weights);
  }
  // The states: the slots of writes are counted as the chunk's tokens are, of which the last chunk has fewer.
  Carried carried(count);
  for (int64_t member = 0; member < count; ++member) {
    if (holds(member))
      loop.carry(arithmetic().constant(0, makeTokens(program.getBuilder().getContext(), slots, {values.keySize})),
                 carried.keys[member]);
    for (unsigned from : reach[member].set_bits())
      loop.carry(arithmetic().stateConstant(int64_t(from) == member,
                                            makeTensor(program.getBuilder().getContext(), {values.keySize})),
                 carried.left[member][from]);
  }
  SmallVector<Answer, 2> answers(looks.size(), Answer{{}, SmallVector<Value, 2>(count)});
  for (auto [look, answer] : llvm::zip(looks, answers)) {
    if (look.weights || llvm::any_of(llvm::seq(count), [&](int64_t from) { return look.rows[from] && holds(from); }))
      loop.give({look.weights ? values.keySize : slots}, answer.ofWrites);
    for (int64_t from = 0; from < count; ++from)
      if (llvm::any_of(llvm::seq(count), [&](int64_t member) { return look.rows[member] && reach[member].test(from); }))
        loop.give({values.keySize}, answer.past[from]);
  }
  loop.build([&] { return buildToken(loop, looks, carried); });
  if (isLast) {
    keys = carried.keys;
    total = carried.left;
  }
  return answers;
}

/// The members in an order in which, where there is one, each comes after those that go on from it: what it becomes can
/// then take its place.
SmallVector<int64_t, 2> CoupledByChannels::orderChanges() const {
  SmallVector<int64_t, 2> left = llvm::to_vector<2>(llvm::seq(countMembers())), order;
  while (!left.empty()) {
    auto *next = llvm::find_if(left, [&](int64_t member) {
      return llvm::none_of(left, [&](int64_t other) { return other != member && factors[other][member]; });
    });
    if (next == left.end())
      next = left.begin();
    order.push_back(*next);
    left.erase(next);
  }
  return order;
}

/// What the tokens ask of the members as they are before the token, or after it.
void CoupledByChannels::answerAll(const Loop &loop, ArrayRef<Look> looks, bool areAfter, const Carried &now,
                                  MutableArrayRef<SmallVector<Value>> answers) {
  for (auto [look, answer] : llvm::zip(looks, answers)) {
    if (look.isAfter != areAfter)
      continue;
    Value ofWrites;
    if (look.weights)
      ofWrites = program.map(Function::Vecmat, {loop.inside(look.weights), now.keys[look.member]});
    for (int64_t member = 0; member < countMembers() && !look.weights; ++member)
      if (look.rows[member] && now.keys[member])
        ofWrites =
            program.add(ofWrites, program.map(Function::Matvec, {now.keys[member], loop.inside(look.rows[member])}));
    if (ofWrites)
      answer.push_back(ofWrites);
    for (int64_t from = 0; from < countMembers(); ++from) {
      Value past;
      bool isReached = false;
      for (int64_t member = 0; member < countMembers(); ++member) {
        if (!look.rows[member] || !reach[member].test(from))
          continue;
        isReached = true;
        if (Value rest = now.left[member][from])
          past = program.add(past, program.mul(loop.inside(look.rows[member]), rest));
      }
      if (isReached)
        answer.push_back(past ? past : program.constant(0, values.keySize));
    }
  }
}

/// One token of the loop: what it gives, and the states for the next one.
SmallVector<Value> CoupledByChannels::buildToken(const Loop &loop, ArrayRef<Look> looks, const Carried &before) {
  int64_t count = countMembers();
  SmallVector<SmallVector<Value>, 2> answers(looks.size());
  answerAll(loop, looks, /*areAfter=*/false, before, answers);
  Carried after(count);
  for (int64_t member : orderChanges()) {
    for (int64_t from = 0; from < count; ++from) {
      Value factor = loop.inside(factors[member][from]);
      if (!factor)
        continue;
      if (before.keys[from])
        after.keys[member] = program.add(after.keys[member], scaleColumns(program, factor, before.keys[from]));
      for (unsigned past : reach[from].set_bits())
        after.left[member][past] = program.add(after.left[member][past], program.mul(factor, before.left[from][past]));
    }
    for (auto [place, row] : llvm::zip(places, newKeys))
      if (row[member])
        after.keys[member] = program.add(after.keys[member],
                                         program.map(Function::Outer, {loop.inside(place), loop.inside(row[member])}));
  }
  answerAll(loop, looks, /*areAfter=*/true, after, answers);
  SmallVector<Value> yielded;
  for (ArrayRef<Value> answer : answers)
    llvm::append_range(yielded, answer);
  for (int64_t member = 0; member < count; ++member) {
    if (before.keys[member])
      yielded.push_back(after.keys[member]);
    for (unsigned from : reach[member].set_bits())
      yielded.push_back(after.left[member][from] ? after.left[member][from] : program.constant(0, values.keySize));
  }
  return yielded;
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

/// Which states the loop needs: whose earlier values each member has, and which members hold writes.
void CoupledByChannels::findReach() {
  int64_t count = countMembers();
  reach.assign(count, llvm::SmallBitVector(count));
  for (int64_t member = 0; member < count; ++member)
    for (int64_t from = 0; from < count; ++from)
      if (member == from || factors[member][from])
        reach[member].set(from);
  for (int64_t via = 0; via < count; ++via)
    for (int64_t member = 0; member < count; ++member)
      if (reach[member].test(via))
        reach[member] |= reach[via];
}

bool CoupledByChannels::holds(int64_t member) const {
  return llvm::any_of(reach[member].set_bits(), [&](unsigned from) {
    return llvm::any_of(newKeys, [&](ArrayRef<Value> row) { return bool(row[from]); });
  });
}

/// Adds looks for what the matrix is a sum of, as far as that is members.
void CoupledByChannels::collectStates(Value matrix, Value vector, SmallVectorImpl<Look> &looks) {
  if (std::optional<ProgramBuilder::WholeState> whole = program.findWholeState(matrix)) {
    auto *found = llvm::find_if(members, [&](dgps::StateOp op) { return program.indexOf(op) == whole->state; });
    if (found == members.end())
      return;
    Look look{SmallVector<Value, 2>(countMembers()), whole->isAfter, {}, unsigned(found - members.begin())};
    look.rows[look.member] = program.liftRows(vector);
    if (llvm::none_of(looks,
                      [&](const Look &other) { return other.rows == look.rows && other.isAfter == look.isAfter; }))
      looks.push_back(look);
    return;
  }
  if (isa<dgps::AddOp, dgps::SubOp, dgps::NegOp, dgps::MulOp>(matrix.getDefiningOp()))
    for (Value operand : matrix.getDefiningOp()->getOperands())
      if (dgps::shapeOf(operand).size() == 2)
        collectStates(operand, vector, looks);
}

/// What the program reads with vectors that no state enters is asked in the same loop.
void CoupledByChannels::foreseeReads(SmallVectorImpl<Look> &looks) {
  auto isFree = [](Value vector) {
    SmallVector<Value> work{vector};
    llvm::SmallPtrSet<Operation *, 8> seen;
    while (!work.empty()) {
      Operation *op = work.pop_back_val().getDefiningOp();
      if (isa<dgps::StateOp>(op))
        return false;
      if (seen.insert(op).second)
        llvm::append_range(work, op->getOperands());
    }
    return true;
  };
  for (Operation &op : program.getRecurrence().getBody().front()) {
    Value matrix, vector;
    if (auto read = dyn_cast<dgps::MatvecOp>(op); read && orientation == Orientation::Right)
      std::tie(matrix, vector) = std::pair<Value, Value>(read.getMatrix(), read.getVector());
    else if (auto read = dyn_cast<dgps::VecmatOp>(op); read && orientation == Orientation::Left)
      std::tie(matrix, vector) = std::pair<Value, Value>(read.getMatrix(), read.getVector());
    if (matrix && isFree(vector))
      collectStates(matrix, vector, looks);
  }
}

/// What is left of the states before the chunk. Read from the value side, it is the result that decays.
Value CoupledByChannels::readPast(const Answer &answer, Value crossed) {
  Value result;
  bool left = keysAreRows() != bool(crossed);
  auto read = [&](Value rows, Value state) {
    return ReadOp::create(program.getBuilder(), program.getLoc(), rows, state, left).getResult();
  };
  for (auto [rows, state] : llvm::zip(answer.past, states))
    if (rows)
      result = program.add(result, crossed ? program.mul(rows, read(crossed, state)) : read(rows, state));
  return result;
}

Value CoupledByChannels::read(dgps::StateOp state, bool isAfter, Value rows, bool crossed) {
  OpBuilder &builder = program.getBuilder();
  Look look{SmallVector<Value, 2>(countMembers()), isAfter, {}, unsigned(llvm::find(members, state) - members.begin())};
  SmallVector<int64_t> points{isAfter ? countWrites() : 0}, steps = llvm::to_vector(llvm::seq(countWrites()));
  auto interact = [&](Value rows, Value columns) {
    return InteractionOp::create(builder, program.getLoc(), rows, columns, points, steps, Value(), false).getResult();
  };
  if (crossed) {
    look.rows[look.member] = program.spread(program.constant(1), values.keySize);
    if (holds(look.member))
      look.weights = interact(rows, written);
    Answer answer = carry(look, /*isLast=*/false).front();
    return program.add(readPast(answer, rows), answer.ofWrites);
  }
  look.rows[look.member] = rows;
  auto *found = llvm::find_if(known, [&](const std::pair<Look, Answer> &one) {
    return one.first.rows == look.rows && one.first.isAfter == isAfter;
  });
  Answer answer = found == known.end() ? carry(look, /*isLast=*/false).front() : found->second;
  Value result = readPast(answer, Value());
  if (answer.ofWrites) {
    // Later writes have zeros there, but may be no numbers themselves: the mask says that they are not looked at.
    Value ones = program.spread(program.constant(1), {1});
    Value seen = interact(ones, program.interleave(SmallVector<Value>(countWrites(), ones)));
    Value ofEarlier = program.map(Function::Select, {seen, answer.ofWrites, program.constant(0)});
    result = program.add(result, apply(ofEarlier, written));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Writes, and the states after the chunk
//===----------------------------------------------------------------------===//

void CoupledByChannels::build() {
  OpBuilder &builder = program.getBuilder();
  int64_t writes = countWrites();
  for (dgps::StateOp state : members)
    states.push_back(program.stateOf(program.indexOf(state)));
  for (ArrayRef<Value> row : values.matrix)
    factors.push_back(
        llvm::map_to_vector<2>(row, [&](Value factor) { return factor ? program.lift(factor) : factor; }));
  auto lifted = [&](ArrayRef<Value> rows) {
    return llvm::map_to_vector<2>(rows, [&](Value row) { return program.liftRows(row); });
  };
  SmallVector<Look> looks;
  for (const ChannelValues::Write &write : values.writes) {
    newKeys.push_back(lifted(write.keys));
    looks.push_back({lifted(write.reads), /*isAfter=*/false, {}, 0});
  }
  // The place of each write as a vector with a one there: what a row sees of itself and not of those before it.
  Value ones = arithmetic().constant(1, makeTokens(builder.getContext(), writes * program.getChunk(), {1}));
  auto upTo = [&](int64_t point) -> Value {
    return InteractionOp::create(builder, program.getLoc(), ones, ones, ArrayRef<int64_t>{point}, ArrayRef<int64_t>{0},
                                 Value(), false);
  };
  Value all = program.sub(upTo(1), upTo(0));
  for (int64_t write = 0; write < writes; ++write)
    places.push_back(writes == 1 ? all
                                 : DeinterleaveOp::create(builder, program.getLoc(), all, write, writes).getResult());
  findReach();
  foreseeReads(looks);
  SmallVector<Answer, 2> answers = carry(looks, /*isLast=*/true);
  for (auto [look, answer] : llvm::drop_begin(llvm::zip(looks, answers), writes))
    known.push_back({look, answer});
  buildWrites(ArrayRef(answers).take_front(writes));
  for (int64_t member = 0; member < countMembers(); ++member)
    buildAdvance(member);
}

void CoupledByChannels::buildWrites(ArrayRef<Answer> erased) {
  int64_t slots = countWrites() * program.getChunk();
  SmallVector<WrittenValue, 1> rows;
  for (const ChannelValues::Write &write : values.writes)
    rows.push_back(write);
  startWrites(rows, values.valueSize);
  // The rows of all writes, token by token; a write that reads nothing has zeros.
  auto gather = [&](int64_t width, llvm::function_ref<Value(const Answer &)> part) {
    SmallVector<Value> parts;
    bool any = false;
    for (const Answer &answer : erased) {
      parts.push_back(part(answer));
      any |= bool(parts.back());
      if (!parts.back())
        parts.back() = program.spread(program.constant(0), width);
    }
    return any ? program.interleave(parts) : Value();
  };
  Answer together{gather(slots, [](const Answer &answer) { return answer.ofWrites; }), {}};
  for (int64_t from = 0; from < countMembers(); ++from)
    together.past.push_back(gather(values.keySize, [&](const Answer &answer) { return answer.past[from]; }));
  if (Value past = readPast(together, Value()))
    written = program.sub(written, program.mul(gains, past));
  solveWrites(together.ofWrites);
}

void CoupledByChannels::buildAdvance(unsigned member) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  bool left = keysAreRows();
  ValueBuilder sums = arithmetic();
  Value rows = keys[member] ? written : program.spread(program.constant(0), values.valueSize);
  Value columns = keys[member] ? keys[member] : program.spread(program.constant(0), values.keySize);
  Value decay = sums.asToken(total[member][member]), result;
  if (left)
    result = AdvanceOp::create(builder, loc, states[member], columns, rows, Value(), decay);
  else
    result = AdvanceOp::create(builder, loc, states[member], rows, columns, decay, Value());
  for (unsigned from : reach[member].set_bits()) {
    if (from == member)
      continue;
    Value factor = sums.asToken(total[member][from]), state = sums.asToken(states[from]);
    Value scaled =
        left ? program.map(Function::ScaleRows, {factor, state}) : program.map(Function::ScaleCols, {state, factor});
    result = sums.asState(sums.add(sums.asToken(result), scaled));
  }
  program.setNext(program.indexOf(members[member]), result);
}
