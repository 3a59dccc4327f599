// The gradient's chunk program gives what dual numbers do, on random recurrences, data, lengths and chunk sizes.
#include "Check/GradientStages.h"
#include "Conversion/DGPSToChunk/Passes.h"
#include "GradientData.h"
#include "Interpreter/ChunkInterpreter.h"
#include "Interpreter/GradientJudge.h"
#include "Transforms/Chunk/Passes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "property/Failure.h"
#include "property/Judge.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace recur;
using namespace recur::property;
using namespace recur::data;

namespace {
/// What is wrong with a gradient. The kind is what the reducer keeps.
struct Mistake {
  enum Kind { None, Refused, Crashed, Differs, BySegments, OfSome } kind = None;
  std::string message;
};
} // namespace

/// Numbers like those of `like`, by a fixed rule.
static void redraw(data::NamedArrays &arrays, Random &random) {
  for (auto &[name, array] : arrays)
    for (double &value : array.values)
      value = random.uniform(-1, 1);
}

/// The data with each number that is no integer changed by so much of itself.
static data::Data nudge(dgps::RecurrenceOp recurrence, data::Data data, double size) {
  llvm::StringSet<> integers;
  for (dgps::InputOp input : recurrence.getBody().front().getOps<dgps::InputOp>())
    if (input.isInteger())
      integers.insert(input.getName());
  unsigned number = 0;
  for (data::NamedArrays *arrays : {&data.inputs, &data.params, &data.initial})
    for (auto &[name, array] : *arrays)
      for (double &value :
           integers.contains(name) ? llvm::MutableArrayRef<double>() : llvm::MutableArrayRef(array.values))
        value *= 1 + (++number % 3 == 0 ? -size : size);
  return data;
}

static mlir::LogicalResult differentiate(mlir::ModuleOp module, int64_t chunk) {
  mlir::PassManager passes(module.getContext());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(conversion::createConvertDGPSToChunkPass({chunk}));
  auto clean = [&] {
    passes.addPass(mlir::createCanonicalizerPass());
    passes.addPass(mlir::createCSEPass());
    passes.addNestedPass<chunk::ProgramOp>(chunk::createCommonInteractionsPass());
    passes.addNestedPass<chunk::ProgramOp>(chunk::createDeadStreamsPass());
  };
  clean();
  passes.addPass(chunk::createDifferentiatePass());
  clean();
  return passes.run(module);
}

/// What is wrong with a program that has some of the gradients, by the numbers of the one that has all.
static std::string findMistakeOfSome(mlir::ModuleOp module, const data::Data &data, const data::Results &cotangents,
                                     const data::Data &all) {
  Random random(11);
  llvm::SmallVector<std::string> wanted;
  for (const data::NamedArrays *arrays : {&all.inputs, &all.params, &all.initial})
    for (const auto &[name, array] : *arrays)
      if (random.below(3) == 0)
        wanted.push_back(name);
  if (wanted.empty())
    return {};
  mlir::PassManager passes(module.getContext());
  passes.addNestedPass<chunk::ProgramOp>(chunk::createLeaveOutGradientsPass({wanted}));
  if (mlir::failed(passes.run(module)))
    return "gradients cannot be left out";
  llvm::SmallVector<chunk::ProgramOp> programs(module.getOps<chunk::ProgramOp>());
  llvm::Expected<data::Data> some = interpreter::interpretGradient(programs[0], programs[1], data, cotangents);
  if (!some)
    return llvm::toString(some.takeError());
  for (auto arrays : {&data::Data::inputs, &data::Data::params, &data::Data::initial})
    for (const auto &[name, array] : all.*arrays) {
      bool isWanted = llvm::is_contained(wanted, name);
      auto found = ((*some).*arrays).find(name);
      if (!isWanted && arrays != &data::Data::initial && found != ((*some).*arrays).end())
        return "there is a gradient of " + name + ", which is not wanted";
      if (!isWanted)
        continue;
      if (found == ((*some).*arrays).end())
        return "there is no gradient of " + name;
      for (auto [a, b] : llvm::zip_equal(found->second.values, array.values))
        if (a != b && (std::isfinite(a) || std::isfinite(b)))
          return "by itself the gradient of " + name + " is another";
    }
  return {};
}

