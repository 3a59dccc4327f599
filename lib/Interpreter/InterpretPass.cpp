#include "Interpreter/InterpretPass.h"
#include "Interpreter/ChunkInterpreter.h"
#include "Interpreter/DGPSInterpreter.h"
#include "Interpreter/TileInterpreter.h"
#include "dialects/Check/Check.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;
using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;
using check_ir::RunOp;

static Array makeArray(Attribute attribute) {
  auto numbers = cast<DenseElementsAttr>(attribute);
  auto values = numbers.getValues<double>();
  return {numbers.getType().getShape().vec(), std::vector<double>(values.begin(), values.end())};
}

/// Gives the array the dimensions of a batch of one and of one head, which a file leaves out.
static Array addDimensions(Array array, Role role) {
  switch (role) {
  case Role::Input:
  case Role::SharedInput:
  case Role::Output:
  case Role::OutputCotangent:
    array.shape.insert(array.shape.begin(), 1);
    array.shape.insert(array.shape.begin() + std::min<size_t>(2, array.shape.size()), 1);
    break;
  case Role::Param:
    array.shape.insert(array.shape.begin(), 1);
    break;
  case Role::Initial:
  case Role::Final:
  case Role::FinalCotangent:
    array.shape.insert(array.shape.begin(), 2, 1);
    break;
  }
  return array;
}

/// `[0, 2]`
static std::string printPlace(ArrayRef<int64_t> shape, int64_t element) {
  SmallVector<int64_t> place(shape.size());
  for (size_t i = shape.size(); i-- > 0; element /= shape[i])
    place[i] = element % shape[i];
  return place.empty() ? "" : printShape(place);
}

/// The message with the places in the kernel's file counted from the kernel's line: `plan.mlir:14:3` becomes `+4:3`.
static std::string countLinesFrom(tile::KernelOp kernel, StringRef message) {
  auto start = kernel->getLoc()->findInstanceOf<FileLineColLoc>();
  if (!start)
    return message.str();
  std::string file = start.getFilename().getValue().str() + ":", text;
  while (true) {
    auto [before, after] = message.split(file);
    text += before;
    if (before.size() == message.size())
      return text;
    unsigned line = 0;
    if (after.consumeInteger(10, line) || line < start.getLine()) {
      text += file; // of another kernel's op
      message = message.drop_front(before.size() + file.size());
      continue;
    }
    text += "+" + std::to_string(line - start.getLine());
    message = after;
  }
}

namespace {
/// One check.run.
class Run {
public:
  explicit Run(RunOp op) : op(op), within(op.getWithin() ? op.getWithin()->convertToDouble() : 1e-15) {}

  LogicalResult go() {
    Operation *program = SymbolTable::lookupNearestSymbolFrom(op, op.getProgramAttr());
    if (auto recurrence = dyn_cast_or_null<dgps::RecurrenceOp>(program))
      return runNamed(recurrence, [&](const Data &data) { return interpret(recurrence, data); });
    if (auto chunked = dyn_cast_or_null<chunk::ProgramOp>(program))
      return runNamed(chunked, [&](const Data &data) -> llvm::Expected<Results> {
        ChunkOptions options;
        options.rounding = getRounding();
        return interpret(chunked, data, options);
      });
    if (auto kernel = dyn_cast_or_null<tile::KernelOp>(program))
      return runKernel(kernel);
    return op.emitOpError("finds no program '") << op.getProgram() << "' to run";
  }

private:
  Rounding getRounding() {
    return llvm::StringSwitch<Rounding>(op.getRounding().value_or(""))
        .Case("f32", Rounding::f32)
        .Case("tf32", Rounding::tf32)
        .Case("bf16", Rounding::bf16)
        .Case("f16", Rounding::f16)
        .Default(Rounding::exact);
  }

  template <typename Declarations> static bool declares(Declarations declarations, StringRef name) {
    return llvm::any_of(declarations, [&](auto one) { return one.getName() == name; });
  }

  template <typename Program, typename Interpret> LogicalResult runNamed(Program program, Interpret interpret) {
    Data data;
    if (failed(fill(program, data)))
      return failure();
    llvm::Expected<Results> results = interpret(data);
    if (failed(compareMessage(results ? std::string() : llvm::toString(results.takeError()))))
      return failure();
    if (op.getMessage())
      return success();
    for (auto [name, attribute] : llvm::zip_equal(op.getWantedNames().getAsValueRange<StringAttr>(), op.getWanted())) {
      bool isOutput = declares(program.getOutputs(), name);
      NamedArrays &arrays = isOutput ? results->outputs : results->final;
      auto got = arrays.find(name.str());
      if (got == arrays.end())
        return op.emitOpError("wants '") << name << "', which is neither an output nor a state";
      Array want = makeArray(attribute);
      if (failed(compare("'" + name.str() + "'", got->second, complete(want, isOutput ? Role::Output : Role::Final),
                         want.shape)))
        return failure();
    }
    return success();
  }

