// The worked plan of a CTA, test/dialects/Tile/hopper-gated-delta-net.mlir, run by the interpreter of tile programs
// against the token-by-token interpreter; and what is said of the plan when something is taken from it.
#include "Frontend/Frontend.h"
#include "Interpreter/ChunkArithmetic.h"
#include "Interpreter/DGPSInterpreter.h"
#include "Interpreter/TileInterpreter.h"
#include "Support/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gmock/gmock.h"
#include <random>
#include <regex>

using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

namespace {

constexpr int64_t size = 128; // of keys and values

std::string readSource(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(RECUR_SOURCE_DIR "/" + path);
  EXPECT_TRUE(bool(buffer)) << path;
  return (*buffer)->getBuffer().str();
}

class TileRolesTest : public testing::Test {
protected:
  TileRolesTest() {
    context.loadDialect<dgps::DGPSDialect, tile::TileDialect>();
    plan = readSource("test/dialects/Tile/hopper-gated-delta-net.mlir");
  }

  /// One sequence of one head, in numbers that bf16 has. Keys have length 1; decays are as small as e^-6.
  static Data makeData(int64_t tokens, bool withState, unsigned seed = 1) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    const Arithmetic bf16(Rounding::bf16);
    auto rows = [&](bool unit) {
      Array array{{1, tokens, 1, size}, {}};
      for (int64_t token = 0; token < tokens; ++token) {
        double row[size], square = 0;
        for (double &x : row) {
          x = normal(generator);
          square += x * x;
        }
        for (double x : row)
          array.values.push_back(bf16.operand(unit ? x / std::sqrt(square) : x));
      }
      return array;
    };
    Data data;
    data.sizes.tokens = tokens;
    data.inputs["q"] = rows(true);
    data.inputs["k"] = rows(true);
    data.inputs["v"] = rows(false);
    Array g{{1, tokens, 1}, {}}, beta = g;
    for (int64_t token = 0; token < tokens; ++token) {
      double x = uniform(generator);
      g.values.push_back(float(x < 0.05 ? -6 : -0.2 * x));
      beta.values.push_back(bf16.operand(uniform(generator)));
    }
    data.inputs["g"] = std::move(g);
    data.inputs["beta"] = std::move(beta);
    if (withState) {
      data.initial["S"] = {{1, 1, size, size}, {}};
      for (int64_t i = 0; i < size * size; ++i)
        data.initial["S"].values.push_back(float(normal(generator)));
    }
    return data;
  }

  /// Token by token.
  Results runTokens(const Data &data) {
    frontend::InstantiationOptions options;
    options.dims["K"] = options.dims["V"] = size;
    SourceBuffer buffer("gated_delta_net.recur", readSource("examples/gated_delta_net.recur"));
    DiagnosticEngine diagnostics;
    auto module = frontend::compile(buffer, options, context, diagnostics, nullptr);
    llvm::Expected<Results> results = interpret(*module->getOps<dgps::RecurrenceOp>().begin(), data);
    EXPECT_TRUE(bool(results));
    return std::move(*results);
  }

  /// The text as a module, or what its first error says.
  std::string parse(const std::string &text) {
    std::string message;
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
      if (message.empty())
        message = diagnostic.str();
    });
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "plan");
    return module ? "" : message;
  }

  llvm::Expected<Results> runPlan(const Data &data, TileOptions options = {}, bool withResultingState = true) {
    Data given = data;
    int64_t tokens = data.sizes.tokens;
    Results results;
    results.outputs["o"] = {{1, tokens, 1, size}, std::vector<double>(tokens * size, 99)};
    results.final["S"] = {{1, 1, size, size}, std::vector<double>(size * size, 99)};
    std::vector<CallerArray> arrays;
    for (auto name : {"q", "k", "v"})
      arrays.push_back({given.inputs[name].values.data(), tokens, size});
    for (auto name : {"g", "beta"})
      arrays.push_back({given.inputs[name].values.data(), tokens, 1});
    bool hasState = given.initial.count("S");
    arrays.push_back({hasState ? given.initial["S"].values.data() : nullptr, hasState ? size : 0, size});
    arrays.push_back({results.outputs["o"].values.data(), tokens, size});
    arrays.push_back({withResultingState ? results.final["S"].values.data() : nullptr, size, size});
    if (llvm::Error error =
            interpreter::run(*module->getOps<tile::KernelOp>().begin(), arrays, data.sizes.tokens, options))
      return std::move(error);
    return results;
  }

  /// Without the places of ops.
  static std::string withoutPlaces(const std::string &text) {
    return std::regex_replace(text, std::regex(" \\(plan:[0-9]+:[0-9]+\\)"), "");
  }

  /// What is said of the plan with something replaced, each time that it stands there or the `which`-th time only, in
  /// any of some orders of the turns: an error, or how far off the results are.
  std::string judge(const std::string &from, const std::string &to, int which = -1, int64_t tokens = 200) {
    std::string text = plan;
    int found = 0;
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; ++found) {
      bool replaces = which < 0 || found == which;
      if (replaces)
        text.replace(at, from.size(), to);
      at += replaces ? to.size() : from.size();
    }
    EXPECT_GT(found, std::max(which, 0)) << from;
    if (std::string message = parse(text); !message.empty())
      return message;
    Data data = makeData(tokens, true);
    Results want = runTokens(data);
    for (uint64_t schedule : {0, 1, 2, 3}) {
      llvm::Expected<Results> results = runPlan(data, {false, schedule});
      if (!results)
        return withoutPlaces(llvm::toString(results.takeError()));
      if (double error = relativeRms(*results, want); !(error < 1e-10))
        return "the results are wrong";
    }
    return "nothing";
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string plan;
};