/// What is wrong with the gradients of segments of each sequence.
static Mistake findMistakeOfSegments(Compiled &compiled, int64_t chunk, const data::Data &data,
                                     const data::Results &cotangents, const interpreter::GradientJudge &judge,
                                     double limit) {
  PipelineOptions options;
  options.chunk = chunk;
  auto stage =
      llvm::find_if(check::getGradientStages(), [](const auto &stage) { return stage.name == "gradient segments"; });
  auto prepared = stage->prepare(compiled.recurrence, options);
  if (!prepared)
    return {Mistake::BySegments, llvm::toString(prepared.takeError())};
  llvm::Expected<data::Data> gradient = prepared->run(data, cotangents);
  if (!gradient)
    return {Mistake::BySegments, llvm::toString(gradient.takeError())};
  interpreter::GradientError error = judge.judge(*gradient);
  if (error.error <= limit)
    return {};
  return {Mistake::BySegments, "by segments off by " + std::to_string(error.error) + " along " + error.along +
                                   ", more than " + std::to_string(limit)};
}

static Mistake findMistake(llvm::StringRef text, int64_t chunk, const data::Data &given) {
  llvm::Expected<Compiled> compiled = property::compile(text);
  if (!compiled) {
    llvm::consumeError(compiled.takeError());
    return {}; // the other tests' business
  }
  data::Data data = fitData(compiled->recurrence, given, /*startsAreGiven=*/true);
  llvm::Expected<data::Results> results = judge(*compiled, data);
  if (!results) {
    llvm::consumeError(results.takeError());
    return {};
  }
  Random random(7);
  data::Results cotangents = *results;
  redraw(cotangents.outputs, random);
  redraw(cotangents.final, random);
  data::Data direction = data;
  redraw(direction.inputs, random);
  redraw(direction.params, random);
  redraw(direction.initial, random);
  constexpr double step = 1e-12;
  auto judgeOf = [&](const data::Data &at) {
    return interpreter::GradientJudge::create(compiled->recurrence, at, cotangents, direction);
  };
  llvm::Expected<interpreter::GradientJudge> judge = judgeOf(data),
                                             nudged = judgeOf(nudge(compiled->recurrence, data, step));
  if (!judge || !nudged)
    return {Mistake::Crashed, llvm::toString(llvm::joinErrors(judge.takeError(), nudged.takeError()))};

  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(&getContext(), [&](mlir::Diagnostic &diagnostic) {
    diagnostics += "\n" + diagnostic.str();
    return mlir::success();
  });
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::cast<mlir::ModuleOp>((*compiled->module)->clone());
  if (mlir::failed(differentiate(*module, chunk)))
    return {Mistake::Refused, diagnostics};
  llvm::SmallVector<chunk::ProgramOp> programs(module->getOps<chunk::ProgramOp>());
  llvm::Expected<data::Data> gradient = interpreter::interpretGradient(programs[0], programs[1], data, cotangents);
  if (!gradient)
    return {Mistake::Crashed, llvm::toString(gradient.takeError())};
  // Derivatives that move much with their data move as much with every rounding on the way.
  std::vector<double> spread = judge->spread(*nudged);
  double condition = *llvm::max_element(spread) / step;
  double limit = std::max(1e-9, 1e-12 * condition);
  interpreter::GradientError error = judge->judge(*gradient);
  if (!(error.error <= limit))
    return {Mistake::Differs,
            "off by " + std::to_string(error.error) + " along " + error.along + ", more than " + std::to_string(limit)};
  Mistake bySegments = findMistakeOfSegments(*compiled, chunk, data, cotangents, *judge, limit);
  if (bySegments.kind != Mistake::None)
    return bySegments;
  std::string mistake = findMistakeOfSome(*module, data, cotangents, *gradient);
  return {mistake.empty() ? Mistake::None : Mistake::OfSome, mistake};
}

TEST(Gradients, AreWhatDualNumbersSay) {
  unsigned failures = 0;
  Seeds seeds = pickSeeds(70000, 400);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count && failures < 3; ++seed) {
    DrawnRecurrence drawn = drawRecurrence(seed);
    Random random(seed);
    data::Sizes sizes{1 + int64_t(random.below(2)), random.pick<int64_t>({0, 1, 5, 15, 16, 17, 33, 70}), 2,
                      1 + int64_t(random.below(2))};
    int64_t chunk = random.pick<int64_t>({16, 32, 64});
    data::Data data = drawData(drawn, seed, sizes);
    putAtCorners(drawn, data, random);
    DisguiseOptions plainNames;
    plainNames.renameDeclarations = false;
    std::string text = solveToTheEnd(disguise(drawn, 0, plainNames).text);
    Mistake mistake = findMistake(text, chunk, data);
    if (mistake.kind == Mistake::None)
      continue;
    ++failures;
    auto fails = [&](llvm::StringRef candidate) { return findMistake(candidate, chunk, data).kind == mistake.kind; };
    ADD_FAILURE() << "T = " << sizes.tokens << ", C = " << chunk << ", "
                  << describeFailure(seed, mistake.message, text, fails);
  }
}
