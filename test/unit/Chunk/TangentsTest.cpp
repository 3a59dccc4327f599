// The tangent of every op, against differences of what the interpreter computes.
#include "ChunkTesting.h"
#include "dialects/Chunk/ChunkTangents.h"
#include "llvm/Support/MemoryBuffer.h"
#include <filesystem>

using namespace recur;
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
      tangents.set(input,
                   chunk::InputOp::create(builder, loc, input.getType(), nameOf(input.getName()), input.getShared()));
    for (chunk::ParamOp param : program.getParams())
      tangents.set(param, chunk::ParamOp::create(builder, loc, param.getType(), nameOf(param.getName())));
    for (chunk::StateOp state : program.getStates()) {
      states.push_back({state, chunk::StateOp::create(builder, loc, state.getType(), nameOf(state.getName()))});
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
      chunk::OutputOp::create(builder, loc, nameOf(output.getName()), moved);
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

/// Each op by itself, with all of its operands moving. `%x` to `%z` are in [-1, 1], `%p` in [0.2, 1], `%a` linear steps
/// of which some are zero, and %L a matrix that is not triangular.
TEST_F(TangentsOf, EveryOp) {
  const std::string scalars = "tensor<4xf32>", vectors = "tensor<4x3xf32>", square = "tensor<4x4xf32>";
  std::vector<std::pair<std::string, std::string>> ops; // and the type of what they give
  for (const char *function :
       {"neg", "exp", "expm1", "abs", "sigmoid", "sin", "cos", "tanh", "softplus", "elu", "softmax"})
    ops.push_back({"chunk.map " + std::string(function) + " %x : tensor<4x3xf32>", vectors});
  for (const char *function : {"log", "sqrt"})
    ops.push_back({"chunk.map " + std::string(function) + " %p : tensor<4x3xf32>", vectors});
  for (const char *function : {"add", "sub", "mul", "max", "min"})
    for (const char *operands :
         {"%x, %y : tensor<4x3xf32>, tensor<4x3xf32>", "%s, %y : tensor<4xf32>, tensor<4x3xf32>",
          "%x, %m : tensor<4x3xf32>, tensor<1x3xf32>", "%m, %s : tensor<1x3xf32>, tensor<4xf32>"})
      ops.push_back({"chunk.map " + std::string(function) + " " + operands, vectors});
  ops.insert(
      ops.end(),
      {{"chunk.slice %x[1 for 2] : tensor<4x3xf32>", "tensor<4x2xf32>"},
       {"chunk.concat %s, %x, %m : tensor<4xf32>, tensor<4x3xf32>, tensor<1x3xf32> to tensor<4x7xf32>",
        "tensor<4x7xf32>"},
       {"chunk.concat %x, %m : tensor<4x3xf32>, tensor<1x3xf32> to tensor<4x2x3xf32>", "tensor<4x2x3xf32>"},
       {"chunk.map div %x, %p : tensor<4x3xf32>, tensor<4x3xf32>", vectors},
       {"chunk.map select %x, %y, %s : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4xf32>", vectors},
       {"chunk.map select %s, %n, %m : tensor<4xf32>, tensor<1xf32>, tensor<1x3xf32>", vectors},
       {"chunk.map sum %x : tensor<4x3xf32>", scalars},
       {"chunk.map dot %x, %y : tensor<4x3xf32>, tensor<4x3xf32>", scalars},
       {"chunk.map outer %x, %m : tensor<4x3xf32>, tensor<1x3xf32>", "tensor<4x3x3xf32>"},
       {"chunk.map matvec %M, %x : tensor<4x3x3xf32>, tensor<4x3xf32>", vectors},
       {"chunk.map vecmat %x, %M : tensor<4x3xf32>, tensor<4x3x3xf32>", vectors},
       {"chunk.map scale_cols %M, %x : tensor<4x3x3xf32>, tensor<4x3xf32>", "tensor<4x3x3xf32>"},
       {"chunk.map scale_rows %m, %M : tensor<1x3xf32>, tensor<4x3x3xf32>", "tensor<4x3x3xf32>"},
       {"chunk.extract %x[2] : tensor<4x3xf32>", scalars},
       {"chunk.extract %M[1] : tensor<4x3x3xf32>", vectors},
       {"chunk.broadcast %s : tensor<4xf32> to tensor<4x3xf32>", vectors},
       {"chunk.broadcast %m : tensor<1x3xf32> to tensor<4x3xf32>", vectors},
       {"chunk.interaction %x, %y strict : tensor<4x3xf32>, tensor<4x3xf32>", square},
       {"chunk.interaction %x, %y before decay log(%y : tensor<4x3xf32>) : tensor<4x3xf32>, tensor<4x3xf32>", square},
       {"chunk.interaction %x, %y inclusive decay log(%s : tensor<4xf32>) : tensor<4x3xf32>, tensor<4x3xf32>", square},
       {"chunk.interaction %x, %y strict decay linear(%a : tensor<4xf32>) : tensor<4x3xf32>, tensor<4x3xf32>", square},
       {"chunk.interaction %x, %y inclusive decay linear(%b : tensor<4x3xf32>) : tensor<4x3xf32>, tensor<4x3xf32>",
        square},
       {"chunk.apply %L, %x : tensor<4x4xf32>, tensor<4x3xf32>", vectors},
       {"chunk.apply %L, %x strict decay linear(%b : tensor<4x3xf32>) : tensor<4x4xf32>, tensor<4x3xf32>", vectors},
       {"chunk.apply %L, %x before decay log(%y : tensor<4x3xf32>) : tensor<4x4xf32>, tensor<4x3xf32>", vectors},
       {"chunk.solve %L, %x : tensor<4x4xf32>, tensor<4x3xf32>", vectors},
       {"chunk.solve %L, %x strict decay linear(%b : tensor<4x3xf32>) : tensor<4x4xf32>, tensor<4x3xf32>", vectors},
       {"chunk.solve %L, %x strict decay log(%y : tensor<4x3xf32>) : tensor<4x4xf32>, tensor<4x3xf32>", vectors},
       {"chunk.inverse %L : tensor<4x4xf32>", square},
       {"chunk.read %x, %S : tensor<4x3xf32>, tensor<3x3xf32>", vectors},
       {"chunk.read left %x, %S : tensor<4x3xf32>, tensor<3x3xf32>", vectors},
       {"chunk.previous %A, %x : tensor<3xf32>, tensor<4x3xf32>", vectors}});
  for (const char *range : {"through", "before", "after"})
    for (const char *decay : {"log(%y) : tensor<4x3xf32>", "linear(%b) : tensor<4x3xf32>"})
      ops.push_back({"chunk.cumulative_decay " + std::string(range) + " " + decay, vectors});
  for (const char *range : {"through", "before", "after"})
    ops.push_back({"chunk.cumulative_decay " + std::string(range) + " linear(%a) : tensor<4xf32>", scalars});
  const std::pair<std::string, std::string> several[] = {
      {"%v = chunk.interleave %x, %y : tensor<4x3xf32>, tensor<4x3xf32>\n%w = chunk.interleave %y, %z : "
       "tensor<4x3xf32>, tensor<4x3xf32>\n"
       "%I = chunk.interaction %v, %w points [before, 1] of [0, 1] decay linear(%b : tensor<4x3xf32>) : "
       "tensor<8x3xf32>, tensor<8x3xf32>\n%o = chunk.deinterleave %I 1 of 2 : tensor<8x8xf32>",
       "tensor<4x8xf32>"},
      {"%v = chunk.interleave %x, %y : tensor<4x3xf32>, tensor<4x3xf32>\n%w = chunk.interleave %y, %z : "
       "tensor<4x3xf32>, tensor<4x3xf32>\n"
       "%I = chunk.interaction %v, %w points [0, 1] of [0, 1] decay log(%s : tensor<4xf32>) : tensor<8x3xf32>, "
       "tensor<8x3xf32>\n%U = chunk.solve %I, %w points [0, 1] of [0, 1] decay linear(%b : tensor<4x3xf32>) : "
       "tensor<8x8xf32>, tensor<8x3xf32>\n%o = chunk.deinterleave %U 0 of 2 : tensor<8x3xf32>",
       vectors},
      {"%t = chunk.cumulative_decay total linear(%b) : tensor<4x3xf32>\n%o = chunk.map mul %t, %x : tensor<1x3xf32>, "
       "tensor<4x3xf32>",
       vectors},
      {"%o, %last = chunk.scan %A, %x decay linear(%b : tensor<4x3xf32>) : tensor<3xf32>, tensor<4x3xf32>", vectors},
      {"%o, %last = chunk.scan %A, %x decay log(%s : tensor<4xf32>) : tensor<3xf32>, tensor<4x3xf32>", vectors},
      {"%o, %last = chunk.scan %A, %x : tensor<3xf32>, tensor<4x3xf32>", vectors},
      {"%o, %last = chunk.tropical_scan %A, %x, %y : tensor<3xf32>, tensor<4x3xf32>, tensor<4x3xf32>", vectors},
      {"%o = chunk.state_free -> tensor<4x3xf32> {\n%q = chunk.map exp %x : tensor<4x3xf32>\n%r = chunk.map mul %q, %y "
       ": tensor<4x3xf32>, tensor<4x3xf32>\nchunk.yield %r : tensor<4x3xf32>\n}",
       vectors},
      {"%c = chunk.map add %c1, %p : tensor<1xf32>, tensor<4x3xf32>\n%I = chunk.interaction %y, %y inclusive : "
       "tensor<4x3xf32>, tensor<4x3xf32>\n%o = chunk.cg %x ridge %c iterations 20 : tensor<4x3xf32>, "
       "tensor<4x3xf32> {\n^bb0(%q: tensor<4x3xf32>):\n%r = chunk.interaction %q, %y inclusive : tensor<4x3xf32>, "
       "tensor<4x3xf32>\n%r1 = chunk.apply %r, %y : tensor<4x4xf32>, tensor<4x3xf32>\nchunk.yield %r1 : "
       "tensor<4x3xf32>\n}",
       vectors},
      {"%o, %S1 = chunk.token_loop (%x1 = %x : tensor<4x3xf32>, %y1 = %y : tensor<4x3xf32>) carry (%S0 = %S : "
       "tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<3x3xf32>) {\n%a1 = chunk.map tanh %S0 : tensor<1x3x3xf32>\n%u1 = "
       "chunk.map outer %x1, %m : tensor<1x3xf32>, tensor<1x3xf32>\n%b1 = chunk.map sub %a1, %u1 : tensor<1x3x3xf32>, "
       "tensor<1x3x3xf32>\n%o1 = chunk.map matvec %b1, %y1 : tensor<1x3x3xf32>, tensor<1x3xf32>\nchunk.yield %o1, %b1 "
       ": "
       "tensor<1x3xf32>, tensor<1x3x3xf32>\n}",
       vectors},
      {"%o, %A1 = chunk.token_loop (%x1 = %x : tensor<4x3xf32>) carry (%A0 = %A : tensor<3xf32>) -> (tensor<4x3xf32>, "
       "tensor<3xf32>) {\n%d1 = chunk.map exp %x1 : tensor<1x3xf32>\nchunk.yield %A0, %d1 : tensor<1x3xf32>, "
       "tensor<1x3xf32>\n}",
       vectors},
  };
  std::vector<std::pair<std::string, std::string>> bodies(std::begin(several), std::end(several));
  for (const auto &[op, type] : ops)
    bodies.push_back({"%o = " + op, type});
  for (const auto &[body, type] : bodies) {
    std::string text = "chunk.program @p {} chunk 4 {\n";
    for (const char *name : {"x", "y", "z", "p", "b"})
      text += "%" + std::string(name) + " = chunk.input \"" + name + "\" : tensor<4x3xf32>\n";
    text += "%s = chunk.input \"s\" : tensor<4xf32>\n%a = chunk.input \"a\" : tensor<4xf32>\n"
            "%M = chunk.input \"M\" : tensor<4x3x3xf32>\n%L = chunk.input \"L\" : tensor<4x4xf32>\n"
            "%m = chunk.param \"m\" : tensor<1x3xf32>\n%n = chunk.param \"n\" : tensor<1xf32>\n"
            "%S = chunk.state \"S\" : tensor<3x3xf32>\n%A = chunk.state \"A\" : tensor<3xf32>\n"
            "%c1 = chunk.constant 2.0 : tensor<1xf32>\n" +
            body + "\nchunk.output \"o\" %o : " + type + "\n";
    std::string S = body.find("%S1") != std::string::npos ? "%S1" : "%S";
    std::string A = body.find("%last") != std::string::npos ? "%last"
                    : body.find("%A1") != std::string::npos ? "%A1"
                                                            : "%A";
    text += "chunk.next %S, " + S + " : tensor<3x3xf32>\nchunk.next %A, " + A + " : tensor<3xf32>\n}";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    for (int64_t tokens : {4, 3, 11}) {
      if (tokens != 4 && body.find("%L") != std::string::npos)
        continue; // an input has no matrix of fewer tokens
      Data data;
      data.sizes = {1, tokens, 1, 1};
      std::mt19937 generator(7);
      std::uniform_real_distribution<double> uniform(-1, 1);
      auto fill = [&](std::vector<int64_t> shape, bool positive = false) {
        Array array{shape, std::vector<double>(*countElements(shape))};
        for (double &x : array.values)
          x = positive ? 0.6 + 0.4 * uniform(generator) : uniform(generator);
        return array;
      };
      for (const char *name : {"x", "y", "z", "p", "b"})
        data.inputs[name] = fill({1, tokens, 1, 3}, *name == 'p');
      data.inputs["s"] = fill({1, tokens, 1});
      data.inputs["a"] = fill({1, tokens, 1});
      data.inputs["M"] = fill({1, tokens, 1, 3, 3});
      data.inputs["L"] = fill({1, tokens, 1, 4});
      data.params["m"] = fill({1, 3});
      data.params["n"] = fill({1});
      data.initial["S"] = fill({1, 1, 3, 3});
      data.initial["A"] = fill({1, 1, 3});
      data.inputs["a"].values[1] = data.inputs["b"].values[4] = data.inputs["b"].values[7] = 0;
      addDirections(data, 8);
      expectTangent(*module, data, body + " with " + std::to_string(tokens) + " tokens");
      if (HasFatalFailure())
        return;
    }
  }
}

/// Composing summaries, of each kind.
TEST_F(TangentsOf, Compose) {
  for (std::string kind : {"right", "left", "elementwise", "tropical"}) {
    std::string text = "chunk.program @p {} chunk 4 {\n";
    for (const char *name : {"A", "B", "C", "D"})
      text += "%" + std::string(name) + " = chunk.state \"" + name + "\" : tensor<3x3xf32>\n";
    text += "%E, %F = chunk.compose " + kind +
            "(%A, %B), (%C, %D) : tensor<3x3xf32>, tensor<3x3xf32>\n"
            "chunk.next %A, %E : tensor<3x3xf32>\nchunk.next %B, %F : tensor<3x3xf32>\n"
            "chunk.next %C, %C : tensor<3x3xf32>\nchunk.next %D, %D : tensor<3x3xf32>\n}";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    Data data;
    data.sizes = {1, 4, 1, 1};
    std::mt19937 generator(9);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (const char *name : {"A", "B", "C", "D"}) {
      Array &array = data.initial[name] = {{1, 1, 3, 3}, std::vector<double>(9)};
      for (double &x : array.values)
        x = uniform(generator);
    }
    addDirections(data, 10);
    expectTangent(*module, data, kind);
  }
}

/// Whole programs, over several chunks, against dual numbers that go from token to token: all inputs, params and states
/// of every example move at once.
TEST_F(TangentsOf, EveryExample) {
  unsigned count = 0;
  for (const auto &entry : std::filesystem::directory_iterator(RECUR_SOURCE_DIR "/examples")) {
    if (entry.path().extension() != ".recur")
      continue;
    std::string path = entry.path().string();
    auto module =
        compile(path, (*llvm::MemoryBuffer::getFile(path))->getBuffer().str(), {{"K", 4}, {"V", 3}, {"M", 3}});
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
    expectNear(judged, runTangent(*chunked, data), 1e-10, entry.path().stem());
    ++count;
    if (HasFatalFailure())
      return;
  }
  EXPECT_GE(count, 40u);
}

} // namespace
