// The tangent of every op, against differences of what the interpreter computes.
#include "../Examples.h"
#include "../IRFile.h"
#include "../ProgramData.h"
#include "ChunkTesting.h"
#include "dialects/Chunk/ChunkTangents.h"

using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

namespace {

class TangentsOf : public ChunkTest {
protected:
  /// Adds the program's tangent to it: for each input, param and state a direction `NAME.moved` beside it, and for each
  /// output and state how it moves.
  static void addTangent(chunk::ProgramOp program) {
    mlir::Block &block = program.getBody().front();
    mlir::OpBuilder builder = mlir::OpBuilder::atBlockBegin(&block);
    mlir::Location loc = program.getLoc();
    chunk::Tangents tangents;
    auto nameOf = [](llvm::StringRef name) { return (name + ".moved").str(); };
    llvm::SmallVector<std::pair<chunk::StateOp, chunk::StateOp>> states;
    for (chunk::InputOp input : program.getInputs())
      tangents.set(input, chunk::InputOp::create(builder, loc, input.getType(), nameOf(input.getName()),
                                                 input.getShared(), mlir::TypeAttr()));
    for (chunk::ParamOp param : program.getParams())
      tangents.set(param,
                   chunk::ParamOp::create(builder, loc, param.getType(), nameOf(param.getName()), mlir::TypeAttr()));
    for (chunk::StateOp state : program.getStates()) {
      states.push_back({state, chunk::StateOp::create(builder, loc, state.getType(), nameOf(state.getName()),
                                                      mlir::TypeAttr(), state.getTransposed())});
      tangents.set(state, states.back().second);
    }
    llvm::SmallVector<mlir::Operation *> ops;
    for (mlir::Operation &op : block)
      ops.push_back(&op);
    builder.setInsertionPointToEnd(&block);
    for (mlir::Operation *op : ops)
      chunk::buildTangent(builder, op, tangents);
    chunk::ValueBuilder build(builder, loc);
    for (chunk::OutputOp output : program.getOutputs()) {
      mlir::Value moved = tangents.of(output.getValue());
      if (!moved)
        moved = build.constant(0, chunk::tensorOf(output.getValue()));
      chunk::OutputOp::create(builder, loc, nameOf(output.getName()), moved, mlir::TypeAttr());
    }
    for (auto [state, direction] : states) {
      mlir::Value moved = tangents.of(state.getNext().getValue());
      if (!moved)
        moved = build.stateConstant(0, chunk::tensorOf(state));
      chunk::NextOp::create(builder, loc, direction, moved);
    }
  }

  /// `data` a step along its directions, without them.
  static Data step(const Data &data, double size) {
    Data moved;
    moved.sizes = data.sizes;
    auto take = [&](const auto &from, auto &to) {
      for (const auto &[name, array] : from) {
        auto direction = from.find(name + ".moved");
        if (direction == from.end())
          continue;
        Array &at = to[name] = array;
        for (size_t i = 0; i < at.values.size(); ++i)
          at.values[i] += size * direction->second.values[i];
      }
    };
    take(data.inputs, moved.inputs);
    take(data.params, moved.params);
    take(data.initial, moved.initial);
    return moved;
  }

  static void addDirections(Data &data, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (auto *arrays : {&data.inputs, &data.params, &data.initial}) {
      auto all = *arrays;
      for (auto &[name, array] : all) {
        for (double &x : array.values)
          x = uniform(generator);
        (*arrays)[name + ".moved"] = array;
      }
    }
  }

