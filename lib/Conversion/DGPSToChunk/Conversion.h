// The parts of the conversion of one recurrence, and how they find each other.
//
// Everything is made on demand: an output asks for its value, that asks for what its op reads, and a value that reads a
// state asks for the state's own part. A state's part therefore comes into being before anything that depends on it,
// whatever the order in the source. States that need each other form one token loop, so that asking ends.
#pragma once

#include "Analysis/Algebra/Materialize.h"
#include "Analysis/RecurrenceAnalysis.h"
#include "Conversion/DGPSToChunk/Inverses.h"
#include "Conversion/DGPSToChunk/Passes.h"
#include "Conversion/DGPSToChunk/Phases.h"
#include "dialects/Chunk/ChunkTangents.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <map>

namespace recur::conversion {

using analysis::Orientation;
using analysis::Point;

//===----------------------------------------------------------------------===//
// Delta states, as dgps values
//===----------------------------------------------------------------------===//

// The analysis' form with values in place of expressions; null stands for an absent factor of one, or for zero.
struct DecayValue {
  mlir::Value steps; ///< null: nothing decays
  bool linear = false;
};
struct ReadValue {
  mlir::Value scale; ///< null: one
  mlir::Value key;
  Point point;
};
struct StepValue {
  mlir::Value gain;  ///< null: one
  mlir::Value value; ///< null: zero
  llvm::SmallVector<ReadValue, 1> reads;
  mlir::Value write;
};
struct ReadoutValue {
  mlir::Value free; ///< null: zero
  llvm::SmallVector<ReadValue, 1> reads;
  bool crossed = false;
};
struct DeltaValues {
  dgps::StateOp state;
  Orientation orientation;
  int64_t keySize, valueSize;
  DecayValue keyDecay, valueDecay;
  llvm::SmallVector<StepValue, 1> steps;
  llvm::MapVector<mlir::Value, ReadoutValue> readouts; ///< by the value they compute
};

/// What a write of states that go on from one another has for each value channel.
struct WrittenValue {
  mlir::Value free; ///< null: zero
  mlir::Value gain; ///< of what is read, for each value channel; null: one
};

/// Several states that go on from one another. Null stands for a factor of zero, or for the key of vectors.
struct CoupledValues {
  struct Read {
    mlir::Value key;
    llvm::SmallVector<mlir::Value, 2> factors; ///< what the read erases with, by member
  };
  struct Write : WrittenValue {
    llvm::SmallVector<Read, 1> reads;
    mlir::Value write;
    llvm::SmallVector<mlir::Value, 2> factors; ///< by member
  };
  llvm::SmallVector<dgps::StateOp, 2> states;
  llvm::SmallBitVector vectors; ///< by member
  Orientation orientation;
  int64_t keySize, valueSize;
  llvm::SmallVector<llvm::SmallVector<mlir::Value, 2>, 2> matrix; ///< the factors as they are
  llvm::SmallVector<DecayValue, 2> decays;                        ///< each member's own factor
  llvm::SmallVector<unsigned, 2> order;                    ///< of the members, if each goes on from earlier ones alone
  llvm::SmallVector<std::optional<unsigned>, 2> addedOnes; ///< by member: the one whose new value it adds to its own
  llvm::SmallVector<Write, 1> writes;
};

/// The same where each key channel has a matrix of its own, and so each member rows and columns of its own. Null stands
/// for zeros.
struct ChannelValues {
  struct Write : WrittenValue {
    llvm::SmallVector<mlir::Value, 2> reads, keys; ///< by member: what it is erased with, and what is written to
  };
  llvm::SmallVector<dgps::StateOp, 2> states;
  Orientation orientation;
  int64_t keySize, valueSize;
  /// A number or a vector over the key channels.
  llvm::SmallVector<llvm::SmallVector<mlir::Value, 2>, 2> matrix;
  llvm::SmallVector<Write, 1> writes;
};

/// Builds the form's expressions as values at the end of the recurrence.
ChannelValues materializeChannels(const analysis::RecurrenceAnalysis &analysis, const analysis::CoupledForm &form);
CoupledValues materialize(const analysis::RecurrenceAnalysis &analysis, const analysis::CoupledForm &form);
DeltaValues materialize(const analysis::RecurrenceAnalysis &analysis, unsigned state);

/// Whether the chunkwise form of this delta state is one of products and solves: reads of one kind where the value side
/// decays too; and where an erase gain differs between the value channels, no decay of theirs.
bool hasChunkForm(const analysis::DeltaForm &form);

/// A scan's parts as values: a state becomes decay * state + addition, or max(state + shift, bound)
/// or one of its relatives, or a quotient of two such sums.
struct ScanValues {
  DecayValue decay;
  mlir::Value addition; ///< null: zero
  mlir::Value shift;
  mlir::Value bound; ///< null: what changes nothing
  chunk::Extremum extremum = chunk::Extremum::Max;
  std::array<mlir::Value, 4> quotient; ///< (0 * state + 1) / (2 * state + 3); null: zero
};
ScanValues materializeScan(const analysis::RecurrenceAnalysis &analysis, unsigned state);

//===----------------------------------------------------------------------===//
// Which states go token by token
//===----------------------------------------------------------------------===//

/// States that advance in one token loop, and the ops of the loop's body in order.
struct LoopGroup {
  llvm::SmallVector<unsigned, 2> states;
  llvm::SetVector<mlir::Operation *> body;
};

/// Which of the recurrence's ops must run inside token loops.
class LoopPlan {
public:
  /// `looped`: states that must go token by token whatever their class.
  LoopPlan(const analysis::RecurrenceAnalysis &analysis, llvm::ArrayRef<unsigned> looped);

