#include "Interpreter/DGPSInterpreter.h"
#include "Interpreter/DGPSMeaning.h"
#include "llvm/ADT/DenseMap.h"

using namespace llvm;
using namespace recur;
using namespace recur::interpreter;
using namespace recur::dgps;

static Error makeError(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

namespace {

// Above this many numbers the values of one token cannot be meant: 8 GiB.
constexpr int64_t maxNumbers = int64_t(1) << 30;

/// The program of one token, ready to be run again and again: every value has its place in one buffer, and every op is
/// an action on that buffer.
struct Program {
  struct Declared {
    std::string name;
    Slot slot;
    SmallVector<int64_t, 2> shape;
    bool shared = false;
  };
  struct State : Declared {
    Slot next; // what it becomes after the token
  };

  int64_t numbers = 0;
  std::vector<Declared> inputs, params, outputs;
  std::vector<State> states;
  std::vector<Action> actions;
};

/// Gives each value its place, in the order in which the block computes them.
class Planner {
public:
  Expected<Program> plan(RecurrenceOp recurrence) {
    for (mlir::Operation &op : *recurrence.getBody().begin())
      if (Error error = place(op))
        return std::move(error);
    for (InputOp input : recurrence.getInputs())
      program.inputs.push_back(declare<Program::Declared>(input.getName(), input, input.getShared()));
    for (ParamOp param : recurrence.getParams())
      program.params.push_back(declare<Program::Declared>(param.getName(), param));
    for (OutputOp output : recurrence.getOutputs())
      program.outputs.push_back(declare<Program::Declared>(output.getName(), output.getValue()));
    for (StateOp state : recurrence.getStates()) {
      program.states.push_back(declare<Program::State>(state.getName(), state));
      program.states.back().next = slots.lookup(state.getNext().getValue());
    }
    return std::move(program);
  }

private:
  Error place(mlir::Operation &op) {
    for (mlir::Value value : op.getResults()) {
      auto type = dyn_cast<RealType>(value.getType());
      std::optional<int64_t> count = type ? countElements(type.getShape()) : std::nullopt;
      if (!type)
        return makeError("op '" + op.getName().getStringRef() +
                         "' gives a value that is not a real number, vector or matrix");
      if (!count || *count > maxNumbers - program.numbers)
        return makeError("the values of one token need more than 8 GiB; give smaller dims");
      ArrayRef<int64_t> shape = type.getShape();
      Slot slot{program.numbers, type.isMatrix() ? shape.front() : 1, type.isScalar() ? 1 : shape.back()};
      slots[value] = slot;
      program.numbers += *count;
    }
    if (isa<InputOp, ParamOp, StateOp, OutputOp, NextOp>(op))
      return Error::success();
    Action action = makeAction(&op, [&](mlir::Value value) { return slots.lookup(value); });
    if (!action)
      return makeError("op '" + op.getName().getStringRef() + "' has no meaning for one token");
    program.actions.push_back(std::move(action));
    return Error::success();
  }

  template <typename T> T declare(StringRef name, mlir::Value value, bool shared = false) {
    T declared;
    declared.name = name.str();
    declared.slot = slots.lookup(value);
    declared.shape = SmallVector<int64_t, 2>(cast<RealType>(value.getType()).getShape());
    declared.shared = shared;
    return declared;
  }

  Program program;
  DenseMap<mlir::Value, Slot> slots;
};

Expected<Array> makeZeros(StringRef label, Role role, const Sizes &sizes, ArrayRef<int64_t> shape) {
  auto full = getFullShape(role, sizes, shape);
  std::optional<int64_t> count = countElements(full);
  if (!count || *count > maxNumbers)
    return makeError(label + " of shape " + printShape(full) + " needs more than 8 GiB");
  return Array{std::vector<int64_t>(full.begin(), full.end()), std::vector<double>(*count)};
}

/// Runs a program over all sequences, heads and tokens.
class Runner {
public:
  Runner(const Program &program, const Data &data) : program(program), data(data), numbers(program.numbers) {}

  Expected<Results> run() {
    for (const Program::Declared &output : program.outputs) {
      Expected<Array> zeros = makeZeros("output '" + output.name + "'", Role::Output, data.sizes, output.shape);
      if (!zeros)
        return zeros.takeError();
      results.outputs[output.name] = std::move(*zeros);
    }
    for (const Program::State &state : program.states) {
      Expected<Array> zeros = makeZeros("state '" + state.name + "'", Role::Final, data.sizes, state.shape);
      if (!zeros)
        return zeros.takeError();
      results.final[state.name] = std::move(*zeros);
    }
    bind();
    const Sizes &sizes = data.sizes;
    for (int64_t sequence = 0; sequence < sizes.batch; ++sequence)
      for (int64_t head = 0; head < sizes.heads; ++head) {
        startHead(sequence, head);
        for (int64_t token = 0; token < sizes.tokens; ++token)
          runToken(sequence, token, head);
        finishHead(sequence, head);
      }
    return std::move(results);
  }

private:
  /// Looks every array up once, so that a token does no search by name.
  void bind() {
    for (const Program::Declared &input : program.inputs)
      inputs.push_back(data.inputs.at(input.name).values.data());
    for (const Program::Declared &output : program.outputs)
      outputs.push_back(results.outputs.at(output.name).values.data());
    int64_t stateNumbers = 0;
    for (const Program::State &state : program.states)
      stateNumbers += state.slot.count();
    nextStates.resize(stateNumbers);
  }

  void load(const double *array, int64_t index, Slot slot) {
    std::copy_n(array + index * slot.count(), slot.count(), numbers.data() + slot.offset);
  }
  void store(Slot slot, double *array, int64_t index) {
    std::copy_n(numbers.data() + slot.offset, slot.count(), array + index * slot.count());
  }

  void startHead(int64_t sequence, int64_t head) {
    for (const Program::Declared &param : program.params)
      load(data.params.at(param.name).values.data(), head, param.slot);
    for (const Program::State &state : program.states) {
      auto initial = data.initial.find(state.name);
      if (initial == data.initial.end())
        std::fill_n(numbers.data() + state.slot.offset, state.slot.count(), 0.0);
      else
        load(initial->second.values.data(), sequence * data.sizes.heads + head, state.slot);
    }
  }

  void runToken(int64_t sequence, int64_t token, int64_t head) {
    const Sizes &sizes = data.sizes;
    int64_t position = sequence * sizes.tokens + token;
    int64_t headsPerGroup = sizes.heads / sizes.groups;
    for (auto [input, array] : zip(program.inputs, inputs)) {
      int64_t index = input.shared ? position * sizes.groups + head / headsPerGroup : position * sizes.heads + head;
      load(array, index, input.slot);
    }
    for (const Action &action : program.actions)
      action(numbers.data());
    for (auto [output, array] : zip(program.outputs, outputs))
      store(output.slot, array, position * sizes.heads + head);
    // One state may become what another was, so all are read before any is written.
    double *next = nextStates.data();
    for (const Program::State &state : program.states)
      next = std::copy_n(numbers.data() + state.next.offset, state.next.count(), next);
    next = nextStates.data();
    for (const Program::State &state : program.states) {
      std::copy_n(next, state.slot.count(), numbers.data() + state.slot.offset);
      next += state.slot.count();
    }
  }

  void finishHead(int64_t sequence, int64_t head) {
    for (const Program::State &state : program.states)
      store(state.slot, results.final.at(state.name).values.data(), sequence * data.sizes.heads + head);
  }

  const Program &program;
  const Data &data;
  std::vector<double> numbers;    // every value of the token
  std::vector<double> nextStates; // the states as the token leaves them
  std::vector<const double *> inputs;
  std::vector<double *> outputs;
  Results results;
};

} // namespace

Expected<Results> interpreter::interpret(RecurrenceOp recurrence, const Data &data) {
  if (Error error = checkData(recurrence, data))
    return std::move(error);
  Expected<Program> program = Planner().plan(recurrence);
  if (!program)
    return program.takeError();
  return Runner(*program, data).run();
}