  Array complete(const Array &array, Role role) { return op.getSizes() ? array : addDimensions(array, role); }

  template <typename Program> LogicalResult fill(Program program, Data &data) {
    data.sizes = {1, int64_t(op.getTokens().value_or(1)), 1, 1};
    if (auto sizes = op.getSizes())
      data.sizes = {(*sizes)[0], data.sizes.tokens, (*sizes)[1], (*sizes)[2]};
    if (op.getGivenNames().size() != op.getGiven().size())
      return op.emitOpError("expects the names of the arrays that the program takes");
    for (auto [name, attribute] : llvm::zip_equal(op.getGivenNames().getAsValueRange<StringAttr>(), op.getGiven())) {
      Array array = makeArray(attribute);
      if (declares(program.getInputs(), name)) {
        Array &input = data.inputs[name.str()] = complete(array, Role::Input);
        if (!op.getTokens() && input.shape.size() > 1)
          data.sizes.tokens = input.shape[1];
      } else if (declares(program.getParams(), name)) {
        data.params[name.str()] = complete(array, Role::Param);
      } else if (declares(program.getStates(), name)) {
        data.initial[name.str()] = complete(array, Role::Initial);
      } else {
        return op.emitOpError("gives '") << name << "', which is no input, param or state";
      }
    }
    return success();
  }

  LogicalResult runKernel(tile::KernelOp kernel) {
    std::vector<Array> arrays;
    for (Attribute attribute : op.getGiven())
      arrays.push_back(makeArray(attribute));
    SmallVector<CallerArray> callers;
    for (Array &array : arrays) {
      int64_t rows = array.shape.empty() ? 1 : array.shape.front();
      int64_t width = rows ? int64_t(array.values.size()) / rows : 0;
      callers.push_back({array.values.empty() ? nullptr : array.values.data(), rows, width});
    }
    TileOptions options;
    options.rounds = op.getRounding() == "f32";
    llvm::Error error = run(kernel, callers, op.getTokens().value_or(0), options);
    if (failed(compareMessage(error ? countLinesFrom(kernel, llvm::toString(std::move(error))) : std::string())))
      return failure();
    if (op.getMessage())
      return success();
    if (op.getWanted().size() != arrays.size())
      return op.emitOpError("expects as many arrays after the run as before it");
    for (auto [i, attribute] : llvm::enumerate(op.getWanted())) {
      Array want = makeArray(attribute);
      if (failed(compare("array " + std::to_string(i), arrays[i], want, want.shape)))
        return failure();
    }
    return success();
  }

  /// An error must be the one that is expected.
  LogicalResult compareMessage(const std::string &message) {
    StringRef wanted = op.getMessage().value_or("");
    if (message == wanted)
      return success();
    if (message.empty())
      return op.emitOpError("runs, but should fail: ") << wanted;
    return op.emitOpError("fails: ") << message;
  }

  bool isNear(double got, double want) const {
    if (std::isnan(want) || std::isinf(want))
      return std::isnan(want) ? std::isnan(got) : got == want;
    return std::abs(got - want) <= within * (want == 0 ? 1 : std::abs(want));
  }

  LogicalResult compare(const std::string &name, const Array &got, const Array &want, ArrayRef<int64_t> written) {
    if (got.shape != want.shape)
      return op.emitOpError("gives ") << name << " of shape " << printShape(got.shape) << ", not "
                                      << printShape(want.shape);
    for (auto [i, pair] : llvm::enumerate(llvm::zip_equal(got.values, want.values)))
      if (auto [value, wanted] = pair; !isNear(value, wanted)) {
        SmallString<32> text, wantedText;
        APFloat(value).toString(text);
        APFloat(wanted).toString(wantedText);
        return op.emitOpError("gives ") << name << printPlace(written, i) << " = " << text << ", not " << wantedText;
      }
    return success();
  }

  RunOp op;
  double within;
};

struct InterpretPass : PassWrapper<InterpretPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InterpretPass)
  StringRef getArgument() const override { return "interpret"; }
  StringRef getDescription() const override { return "Run programs as check.run says, and compare what they give"; }

  void runOnOperation() override {
    bool isRight = true, isAny = false;
    getOperation().walk([&](RunOp op) {
      isAny = true;
      isRight &= succeeded(Run(op).go());
    });
    if (!isAny)
      isRight = (getOperation().emitError("holds no check.run to interpret"), false);
    if (!isRight)
      signalPassFailure();
  }
};
} // namespace

void interpreter::registerInterpretPass() { PassRegistration<InterpretPass>(); }