  bool isLooped(unsigned state) const { return groupOf[state] >= 0; }
  llvm::ArrayRef<LoopGroup> getGroups() const { return groups; }
  /// Finds the bodies, once all ops of the recurrence are there.
  void findBodies();
  /// The group whose body has the op, or which carries the state; null for none.
  const LoopGroup *groupWith(mlir::Operation *op) const { return groupOfOp.lookup(op); }

private:
  void chooseLooped(llvm::ArrayRef<unsigned> looped);
  void mergeCycles();
  bool findBody(LoopGroup &group);
  bool needsWholeMatrix(unsigned state) const;
  llvm::SetVector<mlir::Operation *> stateDependents(llvm::ArrayRef<unsigned> states) const;
  void merge(unsigned into, unsigned state);
  bool needsWholeMatrix(const analysis::CoupledForm &form) const;
  bool isProduct(mlir::Value matrix, llvm::ArrayRef<unsigned> states) const;
  void loopCoupled();
  unsigned indexOf(dgps::StateOp state) const;

  const analysis::RecurrenceAnalysis &analysis;
  llvm::SmallVector<bool> needsLoop;             ///< by state: it has no chunk form of its own
  llvm::SmallVector<int> groupOf;                ///< by state; negative: not looped
  llvm::SmallVector<llvm::SmallBitVector> reach; ///< by state: the states that its update reads, directly or not
  llvm::SmallVector<LoopGroup, 2> groups;
  llvm::DenseMap<mlir::Operation *, const LoopGroup *> groupOfOp;
};

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

class CoupledStates;
class DeltaState;

/// Builds one program. Works on a scratch copy of the recurrence, to which it adds values.
class ProgramBuilder {
public:
  /// `turned`: the pairs of states that the scratch copy has in a frame that turns with them; `inverses`: those that it
  /// has as states whose writes are known.
  ProgramBuilder(mlir::OpBuilder &builder, dgps::RecurrenceOp scratch, const ChunkFormOptions &options,
                 llvm::ArrayRef<unsigned> looped, llvm::ArrayRef<TurnedPair> turned,
                 llvm::ArrayRef<SeparatedInverse> inverses);
  ~ProgramBuilder();
  /// Null where a state turned out to need a token loop.
  chunk::ProgramOp build();
  llvm::ArrayRef<unsigned> getStatesToLoop() const { return statesToLoop.getArrayRef(); }