  /// What the program's tangent along the directions in `data` gives, under the names of what it is the tangent of.
  Results runTangent(mlir::ModuleOp module, const Data &data) {
    mlir::OwningOpRef<mlir::ModuleOp> moving = mlir::cast<mlir::ModuleOp>(module->clone());
    addTangent(programOf(*moving));
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*moving)));
    Results all = get(interpret(programOf(*moving), data)), moved;
    auto take = [](const auto &from, auto &to) {
      for (const auto &[name, array] : from)
        if (name.ends_with(".moved"))
          to[name.substr(0, name.size() - 6)] = array;
    };
    take(all.outputs, moved.outputs);
    take(all.final, moved.final);
    return moved;
  }

  /// Fails where two results differ by more than `limit` of the largest number in them.
  static void expectNear(const Results &a, const Results &b, double limit, const std::string &what) {
    auto compare = [&](const auto &as, const auto &bs) {
      ASSERT_EQ(as.size(), bs.size()) << what;
      for (const auto &[name, array] : as) {
        double largest = 1;
        for (double x : array.values)
          largest = std::max(largest, std::fabs(x));
        for (size_t i = 0; i < array.values.size(); ++i)
          ASSERT_NEAR(array.values[i], bs.at(name).values[i], limit * largest) << what << ", " << name << " at " << i;
      }
    };
    compare(a.outputs, b.outputs);
    compare(a.final, b.final);
  }

  /// The program's tangent is what a small step along the directions changes.
  void expectTangent(mlir::ModuleOp module, const Data &data, const std::string &what) {
    const double size = 1e-5;
    Results ahead = get(interpret(programOf(module), step(data, size)));
    Results behind = get(interpret(programOf(module), step(data, -size)));
    auto divide = [&](auto &aheads, const auto &behinds) {
      for (auto &[name, array] : aheads)
        for (size_t i = 0; i < array.values.size(); ++i)
          array.values[i] = (array.values[i] - behinds.at(name).values[i]) / (2 * size);
    };
    divide(ahead.outputs, behind.outputs);
    divide(ahead.final, behind.final);
    expectNear(runTangent(module, data), ahead, 2e-8, what);
  }
};

/// Data for so many tokens of a program of Tangents.mlir.
Data drawData(chunk::ProgramOp program, int64_t tokens) {
  Data data = test::drawProgramData(program, {1, tokens, 1, 1}, 7, [](llvm::StringRef name, double number) {
    return name == "p" ? 0.6 + 0.4 * number : number;
  });
  for (auto [name, at] : {std::pair("a", 1), {"b", 4}, {"b", 7}})
    if (auto input = data.inputs.find(name); input != data.inputs.end())
      input->second.values[at] = 0;
  return data;
}

/// Each family of ops, with all of their operands moving.
TEST_F(TangentsOf, EveryOp) {
  test::IRFile<chunk::ChunkDialect> file("Chunk/Tangents.mlir");
  std::vector<std::string> names = file.listNames<chunk::ProgramOp>();
  EXPECT_GE(names.size(), 10u);
  for (const std::string &name : names) {
    auto program = file.find<chunk::ProgramOp>(name);
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(program.getLoc());
    module->push_back(program->clone());
    for (int64_t tokens : {4, 3, 11}) {
      Data data = drawData(program, tokens);
      if (tokens != 4 && data.inputs.count("L"))
        continue; // an input has no matrix of fewer tokens
      addDirections(data, 8);
      expectTangent(*module, data, name + " with " + std::to_string(tokens) + " tokens");
      if (HasFatalFailure())
        return;
    }
  }
}

/// Whole programs, over several chunks, against dual numbers that go from token to token: all inputs, params and states
/// of every example move at once.
TEST_F(TangentsOf, EveryExample) {
  unsigned count = 0;
  for (const std::string &path : test::listExamples()) {
    auto module = compile(path, test::readExample(path), {{"K", 4}, {"V", 3}, {"M", 3}});
    auto chunked = toChunk(*module, 8);
    Data data = randomData(recurrenceOf(*module), {1, 19, 2, 1}, 3), direction;
    addDirections(data, 4);
    direction.sizes = data.sizes;
    auto take = [](auto &from, auto &to) {
      for (const auto &[name, array] : from)
        if (name.ends_with(".moved"))
          to[name.substr(0, name.size() - 6)] = array;
    };
    take(data.inputs, direction.inputs);
    take(data.params, direction.params);
    take(data.initial, direction.initial);
    Results judged = get(interpretAlong(recurrenceOf(*module), step(data, 0), direction)).slopes;
    expectNear(judged, runTangent(*chunked, data), 1e-10, path);
    ++count;
    if (HasFatalFailure())
      return;
  }
  EXPECT_GE(count, 40u);
}

} // namespace