TEST_F(TileRolesTest, TheWorkedPlanComputesTheRecurrence) {
  ASSERT_EQ(parse(plan), "");
  for (int64_t tokens : {0, 1, 5, 63, 64, 65, 200})
    for (bool withState : {false, true}) {
      Data data = makeData(tokens, withState);
      Results want = runTokens(data);
      llvm::Expected<Results> exact = runPlan(data);
      ASSERT_TRUE(bool(exact)) << llvm::toString(exact.takeError());
      EXPECT_LT(relativeRms(*exact, want), 1e-10) << tokens << " tokens";
      TileOptions rounding;
      rounding.rounds = true;
      llvm::Expected<Results> rounded = runPlan(data, rounding);
      ASSERT_TRUE(bool(rounded)) << llvm::toString(rounded.takeError());
      EXPECT_LT(relativeRms(*rounded, want), 4e-3) << tokens << " tokens";
    }
}

TEST_F(TileRolesTest, EveryOrderOfTurnsGivesTheSameNumbers) {
  ASSERT_EQ(parse(plan), "");
  Data data = makeData(200, true);
  llvm::Expected<Results> first = runPlan(data, {true, 0});
  ASSERT_TRUE(bool(first)) << llvm::toString(first.takeError());
  for (uint64_t schedule = 1; schedule <= 6; ++schedule) {
    llvm::Expected<Results> other = runPlan(data, {true, schedule});
    ASSERT_TRUE(bool(other)) << llvm::toString(other.takeError());
    EXPECT_EQ(other->outputs["o"].values, first->outputs["o"].values) << "order " << schedule;
    EXPECT_EQ(other->final["S"].values, first->final["S"].values) << "order " << schedule;
  }
}

TEST_F(TileRolesTest, TheJudgeFindsNothingWrongWithTheWorkedPlan) {
  EXPECT_EQ(judge("tile.fence", "tile.fence"), "nothing");
}

TEST_F(TileRolesTest, AWaitIsMissing) {
  std::string tooEarly = " reads element [0, 0] of a tile that tile.fetch is still filling: wait for its barrier first";
  EXPECT_EQ(judge("tile.wait %full[%stage] phase %round : <2>", "", 0),
            "tile.product: role \"interactions\" 0" + tooEarly);
  EXPECT_EQ(judge("tile.wait %full[%stage] phase %round : <2>", "", 1), "tile.product: role \"state\" 0" + tooEarly);
  EXPECT_EQ(judge("tile.wait %ready[%stage] phase %round : <2>", ""),
            "tile.map: role \"state\" 0 reads element [0] of a tile that role \"interactions\" 0 has filled by "
            "tile.scan, and no barrier orders that before");
  EXPECT_EQ(judge("tile.wait %empty[%stage] phase %last : <2>", ""),
            "tile.fetch: role \"loads\" 0 overwrites element [0, 0] of a tile that tile.fetch is still filling: wait "
            "for its barrier first");
}

TEST_F(TileRolesTest, APhaseIsWrong) {
  // Everybody waits for the next round.
  EXPECT_THAT(judge("tile.wait %empty[%stage] phase %last", "tile.wait %empty[%stage] phase %round"),
              testing::StartsWith("tile.roles: nobody can go on; role \"loads\" 0 waits in tile.wait for phase 0 of "
                                  "barrier 0 of tile.barriers, at which 0 of 3 teams have arrived and 0 of 0 bytes; "
                                  "role \"interactions\" 0 waits in tile.wait for phase 0 of barrier 0 of"));
  // Two chunks ahead: the second phase of a buffer is never that of its chunk.
  EXPECT_THAT(judge("tile.wait %ready[%stage] phase %round", "tile.wait %ready[%stage] phase %chunk"),
              testing::HasSubstr("role \"state\" 1 waits in tile.wait for phase 1 of barrier 1 of tile.barriers, at "
                                 "which 0 of 1 teams have arrived"));
  // The round before has gone by.
  EXPECT_EQ(judge("tile.wait %full[%stage] phase %round : <2>",
                  "%early = arith.subi %round, %c1 : i64\ntile.wait %full[%stage] phase %early : <2>", 1),
            "tile.product: role \"state\" 0 reads element [0, 0] of a tile that tile.fetch is still filling: wait for "
            "its barrier first");
}