  // The parts of the conversion call these, which all insert at the end of the program made so far.

  /// The values of all tokens of a dgps value.
  mlir::Value lift(mlir::Value value);
  /// The same with one row for each token.
  mlir::Value liftRows(mlir::Value value) { return value ? spreadRows(lift(value)) : value; }
  /// `matrix @ rows[t]` for every token, or `rows[t] @ matrix`, without forming the matrix of a state that has a chunk
  /// form.
  mlir::Value multiply(mlir::Value matrix, mlir::Value rows, bool left);
  /// One row for each token, each of `shape`.
  mlir::Value spread(mlir::Value tokens, llvm::ArrayRef<int64_t> shape);
  mlir::Value spreadRows(mlir::Value tokens) { return tokens ? spread(tokens, chunk::shapePerToken(tokens)) : tokens; }
  mlir::Value map(chunk::Function function, mlir::ValueRange operands);
  mlir::Value constant(double value, llvm::ArrayRef<int64_t> shape = {});
  mlir::Value mul(mlir::Value a, mlir::Value b); ///< null operands are ones
  mlir::Value add(mlir::Value a, mlir::Value b); ///< null operands are zeros
  mlir::Value sub(mlir::Value a, mlir::Value b); ///< null operands are zeros
  /// The rows of several micro-steps, token by token.
  mlir::Value interleave(llvm::ArrayRef<mlir::Value> rows);

  /// Makes what an op computes from values of the tokens. `product` multiplies matrices with vectors.
  using Product = llvm::function_ref<mlir::Value(mlir::Value matrix, mlir::Value rows, bool left)>;
  mlir::Value liftOp(mlir::Operation *op, llvm::function_ref<mlir::Value(mlir::Value)> operand, Product product);
  mlir::Value liftLoop(dgps::LoopOp loop, llvm::function_ref<mlir::Value(mlir::Value)> operand, Product product);
  /// Whether values have one row, that of the loop's token.
  bool isInTokenLoop() const;

  void buildScan(unsigned state);
  void buildDelayed(unsigned state);
  void buildTropicalScan(unsigned state);
  void buildMoebiusScan(unsigned state);
  void buildTokenLoop(const LoopGroup &group);
  /// Inverses.cpp: what the tokens read from an inverse with their own keys.
  void buildKnownReads(const SeparatedInverse &inverse);

