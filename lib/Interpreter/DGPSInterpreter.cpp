#include "Interpreter/DGPSInterpreter.h"
#include "Interpreter/DGPSMeaning.h"
#include "Support/Errors.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

using namespace llvm;
using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;
using namespace recur::dgps;

namespace {

// Above this many numbers the values of one token cannot be meant: 8 GiB.
constexpr int64_t maxNumbers = int64_t(1) << 30;

/// The program of one token, ready to be run again and again: every value has its place in one buffer, and every op is
/// an action on that buffer.
template <typename Number> struct Program {
  struct Declared {
    std::string name;
    Slot slot;
    SmallVector<int64_t, 2> shape;
    bool shared = false;
    bool integer = false; // an input with respect to which nothing has a derivative
  };
  struct State : Declared {
    Slot next;                 // what it becomes after the token
    std::optional<Slot> start; // what it is before the first one, where it is not zero
  };

  int64_t numbers = 0;
  std::vector<Declared> inputs, params, outputs;
  std::vector<State> states;
  std::vector<Action<Number>> actions;
  std::vector<Action<Number>> startActions; // those that only params and constants matter to
};

/// Gives each value its place, in the order in which the block computes them.
template <typename Number> class Planner {
  using Program = ::Program<Number>;

public:
  Planner(const Disturbance &disturbance, LargestValue *largest) : disturbance(disturbance), largest(largest) {}

  Expected<Program> plan(RecurrenceOp recurrence) {
    for (mlir::Operation &op : *recurrence.getBody().begin())
      if (Error error = place(op))
        return std::move(error);
    for (InputOp input : recurrence.getInputs()) {
      program.inputs.push_back(declare<typename Program::Declared>(input.getName(), input, input.getShared()));
      program.inputs.back().integer = input.isInteger();
    }
    for (ParamOp param : recurrence.getParams())
      program.params.push_back(declare<typename Program::Declared>(param.getName(), param));
    for (OutputOp output : recurrence.getOutputs())
      program.outputs.push_back(declare<typename Program::Declared>(output.getName(), output.getValue()));
    for (StateOp state : recurrence.getStates()) {
      program.states.push_back(declare<typename Program::State>(state.getName(), state));
      program.states.back().next = slots.lookup(state.getNext().getValue());
      if (mlir::Value start = state.getStart())
        program.states.back().start = slots.lookup(start);
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
    if (isa<ParamOp>(op))
      timeless.insert_range(op.getResults());
    if (isa<InputOp, ParamOp, StateOp, OutputOp, NextOp>(op))
      return Error::success();
    size_t actionsBefore = program.actions.size();
    bool isProduct = isa<MatvecOp, VecmatOp, OuterOp, DotOp, CgOp>(op);
    DenseMap<mlir::Value, Slot> taken;
    if (isProduct && disturbance.operands != 0)
      for (mlir::Value operand : op.getOperands())
        if (auto [copy, isNew] = taken.try_emplace(operand, slots.lookup(operand)); isNew) {
          copy->second.offset = program.numbers;
          program.numbers += copy->second.count();
          disturb(slots.lookup(operand), copy->second, disturbance.operands);
        }
    if (auto loop = dyn_cast<LoopOp>(op)) {
      if (Error error = placeLoop(loop))
        return error;
      return finish(op, actionsBefore);
    }
    Action<Number> action = makeAction<Number>(&op, [&](mlir::Value value) {
      auto copy = taken.find(value);
      return copy == taken.end() ? slots.lookup(value) : copy->second;
    });
    if (!action)
      return makeError("op '" + op.getName().getStringRef() + "' has no meaning for one token");
    program.actions.push_back(std::move(action));
    return finish(op, actionsBefore);
  }

  /// What is done with the result of an op, and where only params and constants matter to it.
  Error finish(mlir::Operation &op, size_t actionsBefore) {
    if (disturbance.values != 0)
      disturb(slots.lookup(op.getResult(0)), slots.lookup(op.getResult(0)), disturbance.values);
    if (largest)
      watch(op);
    bool isTimeless = all_of(op.getOperands(), [&](mlir::Value operand) { return timeless.contains(operand); });
    if (isTimeless) {
      timeless.insert_range(op.getResults());
      append_range(program.startActions, ArrayRef(program.actions).drop_front(actionsBefore));
    }
    return Error::success();
  }

  /// The actions of a step, again and again on the place of the value that goes from step to step.
  Error placeLoop(LoopOp loop) {
    mlir::Block &body = loop.getBody().front();
    Slot result = slots.lookup(loop.getResult()), start = slots.lookup(loop.getInitial()), carried = result;
    carried.offset = program.numbers;
    program.numbers += carried.count();
    slots[body.getArgument(0)] = carried;
    for (auto [argument, value] : zip(body.getArguments().drop_front(), loop.getCaptured()))
      slots[argument] = slots.lookup(value);
    auto around = std::exchange(program.actions, {});
    for (mlir::Operation &op : body.without_terminator())
      if (Error error = place(op))
        return error;
    auto step = std::exchange(program.actions, std::move(around));
    Slot next = slots.lookup(cast<YieldOp>(body.getTerminator()).getValue());
    program.actions.push_back([=, steps = int64_t(loop.getIterations())](Number *numbers) {
      std::copy_n(numbers + start.offset, start.count(), numbers + carried.offset);
      for (int64_t i = 0; i < steps; ++i) {
        for (const Action<Number> &action : step)
          action(numbers);
        std::copy_n(numbers + next.offset, next.count(), numbers + carried.offset);
      }
      std::copy_n(numbers + carried.offset, carried.count(), numbers + result.offset);
    });
    return Error::success();
  }

  void disturb(Slot from, Slot to, double size) {
    program.actions.push_back([from, to, size, noise = noise](Number *numbers) {
      for (int64_t i = 0; i < from.count(); ++i) {
        double value = noise->disturb(valueOf(numbers[from.offset + i]), size);
        double slope = slopeOf(numbers[from.offset + i]);
        setNumber(numbers[to.offset + i], value, slope == 0 ? slope : noise->disturb(slope, size));
      }
    });
  }

  /// `line 7`: where the op stands, under whatever name.
  static std::string describePlace(mlir::Operation &op) {
    if (auto place = op.getLoc()->findInstanceOf<mlir::FileLineColLoc>())
      return "line " + std::to_string(place.getLine());
    return op.getName().getStringRef().str();
  }

  void watch(mlir::Operation &op) {
    program.actions.push_back([slot = slots.lookup(op.getResult(0)), &op, largest = largest](Number *numbers) {
      for (int64_t i = 0; i < slot.count(); ++i)
        if (double magnitude = std::fabs(valueOf(numbers[slot.offset + i])); magnitude > largest->magnitude)
          *largest = {magnitude, describePlace(op)};
    });
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
  DenseSet<mlir::Value> timeless; // the same for every token
  Disturbance disturbance;
  LargestValue *largest; // null: not watched
  std::shared_ptr<Noise> noise = std::make_shared<Noise>();
};

Expected<Array> makeZeros(StringRef label, Role role, const Sizes &sizes, ArrayRef<int64_t> shape) {
  auto full = getFullShape(role, sizes, shape);
  std::optional<int64_t> count = countElements(full);
  if (!count || *count > maxNumbers)
    return makeError(label + " of shape " + printShape(full) + " needs more than 8 GiB");
  return Array{std::vector<int64_t>(full.begin(), full.end()), std::vector<double>(*count)};
}

/// The numbers of one array that enters or leaves: their values, and the slopes where they have some.
template <typename Real> struct Numbers {
  Real *values;
  Real *slopes; // null: all zero, or not wanted
};

/// Runs a program over all sequences, heads and tokens.
template <typename Number> class Runner {
  using Program = ::Program<Number>;
  using Declared = typename Program::Declared;
  using State = typename Program::State;

public:
  /// If a direction is given, its numbers are the slopes of the numbers that enter.
  Runner(const Program &program, const Data &data, const Data *direction)
      : program(program), data(data), direction(direction), numbers(program.numbers) {}

  /// The values and, with a direction, their slopes.
  Expected<Derivative> run() {
    for (const Declared &output : program.outputs)
      if (Error error = makeResult(&Results::outputs, Role::Output, "output '" + output.name + "'", output))
        return std::move(error);
    for (const State &state : program.states)
      if (Error error = makeResult(&Results::final, Role::Final, "state '" + state.name + "'", state))
        return std::move(error);
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
  Error makeResult(NamedArrays Results::*arrays, Role role, const std::string &label, const Declared &declared) {
    Expected<Array> zeros = makeZeros(label, role, data.sizes, declared.shape);
    if (!zeros)
      return zeros.takeError();
    if (direction)
      (results.slopes.*arrays)[declared.name] = *zeros;
    (results.values.*arrays)[declared.name] = std::move(*zeros);
    return Error::success();
  }

  /// The array of one that enters; one that the direction leaves out does not change.
  Numbers<const double> find(NamedArrays Data::*arrays, const std::string &name) const {
    auto values = (data.*arrays).find(name);
    if (values == (data.*arrays).end())
      return {nullptr, nullptr};
    const double *slopes = nullptr;
    if (direction)
      if (auto found = (direction->*arrays).find(name); found != (direction->*arrays).end())
        slopes = found->second.values.data();
    return {values->second.values.data(), slopes};
  }
  Numbers<double> find(NamedArrays Results::*arrays, const std::string &name) {
    return {(results.values.*arrays).at(name).values.data(),
            direction ? (results.slopes.*arrays).at(name).values.data() : nullptr};
  }

  /// Looks every array up once, so that a token does no search by name.
  void bind() {
    for (const Declared &input : program.inputs) {
      inputs.push_back(find(&Data::inputs, input.name));
      if (input.integer)
        inputs.back().slopes = nullptr;
    }
    for (const Declared &output : program.outputs)
      outputs.push_back(find(&Results::outputs, output.name));
    int64_t stateNumbers = 0;
    for (const State &state : program.states)
      stateNumbers += state.slot.count();
    nextStates.resize(stateNumbers);
  }

  void load(Numbers<const double> array, int64_t index, Slot slot) {
    for (int64_t i = 0, from = index * slot.count(); i < slot.count(); ++i)
      setNumber(numbers[slot.offset + i], array.values ? array.values[from + i] : 0,
                array.slopes ? array.slopes[from + i] : 0);
  }
  void store(Slot slot, Numbers<double> array, int64_t index) {
    for (int64_t i = 0, to = index * slot.count(); i < slot.count(); ++i) {
      array.values[to + i] = valueOf(numbers[slot.offset + i]);
      if (array.slopes)
        array.slopes[to + i] = slopeOf(numbers[slot.offset + i]);
    }
  }

  void startHead(int64_t sequence, int64_t head) {
    for (const Declared &param : program.params)
      load(find(&Data::params, param.name), head, param.slot);
    for (const Action<Number> &action : program.startActions)
      action(numbers.data());
    for (const State &state : program.states) {
      Numbers<const double> given = find(&Data::initial, state.name);
      if (state.start && !given.values)
        std::copy_n(numbers.data() + state.start->offset, state.slot.count(), numbers.data() + state.slot.offset);
      else
        load(given, sequence * data.sizes.heads + head, state.slot);
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
    for (const Action<Number> &action : program.actions)
      action(numbers.data());
    for (auto [output, array] : zip(program.outputs, outputs))
      store(output.slot, array, position * sizes.heads + head);
    // One state may become what another was, so all are read before any is written.
    Number *next = nextStates.data();
    for (const State &state : program.states)
      next = std::copy_n(numbers.data() + state.next.offset, state.next.count(), next);
    next = nextStates.data();
    for (const State &state : program.states) {
      std::copy_n(next, state.slot.count(), numbers.data() + state.slot.offset);
      next += state.slot.count();
    }
  }

  void finishHead(int64_t sequence, int64_t head) {
    for (const State &state : program.states)
      store(state.slot, find(&Results::final, state.name), sequence * data.sizes.heads + head);
  }

  const Program &program;
  const Data &data;
  const Data *direction;
  std::vector<Number> numbers;    // every value of the token
  std::vector<Number> nextStates; // the states as the token leaves them
  std::vector<Numbers<const double>> inputs;
  std::vector<Numbers<double>> outputs;
  Derivative results;
};

} // namespace

template <typename Number>
static Expected<Derivative> runRecurrence(RecurrenceOp recurrence, const Data &data, const Data *direction,
                                          const Disturbance &disturbance = {}, LargestValue *largest = nullptr) {
  if (Error error = checkData(recurrence, data))
    return std::move(error);
  Expected<Program<Number>> program = Planner<Number>(disturbance, largest).plan(recurrence);
  if (!program)
    return program.takeError();
  return Runner<Number>(*program, data, direction).run();
}

Expected<Results> interpreter::interpret(RecurrenceOp recurrence, const Data &data) {
  Expected<Derivative> results = runRecurrence<double>(recurrence, data, nullptr);
  if (!results)
    return results.takeError();
  return std::move(results->values);
}

Expected<Results> interpreter::interpret(RecurrenceOp recurrence, const Data &data, LargestValue &largest) {
  Expected<Derivative> results = runRecurrence<double>(recurrence, data, nullptr, {}, &largest);
  if (!results)
    return results.takeError();
  return std::move(results->values);
}

Expected<Results> interpreter::interpretDisturbed(RecurrenceOp recurrence, const Data &data,
                                                  const Disturbance &disturbance) {
  Expected<Derivative> results = runRecurrence<double>(recurrence, data, nullptr, disturbance);
  if (!results)
    return results.takeError();
  return std::move(results->values);
}

/// An error unless each array of the direction has the shape of the array that it changes.
static Error checkDirection(RecurrenceOp recurrence, const Data &data, const Data &direction) {
  Data complete = direction;
  complete.sizes = data.sizes;
  for (InputOp input : recurrence.getInputs())
    if (input.isInteger())
      complete.inputs.erase(input.getName().str()); // integers stay as they are
  complete.inputs.insert(data.inputs.begin(), data.inputs.end());
  complete.params.insert(data.params.begin(), data.params.end());
  if (Error error = checkData(recurrence, complete))
    return makeError("the direction: " + toString(std::move(error)));
  for (const auto &[name, array] : direction.initial)
    if (!data.initial.count(name))
      return makeError("the direction changes the initial state '" + name + "', but the data have none");
  return Error::success();
}

Expected<Derivative> interpreter::interpretAlong(RecurrenceOp recurrence, const Data &data, const Data &direction,
                                                 const Disturbance &disturbance) {
  if (Error error = checkDirection(recurrence, data, direction))
    return std::move(error);
  return runRecurrence<Dual>(recurrence, data, &direction, disturbance);
}
