// Kernels of gradients give what dual numbers do, on random recurrences, data, lengths, chunk sizes, types and targets;
// and their bits do not depend on threads, workspace, packing, which gradients are wanted, or what lies around the
// arrays, which nothing is read or written of.
#include "Check/GradientStages.h"
#include "DrawKernels.h"
#include "GradientData.h"
#include "mlir/IR/Diagnostics.h"
#include "property/Failure.h"
#include "property/Judge.h"
#include "unit/Runtime/GuardedPages.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace recur;
using namespace recur::property;
using engine::HostCall;

namespace {

/// What is wrong with the kernels. The kind is what the reducer keeps.
struct Mistake {
  enum Kind { None, Refused, Crashed, Differs, DependsOnTheCall } kind = None;
  std::string message;
};

/// Arrays against pages that may not be touched: in front of the first byte, or behind the last.
class GuardedMemory : public engine::Memory {
public:
  explicit GuardedMemory(bool upper) : upper(upper) {}
  llvm::Expected<void *> give(void *bytes, int64_t count) override {
    pages.push_back(std::make_unique<test::GuardedPages>(size_t(count), upper));
    if (count)
      std::memcpy(pages.back()->data, bytes, size_t(count));
    return pages.back()->data;
  }
  llvm::Error take(void *bytes, const void *place, int64_t count) override {
    if (count)
      std::memcpy(bytes, place, size_t(count));
    return llvm::Error::success();
  }
  llvm::Error wait() override { return llvm::Error::success(); }

private:
  bool upper;
  std::vector<std::unique_ptr<test::GuardedPages>> pages;
};

} // namespace

/// The first array of `some` whose bits are not those of `all`.
static std::string findDifference(const data::Data &all, const data::Data &some) {
  for (auto arrays : {&data::Data::inputs, &data::Data::params, &data::Data::initial})
    for (const auto &[name, array] : some.*arrays) {
      llvm::ArrayRef<double> want = (all.*arrays).at(name).values, got = array.values;
      if (got.size() != want.size() || std::memcmp(got.data(), want.data(), got.size() * sizeof(double)) != 0)
        return name;
    }
  return {};
}

static Mistake callInEveryWay(const engine::HostEngine &engine, int32_t plan, const check::JudgedGradient &drawn,
                              const data::Data &gradient, Random &random) {
  data::Data packed = drawn.data;
  packed.sizes.batch = 1;
  packed.sizes.tokens = drawn.data.sizes.batch * drawn.data.sizes.tokens;
  HostCall packs{.threads = 2};
  for (int64_t i = 0; i <= drawn.data.sizes.batch; ++i)
    packs.offsets.push_back(i * drawn.data.sizes.tokens);
  GuardedMemory lower(/*upper=*/false), upper(/*upper=*/true);
  struct Way {
    llvm::StringRef word;
    const data::Data &data;
    HostCall how;
  };
  HostCall someLeftOut{.memory = &upper};
  for (const std::string &name : engine.listGradients())
    if (random.chance(0.5))
      someLeftOut.leftOut.push_back(name);
  for (const Way &way :
       {Way{"on one thread", drawn.data, {.threads = 1, .memory = &lower}},
        Way{"on three threads", drawn.data, {.threads = 3}},
        Way{"with the least workspace", drawn.data, {.workspaceBytes = 1}}, Way{"of packed sequences", packed, packs},
        Way{"with gradients left out", drawn.data, someLeftOut}}) {
    HostCall how = way.how;
    how.gradientPlan = plan;
    llvm::Expected<data::Data> other = engine.runGradient(way.data, drawn.cotangents, how);
    if (!other)
      return {Mistake::Crashed, llvm::toString(other.takeError())};
    if (std::string name = findDifference(gradient, *other); !name.empty())
      return {Mistake::DependsOnTheCall, "the gradient of " + name + " has other bits " + way.word.str()};
  }
  return {};
}

static Mistake findMistake(llvm::StringRef text, PipelineOptions options, const data::Data &given, uint64_t seed) {
  llvm::Expected<Compiled> compiled = property::compile(text);
  if (!compiled) {
    llvm::consumeError(compiled.takeError());
    return {}; // the other tests' business
  }
  drawArrayTypes(compiled->recurrence, seed, options);
  data::Data data = fitData(compiled->recurrence, given);
  engine::roundData(data, options.dataTypes);
  llvm::Expected<check::JudgedGradient> drawn =
      check::judgeGradient(compiled->recurrence, std::move(data), seed, options.dataTypes);
  if (!drawn)
    return {Mistake::Crashed, llvm::toString(drawn.takeError())};
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(&getContext(), [&](mlir::Diagnostic &diagnostic) {
    diagnostics += "\n" + diagnostic.str();
    return mlir::success();
  });
  // Of sequences as a whole, and by segments.
  for (auto [name, plan] :
       {std::pair("gradient host", RECUR_PLAN_CHUNK), {"gradient host segments", RECUR_PLAN_SEGMENT}}) {
    auto stage = llvm::find_if(check::getGradientStages(), [&](const auto &stage) { return stage.name == name; });
    auto prepared = stage->prepare(compiled->recurrence, options);
    if (!prepared)
      return {Mistake::Refused, llvm::toString(prepared.takeError()) + diagnostics};
    if (!(drawn->largest <= *prepared->largest))
      return {}; // the results leave the range of the type
    llvm::Expected<data::Data> gradient = prepared->run(drawn->data, drawn->cotangents);
    if (!gradient)
      return {Mistake::Crashed, llvm::toString(gradient.takeError())};
    auto comparison = check::compareGradient(compiled->recurrence, *prepared, *drawn, *gradient);
    if (!comparison)
      return {Mistake::Crashed, llvm::toString(comparison.takeError())};
    if (!(comparison->error <= comparison->limit))
      return {Mistake::Differs, std::string(name) + " of " + options.dataTypes.print() + ": off by " +
                                    std::to_string(comparison->error) + " along " + comparison->array + ", more than " +
                                    std::to_string(comparison->limit)};
    Random random(seed);
    Mistake mistake = callInEveryWay(*prepared->engine, plan, *drawn, *gradient, random);
    if (mistake.kind != Mistake::None)
      return {mistake.kind, std::string(name) + ": " + mistake.message};
  }
  return {};
}

TEST(Gradients, OfKernelsAreWhatDualNumbersSay) {
  unsigned failures = 0;
  Seeds seeds = pickSeeds(90000, 24);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count && failures < 3; ++seed) {
    DrawnRecurrence drawn = drawRecurrence(seed);
    Random random(seed);
    data::Sizes sizes{1 + int64_t(random.below(2)), random.pick<int64_t>({0, 1, 5, 15, 16, 17, 33, 70}), 2,
                      1 + int64_t(random.below(2))};
    PipelineOptions options;
    options.chunk = random.pick<int64_t>({16, 32, 64});
    drawKernelOptions(random, options);
    data::Data data = drawData(drawn, seed, sizes);
    putAtCorners(drawn, data, random);
    DisguiseOptions plainNames;
    plainNames.renameDeclarations = false;
    std::string text = solveToTheEnd(disguise(drawn, 0, plainNames).text);
    Mistake mistake = findMistake(text, options, data, seed);
    if (mistake.kind == Mistake::None)
      continue;
    ++failures;
    auto fails = [&](llvm::StringRef candidate) {
      return findMistake(candidate, options, data, seed).kind == mistake.kind;
    };
    ADD_FAILURE() << "T = " << sizes.tokens << ", C = " << *options.chunk << ", " << describeOptions(options) << ", "
                  << describeFailure(seed, mistake.message, text, fails);
  }
}