  const analysis::RecurrenceAnalysis &getAnalysis() const { return analysis; }
  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }
  int64_t getChunk() const { return chunk; }
  mlir::Value stateOf(unsigned state) const { return states[state]; }
  /// Whether the program has the state's transpose, whose columns are key channels: then all matrices that are read
  /// with keys are one problem, whichever side the author wrote them on.
  bool isTransposed(unsigned state) const { return transposed.contains(state); }
  void setNext(unsigned state, mlir::Value value) { nexts[state] = value; }
  void setLifted(mlir::Value value, mlir::Value tokens) { lifted[value] = tokens; }
  /// Gives all values that are the state after the token.
  void setAfter(unsigned state, mlir::Value tokens);
  /// Gives the state after each token, and so the state before each token too.
  void giveTokens(unsigned state, mlir::Value after);
  unsigned indexOf(dgps::StateOp state) const;
  /// The state that `value` is the whole of, before the token or after it.
  struct WholeState {
    unsigned state;
    bool isAfter;
  };
  std::optional<WholeState> findWholeState(mlir::Value value);
  dgps::RecurrenceOp getRecurrence() const { return recurrence; }

private:
  /// Whether the state holds, for the next token, a value that does not depend on what it held. All tokens' values are
  /// computed at once, and no value is taken for the state's because it equals what the state becomes.
  bool isDelayed(unsigned state) const;
  void chooseTransposed();
  bool isPhase(unsigned state) const;
  /// The inverse of which the value is a read that the chunk knows; null if it is none.
  const SeparatedInverse *inverseThatReads(mlir::Value value) const;
  bool isOfChunk(unsigned state) const;
  /// Turns the states after the chunk back into the frame that stands still.
  void turnNexts();
  void sayWhatRemains();
  /// The states with a chunk form that `value`, as a matrix, is made of.
  llvm::SetVector<unsigned> deltaStatesIn(mlir::Value value);
  /// The same among the delta states with a chunk form of their own; it is built then.
  DeltaState *findDeltaState(mlir::Value value, Point &point);
  /// Whether the tokens' values of the state itself are there once it is built, as of scans and vectors.
  bool hasTokenValues(unsigned state);
  /// The chunk form that the state shares with others; null if there is none.
  CoupledStates *coupledOf(unsigned state);
  void buildState(unsigned state);
  /// Notes that the states which `matrix` holds need a token loop. What is built goes on with a value of the shape, so
  /// that no part has to ask whether another one gave up; the program is thrown away in the end.
  mlir::Value giveUp(mlir::Value matrix, llvm::ArrayRef<int64_t> shape);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  dgps::RecurrenceOp recurrence;
  const ChunkFormOptions &options;
  int64_t chunk;
  analysis::RecurrenceAnalysis analysis;
  LoopPlan plan;
  llvm::ArrayRef<TurnedPair> turned;
  llvm::ArrayRef<SeparatedInverse> inverses;
  llvm::SmallVector<ScanValues, 2> scans;                       ///< by state; empty where it is no scan
  llvm::SmallVector<std::unique_ptr<DeltaState>, 2> deltas;     ///< by state; null where there is no chunk form
  llvm::SmallVector<std::unique_ptr<CoupledStates>, 1> coupled; ///< by form; null where its states go otherwise
  llvm::SmallDenseSet<unsigned> transposed;                     ///< the states of which the program has the transpose
  llvm::SmallVector<mlir::Value, 2> states, nexts;              ///< by state: its chunk.state's result, what it becomes
  enum class Progress { Untouched, Building, Built };
  llvm::SmallVector<Progress, 2> progress;
  llvm::DenseMap<mlir::Value, mlir::Value> lifted;
  llvm::DenseMap<mlir::Value, unsigned> afterOf; ///< values that are a state after the token
  llvm::SetVector<unsigned> statesToLoop;
};

/// A delta state's chunk form: builds its writes and its advance, and then any read of it.
class DeltaState {
public:
  DeltaState(ProgramBuilder &program, DeltaValues values) : program(program), values(std::move(values)) {}

  const DeltaValues &getValues() const { return values; }
  unsigned countWrites() const { return values.steps.size(); }

  /// Builds what the tokens write and what the state becomes.
  void build(unsigned state);
  /// The state at a point of each token times that token's row; from the value side if `crossed`.
  mlir::Value read(mlir::Value rows, Point point, bool crossed);
  mlir::Value readout(const ReadoutValue &readout);
  /// The number of a `chunk.remains` for the state, or one for each of its channels; null where none is known that
  /// could be below one.
  mlir::Value boundRemains();

private:
  /// Writes of one kind, as rows: those of all steps that read the state, or of all that do not.
  struct Stream {
    llvm::SmallVector<unsigned, 1> steps; ///< which of a token's writes
    mlir::Value keys, values;
    bool isEmpty() const { return steps.empty(); }
  };

  void buildSolved();
  void buildAdvance(unsigned state);
  void buildTokenVectors(unsigned state);
  /// Whether an error of what is written may be found in the state for long, or grow there.
  bool mayKeepErrors() const;
  mlir::Value keyRows(mlir::Value key) { return program.liftRows(key); }
  mlir::Value valueRows(mlir::Value value); ///< null: zeros
  mlir::Value writtenRows(const StepValue &step, bool withGain);
  /// What rows see of a stream's writes, and what they gather from them.
  mlir::Value interact(mlir::Value rows, llvm::ArrayRef<Point> points, const Stream &stream, bool crossed);
  mlir::Value gather(mlir::Value matrix, llvm::ArrayRef<Point> points, const Stream &stream, bool crossed);
  mlir::Value boundErasure(const StepValue &step, mlir::Value decay);
  mlir::Value boundOnline();
  mlir::Value decayProduct(bool ofKeys, chunk::DecayRange range);
  mlir::Value decayTo(bool ofKeys, Point point);
  mlir::Value readState(mlir::Value rows, bool crossed);

