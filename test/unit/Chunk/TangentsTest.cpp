// The tangent of every op, against differences of what the interpreter computes.
#include "ChunkTesting.h"
#include "dialects/Chunk/ChunkTangents.h"
#include "llvm/Support/MemoryBuffer.h"
#include <filesystem>

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

/// A program around one value `%o` of the type OUTPUT, which BODY computes. `%x` to `%z` are in [-1, 1], `%p` in [0.2,
/// 1],
/// `%a` and `%b` linear steps of which some are zero, and %L a matrix that is not triangular.
constexpr llvm::StringLiteral frame = R"(
!number = tensor<1xf32>
!numbers = tensor<4xf32>
!row = tensor<1x3xf32>
!rows = tensor<4x3xf32>
!twice = tensor<8x3xf32>
!pairs = tensor<4x4xf32>
!twice_pairs = tensor<8x8xf32>
!matrix = tensor<1x3x3xf32>
!matrices = tensor<4x3x3xf32>
!vector = tensor<3xf32>
!state = tensor<3x3xf32>
chunk.program @p {} chunk 4 {
  %x = chunk.input "x" : !rows
  %y = chunk.input "y" : !rows
  %z = chunk.input "z" : !rows
  %p = chunk.input "p" : !rows
  %b = chunk.input "b" : !rows
  %s = chunk.input "s" : !numbers
  %a = chunk.input "a" : !numbers
  %M = chunk.input "M" : !matrices
  %L = chunk.input "L" : !pairs
  %m = chunk.param "m" : !row
  %n = chunk.param "n" : !number
  %S = chunk.state "S" : !state
  %A = chunk.state "A" : !vector
  %two = chunk.constant 2.0 : !number
  BODY
  chunk.output "o" %o : OUTPUT
  chunk.next %S, NEXT_S : !state
  chunk.next %A, NEXT_A : !vector
})";

/// The frame around a body, which may also name what the states become: `%S1` and `%A1`.
std::string putInFrame(const std::string &body, const std::string &type) {
  std::string text = frame.str();
  auto replace = [&](llvm::StringRef word, const std::string &by) { text.replace(text.find(word), word.size(), by); };
  auto nextOf = [&](const std::string &state) {
    return body.find(state + "1") != std::string::npos ? state + "1" : state;
  };
  replace("OUTPUT", type);
  replace("NEXT_S", nextOf("%S"));
  replace("NEXT_A", nextOf("%A"));
  replace("BODY", body);
  return text;
}