TEST_F(TileRolesTest, ABarrierIsMissing) {
  // One for both halves of the buffers.
  EXPECT_EQ(judge("tile.wait %ready[%stage]", "tile.wait %ready[%c0]"),
            "tile.map: role \"state\" 0 reads element [0] of a tile that role \"interactions\" 0 has filled by "
            "tile.scan, and no barrier orders that before");
  EXPECT_EQ(judge("tile.wait %ready[%stage]", "tile.wait %ready[%chunk]"), "tile.wait: barrier 2 of 2");
  // The buffers are given back by two teams of three.
  EXPECT_THAT(judge("arrivals 3", "arrivals 2"), testing::HasSubstr("is still filling: wait for its barrier first"));
  EXPECT_THAT(judge("arrivals 3", "arrivals 4"), testing::HasSubstr("at which 3 of 4 teams have arrived"));
}

TEST_F(TileRolesTest, BytesDoNotAddUp) {
  EXPECT_EQ(judge("expect 49152", "expect 32768"),
            "tile.map: role \"state\" 0 reads element [0, 0] of a tile that tile.fetch is still filling: wait for its "
            "barrier first");
  EXPECT_THAT(judge("expect 49152", "expect 65536"),
              testing::HasSubstr("at which 1 of 1 teams have arrived and 49152 of 65536 bytes"));
}

TEST_F(TileRolesTest, AFenceIsMissing) {
  EXPECT_EQ(judge("tile.fence\n", "\n", 1),
            "tile.product: role \"state\" 0 reads element [0, 0] of a tile that role \"interactions\" 0 has written by "
            "tile.map: it needs a tile.fence before it is told of");
  EXPECT_EQ(judge("tile.fence\n", "\n", 2),
            "tile.send: role \"state\" 0 reads element [0, 0] of a tile that role \"state\" 0 has written by tile.map: "
            "it needs a tile.fence before it is told of");
}

TEST_F(TileRolesTest, SomethingIsStillUnderWay) {
  EXPECT_EQ(judge("tile.settle pending 1\n        tile.map %vt", "tile.map %vt"),
            "tile.map: role \"state\" 0 reads element [0, 0] of a tile that tile.product has as its result: it ends by "
            "tile.settle");
  // The buffer is given back while the state's last product reads it.
  EXPECT_EQ(judge("tile.settle pending 0\n        tile.arrive %empty[%stage] : <2>",
                  "tile.arrive %empty[%stage] : <2>\n        tile.settle pending 0"),
            "tile.fetch: role \"loads\" 0 overwrites element [0, 0] of a tile that role \"state\" 0 reads in "
            "tile.product, and no barrier says that it has ended");
  EXPECT_EQ(
      judge("tile.sent pending 0\n        tile.map", "tile.map"),
      "tile.map: role \"state\" 0 overwrites element [0, 0] of a tile that tile.send is still reading: it ends by "
      "tile.sent");
  EXPECT_EQ(judge("tile.sent pending 0\n      tile.store", "tile.store"),
            "tile.role: role \"state\" 0 ends while tile.send is under way: end it by tile.sent");
}

TEST_F(TileRolesTest, AMaskIsMissing) {
  EXPECT_EQ(judge("arith.select %counts, %element, %zero", "arith.addf %element, %zero", 0), "the results are wrong");
  // Blocks above the diagonal that nobody zeroed.
  EXPECT_EQ(judge("blocks above 16", "blocks below 16", 0),
            "tile.send: element [0, 0] has no meaning: tile.product read element [0, 16] of a tile, which nothing had "
            "written");
}

TEST_F(TileRolesTest, LayoutsDiffer) {
  EXPECT_EQ(judge("!keys = !tile.tile<64x128xbf16, shared, [64, 1], swizzle 128>",
                  "!keys = !tile.tile<64x128xbf16, shared, [32, 1], swizzle 64>"),
            "'tile.view' op of a swizzled tile is one element of its first dimension, with the same swizzle, but "
            "'!tile.tile<2x64x128xbf16, shared, [8192, 64, 1], swizzle 128>' becomes '!tile.tile<64x128xbf16, shared, "
            "[32, 1], swizzle 64>'");
}

} // namespace