  ProgramBuilder &program;
  DeltaValues values;
  mlir::Value state;                ///< as a matrix, before the chunk
  bool keysAreRows = false;         ///< of that matrix
  mlir::Value keyDecay, valueDecay; ///< one row for each token; null: nothing decays
  Stream solved, free;
  std::map<std::pair<bool, chunk::DecayRange>, mlir::Value> decayProducts;
};

/// The chunk form of states that go on from one another: builds all of their writes and advances, and any read of one.
class CoupledStates {
public:
  CoupledStates(ProgramBuilder &program, Orientation orientation, llvm::ArrayRef<dgps::StateOp> members)
      : program(program), orientation(orientation), members(members) {}
  virtual ~CoupledStates() = default;

  virtual void build() = 0;
  /// A member before each token, or after it, times that token's row; from the value side if `crossed`.
  virtual mlir::Value read(dgps::StateOp state, bool isAfter, mlir::Value rows, bool crossed) = 0;
  Orientation getOrientation() const { return orientation; }
  llvm::ArrayRef<dgps::StateOp> getStates() const { return members; }

protected:
  void startWrites(llvm::ArrayRef<WrittenValue> writes, int64_t valueSize);
  void solveWrites(mlir::Value matrix);
  mlir::Value apply(mlir::Value matrix, mlir::Value columns);
  chunk::ValueBuilder arithmetic() { return {program.getBuilder(), program.getLoc()}; }
  /// Whether the program's matrices have keys as their rows.
  bool keysAreRows() const;

  ProgramBuilder &program;
  const Orientation orientation;
  llvm::SmallVector<dgps::StateOp, 2> members;
  mlir::Value written; ///< by all writes, token by token
  mlir::Value gains;   ///< of what they read; null: ones
};

/// One matrix for all channels: a mask of numbers.
class CoupledByNumbers : public CoupledStates {
public:
  CoupledByNumbers(ProgramBuilder &program, const CoupledValues &values)
      : CoupledStates(program, values.orientation, values.states), values(values) {}

  void build() override;
  mlir::Value read(dgps::StateOp state, bool isAfter, mlir::Value rows, bool crossed) override;

private:
  /// What a member is made of at each token: rows of factors of the chunk's writes, and by member the factors of what
  /// the states were before the chunk. Null stands for zeros.
  struct Parts {
    mlir::Value writes;
    llvm::SmallVector<mlir::Value, 2> past;
  };

  void buildInOrder();
  void buildMember(unsigned member);
  void buildTogether();
  void buildWrites();
  void buildAdvance(unsigned member);
  void finishVector(unsigned member);
  /// What the writes' reads of the keys, or of the vectors, come to: the interactions with earlier writes under their
  /// masks, and what is taken off what is written for the states before the chunk.
  struct Erased {
    mlir::Value mask;
    llvm::SmallVector<mlir::Value, 2> past;
  };
  Erased eraseWith(const CoupledValues::Read *read);
  void eraseSlot(llvm::ArrayRef<const CoupledValues::Read *> reads, mlir::Value &matrix);
  mlir::Value interact(mlir::Value rows, mlir::Value columns, llvm::ArrayRef<int64_t> points, mlir::Value decay = {},
                       bool linear = false);
  mlir::Value readPast(const Parts &parts, mlir::Value rows, bool crossed);
  mlir::Value scaledRead(mlir::Value factor, mlir::Value rows, unsigned member, bool crossed);
  mlir::Value times(mlir::Value factor, mlir::Value value); ///< null is zero
  mlir::Value factorOf(mlir::Value factor) { return factor ? program.spread(program.lift(factor), {}) : factor; }
  mlir::Value ones() { return program.spread(program.constant(1), {1}); }
  mlir::Value writeFactors(unsigned member);
  mlir::Value number(double value); ///< as a state