/// Each op by itself, with all of its operands moving.
TEST_F(TangentsOf, EveryOp) {
  std::vector<std::pair<std::string, std::string>> ops; // and the type of what they give
  for (const char *function :
       {"neg", "exp", "expm1", "abs", "sigmoid", "sin", "cos", "tanh", "softplus", "elu", "softmax"})
    ops.push_back({"chunk.map " + std::string(function) + " %x : !rows", "!rows"});
  for (const char *function : {"log", "sqrt"})
    ops.push_back({"chunk.map " + std::string(function) + " %p : !rows", "!rows"});
  for (const char *function : {"add", "sub", "mul", "max", "min"})
    for (const char *operands :
         {"%x, %y : !rows, !rows", "%s, %y : !numbers, !rows", "%x, %m : !rows, !row", "%m, %s : !row, !numbers"})
      ops.push_back({"chunk.map " + std::string(function) + " " + operands, "!rows"});
  ops.insert(ops.end(), {{"chunk.slice %x[1 for 2] : !rows", "tensor<4x2xf32>"},
                         {"chunk.concat %s, %x, %m : !numbers, !rows, !row to tensor<4x7xf32>", "tensor<4x7xf32>"},
                         {"chunk.concat %x, %m : !rows, !row to tensor<4x2x3xf32>", "tensor<4x2x3xf32>"},
                         {"chunk.map div %x, %p : !rows, !rows", "!rows"},
                         {"chunk.map select %x, %y, %s : !rows, !rows, !numbers", "!rows"},
                         {"chunk.map select %s, %n, %m : !numbers, !number, !row", "!rows"},
                         {"chunk.map sum %x : !rows", "!numbers"},
                         {"chunk.map dot %x, %y : !rows, !rows", "!numbers"},
                         {"chunk.map outer %x, %m : !rows, !row", "!matrices"},
                         {"chunk.map matvec %M, %x : !matrices, !rows", "!rows"},
                         {"chunk.map vecmat %x, %M : !rows, !matrices", "!rows"},
                         {"chunk.map scale_cols %M, %x : !matrices, !rows", "!matrices"},
                         {"chunk.map scale_rows %m, %M : !row, !matrices", "!matrices"},
                         {"chunk.extract %x[2] : !rows", "!numbers"},
                         {"chunk.extract %M[1] : !matrices", "!rows"},
                         {"chunk.broadcast %s : !numbers to !rows", "!rows"},
                         {"chunk.broadcast %m : !row to !rows", "!rows"},
                         {"chunk.interaction %x, %y strict : !rows, !rows", "!pairs"},
                         {"chunk.interaction %x, %y before decay log(%y : !rows) : !rows, !rows", "!pairs"},
                         {"chunk.interaction %x, %y inclusive decay log(%s : !numbers) : !rows, !rows", "!pairs"},
                         {"chunk.interaction %x, %y strict decay linear(%a : !numbers) : !rows, !rows", "!pairs"},
                         {"chunk.interaction %x, %y inclusive decay linear(%b : !rows) : !rows, !rows", "!pairs"},
                         {"chunk.apply %L, %x : !pairs, !rows", "!rows"},
                         {"chunk.apply %L, %x strict decay linear(%b : !rows) : !pairs, !rows", "!rows"},
                         {"chunk.apply %L, %x before decay log(%y : !rows) : !pairs, !rows", "!rows"},
                         {"chunk.solve %L, %x : !pairs, !rows", "!rows"},
                         {"chunk.scaled_solve %L, %x scales %y : !pairs, !rows", "!rows"},
                         {"chunk.scaled_solve reverse %L, %x scales %y : !pairs, !rows", "!rows"},
                         {"chunk.solve %L, %x strict decay linear(%b : !rows) : !pairs, !rows", "!rows"},
                         {"chunk.solve %L, %x strict decay log(%y : !rows) : !pairs, !rows", "!rows"},
                         {"chunk.inverse %L : !pairs", "!pairs"},
                         {"chunk.inverse %L columns(%s : !numbers) : !pairs", "!pairs"},
                         {"chunk.read %x, %S : !rows, !state", "!rows"},
                         {"chunk.read left %x, %S : !rows, !state", "!rows"},
                         {"chunk.previous %A, %x : !vector, !rows", "!rows"}});
  for (const char *range : {"through", "before", "after"})
    for (const char *decay : {"log(%y) : !rows", "linear(%b) : !rows"})
      ops.push_back({"chunk.cumulative_decay " + std::string(range) + " " + decay, "!rows"});
  for (const char *range : {"through", "before", "after"})
    ops.push_back({"chunk.cumulative_decay " + std::string(range) + " linear(%a) : !numbers", "!numbers"});
  const std::pair<const char *, const char *> several[] = {
      {R"(%v = chunk.interleave %x, %y : !rows, !rows
  %w = chunk.interleave %y, %z : !rows, !rows
  %I = chunk.interaction %v, %w points [before, 1] of [0, 1] decay linear(%b : !rows) : !twice, !twice
  %o = chunk.deinterleave %I 1 of 2 : !twice_pairs)",
       "tensor<4x8xf32>"},
      {R"(%v = chunk.interleave %x, %y : !rows, !rows
  %w = chunk.interleave %y, %z : !rows, !rows
  %I = chunk.interaction %v, %w points [0, 1] of [0, 1] decay log(%s : !numbers) : !twice, !twice
  %U = chunk.solve %I, %w points [0, 1] of [0, 1] decay linear(%b : !rows) : !twice_pairs, !twice
  %o = chunk.deinterleave %U 0 of 2 : !twice)",
       "!rows"},
      {R"(%t = chunk.cumulative_decay total linear(%b) : !rows
  %o = chunk.map mul %t, %x : !row, !rows)",
       "!rows"},
      {"%o, %A1 = chunk.scan %A, %x decay linear(%b : !rows) : !vector, !rows", "!rows"},
      {"%o, %A1 = chunk.scan %A, %x decay log(%s : !numbers) : !vector, !rows", "!rows"},
      {"%o, %A1 = chunk.scan %A, %x : !vector, !rows", "!rows"},
      {"%o, %A1 = chunk.tropical_scan %A, %x, %y : !vector, !rows, !rows", "!rows"},
      {"%o, %A1 = chunk.tropical_scan %A, %x, %y as min : !vector, !rows, !rows", "!rows"},
      {"%o, %A1 = chunk.tropical_scan %A, %x, %y as soft_max : !vector, !rows, !rows", "!rows"},
      {"%o, %A1 = chunk.tropical_scan %A, %x, %y as soft_min : !vector, !rows, !rows", "!rows"},
      {R"(%c = chunk.map add %two, %p : !number, !rows
  %I = chunk.interaction %y, %y inclusive : !rows, !rows
  %o = chunk.cg %x ridge %c iterations 20 : !rows, !rows {
  ^bb0(%q: !rows):
    %r = chunk.interaction %q, %y inclusive : !rows, !rows
    %r1 = chunk.apply %r, %y : !pairs, !rows
    chunk.yield %r1 : !rows
  })",
       "!rows"},
      {R"(%o, %S1 = chunk.token_loop (%x1 = %x : !rows, %y1 = %y : !rows) carry (%S0 = %S : !state) -> (!rows, !state) {
    %a1 = chunk.map tanh %S0 : !matrix
    %u1 = chunk.map outer %x1, %m : !row, !row
    %b1 = chunk.map sub %a1, %u1 : !matrix, !matrix
    %o1 = chunk.map matvec %b1, %y1 : !matrix, !row
    chunk.yield %o1, %b1 : !row, !matrix
  })",
       "!rows"},
      {R"(%o, %A1 = chunk.token_loop (%x1 = %x : !rows) carry (%A0 = %A : !vector) -> (!rows, !vector) {
    %d1 = chunk.map exp %x1 : !row
    chunk.yield %A0, %d1 : !row, !row
  })",
       "!rows"},
  };
  std::vector<std::pair<std::string, std::string>> bodies(std::begin(several), std::end(several));
  for (const auto &[op, type] : ops)
    bodies.push_back({"%o = " + op, type});
  for (const auto &[body, type] : bodies) {
    std::string text = putInFrame(body, type);
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
  constexpr llvm::StringLiteral program = R"(
!state = tensor<3x3xf32>
chunk.program @p {} chunk 4 {
  %A = chunk.state "A" : !state
  %B = chunk.state "B" : !state
  %C = chunk.state "C" : !state
  %D = chunk.state "D" : !state
  %E, %F = chunk.compose KIND(%A, %B), (%C, %D) : !state, !state
  chunk.next %A, %E : !state
  chunk.next %B, %F : !state
  chunk.next %C, %C : !state
  chunk.next %D, %D : !state
})";
  for (std::string kind : {"right", "left", "elementwise", "tropical", "tropical_min", "soft_max", "soft_min"}) {
    std::string text = program.str();
    text.replace(text.find("KIND"), 4, kind);
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