  CoupledValues values;
  llvm::SmallVector<mlir::Value, 2> states;                      ///< by member, before the chunk
  llvm::SmallVector<Parts, 2> before, after;                     ///< by member: before and after each token
  llvm::SmallVector<llvm::SmallVector<mlir::Value, 2>, 2> total; ///< as `past`, after the chunk
  mlir::Value keys;                                              ///< of all writes, token by token
};

/// A matrix for each key channel: the chunk's writes are carried from token to token.
class CoupledByChannels : public CoupledStates {
public:
  CoupledByChannels(ProgramBuilder &program, const ChannelValues &values)
      : CoupledStates(program, values.orientation, values.states), values(values) {}

  void build() override;
  mlir::Value read(dgps::StateOp state, bool isAfter, mlir::Value rows, bool crossed) override;

private:
  /// What the tokens ask of the members as they are before or after the token: rows of the members, null for zeros; or,
  /// with weights of the writes, what these make of the keys of one member.
  struct Look {
    llvm::SmallVector<mlir::Value, 2> rows; ///< by member
    bool isAfter = false;
    mlir::Value weights;
    unsigned member = 0;
  };
  /// What it is answered, null for zeros: each row's products with the writes, or the sum of their keys by the weights;
  /// and the rows that read the members as they were before the chunk.
  struct Answer {
    mlir::Value ofWrites;
    llvm::SmallVector<mlir::Value, 2> past; ///< by member
  };
  struct Loop;
  /// What goes from token to token; null for zeros.
  struct Carried {
    explicit Carried(int64_t count) : keys(count), left(count, keys) {}
    llvm::SmallVector<mlir::Value, 2> keys;                       ///< by member: of all writes of the chunk
    llvm::SmallVector<llvm::SmallVector<mlir::Value, 2>, 2> left; ///< by member, of each as it was before the chunk
  };

  /// Carries the writes from token to token and answers on the way. What they are in the end is kept if `isLast`.
  llvm::SmallVector<Answer, 2> carry(llvm::ArrayRef<Look> looks, bool isLast);
  llvm::SmallVector<mlir::Value> buildToken(const Loop &loop, llvm::ArrayRef<Look> looks, const Carried &before);
  void answerAll(const Loop &loop, llvm::ArrayRef<Look> looks, bool areAfter, const Carried &now,
                 llvm::MutableArrayRef<llvm::SmallVector<mlir::Value>> answers);
  llvm::SmallVector<int64_t, 2> orderChanges() const;
  void findReach();
  bool holds(int64_t member) const;
  void foreseeReads(llvm::SmallVectorImpl<Look> &looks);
  void collectStates(mlir::Value matrix, mlir::Value vector, llvm::SmallVectorImpl<Look> &looks);
  void buildWrites(llvm::ArrayRef<Answer> erased);
  void buildAdvance(unsigned member);
  mlir::Value readPast(const Answer &answer, mlir::Value crossed);
  int64_t countWrites() const { return values.writes.size(); }
  int64_t countMembers() const { return values.states.size(); }

  ChannelValues values;
  llvm::SmallVector<mlir::Value, 2> states;                        ///< by member, before the chunk
  llvm::SmallVector<llvm::SmallVector<mlir::Value, 2>, 2> factors; ///< the matrix of all tokens; null: zero
  llvm::SmallVector<llvm::SmallBitVector, 2> reach;                ///< by member: whose earlier values it has
  llvm::SmallVector<llvm::SmallVector<mlir::Value, 2>, 1> newKeys; ///< by write and member, as written
  llvm::SmallVector<mlir::Value, 1> places;                        ///< by write: its rows have a one at its place
  llvm::SmallVector<mlir::Value, 2> keys;                          ///< by member: of all writes, at the chunk's end
  llvm::SmallVector<llvm::SmallVector<mlir::Value, 2>, 2> total;   ///< what is left of each, after the chunk
  llvm::SmallVector<std::pair<Look, Answer>, 2> known;
};

} // namespace recur::conversion
